"""Read a run, and the judgements beside it, from a directory or archive that a stranger may have made.

No link is followed, nothing is unpacked onto the disk, and no more is read than a run can hold.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from uncensoring_chinese_models.errors import RunStoreError
from uncensoring_chinese_models.runs.chain import (
    MAX_HEADER_BYTES,
    is_run_header,
    is_set_aside,
    parse_header,
    refuse_other_format,
)
from uncensoring_chinese_models.text import escape

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json

MAX_BYTES = 1 << 30
"""Of all files together; a run of 20 iterations has about a megabyte."""
MAX_FILES = 50_000
MAX_DEPTH = 8
"""How many folders may lie inside each other in a run."""
BUNDLED = "run/"
"""The folder of a bundle that holds the run."""
BUNDLED_JUDGED = "run.judged/"
"""The folder of a bundle that holds the judgements of the run."""
GIVEN = ("config.yaml", "journal.jsonl")
"""The files from which all others follow."""
JUDGED = ".judged"
"""The suffix of the folder beside a run that holds its judgements."""
MANIFEST = "MANIFEST.sha256"
README = "README.txt"
_PART = 1 << 16
"""How much of a member is unpacked at a time."""
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Compression methods that unpack no more than is asked for."""
_TOO_MUCH = "is more than a run holds; it was not read"
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)
"""What zipfile raises for archives that are damaged, encrypted or of an unknown kind."""


@dataclass(slots=True)
class RunTree:
    """The files of a run directory or a bundle, as bytes."""

    files: dict[str, bytes] = field(default_factory=dict)
    """The content of each file of the run, by relative path."""
    problems: dict[str, str] = field(default_factory=dict)
    """What was not read, by path, and why."""
    leftovers: list[str] = field(default_factory=list)
    """Hidden files and folders, as a killed process leaves them, and what was set aside of a journal;
    not part of the run."""
    around: dict[str, bytes] | None = None
    """All members of an archive or of an unpacked bundle, by their paths in it; else None."""
    astray: dict[str, str] = field(default_factory=dict)
    """What was not read or does not belong in a bundle, outside the run's folder, and why."""
    archive: bytes | None = None
    """The archive itself; None for a directory."""
    archive_name: str = ""
    beside: list[str] = field(default_factory=list)
    """What lies beside an unpacked bundle."""
    judged: RunTree | None = None
    """The folder of judgements beside the run; None if there is none."""
    name: str = ""
    """The path of a folder of judgements, as messages show it; empty for a run."""
    size: int = 0
    """How many bytes were read."""

    def room(self) -> int:
        """Return how many bytes may still be read."""
        return MAX_BYTES - self.size

    def count(self, size: int) -> None:
        """Count bytes that were read, whether or not they are kept."""
        self.size += size

    def add(self, name: str, content: bytes | None) -> bool:
        """Keep a file's content, unless it is more than may be read; tell whether it was kept."""
        if content is None or self.room() < 0 or len(self.files) >= MAX_FILES:
            self.problems[name] = _TOO_MUCH
            return False
        self.files[name] = content
        return True


def read_run_tree(path: Path) -> RunTree:
    """Read the files of a run directory or a bundle; the record of a doctor or judge is refused.

    Raises:
        RunStoreError: it is not a run, or a run of another format.
    """
    tree = read_tree(path)
    journal = tree.files.get("journal.jsonl", b"")
    header = parse_header(journal)
    if not header:
        refuse_other_format(journal, path)
    if not is_run_header(header):
        raise RunStoreError(
            f"{path} is the record of ucm {escape(str(header['kind']))}, not a run."
        )
    return tree


def read_header(journal: Path) -> Json:
    """Read the header of a journal; {} if there is no such file, or its first line is damaged."""
    try:
        with open_plain(journal) as file:
            return parse_header(file.readline(MAX_HEADER_BYTES + 1))
    except OSError:
        return {}


def open_plain(path: Path) -> BinaryIO:
    """Open a plain file for reading; a link is not followed, and a pipe is not waited for.

    Raises:
        OSError: there is no such file, or it is a link, a pipe, a device or a folder.
    """
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a plain file")
    return file


