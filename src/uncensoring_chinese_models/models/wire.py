"""Parse a server's answer: a reply, a policy refusal, or an error of a known kind.

Servers report the same error in many forms: as an HTTP status, as an error object inside a 200, at
the choice beside a partial text, or with `availability` and no code. All of them are classified
here: bytes and headers in, a `Reply` or a `ClientError` out. Keys are removed right after parsing, so
that no key is shortened to a part that could not be recognised any more.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.config import redact, redact_json
from uncensoring_chinese_models.domain import Reply, Usage
from uncensoring_chinese_models.errors import (
    ClientError,
    FatalError,
    RejectedError,
    TransientError,
)
from uncensoring_chinese_models.models import loose
from uncensoring_chinese_models.models.bills import read_bill
from uncensoring_chinese_models.models.hosts.answers import is_stream, read_json
from uncensoring_chinese_models.models.hosts.blocks import ANSWERED, classify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from uncensoring_chinese_models.domain import Api, Json
    from uncensoring_chinese_models.errors import FailureReason
    from uncensoring_chinese_models.models.hosts.blocks import HostVerdict

STATUS_OF = {
    "authentication_error": 401,
    "context_length_exceeded": 400,
    "insufficient_credits": 402,
    "invalid_request": 400,
    "invalid_request_error": 400,
    "model_not_found": 404,
    "overloaded": 503,
    "permission_denied": 403,
    "provider_overloaded": 503,
    "provider_unavailable": 502,
    "rate_limit_exceeded": 429,
    "timeout": 408,
    "unknown_parameter": 400,
}
"""The HTTP status that an error type inside a 200 stands for."""
STRONGER_STATUS_OF = {"insufficient_quota": 402, "invalid_api_key": 401}
"""Error types that overrule the HTTP status they come with."""
_VAGUE_TYPES = frozenset({"invalid_request", "invalid_request_error", "permission_denied"})
_EXPLAINED_TYPES = frozenset(STATUS_OF) - _VAGUE_TYPES
"""Error types that say what is wrong; the vague ones come with blocks as well as with mistakes."""
_STATUSES_OF_CALLS = frozenset({401, 402, 404, 408, 413})
"""Statuses that are never a block, whatever the words."""
_WRITTEN = ("text", "content", "reasoning", "reasoning_content", "arguments")
"""Names of what a model writes, in a choice or in what it holds."""
MAX_HOST_ANSWER = 4000
"""So many characters of an error's body are kept."""
_MAX_READ_BYTES = 1_000_000
"""So much of a body that is not JSON is read."""
_FINAL_STATUSES = frozenset(
    (*range(300, 400), 400, 404, 405, 406, 407, 410, 411, 412, 413, 414, 415, 416, 417, 418, 422)
) | {426, 428, 431, 451}
"""Statuses that say that this request, or its address, is wrong: the same request fails again."""
FORMAT_REFUSED = frozenset({400, 404, 415, 422})
"""Statuses that servers use to refuse a field or format that they do not support."""
_BEFORE_WORK = _FINAL_STATUSES | {401, 402, 403, 409, 425, 429, 503, 529}
"""Statuses of a request that no model worked on: it was wrong, refused or not taken. After any other
error, such as 500 or a timeout, a model may have written text that is billed."""

_ADVICE = {
    401: "the server accepted no key: check the key",
    402: "the account has no credit, or the key has reached its limit: add credit or raise the limit",
}


@dataclass(frozen=True, slots=True)
class RawResponse:
    """An HTTP response, read whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the value of a header without keys."""
        value = self.headers.get(name)
        return None if value is None else redact(value)


@dataclass(frozen=True, slots=True)
class _Trouble:
    """An error that the server reports, in one form."""

    status: int | None
    error_type: str | None
    message: str
    retryable: bool | None
    retry_after_s: float | None
    is_page: bool = False
    """True if the answer is not JSON: a proxy or a firewall may have sent it, not the provider."""


def read_response(raw: RawResponse, api: Api, *, now: datetime, asked: Sequence[str] = ()) -> Reply:
    """Return the reply that the server sent; `asked` are the texts of the request.

    Raises:
        ClientError: the response is an error, in any form; it says what it cost.
    """
    data = _json_object(raw)
    return _with_bill(data, lambda: _read(data, raw, api, now, asked))


