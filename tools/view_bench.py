"""Measure how large a report is and how fast it opens, and how fast the viewer lists many runs.

    python -m tools.view_bench [--samples 4000] [--runs 10000] [--render]

The large run is a real one against scripted models, 40 probes in two arms; the many runs are
copies of a small one, under other names. All of it is made anew in a temporary folder. The figures
go to docs/data/view.json; the table in docs/measurements/viewer.md is written from them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

from tests.provider import ScriptedTarget
from tests.provider.wire import digest
from tests.support import audit_here, audited_provider
from tests.viewing import viewing
from tools.chromium import launch

from uncensoring_chinese_models import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser
    from tests.provider import Ask

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "data" / "view.json"
PAGE = ROOT / "docs" / "measurements" / "viewer.md"
BEGIN, END = "<!-- view:begin -->", "<!-- view:end -->"
PROBES, ARMS, LENGTH = 40, ("user_persona", "assistant"), 300
TOPICS, MODELS = 20, 10
REPEATS = 7
Figures = dict[str, Any]


def main() -> int:
    """Run the benchmark, or write its table anew."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--render", action="store_true", help="write the table, run nothing")
    options = parser.parse_args()
    if not options.render:
        with tempfile.TemporaryDirectory() as work:
            found = measured(Path(work), options.samples, options.runs)
        FIGURES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    found = json.loads(FIGURES.read_text("utf-8"))
    page = PAGE.read_text("utf-8")
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{table(found)}\n{END}{after}", encoding="utf-8")
    print(table(found))
    return 0


def measured(work: Path, samples: int, runs: int) -> Figures:
    """Make the runs, open them, and return the figures.

    No run is made while the browser is open: it would hold the event loop.
    """
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - make extras installs it

    (work / "large").mkdir()
    print(f"A run of {samples} samples against scripted models …", file=sys.stderr)
    report = large_run(work / "large", samples) / "report.html"
    print(f"{runs} runs …", file=sys.stderr)
    (work / "many").mkdir()
    many_runs(small_run(work), work / "many", runs)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        told: Figures = {
            "version": __version__,
            "browser": browser.version,
            "cores": os.cpu_count(),
        }
        told |= {"report": _report(browser, report, samples)}
        told |= {"viewer": _viewer(browser, work / "many", runs)}
        browser.close()
    return told


# --- runs -----------------------------------------------------------------------------------------


def large_run(folder: Path, samples: int) -> Path:
    """Make a run of so many samples, each of 300 characters, no two of them the same."""
    script = ScriptedTarget(sentences=(4, 6))

    def say(ask: Ask) -> str:
        text = f"Page {digest(ask.body)[:8]}. {script.write(ask)} "
        return (text * LENGTH)[:LENGTH]

    n = samples // (PROBES * len(ARMS))
    sampling = {"n": n, "arms": list(ARMS), "seed": 1}
    with audited_provider(target=say) as provider:
        made = audit_here(
            folder, provider, max_iterations=PROBES, auditor_context="compact", sampling=sampling
        )
    if made.summary["denominators"]["samples"]["sent"] != samples:
        raise ValueError(f"{samples} samples do not divide by {PROBES} probes in {len(ARMS)} arms")
    return made.folder


def small_run(folder: Path) -> Path:
    """Make a run of one probe."""
    with audited_provider() as provider:
        return audit_here(folder, provider, max_iterations=1).folder


def many_runs(run: Path, folder: Path, count: int) -> None:
    """Copy a run under other names, topics and models; what stays the same is linked."""
    summary = json.loads((run / "summary.json").read_bytes())
    changed = ("summary.json", "report.html", "report.md")
    same = [path for path in run.rglob("*") if path.is_file() and path.name not in changed]
    for number in range(count):
        topic, model = f"Topic {number % TOPICS}", f"maker/model-{number // TOPICS % MODELS}"
        copy = folder / f"run-{number:05d}"
        for path in same:
            place = copy / path.relative_to(run)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.hardlink_to(path)
        summary["config"] |= {"topic": topic, "audited_model": model}
        (copy / "summary.json").write_text(json.dumps(summary), "utf-8")


# --- figures --------------------------------------------------------------------------------------


def _report(browser: Browser, path: Path, samples: int) -> Figures:
    told = {"samples": samples, "characters": LENGTH, "bytes": path.stat().st_size}
    return told | {"open_s": opened(browser, path.as_uri())}


def _viewer(browser: Browser, folder: Path, runs: int) -> Figures:
    """Start the viewer twice: without an index, and with the one that the first left."""
    told: Figures = {"runs": runs}
    for key in ("first_s", "restart_s"):
        begun = time.perf_counter()
        with viewing(folder, folder.with_name(f"{folder.name}.cache")) as served:
            listing = f"{served.address.rstrip('/')}/index.json"
            while not _has_all(json.loads(_asked(listing)), runs):
                time.sleep(0.2)
            told[key] = round(time.perf_counter() - begun, 2)
            told["page_s"] = _repeated(partial(_asked, served.address))
            told["json_s"] = _repeated(partial(_asked, listing))
            told["open_s"] = opened(browser, served.address)
    return told


def _has_all(listing: Figures, runs: int) -> bool:
    """Tell whether every run is listed, and none is still being read."""
    return not listing["indexing"] and int(listing["total"]) == runs


def _asked(address: str) -> bytes:
    with urlopen(address, timeout=600) as answer:  # noqa: S310 -- our own server
        content: bytes = answer.read()
    return content


def _repeated(act: Callable[[], object]) -> float:
    """Return the median of how long something takes."""
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        act()
        times.append(time.perf_counter() - begun)
    return round(median(times), 3)


def opened(browser: Browser, address: str) -> float:
    """Return the median time in seconds until a page has loaded, in a fresh context each time."""
    times: list[float] = []
    for _ in range(REPEATS):
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.goto(address, wait_until="load")
        timing = "() => performance.getEntriesByType('navigation')[0].loadEventEnd"
        page.wait_for_function(f"({timing})() > 0")
        times.append(page.evaluate(timing) / 1000)
        context.close()
    return round(median(times), 3)


# --- the table ------------------------------------------------------------------------------------


def table(found: Figures) -> str:
    """Return the table of the page."""
    report, many = found["report"], found["viewer"]
    rows = [
        (f"`report.html` of {report['samples']:,} samples", f"{report['bytes'] / 1e6:.2f} MB"),
        ("opening it", f"{report['open_s']:.2f} s"),
        (f"the viewer's first start over {many['runs']:,} runs", f"{many['first_s']:.0f} s"),
        ("any later start, until they are listed", f"{many['restart_s']:.1f} s"),
        ("its first page, from the server", f"{many['page_s']:.2f} s"),
        ("the same as JSON", f"{many['json_s']:.2f} s"),
        ("the same in the browser", f"{many['open_s']:.2f} s"),
    ]
    lines = ["| what | measured |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {name} | {value} |" for name, value in rows)])


if __name__ == "__main__":
    sys.exit(main())
