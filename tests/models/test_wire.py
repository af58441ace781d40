"""Whatever shape a server's trouble comes in, it is classified once, and never taken for an answer."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uncensoring_chinese_models.domain import Reply, Usage
from uncensoring_chinese_models.errors import (
    ClientError,
    FatalError,
    RejectedError,
    TransientError,
)
from uncensoring_chinese_models.models.wire import (
    RawResponse,
    read_ollama,
    read_response,
    read_tokenized,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
APIS = ["chat", "completions"]
both_apis = pytest.mark.parametrize("api", APIS)


def raw(body, status=200, headers=None):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return RawResponse(status, headers or {}, content)


def read(body, status=200, headers=None, api="chat"):
    return read_response(raw(body, status, headers), api, now=NOW)


def outcome(*args, **kwargs):
    """Return the reply, or the error that was raised instead."""
    try:
        return read(*args, **kwargs)
    except ClientError as err:
        return err


def answer(api, text="六四", choice=None, message=None, **more):
    """Return the JSON of an ordinary answer, with changes."""
    said = (
        {"message": {"role": "assistant", "content": text, **(message or {})}}
        if api == "chat"
        else {"text": text, **(message or {})}
    )
    return {"choices": [{"index": 0, "finish_reason": "stop", **said, **(choice or {})}], **more}


def problem(code=None, message="it broke", **more):
    return {"error": {"code": code, "message": message, **more}}


# --- replies ------------------------------------------------------------------------------------


@both_apis
def test_every_field_of_an_answer_is_kept(api):
    """A whole answer of OpenRouter's comes through with all that is told about it."""
    usage = {
        "prompt_tokens": 12,
        "completion_tokens": 34,
        "total_tokens": 46,
        "prompt_tokens_details": {"cached_tokens": 5},
        "completion_tokens_details": {"reasoning_tokens": 7},
        "cost": 0.00012,
    }
    told = {"finish_reason": "length", "native_finish_reason": "max_tokens"}
    top = {"id": "gen-1", "provider": "DeepInfra", "model": "m-0324", "usage": usage}

    reply = read(answer(api, choice=told, message={"reasoning": "hm"}, **top), api=api)

    assert reply == Reply(
        text="六四",
        finish_reason="length",
        native_finish_reason="max_tokens",
        reasoning="hm",
        provider="DeepInfra",
        served_model="m-0324",
        generation_id="gen-1",
        usage=Usage(12, 34, 7, 5, 46),
        cost_usd=Decimal("0.00012"),
    )


TEXTS = ["", " \n", "a\0b", "\ud83d alone", "<｜User｜>", "x" * 100_000]


@both_apis
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_text_is_carried_unaltered(api, text):
    """No character of a model's text is dropped, trimmed or replaced."""
    assert read(answer(api, text), api=api).text == text


@both_apis
@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, None),
        ([], ""),
        ([{"type": "text", "text": "六"}, {"type": "text", "text": "四"}], "六四"),
        ([{"type": "image"}, None, "loose", {"text": None}, {"text": "x"}], "x"),
    ],
    ids=["null", "no parts", "parts", "odd parts"],
)
def test_text_that_is_no_string_is_read_or_unknown(api, content, text):
    """Parts are put together; what is no text at all is none, not the word for it."""
    assert read(answer(api, content), api=api).text == text


@both_apis
@pytest.mark.parametrize("content", [42, {"text": "x"}], ids=["number", "object"])
def test_answer_without_words_is_no_silence(api, content):
    """What is no text at all is a broken answer, and not a target that wrote nothing."""
    err = outcome(answer(api, content), api=api)

    assert type(err) is TransientError
    assert err.maybe_billed


@pytest.mark.parametrize("message", [None, "x", [], ...], ids=["null", "text", "list", "missing"])
def test_chat_without_a_message_is_no_silence(message):
    """A choice that has no message is a broken answer, which is asked for again."""
    data = answer("chat", "x")
    data["choices"][0] |= {"message": message}
    if message is ...:
        del data["choices"][0]["message"]
    err = outcome(data)

    assert type(err) is TransientError
    assert err.maybe_billed


def test_raw_prompt_that_is_answered_as_a_chat_is_refused():
    """A message where a text should be shows that the prompt was wrapped in a chat."""
    err = outcome(answer("chat", "I cannot help with that."), api="completions")

    assert type(err) is RejectedError
    assert "does not offer raw completions" in err.message


@both_apis
def test_nothing_written_and_no_reason_given_is_tried_again(api):
    """A provider that ends blankly is not charged for and has said nothing about the target."""
    body = {"choices": [{"text": "", "message": {"content": ""}, "finish_reason": None}]}

    assert type(outcome(body, api=api)) is TransientError


@both_apis
def test_first_choice_counts(api):
    """A server that sends more choices than asked for is read by its first."""
    body = answer(api, "first")
    body["choices"] += answer(api, "second")["choices"]

    assert read(body, api=api).text == "first"


