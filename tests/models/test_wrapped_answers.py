"""What a host says is understood however it is wrapped, and what others wrote is not taken for it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import ROOT
from uncensoring_chinese_models.config import remember_secret
from uncensoring_chinese_models.errors import ClientError, FatalError, RejectedError, TransientError
from uncensoring_chinese_models.models.delivery import delivery_of
from uncensoring_chinese_models.models.wire import RawResponse, read_response

_DATA = json.loads((ROOT / "tests/data/host_shapes.json").read_bytes())
SHAPES = [each for each in _DATA["shapes"] if isinstance(each["body"], dict)]
ERRORS = [
    each
    for each in SHAPES + _DATA["look_alikes"]
    if isinstance(each["body"], dict) and "choices" not in each["body"] and each["status"] != 200
]
RISK = "Content Exists Risk"


def outcome(status: int, body: Any) -> tuple[Any, ...]:
    """Return the delivery with the shape of a reply, or the kind and the reason of an error."""
    content = body if isinstance(body, bytes) else as_text(body).encode()
    try:
        reply = read_response(RawResponse(status, {}, content), "chat", now=datetime.now(UTC))
    except ClientError as err:
        return type(err), err.reason
    return delivery_of(reply), reply.block_shape, reply.block_stage, reply.blocked_by


def as_text(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


def in_lines(body: Any) -> str:
    return "data: " + json.dumps(body, indent=1).replace("\n", "\ndata: ") + "\n\n"


def backwards(value: Any) -> Any:
    """Return JSON whose keys stand in the other order."""
    if isinstance(value, dict):
        return {name: backwards(value[name]) for name in reversed(value)}
    return [backwards(each) for each in value] if isinstance(value, list) else value


def renamed(value: Any, style: Any) -> Any:
    """Return JSON with its keys in another style."""
    if isinstance(value, dict):
        return {style(name): renamed(each, style) for name, each in value.items()}
    return [renamed(each, style) for each in value] if isinstance(value, list) else value


WRAPPINGS: dict[str, Any] = {
    "other order": backwards,
    "keys in capitals": lambda body: renamed(body, str.upper),
    "keys in camel case": lambda body: renamed(body, lambda key: key.title().replace("_", "")),
    "one level deeper": lambda body: {"result": body},
    "two levels deeper": lambda body: {"error": {"message": "upstream", "cause": {"body": body}}},
    "in a list of details": lambda body: {"error": {"message": "upstream", "details": [body]}},
    "in a list": lambda body: [body],
    "in a list of two": lambda body: [{}, body],
    "as a string": lambda body: {"error": as_text(body)},
    "as a string in a string": lambda body: {"detail": json.dumps({"message": as_text(body)})},
    "as Python writes it": lambda body: {"error": {"message": f"Error code: 400 - {body!r}"}},
    "as escaped text": lambda body: {"message": f"upstream: {json.dumps(as_text(body))} (1)"},
    "inside a text": lambda body: f"Failed for {{x}}: {as_text(body)} (attempt 1)",
    "as a JSON string": lambda body: json.dumps(as_text(body)),
    "in two lines": lambda body: f'{{"status": "start"}}\n{as_text(body)}\n',
    "in a stream": lambda body: f": ping\r\n\r\nevent: error\r\ndata: {as_text(body)}\r\n\r\n",
    "in a stream with a mark": lambda body: f"\ufeffdata: {as_text(body)}\n\n",
    "in lines of a stream": in_lines,
    "in GB18030": lambda body: as_text(body).encode("gb18030"),
}


@pytest.mark.parametrize("wrap", WRAPPINGS.values(), ids=WRAPPINGS)
def test_wrapped_error_means_the_same(wrap):
    """Each error of the collection, wrapped in any of these ways, has the same outcome."""
    plain = {each["name"]: outcome(each["status"], each["body"]) for each in ERRORS}
    wrapped = {each["name"]: outcome(each["status"], wrap(each["body"])) for each in ERRORS}

    # The same code of Alibaba has a name of its own in a stream.
    for found in (plain, wrapped):
        for name, each in found.items():
            found[name] = tuple({"AL-04": "AL-01", "AL-05": "AL-02"}.get(x, x) for x in each)
    assert wrapped == plain


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "Error from DeepSeek: content\u00a0exists\nRISK."}},
        {"error": RISK},
        {"errors": [RISK]},
        {"error": {"message": "x", "error_description": RISK}},
        {"title": RISK, "status": 400},
        f'"{RISK}"',
    ],
)
@pytest.mark.parametrize("status", [400, 403, 422, 429, 500])
def test_sentence_of_a_host_is_found_in_any_field_of_an_error(status, body):
    """It is a block under any status that is not one of the account or the address."""
    assert outcome(status, body)[:2] == ("blocked", "DS-02")


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": f'Bad body: {{"messages": [{{"content": "{RISK}"}}]}}'}},
        {"error": {"message": f"Bad body: {{'messages': [{{'content': '{RISK}'}}]}}"}},
        {"error": {"message": 'Bad body: {"messages": [{"content": "what is {\\"code\\": '}},
        {"error": {"message": 'Cut: {"prompt": "{"code": "content_filter"}"'}},
        {"error": {"message": "bad", "input": RISK, "prompt": {"code": "content_filter"}}},
        {"error": {"message": "bad"}, "request": {"messages": [{"code": "content_filter"}]}},
        {"error": {"message": "bad", "content": [{"message": RISK}]}},
    ],
)
def test_repeated_request_is_no_word_of_the_host(body):
    """A host that repeats what was asked has said nothing of it."""
    assert outcome(400, body) == (RejectedError, "unknown")


@pytest.mark.parametrize("place", ["metadata", "message", "warnings", "usage", "x"])
def test_answer_with_a_code_elsewhere_is_an_answer(place):
    """Beside an answer, only the places of errors are read."""
    body = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}
    inside = {**body["choices"][0], place: {"code": "content_filter"}}

    assert outcome(200, {**body, place: {"code": "content_filter"}})[0] == "complete"
    if place != "message":
        assert outcome(200, {"choices": [inside]})[0] == "complete"


@pytest.mark.parametrize(
    "body", ["", "  ", "null", "Forbidden", f"<p>{RISK}", f"<b>{{'a': '{RISK}'}}"]
)
@pytest.mark.parametrize("status", [400, 403, 422])
def test_what_holds_no_json_is_technical(status, body):
    """An empty body, a text or a page may come from anybody on the way, whatever it says."""
    assert outcome(status, body)[1] == "technical"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (401, (FatalError, "technical")),
        ("402", (FatalError, "technical")),
        (403, (RejectedError, "unknown")),
        (404, (RejectedError, "technical")),
        (429, (TransientError, "technical")),
        (10007, (TransientError, "technical")),
    ],
)
def test_status_inside_a_200_counts_without_an_error_around_it(code, found):
    """Many hosts always send 200, and the status beside their words."""
    assert outcome(200, {"code": code, "msg": "no"}) == found


def test_words_in_gb18030_are_kept_readable():
    """The words in the reply, the host's answer and the excerpt of a page are Chinese, not marks."""
    words = "系统检测到输入或生成内容可能包含不安全或敏感内容"
    body = as_text({"error": {"code": "1301", "message": words}}).encode("gb18030")
    reply = read_response(RawResponse(400, {}, body), "chat", now=datetime.now(UTC))

    assert reply.block_message == words
    assert words in str(reply.host_answer)
    page = RawResponse(403, {}, "<title>访问被拦截！</title>".encode("gb18030"))
    with pytest.raises(TransientError, match="访问被拦截"):
        read_response(page, "chat", now=datetime.now(UTC))


