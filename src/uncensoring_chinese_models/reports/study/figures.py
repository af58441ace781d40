"""The figures of the study, each drawn from its own table and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from uncensoring_chinese_models.domain import Json
from uncensoring_chinese_models.reports.sentences import counted
from uncensoring_chinese_models.reports.study.run_tables import ASKED, FACTS, NOT_READ
from uncensoring_chinese_models.reports.study.table import Table, show
from uncensoring_chinese_models.reports.svg import (
    BLUE,
    COLUMN,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PAGE,
    PALE,
    PAPER,
    PURPLE,
    QUIET,
    SHAPES,
    SKY,
    SMALL,
    VERDICTS,
    VERMILION,
    Drawing,
    fit,
    names_room,
    width_of,
)

ROW, CELL = 20.0, 44.0
RIGHT = COLUMN - 108.0
"""Where the scale of a ranking ends and its numbers begin."""
_ARMS = (ORANGE, BLUE, GREEN, PURPLE)
MEASURES = {
    ASKED: "Withheld or blocked when asked (audits)",
    FACTS: "Known facts withheld or blocked (probes)",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, and the numbers that it shows."""

    name: str
    title: str
    caption: str
    table: Table
    svg: str


def make_figures(tables: Sequence[Table]) -> list[Figure]:
    """Draw every figure whose table has rows."""
    by_name = {table.name: table for table in tables}
    models = _part(by_name["ranking"], "ranking_models", "Models ranked", of="model")
    topics = _part(by_name["ranking"], "ranking_topics", "Topics ranked", of="topic")
    drawn: list[tuple[Table, str, Callable[[Table], str]]] = [
        (
            by_name["matrix"],
            "Darker is a larger share; a dash means nothing to count. Claims are the mean per run.",
            draw_matrix,
        ),
        (models, "Bars are 95 % intervals; hollow points are not ranked.", draw_ranking),
        (topics, "Bars are 95 % intervals; hollow points are not ranked.", draw_ranking),
        (by_name["verdicts"], "How many facts have each verdict.", draw_verdicts),
        (
            by_name["withheld_texts"],
            "Arms of the same model; bars are 95 % intervals.",
            draw_withheld,
        ),
        (by_name["cost"], "Who caused the cost: auditor, target or judge.", draw_cost),
    ]
    return [
        Figure(table.name, table.title, caption, table, draw(table))
        for table, caption, draw in drawn
        if table.rows
    ]


def _part(table: Table, name: str, title: str, *, of: str) -> Table:
    """Return the rows of the ranking that are about models, or about topics."""
    at = table.columns.index("of")
    rows = tuple(row for row in table.rows if row[at] == of)
    return replace(table, name=name, title=title, rows=rows)


# --- the matrix ---------------------------------------------------------------------------------


def draw_matrix(table: Table) -> str:
    """Draw models by topics: a panel for audits, one for probes, and below what the topics are."""
    rows = table.dicts()
    panels = [(kind, [row for row in rows if row["kind"] == kind]) for kind in KINDS]
    panels = [(kind, found) for kind, found in panels if found]
    left = names_room(row["model"] for row in rows)
    most = max(len(_distinct(found, "topic")) for _, found in panels)
    width = float(COLUMN)
    if left + most * 50 + 8 > COLUMN:
        left = names_room((row["model"] for row in rows), 190)
        width = max(PAGE, left + most * 44 + 8)
    cell = min(72.0, (width - left - 8) / most)
    heights = [36 + CELL * len(_distinct(found, "model")) for _, found in panels]
    topics = _distinct(rows, "topic")
    drawing = Drawing(table.name, table.title, width, sum(heights) + 30 + 14 * len(topics))
    top = 0.0
    for (kind, found), height in zip(panels, heights, strict=True):
        _matrix_panel(drawing, (kind, topics), found, (left, top), cell)
        top += height
    _ramp(drawing, top + 6)
    for number, topic in enumerate(topics, 1):
        text = f"T{number}  {topic}"
        drawing.text(8, top + 18 + 14 * number, fit(text, width - 14), full=text)
    return drawing.done()


