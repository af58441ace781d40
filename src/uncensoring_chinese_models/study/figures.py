"""The figures of the study, each drawn from its own table and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from uncensoring_chinese_models.domain import Json
from uncensoring_chinese_models.study.bars import draw_cost, draw_verdicts
from uncensoring_chinese_models.study.svg import (
    BLUE,
    COLUMN,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PAGE,
    PURPLE,
    QUIET,
    SHAPES,
    SMALL,
    VERMILION,
    Drawing,
    fit,
    width_of,
)
from uncensoring_chinese_models.study.table import Table, show

NAMES = 104.0
"""Room for the names of models or topics."""
ROW = 20.0
NOTHING = "#f2f2f2"
_ARMS = (ORANGE, BLUE, GREEN, PURPLE)
_KINDS = {"audit": "Audits", "battery": "Batteries"}
_MEASURES = {
    "refusal": "Refusal when asked (audits)",
    "withheld": "Known facts withheld or denied (batteries)",
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
    """Draw every figure that there are numbers for."""
    by_name = {table.name: table for table in tables}
    models = _part(by_name["ranking"], "ranking_models", "Models ranked", of="model")
    topics = _part(by_name["ranking"], "ranking_topics", "Topics ranked", of="topic")
    drawn: list[tuple[Table, str, Callable[[Table], str]]] = [
        (by_name["matrix"], "Darker is more; hatched was not asked.", draw_matrix),
        (models, "Bars are 95 % intervals; hollow points are too few to rank.", draw_ranking),
        (topics, "Bars are 95 % intervals; hollow points are too few to rank.", draw_ranking),
        (by_name["verdicts"], "Facts asked for, by what came out.", draw_verdicts),
        (by_name["refusal"], "Arms of the same model; bars are 95 % intervals.", draw_refusal),
        (by_name["cost"], "By role.", draw_cost),
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
    """Draw models by topics: a panel for audits, one for batteries."""
    rows = table.dicts()
    panels = [(kind, [row for row in rows if row["kind"] == kind]) for kind in _KINDS]
    panels = [(kind, found) for kind, found in panels if found]
    most = max(len(_distinct(found, "topic")) for _, found in panels)
    cell = min(76.0, max(50.0, (COLUMN - NAMES - 14) / most))
    width = max(COLUMN, NAMES + most * cell + 14)
    if width > COLUMN:
        width = max(PAGE, width)
        cell = min(76.0, (width - NAMES - 14) / most)
    heights = [_head(found) + 36 * len(_distinct(found, "model")) for _, found in panels]
    drawing = Drawing(table.name, table.title, width, sum(heights) + 34)
    top = 0.0
    for (kind, found), height in zip(panels, heights, strict=True):
        _matrix_panel(drawing, kind, found, top, cell)
        top += height
    _ramp(drawing, top + 12)
    return drawing.done()


def _head(rows: Sequence[Json]) -> float:
    longest = max(width_of(fit(str(row["topic"]), 120)) for row in rows)
    return 30 + longest * 0.62


def _matrix_panel(
    drawing: Drawing, kind: str, rows: Sequence[Json], top: float, cell: float
) -> None:
    measure = "refusal" if kind == "audit" else "withheld"
    models, topics = _distinct(rows, "model"), _distinct(rows, "topic")
    drawing.text(6, top + 14, _MEASURES[measure], weight="bold")
    first = top + _head(rows)
    for column, topic in enumerate(topics):
        x = NAMES + column * cell + cell / 2
        drawing.text(x - 4, first - 5, fit(topic, 120), turn=-38, full=topic)
    found = {(row["model"], row["topic"]): row for row in rows}
    for line, model in enumerate(models):
        y = first + 36 * line
        drawing.label(NAMES - 6, y + 21, model, NAMES - 10)
        for column, topic in enumerate(topics):
            _matrix_cell(drawing, found.get((model, topic)), measure, NAMES + column * cell, y, cell)


def _matrix_cell(  # noqa: PLR0913 -- what, and where
    drawing: Drawing, row: Json | None, measure: str, x: float, y: float, cell: float
) -> None:
    if row is None:
        drawing.box(x, y, cell, 36, fill="#ffffff", pattern="rising", stroke="#ffffff", hint="none")
        drawing.box(x + 4, y + 4, cell - 8, 28, fill="#ffffff", stroke="#ffffff")
        return
    value = row[measure]
    ink = "#ffffff" if value is not None and value > 0.5 else INK
    drawing.box(x, y, cell, 36, fill=NOTHING if value is None else _shade(value), stroke="#ffffff")
    middle = x + cell / 2
    drawing.text(middle, y + 15, show(value), anchor="middle", fill=ink, weight="bold")
    runs = f"{row['runs']} run{'' if row['runs'] == 1 else 's'}"
    if row["claims_per_run"] is not None:
        runs += f", {row['claims_per_run']:.1f} cl."
    else:
        runs += f", {row['facts_known']} kn."
    drawing.text(middle, y + 28, runs if cell >= 62 else runs.split(",")[0], size=SMALL,
                 anchor="middle", fill=ink)


def _shade(value: float) -> str:
    """Return white to dark blue."""
    ends = ((255, 0), (255, 90), (255, 141))
    return "#" + "".join(f"{round(a + (b - a) * value):02x}" for a, b in ends)


def _ramp(drawing: Drawing, y: float) -> None:
    for step in range(11):
        drawing.box(NAMES + step * 12, y, 12, 9, fill=_shade(step / 10), stroke="#ffffff")
    drawing.text(NAMES - 4, y + 8, "0", size=SMALL, anchor="end", fill=QUIET)
    drawing.text(NAMES + 136, y + 8, "1", size=SMALL, fill=QUIET)
    drawing.text(NAMES + 150, y + 8, "cl. claims a run, kn. facts known", size=SMALL, fill=QUIET)


# --- rankings -----------------------------------------------------------------------------------


def draw_ranking(table: Table) -> str:
    """Draw points with intervals, a panel for each measure."""
    rows = table.dicts()
    panels = [(by, [row for row in rows if row["by"] == by]) for by in _MEASURES]
    panels = [(by, found) for by, found in panels if found]
    height = sum(44 + ROW * len(found) for _, found in panels) + 4
    drawing = Drawing(table.name, table.title, COLUMN, height)
    left, right, top = NAMES, COLUMN - 92.0, 0.0
    for by, found in panels:
        drawing.text(6, top + 14, _MEASURES[by], weight="bold")
        drawing.axis(left, right, top + 22, top + 26 + ROW * len(found))
        for line, row in enumerate(found):
            _ranked(drawing, row, top + 34 + ROW * line, left, right)
        top += 44 + ROW * len(found)
    return drawing.done()


def _ranked(drawing: Drawing, row: Json, y: float, left: float, right: float) -> None:
    is_ranked = row["rank"] is not None
    place = f"{row['rank']}. " if is_ranked else ""
    drawing.label(left - 8, y + 3.5, place + row["name"], NAMES - 12)
    if row["value"] is not None:
        _whisker(drawing, row, y, left, right)
        drawing.mark(_at(row["value"], left, right), y, "circle", BLUE if is_ranked else "#ffffff")
    said = f"{show(row['value'])} ({show(row['low'])}–{show(row['high'])})"
    if not is_ranked:
        said = f"too few: {row['units']} {row['unit']}{'' if row['units'] == 1 else 's'}"
    drawing.text(right + 10, y + 3.5, said, size=SMALL, fill=INK if is_ranked else QUIET)


def _whisker(drawing: Drawing, row: Json, y: float, left: float, right: float) -> None:
    low, high = _at(row["low"], left, right), _at(row["high"], left, right)
    drawing.line(low, y, high, y, width=1.4, dashed=row.get("rank", 1) is None)


def _at(share: float, left: float, right: float) -> float:
    return left + share * (right - left)


# --- refusal by arm -----------------------------------------------------------------------------


def draw_refusal(table: Table) -> str:
    """Draw the arms of each model on one line, joined; each arm has its own shape."""
    rows = table.dicts()
    arms = _distinct(rows, "arm")
    panels = [(kind, [row for row in rows if row["kind"] == kind]) for kind in _KINDS]
    panels = [(kind, found) for kind, found in panels if found]
    pitch = 12.0 + 8 * len(arms)
    heights = [44 + pitch * len(_distinct(found, "model")) for _, found in panels]
    drawing = Drawing(table.name, table.title, COLUMN, sum(heights) + 16 * len(arms) / 2 + 14)
    left, right, top = NAMES, COLUMN - 16.0, 0.0
    for (kind, found), height in zip(panels, heights, strict=True):
        drawing.text(6, top + 14, f"{_KINDS[kind]}: share of texts refused", weight="bold")
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
    for (x1, y1), (x2, y2) in zip(places, places[1:], strict=False):
        drawing.line(x1, y1, x2, y2, stroke=VERMILION, width=0.9)
    for (x, at), (_, number, row) in zip(places, points, strict=True):
        _whisker(drawing, row, at, left, right)
        drawing.mark(x, at, SHAPES[number % 4], _ARMS[number % 4], f"{row['arm']} {show(row['value'])}")
    middle = y + 4 * len(arms)
    drawing.label(left - 8, middle + 3.5, rows[0]["model"], NAMES - 12)
    if not points:
        drawing.text(left + 4, middle + 3.5, "no text could be read", size=SMALL, fill=QUIET)
    drawing.line(6, y + 8 * len(arms) + 6, right, y + 8 * len(arms) + 6, stroke=FAINT, width=0.5)


def _distinct(rows: Sequence[Json], column: str) -> list[str]:
    return list(dict.fromkeys(str(row[column]) for row in rows))
