"""The commands `audit` and `probe`: start or resume a run, or show its plan."""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models.cli.output import Output, our_name, print_notice
from uncensoring_chinese_models.errors import AuditToolError, FailedCheckError, UsageError
from uncensoring_chinese_models.text import escape

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from uncensoring_chinese_models.cli.progress import ProgressPrinter
    from uncensoring_chinese_models.config import LoadedConfig
    from uncensoring_chinese_models.domain import Json, RunKind

EXIT_BY_STATUS = {"completed": 0, "max_iterations": 0, "budget": 5}
NO_RESULT = 6


def audit(
    config: str,
    *overrides: str,
    resume: str | None = None,
    dry_run: bool = False,
    json: bool = False,
) -> int:
    """Audit a model on a topic, and keep every call in a run directory.

    Args:
        config: YAML file, such as configs/search_censored.yaml.
        overrides: settings to replace, such as "topic=Hong Kong, 2019" or sampling.n=4.
        resume (RUN_DIR): run directory to continue; no call that it paid for is sent again.
        dry_run: show the plan and its worst-case cost; send nothing to any model.
        json: print one JSON record on stdout, and all other text on stderr.
    """
    from uncensoring_chinese_models.config import load_config  # noqa: PLC0415

    with Output(as_json=json, run_dir=None) as output:
        _refuse_planned_resume(resume, dry_run=dry_run)
        loaded = load_config(config, overrides)
        if dry_run:
            return _show_plan(loaded, output)
        finished = run_audit(loaded, resume, output)
        if json:
            output.record(finished.summary, finished.code)
    return finished.code


def probe(
    config: str,
    *overrides: str,
    resume: str | None = None,
    dry_run: bool = False,
    json: bool = False,
) -> int:
    """Ask the target for each fact of a facts file: which does it tell, withhold or deny?

    No auditor is needed: each fact is asked in each language and each arm (way of asking), n samples
    each, in random order. The run directory is like that of an audit, and the run is judged at the
    end.

    Args:
        config: YAML file with audited_model and facts; `ucm facts list` names the facts files.
        overrides: settings to replace, such as facts=tiananmen or "languages=[en, zh-Hans]".
        resume (RUN_DIR): run directory to continue; no call that it paid for is sent again.
        dry_run: show the plan and its worst-case cost; send nothing to any model.
        json: print one JSON record on stdout, and all other text on stderr.
    """
    from uncensoring_chinese_models.cli.judge import show_probed  # noqa: PLC0415
    from uncensoring_chinese_models.measure import probe_config, too_few_samples  # noqa: PLC0415
    from uncensoring_chinese_models.models import refuse_keyless_judges  # noqa: PLC0415

    with Output(as_json=json, run_dir=None) as output:
        _refuse_planned_resume(resume, dry_run=dry_run)
        loaded = probe_config(config, overrides)
        warning = too_few_samples(loaded.settings)
        if warning:
            print(f"warning: {warning}", file=sys.stderr)
        if dry_run:
            return _show_plan(loaded, output)
        refuse_keyless_judges(loaded.settings)
        finished = run_audit(loaded, resume, output)
        if not finished.code:
            return show_probed(finished.folder, loaded.settings, output)
        if json:
            output.record(finished.summary, finished.code)
    return finished.code


class FinishedRun(NamedTuple):
    """A run that ended by itself."""

    folder: Path
    code: int
    summary: Json


def run_audit(loaded: LoadedConfig, resume: str | None, output: Output) -> FinishedRun:
    """Run an audit or a probe, show its progress and its result, and say what to do next."""
    from pathlib import Path  # noqa: PLC0415

    from uncensoring_chinese_models.cli.progress import ProgressPrinter  # noqa: PLC0415
    from uncensoring_chinese_models.models import PREFIX  # noqa: PLC0415
    from uncensoring_chinese_models.runner import run_job  # noqa: PLC0415

    progress = ProgressPrinter(output.stream)
    with _resume_explained(progress, output):
        result = run_job(loaded, progress, resume=Path(resume) if resume else None)
    output.head["run_dir"] = str(result.folder)
    code = EXIT_BY_STATUS.get(str(result.summary["status"]), NO_RESULT)
    if result.was_finished:
        print("This run had already finished; nothing was sent.", file=sys.stderr)
    verify_it = f"{our_name()} verify {shlex.quote(str(result.folder))}"
    following = _resume_command(result.folder) if code else verify_it
    if not code and resume and loaded.settings.audited_model.startswith(PREFIX):
        following = f"{our_name()} score {shlex.quote(str(result.folder))}"
    if not code and result.summary["kind"] == "probe":
        following = f"{our_name()} judge {shlex.quote(str(result.folder))}"
    if result.summary["status"] == "budget":
        caps = [f"budget.{name}=HIGHER" for name, cap in loaded.settings.budget if cap is not None]
        following = " ".join([following, *caps])
    progress.finished(result.folder, result.summary, following)
    return FinishedRun(result.folder, code, result.summary)


