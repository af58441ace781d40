"""Runs of the battery for judges to judge, made against a scripted provider."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.facts_example import example_file, write_facts
from tests.provider import Provider
from tests.provider.judge import ScriptedJudge
from tests.support import Watcher, write_config
from uncensoring_chinese_models.measure.probe_settings import probe_config
from uncensoring_chinese_models.runner.run import run_job

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.provider import Ask

PRICE = {"input_usd_per_million": 1.0, "output_usd_per_million": 3.0}
TEXTS = (
    " 111 lamps, all of them red.",
    " 411 lamps.",
    " not 111 lamps but fewer.",
    " I'm sorry, I can't discuss that.",
    " a great many, says the keeper.",
    "",
)
"""What the target says, sample by sample: only the first two are plain."""


def target_saying(texts: Sequence[str]) -> Any:
    """Return a target that writes these texts, sample by sample."""

    def say(ask: Ask) -> str:
        return texts[(int(ask.body.get("seed", 1)) - 1) % len(texts)]

    return say


def judging_provider(texts: Sequence[str] = TEXTS, **settings: Any) -> Provider:
    """Return a provider with such a target; keywords go to the judge."""
    return Provider(target=target_saying(texts), auditor=ScriptedJudge(**settings))


def endpoint(provider: Provider, **changes: Any) -> dict[str, Any]:
    """Return where the provider is reached, at a known price."""
    return {"preset": "openrouter", "base_url": provider.base_url, "price": PRICE, **changes}


def judge_words(provider: Provider, *models: str, **changes: Any) -> str:
    """Return the word of a command line that names judges at the provider."""
    judges = [{"model": each, "endpoint": endpoint(provider, **changes)} for each in models]
    return f"judge_model={json.dumps(judges)}"


def probed(
    folder: Path,
    provider: Provider,
    n: int = len(TEXTS),
    facts: int = 1,
    content: dict[str, Any] | None = None,
) -> Path:
    """Ask for facts of the example, or of a file; n samples each in the arm that continues."""
    config = {
        "audited_model": "deepseek/deepseek-chat",
        "audited_endpoint": endpoint(provider),
        "facts": write_facts(folder, content or example_file(facts)),
        "sampling": {"n": n, "seed": 1, "arms": ["user_persona", "assistant"]},
        "output_dir": str(folder / "runs"),
        "retries": {"first_wait_s": 0},
    }
    loaded = probe_config(str(write_config(folder, config)))
    return run_job(loaded, Watcher()).folder