def _matrix_panel(
    drawing: Drawing,
    what: tuple[str, list[str]],
    rows: Sequence[Json],
    corner: tuple[float, float],
    cell: float,
) -> None:
    kind, numbered = what
    left, top = corner
    measure = ASKED if kind == "audit" else FACTS
    drawing.text(6, top + 14, MEASURES[measure], weight="bold")
    topics = _distinct(rows, "topic")
    for column, topic in enumerate(topics):
        x = left + (column + 0.5) * cell
        number = f"T{numbered.index(topic) + 1}"
        drawing.text(x, top + 27, number, anchor="middle", full=topic)
    found = {(row["model"], row["topic"]): row for row in rows}
    for line, model in enumerate(sorted(_distinct(rows, "model"))):
        y = top + 32 + CELL * line
        drawing.label(left - 6, y + 25, model, left - 12)
        for column, topic in enumerate(topics):
            corner = (left + column * cell, y)
            _matrix_cell(
                drawing, found.get((model, topic)), measure.replace(" ", "_"), corner, cell
            )


def _matrix_cell(
    drawing: Drawing, row: Json | None, measure: str, corner: tuple[float, float], cell: float
) -> None:
    x, y = corner
    if row is None:
        drawing.box(x, y, cell, CELL, fill=PAPER, stroke=FAINT)
        return
    value, middle = row[measure], x + cell / 2
    ink = PAPER if value is not None and value > 0.8 else INK
    drawing.box(x, y, cell, CELL, fill=PALE if value is None else _shade(value), stroke=FAINT)
    drawing.text(middle, y + 14, show(value), anchor="middle", fill=ink, weight="bold")
    drawing.text(middle, y + 26, counted(row["runs"], "run"), size=SMALL, anchor="middle", fill=ink)
    if cell >= 62:
        claims = row["claims_per_run"]
        more = f"{row['facts_known']} known" if claims is None else f"{claims:.1f} claims"
        drawing.text(middle, y + 38, more, size=SMALL, anchor="middle", fill=ink)


def _shade(value: float) -> str:
    """Return white to dark blue."""
    ends = ((255, 0), (255, 90), (255, 141))
    return "#" + "".join(f"{round(a + (b - a) * value):02x}" for a, b in ends)


def _ramp(drawing: Drawing, y: float) -> None:
    drawing.text(12, y + 8, "0", size=SMALL, fill=QUIET)
    for step in range(6):
        drawing.box(22 + step * 12, y, 12, 9, fill=_shade(step / 5), stroke=FAINT)
    drawing.text(98, y + 8, "1", size=SMALL, fill=QUIET)


# --- rankings -----------------------------------------------------------------------------------


def draw_ranking(table: Table) -> str:
    """Draw points with intervals, a panel for each measure; long names stand above their points."""
    rows = table.dicts()
    panels = [(by, [row for row in rows if row["by"] == by]) for by in MEASURES]
    panels = [(by, found) for by, found in panels if found]
    is_above = any(width_of(_place(row)) > 116 for row in rows)
    step = ROW + 12 if is_above else ROW
    height = sum(44 + step * len(found) for _, found in panels) + 4
    drawing = Drawing(table.name, table.title, COLUMN, height)
    left = 14.0 if is_above else names_room(map(_place, rows))
    top = 0.0
    for by, found in panels:
        drawing.text(6, top + 14, MEASURES[by], weight="bold")
        drawing.axis(left, RIGHT, top + 22, top + 26 + step * len(found))
        for line, row in enumerate(found):
            _ranked(drawing, row, top + 34 + step * line, left, is_above=is_above)
        top += 44 + step * len(found)
    return drawing.done()


def _place(row: Json) -> str:
    return row["name"] if row["rank"] is None else f"{row['rank']}. {row['name']}"


def _ranked(drawing: Drawing, row: Json, y: float, left: float, *, is_above: bool) -> None:
    is_ranked = row["rank"] is not None
    if is_above:
        name = fit(_place(row), COLUMN - 20)
        drawing.text(10, y + 2, name, full=_place(row), halo=True)
        y += 12
    else:
        drawing.label(left - 8, y + 3.5, _place(row), left - 12)
    if row["value"] is not None:
        _whisker(drawing, row, y, left, RIGHT)
        drawing.mark(_at(row["value"], left, RIGHT), y, "circle", BLUE if is_ranked else PAPER)
    said = f"{show(row['value'])} ({show(row['low'])} to {show(row['high'])})"
    if not is_ranked:
        said = str(row["remark"])
        if said.startswith(NOT_READ):
            said = f"{NOT_READ}: {show(row['not_judged'] / row['samples'])} of all"
    drawing.text(RIGHT + 10, y + 3.5, said, size=SMALL, fill=INK if is_ranked else QUIET)


