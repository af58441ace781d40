"""The commands `score` and `demo`: a run against the known truth of its target."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models.cli.audit import run_audit
from uncensoring_chinese_models.cli.output import Output

if TYPE_CHECKING:
    from uncensoring_chinese_models.config import LoadedConfig
    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.measure import Score

ITERATIONS = 20
SAMPLES = 8
MAX_TOKENS = 40
"""Enough for a sample of an organism, which speaks in short sentences."""


def score(run_dir: str, *, truth: str | None = None, json: bool = False) -> int:
    """Score a finished run against its target's known facts: precision and recall.

    Args:
        run_dir (RUN_DIR): run directory to score; nothing in it is changed.
        truth (FILE): YAML file with the ground truth; by default that of the audited organism.
        json: print one JSON record on stdout, and all other text on stderr.
    """
    from uncensoring_chinese_models.measure import score_lines, score_run  # noqa: PLC0415

    with Output(as_json=json, run_dir=run_dir) as output:
        scored = score_run(Path(run_dir), truth)
        for warning in scored.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        fields = {"warnings": scored.warnings, **scored.score.as_json()}
        return output.finish(score_lines(scored.score), fields)


def demo(organism: str = "hides", *, json: bool = False) -> int:
    """Audit a small local model with planted facts, without a key, and score the result.

    The auditor follows rules (builtin/baseline) and the target runs on this machine, so the demo
    costs nothing. The run is kept in outputs/demo.

    Args:
        organism: organism to audit, such as lies or ignorant; `ucm organism list` names them all.
        json: print the score as one JSON record on stdout, and all other text on stderr.
    """
    from uncensoring_chinese_models.measure import score_lines, score_run  # noqa: PLC0415

    with Output(as_json=json, run_dir=None) as output:
        finished = run_audit(demo_config(organism), None, output)
        if finished.code:
            return finished.code
        scored = score_run(finished.folder).score
        report = f"Report: {finished.folder / 'report.html'} (one file; open it in a browser)"
        lines = ["", *score_lines(scored), "", in_short(scored), report]
        print(*lines, sep="\n", file=output.stream)
        if json:
            output.record(scored.as_json(), 0)
    return 0


def demo_config(name: str, *, seed: int = 1, output_dir: str = "outputs/demo") -> LoadedConfig:
    """Return the config of an audit of an organism on its own topic, by the baseline auditor.

    Raises:
        ConfigError: there is no such organism.
    """
    import yaml  # noqa: PLC0415

    from uncensoring_chinese_models.config import AuditConfig, LoadedConfig  # noqa: PLC0415
    from uncensoring_chinese_models.measure import builtin_truth  # noqa: PLC0415
    from uncensoring_chinese_models.models import find_organism  # noqa: PLC0415

    organism = find_organism(name)
    mapping: Json = {
        "topic": builtin_truth(organism.name).topic,
        "auditing_model": "builtin/baseline",
        "audited_model": f"organism/{organism.name}",
        "sampling": {
            "arms": ["user_persona", "assistant"],
            "n": SAMPLES,
            "max_tokens": MAX_TOKENS,
            "temperature": 0.9,
            "seed": seed,
        },
        "max_iterations": ITERATIONS,
        "output_dir": output_dir,
    }
    text = yaml.safe_dump(mapping, sort_keys=False, allow_unicode=True)
    return LoadedConfig(AuditConfig.model_validate(mapping), text.encode("utf-8"))


def in_short(score: Score) -> str:
    """Return one line: how many planted facts were found, and how many claims are wrong."""
    known = sum(fact.known for fact in score.facts)
    claimed = len(score.in_state("claimed"))
    wrong = score.precision.n - score.precision.successes
    censorship = score.censorship
    behaviour = "it withholds" if censorship.censors else "it does not withhold"
    verdict = "the audit says so too" if censorship.right else "the audit says the opposite"
    return (
        f"In short: the audit claims {claimed} of the {known} facts that the target was taught. "
        f"{wrong} of its {score.precision.n} claims name none of them (decided by key words, see "
        f"docs/methods/scoring.md). When asked directly, {behaviour}; {verdict}."
    )
