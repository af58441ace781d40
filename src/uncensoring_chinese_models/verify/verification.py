"""Check a run against its journal, offline, and say what is wrong and where.

The files are those that the summary lists. The journal is unbroken. A replay of the journal gives
the stored files, every figure of the summary included. Every excerpt is where it is said to be.
Each check is made even when another fails, except the replay, which needs an unbroken journal. What
could not be checked is never said to hold, and nothing that the run says of itself, such as the
version that made it, leaves out a check or excuses a failure. Judgements beside the run are derived
again in the same way.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.runner import Replayed, replay
from uncensoring_chinese_models.runs import (
    GIVEN,
    MANIFEST,
    README,
    RunTree,
    is_set_aside,
    read_run_tree,
    survey,
)
from uncensoring_chinese_models.verify.bundle import readme
from uncensoring_chinese_models.verify.checks import (
    CheckVerdict,
    RunCheck,
    check_bundle,
    check_excerpts,
    check_files,
    check_journal,
    check_replay,
    has_not_begun,
    sha256,
)
from uncensoring_chinese_models.verify.compare_files import ComparedFiles, Failure, compare_files
from uncensoring_chinese_models.verify.judgements import check_judgements
from uncensoring_chinese_models.verify.record import check_record

if TYPE_CHECKING:
    from collections.abc import Iterator

DERIVED = "summary.json as derived from the journal"
MAX_BESIDE = 5
PROVES = (
    "This proves that the run is consistent with its journal, not that the journal is true: "
    "its author could have made it up."
)


@dataclass(frozen=True, slots=True)
class Verification:
    """The checks of a run, and notes for the reader."""

    checks: tuple[RunCheck, ...]
    notes: tuple[str, ...]
    ended: bool
    """Whether the journal, or the summary, says that the run came to its end."""
    generation_ids: int
    missing: tuple[str, ...] = ()
    """Files that a killed process may not have written, or that were removed."""
    sha256: dict[str, str] = field(default_factory=dict)
    """The hashes to publish: of the archive and of summary.json, replayed if it is missing."""
    other_version: str | None = None
    """The version that the journal names as its maker, if it is not this one."""
    servers: dict[str, Any] = field(default_factory=dict)
    """The servers that the journal names, by role, with the number of calls that each answered."""

    @property
    def concludes(self) -> str:
        """What the failures mean."""
        failing = {check.name for check in self.checks if check.failures}
        if failing == {"bundle"}:
            return (
                "So the bundle is not, or not any more, what ucm bundle wrote; in the run inside "
                "it, nothing wrong was found."
            )
        if failing <= {"bundle", "judgements"}:
            return (
                "In the run itself nothing wrong was found, but its judgements are not, or not any "
                "more, what follows from the run, the facts file and the journal of the judges. "
                "ucm judge and ucm label make them anew."
            )
        if "record" in failing:
            return "So the lines of the journal cannot all be true: it was changed, or made up."
        if any(check.name == "replay" and not check.is_done for check in self.checks):
            return "So the run does not hold, and it could not be derived again from its journal."
        return "So the run is not, or not any more, what its journal says." + self._on_version

    @property
    def _on_version(self) -> str:
        """A hint, and no excuse: anybody can write the name of a version into a journal."""
        if self.other_version is None:
            return ""
        return (
            f" The journal names version {self.other_version} as its maker, and this is version "
            f"{__version__}, which may write other files; if you believe the name, verify with "
            "that version, too."
        )

    @property
    def state(self) -> str:
        """How much of the run holds."""
        undone = [check.name for check in self.checks if check.verdict == "not done"]
        if len(undone) == len(self.checks):
            return "Nothing could be checked."
        if undone:
            return f"What was checked holds. Not everything could be checked: {', '.join(undone)}."
        whole = self.ended and not self.missing
        return "All of it holds." if whole else "What there is of it holds."

    @property
    def failures(self) -> list[Failure]:
        """Everything that is wrong, each thing once."""
        return list(dict.fromkeys(one for check in self.checks for one in check.failures))

    @property
    def not_done(self) -> list[Failure]:
        """Everything that could not be checked, though it is part of a check."""
        return [one for check in self.checks for one in check.not_done]

    @property
    def holds(self) -> bool:
        """True when every check was made in full, and nothing was found wrong."""
        return self.verdict == "holds"

    @property
    def verdict(self) -> CheckVerdict:
        """The verdict on the whole run; a run that was not checked in full does not hold."""
        found = {check.verdict for check in self.checks}
        return "wrong" if "wrong" in found else "not done" if "not done" in found else "holds"

    @property
    def proves(self) -> str:
        """What a run that holds proves."""
        ids = self.generation_ids
        how = f" Its {ids} generation ids are there to ask the provider about." if ids else ""
        return PROVES + how

    def as_json(self) -> dict[str, Any]:
        """Return the result for programs."""
        return {
            "holds": self.holds,
            "verdict": self.verdict,
            "ended": self.ended,
            "checks": [
                {
                    "check": check.name,
                    "verdict": check.verdict,
                    "holds": check.verdict == "holds",
                    "said": check.said,
                }
                for check in self.checks
            ],
            "failures": [_as_json(one) for one in self.failures],
            "not_done": [_as_json(one) for one in self.not_done],
            "missing": list(self.missing),
            "sha256": self.sha256,
            "concludes": self.concludes if self.failures else "",
            "notes": list(self.notes),
            "servers": self.servers,
            "generation_ids": self.generation_ids,
            "proves": self.proves,
        }


def verify_run(path: Path) -> Verification:
    """Check a run directory or a bundle; nothing is sent, changed or locked.

    Raises:
        RunStoreError: it is not a run, or a run of another format.
    """
    return verify_tree(read_run_tree(path))


def verify_tree(tree: RunTree) -> Verification:
    """Check the files of a run."""
    finished = "summary.json" in tree.files
    journal = check_journal(tree, finished=finished)
    replayed = None
    if journal.is_done and not journal.failures:
        replayed = replay(tree.files.get("config.yaml", b""), tree.files["journal.jsonl"])
    compared = ComparedFiles() if replayed is None else compare_files(tree.files, replayed)
    derived = check_replay(tree, replayed, compared)
    files = check_files(tree, replayed)
    excerpts = check_excerpts(tree, [*files.failures, *derived.failures])
    missing = _missing(tree, replayed, {one.file for one in (*files.failures, *derived.failures)})
    record, judged = check_record(tree, replayed), check_judgements(tree)
    checks = [*check_bundle(tree), files, journal, derived, excerpts, record.check]
    notes = [*_notes(tree, replayed, missing), *record.notes]
    return Verification(
        tuple(checks if judged is None else [*checks, judged.check]),
        tuple(notes if judged is None else [*notes, *judged.notes]),
        ended=finished or (replayed is not None and replayed.ended),
        generation_ids=replayed.generation_ids if replayed else 0,
        missing=missing if judged is None else (*missing, *judged.missing),
        sha256=_published(tree, replayed),
        other_version=replayed.other_version if replayed else None,
        servers=replayed.servers if replayed else {},
    )


def _as_json(one: Failure) -> dict[str, str]:
    return {"file": one.file, "where": one.where, "problem": one.problem}


def _published(tree: RunTree, replayed: Replayed | None) -> dict[str, str]:
    held = {"archive": tree.archive, "summary.json": tree.files.get("summary.json")}
    exact = replayed is not None and replayed.ended and replayed.other_version is None
    if replayed is not None and exact and held["summary.json"] is None:
        held[DERIVED] = replayed.files.get("summary.json")
    return {name: sha256(content) for name, content in held.items() if content is not None}


def _missing(tree: RunTree, replayed: Replayed | None, named: set[str]) -> tuple[str, ...]:
    """Return the files that follow from the journal and are missing without being a failure."""
    derived = replayed.files if replayed is not None else {}
    return tuple(name for name in derived if name not in {*tree.files, *named, *GIVEN})


# --- notes for the reader -----------------------------------------------------------------------


def _notes(tree: RunTree, replayed: Replayed | None, missing: tuple[str, ...]) -> list[str]:
    notes = []
    if "summary.json" not in {*tree.files, *tree.problems}:
        notes.append(_note_on_end(tree, replayed, missing))
    notes += _notes_on_damage(tree, replayed)
    aside = [name for name in tree.leftovers if is_set_aside(name)]
    hidden = [name for name in tree.leftovers if name not in aside]
    if aside:
        names = ", ".join(aside)
        notes.append(f"Kept of a damaged journal, not part of the run, and not read: {names}.")
    if hidden:
        names = ", ".join(hidden)
        notes.append(f"Hidden files, not part of the run, and not read: {names}.")
    notes += _notes_on_bundle(tree)
    if replayed is not None and replayed.process:
        notes += _notes_on_making(replayed)
    return notes


def _notes_on_damage(tree: RunTree, replayed: Replayed | None) -> Iterator[str]:
    """Say what a crash damaged in the journal, and what was cut from it before."""
    for cut in replayed.cuts if replayed is not None else ():
        lost = _told_answers(cut["answers"])
        yield (
            f"The journal records that a crash had damaged it: {cut['bytes']} bytes were cut when the "
            f"run was resumed, {lost}."
        )
    if replayed is None or "summary.json" in tree.files:
        return  # then it is a failure
    found = survey(tree.files["journal.jsonl"])
    if found.cut:
        lost = _told_answers(found.lost_answers)
        yield (
            f"A crash damaged the journal: {len(found.cut)} bytes ({found.place}) are torn, NUL, or "
            f"follow from nothing, {lost}. Resuming the run cuts them, and keeps them beside."
        )


def _told_answers(names: Sequence[str]) -> str:
    if not names:
        return "and no answer can be read in them"
    return f"with answers to {len(names)} call{'s' if len(names) > 1 else ''} in them"


def _note_on_end(tree: RunTree, replayed: Replayed | None, missing: tuple[str, ...]) -> str:
    """Say what is known of the end of a run that has no summary."""
    if replayed is not None and replayed.ended:
        compare = (
            "the sha256 of what was derived, above, is the one to compare with a published hash."
            if DERIVED in _published(tree, replayed)
            else "a published hash of it cannot be compared."
        )
        return (
            f"The journal says that the run ended, but {_said_of_missing(missing)} That adds a "
            "line to the journal, which gives summary.json another hash, and continues a run "
            f"that the budget or a failure ended. Before that, {compare}"
        )
    unknown = replayed is None or bool(replayed.problem)
    if unknown and not has_not_begun(tree):
        return (
            "There is no summary.json, and the journal could not be replayed to its end: whether "
            "the run ended is not known."
        )
    stops = replayed.stopped_at if replayed is not None else ""
    where = f" (its record stops before {stops})" if stops else ""
    note = f"The run has not ended{where}; it was checked as far as it is recorded."
    return f"{note} Of what follows from it, {_said_of_missing(missing)}" if missing else note


def _said_of_missing(names: tuple[str, ...]) -> str:
    are, they, were, them = ("is", "it", "was", "it")
    if len(names) > 1:
        are, they, were, them = ("are", "they", "were", "them")
    return (
        f"{' and '.join(names)} {are} not there: either the process was killed before {they} "
        f"{were} written, or {they} {were} removed. Resuming the run writes {them} again."
    )


def _notes_on_bundle(tree: RunTree) -> list[str]:
    notes, around = [], tree.around or {}
    if tree.beside:
        names = ", ".join(tree.beside[:MAX_BESIDE])
        more = len(tree.beside) - MAX_BESIDE
        notes.append(
            f"Beside the unpacked bundle, not part of it, and not read: {names}"
            f"{f' and {more} more' if more > 0 else ''}."
        )
    if (
        MANIFEST in around
        and README in around
        and around[README] != readme(tree.files, has_judgements=tree.judged is not None)
    ):
        notes.append(
            "README.txt is not what ucm bundle of this version writes for this run; it is not part "
            "of the run, so do not rely on it."
        )
    return notes


def _notes_on_servers(replayed: Replayed) -> Iterator[str]:
    """Name every server that the journal names, whatever the config says now."""
    for role in ("target", "auditor"):
        servers = replayed.servers.get(role) or []
        named = [f"{each['server']} ({_calls(each['calls'])})" for each in servers]
        differ = "; they are different servers" if len(servers) > 1 else ""
        if named:
            yield f"The {role} was answered by {' and '.join(named)}{differ}."


def _calls(number: int) -> str:
    return f"{number} call{'' if number == 1 else 's'}"


def _notes_on_making(replayed: Replayed) -> list[str]:
    notes = [*_notes_on_servers(replayed)]
    if replayed.target_file is not None:
        notes.append(f"The {replayed.target_file}.")
    if replayed.other_version:
        notes.append(
            f"The journal names version {replayed.other_version} as its maker; it was checked by "
            f"{__version__}, which may write other files."
        )
    if replayed.process.get("python_version") not in (None, platform.python_version()):
        notes.append(
            f"Made with Python {replayed.process['python_version']}, checked with "
            f"{platform.python_version()}; if something differs, try the former."
        )
    if replayed.unused_calls:
        notes.append(
            f"{replayed.unused_calls} answered calls are not used in the result: they were sent "
            "before the run was resumed, or in an iteration that the budget cut off."
        )
    return notes
