"""The commands; the only module that decides exit codes. Everything heavy is imported late."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.cli.compare import compare
from uncensoring_chinese_models.cli.doctor import doctor
from uncensoring_chinese_models.cli.export import export
from uncensoring_chinese_models.cli.facts import check_facts, list_facts, show_facts
from uncensoring_chinese_models.cli.invocation import our_name
from uncensoring_chinese_models.cli.judge import judge, label, show_probed
from uncensoring_chinese_models.cli.organism import fetch_weights, list_organisms, serve_organism
from uncensoring_chinese_models.cli.parser import Group, run_commands
from uncensoring_chinese_models.cli.plan import show_plan
from uncensoring_chinese_models.cli.printing import print_json
from uncensoring_chinese_models.cli.report import report
from uncensoring_chinese_models.cli.verify import bundle, verify
from uncensoring_chinese_models.cli.view import view
from uncensoring_chinese_models.errors import (
    AuditToolError,
    FailedCheckError,
    InterruptedRunError,
    UsageError,
)
from uncensoring_chinese_models.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from uncensoring_chinese_models.cli.progress import Progress
    from uncensoring_chinese_models.config import LoadedConfig
    from uncensoring_chinese_models.domain import Json

EXIT_BY_STATUS = {"completed": 0, "max_iterations": 0, "budget": 5}
ABOUT = """\
Finds out what a language model knows about a matter of public record, and how it withholds it.
It is a tool for research on censorship and transparency, not for producing harmful content.

Exit codes: 0 finished, 2 usage or config, 3 provider, 4 run directory, 5 budget,
6 no result (auditor or target failed), 130 interrupted."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `ucm`."""
    organism = Group(
        "List and serve the organisms: small models with planted secrets.",
        {"list": list_organisms, "serve": serve_organism, "fetch": fetch_weights},
    )
    facts = Group(
        "List, check and show facts files: what is true of a topic, and matched falsehoods.",
        {"list": list_facts, "check": check_facts, "show": show_facts},
    )
    commands = {
        "demo": demo,
        "audit": audit,
        "probe": probe,
        "judge": judge,
        "label": label,
        "compare": compare,
        "doctor": doctor,
        "score": score,
        "report": report,
        "verify": verify,
        "bundle": bundle,
        "export": export,
        "view": view,
        "facts": facts,
        "organism": organism,
        "templates": templates,
    }
    return _run(commands, sys.argv[1:] if argv is None else argv, "ucm")


def main_script(argv: Sequence[str]) -> int:
    """Run the promised script, which is the audit command alone."""
    return _run({"audit": audit}, argv, "search_censored.py", default="audit")


def audit(
    config: str,
    *overrides: str,
    resume: str | None = None,
    dry_run: bool = False,
    json: bool = False,
) -> int:
    """Audit one model on one topic, and keep everything in a run directory.

    Args:
        config: YAML file, such as configs/search_censored.yaml.
        overrides: words that replace settings, such as "topic=Hong Kong, 2019" or sampling.n=4.
        resume (RUN_DIR): run directory to go on with; what it already paid for is not asked again.
        dry_run: show the plan and its worst-case cost, send nothing to any model.
        json: put one machine-readable record on stdout, and everything for people on stderr.
    """
    if dry_run and resume:
        raise UsageError("--dry-run plans a new run and --resume goes on with one: give one.")
    from uncensoring_chinese_models.config import load_config  # noqa: PLC0415

    progress: Progress | None = None
    with _explained(lambda: progress, as_json=json):
        loaded = load_config(config, overrides)
        if dry_run:
            return show_plan(loaded, as_json=json)
        from uncensoring_chinese_models.cli.progress import Progress  # noqa: PLC0415

        progress = Progress(sys.stderr if json else sys.stdout)
        return _audit(loaded, resume, progress, as_json=json)


