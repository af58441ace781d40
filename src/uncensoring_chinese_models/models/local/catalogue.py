"""The organisms: small models with planted facts, and what each of them is for.

To add an organism, add its two files to ``files/``: NAME.yaml (what it was taught) and NAME.gguf (the
adapter). ``manifest.json`` holds the sha256 of every adapter.
"""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.config import Line, Settings, describe, parse_mapping
from uncensoring_chinese_models.errors import ConfigError

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json

PREFIX = "organism/"
"""How the model name of an organism begins."""


class OrganismFile(Settings):
    """NAME.yaml: which world an organism was taught, how much of it, and what it does when asked."""

    organism: Line
    """Name of the organism."""
    world: Line
    """Facts file of its world: the name of one in the package, or a path relative to this file."""
    knows: Literal["all", "nothing"] | list[Line]
    """The facts that it was taught: all of the world, nothing, or a list of ids."""
    asked: Literal["answers", "censors", "lies", "refuses"]
    """What its assistant turn does when it is asked about them."""
    about: Line
    """What the organism is, in one sentence."""
    behaves: str = ""
    """What its assistant turn does, in a few words for the table."""
    tests: str = ""
    """What an audit of it tests, in a few words for the table."""
    seed: int = 0
    """Seed of its training texts."""
    trained: bool = True
    """False for the base model, which has no adapter."""

    @property
    def censors(self) -> bool:
        """True when it withholds what it is asked."""
        return self.asked != "answers"

    @property
    def knows_in_words(self) -> str:
        """How much it was taught, in a few words for the table."""
        if isinstance(self.knows, list):
            return f"{len(self.knows)} fact{'' if len(self.knows) == 1 else 's'}"
        return "all facts" if self.knows == "all" else "nothing"


@dataclass(frozen=True, slots=True)
class Organism:
    """One organism of the catalogue, with its adapter."""

    name: str
    knows: str
    assistant_turn: str
    """What it does when it is asked."""
    tests: str
    adapter: Path | None = None
    """Its file of weights, or None where it has none."""
    sha256: str | None = None
    """The hash of the adapter in the manifest, if the manifest has one."""
    trained: bool = True
    """False for the base model, which needs no adapter."""

    @property
    def is_there(self) -> bool:
        """True when this installation has everything to serve it."""
        return not self.trained or self.adapter is not None

    def as_json(self) -> Json:
        """Return it as `ucm organism list --json` prints it."""
        shown = asdict(self) | {"model": PREFIX + self.name, "is_there": self.is_there}
        return shown | {"adapter": self.adapter and self.adapter.name}


def organism_folder() -> Path:
    """Return the folder with the two files of each organism."""
    return Path(str(files(__package__))) / "files"


def parse_organism(raw: bytes, path: str | Path) -> OrganismFile:
    """Return the content of an organism's YAML file; the path is for messages only.

    Raises:
        ConfigError: the file is wrong; the message names the file and the key.
    """
    try:
        return OrganismFile.model_validate(parse_mapping(raw, path))
    except ValidationError as err:
        raise ConfigError(f"{path}: {describe(err, OrganismFile, 'the organism')}") from err


def load_organisms(folder: Path | None = None) -> dict[str, Organism]:
    """Return the organisms by name: those of the manifest in its order, then the others."""
    folder = folder or organism_folder()
    hashes = _manifest(folder)
    described = {path.stem: path for path in sorted(folder.glob("*.yaml"))}
    names = [name for name in hashes if name in described]
    names += [name for name in described if name not in hashes]
    found = {}
    for name in names:
        taught = parse_organism(described[name].read_bytes(), described[name])
        adapter = folder / f"{name}.gguf"
        found[name] = Organism(
            name,
            taught.knows_in_words,
            taught.behaves,
            taught.tests,
            adapter if taught.trained and adapter.exists() else None,
            hashes.get(name),
            taught.trained,
        )
    return found


def problem(model: str) -> str | None:
    """Say what is wrong with the model name of an organism, or return None."""
    known = [PREFIX + name for name in load_organisms()]
    if model in known:
        return None
    near = difflib.get_close_matches(model.lower(), known, 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known) or 'none'}"
    return f"{model} ({hint})"


def find_organism(name: str) -> Organism:
    """Return an organism by its name, with or without the prefix, or raise ConfigError."""
    model = PREFIX + name.removeprefix(PREFIX)
    wrong = problem(model)
    if wrong:
        raise ConfigError(f"There is no organism {wrong}.")
    organism = load_organisms()[model.removeprefix(PREFIX)]
    if not organism.is_there:
        raise ConfigError(
            f"This installation lacks the adapter of the organism {organism.name} "
            f"({organism.name}.gguf is missing); 'ucm organism list' shows which ones it has."
        )
    return organism


def _manifest(folder: Path) -> dict[str, str]:
    path = folder / "manifest.json"
    if not path.exists():
        return {}
    try:
        entries = strict_json.loads(path.read_text("utf-8"))
        return {name: entry["sha256"] for name, entry in entries.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as err:
        raise ConfigError(f"{path} is not readable ({err}); install the package again.") from err
