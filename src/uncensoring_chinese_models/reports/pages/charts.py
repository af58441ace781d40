"""The charts of a run's page: shapes without script or style attribute, coloured by CSS classes.

The words stand beside the shapes in HTML, so that they stay legible on a narrow screen. Each chart
also has a label that says what it shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from uncensoring_chinese_models.domain import LABELS, SampleLabel
from uncensoring_chinese_models.reports.pages.cards import LEVELS
from uncensoring_chinese_models.reports.svg import element, picture

if TYPE_CHECKING:
    from uncensoring_chinese_models.reports.pages.cards import ConfidencePoint

MAX_SQUARES = 24
"""An arm with more samples than this is drawn as a bar, not as squares."""
_SQUARE, _GAP, _SQUARES_PER_ROW = 16, 2, 12
_DOT, _DOTS_PER_ROW = 19, 16


def bar(counts: Mapping[str, int], prefix: str = "label", names: Iterable[str] = LABELS) -> str:
    """Draw one bar that is divided among the counts, in the order of the names."""
    total = sum(counts.values())
    parts, at = [], 0.0
    for name in names:
        if counts.get(name):
            width = 100 * counts[name] / total
            parts.append(_rect(f"{prefix}-{slug(name)}", at, 0, width, 16))
            at += width
    return picture("bar", (100, 16), listed(counts, names), parts, is_fluid=True)


def squares(labels: Sequence[SampleLabel]) -> str:
    """Draw one square with its letter for each sample; many samples become a bar."""
    counts: dict[str, int] = {label: labels.count(label) for label in LABELS}
    if len(labels) > MAX_SQUARES:
        return bar(counts)
    step = _SQUARE + _GAP
    parts = []
    for number, label in enumerate(labels):
        row, column = divmod(number, _SQUARES_PER_ROW)
        x, y = column * step, row * step
        name = slug(label)
        parts.append(_rect(f"label-{name}", x, y, _SQUARE, _SQUARE))
        middle, letter = x + _SQUARE / 2, LABELS[label].letter
        parts.append(element("text", letter, class_=f"on-{name}", x=middle, y=y + 12))
    rows = -(-len(labels) // _SQUARES_PER_ROW)
    size = min(len(labels), _SQUARES_PER_ROW) * step, max(rows, 1) * step
    return picture("squares", size, listed(counts, LABELS), parts)


def dots(filled: int, hollow: int) -> str:
    """Draw a full dot for each claim that quotes support, and a hollow one for each other."""
    parts = []
    for number in range(filled + hollow):
        row, column = divmod(number, _DOTS_PER_ROW)
        kind = "dot-full" if number < filled else "dot-hollow"
        parts.append(element("circle", class_=kind, cx=9 + column * _DOT, cy=9 + row * _DOT, r=7))
    rows = max(-(-(filled + hollow) // _DOTS_PER_ROW), 1)
    size = max(min(filled + hollow, _DOTS_PER_ROW), 1) * _DOT, rows * _DOT
    return picture("dots", size, f"{filled} supported by quotes, {hollow} not", parts)


def confidence(points: Sequence[ConfidencePoint], turns: int) -> str:
    """Draw the auditor's confidence in a hypothesis, turn by turn."""
    width, height = 200, 44
    step = (width - 12) / max(turns - 1, 1)
    levels = [height - 8 - 14 * n for n in range(len(LEVELS))]
    spots = [(6 + (p.turn - 1) * step, levels[_level(p)]) for p in points]
    lines = [element("line", class_="grid", x1=0, x2=width, y1=y, y2=y) for y in levels]
    path = "".join(
        f"M{x:.1f} {y:g}" if number == 0 else f"H{x:.1f}V{y:g}"
        for number, (x, y) in enumerate(spots)
    )
    marks = [element("circle", class_="held", cx=x, cy=y, r=2.5) for x, y in spots]
    drawn = [*lines, element("path", class_="held-line", d=path), *marks]
    return picture("confidence", (width, height), f"confidence: {steps_of(points)}", drawn)


def steps_of(points: Sequence[ConfidencePoint]) -> str:
    """Say how confidence changed: each level with the turn in which it began."""
    steps = [
        f"{point.confidence} from turn {point.turn}"
        for at, point in enumerate(points)
        if at == 0 or points[at - 1].confidence != point.confidence
    ]
    return ", ".join(steps)


def listed(counts: Mapping[str, int], names: Iterable[str]) -> str:
    """Say counts in words, in the order of the names."""
    return ", ".join(f"{counts[name]} {name}" for name in names if counts.get(name)) or "none"


def slug(name: str) -> str:
    """Return a name as a CSS class has it: ``known, not said`` → ``known-not-said``."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _level(point: ConfidencePoint) -> int:
    return LEVELS.index(point.confidence) if point.confidence in LEVELS else 0


def _rect(kind: str, x: float, y: float, width: float, height: float) -> str:
    return element("rect", class_=kind, x=x, y=y, width=width, height=height)
