"""What a replay derived, held against what is stored: file by file, and the config as well."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from uncensoring_chinese_models.config import AuditConfig, parse_mapping
from uncensoring_chinese_models.runner import Replayed, earlier_states, replay
from uncensoring_chinese_models.runs import GIVEN
from uncensoring_chinese_models.verify.diff import differences, json_differences

MOST_EARLIER_STATES = 20
"""How often a run may have been taken up again for its stale files to be recognised."""
MOST_NAMED = 10
"""Of the kinds of keys and files that were not compared."""
_NUMBER = re.compile(r"(?<=[./ ])[0-9]+(?=\.|$)")


_ADDED = ("report.html",)
"""Files that the first versions did not write."""

Kind = Literal["gone", "whole", "place", "quote"]
"""A file is not there or not readable; is another or foreign; a place in it; an excerpt of it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that does not hold, or that could not be checked."""

    file: str
    where: str
    """A line, or a path inside JSON; empty for the whole file."""
    problem: str
    kind: Kind = field(default="place", compare=False)

    def __str__(self) -> str:
        """Say it in one line."""
        return ": ".join(part for part in (self.file, self.where, self.problem) if part)


@dataclass(slots=True)
class Compared:
    """What comparing has shown."""

    files: int = 0
    not_compared: list[str] = field(default_factory=list)
    """Keys that only one version writes, and files without values that differ."""
    added_since: list[str] = field(default_factory=list)
    """Files that the version which made the run did not write."""
    failures: list[Failure] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """What a reader must know of what was not compared, each kind of key named once."""
        found = (*self.added_since, *self.not_compared)
        kinds = list(dict.fromkeys(_NUMBER.sub("*", one) for one in found))
        if not kinds:
            return []
        more = f" and {len(kinds) - MOST_NAMED} more" if len(kinds) > MOST_NAMED else ""
        notes = [f"Not compared: {', '.join(kinds[:MOST_NAMED])}{more}."]
        notes += [
            f"{name} is not what this version derives from the journal: whether it was changed or "
            "is only worded otherwise, the version that made the run can tell."
            for name in ("report.md", "report.html")
            if name in kinds and name not in self.added_since
        ]
        return notes


def compare_files(stored: Mapping[str, bytes], replayed: Replayed) -> Compared:
    """Compare every file of a run with what follows from its journal."""
    compared = Compared()
    finished = "summary.json" in stored
    derived = {name: replayed.files[name] for name in replayed.files if name not in GIVEN}
    compared.files = len(set(derived) & set(stored))
    if replayed.problem:  # what it derived before it broke off may tell more
        problem = f"cannot be replayed to its end: {replayed.problem}"
        compared.failures.append(Failure("journal.jsonl", "", problem, "whole"))
        stored = {name: stored[name] for name in stored if name in derived}
    elif finished and not replayed.ended:
        problem = f"tells of an end that the journal does not reach: it lacks {replayed.stopped_at}"
        compared.failures.append(Failure("summary.json", "", problem, "whole"))
    allowed = () if finished else replayed.may_lack
    for name in derived:
        if name in _ADDED and replayed.other_version and name not in _listed(stored):
            compared.added_since.append(name)
        elif name not in stored and name not in allowed:
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


def _listed(stored: Mapping[str, bytes]) -> Mapping[str, object]:
    """Return what the summary lists as the files of the run."""
    try:
        summary = json.loads(stored.get("summary.json", b"{}"))
        listed = summary.get("sha256")
    except (ValueError, AttributeError, RecursionError):
        return {}
    return listed if isinstance(listed, dict) else {}


def _explain(
    name: str, stored: bytes, derived: bytes | None, replayed: Replayed, compared: Compared
) -> None:
    if derived is None:
        if name != "summary.json" or replayed.ended:
            problem = "does not follow from the journal"
            if not replayed.ended:
                problem += f", which stops before {replayed.stopped_at}"
            compared.failures.append(Failure(name, "", problem, "whole"))
        return
    if replayed.other_version is None:
        found = differences(name, stored, derived)
    elif name.endswith(".json"):
        found = [
            one for one in differences(name, stored, derived) if not one.where.startswith("line ")
        ]
        found = [one for one in found if not _is_hash(one.where)]
        absent = [one for one in found if one.is_absence and one.where != "sha256"]
        compared.not_compared += [f"{name}: {one.where}" for one in absent]
        found = [one for one in found if one not in absent]
    else:
        compared.not_compared.append(name)
        return
    compared.failures += [Failure(name, one.where, one.says) for one in found]


def _is_hash(where: str) -> bool:
    """Tell whether it is a hash in the summary: of files that another version wrote."""
    return where.startswith("sha256.")


def _stale(stored: Mapping[str, bytes], suspects: set[str]) -> set[str]:
    """Return the files that an earlier ending left, in a run that was taken up again since."""
    stale: set[str] = set()
    states = earlier_states(stored.get("journal.jsonl", b""))
    for _, journal in zip(range(MOST_EARLIER_STATES), states, strict=False):
        if stale == suspects:
            break
        before = replay(stored.get("config.yaml", b""), journal).files
        stale |= {name for name in suspects if before.get(name) == stored[name]}
    return stale


def compare_settings(config_yaml: bytes, replayed: Replayed) -> list[Failure]:
    """Compare the config with what the journal says that the run began with."""
    expected = replayed.header.get("config_sha256")
    if expected is not None and hashlib.sha256(config_yaml).hexdigest() != expected:
        problem = "is not the file that the run began with"
        return [Failure("config.yaml", "", problem, "whole")]
    try:
        mapping = parse_mapping(config_yaml, "config.yaml")
        settings = AuditConfig.model_validate(mapping).identity()
    except Exception as err:  # noqa: BLE001 -- a stranger's config may say anything
        return [Failure("config.yaml", "", f"cannot be read: {err}", "whole")]
    found = json_differences(settings, replayed.header.get("settings"))
    return [
        Failure("config.yaml", one.where, f"the journal says otherwise: {one.says}")
        for one in found
        if not (one.is_absence and replayed.other_version)
    ]
