"""Where a Chromium is, and how it is started for tests, pictures and measurements.

Nothing of it goes out to the network by itself, and nothing of it outlives the process.
"""

from __future__ import annotations

import importlib.util
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""What a Chromium is called on the PATH; tools/browser.sh looks for the same."""
FLAGS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",  # where /dev/shm is small, pages crash
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",  # root in a container cannot have one
)


def find_chromium() -> str | None:
    """Return the path of a Chromium, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def lacking() -> str:
    """Say what is missing for the browser to be driven, and what to do; empty if nothing is."""
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed (make extras)"
    return "" if find_chromium() else "no Chromium is found (make browser)"


def launch(playwright: Playwright) -> Browser:
    """Start a Chromium with a fresh profile, which is removed when it is closed.

    Raises:
        FileNotFoundError: there is none.
    """
    path = find_chromium()
    if path is None:
        raise FileNotFoundError(lacking())
    return playwright.chromium.launch(executable_path=path, args=list(FLAGS))