@both_apis
@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_reasoning_is_kept_apart_from_the_text(api, name):
    """What a reasoning parser split off is kept, and is not the text."""
    reply = read(answer(api, "", message={name: "hm"}), api=api)

    assert (reply.text, reply.reasoning) == ("", "hm")


@both_apis
@pytest.mark.parametrize("reason", ["content_filter", "length", "eos_token", None])
def test_finish_reason_is_kept_as_it_is(api, reason):
    """How the text ended is data, in words that we know or not."""
    reply = read(answer(api, "half", choice={"finish_reason": reason}), api=api)

    assert (reply.text, reply.finish_reason) == ("half", reason)


@both_apis
@pytest.mark.parametrize(
    ("text", "refused"), [(None, "I cannot."), ("", "I cannot."), ("六", None)]
)
def test_refusal_beside_the_text_is_the_hosts_word_where_there_is_no_text(api, text, refused):
    """A `refusal` without a text is the host's refusal; beside a text it changes nothing."""
    reply = read(answer(api, text, message={"refusal": "I cannot."}), api=api)

    assert (reply.text, reply.block_message) == (text, refused)


@both_apis
@pytest.mark.parametrize("refusal", [None, "", 0, ["no"]])
def test_empty_refusal_is_none(api, refusal):
    """A refusal that says nothing refuses nothing."""
    assert read(answer(api, "", message={"refusal": refusal}), api=api).block_message is None


@both_apis
def test_id_comes_from_the_header_where_the_body_has_none(api):
    """The id by which a call can be looked up is found in either place; the body's goes first."""
    headers = {"X-Generation-Id": "gen-header"}

    assert read(answer(api), headers=headers, api=api).generation_id == "gen-header"
    assert read(answer(api, id="gen-body"), headers=headers, api=api).generation_id == "gen-body"


@both_apis
@pytest.mark.parametrize(
    "spoil",
    [
        lambda body: b"\n   \n" * 50 + body,
        lambda body: b"\xef\xbb\xbf" + body,
        lambda body: body.replace(b"{", b'{"x_unknown": {"deeper": [1, null]}, ', 1),
        lambda body: body.replace(b"{", b'{"error": null, ', 1),
        lambda body: body.replace(b"{", b'{"error": {}, ', 1),
    ],
    ids=["leading whitespace", "byte order mark", "unknown field", "error null", "error empty"],
)
def test_harmless_oddities_are_read_over(api, spoil):
    """An answer that is all there is an answer, whatever stands around it."""
    body = spoil(json.dumps(answer(api)).encode())

    assert read(body, api=api).text == "六四"


# --- tokens and costs ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "count"),
    [
        (0, 0),
        (12, 12),
        (12.0, 12),
        (10**9 - 1, 10**9 - 1),
        (10**9, None),
        (1e9, None),
        (10**30, None),
        (10**990, None),
        (12.5, None),
        (-1, None),
        (-0.5, None),
        (True, None),
        (False, None),
        ("12", None),
        (None, None),
        ([12], None),
        (float("nan"), None),
        (float("inf"), None),
        (float("-inf"), None),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_token_count_is_a_whole_number_or_unknown(told, count):
    """What is no count of tokens is unknown, never 0."""
    usage = {
        "prompt_tokens": told,
        "completion_tokens": told,
        "completion_tokens_details": {"reasoning_tokens": told},
        "prompt_tokens_details": {"cached_tokens": told},
    }

    assert read(answer("chat", usage=usage)).usage == Usage(count, count, count, count)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        [1, 2],
        "many",
        7,
        {},
        {"prompt_tokens_details": 3, "completion_tokens_details": []},
    ],
    ids=str,
)
def test_usage_in_no_shape_is_unknown(usage):
    """A server that tells no usage, or nonsense, is still answered for."""
    reply = read(answer("chat", usage=usage))

    assert (reply.text, reply.usage, reply.cost_usd) == ("六四", Usage(), None)


