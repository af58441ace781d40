"""The command that judges a run by a facts file: what it prints."""

from __future__ import annotations

import json as json_codec
from typing import TYPE_CHECKING

from uncensoring_chinese_models.errors import AuditToolError
from uncensoring_chinese_models.visible import visible

if TYPE_CHECKING:
    from pathlib import Path

    from uncensoring_chinese_models.domain import Json


def judge(run_dir: str, *, facts: str | None = None, json: bool = False) -> int:
    """Judge a finished run by a facts file: which facts the target knows, says, withholds, denies.

    Nobody is asked, and nothing in the run is changed: what comes out is written beside it, into
    RUN_DIR.judged. Needs the extra `analysis`.

    Args:
        run_dir (RUN_DIR): run directory of ucm probe or ucm audit.
        facts (TOPIC): facts file, by its name or path; by default the one that the run was given.
        json: put one machine-readable record on stdout.
    """
    from pathlib import Path  # noqa: PLC0415

    try:
        return show_judged(Path(run_dir), facts, as_json=json)
    except AuditToolError as err:
        if json:
            _print_json({"run_dir": run_dir, "exit_code": err.exit_code, "error": str(err)})
        raise


def show_judged(folder: Path, facts: str | None = None, *, as_json: bool) -> int:
    """Judge a run and show what came out."""
    from uncensoring_chinese_models.judging import judge_run, lines_of  # noqa: PLC0415

    result = judge_run(folder, facts)
    if as_json:
        matrix = None if result.matrix is None else result.matrix.as_json()
        _print_json({"run_dir": str(folder), "exit_code": 0, "matrix": matrix})
        return 0
    print("\n".join(lines_of(result)))
    print(f"Judgements: {visible(str(result.path))}")
    return 0


def _print_json(value: Json) -> None:
    print(json_codec.dumps(value, ensure_ascii=True))
