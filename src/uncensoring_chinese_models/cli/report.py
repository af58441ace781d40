"""The command `report`: a page about one run, or a study of a folder of runs."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models.cli.output import Output
from uncensoring_chinese_models.errors import RunStoreError
from uncensoring_chinese_models.text import escape

if TYPE_CHECKING:
    from uncensoring_chinese_models.runs import RunFiles


def report(run_or_dir: str, *, out: str | None = None, json: bool = False) -> int:
    """Write the report of a run as a page, or of a folder of runs as a study.

    A finished run contains its report already, and no file in a run is ever changed. If this
    version writes another page, or the run was judged since, the page is written beside the run.
    A study is a folder with the page, and with each figure as SVG, PNG and CSV.

    Args:
        run_or_dir (RUN_OR_DIR): run directory, archive of ucm bundle, or folder with runs.
        out (PATH): where to write it; by default beside the run or the folder.
        json: print one JSON record on stdout.
    """
    from uncensoring_chinese_models.runs import is_run  # noqa: PLC0415

    path, target = Path(run_or_dir), None if out is None else Path(out)
    with Output(as_json=json) as output:
        if path.is_dir() and not is_run(path):
            from uncensoring_chinese_models.reports import write_study  # noqa: PLC0415

            written = write_study(path, target, _warn)
            files = "its figures and their data are in the same folder"
        else:
            written, files = [_write(path, target)], "it is one file"
        lines = [
            f"Report: {escape(shlex.quote(str(written[0])))}",
            f"Open it in a browser; {files}.",
        ]
        fields = {"report": str(written[0]), "files": list(map(str, written))}
        return output.finish(lines, fields)


def _warn(sentence: str) -> None:
    print(f"warning: {escape(sentence)}", file=sys.stderr)


def _write(path: Path, out: Path | None) -> Path:
    from uncensoring_chinese_models.reports import report_html  # noqa: PLC0415
    from uncensoring_chinese_models.runs import (  # noqa: PLC0415
        read_run,
        refuse_in_run,
        refuse_link,
        replace_file,
    )

    files = read_run(path)
    content = report_html(files).encode("utf-8")
    own = path / "report.html"
    if out is None and not files.judged and own.is_file() and own.read_bytes() == content:
        return own
    target = out or _beside(path, files)
    refuse_in_run(target)
    if out is None:
        refuse_link(target.parent)
    elif target.exists() and not (target.is_symlink() or _is_page(target)):
        raise RunStoreError(
            f"{target} exists already and is not an HTML page; nothing was written. Name another path."
        )
    try:
        replace_file(target, content)
    except OSError as err:
        raise RunStoreError(
            f"{target} cannot be written: {err.strerror}. Name another path with --out."
        ) from err
    return target


def _is_page(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(15).lower() == b"<!doctype html>"


def _beside(path: Path, files: RunFiles) -> Path:
    """Return the path of a report beside the run; nothing is written into a bundle."""
    from uncensoring_chinese_models.runs import judged_folder  # noqa: PLC0415

    named = path.resolve()
    judged = judged_folder(named)
    if files.judged and judged.parent == named.parent and path.is_dir():
        return judged / "report.html"
    return named.with_name(f"{named.stem if path.is_file() else named.name}.report.html")
