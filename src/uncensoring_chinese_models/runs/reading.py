"""The files of a run as they are stored, parsed: what pages, tables and exports are made from.

A run may still be going, may be a bundle, and may be a stranger's: nothing is followed out of its
folder, and what cannot be read is said. Nothing here checks that the files are true; `verify` does.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from uncensoring_chinese_models.config import parse_mapping
from uncensoring_chinese_models.errors import CorruptRunError, RunStoreError
from uncensoring_chinese_models.runs.untrusted import kind_of, read_folder, read_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uncensoring_chinese_models.domain import Json, RunKind

_OWN = re.compile(r"(summary|doctor|likelihood|(auditor_turns|audited_responses)/[0-9]+)\.json")
"""The JSON files of a run; what else lies in its folder is not read."""
JUDGED = ".judged"
"""How the folder beside a run is called that holds what was made of it afterwards."""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """One run: its summary if it has ended, and every turn and response that is there."""

    name: str
    config: Json
    """The mapping of config.yaml, without defaults."""
    summary: Json | None
    turns: tuple[Json, ...]
    responses: tuple[Json, ...]
    doctor: Json | None = None
    likelihood: Json | None = None
    judged: tuple[Json, ...] = ()
    """What `ucm judge` made of it, by facts file; what judges say comes before what patterns say."""
    journal: bytes = b""
    folder: Path | None = None
    summary_sha256: str | None = None
    """Of summary.json as it is stored."""

    @property
    def settings(self) -> Json:
        """Every setting with its default, once the run has ended; before, what the config says."""
        return self.config if self.summary is None else dict(self.summary["config"])

    @property
    def kind(self) -> RunKind:
        """What made it, as its summary or its journal says."""
        told = (self.summary or {}).get("kind") or kind_of(self.journal)
        return "probe" if told == "probe" else "doctor" if told == "doctor" else "audit"

    @property
    def status(self) -> str:
        """How it ended, or that it has not."""
        return "unfinished" if self.summary is None else str(self.summary["status"])


def read_files(path: Path) -> RunFiles:
    """Read a run directory or a bundle.

    Raises:
        RunStoreError: it is neither.
        CorruptRunError: a file of it is not JSON, or not what a run writes there.
    """
    tree = read_run(path)
    is_folder = path.is_dir()
    beside = _judged_beside(path) if is_folder else ()
    name = path.resolve().name if is_folder else path.stem
    return parse_files(name, tree.files, beside, path if is_folder else None)


def parse_files(
    name: str, files: Mapping[str, bytes], judged: tuple[Json, ...] = (), folder: Path | None = None
) -> RunFiles:
    """Return what the bytes of a run's files hold.

    Raises:
        CorruptRunError: a file is not JSON, or not what a run writes there.
    """
    found = {
        path: _parsed(f"{name}/{path}", content)
        for path, content in files.items()
        if _OWN.fullmatch(path)
    }
    summary = found.get("summary.json")
    if summary is not None and not isinstance(summary.get("config"), dict):
        raise CorruptRunError(f"{name}/summary.json is not what a run writes: it has no config.")
    return RunFiles(
        name,
        parse_mapping(files.get("config.yaml", b"{}"), f"{name}/config.yaml"),
        summary,
        _numbered(found, "auditor_turns"),
        _numbered(found, "audited_responses"),
        found.get("doctor.json"),
        found.get("likelihood.json"),
        judged,
        files.get("journal.jsonl", b""),
        folder,
        None if summary is None else hashlib.sha256(files["summary.json"]).hexdigest(),
    )


def _judged_beside(folder: Path) -> tuple[Json, ...]:
    """Return what was made of a run afterwards; judges first, since they looked closer."""
    resolved = folder.resolve()
    beside = resolved.with_name(resolved.name + JUDGED)
    if beside.is_symlink() or not beside.is_dir():
        return ()
    try:
        files = read_folder(beside).files
    except OSError as err:
        raise RunStoreError(f"{beside} cannot be read: {err.strerror}.") from err
    names = [name for name in files if name.endswith(".json") and "/" not in name]
    names.sort(key=lambda name: (not name.endswith(".judges.json"), name))
    told = [_parsed(f"{beside.name}/{name}", files[name]) for name in names]
    return tuple(each for each in told if each.get("run") == resolved.name)


def _numbered(found: Mapping[str, Json], folder: str) -> tuple[Json, ...]:
    """Return the files of a folder in the order of their numbers, each iteration once."""
    own = [PurePosixPath(path) for path in found if path.startswith(f"{folder}/")]
    own.sort(key=lambda path: (len(path.stem), path.stem))
    iterations = [found[str(path)].get("iteration") for path in own]
    if len(iterations) != len(set(map(str, iterations))):
        raise CorruptRunError(f"{folder} holds two files of one iteration.")
    return tuple(found[str(path)] for path in own)


def _parsed(name: str, content: bytes) -> Json:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as err:
        raise CorruptRunError(f"{name} cannot be read ({err}).") from err
    if not isinstance(data, dict):
        raise CorruptRunError(f"{name} is not what a run writes: it holds no object.")
    return data
