"""Faults in which an error is sent: as an HTTP status, or as a body under HTTP 200."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from tests.provider.fault import (
    ALL_APIS,
    Fault,
    Means,
    Scene,
    http_error,
    inside_200,
    problem,
)
from tests.provider.wire import Json

# --- HTTP statuses, and the same errors inside a 200 ----------------------------------------------

MODERATED: Json = {
    "reasons": ["politics/sensitive"],
    "flagged_input": "What do people remem...",
    "provider_name": "DeepInfra",
    "model_slug": "deepseek/deepseek-chat",
}
_NO_KEY = "No auth credentials found"
_BROKE = "Insufficient credits. Add more using your account's credits page"
_LATER = "Rate limit exceeded"
_CHANNEL = {"raw": '{"message":"queue full"}', "provider_name": "DeepInfra"}

_PLAIN = (
    (http_error("400", "bad request", "rejected", "Invalid request"), "invalid_request"),
    (http_error("401", "the key is missing or wrong", "fatal", _NO_KEY), "authentication"),
    (http_error("402", "out of credit", "fatal", _BROKE), "payment_required"),
    (
        http_error(
            "403_moderation",
            "blocked by moderation, with its reasons",
            "refusal",
            "Your input was flagged",
            metadata=MODERATED,
        ),
        "content_policy_violation",
    ),
    (
        http_error(
            "403_guardrail",
            "a guardrail of the account forbids it",
            "open",
            "Request blocked by a guardrail of this workspace",
        ),
        "permission_denied",
    ),
    (
        http_error("403_permission", "the key may not do this", "open", "Key lacks permission"),
        "permission_denied",
    ),
    (http_error("404", "no such model or page", "rejected", "Not found"), "not_found"),
    (http_error("408", "the request timed out", "transient", "Request timed out"), "timeout"),
    (http_error("409", "a conflict", "open", "Conflict"), "conflict"),
    (http_error("413", "the request is too large", "rejected", "Too large"), "payload_too_large"),
    (http_error("422", "cannot be processed", "rejected", "Unprocessable"), "unprocessable"),
    (
        http_error("429", "rate limited, not said for how long", "transient", _LATER),
        "rate_limit_exceeded",
    ),
    (http_error("500", "a masked server error", "transient", "Internal Server Error"), "server"),
    (
        http_error(
            "502",
            "the upstream's answer was invalid",
            "transient",
            "Provider returned error",
            metadata=_CHANNEL,
        ),
        "provider_unavailable",
    ),
    (
        http_error("503", "no provider is available", "transient", "No instances available"),
        "provider_unavailable",
    ),
    (http_error("504", "the upstream timed out", "transient", "Gateway timeout"), "timeout"),
    (
        http_error("529", "the upstream is overloaded", "transient", "Overloaded"),
        "provider_overloaded",
    ),
)

_LIMITED = {"X-RateLimit-Limit": "20", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "{reset}"}

_STATUSES = (
    http_error("400_unknown_model", "no such model", "rejected", "x/y is not a valid model ID"),
    http_error(
        "400_response_format",
        "the endpoint takes no schema",
        "rejected",
        "response_format json_schema is not supported by this endpoint",
    ),
    http_error(
        "402_retry_after", "out of credit for some seconds", "transient", _BROKE, retry_after=0
    ),
    http_error(
        "402_in_flight_budget",
        "too much in flight for the credit left",
        "transient",
        "In-flight budget reached",
        retry_after=0,
        metadata={"limit_source": "openrouter_in_flight_budget"},
    ),
    http_error(
        "402_key_limit",
        "the key's own limit is spent",
        "fatal",
        "Key limit exceeded",
        metadata={"limit_source": "openrouter_key_limit"},
    ),
    http_error(
        "404_no_endpoints",
        "no endpoint takes these parameters",
        "rejected",
        "No endpoints found that can handle the requested parameters.",
    ),
    http_error(
        "404_data_policy",
        "the account's policy leaves no endpoint",
        "rejected",
        "No endpoints found matching your data policy",
    ),
    http_error(
        "429_retry_after_seconds",
        "rate limited for some seconds",
        "transient",
        _LATER,
        retry_after=0,
    ),
    http_error(
        "429_retry_after_fraction",
        "rate limited for a fraction of a second",
        "transient",
        _LATER,
        retry_after=0.001,
    ),
    http_error(
        "429_retry_after_date",
        "rate limited until a date",
        "transient",
        _LATER,
        retry_after=0,
        retry_after_as_date=True,
    ),
    http_error(
        "429_retry_after_huge", "rate limited for a day", "transient", _LATER, retry_after=86_400
    ),
    http_error(
        "429_retry_after_negative",
        "rate limited for less than no time",
        "transient",
        _LATER,
        retry_after=-5,
    ),
    http_error(
        "429_retry_after_past_date",
        "rate limited until yesterday",
        "transient",
        _LATER,
        retry_after=-86_400,
        retry_after_as_date=True,
    ),
    http_error(
        "429_retry_after_garbage",
        "rate limited until soon",
        "transient",
        _LATER,
        retry_after="soon",
    ),
    http_error(
        "429_retry_after_infinite", "rate limited for ever", "transient", _LATER, retry_after="inf"
    ),
    http_error(
        "429_platform",
        "OpenRouter's own limit, with its headers",
        "transient",
        "Rate limit exceeded: free-models-per-min",
        headers=_LIMITED,
    ),
    http_error(
        "429_upstream",
        "the upstream's limit",
        "transient",
        "Provider returned error",
        metadata={"raw": "temporarily rate-limited upstream", "provider_name": "DeepInfra"},
    ),
    http_error(
        "503_retry_after", "no provider for some seconds", "transient", "Overloaded", retry_after=0
    ),
)


# --- error types and availability -------------------------------------------------------------

ERROR_TYPES: Mapping[str, tuple[int, Means, str]] = {
    "content_policy_violation": (403, "refusal", "The content violates the provider's policy"),
    "refusal": (400, "refusal", "The model refused to answer"),
    "context_length_exceeded": (400, "rejected", "Maximum context length is 8192 tokens"),
    "rate_limit_exceeded": (429, "transient", "Too many requests"),
    "provider_overloaded": (503, "transient", "The provider is overloaded"),
    "provider_unavailable": (502, "transient", "The provider is unavailable"),
}
"""OpenRouter's stable words for what went wrong."""


