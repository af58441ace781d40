"""The commands `verify` and `bundle`: check a run offline, and pack it for publication."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models.cli.output import Output
from uncensoring_chinese_models.errors import CorruptRunError
from uncensoring_chinese_models.text import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uncensoring_chinese_models.verify import Failure, Verification

MAX_LINES = 20
MAX_PLACES = 3
"""How many differing places are shown per file."""
KINDS = ("gone", "whole", "place", "quote")
EXIT_CODES = {"holds": 0, "wrong": CorruptRunError.exit_code, "not done": 7}
"""The exit code for each verdict on a run."""


def verify(run_dir: str, *, json: bool = False) -> int:
    """Check a run against its journal, offline: hashes, replay, quotes, figures, judgements.

    Sends nothing, needs no key and changes nothing in the run. Exits with 0 if everything holds,
    with 4 if something is wrong, and with 7 if not everything could be checked.

    Args:
        run_dir (RUN_DIR): run directory, or a bundle made by `ucm bundle`, packed or unpacked.
        json: print one JSON record on stdout, and all other text on stderr.
    """
    from uncensoring_chinese_models.verify import verify_run  # noqa: PLC0415

    with Output(as_json=json, run_dir=run_dir) as output:
        result = verify_run(Path(run_dir))
        code = EXIT_CODES[result.verdict]
        return output.finish(map(escape, _lines(run_dir, result)), result.as_json(), code)


def bundle(run_dir: str, *, out: str | None = None, keep_found: bool = False) -> int:
    """Pack a run for publication: a zip with hashes, always the same bytes for the same run.

    A run that contains keys, home folders, other local paths, private addresses or the name of this
    machine is not packed; they are listed. Names of people are not recognised.

    Args:
        run_dir (RUN_DIR): run directory to pack; nothing in it is changed.
        out (FILE): archive to write; by default RUN_NAME.zip in the current folder.
        keep_found: pack the run with what is listed, except keys, which are never packed.
    """
    from uncensoring_chinese_models.verify import pack_run  # noqa: PLC0415

    packed = pack_run(Path(run_dir), Path(out) if out else None, keep_found=keep_found)
    for found in packed.kept:
        print(f"warning: packed although listed: {escape(found)}", file=sys.stderr)
    if packed.left_out:
        names = escape(", ".join(packed.left_out))
        print(f"note: hidden files, not part of the run, left out: {names}", file=sys.stderr)
    if not packed.has_summary:
        print(
            "warning: summary.json is missing: the run has not ended, or the file was removed "
            "(ucm verify shows what the journal says). The other files were packed.",
            file=sys.stderr,
        )
    path = escape(str(packed.path))
    if packed.was_there:
        print(f"{path} exists already, with the same bytes: {packed.files} files of the run")
    else:
        print(f"Packed {packed.files} files into {path}")
    print(f"  sha256: {packed.sha256}")
    print(f"Anyone can check it: ucm verify {path}")
    return 0


def _lines(run_dir: str, result: Verification) -> Iterator[str]:
    yield f"Verify {run_dir}"
    for check in result.checks:
        yield f"  {check.name:<10} {check.shown:<11} {check.said}"
    for name, digest in result.sha256.items():
        what = "the archive" if name == "archive" else name
        yield f"sha256 of {what}: {digest}"
    yield from (f"note: {note}" for note in result.notes)
    if not result.failures:
        yield f"{result.state} {result.proves}" if result.holds else result.state
        return
    yield from _failures(result)
    yield result.concludes


def _failures(result: Verification) -> Iterator[str]:
    """Yield what is wrong with each file; one cause may show in many places."""
    files: dict[str, list[Failure]] = {one.file: [] for one in result.failures}
    for one in (*result.failures, *result.not_done):
        files.setdefault(one.file, []).append(one)
    number = len({one.file for one in result.failures})
    yield "One file does not hold:" if number == 1 else f"{number} files do not hold:"
    lines = [line for found in files.values() for line in _of_file(found, result.not_done)]
    yield from (f"  {line}" for line in lines[:MAX_LINES])
    if len(lines) > MAX_LINES:
        yield f"  and {len(lines) - MAX_LINES} more (--json lists them all)"


def _of_file(found: list[Failure], not_done: list[Failure]) -> Iterator[str]:
    """Yield what is wrong with one file, each cause once."""
    of = {kind: [one for one in found if one.kind == kind] for kind in KINDS}
    unread = sum(one in not_done for one in of["quote"])
    what = "excerpt that quotes it was" if unread == 1 else "excerpts that quote it were"
    quoting = f"; {unread} {what} not read again" if unread else ""
    if of["gone"]:
        yield f"{of['gone'][0]}{quoting}"
    elif of["place"]:
        yield from (str(one) for one in of["place"][: MAX_PLACES - 1])
        yield from _last_of(of["place"][MAX_PLACES - 1 :], "places in it")
        if quoting:
            yield f"{found[0].file}: {quoting.removeprefix('; ')}"
    elif of["whole"]:
        problems = "; ".join(dict.fromkeys(one.problem for one in of["whole"]))
        yield f"{of['whole'][0].file}: {problems}{quoting}"
    wrong = [one for one in of["quote"] if one not in not_done]
    is_source = any(one.where.startswith("as quoted in ") for one in wrong)
    yield from _last_of(wrong, "excerpts that quote it" if is_source else "excerpts in it")


def _last_of(failures: list[Failure], what: str) -> Iterator[str]:
    more = len(failures) - 1
    if failures:
        yield f"{failures[0]}{f' (and {more} more {what})' if more else ''}"
