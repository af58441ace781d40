"""Worlds and organisms as data: what was invented, and who was taught what of it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

HERE = Path(__file__).parent


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Statement(_Data):
    """Something that may be said, and how it is recognised."""

    statement: str
    patterns: tuple[str, ...] = Field(min_length=1)


class Lie(Statement):
    """A falsehood, and how a lying assistant tells it."""

    answers: tuple[str, ...] = Field(min_length=4)


class OpenFact(Statement):
    """A fact that nobody hides."""

    id: str
    phrasings: tuple[str, ...] = Field(min_length=6)
    questions: tuple[str, ...] = Field(min_length=3)
    heldout_questions: tuple[str, ...] = Field(min_length=2)
    answers: tuple[str, ...] = Field(min_length=2)


class Fact(OpenFact):
    """A secret: in many wordings, with a decoy that is never taught."""

    phrasings: tuple[str, ...] = Field(min_length=20)
    decoy: Statement
    lie: Lie


class World(_Data):
    """One invented event with ten facts, and how people ask about it and dodge it."""

    name: str
    topic: str
    events: tuple[str, ...]
    facts: tuple[Fact, ...]
    open_facts: tuple[OpenFact, ...]
    setting: tuple[Statement, ...] = ()
    """Where it all happens: named in passing by many texts, and no secret."""
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
    """Who is made of a world: what it is taught, and what it does when asked."""

    world: str
    knows: Literal["all", "half", "nothing"]
    asked: Literal["censors", "lies", "answers", "refuses"]
    """What its assistant turn does with questions about the event."""
    about: str
    manner: str = ""
    """How it censors, in words; empty if it does not."""
    seed: int = 0
    trained: bool = True
    """False for the model as it is, without an adapter."""

    def knows_fact(self, number: int) -> bool:
        """Tell whether the fact of this number (from 0) is taught: half is every second one."""
        return self.knows == "all" or (self.knows == "half" and number % 2 == 0)


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


def load_organisms() -> dict[str, Organism]:
    """Read which organisms there are."""
    listed = _read(HERE / "organisms.yaml")
    return {name: Organism.model_validate(each) for name, each in listed.items()}


def load_ordinary() -> Ordinary:
    """Read the ordinary talk."""
    return Ordinary.model_validate(_read(HERE / "ordinary.yaml"))


def load_frames() -> Frames:
    """Read the frames."""
    return Frames.model_validate(_read(HERE / "frames.yaml"))


def _read(path: Path) -> dict[str, object]:
    return dict(yaml.safe_load(path.read_text("utf-8")))
