"""Lock a file, so that one process at a time writes it.

The lock is on the open file itself, and the file is the one that is written: nothing beside it
decides. It ends with its process, however that ends, and child processes do not inherit it. A hidden
file beside it says which process holds the lock; it is for the reader of a message alone.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import socket
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from uncensoring_chinese_models.errors import RunLockedError, RunStoreError

if TYPE_CHECKING:
    from pathlib import Path

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW
_NO_LOCKS = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS, errno.EINVAL)
"""Errors of a file system that has no locks."""
_OWNER = re.compile(r"([0-9]{1,10}) ([\w.-]{1,255})", re.ASCII)


def lock_file(path: Path, *, create: bool = True) -> int:
    """Open a file for appending and lock it; return its descriptor.

    Raises:
        OSError: it cannot be opened.
        RunLockedError: another process holds the lock.
        RunStoreError: the file system has no locks, or it is not a plain file.
    """
    while True:
        # Python opens every file so that a child process does not inherit it.
        handle = os.open(path, _FLAGS | (os.O_CREAT if create else 0), 0o644)
        try:
            _lock(handle, path)
            if is_at(handle, path):  # its owner before us may have replaced it
                _write_owner(path)
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def unlock_file(handle: int, path: Path) -> None:
    """Unlock and close a file."""
    with suppress(OSError):
        _owner_path(path).unlink(missing_ok=True)
    with suppress(OSError):  # a child that was forked without a new program still holds it open
        fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)


def is_locked(path: Path) -> bool:
    """Tell whether another process holds the lock of a file."""
    try:
        unlock_file(lock_file(path, create=False), path)
    except RunLockedError:
        return True
    return False


def is_at(handle: int, path: Path) -> bool:
    """Tell whether an open file is the one that has this name now.

    Raises:
        OSError: it cannot be known.
    """
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def write_locked(path: Path, content: bytes, mode: int = 0o644) -> int:
    """Write a file as a whole in place of the one with this name; return its locked descriptor.

    The new file is locked before it has the name.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    handle = os.open(temporary, _FLAGS | os.O_CREAT | os.O_EXCL, mode)
    try:
        _lock(handle, path)
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
        temporary.replace(path)
        sync_folder(path.parent)
    except BaseException:
        os.close(handle)
        with suppress(OSError):
            temporary.unlink()
        raise
    return handle


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _lock(handle: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise RunStoreError(f"{path} is not a plain file, so it was not opened.")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunLockedError(
            f"{path.parent} is in use by {_owner(path)}; wait for it to end."
        ) from None
    except OSError as err:
        if err.errno not in _NO_LOCKS:
            raise
        raise RunStoreError(
            f"{path} cannot be locked, because its file system has no locks ({err.strerror}): two "
            "processes could pay for the same calls. Nothing was sent. Use a folder on a local disk: "
            "set output_dir, or copy the run there."
        ) from err


# --- who holds it: for messages alone -----------------------------------------------------------


def _owner_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.owner")


def _write_owner(path: Path) -> None:
    with suppress(OSError):
        owner = _owner_path(path)
        owner.unlink(missing_ok=True)
        handle = os.open(owner, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with os.fdopen(handle, "w", encoding="ascii", errors="ignore") as file:
            file.write(f"{os.getpid()} {socket.gethostname()}")


def _owner(path: Path) -> str:
    try:
        handle = os.open(_owner_path(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            found = _OWNER.fullmatch(file.read(300).decode("ascii", "replace"))
    except OSError:
        found = None
    return f"process {found[1]} on {found[2]}" if found else "another process"
