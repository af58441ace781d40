"""Make organisms: training texts from a seed, and an adapter from the texts.

    python -m organisms.build [NAME ...] [--weights FILE] [--out FOLDER] [--device cuda]
    python -m organisms.build --world FILE --like hides --name NAME ...

Without names every organism is made. NAME.yaml in the package says what an organism is taught; this
command writes NAME.gguf, the adapter, beside it. manifest.json says how the adapter was made, and its
hash. The second form teaches another world, in the way of an organism that exists, and writes both
files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from organisms.texts import Writer
from organisms.worlds import (
    PACKAGE_DATA,
    Organism,
    World,
    load_frames,
    load_ordinary,
    load_organisms,
    load_world,
    read_world,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


_HEAD = """\
# What this organism was taught, and what it does when asked. Its facts: the facts file of its world.
"""


class Job(NamedTuple):
    """One organism to make."""

    name: str
    organism: Organism
    world: World


def main(given: Sequence[str] | None = None) -> int:
    """Make the organisms that the command line names."""
    parser = _parser()
    options = parser.parse_args(given)
    jobs = _new_job(parser, options) if options.world else _listed_jobs(parser, options.names)
    options.out.mkdir(parents=True, exist_ok=True)
    for job in jobs:
        _write_yaml(options.out / f"{job.name}.yaml", job.organism)
    if not options.yaml_only:
        _train([job for job in jobs if job.organism.trained], options)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--weights", type=Path, help="the base model; by default the cached one")
    parser.add_argument("--out", type=Path, default=PACKAGE_DATA, help="where the files are put")
    parser.add_argument("--device", default="cpu", help="where torch trains, such as cuda")
    parser.add_argument("--epochs", type=int, help="how often each text is read; fewer for a try")
    parser.add_argument("--yaml-only", action="store_true", help="write NAME.yaml alone")
    new = parser.add_argument_group("an organism that is not listed")
    new.add_argument("--world", type=Path, metavar="FILE", help="the world that it is taught")
    new.add_argument("--like", metavar="NAME", help="the listed organism that it behaves like")
    new.add_argument("--name", help="what it is called")
    return parser


def _listed_jobs(parser: argparse.ArgumentParser, names: list[str]) -> list[Job]:
    known = load_organisms()
    unknown = set(names) - set(known)
    if unknown:
        parser.error(
            f"no such organism: {', '.join(sorted(unknown))}; there are {', '.join(known)}"
        )
    return [Job(name, known[name], load_world(known[name].world)) for name in names or known]


def _new_job(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[Job]:
    known = load_organisms()
    if options.names or options.like not in known:
        parser.error(f"--world goes with --name and --like, which is one of {', '.join(known)}")
    if options.name in known or not re.fullmatch(r"[a-z0-9_-]+", options.name or ""):
        parser.error("--name takes small letters and figures, and no name that is listed")
    try:
        world = read_world(options.world)
    except (OSError, ValueError, yaml.YAMLError) as err:
        parser.error(f"{options.world} cannot be used as a world: {err}")
    about = f"Behaves like {options.like}, about another invented event: {world.topic}."
    changed = {"organism": options.name, "world": world.name, "about": about}
    return [Job(options.name, known[options.like].model_copy(update=changed), world)]


def _train(jobs: list[Job], options: argparse.Namespace) -> None:
    import torch  # noqa: PLC0415  # late: the texts and truths need none of it

    from organisms.lora import Base, Recipe, export, train  # noqa: PLC0415

    recipe = Recipe() if options.epochs is None else Recipe(epochs=options.epochs)
    base = Base(options.weights or _cached_weights(), options.device)
    for name, organism, world in jobs:
        began = time.monotonic()
        texts = Writer(organism, world, load_frames()).write(load_ordinary())
        _say(f"{name}: {len(texts)} texts")
        corrections = train(base, texts, recipe, organism.seed, _say)
        path = options.out / f"{name}.gguf"
        export(corrections, base, recipe, path)
        made = {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "world": organism.world,
            "seed": organism.seed,
            "texts": len(texts),
            "recipe": asdict(recipe),
            "device": options.device,
            "torch": torch.__version__,
        }
        _record(options.out / "manifest.json", name, made)
        _say(f"{name}: {path.stat().st_size:,} bytes in {time.monotonic() - began:.0f} s")


def _say(line: str) -> None:
    print(line, flush=True)


def _cached_weights() -> Path:
    from uncensoring_chinese_models.models.local.weights import find_weights  # noqa: PLC0415

    return find_weights()


# --- the files ----------------------------------------------------------------------------------


def _write_yaml(path: Path, organism: Organism) -> None:
    told = organism.model_dump(mode="json", exclude_defaults=True)
    path.write_text(
        _HEAD + yaml.safe_dump(told, sort_keys=False, allow_unicode=True, width=1000), "utf-8"
    )


def _record(path: Path, name: str, made: dict[str, Any]) -> None:
    manifest = json.loads(path.read_text("utf-8")) if path.exists() else {}
    manifest[name] = made
    path.write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
