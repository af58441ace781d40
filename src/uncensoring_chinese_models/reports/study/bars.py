"""Figures of stacked bars: facts by verdict, and cost by role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from uncensoring_chinese_models.domain import Json
from uncensoring_chinese_models.reports.study.svg import (
    BLUE,
    COLUMN,
    FAINT,
    GREEN,
    ORANGE,
    PURPLE,
    QUIET,
    SKY,
    SMALL,
    VERMILION,
    YELLOW,
    Drawing,
    fit,
    names_room,
    width_of,
)
from uncensoring_chinese_models.reports.study.table import Table, show

BAR, STEP = 15.0, 21.0
KINDS = {"audit": "Audits", "battery": "Batteries"}
_VERDICTS = {
    "known and said": (GREEN, "plain"),
    "known but withheld": (VERMILION, "rising"),
    "known but denied": (PURPLE, "falling"),
    "known, not said": (ORANGE, "dots"),
    "known, no answer": (YELLOW, "upright"),
    "known, not asked": (SKY, "level"),
    "unknown": (FAINT, "plain"),
    "undecided": ("#ffffff", "plain"),
    "mixed": ("#ffffff", "grid"),
}
_ROLES = {"auditor": (BLUE, "plain"), "target": (ORANGE, "rising"), "judge": (SKY, "dots")}


class Bar(NamedTuple):
    """One row: a name, the lengths of its parts, and what is written behind it."""

    name: str
    parts: Mapping[str, float]
    texts: Mapping[str, str]
    behind: str


def draw_verdicts(table: Table) -> str:
    """Draw how the facts of each model came out."""
    bars = []
    for row in table.dicts():
        parts = {name: float(row[name]) for name in _VERDICTS if row[name]}
        total = sum(row[name] for name in _VERDICTS)
        bars.append(Bar(row["model"], parts, {n: show(row[n]) for n in parts}, show(total)))
    return _draw(table, {"Facts asked for, by verdict": bars}, _VERDICTS)


def draw_cost(table: Table) -> str:
    """Draw what each model's runs cost by role; in tokens where nothing was billed."""
    rows = table.dicts()
    is_billed = any(row["total_usd"] for row in rows)
    unit = "usd" if is_billed else "tokens"
    what = "USD" if is_billed else "tokens (nothing was billed)"
    panels = {
        f"{kind}: {what} by role": [_cost_bar(row, unit) for row in rows if row["kind"] == name]
        for name, kind in KINDS.items()
    }
    return _draw(table, {title: bars for title, bars in panels.items() if bars}, _ROLES)


def _cost_bar(row: Json, unit: str) -> Bar:
    values = {role: row[f"{role}_{unit}"] for role in _ROLES}
    total = sum(values.values(), Decimal(0) if unit == "usd" else 0)
    least = "≥ " if unit == "usd" and row["calls_without_cost"] else ""
    parts = {role: float(value) for role, value in values.items() if value}
    texts = {role: show(values[role]) for role in parts}
    return Bar(row["model"], parts, texts, least + show(total))


def _draw(
    table: Table, panels: Mapping[str, Sequence[Bar]], looks: Mapping[str, tuple[str, str]]
) -> str:
    every = [bar for bars in panels.values() for bar in bars]
    used = [name for name in looks if any(name in bar.parts for bar in every)]
    height = 26 * len(panels) + STEP * len(every) + 16 * ((len(used) + 1) // 2) + 10
    drawing = Drawing(table.name, table.title, COLUMN, height)
    left = names_room(bar.name for bar in every)
    behind = max(width_of(bar.behind, SMALL) for bar in every) + 10
    most = max(sum(bar.parts.values()) for bar in every) or 1.0
    scale, top = (COLUMN - left - behind - 6) / most, 0.0
    for title, bars in panels.items():
        drawing.text(6, top + 14, title, weight="bold")
        for line, bar in enumerate(bars):
            y = top + 22 + STEP * line
            drawing.label(left - 6, y + 11, bar.name, left - 12)
            x = _stack(drawing, bar, looks, (left, y), scale)
            drawing.text(x + 5, y + 11, bar.behind, size=SMALL, fill=QUIET)
        top += 26 + STEP * len(bars)
    _legend(drawing, used, looks, top + 2)
    return drawing.done()


def _stack(
    drawing: Drawing,
    bar: Bar,
    looks: Mapping[str, tuple[str, str]],
    start: tuple[float, float],
    scale: float,
) -> float:
    """Draw the parts of a bar, and return where it ends."""
    x, y = start
    for name, length in bar.parts.items():
        fill, pattern = looks[name]
        wide, text = length * scale, bar.texts[name]
        drawing.box(x, y, wide, BAR, fill=fill, pattern=pattern, hint=f"{name}: {text}")
        if width_of(text, SMALL) + 4 <= wide:
            drawing.text(x + wide / 2, y + 11, text, size=SMALL, anchor="middle", halo=True)
        x += wide
    return x


def _legend(
    drawing: Drawing, used: Sequence[str], looks: Mapping[str, tuple[str, str]], top: float
) -> None:
    for number, name in enumerate(used):
        fill, pattern = looks[name]
        x, y = 12 + (number % 2) * 160, top + 16 * (number // 2)
        drawing.box(x, y, 16, 10, fill=fill, pattern=pattern)
        drawing.text(x + 22, y + 9, fit(name, 130))
