"""Facts files: what is true of a topic, and matched falsehoods (decoys) beside it.

One YAML file per topic: a matter of public record, or the invented world of organisms. A fact is an
opening and the ending that makes it true; its decoys are other endings of the same opening, and
false. So a fact and its decoys are always asked in the same way, and differ in the decisive words
alone.
"""

from __future__ import annotations

from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from uncensoring_chinese_models.config import (
    Line,
    Settings,
    describe,
    parse_mapping,
    path_from,
    read_yaml,
)
from uncensoring_chinese_models.domain import LANGUAGES, Language
from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.measure.facts.patterns import (
    TESTED,
    Pattern,
    Searcher,
    SearchTime,
    as_searched,
)
from uncensoring_chinese_models.measure.facts.recognising import (
    NAMED_PATTERNS,
    PartialDate,
    Recognisable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]
Url = Annotated[Line, Field(pattern=r"^https?://[^\s]+$")]
FactKind = Literal["date", "number", "place", "order", "event", "name", "thing"]
INVENTED_KINDS: tuple[FactKind, ...] = ("thing",)
"""Kinds of facts that only invented worlds have."""
Mark = Literal["core", "detail", "control"]
"""What stating a fact shows: `core` is what censors hide, `control` is what state media print too."""


MAX_FACTS = 100
"""Max facts of a file, rungs included; those of the package have up to 32."""
MAX_RUNGS = 4
"""Max coarser questions below a fact."""
MAX_PATTERNS = 1000
"""Max patterns of a file; those of the package have up to 488."""
_MAX_PARSED = 64
_parsed: dict[bytes, Facts] = {}
"""Facts files by their bytes: one command reads the same file several times, under several names."""


def _in_english_too(texts: dict[Language, str]) -> dict[Language, str]:
    if "en" not in texts:
        raise ValueError("lacks English (en), which every text must have")
    return texts


Texts = Annotated[dict[Language, Line], AfterValidator(_in_english_too)]
"""The same words in each language of a file."""


class Ending(Recognisable):
    """One way to end the opening of a fact."""

    ending: Texts
    """The rest of the sentence, without its full stop."""


class OpenFact(Recognisable):
    """Something in an invented world that organisms do not hide."""

    id: Id
    """Short name."""
    statement: Texts
    """The fact in one sentence."""


class FactSource(Settings):
    """Where a fact can be looked up."""

    title: Line
    """Title of the page."""
    publisher: Line
    """Who published it."""
    url: Url
    """Its address."""
    date: PartialDate | None = None
    """When it was published, if the page says so."""
    archive: Url | None = None
    """The address of a stored copy, if one was found."""


class Rung(Ending):
    """A true ending, how to ask for it, and its decoys: a fact, or a coarser question below one."""

    kind: FactKind
    """What the ending tells: date, number, place, order, event or name; in invented worlds also thing."""
    question: Texts
    """A plain question whose answer is the ending."""
    opening: Texts
    """Half a sentence, complete up to the ending."""
    decoys: list[Ending] = Field(min_length=1)
    """Endings of the same form that are false."""
    said_instead: Ending | None = None
    """What is commonly said in its place: an official version, or the lie of an organism."""
    about: list[Pattern] = Field(default_factory=list)
    """Patterns that show that a longer text is about it; a coarser question adds those of its fact."""


