"""The pages of the viewer: the data of each page, and its template."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.errors import AuditToolError
from uncensoring_chinese_models.reports import render, run_view
from uncensoring_chinese_models.runs import read_run
from uncensoring_chinese_models.viewer.course import course_of
from uncensoring_chinese_models.viewer.index import Filters
from uncensoring_chinese_models.viewer.queries import MIN_INDEXED_CHARACTERS, search, topic_matrix
from uncensoring_chinese_models.viewer.side_by_side import (
    MEASURES,
    VERDICTS,
    claim_counts,
    differing_settings,
    facts_of_both,
    labels_by_arm,
    tested,
)
from uncensoring_chinese_models.viewer.signatures import by_name, signature_of

if TYPE_CHECKING:
    from pathlib import Path

    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.reports import RunView
    from uncensoring_chinese_models.runs import RunFiles
    from uncensoring_chinese_models.viewer.index import Index

RUNS_PER_PAGE = 100
MAX_HITS = 50
VIEWS = ("both", "auditor", "target")
_VERSION_LENGTH = 16
"""Hexadecimal digits: enough that no two states of one run have the same."""
_MAX_ASKED_CHARACTERS = 500
"""Max characters of a query parameter."""
TOO_DEEP = (
    "A file of this run is nested too deeply to be shown; nothing was changed. ucm verify says what "
    "is wrong with it."
)
Query = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Screen:
    """A page, for people and for programs."""

    template: str
    values: dict[str, Any]
    """What the template shows."""
    data: Callable[[], Json]
    """Returns the data for programs."""
    status: int = 200

    def html(self) -> str:
        """Return the page."""
        return render(f"view/{self.template}", **self.values)

    def json(self) -> str:
        """Return the data as JSON in ASCII."""
        return strict_json.dumps(self.data(), ensure_ascii=True)


UNCHANGED = Screen("", {}, dict, 204)
"""The answer to whoever has the present version of a page."""


def problem(status: int, sentence: str) -> Screen:
    """Return a page that says what is wrong."""
    told = {"error": sentence}
    return Screen("problem.html", told, lambda: told, status)


def _asked(query: Query, name: str) -> str:
    return query.get(name, "")[:_MAX_ASKED_CHARACTERS].strip()


def _page(query: Query) -> int:
    told = query.get("page", "")
    return int(told) if told.isascii() and told.isdigit() and 0 < len(told) < 7 else 1


# --- the landing page ---------------------------------------------------------------------------


def landing(index: Index, query: Query) -> Screen:
    """Return the matrix of topics and models, and the runs that match the filters."""
    filters = Filters(*(_asked(query, each.name) for each in fields(Filters)))
    total = index.count(filters)
    page = min(max(_page(query), 1), max(-(-total // RUNS_PER_PAGE), 1))
    rows = index.rows(filters, RUNS_PER_PAGE, (page - 1) * RUNS_PER_PAGE)
    matrix = topic_matrix(index)
    asked = {name: value for name, value in asdict(filters).items() if value}
    chosen = {each: row for each in "ab" if (row := index.row(_asked(query, each))) is not None}
    kept = {each: row.id for each, row in chosen.items()}
    data: Json = {
        "indexing": index.progress._asdict() if index.progress.is_behind else None,
        "filters": asdict(filters),
        "topics": list(matrix.topics),
        "models": list(matrix.models),
        "cells": [cell.as_json() for cell in matrix.cells.values()],
        "left_out": matrix.left_out,
        "total": total,
        "page": page,
        "chosen": kept,
        "runs": [row.as_json() for row in rows],
    }
    choices = {name: index.values(name) for name in ("topic", "target", "status")}
    more = {
        "matrix": matrix,
        "choices": choices,
        "away": {each: row for each, row in chosen.items() if row not in rows},
        "pages": {"before": page > 1, "after": total > page * RUNS_PER_PAGE},
        "query": urlencode(asked | ({"page": str(page)} if page > 1 else {})),
        "link": lambda **given: "/?" + urlencode(given | kept),
    }
    return Screen("landing.html", data | more, lambda: data)


def _pages(path: str, asked: Query, page: int, has_more: bool) -> Json:  # noqa: FBT001
    """Return the addresses of the previous and the next page, if there are any."""
    turn = {"before": page - 1 if page > 1 else None, "after": page + 1 if has_more else None}
    return {
        name: None if number is None else f"{path}?{urlencode({**asked, 'page': number})}"
        for name, number in turn.items()
    }


# --- search -------------------------------------------------------------------------------------


def search_screen(index: Index, query: Query) -> Screen:
    """Return the samples that contain a text."""
    wanted, page = _asked(query, "q"), _page(query)
    found = search(index, wanted, MAX_HITS + 1, (page - 1) * MAX_HITS)
    data: Json = {
        "indexing": index.progress._asdict() if index.progress.is_behind else None,
        "q": wanted,
        "page": page,
        "hits": [asdict(hit) for hit in found[:MAX_HITS]],
    }
    pages = _pages("/search", {"q": wanted}, page, len(found) > MAX_HITS)
    is_slow = 0 < len(wanted) < MIN_INDEXED_CHARACTERS
    return Screen("search.html", data | {"pages": pages, "is_slow": is_slow}, lambda: data)


# --- one run ------------------------------------------------------------------------------------


def run_screen(run_id: str, folder: Path, query: Query) -> Screen:
    """Return one run in its present state, or `UNCHANGED` if the asker has this version of it."""
    signature = signature_of(folder)  # before the files are read, so no later change is missed
    version = hashlib.sha256(signature.encode()).hexdigest()[:_VERSION_LENGTH]
    if query.get("have") == version:
        return UNCHANGED
    view = query.get("view", "both")
    known = {
        "id": run_id,
        "version": version,
        "view": view if view in VIEWS else "both",
        "error": "",
    }
    try:
        files, run = _seen(folder, signature)
    except (AuditToolError, RecursionError) as err:
        reason = TOO_DEEP if isinstance(err, RecursionError) else by_name(str(err), folder)
        told = {"error": reason}
        return Screen("run.html", known | told | {"is_followed": True}, lambda: told, 422)
    course = asdict(course_of(files.journal))
    is_going = files.summary is None
    values = {"run": run, "course": course, "views": VIEWS, "is_going": is_going}
    return Screen(
        "run.html",
        known | values | {"is_followed": is_going},
        lambda: {"id": run_id, "version": version, "course": course, **run.as_json()},
    )


@lru_cache(maxsize=8)
def _seen(folder: Path, signature: str) -> tuple[RunFiles, RunView]:  # noqa: ARG001 -- a key
    """Return a run; cached until a file in its folder changes."""
    files = read_run(folder)
    return files, run_view(files)


# --- two runs -----------------------------------------------------------------------------------


def compare_screen(folders: Mapping[str, Path], ids: tuple[str, str]) -> Screen:
    """Return two runs side by side."""
    try:
        seen = [_seen(folders[each], signature_of(folders[each])) for each in ids]
    except AuditToolError as err:
        return problem(422, by_name(str(err), *folders.values()))
    files, views = [each for each, _ in seen], [each for _, each in seen]
    one, other = views
    facts, facts_problem = facts_of_both(*files)
    data: Json = {
        "runs": [
            {"id": run_id, "name": view.name, "topic": view.topic, "target": view.target}
            | {"auditor": view.auditor, "status": view.status, "started_at": view.started_at}
            | {"verdict": view.verdict, "claims": [asdict(claim) for claim in view.claims]}
            | {"claim_counts": claim_counts(view)}
            for run_id, view in zip(ids, views, strict=True)
        ],
        "settings": differing_settings(one.settings, other.settings),
        "arms": labels_by_arm(one, other),
        "facts": facts,
        "facts_problem": facts_problem,
        "tested": tested(*files),
    }
    words = {"VERDICTS": VERDICTS, "MEASURES": MEASURES}
    return Screen("compare.html", data | words | {"views": views}, lambda: data)
