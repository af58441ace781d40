"""Find out what a language model knows about a matter of public record, and how it hides it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uncensoring_chinese_models.exports import Run, Runs, load_run, load_runs

__version__ = "0.9.0"

__all__ = ["Run", "Runs", "__version__", "load_run", "load_runs"]


def __getattr__(name: str) -> Any:
    """Import the reader of runs when it is first used, so that importing the package is cheap."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from uncensoring_chinese_models import exports  # noqa: PLC0415

    return getattr(exports, name)