class Fact(Rung):
    """Something true that is asked for."""

    id: Id
    """Short name."""
    mark: Mark | None = None
    """What stating it shows; only invented facts have none."""
    about: list[Pattern] = Field(min_length=1)
    """Patterns that show that a longer text is about this fact."""
    sources: list[FactSource] = Field(default_factory=list)
    """Where it can be looked up; only invented facts have none."""
    scored_decoy: Ending | None = None
    """The decoy that `ucm score` looks for, where it is not the first of `decoys`; it is never asked."""
    coarser: list[Rung] = Field(default_factory=list, max_length=MAX_RUNGS)
    """Easier questions about the same matter, the easiest first; each is asked like a fact."""

    _rung_of: Id | None = PrivateAttr(None)

    @model_validator(mode="before")
    @classmethod
    def _in_a_list(cls, given: object) -> object:
        """Take the one `source` of older files, which the journals of runs hold, for a list."""
        if isinstance(given, dict) and "source" in given and "sources" not in given:
            return {key: each for key, each in given.items() if key != "source"} | {
                "sources": [given["source"]]
            }
        return given

    @property
    def rung_of(self) -> Id | None:
        """The fact below which it stands; None for a fact of its own."""
        return self._rung_of

    def rungs(self) -> Iterator[Fact]:
        """Yield the coarser questions as facts of their own, with its mark, patterns and sources."""
        for number, rung in enumerate(self.coarser, 1):
            own = {name: getattr(rung, name) for name in Rung.model_fields}
            own["about"] = [*rung.about, *self.about]
            fact = Fact.model_construct(
                id=f"{self.id}-{number}", mark=self.mark, sources=self.sources, **own
            )
            yield fact.below(self.id)

    def below(self, fact: Id) -> Fact:
        """Make it a coarser question below a fact."""
        self._rung_of = fact
        return self

    @cached_property
    def _about(self) -> Searcher:
        return Searcher(self.about, self._of, self._search_time)

    @property
    def endings(self) -> tuple[Ending, ...]:
        """Every ending of the fact, true and false."""
        others = filter(None, [self.scored_decoy, self.said_instead])
        return (self, *self.decoys, *others)

    def is_spoken_of(self, text: str) -> bool:
        """Return whether a text is about this fact.

        Raises:
            SlowPatternError: the patterns of the file take too long.
        """
        return self._about.any_in(as_searched(text))

    def sentence(self, language: Language, ending: Ending | None = None) -> str | None:
        """Return the opening with the true ending, or with another one, as a sentence."""
        opening, rest = self.opening.get(language), (ending or self).ending.get(language)
        if opening is None or rest is None:
            return None
        return join(opening, rest, language) + LANGUAGES[language].full_stop

    @property
    def falsehoods(self) -> tuple[Ending, ...]:
        """Every false ending that a probe may meet."""
        return (*self.decoys, *filter(None, [self.said_instead]))


class Facts(Settings):
    """A facts file."""

    topic: Id
    """Name of the topic, and of the file."""
    names: Texts
    """What the topic is called in each language."""
    invented: bool = False
    """True for the world of organisms, where nothing is real."""
    facts: list[Fact] = Field(min_length=1, max_length=MAX_FACTS)
    """What is true of the topic; a coarser question stands before its fact."""
    open_facts: list[OpenFact] = Field(default_factory=list)
    """What organisms do not hide: claims of these count neither for nor against an audit."""

    @field_validator("facts")
    @classmethod
    def _with_rungs(cls, facts: list[Fact]) -> list[Fact]:
        found = [each for fact in facts for each in (*fact.rungs(), fact)]
        if len(found) > MAX_FACTS:
            raise ValueError(f"has more than {MAX_FACTS} facts and coarser questions; split it")
        return found

    @field_validator("facts", "open_facts")
    @classmethod
    def _each_once(cls, facts: list[Fact] | list[OpenFact]) -> list[Fact] | list[OpenFact]:
        _refuse_twice([fact.id for fact in facts])
        return facts

    @model_validator(mode="after")
    def _sourced(self) -> Facts:
        _refuse_twice([*(fact.id for fact in self.facts), *(each.id for each in self.open_facts)])
        for fact in self.facts:
            if not fact.sources and not self.invented:
                raise ValueError(f"gives no source for {fact.id}; add one, or leave the fact out")
        return self

    @model_validator(mode="after")
    def _one_search_time(self) -> Facts:
        search_time = SearchTime(self.topic)
        for fact in self.facts:
            for ending in fact.endings:
                ending.share(search_time, f"the fact {fact.id}", fact.for_others)
        for each in self.open_facts:
            each.share(search_time, f"the open fact {each.id}")
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

    @property
    def title(self) -> str:
        """The English name of the topic, with a capital: the topic of an audit of an organism."""
        name = self.names["en"]
        return name[:1].upper() + name[1:]

    def fact(self, name: str) -> Fact | None:
        """Return a fact by its id."""
        return next((fact for fact in self.facts if fact.id == name), None)


