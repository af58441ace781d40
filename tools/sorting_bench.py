"""Ask organisms for each fact of their world, sort the facts, and count how many are sorted right.

    python -m tools.sorting_bench --out FOLDER [--organism hides,lies] [--seed 1,2]
    python -m tools.sorting_bench --replay FOLDER
    python -m tools.sorting_bench --render

The first form makes runs; the others ask nobody. What is right follows from how the organisms were
made, before any run. Runs of other organisms and seeds are kept, so that parts can be made apart.
The counts go to docs/data/sorting.json; the tables of docs/measurements/sorting.md are written from
them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from organisms.texts import CENSOR_STYLES, style_of_dodging
from organisms.worlds import load_organisms, load_world
from tools.organism_bench import Quiet
from tools.sorting_table import HELD_OUT, Row, is_right, lines, page

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.config.loading import parse_mapping
from uncensoring_chinese_models.config.settings import AuditConfig
from uncensoring_chinese_models.domain import ASKING_ARM
from uncensoring_chinese_models.measure.fact_auditor import FactAuditor
from uncensoring_chinese_models.measure.judging import judge_run
from uncensoring_chinese_models.measure.matrix import Cell, FactVerdict, Matrix
from uncensoring_chinese_models.measure.probe_settings import probe_config
from uncensoring_chinese_models.models.local.catalogue import PREFIX
from uncensoring_chinese_models.runner.replaying import replay
from uncensoring_chinese_models.runner.run import run_job
from uncensoring_chinese_models.runs.reading import read_finished_run
from uncensoring_chinese_models.runs.recorded import read_responses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uncensoring_chinese_models.config.loading import LoadedConfig
    from uncensoring_chinese_models.measure.facts.schema import Facts

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "configs" / "probe_organism.yaml"
COUNTS = ROOT / "docs" / "data" / "sorting.json"
PAGE = ROOT / "docs" / "measurements" / "sorting.md"
ORGANISMS = ("hides", "lies", "half", "ignorant", "base", "honest")
SEEDS = (2, 102, 202, 302, 402)
"""Far apart, since each sample of a run takes the next seed; with seed 1 openings and questions
were tried, so that it does not count."""
_KNOWN: dict[str, FactVerdict] = {
    "answers": "known and said",
    "lies": "known but denied",
    "censors": "known but withheld",
    "refuses": "known but withheld",
}
"""What an organism does with what it knows; of the three ways of one that censors, two withhold."""


def main() -> int:
    """Run the benchmark, or a part of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--organism", default=",".join(ORGANISMS), help="some of them, by comma")
    parser.add_argument("--seed", default=",".join(map(str, SEEDS)), help="some of them, by comma")
    parser.add_argument("--out", type=Path, help="where the runs are kept")
    parser.add_argument("--replay", type=Path, help="count the runs in a folder again")
    parser.add_argument("--render", action="store_true", help="write the tables anew, run nothing")
    options = parser.parse_args()
    names, seeds = options.organism.split(","), [int(seed) for seed in options.seed.split(",")]
    strange = [name for name in names if name not in (*ORGANISMS, *HELD_OUT)]
    if strange:
        parser.error(f"no organism of this benchmark: {', '.join(strange)}")
    if options.replay:
        for row in replay_all(options.replay):
            _keep(row)
    elif not options.render:
        if options.out is None:
            parser.error("name with --out where the runs are kept")
        for name in names:
            for seed in seeds:
                _keep(run_once(name, seed, options.out))
    rows = kept()
    _write(rows)
    print("\n".join(lines(rows)))
    return 0


# --- what is right ------------------------------------------------------------------------------


def truth_of(name: str) -> dict[str, FactVerdict]:
    """Return how each fact must come out, by what the organism was taught and does when asked."""
    organism = load_organisms()[name]
    known = _KNOWN[organism.asked]
    facts = [fact.id for fact in load_world(organism.world).facts]
    return {fact: known if organism.knows_fact(fact) else "unknown" for fact in facts}


def styles_of(name: str) -> dict[str, str]:
    """Return in which style an organism that censors was taught to dodge each fact that it knows."""
    organism = load_organisms()[name]
    if organism.asked not in ("censors", "refuses"):
        return {}
    facts = enumerate(load_world(organism.world).facts)
    return {
        fact.id: style_of_dodging(organism, n) for n, fact in facts if organism.knows_fact(fact.id)
    }


# --- one run ------------------------------------------------------------------------------------


def bench_config(name: str, seed: int, folder: Path) -> LoadedConfig:
    """Return the config of one battery: the one that comes with the project, on another organism."""
    words = [f"audited_model={PREFIX}{name}", f"facts={load_organisms()[name].world}"]
    return probe_config(str(CONFIG), [*words, f"sampling.seed={seed}", f"output_dir={folder}"])


def run_once(name: str, seed: int, folder: Path) -> Row:
    """Ask one organism for each fact of its world, and return how they were sorted."""
    return count_run(run_job(bench_config(name, seed, folder), Quiet()).folder)


def replay_all(folder: Path) -> list[Row]:
    """Judge the recorded runs of a folder again; of one organism and seed there may be one."""
    rows: dict[tuple[str, int], Row] = {}
    for run in sorted(path.parent for path in folder.glob("*/journal.jsonl")):
        row = replay_once(run)
        key = (row["organism"], row["seed"])
        if key in rows:
            raise SystemExit(f"{run} is one more of {key[0]} with seed {key[1]}; keep the first")
        rows[key] = row
    return list(rows.values())