@pytest.mark.parametrize(
    ("told", "cost"),
    [
        (0, "0"),
        (0.1, "0.1"),
        (1e-7, "1E-7"),
        (3, "3"),
        ("0.0001", "0.0001"),
        ("0", "0"),
        (-0.5, None),
        ("-1", None),
        ("free", None),
        ("", None),
        ("NaN", None),
        ("sNaN", None),
        ("Infinity", None),
        (float("nan"), None),
        (float("inf"), None),
        (1e300, None),
        ("1e999999", None),
        (True, None),
        (None, None),
        ([0.1], None),
        ({"usd": 1}, None),
    ],
    ids=repr,
)
def test_cost_is_a_decimal_or_unknown(told, cost):
    """A cost is read to its last digit; nonsense and sums that nobody could owe are unknown."""
    reply = read(answer("chat", usage={"cost": told}))

    assert str(reply.cost_usd) == str(cost)


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"total_cost": 0.2}, "0.2"),
        ({"estimated_cost": 0.2}, "0.2"),
        ({"cost": {"total_cost": 0.2, "input_tokens_cost": 0.1}}, "0.2"),
        ({"cost": 0.1, "total_cost": 0.2}, "0.2"),
        ({"cost": 0.2, "total_cost": -1}, "0.2"),
        ({"cost": 0.2, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.2}}, "0.2"),
        ({"cost": 0.2, "cost_details": {"upstream_inference_cost": 0.1}}, "0.2"),
        ({"cost": 0.2, "cost_details": {"upstream_inference_cost": None}}, "0.2"),
        ({"cost": 0.1, "is_byok": True, "cost_details": {"upstream_inference_cost": 2}}, "2.1"),
        ({"cost": 0, "is_byok": True, "cost_details": {"upstream_inference_cost": 2}}, "2"),
        ({"cost": 0.95, "cost_details": {"upstream_inference_cost": 19}}, "19.95"),
        ({"is_byok": True, "cost_details": {"upstream_inference_cost": 2}}, "2"),
        ({"cost": 0.1, "is_byok": True}, None),
        ({"cost": 0.1, "is_byok": True, "cost_details": {"upstream_inference_cost": -2}}, None),
        ({"cost_details": 7, "cost": 0.2}, "0.2"),
    ],
    ids=str,
)
def test_cost_is_all_that_is_billed(usage, cost):
    """The highest figure counts; with a key of one's own, both the fee and the model's provider."""
    assert read(answer("chat", usage=usage)).cost_usd == (cost and Decimal(cost))


# --- HTTP statuses, and the same inside a 200 ---------------------------------------------------

KINDS = {
    **dict.fromkeys((302, 307, 400, 403, 404, 405, 410, 413, 415, 418, 422), RejectedError),
    **dict.fromkeys((401, 402), FatalError),
    **dict.fromkeys((408, 409, 420, 423, 424, 425, 429, 444, 460, 498, 499), TransientError),
    **dict.fromkeys((*range(500, 512), *range(520, 531), 561, 598, 599), TransientError),
}
SHAPES = {
    "status": lambda api, code: {"body": problem(code), "status": code},
    "status with another code": lambda api, code: {"body": problem("odd_word"), "status": code},
    "status with plain message": lambda api, code: {"body": {"message": "no"}, "status": code},
    "status with detail": lambda api, code: {"body": {"detail": [{"msg": "no"}]}, "status": code},
    "status with HTML": lambda api, code: {"body": b"<!DOCTYPE html><html>no", "status": code},
    "status without body": lambda api, code: {"body": b"", "status": code},
    "status with an answer": lambda api, code: {"body": answer(api), "status": code},
    "number inside 200": lambda api, code: {"body": problem(code)},
    "text inside 200": lambda api, code: {"body": problem(str(code))},
    "http_status inside 200": lambda api, code: {"body": problem(http_status=code)},
    "beside an answer": lambda api, code: {"body": {**answer(api), **problem(code)}},
    "at the choice": lambda api, code: {"body": answer(api, choice=problem(code))},
}


@both_apis
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_status_decides_the_kind_of_error_in_every_shape(api, shape):
    """The same trouble is the same error, as an HTTP status or anywhere inside a 200."""
    for code, kind in KINDS.items():
        if code == 403 and shape in (SHAPES["status with HTML"], SHAPES["status without body"]):
            continue  # it is a firewall's, and no word of the provider
        err = outcome(**shape(api, code), api=api)

        assert type(err) is kind, code
        assert err.status == code
        assert str(code) in err.message


@pytest.mark.parametrize(
    "code", [None, 0, 200, 299, 600, 99999, "", "oops", 4.5, [], {"x": 1}, True]
)
def test_error_without_a_status_may_pass(code):
    """An error in a 200 that says nothing about itself is tried again, within bounds."""
    err = outcome(problem(code))

    assert type(err) is TransientError
    assert err.status is None


@pytest.mark.parametrize("error", ["upstream connect error", ["no"], 7, True])
def test_error_that_is_no_object_is_told_in_its_own_words(error):
    """An error given as a string, or as anything else, is an error."""
    err = outcome({"error": error, **answer("chat")})

    assert type(err) is TransientError
    assert str(error) in err.message


@pytest.mark.parametrize(("status", "advice"), [(401, "key"), (402, "credit")])
def test_fatal_error_says_what_to_do(status, advice):
    """What stops the run tells how to get on."""
    assert advice in outcome(problem(status), status).message


# --- error types --------------------------------------------------------------------------------

TYPES = {
    "rate_limit_exceeded": (TransientError, 429),
    "provider_overloaded": (TransientError, 503),
    "provider_unavailable": (TransientError, 502),
    "timeout": (TransientError, 408),
    "context_length_exceeded": (RejectedError, 400),
    "invalid_request_error": (RejectedError, 400),
    "unknown_parameter": (RejectedError, 400),
    "model_not_found": (RejectedError, 404),
    "invalid_api_key": (FatalError, 401),
    "insufficient_quota": (FatalError, 402),
    "moderation": (TransientError, None),
    "never_heard_of": (TransientError, None),
}
PLACES = {
    "metadata": lambda word: problem(metadata={"error_type": word}),
    "error": lambda word: problem(error_type=word),
    "code": problem,
    "type": lambda word: problem(type=word),
}


