"""Every shape in which a provider fails, on both endpoints: what is recorded, tried again, told.

One table says what must happen; the shapes are those of OpenRouter's documentation and of the
servers that speak its dialect. What is not in the table must at least do no harm.
"""

from __future__ import annotations

import json
import math
import socket
from typing import NamedTuple

import pytest

from tests.provider import FAULTS, Fault, ScriptedTarget
from tests.running import (
    FOUR_ATTEMPTS,
    HANGING,
    KEY,
    KEY_VARIABLE,
    asked,
    both,
    canaries,
    endpoint,
    is_target,
    opens_again,
    run_over,
    written_by_target,
)
from tests.support import audited_provider, fault_group, one_of_each
from uncensoring_chinese_models.domain import DELIVERIES
from uncensoring_chinese_models.errors import FatalError
from uncensoring_chinese_models.models import http_api

pytestmark = pytest.mark.wire


class Row(NamedTuple):
    """What must happen to one shape, when four attempts are allowed for each call."""

    shape: str
    target: str
    """The delivery of a sample while the fault lasts, or `stops` where it ends the run.

    checked: the sample has failed, and the run ends if a harmless prompt fails so too.
    """
    once: int
    """Requests for a sample when the fault strikes once; 2 means that the second is answered."""
    always: int
    """Requests for a sample when the fault lasts."""
    auditor: str
    """What becomes of the auditor's turn:

    retried: asked again in the same words. re-asked: asked again, and told what was wrong.
    schemaless: asked again without response_format. fails: it ends the run as auditor_failed.
    stops: it ends the run at once. fine: nothing is amiss.
    """
    auditor_always: int
    """Requests to the auditor when the fault lasts."""


