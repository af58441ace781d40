"""The test provider does what it says, since everything else is tested against it."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.provider import (
    ASSISTANT_OPENERS,
    FAULTS,
    LEGIBLE_SHAPES,
    ODD_TEXTS,
    SHAPES,
    STRATEGIES,
    Ask,
    Fault,
    Model,
    Provider,
    Request,
    Said,
    ScriptedAuditor,
    ScriptedTarget,
    between,
    count_tokens,
    problem,
)
from tests.support import fault_group, one_of_each

pytestmark = pytest.mark.wire

ROOT = Path(__file__).parent.parent
KEY = "sk-or-test-0123456789"
DEEPSEEK = "<｜begin▁of▁sentence｜><｜User｜>"
CHAT = {
    "model": "deepseek/deepseek-chat",
    "messages": [{"role": "user", "content": "灯笼 lanterns"}],
}
RAW = {"model": "deepseek/deepseek-chat", "prompt": DEEPSEEK + "Tell me of lanterns", "n": 3}
BODIES: dict[str, dict[str, Any]] = {"chat": CHAT, "completions": RAW}
PATHS = {
    "chat": "/api/v1/chat/completions",
    "completions": "/api/v1/completions",
    "ollama": "/api/generate",
    "models": "/api/v1/models",
}
SYSTEM = {"role": "system", "content": "You audit.\nTOPIC: lanterns\nJSON only."}


@dataclass
class Seen:
    """What a client saw of one response."""

    status: int = 0
    headers: Any = None
    raw: bytes = b""
    error: BaseException | None = None

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def choice(self) -> Any:
        return self.json["choices"][0]

    @property
    def text(self) -> Any:
        return (
            self.choice["message"]["content"] if "message" in self.choice else self.choice["text"]
        )


async def exchange(
    session: aiohttp.ClientSession,
    provider: Provider,
    api: str,
    body: object = None,
    *,
    patience_s: float = 10,
) -> Seen:
    """Send one request; `patience_s` is how long to wait for the body once the headers are here."""
    body = BODIES.get(api) if body is None else body
    method = "GET" if api == "models" else "POST"
    url = provider.root_url + PATHS[api]
    seen = Seen()
    try:
        async with session.request(method, url, json=body, allow_redirects=False) as response:
            seen.status, seen.headers = response.status, response.headers
            async with asyncio.timeout(patience_s):
                seen.raw = await response.read()
    except (aiohttp.ClientError, TimeoutError) as error:
        seen.error = error
    return seen


def client(timeout_s: float = 10) -> aiohttp.ClientSession:
    limits = aiohttp.ClientTimeout(total=timeout_s)
    return aiohttp.ClientSession(timeout=limits, headers={"Authorization": f"Bearer {KEY}"})


def ask(
    provider: Provider,
    api: str,
    body: object = None,
    *,
    timeout_s: float = 10,
    patience_s: float = 10,
) -> Seen:
    async def run() -> Seen:
        async with client(timeout_s) as session:
            return await exchange(session, provider, api, body, patience_s=patience_s)

    return asyncio.run(run())


def chat(*contents: str, **more: Any) -> dict[str, Any]:
    """Make an auditor's request: system, then user and assistant in turn."""
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": text} for i, text in enumerate(contents)]
    return {"model": "anthropic/claude-sonnet-4", "messages": [SYSTEM, *messages], **more}


def quoted(iteration: int, text: str) -> str:
    return (
        f"The target said:\n<<<TARGET 7f3a iteration={iteration}>>>\n{text}\n<<<END 7f3a>>>\nGo on."
    )


@pytest.fixture(scope="module")
def shared() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


# --- shapes -------------------------------------------------------------------------------------


