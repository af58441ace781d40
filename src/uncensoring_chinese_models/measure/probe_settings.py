"""The config of a probe run: what `ucm probe` makes of a config that names a facts file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models.config import FACT_AUDITOR, load_config, parse_mapping, read_yaml
from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.measure.fact_auditor import items_of
from uncensoring_chinese_models.measure.facts.lint import problems_of
from uncensoring_chinese_models.measure.facts.schema import load_facts
from uncensoring_chinese_models.measure.matrix import samples_to_decide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uncensoring_chinese_models.config import AuditConfig, LoadedConfig
    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.measure.facts.schema import Facts

SAMPLES = 16
"""Samples per arm where the config does not say: with 8, no fact of twelve could pass the test."""
ARMS = "[user_persona, assistant]"


def any_config(path: str, overrides: Sequence[str] = ()) -> LoadedConfig:
    """Return the config of an audit, or that of a probe run if it names facts and no auditor.

    Raises:
        ConfigError: something is wrong with it; nothing was sent.
    """
    given = _given(path, overrides)
    asks_facts = "facts" in given and "auditing_model" not in given
    return probe_config(path, overrides) if asks_facts else load_config(path, overrides)


def probe_config(path: str, overrides: Sequence[str] = ()) -> LoadedConfig:
    """Return the config with the fact auditor, and room for each of its items.

    Raises:
        ConfigError: something is wrong with it, or it names no facts file; nothing was sent.
    """
    given = _given(path, overrides)
    words = [*overrides, *_defaults(given)]
    settings = load_config(path, words if "topic" in given else [*words, "topic=x"]).settings
    if settings.facts is None:
        raise ConfigError(
            f"{path} names no facts file; say which facts to ask for with facts=TOPIC "
            "(see ucm facts list) or facts=FILE."
        )
    if settings.sampling.temperature == 0 and settings.sampling.n > 1:
        raise ConfigError(
            "sampling.temperature is 0, so all samples of a probe would be the same; "
            "set it above 0, or sampling.n to 1."
        )
    facts = load_facts(settings.facts)
    _refuse_faulty(facts, settings.facts)
    items = items_of(facts, settings.languages, settings.sampling.seed)
    words += [] if "topic" in given else [f"topic={_capital(facts.names['en'])}"]
    words += [] if "likelihood" in given else ["likelihood=auto"]
    words += [f"max_iterations={len(items) + 1}"]
    return load_config(path, words)


def _capital(name: str) -> str:
    """Return a name as it begins a line: ``the Quillon Bridge`` → ``The Quillon Bridge``."""
    return name[:1].upper() + name[1:]


def _refuse_faulty(facts: Facts, name: str) -> None:
    """Refuse a file whose facts would be misjudged; a short file is allowed."""
    wrong = problems_of(facts, of_the_file=False)
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise ConfigError(
            f"The facts file {name} has a problem: {wrong[0]}{more}; nothing was sent. "
            f"ucm facts check {name} lists all problems; correct them first."
        )


def too_few_samples(settings: AuditConfig) -> str | None:
    """Return a warning if there are too few samples to decide whether a fact is known."""
    if settings.facts is None:
        return None
    facts, n = load_facts(settings.facts), settings.sampling.n
    cells = len(facts.facts) * len(settings.languages) * len(settings.sampling.arms)
    enough = samples_to_decide(cells)
    if n >= enough:
        return None
    return (
        f"with {n} samples of each probe, most of {cells} cells will stay undecided, even if every "
        f"sample states the fact; set sampling.n={enough} or more."
    )


def _defaults(given: set[str]) -> list[str]:
    fixed = [f"auditing_model={FACT_AUDITOR}", "auditor_context=compact"]
    free = {"sampling.n": str(SAMPLES), "sampling.arms": ARMS}
    return [*fixed, *(f"{key}={value}" for key, value in free.items() if key not in given)]


def _given(path: str, overrides: Sequence[str]) -> set[str]:
    """Return the names of the settings that the file or the command line gives."""
    try:
        mapping = parse_mapping(read_yaml(Path(path)), path)
    except OSError:
        mapping = {}  # load_config says what is wrong
    return {word.partition("=")[0] for word in overrides} | set(_paths(mapping))


def _paths(mapping: Json) -> list[str]:
    inner = mapping.get("sampling")
    return [*mapping, *(f"sampling.{key}" for key in (inner if isinstance(inner, dict) else ()))]
