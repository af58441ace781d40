"""The SVG kit of every chart: one palette, elements, text that fits, and a sheet to draw on.

A chart of a run's page stands inside HTML: `picture` frames it, and CSS classes colour it, so that
it follows the reader's light or dark theme. A figure of a study is printed too: `Drawing` is its
sheet in quarter millimetres. It uses presentation attributes only, since its page forbids inline
styles. Every text is escaped. Widths of texts are estimated, because no font is at hand.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from html import escape as html_escape

from uncensoring_chinese_models.domain import font_region
from uncensoring_chinese_models.text import escape, language_of

# --- the palette --------------------------------------------------------------------------------

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
ORANGE, SKY, GREEN, YELLOW = "#e69f00", "#56b4e9", "#009e73", "#f0e442"
BLUE, VERMILION, PURPLE = "#0072b2", "#d55e00", "#cc79a7"
INK, QUIET, FAINT, PALE, PAPER = "#000000", "#595959", "#d9d9d9", "#f2f2f2", "#ffffff"
VERDICTS = {
    "known and said": (GREEN, "plain"),
    "known but withheld": (ORANGE, "rising"),
    "known but denied": (VERMILION, "falling"),
    "known, not said": (YELLOW, "dots"),
    "known, no answer": (PURPLE, "upright"),
    "known, not asked": (SKY, "level"),
    "unknown": (FAINT, "plain"),
    "undecided": (PAPER, "plain"),
    "mixed": (PAPER, "grid"),
}
"""Colour and pattern of each verdict on a fact; style.css has the same colours."""
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

# --- elements -----------------------------------------------------------------------------------


def element(name: str, inside: str = "", /, **attributes: str | float | None) -> str:
    """Return an SVG element.

    Args:
        name: of the element.
        inside: its content, as markup.
        attributes: values are escaped, and None leaves an attribute out. An underscore stands for
            a hyphen (`stroke_width`), and a last one is dropped (`class_`).
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{inside}</{name}>" if inside else f"<{name}{given}/>"


def _value(value: str | float) -> str:
    """Return the value of an attribute; a number has few digits."""
    return html_escape(value) if isinstance(value, str) else f"{round(value, 2) + 0.0:g}"


def picture(
    kind: str,
    size: tuple[float, float],
    label: str,
    parts: Sequence[str],
    *,
    is_fluid: bool = False,
) -> str:
    """Return a chart for a page.

    Args:
        kind: its CSS class.
        size: width and height in pixels.
        label: what a screen reader says.
        parts: its elements.
        is_fluid: whether it is stretched to the width that the page gives it.
    """
    width, height = size
    return element(
        "svg",
        "".join(parts),
        class_=kind,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=label,
        preserveAspectRatio="none" if is_fluid else None,
        width=None if is_fluid else width,
        height=None if is_fluid else height,
    )


# --- text ---------------------------------------------------------------------------------------

TEXT = 10.0
"""About seven points, the smallest size that journals print."""
SMALL = 9.0
FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', 'Noto Sans CJK SC', sans-serif"


def width_of(text: str, size: float = TEXT) -> float:
    """Estimate how wide a text is; ideographs are as wide as they are high."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return size * (wide + (len(text) - wide) * 0.61)


def fit(text: str, room: float, size: float = TEXT) -> str:
    """Return a text; if it is too long, its beginning and its end, where versions are named."""
    shown = escape(text)
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
    """Return how much room the names to the left of a figure get."""
    return min(most, max([60.0, *(width_of(escape(name)) + 18 for name in names)]))


def fonts_for(text: str) -> str | None:
    """Return fonts for the script of a Chinese text; None where the common fonts will do."""
    language = language_of(text)
    if not any(unicodedata.east_asian_width(char) in "WF" for char in text):
        return None
    region = font_region(language)
    return f"'Noto Sans CJK {region}', 'PingFang {region}', 'Source Han Sans {region}', {FONTS}"


# --- a sheet for print --------------------------------------------------------------------------

PER_MM = 4
COLUMN = 85 * PER_MM
"""The width of a column of a journal."""
PAGE = 180 * PER_MM


class Drawing:
    """One figure while it is drawn."""

    def __init__(self, name: str, title: str, width: float, height: float) -> None:
        self._name = name
        self._title = title
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
        """Write a text; `full` is the whole of a text that was shortened, shown on hovering."""
        is_shortened = full is not None and escape(full) != text
        self._parts.append(
            element(
                "text",
                _title(full if is_shortened else None) + html_escape(escape(text)),
                x=x,
                y=y,
                font_size=size,
                text_anchor=anchor,
                font_weight=weight,
                fill=fill,
                font_family=fonts_for(text),
                stroke=PAPER if halo else None,
                stroke_width=2.5 if halo else None,
                paint_order="stroke" if halo else None,
            )
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
        look = {"stroke": stroke, "stroke_dasharray": "3 2" if dashed else None}
        self._parts.append(element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke_width=width, **look))

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
        """Draw a rectangle; a pattern over its colour shows the same without colour."""
        place = {"x": x, "y": y, "width": width, "height": height}
        for each in [fill] if pattern == "plain" else [fill, self._pattern(pattern)]:
            look = {"fill": each, "stroke": stroke}
            self._parts.append(element("rect", _title(hint), **place, **look, stroke_width=0.6))

    def mark(self, x: float, y: float, shape: str, fill: str, hint: str | None = None) -> None:
        """Draw a point in one of the shapes."""
        look = {"fill": fill, "stroke": INK}
        if shape == "circle":
            found = element("circle", _title(hint), cx=x, cy=y, r=4, **look, stroke_width=0.9)
        else:
            path = {
                "square": f"M{_value(x - 3.5)},{_value(y - 3.5)} h7 v7 h-7 z",
                "triangle": f"M{_value(x)},{_value(y - 4.5)} l4.5,8 h-9 z",
                "diamond": f"M{_value(x)},{_value(y - 5)} l5,5 l-5,5 l-5,-5 z",
            }[shape]
            found = element("path", _title(hint), d=path, **look, stroke_width=0.9)
        self._parts.append(found)

    def axis(self, left: float, right: float, top: float, bottom: float) -> None:
        """Draw the scale of a share, from 0 to 1, with lines up through the rows."""
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            x = left + share * (right - left)
            self.line(x, top, x, bottom, stroke=FAINT, width=0.8)
            self.text(x, bottom + 11, f"{share:g}", size=SMALL, anchor="middle", fill=QUIET)

    def done(self) -> str:
        """Return the drawing."""
        width, height = self._size
        patterns = "".join(self._patterns[key] for key in sorted(self._patterns))
        paper = element("rect", width="100%", height="100%", fill=PAPER)
        inside = f"{_title(self._title)}<defs>{patterns}</defs>{paper}{''.join(self._parts)}"
        drawn = element(
            "svg",
            inside,
            xmlns="http://www.w3.org/2000/svg",
            role="img",
            width=f"{_value(width / PER_MM)}mm",
            height=f"{_value(height / PER_MM)}mm",
            viewBox=f"0 0 {_value(width)} {_value(height)}",
            font_family=FONTS,
        )
        return f"{drawn}\n"

    def _pattern(self, pattern: str) -> str:
        name = f"{self._name}-{pattern}"
        size = {"width": 6, "height": 6}
        self._patterns[name] = element(
            "pattern", _PATTERNS[pattern], id=name, **size, patternUnits="userSpaceOnUse"
        )
        return f"url(#{name})"


def _title(text: str | None) -> str:
    """Return what a browser shows when one hovers over an element."""
    return "" if text is None else f"<title>{html_escape(escape(text))}</title>"