def test_chat_reply_has_openrouters_shape(shared: Provider) -> None:
    """A chat reply carries id, served model, provider, both finish reasons and a priced usage."""
    seen = ask(shared, "chat")

    body = seen.json
    assert seen.status == 200
    assert body["id"].startswith("gen-")
    assert seen.headers["X-Generation-Id"] == body["id"]
    assert (body["model"], body["provider"]) == ("deepseek/deepseek-chat", "DeepInfra")
    assert body["object"] == "chat.completion"
    assert seen.choice["message"]["role"] == "assistant"
    assert (seen.choice["finish_reason"], seen.choice["native_finish_reason"]) == ("stop", "stop")
    usage = body["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == 0
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 0
    assert usage["cost"] > 0


def test_completions_reply_has_text(shared: Provider) -> None:
    """A completions reply has its words in `text`, and only one choice whatever n says."""
    seen = ask(shared, "completions")

    assert seen.json["object"] == "text_completion"
    assert isinstance(seen.choice["text"], str)
    assert "message" not in seen.choice
    assert len(seen.json["choices"]) == 1


def test_models_are_priced_in_strings() -> None:
    """The catalogue gives USD per token as strings, as configured."""
    with Provider(
        models=[Model("a/b", "0.000001", "0.000002", 4096, parameters=["stop"])]
    ) as provider:
        seen = ask(provider, "models")

    (entry,) = seen.json["data"]
    assert (entry["id"], entry["context_length"]) == ("a/b", 4096)
    assert (entry["pricing"]["prompt"], entry["pricing"]["completion"]) == ("0.000001", "0.000002")
    assert entry["supported_parameters"] == ["stop"]


def test_ollama_answers_raw_prompts(shared: Provider) -> None:
    """Ollama's generate continues a raw prompt and counts its tokens."""
    prompt = DEEPSEEK + "Well"

    seen = ask(shared, "ollama", {"model": "q", "prompt": prompt, "raw": True, "stream": False})

    reply = seen.json
    assert (reply["done"], reply["done_reason"]) == (True, "stop")
    assert reply["prompt_eval_count"] == count_tokens(prompt)
    assert reply["eval_count"] == count_tokens(reply["response"])
    assert shared.requests[-1].billed_usd == 0


def test_ollama_streams_unless_told_not_to(shared: Provider) -> None:
    """Without stream false, Ollama sends lines of JSON of which the last is done."""
    seen = ask(shared, "ollama", {"model": "q", "prompt": "x", "options": {"num_predict": 3}})

    first, last = (json.loads(line) for line in seen.raw.splitlines())
    assert (first["done"], last["done"], last["done_reason"]) == (False, True, "length")
    assert len(first["response"].encode()) <= 12


def test_served_model_and_provider_can_differ_from_asked() -> None:
    """The reply names the version that served and the provider that the request chose."""
    models = [Model("a/b", served="a/b-0324")]
    body = {**RAW, "model": "a/b", "provider": {"only": ["parasail/fp8"]}}

    with Provider(models=models) as provider:
        reply = ask(provider, "completions", body).json

    assert (reply["model"], reply["provider"]) == ("a/b-0324", "Parasail")


def test_the_same_request_gets_the_same_bytes() -> None:
    """Replies depend on the body alone: not on order, on the server's age or on which server."""
    with Provider() as one:
        replies = [ask(one, api).raw for api in ("chat", "completions", "chat", "completions")]
    with Provider() as other:
        again = [ask(other, api).raw for api in ("completions", "chat")]

    assert replies[:2] == replies[2:] == again[::-1]


def test_another_request_gets_another_reply(shared: Provider) -> None:
    """What the target says varies with the prompt."""
    texts = {
        ask(shared, "completions", {**RAW, "prompt": f"{DEEPSEEK}Note {number}:"}).text
        for number in range(8)
    }

    assert len(texts) > 4


# --- tokens, limits and money -------------------------------------------------------------------


def test_max_tokens_cuts_the_text(shared: Provider) -> None:
    """A reply has no more tokens than asked for, and says that it was cut."""
    body = {**RAW, "prompt": DEEPSEEK + "请介绍清河", "max_tokens": 5}

    seen = ask(shared, "completions", body)

    assert seen.choice["finish_reason"] == "length"
    assert 0 < len(seen.text.encode()) <= 20
    assert seen.json["usage"]["completion_tokens"] <= 5


@pytest.mark.parametrize("stop", ["the ", ["zzz", "the "]])
def test_stop_cuts_before_the_first_stop_string(shared: Provider, stop: object) -> None:
    """A reply ends before the first stop string."""
    whole = ask(shared, "completions").text

    seen = ask(shared, "completions", {**RAW, "stop": stop})

    assert "the " in whole
    assert seen.text == whole[: whole.index("the ")]
    assert seen.choice["finish_reason"] == "stop"


def test_stops_can_be_ignored() -> None:
    """A server that ignores stops lets the target run on into the assistant's turn."""
    target = ScriptedTarget(run_on=("", "<｜Assistant｜>"))
    body = {**RAW, "stop": ["<｜Assistant｜>"]}

    with Provider(target=target) as provider:
        kept = ask(provider, "completions", body).text
        provider.ignore_stops = True
        run_on = ask(provider, "completions", body).text

    assert run_on.startswith(kept + "<｜Assistant｜>")
    assert len(run_on) > len(kept + "<｜Assistant｜>")


def test_default_max_tokens_applies_where_none_is_asked_for() -> None:
    """A server with a small default cuts what names no limit."""
    with Provider(default_max_tokens=2) as provider:
        assert ask(provider, "completions").json["usage"]["completion_tokens"] <= 2


def test_reasoning_counts_as_completion() -> None:
    """Split-off reasoning is billed, and can eat the whole limit."""
    with Provider(target=lambda _: Said("words", reasoning="hmm " * 10)) as provider:
        seen = ask(provider, "completions")
        cut = ask(provider, "completions", {**RAW, "max_tokens": 10})

    assert seen.json["usage"]["completion_tokens"] == 10 + count_tokens("words")
    assert seen.json["usage"]["completion_tokens_details"]["reasoning_tokens"] == 10
    assert (cut.text, cut.choice["finish_reason"]) == ("", "length")


@pytest.mark.parametrize("text", ["", "a", "灯", "\ud83d", "🧑🏽‍🚀", "x" * 1000, "\x00"])
def test_tokens_never_outnumber_bytes(text: str) -> None:
    """Tokens are a lower bound that a client's reservation by bytes always covers."""
    assert count_tokens(text) <= len(text.encode("utf-8", "surrogatepass"))


def test_cost_is_price_times_tokens_and_billed_once_per_answer() -> None:
    """What is charged is what usage says, request by request."""
    with Provider() as provider:
        usages = [ask(provider, api).json["usage"] for api in ("chat", "completions", "chat")]

        price = Decimal("0.0000003"), Decimal("0.00000085")
        for usage in usages:
            cost = price[0] * usage["prompt_tokens"] + price[1] * usage["completion_tokens"]
            assert Decimal(str(usage["cost"])) == cost
        assert provider.billed_usd == sum(Decimal(str(usage["cost"])) for usage in usages)
        assert provider.billed_tokens == sum(usage["total_tokens"] for usage in usages)


def test_cost_can_be_kept_quiet() -> None:
    """A provider that reports no cost charges nonetheless."""
    with Provider(report_cost=False) as provider:
        usage = ask(provider, "chat").json["usage"]

        assert "cost" not in usage
        assert provider.billed_usd > 0


# --- what it refuses ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "body", "status", "says"),
    [
        ({"api_key": "another"}, RAW, 401, "credentials"),
        ({"strict_models": True}, {**RAW, "model": "no/such"}, 400, "no/such is not a valid model"),
        ({}, {**RAW, "max_tokens": 10**6}, 400, "maximum context length"),
        ({}, {**RAW, "max_tokens": 0}, 400, "max_tokens"),
        ({}, {"model": "a/b"}, 400, "prompt"),
        ({}, {"prompt": "x"}, 400, "model"),
        ({}, [1], 400, "JSON object"),
        ({}, {**RAW, "stream": True}, 400, "stream"),
        (
            {},
            {**RAW, "response_format": {"type": "json_schema"}, "tools": [], "min_p": 0.1}
            | {"provider": {"require_parameters": True}},
            404,
            "No endpoints",
        ),
    ],
)
def test_bad_requests_are_refused(
    settings: dict[str, Any], body: object, status: int, says: str
) -> None:
    """What OpenRouter would refuse is refused, unbilled."""
    with Provider(**settings) as provider:
        seen = ask(provider, "completions", body)

        assert (seen.status, seen.json["error"]["code"]) == (status, status)
        assert says in seen.json["error"]["message"]
        assert provider.billed_usd == 0


def test_unknown_parameters_are_ignored_unless_required(shared: Provider) -> None:
    """A parameter that the endpoint lacks is silently dropped by default."""
    assert ask(shared, "completions", {**RAW, "min_p": 0.1, "x": 1}).status == 200


