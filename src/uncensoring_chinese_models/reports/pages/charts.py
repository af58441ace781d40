"""Charts as inline SVG: shapes only, no script and no style attribute, coloured by classes.

Words stand beside them in HTML, so that they stay legible on a narrow screen; each chart also says
in its label what it shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from uncensoring_chinese_models.reports.pages.cards import LEVELS
from uncensoring_chinese_models.reports.pages.probes import LETTERS, SHADES, Shade

if TYPE_CHECKING:
    from uncensoring_chinese_models.reports.pages.cards import Point

MOST_SQUARES = 24
"""An arm with more samples than this is drawn as a bar, not as squares."""
_SQUARE, _GAP, _A_ROW = 16, 2, 12


def bar(counts: Mapping[str, int], prefix: str = "shade", names: Iterable[str] = SHADES) -> str:
    """Draw one bar that is shared out among the counts, in the order of the names."""
    total = sum(counts.values())
    parts, at = [], 0.0
    for name in names:
        if not counts.get(name):
            continue
        width = 100 * counts[name] / total
        parts.append(_rect(f"{prefix}-{slug(name)}", at, 0, width, 16))
        at += width
    label = listed(counts, names)
    return _svg("bar", "0 0 100 16", label, parts, 'preserveAspectRatio="none"')


def squares(shades: Sequence[Shade]) -> str:
    """Draw one square with its letter for each sample; many samples become a bar."""
    counts: dict[str, int] = {shade: shades.count(shade) for shade in SHADES}
    if len(shades) > MOST_SQUARES:
        return bar(counts)
    step = _SQUARE + _GAP
    parts = []
    for number, shade in enumerate(shades):
        row, column = divmod(number, _A_ROW)
        x, y = column * step, row * step
        parts.append(_rect(f"shade-{shade}", x, y, _SQUARE, _SQUARE))
        parts.append(
            f'<text class="on-{shade}" x="{x + _SQUARE / 2:g}" y="{y + 12}">{LETTERS[shade]}</text>'
        )
    rows = -(-len(shades) // _A_ROW)
    width, height = min(len(shades), _A_ROW) * step, max(rows, 1) * step
    size = f'width="{width}" height="{height}"'
    return _svg("squares", f"0 0 {width} {height}", listed(counts, SHADES), parts, size)


def dots(filled: int, hollow: int) -> str:
    """Draw what quotes support as full dots, and what they do not as hollow ones."""
    parts = []
    for number in range(filled + hollow):
        row, column = divmod(number, 16)
        kind = "full" if number < filled else "hollow"
        parts.append(
            f'<circle class="dot-{kind}" cx="{9 + column * 19}" cy="{9 + row * 19}" r="7"/>'
        )
    rows = max(-(-(filled + hollow) // 16), 1)
    width, height = max(min(filled + hollow, 16), 1) * 19, rows * 19
    label = f"{filled} supported by quotes, {hollow} not"
    return _svg("dots", f"0 0 {width} {height}", label, parts, f'width="{width}" height="{height}"')


def confidence(points: Sequence[Point], turns: int) -> str:
    """Draw how firmly a hypothesis was held, turn by turn."""
    width, height = 200, 44
    step = (width - 12) / max(turns - 1, 1)
    spots = [(6 + (p.turn - 1) * step, height - 8 - 14 * _level(p)) for p in points]
    lines = [
        f'<line class="grid" x1="0" x2="{width}" y1="{height - 8 - 14 * n}" y2="{height - 8 - 14 * n}"/>'
        for n in range(len(LEVELS))
    ]
    path = "".join(
        f"M{x:.1f} {y:g}" if number == 0 else f"H{x:.1f}V{y:g}"
        for number, (x, y) in enumerate(spots)
    )
    marks = [f'<circle class="held" cx="{x:.1f}" cy="{y:g}" r="2.5"/>' for x, y in spots]
    label = f"confidence: {steps_of(points)}"
    size = f'width="{width}" height="{height}"'
    drawn = [*lines, f'<path class="held-line" d="{path}"/>', *marks]
    return _svg("confidence", f"0 0 {width} {height}", label, drawn, size)


def steps_of(points: Sequence[Point]) -> str:
    """Say how confidence went, each step once, with the turn in which it came."""
    told = [
        f"{point.confidence} from turn {point.turn}"
        for at, point in enumerate(points)
        if at == 0 or points[at - 1].confidence != point.confidence
    ]
    return ", ".join(told)


def listed(counts: Mapping[str, int], names: Iterable[str]) -> str:
    """Say counts in words, in the order of the names."""
    return ", ".join(f"{counts[name]} {name}" for name in names if counts.get(name)) or "none"


def _level(point: Point) -> int:
    return LEVELS.index(point.confidence) if point.confidence in LEVELS else 0


def slug(name: str) -> str:
    """Return a name as a class of the style has it: ``known, not said`` → ``known-not-said``."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _rect(kind: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{kind}" x="{x:.4g}" y="{y}" width="{width:.4g}" height="{height}"/>'


def _svg(kind: str, box: str, label: str, parts: Sequence[str], more: str) -> str:
    return (
        f'<svg class="{kind}" viewBox="{box}" role="img" aria-label="{escape(label)}" {more}>'
        f"{''.join(parts)}</svg>"
    )
