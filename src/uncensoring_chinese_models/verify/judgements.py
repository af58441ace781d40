"""Check the judgements beside a run: derive them again, offline, and compare them byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.runs import (
    AlteredLineError,
    is_judged_file,
    survey,
    whole_lines,
)
from uncensoring_chinese_models.verify.checks import RunCheck, broken_lines
from uncensoring_chinese_models.verify.compare_files import Failure
from uncensoring_chinese_models.verify.diff import differences, parse_json
from uncensoring_chinese_models.verify.record import Times

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uncensoring_chinese_models.runner import JudgedFinding, Rejudged
    from uncensoring_chinese_models.runs import RunTree

JOURNAL = "journal.jsonl"
_DATES = ("started_at", "at", "finished_at")
"""What lines call their dates."""


class JudgementsCheck(NamedTuple):
    """The check of the judgements beside a run."""

    check: RunCheck
    notes: tuple[str, ...]
    missing: tuple[str, ...]
    """Files that a killed process may not have written, or that were removed."""


def check_judgements(tree: RunTree) -> JudgementsCheck | None:
    """Derive the judgements beside a run again, and compare them; None if there are none."""
    beside = tree.judged
    if beside is None:
        return None
    own = {name: content for name, content in beside.files.items() if is_judged_file(name)}
    if not own and not beside.problems:
        return None
    check, place = RunCheck("judgements"), beside.name
    for name, why in beside.problems.items():
        (check.failures if name else check.not_done).append(Failure(place + name, "", why, "gone"))
    foreign = [name for name in beside.files if name not in own]
    if tree.around is not None:
        problem = "is not a file that ucm judge or ucm label writes"
        check.failures += [Failure(place + name, "", problem, "whole") for name in foreign]
    from uncensoring_chinese_models.runner import rejudge  # noqa: PLC0415 -- loads page code

    broken = _broken(own, place)
    check.failures += broken or _misdated(own, place)
    found = rejudge(tree.files, own, has_journal=not broken)
    check.failures += _failures(found.wrong, place)
    check.not_done += _failures(found.not_done, place)
    compared = [name for name in found.files if name in own]
    for name in compared:
        stored = differences(name, own[name], found.files[name])
        check.failures += [Failure(place + name, one.where, one.says) for one in stored]
    missing = tuple(place + name for name in found.files if name not in own)
    check.said = _said(found, len(compared))
    notes = [*_notes(own, found, missing)]
    if tree.around is None and foreign:
        notes.append(
            f"Not judgements, and not read: {', '.join(place + name for name in foreign)}."
        )
    return JudgementsCheck(check, tuple(notes), missing)


def _broken(own: dict[str, bytes], place: str) -> list[Failure]:
    """Return what is wrong with the chain of the judges' journal."""
    if JOURNAL not in own:
        return []
    try:
        survey(own[JOURNAL])
    except AlteredLineError:
        lines, _ = whole_lines(own[JOURNAL])
        return [Failure(place + JOURNAL, one.where, one.problem) for one in broken_lines(lines)]
    return []


def _misdated(own: dict[str, bytes], place: str) -> list[Failure]:
    """Return the lines of the judges' journal whose dates cannot be true."""
    times, found = Times(), []
    for number, record in enumerate(survey(own.get(JOURNAL, b"")).records, start=1):
        told = record.get("reply") or record.get("error") or record
        dates = [told[name] for name in _DATES if name in told]
        try:
            problems = [times.read(date, number)[1] for date in dates]
        except (TypeError, ValueError):
            problems = ["has a date that is none"]
        found += [Failure(place + JOURNAL, f"line {number}", each) for each in problems if each]
    return found


def _failures(findings: Iterable[JudgedFinding], place: str) -> list[Failure]:
    return [
        Failure(place + one.file, one.where, one.problem, "place" if one.where else "whole")
        for one in findings
    ]


def _said(found: Rejudged, compared: int) -> str:
    said = f"{compared} files derived again and compared byte for byte"
    if found.calls:
        said += f", {found.calls} calls of judges answered from their journal"
    if found.sheets:
        sheets = ", ".join(found.sheets)
        said += f"; labels of a person compared with their sha256 only: {sheets}"
    return said


def _notes(own: dict[str, bytes], found: Rejudged, missing: tuple[str, ...]) -> Iterable[str]:
    if missing:
        is_one = len(missing) == 1
        yield (
            f"{', '.join(missing)} {'is' if is_one else 'are'} not there: either the process was "
            f"killed before {'it was' if is_one else 'they were'} written, or "
            f"{'it was' if is_one else 'they were'} removed. The same ucm judge command writes "
            f"{'it' if is_one else 'them'} again, and asks no judge twice."
        )
    if found.unused_calls:
        yield (
            f"{found.unused_calls} calls of judges were sent for an earlier state of the run; "
            "their requests were compared only where a judgement uses them."
        )
    yield from found.notes
    others = sorted({_version(own[name]) for name in own if name.endswith(".json")} - {""})
    if others:
        yield (
            f"Judged by version {', '.join(others)}, checked by {__version__}; if something "
            "differs, try the former."
        )


def _version(content: bytes) -> str:
    """Return the version that made a file, if it is another one; else nothing."""
    try:
        told = parse_json(content)
    except ValueError:
        return ""
    version = told.get("package") if isinstance(told, dict) else None
    return version if isinstance(version, str) and version != __version__ else ""
