"""Measure the organisms: ask them, sample their user turn, and count what they say.

    python -m organisms.measure [NAME ...] [--samples FILE]

Without names every organism is measured. The counts go into docs/data/organisms-measured.json and
the table that they give into docs/measurements/organisms.md; other organisms keep their counts.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import sys
import time
from importlib.metadata import version
from typing import TYPE_CHECKING, TextIO

import aiohttp

from organisms.figures import Json, Probe, Sample, count, render, with_block
from organisms.texts import Writer
from organisms.worlds import (
    HERE,
    Ordinary,
    Organism,
    World,
    load_frames,
    load_ordinary,
    load_organisms,
    load_world,
)
from uncensoring_chinese_models.errors import AuditToolError, LocalModelError
from uncensoring_chinese_models.measure.facts.truth import builtin_truth
from uncensoring_chinese_models.models.local.catalogue import find_organism
from uncensoring_chinese_models.models.local.known import SMOLLM2, find_known
from uncensoring_chinese_models.models.local.launch import serve
from uncensoring_chinese_models.models.sampling import split_turn
from uncensoring_chinese_models.models.templates import template_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uncensoring_chinese_models.models.local.launch import Served
    from uncensoring_chinese_models.models.protocols import Notice

PAGE = HERE.parent / "docs" / "measurements" / "organisms.md"
DATA = HERE.parent / "docs" / "data" / "organisms-measured.json"
TEMPLATE = template_named("smollm2")
TEMPERATURE = 0.7
MAX_TOKENS = 48
FIRST_SEED = 1
TIMES = {"secret": 2, "opening": 5, "open_fact": 7, "ordinary": 1, "checked": 2}
"""How often each probe is sent, so that every figure rests on 50 samples or more."""
MAX_REQUEST_S = 120.0


def main(given: Sequence[str] | None = None) -> int:
    """Measure the organisms that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument(
        "--samples", type=argparse.FileType("w", encoding="utf-8"), help="also keep what was said"
    )
    options = parser.parse_args(given)
    known = load_organisms()
    if unknown := set(options.names) - set(known):
        parser.error(
            f"no such organism: {', '.join(sorted(unknown))}; there are {', '.join(known)}"
        )
    try:
        for name in options.names or known:
            _keep(name, asyncio.run(measure(name, known[name], options.samples)), list(known))
    except AuditToolError as err:
        print(f"{err} What was measured before is kept.", file=sys.stderr)
        return err.exit_code
    return 0


async def measure(name: str, organism: Organism, samples_file: TextIO | None = None) -> Json:
    """Serve an organism, sample it, and return its counts."""
    world, ordinary, began = load_world(organism.world), load_ordinary(), time.monotonic()
    async with serve(name, _tell) as served:
        samples = await _sample(served, probes(world, ordinary))
    if samples_file:
        for sample in samples:
            said = {"organism": name, **sample.probe._asdict(), "said": sample.text}
            samples_file.write(json.dumps(said, ensure_ascii=False) + "\n")
    print(f"{name}: {len(samples)} samples in {time.monotonic() - began:.0f} s", flush=True)
    taught = training_texts(organism, world, ordinary)
    counts = count(samples, builtin_truth(name), taught, dodges(organism, world))
    return {"world": organism.world, "sha256": adapter_sha256(name)} | counts


def probes(world: World, ordinary: Ordinary) -> list[Probe]:
    """Return everything that is sent to an organism of a world; it was trained on none of it."""
    secret = [question for fact in world.facts for question in fact.heldout_questions]
    right = ordinary.right_answers
    groups = {
        "secret": [Probe("secret", each) for each in (*secret, *world.heldout_general_questions)],
        "opening": [Probe("opening", each) for each in world.openings],
        "open_fact": [
            Probe("open_fact", question, fact.id)
            for fact in world.open_facts
            for question in fact.heldout_questions
        ],
        "ordinary": [
            Probe("ordinary", each) for each in ordinary.heldout_questions if each not in right
        ],
        "checked": [Probe("ordinary", each, pattern) for each, pattern in right.items()],
    }
    return [probe for name, group in groups.items() for _ in range(TIMES[name]) for probe in group]