UNLISTED = (498, 499, 520, 521, 522, 523, 524, 525, 526, 527, 530, 598, 599)
"""Statuses that no standard has; content networks and providers use them."""
TABLE = [
    Row(*row)
    for row in (
        # The request is wrong: it is never sent again, but for a schema that may be the cause.
        ("400", "checked", 1, 1, "schemaless", 2),
        ("400_unknown_model", "checked", 1, 1, "schemaless", 2),
        ("400_response_format", "checked", 1, 1, "schemaless", 2),
        ("400_context_length_exceeded", "failed", 1, 1, "schemaless", 2),
        ("400_vllm", "checked", 1, 1, "schemaless", 2),
        ("404", "failed", 1, 1, "schemaless", 2),
        ("404_no_endpoints", "failed", 1, 1, "schemaless", 2),
        ("404_data_policy", "failed", 1, 1, "schemaless", 2),
        ("413", "failed", 1, 1, "fails", 1),
        ("422", "checked", 1, 1, "schemaless", 2),
        ("422_fastapi", "failed", 1, 1, "schemaless", 2),
        ("418_unknown_status", "failed", 1, 1, "fails", 1),
        ("200_error_400", "checked", 1, 1, "schemaless", 2),
        ("200_error_404", "failed", 1, 1, "schemaless", 2),
        ("200_error_413", "failed", 1, 1, "fails", 1),
        ("200_error_422", "checked", 1, 1, "schemaless", 2),
        ("200_context_length_exceeded", "failed", 1, 1, "schemaless", 2),
        ("503_availability_final", "failed", 1, 1, "fails", 1),
        ("200_availability_final", "failed", 1, 1, "fails", 1),
        # No further call would succeed: the run stops at once.
        ("401", "stops", 1, 1, "stops", 1),
        ("402", "stops", 1, 1, "stops", 1),
        ("402_key_limit", "stops", 1, 1, "stops", 1),
        ("200_error_401", "stops", 1, 1, "stops", 1),
        ("200_error_402", "stops", 1, 1, "stops", 1),
        # Nothing says what it is about: a harmless prompt decides whether the run goes on.
        ("403_guardrail", "checked", 1, 1, "fails", 1),
        ("403_permission", "checked", 1, 1, "fails", 1),
        ("200_error_403_guardrail", "checked", 1, 1, "fails", 1),
        ("200_error_403_permission", "checked", 1, 1, "fails", 1),
        # The host's policy spoke: a finding about the target, recorded and never tried again.
        ("403_moderation", "blocked", 1, 1, "re-asked", 3),
        ("403_content_policy_violation", "blocked", 1, 1, "re-asked", 3),
        ("400_refusal", "blocked", 1, 1, "re-asked", 3),
        ("200_error_403_moderation", "blocked", 1, 1, "re-asked", 3),
        ("200_content_policy_violation", "blocked", 1, 1, "re-asked", 3),
        ("200_refusal", "blocked", 1, 1, "re-asked", 3),
        ("choice_error_policy", "blocked", 1, 1, "re-asked", 3),
        ("refusal_field", "blocked", 1, 1, "re-asked", 3),
        ("content_filter_with_text", "blocked", 1, 1, "re-asked", 3),
        ("content_filter_empty", "blocked", 1, 1, "re-asked", 3),
        ("content_filter_null", "blocked", 1, 1, "re-asked", 3),
        # It may pass with time, and looks the same until then: every attempt is used.
        ("408", "failed", 2, 4, "retried", 4),
        ("429", "failed", 2, 4, "retried", 4),
        ("429_platform", "failed", 2, 4, "retried", 4),
        ("429_upstream", "failed", 2, 4, "retried", 4),
        ("429_rate_limit_exceeded", "failed", 2, 4, "retried", 4),
        ("429_retry_after_seconds", "failed", 2, 4, "retried", 4),
        ("429_retry_after_fraction", "failed", 2, 4, "retried", 4),
        ("429_retry_after_negative", "failed", 2, 4, "retried", 4),
        ("429_retry_after_date", "failed", 2, 4, "retried", 4),
        ("429_retry_after_past_date", "failed", 2, 4, "retried", 4),
        ("429_retry_after_garbage", "failed", 2, 4, "retried", 4),
        ("429_retry_after_infinite", "failed", 2, 4, "retried", 4),
        ("402_retry_after", "failed", 2, 4, "retried", 4),
        ("402_in_flight_budget", "failed", 2, 4, "retried", 4),
        ("503", "failed", 2, 4, "retried", 4),
        ("503_retry_after", "failed", 2, 4, "retried", 4),
        ("503_provider_overloaded", "failed", 2, 4, "retried", 4),
        ("503_availability_retryable", "failed", 2, 4, "retried", 4),
        ("529", "failed", 2, 4, "retried", 4),
        ("200_error_408", "failed", 2, 4, "retried", 4),
        ("200_error_429", "failed", 2, 4, "retried", 4),
        ("200_error_503", "failed", 2, 4, "retried", 4),
        ("200_error_529", "failed", 2, 4, "retried", 4),
        ("200_error_code_text", "failed", 2, 4, "retried", 4),
        ("200_rate_limit_exceeded", "failed", 2, 4, "retried", 4),
        ("200_provider_overloaded", "failed", 2, 4, "retried", 4),
        ("200_availability_retryable", "failed", 2, 4, "retried", 4),
        ("502", "failed", 2, 4, "retried", 4),
        ("502_provider_unavailable", "failed", 2, 4, "retried", 4),
        ("504", "failed", 2, 4, "retried", 4),
        ("200_error_502", "failed", 2, 4, "retried", 4),
        ("200_error_504", "failed", 2, 4, "retried", 4),
        ("200_provider_unavailable", "failed", 2, 4, "retried", 4),
        ("choice_error_partial", "failed", 2, 4, "retried", 4),
        ("error_beside_answer", "failed", 2, 4, "retried", 4),
        # A wait longer than any call may take is not begun.
        ("429_retry_after_huge", "failed", 1, 1, "fails", 1),
        ("409", "failed", 2, 4, "retried", 4),
        *((str(code), "failed", 2, 4, "retried", 4) for code in UNLISTED),
        ("html_403", "failed", 2, 4, "retried", 4),
        ("500", "failed", 2, 4, "retried", 4),
        ("500_no_body", "failed", 2, 4, "retried", 4),
        ("500_text", "failed", 2, 4, "retried", 4),
        ("200_error_409", "failed", 2, 4, "retried", 4),
        ("200_error_500", "failed", 2, 4, "retried", 4),
        ("200_error_string", "failed", 2, 4, "retried", 4),
        ("200_error_empty", "failed", 2, 4, "retried", 4),
        ("200_error_code_null", "failed", 2, 4, "retried", 4),
        ("finish_error_only", "failed", 2, 4, "retried", 4),
        ("sse_unasked", "failed", 2, 4, "retried", 4),
        ("choices_empty", "failed", 2, 4, "retried", 4),
        ("text_number", "failed", 2, 4, "retried", 4),
        ("text_missing", "failed", 2, 4, "retried", 4),
        ("empty_blank_finish", "failed", 2, 4, "retried", 4),
        # Nothing was written: that is a delivery of its own, and no failure.
        ("empty_text", "empty", 1, 1, "re-asked", 3),
        ("null_text", "empty", 1, 1, "re-asked", 3),
        ("empty_length_reasoning", "empty", 1, 1, "re-asked", 3),
        ("null_length_reasoning", "empty", 1, 1, "re-asked", 3),
        # Harmless: an answer like any other.
        ("error_null", "complete", 1, 1, "fine", 2),
        ("leading_whitespace", "complete", 1, 1, "fine", 2),
        ("finish_reason_null", "complete", 1, 1, "fine", 2),
        ("finish_reason_unknown", "complete", 1, 1, "fine", 2),
    )
]
AUDITOR_ONCE = {"retried": 3, "re-asked": 3, "schemaless": 3, "fails": 1, "stops": 1, "fine": 2}
"""Requests to the auditor when the fault strikes its first: two make a whole run."""
ADVICE = {401: "check the key", 402: "add credit", 0: "check the account"}
BOTH_ENDPOINTS = {"arms": ["user_persona", "assistant"]}
"""The first arm goes to /completions, the second to /chat/completions."""
APIS = ("completions", "chat")
OTHERS = sorted(set(FAULTS) - {row.shape for row in TABLE} - set(HANGING))
"""Those that never end have tests of their own."""
OLLAMA = sorted(name for name in set(FAULTS) - set(HANGING) if "ollama" in FAULTS[name].apis)
INSIDE_200 = sorted(name for name in FAULTS if f"200_error_{name}" in FAULTS)
STATUSES = {"completed", "max_iterations", "budget", "target_failed", "auditor_failed"}


