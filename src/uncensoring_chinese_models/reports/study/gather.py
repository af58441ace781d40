"""Find the runs below a folder; list those that a study must leave out, with the reason."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from uncensoring_chinese_models.errors import AuditToolError
from uncensoring_chinese_models.reports.pages.render import report_html
from uncensoring_chinese_models.reports.study.records import StudyRecord, make_record
from uncensoring_chinese_models.runs import RunFiles, find_runs, judged_folder, read_run

STUDY = ".study"
"""Suffix of the folder that holds the study of a folder of runs."""
REPORT = "report.html"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A run that the study, or a part of it, leaves out."""

    place: str
    of: str
    """The part of the study that leaves it out."""
    reason: str


@dataclass(frozen=True, slots=True)
class Gathered:
    """All runs of a folder."""

    records: tuple[StudyRecord, ...]
    left_out: tuple[LeftOut, ...]


def gather(folder: Path, seen_from: Path) -> Gathered:
    """Read every run below a folder.

    Args:
        folder: where the runs are.
        seen_from: the folder of the study's page, for its links to theirs.
    """
    records: list[StudyRecord] = []
    left_out: list[LeftOut] = []
    known: dict[str, str] = {}
    for path in sorted(find_runs(folder)):
        place = path.relative_to(folder).as_posix()
        found = _read(path, place, seen_from, known)
        if isinstance(found, LeftOut):
            left_out.append(found)
            continue
        records.append(found)
        left_out += _missing(found)
    return Gathered(tuple(_with_draws(records)), tuple(left_out))


def _with_draws(records: list[StudyRecord]) -> Iterator[StudyRecord]:
    """Yield each run with the first run whose samples may be the same.

    A server that honours a seed gives the same text again, whatever the other settings are.
    """
    first: dict[tuple[str, str, int], str] = {}
    for each in records:
        if each.seed is None:
            yield each
        else:
            draw = first.setdefault((each.topic, each.model, each.seed), each.place)
            yield replace(each, draw=draw)


def _read(path: Path, place: str, seen_from: Path, known: dict[str, str]) -> StudyRecord | LeftOut:
    """Read one run; a copy of one that is there already says nothing new."""
    try:
        run = read_run(path)
        if run.summary is None:
            return LeftOut(place, "everything", "it has not finished")
        digest = hashlib.sha256(run.journal).hexdigest()
        original = known.setdefault(digest, place)
        if run.journal and original != place:
            return LeftOut(place, "everything", f"its journal is that of {original}")
        return make_record(run, place, _link(path, run, seen_from))
    except AuditToolError as err:
        return LeftOut(place, "everything", _without_folder(str(err), path, place))
    except OSError as err:
        return LeftOut(place, "everything", f"it cannot be read: {err.strerror}")


def _without_folder(message: str, path: Path, place: str) -> str:
    """Return the message with the run's name instead of its path on this machine."""
    return message.replace(str(path), place)


def _link(path: Path, run: RunFiles, seen_from: Path) -> str | None:
    """Return the link to the page of a run: the latest that ucm report wrote, or its own.

    A page is linked only if the run lists its hash or this version makes the same page of the run;
    any other page could be from somebody else.
    """
    named = path.resolve()
    judged, derived = judged_folder(named), _derived(run)
    for report in (judged / REPORT, named.with_name(f"{named.name}.{REPORT}"), named / REPORT):
        if report.is_symlink() or report.parent.is_symlink() or not report.is_file():
            continue
        content = report.read_bytes()
        if _is_listed(report, content, run) or content == derived:
            return Path(os.path.relpath(report, seen_from)).as_posix()
    return None


def _is_listed(report: Path, content: bytes, run: RunFiles) -> bool:
    """Return True if a page is in its run and the summary lists its hash."""
    listed = (run.summary or {}).get("sha256")
    own = run.folder is not None and report.parent == run.folder.resolve()
    digest = hashlib.sha256(content).hexdigest()
    return own and isinstance(listed, dict) and listed.get(REPORT) == digest


def _derived(run: RunFiles) -> bytes | None:
    """Return the page that this version makes of a run and its judgements; None if it cannot."""
    try:
        return report_html(run).encode("utf-8")
    except AuditToolError:
        return None


def _missing(record: StudyRecord) -> Iterator[LeftOut]:
    if record.has_failed:
        yield LeftOut(record.place, "all but cost", f"it ended early: {record.ended_early}")
    elif record.kind == "probe" and record.sheet is None:
        yield LeftOut(record.place, "verdicts and facts", "it was not judged; ucm judge does that")
    for sentence in record.unfit:
        yield LeftOut(record.place, "a judgement", sentence)