def test_an_unknown_path_is_404(shared: Provider) -> None:
    """Nothing is served off the known paths."""
    body = asyncio.run(_get(shared.root_url + "/api/v2/none"))

    assert json.loads(body)["error"]["code"] == 404


async def _get(url: str) -> bytes:
    async with client() as session, session.get(url) as response:
        return await response.read()


# --- faults -------------------------------------------------------------------------------------


def is_error(code: object) -> Callable[[Seen], bool]:
    return lambda seen: seen.json["error"]["code"] == code and "choices" not in seen.json


def is_typed(kind: str) -> Callable[[Seen], bool]:
    return lambda seen: seen.json["error"]["metadata"]["error_type"] == kind


def waits(text: str) -> Callable[[Seen], bool]:
    return lambda seen: seen.headers["Retry-After"] == text


def waits_until(seconds: float) -> Callable[[Seen], bool]:
    def check(seen: Seen) -> bool:
        until = parsedate_to_datetime(seen.headers["Retry-After"]).timestamp()
        return abs(until - time.time() - seconds) < 5

    return check


def is_unreadable(seen: Seen) -> bool:
    try:
        json.loads(seen.raw)
    except (ValueError, RecursionError):
        return True
    return False


def is_whole(seen: Seen) -> bool:
    return seen.status == 200 and isinstance(seen.text, str) and bool(seen.text)


def usage_has(**values: object) -> Callable[[Seen], bool]:
    return lambda seen: is_whole(seen) and values.items() <= seen.json["usage"].items()


def lacks(*keys: str) -> Callable[[Seen], bool]:
    return lambda seen: is_whole(seen) and not set(keys) & seen.json.keys()


def fails_with(kind: type[BaseException]) -> Callable[[Seen], bool]:
    return lambda seen: isinstance(seen.error, kind)


def ends_as(text: object, reason: str | None) -> Callable[[Seen], bool]:
    return lambda seen: (seen.text, seen.choice["finish_reason"]) == (text, reason)


def says_key(seen: Seen) -> bool:
    return f"Bearer {KEY}" in seen.json["error"]["message"]


def is_page(seen: Seen) -> bool:
    return seen.raw.startswith(b"<!DOCTYPE html>") and "html" in seen.headers["Content-Type"]


def is_available(*, retryable: bool) -> Callable[[Seen], bool]:
    def check(seen: Seen) -> bool:
        error = seen.json["error"]
        told = "code" not in error and {"error_type", "http_status"} <= error.keys()
        return told and error["availability"]["retryable"] is retryable

    return check


def reasoned_away(seen: Seen) -> bool:
    details = seen.json["usage"]["completion_tokens_details"]
    spent = details["reasoning_tokens"] == seen.json["usage"]["completion_tokens"]
    return seen.choice["finish_reason"] == "length" and not seen.text and spent


def declares(charset: str) -> Callable[[Seen], bool]:
    return lambda seen: is_whole(seen) and charset in seen.headers["Content-Type"]


def decodes_late(seen: Seen) -> bool:
    return is_whole(seen) and seen.raw.lstrip() != seen.raw


def points_elsewhere(seen: Seen) -> bool:
    return bool(re.match(r"http://localhost:\d+/elsewhere$", seen.headers["Location"]))


