"""The attempts of a run, read from its journal; `verify` checks the hash chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.errors import CorruptRunError
from uncensoring_chinese_models.exports.rows import CallRow, row
from uncensoring_chinese_models.runs import whole_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.runs import RunFiles

_OF_ERROR = (
    *("status", "error_type", "reason", "maybe_billed"),
    *("cost_usd", "finished_at", "host_answer"),
)
_OF_REPLY = (
    "block_message",
    "block_shape",
    "host_answer",
    "finish_reason",
    "provider",
    "served_model",
    "generation_id",
    "cost_usd",
    "finished_at",
    "latency_s",
)


def call_rows(files: RunFiles) -> Iterator[CallRow]:
    """Yield every attempt, in the order of sending."""
    drafts: list[Json] = []
    under_way: dict[tuple[str, int], Json] = {}
    for record in _records(files):
        if record["type"] == "sent":
            draft = {"run": files.name, **_sent(record)}
            drafts.append(draft)
            under_way[record["call"], record["attempt"]] = draft
        elif record.get("cut"):  # attempts whose lines a crash damaged
            drafts += [{"run": files.name, **_sent(each)} for each in record["cut"]["sent"]]
        elif record["type"] == "attempt":
            under_way[record["call"], record["attempt"]] |= _ended(record)
    yield from (row(CallRow, draft) for draft in drafts)


def _records(files: RunFiles) -> Iterator[Json]:
    lines, _ = whole_lines(files.journal)
    for number, line in enumerate(lines, start=1):
        try:
            record = strict_json.loads(line)
        except (ValueError, RecursionError) as err:
            raise CorruptRunError(
                f"{files.name}/journal.jsonl, line {number} cannot be read ({err})."
            ) from err
        yield dict(record)


def _sent(record: Json) -> Json:
    iteration, _, purpose, *tail = record["call"].split("/")
    found: dict[str, Any] = {
        "call": record["call"],
        "attempt": record["attempt"],
        "server": record["server"],
        "role": record["role"],
        "purpose": purpose,
        "iteration": int(iteration),
        "outcome": "lost",
        "reserved_usd": record["reserved"]["usd"],
        "reserved_tokens": record["reserved"]["tokens"],
        "sent_at": record["at"],
        "request_sha256": record["request"],
    }
    if len(tail) > 1:
        found |= {"arm": "/".join(tail[:-1]), "sample": int(tail[-1])}
    return found


def _ended(record: Json) -> Json:
    if "reply" in record:
        reply = record["reply"]
        own = {name: reply.get(name) for name in _OF_REPLY}
        return {**(reply.get("usage") or {}), **own, "outcome": "reply"}
    error = record["error"]
    own = {name: error.get(name) for name in _OF_ERROR}
    return {**own, "outcome": "error", "error": error["message"], "error_kind": error["kind"]}