@both_apis
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize(("word", "meaning"), TYPES.items())
def test_type_decides_where_there_is_no_status(api, place, word, meaning):
    """The provider's stable word means in a 200 what the status means elsewhere."""
    err = outcome(place(word), api=api)

    assert (type(err), err.status) == meaning
    assert err.error_type == word
    assert f"{word}: it broke" in err.message


@both_apis
def test_spent_quota_is_no_rate_limit(api):
    """A 429 that says the quota is spent does not get better by waiting."""
    assert type(outcome(problem("insufficient_quota"), status=429, api=api)) is FatalError


@both_apis
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("status", [200, 400, 403, 500])
@pytest.mark.parametrize("word", ["content_policy_violation", "refusal", "content_filter"])
def test_policy_is_data_not_failure(api, place, word, status):
    """A host whose policy blocks a probe has answered the question: its words are kept."""
    reply = read(place(word), status, api=api)

    assert (reply.text, reply.block_message) == (None, "it broke")


@both_apis
@pytest.mark.parametrize("status", [200, 403])
@pytest.mark.parametrize(
    "metadata", [{"reasons": ["politics"]}, {"flagged_input": "What..."}, {"reasons": []}]
)
def test_moderation_is_told_by_its_metadata(api, status, metadata):
    """A 403 that names reasons or the flagged input is moderation: data."""
    reply = read(problem(403, "Your input was flagged", metadata=metadata), status, api=api)

    assert reply.text is None
    assert reply.block_message.startswith("Your input was flagged")
    assert ("politics" in reply.block_message) is ("politics" in str(metadata))


@both_apis
@pytest.mark.parametrize("metadata", [{}, None, "x", [], {"provider_name": "DeepInfra"}])
def test_other_403_is_unknown(api, metadata):
    """A 403 without moderation metadata may be about the account as well as about the question."""
    err = outcome(problem(403, "Key lacks permission", metadata=metadata), 403, api=api)

    assert (type(err), err.reason) == (RejectedError, "unknown")


@both_apis
@pytest.mark.parametrize("page", [b"<!DOCTYPE html><title>Attention</title>", b"error code: 1020"])
def test_firewall_that_blocks_a_request_may_let_the_next_pass(api, page):
    """A 403 that is not JSON is not the provider's, and says nothing about the key."""
    err = outcome(page, 403, api=api)

    assert type(err) is TransientError
    assert err.status == 403
    assert "a firewall or a proxy" in err.message
    assert "check the permissions" not in err.message


def test_moderation_metadata_without_a_403_is_no_moderation():
    """Only a 403 can be moderation; another error that repeats the input stays an error."""
    err = outcome(problem(500, metadata={"flagged_input": "What..."}), 500)

    assert type(err) is TransientError


@both_apis
@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (None, Decimal(0)),
        ({"prompt_tokens": 3, "completion_tokens": 0, "cost": 0.5}, Decimal("0.5")),
        ({"prompt_tokens": 3, "completion_tokens": 0}, None),
        ({"prompt_tokens": 3}, None),
        ({"completion_tokens": 3}, None),
        ({"total_tokens": 3}, None),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Decimal(0)),
    ],
    ids=["nothing", "cost", "tokens", "prompt", "completion", "total", "no tokens"],
)
def test_policy_costs_nothing_unless_the_server_tells_of_work(api, usage, cost):
    """A probe that was blocked before any model saw it is free, like every clean error."""
    body = {**problem(403, "flagged", metadata={"reasons": ["politics"]}), "usage": usage}

    assert read(body, 403, api=api).cost_usd == cost


def test_policy_without_a_status_may_have_cost_something():
    """A block that does not say that it came before the model is not taken to be free."""
    assert read(problem(type="content_filter")).cost_usd is None
    assert read(problem(type="refusal"), 500).cost_usd is None


def test_policy_at_the_choice_keeps_the_text_before_it():
    """Half a text and then the policy: both are kept, and the refusal is marked."""
    body = answer("chat", "half", choice=problem(403, "blocked", type="content_policy_violation"))

    reply = read(body)

    assert (reply.text, reply.block_message) == ("half", "blocked")


# --- availability, waits and partial texts ------------------------------------------------------


@both_apis
@pytest.mark.parametrize("status", [200, 400, 503])
@pytest.mark.parametrize(("retryable", "kind"), [(True, TransientError), (False, RejectedError)])
def test_availability_decides_by_its_own_word(api, status, retryable, kind):
    """Where the server says whether a retry helps, that counts more than any status."""
    body = {
        "error": {
            "message": "No capacity",
            "error_type": "provider_overloaded",
            "http_status": 503,
            "availability": {"retryable": retryable, "retry_after": 4},
        }
    }

    err = outcome(body, status, api=api)

    assert (type(err), err.status, err.retry_after_s) == (kind, 503, 4.0)


