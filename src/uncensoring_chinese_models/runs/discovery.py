"""Find the runs below a folder: run directories, unpacked bundles and archives."""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

from uncensoring_chinese_models.errors import ConfigError, RunStoreError
from uncensoring_chinese_models.runs.chain import is_run_header
from uncensoring_chinese_models.runs.untrusted import BUNDLED, GIVEN, JUDGED, MANIFEST, read_header

MAX_LEVELS = 8
"""A run may lie at most so many levels below the folder that is searched."""
MAX_FOLDERS = 200_000
"""At most so many folders are searched."""
_RESULTS = ("summary.json", "auditor_turns", "audited_responses")
"""What shows that a folder with a config is a run, where its journal was lost."""


def find_runs(top: Path, *, names_only: bool = False) -> Iterator[Path]:
    """Yield the runs below a folder, or the folder alone if it is a run itself.

    No symbolic link is followed, and folders of judgements are passed over.

    Args:
        top: where to search, at most `MAX_LEVELS` deep.
        names_only: open no file and pass over folders that cannot be read. Then archives are not
            found, and a record of the doctor looks like a run; its header says what it is.

    Raises:
        RunStoreError: a folder cannot be read, or there are too many.
    """
    is_found = looks_like_run if names_only else is_run
    if is_found(top):
        yield top
        return
    pending, searched = [(str(top), 1)], 0
    while pending:
        folder, level = pending.pop()
        searched += 1
        if searched > MAX_FOLDERS:
            raise RunStoreError(
                f"{top} holds more than {MAX_FOLDERS} folders; nothing was read. Give a folder "
                "nearer to the runs."
            )
        for entry in _entries(folder, names_only=names_only):
            path = Path(entry.path)
            if is_found(path) or (not names_only and _is_bundle(path)):
                yield path
            elif entry.is_dir() and level < MAX_LEVELS and not looks_like_run(path):
                pending.append((entry.path, level + 1))


def _entries(folder: str, *, names_only: bool) -> list[os.DirEntry[str]]:
    """Return what a folder holds, except hidden entries, judgements and symbolic links."""
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if not (_is_hidden(entry) or entry.is_symlink())]
    except OSError as err:
        if names_only:
            return []
        raise RunStoreError(f"{folder} cannot be read: {err.strerror}.") from err


def _is_hidden(entry: os.DirEntry[str]) -> bool:
    return entry.name.startswith(".") or entry.name.endswith(JUDGED)


def looks_like_run(folder: Path) -> bool:
    """Tell by its names whether a folder is a run or an unpacked bundle; nothing is opened.

    A run has a journal. One whose journal was lost has a config and a result.
    """
    config, journal = GIVEN
    if _is_there(folder, journal):
        return True
    if _is_there(folder, config):
        return any(_is_there(folder, name) for name in _RESULTS)
    return _is_there(folder, MANIFEST) and _is_folder(f"{folder}/{BUNDLED.rstrip('/')}")


def is_record(folder: Path) -> bool:
    """Tell whether a folder holds what the doctor or judges left, and not a run."""
    return folder.name.endswith(JUDGED) or not is_run_header(read_header(folder / "journal.jsonl"))


def is_run(folder: Path) -> bool:
    """Tell whether a folder is a run or an unpacked bundle."""
    return looks_like_run(folder) and not is_record(folder)


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


def _is_there(folder: Path, name: str) -> bool:
    try:
        os.lstat(f"{folder}/{name}")
    except OSError:
        return False
    return True


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _is_bundle(path: Path) -> bool:
    if path.suffix != ".zip" or not path.is_file():
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return MANIFEST in archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return False
