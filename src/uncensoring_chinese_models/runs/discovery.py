"""Where runs lie below a folder: run directories, unpacked bundles and archives."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

from uncensoring_chinese_models.errors import ConfigError, RunStoreError
from uncensoring_chinese_models.runs.reading import JUDGED
from uncensoring_chinese_models.runs.untrusted import DEEPEST, MANIFEST, kind_of

LONGEST_LINE = 1 << 24
MOST_FOLDERS = 200_000
"""So many folders are looked into for runs."""


def places(top: Path) -> Iterator[Path]:
    """Yield every folder and archive below a folder that may be a run; no link is followed.

    Raises:
        RunStoreError: a folder cannot be read, or there are too many.
    """
    pending, looked_into = [(top, 0)], 0
    while pending:
        folder, depth = pending.pop()
        looked_into += 1
        if looked_into > MOST_FOLDERS:
            raise RunStoreError(
                f"{top} holds more than {MOST_FOLDERS} folders; nothing was read. Give a folder "
                "nearer to the runs."
            )
        for path in _entries(folder):
            if is_run(path) or _is_bundle(path):
                yield path
            elif path.is_dir() and depth < DEEPEST and not _is_record(path):
                pending.append((path, depth + 1))


def _entries(folder: Path) -> list[Path]:
    """Return what is in a folder, but for what is hidden and for symbolic links."""
    try:
        with os.scandir(folder) as entries:
            return [
                Path(entry.path)
                for entry in entries
                if not (entry.name.startswith(".") or entry.is_symlink())
            ]
    except OSError as err:
        raise RunStoreError(f"{folder} cannot be read: {err.strerror}.") from err


def is_run(folder: Path) -> bool:
    """Tell whether a folder is a run or an unpacked bundle."""
    is_one = (folder / "journal.jsonl").is_file() or (folder / MANIFEST).is_file()
    return is_one and not _is_record(folder)


def refuse_in_run(path: Path) -> None:
    """Refuse to write where a run is, or into it.

    Raises:
        ConfigError: the place is a run directory, or lies in one.
    """
    place = path.parent.resolve() / path.name if path.is_symlink() else path.resolve()
    if any(is_run(each) for each in (place, *place.parents)):
        raise ConfigError(
            f"{path} is or lies in a run directory, whose files are listed in its summary; nothing "
            "was written. Name a place outside it with --out."
        )


def _is_record(folder: Path) -> bool:
    """Tell whether a folder holds what the doctor or judges left, and no run."""
    journal = folder / "journal.jsonl"
    if folder.name.endswith(JUDGED) or not journal.is_file() or journal.is_symlink():
        return folder.name.endswith(JUDGED)
    try:
        with journal.open("rb") as file:
            return kind_of(file.readline(LONGEST_LINE)) not in (None, "audit", "probe")
    except OSError:
        return False  # whatever is wrong with it, reading it will say


def _is_bundle(path: Path) -> bool:
    if path.suffix != ".zip" or not path.is_file():
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return MANIFEST in archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return False
