"""One Chromium for the tests of pages, and a page that fails a test for whatever goes wrong in it.

Playwright's synchronous API holds an event loop of its own in this thread for as long as it is
open, so that nothing else can run one: it is closed when the tests leave this folder, and whoever
wants a loop within it (an audit in this process) uses `driving.outside_its_loop`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tools.chromium import lacking, launch

from tests.browser.driving import Look, outside_its_loop, watch
from tests.browser.hostile_run import judged_battery, plain_run
from tests.conftest import NO_BROWSER


def pytest_collection_modifyitems(items):
    """Mark the tests of this folder, so that `make test` can leave them out."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def browser():
    """A Chromium; without one the test is skipped, or fails where a browser is required."""
    problem = lacking()
    if problem and os.environ.get("UCM_BROWSER") == "required":
        pytest.fail(f"{problem}, and UCM_BROWSER=required.", pytrace=False)
    if problem:
        pytest.skip(f"{NO_BROWSER}{problem}")
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - it may be missing

    with sync_playwright() as playwright:
        opened = launch(playwright)
        yield opened
        opened.close()


@pytest.fixture
def look():
    """How a page is looked at; a test that parametrises `look` looks otherwise."""
    return Look()


@pytest.fixture
def problems():
    """What went wrong in the page so far; a test that wants a problem takes it out."""
    return []


@pytest.fixture
def page(browser, look, problems):
    """A page in a context of its own; whatever goes wrong in it fails the test at its end."""
    context = browser.new_context(**look.context())
    context.set_default_timeout(20_000)
    opened = context.new_page()
    watch(opened, problems)
    yield opened
    context.close()
    assert problems == []


@pytest.fixture(scope="session")
def plain(tmp_path_factory):
    """The report of a small run, as the audit wrote it."""
    with outside_its_loop():
        return plain_run(tmp_path_factory.mktemp("plain")) / "report.html"


@pytest.fixture(scope="session")
def judged(tmp_path_factory):
    """What judging the facts of a battery gives."""
    with outside_its_loop():
        return judged_battery(tmp_path_factory.mktemp("battery"))