def read_tree(path: Path) -> RunTree:
    """Read a run directory or a bundle.

    Raises:
        RunStoreError: it is neither.
    """
    try:
        if not path.is_dir():
            tree = _read_archive(path)
        elif _is_unpacked(path):
            tree = _read_unpacked(path)
        else:
            tree = read_folder(path)
            tree.judged = _read_judged(judged_folder(path), tree.size)
    except OSError as err:
        raise RunStoreError(f"{path} cannot be read: {err.strerror}.") from err
    if not {*GIVEN} & {*tree.files, *tree.problems}:
        below = path / BUNDLED
        meant = any((below / name).is_file() for name in GIVEN)
        instead = (
            f"Did you mean {below}?"
            if meant
            else "Give a run directory, or an archive that ucm bundle made."
        )
        raise RunStoreError(
            f"{path} is not a run: it holds neither config.yaml nor journal.jsonl. {instead}"
        )
    return tree


# --- directories --------------------------------------------------------------------------------


def judged_folder(folder: Path) -> Path:
    """Return the folder of judgements of a run: beside it, or inside an unpacked bundle."""
    if _is_unpacked(folder):
        return folder / (BUNDLED.rstrip("/") + JUDGED)
    is_named = folder.name not in ("", "..") and not folder.is_symlink()
    named = folder if is_named else folder.resolve()
    return named.with_name(named.name + JUDGED)


def _read_judged(folder: Path, size: int) -> RunTree | None:
    """Read a folder of judgements, if there is one; a run of `size` bytes was read before."""
    tree = RunTree(name=f"{folder.name}/")
    if folder.is_symlink():
        tree.problems[""] = "is a symbolic link; it was not followed"
        return tree
    if not folder.is_dir():
        return None
    try:
        tree = read_folder(folder, size)
    except OSError as err:
        tree.problems[""] = f"cannot be read: {err.strerror}"
    tree.name = f"{folder.name}/"
    return tree


def read_folder(folder: Path, size: int = 0) -> RunTree:
    """Read the plain files of a folder; nothing else is opened.

    Args:
        folder: what to read.
        size: how many bytes were read of other folders; they count against the limit.

    Raises:
        OSError: the folder cannot be read.
    """
    tree = RunTree(size=size)
    pending = [(folder, "", 0)]
    while pending:
        where, prefix, depth = pending.pop()
        with os.scandir(where) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                name = prefix + entry.name
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_folder and _is_leftover(name):
                    tree.leftovers.append(f"{name}/")
                elif is_folder and depth < MAX_DEPTH:
                    pending.append((Path(entry.path), f"{name}/", depth + 1))
                else:
                    _read_entry(tree, entry, name)
    return tree


def _is_unpacked(folder: Path) -> bool:
    """Tell whether a folder is an unpacked bundle, and not a run itself."""
    run = folder / BUNDLED.rstrip("/")
    is_run = any((folder / name).exists() for name in GIVEN)
    return (folder / MANIFEST).is_file() and run.is_dir() and not run.is_symlink() and not is_run


def _read_unpacked(folder: Path) -> RunTree:
    """Read an unpacked bundle; other files beside it are not part of it."""
    tree = read_folder(folder / BUNDLED.rstrip("/"))
    tree.judged = _read_judged(judged_folder(folder), tree.size)
    own = RunTree(size=tree.size if tree.judged is None else tree.judged.size)
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name in (MANIFEST, README):
                _read_entry(own, entry, entry.name)
            elif entry.name not in (BUNDLED.rstrip("/"), judged_folder(folder).name):
                tree.beside.append(entry.name)
    tree.astray = own.problems
    tree.around = own.files | _members_of(tree)
    return tree


def _members_of(tree: RunTree) -> dict[str, bytes]:
    """Return the files of a run and of its judgements by their paths in a bundle."""
    judged = {} if tree.judged is None else tree.judged.files
    return {BUNDLED + name: content for name, content in tree.files.items()} | {
        BUNDLED_JUDGED + name: content for name, content in judged.items()
    }


def _read_entry(tree: RunTree, entry: os.DirEntry[str], name: str) -> None:
    if entry.is_symlink():
        tree.problems[name] = "is a symbolic link; it was not followed"
    elif not entry.is_file(follow_symlinks=False):
        tree.problems[name] = "is not a plain file; it was not opened"
    elif _is_leftover(name):
        tree.leftovers.append(name)
    else:
        try:
            content = _read_bounded(entry.path, tree.room())
            tree.count(len(content or b""))
            tree.add(name, content)
        except OSError as err:
            tree.problems[name] = f"cannot be read: {err.strerror}"


def _is_leftover(name: str) -> bool:
    """Tell whether a file is hidden in the run's folder, has a temporary name, or was set aside.

    ``.DS_Store``, ``journal.cut-1`` and ``auditor_turns/.001.json.tmp`` are; ``auditor_turns/.x`` is not.
    """
    last = PurePosixPath(name).name
    is_temporary = last.startswith(".") and last.endswith(".tmp")
    return name.startswith(".") or is_temporary or is_set_aside(name)


