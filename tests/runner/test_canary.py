"""A refusal that nothing explains: one harmless prompt on the same route decides whether the run goes on."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from typing import Any

import pytest

from tests.provider.fault import Fault
from tests.running import both, canaries, is_canary, opens_again, run_over
from tests.support import audited_provider
from uncensoring_chinese_models.domain import Call, CallKey
from uncensoring_chinese_models.errors import FatalError
from uncensoring_chinese_models.models.canary import OPENING, canary_of
from uncensoring_chinese_models.verify.verification import verify_run

pytestmark = pytest.mark.wire

WORDS = "This is not for you."
"""They say nothing of what it is about."""
SENSITIVE = "您的输入包含敏感内容，请修改后重试"


def refusing(status=403, words=WORDS):
    """Return an error in no known shape."""
    body: dict[str, Any] = {"error": {"code": status, "message": words}}
    return Fault(name=f"plain_{status}", about="", status=status, body=lambda _: body)


def is_question(body):
    return not is_canary(body)


def refuse(provider, *, api="completions", status=403, when=is_question, times=1, after=0):
    return provider.fail(refusing(status), api=api, when=when, times=times, after=after)


def run(tmp_path, provider, **changes):
    tmp_path.mkdir(exist_ok=True)
    return run_over(tmp_path, provider, **{"max_iterations": 3, **both(provider), **changes})


def without_times(summary):
    """Return a summary without what differs between any two runs."""
    text = json.dumps({**summary, "config": None, "sha256": None, "spend": None, "servers": None})
    return [
        line
        for line in json.dumps(json.loads(text), indent=0).splitlines()
        if "_at" not in line and "run" not in line
    ]


# --- the target -----------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 403, 422])
def test_refusal_in_the_middle_of_a_run_does_not_end_it(tmp_path, status):
    """The harmless prompt is answered: the sample failed for an unknown reason, and the run goes on."""
    with audited_provider() as provider:
        refuse(provider, status=status, after=1)
        ran = run(tmp_path, provider)

    assert ran.status == "max_iterations"
    assert [ran.samples(number)[0]["delivery"] for number in (1, 2, 3)] == [
        "complete",
        "failed",
        "complete",
    ]
    (refused,) = ran.samples(2)
    assert refused["failure"] == "unknown"
    assert WORDS in refused["error"]
    assert len(canaries(provider)) == 1
    (sent,) = ran.records("sent", "/canary/")
    assert sent["call"] == "002/target/canary/completions/0"
    assert any("A harmless prompt on the same route was answered" in line for line in ran.warnings)
    assert verify_run(ran.folder).holds


def test_refused_canary_ends_the_run_which_can_be_resumed(tmp_path):
    """The route refuses everything: nothing more is sent, and resuming asks the refused calls again."""
    with audited_provider() as provider:
        whole = run(tmp_path / "whole", provider)
        rule = refuse(provider, when=None, times=None, after=1)
        ran = run(tmp_path / "cut", provider)

        assert type(ran.error) is FatalError
        assert ran.error.exit_code == 3
        assert "not about the question" in ran.error.message
        assert rule.hits == 2
        assert not (ran.folder / "summary.json").exists()
        assert opens_again(ran.folder)
        provider.heal()
        resumed = run(tmp_path / "cut", provider, resume=ran.folder)

    assert resumed.status == "max_iterations"
    assert without_times(resumed.summary) == without_times(whole.summary)
    assert verify_run(ran.folder).holds


def test_blocked_canary_counts_as_refused(tmp_path):
    """A host that blocks a harmless prompt blocks everything; its answer is asked for again later."""
    with audited_provider() as provider:
        refuse(provider, times=None)
        provider.fail("403_moderation", api="completions", when=is_canary, times=None)
        ran = run(tmp_path, provider)
        provider.heal()
        resumed = run(tmp_path, provider, resume=ran.folder)

    assert type(ran.error) is FatalError
    assert resumed.status == "max_iterations"
    assert resumed.summary["denominators"]["samples"]["by_delivery"]["complete"] == 3
    assert verify_run(ran.folder).holds


def test_outage_of_the_canary_says_nothing(tmp_path):
    """A canary that meets an outage is no refusal: the run goes on."""
    with audited_provider() as provider:
        refuse(provider)
        provider.fail("500", api="completions", when=is_canary, times=None)
        ran = run(tmp_path, provider)

    assert ran.status == "max_iterations"
    assert any("met an outage, which says nothing" in line for line in ran.warnings)
    assert verify_run(ran.folder).holds


def test_canary_that_a_filter_stops_names_the_finish_reason(tmp_path):
    """A filter need not say a word; its finish reason is told."""
    stopped = {"choices": [{"index": 0, "text": "Par", "finish_reason": "content_filter"}]}
    with audited_provider() as provider:
        refuse(provider, times=None)
        filtered = Fault(name="filtered", about="", status=200, body=lambda _: stopped)
        provider.fail(filtered, api="completions", when=is_canary, times=None)
        ran = run(tmp_path, provider)

    assert type(ran.error) is FatalError
    assert "the host blocked it: content_filter" in ran.error.message


def test_refusals_at_once_share_one_canary_of_their_route(tmp_path):
    """Many samples are refused at once on two routes: one canary each."""
    sampling = {"arms": ["user_persona", "assistant", "raw"], "n": 4}
    with audited_provider() as provider:
        refuse(provider, times=None)
        refuse(
            provider,
            api="chat",
            times=None,
            when=lambda body: is_question(body) and len(body["messages"]) == 1,
        )
        ran = run(tmp_path, provider, max_iterations=1, sampling=sampling)

    found = Counter(each.api for each in canaries(provider))
    assert found == {"completions": 1, "chat": 1}
    assert len(ran.samples(1)) == 12
    assert {each["failure"] for each in ran.samples(1)} == {"unknown"}
    assert ran.status == "target_failed"
    assert verify_run(ran.folder).holds


def test_canary_is_not_sent_behind_all_that_wait(tmp_path):
    """Forty samples are planned; the second is refused, and soon after it the run ends."""
    with audited_provider() as provider:
        limits = {name: {**each, "max_concurrency": 1} for name, each in both(provider).items()}
        refuse(provider, when=None, times=None, after=1)
        ran = run(tmp_path, provider, sampling={"n": 40}, **limits)

    assert type(ran.error) is FatalError
    assert str(ran.error).count(WORDS) == 1
    assert len(canaries(provider)) == 1
    assert len([each for each in provider.requests if each.api == "completions"]) < 12


# --- the auditor ----------------------------------------------------------------------------------


def of_auditor(body):
    return is_question(body) and len(body["messages"]) > 1


def test_auditor_whose_route_refuses_everything_ends_the_run(tmp_path):
    """The auditor's host takes no harmless prompt either: the run ends, and resuming goes on."""
    with audited_provider() as provider:
        refuse(provider, api="chat", when=None, times=None, after=1)
        ran = run(tmp_path, provider)
        provider.heal()
        resumed = run(tmp_path, provider, resume=ran.folder)

    assert type(ran.error) is FatalError
    assert len([each for each in canaries(provider) if each.api == "chat"]) == 1
    assert resumed.status == "max_iterations"
    assert verify_run(ran.folder).holds