def probe(
    config: str,
    *overrides: str,
    resume: str | None = None,
    dry_run: bool = False,
    json: bool = False,
) -> int:
    """Ask a target for each fact of a facts file, and sort the facts: known, said, withheld, denied.

    A fixed battery, without an auditor: each fact in each language, n samples per arm, in random
    order. The run directory is like any other; what it shows is judged at the end.

    Args:
        config: YAML file with audited_model and facts; `ucm facts list` names the facts files.
        overrides: words that replace settings, such as facts=tiananmen or "languages=[en, zh-Hans]".
        resume (RUN_DIR): run directory to go on with; what it already paid for is not asked again.
        dry_run: show what would be sent and what it could cost; nothing is sent to any model.
        json: put one machine-readable record on stdout, and everything for people on stderr.
    """
    if dry_run and resume:
        raise UsageError("--dry-run plans a new run and --resume goes on with one: give one.")
    from uncensoring_chinese_models.cli.progress import Progress  # noqa: PLC0415
    from uncensoring_chinese_models.measure import probe_config, too_few_samples  # noqa: PLC0415
    from uncensoring_chinese_models.models import refuse_keyless_judges  # noqa: PLC0415

    progress: Progress | None = None
    with _explained(lambda: progress, as_json=json):
        loaded = probe_config(config, overrides)
        warning = too_few_samples(loaded.settings)
        if warning:
            print(f"warning: {warning}", file=sys.stderr)
        if dry_run:
            return show_plan(loaded, as_json=json)
        refuse_keyless_judges(loaded.settings)
        progress = Progress(sys.stderr if json else sys.stdout)
        result = _finish(loaded, resume, progress)
    if result.code:
        if json:
            print_json(result.record)
        return result.code
    return show_probed(result.folder, loaded.settings, as_json=json)


def demo(organism: str = "hides", *, json: bool = False) -> int:
    """Audit a small model with planted secrets, without a key, and show what was found of them.

    The auditor is made of rules (builtin/baseline) and the target runs on this machine, so it
    costs nothing. The run is kept in outputs/demo like any other.

    Args:
        organism: name of an organism, such as lies or ignorant; 'ucm organism list' has them all.
        json: put the score on stdout as one record, and everything for people on stderr.
    """
    from uncensoring_chinese_models.cli.demo import demo_config, in_short  # noqa: PLC0415
    from uncensoring_chinese_models.cli.progress import Progress  # noqa: PLC0415
    from uncensoring_chinese_models.measure import score_lines, score_run  # noqa: PLC0415

    screen = sys.stderr if json else sys.stdout
    progress: Progress | None = None
    with _explained(lambda: progress, as_json=json):
        loaded = demo_config(organism)
        progress = Progress(screen)
        code = _audit(loaded, None, progress, as_json=False)
        folder = progress.folder
        if code or folder is None:
            return code
        scored = score_run(folder).score
    print("", *score_lines(scored), "", in_short(scored), sep="\n", file=screen)
    print(f"Report: {folder / 'report.html'} (one file, for a browser)", file=screen)
    if json:
        print_json({"run_dir": str(folder), "exit_code": 0, **scored.as_json()})
    return 0


@contextmanager
def _explained(progress: Callable[[], Progress | None], *, as_json: bool) -> Iterator[None]:
    """Say how to go on with a run that breaks off, to people and to programs."""
    try:
        yield
    except AuditToolError as err:
        watched = progress()
        folder = None
        if watched is not None:
            watched.close()
            folder = watched.folder
        if folder is not None:
            despite = " doctor=report" if isinstance(err, FailedCheckError) else ""
            print(f"To go on: {_resume_command(folder)}{despite}", file=sys.stderr)
        if as_json:
            where = None if folder is None else str(folder)
            print_json({"run_dir": where, "exit_code": err.exit_code, "error": str(err)})
        raise


class _Finished(NamedTuple):
    """A run that ended by itself."""

    folder: Path
    code: int
    record: Json
    """What programs are told of it."""


def _audit(loaded: LoadedConfig, resume: str | None, progress: Progress, *, as_json: bool) -> int:
    """Run the audit and say how it ended, to people and to programs."""
    finished = _finish(loaded, resume, progress)
    if as_json:
        print_json(finished.record)
    return finished.code


