"""Write runs in one format into a new folder; the folder appears whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.errors import RunStoreError, UsageError
from uncensoring_chinese_models.exports.document import dataset_card, document_of, overview_of
from uncensoring_chinese_models.exports.frames import check_parquet, write_parquet
from uncensoring_chinese_models.exports.inspect_log import write_inspect_log
from uncensoring_chinese_models.exports.inspect_sample import check_inspect
from uncensoring_chinese_models.exports.rows import TABLES, columns_of
from uncensoring_chinese_models.runs import refuse_in_run
from uncensoring_chinese_models.text import harmless

if TYPE_CHECKING:
    from uncensoring_chinese_models.exports.loading import Runs
    from uncensoring_chinese_models.exports.rows import Row

CARD = "README.md"


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written, and where."""

    folder: Path
    files: dict[str, int | None]
    """Each file with the number of its rows; None for a file that is not a table."""


def export_runs(runs: Runs, to: str, out: Path) -> Exported:
    """Write runs in one format into a new or empty folder.

    Raises:
        UsageError: there is no such format.
        MissingExtraError: the format needs an extra that is not installed.
        ConfigError: the folder is inside a run.
        RunStoreError: the folder is not empty, or cannot be written.
    """
    check, write = _format(to)
    check()
    _refuse_place(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        try:
            files = dict(write(runs, draft))
            draft.chmod(0o755)
            draft.rename(out)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    except OSError as err:
        raise RunStoreError(
            f"{out} cannot be written: {err.strerror or err}. No file was left there, and the runs "
            "are unchanged."
        ) from err
    return Exported(out, files)


def check_format(to: str) -> None:
    """Reject an unknown format, or one that needs an extra that is not installed.

    Raises:
        UsageError: there is no such format.
        MissingExtraError: the format needs an extra that is not installed.
    """
    _format(to)[0]()


def _refuse_place(out: Path) -> None:
    if out.is_symlink() or (out.exists() and not (out.is_dir() and not any(out.iterdir()))):
        raise RunStoreError(
            f"{out} exists and was left as it is. Remove it, or give another --out."
        )
    refuse_in_run(out)


# --- formats ------------------------------------------------------------------------------------


Written = Iterator[tuple[str, int | None]]


def _csv(runs: Runs, folder: Path) -> Written:
    for name, table in TABLES.items():
        rows = list(runs.rows(name))
        _write_lines(folder / f"{name}.csv", csv_lines(table, rows))
        yield f"{name}.csv", len(rows)


def _jsonl(runs: Runs, folder: Path) -> Written:
    for name in TABLES:
        rows = list(runs.rows(name))
        _write_lines(folder / f"{name}.jsonl", map(_json_line, rows))
        yield f"{name}.jsonl", len(rows)


def _json_line(row: Row) -> str:
    return strict_json.dumps(asdict(row)) + "\n"


def _parquet(runs: Runs, folder: Path) -> Written:
    counts = {}
    for name, table in TABLES.items():
        rows = tuple(runs.rows(name))
        write_parquet(folder / f"{name}.parquet", table, rows)
        counts[name] = len(rows)
        yield f"{name}.parquet", len(rows)
    _write_lines(folder / CARD, [dataset_card(runs, counts)])
    yield CARD, None


def _markdown(runs: Runs, folder: Path) -> Written:
    names = file_names(runs, ".md")
    _write_lines(folder / CARD, [overview_of(runs, names)])
    yield CARD, None
    for run, name in zip(runs, names, strict=True):
        _write_lines(folder / name, [document_of(run)])
        yield name, None


def _inspect(runs: Runs, folder: Path) -> Written:
    for run, name in zip(runs, file_names(runs, ".eval"), strict=True):
        write_inspect_log(run, folder / name)
        yield name, None


def file_names(runs: Runs, suffix: str) -> list[str]:
    """Return a unique file name for each run; none contains a path."""
    names: list[str] = []
    for run in runs:
        stem = own = run.name.replace("/", "_").lstrip(".")
        number = 1
        while f"{own}{suffix}" in names or own == CARD.removesuffix(".md"):
            number += 1
            own = f"{stem}-{number}"
        names.append(f"{own}{suffix}")
    return names


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("x", encoding="utf-8", newline="") as file:
        file.writelines(lines)


def _nothing_needed() -> None:
    """Pass: this format needs no extra."""


_Check = Callable[[], None]
_Write = Callable[["Runs", "Path"], Written]
_FORMATS: dict[str, tuple[_Check, _Write]] = {
    "inspect": (check_inspect, _inspect),
    "csv": (_nothing_needed, _csv),
    "parquet": (check_parquet, _parquet),
    "jsonl": (_nothing_needed, _jsonl),
    "markdown": (_nothing_needed, _markdown),
}
FORMATS = tuple(_FORMATS)


def _format(to: str) -> tuple[_Check, _Write]:
    if to not in _FORMATS:
        raise UsageError(f"There is no format {to!r}; --to takes {', '.join(_FORMATS)}.")
    return _FORMATS[to]


# --- CSV -------------------------------------------------------------------------------------------


MARK = "\ufeff"
"""The byte order mark: without it Excel misreads Chinese."""


def csv_lines(table: type[Row], rows: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of a CSV file that no spreadsheet executes; every text is quoted."""
    names = [column.name for column in columns_of(table)]
    yield MARK + ",".join(names) + "\n"
    for each in rows:
        yield ",".join(_cell(getattr(each, name)) for name in names) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + harmless(value).replace('"', '""') + '"'
    return repr(value)  # a number, which may begin with a minus sign
