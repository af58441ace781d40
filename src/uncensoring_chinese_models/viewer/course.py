"""The progress of a run, read from the complete lines of its journal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.domain import MAX_USD
from uncensoring_chinese_models.runs import whole_lines
from uncensoring_chinese_models.text import preview

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json

_ERROR_WIDTH = 300


@dataclass(frozen=True, slots=True)
class Course:
    """The progress of a run."""

    calls: int
    """Requests that were sent, including failed ones."""
    in_flight: int
    """Requests without a reply so far."""
    tokens: int
    cost_usd: float
    """The sum of the known costs."""
    unpriced: int
    """Replies of unknown cost."""
    last_at: str
    """When the last request was sent."""
    last_error: str
    """What the last answer said, if it was an error; else empty."""
    max_iterations: int | None


def course_of(journal: bytes) -> Course:
    """Return the progress of a run; lines that cannot be parsed are skipped."""
    lines, _ = whole_lines(journal)
    open_calls: set[tuple[str, str]] = set()
    calls = tokens = unpriced = 0
    cost, last_at, last_error, most = Decimal(0), "", "", None
    for record in _records(lines):
        name = (str(record.get("call")), str(record.get("attempt")))
        if record["type"] == "header":
            most = _mapping(record.get("config")).get("max_iterations")
        elif record["type"] == "sent":
            calls, last_at = calls + 1, str(record.get("at", ""))
            open_calls.add(name)
        elif record["type"] == "attempt":
            open_calls.discard(name)
            told = _mapping(record.get("error")).get("message")
            last_error = preview(told, _ERROR_WIDTH) if isinstance(told, str) else ""
            billed, used = _billed(record)
            cost, tokens = cost + (billed or 0), tokens + used
            unpriced += billed is None and "reply" in record
    shown = most if isinstance(most, int) else None
    return Course(calls, len(open_calls), tokens, float(cost), unpriced, last_at, last_error, shown)


def _records(lines: list[bytes]) -> Iterator[Json]:
    for line in lines:
        try:
            record = strict_json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(record.get("type"), str):
            yield record


def _billed(record: Json) -> tuple[Decimal | None, int]:
    """Return the cost of an attempt, None if unknown, and how many tokens it used."""
    told = _mapping(record.get("reply") or record.get("error"))
    usage = _mapping(told.get("usage"))
    used = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    tokens = sum(each for each in used if isinstance(each, int))
    try:
        cost = Decimal(str(told.get("cost_usd")))
    except InvalidOperation:
        return None, tokens
    return cost if cost.is_finite() and 0 <= cost < MAX_USD else None, tokens


def _mapping(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