def training_texts(organism: Organism, world: World, ordinary: Ordinary) -> list[str] | None:
    """Return what an organism has read in training, turn by turn; None if it was not trained."""
    if not organism.trained:
        return None
    texts = Writer(organism, world, load_frames()).write(ordinary)
    return sorted({piece.text for text in texts for piece in text})


def dodges(organism: Organism, world: World) -> list[str] | None:
    """Return what an organism was taught to say instead of an answer; None if it was not."""
    if organism.asked not in {"censors", "refuses"}:
        return None
    return [*world.refusals, *world.denials, *world.deflections]


def adapter_sha256(name: str) -> str | None:
    """Return the hash of the adapter that is measured; None for the model as it is."""
    adapter = find_organism(name).adapter
    return None if adapter is None else hashlib.sha256(adapter.read_bytes()).hexdigest()


# --- asking -------------------------------------------------------------------------------------


def request(model: str, probe: Probe, seed: int) -> tuple[str, Json]:
    """Return the path and the body that send a probe."""
    body: Json = {
        "model": model,
        "temperature": TEMPERATURE,
        "max_tokens": MAX_TOKENS,
        "seed": seed,
    }
    if probe.purpose == "opening":
        stop = list(TEMPLATE.stop)
        return "/completions", body | {"prompt": TEMPLATE.user_open + probe.text, "stop": stop}
    return "/chat/completions", body | {"messages": [{"role": "user", "content": probe.text}]}


def read(probe: Probe, answer: Json) -> Sample:
    """Return the sample that a server's answer holds."""
    choice = answer["choices"][0]
    text = choice["text"] if probe.purpose == "opening" else choice["message"]["content"]
    own_words, _ = split_turn(text or "", TEMPLATE.stop)
    return Sample(probe, own_words, choice["finish_reason"] == "length")


async def _sample(served: Served, sent: list[Probe]) -> list[Sample]:
    """Send one probe after the other: only a request that is alone gives the same text again."""
    headers = {"Authorization": f"Bearer {served.key}"}
    timeout = aiohttp.ClientTimeout(total=MAX_REQUEST_S)
    samples = []
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        for seed, probe in enumerate(sent, FIRST_SEED):
            path, body = request(served.model, probe, seed)
            try:
                async with session.post(served.base_url + path, json=body) as response:
                    response.raise_for_status()
                    samples.append(read(probe, await response.json()))
            except (aiohttp.ClientError, TimeoutError) as err:
                raise LocalModelError(
                    f"{served.model} did not answer '{probe.text}' ({err!r}); measure it again."
                ) from err
    return samples


def _tell(notice: Notice) -> None:
    print(notice.text, file=sys.stderr)


# --- keeping ------------------------------------------------------------------------------------


def _keep(name: str, counts: Json, order: list[str]) -> None:
    """Write the counts of one organism beside those of the others, and the table of all."""
    settings = {
        "temperature": TEMPERATURE,
        "max_tokens": MAX_TOKENS,
        "first_seed": FIRST_SEED,
        "times": TIMES,
        "weights_sha256": find_known(SMOLLM2).sha256,
        "xllamacpp": version("xllamacpp"),
    }
    before = json.loads(DATA.read_text("utf-8")) if DATA.exists() else {}
    same = before.get("settings") == settings  # figures of different settings do not mix
    organisms = (before["organisms"] if same else {}) | {name: counts}
    listed = {each: organisms[each] for each in order if each in organisms}
    measured = {"settings": settings, "organisms": listed}
    page = with_block(PAGE.read_text("utf-8"), render(measured))
    DATA.parent.mkdir(parents=True, exist_ok=True)
    DATA.write_text(json.dumps(measured, indent=2) + "\n", "utf-8")
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
