"""Compare the files of a replay with the stored files, and the config with the journal."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from uncensoring_chinese_models.config import AuditConfig, parse_mapping
from uncensoring_chinese_models.runner import Replayed, journals_before_resume, replay
from uncensoring_chinese_models.runs import GIVEN
from uncensoring_chinese_models.verify.diff import differences, json_differences

MAX_RESUMES = 20
"""Stale files of a run that was resumed more often are not recognised."""

Kind = Literal["gone", "whole", "place", "quote"]
"""A file is missing or unreadable; is another file; differs in one place; has a wrong excerpt."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that is wrong, or that could not be checked."""

    file: str
    where: str
    """A line, or a path inside JSON; empty for the whole file."""
    problem: str
    kind: Kind = field(default="place", compare=False)

    def __str__(self) -> str:
        """Return it as one line."""
        return ": ".join(part for part in (self.file, self.where, self.problem) if part)


@dataclass(slots=True)
class ComparedFiles:
    """The result of a comparison."""

    files: int = 0
    failures: list[Failure] = field(default_factory=list)


def compare_files(stored: Mapping[str, bytes], replayed: Replayed) -> ComparedFiles:
    """Compare every file of a run with what follows from its journal."""
    compared = ComparedFiles()
    finished = "summary.json" in stored
    derived = {name: replayed.files[name] for name in replayed.files if name not in GIVEN}
    compared.files = len(set(derived) & set(stored))
    if replayed.problem:  # files derived before that may show more
        problem = f"cannot be replayed to its end: {replayed.problem}"
        compared.failures.append(Failure("journal.jsonl", "", problem, "whole"))
        stored = {name: stored[name] for name in stored if name in derived}
    elif finished and not replayed.ended:
        problem = f"gives an ending that the journal does not reach: the journal lacks {replayed.stopped_at}"
        compared.failures.append(Failure("summary.json", "", problem, "whole"))
    allowed = () if finished else replayed.may_lack
    for name in derived:
        if name not in stored and name not in allowed:
            problem = "is not there, though it follows from the journal"
            compared.failures.append(Failure(name, "", problem, "gone"))
    suspects = {
        name
        for name, content in stored.items()
        if name not in GIVEN and derived.get(name) != content
    }
    if not finished:
        suspects -= _stale(stored, suspects)
    for name in sorted(suspects):
        _explain(name, stored[name], derived.get(name), replayed, compared)
    return compared


def _explain(
    name: str, stored: bytes, derived: bytes | None, replayed: Replayed, compared: ComparedFiles
) -> None:
    if derived is None:
        if name != "summary.json" or replayed.ended:
            problem = "does not follow from the journal"
            if not replayed.ended:
                problem += f", which stops before {replayed.stopped_at}"
            compared.failures.append(Failure(name, "", problem, "whole"))
        return
    found = differences(name, stored, derived)
    compared.failures += [Failure(name, one.where, one.says) for one in found]


def _stale(stored: Mapping[str, bytes], suspects: set[str]) -> set[str]:
    """Return the files that an earlier ending left, in a run that was resumed since."""
    stale: set[str] = set()
    states = journals_before_resume(stored.get("journal.jsonl", b""))
    for _, journal in zip(range(MAX_RESUMES), states, strict=False):
        if stale == suspects:
            break
        before = replay(stored.get("config.yaml", b""), journal).files
        stale |= {name for name in suspects if before.get(name) == stored[name]}
    return stale


def compare_settings(config_yaml: bytes, replayed: Replayed) -> list[Failure]:
    """Compare the config with the settings that the journal holds."""
    expected = replayed.header.get("config_sha256")
    if expected is not None and hashlib.sha256(config_yaml).hexdigest() != expected:
        problem = "is not the file that the run began with"
        return [Failure("config.yaml", "", problem, "whole")]
    try:
        mapping = parse_mapping(config_yaml, "config.yaml")
        settings = AuditConfig.model_validate(mapping).model_dump(mode="json")
    except Exception as err:  # noqa: BLE001 -- a stranger's config may say anything
        return [Failure("config.yaml", "", f"cannot be read: {err}", "whole")]
    found = json_differences(settings, replayed.header.get("config"))
    return [
        Failure("config.yaml", one.where, f"the journal says otherwise: {one.says}")
        for one in found
    ]