def _whisker(drawing: Drawing, row: Json, y: float, left: float, right: float) -> None:
    low, high = _at(row["low"], left, right), _at(row["high"], left, right)
    drawing.line(low, y, high, y, width=1.4, dashed=row.get("rank", 1) is None)


def _at(share: float, left: float, right: float) -> float:
    return left + share * (right - left)


# --- refusal by arm -----------------------------------------------------------------------------


def draw_withheld(table: Table) -> str:
    """Draw the arms of each model on one line, joined; each arm has its own shape."""
    rows = table.dicts()
    arms = _distinct(rows, "arm")
    panels = [(kind, [row for row in rows if row["kind"] == kind]) for kind in KINDS]
    panels = [(kind, found) for kind, found in panels if found]
    pitch = 12.0 + 8 * len(arms)
    heights = [44 + pitch * len(_distinct(found, "model")) for _, found in panels]
    drawing = Drawing(table.name, table.title, COLUMN, sum(heights) + 16 * len(arms) / 2 + 14)
    left = names_room(row["model"] for row in rows)
    right, top = COLUMN - 16.0, 0.0
    for (kind, found), height in zip(panels, heights, strict=True):
        drawing.text(6, top + 14, f"{KINDS[kind]}: share of texts withheld", weight="bold")
        drawing.axis(left, right, top + 20, top + height - 18)
        for line, model in enumerate(_distinct(found, "model")):
            own = [row for row in found if row["model"] == model]
            _joined(drawing, own, arms, top + 26 + pitch * line, (left, right))
        top += height
    for number, arm in enumerate(arms):
        x, y = 16 + (number % 2) * 160, top + 8 + 16 * (number // 2)
        drawing.mark(x, y, SHAPES[number % 4], _ARMS[number % 4])
        drawing.text(x + 10, y + 3.5, fit(arm, 130), full=arm)
    return drawing.done()


def _joined(
    drawing: Drawing, rows: Sequence[Json], arms: Sequence[str], y: float, room: tuple[float, float]
) -> None:
    left, right = room
    points = [(_at(r["value"], left, right), arms.index(r["arm"]), r) for r in rows if r["units"]]
    places = [(x, y + 4 + 8.0 * number) for x, number, _ in points]
    for (x1, y1), (x2, y2) in pairwise(places):
        drawing.line(x1, y1, x2, y2, stroke=VERMILION, width=0.9)
    for (x, at), (_, number, row) in zip(places, points, strict=True):
        _whisker(drawing, row, at, left, right)
        drawing.mark(
            x, at, SHAPES[number % 4], _ARMS[number % 4], f"{row['arm']} {show(row['value'])}"
        )
    middle = y + 4 * len(arms)
    drawing.label(left - 8, middle + 3.5, rows[0]["model"], left - 12)
    if not points:
        drawing.text(left + 4, middle + 3.5, "no text could be read", size=SMALL, fill=QUIET)
    drawing.line(6, y + 8 * len(arms) + 6, right, y + 8 * len(arms) + 6, stroke=FAINT, width=0.5)


def _distinct(rows: Sequence[Json], column: str) -> list[str]:
    return list(dict.fromkeys(str(row[column]) for row in rows))


# --- stacked bars: facts by verdict, and cost by role ----------------------------------------------


BAR, STEP = 15.0, 21.0
KINDS = {"audit": "Audits", "probe": "Probe runs"}
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
        parts = {name: float(row[name]) for name in VERDICTS if row[name]}
        total = sum(row[name] for name in VERDICTS)
        bars.append(Bar(row["model"], parts, {n: show(row[n]) for n in parts}, show(total)))
    return _draw(table, {"Facts asked for, by verdict": bars}, VERDICTS)


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