def read_ollama(raw: RawResponse, *, now: datetime, asked: Sequence[str] = ()) -> Reply:
    """Return the reply of Ollama's /api/generate, through the same classification."""
    data = _json_object(raw)
    if data is not None and "response" in data:
        choice = {"text": data["response"], "finish_reason": data.get("done_reason")}
        data = {**data, "choices": [choice]}
    return _with_bill(data, lambda: _read(data, raw, "completions", now, asked))


def read_tokenized(raw: RawResponse, *, now: datetime) -> Reply:
    """Return the reply of llama.cpp's /tokenize: no text, and tokens that cost nothing."""
    data = _json_object(raw)
    return _with_bill(data, lambda: _read_tokenized(data, raw, now))


def _with_bill(data: Json | None, read: Callable[[], Reply]) -> Reply:
    """Read a body; whatever error it is, the tokens and the cost that the body states are kept."""
    try:
        return read()
    except ClientError as err:
        bill = read_bill(data)
        err.tokens = bill.usage.total or None  # zero is no count of what was sent
        err.cost_usd = bill.cost_usd
        err.maybe_billed = bill.cost_usd is None and _may_be_billed(data, err.status)
        raise


def _may_be_billed(data: Json | None, status: int | None) -> bool:
    """Return whether a useless answer may have been billed, if its cost is not stated."""
    return status not in _BEFORE_WORK or read_bill(data).shows_work or _wrote(data)


def _wrote(data: Json | None) -> bool:
    """Return whether a model has written something, in whatever choice and form."""
    pending: list[object] = [(data or {}).get("choices")]
    while pending:
        part = pending.pop()
        if isinstance(part, dict) and any(part.get(name) for name in _WRITTEN):
            return True
        held = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        pending += [each for each in held if isinstance(each, dict | list)]
    return False


def _read(
    data: Json | None, raw: RawResponse, api: Api, now: datetime, asked: Sequence[str]
) -> Reply:
    trouble = _find_trouble(data, raw, now)
    status = trouble.status if trouble else raw.status
    said = ANSWERED
    if status not in _STATUSES_OF_CALLS:
        said = classify(status, _text(raw) if data is None else data, asked)
    if said.is_block:
        return _block(said, data, api, raw, trouble)
    if said.outcome in ("technical", "content") and trouble is None:
        trouble = _Trouble(None, None, said.words, retryable=None, retry_after_s=None)
    if trouble:
        raise _error(trouble, said, data, raw, api)
    if data is None:
        raise TransientError(
            f"the server sent something that is not JSON ({loose.excerpt(raw.body)})",
            status=raw.status,
        )
    reply = replace(_reply(data, api, raw), block_shape=said.shape)
    wrote_nothing = not (reply.text or reply.reasoning or reply.block)
    if wrote_nothing and not reply.finish_reason and not reply.usage.completion_tokens:
        raise TransientError(
            "the provider returned an empty answer without a reason", status=raw.status
        )
    return reply


def _read_tokenized(data: Json | None, raw: RawResponse, now: datetime) -> Reply:
    trouble = _find_trouble(data, raw, now)
    if trouble:
        raise _error(trouble, ANSWERED, data, raw, "tokenize")
    tokens, bill = loose.pieces((data or {}).get("tokens")), read_bill(data)
    if not tokens:
        raise RejectedError("the server did not return the tokens of the text", status=raw.status)
    cost_usd = Decimal(0) if bill.cost_usd is None else bill.cost_usd
    usage = bill.usage if bill.shows_work else Usage(0, 0)
    return Reply(text="", usage=usage, cost_usd=cost_usd, tokens=tokens)


# --- replies ------------------------------------------------------------------------------------


def _json_object(raw: RawResponse) -> Json | None:
    """Return the mapping that a response is, or an error that is the only entry of a list."""
    try:
        data = strict_json.loads_leniently(raw.body)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, list) and len(data) == 1 and "error" in loose.mapping(data[0]):
        data = data[0]
    return redact_json(data) if isinstance(data, dict) else None


def _block(
    said: HostVerdict, data: Json | None, api: Api, raw: RawResponse, trouble: _Trouble | None
) -> Reply:
    """Return what a host that blocked the call sent, with its own words."""
    words = said.words or (trouble.message if trouble else "")
    reply = replace(
        _reply(data, api, raw, blocked=True),
        block_message=loose.one_line(redact(words))[:1000] or None,
        block="blocked" if said.outcome == "blocked" else "suspected_block",
        block_shape=said.shape,
        block_stage=said.stage,
        blocked_by=said.by,
        host_answer=_host_answer(data, raw) if trouble or said.words or data is None else None,
    )
    if trouble and reply.cost_usd is None and not _may_be_billed(data, trouble.status):
        return replace(reply, cost_usd=Decimal(0))  # as for a clean error
    return reply


