"""Take the README's pictures in a real browser, from real runs.

    python -m tools.screenshots [RUN_DIR] [--into docs/pictures]

Without a run directory, organisms are audited as `make demo` does, which takes some minutes. The
viewer is shown over all the runs that lie beside the run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.viewing import viewing
from tools.chromium import launch

from uncensoring_chinese_models.reports.pages.render import report_html
from uncensoring_chinese_models.runs.reading import read_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, Locator, Page

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
ORGANISMS = ("lies", "honest", "hides")
"""Audited where no run is given; the last is the one whose report is shown."""
LARGEST_BYTES = 300_000
LOOKS = {
    "": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "-small": {
        "viewport": {"width": 360, "height": 720},
        "color_scheme": "dark",
        "device_scale_factor": 1.5,
    },
}
"""How pictures are taken, by what their names end in: by day on a desk, by night on a phone."""


def main() -> int:
    """Take the pictures, and say what they weigh."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - make extras installs it

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("run", nargs="?", type=Path, help="a run directory")
    parser.add_argument("--into", type=Path, default=PICTURES, help="folder for the pictures")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        run = options.run or _audited(Path(work))
        browser = launch(playwright)
        taken = [*report_pictures(browser, run, options.into)]
        with viewing(run.resolve().parent) as served:
            taken += viewer_pictures(browser, served.address, options.into)
        browser.close()
    for path in taken:
        print(f"{path.stat().st_size / 1000:6.0f} kB  {path}")
    heavy = [path.name for path in taken if path.stat().st_size > LARGEST_BYTES]
    if heavy:
        print(f"Too large for a README: {', '.join(heavy)}.", file=sys.stderr)
    return 1 if heavy else 0


def _audited(folder: Path) -> Path:
    """Audit some organisms, and return the last run."""
    for name in ORGANISMS:
        words = [sys.executable, "-m", "uncensoring_chinese_models", "demo", name]
        subprocess.run(words, cwd=folder, check=True)
    (run,) = (folder / "outputs" / "demo").glob(f"organism-{ORGANISMS[-1]}_*")
    return run


def report_pictures(browser: Browser, run: Path, into: Path) -> Iterator[Path]:
    """Take the first screen of a run's report, and a hypothesis with an excerpt opened."""
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "report.html"
        path.write_text(report_html(read_run(run)), "utf-8")
        for ending in LOOKS:
            with _page(browser, ending) as page:
                page.goto(path.as_uri())
                yield _taken(page, into / f"report{ending}.png")
                card = page.locator("article.card:has(li.excerpt.counts)").first
                card.locator("li.excerpt.counts summary").first.click()
                yield _taken(card, into / f"hypothesis{ending}.png")


def viewer_pictures(browser: Browser, address: str, into: Path) -> Iterator[Path]:
    """Take the viewer's first page."""
    for ending in LOOKS:
        with _page(browser, ending) as page:
            page.goto(address)
            while page.locator("p.warning[role=status]").count():  # runs are still being read
                page.wait_for_timeout(500)
                page.reload()
            yield _taken(page, into / f"viewer{ending}.png")


@contextmanager
def _page(browser: Browser, ending: str) -> Iterator[Page]:
    context: BrowserContext = browser.new_context(**LOOKS[ending], reduced_motion="reduce")  # type: ignore[arg-type]
    yield context.new_page()
    context.close()


def _taken(seen: Page | Locator, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    seen.screenshot(path=path)
    return path


if __name__ == "__main__":
    sys.exit(main())
