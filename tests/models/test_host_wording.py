"""An error in no known shape: what its words say, and what they do not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.models.test_whole_replies import over_the_wire
from tests.support import ROOT
from uncensoring_chinese_models.domain import Reply
from uncensoring_chinese_models.errors import (
    ClientError,
    FatalError,
    RejectedError,
    TransientError,
)
from uncensoring_chinese_models.models.wire import RawResponse, read_response

WORDINGS = json.loads((ROOT / "tests/data/host_wordings.json").read_bytes())
RISK = "Content Exists Risk"
ASKED = (
    "The memo said that the file may contain sensitive information, and the screen showed "
    "'Content Exists Risk'. 输入内容包含敏感内容，内容审核不通过。In 1989"
)
ANSWER = {"index": 0, "message": {"role": "assistant", "content": "In 1989"}}


def answer(status: int, body: Any, asked: tuple[str, ...] = ()) -> Any:
    """Return the reply or the error that a body is read as."""
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    raw = RawResponse(status, {}, text.encode())
    try:
        return read_response(raw, "chat", now=datetime.now(UTC), asked=asked)
    except ClientError as err:
        return err


def said(message: str, **error: Any) -> dict[str, Any]:
    return {"error": {"message": message, **error}}


# --- sentences ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", WORDINGS["says_block"])
def test_sentence_that_speaks_of_the_content_is_no_unknown_error(text):
    """It is refused for its content, is not sent again, and a canary must follow."""
    for found in (answer(status, said(text)) for status in (400, 403, 500)):
        is_known = isinstance(found, Reply) and found.block is not None
        assert is_known or (type(found), found.reason) == (RejectedError, "content"), found


@pytest.mark.parametrize("text", WORDINGS["says_something_else"])
def test_sentence_about_something_else_is_no_block(text):
    """Accounts, formats, firewalls and checks that break use the same words."""
    for found in (answer(status, said(text)) for status in (400, 403, 500)):
        assert isinstance(found, ClientError)
        assert found.reason != "content"


def test_page_that_a_router_repeats_is_none():
    """A firewall's page says nothing of the host, wherever it stands."""
    page = "<html><p>Your input contains sensitive content and was blocked by content filter</html>"
    found = answer(400, said("Provider returned error", metadata={"raw": page}))

    assert (type(found), found.reason) == (RejectedError, "unknown")


def test_quota_of_a_minute_is_waited_for():
    """Under 429 no words end a run or prove a block; under 503 a router's channel may have no quota."""
    for status, text in [
        (429, "账户额度不足"),
        (429, "Your input contains sensitive content"),
        (503, "当前分组的可用渠道额度不足"),
    ]:
        assert type(answer(status, said(text))) is TransientError


# --- what is repeated -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"Invalid value for 'messages[0].content': '{ASKED}'. Too long.",
        f"Could not parse the request: {ASKED}",
        f"Could not parse the request: {ASKED[:75]}...",
        f"参数非法：“{ASKED}”",
        "无法解析: 输入内容包含敏感内容，内容审核不通过。In 1989",
    ],
)
def test_prompt_that_an_error_repeats_is_not_the_hosts_word(text):
    """The words stand in our prompt; the host says that the request is malformed."""
    found = answer(400, said(text), (ASKED,))

    assert (type(found), found.reason) == (RejectedError, "unknown")
    assert text[:20] in found.message


def test_sentence_of_a_host_that_the_prompt_knows_still_counts():
    """A probe about the sentence is blocked with the sentence."""
    found = answer(400, said(RISK), (ASKED,))

    assert isinstance(found, Reply)
    assert found.block_shape == "DS-02"


@pytest.mark.parametrize(
    "text",
    [
        "Details are hidden because they may contain sensitive information.",
        "This login was considered high risk, verify your device",
        "You need permission to edit the content management policy",
    ],
)
def test_known_words_in_another_sentence_are_no_block(text):
    """A part of a known sentence is none."""
    found = answer(400, said(text))

    assert (type(found), found.reason) == (RejectedError, "unknown")


# --- codes and finish reasons ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        *("sensitive_word_detected", "PROHIBITED_CONTENT", "ContentModerationBlocked"),
        *("moderation_blocked", "guardrail_violation", "input_content_unsafe"),
        *("FailedOperation.ContentUnsafe", "safety-violation", "INAPPROPRIATE_CONTENT"),
    ],
)
def test_code_that_names_the_content_and_the_verdict_is_a_block(code):
    """Both must be named; the shape is new, so it has no row."""
    found = answer(403, said("Denied.", code=code))

    assert isinstance(found, Reply)
    assert (found.block, found.block_shape, found.blocked_by) == ("blocked", None, "unknown")
    assert found.block_message == "Denied."


@pytest.mark.parametrize("code", ["CONTENT_REJECTED", "content_policy", "text_risk"])
def test_code_that_only_hints_at_it_is_suspected(code):
    """A canary must tell whether it is about the content."""
    found = answer(400, said("Denied.", code=code))

    assert (type(found), found.reason) == (RejectedError, "content")