def _host_answer(data: Json | None, raw: RawResponse) -> str | None:
    """Return the body of an error as the host sent it, without keys."""
    body = _text(raw)
    if data is not None:
        with suppress(RecursionError):  # it can be read, but not be written
            body = redact(strict_json.dumps(data, ensure_ascii=False))
    return body.strip()[:MAX_HOST_ANSWER] or None


def _text(raw: RawResponse) -> str:
    """Return a body that is no JSON object, such as a stream or a page, as text without keys."""
    return loose.decoded(raw.body[:_MAX_READ_BYTES])


def _reply(data: Json | None, api: Api, raw: RawResponse, *, blocked: bool = False) -> Reply:
    data = data or {}
    choice = _first_choice(data)
    if choice is None and not blocked:
        raise TransientError(
            f"the server answered without any choice ({loose.excerpt(raw.body)})", status=raw.status
        )
    choice = choice or {}
    message = loose.mapping(choice.get("message")) if api == "chat" else choice
    text = message.get("content" if api == "chat" else "text")
    if not blocked:
        _refuse_no_answer(choice, text, api, raw)
    if isinstance(text, list):  # some servers send content as parts
        text = "".join(str(loose.mapping(part).get("text") or "") for part in text)
    refused = None if text else loose.text(message.get("refusal"))
    bill = read_bill(data)
    return Reply(
        text=text if isinstance(text, str) else None,
        finish_reason=loose.text(choice.get("finish_reason")),
        native_finish_reason=loose.text(choice.get("native_finish_reason")),
        block_message=refused,
        block="blocked" if refused else None,
        block_stage="answer" if refused else None,
        reasoning=loose.text(message.get("reasoning") or message.get("reasoning_content")),
        provider=loose.text(data.get("provider")),
        served_model=loose.text(data.get("model")),
        generation_id=loose.text(data.get("id")) or raw.header("X-Generation-Id"),
        usage=bill.usage,
        cost_usd=bill.cost_usd,
        tokens=loose.tokens(choice.get("logprobs")),
    )


def _refuse_no_answer(choice: Json, text: object, api: Api, raw: RawResponse) -> None:
    """Raise if the text is missing because of an error; an empty text is not an error."""
    if api == "completions" and "text" not in choice and "message" in choice:
        raise RejectedError(
            "the server answered the raw prompt as a chat: it does not offer raw completions",
            status=raw.status,
        )
    is_text = text is None or isinstance(text, str | list)
    is_there = isinstance(choice.get("message"), dict) if api == "chat" else "text" in choice
    if not (is_text and is_there):
        raise TransientError("the server's answer has no text", status=raw.status)


def _first_choice(data: Json) -> Json | None:
    choices = data.get("choices")
    return (
        choices[0] if isinstance(choices, list) and choices and loose.mapping(choices[0]) else None
    )


# --- errors -------------------------------------------------------------------------------------


def _find_trouble(data: Json | None, raw: RawResponse, now: datetime) -> _Trouble | None:
    """Return the error that a response reports: in its body, at its choice, or by its status."""
    data = _error_event(raw) if data is None else data
    choice = _first_choice(data) or {}
    for told in (data.get("error"), choice.get("error")):
        if told:
            return _trouble(told if isinstance(told, dict) else {"message": str(told)}, raw, now)
    if choice.get("finish_reason") == "error":
        return _trouble({"message": "the provider stopped in the middle of its answer"}, raw, now)
    if not 200 <= raw.status < 300:
        return _trouble({"message": _said(data)}, raw, now)
    if "choices" not in data and loose.status(data.get("code")):
        return _trouble(data, raw, now)
    return None


def _error_event(raw: RawResponse) -> Json:
    """Return the last event of a stream that is an error; else an empty mapping."""
    text = _text(raw)
    value = read_json(text) if is_stream(text) else None
    events = [loose.mapping(each) for each in (value if isinstance(value, list) else [value])]
    return next((each for each in reversed(events) if each.get("error")), {})


def _said(error: Json) -> str | None:
    """Return what an error says in words."""
    told = (loose.text(error.get(name)) for name in ("message", "msg", "detail"))
    return next((each for each in told if each), None)