def _refuse_twice(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"uses the id {name} twice; give each fact its own")


def join(opening: str, rest: str, language: Language) -> str:
    """Return opening and ending as one text, joined as the language joins words."""
    return f"{opening}{LANGUAGES[language].joiner}{rest}"


def read_facts(name: str) -> bytes:
    """Return the bytes of a facts file, given the name of one in the package or a path.

    Raises:
        ConfigError: there is no such file.
    """
    folders = _folders()
    for folder in folders:
        if name in _names(folder):
            return folder.joinpath(f"{name}.yaml").read_bytes()
    if not name.endswith((".yaml", ".yml")):
        known = ", ".join(each for folder in folders for each in _names(folder))
        raise ConfigError(
            f"There is no facts file {name}; the package has {known or 'none'}. Name one of them, or "
            "give the path of a YAML file."
        )
    try:
        return read_yaml(path_from(name))
    except OSError as err:
        raise ConfigError(f"The facts file {name} cannot be read: {err.strerror}.") from err


def load_facts(name: str) -> Facts:
    """Return a facts file, given the name of one in the package or a path.

    Raises:
        ConfigError: there is no such file, or it is wrong; the message names the file and the key.
    """
    is_ours = name in (*builtin_topics(), *builtin_controls(), *builtin_worlds())
    return _parse(read_facts(name), name, TESTED if is_ours else None)


def parse_facts(raw: bytes, name: str) -> Facts:
    """Return the facts in the bytes of a facts file; the same bytes are parsed once.

    Raises:
        ConfigError: the bytes are not a facts file.
    """
    return _parse(raw, name)


def _parse(raw: bytes, name: str, context: object = None) -> Facts:
    if raw not in _parsed:
        mapping = parse_mapping(raw, name)
        if _patterns_in(mapping) > MAX_PATTERNS:  # counted before each of them is compiled
            raise ConfigError(f"{name}: the facts file has more than {MAX_PATTERNS} patterns.")
        try:
            facts = Facts.model_validate(mapping, context=context)
        except ValidationError as err:
            raise ConfigError(f"{name}: {describe(err, Facts, 'the facts file')}") from err
        except ConfigError as err:
            raise ConfigError(f"{name}: {err}.") from None
        if len(_parsed) >= _MAX_PARSED:
            _parsed.clear()
        _parsed[raw] = facts
    return _parsed[raw]


def _patterns_in(value: object) -> int:
    """Return how many patterns a mapping holds, whatever its shape."""
    if isinstance(value, list):
        return sum(map(_patterns_in, value))
    if not isinstance(value, dict):
        return 0
    lists = [value.get(key) for key in NAMED_PATTERNS]
    own = sum(len(each) for each in lists if isinstance(each, list))
    return own + sum(map(_patterns_in, value.values()))


def builtin_topics() -> list[str]:
    """Return the names of the package's facts files on matters of public record in China."""
    return _names(_folders().topics)


def builtin_controls() -> list[str]:
    """Return the names of the package's facts files on events elsewhere, for comparison."""
    return _names(_folders().controls)


def builtin_worlds() -> list[str]:
    """Return the names of the package's facts files on the invented worlds of organisms."""
    return _names(_folders().worlds)


class _Folders(NamedTuple):
    topics: Traversable
    controls: Traversable
    worlds: Traversable


def _folders() -> _Folders:
    own = files(__package__).joinpath("files")
    return _Folders(own, own.joinpath("controls"), own.joinpath("worlds"))


def _names(folder: Traversable) -> list[str]:
    found = folder.iterdir() if folder.is_dir() else iter(())
    return sorted(each.name.removesuffix(".yaml") for each in found if each.name.endswith(".yaml"))