def _read_bounded(path: str, room: int) -> bytes | None:
    """Return the content of a plain file, or None if it is too large."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    return _bounded(handle, room)


def _bounded(handle: int, room: int) -> bytes | None:
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode) or os.fstat(handle).st_size > room:
            return None
        return file.read(room + 1)


# --- archives -----------------------------------------------------------------------------------


def _read_archive(path: Path) -> RunTree:
    tree, prefix = RunTree(around={}, archive_name=path.name), ""
    try:
        content = _bounded(os.open(path, os.O_RDONLY | os.O_NONBLOCK), MAX_BYTES)
        if content is None:
            raise RunStoreError(
                f"{path} is not a plain file, or larger than any run ({MAX_BYTES} bytes); it was "
                "not read."
            )
        tree.archive = content
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if len(members) > MAX_FILES:
                tree.astray[path.name] = "holds more than a run does; not all of it was read"
                members = members[:MAX_FILES]
            prefix = _prefix([member.filename for member in members])
            for member in members:
                if not member.is_dir():
                    _read_member(tree, archive, member, prefix)
    except FileNotFoundError:
        raise RunStoreError(f"There is no run directory or bundle {path}.") from None
    except _UNREADABLE as err:
        raise RunStoreError(
            f"{path} is neither a run directory nor a readable zip archive ({err})."
        ) from err
    return tree


def _prefix(names: list[str]) -> str:
    """Return the folder in the archive that holds the run."""
    if MANIFEST in names:
        return BUNDLED
    found = [
        name
        for name in names
        if PurePosixPath(name).name in GIVEN
        and not PurePosixPath(name).parent.name.endswith(JUDGED)
    ]
    nearest = min(found, key=lambda name: name.count("/"), default="")
    return nearest[: nearest.rfind("/") + 1]


def _read_member(
    tree: RunTree, archive: zipfile.ZipFile, member: zipfile.ZipInfo, prefix: str
) -> None:
    name, around = member.filename, tree.around if tree.around is not None else {}
    leads_out = name.startswith("/") or "\\" in name or {"..", ".", ""} & set(name.split("/"))
    if leads_out or name in around:
        tree.astray[name] = "is not a name for a file of a run, or is there twice; it was not read"
        return
    problem, content = _problem(member, prefix), None
    if not problem:
        try:
            content = _unpacked(tree, archive, member)
            problem = _TOO_MUCH if content is None else ""
        except _UNREADABLE as err:
            tree.count(_PART)  # what came before the error is not known
            problem = f"cannot be unpacked ({err})"
    part, own = _part_of(tree, name, prefix)
    if problem:
        (tree.astray if part is None else part.problems)[own] = problem
    elif content is not None and (part is None or part.add(own, content)):
        around[name] = content


def _part_of(tree: RunTree, name: str, prefix: str) -> tuple[RunTree | None, str]:
    """Return the run or its judgements, if a member belongs to them, and its path in there."""
    if name.startswith(prefix):
        return tree, name.removeprefix(prefix)
    beside = _beside(prefix)
    if not beside or not name.startswith(beside):
        return None, name
    if tree.judged is None:
        tree.judged = RunTree(name=beside.rstrip("/").rpartition("/")[2] + "/")
    return tree.judged, name.removeprefix(beside)


def _beside(prefix: str) -> str:
    """Return the folder of an archive that holds the judgements, given that of the run."""
    return prefix.rstrip("/") + JUDGED + "/" if prefix else ""


def _problem(member: zipfile.ZipInfo, prefix: str) -> str:
    """Return why a member must not be read; empty if it may be."""
    if stat.S_ISLNK(member.external_attr >> 16):
        return "is a symbolic link; it was not followed"
    folders = tuple(filter(None, (prefix, _beside(prefix)))) or ("",)
    if not (member.filename.startswith(folders) or member.filename in (MANIFEST, README)):
        return "does not belong to the run"
    if member.compress_type not in _BOUNDED:
        return "is packed in a way that cannot be unpacked within bounds"
    return ""


def _unpacked(tree: RunTree, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes | None:
    """Return the content of a member, or None if it is too large."""
    parts: list[bytes] = []
    if tree.room() <= 0 < member.file_size:
        return None
    with archive.open(member) as file:  # the size that it claims may be a lie
        while part := file.read(_PART):
            tree.count(len(part))
            if tree.room() < 0:
                return None
            parts.append(part)
    return b"".join(parts)
