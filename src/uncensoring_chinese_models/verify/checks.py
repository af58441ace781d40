"""The checks of a run: what each compares, what is wrong, and what could not be checked.

The lines of a journal carry their own hashes, so when the journal and another file disagree, the
other file is named.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from uncensoring_chinese_models.runner import Replayed
from uncensoring_chinese_models.runs import (
    BUNDLED,
    BUNDLED_JUDGED,
    GIVEN,
    MANIFEST,
    START,
    AlteredLineError,
    RunTree,
    line_hash,
    read_line,
    survey,
    whole_lines,
)
from uncensoring_chinese_models.verify.bundle import first_difference, manifest, packed
from uncensoring_chinese_models.verify.compare_files import ComparedFiles, Failure, compare_settings
from uncensoring_chinese_models.verify.diff import parse_json
from uncensoring_chinese_models.verify.excerpts import read_excerpts

CheckVerdict = Literal["holds", "wrong", "not done"]


@dataclass(slots=True)
class RunCheck:
    """One check: what was compared, what is wrong, and what could not be checked."""

    name: str
    said: str = ""
    failures: list[Failure] = field(default_factory=list)
    not_done: list[Failure] = field(default_factory=list)
    """The parts of it that could not be checked."""
    is_done: bool = True
    """False when nothing of it could be checked."""

    @property
    def verdict(self) -> CheckVerdict:
        """The result; a check that was not made in full does not hold."""
        if self.failures:
            return "wrong"
        return "holds" if self.is_done and not self.not_done else "not done"

    @property
    def shown(self) -> str:
        """The verdict, with its number of failures."""
        number = {"wrong": len(self.failures), "not done": len(self.not_done)}.get(self.verdict)
        return f"{number} {self.verdict}" if number else self.verdict


def check_bundle(tree: RunTree) -> list[RunCheck]:
    """Compare the members of a bundle with its manifest, and the archive with what they make."""
    if tree.around is None:
        return []
    check = RunCheck("bundle")
    check.failures += [Failure(name, "", why, "gone") for name, why in tree.astray.items()]
    if MANIFEST not in tree.around:
        check.is_done = False
        check.said = (
            "there is no readable MANIFEST.sha256, which ucm bundle writes into every archive"
        )
        return [check]
    unread = {BUNDLED + name for name in tree.problems}
    unread |= {BUNDLED_JUDGED + name for name in _unread_judgements(tree)}
    sums = _check_manifest(tree.around, unread, check)
    check.said = f"{sums} sha256 sums in the manifest; {_check_archive(tree, check)}"
    return [check]


def _check_manifest(around: Mapping[str, bytes], unread: set[str], check: RunCheck) -> int:
    """Compare each member with its sum; return how many sums there are."""
    listed: dict[str, str] = {}
    lines = around[MANIFEST].decode("utf-8", "replace").splitlines()
    for number, line in enumerate(lines, start=1):
        if match := re.fullmatch("([0-9a-f]{64})  (.+)", line):
            listed[match[2]] = match[1]
        else:
            check.failures.append(
                Failure(MANIFEST, f"line {number}", "is not a sha256 sum of a file")
            )
    found = {name: sha256(content) for name, content in around.items() if name != MANIFEST}
    for name in sorted({*listed, *found}):
        if listed.get(name) != found.get(name) and name not in unread:
            check.failures.append(_disagreement(name, found, listed, "the manifest"))
    if not check.failures and not unread and around[MANIFEST] != manifest(around):
        problem = "lists the right sums, but not as ucm bundle writes them"
        check.failures.append(Failure(MANIFEST, "", problem, "whole"))
    return len(listed)


def _check_archive(tree: RunTree, check: RunCheck) -> str:
    """Pack the members again and compare the bytes; return the result as a phrase."""
    if tree.archive is None:
        return "it is unpacked, so that there are no bytes of an archive to compare"
    if tree.problems or tree.astray or _unread_judgements(tree):
        return "packing it again was not tried, as not all of it could be read"
    at = first_difference(tree.archive, packed(tree.around or {}))
    if at is None:
        return "packed again, it is the same archive byte for byte"
    problem = "is not the byte that ucm bundle of this version writes when it packs these files"
    check.failures.append(Failure(tree.archive_name, f"byte {at}", problem))
    return "packed again, it is another archive"


def _unread_judgements(tree: RunTree) -> dict[str, str]:
    return {} if tree.judged is None else tree.judged.problems


def check_files(tree: RunTree, replayed: Replayed | None) -> RunCheck:
    """Compare every file with the hash that the summary gives, and look for files it does not list."""
    check = RunCheck("files")
    check.failures += [Failure(name, "", why, "gone") for name, why in tree.problems.items()]
    found = {name: sha256(content) for name, content in tree.files.items()}
    found.pop("summary.json", None)
    given = _listed(tree.files)
    listed = given or {}
    for name in sorted({*listed, *found}) if given is not None else ():
        # If the journal agrees with the file, the summary is wrong; `replay` names it.
        known = (listed.get(name), *_vouched_for(name, replayed))
        if found.get(name) not in known and name not in tree.problems:
            check.failures.append(_disagreement(name, found, listed, "summary.json"))
    wanted = ["config.yaml"] if has_not_begun(tree) else ["config.yaml", "journal.jsonl"]
    named = {one.file for one in check.failures}
    for name in wanted:
        if name not in tree.files and name not in named:
            check.failures.append(Failure(name, "", "is not there", "gone"))
    if replayed is not None and "config.yaml" in found:
        check.failures += compare_settings(tree.files["config.yaml"], replayed)
    check.said = f"{len(tree.files)} files, {_sums(tree, given)}"
    if given is None and replayed is not None and "config.yaml" in found:
        check.said += "; config.yaml compared with the journal"
    check.is_done = given is not None or replayed is not None
    return check


def _sums(tree: RunTree, given: dict[str, Any] | None) -> str:
    if given is not None:
        return f"{len(given)} sha256 sums"
    why = "gives none" if "summary.json" in tree.files else "is not there"
    why = "could not be read" if "summary.json" in tree.problems else why
    return f"no sha256 sums to compare them with, as summary.json {why}"


def _disagreement(name: str, found: Collection[str], listed: Collection[str], by: str) -> Failure:
    """Say in which way a file and a list of files disagree."""
    file = name.removeprefix(BUNDLED)
    if name not in found:
        return Failure(file, "", f"is not there, though {by} lists it", "gone")
    if name not in listed:
        return Failure(file, "", f"is not listed in {by}", "whole")
    return Failure(file, "", f"has another sha256 than {by} lists", "whole")


def check_journal(tree: RunTree, *, finished: bool) -> RunCheck:
    """Check that each line is as it was written, and follows from the line before it."""
    check = RunCheck("journal")
    if has_not_begun(tree) or "journal.jsonl" not in tree.files:
        check.is_done = False
        check.said = "it has no line yet" if has_not_begun(tree) else "it is not there"
        if "journal.jsonl" in tree.problems:
            check.said = "it could not be read"
        return check
    content = tree.files["journal.jsonl"]
    try:
        found = survey(content)
    except AlteredLineError:
        lines, _ = whole_lines(content)
        check.failures += broken_lines(lines)
        check.said = f"{len(lines)} lines, not all as they were written, or not in that order"
        return check
    if not found.lines:
        check.failures.append(Failure("journal.jsonl", "", "holds no whole line", "whole"))
    check.said = f"{len(found.lines)} lines, each hashed and following from the one before"
    if found.cut:
        check.said += f"; {len(found.cut)} bytes are damaged"
    if found.cut and finished:
        problem = f"is damaged ({len(found.cut)} bytes), though the run has a summary"
        check.failures.append(Failure("journal.jsonl", found.place, problem))
    return check


def broken_lines(lines: list[bytes]) -> Iterator[Failure]:
    """Yield each line that is not as it was written, or does not follow from the one before."""
    last, follows = START, True
    for number, line in enumerate(lines, start=1):
        try:
            record = read_line(line, is_header=number == 1)
        except ValueError as err:
            yield Failure("journal.jsonl", f"line {number}", str(err))
            follows = False
        else:
            if follows and record["prev"] != last:
                problem = "does not follow from the line before it"
                yield Failure("journal.jsonl", f"line {number}", problem)
            follows = True
        last = line_hash(line)


def check_replay(tree: RunTree, replayed: Replayed | None, compared: ComparedFiles) -> RunCheck:
    """Compare what follows from the journal with what is stored."""
    check = RunCheck("replay")
    if replayed is None:
        check.is_done = False
        begun = not has_not_begun(tree)
        check.said = "it needs an unbroken journal" if begun else "there is nothing to replay yet"
        return check
    check.failures += compared.failures
    check.said = f"{replayed.calls} calls answered from the journal, {compared.files} files "
    check.said += "derived again and compared byte for byte"
    differing = len({one.file for one in compared.failures})
    if differing:
        check.said += f"; {differing} {'file is' if differing == 1 else 'files are'} not as derived"
    return check


def check_excerpts(tree: RunTree, others: list[Failure]) -> RunCheck:
    """Read every excerpt again at its recorded position."""
    gone = {one.file for one in others if one.kind == "gone" and one.file not in tree.files}
    altered = {one.file for one in others}
    found = read_excerpts(tree.files, gone)
    check = RunCheck("excerpts")
    for name, where, problem, source in found.wrong:
        # If the quoted file is known to be altered, the quote is not at fault.
        file, at = (source, f"as quoted in {name}, {where}") if source in altered else (name, where)
        check.failures.append(Failure(file, at, problem, "quote"))
    for name, where, source in found.unread:
        problem = f"was not read again, as the file {_lost(source, tree)}"
        check.not_done.append(Failure(source, f"as quoted in {name}, {where}", problem, "quote"))
    for name in found.unread_files:
        problem = f"its excerpts were not read again, as the file {_lost(name, tree)}"
        check.not_done.append(Failure(name, "", problem, "gone"))
    held = "turns and claims" if "summary.json" in tree.files else "turns"
    check.said = (
        f"{found.total} quotes in all {held}: {found.confirmed} read again at their offsets, "
        f"{found.placed} only near, {found.unplaced} recorded as missing"
    )
    if found.wrong:
        check.said += f", {len(found.wrong)} not at their offsets"
    for source, number in sorted(Counter(source for *_, source in found.unread).items()):
        check.said += f", {number} not read again, as {source} {_lost(source, tree)}"
    for name in found.unread_files:
        check.said += f"; those in {name} not counted, as it {_lost(name, tree)}"
    return check


def _lost(name: str, tree: RunTree) -> str:
    return "could not be read" if name in {*tree.files, *tree.problems} else "is not there"


# --- what they share ----------------------------------------------------------------------------


def has_not_begun(tree: RunTree) -> bool:
    """Tell whether the run was interrupted before the first line of its journal was written."""
    has_line = b"\n" in tree.files.get("journal.jsonl", b"") or "journal.jsonl" in tree.problems
    return not has_line and set(tree.files) <= set(GIVEN)


def sha256(content: bytes) -> str:
    """Return the hash in hexadecimal, as it is published."""
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
    """Return the hash of a file as an ended, unbroken journal gives it; None for no such file."""
    if replayed is None or not replayed.ended:
        return []
    if name == "config.yaml":
        return [replayed.header.get("config_sha256")]
    return [sha256(replayed.files[name]) if name in replayed.files else None]
