"""Figures of stacked bars: facts by verdict, and cost by role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from uncensoring_chinese_models.domain import Json
from uncensoring_chinese_models.study.svg import (
    BLUE,
    COLUMN,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    QUIET,
    SKY,
    SMALL,
    VERMILION,
    YELLOW,
    Drawing,
    fit,
    width_of,
)
from uncensoring_chinese_models.study.table import Table, show

NAMES = 104.0
BAR = 15.0
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
        bars.append(Bar(row["model"], parts, {n: str(row[n]) for n in parts}, f"{total}"))
    return _draw(table, "Facts asked for, by verdict", bars, _VERDICTS)


def draw_cost(table: Table) -> str:
    """Draw what each model's runs cost by role; in tokens where nothing was billed."""
    rows = table.dicts()
    is_billed = any(row["total_usd"] for row in rows)
    unit = "usd" if is_billed else "tokens"
    bars = [_cost_bar(row, unit) for row in rows]
    title = "USD by role" if is_billed else "Tokens by role (nothing was billed)"
    return _draw(table, title, bars, _ROLES)


def _cost_bar(row: Json, unit: str) -> Bar:
    values = {role: row[f"{role}_{unit}"] for role in _ROLES}
    total = sum(values.values(), Decimal(0) if unit == "usd" else 0)
    least = "≥ " if unit == "usd" and row["calls_without_cost"] else ""
    parts = {role: float(value) for role, value in values.items() if value}
    name = f"{row['model']}, {row['kind']}"
    texts = {role: show(values[role]) for role in parts}
    return Bar(name, parts, texts, least + show(total))


def _draw(
    table: Table, title: str, bars: Sequence[Bar], looks: Mapping[str, tuple[str, str]]
) -> str:
    used = [name for name in looks if any(name in bar.parts for bar in bars)]
    height = 30 + (BAR + 6) * len(bars) + 16 * ((len(used) + 1) // 2) + 10
    drawing = Drawing(table.name, table.title, COLUMN, height)
    behind = max([width_of(bar.behind, SMALL) for bar in bars], default=0.0) + 10
    room = COLUMN - NAMES - behind - 6
    most = max((sum(bar.parts.values()) for bar in bars), default=0.0) or 1.0
    drawing.text(6, 14, title, weight="bold")
    for line, bar in enumerate(bars):
        y = 24 + (BAR + 6) * line
        drawing.label(NAMES - 6, y + 11, bar.name, NAMES - 10)
        x = _stack(drawing, bar, looks, y, room / most)
        drawing.text(x + 5, y + 11, bar.behind, size=SMALL, fill=QUIET)
    _legend(drawing, used, looks, 30 + (BAR + 6) * len(bars))
    return drawing.done()


def _stack(
    drawing: Drawing, bar: Bar, looks: Mapping[str, tuple[str, str]], y: float, scale: float
) -> float:
    """Draw the parts of a bar, and return where it ends."""
    x = NAMES
    for name, length in bar.parts.items():
        fill, pattern = looks[name]
        wide = length * scale
        hint = f"{name}: {bar.texts[name]}"
        drawing.box(x, y, wide, BAR, fill=fill, pattern=pattern, hint=hint)
        if width_of(bar.texts[name], SMALL) + 4 <= wide:
            middle = x + wide / 2
            drawing.text(
                middle, y + 11, bar.texts[name], size=SMALL, anchor="middle", fill=INK, halo=True
            )
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