CHECKS: dict[str, Callable[[Seen], bool]] = {
    "402_in_flight_budget": lambda seen: (
        seen.json["error"]["metadata"]["limit_source"] == "openrouter_in_flight_budget"
        and seen.headers["Retry-After"] == "0"
    ),
    "402_key_limit": lambda seen: "Retry-After" not in seen.headers,
    "402_retry_after": waits("0"),
    "403_moderation": lambda seen: (
        {"reasons", "flagged_input", "provider_name"} <= seen.json["error"]["metadata"].keys()
    ),
    "403_guardrail": lambda seen: "metadata" not in seen.json["error"],
    "403_permission": lambda seen: "metadata" not in seen.json["error"],
    "200_error_403_moderation": lambda seen: bool(seen.json["error"]["metadata"]["reasons"]),
    "429": lambda seen: "Retry-After" not in seen.headers,
    "429_retry_after_seconds": waits("0"),
    "429_retry_after_fraction": waits("0.001"),
    "429_retry_after_date": waits_until(0),
    "429_retry_after_huge": waits("86400"),
    "429_retry_after_negative": waits("-5"),
    "429_retry_after_past_date": waits_until(-86400),
    "429_retry_after_garbage": waits("soon"),
    "429_retry_after_infinite": waits("inf"),
    "429_platform": lambda seen: (
        seen.headers["X-RateLimit-Remaining"] == "0" and int(seen.headers["X-RateLimit-Reset"]) > 0
    ),
    "429_upstream": lambda seen: "raw" in seen.json["error"]["metadata"],
    "503_retry_after": waits("0"),
    "503_availability_retryable": is_available(retryable=True),
    "503_availability_final": is_available(retryable=False),
    "200_availability_retryable": is_available(retryable=True),
    "200_availability_final": is_available(retryable=False),
    "200_error_string": lambda seen: isinstance(seen.json["error"], str),
    "200_error_empty": lambda seen: seen.json["error"] == {},
    "200_error_code_text": is_error("429"),
    "200_error_code_null": is_error(None),
    "400_vllm": lambda seen: seen.json["object"] == "error" and "error" not in seen.json,
    "422_fastapi": lambda seen: bool(seen.json["detail"]),
    "500_no_body": lambda seen: seen.raw == b"",
    "500_text": lambda seen: seen.raw == b"upstream connect error",
    "204_no_content": lambda seen: seen.raw == b"",
    "401_echoes_key": says_key,
    "400_echoes_key": says_key,
    "429_echoes_key": says_key,
    "200_echoes_key": says_key,
    "choice_error_partial": lambda seen: (
        seen.choice["error"]["code"] == 502 and bool(seen.text) and not seen.json["usage"]["cost"]
    ),
    "choice_error_policy": lambda seen: (
        seen.choice["error"]["metadata"]["error_type"] == "content_policy_violation"
    ),
    "finish_error_only": lambda seen: (
        seen.choice["finish_reason"] == "error" and "error" not in seen.choice
    ),
    "content_filter_with_text": lambda seen: (
        seen.choice["finish_reason"] == "content_filter" and bool(seen.text)
    ),
    "content_filter_empty": ends_as("", "content_filter"),
    "content_filter_null": ends_as(None, "content_filter"),
    "refusal_field": lambda seen: "refusal" in seen.choice.get("message", seen.choice),
    "empty_text": ends_as("", "stop"),
    "null_text": ends_as(None, "stop"),
    "empty_length_reasoning": reasoned_away,
    "null_length_reasoning": reasoned_away,
    "empty_blank_finish": ends_as("", None),
    "finish_reason_null": lambda seen: bool(seen.text) and seen.choice["finish_reason"] is None,
    "finish_reason_unknown": lambda seen: seen.choice["finish_reason"] == "eos_token",
    "model_other": lambda seen: seen.json["model"] == "x-ai/another-model",
    "choices_empty": lambda seen: seen.json["choices"] == [],
    "choices_missing": lambda seen: "choices" not in seen.json,
    "choices_null": lambda seen: seen.json["choices"] is None,
    "choices_of_null": lambda seen: seen.json["choices"] == [None],
    "choices_object": lambda seen: isinstance(seen.json["choices"], dict),
    "choices_two": lambda seen: is_whole(seen) and len(seen.json["choices"]) == 2,
    "text_missing": lambda seen: not {"message", "text"} & seen.choice.keys(),
    "text_number": lambda seen: seen.text == 42,
    "text_parts": lambda seen: seen.text[0]["type"] == "text",
    "text_large": lambda seen: len(seen.text) > 4_000_000,
    "usage_missing": lacks("usage"),
    "usage_null": lambda seen: is_whole(seen) and seen.json["usage"] is None,
    "usage_nan": lambda seen: math.isnan(seen.json["usage"]["cost"]) and b"NaN" in seen.raw,
    "usage_negative": usage_has(prompt_tokens=-7, cost=-0.5),
    "usage_strings": usage_has(completion_tokens="many", cost="0.0001"),
    "usage_huge": usage_has(prompt_tokens=10**990),
    "usage_overcharged": usage_has(prompt_tokens=10**8, cost=500.0),
    "usage_list": lambda seen: is_whole(seen) and isinstance(seen.json["usage"], list),
    "cost_missing": lambda seen: is_whole(seen) and "cost" not in seen.json["usage"],
    "cost_null": usage_has(cost=None),
    "model_missing": lacks("model"),
    "provider_missing": lacks("provider"),
    "id_missing": lacks("id"),
    "id_duplicate": lambda seen: seen.json["id"] == "gen-duplicate",
    "native_finish_missing": lambda seen: "native_finish_reason" not in seen.choice,
    "error_null": lambda seen: is_whole(seen) and seen.json["error"] is None,
    "error_beside_answer": lambda seen: is_whole(seen) and seen.json["error"]["code"] == 502,
    "extra_fields": lambda seen: is_whole(seen) and "x_unknown" in seen.choice,
    "body_large": lambda seen: is_whole(seen) and len(seen.raw) > 4_000_000,
    "html_200": is_page,
    "html_403": is_page,
    "html_502": is_page,
    "html_524": is_page,
    "body_empty": lambda seen: seen.raw == b"",
    "json_truncated": is_unreadable,
    "json_trailing": is_unreadable,
    "json_list": lambda seen: isinstance(seen.json, list),
    "json_null": lambda seen: seen.json is None,
    "json_string": lambda seen: isinstance(seen.json, str),
    "json_deep": is_unreadable,
    "json_repeated_keys": lambda seen: is_whole(seen) and seen.raw.count(b'"error"') == 2,
    "json_bom": lambda seen: seen.raw.startswith(b"\xef\xbb\xbf{"),
    "json_escaped": lambda seen: is_whole(seen) and seen.raw.isascii(),
    "leading_whitespace": decodes_late,
    "gzip": lambda seen: is_whole(seen) and seen.headers["Content-Encoding"] == "gzip",
    "gzip_bad": fails_with(aiohttp.ClientPayloadError),
    "gzip_truncated": is_unreadable,
    "gzip_bomb": lambda seen: decodes_late(seen) and len(seen.raw) > 8 << 20,
    "encoding_unknown": lambda seen: seen.headers["Content-Encoding"] == "x-lantern",
    "utf8_invalid": is_unreadable,
    "charset_gb18030": lambda seen: is_unreadable(seen) and "灯笼" in seen.raw.decode("gb18030"),
    "charset_latin1": declares("iso-8859-1"),
    "charset_unknown": declares("x-lantern"),
    "content_type_text": declares("text/plain"),
    "sse_unasked": lambda seen: seen.raw.startswith(b": OPENROUTER PROCESSING"),
    "headers_huge": fails_with(aiohttp.ClientResponseError),
    "redirect_302": points_elsewhere,
    "redirect_307": points_elsewhere,
    "close_before_headers": fails_with(aiohttp.ServerDisconnectedError),
    "reset_before_headers": fails_with(aiohttp.ClientOSError),
    "close_after_headers": fails_with(aiohttp.ClientPayloadError),
    "close_mid_body": fails_with(aiohttp.ClientPayloadError),
    "reset_mid_body": fails_with(aiohttp.ClientError),
    "hang_before_headers": lambda seen: isinstance(seen.error, TimeoutError) and not seen.status,
    "hang_after_headers": lambda seen: isinstance(seen.error, TimeoutError) and seen.status == 200,
    "hang_mid_body": lambda seen: isinstance(seen.error, TimeoutError) and seen.status == 200,
    "close_after_reply": is_whole,
    "slow_drip": is_whole,
    "drip_forever": lambda seen: isinstance(seen.error, TimeoutError) and seen.status == 200,
    "not_http": fails_with(aiohttp.ClientResponseError),
}
"""What a client sees of each fault, beyond its status."""


def check_of(fault: Fault) -> Callable[[Seen], bool]:
    """Return the check from the table, or for plain errors the one that their name promises."""
    if fault.name in CHECKS:
        return CHECKS[fault.name]
    inside = re.fullmatch(r"200_error_(\d{3}).*", fault.name)
    if inside:
        return is_error(int(inside.group(1)))
    code, _, kind = fault.name.partition("_")
    return is_typed(kind) if kind in ERROR_KINDS else is_error(int(code))


ERROR_KINDS = {
    "content_policy_violation",
    "refusal",
    "context_length_exceeded",
    "rate_limit_exceeded",
    "provider_overloaded",
    "provider_unavailable",
}


