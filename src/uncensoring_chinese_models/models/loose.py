"""Reading values that a server may have written in any shape; what makes no sense is unknown."""

from __future__ import annotations

import math
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models.domain import Token

if TYPE_CHECKING:
    from datetime import datetime

    from uncensoring_chinese_models.domain import Json


_MOST = 10**1000
"""A host may bill absurdly, and the budget must hear of it; but longer numbers cannot be written."""


def mapping(value: object) -> Json:
    """Return the value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: object) -> str | None:
    """Return the value if it is a text with anything in it."""
    return value if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    """Read a token count; what is no whole number of tokens is unknown, not zero."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < _MOST else None


def tokens(logprobs: object) -> tuple[Token, ...]:
    """Read the tokens of a text in either shape: a list of them, or lists side by side."""
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
    """Read the tokens that llama.cpp cuts a text into; a part of a character comes as bytes."""
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
    return float(value) if math.isfinite(value) else None


def status(code: object) -> int | None:
    """Read an error code such as 429 or "429"; words such as "invalid_request" are no status."""
    try:
        number = int(str(code))
    except ValueError:
        return None
    return number if 300 <= number <= 599 else None


def seconds(value: Any, now: datetime) -> float | None:
    """Read Retry-After: seconds, or an HTTP date; a time that has passed is no wait."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        try:
            seconds = (parsedate_to_datetime(str(value)) - now).total_seconds()
        except (TypeError, ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def one_line(text: str) -> str:
    """Fold white space, line breaks included."""
    return " ".join(text.split())


def excerpt(body: bytes) -> str:
    """Quote the beginning of a body that makes no sense."""
    text = one_line(body[:200].decode("utf-8", "replace"))
    return f"it begins {text[:80]!r}" if text else "an empty body"