@pytest.mark.parametrize("retryable", [None, "true", 1, 0, []])
def test_availability_that_says_neither_leaves_it_to_the_status(retryable):
    """Only true and false are an answer to whether a retry helps."""
    assert type(outcome(problem(500, availability={"retryable": retryable}))) is TransientError
    assert type(outcome(problem(400, availability={"retryable": retryable}))) is RejectedError


@pytest.mark.parametrize(
    ("headers", "kind"), [({"Retry-After": "0"}, TransientError), ({}, FatalError)]
)
@pytest.mark.parametrize("status", [200, 402])
def test_lack_of_credit_may_pass_only_if_the_server_says_when(status, headers, kind):
    """402 with Retry-After is too much in flight; without it the account is empty."""
    assert type(outcome(problem(402), status, headers)) is kind


def test_lack_of_credit_with_a_wait_in_its_metadata_may_pass():
    """The wait counts wherever it is told."""
    assert type(outcome(problem(402, metadata={"retry_after": 2}), 402)) is TransientError


WAITS = {
    "seconds": ("7", 7.0),
    "fraction": ("0.001", 0.001),
    "nothing": ("0", 0.0),
    "spaces": (" 7 ", 7.0),
    "negative": ("-5", 0.0),
    "a day": ("86400", 86400.0),
    "very long": ("1e300", 365 * 24 * 3600.0),
    "date": (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
    "date in another zone": ("Fri, 02 Jan 2026 04:04:15 +0100", 10.0),
    "past date": ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
    "date without a zone": ("Fri, 02 Jan 2026 03:05:05", None),
    "impossible date": ("Fri, 99 Jan 2026 03:05:05 GMT", None),
    "year beyond all years": ("Fri, 02 Jan 99999999999999999999 00:00:00 GMT", None),
    "zone beyond all zones": ("Fri, 02 Jan 2026 00:00:00 +99999999999999999999", None),
    "garbage": ("soon", None),
    "empty": ("", None),
    "infinite": ("inf", None),
    "not a number": ("nan", None),
}


@pytest.mark.parametrize(("header", "seconds"), WAITS.values(), ids=WAITS)
def test_retry_after_is_seconds_or_a_date(header, seconds):
    """A wait is read in both forms; one that has passed is none; nonsense is not told."""
    err = outcome(problem(429), 429, {"Retry-After": header})

    assert err.retry_after_s == seconds


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        (3, 3.0),
        (0.5, 0.5),
        ("3", 3.0),
        (-3, 0.0),
        (10**400, None),
        (True, None),
        (None, None),
        ([3], None),
        ({"s": 3}, None),
        ("soon", None),
    ],
    ids=["whole", "fraction", "text", "negative", "huge", "bool", "null", "list", "object", "word"],
)
@pytest.mark.parametrize("place", ["metadata", "availability"])
def test_wait_inside_the_body_is_read_too(place, told, seconds):
    """A wait may stand in the body, and may be nonsense there."""
    assert outcome(problem(429, **{place: {"retry_after": told}})).retry_after_s == seconds


def test_wait_in_the_header_goes_first():
    """The header is the server's last word on how long to wait."""
    body = problem(429, metadata={"retry_after": 3}, availability={"retry_after": 4})

    assert outcome(body, 429, {"Retry-After": "0"}).retry_after_s == 0.0


@both_apis
def test_partial_text_is_kept_beside_the_error(api):
    """Half an answer is never a reply; it is kept with the error that cut it."""
    told = {"finish_reason": "error", **problem(502, "Upstream failed midway")}

    err = outcome(answer(api, "half", choice=told), api=api)

    assert (type(err), err.status, err.partial_text) == (TransientError, 502, "half")


@both_apis
def test_error_as_finish_reason_is_an_error_without_any_other_word(api):
    """An answer that ended in an error is not one, even if nothing explains it."""
    err = outcome(answer(api, "half", choice={"finish_reason": "error"}), api=api)

    assert (type(err), err.partial_text) == (TransientError, "half")
    assert "stopped in the middle" in err.message


@both_apis
@pytest.mark.parametrize("text", [None, "", 42, ["half"]])
def test_partial_text_that_is_none_is_not_made_up(api, text):
    """Without a text before the error there is no partial text."""
    assert outcome(answer(api, text, choice=problem(502)), api=api).partial_text is None


# --- what may have been billed ------------------------------------------------------------------


def test_error_with_usage_carries_what_it_cost():
    """What the server says it billed for a failed attempt is known."""
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "cost": 0.5}
    err = outcome({**problem(502), "usage": usage})

    assert (err.tokens, err.cost_usd, err.maybe_billed) == (7, Decimal("0.5"), False)


@both_apis
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (problem(400), 400),
        (problem(401), 401),
        (problem(429), 429),
        (problem(429), 200),
        (problem(503), 503),
        (problem(503), 200),
        (problem(529), 529),
        (b"<html>", 503),
        (b"<html>", 302),
    ],
)
def test_clean_error_was_not_billed(api, body, status):
    """An error that tells of no work done costs nothing."""
    err = outcome(body, status, api=api)

    assert (err.maybe_billed, err.tokens, err.cost_usd) == (False, None, None)


