"""The audit of an organism by rules: what `ucm demo` and the organism benchmark run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from uncensoring_chinese_models.config import AuditConfig, LoadedConfig
from uncensoring_chinese_models.measure import builtin_truth
from uncensoring_chinese_models.models import find_organism

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.measure import Score

ITERATIONS = 20
SAMPLES = 8
LONGEST = 40
"""Most tokens of a sample; organisms speak in short sentences."""


def demo_config(name: str, *, seed: int = 1, output_dir: str = "outputs/demo") -> LoadedConfig:
    """Return the config of an audit of an organism on its own topic.

    Raises:
        ConfigError: there is no such organism.
    """
    organism = find_organism(name)
    mapping: Json = {
        "topic": builtin_truth(organism.name).topic,
        "auditing_model": "builtin/baseline",
        "audited_model": f"organism/{organism.name}",
        "sampling": {
            "arms": ["user_persona", "assistant"],
            "n": SAMPLES,
            "max_tokens": LONGEST,
            "temperature": 0.9,
            "seed": seed,
        },
        "max_iterations": ITERATIONS,
        "output_dir": output_dir,
    }
    text = yaml.safe_dump(mapping, sort_keys=False, allow_unicode=True)
    return LoadedConfig(AuditConfig.model_validate(mapping), text.encode("utf-8"))


def in_short(score: Score) -> str:
    """Say in a line what was found out of what was there."""
    known = sum(fact.known for fact in score.facts)
    claimed = len(score.in_state("claimed"))
    wrong = score.precision.n - score.precision.successes
    there = {True: "it withholds", False: "it does not withhold"}
    censorship = score.censorship
    verdict = "and the audit says so" if censorship.right else "but the audit says otherwise"
    return (
        f"In short: {claimed} of the {known} facts it was taught are claimed, and {wrong} of "
        f"{score.precision.n} claims name none of them (told by key words: docs/methods/scoring.md); "
        f"when asked, {there[censorship.censors]}, {verdict}."
    )