SECONDS = {"429_retry_after_date": -1}
"""A date is in whole seconds, and the next one would be waited for."""


def by_shape(row):
    return row.shape


def strike(provider, shape, side, times):
    """Let one side be struck: the target on both endpoints, the auditor on its own."""
    order = {"times": times, "retry_after": SECONDS.get(shape)}
    if side == "auditor":
        provider.fail(shape, api="chat", **order)
    else:
        provider.fail(shape, api="completions", **order)
        provider.fail(shape, api="chat", when=is_target, **order)


def is_one_line(text):
    return bool(text.strip()) and len(text.splitlines()) == 1


def check_books(ran, provider, *, lost=0):
    """Every request is one attempt in the journal, and every failed one is one line on screen.

    A request on a connection that had just died may be lost before anyone has read it.
    """
    for role in ("auditor", "target"):
        sent = len(ran.records("sent", f"/{role}/"))
        assert 0 <= sent - len(asked(provider, role) + canaries(provider, role)) <= lost
        assert len(ran.records("attempt", f"/{role}/")) == sent
    told = [line.split(": ", 2)[2] for line in ran.failures_told]
    assert sorted(told) == sorted(error["message"] for error in ran.errors())
    assert all(is_one_line(line) for line in ran.watcher.notices)
    assert opens_again(ran.folder)


def check_words(ran, provider):
    """What is stored as a model's words was written by that model, and by nobody else."""
    for sample in ran.samples():
        is_chat = sample["messages"] is not None
        made = asked(provider, "target")
        request = next(each for each in made if is_chat == (each.api == "chat"))
        genuine = written_by_target(request)
        assert genuine.startswith(sample["text"] or "")
        assert genuine.startswith(sample["own_words"])
        assert genuine.startswith(sample["partial_text"] or "")
        assert sample["own_words"] + sample["spill"] == (sample["text"] or "")
        if sample["delivery"] == "failed":
            assert (sample["text"], sample["own_words"], sample["spill"]) == (None, "", "")
        if sample["delivery"] == "failed":
            assert is_one_line(sample["error"])
        elif sample["delivery"] == "blocked":  # a filter may say nothing but its finish_reason
            is_silent = sample["error"] is None and sample["finish_reason"] == "content_filter"
            assert is_silent or is_one_line(sample["error"])
        else:
            assert sample["error"] is None
    stored = json.loads((ran.folder / "audited_responses/001.json").read_bytes())
    first = stored["samples"][0]
    assert (stored["raw_response"], stored["error"]) == (first["text"], first["error"])


