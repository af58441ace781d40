"""Score the facts of organisms' worlds by likelihood alone, and write down how well that separates.

    python tools/likelihood_bench.py [--render]

Each organism is scored on its own world, and the untouched model on all of them. Whether an
organism was taught a fact is in its file. The figures go to docs/data/likelihood.json; the table
in docs/measurements/likelihood.md is written from them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.config.settings import FACT_AUDITOR, AuditConfig
from uncensoring_chinese_models.measure.facts.schema import builtin_worlds, load_facts
from uncensoring_chinese_models.measure.facts.truth import builtin_truth
from uncensoring_chinese_models.measure.inference.tests import Share, share_interval
from uncensoring_chinese_models.measure.likelihood import (
    KNOWN_FROM,
    StoredScores,
    choose,
    likelihood_to_json,
    score_facts,
)
from uncensoring_chinese_models.models.http_api import HttpApi, open_session
from uncensoring_chinese_models.models.local.catalogue import load_organisms
from uncensoring_chinese_models.models.local.launch import serve
from uncensoring_chinese_models.models.sampling import Sampler

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "data" / "likelihood.json"
PAGE = ROOT / "docs" / "measurements" / "likelihood.md"
BEGIN, END = "<!-- likelihood:begin -->", "<!-- likelihood:end -->"
SEEN = ("quillon", "ardmere", "veshti")
"""The worlds on which the bound for a single fact was set; the others are held out."""
Row = dict[str, Any]


def main() -> int:
    """Run the benchmark, or write its table anew."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--render", action="store_true", help="write the table, run nothing")
    if not parser.parse_args().render:
        rows = [row for name, world in _pairs() for row in asyncio.run(score(name, world))]
        told = {"version": __version__, "known_from": KNOWN_FROM, "rows": rows}
        FIGURES.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    rows = json.loads(FIGURES.read_text("utf-8"))["rows"]
    page = PAGE.read_text("utf-8")
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{table(rows)}\n{END}{after}", encoding="utf-8")
    print(table(rows))
    return 0


def _pairs() -> Iterator[tuple[str, str]]:
    """Yield each organism with its own world, and the untouched model with every world."""
    worlds = builtin_worlds()
    for name in load_organisms():
        own = [builtin_truth(name).world.topic] if name != "base" else worlds
        yield from ((name, world) for world in own if world in worlds)


async def score(name: str, world: str) -> list[Row]:
    """Return one row for each fact of a world, as an organism finds it likely."""
    model, facts = f"organism/{name}", load_facts(world)
    config = AuditConfig(
        topic=world,
        auditing_model=FACT_AUDITOR,
        audited_model=model,
        facts=world,
        likelihood="forced",
    )
    print(f"{model} on {world}", file=sys.stderr)
    async with serve(model, lambda _: None) as served, open_session() as session:
        reached = config.audited_endpoint.model_copy(update={"base_url": served.base_url})
        api = HttpApi(session, reached, served.key)
        scored = await score_facts(config, facts, api, Sampler(config))
    stored = StoredScores.model_validate_json(json.dumps(likelihood_to_json("forced", scored)))
    truth = builtin_truth(name)
    taught = {fact.id for fact in truth.known} if truth.world.topic == world else set()
    return [
        {
            "organism": name,
            "world": world,
            "fact": choice.fact,
            "taught": choice.fact in taught,
            "margins": [None if each is None else round(each, 2) for each in choice.margins],
            "wins": choice.wins,
            "shows_knowledge": choice.shows_knowledge,
        }
        for choice in choose(stored).choices
    ]


# --- the table ----------------------------------------------------------------------------------


def table(rows: Sequence[Row]) -> str:
    """Return the tables of the page."""
    lines = ["| organism | world | taught | wins | counted as known | of those untaught |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["organism"], row["world"]), []).append(row)
    for (organism, world), of in groups.items():
        counts = [
            sum(bool(row[key]) for row in of) for key in ("taught", "wins", "shows_knowledge")
        ]
        wrong = sum(row["shows_knowledge"] and not row["taught"] for row in of)
        taught, wins, known = (f"{count} of {len(of)}" for count in counts)
        lines.append(f"| {organism} | {world} | {taught} | {wins} | {known} | {wrong} |")
    lines.append("")
    for name, worlds in (("worlds on which the bound was set", True), ("other worlds", False)):
        of = [row for row in rows if (row["world"] in SEEN) == worlds]
        lines += [f"- {name}: {_errors(of)}"] if of else []
    return "\n".join(lines)


def _errors(rows: Sequence[Row]) -> str:
    taught = [row for row in rows if row["taught"]]
    untaught = [row for row in rows if not row["taught"]]
    missed = _share(sum(not row["shows_knowledge"] for row in taught), len(taught))
    wrong = _share(sum(row["shows_knowledge"] for row in untaught), len(untaught))
    wins = _share(sum(row["wins"] for row in untaught), len(untaught))
    return (
        f"of the facts that were taught {missed} were missed; of those that were not {wrong} were "
        f"counted as known, and {wins} won."
    )


def _share(count: int, n: int) -> str:
    found = share_interval(Share(count, n), method="exact")
    return f"{count} of {n} (95 % interval {found.low:.2f} to {found.high:.2f})"


if __name__ == "__main__":
    sys.exit(main())