@both_apis
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (problem(408), 408),
        (problem(504), 504),
        (problem(504), 200),
        (problem(500), 500),
        (problem(500), 200),
        (problem(502), 502),
        (problem(), 200),
        (b"<html>", 502),
        (b"", 500),
        (b"<html>A timeout occurred", 524),
        ({**problem(500), "usage": {"prompt_tokens": 3, "completion_tokens": 4}}, 200),
        ({"choices": [{"text": "half", "message": {"content": "half"}, **problem(502)}]}, 200),
        (b"", 200),
        (b"<html>", 200),
        (b'{"choices": [{"te', 200),
        ({}, 200),
        ({"choices": []}, 200),
        ({"choices": [{"text": "", "message": {"content": ""}}]}, 200),
        ({**problem(429), "usage": {"prompt_tokens": 3}}, 429),
        ({**problem(429), "usage": {"total_tokens": 3}}, 429),
        ({"choices": [{"reasoning": "hm", "message": {"reasoning": "hm"}, **problem(429)}]}, 200),
        ({"choices": [{"text": ["x"], "message": {"content": ["x"]}, **problem(429)}]}, 200),
    ],
)
def test_answer_that_was_lost_may_have_been_billed(api, body, status):
    """Where a model may have written something that did not arrive, its cost is unknown."""
    err = outcome(body, status, api=api)

    assert (type(err), err.maybe_billed) == (TransientError, True)


def test_zero_tokens_of_a_useless_answer_are_not_counted():
    """Every request has tokens: a server that counts none leaves them unknown."""
    err = outcome({"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}})

    assert (err.tokens, err.maybe_billed) == (None, True)


@pytest.mark.parametrize("status", [420, 424, 444, 460, 498, 499, 520, 530, 561, 599])
def test_status_that_does_not_say_that_no_model_worked_may_have_been_billed(status):
    """A status of a proxy, or one that nobody knows, may pass, and a model may have worked."""
    err = outcome(problem(status), status)

    assert (type(err), err.maybe_billed) == (TransientError, True)


STATED = {"prompt_tokens": 42, "completion_tokens": 0, "cost": 0.25}
USELESS = {
    "blank": {"choices": [{"text": "", "message": {"content": ""}, "finish_reason": None}]},
    "no choice": {"choices": []},
    "no choices": {},
    "choices null": {"choices": None},
    "choice of null": {"choices": [None]},
    "no text": {"choices": [{"finish_reason": "stop", "text": 7, "message": {"content": 7}}]},
    "empty choice": {"choices": [{"index": 0, "message": {"content": {}}}]},
    "error": problem(500),
    "error without a code": problem(),
    "error that is a string": {"error": "upstream connect error"},
    "error at the choice": {"choices": [{"text": "", **problem(502)}]},
    "error as finish reason": {"choices": [{"text": "", "finish_reason": "error"}]},
    "clean error": problem(429),
    "fatal error": problem(401),
}


def _within(body, place, usage):
    """Put the usage into one place of a body."""
    if place == "beside":
        return {**body, "usage": usage}
    if place == "in a list":
        return {**body, "usage": [None, usage]}
    if place == "in the error":
        return {**body, "error": {"code": 500, "message": "no", "usage": usage}}
    if place == "in the metadata":
        return {**body, "error": {"code": 500, "message": "no", "metadata": {"usage": usage}}}
    choice = {"finish_reason": "error", "text": ""}
    return {**body, "choices": [{**choice, "usage": usage}]}


@both_apis
@pytest.mark.parametrize(
    "place", ["beside", "in a list", "in the error", "in the metadata", "at the choice"]
)
@pytest.mark.parametrize("status", [200, 429, 500])
@pytest.mark.parametrize("body", USELESS.values(), ids=USELESS)
def test_every_useless_answer_carries_what_the_body_says_of_its_cost(api, body, status, place):
    """Whatever is wrong with an answer, the tokens and the cost that it states are kept."""
    err = outcome(_within(body, place, STATED), status, api=api)

    assert isinstance(err, ClientError)
    assert (err.tokens, err.cost_usd, err.maybe_billed) == (42, Decimal("0.25"), False)


@both_apis
@pytest.mark.parametrize("body", USELESS.values(), ids=USELESS)
@pytest.mark.parametrize("usage", [{"prompt_tokens": 42, "completion_tokens": 0}, {}])
def test_useless_answer_without_a_cost_may_have_been_billed(api, body, usage):
    """Tokens without a cost show work; only an error that says why nothing was done is free."""
    err = outcome({**body, "usage": usage}, api=api)

    is_clean = not usage and body.get("error", {}) in (problem(429)["error"], problem(401)["error"])
    assert (err.tokens, err.cost_usd) == (42 if usage else None, None)
    assert err.maybe_billed is not is_clean


def test_raw_prompt_answered_as_a_chat_carries_its_cost():
    """A server without raw completions has answered, and bills for it."""
    err = outcome({**answer("chat", "Sorry."), "usage": STATED}, api="completions")

    assert (err.tokens, err.cost_usd, err.maybe_billed) == (42, Decimal("0.25"), False)


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ({"error": "model runner stopped", "prompt_eval_count": 30, "eval_count": 12}, 42),
        ({"response": 7, "prompt_eval_count": 30, "eval_count": 12}, 42),
        ({"response": "", "prompt_eval_count": 42, "eval_count": 0}, 42),
        ({"done": True, "prompt_eval_count": 30, "eval_count": 12}, 42),
        ({"done": True}, None),
    ],
)
def test_useless_answer_of_ollama_carries_its_tokens(body, tokens):
    """Ollama counts tokens in words of its own; they are kept with each error."""
    with pytest.raises(TransientError) as caught:
        read_ollama(raw(body), now=NOW)

    assert (caught.value.tokens, caught.value.maybe_billed) == (tokens, True)


