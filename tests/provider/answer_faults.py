"""Faults in which an answer says something other than it should."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from tests.provider.fault import (
    Fault,
    Scene,
    first,
    other,
    problem,
    say,
    spoiled,
    text_of_reply,
)
from tests.provider.wire import Generation, Json, count_tokens


def _half(generation: Generation) -> str:
    text = generation.text or ""
    return text[: len(text) // 2]


def _failed_choice(reply: Json, error_type: str, code: int) -> None:
    say(reply, text_of_reply(reply)[: len(text_of_reply(reply)) // 2])
    first(reply)["finish_reason"] = first(reply)["native_finish_reason"] = "error"
    first(reply)["error"] = {
        "code": code,
        "message": "Upstream failed midway",
        "metadata": {"error_type": error_type},
    }


def _state_cost_alone(reply: Json) -> None:
    cost = reply["usage"].get("cost")
    reply["usage"] = {} if cost is None else {"cost": cost}


def _say_nothing(reply: Json) -> None:
    say(reply, "")
    first(reply)["finish_reason"] = first(reply)["native_finish_reason"] = None
    _state_cost_alone(reply)


def _say_no_text(reply: Json) -> None:
    say(reply, 42)
    _state_cost_alone(reply)


def _choose_nothing(reply: Json) -> None:
    reply["choices"] = []
    _state_cost_alone(reply)


def _drop(reply: Json, *keys: str) -> None:
    for key in keys:
        reply.pop(key, None)


def _thoughts(generation: Generation) -> str:
    return "Let me think about this. " * max(generation.completion_tokens // 6, 1)


_NOWHERE = Scene(api="chat", headers={}, reply={}, retry_after=None)


def _extend(reply: Json) -> None:
    for part in (reply, reply["usage"], first(reply), first(reply).get("message", {})):
        part["x_unknown"] = {"nested": [1, None, {"deeper": True}]}
    reply["system_fingerprint"] = None


_ANSWERS = (
    replace(
        spoiled(
            "choice_error_partial",
            "half the text, then an error in the choice",
            "transient",
            lambda reply: _failed_choice(reply, "provider_unavailable", 502),
        ),
        billed=False,
    ),
    replace(
        spoiled(
            "choice_error_policy",
            "half the text, then the host's policy",
            "refusal",
            lambda reply: _failed_choice(reply, "content_policy_violation", 403),
        ),
        billed=False,
    ),
    spoiled(
        "finish_error_only",
        'finish_reason "error" and nothing that explains it',
        "transient",
        lambda reply: first(reply).update(finish_reason="error"),
    ),
    other(
        "content_filter_with_text",
        "half the text, then the content filter",
        "refusal",
        text=_half,
        finish_reason="content_filter",
        completion_tokens=lambda generation: count_tokens(_half(generation)),
    ),
    other(
        "content_filter_empty",
        "the content filter left nothing",
        "refusal",
        text="",
        finish_reason="content_filter",
        completion_tokens=0,
    ),
    other(
        "content_filter_null",
        "the content filter left null",
        "refusal",
        text=None,
        finish_reason="content_filter",
        completion_tokens=0,
    ),
    other(
        "refusal_field",
        "no text, but a refusal beside it",
        "refusal",
        text=None,
        refusal="I cannot help with that.",
    ),
    other("empty_text", "an ordinary end without a word", "open", text="", completion_tokens=0),
    other("null_text", "null instead of text", "open", text=None, completion_tokens=0),
    other(
        "empty_length_reasoning",
        "reasoning ate every token",
        "open",
        text="",
        finish_reason="length",
        reasoning=_thoughts,
        reasoning_tokens=lambda generation: generation.completion_tokens,
    ),
    other(
        "null_length_reasoning",
        "reasoning ate every token, and text is null",
        "open",
        text=None,
        finish_reason="length",
        reasoning=_thoughts,
        reasoning_tokens=lambda generation: generation.completion_tokens,
    ),
    replace(
        other(
            "empty_blank_finish",
            "no text, no finish reason, no charge",
            "transient",
            text="",
            finish_reason=None,
            completion_tokens=0,
        ),
        billed=False,
    ),
    spoiled(
        "empty_cost_alone",
        "no text, no reason, no tokens, but a charge",
        "transient",
        _say_nothing,
    ),
    spoiled("choices_cost_alone", "no choice, but a charge", "transient", _choose_nothing),
    spoiled("text_number_cost_alone", "no text, but a charge", "transient", _say_no_text),
    other("finish_reason_null", "text, but no finish reason", "open", finish_reason=None),
    other(
        "finish_reason_unknown",
        "a finish reason that nobody knows",
        "open",
        finish_reason="eos_token",
    ),
    other(
        "model_other",
        "another model answered",
        "open",
        model=lambda generation: replace(generation.model, served="x-ai/another-model"),
    ),
    spoiled(
        "choices_empty",
        "an empty list of choices",
        "transient",
        lambda reply: reply.update(choices=[]),
    ),
    spoiled("choices_missing", "no choices", "transient", lambda reply: _drop(reply, "choices")),
    spoiled(
        "choices_null",
        "null instead of choices",
        "transient",
        lambda reply: reply.update(choices=None),
    ),
    spoiled(
        "choices_of_null",
        "a choice that is null",
        "transient",
        lambda reply: reply.update(choices=[None]),
    ),
    spoiled(
        "choices_object",
        "choices that are no list",
        "transient",
        lambda reply: reply.update(choices=first(reply)),
    ),
    spoiled(
        "choices_two",
        "one choice more than asked for",
        "answer",
        lambda reply: reply["choices"].append({**first(reply), "index": 1}),
    ),
    spoiled(
        "text_missing",
        "a choice without text",
        "open",
        lambda reply: _drop(first(reply), "message", "text"),
    ),
    spoiled("text_number", "a number instead of text", "open", lambda reply: say(reply, 42)),
    spoiled(
        "text_parts",
        "the text as a list of parts",
        "open",
        lambda reply: say(reply, [{"type": "text", "text": text_of_reply(reply)}]),
    ),
    spoiled(
        "text_large",
        "a text of four million characters",
        "open",
        lambda reply: say(reply, "All of it. " * 400_000),
    ),
    spoiled("usage_missing", "no usage", "answer", lambda reply: _drop(reply, "usage")),
    spoiled("usage_null", "usage is null", "answer", lambda reply: reply.update(usage=None)),
    spoiled(
        "usage_nan",
        "usage and cost are not numbers",
        "answer",
        lambda reply: reply["usage"].update(
            prompt_tokens=math.nan, completion_tokens=math.inf, cost=math.nan
        ),
    ),
    spoiled(
        "usage_negative",
        "usage and cost are negative",
        "answer",
        lambda reply: reply["usage"].update(
            prompt_tokens=-7, completion_tokens=-1, total_tokens=-8, cost=-0.5
        ),
    ),
    spoiled(
        "usage_strings",
        "usage and cost are text",
        "answer",
        lambda reply: reply["usage"].update(
            prompt_tokens="12", completion_tokens="many", total_tokens="", cost="0.0001"
        ),
    ),
    spoiled(
        "usage_huge",
        "usage and cost are absurd",
        "answer",
        lambda reply: reply["usage"].update(
            prompt_tokens=10**990, completion_tokens=10**990, cost=1e300
        ),
    ),
    spoiled(
        "usage_overcharged",
        "the bill is a thousand times what it should be",
        "answer",
        lambda reply: reply["usage"].update(
            prompt_tokens=10**8, completion_tokens=10**8, cost=500.0
        ),
    ),
    spoiled(
        "usage_zero",
        "usage counts nothing, and no cost is stated",
        "answer",
        lambda reply: reply.update(
            usage={"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        ),
    ),
    spoiled("usage_list", "usage is a list", "answer", lambda reply: reply.update(usage=[1, 2])),
    spoiled("cost_missing", "no cost", "answer", lambda reply: _drop(reply["usage"], "cost")),
    spoiled("cost_null", "cost is null", "answer", lambda reply: reply["usage"].update(cost=None)),
    spoiled("model_missing", "no model named", "answer", lambda reply: _drop(reply, "model")),
    spoiled(
        "provider_missing", "no provider named", "answer", lambda reply: _drop(reply, "provider")
    ),
    spoiled("id_missing", "no id", "answer", lambda reply: _drop(reply, "id")),
    spoiled(
        "id_duplicate",
        "an id that other replies bear too",
        "answer",
        lambda reply: reply.update(id="gen-duplicate"),
    ),
    spoiled(
        "native_finish_missing",
        "no native_finish_reason",
        "answer",
        lambda reply: _drop(first(reply), "native_finish_reason"),
    ),
    spoiled(
        "error_null",
        "a whole answer with error null",
        "answer",
        lambda reply: reply.update(error=None),
    ),
    spoiled(
        "error_beside_answer",
        "an error beside a whole answer",
        "open",
        lambda reply: reply.update(problem(502, "Provider returned error")(_NOWHERE)),
    ),
    spoiled("extra_fields", "fields that nobody knows, at every level", "answer", _extend),
    spoiled(
        "body_large",
        "a whole answer with four megabytes of ballast",
        "answer",
        lambda reply: reply.update(openrouter_metadata={"ballast": "x" * 4_000_000}),
    ),
)


def answer_faults() -> Iterator[Fault]:
    """Go through all of them."""
    yield from _ANSWERS