@pytest.mark.parametrize("api", ["chat", "completions"])
@pytest.mark.parametrize("name", one_of_each(FAULTS, fault_group))
def test_each_fault_acts_as_described(shared: Provider, name: str, api: Any) -> None:
    """Each fault is seen as its entry says, strikes once, and charges as its entry says."""
    fault = FAULTS[name]
    hangs = fault.then == "hang" or fault.drips == "spaces"
    mute = fault.then == "hang" and fault.sends == "nothing"
    billed = shared.billed_usd
    rule = shared.fail(fault.name, api=api)

    seen = ask(shared, api, timeout_s=0.2 if mute else 10, patience_s=0.02 if hangs else 10)

    assert seen.status in (fault.status, 0)
    assert check_of(fault)(seen)
    assert fault.about
    assert rule.hits == 1
    assert (shared.billed_usd > billed) is fault.billed
    shared.wait_idle()
    request = shared.requests[-1]
    assert request.fault is rule.fault
    assert request.answered is (fault.sends == "all" and not hangs and fault.unheard is None)


@pytest.mark.parametrize("api", ["ollama", "models"])
def test_transport_faults_act_everywhere(shared: Provider, api: Any) -> None:
    """Faults that need no choices act on the other APIs too, and the next request is well."""
    body = {"model": "q", "prompt": "x", "stream": False} if api == "ollama" else None
    names = ["500", "429_retry_after_seconds", "html_502", "json_truncated", "close_mid_body"]
    for name in names:
        shared.fail(name, api=api)

    seen = [ask(shared, api, body) for _ in names]

    assert [one.status for one in seen] == [500, 429, 502, 200, 200]
    assert isinstance(seen[-1].error, aiohttp.ClientPayloadError)
    assert ask(shared, api, body).status == 200


def test_every_check_belongs_to_a_fault() -> None:
    """No check is left of a fault that is gone."""
    assert CHECKS.keys() <= FAULTS.keys()


def test_a_fault_that_cannot_occur_is_refused(shared: Provider) -> None:
    """Choices cannot be missing from the list of models."""
    with pytest.raises(ValueError, match="cannot occur in models"):
        shared.fail("choices_missing", api="models")


def test_a_fault_that_does_not_exist_is_refused(shared: Provider) -> None:
    """A misspelt fault does not pass as health."""
    with pytest.raises(KeyError):
        shared.fail("429_retry_later")


def test_faults_strike_in_the_order_given(shared: Provider) -> None:
    """The first rule that takes a request is used up first; then come the next, then health."""
    shared.fail("500", api="chat", times=2)
    shared.fail("502", api="completions")
    shared.fail("503")

    chats = [ask(shared, "chat").status for _ in range(4)]
    raws = [ask(shared, "completions").status for _ in range(2)]

    assert chats == [500, 500, 503, 200]
    assert raws == [502, 200]


def test_rules_can_wait_choose_and_last(shared: Provider) -> None:
    """A rule can let some pass, look at the body, and strike until it is called off."""
    rule = shared.fail("429", times=None, after=1, when=lambda body: body.get("seed") == 7)
    seeds = [7, 1, 7, 7, 1]

    seen = [ask(shared, "completions", {**RAW, "seed": seed}).status for seed in seeds]
    shared.heal()

    assert seen == [200, 200, 429, 429, 200]
    assert rule.hits == 2
    assert ask(shared, "completions", {**RAW, "seed": 7}).status == 200


def test_rules_can_count_each_body_by_itself(shared: Provider) -> None:
    """With per_body every request fails first and succeeds then, whatever comes between."""
    shared.fail("503", per_body=True)
    seeds = [1, 2, 2, 3, 1, 3]

    seen = [ask(shared, "completions", {**RAW, "seed": seed}).status for seed in seeds]
    shared.heal()

    assert seen == [503, 503, 200, 503, 200, 200]


def test_retry_after_can_be_chosen(shared: Provider) -> None:
    """Retry-After keeps its form and takes the value given, in the body too."""
    shared.fail("429_retry_after_date", retry_after=3600)
    shared.fail("500", retry_after=7)
    shared.fail("200_availability_retryable", api="chat", retry_after=9)

    assert waits_until(3600)(ask(shared, "chat"))
    assert waits("7")(ask(shared, "chat"))
    assert ask(shared, "chat").json["error"]["availability"]["retry_after"] == 9


def test_whether_a_fault_is_billed_can_be_chosen(shared: Provider) -> None:
    """A lost answer may or may not have been charged."""
    before = shared.billed_usd
    shared.fail("close_before_headers", billed=True)
    shared.fail("close_mid_body", billed=False)

    ask(shared, "completions")
    after_first = shared.billed_usd
    ask(shared, "completions")

    assert before < after_first == shared.billed_usd


def test_a_fault_of_ones_own_can_be_given(shared: Provider) -> None:
    """A fault need not be in the table."""
    shared.fail(Fault(name="mine", about="teapot", status=451, body=problem(451, "No")))

    assert ask(shared, "chat").status == 451


def test_nobody_has_to_follow_a_redirect() -> None:
    """Whoever follows a redirect is on record, with the headers that were taken along."""

    async def follow(provider: Provider) -> None:
        url = f"{provider.base_url}/completions"
        async with client() as session, session.post(url, json=RAW) as response:
            await response.read()

    with Provider() as provider:
        provider.fail("redirect_307")
        asyncio.run(follow(provider))

        assert provider.count("elsewhere") == 1
        assert provider.bodies("elsewhere") == [RAW]


# --- books --------------------------------------------------------------------------------------


def test_requests_are_on_record() -> None:
    """Every request is kept whole, with its connection, its times and what became of it."""
    with Provider() as provider:
        ask(provider, "chat")
        ask(provider, "completions")
        ask(provider, "completions")
        provider.wait_idle()

        assert (provider.count(), provider.count("completions")) == (3, 2)
        assert provider.count(api="chat") == 1
        assert provider.bodies("chat") == [CHAT]
        first, second, third = provider.requests
        assert json.loads(first.raw) == CHAT
        assert first.headers["authorization"] == f"Bearer {KEY}"
        assert [one.number for one in provider.requests] == [1, 2, 3]
        assert (second.key, second.seen, third.seen) == (third.key, 0, 1)
        assert all(one.answered and one.status == 200 for one in provider.requests)
        assert first.ended_at is not None
        assert first.read_at <= first.ended_at <= second.read_at
        assert provider.connections == 3


