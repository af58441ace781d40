"""The command `export`: runs as tables, Inspect logs or Markdown."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models.cli.output import Output
from uncensoring_chinese_models.errors import RunStoreError
from uncensoring_chinese_models.text import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uncensoring_chinese_models.exports import Exported, Runs

MAX_NAMED = 10


def export(run_or_dir: str, *, to: str, out: str | None = None, json: bool = False) -> int:
    """Export a run, or all runs in a folder, to tables, Inspect logs or Markdown.

    Changes nothing in a run, and sends nothing.

    Args:
        run_or_dir (RUN_OR_DIR): run directory, bundle, or folder with runs, at most 8 levels below it.
        to (FORMAT): inspect, csv, parquet, jsonl or markdown.
        out (FOLDER): new folder to write; by default NAME-FORMAT.
        json: print one JSON record on stdout, and all other text on stderr.
    """
    from uncensoring_chinese_models.exports import (  # noqa: PLC0415
        check_format,
        export_runs,
        load_runs,
    )

    given = Path(run_or_dir)
    with Output(as_json=json) as output:
        check_format(to)
        runs = load_runs(given)
        _warn(runs)
        if not len(runs):
            raise RunStoreError(f"No run in {given} can be read; nothing was written.")
        name = given.resolve().name if given.is_dir() else given.stem
        exported = export_runs(runs, to, Path(out) if out else Path(f"{name}-{to}"))
        following = _open_command(to, exported.folder)
        print(*_lines(runs, exported, following), sep="\n", file=output.stream)
        if json:
            output.record(
                {
                    "folder": str(exported.folder),
                    "runs": [run.name for run in runs],
                    "files": exported.files,
                    "left_out": runs.unreadable,
                    "next": following,
                },
                0,
            )
    return 0


def _warn(runs: Runs) -> None:
    for path, why in list(runs.unreadable.items())[:MAX_NAMED]:
        print(f"warning: left out: {escape(path)}: {escape(why)}", file=sys.stderr)
    more = len(runs.unreadable) - MAX_NAMED
    if more > 0:
        print(f"warning: left out: {more} more", file=sys.stderr)
    for run in runs:
        for sentence in run.files.unfit:
            print(f"warning: {escape(run.name)}: {escape(sentence)}", file=sys.stderr)


def _lines(runs: Runs, exported: Exported, following: str) -> Iterator[str]:
    many = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    yield f"Exported {many} to {escape(str(exported.folder))}"
    for name, count in list(exported.files.items())[:MAX_NAMED]:
        rows = "" if count is None else f"  {count} row{'' if count == 1 else 's'}"
        yield f"  {escape(name)}{rows}"
    if len(exported.files) > MAX_NAMED:
        yield f"  and {len(exported.files) - MAX_NAMED} more"
    yield f"Next: {escape(following)}"


def _open_command(to: str, folder: Path) -> str:
    """Return a command that opens the exported files."""
    where = shlex.quote(str(folder))
    if to == "inspect":
        return f"inspect view --log-dir {where}"
    if to == "markdown":
        return f"less {shlex.quote(str(folder / 'README.md'))}"
    path = str(folder / f"samples.{to}")
    if shutil.which("duckdb") is None:
        return _without_duckdb(to, path)
    query = "SELECT stance, count(*) FROM '{}' GROUP BY stance"
    if shlex.quote(path) == path:
        return f'duckdb -c "{query.format(path)}"'
    return f"duckdb -c {shlex.quote(query.format(path.replace(chr(39), chr(39) * 2)))}"


def _without_duckdb(to: str, path: str) -> str:
    """Return a command that shows the samples with what is surely there."""
    if to == "parquet":
        counts = f"import pandas; print(pandas.read_parquet({path!r}).stance.value_counts())"
        return f"{shlex.quote(sys.executable)} -c {shlex.quote(counts)}"
    return f"head -n 3 {shlex.quote(path)}"
