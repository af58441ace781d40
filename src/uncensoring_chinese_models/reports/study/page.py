"""The page of a study: one file with every table and figure in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from uncensoring_chinese_models.domain import Json
from uncensoring_chinese_models.reports.pages.render import standalone
from uncensoring_chinese_models.reports.sentences import counted
from uncensoring_chinese_models.reports.study.figures import Figure
from uncensoring_chinese_models.reports.study.gather import Gathered
from uncensoring_chinese_models.reports.study.records import StudyRecord
from uncensoring_chinese_models.reports.study.run_tables import HOW_COUNTED
from uncensoring_chinese_models.reports.study.table import Table, Value, show

FIGURES, TABLES = "figures", "tables"
MAX_OPEN_ROWS = 30
"""Max rows of a table that is shown open; a longer one is folded."""
MIN_WIDE_CHARACTERS = 40
"""A cell with a longer text gets a wide column, so that its row does not become too high."""
MAX_NAMED_RUNS = 10
"""Max number of runs that ended early which the page names; the table of runs has all."""
_DRAWN = {
    "matrix": ("matrix",),
    "ranking": ("ranking_models", "ranking_topics"),
    "verdicts": ("verdicts",),
    "withheld_texts": ("withheld_texts",),
    "cost": ("cost",),
}
"""The figures above each table."""


@dataclass(frozen=True, slots=True)
class StudyView:
    """The text of the page before its tables."""

    name: str
    sentences: tuple[str, ...]
    models: tuple[str, ...]
    topics: tuple[str, ...]


def study_view(name: str, found: Gathered) -> StudyView:
    """Return the beginning of the page."""
    records = found.records
    probes = [record for record in records if record.kind == "probe"]
    judged = sum(record.sheet is not None for record in probes)
    failed = sum(record.has_failed for record in records)
    lost = sum(each.of == "everything" for each in found.left_out)
    runs, audits = counted(len(records), "finished run"), len(records) - len(probes)
    sentences = [
        (
            f"{runs}: {counted(audits, 'audit')}, where an auditor explores, and "
            f"{counted(len(probes), 'probe run')}, where each fact of a file is asked for "
            f"({judged} judged)."
        )
    ]
    if failed:
        sentences.append(f"The findings of {counted(failed, 'run')} that failed are not counted.")
    if early := [f"{r.place} ({r.ended_early})" for r in records if r.ended_early]:
        more = f" and {len(early) - MAX_NAMED_RUNS} more" if len(early) > MAX_NAMED_RUNS else ""
        names = ", ".join(early[:MAX_NAMED_RUNS])
        sentences.append(f"{counted(len(early), 'run')} ended early: {names}{more}.")
    if lost:
        sentences.append(f"{lost} more could not be used; \u201cWhat was left out\u201d says why.")
    sentences.append(HOW_COUNTED)
    return StudyView(
        name,
        tuple(sentences),
        tuple(sorted({record.model for record in records})),
        tuple(sorted({record.topic for record in records})),
    )


def study_html(
    view: StudyView,
    tables: Sequence[Table],
    figures: Sequence[Figure],
    records: Sequence[StudyRecord],
    *,
    has_png: bool,
) -> str:
    """Return the page."""
    drawn = {figure.name: figure for figure in figures}
    links = {record.place: quote(record.report) for record in records if record.report}
    sections = [
        _table_view(table, links)
        | {"figures": [_figure_view(drawn[n]) for n in _DRAWN.get(table.name, ()) if n in drawn]}
        for table in tables
    ]
    return standalone("study.html", study=view, sections=sections, has_png=has_png)


def _figure_view(figure: Figure) -> Json:
    return {
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "svg": figure.svg,
        "files": f"{FIGURES}/{figure.name}",
    }


def _table_view(table: Table, links: dict[str, str]) -> Json:
    """Return a table for the template.

    An interval is shown after its number; empty columns are left out.
    """
    names = table.columns
    bounds = {name: found for name in names if (found := _bounds(name, names))}
    hidden = {bound for found in bounds.values() for bound in found}
    shown = [
        name
        for at, name in enumerate(names)
        if name not in hidden and any(row[at] not in (None, "") for row in table.rows)
    ]
    rows = [
        [_cell_view(row, name, bounds.get(name), links) for name in shown] for row in table.dicts()
    ]
    return {
        "name": table.name,
        "title": table.title,
        "note": table.note,
        "columns": [name.replace("_", " ") for name in shown],
        "rows": rows,
        "is_long": len(rows) > MAX_OPEN_ROWS,
        "summary": counted(len(rows), "row"),
        "file": f"{TABLES}/{table.name}.csv",
    }


def _bounds(name: str, names: Sequence[str]) -> tuple[str, str] | None:
    """Return the columns with the interval of a column."""
    prefix = "" if name in ("value", "difference") else f"{name}_"
    low, high = f"{prefix}low", f"{prefix}high"
    return (low, high) if low in names and high in names else None


def _cell_view(row: Json, name: str, bounds: tuple[str, str] | None, links: dict[str, str]) -> Json:
    value: Value = row[name]
    text = show(value)
    if bounds and value is not None and row[bounds[0]] is not None:
        text += f" ({show(row[bounds[0]])} to {show(row[bounds[1]])})"
    link = links.get(str(value)) if name == "run" and "kind" in row else None
    return {"text": text, "kind": _kind(value), "link": link}


def _kind(value: Value) -> str:
    """Return the CSS class of a cell."""
    if not isinstance(value, str):
        return "number"
    return "wide" if len(value) > MIN_WIDE_CHARACTERS else "text"