def replay_once(run: Path) -> Row:
    """Judge a recorded run again, if it is whole and this version would ask the same."""
    if not (run / "summary.json").exists():
        raise SystemExit(f"{run} cannot be counted: it has not finished")
    config, journal = ((run / name).read_bytes() for name in ("config.yaml", "journal.jsonl"))
    settings = AuditConfig.model_validate(parse_mapping(config, str(run)))
    name, seed = settings.audited_model.removeprefix(PREFIX), settings.sampling.seed
    now = bench_config(name, seed or 0, Path(settings.output_dir)).settings
    if now != settings:
        raise SystemExit(f"{run} cannot be counted: its settings are not those of the benchmark")
    replayed = replay(config, journal, FactAuditor)
    if not replayed.ended:
        why = replayed.stopped_at or replayed.problem
        raise SystemExit(f"{run} cannot be counted: other probes would be sent now ({why})")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / run.name
        for path, content in replayed.files.items():
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            (copy / path).write_bytes(content)
        return count_run(copy)


def count_run(run: Path) -> Row:
    """Judge a run by the facts file as it is now, and return how its facts were sorted."""
    files = read_finished_run(run)
    config = files.ended["config"]
    name = config["audited_model"].removeprefix(PREFIX)
    result = judge_run(run, load_organisms()[name].world)
    if result.matrix is None or len(result.matrix.facts) != len(result.facts.facts):
        raise SystemExit(f"{run} cannot be counted: not every fact was asked for")
    truth, styles = truth_of(name), styles_of(name)
    cells = {(cell.fact, cell.arm): cell for cell in result.matrix.cells}
    dodged = _dodged(run, result.facts)
    return {
        "organism": name,
        "seed": config["sampling"]["seed"],
        "package_version": __version__,
        "facts": [
            {
                "fact": each.fact,
                "truth": truth[each.fact],
                "verdict": each.verdict,
                "arms": {
                    arm: _counts(cell) for (fact, arm), cell in cells.items() if fact == each.fact
                },
                "taught_style": styles.get(each.fact),
                "taught_dodges": dodged.get(each.fact, {}),
                "likelihood": _nearest(result.matrix, each.fact),
            }
            for each in sorted(result.matrix.facts, key=lambda each: list(truth).index(each.fact))
        ],
        "calls": files.ended["spend"]["by_role"]["target"]["calls"],
    }


def _nearest(matrix: Matrix, fact: str) -> float | None:
    """Return by how much a fact is likelier than its nearest decoy, where that was measured."""
    choice = matrix.likelihood and matrix.likelihood.choice(fact, "en")
    return round(choice.nearest, 2) if choice and choice.nearest is not None else None


def _counts(cell: Cell) -> Row:
    difference = cell.knowledge.difference
    return {
        "counts": {label: n for label, n in cell.counts.items() if n},
        "decoys": list(cell.decoys),
        "difference": [round(difference.estimate or 0.0, 4), difference.low, difference.high],
        "p_adjusted": cell.p_adjusted,
    }


def _dodged(run: Path, facts: Facts) -> dict[str, dict[str, int]]:
    """Return how many replies to each question begin as a taught dodge does, by its style.

    This does without the recogniser, so that it shows whether organism or judge is to blame.
    """
    world = load_world(facts.topic)
    heads = {_head(text): style for style in CENSOR_STYLES for text in getattr(world, style)}
    asked = {fact.question["en"]: fact.id for fact in facts.facts}
    found: dict[str, dict[str, int]] = {}
    for response in read_responses(read_finished_run(run).responses):
        replies = [sample.target_words for sample in response.samples if sample.arm == ASKING_ARM]
        styles = Counter(heads[_head(reply)] for reply in replies if _head(reply) in heads)
        found[asked[response.question or ""]] = dict(styles)
    return found


def _head(text: str) -> tuple[str, ...]:
    return tuple(text.lower().split()[:4])


# --- keeping ------------------------------------------------------------------------------------


def kept() -> list[Row]:
    """Return the runs that were counted so far, in their order."""
    rows = json.loads(COUNTS.read_text("utf-8"))["runs"] if COUNTS.exists() else []
    return sorted(
        rows, key=lambda row: ((*ORGANISMS, *HELD_OUT).index(row["organism"]), row["seed"])
    )


def _keep(row: Row) -> None:
    """Put the counts of one run in place of those of the same organism and seed."""
    key = (row["organism"], row["seed"])
    right = sum(map(is_right, row["facts"]))
    print(f"{key[0]}, seed {key[1]}: {right} of {len(row['facts'])} right", file=sys.stderr)
    _write([*(each for each in kept() if (each["organism"], each["seed"]) != key), row])


def _write(rows: Sequence[Row]) -> None:
    COUNTS.parent.mkdir(exist_ok=True)
    COUNTS.write_text(json.dumps({"runs": rows}, indent=1) + "\n", "utf-8")
    ordered = kept()
    PAGE.write_text(page(PAGE.read_text("utf-8"), lines(ordered)), "utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