def _typed() -> Iterator[Fault]:
    for kind, (code, means, message) in ERROR_TYPES.items():
        for status in (code, 200):
            yield Fault(
                name=f"{status}_{kind}",
                about=f"HTTP {status}, error {code} of type {kind}",
                means=means,
                status=status,
                body=problem(code, message, error_type=kind),
                apis=ALL_APIS,
            )


def _availability() -> Iterator[Fault]:
    for status in (503, 200):
        for word, retryable in (("retryable", True), ("final", False)):
            yield Fault(
                name=f"{status}_availability_{word}",
                about=f"HTTP {status}, an error without code but with availability, {word}",
                means="transient" if retryable else "rejected",
                status=status,
                body=partial(_unavailable, retryable=retryable),
            )


def _unavailable(scene: Scene, *, retryable: bool) -> Json:
    availability: Json = {"code": "no_capacity", "retryable": retryable}
    if retryable:
        availability["retry_after"] = scene.retry_after or 0
    return {
        "error": {
            "message": "No capacity for this model",
            "error_type": "provider_overloaded" if retryable else "model_retired",
            "http_status": 503 if retryable else 410,
            "availability": availability,
        }
    }


_ODD_ERRORS = (
    *(
        http_error(
            str(code), f"a status of content networks: {code}", "transient", "Web server error"
        )
        for code in (498, 499, *range(520, 528), 530, 598, 599)
    ),
    Fault(
        name="200_error_string",
        about="HTTP 200 whose error is a string",
        means="open",
        body=lambda _: {"error": "upstream connect error"},
        apis=ALL_APIS,
    ),
    Fault(
        name="200_error_empty",
        about="HTTP 200 whose error is an empty object",
        means="open",
        body=lambda _: {"error": {}},
    ),
    Fault(
        name="200_error_code_text",
        about="HTTP 200, error 429 with its code as text",
        means="transient",
        body=problem("429", _LATER),
    ),
    Fault(
        name="200_error_code_null",
        about="HTTP 200, an error whose code is null",
        means="open",
        body=problem(None, "Something went wrong"),
    ),
    Fault(
        name="400_vllm",
        about="bad request, in vLLM's words",
        means="rejected",
        status=400,
        body=lambda _: {
            "object": "error",
            "message": "max_tokens is too large",
            "param": None,
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    Fault(
        name="422_fastapi",
        about="cannot be processed, in FastAPI's words",
        means="rejected",
        status=422,
        apis=ALL_APIS,
        body=lambda _: {"detail": [{"loc": ["body", "stop"], "msg": "bad", "type": "value"}]},
    ),
    Fault(
        name="500_no_body",
        about="a server error without a body",
        means="transient",
        status=500,
        recode=lambda _: b"",
        apis=ALL_APIS,
    ),
    Fault(
        name="500_text",
        about="a server error in plain text",
        means="transient",
        status=500,
        headers={"Content-Type": "text/plain"},
        recode=lambda _: b"upstream connect error",
        apis=ALL_APIS,
    ),
    Fault(
        name="204_no_content",
        about="HTTP 204: no content",
        means="transient",
        status=204,
        recode=lambda _: b"",
        apis=ALL_APIS,
    ),
    Fault(
        name="418_unknown_status",
        about="a status nobody expects",
        means="open",
        status=418,
        body=problem(418, "Short and stout"),
        apis=ALL_APIS,
    ),
)


def _leak(name: str, status: int, means: Means) -> Fault:
    def body(scene: Scene) -> Json:
        sent = scene.headers.get("Authorization", "no key")
        return problem(status, f"Bad request with headers {{'authorization': '{sent}'}}")(scene)

    return Fault(
        name=name,
        about=f"error {status} whose message repeats the Authorization header",
        means=means,
        status=status,
        body=body,
        apis=ALL_APIS,
    )


_LEAKS = (
    _leak("401_echoes_key", 401, "fatal"),
    _leak("400_echoes_key", 400, "rejected"),
    _leak("429_echoes_key", 429, "transient"),
    replace(_leak("200_echoes_key", 500, "transient"), status=200),
)


def error_faults() -> Iterator[Fault]:
    """Go through all of them."""
    yield from (plain for plain, _ in _PLAIN)
    yield from (inside_200(plain, error_type) for plain, error_type in _PLAIN)
    yield from _STATUSES
    yield from _typed()
    yield from _availability()
    yield from _ODD_ERRORS
    yield from _LEAKS
