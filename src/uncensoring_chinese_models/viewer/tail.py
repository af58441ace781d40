"""The progress of a run, read from the complete lines of its journal."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models.runs import MAX_BYTES, open_plain, whole_lines

if TYPE_CHECKING:
    from pathlib import Path

    from uncensoring_chinese_models.domain import Json

_PART = 1 << 16


@dataclass(frozen=True, slots=True)
class Course:
    """The progress of a run."""

    offset: int
    """How many bytes of complete lines were read."""
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
    max_iterations: int | None


def course_of(journal: bytes) -> Course:
    """Return the progress of a run; lines that cannot be parsed are skipped."""
    lines, torn = whole_lines(journal)
    open_calls: set[tuple[str, str]] = set()
    calls = tokens = unpriced = 0
    cost, last_at, most = Decimal(0), "", None
    for record in _records(lines):
        name = (str(record.get("call")), str(record.get("attempt")))
        if record["type"] == "header":
            most = _mapping(record.get("config")).get("max_iterations")
        elif record["type"] == "sent":
            calls, last_at = calls + 1, str(record.get("at", ""))
            open_calls.add(name)
        elif record["type"] == "attempt":
            open_calls.discard(name)
            billed, used = _billed(record)
            cost, tokens = cost + (billed or 0), tokens + used
            unpriced += billed is None and "reply" in record
    shown = most if isinstance(most, int) else None
    offset = len(journal) - torn
    return Course(offset, calls, len(open_calls), tokens, float(cost), unpriced, last_at, shown)


def _records(lines: list[bytes]) -> Iterator[Json]:
    for line in lines:
        try:
            record = json.loads(line)
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
        cost = None if told.get("cost_usd") is None else Decimal(str(told["cost_usd"]))
    except InvalidOperation:
        cost = None
    return cost if cost is None or cost.is_finite() else None, tokens


def _mapping(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def whole_until(path: Path, offset: int) -> int:
    """Return where the last whole line of a growing file ends; only what follows `offset` is read.

    An offset past the end belongs to another file, and the whole is looked at. A file that is
    larger than any run is not looked at.
    """
    try:
        with open_plain(path) as file:
            size = file.seek(0, os.SEEK_END)
            if size > MAX_BYTES:
                return 0
            if not 0 <= offset <= size:
                offset = 0
            ended, at = offset, offset
            file.seek(offset)
            while at < size and (part := file.read(min(_PART, size - at))):
                found = part.rfind(b"\n")
                ended = at + found + 1 if found >= 0 else ended
                at += len(part)
            return ended
    except OSError:
        return 0