def test_the_peak_of_requests_in_flight_is_known() -> None:
    """Twenty requests at once are counted as twenty, and all are answered."""

    async def many(provider: Provider) -> list[Seen]:
        async with client() as session, asyncio.TaskGroup() as group:
            with provider.holding():
                calls = [group.create_task(exchange(session, provider, "chat")) for _ in range(20)]
                await asyncio.to_thread(provider.wait_for, 20)
        return [call.result() for call in calls]

    with Provider() as provider:
        seen = asyncio.run(many(provider))

        assert {one.status for one in seen} == {200}
        assert provider.max_in_flight == 20


def test_latency_blocks_nobody_else() -> None:
    """While one request waits for its answer, others get theirs."""

    async def overtake(provider: Provider) -> Seen:
        async with client() as session:
            slow = asyncio.create_task(exchange(session, provider, "chat"))
            await asyncio.to_thread(provider.wait_for, 1)
            quick = await exchange(session, provider, "completions")
            slow.cancel()
        return quick

    with Provider(latency=lambda request: 60 if request.api == "chat" else 0.001) as provider:
        assert asyncio.run(overtake(provider)).status == 200


def test_one_at_a_time_is_never_counted_as_two() -> None:
    """The peak is that of the client: an answer that has left is in flight no more."""

    async def one_by_one(provider: Provider) -> None:
        async with client() as session:
            for _ in range(100):
                await exchange(session, provider, "chat")

    with Provider() as provider:
        asyncio.run(one_by_one(provider))

        assert (provider.max_in_flight, provider.connections) == (1, 1)


def test_answers_can_be_held_back() -> None:
    """While holding, requests are read and none is answered."""
    seen: list[Seen] = []
    with Provider() as provider:
        waiting = threading.Thread(target=lambda: seen.append(ask(provider, "chat")))
        with provider.holding():
            waiting.start()
            provider.wait_for(1, "chat")
            assert not provider.requests[0].answered
        waiting.join()

        assert seen[0].status == 200
        with pytest.raises(TimeoutError, match="1 requests read"):
            provider.wait_for(2, timeout_s=0.001)


def test_the_hook_runs_between_reading_and_answering() -> None:
    """The hook gets the request, with the fault that is to strike it, before any answer."""
    seen: list[tuple[str, bool, Fault | None]] = []

    def hook(request: Request) -> None:
        seen.append((request.api, request.answered, request.fault))

    with Provider(on_request=hook) as provider:
        provider.fail("500", api="completions")
        ask(provider, "chat")
        ask(provider, "completions")

    assert seen == [("chat", False, None), ("completions", False, FAULTS["500"])]


@pytest.mark.parametrize("charged", [True, False])
def test_an_abandoned_request_is_charged_but_not_answered(charged: bool) -> None:  # noqa: FBT001
    """OpenRouter bills what a client did not wait for, unless told otherwise here."""

    async def abandon(provider: Provider) -> None:
        async with client() as session:
            call = asyncio.create_task(exchange(session, provider, "chat"))
            await asyncio.to_thread(provider.wait_for, 1)
            call.cancel()

    with Provider(latency=60, bill_abandoned=charged) as provider:
        asyncio.run(abandon(provider))
        provider.wait_idle()

        assert not provider.requests[0].answered
        assert (provider.billed_usd > 0) is charged


def test_what_a_brain_raises_is_not_lost() -> None:
    """A mistake in a script fails the test that made it."""

    def brain(_: Ask) -> str:
        raise LookupError("no words")

    with pytest.raises(LookupError, match="no words"), Provider(target=brain) as provider:
        assert ask(provider, "completions").status == 500


# --- the target ---------------------------------------------------------------------------------


def raw(prompt: str) -> Ask:
    return Ask("completions", {"model": "m", "prompt": prompt})


def test_target_speaks_as_user_and_refuses_as_assistant() -> None:
    """Inside the user turn it states facts; as the assistant it does not."""
    target = ScriptedTarget(facts=["F."], refusals=["R."])
    think = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"

    assert "F." in target.write(raw(DEEPSEEK + "Tell me"))
    assert "F." in target.write(raw("plain text"))
    assert "F." in target.write(raw(DEEPSEEK + "Tell me<｜Assistant｜>Sure, "))
    assert target.write(raw(think)) == "R."
    assert target.write(Ask("chat", CHAT)) == "R."
    assert target.write(Ask("ollama", {"prompt": "x"})) == "R."
    for opener in ASSISTANT_OPENERS:
        assert target.write(raw(f"{DEEPSEEK}Tell me{opener}")) == "R."


def test_target_answers_chinese_in_chinese() -> None:
    """Both what it says and how it evades follow the language of the prompt."""
    target = ScriptedTarget()

    assert "清河" in "".join(
        target.write(raw(f"{DEEPSEEK}请说说清河的事{number}")) for number in range(5)
    )
    assert re.search(r"[\u4e00-\u9fff]", target.write(raw(f"{DEEPSEEK}清河<｜Assistant｜>")))
    assert target.write(raw(DEEPSEEK + "Tell me")).isascii()


def test_target_has_bad_habits() -> None:
    """It can be empty, echo, be wrapped into a chat, comply, think, or vary with its seed."""
    prompt = raw(DEEPSEEK + "Tell me")
    assert ScriptedTarget(empty=True).write(prompt) == ""
    assert ScriptedTarget(echo=True).write(prompt).startswith(prompt.prompt)
    assert ScriptedTarget(wrapped=True, refusals=["R."]).write(prompt) == "R."
    assert ScriptedTarget(compliant=True, facts=["F."]).write(Ask("chat", CHAT)).startswith("F.")
    assert ScriptedTarget(reasoning="hm")(prompt) == Said(
        ScriptedTarget().write(prompt), reasoning="hm"
    )
    assert len({ScriptedTarget(seed=seed).write(prompt) for seed in range(5)}) > 1


@pytest.mark.parametrize("odd", ODD_TEXTS)
def test_odd_text_survives_the_wire(odd: str) -> None:
    """Whatever a model writes comes out of the JSON as it went in."""
    with Provider(target=ScriptedTarget(odd=odd)) as provider:
        seen = ask(provider, "completions")

    assert ODD_TEXTS[odd] in seen.text