def test_key_between_bytes_of_other_characters_is_removed():
    """What hides a key in one encoding and shows it in another is read in the one that shows it."""
    key = "QmZxTpLwRkVbNcYdHsGfJaUeOiqMzXtPlWrKvBnC"
    remember_secret(key)
    body = b"".join(b"\xb0" + letter.encode() for letter in key)

    with pytest.raises(ClientError) as caught:
        read_response(RawResponse(400, {}, body), "chat", now=datetime.now(UTC))

    hidden = body.decode("gb18030")
    assert hidden[:8] not in str(caught.value.host_answer)
    assert hidden[:8] not in caught.value.message


def test_quota_that_is_used_up_is_not_waited_for():
    """A balance does not come back with time, even if a router says when to try again."""
    content = as_text({"error": {"code": "insufficient_quota", "message": "no"}}).encode()
    raw = RawResponse(429, {"Retry-After": "1"}, content)

    with pytest.raises(FatalError):
        read_response(raw, "chat", now=datetime.now(UTC))


NAMES = ["error", "code", "message", "choices", "detail", "flag", "contentFilter", "role", "stage"]
NAMES += ["data", "finish_reason", "delta", "content", "stop_reason", "metadata", "base_resp", "v"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", RISK, "1301", "{'a': 1}"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=20,
)


@example(
    status=400,
    body={"contentFilter": [{"role": {}}], "error": {"code": "1301", "message": "x"}},
    is_text=False,
)
@example(status=400, body={"code": "data_inspection_failed", "stage": [{}]}, is_text=False)
@given(status=st.sampled_from([200, 400, 403, 451, 500]), body=JSON, is_text=st.booleans())
def test_any_json_is_a_reply_or_an_error(status, body, is_text):
    """No type in any place breaks the reading."""
    assert outcome(status, {"message": as_text(body)} if is_text else body)
