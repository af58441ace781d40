"""The ground truth of an organism: what it was taught, what it was not, and how to tell them apart.

One YAML file per organism. A *value* is anything that a text can match: a fact, the decoy of one,
what a lying organism says instead of one, or an open fact. Each value is recognised by patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import Field, ValidationError, model_validator

from uncensoring_chinese_models.config import Line, Settings, describe, parse_mapping
from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.measure.facts.patterns import (
    Pattern,
    as_searched,
    compile_pattern,
    spans,
)

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Kind = Literal["fact", "decoy", "said_instead", "open"]

_IN_WORDS: dict[Kind, str] = {
    "fact": "the fact",
    "decoy": "the decoy of",
    "said_instead": "what is said instead of",
    "open": "the open fact",
}


class Key(NamedTuple):
    """Which value of a truth this is; a decoy bears the id of its fact."""

    kind: Kind
    id: str

    def __str__(self) -> str:
        """Name the value in words, e.g. ``the decoy of leader``."""
        return f"{_IN_WORDS[self.kind]} {self.id}"


class Hit(NamedTuple):
    """Where a text matches a value."""

    key: Key
    start: int
    end: int


Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]


class Falsehood(Settings):
    """Something untrue that a text may say in place of a fact."""

    statement: Line
    """It, in one sentence."""
    patterns: list[Pattern] = Field(min_length=1)
    """Regular expressions that tell it, read as whole words in any case."""


class OpenFact(Settings):
    """Something that the organism knows and tells everybody."""

    id: Id
    """Short name."""
    statement: Line
    """It, in one sentence."""
    patterns: list[Pattern] = Field(min_length=1)
    """Regular expressions that tell it, read as whole words in any case."""


class Fact(OpenFact):
    """Something that an audit should find out, if the organism knows it."""

    known: bool
    """False for a fact that this organism was never taught."""
    decoy: Falsehood
    """A plausible falsehood of the same kind that it was never taught."""
    said_instead: Falsehood | None = None
    """What a lying organism says when it is asked."""


class _Value(NamedTuple):
    key: Key
    statement: str
    patterns: tuple[re.Pattern[str], ...]

    def spans(self, text: str, start: int = 0) -> Iterator[tuple[int, int]]:
        return spans(self.patterns, as_searched(text), start)


class Truth(Settings):
    """What is true of one organism."""

    organism: Line
    """Name of the organism."""
    world: Line
    """Name of the invented world that it speaks of."""
    topic: Line
    """The topic that an audit of it is given."""
    about: Line
    """What it is for, in one sentence."""
    censors: bool
    """Whether it withholds anything when it is asked."""
    manner: str = ""
    """How it withholds, for readers; empty if it does not."""
    facts: list[Fact] = Field(min_length=1)
    """What an audit may find out about."""
    open_facts: list[OpenFact] = Field(default_factory=list)
    """What is no secret: claims of it count neither for nor against an audit."""

    @property
    def known(self) -> tuple[Fact, ...]:
        """The facts that the organism was taught."""
        return tuple(fact for fact in self.facts if fact.known)

    def find(self, text: str, before: str = "") -> tuple[Hit, ...]:
        """Return every place where the text matches a value, in the order of the values.

        White space of any kind reads as a space, and full-width signs as plain ones.

        Args:
            text: what somebody wrote.
            before: what it continues: a word that began there is not whole in the text.
        """
        whole = before[-1:] + text
        skipped = len(whole) - len(text)
        return tuple(
            Hit(value.key, start - skipped, end - skipped)
            for value in self._values
            for start, end in sorted(set(value.spans(whole, skipped)))
        )

    def keys(self, text: str) -> frozenset[Key]:
        """Return the values that the text matches."""
        return frozenset(hit.key for hit in self.find(text))

    @cached_property
    def _values(self) -> tuple[_Value, ...]:
        told: list[tuple[Key, Falsehood | OpenFact]] = []
        for fact in self.facts:
            told += [(Key("fact", fact.id), fact), (Key("decoy", fact.id), fact.decoy)]
            if fact.said_instead:
                told.append((Key("said_instead", fact.id), fact.said_instead))
        told += [(Key("open", each.id), each) for each in self.open_facts]
        return tuple(
            _Value(key, each.statement, tuple(map(compile_pattern, each.patterns)))
            for key, each in told
        )

    @model_validator(mode="after")
    def _tells_its_values_apart(self) -> Truth:
        ids = [each.id for each in (*self.facts, *self.open_facts)]
        for name in ids:
            if ids.count(name) > 1:
                raise ValueError(f"uses the id {name} twice; give each fact its own")
        for value in self._values:
            self._check(value)
        return self

    def _check(self, value: _Value) -> None:
        if not any(value.spans(value.statement)):
            raise ValueError(
                f"has no pattern of {value.key} that matches its own statement "
                f"'{value.statement}'; mend one of them"
            )
        if any(value.spans(self.topic)):
            raise ValueError(
                f"gives {value.key} away: one of its patterns matches the topic; narrow it"
            )
        for other in self._values:
            if value.key.kind == other.key.kind == "open":
                continue  # it makes no difference which of them was told
            if other is not value and any(value.spans(other.statement)):
                raise ValueError(
                    f"cannot tell {value.key} from {other.key}: a pattern of the former matches "
                    "the statement of the latter; narrow it"
                )


def load_truth(path: str | Path) -> Truth:
    """Read a ground truth file.

    Raises:
        ConfigError: the file is missing or wrong; the message names the file and the key.
    """
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"There is no ground truth file {path}.") from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a folder; give the path of a YAML file.") from None
    except OSError as err:
        raise ConfigError(f"The ground truth {path} cannot be read: {err.strerror}.") from err
    return _parse(raw, str(path))


def builtin_truth(name: str) -> Truth:
    """Return the ground truth of an organism that comes with the package.

    Raises:
        ConfigError: there is none of this name; the message names those that there are.
    """
    folder = truths_folder()
    known = sorted(
        each.name.removesuffix(".yaml")
        for each in (folder.iterdir() if folder.is_dir() else ())
        if each.name.endswith(".yaml")
    )
    if name not in known:
        raise ConfigError(
            f"No ground truth of an organism {name} comes with the package "
            f"(there are: {', '.join(known) or 'none'}); give one with --truth FILE."
        )
    file = f"{name}.yaml"
    return _parse(folder.joinpath(file).read_bytes(), file)


def truths_folder() -> Traversable:
    """Return the folder of the package that holds one ground truth per organism."""
    return files("uncensoring_chinese_models.models.organisms").joinpath("files")


def _parse(raw: bytes, path: str) -> Truth:
    try:
        return Truth.model_validate(parse_mapping(raw, path))
    except ValidationError as err:
        raise ConfigError(f"{path}: {describe(err, Truth, 'the truth')}") from err
