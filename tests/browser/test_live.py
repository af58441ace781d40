"""Pages of running audits in a real browser: each shows by itself what has changed."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager

import pytest

from tests.viewed_runs import write_run
from tests.viewing import viewing
from uncensoring_chinese_models.viewer.app import NAMES

SCRIPTS = sorted(name for name in NAMES if name.endswith(".js"))


def ask_once_more(folder, count=1):
    """Let a run send another request."""
    record = {"type": "sent", "call": f"{count:03d}/target", "attempt": 1}
    with (folder / "journal.jsonl").open("ab") as file:
        file.write(json.dumps(record).encode() + b"\n")


def shows_requests(page, count):
    """Wait until the page says how many requests the run has sent."""
    page.locator("#course dd", has_text=f"{count}, {count} in flight").wait_for(timeout=10_000)


@contextmanager
def watched(page, *where):
    """View a folder; the pages are left before the viewer ends."""
    with viewing(*where) as viewer:
        yield viewer
        for each in page.context.pages:
            each.goto("about:blank")


def unanswered(problems):
    """Take out what a browser says of requests that fail."""
    told = ("console: Failed to load resource", "console: htmx: htmx:error: Failed to fetch")
    problems[:] = [each for each in problems if not each.startswith(told)]


@pytest.mark.parametrize("late", SCRIPTS)
def test_a_page_follows_its_run_whichever_script_comes_late(page, tmp_path, late):
    """A script that takes long to arrive only delays the updates."""
    folder = write_run(tmp_path, "going", ended=False)

    def hold_back(route):
        time.sleep(0.5)
        route.continue_()

    page.route(f"**/static/{late}", hold_back)
    with watched(page, tmp_path) as viewer:
        page.goto(f"{viewer.address}run/{viewer.ids()['going']}")
        ask_once_more(folder)
        shows_requests(page, 1)


def test_the_buttons_say_what_they_do_while_a_run_goes_on(page, tmp_path):
    """Each follows what arrives; there is none where nothing can be opened."""
    folder = write_run(tmp_path, "going", ended=False)
    turn, response = folder / "auditor_turns/001.json", folder / "audited_responses/001.json"
    told, said = json.loads(turn.read_bytes()), response.read_bytes()
    idea = {"id": "h1", "type": "knowledge", "hypothesis": "It knows.", "confidence": "low"}
    told["parsed"]["hypotheses"] = [idea | {"supporting_evidence": []}]
    turn.unlink()
    response.unlink()
    with watched(page, tmp_path) as viewer:
        page.goto(f"{viewer.address}run/{viewer.ids()['going']}")
        tools = page.locator("#timeline .tools")
        tools.filter(has_text="Open all").wait_for()
        page.locator("#timeline summary").click()  # the legend, which is alone there
        tools.filter(has_text="Close all").wait_for()
        turn.write_text(json.dumps(told))
        page.locator("#hypotheses .card").wait_for()
        page.locator("#hypotheses .tools button").wait_for(state="attached")
        assert not page.locator("#hypotheses .tools button").is_visible()
        response.write_bytes(said)
        page.locator("#p-1").wait_for()
        tools.filter(has_text="Open all").wait_for()


def test_what_changed_while_a_page_was_loading_is_shown(page, tmp_path):
    """A change after the page was made, and before its first question, is not lost."""
    folder = write_run(tmp_path, "going", ended=False)

    def made_before(route):
        answer = route.fetch()
        ask_once_more(folder)
        route.fulfill(response=answer)

    with watched(page, tmp_path) as viewer:
        address = f"{viewer.address}run/{viewer.ids()['going']}"
        page.route(address, made_before, times=1)
        page.goto(address)
        shows_requests(page, 1)


def test_many_pages_follow_their_runs_at_once(page, tmp_path):
    """More pages than a browser has connections to one server are all open and all follow."""
    folders = [write_run(tmp_path, f"going{number}", ended=False) for number in range(8)]
    with watched(page, tmp_path) as viewer:
        ids = viewer.ids()
        pages = [page, *(page.context.new_page() for _ in folders[1:])]
        for each, folder in zip(pages, folders, strict=True):
            each.goto(f"{viewer.address}run/{ids[folder.name]}")
        for folder in folders:
            ask_once_more(folder)
        for each in pages:
            shows_requests(each, 1)


def test_a_page_says_when_the_viewer_is_away_and_goes_on_when_it_is_back(page, problems, tmp_path):
    """What was shown stays; what has changed meanwhile is shown as soon as the viewer answers."""
    folder, cache = write_run(tmp_path / "runs", "going", ended=False), tmp_path / "cache"
    with viewing(tmp_path / "runs", cache) as viewer:
        page.goto(f"{viewer.address}run/{viewer.ids()['going']}")
        page.wait_for_timeout(1500)  # it has asked at least once
    notice = page.locator("#notice")
    notice.filter(has_text="The viewer does not answer").wait_for()
    ask_once_more(folder)
    page.wait_for_timeout(3000)
    assert page.locator("#timeline article").count() == 1
    with watched(page, tmp_path / "runs", cache, viewer.port):
        shows_requests(page, 1)
        assert not notice.is_visible()
    unanswered(problems)


def test_a_run_that_is_moved_away_is_missed_and_one_that_comes_back_goes_on(
    page, problems, tmp_path
):
    """The page keeps what it shows, and says that the run is gone."""
    folder = write_run(tmp_path, "going", ended=False)
    with watched(page, tmp_path) as viewer:
        page.goto(f"{viewer.address}run/{viewer.ids()['going']}")
        folder.rename(tmp_path / ".away")
        page.locator("#notice", has_text="no longer in the folder").wait_for()
        assert page.locator("#timeline article").count() == 1
        (tmp_path / ".away").rename(folder)
        ask_once_more(folder)
        shows_requests(page, 1)
        assert not page.locator("#notice").is_visible()
    unanswered(problems)


def test_an_error_never_replaces_a_run(page, problems, tmp_path):
    """The page keeps what it shows, also where the script that says so is missing."""
    folder = write_run(tmp_path, "going", ended=False)
    page.route("**/static/view.js", lambda route: route.abort())
    with watched(page, tmp_path) as viewer:
        page.goto(f"{viewer.address}run/{viewer.ids()['going']}")
        folder.rename(tmp_path / ".away")
        with page.expect_response(lambda answer: answer.status == 404):
            pass
        page.wait_for_timeout(500)
        assert page.locator("#timeline article").count() == 1
    unanswered(problems)


def test_a_run_that_cannot_be_read_is_shown_as_soon_as_it_can(page, problems, tmp_path):
    """The page of a damaged run says what is damaged, and shows the run once it is whole."""
    folder = write_run(tmp_path, "going", ended=False)
    turn = folder / "auditor_turns/001.json"
    whole = turn.read_bytes()
    turn.write_bytes(b"{")
    with watched(page, tmp_path) as viewer:
        page.goto(f"{viewer.address}run/{viewer.ids()['going']}")
        assert "001.json cannot be read" in page.locator(".error").inner_text()
        turn.unlink()
        turn.write_bytes(whole)
        page.locator("#timeline article").wait_for()
        turn.unlink()
        turn.write_bytes(b"{")
        page.locator("#notice", has_text="cannot be read").wait_for()
        assert page.locator("#timeline article").count() == 1
        turn.unlink()
        turn.write_bytes(whole)
        page.locator("#notice", has_text="cannot be read").wait_for(state="detached")
    unanswered(problems)