@pytest.mark.parametrize(
    "code",
    [
        *(
            "content_filter_error_x",
            "moderation_timeout",
            "content_type_forbidden",
            "request_blocked",
        ),
        *(
            "sensitive_operation",
            "CONTENT_ACCESS_DENIED",
            "input_rejected",
            "user_content_violation",
        ),
        *(
            "sensitive_words_load_failed",
            "PROMPT_TEMPLATE_BLOCKED",
            "security_violation",
            "illegal_input",
        ),
    ],
)
def test_code_about_something_else_is_unknown(code):
    """A check that broke, an account or a format is no block."""
    found = answer(400, said("Denied.", code=code))

    assert (type(found), found.reason) == (RejectedError, "unknown")


@pytest.mark.parametrize(
    "finish",
    [
        "risk_content",
        "moderation",
        "FINISH_REASON_SAFETY",
        "content_filter: X",
        "敏感内容",
        "filtered",
    ],
)
def test_finish_reason_that_names_a_filter_is_a_block(finish):
    """A finish reason says nothing but why a text ended, so one word is enough."""
    found = answer(200, {"choices": [{**ANSWER, "finish_reason": finish}]})

    assert isinstance(found, Reply)
    assert (found.block, found.block_stage) == ("blocked", "answer")


@pytest.mark.parametrize("finish", ["abort", "eos_token", "schema_violation", "filter_error", None])
def test_other_finish_reasons_are_none(finish):
    """An unknown reason is no sign of a filter."""
    found = answer(200, {"choices": [{**ANSWER, "finish_reason": finish}]})

    assert isinstance(found, Reply)
    assert found.block is None


def test_guardrail_that_intervened_is_told_beside_the_text():
    """Bedrock sends the guardrail's text as an answer."""
    body = {"choices": [{**ANSWER, "finish_reason": "stop"}]}
    blocked = answer(200, {**body, "amazon-bedrock-guardrailAction": "INTERVENED"})
    passed = answer(200, {**body, "amazon-bedrock-guardrailAction": "NONE"})

    assert (blocked.block, blocked.block_shape) == ("blocked", "BR-01")
    assert passed.block is None


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "bad", "flag": 3}},
        {"error": {"message": "bad", "metadata": {"patterns": ["^a"]}}},
        {"error": {"message": "denied", "code": "LoginRiskDetection"}},
    ],
)
def test_fields_that_other_hosts_have_are_no_block(body):
    """A flag, a list of patterns or a check of logins is not what one host means by it."""
    found = answer(400, body)

    assert (type(found), found.reason) == (RejectedError, "unknown")


# --- accounts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        {"code": "AccountOverdueError", "message": "no"},
        {"code": "insufficient_user_quota", "message": "用户额度不足"},
        {"message": "账户已欠费，请充值后重试"},
        {
            "message": "Your account has been disabled for repeated violations of our content policy."
        },
        {"message": "Your account has an overdue balance"},
    ],
)
def test_account_that_can_do_no_more_ends_a_run(error):
    """Its words may name contents too; no further call would succeed."""
    assert type(answer(403, {"error": error})) is FatalError


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (1004, FatalError),
        ("1008", FatalError),
        (1002, TransientError),
        (1039, TransientError),
        (2013, RejectedError),
    ],
)
def test_errors_of_minimax_stand_in_an_answer(code, kind):
    """They come with HTTP 200 and no choices."""
    body = {"choices": None, "base_resp": {"status_code": code, "status_msg": "x"}}

    assert type(answer(200, body)) is kind


# --- where it stands ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (said("Forbidden", code=403), RejectedError, "unknown"),
        (said("Slow down", code=429), TransientError, "technical"),
        (said("输出内容不合规，已停止"), RejectedError, "content"),
    ],
)
def test_error_in_the_middle_of_a_stream_is_read_as_one(error, kind, reason):
    """The text before it is no answer."""
    events = [{"choices": [{"index": 0, "delta": {"content": "In"}}]}, error]
    body = "".join(f"data: {json.dumps(each)}\n\n" for each in events)
    found = answer(200, body)

    assert (type(found), found.reason) == (kind, reason)


def test_words_are_those_that_stand_nearest():
    """A router's own message says nothing, and the host's stands around the code or beside it."""
    azure: dict[str, Any] = {
        "error": {
            "message": "The prompt triggered the filter of Azure.",
            "code": "x",
            "innererror": {"code": "ResponsibleAIPolicyViolation"},
        }
    }
    huawei: dict[str, Any] = {"error": {"message": "Blocked here.", "code": "ModelArts.81011"}}
    for body in (azure, {**huawei, "error_code": "ModelArts.81011"}):
        raw = json.dumps(body)
        found = answer(400, said("Provider returned error", metadata={"raw": raw}))

        assert found.block_message == body["error"]["message"]


@pytest.mark.parametrize(
    ("text", "tokens", "delivery"),
    [
        ("很抱歉，你输入的内容含有敏感信息，我无法回答。", 0, "suspected_block"),
        ("很抱歉，你输入的内容含有敏感信息，我无法回答。", 21, "complete"),
        ("I'm sorry, but I can't talk about sensitive political topics.", 0, "complete"),
        ("The censors said that the book contains sensitive content.", 0, "complete"),
    ],
)
async def test_notice_that_no_token_was_billed_for_is_perhaps_the_gateways(text, tokens, delivery):
    """Some gateways answer in the place of the model; a model's own refusal is not one."""
    sample = await over_the_wire(text, tokens=tokens)

    assert sample.delivery == delivery