def _trouble(error: Json, raw: RawResponse, now: datetime) -> _Trouble:
    metadata, availability = (
        loose.mapping(error.get("metadata")),
        loose.mapping(error.get("availability")),
    )
    # OpenRouter uses error_type; the OpenAI API uses type, or a word as the code.
    places = [error.get("error_type"), metadata.get("error_type")]
    places += [error.get("code"), error.get("type")]
    words = [word for word in places if isinstance(word, str) and word and not loose.status(word)]
    error_type = loose.one_line(words[0])[:100] if words else None
    told: list[int | None] = [STRONGER_STATUS_OF.get(word) for word in words]
    told += [
        loose.status(error.get("code")),
        loose.status(error.get("http_status")),
        loose.status(raw.status),
    ]
    told += [STATUS_OF.get(word) for word in words]
    status = next((code for code in told if code), None)
    retry_after = loose.seconds(raw.header("Retry-After"), now)
    if retry_after is None:
        retry_after = loose.seconds(availability.get("retry_after"), now)
    if retry_after is None:
        retry_after = loose.seconds(metadata.get("retry_after"), now)
    message = loose.one_line(_said(error) or "")
    message = message or f"HTTP {raw.status} ({loose.excerpt(raw.body)})"
    if 300 <= raw.status < 400 and raw.header("Location"):
        message = f"redirected to {raw.header('Location')}, which is not followed: check base_url"
    retryable = availability.get("retryable")
    return _Trouble(
        status=status,
        error_type=error_type,
        message=loose.one_line(message)[:1000],
        retryable=retryable if isinstance(retryable, bool) else None,
        retry_after_s=retry_after,
        is_page=_json_object(raw) is None and read_json(_text(raw)) is None,
    )


def _error(
    trouble: _Trouble, said: HostVerdict, data: Json | None, raw: RawResponse, api: Api
) -> ClientError:
    kind = _kind(trouble, said)
    status = trouble.status
    name = f"{status} {trouble.error_type or ''}".strip() if status else trouble.error_type
    message = f"{name}: {trouble.message}" if name else trouble.message
    if said.outcome == "technical" and said.words and said.words not in message:
        message += f" ({loose.one_line(redact(said.words))[:1000]})"
    if kind is FatalError:
        message += (
            f" -- {_ADVICE.get(status or 0, 'no further call would succeed: check the account')}"
        )
    elif status == 403 and trouble.is_page and raw.body.strip():
        message += " -- not the provider's own answer: a firewall or a proxy may have blocked it"
    elif status == 404 and api == "completions":
        message += " -- the server may not offer raw completions for this model"
    choice = _first_choice(data or {}) or {}
    source = loose.mapping(choice.get("message")) if api == "chat" else choice
    return kind(
        message,
        status=status,
        error_type=trouble.error_type,
        retry_after_s=trouble.retry_after_s,
        partial_text=loose.text(source.get("content" if api == "chat" else "text")),
        reason=_reason(trouble, said),
        host_answer=_host_answer(data, raw),
    )


def _kind(trouble: _Trouble, said: HostVerdict) -> type[ClientError]:
    """Return the class of the error: retry, give up this call, or stop the run.

    Only what is known to fail again is given up; a status that nobody knows may pass.
    """
    status = trouble.status or 0
    if status == 401 or (said.outcome == "technical" and said.means == "ends"):
        return FatalError
    if status == 402:
        may_pass = trouble.retry_after_s is not None and trouble.error_type != "insufficient_quota"
        return TransientError if may_pass else FatalError
    if trouble.retryable is not None:
        return TransientError if trouble.retryable else RejectedError
    if said.outcome == "technical":
        return TransientError if said.means == "passing" else RejectedError
    is_of_content = _reason(trouble, said) == "content"
    # A page under 403 is not the provider's, and may let the next call pass.
    is_refused = status == 403 and not trouble.is_page
    is_final = is_of_content or is_refused or status in _FINAL_STATUSES
    return RejectedError if is_final else TransientError


def _reason(trouble: _Trouble, said: HostVerdict) -> FailureReason:
    """Return why the call failed; an error that says what is wrong is no sign of a block."""
    if trouble.error_type in _EXPLAINED_TYPES or trouble.retryable is not None:
        return "technical"
    if said.outcome == "content":
        return "content"
    return "unknown" if said.outcome == "unknown" else "technical"
