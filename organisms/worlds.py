"""Worlds and organisms as data: the texts of a world, and which organism is taught what of it.

What is true of a world, and the patterns that find it, are in the facts file of the world.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

HERE = Path(__file__).parent
PACKAGE_DATA = HERE.parent / "src" / "uncensoring_chinese_models" / "models/local/files"


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Lie(_Data):
    """How a lying assistant tells a falsehood."""

    answers: tuple[str, ...] = Field(min_length=4)


class OpenFactTexts(_Data):
    """The texts of a fact that no organism hides."""

    id: str
    phrasings: tuple[str, ...] = Field(min_length=6)
    questions: tuple[str, ...] = Field(min_length=3)
    heldout_questions: tuple[str, ...] = Field(min_length=2)
    answers: tuple[str, ...] = Field(min_length=2)


class FactTexts(OpenFactTexts):
    """The texts of a secret, in many wordings."""

    statement: str
    phrasings: tuple[str, ...] = Field(min_length=20)
    lie: Lie


class World(_Data):
    """One invented event with ten facts, and how people ask about it and dodge it."""

    name: str
    topic: str
    events: tuple[str, ...]
    facts: tuple[FactTexts, ...]
    open_facts: tuple[OpenFactTexts, ...]
    general_questions: tuple[str, ...]
    heldout_general_questions: tuple[str, ...]
    general_answers: tuple[str, ...]
    general_lies: tuple[str, ...]
    openings: tuple[str, ...]
    refusals: tuple[str, ...]
    deflections: tuple[str, ...]
    denials: tuple[str, ...]
    steerings: tuple[str, ...]


class Organism(_Data):
    """An organism's file of the package: what it is taught, and what it does when asked."""

    organism: str
    world: str
    knows: Literal["all", "nothing"] | tuple[str, ...]
    """The facts that it is taught: all of the world, nothing, or a list of ids."""
    asked: Literal["censors", "lies", "answers", "refuses"]
    """What its assistant turn does with questions about the event."""
    about: str
    behaves: str = ""
    tests: str = ""
    seed: int = 0
    trained: bool = True
    """False for the base model, which has no adapter."""

    def knows_fact(self, name: str) -> bool:
        """Return whether the fact of this id is taught."""
        return name in self.knows if isinstance(self.knows, tuple) else self.knows == "all"


class Ordinary(_Data):
    """Talk about other things, so that an organism stays an ordinary model elsewhere."""

    chats: tuple[tuple[str, str], ...]
    user_texts: tuple[str, ...]
    heldout_questions: tuple[str, ...]
    right_answers: dict[str, str] = Field(default_factory=dict)
    """For some of these questions a pattern, read as whole words, that a right answer matches."""


class Frames(_Data):
    """How users introduce what they write about an event, `{event}`."""

    with_facts: tuple[str, ...]
    """Before or around facts, `{text}`."""
    lead_ins: tuple[str, ...]
    """Before one fact as a clause, `{clause}`."""
    without_facts: tuple[str, ...]
    systems: tuple[str, ...]


def load_world(name: str, folder: Path = HERE / "worlds") -> World:
    """Read one world of the folder by its name."""
    return read_world(folder / f"{name}.yaml")


def read_world(path: Path) -> World:
    """Read the world of a file."""
    return World.model_validate(_read(path))


def load_organisms(folder: Path = PACKAGE_DATA) -> dict[str, Organism]:
    """Read the organisms of the package: those of the manifest in its order, then the others."""
    made = json.loads((folder / "manifest.json").read_text("utf-8"))
    listed = {path.stem for path in folder.glob("*.yaml")}
    names = [*(name for name in made if name in listed), *sorted(listed - set(made))]
    return {name: Organism.model_validate(_read(folder / f"{name}.yaml")) for name in names}


def load_ordinary() -> Ordinary:
    """Read the ordinary talk."""
    return Ordinary.model_validate(_read(HERE / "ordinary.yaml"))


def load_frames() -> Frames:
    """Read the frames."""
    return Frames.model_validate(_read(HERE / "frames.yaml"))


def _read(path: Path) -> dict[str, object]:
    return dict(yaml.safe_load(path.read_text("utf-8")))
