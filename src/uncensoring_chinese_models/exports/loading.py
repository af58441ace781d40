"""Runs as typed objects: one run, or all runs in a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from uncensoring_chinese_models.errors import AuditToolError, UsageError
from uncensoring_chinese_models.exports.frames import data_frame
from uncensoring_chinese_models.exports.rows import (
    TABLES,
    CallRow,
    EvidenceRow,
    FactRow,
    HypothesisRow,
    Row,
    RunRow,
    SampleRow,
)
from uncensoring_chinese_models.exports.tables import rows_of
from uncensoring_chinese_models.runs import find_runs, is_run, read_run

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.exports.frames import DataFrame
    from uncensoring_chinese_models.runs import RunFiles


@dataclass(frozen=True, repr=False)
class Run:
    """One run: its files as stored, and its tables, made on first use."""

    files: RunFiles

    def __repr__(self) -> str:
        return f"<Run {self.name!r}, {self.status}>"

    @property
    def name(self) -> str:
        """The name of the run, which every row repeats."""
        return self.files.name

    @property
    def status(self) -> str:
        """How it ended, or `unfinished`."""
        return self.files.status

    @property
    def summary(self) -> Json | None:
        """The content of `summary.json`; None for an unfinished run."""
        return self.files.summary

    @property
    def settings(self) -> Json:
        """Its config; with all defaults once the run has ended."""
        return self.files.settings

    @cached_property
    def overview(self) -> RunRow:
        """Its row in the table `runs`."""
        own: RunRow
        (own,) = self._rows(RunRow)
        return own

    @cached_property
    def hypotheses(self) -> tuple[HypothesisRow, ...]:
        """Every hypothesis that was ever held."""
        return self._rows(HypothesisRow)

    @cached_property
    def evidence(self) -> tuple[EvidenceRow, ...]:
        """Every excerpt that was ever cited."""
        return self._rows(EvidenceRow)

    @cached_property
    def samples(self) -> tuple[SampleRow, ...]:
        """Every sample of the target."""
        return self._rows(SampleRow)

    @cached_property
    def calls(self) -> tuple[CallRow, ...]:
        """Every attempt at a model call."""
        return self._rows(CallRow)

    @cached_property
    def facts(self) -> tuple[FactRow, ...]:
        """Every fact by arm, language and judge; empty if the run was not judged."""
        return self._rows(FactRow)

    def rows(self, table: str) -> tuple[Row, ...]:
        """Return the rows of the table of this name."""
        check_table(table)
        return (self.overview,) if table == "runs" else getattr(self, table)

    def to_frame(self, table: str = "samples") -> DataFrame:
        """Return a table as a pandas data frame; needs the extra `export`."""
        return data_frame(check_table(table), self.rows(table))

    def _rows(self, kind: type[Any]) -> tuple[Any, ...]:
        table = next(name for name, of in TABLES.items() if of is kind)
        return rows_of(table, self.files)


@dataclass(frozen=True, repr=False)
class Runs(Sequence[Run]):
    """Many runs, in the order of their paths."""

    found: tuple[Run, ...]
    unreadable: dict[str, str] = field(default_factory=dict)
    """The runs that could not be read: path and reason."""

    @overload
    def __getitem__(self, index: int) -> Run: ...

    @overload
    def __getitem__(self, index: slice) -> Runs: ...

    def __getitem__(self, index: int | slice) -> Run | Runs:
        if isinstance(index, slice):
            return Runs(self.found[index], self.unreadable)
        return self.found[index]

    def __repr__(self) -> str:
        return f"<{len(self)} runs, {len(self.unreadable)} unreadable>"

    def __len__(self) -> int:
        return len(self.found)

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the rows of all runs in the table of this name."""
        check_table(table)
        return (row for run in self.found for row in run.rows(table))

    def to_frame(self, table: str = "samples") -> DataFrame:
        """Return a table of all runs as a pandas data frame; needs the extra `export`."""
        return data_frame(check_table(table), tuple(self.rows(table)))


def check_table(name: str) -> type[Row]:
    """Return the class of a table's rows.

    Raises:
        UsageError: there is no table of this name.
    """
    if name not in TABLES:
        raise UsageError(f"There is no table {name!r}; the tables are {', '.join(TABLES)}.")
    return TABLES[name]


def load_run(path: str | Path) -> Run:
    """Read a run directory or a bundle.

    Raises:
        RunStoreError: it is neither.
        CorruptRunError: a file of it is not what a run writes.
    """
    return Run(read_run(Path(path)))


def load_runs(folder: str | Path) -> Runs:
    """Read every run and bundle at most 8 levels below a folder; a run itself counts as one.

    What cannot be read is named in `unreadable`, and the others are there all the same. Symbolic
    links are not followed. Two runs of one name bear their paths.

    Raises:
        RunStoreError: there is no such folder.
    """
    top = Path(folder)
    if not top.is_dir() or is_run(top):
        return Runs((load_run(top),))
    read: dict[Path, RunFiles] = {}
    unreadable: dict[str, str] = {}
    for path in sorted(find_runs(top)):
        try:
            read[path] = read_run(path)
        except (AuditToolError, OSError) as err:
            unreadable[path.relative_to(top).as_posix()] = str(err)
    found = []
    for own, run in _apart(top, read, unreadable):
        try:
            for table in TABLES:
                run.rows(table)
        except AuditToolError as err:
            unreadable[own] = str(err)
        else:
            found.append(run)
    return Runs(tuple(found), unreadable)


def _apart(
    top: Path, read: dict[Path, RunFiles], unreadable: dict[str, str]
) -> Iterator[tuple[str, Run]]:
    """Yield each run once, under a unique name."""
    seen: dict[bytes, list[tuple[str, RunFiles]]] = {}
    names = Counter(files.name for files in read.values())
    for path, files in read.items():
        own = path.relative_to(top).as_posix()
        bare = replace(files, name="", folder=None, judged=())
        others = seen.setdefault(files.journal, [])
        twin = next((name for name, other in others if other == bare), None)
        if twin is not None:
            unreadable[own] = f"This is a copy of {twin}, which is read once."
            continue
        others.append((own, bare))
        yield own, Run(replace(files, name=own) if names[files.name] > 1 else files)
