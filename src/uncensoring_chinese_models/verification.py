"""Check a run against its journal, offline, and say what does not hold and where.

All checks are made even when one fails: the files are those that the summary lists; the journal is
unbroken; what follows from the journal is what is stored, every figure of the summary included;
every excerpt stands where it is said to. The lines of a journal vouch for themselves, so that when
two files disagree it is the derived one that is named.
"""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.chain import SCHEMA, START, line_hash, read_line, whole_lines
from uncensoring_chinese_models.comparison import (
    Compared,
    Failure,
    compare_files,
    compare_settings,
)
from uncensoring_chinese_models.differences import parse_json
from uncensoring_chinese_models.replay import Replayed, replay
from uncensoring_chinese_models.requote import requote
from uncensoring_chinese_models.run_tree import BUNDLED, MANIFEST, RunTree, read_run

PROVES = (
    "This proves that the run is consistent with its journal, not that the journal is true: "
    "whoever made it could have made it up."
)


@dataclass(slots=True)
class Check:
    """One check: what was looked at, and what does not hold."""

    name: str
    said: str = ""
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked, what does not hold, and what the reader must know beside it."""

    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    ended: bool
    generation_ids: int
    other_version: str | None = None
    """The version that made the run, if it is not this one."""
    all_compared: bool = True
    """False when there is something that only the version that made the run can check."""

    @property
    def concludes(self) -> str:
        """What follows from what does not hold."""
        failing = {check.name for check in self.checks if check.failures}
        if self.other_version is not None and failing == {"replay"}:
            return (
                "This version derives other values from an unbroken journal. Whether the run was "
                f"changed or the rules were, version {self.other_version} can tell: install it and "
                "verify again."
            )
        return "So the run is not, or not any more, what its journal says."

    @property
    def failures(self) -> list[Failure]:
        """Everything that does not hold, each thing once."""
        return list(dict.fromkeys(one for check in self.checks for one in check.failures))

    @property
    def holds(self) -> bool:
        """True when nothing was found wrong."""
        return not self.failures

    @property
    def proves(self) -> str:
        """What it means that the run holds."""
        ids = self.generation_ids
        how = f" Its {ids} generation ids are there to ask the provider about." if ids else ""
        return PROVES + how

    def as_json(self) -> dict[str, Any]:
        """Return the result for programs."""
        return {
            "holds": self.holds,
            "ended": self.ended,
            "checks": [
                {"check": check.name, "holds": not check.failures, "said": check.said}
                for check in self.checks
            ],
            "failures": [
                {"file": one.file, "where": one.where, "problem": one.problem}
                for one in self.failures
            ],
            "concludes": "" if self.holds else self.concludes,
            "all_compared": self.all_compared,
            "notes": list(self.notes),
            "generation_ids": self.generation_ids,
            "proves": self.proves,
        }


def verify_run(path: Path) -> Verification:
    """Check a run directory or a bundle; nothing is asked, changed or locked.

    Raises:
        RunStoreError: it is neither, or the record of something else.
    """
    return verify_tree(read_run(path))


def verify_tree(tree: RunTree) -> Verification:
    """Check the files of a run."""
    finished = "summary.json" in tree.files
    journal = _check_journal(tree.files, finished=finished)
    replayed = None
    if not journal.failures and not _has_not_begun(tree.files):
        replayed = replay(tree.files.get("config.yaml", b""), tree.files.get("journal.jsonl", b""))
    compared = Compared() if replayed is None else compare_files(tree.files, replayed)
    derived = _check_replay(tree.files, replayed, compared)
    files = _check_files(tree, replayed)
    altered = {one.file for check in (files, derived) for one in check.failures}
    checks = (*_check_bundle(tree), files, journal, derived, _check_excerpts(tree.files, altered))
    return Verification(
        checks,
        (*_notes(tree, replayed), *compared.notes),
        ended=finished,
        generation_ids=replayed.generation_ids if replayed else 0,
        other_version=replayed.other_version if replayed else None,
        all_compared=not compared.not_compared,
    )


# --- the checks ---------------------------------------------------------------------------------


def _check_files(tree: RunTree, replayed: Replayed | None) -> Check:
    """Compare every file with the hash that the summary gives, and look for strangers."""
    check = Check("files")
    check.failures += [Failure(name, "", why) for name, why in tree.problems.items()]
    wanted = ["config.yaml"] if _has_not_begun(tree.files) else ["config.yaml", "journal.jsonl"]
    for name in wanted:
        if name not in tree.files and name not in tree.problems:
            check.failures.append(Failure(name, "", "is not there"))
    found = {name: _sha256(content) for name, content in tree.files.items()}
    found.pop("summary.json", None)
    sums_given = _listed(tree.files)
    gives_sums, listed = sums_given is not None, sums_given or {}
    for name in sorted({*listed, *found}) if gives_sums else ():
        # If the journal says the same as the disk, the summary is wrong, and is named for it.
        known = (listed.get(name), *_vouched_for(name, replayed))
        if found.get(name) not in known and name not in tree.problems:
            word = "is not there" if name not in found else "was changed or added"
            check.failures.append(
                Failure(name, "", f"{word}: it is not the file that summary.json lists")
            )
    if replayed is not None and "config.yaml" in found:
        check.failures += compare_settings(tree.files["config.yaml"], replayed)
    sums = f"{len(listed)} sha256 sums"
    if "summary.json" not in tree.files:
        sums = "no sha256 sums, as there is no summary.json"
    check.said = f"{len(tree.files)} files, {sums}"
    return check


def _check_journal(files: Mapping[str, bytes], *, finished: bool) -> Check:
    """Check that each line is what was written, and follows from the line before it."""
    check = Check("journal")
    if _has_not_begun(files):
        check.said = "no line yet"
        return check
    if "journal.jsonl" not in files:
        check.said = "not there"
        check.failures.append(Failure("journal.jsonl", "", "is not there"))
        return check
    lines, torn = whole_lines(files["journal.jsonl"])
    last, schema, follows = START, None, True
    for number, line in enumerate(lines, start=1):
        try:
            record = read_line(line, schema)
        except ValueError as err:
            check.failures.append(Failure("journal.jsonl", f"line {number}", str(err)))
            schema, follows = schema or SCHEMA, False
        else:
            schema = schema or record["schema"]
            if follows and record["prev"] != last:
                problem = "does not follow from the line before it"
                check.failures.append(Failure("journal.jsonl", f"line {number}", problem))
            follows = True
        last = line_hash(line)
    if torn and finished:
        problem = f"is torn ({torn} bytes), though the run has a summary"
        check.failures.append(Failure("journal.jsonl", f"line {len(lines) + 1}", problem))
    check.said = f"{len(lines)} lines, each hashed and following from the one before"
    return check


def _check_replay(
    files: Mapping[str, bytes], replayed: Replayed | None, compared: Compared
) -> Check:
    """Compare what follows from the journal with what is stored."""
    check = Check("replay")
    if replayed is None:
        begun = not _has_not_begun(files)
        check.said = "not done, as the journal is not what was written" if begun else "nothing yet"
        return check
    check.failures += compared.failures
    how = "as values" if replayed.other_version else "byte for byte"
    check.said = f"{replayed.calls} calls answered from the journal, {compared.files} files "
    check.said += f"derived again and compared {how}"
    if compared.not_compared:
        check.said += f", {len(compared.not_compared)} keys and files not compared"
    return check


def _check_excerpts(files: Mapping[str, bytes], altered: set[str]) -> Check:
    """Read every excerpt again where it is said to stand."""
    found = requote(files)
    check = Check("excerpts")
    for name, where, problem, source in found.wrong:
        # Where the file with the words is known to be altered, it is not the quote's fault.
        file, at = (source, f"as quoted in {name}, {where}") if source in altered else (name, where)
        check.failures.append(Failure(file, at, problem))
    check.said = (
        f"{found.confirmed} read again at their offsets, {found.placed} that are only near, "
    )
    check.said += f"{found.unplaced} that stand nowhere"
    return check


def _check_bundle(tree: RunTree) -> list[Check]:
    """Compare the members of a bundle with its manifest."""
    if tree.around is None or MANIFEST not in tree.around:
        return []
    check = Check("bundle")
    lines = tree.around[MANIFEST].decode("utf-8", "replace").splitlines()
    listed = {}
    for number, line in enumerate(lines, start=1):
        if match := re.fullmatch("([0-9a-f]{64})  (.+)", line):
            listed[match[2]] = match[1]
        else:
            check.failures.append(Failure(MANIFEST, f"line {number}", "is no sha256 sum of a file"))
    found = {name: _sha256(content) for name, content in tree.around.items() if name != MANIFEST}
    for name in sorted({*listed, *found}):
        if listed.get(name) != found.get(name):
            problem = "is not the file that the manifest lists"
            check.failures.append(Failure(name.removeprefix(BUNDLED), "", problem))
    check.said = f"{len(listed)} sha256 sums in the manifest"
    return [check]


# --- what they share ----------------------------------------------------------------------------


def _has_not_begun(files: Mapping[str, bytes]) -> bool:
    """Tell whether the run was broken off before the first line of its journal was written."""
    return b"\n" not in files.get("journal.jsonl", b"") and set(files) <= {
        "config.yaml",
        "journal.jsonl",
    }


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _listed(files: Mapping[str, bytes]) -> dict[str, Any] | None:
    """Return the hashes that the summary gives, if it does."""
    try:
        summary = parse_json(files.get("summary.json", b"null"))
    except ValueError:
        return None
    listed = summary.get("sha256") if isinstance(summary, dict) else None
    return listed if isinstance(listed, dict) else None


def _vouched_for(name: str, replayed: Replayed | None) -> list[str | None]:
    """Return what an ended, unbroken journal says is the hash of a file; None for no such file."""
    if replayed is None or not replayed.ended or replayed.other_version:
        return []  # another version may derive other bytes, so that the summary is the measure
    if name == "config.yaml":
        return [replayed.header.get("config_sha256")]
    return [_sha256(replayed.files[name]) if name in replayed.files else None]


def _notes(tree: RunTree, replayed: Replayed | None) -> list[str]:
    """Say what a reader must know beside the checks."""
    notes = []
    if "summary.json" not in tree.files:
        notes.append(
            f"The run has not ended{_stopped(replayed)}; it was checked as far as it goes."
        )
    if "journal.jsonl" in tree.files and whole_lines(tree.files["journal.jsonl"])[1]:
        notes.append("The last line of the journal is torn, as a killed process leaves it.")
    if tree.leftovers:
        names = ", ".join(tree.leftovers)
        notes.append(f"Hidden files, no part of the run, and not read: {names}.")
    if replayed is not None and replayed.process:
        notes += _notes_on_making(replayed)
    return notes


def _stopped(replayed: Replayed | None) -> str:
    return (
        f" (its record stops before {replayed.stopped_at})"
        if replayed and replayed.stopped_at
        else ""
    )


def _notes_on_making(replayed: Replayed) -> list[str]:
    notes = []
    if replayed.other_version:
        notes.append(
            f"Made by version {replayed.other_version}, checked by {__version__}: values were "
            "compared, not bytes, and what only one of them writes was not compared; "
            f"{replayed.other_requests} requests would be worded otherwise today. Install version "
            f"{replayed.other_version} to compare bytes."
        )
    if replayed.process.get("python_version") not in (None, platform.python_version()):
        notes.append(
            f"Made with Python {replayed.process['python_version']}, checked with "
            f"{platform.python_version()}; if something differs, try the former."
        )
    if replayed.header.get("schema") != SCHEMA:
        notes.append("The journal's lines carry no hashes of their own: its last one stands alone.")
    if replayed.unused_calls:
        notes.append(
            f"{replayed.unused_calls} answered calls have no part in the result: they were asked "
            "before the run was taken up again, or in an iteration that the budget cut off."
        )
    return notes
