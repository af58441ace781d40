"""The file of a journal: locked, appended to, and watched while it is open.

If the file is removed, replaced or changed underneath, this is noticed before the next line is
written, and the lines are kept in a new file beside it.
"""

from __future__ import annotations

import errno
import os
import stat
from itertools import count
from typing import TYPE_CHECKING

from uncensoring_chinese_models.errors import RunStoreError
from uncensoring_chinese_models.runs.chain import KEPT
from uncensoring_chinese_models.runs.lock import (
    is_at,
    lock_file,
    sync_folder,
    unlock_file,
    write_locked,
)
from uncensoring_chinese_models.runs.store import refuse_link, replace_file

if TYPE_CHECKING:
    from pathlib import Path

_TAIL = 4096
"""So many bytes at the end of the file are compared before each line is written."""


class JournalFile:
    """A file of whole lines that this process has locked."""

    def __init__(self, path: Path, *, create: bool) -> None:
        """Open and lock the file; nothing is written.

        Raises:
            OSError: it cannot be opened.
            RunStoreError: it cannot be locked, or another process has locked it.
        """
        refuse_link(path)
        self._path = path
        self._handle = lock_file(path, create=create)
        self._is_damaged = False
        self._found = b""
        self.lost = ""
        """What happened to the file, if it was removed, replaced or changed."""
        size = os.fstat(self._handle).st_size
        if not size:
            sync_folder(path.parent)
        self._lines = bytearray(_read(self._handle, size))

    @property
    def content(self) -> bytes:
        """The lines of the file, as they were read and written."""
        return bytes(self._lines)

    def drop_damage(self, lines: bytes) -> None:
        """Keep these lines alone; the file is written anew together with the next line."""
        self._is_damaged = lines != self._lines
        if self._is_damaged:
            self._found = self.content
            self._lines = bytearray(lines)

    def close(self) -> None:
        """Close the file, and end its lock."""
        if self._handle >= 0:
            unlock_file(self._handle, self._path)
            self._handle = -1

    def append(self, line: bytes, *, durable: bool) -> None:
        """Write a line; one that does not fit is removed.

        Raises:
            OSError: it was not written.
        """
        if self._handle < 0:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        if self._is_damaged:  # all lines at once: a crash leaves the damaged file or the new one
            self._write_anew(self._path, self.content + line)
            self._is_damaged = False
        else:
            self._write(line, durable=durable)
        self._lines += line

    def keep_beside(self, begins: str, content: bytes) -> Path:
        """Write bytes to the next free file of this kind, unless one holds them.

        Raises:
            OSError: they cannot be written.
        """
        paths = (self._path.with_name(f"{begins}{number}") for number in count(1))
        for path in paths:
            if not os.path.lexists(path):
                replace_file(path, content)
                return path
            if path.is_file() and not path.is_symlink() and path.read_bytes() == content:
                return path  # of a process that was killed before it recorded it
        raise AssertionError

    def check(self) -> None:
        """Find out whether the file is still the one that was written; if not, keep its lines.

        Lines that follow, of calls in flight, are written where the lines are kept.
        """
        if self.lost or self._handle < 0 or self._is_in_place():
            return
        folder = self._path.parent
        if os.fstat(self._handle).st_nlink and not folder.exists():
            self.lost = (
                f"{folder} was moved while it was in use; nothing more was sent. Its journal has "
                "every answer: run the same command again with its new place."
            )
            return
        what = (
            f"{self._path} was removed, replaced or changed while it was in use; nothing more was"
        )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            kept = self.keep_beside(KEPT, self.content)
            self._write_anew(kept, self.content)
        except OSError as err:
            self.lost = f"{what} sent. Its lines could not be kept beside it: {err.strerror}."
            self.close()
            return
        self.lost = (
            f"{what} sent. Every answer is kept in {kept}: rename it to {self._path.name}, then run "
            "the same command again."
        )
        self._path = kept

    def _is_in_place(self) -> bool:
        lines = self._found if self._is_damaged else self._lines
        tail = lines[-_TAIL:]
        try:
            file = os.fstat(self._handle)
            found = os.pread(self._handle, len(tail), len(lines) - len(tail))
            return is_at(self._handle, self._path) and file.st_size == len(lines) and found == tail
        except OSError as err:
            raise RunStoreError(f"{self._path} cannot be read: {err.strerror}.") from err

    def _write(self, line: bytes, *, durable: bool) -> None:
        try:
            if os.write(self._handle, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # noqa: TRY301 -- a short write is a full disk
            if durable:
                os.fsync(self._handle)
        except OSError:
            self._cut_off()
            raise

    def _cut_off(self) -> None:
        """Cut off a line that was not written in full; if that fails, write nothing after it."""
        try:
            os.ftruncate(self._handle, len(self._lines))
        except OSError:
            self.close()

    def _write_anew(self, path: Path, content: bytes) -> None:
        """Write the file as a whole, and keep the new one locked."""
        mode = stat.S_IMODE(os.fstat(self._handle).st_mode)
        handle = write_locked(path, content, mode)
        os.close(self._handle)
        self._handle = handle


def _read(handle: int, size: int) -> bytes:
    parts, at = [], 0
    while at < size and (part := os.pread(handle, min(size - at, 1 << 24), at)):
        parts.append(part)
        at += len(part)
    return b"".join(parts)
