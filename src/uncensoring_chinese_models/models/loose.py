"""Read values from a server's JSON leniently: a value of the wrong type or range becomes None."""

from __future__ import annotations

import math
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models.config import redact
from uncensoring_chinese_models.domain import Token

if TYPE_CHECKING:
    from datetime import datetime

    from uncensoring_chinese_models.domain import Json


_MAX_COUNT = 10**9
"""A count above this is a mistake and counts as unknown, so the call is charged all that was reserved.
A real overcharge stays below it: no model reads or writes a tenth of so many tokens in a call."""
_MAX_LOGPROB = 10**6
_MAX_WAIT_S = 365 * 24 * 3600.0
"""A longer wait is read as this one, which is longer than any that is waited for."""
_MAX_SEARCHED_BYTES = 100_000
"""Far more than is shown, so that no key is cut off before it is found."""


def mapping(value: object) -> Json:
    """Return the value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: object) -> str | None:
    """Return the value if it is a non-empty text, else None."""
    return value if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    """Read a token count; a value that is not a whole number is unknown (None), not zero."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < _MAX_COUNT else None


def tokens(logprobs: object) -> tuple[Token, ...]:
    """Read tokens with probabilities in either form: a list of objects, or parallel lists."""
    told = mapping(logprobs)
    content, names, numbers = (told.get(key) for key in ("content", "tokens", "token_logprobs"))
    if isinstance(content, list):
        entries = [mapping(each) for each in content]
        pairs = [(each.get("id", each.get("token")), each.get("logprob")) for each in entries]
    elif isinstance(names, list) and isinstance(numbers, list) and len(names) == len(numbers):
        pairs = list(zip(names, numbers, strict=True))
    else:
        return ()
    known = [Token(name, _logprob(number)) for name, number in pairs if isinstance(name, int | str)]
    return tuple(known) if len(known) == len(pairs) else ()


def pieces(tokens: object) -> tuple[Token, ...]:
    """Read the tokens of llama.cpp's /tokenize; a part of a character comes as bytes."""
    entries = [mapping(each) for each in tokens] if isinstance(tokens, list) else []
    known = [
        Token(each["id"], is_whole=isinstance(each.get("piece"), str))
        for each in entries
        if type(each.get("id")) is int
    ]
    return tuple(known) if len(known) == len(entries) else ()


def _logprob(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= _MAX_LOGPROB else None  # not NaN either


def status(code: object) -> int | None:
    """Read an HTTP status such as 429 or "429"; a word such as "invalid_request" gives None."""
    try:
        number = int(str(code))
    except ValueError:
        return None
    return number if 300 <= number <= 599 else None


def seconds(value: Any, now: datetime) -> float | None:
    """Read Retry-After: seconds, or an HTTP date; a time in the past gives 0."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        try:
            seconds = (parsedate_to_datetime(str(value)) - now).total_seconds()
        except (TypeError, ValueError, OverflowError):
            return None
    return min(max(0.0, seconds), _MAX_WAIT_S) if math.isfinite(seconds) else None


def one_line(text: str) -> str:
    """Return the text on one line, with single spaces."""
    return " ".join(text.split())


def decoded(body: bytes) -> str:
    """Return a body as text without keys; some hosts in China send GB18030."""
    text = body.decode("utf-8", "replace")
    safe = redact(text)
    if "\ufffd" in text and safe == text:
        with suppress(UnicodeDecodeError):
            return redact(body.decode("gb18030"))
    return safe


def excerpt(body: bytes) -> str:
    """Return the beginning of a body that cannot be parsed, for an error message."""
    text = one_line(decoded(body[:_MAX_SEARCHED_BYTES])[:200])
    return f"it begins {text[:80]!r}" if text else "an empty body"