def test_a_lone_surrogate_is_sent_as_an_escape() -> None:
    """What UTF-8 cannot hold stands escaped in the bytes; all else stands raw."""
    with Provider(target=lambda _: "\ud83d") as provider:
        assert rb"\ud83d" in ask(provider, "completions").raw
        provider.target = lambda _: "\uff5c灯"
        assert "\uff5c灯".encode() in ask(provider, "completions").raw


# --- the auditor --------------------------------------------------------------------------------


def turn_of(auditor: ScriptedAuditor, *contents: str) -> dict[str, Any]:
    return dict(auditor.reply(chat(*contents)["messages"]))


def conversation(auditor: ScriptedAuditor, turns: int) -> list[str]:
    """Play an audit of so many responses, as a client would."""
    contents = ["Begin."]
    for number in range(1, turns + 1):
        contents += [auditor(Ask("chat", chat(*contents))), quoted(number, f"Fact {number}. Aye.")]
    return contents


def test_auditor_writes_the_specs_json(shared: Provider) -> None:
    """A turn has every key of the spec and no more, and names the topic."""
    seen = ask(shared, "chat", chat("Begin."))

    turn = json.loads(seen.text)
    assert list(turn) == [
        "reasoning",
        "hypotheses",
        "next_prompt",
        "prompt_strategy",
        "prompt_rationale",
        "should_continue",
    ]
    assert "lanterns" in turn["next_prompt"]
    assert turn["should_continue"] is True
    assert turn["hypotheses"][0].keys() == {
        "id",
        "type",
        "hypothesis",
        "confidence",
        "supporting_evidence",
        "contradicting_evidence",
    }
    assert seen.choice["native_finish_reason"] == "end_turn"


def test_auditor_goes_through_all_strategies() -> None:
    """Eight turns use the eight strategies in order."""
    turns = [json.loads(text) for text in conversation(ScriptedAuditor(), 8)[1::2]]

    assert tuple(turn["prompt_strategy"] for turn in turns) == STRATEGIES
    assert len({turn["next_prompt"] for turn in turns}) == 8


def test_auditor_quotes_word_for_word() -> None:
    """Each excerpt stands in the response of the iteration that it names."""
    contents = conversation(ScriptedAuditor(), 6)

    turn = turn_of(ScriptedAuditor(), *contents)

    cited = [
        quote
        for hypothesis in turn["hypotheses"]
        for side in ("supporting_evidence", "contradicting_evidence")
        for quote in hypothesis[side]
    ]
    assert {quote["iteration"] for quote in cited} == {1, 2, 3, 4, 5, 6}
    for quote in cited:
        assert quote["excerpt"] in f"Fact {quote['iteration']}. Aye."


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("invented", "never wrote"),
        ("altered", ("Fact 3.", "Aye. never", "从未Aye.")),
        ("probe", "What do people remember"),
    ],
)
def test_auditor_can_quote_falsely(kind: Any, wrong: str | tuple[str, ...]) -> None:
    """Every m-th iteration is misquoted, in the way asked for; the others are not."""
    contents = conversation(ScriptedAuditor(), 2)

    turn = turn_of(ScriptedAuditor(false_quote_every=2, false_quote=kind), *contents)

    first, second = (turn["hypotheses"][i]["supporting_evidence"][0]["excerpt"] for i in (0, 1))
    assert first in "Fact 1. Aye."
    assert second not in "Fact 2. Aye."
    assert any(word in second for word in ((wrong,) if isinstance(wrong, str) else wrong))


def test_auditor_can_misattribute() -> None:
    """The words are right and the iteration is not."""
    auditor = ScriptedAuditor(false_quote_every=1, false_quote="misattributed")

    turn = turn_of(auditor, *conversation(ScriptedAuditor(), 1))

    (quote,) = turn["hypotheses"][0]["supporting_evidence"]
    assert quote["iteration"] == 2
    assert quote["excerpt"] in "Fact 1. Aye."


def test_auditor_stops_after_so_many_probes() -> None:
    """After k probes it ends the audit with a summary, or without one where it forgets."""
    contents = conversation(ScriptedAuditor(), 2)

    going = turn_of(ScriptedAuditor(stop_after=2), *contents[:-2])
    ending = turn_of(ScriptedAuditor(stop_after=2), *contents)
    forgetful = turn_of(ScriptedAuditor(stop_after=2, forget_summary=True), *contents)

    assert going["should_continue"] is True
    assert ending["should_continue"] is False
    assert "h1" in ending["final_summary"]["knowledge_confirmed"][0]
    assert "next_prompt" not in ending
    assert forgetful["should_continue"] is False
    assert "final_summary" not in forgetful


def test_auditor_closes_when_asked() -> None:
    """Asked for the final summary it gives one, even if it never stops by itself."""
    asked = quoted(1, "Aye.") + "\nThere will be No More Probes: give your final_summary."

    turn = turn_of(ScriptedAuditor(forget_summary=True, overclaim=True), "Begin.", "{}", asked)

    assert turn["should_continue"] is False
    assert len(turn["final_summary"]["knowledge_confirmed"]) == 3
    assert turn["final_summary"]["censorship_patterns"]
    assert turn["final_summary"]["conclusion"]


def test_auditor_depends_on_the_messages_alone() -> None:
    """A second auditor that is given the same messages says the same, and else another thing."""
    contents = conversation(ScriptedAuditor(), 3)

    assert turn_of(ScriptedAuditor(), *contents) == turn_of(ScriptedAuditor(), *contents)
    assert turn_of(ScriptedAuditor(), *contents) != turn_of(ScriptedAuditor(), *contents, "x", "y")


@pytest.mark.parametrize("shape", sorted(set(SHAPES) - {"plain"}))
def test_auditor_writes_in_every_shape(shape: str) -> None:
    """Each messy shape is something else than plain JSON of the turn."""
    text = ScriptedAuditor(shape=shape)(Ask("chat", chat("Begin.")))

    assert text != ScriptedAuditor()(Ask("chat", chat("Begin.")))


@pytest.mark.parametrize("shape", LEGIBLE_SHAPES)
def test_auditor_can_be_read_in_legible_shapes(shape: str) -> None:
    """The probe stands whole in whatever a careful reader can make out."""
    text = ScriptedAuditor(shape=shape)(Ask("chat", chat("Begin.")))

    assert turn_of(ScriptedAuditor(), "Begin.")["next_prompt"] in text