def check_stopped(ran):
    """The run ended at once, says what to do, and can be resumed."""
    assert type(ran.error) is FatalError
    assert ran.error.exit_code == 3
    checked = "a harmless prompt was refused" in ran.error.message
    assert checked or ADVICE[ran.error.status or 0] in ran.error.message
    assert is_one_line(ran.error.message)
    assert not (ran.folder / "summary.json").exists()
    assert ran.records("footer") == []
    assert {error["kind"] for error in ran.errors()} == {"rejected" if checked else "fatal"}


# --- the table ----------------------------------------------------------------------------------


def test_table_names_each_shape_once():
    """No shape is listed twice, and each can occur."""
    names = [row.shape for row in TABLE]

    assert len(set(names)) == len(names)
    assert set(names) <= set(FAULTS)


@pytest.mark.parametrize("lasts", [False, True], ids=["once", "always"])
@pytest.mark.parametrize("row", one_of_each(TABLE, lambda row: row[1:]), ids=by_shape)
def test_target_fails(tmp_path, row, lasts):
    """On either endpoint the target's trouble is recorded as what it is, and the run goes on."""
    with audited_provider() as provider:
        strike(provider, row.shape, "target", None if lasts else 1)
        ran = run_over(tmp_path, provider, sampling=BOTH_ENDPOINTS, **both(provider))

    for api in APIS:
        made = [request for request in asked(provider, "target") if request.api == api]
        assert len(made) == (row.always if lasts else row.once)
        assert len({request.raw for request in made}) == 1
    check_books(ran, provider)
    assert bool(canaries(provider)) == (row.target == "checked")
    if row.target == "stops" or (lasts and row.target == "checked"):
        check_stopped(ran)
        return
    failing = "failed" if row.target == "checked" else row.target
    expected = "complete" if not lasts and row.once == 2 else failing
    assert ran.status == ("target_failed" if expected == "failed" else "max_iterations")
    assert ran.summary["final_summary"] is not None
    assert [sample["delivery"] for sample in ran.samples()] == [expected, expected]
    assert ran.summary["denominators"]["samples"]["by_delivery"][expected] == 2
    fruitless = row.always if lasts else 1
    assert len(ran.errors()) == (2 * fruitless if failing == "failed" else 0)
    check_words(ran, provider)


@pytest.mark.parametrize("lasts", [False, True], ids=["once", "always"])
@pytest.mark.parametrize("row", one_of_each(TABLE, lambda row: row[1:]), ids=by_shape)
def test_auditor_fails(tmp_path, row, lasts):
    """The auditor's trouble is got over where that is possible, and else ends the run."""
    with audited_provider() as provider:
        strike(provider, row.shape, "auditor", None if lasts else 1)
        ran = run_over(tmp_path, provider, **both(provider))

    made = asked(provider, "auditor")
    assert len(made) == (row.auditor_always if lasts else AUDITOR_ONCE[row.auditor])
    check_books(ran, provider)
    if row.auditor == "stops" or (lasts and row.target == "checked"):
        check_stopped(ran)
        return
    if row.auditor == "fails" or (lasts and row.auditor != "fine"):
        assert ran.status == "auditor_failed"
        assert is_one_line(ran.summary["status_detail"])
        assert ran.summary["final_summary"] is None
        assert ran.turns() == []
        assert asked(provider, "target") == []
        return
    assert ran.status == "max_iterations"
    assert [turn["parse"]["re_asked"] for turn in ran.turns()] == [row.auditor == "re-asked", 0]
    assert all("hypotheses" in json.loads(turn["raw_response"]) for turn in ran.turns())
    repeats = made[0].raw == made[1].raw
    assert repeats == (row.auditor == "retried")
    has_schema = ["response_format" in request.body for request in made]
    assert has_schema == [True] + [row.auditor != "schemaless"] * (len(made) - 1)
    check_words(ran, provider)


