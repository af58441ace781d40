"""The index of a folder of runs: one row per run and the texts of all samples, in SQLite.

The index holds nothing that the runs do not: deleting it costs only time. The folder of a run is
never taken from the index.

The database lies in the user's own cache or in memory, never beside the runs. SQLite acts on files
beside a database (a journal can make it delete files), and the viewer believes what the index says.
So a folder from somebody else must have no way to bring an index with it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.viewer.rows import IndexedRun, ViewerRow, read_row
from uncensoring_chinese_models.viewer.signatures import HEAVY, SignedRun, find_signed, weight_of

SCHEMA = 4
"""Raised whenever what is kept changes; an index of another schema is thrown away."""
FRESH_S = 1.0
"""Min time between two looks at the folder."""
CLOSING_S = 2.0
"""Max time that closing waits for the run that is being read."""
_BATCH = 50
"""How many runs are read at most before they are shown."""
_SHOWN_AFTER_S = 0.3
"""Time after which runs that were read are shown, however few they are."""
_NUMBERS = (
    "iterations",
    "samples",
    "withheld",
    "blocked",
    "judged",
    "not_judged",
    "claims",
    "supported",
)
_COLUMNS = tuple(each.name for each in fields(ViewerRow))
_KINDS = {
    name: ((float, int, type(None)) if name == "cost_usd" else int if name in _NUMBERS else str)
    for name in _COLUMNS
}
_TABLES = f"""
CREATE TABLE runs (id PRIMARY KEY, {", ".join(_COLUMNS[1:])}, signature, is_run);
CREATE INDEX by_start ON runs (started_at DESC, place);
CREATE INDEX by_cell ON runs (topic, target);
CREATE TABLE samples (number INTEGER PRIMARY KEY, run, iteration, arm, sample);
CREATE INDEX by_run ON samples (run);
CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'trigram');
PRAGMA user_version = {SCHEMA};
"""
_T = TypeVar("_T")
_DAMAGED = (sqlite3.DatabaseError, TypeError, ValueError, AttributeError)
"""What a query of a damaged index may raise."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which runs are wanted; an empty filter matches every run."""

    topic: str = ""
    model: str = ""
    status: str = ""
    text: str = ""


class IndexProgress(NamedTuple):
    """How many of the new and changed runs are read."""

    read: int
    of: int | None
    """None while the folder is searched for runs."""

    @property
    def is_behind(self) -> bool:
        """True while runs are still to be read."""
        return self.of is None or self.read < self.of


