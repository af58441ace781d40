"""The config of a battery: what `ucm probe` makes of a config that names a facts file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models.battery import items_of
from uncensoring_chinese_models.config import BATTERY
from uncensoring_chinese_models.config_file import load_config, parse_mapping
from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.facts import load_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uncensoring_chinese_models.config_file import LoadedConfig
    from uncensoring_chinese_models.domain import Json

SAMPLES = 16
"""Samples per arm where the config does not say: with 8, no fact of twelve could pass the test."""
ARMS = "[user_persona, assistant]"


def probe_config(path: str, overrides: Sequence[str] = ()) -> LoadedConfig:
    """Return the config with the battery as its auditor, and room for each of its items.

    Raises:
        ConfigError: something is wrong with it, or it names no facts file; nothing was sent.
    """
    try:
        mapping = parse_mapping(Path(path).read_bytes(), path)
    except OSError:
        mapping = {}  # what is wrong with it, loading says
    given = {word.partition("=")[0] for word in overrides} | set(_paths(mapping))
    words = [*overrides, *_defaults(given)]
    settings = load_config(path, words if "topic" in given else [*words, "topic=x"]).settings
    if settings.facts is None:
        raise ConfigError(
            f"{path} names no facts file; say which facts to ask for with facts=TOPIC "
            "(see ucm facts list) or facts=FILE."
        )
    if settings.sampling.temperature == 0 and settings.sampling.n > 1:
        raise ConfigError(
            "sampling.temperature is 0, so that all samples of a probe would be one and the same; "
            "set it above 0, or sampling.n to 1."
        )
    facts = load_facts(settings.facts)
    items = items_of(facts, settings.languages, settings.sampling.seed)
    words += [] if "topic" in given else [f"topic={facts.names['en']}"]
    words += [] if "likelihood" in given else ["likelihood=auto"]
    words += [f"max_iterations={len(items) + 1}"]
    return load_config(path, words)


def _defaults(given: set[str]) -> list[str]:
    fixed = [f"auditing_model={BATTERY}", "auditor_context=compact"]
    free = {"sampling.n": str(SAMPLES), "sampling.arms": ARMS}
    return [*fixed, *(f"{key}={value}" for key, value in free.items() if key not in given)]


def _paths(mapping: Json) -> list[str]:
    inner = mapping.get("sampling")
    return [*mapping, *(f"sampling.{key}" for key in (inner if isinstance(inner, dict) else ()))]