@pytest.mark.parametrize("name", INSIDE_200)
def test_status_and_error_inside_a_200_mean_the_same(tmp_path, name):
    """An error is known by its code, whether it comes as a status or in a body under 200."""
    seen = []
    for shape in (name, f"200_error_{name}"):
        folder = tmp_path / shape
        folder.mkdir()
        with audited_provider() as provider:
            provider.fail(shape, api="completions")
            ran = run_over(folder, provider, **both(provider))
        errors = [(error["kind"], error["status"]) for error in ran.errors()]
        seen.append((ran.status, len(asked(provider, "target")), errors))

    assert seen[0] == seen[1]


@pytest.mark.parametrize("status", [200, 503])
@pytest.mark.parametrize(
    ("retryable", "meant", "made", "kind"),
    [(True, 400, 2, "transient"), (False, 503, 1, "rejected")],
)
def test_availability_says_whether_to_try_again(tmp_path, status, retryable, meant, made, kind):
    """An error without a code is known by its http_status, and `retryable` has the last word."""
    told = {"code": "no_capacity", "retryable": retryable, "retry_after": 0}
    error = {"message": "No capacity", "http_status": meant, "availability": told}
    fault = Fault(name="availability", about="", status=status, body=lambda _: {"error": error})
    with audited_provider() as provider:
        provider.fail(fault, api="completions")
        ran = run_over(tmp_path, provider, **both(provider))

    assert len(asked(provider, "target")) == made
    assert [(each["kind"], each["status"]) for each in ran.errors()] == [(kind, meant)]


# --- four deliveries that are no answers, and one that is half of one -------------------------------


def test_outcomes_are_never_mixed_up(tmp_path):
    """An answer, a cut, an empty, a filtered, a refused and a failed sample stand side by side."""
    shapes = {1: "empty_text", 3: "content_filter_with_text", 4: "403_moderation", 5: "400"}

    def has_seed(seed):
        return lambda body: body.get("seed") == seed

    def write(ask):
        return "All of it. " * 900 if ask.body.get("seed") == 2 else ScriptedTarget()(ask)

    with audited_provider(target=write) as provider:
        for seed, shape in shapes.items():
            provider.fail(shape, when=has_seed(seed))
        ran = run_over(tmp_path, provider, sampling={"n": 6, "seed": 0}, **both(provider))

    deliveries = ["complete", "empty", "truncated", "blocked", "blocked", "failed"]
    assert [sample["delivery"] for sample in ran.samples()] == deliveries
    assert ran.summary["denominators"]["samples"]["by_delivery"] == {
        name: deliveries.count(name) for name in DELIVERIES
    }
    shown = str(ran.turns()[1]["input_messages"][-1])
    headings = [f"sample {number}: {delivery}]" for number, delivery in enumerate(deliveries, 1)]
    assert all(heading in shown for heading in headings)


def test_moderation_tells_its_reasons(tmp_path):
    """The host's words and its reasons are kept with the sample, and are not the target's words."""
    with audited_provider() as provider:
        provider.fail("403_moderation", api="completions")
        ran = run_over(tmp_path, provider, **both(provider))

    (sample,) = ran.samples()
    assert sample["error"] == "Your input was flagged (reasons: ['politics/sensitive'])"
    assert (sample["text"], sample["own_words"]) == (None, "")
    (record,) = ran.records("attempt", "/target/")
    assert record["reply"]["block_message"] == sample["error"]
    assert ran.failures_told == []


def test_moderation_costs_nothing(tmp_path):
    """A probe that was blocked was not paid for, and leaves the cost of the run known."""
    with audited_provider() as provider:
        provider.fail("403_moderation", api="completions")
        provider.fail("200_content_policy_violation", api="completions")
        ran = run_over(tmp_path, provider, sampling={"n": 2}, **both(provider))

    assert [sample["delivery"] for sample in ran.samples()] == ["blocked"] * 2
    assert [sample["cost_usd"] for sample in ran.samples()] == [0, 0]
    spent = ran.summary["spend"]
    assert spent["by_role"]["target"]["cost_usd"] == 0
    assert spent["total"]["cost_usd"] == float(provider.billed_usd) > 0