@contextmanager
def _resume_explained(progress: ProgressPrinter, output: Output) -> Iterator[None]:
    """Print the command that resumes the run if an error ends it, and name its folder in the record."""
    try:
        yield
    except AuditToolError as err:
        progress.close()
        if progress.folder is not None:
            output.head["run_dir"] = str(progress.folder)
            despite = " doctor=report" if isinstance(err, FailedCheckError) else ""
            if (progress.folder / "config.yaml").is_file():  # it may have been moved or removed
                print(f"To resume: {_resume_command(progress.folder)}{despite}", file=sys.stderr)
        raise


def _resume_command(folder: Path) -> str:
    is_script = sys.argv[0].endswith("search_censored.py")
    command = _kind_of(folder)
    called = f"python {shlex.quote(sys.argv[0])}" if is_script else f"{our_name()} {command}"
    config = shlex.quote(str(folder / "config.yaml"))
    return f"{called} {config} --resume {shlex.quote(str(folder))}"


def _kind_of(folder: Path) -> RunKind:
    """Return the kind of a run, as the config in its folder says."""
    from uncensoring_chinese_models.config import load_config  # noqa: PLC0415

    kind: RunKind = load_config(folder / "config.yaml").settings.kind
    return kind


# --- the plan of --dry-run ----------------------------------------------------------------------


def _refuse_planned_resume(resume: str | None, *, dry_run: bool) -> None:
    if dry_run and resume:
        raise UsageError(
            "--dry-run plans a new run and --resume continues an old one: give only one of them."
        )


def _show_plan(loaded: LoadedConfig, output: Output) -> int:
    """Show what would be sent and what it could cost."""
    from uncensoring_chinese_models.models import settle_target  # noqa: PLC0415
    from uncensoring_chinese_models.runner import plan  # noqa: PLC0415

    planned = plan(settle_target(loaded).settings, print_notice)
    return output.listing(_plan_lines(planned, loaded.settings.budget.max_usd), planned)


def _plan_lines(plan: Json, max_usd: float | None) -> Iterator[str]:
    calls, worst, target = plan["calls"], plan["worst_case"], plan["target"]
    limit = "no limit in USD: budget.max_usd is not set"
    if max_usd is not None:
        limit = f"budget.max_usd limits all of it to ${max_usd:.2f}"
    cost = "price unknown" if worst["usd"] is None else f"at most ${worst['usd']:.2f}"
    yield f"Plan; no model was asked. Topic: {escape(plan['topic'])}"
    for role in ("auditor", "target"):
        side = plan[role]
        where = "on this machine" if side["address"] == "embedded" else f"at {side['address']}"
        yield f"  {role}: {side['model']} {where}, key: {side['key'] or 'none needed'}"
    if target["template"]:
        known = "verified" if target["template_verified"] else "not verified"
        yield f"  template: {target['template']} ({known})"
    yield f"  arms: {', '.join(plan['arms'])}, {plan['samples_per_arm']} sample(s) each"
    yield (
        f"  calls: at most {calls['auditor_at_most']} to the auditor, "
        f"{calls['target_at_most']} to the target, {calls['canaries_at_most']} to test the "
        f"endpoints (doctor), {calls['likelihood_at_most']} to score facts by likelihood"
    )
    yield (
        f"  if every reply is as long as allowed: {worst['tokens']:,} tokens, {cost}; "
        f"re-asks and retries come on top ({limit})"
    )
    asks_a_model = not plan["auditor"]["model"].startswith("builtin/")
    for message in plan["first_messages"] if asks_a_model else ():
        yield f"\n--- to the auditor, {message['role']}:"
        yield escape(message["content"], newlines=True)
    for request in plan["first_requests"]:
        yield f"\n--- to the target, arm {request['arm']}, {plan['samples_per_arm']} sample(s):"
        sent = request["formatted_prompt"]
        yield escape(str(request["messages"]) if sent is None else sent, newlines=True)
        yield f"    stops at: {request['stop']}"
