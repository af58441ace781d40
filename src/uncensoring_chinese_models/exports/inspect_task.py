"""An audit as a task of Inspect: `inspect eval uncensoring_chinese_models/audit -T config=FILE`.

A thin adapter: it runs `ucm audit` in a process with its own budget, journal and run directory. The
run directory is the result; Inspect gets the auditor's conversation and the scores. No call is lost
or paid for twice: if Inspect stops the task, the process finishes the calls in flight, and a retry
resumes the unfinished run. Only Inspect imports this module; it needs the extra `inspect`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.log import transcript
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import solver

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.config import FOR_DOWNLOADS, child_environment, load_config
from uncensoring_chinese_models.errors import AuditToolError, ConfigError
from uncensoring_chinese_models.exports.inspect_sample import conversation_of, scores_of
from uncensoring_chinese_models.exports.loading import load_run
from uncensoring_chinese_models.runs import is_locked
from uncensoring_chinese_models.text import escape

if TYPE_CHECKING:
    from inspect_ai.scorer import Scorer, Target
    from inspect_ai.solver import Generate, Solver, TaskState

    from uncensoring_chinese_models.domain import Json

ENDED = (0, 5)
"""Exit codes of a run with a result; 5 means that the budget was used up."""
RUN_DIR = "run_dir"
MAX_SHOWN_CHARACTERS = 2000


@task
def audit(config: str = "") -> Task:
    """Audit one model on one topic, as a config file says.

    Args:
        config: YAML file, such as configs/search_censored.yaml; it names both models.
    """
    if not config:
        raise ConfigError("Which audit? Give a config file with -T config=FILE.")
    path = Path(config).resolve()
    settings = load_config(path).settings
    roles = {"auditor": settings.auditing_model, "target": settings.audited_model}
    return Task(
        dataset=[Sample(id="audit", input=f"Topic: {settings.topic}", metadata=dict(roles))],
        solver=our_command(str(path), str(Path.cwd())),
        scorer=findings(),
        model="none/none",
        name="audit",
        metadata=dict(roles),
    )


@solver
def our_command(config: str, folder: str) -> Solver:
    """Run `ucm audit`, or resume an unfinished run of this config."""
    taken: set[Path] = set()

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        words = [sys.executable, "-m", "uncensoring_chinese_models", "audit", config, "--json"]
        left = unfinished_run(Path(config), Path(folder), taken)
        if left is not None:
            taken.add(left)
            words += ["--resume", str(left)]
        record = await _ended(words, folder, _environment(Path(config)))
        run = load_run(Path(folder) / record[RUN_DIR])
        state.messages, state.output = conversation_of(run)
        state.metadata[RUN_DIR] = record[RUN_DIR]
        transcript().info(
            {"run_dir": record[RUN_DIR], "status": run.status, "spend": record["spend"]["total"]},
            source="uncensoring_chinese_models",
        )
        state.completed = True
        return state

    return solve


@scorer(metrics={"*": [mean()]})
def findings() -> Scorer:
    """Return the same scores as the log of the run."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        found = scores_of(load_run(state.metadata[RUN_DIR]))
        told = "; ".join(each.explanation or "" for each in found.values())
        where = f"; the run is in {state.metadata[RUN_DIR]}"
        return Score(
            value={name: each.value for name, each in found.items()}, explanation=told + where
        )

    return score


def unfinished_run(config: Path, folder: Path, taken: set[Path]) -> Path | None:
    """Return an unfinished run of exactly this config; None if there is none."""
    content = config.read_bytes()
    output_dir = folder / load_config(config).settings.output_dir
    for journal in sorted(output_dir.glob("[!.]*/journal.jsonl")):
        run = journal.parent
        given = run / "config.yaml"
        is_same = given.is_file() and given.read_bytes() == content
        has_ended = (run / "summary.json").exists()
        if is_same and run not in taken and not has_ended and not is_locked(journal):
            return run
    return None


def _environment(config: Path) -> dict[str, str]:
    """Return the environment of the audit: with the keys that its config names, and no others."""
    settings = load_config(config).settings
    endpoints = (settings.auditing_endpoint, settings.audited_endpoint)
    keys = [each.key_variable for each in endpoints if each.key_variable]
    return child_environment("PYTHONPATH", *keys, also=FOR_DOWNLOADS)


async def _ended(words: list[str], folder: str, environment: dict[str, str]) -> Json:
    """Run a command and return the record that it prints.

    Raises:
        AuditToolError: the command ended without a result.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        # A session of its own: Ctrl-C reaches it once, through us, and it finishes calls in flight.
        process = subprocess.Popen(  # noqa: ASYNC220, S603 -- our own command
            words,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=said,
            start_new_session=True,
        )
        try:
            await anyio.to_thread.run_sync(process.wait, abandon_on_cancel=True)
        except BaseException:
            process.terminate()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(process.wait)
            raise
        record = _record(out)
        if process.returncode in ENDED:
            return record
        said.seek(0)
        heard = escape(
            said.read().decode("utf-8", "replace")[-MAX_SHOWN_CHARACTERS:], newlines=True
        )
        raise AuditToolError(
            f"The audit ended without a result (exit code {process.returncode}). Everything that was "
            f"paid for is kept; the same command or inspect eval-retry resumes the run.\n{heard}"
        )


def _record(out: Any) -> Json:
    out.seek(0)
    lines = out.read().splitlines()
    return dict(strict_json.loads(lines[-1])) if lines else {}