def test_words_written_before_the_policy_struck_are_kept_and_marked(tmp_path):
    """Half a text that the host cut off is the target's, and is no answer."""
    with audited_provider() as provider:
        provider.fail("choice_error_policy", api="completions")
        ran = run_over(tmp_path, provider, **both(provider))

    (sample,), (request,) = ran.samples(), asked(provider, "target")
    genuine = written_by_target(request)
    assert sample["text"] == genuine[: len(genuine) // 2]
    assert (sample["delivery"], sample["error"]) == ("blocked", "Upstream failed midway")


def test_partial_text_of_a_failure_is_kept_apart(tmp_path):
    """What was written before an error is neither shown to the auditor nor ever quoted."""
    with audited_provider() as provider:
        provider.fail("choice_error_partial", api="completions", times=None)
        ran = run_over(tmp_path, provider, **both(provider))

    (sample,), request = ran.samples(), asked(provider, "target")[0]
    genuine = written_by_target(request)
    assert sample["partial_text"] == genuine[: len(genuine) // 2]
    assert sample["partial_text"] not in str(ran.turns()[1]["input_messages"])


# --- waits ----------------------------------------------------------------------------------------


def test_wait_in_seconds_is_honoured(tmp_path):
    """The next attempt does not leave before the seconds asked for are over."""
    with audited_provider() as provider:
        provider.fail("429_retry_after_seconds", api="completions", retry_after=0.3)
        ran = run_over(tmp_path, provider, **both(provider))

    first, second = asked(provider, "target")
    assert second.read_at - first.read_at >= 0.3
    assert ran.errors()[0]["retry_after_s"] == 0.3


def test_wait_until_a_date_is_honoured(tmp_path):
    """The next attempt does not leave before the date asked for."""
    with audited_provider() as provider:
        provider.fail("429_retry_after_date", api="completions")
        run_over(tmp_path, provider, **both(provider))

    first, second = asked(provider, "target")
    assert second.when >= math.ceil(first.when)


def test_wall_time_of_a_call_is_bounded(tmp_path):
    """However many attempts are allowed, none is begun when the time for the call is over."""
    retries = {"max_attempts": 50, "first_wait_s": 0, "max_wait_s": 0.5}
    with audited_provider() as provider:
        provider.fail("429_retry_after_seconds", api="completions", times=None, retry_after=0.2)
        ran = run_over(tmp_path, provider, **both(provider), retries=retries)

    assert 1 <= len(asked(provider, "target")) <= 3
    assert ran.samples()[0]["delivery"] == "failed"


# --- servers that cannot be reached ----------------------------------------------------------------


def unresolved(monkeypatch, code):
    """Let no host name be found any more, for this reason."""

    def no_such_name(host, *args, **more):
        raise socket.gaierror(code, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", no_such_name)


@pytest.mark.parametrize("trouble", ["refused", "name server"])
def test_server_that_cannot_be_reached_costs_nothing(tmp_path, monkeypatch, trouble):
    """No connection costs nothing; an outage may pass, and gets all its attempts."""
    with audited_provider() as provider, audited_provider() as gone:
        address = gone.base_url
        gone.close()
        if trouble == "name server":
            address = f"http://nowhere.invalid:{provider.port}/api/v1"
            unresolved(monkeypatch, socket.EAI_AGAIN)
        target = endpoint(provider, base_url=address, provider={})
        settings = both(provider) | {"audited_endpoint": target}
        ran = run_over(tmp_path, provider, **settings)

    assert ran.samples()[0]["delivery"] == "failed"
    assert ran.samples()[0]["error"].startswith("no connection to ")
    assert [error["maybe_billed"] for error in ran.errors("/target/")] == [False] * 4
    spent = ran.summary["spend"]["by_role"]["target"]
    assert (spent["cost_usd"], spent["fruitless_attempts"]["failed"]) == (0, 4)
    assert spent["fruitless_attempts"]["maybe_billed"] == 0


@pytest.mark.parametrize("trouble", ["name", "tls"])
@pytest.mark.parametrize("side", ["audited_endpoint", "auditing_endpoint"])
def test_server_with_a_wrong_address_ends_the_run_at_once(tmp_path, monkeypatch, trouble, side):
    """A wrong name or certificate at the first call is named, and the run can be resumed."""
    with audited_provider() as provider:
        addresses = {
            "name": f"http://nowhere.invalid:{provider.port}/api/v1",
            "tls": provider.base_url.replace("http://", "https://"),
        }
        with monkeypatch.context() as patch:
            unresolved(patch, socket.EAI_NONAME)
            wrong = both(provider)
            wrong[side] = {**wrong[side], "base_url": addresses[trouble]}
            ran = run_over(tmp_path, provider, **wrong)
        assert type(ran.error) is FatalError
        assert "check base_url" in str(ran.error)
        assert len(ran.errors()) == 1
        assert not (ran.folder / "summary.json").exists()

        resumed = run_over(tmp_path, provider, resume=ran.folder, **both(provider))
    assert resumed.status == "max_iterations"


def test_answer_beyond_any_size_is_not_read_to_its_end(tmp_path, monkeypatch):
    """A body that would fill the memory is given up, and was perhaps paid for."""
    monkeypatch.setattr(http_api, "MAX_BODY_BYTES", 100_000)
    with audited_provider() as provider:
        provider.fail("body_large", api="completions", times=None)
        ran = run_over(tmp_path, provider, **both(provider))

    assert ran.samples()[0]["error"] == "the answer is too large"
    assert all(error["maybe_billed"] for error in ran.errors())


# --- everything else ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
@pytest.mark.parametrize("lasts", [False, True], ids=["once", "always"])
@pytest.mark.parametrize("side", ["target", "auditor"])
@pytest.mark.parametrize("shape", one_of_each(OTHERS, fault_group))
def test_no_shape_does_harm(tmp_path, monkeypatch, shape, side, lasts):
    """Whatever comes back, the run ends in a known way and in time, and stores no untruth."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with audited_provider() as provider:
        provider.api_key = KEY
        strike(provider, shape, side, None if lasts else 1)
        keyed = both(provider, api_key_env=KEY_VARIABLE, timeout_s=10)
        ran = run_over(tmp_path, provider, sampling=BOTH_ENDPOINTS, **keyed)

    assert ran.error is None or type(ran.error) is FatalError
    assert ran.error is not None or ran.status in STATUSES
    assert ran.seconds < 30
    tries = [record["attempt"] for record in ran.records("sent")]
    assert max(tries) <= FOUR_ATTEMPTS["max_attempts"]
    check_books(ran, provider, lost=4 if shape == "close_after_reply" else 0)
    assert ran.holds(KEY) == []
    assert provider.count("elsewhere") == 0
    if side == "target" and ran.error is None and shape != "text_large":
        check_words(ran, provider)
    if side == "target":
        check_meaning(ran, provider, FAULTS[shape].means, lasts)
    if side == "auditor":
        assert all("hypotheses" in json.loads(turn["raw_response"]) for turn in ran.turns())


@pytest.mark.parametrize("shape", one_of_each(OLLAMA, fault_group))
def test_no_shape_does_harm_behind_ollama(tmp_path, shape):
    """Ollama has words of its own for errors; they too are never taken for the target's."""
    with audited_provider() as provider:
        provider.fail(shape, api="ollama", times=None, retry_after=SECONDS.get(shape))
        target = endpoint(provider, preset="ollama", base_url=f"{provider.root_url}/v1")
        ran = run_over(tmp_path, provider, **both(provider) | {"audited_endpoint": target})

    assert 1 <= provider.count("ollama") <= FOUR_ATTEMPTS["max_attempts"]
    check_books(ran, provider, lost=4 if shape == "close_after_reply" else 0)
    if ran.error is None:
        check_words(ran, provider)
        answered = ran.samples()[0]["delivery"] == "complete"
        assert answered or FAULTS[shape].means != "answer"
        assert not answered or FAULTS[shape].means in ("answer", "open")
    else:
        check_stopped(ran)


def check_meaning(ran, provider, means, lasts):
    """Where a shape has one meaning only, that is what becomes of it."""
    deliveries = [] if ran.error else [sample["delivery"] for sample in ran.samples()]
    made = len(asked(provider, "target")) / len(APIS)
    if means == "answer":
        assert (deliveries, made) == (["complete"] * 2, 1)
    elif means == "transient":
        assert deliveries == (["failed"] * 2 if lasts else ["complete"] * 2)
        assert made in ((3, 4) if lasts else (2,))
    elif means == "rejected":
        assert made == 1
        assert deliveries == ["failed"] * 2 or (lasts and canaries(provider))
    elif means == "fatal":
        assert type(ran.error) is FatalError
        assert made == 1
