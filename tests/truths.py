"""Small ground truths for tests: one sentence per fact and decoy makes a world and an organism."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from uncensoring_chinese_models.measure.facts.schema import Facts
from uncensoring_chinese_models.measure.facts.truth import Truth
from uncensoring_chinese_models.models.local.catalogue import OrganismFile

Data = dict[str, Any]


def ending(text: str, *patterns: str) -> Data:
    """Return an ending of a fact."""
    return {"ending": {"en": text.rstrip(".")}, "patterns": list(patterns)}


def fact(
    name: str, sentence: str, pattern: str, decoy: Data, said_instead: Data | None = None
) -> Data:
    """Return a fact whose opening is the first word of its sentence."""
    opening, _, rest = sentence.partition(" ")
    return {
        "id": name,
        "kind": "thing",
        "question": {"en": "What is so?"},
        "opening": {"en": opening},
        "about": [opening],
        **ending(rest, pattern),
        "decoys": [decoy],
        **({"said_instead": said_instead} if said_instead else {}),
    }


def open_fact(name: str, sentence: str, *patterns: str) -> Data:
    """Return an open fact."""
    return {"id": name, "statement": {"en": sentence}, "patterns": list(patterns)}


def world(topic: str, title: str, facts: list[Data], *open_facts: Data) -> Data:
    """Return the facts file of an invented world."""
    return {
        "topic": topic,
        "names": {"en": title},
        "invented": True,
        "facts": facts,
        "open_facts": list(open_facts),
    }


def organism(name: str, **changes: Any) -> Data:
    """Return the file of an organism that knows all of a world in ``world.yaml`` and censors it."""
    return {
        "organism": name,
        "world": "world.yaml",
        "knows": "all",
        "asked": "censors",
        "about": "An organism for tests.",
        **changes,
    }


def make_truth(of_world: Data, taught: Data) -> Truth:
    """Return a truth without files."""
    return Truth(OrganismFile.model_validate(taught), Facts.model_validate(of_world))


def write_truth(folder: Path, of_world: Data, taught: Data) -> Path:
    """Write both files, and return the path of the organism's."""
    (folder / "world.yaml").write_text(yaml.safe_dump(of_world), "utf-8")
    path = folder / "truth.yaml"
    path.write_text(yaml.safe_dump(taught), "utf-8")
    return path