@pytest.mark.parametrize("body", [{}, {"tokens": []}, {"tokens": ["x"]}, {"error": {"code": 500}}])
def test_useless_answer_to_tokenize_carries_its_cost(body):
    """A server that charges for cutting a text into tokens is believed."""
    with pytest.raises(ClientError) as caught:
        read_tokenized(raw({**body, "usage": STATED}), now=NOW)
    assert (caught.value.tokens, caught.value.cost_usd) == (42, Decimal("0.25"))
    with pytest.raises(ClientError) as caught:
        read_tokenized(raw(body), now=NOW)
    assert caught.value.maybe_billed


def test_tokens_of_a_text_cost_nothing_unless_the_server_says_so():
    """No model works on them; a cost that is stated counts."""
    tokens = {"tokens": [{"id": 5, "piece": "x"}]}

    free = read_tokenized(raw(tokens), now=NOW)
    billed = read_tokenized(raw({**tokens, "usage": STATED}), now=NOW)

    assert (free.usage, free.cost_usd) == (Usage(0, 0), Decimal(0))
    assert (billed.usage.total, billed.cost_usd) == (42, Decimal("0.25"))


# --- what is no answer at all -------------------------------------------------------------------

WHOLE = json.dumps(answer("chat")).encode()
NO_JSON = {
    "empty": b"",
    "HTML": b"<!DOCTYPE html><html>Just a moment</html>",
    "truncated": WHOLE[: len(WHOLE) // 2],
    "trailing": WHOLE + b'\n{"error": {"code": 500}}',
    "list": b"[" + WHOLE + b"]",
    "null": b"null",
    "string": b'"upstream connect error"',
    "number": b"42",
    "deep": b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "invalid UTF-8": WHOLE.replace(b'"index"', b'"\xff\xfe\xc3": 1, "index"'),
    "GB18030": '{"x": "灯笼"}'.encode("gb18030"),
    "NUL": b"\0" * 100,
    "stream": b": OPENROUTER PROCESSING\n\ndata: " + WHOLE + b"\n\n",
    "too many digits": b'{"choices": ' + b"9" * 5000 + b"}",
}


@both_apis
@pytest.mark.parametrize("body", NO_JSON.values(), ids=NO_JSON)
def test_body_that_is_no_json_object_is_transient(api, body):
    """Anything but one JSON object is tried again, and was perhaps paid for."""
    err = outcome(body, api=api)

    assert (type(err), err.status, err.maybe_billed) == (TransientError, 200, True)


def test_body_that_is_no_json_is_shown_by_its_beginning():
    """The message shows enough of the body to know who sent it."""
    assert "<!DOCTYPE html>" in outcome(NO_JSON["HTML"]).message
    assert "an empty body" in outcome(b"").message


CHOICES: list[object] = [None, [], {}, "x", 7, [None], [{}], ["x"], [[]], {"0": {"text": "x"}}]


@both_apis
@pytest.mark.parametrize("choices", CHOICES, ids=str)
def test_answer_without_a_choice_is_transient(api, choices):
    """An answer that holds no answer is tried again."""
    err = outcome({"choices": choices}, api=api)

    assert (type(err), err.maybe_billed) == (TransientError, True)
    assert "without any choice" in err.message


# --- messages -----------------------------------------------------------------------------------

LONG = "word\n" * 100_000


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (problem(500, LONG), 500),
        (problem(LONG), 500),
        (problem(500, error_type=LONG), 500),
        (problem(500, type=LONG), 200),
        (problem(401, LONG, metadata={"error_type": LONG}), 401),
        (problem(403, "flagged", metadata={"reasons": [LONG]}), 403),
        (problem(400, LONG, type="refusal"), 400),
        ({"error": LONG}, 200),
        ({"error": {"message": [LONG]}}, 200),
        ({"detail": LONG}, 422),
        (problem(500, " \n "), 500),
        ({"error": " \n "}, 200),
        (LONG.encode(), 502),
        (LONG.encode(), 200),
    ],
)
def test_message_is_one_line_of_bounded_length(body, status):
    """Whatever a server writes, the user gets one line that fits a screen."""
    result = outcome(body, status)

    message = str(result.block_message if isinstance(result, Reply) else result.message)
    assert 0 < len(message) <= 1200
    assert len(message.splitlines()) == 1
    kind = None if isinstance(result, Reply) else result.error_type
    assert len(kind or "") <= 100


