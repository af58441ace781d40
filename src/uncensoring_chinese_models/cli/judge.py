"""The commands that judge a run by a facts file, and compare judges with a person: what they print."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models.cli.invocation import our_name
from uncensoring_chinese_models.cli.printing import print_json
from uncensoring_chinese_models.errors import AuditToolError, ConfigError, InterruptedRunError
from uncensoring_chinese_models.text import visible

if TYPE_CHECKING:
    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.measure import Court, Desk
    from uncensoring_chinese_models.models import Notice


def judge(
    run_dir: str,
    *overrides: str,
    facts: str | None = None,
    all: bool = False,  # noqa: A002 -- the flag is called so
    json: bool = False,
) -> int:
    """Judge a finished run by a facts file: which facts the target knows, says, withholds, denies.

    The target is not asked again, and nothing in the run is changed: what comes out is written
    beside it, into RUN_DIR.judged. Patterns judge; with judge_model=MODEL, models judge what
    patterns leave open. Needs the extra `analysis`.

    Args:
        run_dir (RUN_DIR): run directory of ucm probe or ucm audit.
        overrides: words that replace settings of the run, such as judge_model=MODEL,
            "judge_model=[MODEL, MODEL]" or budget.max_usd=2.
        facts (TOPIC): facts file, by its name or path; by default the one that the run was given.
        all: let judges see every sample that has text.
        json: put one machine-readable record on stdout, and everything for people on stderr.
    """
    from uncensoring_chinese_models.measure import court_for  # noqa: PLC0415

    try:
        court = court_for(Path(run_dir), overrides, _notify, every=all)
        return show_judged(Path(run_dir), facts, court, as_json=json)
    except AuditToolError as err:
        if isinstance(err, InterruptedRunError):
            words = [run_dir, *overrides, *(["--facts", facts] if facts else []), *["--all"] * all]
            print(f"To go on: {our_name()} judge {shlex.join(words)}", file=sys.stderr)
        if json:
            print_json({"run_dir": run_dir, "exit_code": err.exit_code, "error": str(err)})
        raise


def show_probed(folder: Path, config: AuditConfig, *, as_json: bool) -> int:
    """Judge a run that was just made, by the judges of its config, and show what came out."""
    from uncensoring_chinese_models.measure import Court  # noqa: PLC0415

    try:
        return show_judged(folder, None, Court(config, _notify), as_json=as_json)
    except AuditToolError:
        print(f"To judge it: {our_name()} judge {shlex.quote(str(folder))}", file=sys.stderr)
        raise


def show_judged(folder: Path, facts: str | None, court: Court, *, as_json: bool) -> int:
    """Judge a run and show what came out."""
    from uncensoring_chinese_models.cli.judge_screen import lines_of  # noqa: PLC0415
    from uncensoring_chinese_models.runner import judge_and_report  # noqa: PLC0415

    result = judge_and_report(folder, facts, court)
    if as_json:
        matrix = None if result.shown is None else result.shown.as_json()
        judges = None if result.panel is None else str(result.panel_path)
        told = {"run_dir": str(folder), "exit_code": 0, "matrix": matrix, "judges": judges}
        print_json(told)
        return 0
    print("\n".join(lines_of(result)))
    print(f"Judgements: {visible(str(result.path))}")
    if result.panel is not None:
        print(f"By judges: {visible(str(result.panel_path))}")
    print(f"Report: {visible(str(result.path.with_name('report.html')))}")
    return 0


def label(
    run_dir: str,
    *,
    n: int = 50,
    seed: int = 0,
    read: str | None = None,
    facts: str | None = None,
    json: bool = False,
) -> int:
    """Let a person judge samples blindly, and see what patterns and judges are worth by that.

    The first time, samples drawn by lot are written to RUN_DIR.judged/TOPIC.labels.csv; fill in
    its last two columns. Then the same command, or --read FILE, gives sensitivity, specificity and
    corrected rates. Needs the extra `analysis`.

    Args:
        run_dir (RUN_DIR): run directory of ucm probe; nothing in it is changed.
        n: how many samples to draw.
        seed: decides which ones.
        read (FILE): the sheet that was filled in; by default where it was written.
        facts (TOPIC): facts file, by its name or path; by default the one that the run was given.
        json: put one machine-readable record on stdout.
    """
    from uncensoring_chinese_models.measure import open_desk, write_sheet  # noqa: PLC0415

    try:
        desk = open_desk(Path(run_dir), facts)
        if read is not None or desk.sheet.exists():
            return _show_worth(desk, Path(read) if read else desk.sheet, as_json=json)
        rows = write_sheet(desk, n, seed)
    except AuditToolError as err:
        if json:
            print_json({"run_dir": run_dir, "exit_code": err.exit_code, "error": str(err)})
        raise
    if json:
        print_json({"run_dir": run_dir, "exit_code": 0, "sheet": str(desk.sheet), "rows": rows})
        return 0
    print(f"{rows} samples to label: {visible(str(desk.sheet))}")
    print(
        "In says put the letter of what the text asserts, or other, or none; in denies yes or no."
    )
    print(f"Then run: {our_name()} label {shlex.quote(run_dir)}")
    return 0


def _show_worth(desk: Desk, sheet: Path, *, as_json: bool) -> int:
    """Show what raters are worth by a sheet that a person filled in."""
    from uncensoring_chinese_models.measure import (  # noqa: PLC0415
        accuracy_lines,
        read_sheet,
        weigh,
        worth_to_json,
        write_worth,
    )

    labels = read_sheet(desk, sheet)
    if not labels.stated:
        raise ConfigError(
            f"No row of {visible(str(sheet))} is filled in yet; nothing was counted, and what was "
            "counted before is kept. Fill in the columns says and denies."
        )
    found = weigh(desk, labels)
    told = worth_to_json(desk, labels, found)
    path = write_worth(desk, told)
    if as_json:
        print_json({"exit_code": 0, **told})
        return 0
    print("\n".join(accuracy_lines(labels, found)))
    print(f"Kept in {visible(str(path))}")
    return 0


def _notify(notice: Notice) -> None:
    print(visible(notice.text), file=sys.stderr)