class Index:
    """The index of one folder; any thread may ask it."""

    def __init__(
        self, root: Path, cache: Path, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Open the index, or make one.

        Args:
            root: holds runs, or is one.
            cache: the user's cache, which may hold an index of it.
            clock: returns the time in seconds.
        """
        self.root = root
        self.progress = IndexProgress(0, None)
        self.store = Store(root, cache)
        self._clock = clock
        self._looked = float("-inf")
        self._found: dict[str, SignedRun] = {}
        self._refreshing = threading.Lock()
        self._closing = threading.Event()
        if not self._is_sound():
            self._make_anew()

    # --- its database ---------------------------------------------------------------------------

    def _is_sound(self) -> bool:
        """Return True if the database is an index of this version and can be written."""
        try:
            with self.store.open() as connection:
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                is_ours = version == SCHEMA and _schema_of(connection) == _own_schema()
                connection.execute("SELECT id FROM runs LIMIT 1").fetchone()
                connection.execute("SELECT text FROM texts LIMIT 1").fetchone()
                connection.execute(f"PRAGMA user_version = {SCHEMA}")  # can it be written?
        except sqlite3.Error:
            return False
        return is_ours

    def _make_anew(self) -> None:
        """Make an empty index: on the disk, else in memory."""
        try:
            self.store.make_anew(_TABLES)
        except (OSError, sqlite3.Error):
            self.store.move_to_memory()
            self.store.make_anew(_TABLES)

    def _read_all_again(self) -> None:
        """Make the index again after it was damaged or its disk was full."""
        try:
            self._make_anew()
            self._update()
        except sqlite3.Error:
            self.store.move_to_memory()
            self._make_anew()
            self._update()

    def close(self) -> None:
        """Stop reading; wait only briefly for the run that is being read."""
        self._closing.set()
        if self._refreshing.acquire(timeout=CLOSING_S):
            self.store.close()
            self._refreshing.release()

    # --- keeping up -----------------------------------------------------------------------------

    def refresh(self) -> None:
        """Look at the folder unless that was just done, and read new and changed runs."""
        with self._refreshing:
            if self._clock() - self._looked < FRESH_S or self._closing.is_set():
                return
            try:
                self._update()
            except sqlite3.DatabaseError:  # damaged since it was opened
                self._read_all_again()
            self._looked = self._clock()

    def _update(self) -> None:
        self.progress = IndexProgress(0, None)  # what came since the last look is not known yet
        found = find_signed(self.root)
        with self.store.open() as connection:
            held = dict(connection.execute("SELECT id, signature FROM runs"))
        gone = [each for each in held if each not in found]
        changed = [each for each in found.values() if held.get(each.id) != each.signature]
        self._found = found
        self.progress = IndexProgress(0, len(changed))
        if gone:
            with self.store.open() as connection:
                for each in gone:
                    _forget(connection, each)
        self._read(changed)

    def _read(self, changed: list[SignedRun]) -> None:
        """Read runs, the lightest first: no heavy one keeps the others from the list."""
        weights = {each.id: weight_of(each.folder) for each in changed}
        read: list[tuple[SignedRun, IndexedRun | None]] = []
        shown_at = time.monotonic()
        for number, each in enumerate(sorted(changed, key=lambda run: weights[run.id])):
            is_late = time.monotonic() - shown_at > _SHOWN_AFTER_S
            if read and (is_late or len(read) >= _BATCH or weights[each.id] >= HEAVY):
                self._show(read, number, len(changed))
                read, shown_at = [], time.monotonic()
            if self._closing.is_set():
                return
            read.append((each, read_row(each)))
        self._show(read, len(changed), len(changed))

    def _show(self, read: list[tuple[SignedRun, IndexedRun | None]], number: int, of: int) -> None:
        with self.store.open() as connection:
            for each, row in read:
                _keep(connection, each, row)
        self.progress = IndexProgress(number, of)

    # --- asking ---------------------------------------------------------------------------------

    def folder_of(self, run_id: str) -> Path | None:
        """Return the folder of a run that was found on the disk; None if there is none."""
        found = self._found.get(run_id)
        return None if found is None else found.folder

    def rows(self, filters: Filters, limit: int, offset: int = 0) -> list[ViewerRow]:
        """Return the runs that are wanted, the latest first."""
        where, values = _where(filters)
        return self.ask(
            f"SELECT {', '.join(_COLUMNS)} FROM runs {where} "  # noqa: S608 -- names of ours
            "ORDER BY started_at DESC, place LIMIT ? OFFSET ?",
            (*values, limit, offset),
            _row,
        )

    def count(self, filters: Filters) -> int:
        """Return how many runs are wanted."""
        where, values = _where(filters)
        return self.ask(f"SELECT count(*) FROM runs {where}", values, lambda row: int(row[0]))[0]  # noqa: S608

    def row(self, run_id: str) -> ViewerRow | None:
        """Return one run."""
        sql = f"SELECT {', '.join(_COLUMNS)} FROM runs WHERE id = ? AND is_run"  # noqa: S608
        rows = self.ask(sql, (run_id,), _row)
        return rows[0] if rows else None

    def values(self, column: str) -> list[str]:
        """Return the values of a text column, most frequent first."""
        if column not in ("topic", "target", "status"):
            raise ValueError(f"{column} is not a text column")
        return self.ask(
            f"SELECT {column} FROM runs WHERE is_run AND {column} != '' "  # noqa: S608
            f"GROUP BY {column} ORDER BY count(*) DESC, {column}",
            (),
            lambda row: str(row[0]),
        )

    def ask(
        self, sql: str, values: Sequence[object], make: Callable[[tuple[Any, ...]], _T]
    ) -> list[_T]:
        """Return the rows of a query, each passed through `make`."""
        try:
            with self.store.open() as connection:
                return [make(row) for row in connection.execute(sql, values)]
        except _DAMAGED:
            with self._refreshing:
                self._read_all_again()
            with self.store.open() as connection:
                return [make(row) for row in connection.execute(sql, values)]


def _where(filters: Filters) -> tuple[str, tuple[str, ...]]:
    parts, values = ["is_run"], []
    for column, value in (
        ("topic", filters.topic),
        ("target", filters.model),
        ("status", filters.status),
    ):
        if value:
            parts.append(f"{column} = ?")
            values.append(value)
    if filters.text:
        parts.append("(name || ' ' || topic || ' ' || auditor || ' ' || target) LIKE ? ESCAPE '\\'")
        values.append(like(filters.text))
    return f"WHERE {' AND '.join(parts)}", tuple(values)


def like(text: str) -> str:
    """Return the LIKE pattern that matches texts with this part; its escape is a backslash."""
    for special in ("\\", "%", "_"):
        text = text.replace(special, f"\\{special}")
    return f"%{text}%"


def _schema_of(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Return every table, index, view and trigger of a file."""
    return set(connection.execute("SELECT name, sql FROM sqlite_schema"))


def _own_schema() -> set[tuple[str, str]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_TABLES)
        return _schema_of(connection)


def _row(values: tuple[Any, ...]) -> ViewerRow:
    told = dict(zip(_COLUMNS, values, strict=True))
    for name in _COLUMNS:
        if not isinstance(told[name], _KINDS[name]):
            raise TypeError(f"{name} has an unexpected type")
    told["verdicts"] = {
        str(key): int(value) for key, value in strict_json.loads(told["verdicts"]).items()
    }
    return ViewerRow(**told)


def _keep(connection: sqlite3.Connection, found: SignedRun, read: IndexedRun | None) -> None:
    _forget(connection, found.id)
    if read is None:
        connection.execute(
            "INSERT INTO runs (id, signature, is_run) VALUES (?, ?, 0)", (found.id, found.signature)
        )
        return
    told = read.row.as_json() | {"verdicts": strict_json.dumps(read.row.verdicts)}
    values = [*(told[column] for column in _COLUMNS), found.signature, 1]
    marks = ", ".join("?" * len(values))
    connection.execute(
        f"INSERT INTO runs ({', '.join(_COLUMNS)}, signature, is_run) VALUES ({marks})",  # noqa: S608
        values,
    )
    for text in read.texts:
        number = connection.execute(
            "INSERT INTO samples (run, iteration, arm, sample) VALUES (?, ?, ?, ?)",
            (found.id, text.iteration, text.arm, text.sample),
        ).lastrowid
        connection.execute("INSERT INTO texts (rowid, text) VALUES (?, ?)", (number, text.text))


def _forget(connection: sqlite3.Connection, run_id: str) -> None:
    own = "(SELECT number FROM samples WHERE run = ?)"
    connection.execute(f"DELETE FROM texts WHERE rowid IN {own}", (run_id,))  # noqa: S608
    connection.execute("DELETE FROM samples WHERE run = ?", (run_id,))
    connection.execute("DELETE FROM runs WHERE id = ?", (run_id,))


# --- the database: in the user's cache, or in memory -----------------------------------------------


FOLDER = "viewer"
"""The folder of the cache that holds indexes."""
_BESIDE = ("", "-wal", "-shm", "-journal")
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class _CachedDatabase(NamedTuple):
    """A database on the disk."""

    path: Path
    lock: int
    """A file handle that stays locked while we use the database."""


class Store:
    """The database of one viewer; any thread may open it."""

    def __init__(self, root: Path, cache: Path) -> None:
        """Take the database of a folder.

        Args:
            root: the folder that is viewed.
            cache: the user's cache. The database is in memory if the cache cannot be used, lies in
                the viewed folder, or another viewer uses its database.
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
        """Open a connection for one transaction."""
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
        """Delete the database, and make empty tables.

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
        """Use a database in memory from now on."""
        with self._using:
            kept, self._kept = self._kept, None
            if kept is not None:
                os.close(kept.lock)

    def close(self) -> None:
        """Close the database."""
        self.move_to_memory()
        with self._using:
            if self._memory is not None:
                self._memory.close()
                self._memory = None


def _take(root: Path, cache: Path) -> _CachedDatabase | None:
    """Lock and return the database of a folder; None if it cannot be used."""
    viewed, folder = root.resolve(), cache.resolve() / FOLDER
    if folder.is_relative_to(viewed):  # somebody else may have made such a cache
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
    return _CachedDatabase(path, lock)


def _make_private(path: Path, *, keep: bool = False) -> int:
    """Make a plain file that only this user may read; return its handle if `keep`."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.fchmod(handle, 0o600)
    if not keep:
        os.close(handle)
    return handle
