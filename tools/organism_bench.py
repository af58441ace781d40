"""Audit every organism with the baseline auditor, several times, and write down how right it was.

    python tools/organism_bench.py [--organisms hides,lies] [--seeds 1,2,3,4,5] [--append] [--render]
    python tools/organism_bench.py --replay FOLDER

The second form samples nothing: the runs in a folder are derived again from their journals by the
rules of this version, and count only if those would have sent just the same probes. The counts go
to docs/data/benchmark.json; the table in docs/measurements/benchmark.md and the sentence in
README.md are written from them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.audit.baseline.auditor import BaselineAuditor
from uncensoring_chinese_models.cli.score import demo_config
from uncensoring_chinese_models.measure.score.run import score_run
from uncensoring_chinese_models.models.local.catalogue import PREFIX, load_organisms
from uncensoring_chinese_models.runner.replaying import replay
from uncensoring_chinese_models.runner.run import run_job
from uncensoring_chinese_models.stats import mean_interval, wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from uncensoring_chinese_models.audit.turns import AuditEvent
    from uncensoring_chinese_models.config.settings import AuditConfig
    from uncensoring_chinese_models.models.budget import BudgetMeter
    from uncensoring_chinese_models.models.protocols import Notice

ROOT = Path(__file__).resolve().parent.parent
COUNTS = ROOT / "docs" / "data" / "benchmark.json"
PAGE = ROOT / "docs" / "measurements" / "benchmark.md"
README = ROOT / "README.md"
HELD_OUT = "fresh"
BEGIN, END = "<!-- benchmark:begin -->", "<!-- benchmark:end -->"
Row = dict[str, Any]


class Quiet:
    """An observer that says nothing but what goes wrong."""

    def started(self, folder: Path, config: AuditConfig) -> None:
        """Hear that the run directory is there."""

    def event(self, event: AuditEvent, budget: BudgetMeter) -> None:
        """See one event."""

    def notice(self, notice: Notice) -> None:
        """Pass on what goes wrong."""
        print(notice.text, file=sys.stderr)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--organisms", default="")
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--append", action="store_true", help="keep the runs of other organisms")
    parser.add_argument("--render", action="store_true", help="write the tables anew, run nothing")
    parser.add_argument("--keep", type=Path, help="where the runs are kept; else they are removed")
    parser.add_argument("--replay", type=Path, help="count the runs in a folder again")
    options = parser.parse_args()
    if options.replay:
        replayed = [replay_once(run) for run in sorted(options.replay.iterdir())]
        again = {(row["organism"], row["seed"]) for row in replayed}
        others = [row for row in _kept([]) if (row["organism"], row["seed"]) not in again]
        _write(_sorted([*others, *replayed]))
        return 0
    if options.render:
        _write(_kept([]))
        return 0
    names = [name for name in options.organisms.split(",") if name] or list(load_organisms())
    seeds = [int(seed) for seed in options.seeds.split(",")]
    rows = _kept(names) if options.append else []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for seed in seeds:
                row = run_once(name, seed, str(options.keep or folder))
                rows.append(row)
                print(json.dumps(row), flush=True)
                _write(_sorted(rows))
    print("\n".join(table(rows)))
    return 0


def run_once(name: str, seed: int, folder: str) -> Row:
    """Audit one organism once, and return the counts of its score."""
    began = time.monotonic()
    result = run_job(demo_config(name, seed=seed, output_dir=folder), Quiet())
    return _row(result.folder, result.summary, round(time.monotonic() - began, 1))


def replay_once(run: Path) -> Row:
    """Derive a recorded run again, and return the counts of its score."""
    config, journal = ((run / name).read_bytes() for name in ("config.yaml", "journal.jsonl"))
    replayed = replay(config, journal, BaselineAuditor)
    if not replayed.ended:
        why = replayed.stopped_at or replayed.problem
        raise SystemExit(f"{run} cannot be counted again: other probes would be sent now ({why})")
    summary = json.loads(replayed.files["summary.json"])
    recorded = json.loads((run / "summary.json").read_bytes())
    if summary["total_iterations"] != recorded["total_iterations"]:
        raise SystemExit(f"{run} cannot be counted again: fewer probes would be sent now")
    with tempfile.TemporaryDirectory() as folder:
        for name, content in replayed.files.items():
            (Path(folder) / name).parent.mkdir(exist_ok=True)
            (Path(folder) / name).write_bytes(content)
        began, ended = (
            datetime.fromisoformat(summary[key]) for key in ("started_at", "finished_at")
        )
        return _row(Path(folder), summary, (ended - began).total_seconds())


def _row(run: Path, summary: dict[str, Any], seconds: float) -> Row:
    score = score_run(run).score
    spent = summary["spend"]["by_role"]["target"]
    judged = score.as_json()["claims"]
    return {
        "organism": summary["config"]["audited_model"].removeprefix(PREFIX),
        "seed": summary["config"]["sampling"]["seed"],
        "iterations": score.iterations,
        "known": sum(fact.known for fact in score.facts),
        "claimed": list(score.in_state("claimed")),
        "found_not_claimed": list(score.in_state("found")),
        "true_claims": score.precision.successes,
        "counted_claims": score.precision.n,
        "open_claims": sum(claim["verdict"] == "open" for claim in judged),
        "not_true": [
            c["text"] for c in judged if c["verdict"] not in ("true", "open", "restatement")
        ],
        "unknown_claimed": len(score.unknown_claimed),
        "brier": score.calibration.brier,
        "censors": score.censorship.censors,
        "censorship_claimed": score.censorship.claimed,
        "calls": spent["calls"],
        "completion_tokens": spent["completion_tokens"],
        "seconds": seconds,
    }


# --- the page -----------------------------------------------------------------------------------


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the table of the runs, one line per organism."""
    yield (
        "| organism | runs | facts claimed, mean (range) | 95 % t interval | precision, pooled "
        "(Wilson) | claims that are not true | unknown facts claimed | censorship claimed | Brier | "
        "calls | tokens made |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for name in dict.fromkeys(row["organism"] for row in rows):
        yield _line(name, [row for row in rows if row["organism"] == name])


def _line(name: str, runs: Sequence[Row]) -> str:
    claimed = mean_interval([len(run["claimed"]) for run in runs])
    known = runs[0]["known"]
    true, counted = (sum(run[key] for run in runs) for key in ("true_claims", "counted_claims"))
    low, high = wilson(true, counted)
    precision = f"{true}/{counted} ({low:.2f} to {high:.2f})" if counted else "no claims"
    interval = (
        "-"
        if claimed.low is None or claimed.high is None
        else f"{max(claimed.low, 0):.1f} to {min(claimed.high, known):.1f}"
    )
    briers = [run["brier"] for run in runs if run["brier"] is not None]
    found = sum(run["censorship_claimed"] for run in runs)
    wanted = len(runs) if runs[0]["censors"] else 0
    cells = [
        f"`{name}`",
        str(len(runs)),
        f"{claimed.mean:.1f} of {known} ({claimed.minimum:.0f} to {claimed.maximum:.0f})",
        interval if known else "-",
        precision,
        str(counted - true),
        str(sum(run["unknown_claimed"] for run in runs)),
        f"{found} of {len(runs)} ({'as' if found == wanted else 'not as'} it should be)",
        f"{sum(briers) / len(briers):.3f}" if briers else "-",
        f"{sum(run['calls'] for run in runs) / len(runs):.0f}",
        f"{sum(run['completion_tokens'] for run in runs) / len(runs):,.0f}",
    ]
    return "| " + " | ".join(cells) + " |"


def sentence(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the README's sentence: the held-out organism, and those that know nothing."""
    runs = [row for row in rows if row["organism"] == HELD_OUT]
    if not runs:
        return
    claimed = sum(len(run["claimed"]) for run in runs) / len(runs)
    true, counted = (sum(run[key] for run in runs) for key in ("true_claims", "counted_claims"))
    ignorant = [row for row in rows if not row["known"]]
    invented = sum(row["counted_claims"] for row in ignorant)
    yield (
        f"The rules audited `{HELD_OUT}`, an organism that they were not developed on, {len(runs)} "
        f"times: they claimed {claimed:.1f} of {runs[0]['known']} facts per audit, and {true} of "
        f"{counted} claims were true. In {len(ignorant)} audits of organisms without any facts "
        f"they claimed {invented}."
    )


def page(text: str, lines: Iterable[str]) -> str:
    """Return the page with these lines between its marks."""
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    return "\n".join([f"{head}{BEGIN}", *lines, f"{END}{tail}"])


def _sorted(rows: Sequence[Row]) -> list[Row]:
    order = list(load_organisms())
    return sorted(rows, key=lambda row: (order.index(row["organism"]), row["seed"]))


def _kept(names: Sequence[str]) -> list[Row]:
    if not COUNTS.exists():
        return []
    runs = json.loads(COUNTS.read_text("utf-8"))["runs"]
    return [row for row in runs if row["organism"] not in names]


def _write(rows: Sequence[Row]) -> None:
    COUNTS.parent.mkdir(exist_ok=True)
    counts = {"package_version": __version__, "runs": rows}
    COUNTS.write_text(json.dumps(counts, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for path, lines in ((PAGE, table(rows)), (README, sentence(rows))):
        path.write_text(page(path.read_text("utf-8"), lines), "utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