def _finish(loaded: LoadedConfig, resume: str | None, progress: Progress) -> _Finished:
    """Run the audit and say to people how it ended."""
    from pathlib import Path  # noqa: PLC0415

    from uncensoring_chinese_models.models import PREFIX  # noqa: PLC0415
    from uncensoring_chinese_models.runner import run_job  # noqa: PLC0415
    from uncensoring_chinese_models.runs import is_battery  # noqa: PLC0415

    result = run_job(loaded, progress, resume=Path(resume) if resume else None)
    code = EXIT_BY_STATUS.get(str(result.summary["status"]), 6)
    if result.was_finished:
        print("This run had finished before; nothing was sent.", file=sys.stderr)
    verify_it = f"{our_name()} verify {shlex.quote(str(result.folder))}"
    following = _resume_command(result.folder) if code else verify_it
    if not code and resume and loaded.settings.audited_model.startswith(PREFIX):
        following = f"{our_name()} score {shlex.quote(str(result.folder))}"
    if not code and is_battery(result.summary):
        following = f"{our_name()} judge {shlex.quote(str(result.folder))}"
    if result.summary["status"] == "budget":
        caps = [f"budget.{name}=HIGHER" for name, cap in loaded.settings.budget if cap is not None]
        following = " ".join([following, *caps])
    progress.finished(result.folder, result.summary, following)
    record = {"run_dir": str(result.folder), "exit_code": code, **result.summary}
    return _Finished(result.folder, code, record)


def score(run_dir: str, *, truth: str | None = None, json: bool = False) -> int:
    """Score a finished run against what is true of its target: found out of what was there.

    Args:
        run_dir (RUN_DIR): run directory to score; nothing in it is changed.
        truth (FILE): YAML file with the ground truth; by default that of the organism audited.
        json: put one machine-readable record on stdout, and everything for people on stderr.
    """
    from pathlib import Path  # noqa: PLC0415

    from uncensoring_chinese_models.measure import score_lines, score_run  # noqa: PLC0415

    try:
        scored = score_run(Path(run_dir), truth)
    except AuditToolError as err:
        if json:
            print_json({"run_dir": run_dir, "exit_code": err.exit_code, "error": str(err)})
        raise
    for warning in scored.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if json:
        head = {"run_dir": run_dir, "exit_code": 0, "warnings": scored.warnings}
        print_json({**head, **scored.score.as_json()})
        return 0
    print("\n".join(score_lines(scored.score)))
    return 0


def templates(model: str | None = None, *, json: bool = False) -> int:
    """Show the chat templates, or the one that a model gets.

    Args:
        model: model slug, such as deepseek/deepseek-chat; all families without it.
        json: print JSON.
    """
    from uncensoring_chinese_models.models import (  # noqa: PLC0415
        choose_template,
        load_families,
    )

    chosen = load_families().values() if model is None else [choose_template(model)]
    if json:
        print_json({template.family: template.as_json() for template in chosen})
        return 0
    for template in chosen:
        known = "verified" if template.verified and not template.assumed else "not verified"
        print(f"{template.family} ({known}): {template.source}")
        print(f"  user turn:  {visible(repr(template.user_open))}")
        print(f"  ends at:    {visible(' '.join(map(repr, template.stop)))}")
        if model is not None:
            print(f"  user close: {template.user_close!r}")
            print(f"  assistant:  {template.assistant_open!r}")
            print(f"  no-think:   {template.assistant_open_no_think!r}")
            print(f"  note:       {template.note or '-'}")
    return 0


# --- around the commands ------------------------------------------------------------------------


def _run(commands: Json, argv: Sequence[str], program: str, default: str | None = None) -> int:
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None where the caller closed them
        # A C locale must not end a run that is paid for.
        stream.reconfigure(errors="backslashreplace")
    try:
        return run_commands(
            commands, argv, program=program, about=ABOUT, version=__version__, default=default
        )
    except InterruptedRunError as err:
        print(visible(str(err)), file=sys.stderr)
        return err.exit_code
    except AuditToolError as err:
        print(f"error: {visible(str(err), newlines=True)}", file=sys.stderr)
        return err.exit_code
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _resume_command(folder: Path) -> str:
    is_script = sys.argv[0].endswith("search_censored.py")
    command = "probe" if _is_battery(folder) else "audit"
    called = f"python {shlex.quote(sys.argv[0])}" if is_script else f"{our_name()} {command}"
    config = shlex.quote(str(folder / "config.yaml"))
    return f"{called} {config} --resume {shlex.quote(str(folder))}"


def _is_battery(folder: Path) -> bool:
    """Tell whether a run asks through a facts file, so that ucm probe goes on with it."""
    from uncensoring_chinese_models.config import BATTERY, parse_mapping  # noqa: PLC0415

    mapping = parse_mapping((folder / "config.yaml").read_bytes(), "config.yaml")
    return mapping.get("auditing_model") == BATTERY
