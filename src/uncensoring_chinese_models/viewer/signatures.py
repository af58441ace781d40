"""The runs of a folder, each with an id, and a signature that differs as soon as the run does.

No file is opened here and no link is followed: names, sizes, times and inodes are enough.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from uncensoring_chinese_models.runs import (
    BUNDLED,
    GIVEN,
    JUDGED,
    find_runs,
    judged_folder,
    looks_like_run,
)

_ID_LENGTH = 32
"""Hexadecimal digits: too many for anybody to find two places with the same id."""
HEAVY = 1 << 23
"""Bytes from which a run is heavy; ordinary runs have a megabyte or two."""
_BYTES_PER_FILE = 4096
"""What it costs to open a file, as bytes that could be read instead."""
_SUMMARY = "summary.json"
_MAX_LISTED = 50_000
"""How many entries of a folder are looked at; a run with more is not shown."""
_GROWING = ("auditor_turns", "audited_responses")


@dataclass(frozen=True, slots=True)
class SignedRun:
    """A folder that looks like a run."""

    id: str
    """A hash of its place; the addresses of its pages hold it."""
    folder: Path
    place: str
    """Its path below the folder that is viewed."""
    signature: str
    """Differs as soon as anything of the run that is shown differs."""


def find_signed(root: Path) -> dict[str, SignedRun]:
    """Return the runs below a folder by their ids; the folder alone, if it is a run itself."""
    found: dict[str, SignedRun] = {}
    for folder in find_runs(root, names_only=True):
        place = root.resolve().name if folder == root else folder.relative_to(root).as_posix()
        whole_hash = hashlib.sha256(os.fsencode(place)).hexdigest()
        short = whole_hash[:_ID_LENGTH]
        own_id = whole_hash if short in found else short
        found[own_id] = SignedRun(own_id, folder, place, signature_of(folder))
    return found


def signature_of(folder: Path) -> str:
    """Return what tells one state of a run from another; nothing if the folder is not a run."""
    if not looks_like_run(folder):
        return ""
    path = str(folder)
    beside = str(folder if folder.name not in ("", "..") else folder.resolve())
    if not any(_stamp(f"{path}/{name}") for name in GIVEN):  # an unpacked bundle
        path = beside = f"{path}/{BUNDLED.rstrip('/')}"
    given, ended = [_stamp(f"{path}/{name}") for name in GIVEN], _stamp(f"{path}/{_SUMMARY}")
    is_open = not ended or not all(given)
    growing = [_listing(f"{path}/{name}") for name in _GROWING] if is_open else []
    return " ".join([*given, ended, *growing, _listing(f"{beside}{JUDGED}")])


def weight_of(folder: Path) -> int:
    """Return about how many bytes must be read for a run; what is heavy is not counted to its end."""
    weight = 0
    pending = [str(folder), str(judged_folder(folder))]
    while pending and weight < HEAVY:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    else:
                        weight += entry.stat(follow_symlinks=False).st_size
                    weight += _BYTES_PER_FILE
                    if weight >= HEAVY:
                        break
        except OSError:
            continue  # it is not there, or reading the run will say what is wrong
    return weight


def by_name(sentence: str, *folders: Path) -> str:
    """Return a sentence with the names of runs in place of their paths on this machine."""
    paths = {path: folder.name for folder in folders for path in (folder, folder.resolve())}
    for path in sorted(paths, key=lambda path: -len(str(path))):
        sentence = sentence.replace(str(path), paths[path])
    return sentence


def _listing(path: str) -> str:
    """Return a string that changes when a file of a folder is added, removed or replaced.

    The times of a folder are not enough: two changes within one tick of the clock leave the same.
    """
    stamp = _stamp(path)
    if not stamp:
        return ""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return stamp
    try:
        with os.scandir(handle) as entries:
            found = sorted(f"{each.name}/{each.inode()}" for each in islice(entries, _MAX_LISTED))
    finally:
        os.close(handle)
    return f"{stamp}:{hashlib.sha256(os.fsencode(' '.join(found))).hexdigest()}"


def _stamp(path: str) -> str:
    """Return a string that changes when a file changes; no program can set a change time."""
    try:
        told = os.lstat(path)
    except OSError:
        return ""
    return f"{told.st_mtime_ns}:{told.st_ctime_ns}:{told.st_size}:{told.st_ino}"
