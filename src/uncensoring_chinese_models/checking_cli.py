"""The commands that check a run and pack it: what they print."""

from __future__ import annotations

import json as json_codec
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models.errors import AuditToolError, CorruptRunError
from uncensoring_chinese_models.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.verification import Verification

MOST_FAILURES = 20
DOES_NOT_HOLD = CorruptRunError.exit_code


def verify(run_dir: str, *, json: bool = False) -> int:
    """Check a run against its journal, offline: hashes, replay, quotes, every figure.

    Nothing is sent, no key is needed, and nothing in the run is changed. Exits 0 when all holds
    and 4 when something does not.

    Args:
        run_dir (RUN_DIR): run directory, or a bundle that 'ucm bundle' made.
        json: put one machine-readable record on stdout, and everything for people on stderr.
    """
    from uncensoring_chinese_models.verification import verify_run  # noqa: PLC0415

    try:
        result = verify_run(Path(run_dir))
    except AuditToolError as err:
        if json:
            _print_json({"run_dir": run_dir, "exit_code": err.exit_code, "error": str(err)})
        raise
    code = 0 if result.holds else DOES_NOT_HOLD
    if json:
        _print_json({"run_dir": run_dir, "exit_code": code, **result.as_json()})
        return code
    print("\n".join(visible(line) for line in _lines(run_dir, result)))
    return code


def bundle(run_dir: str, *, out: str | None = None, keep_found: bool = False) -> int:
    """Pack a run for a paper's appendix: a zip with its hashes, the same bytes for the same run.

    A run that holds keys, paths or names of machines and people is not packed; they are listed.

    Args:
        run_dir (RUN_DIR): run directory to pack; nothing in it is changed.
        out (FILE): archive to write; by default the run's name and .zip, in this folder.
        keep_found: pack it all the same, after you looked at the list; a key is never packed.
    """
    from uncensoring_chinese_models.bundle import pack_run  # noqa: PLC0415

    packed = pack_run(Path(run_dir), Path(out) if out else None, keep_found=keep_found)
    for found in packed.kept:
        print(f"warning: packed all the same: {visible(found)}", file=sys.stderr)
    if packed.left_out:
        names = visible(", ".join(packed.left_out))
        print(f"note: hidden, no part of the run, and left out: {names}", file=sys.stderr)
    print(f"Packed {packed.files} files into {visible(str(packed.path))}")
    print(f"  sha256: {packed.sha256}")
    print(f"Anyone can check it: ucm verify {visible(str(packed.path))}")
    return 0


def _lines(run_dir: str, result: Verification) -> Iterator[str]:
    yield f"Verify {run_dir}"
    for check in result.checks:
        number = len(check.failures)
        verdict = "holds" if not number else f"{number} wrong"
        yield f"  {check.name:<9} {verdict:<9} {check.said}"
    yield from (f"note: {note}" for note in result.notes)
    failures = result.failures
    if not failures:
        state = "All of it holds." if result.ended else "What there is of it holds."
        state = state if result.all_compared else "What could be compared holds."
        yield f"{state} {result.proves}"
        return
    yield (
        f"{len(failures)} things do not hold:" if len(failures) > 1 else "One thing does not hold:"
    )
    yield from (f"  {failure}" for failure in failures[:MOST_FAILURES])
    if len(failures) > MOST_FAILURES:
        yield f"  and {len(failures) - MOST_FAILURES} more (--json lists them all)"
    yield result.concludes


def _print_json(value: Json) -> None:
    print(json_codec.dumps(value, ensure_ascii=True))