def test_auditor_whose_request_alone_is_refused_has_failed(tmp_path):
    """The harmless prompt is answered: it is the request, so the audit ends with what it has."""
    with audited_provider() as provider:
        refuse(provider, api="chat", when=of_auditor, times=None, after=2)
        ran = run(tmp_path, provider)

    assert ran.status == "auditor_failed"
    assert WORDS in ran.summary["status_detail"]
    assert ran.summary["total_iterations"] == 2
    assert verify_run(ran.folder).holds


def test_schema_that_is_refused_needs_no_canary(tmp_path):
    """An auditor that refuses a schema is asked without it; that explains the refusal."""
    with audited_provider() as provider:
        refuse(provider, api="chat", status=400, when=lambda body: "response_format" in body)
        ran = run(tmp_path, provider, max_iterations=1)

    assert ran.status == "max_iterations"
    assert canaries(provider) == []


def test_schema_that_was_refused_before_a_kill_is_not_sent_again(tmp_path):
    """The refusal is on disk, so a resumed run goes on without the schema."""
    with audited_provider() as provider:
        refuse(provider, api="chat", status=400, when=lambda body: "response_format" in body)
        whole = run(tmp_path, provider, max_iterations=1)
        journal = whole.folder / "journal.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        first = next(i for i, line in enumerate(lines) if b'"reason": "unknown"' in line)
        journal.write_bytes(b"".join(lines[: first + 1]))
        (whole.folder / "summary.json").unlink()
        made = len(provider.requests)
        resumed = run(tmp_path, provider, max_iterations=1, resume=whole.folder)

    sent = [each for each in provider.requests[made:] if "response_format" in each.body]
    assert sent == []
    assert resumed.status == "max_iterations"
    assert verify_run(whole.folder).holds


# --- broken off anywhere --------------------------------------------------------------------------


