"""Optional libraries: one way to ask for them, with advice on how to install what is missing."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

_DISTRIBUTION = "uncensoring-chinese-models"
_CHECKOUT = Path(__file__).resolve().parents[3]
_NOT_IN_MAKE_INSTALL = ("export", "inspect")
"""The extras that `make extras` installs; `make install` installs the others."""


@contextmanager
def require_extra(extra: str, purpose: str) -> Iterator[None]:
    """Turn an ImportError inside the block into a MissingExtraError.

    Args:
        extra: an extra of this package, such as "analysis".
        purpose: what needs it, as the subject of a sentence, such as "The viewer".

    Raises:
        MissingExtraError: a library of the extra is not installed; the message says how to get it.
    """
    try:
        yield
    except ImportError as err:
        raise MissingExtraError(
            f"{purpose} needs the extra `{extra}`: {err.name or 'a library'} is not installed. "
            f"Install it with: {_install_command(extra)}"
        ) from err


def _install_command(extra: str) -> str:
    if (_CHECKOUT / "Makefile").is_file() and (_CHECKOUT / "pyproject.toml").is_file():
        return "make extras" if extra in _NOT_IN_MAKE_INSTALL else "make install"
    # The libraries are named one by one: the wheel may come from a file and not from an index.
    mark = f'extra == "{extra}"'
    required = metadata.requires(_DISTRIBUTION) or []
    libraries = [each.partition(";")[0].strip() for each in required if mark in each]
    return f"pip install {' '.join(map(repr, libraries))}"
