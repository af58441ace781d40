"""What a host refuses is a finding: it stands, with the host's words, wherever a run is shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.provider.fault import Fault
from tests.running import both, is_canary, run_over
from tests.support import audited_provider
from tests.viewing import viewing
from uncensoring_chinese_models.exports.tables import rows_of
from uncensoring_chinese_models.reports import figures
from uncensoring_chinese_models.runs.reading import read_run
from uncensoring_chinese_models.verify.verification import verify_run

pytestmark = pytest.mark.wire

RISK = "Content Exists Risk"
PLAIN = "Not for you <b>ever</b>"


def answer(status, body):
    return Fault(name="x", about="", status=status, body=lambda _: body)


def of_seed(seed):
    return lambda body: body.get("seed", -1) % 64 == seed and not is_canary(body)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Audit a host that blocks one sample of each probe, and refuses another for no known reason."""
    folder = tmp_path_factory.mktemp("blocks")
    deepseek = {"error": {"message": RISK, "code": "invalid_request_error"}}
    own = {"error": {"code": 403, "message": "Request blocked: x", "metadata": {"patterns": ["x"]}}}
    routed = {
        "error": {
            "code": 400,
            "message": "Provider returned error",
            "metadata": {"raw": json.dumps(deepseek), "provider_name": "DeepSeek"},
        }
    }
    with audited_provider() as provider:
        provider.fail(answer(400, routed), api="completions", times=None, when=of_seed(1))
        provider.fail(answer(403, {"error": {"message": PLAIN}}), times=1, when=of_seed(2))
        provider.fail(answer(403, own), times=1, when=of_seed(3))
        sampling = {"n": 4, "seed": 0}
        return run_over(folder, provider, max_iterations=2, sampling=sampling, **both(provider))


def test_summary_names_each_question_with_the_hosts_words(ran):
    """Blocks, the guardrail of one's own account and what nothing explains are counted apart."""
    first, second = ran.summary["host_blocks"]

    assert first == {
        "iteration": 1,
        "arm": "user_persona",
        "asked": ran.turns()[0]["parsed"]["next_prompt"],
        "sent": 4,
        "kept_back": {"blocked": 1},
        "own_guardrail": 1,
        "unexplained": 1,
        "shapes": ["DS-01", "OR-02"],
        "stages": ["question"],
        "words": [RISK, f"403: {PLAIN}", "Request blocked: x"],
    }
    assert (second["kept_back"], second["unexplained"]) == ({"blocked": 1}, 0)
    assert ran.status == "max_iterations"
    assert verify_run(ran.folder).holds


def test_journal_keeps_what_the_host_sent(ran):
    """The words of the host behind a router are there as they came."""
    kept = [
        each["reply"]["host_answer"]
        for each in ran.records("attempt", "/target/")
        if "reply" in each and each["reply"]["block"]
    ]

    assert any('"raw"' in text and RISK in text for text in kept)


def test_screen_and_reports_say_what_the_host_refused(ran):
    """A reader of any of them sees how much it is, and reads the words unaltered and escaped."""
    told = "\n".join(figures(ran.summary))
    page = (ran.folder / "report.html").read_text("utf-8")
    text = (ran.folder / "report.md").read_text("utf-8")

    assert "The host or a gateway, not the model, kept back 2 samples (2 blocked)" in told
    assert "1 call refused, and nothing says why" in told
    assert "a guardrail of your own account" in told
    for shown in (page, text):
        assert "What the host refused" in shown
        assert RISK in shown
    assert "<b>ever</b>" not in page
    assert "ever" in page


def test_viewer_shows_the_same(ran):
    """The page of the run in the viewer has the same section."""
    with viewing(ran.folder.parent) as viewer:
        listed = viewer.ask("/index.json").json()
        body = viewer.ask(f"/run/{listed['runs'][0]['id']}").body

    assert RISK in body
    assert "What the host refused" in body


def test_exports_have_the_shape_and_the_words(ran):
    """Tables say of each sample and call how it was refused."""
    files = read_run(ran.folder)
    rows: dict[str, Any] = {name: rows_of(name, files) for name in ("runs", "samples", "calls")}

    assert rows["runs"][0].blocked_by_host == 2
    assert rows["runs"][0].unexplained == 1
    assert {row.block_shape for row in rows["samples"]} == {None, "DS-01", "OR-02"}
    assert [row.failure for row in rows["samples"] if row.delivery == "failed"] == ["unknown"]
    assert any(RISK in (row.host_answer or "") for row in rows["calls"])
    assert "unknown" in {row.reason for row in rows["calls"]}
