"""Answers that never end: given up in time, and counted as perhaps paid for."""

from __future__ import annotations

import pytest

from tests.running import (
    HANGING,
    KEY,
    KEY_VARIABLE,
    asked,
    both,
    endpoint,
    opens_again,
    run_over,
)
from tests.support import audited_provider
from uncensoring_chinese_models.models import http_api

pytestmark = pytest.mark.wire

PATIENCE_S = 0.3
"""The time-out of an endpoint that never answers."""


def impatient(provider, side, timeout_s):
    """Let one endpoint be given up soon, and the other be waited for."""
    changes = {"timeout_s": timeout_s, "api_key_env": KEY_VARIABLE}
    settings = both(provider, api_key_env=KEY_VARIABLE)
    name = {"auditor": "auditing_endpoint", "target": "audited_endpoint"}[side]
    settings[name] = endpoint(provider, **{**settings[name], **changes})
    return settings


@pytest.fixture(autouse=True)
def key(monkeypatch):
    """Give both sides a key."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)


@pytest.mark.parametrize("shape", HANGING)
def test_target_that_never_answers_is_given_up(tmp_path, shape):
    """Each attempt ends with its time-out; the sample failed, and each attempt may be billed."""
    with audited_provider() as provider:
        provider.fail(shape, api="completions", times=None)
        ran = run_over(tmp_path, provider, **impatient(provider, "target", PATIENCE_S))

    assert len(asked(provider, "target")) == 4
    assert 4 * PATIENCE_S <= ran.seconds < 4 * PATIENCE_S + 15
    (sample,) = ran.samples()
    assert (sample["delivery"], sample["text"], sample["own_words"]) == ("failed", None, "")
    assert sample["error"] == f"127.0.0.1:{provider.port} did not answer within 0.3 s"
    assert [error["maybe_billed"] for error in ran.errors("/target/")] == [True] * 4
    assert len(ran.failures_told) == 4
    fruitless = ran.summary["spend"]["by_role"]["target"]["fruitless_attempts"]
    assert (fruitless["failed"], fruitless["maybe_billed"]) == (4, 4)
    assert fruitless["maybe_billed_usd"] > 0
    assert ran.holds(KEY) == []
    assert opens_again(ran.folder)


@pytest.mark.parametrize("shape", HANGING)
def test_auditor_that_never_answers_ends_the_run(tmp_path, shape):
    """The auditor is given up after its attempts, and the run says why."""
    with audited_provider() as provider:
        provider.fail(shape, api="chat", times=None)
        ran = run_over(tmp_path, provider, **impatient(provider, "auditor", PATIENCE_S))

    assert len(asked(provider, "auditor")) == 4
    assert ran.seconds < 4 * PATIENCE_S + 15
    assert ran.status == "auditor_failed"
    assert "did not answer within 0.3 s" in ran.summary["status_detail"]
    fruitless = ran.summary["spend"]["by_role"]["auditor"]["fruitless_attempts"]
    assert (fruitless["failed"], fruitless["maybe_billed"]) == (4, 4)
    assert ran.turns() == []
    assert opens_again(ran.folder)


@pytest.mark.parametrize(("side", "api"), [("target", "completions"), ("auditor", "chat")])
@pytest.mark.parametrize("shape", HANGING)
def test_answer_that_hangs_once_is_asked_for_again(tmp_path, shape, side, api):
    """One lost answer is got over, and still counts as perhaps paid for."""
    with audited_provider() as provider:
        provider.fail(shape, api=api)
        ran = run_over(tmp_path, provider, **impatient(provider, side, 1.5))

    assert ran.status == "max_iterations"
    assert ran.samples()[0]["delivery"] == "complete"
    assert [error["maybe_billed"] for error in ran.errors()] == [True]
    fruitless = ran.summary["spend"]["by_role"][side]["fruitless_attempts"]
    assert (fruitless["failed"], fruitless["maybe_billed"]) == (1, 1)


def test_time_for_one_call_bounds_all_its_attempts(tmp_path):
    """From the first failure on, attempts use up the time for the call, however many are allowed."""
    retries = {"max_attempts": 50, "first_wait_s": 0, "max_wait_s": 0.5}
    with audited_provider() as provider:
        provider.fail("hang_before_headers", api="completions", times=None)
        settings = impatient(provider, "target", PATIENCE_S)
        ran = run_over(tmp_path, provider, retries=retries, **settings)

    assert len(asked(provider, "target")) <= 3
    assert ran.samples()[0]["delivery"] == "failed"


def test_slow_answer_within_its_time_is_an_answer(tmp_path):
    """Bytes that come one by one are waited for as long as the time-out allows."""
    with audited_provider() as provider:
        provider.fail("slow_drip", times=None)
        ran = run_over(tmp_path, provider, **both(provider))

    assert ran.samples()[0]["delivery"] == "complete"
    assert ran.errors() == []


@pytest.mark.parametrize(("shape", "maybe_billed"), [("429", 0), ("close_mid_body", 1)])
def test_only_an_answer_that_may_have_been_written_may_be_billed(tmp_path, shape, maybe_billed):
    """A clean error costs nothing; an answer that was lost on its way may have been charged."""
    with audited_provider() as provider:
        provider.fail(shape, api="completions")
        ran = run_over(tmp_path, provider, **both(provider))

    assert [error["maybe_billed"] for error in ran.errors()] == [bool(maybe_billed)]
    fruitless = ran.summary["spend"]["by_role"]["target"]["fruitless_attempts"]
    assert (fruitless["failed"], fruitless["maybe_billed"]) == (1, maybe_billed)


def test_list_of_models_that_never_comes_is_not_waited_for(tmp_path, monkeypatch):
    """Prices that nobody tells are unknown; the audit begins without them."""
    monkeypatch.setattr(http_api, "CATALOGUE_TIMEOUT_S", PATIENCE_S)
    with audited_provider() as provider:
        provider.fail("hang_before_headers", api="models", times=None)
        ran = run_over(tmp_path, provider, **both(provider, price=None))

    assert provider.count("models") == 2
    assert ran.seconds < 2 * PATIENCE_S + 10
    assert ran.status == "max_iterations"
