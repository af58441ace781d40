"""Inspect's public classes, imported when they are first asked for: the home of inspect_ai."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

from uncensoring_chinese_models.errors import MissingExtraError


@cache
def inspect_classes() -> SimpleNamespace:
    """Return Inspect's modules `event`, `log`, `model`, `scorer` and `viewer`, and its version.

    Raises:
        MissingExtraError: the extra `inspect` is not installed.
    """
    try:
        import inspect_ai  # noqa: PLC0415  # late: an optional dependency
        from inspect_ai import event, log, model, scorer, viewer  # noqa: PLC0415
    except ImportError as err:
        raise MissingExtraError(
            "Logs for Inspect need inspect_ai, which is not installed; nothing was written. Get it "
            "with 'make extras' in a checkout, or pip install 'uncensoring-chinese-models[inspect]'."
        ) from err
    parts = {"event": event, "log": log, "model": model, "scorer": scorer, "viewer": viewer}
    return SimpleNamespace(**parts, version=inspect_ai.__version__)


def check_inspect() -> None:
    """Refuse, before anything is made, if Inspect is not installed.

    Raises:
        MissingExtraError: the extra `inspect` is not installed.
    """
    inspect_classes()
