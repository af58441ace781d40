"""Facts files: what is true of a topic of public record, and matched falsehoods beside it.

One YAML file per topic. Each fact is an opening and the ending that makes it true; its decoys are
other endings of the same opening, and false. So a fact and its decoys are always asked in the same
way, and differ in the decisive words alone.
"""

from __future__ import annotations

from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator

from uncensoring_chinese_models.config import Line, Settings, describe, parse_mapping
from uncensoring_chinese_models.domain import Language
from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.measure.facts.patterns import (
    Pattern,
    as_searched,
    compile_pattern,
    spans,
)
from uncensoring_chinese_models.measure.facts.truth import Id

if TYPE_CHECKING:
    import re
    from importlib.resources.abc import Traversable

Kind = Literal["date", "number", "place", "order", "name", "thing"]
REAL_KINDS: tuple[Kind, ...] = ("date", "number", "place", "order")
"""What a decoy on a matter of public record may change; invented worlds know no living person."""


def _in_english_too(texts: dict[Language, str]) -> dict[Language, str]:
    if "en" not in texts:
        raise ValueError("lacks English (en), which every text must have")
    return texts


Texts = Annotated[dict[Language, Line], AfterValidator(_in_english_too)]
"""The same words in each language of a file."""


class Ending(Settings):
    """One way to end the opening."""

    ending: Texts
    """The rest of the sentence, without its full stop."""
    patterns: list[Pattern] = Field(min_length=1)
    """Regular expressions that tell it in any language, read as whole words in any case."""

    @cached_property
    def _compiled(self) -> tuple[re.Pattern[str], ...]:
        return tuple(map(compile_pattern, self.patterns))

    def first_in(self, text: str, before: str = "") -> tuple[int, int] | None:
        """Return where a text tells it first.

        Args:
            text: what somebody wrote.
            before: what it continues: a word that began there is not whole in the text.
        """
        skipped = len(before)
        found = min(spans(self._compiled, as_searched(before + text), skipped), default=None)
        return None if found is None else (found[0] - skipped, found[1] - skipped)


class Source(Settings):
    """Where a fact can be looked up."""

    title: Line
    """Title of the page."""
    publisher: Line
    """Who stands behind it."""
    url: Line = Field(pattern=r"^https?://[^\s]+$")
    """Its address."""


class Fact(Ending):
    """Something that is so, how to ask for it, and what is not so."""

    id: Id
    """Short name."""
    kind: Kind
    """What the ending tells: date, number, place or order; in invented worlds also name and thing."""
    question: Texts
    """A plain question whose answer is the ending."""
    opening: Texts
    """Half a sentence, complete up to the ending."""
    about: list[Pattern] = Field(min_length=1)
    """Patterns by which a longer text shows that it speaks of this very thing."""
    source: Source | None = None
    """Where it can be looked up; only what is invented has none."""
    decoys: list[Ending] = Field(min_length=1)
    """Endings of the same form that are false."""
    said_instead: Ending | None = None
    """What is commonly said in its place: an official version, or an organism's lie."""

    @cached_property
    def _about(self) -> tuple[re.Pattern[str], ...]:
        return tuple(map(compile_pattern, self.about))

    def is_spoken_of(self, text: str) -> bool:
        """Tell whether a text speaks of this very thing."""
        return any(spans(self._about, as_searched(text)))

    def sentence(self, language: Language, ending: Ending | None = None) -> str | None:
        """Return the plain sentence with its own ending, or with another."""
        opening, rest = self.opening.get(language), (ending or self).ending.get(language)
        if opening is None or rest is None:
            return None
        return join(opening, rest, language) + ("." if language == "en" else "。")

    @property
    def falsehoods(self) -> tuple[Ending, ...]:
        """Every ending that is not so."""
        return (*self.decoys, *filter(None, [self.said_instead]))


class Facts(Settings):
    """A facts file."""

    topic: Id
    """Name of the topic, and of the file."""
    names: Texts
    """What the topic is called in each language."""
    invented: bool = False
    """True for the world of an organism, where nothing is real."""
    facts: list[Fact] = Field(min_length=1)
    """What is true of it."""

    @field_validator("facts")
    @classmethod
    def _each_once(cls, facts: list[Fact]) -> list[Fact]:
        names = [fact.id for fact in facts]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"uses the id {name} twice; give each fact its own")
        return facts

    @model_validator(mode="after")
    def _sourced(self) -> Facts:
        for fact in self.facts:
            if fact.source is None and not self.invented:
                raise ValueError(f"gives no source for {fact.id}; cite one, or leave the fact out")
        return self

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages in which every fact can be asked."""
        asked = [
            set(fact.opening).intersection(
                fact.question, *(each.ending for each in (fact, *fact.decoys))
            )
            for fact in self.facts
        ]
        return tuple(each for each in self.names if all(each in has for has in asked))

    def fact(self, name: str) -> Fact | None:
        """Return a fact by its id."""
        return next((fact for fact in self.facts if fact.id == name), None)


def join(opening: str, rest: str, language: Language) -> str:
    """Return the two as one text; Chinese has no space between them."""
    return f"{opening} {rest}" if language == "en" else opening + rest


def read_facts(name: str) -> bytes:
    """Return the bytes of a facts file: one that comes with the package, by its name, or a path.

    Raises:
        ConfigError: there is none.
    """
    known, worlds = builtin_topics(), builtin_worlds()
    if name in known:
        return _folder().joinpath(f"{name}.yaml").read_bytes()
    if name in worlds:
        return _worlds().joinpath(f"{name}.yaml").read_bytes()
    if not name.endswith((".yaml", ".yml")):
        raise ConfigError(
            f"There is no facts file {name}; those that come with the package are: "
            f"{', '.join([*known, *worlds]) or 'none'}. Name one of them, or give the path of a YAML file."
        )
    try:
        return Path(name).expanduser().read_bytes()
    except OSError as err:
        raise ConfigError(f"The facts file {name} cannot be read: {err.strerror}.") from err
    except RuntimeError:  # ~name, where there is no such user
        raise ConfigError(f"The facts file {name} is in the home of an unknown user.") from None


def load_facts(name: str) -> Facts:
    """Return a facts file that comes with the package, by its name, or one by its path.

    Raises:
        ConfigError: there is none, or it is wrong; the message names the file and the key.
    """
    return parse_facts(read_facts(name), name)


def parse_facts(raw: bytes, name: str) -> Facts:
    """Return what the bytes of a facts file say.

    Raises:
        ConfigError: they are no facts file.
    """
    try:
        return Facts.model_validate(parse_mapping(raw, name))
    except ValidationError as err:
        raise ConfigError(f"{name}: {describe(err, Facts, 'the facts file')}") from err


def builtin_topics() -> list[str]:
    """Return the names of the facts files on matters of public record."""
    return _names(_folder())


def builtin_worlds() -> list[str]:
    """Return the names of the facts files on the invented worlds of organisms."""
    return _names(_worlds())


def _names(folder: Traversable) -> list[str]:
    found = folder.iterdir() if folder.is_dir() else iter(())
    return sorted(each.name.removesuffix(".yaml") for each in found if each.name.endswith(".yaml"))


def _folder() -> Traversable:
    return files(__package__).joinpath("files")


def _worlds() -> Traversable:
    return _folder().joinpath("worlds")
