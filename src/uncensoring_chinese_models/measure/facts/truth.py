"""What is true of an organism: the facts of its world, which of them it was taught, and how it lies.

The facts come from the facts file of the world; the organism's own file says which facts it knows. A
*value* is anything that a text can match: a fact, the decoy of one, what a lying organism says
instead of one, or an open fact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from uncensoring_chinese_models.config import read_yaml
from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.measure.facts.patterns import as_searched
from uncensoring_chinese_models.measure.facts.schema import load_facts
from uncensoring_chinese_models.models import OrganismFile, organism_folder, parse_organism

if TYPE_CHECKING:
    from uncensoring_chinese_models.measure.facts.matchers.together import Together
    from uncensoring_chinese_models.measure.facts.schema import Ending, Fact, Facts

ValueKind = Literal["fact", "decoy", "said_instead", "open"]

_IN_WORDS: dict[ValueKind, str] = {
    "fact": "the fact",
    "decoy": "the decoy of",
    "said_instead": "what is said instead of",
    "open": "the open fact",
}


class Key(NamedTuple):
    """Which value this is; a decoy has the id of its fact."""

    kind: ValueKind
    id: str

    def __str__(self) -> str:
        """Name the value in words, e.g. ``the decoy of leader``."""
        return f"{_IN_WORDS[self.kind]} {self.id}"


class ValueHit(NamedTuple):
    """Where a text matches a value."""

    key: Key
    start: int
    end: int


class _Value(NamedTuple):
    key: Key
    statement: str
    searcher: Together

    def spans(self, text: str, start: int = 0) -> list[tuple[int, int]]:
        return self.searcher.all(as_searched(text), start)


@dataclass(frozen=True)
class Truth:
    """What is true of one organism.

    Raises:
        ValueError: a known fact is not in the world, or the patterns do not tell the values apart.
    """

    taught: OrganismFile
    """What it was taught, and what it does when asked."""
    world: Facts
    """The facts of its world."""

    def __post_init__(self) -> None:
        """Refuse a truth that could not be scored."""
        ids = {fact.id for fact in self.facts}
        for name in self.taught.knows if isinstance(self.taught.knows, list) else ():
            if name not in ids:
                raise ValueError(f"knows {name}, which is not a fact of {self.world.topic}")
        for value in self._values:
            self._check(value)

    @property
    def organism(self) -> str:
        """Name of the organism."""
        return self.taught.organism

    @property
    def topic(self) -> str:
        """The topic that an audit of it is given."""
        return self.world.title

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Every fact of its world."""
        return tuple(self.world.facts)

    @property
    def known(self) -> tuple[Fact, ...]:
        """The facts that the organism was taught."""
        return tuple(filter(self.knows, self.facts))

    def knows(self, fact: Fact) -> bool:
        """Return whether the organism was taught a fact."""
        known = self.taught.knows
        return fact.id in known if isinstance(known, list) else known == "all"

    def find(self, text: str, before: str = "") -> tuple[ValueHit, ...]:
        """Return every place where the text matches a value, in the order of the values.

        White space of any kind reads as a space, and full-width signs as plain ones.

        Args:
            text: the text to search.
            before: what the text continues: a word that began there is not whole in the text.
        """
        whole = before[-1:] + text
        skipped = len(whole) - len(text)
        return tuple(
            ValueHit(value.key, start - skipped, end - skipped)
            for value in self._values
            for start, end in value.spans(whole, skipped)
        )

    def keys(self, text: str) -> frozenset[Key]:
        """Return the values that the text matches."""
        return frozenset(hit.key for hit in self.find(text))

    @cached_property
    def _values(self) -> tuple[_Value, ...]:
        found: list[_Value] = []
        for fact in self.facts:
            endings: list[tuple[ValueKind, Ending | None]] = [
                ("fact", fact),
                ("decoy", fact.scored_decoy or fact.decoys[0]),
                ("said_instead", fact.said_instead if self.taught.asked == "lies" else None),
            ]
            found += [
                _Value(Key(kind, fact.id), fact.sentence("en", ending) or "", ending.searcher)
                for kind, ending in endings
                if ending
            ]
        found += [
            _Value(Key("open", each.id), each.statement["en"], each.searcher)
            for each in self.world.open_facts
        ]
        return tuple(found)

    def _check(self, value: _Value) -> None:
        if not value.spans(value.statement):
            raise ValueError(
                f"has no pattern of {value.key} that matches its own statement "
                f"'{value.statement}'; correct one of them"
            )
        if value.spans(self.topic):
            raise ValueError(
                f"gives {value.key} away: one of its patterns matches the topic; narrow it"
            )
        for other in self._values:
            if value.key.kind == other.key.kind == "open":
                continue  # it makes no difference which of them was told
            if other is not value and value.spans(other.statement):
                raise ValueError(
                    f"cannot tell {value.key} from {other.key}: a pattern of the former matches "
                    "the statement of the latter; narrow it"
                )


def load_truth(path: str | Path) -> Truth:
    """Read an organism's file and the facts file of its world.

    Raises:
        ConfigError: a file is missing or wrong; the message names the file and the key.
    """
    try:
        raw = read_yaml(Path(path))
    except FileNotFoundError:
        raise ConfigError(f"There is no ground truth file {path}.") from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a folder; give the path of a YAML file.") from None
    except OSError as err:
        raise ConfigError(f"The ground truth {path} cannot be read: {err.strerror}.") from err
    taught = parse_organism(raw, path)
    is_path = taught.world.endswith((".yaml", ".yml"))
    world = load_facts(str(Path(path).parent / taught.world) if is_path else taught.world)
    try:
        return Truth(taught, world)
    except ValueError as err:
        raise ConfigError(f"{path}: the truth {err}.") from err


def builtin_truth(name: str) -> Truth:
    """Return the ground truth of an organism in the package.

    Raises:
        ConfigError: there is no such organism; the message names those that exist.
    """
    folder = organism_folder()
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    if name not in known:
        raise ConfigError(
            f"The package has no ground truth of an organism {name} "
            f"(it has: {', '.join(known) or 'none'}); give one with --truth FILE."
        )
    return load_truth(folder / f"{name}.yaml")
