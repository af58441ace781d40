"""Figures as PNG, for programs that cannot use SVG; needs the extra `figures` (resvg)."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import Any

from uncensoring_chinese_models.config import require_extra
from uncensoring_chinese_models.domain import is_in_ideographs
from uncensoring_chinese_models.reports.svg import FONTS
from uncensoring_chinese_models.text import language_of

DPI = 300
_PROBE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">'
    f'<text x="2" y="32" font-size="30" font-family="{escape(FONTS)}">{{}}</text></svg>'
)


@cache
def _renderer() -> Any:
    """Return the function that turns SVG into PNG, imported on first use.

    Raises:
        MissingExtraError: the extra `figures` is not installed.
    """
    with require_extra("figures", "Writing figures as PNG, besides SVG,"):
        from resvg_py import svg_to_bytes  # noqa: PLC0415  # late: an optional dependency
    return svg_to_bytes


def to_png(svg: str) -> bytes:
    """Return a figure as PNG with 300 dots an inch.

    Raises:
        MissingExtraError: the extra `figures` is not installed.
    """
    return bytes(_renderer()(svg_string=svg, dpi=DPI))


def draws_apart(first: str, second: str, *, system_fonts: bool = True) -> bool:
    """Return True if two letters look different; without a font for them they do not."""
    drawn = [
        _renderer()(svg_string=_PROBE.format(letter), skip_system_fonts=not system_fonts)
        for letter in (first, second)
    ]
    return bool(drawn[0] != drawn[1])


def font_problem(svgs: list[str], *, system_fonts: bool = True) -> tuple[bool, str | None]:
    """Return whether this machine has fonts to draw figures, and a warning if some are missing.

    Raises:
        MissingExtraError: the extra `figures` is not installed.
    """
    if not draws_apart("i", "M", system_fonts=system_fonts):
        return False, (
            "No font was found, so the figures were written as SVG only; install one (such as "
            "fonts-dejavu) and run it again for PNG files."
        )
    is_chinese = any(is_in_ideographs(language_of(char)) for svg in svgs for char in set(svg))
    if is_chinese and not draws_apart("六", "四", system_fonts=system_fonts):
        return True, (
            "No font with Chinese characters was found, so they are boxes in the PNG files; "
            "install one (such as fonts-noto-cjk) and run it again. The SVG files are complete."
        )
    return True, None