@pytest.mark.parametrize("is_refused", [False, True], ids=["answered", "refused first"])
@pytest.mark.parametrize("words", [WORDS, SENSITIVE], ids=["unknown", "content"])
def test_run_killed_at_any_line_resumes_without_repeating_a_call(tmp_path, is_refused, words):
    """After each line around the refusal and its canary, resuming gives the same and repeats no call."""
    sampling = {"n": 2}

    def refuse(provider, *, when=is_question, times, after=0):
        fault = refusing(400, words)
        return provider.fail(fault, api="completions", when=when, times=times, after=after)

    with audited_provider() as provider:
        refuse(provider, times=2, after=2)
        if is_refused:
            refuse(provider, when=is_canary, times=1)
        whole = run(tmp_path, provider, sampling=sampling)
        if is_refused:
            assert type(whole.error) is FatalError
            refuse(provider, times=2, after=0)
            whole = run(tmp_path, provider, sampling=sampling, resume=whole.folder)
        assert whole.status == "max_iterations"
        lines = (whole.folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
        kinds = [json.loads(line) for line in lines]
        first = next(i for i, each in enumerate(kinds) if each.get("error"))
        last = max(i for i, each in enumerate(kinds) if "/canary/" in each.get("call", ""))
        for number in range(first, min(last + 4, len(lines))):
            folder = tmp_path / "runs" / f"cut-{number}-{is_refused}"
            shutil.copytree(whole.folder, folder)
            (folder / "summary.json").unlink()
            (folder / "journal.jsonl").write_bytes(b"".join(lines[: number + 1]))
            provider.heal()

            resumed = run(tmp_path, provider, sampling=sampling, resume=folder)

            assert resumed.status == "max_iterations"
            settled = {
                each["call"]
                for each in kinds[: number + 1]
                if each["type"] == "attempt" and ("reply" in each or not is_refused)
            }
            again = [
                each["call"]
                for each in resumed.records("sent")[
                    sum(k["type"] == "sent" for k in kinds[: number + 1]) :
                ]
            ]
            assert not settled & set(again)
            assert verify_run(folder).holds
            shutil.rmtree(folder)


# --- the request ----------------------------------------------------------------------------------


def test_canary_is_the_same_for_every_call_of_a_route():
    """It keeps what belongs to the route (model, provider, settings) and nothing of the question."""
    common = {"model": "x/y", "provider": {"only": ["z"]}, "temperature": 0.7, "plugins": []}
    bodies = [
        {**common, "prompt": "About 1989", "max_tokens": 500, "stop": ["x"], "seed": 5},
        {**common, "prompt": "Another", "max_tokens": 20},
    ]
    found = [
        canary_of(Call(CallKey(2, "target", "sample", 0, arm, index), "completions", body))
        for index, (arm, body) in enumerate(zip(("raw", "user_persona"), bodies, strict=True))
    ]

    assert found[0] == found[1]
    assert found[0].body == {**common, "prompt": OPENING, "max_tokens": 16}
    assert str(found[0].key) == "002/target/canary/completions/0"


# --- words that speak of the content --------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 403, 500])
def test_refusal_that_speaks_of_the_content_is_a_suspected_block(tmp_path, status):
    """The harmless prompt is answered, so it is about this prompt: the sample says so, with the words."""
    with audited_provider() as provider:
        provider.fail(
            refusing(status, SENSITIVE), api="completions", when=is_question, times=1, after=1
        )
        ran = run(tmp_path, provider)

    (refused,) = ran.samples(2)
    assert (refused["delivery"], refused["failure"]) == ("suspected_block", None)
    assert SENSITIVE in refused["error"]
    assert len(canaries(provider)) == 1
    (block,) = ran.summary["host_blocks"]
    assert (block["kept_back"], block["unexplained"]) == ({"suspected_block": 1}, 0)
    assert any("a suspected block" in line for line in ran.warnings)
    assert ran.status == "max_iterations"
    assert verify_run(ran.folder).holds


def test_words_about_the_content_prove_nothing_where_a_harmless_prompt_meets_them(tmp_path):
    """Some hosts say so of every request when the account is the reason: the run ends, and resumes."""
    with audited_provider() as provider:
        provider.fail(refusing(400, SENSITIVE), api="completions", times=None, after=1)
        ran = run(tmp_path, provider)
        provider.heal()
        resumed = run(tmp_path, provider, resume=ran.folder)

    assert type(ran.error) is FatalError
    assert "not about the question" in ran.error.message
    assert resumed.status == "max_iterations"
    assert resumed.summary["host_blocks"] == []
    assert verify_run(ran.folder).holds
