"""Which folders below a folder are runs, and whether they changed since they were last looked at.

Nothing is opened here and no link is followed: names, sizes and times are enough.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from uncensoring_chinese_models.runs import GIVEN, JUDGED

DEEPEST = 4
"""How many folders may lie between the folder that is viewed and a run."""
_ID_LENGTH = 32
"""Hexadecimal digits: too many for anybody to find two places whose ids are alike."""
_ENDED = "summary.json"
_GROWING = ("auditor_turns", "audited_responses")


@dataclass(frozen=True, slots=True)
class Found:
    """A folder that looks like a run."""

    id: str
    """What its pages are called: a hash of where it lies."""
    folder: Path
    place: str
    """Its path below the folder that is viewed."""
    signature: str
    """Differs as soon as anything of the run that is shown differs."""


def find_runs(root: Path) -> Iterator[Found]:
    """Yield the runs below a folder, and the folder itself if it is one."""
    pending = [(str(root), "", 0)]
    while pending:
        where, place, depth = pending.pop()
        names = _folders_in(where)
        judged = {name for name in names if name.endswith(JUDGED)}
        for name in names:
            path, below = os.path.join(where, name), f"{place}{name}"  # noqa: PTH118 -- thousands
            if name.startswith(".") or name in judged:
                continue
            beside = path + JUDGED if name + JUDGED in judged else None
            signature = _signature(path, beside)
            if signature:
                yield _found(path, below, signature)
            elif depth < DEEPEST:
                pending.append((path, f"{below}/", depth + 1))


def find_all(root: Path) -> dict[str, Found]:
    """Return the runs below a folder by their ids; the folder alone, if it is a run itself."""
    signature = signature_of(root)
    if signature:
        own = _found(str(root), root.resolve().name, signature)
        return {own.id: own}
    found: dict[str, Found] = {}
    for each in find_runs(root):
        own_id = each.id if each.id not in found else _hash(each.place)
        found[own_id] = replace(each, id=own_id)
    return found


def signature_of(folder: Path) -> str:
    """Return what tells one state of a run from another; nothing if the folder is no run."""
    beside = folder.resolve().with_name(folder.resolve().name + JUDGED)
    return _signature(str(folder), str(beside) if beside.is_dir() else None)


def by_name(sentence: str, *folders: Path) -> str:
    """Return a sentence with the names of runs instead of where they lie on this machine."""
    paths = {path: folder.name for folder in folders for path in (folder, folder.resolve())}
    for path in sorted(paths, key=lambda path: -len(str(path))):
        sentence = sentence.replace(str(path), paths[path])
    return sentence


def _found(path: str, place: str, signature: str) -> Found:
    return Found(_hash(place)[:_ID_LENGTH], Path(path), place, signature)


def _hash(place: str) -> str:
    return hashlib.sha256(os.fsencode(place)).hexdigest()


def _folders_in(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:  # gone since, or not ours to read
        return []


def _signature(path: str, judged: str | None) -> str:
    """Return what tells one state of a run from another, or nothing if it is no run.

    A run has a journal; one whose journal was lost has a config, and something that came of it.
    """
    given, ended = [_stamp(f"{path}/{name}") for name in GIVEN], _stamp(f"{path}/{_ENDED}")
    if not any(given):
        return ""
    is_open = not ended or not all(given)
    growing = [_stamp(f"{path}/{name}") for name in _GROWING] if is_open else []
    if not given[1] and not any((ended, *growing)):
        return ""
    return " ".join([*given, ended, *growing, _stamp(judged) if judged else ""])


def _stamp(path: str) -> str:
    """Return what tells one state of a file from another; its change time nobody can set."""
    try:
        told = os.lstat(path)
    except OSError:
        return ""
    return f"{told.st_mtime_ns}:{told.st_ctime_ns}:{told.st_size}"