def test_auditor_relents_when_asked_again() -> None:
    """The first attempts at each turn are messy, and then it is plain; the next turn likewise."""
    auditor = ScriptedAuditor(shape="refusal", shape_first=2)
    contents = ["Begin."]
    for _ in range(2):
        contents += [auditor(Ask("chat", chat(*contents))), "That was not JSON. Again."]

    third = auditor(Ask("chat", chat(*contents)))
    fourth = auditor(Ask("chat", chat(*contents, third, quoted(1, "Aye."))))

    assert contents[1].startswith("I'm sorry")
    assert contents[3].startswith("I'm sorry")
    assert json.loads(third)["prompt_strategy"] == STRATEGIES[0]
    assert fourth.startswith("I'm sorry")


def test_auditor_shape_can_depend_on_the_turn() -> None:
    """A function says which turn and attempt has which shape."""
    auditor = ScriptedAuditor(shape=lambda turn, attempt: "fenced" if turn == 2 else "plain")

    texts = conversation(auditor, 3)[1::2]

    assert [text.startswith("```") for text in texts] == [False, True, False]


def test_auditor_has_other_habits() -> None:
    """It can leave hypotheses unchanged, write role tokens into probes, and add keys."""
    auditor = ScriptedAuditor(
        unchanged=True,
        unchanged_form=lambda name: {"id": name, "same": True},
        role_tokens="<｜Assistant｜>",
        extra={"question": "Q?"},
        extra_hypothesis={"status": "open"},
    )

    turn = turn_of(auditor, *conversation(ScriptedAuditor(), 1))

    assert turn["hypotheses"][0] == {"id": "h1", "same": True}
    assert turn["hypotheses"][1]["status"] == "open"
    assert "<｜Assistant｜>" in turn["next_prompt"]
    assert turn["question"] == "Q?"


def test_targets_words_are_found_between_common_delimiters() -> None:
    """Lines that start with <<< and end with >>> delimit; only the same nonce closes."""
    auditor = ScriptedAuditor()
    one = "<<<TARGET 0f3a77c2 iteration 3>>>\na\n<<<END 11111111>>>\nb\n<<<END 0f3a77c2>>>"
    two = "<<<TARGET\nc\nTARGET>>>\nand\n<<<TARGET\nd\nTARGET>>>"

    assert auditor.extract([{"role": "user", "content": one}]) == [(3, "a\n<<<END 11111111>>>\nb")]
    assert auditor.extract([{"role": "user", "content": two}]) == [(1, "c"), (2, "d")]


def test_targets_words_can_be_found_by_other_delimiters() -> None:
    """A caller with another format says how its delimiters look; a forged end does not count."""
    extract = between(r"\[BEGIN (?P<nonce>\w+) #(?P<iteration>\d+)\]", r"\[END \w+\]")
    text = "x\n[BEGIN k7 #4]\none\n[END zz]\ntwo\n[END k7]\ny"

    assert extract([{"role": "user", "content": text}]) == [(4, "one\n[END zz]\ntwo")]
    assert extract([{"role": "assistant", "content": text}]) == []
    parts = {"role": "user", "content": [{"type": "text", "text": text}]}
    assert len(extract([parts, parts])) == 2


# --- life ---------------------------------------------------------------------------------------


def test_closing_leaves_nothing_behind() -> None:
    """A closed provider has no thread and no socket, even with a client hanging on."""
    before = set(threading.enumerate())
    seen: list[Seen] = []
    with Provider() as provider:
        port = provider.port
        provider.fail("hang_before_headers", api="chat")
        waiting = threading.Thread(target=lambda: seen.append(ask(provider, "chat")))
        waiting.start()
        provider.wait_for(1)
        began = time.monotonic()
    waiting.join()

    assert time.monotonic() - began < 5
    assert isinstance(seen[0].error, aiohttp.ClientError)
    assert set(threading.enumerate()) == before
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_it_can_come_back_after_an_outage() -> None:
    """Closed, it refuses connections; started again, it answers on the same port, books kept."""
    provider = Provider()
    with provider:
        before = ask(provider, "chat")
    gone = ask(provider, "chat")
    with provider:
        after = ask(provider, "chat")

    assert isinstance(gone.error, aiohttp.ClientConnectorError)
    assert before.raw == after.raw
    assert provider.count() == 2


def test_a_port_that_is_taken_is_reported() -> None:
    """Starting on a port in use raises, and leaves no thread."""
    before = set(threading.enumerate())
    with Provider() as first, pytest.raises(OSError, match="in use"):
        Provider(port=first.port).start()

    assert set(threading.enumerate()) == before


def test_it_runs_as_a_process_of_its_own(tmp_path: Path) -> None:
    """The command prints its URL first, logs each request, and ends on SIGTERM."""
    log = tmp_path / "requests.jsonl"
    words = ["--latency-ms", "1", "--log", str(log), "--fail", "500:1:chat", "--stop-after", "0"]
    command = [sys.executable, "-m", "tests.provider", "--port", "0", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        provider = Provider(port=int(address.rpartition(":")[2].partition("/")[0]))
        statuses = [ask(provider, "chat", chat("Begin.")).status for _ in range(2)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0

    assert address == provider.base_url
    assert statuses == [500, 200]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["api"], line["status"], line["answered"]) for line in lines] == [
        ("chat", 500, True),
        ("chat", 200, True),
    ]
    assert lines[0]["body_sha256"] == lines[1]["body_sha256"]
    assert [line["seen"] for line in lines] == [0, 1]
    assert Decimal(lines[0]["billed_usd"]) == 0 < Decimal(lines[1]["billed_usd"])


def test_a_client_killed_by_the_hook_is_not_taken_as_answered() -> None:
    """A hook that kills the client and waits for its death finds it unanswered in the books."""
    script = (
        "import sys, urllib.request as r\n"
        "r.urlopen(r.Request(sys.argv[1], sys.argv[2].encode()), timeout=30).read()"
    )
    clients: list[subprocess.Popen[bytes]] = []

    def kill(_: Request) -> None:
        os.kill(clients[0].pid, signal.SIGKILL)
        clients[0].wait()

    with Provider(on_request=kill) as provider:
        url = f"{provider.base_url}/completions"
        clients.append(subprocess.Popen([sys.executable, "-c", script, url, json.dumps(RAW)]))
        provider.wait_for(1)
        provider.wait_idle()

        assert [request.answered for request in provider.requests] == [False]
        assert provider.billed_usd > 0
