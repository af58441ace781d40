"""Drawing for print: a sheet in quarter millimetres, colours that everyone can tell apart, labels.

Only presentation attributes are used, since the page that shows a drawing forbids inline styles.
Every text goes through `visible` and is escaped. Widths of texts are estimated: no font is at hand.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from html import escape

from uncensoring_chinese_models.text import language_of, visible

PER_MM = 4
COLUMN = 85 * PER_MM
"""The width of a column of a journal."""
PAGE = 180 * PER_MM
TEXT = 10.0
"""About seven points, the least that journals print."""
SMALL = 9.0
FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', 'Noto Sans CJK SC', sans-serif"
INK, QUIET, FAINT = "#000000", "#595959", "#d9d9d9"
# Okabe and Ito's palette.
ORANGE, SKY, GREEN, YELLOW = "#e69f00", "#56b4e9", "#009e73", "#f0e442"
BLUE, VERMILION, PURPLE = "#0072b2", "#d55e00", "#cc79a7"
SHAPES = ("circle", "square", "triangle", "diamond")
_PATTERNS = {
    "rising": '<path d="M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2" stroke="#000000" stroke-width="0.9"/>',
    "falling": '<path d="M-1,5 l2,2 M0,0 l6,6 M5,-1 l2,2" stroke="#000000" stroke-width="0.9"/>',
    "dots": '<circle cx="3" cy="3" r="1.1" fill="#000000"/>',
    "upright": '<path d="M3,0 v6" stroke="#000000" stroke-width="0.9"/>',
    "level": '<path d="M0,3 h6" stroke="#000000" stroke-width="0.9"/>',
    "grid": '<path d="M3,0 v6 M0,3 h6" stroke="#000000" stroke-width="0.7"/>',
    "plain": "",
}


def width_of(text: str, size: float = TEXT) -> float:
    """Estimate how wide a text is; ideographs and the like are as wide as they are high."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return size * (wide + (len(text) - wide) * 0.61)


def fit(text: str, room: float, size: float = TEXT) -> str:
    """Return a text, or its beginning and end where there is no room: versions stand at the end."""
    shown = visible(text)
    kept = len(shown)
    while kept and width_of(_shortened(shown, kept), size) > room:
        kept -= 1
    return _shortened(shown, kept)


def _shortened(text: str, kept: int) -> str:
    if kept >= len(text):
        return text
    tail = kept // 2
    return f"{text[: kept - tail]}…{text[len(text) - tail :]}"


def names_room(names: Iterable[str], most: float = 132.0) -> float:
    """Return how much room names before a figure get, some way off the edge."""
    return min(most, max([60.0, *(width_of(visible(name)) + 18 for name in names)]))


def fonts_for(text: str) -> str | None:
    """Return the fonts of a Chinese text, in its script; None where the common ones will do."""
    language = language_of(text)
    if not any(unicodedata.east_asian_width(char) in "WF" for char in text):
        return None
    script = "TC" if language == "zh-Hant" else "SC"
    return f"'Noto Sans CJK {script}', 'PingFang {script}', 'Source Han Sans {script}', {FONTS}"


class Drawing:
    """One figure while it is drawn."""

    def __init__(self, name: str, title: str, width: float, height: float) -> None:
        self._name = name
        self._title = visible(title)
        self._size = width, height
        self._parts: list[str] = []
        self._patterns: dict[str, str] = {}

    def text(  # noqa: PLR0913 -- a text has all of these
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = TEXT,
        anchor: str = "start",
        fill: str = INK,
        weight: str = "normal",
        halo: bool = False,
        full: str | None = None,
    ) -> None:
        """Write a text; `full` is what it stands for where it was shortened."""
        around = ' stroke="#ffffff" stroke-width="2.5" paint-order="stroke"' if halo else ""
        told = f"<title>{_e(full)}</title>" if full is not None and visible(full) != text else ""
        fonts = fonts_for(text)
        family = f' font-family="{escape(fonts)}"' if fonts else ""
        self._parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}" text-anchor="{anchor}" '
            f'font-weight="{weight}" fill="{fill}"{family}{around}>{told}{_e(text)}</text>'
        )

    def label(self, x: float, y: float, text: str, room: float, *, size: float = TEXT) -> None:
        """Write a name that ends at x, shortened to the room that there is."""
        self.text(x, y, fit(text, room, size), size=size, anchor="end", full=text)

    def line(  # noqa: PLR0913 -- two points and how they are joined
        self,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
        *,
        stroke: str = INK,
        width: float = 1.0,
        dashed: bool = False,
    ) -> None:
        """Draw a line."""
        dashes = ' stroke-dasharray="3 2"' if dashed else ""
        self._parts.append(
            f'<line x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}" stroke="{stroke}" '
            f'stroke-width="{_n(width)}"{dashes}/>'
        )

    def box(  # noqa: PLR0913 -- a rectangle and how it is filled
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str,
        pattern: str = "plain",
        stroke: str = INK,
        hint: str | None = None,
    ) -> None:
        """Draw a rectangle, with a pattern over its colour so that it can be told without it."""
        told = "" if hint is None else f"<title>{_e(hint)}</title>"
        place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
        fills = [fill] if pattern == "plain" else [fill, self._pattern(pattern)]
        self._parts += [
            f'<rect {place} fill="{each}" stroke="{stroke}" stroke-width="0.6">{told}</rect>'
            for each in fills
        ]

    def mark(self, x: float, y: float, shape: str, fill: str, hint: str | None = None) -> None:
        """Draw a point in one of the shapes."""
        told = "" if hint is None else f"<title>{_e(hint)}</title>"
        paths = {
            "square": f"M{_n(x - 3.5)},{_n(y - 3.5)} h7 v7 h-7 z",
            "triangle": f"M{_n(x)},{_n(y - 4.5)} l4.5,8 h-9 z",
            "diamond": f"M{_n(x)},{_n(y - 5)} l5,5 l-5,5 l-5,-5 z",
        }
        how = f'fill="{fill}" stroke="#000000" stroke-width="0.9"'
        if shape == "circle":
            self._parts.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="4" {how}>{told}</circle>')
        else:
            self._parts.append(f'<path d="{paths[shape]}" {how}>{told}</path>')

    def axis(self, left: float, right: float, top: float, bottom: float) -> None:
        """Draw the scale of a share, 0 to 1, with lines up through the rows."""
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            x = left + share * (right - left)
            self.line(x, top, x, bottom, stroke=FAINT, width=0.8)
            self.text(x, bottom + 11, f"{share:g}", size=SMALL, anchor="middle", fill=QUIET)

    def done(self) -> str:
        """Return the drawing."""
        width, height = self._size
        defs = "".join(self._patterns[key] for key in sorted(self._patterns))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_n(width / PER_MM)}mm" '
            f'height="{_n(height / PER_MM)}mm" viewBox="0 0 {_n(width)} {_n(height)}" '
            f'font-family="{escape(FONTS)}"><title>{_e(self._title)}</title><defs>{defs}</defs>'
            f'<rect width="100%" height="100%" fill="#ffffff"/>{"".join(self._parts)}</svg>\n'
        )

    def _pattern(self, pattern: str) -> str:
        name = f"{self._name}-{pattern}"
        self._patterns[name] = (
            f'<pattern id="{name}" width="6" height="6" patternUnits="userSpaceOnUse">'
            f"{_PATTERNS[pattern]}</pattern>"
        )
        return f"url(#{name})"


def _n(number: float) -> str:
    """Return a coordinate in few digits."""
    return f"{round(number, 2) + 0.0:g}"


def _e(text: str) -> str:
    return escape(visible(text))
