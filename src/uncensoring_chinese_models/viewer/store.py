"""The database behind an index: in the user's own cache, or in memory.

It is never beside the runs. SQLite acts on what lies beside a database (a journal can make it
delete files), and what an index says is believed; so a folder that came from somebody else must
have no way to bring one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

FOLDER = "viewer"
"""The folder of the cache that holds indexes."""
_BESIDE = ("", "-wal", "-shm", "-journal")
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class _Kept(NamedTuple):
    """A database of ours on the disk."""

    path: Path
    lock: int
    """A handle that is locked for as long as we use it."""


class Store:
    """A database that one viewer has for itself; any thread may open it."""

    def __init__(self, root: Path, cache: Path) -> None:
        """Take the database of a folder.

        Args:
            root: the folder that is viewed.
            cache: the user's cache. Where it cannot be used, lies in the folder that is viewed or
                has the database in use by another viewer, the database is in memory.
        """
        self._memory: sqlite3.Connection | None = None
        self._using = threading.RLock()
        try:
            self._kept = _take(root, cache)
        except OSError:
            self._kept = None

    @property
    def path(self) -> Path | None:
        """Where the database is; None in memory."""
        kept = self._kept
        return None if kept is None else kept.path

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Open a connection for one piece of work, which is kept whole or not at all."""
        path = self.path
        if path is None:
            with self._using, self._in_memory() as connection:
                yield connection
            return
        with closing(sqlite3.connect(path, timeout=10)) as connection, connection:
            connection.execute("PRAGMA synchronous = OFF")  # it can always be made again
            yield connection

    def _in_memory(self) -> sqlite3.Connection:
        if self._memory is None:
            self._memory = sqlite3.connect(":memory:", check_same_thread=False)
        return self._memory

    def make_anew(self, tables: str) -> None:
        """Throw away what is there, and make empty tables.

        Raises:
            OSError: the cache can no longer be used.
            sqlite3.Error: the same, as the database says it.
        """
        with self._using:
            if self._kept is not None:
                for suffix in _BESIDE:
                    path = self._kept.path
                    path.with_name(path.name + suffix).unlink(missing_ok=True)
                _make_private(self._kept.path)
            elif self._memory is not None:
                self._memory.close()
                self._memory = None
            with self.open() as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(tables)

    def move_to_memory(self) -> None:
        """Go on without the disk."""
        with self._using:
            kept, self._kept = self._kept, None
            if kept is not None:
                os.close(kept.lock)

    def close(self) -> None:
        """Let go of the database."""
        self.move_to_memory()
        with self._using:
            if self._memory is not None:
                self._memory.close()
                self._memory = None


def _take(root: Path, cache: Path) -> _Kept | None:
    """Return the database of a folder, for us alone; None if it is not to be had."""
    viewed, folder = root.resolve(), cache.resolve() / FOLDER
    if folder.is_relative_to(viewed):  # whoever made the folder may have made the cache
        return None
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    told = folder.lstat()
    is_own = stat.S_ISDIR(told.st_mode) and told.st_uid == os.getuid()
    if not is_own or told.st_mode & _OTHERS_MAY_WRITE:
        return None
    folder.chmod(0o700)
    name = hashlib.sha256(os.fsencode(viewed)).hexdigest()
    lock = _make_private(folder / f"{name}.lock", keep=True)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path = folder / f"{name}.sqlite3"
        _make_private(path)
    except OSError:  # another viewer has it, or it cannot be written
        os.close(lock)
        return None
    return _Kept(path, lock)


def _make_private(path: Path, *, keep: bool = False) -> int:
    """Make sure that a plain file is there that nobody else may read; return its handle if kept."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.fchmod(handle, 0o600)
    if not keep:
        os.close(handle)
    return handle
