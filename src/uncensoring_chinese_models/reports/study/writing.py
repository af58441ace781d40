"""Write the study of a folder of runs: a page, figures and tables, beside the folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from uncensoring_chinese_models.errors import MissingExtraError, RunStoreError
from uncensoring_chinese_models.reports.study.fact_tables import (
    by_fact,
    facts_table,
    verdicts_table,
    withheld_table,
)
from uncensoring_chinese_models.reports.study.figures import Figure, make_figures
from uncensoring_chinese_models.reports.study.gather import STUDY, Gathered, gather
from uncensoring_chinese_models.reports.study.page import FIGURES, TABLES, study_html, study_view
from uncensoring_chinese_models.reports.study.png import font_problem, to_png
from uncensoring_chinese_models.reports.study.run_tables import (
    arms_table,
    cost_table,
    left_out_table,
    matrix_table,
    ranking_table,
    runs_table,
    withheld_texts_table,
)
from uncensoring_chinese_models.reports.study.table import Table
from uncensoring_chinese_models.runs import refuse_in_run, refuse_link, replace_file

PAGE = "index.html"
MARK = '<meta name="generator" content="uncensoring_chinese_models: study">'
"""Marks the page of a study; a folder without it was not written by us and is left alone."""
MARK_WITHIN = 1000
_ALL_FIGURES = ("matrix", "ranking_models", "ranking_topics", "verdicts", "withheld_texts", "cost")

Say = Callable[[str], None]


def write_study(folder: Path, out: Path | None = None, say: Say = lambda _: None) -> list[Path]:
    """Write the study of all runs below a folder; return the files, the page first.

    Args:
        folder: where the runs are, at most 8 levels below it.
        out: where the study goes; by default beside the folder, with `.study` after its name.
        say: called with each warning.

    Raises:
        ConfigError: it would be written into a run.
        RunStoreError: the folder holds no run, `out` exists and is not a study, or the study cannot
            be written.
    """
    if not folder.is_dir():
        raise RunStoreError(f"{folder} is not a folder; give one that holds runs.")
    resolved = folder.resolve()
    target = resolved.with_name(resolved.name + STUDY) if out is None else out
    page_before = _page_before(target)
    found = gather(folder, target.resolve())
    if not found.records and not found.left_out:
        raise RunStoreError(
            f"There is no run in {folder} or below it; nothing was written. Give a folder into which "
            "ucm audit or ucm probe wrote runs."
        )
    tables = make_tables(found)
    figures = make_figures(tables)
    pngs = _pngs(figures, say)
    view = study_view(resolved.name, found)
    page = study_html(view, tables, figures, found.records, has_png=bool(pngs))
    files = {PAGE: page.encode("utf-8"), **dict(_files(tables, figures)), **pngs}
    try:
        return _write(target, files, page_before)
    except OSError as err:
        raise RunStoreError(f"The study could not be written: {err}.") from err


def make_tables(found: Gathered) -> list[Table]:
    """Return every table of the study, in the order of the page."""
    records, facts = found.records, by_fact(found.records)
    return [
        matrix_table(records),
        ranking_table(records),
        verdicts_table(facts),
        withheld_table(facts),
        withheld_texts_table(records),
        arms_table(records),
        facts_table(facts),
        cost_table(records),
        left_out_table(found.left_out),
        runs_table(records),
    ]


def _files(tables: Sequence[Table], figures: Sequence[Figure]) -> Iterator[tuple[str, bytes]]:
    for table in tables:
        yield f"{TABLES}/{table.name}.csv", table.as_csv().encode("utf-8")
    for figure in figures:
        yield f"{FIGURES}/{figure.name}.svg", figure.svg.encode("utf-8")
        yield f"{FIGURES}/{figure.name}.csv", figure.table.as_csv().encode("utf-8")


def _pngs(figures: Sequence[Figure], say: Say) -> dict[str, bytes]:
    """Return the figures as PNG, or say why there are none."""
    try:
        is_possible, problem = font_problem([figure.svg for figure in figures])
    except MissingExtraError as err:
        is_possible, problem = False, str(err)
    if problem:
        say(problem)
    if not is_possible:
        return {}
    return {f"{FIGURES}/{figure.name}.png": to_png(figure.svg) for figure in figures}


# --- the folder ---------------------------------------------------------------------------------


def _page_before(target: Path) -> str:
    """Return the page of the earlier study that this one replaces; empty if there is none.

    Raises:
        ConfigError: the target is a run, or inside one.
        RunStoreError: the target is a link, or holds something that is not a study.
    """
    refuse_in_run(target)
    for folder in (target, target / FIGURES, target / TABLES):
        refuse_link(folder)
    try:
        if not target.exists() or (target.is_dir() and not any(target.iterdir())):
            return ""
        page = target / PAGE
        if page.is_file() and not page.is_symlink():
            text = page.read_text("utf-8", "replace")
            if MARK in text[:MARK_WITHIN]:
                return text
    except OSError as err:
        raise RunStoreError(f"{target} cannot be read: {err.strerror}.") from err
    raise RunStoreError(
        f"{target} exists and is not a study of this program; it was left as it is. Remove it, or "
        "name another folder with --out."
    )


def _write(target: Path, files: dict[str, bytes], page_before: str) -> list[Path]:
    """Write the files, and remove figures that only the earlier page links to."""
    target.mkdir(parents=True, exist_ok=True)
    replace_file(target / PAGE, files[PAGE])
    for name in (FIGURES, TABLES):
        (target / name).mkdir(exist_ok=True)
    for name in _ALL_FIGURES:
        for ending in ("svg", "png", "csv"):
            file = f"{FIGURES}/{name}.{ending}"
            if file not in files and f'"{file}"' in page_before:
                (target / file).unlink(missing_ok=True)
    for name, content in files.items():
        replace_file(target / name, content)
    return [target / name for name in files]