# --- anything at all ----------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
odd_numbers = st.sampled_from([10**400, -(10**400), 1e308, 429, "429", "1e999999", True])
odd_values = json_values | odd_numbers


def loose(names, inner):
    return json_values | st.dictionaries(st.sampled_from(names), inner, max_size=6)


errors = loose(
    ["code", "message", "type", "error_type", "http_status", "metadata", "availability"],
    odd_values
    | loose(["error_type", "reasons", "flagged_input", "retry_after", "retryable"], odd_values),
)
messages = loose(["content", "refusal", "reasoning", "reasoning_content"], odd_values)
choices = loose(
    ["text", "message", "finish_reason", "native_finish_reason", "error"],
    odd_values | messages | errors,
)
usages = loose(
    ["prompt_tokens", "completion_tokens", "cost", "prompt_tokens_details"],
    odd_values | loose(["cached_tokens"], odd_values),
)
bodies = loose(
    ["choices", "error", "usage", "id", "model", "provider", "response", "message", "detail"],
    st.lists(choices, max_size=2) | errors | usages | odd_values,
)
statuses = st.sampled_from([200, 204, 302, 400, 402, 403, 404, 429, 500, 503, 529])
retry_after = st.none() | st.text() | st.sampled_from([wait for wait, _ in WAITS.values()])


def read_somehow(content, status, header, api):
    """Read the response; check what must hold of every reply and every error."""
    headers = {} if header is None else {"Retry-After": header}
    response = RawResponse(status, headers, content)
    result: Reply | ClientError
    try:
        if api == "ollama":
            result = read_ollama(response, now=NOW)
        else:
            result = read_response(response, api, now=NOW)
    except ClientError as err:
        result = err
    assert result.cost_usd is None or result.cost_usd >= 0
    if isinstance(result, ClientError):
        assert len(result.message.splitlines()) == 1
        assert len(result.message) <= 1200
    else:
        assert result.text is None or isinstance(result.text, str)
        assert status < 300 or result.block_message is not None


apis = st.sampled_from([*APIS, "ollama"])


@given(bodies, statuses, retry_after, apis)
def test_no_json_raises_anything_but_a_client_error(body, status, header, api):
    """Every JSON value under every status ends in a reply or in an error of a known kind, and
    under an error status only the host's policy gives a reply."""
    read_somehow(json.dumps(body).encode(), status, header, api)


@given(st.binary(), statuses, retry_after, apis)
def test_no_bytes_raise_anything_but_a_client_error(content, status, header, api):
    """Bytes that are nothing at all end the same way."""
    read_somehow(content, status, header, api)


@pytest.mark.parametrize("api", [*APIS, "ollama"])
@pytest.mark.parametrize(
    "frame",
    [
        '{{"error": {}}}',
        '{{"error": {{"message": {}}}}}',
        '{{"error": {{"code": 403, "metadata": {{"reasons": {}}}}}}}',
        '{{"choices": [{{"text": {0}, "message": {{"content": {0}}}}}]}}',
        '{{"response": {}}}',
    ],
)
def test_no_depth_raises_anything_but_a_client_error(api, frame):
    """Nesting just below the depth at which parsing fails does no harm further on."""
    for depth in range(700, 1010):
        content = frame.format("[" * depth + "]" * depth).encode()
        read_somehow(content, 200, None, api)


# --- Ollama -------------------------------------------------------------------------------------


def ollama(body, status=200):
    return read_ollama(raw(body, status), now=NOW)


def test_ollama_answer_is_read_like_any_other():
    """Ollama's own names for text, reason and tokens come out under ours."""
    body = {
        "model": "qwen3:8b",
        "response": "六四",
        "done_reason": "length",
        "prompt_eval_count": 3,
        "eval_count": 4,
    }

    assert ollama(body) == Reply(
        "六四", finish_reason="length", served_model="qwen3:8b", usage=Usage(3, 4)
    )


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"error": "model not found"}, 404, RejectedError),
        ({"error": "out of memory"}, 500, TransientError),
        ({"error": "odd"}, 200, TransientError),
        (b"", 200, TransientError),
        ({"done": True}, 200, TransientError),
        ({"response": "half"}, 500, TransientError),
        ({"response": "half", "error": "broke off"}, 200, TransientError),
    ],
)
def test_ollama_error_is_classified_like_any_other(body, status, kind):
    """Ollama's error strings and statuses mean what they mean elsewhere."""
    with pytest.raises(ClientError) as caught:
        ollama(body, status)

    assert type(caught.value) is kind
