"""How a host says "blocked": the table of known shapes, and the function that recognises them.

The table is `host_blocks.json`; the ids of its rows are those of the collection of shapes that the
tests hold as bodies. `classify` follows one order and stops at the first rule that applies:

1. an exact code or sentence of a technical error;
2. an exact code or field with which a host says that it blocked something;
3. an exact sentence with which a host says so, in a field of an error;
4. a finish reason, the native one first;
5. a flag beside the text;
6. a status: 451 is suspected, and 400, 403 or 422 with an error that nothing explains is unknown.

Words are searched for in fields of errors alone, never in the text of a model: a model may write about
filters, and a request may be repeated.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from uncensoring_chinese_models import strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uncensoring_chinese_models.domain import BlockedBy, BlockStage, Json

Outcome = Literal["answered", "blocked", "suspected_block", "technical", "unknown"]
Means = Literal["ends", "passing", "request"]
"""What a technical error means: no further call would succeed, a later attempt may, or this request never will."""

UNEXPLAINED_STATUSES = frozenset({400, 403, 422})
"""Statuses that hosts use for blocks as well as for mistakes."""
_MAX_UNWRAPPED = 5
"""So many times a string is read as JSON inside JSON."""
_MAX_NESTED = 16
_MAX_NODES = 10_000
_MAX_LITERAL = 20_000
_INSIDE = frozenset(
    [
        "error",
        "errors",
        "base_resp",
        "header",
        "Response",
        "Error",
        "contentFilter",
        "metadata",
        "innererror",
        "content_filters",
        "openrouter_metadata",
        "pipeline",
        "data",
        "promptFeedback",
        "incomplete_details",
        "choices",
        "Choices",
        "candidates",
        "output",
        "availability",
        "v",
        "response",
        "fragments",
        "detail",
    ]
)
"""Where errors, finish reasons and flags stand; the text of a model does not."""
_ENDINGS = frozenset({"choices", "Choices", "candidates"})
"""Lists of what a model wrote: only their finish reasons, flags and errors are read."""
_CODES = (
    "code",
    "type",
    "error_type",
    "error_code",
    "Code",
    "status",
    "provider_code",
    "status_code",
)
_WORDS = ("message", "msg", "status_msg", "error_msg", "Message", "detail", "error", "raw")
_FINISHES = (
    *("native_finish_reason", "finish_reason", "FinishReason", "finishReason"),
    *("stop_reason", "stopReason"),
)
"""Names of finish reasons, the native one first."""
_WITHDRAWN = {"need_clear_history": True, "is_safe": 0}
"""Flags of Baidu, with the value that means that the conversation must end."""
_FLAGS: dict[str, tuple[str, tuple[object, ...]]] = {
    "input_sensitive": ("MM-03", (True,)),
    "output_sensitive": ("MM-03", (True,)),
    "ModerationLevel": ("TC-03", (1, "1")),
}
"""Flags beside an answer that stands, with their rows and values."""
_ENDED = "the provider stopped in the middle of its answer ({})"
_PREFIX = re.compile(r"^\s*(litellm\.\w+:|Error code: \d+ ?-|<\d{3}>|\w+Error:)\s*")
_STREAM = re.compile(r"^\s*(data|id|event|retry)?:")
_APOSTROPHES = str.maketrans("\u2019\u2018\u02bc", "'''")


@dataclass(frozen=True, slots=True)
class HostVerdict:
    """What a server's answer means: blocked, a technical error, unknown, or an answer."""

    outcome: Outcome
    shape: str | None = None
    """The row of the table; for an answer, the flag that came with it."""
    stage: BlockStage = "unknown"
    by: BlockedBy = "unknown"
    words: str = ""
    """The host's own words."""
    means: Means = "request"

    @property
    def is_block(self) -> bool:
        """True where the host, or a gateway before it, kept the answer back."""
        return self.outcome in ("blocked", "suspected_block")


ANSWERED = HostVerdict("answered")


class _Node(NamedTuple):
    """A mapping in a server's answer, and the name under which it stands."""

    under: str
    value: Json

    @property
    def codes(self) -> list[str]:
        """The codes that it gives; not those of a model's message."""
        if self.under in _ENDINGS:
            return []
        names = _CODES if self.under else (*_CODES, "model")
        found = [self.value.get(name) for name in names]
        if self.under == "incomplete_details":
            found.append(self.value.get("reason"))
        if str(self.value.get("p", "")).rpartition("/")[2] == "status":
            found.append(self.value.get("v"))
        return [str(each) for each in found if isinstance(each, str | int)]

    @property
    def messages(self) -> list[str]:
        """What it says of itself in words."""
        if self.under in _ENDINGS:
            return []
        found = (self.value.get(name) for name in _WORDS)
        return [each for each in found if isinstance(each, str) and each]


class _Answer(NamedTuple):
    """A server's answer, unwrapped."""

    status: int | None
    nodes: list[_Node]
    is_stream: bool
    text_came: bool


def classify(status: int | None, body: str | Json | None) -> HostVerdict:
    """Return what a server's answer means, by its status and its body.

    The status is that of HTTP, or the one that an error inside a 200 stands for. The body is parsed
    already if it is one JSON object; keys have been removed from it.
    """
    value, is_stream = _parsed(body) if isinstance(body, str) else (body, False)
    if value is None:
        return ANSWERED
    nodes = list(_unwrap(value))
    answer = _Answer(status, nodes, is_stream, _text_came(nodes))
    rules = (_technical, _block_code, _block_sentence, _finish_reason, _flag)
    found = next((verdict for rule in rules if (verdict := rule(answer)) is not None), None)
    return found or _by_status(status)


# --- unwrapping -----------------------------------------------------------------------------------


def is_stream(text: str) -> bool:
    """Tell whether a text is framed as the events of a stream."""
    return _STREAM.match(text) is not None


def _parsed(text: str) -> tuple[Any, bool]:
    """Return the JSON of a text, of the events of a stream, or of a Python mapping; else None."""
    if is_stream(text):
        lines = (line.strip() for line in text.splitlines())
        told = (line.removeprefix("data:") for line in lines if line.startswith("data:"))
        events = [event for event in map(_value, told) if event is not None]
        return (events or None), True
    return _value(text), False


def _value(text: str) -> Any:
    text = _without_prefix(text)
    start = text.find("{")
    if start < 0:
        return None
    for part in (text, text[start : text.rfind("}") + 1]):
        try:
            value = strict_json.loads_leniently(part)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict | list):
            return value
    if len(text) > _MAX_LITERAL or text.lstrip().startswith("<"):
        return None
    try:
        value = ast.literal_eval(text[start : text.rfind("}") + 1])
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _without_prefix(text: str) -> str:
    for _ in range(_MAX_UNWRAPPED):
        shorter = _PREFIX.sub("", text, count=1)
        if shorter == text:
            break
        text = shorter
    return text.strip()


def _unwrap(value: Any) -> Iterator[_Node]:
    """Go through the mappings in which errors and finish reasons stand, the outer ones first."""
    pending: list[tuple[str, Any, int, int]] = [("", value, 0, 0)]
    count = 0
    while pending and count < _MAX_NODES:
        under, item, depth, unwrapped = pending.pop(0)
        if isinstance(item, list):
            pending += [(under, each, depth + 1, unwrapped) for each in item[:_MAX_NODES]]
        elif isinstance(item, dict) and depth <= _MAX_NESTED:
            count += 1
            yield _Node(under, item)
            for name, each in item.items():
                if isinstance(each, dict | list) and name in _INSIDE:
                    pending.append((name, each, depth + 1, unwrapped))
                elif isinstance(each, str) and name in _WORDS and under not in _ENDINGS:
                    inner = _parsed(each)[0] if unwrapped < _MAX_UNWRAPPED else None
                    if inner is not None:
                        pending.append((name, inner, depth + 1, unwrapped + 1))


def _text_came(nodes: Sequence[_Node]) -> bool:
    """Tell whether the model had written something, in any of the forms of hosts."""
    for under, value in nodes:
        holders = [value.get(name) for name in ("message", "delta", "Message", "Delta", "content")]
        places = [each for each in (value, *holders) if isinstance(each, dict)]
        named = ("text", "content", "Content", "reasoning_content") if under in _ENDINGS else ()
        found = [place.get(name) for place in places for name in named]
        found.append(value.get("result"))
        if any(isinstance(each, str) and each.strip() for each in found):
            return True
    return False


# --- the rules, in their order ----------------------------------------------------------------


def _technical(answer: _Answer) -> HostVerdict | None:
    for row, node in _matches("technical", answer):
        return HostVerdict("technical", row["id"], words=_words(node), means=row["means"])
    for node in answer.nodes:
        if node.under == "detail" and {"loc", "msg"} <= node.value.keys():
            return HostVerdict("technical", words=_words(node))  # a field of the request is wrong
    return None


def _block_code(answer: _Answer) -> HostVerdict | None:
    for row, node in _matches("codes", answer):
        return _blocked(row, node, answer)
    return None


def _block_sentence(answer: _Answer) -> HostVerdict | None:
    for row, node in _matches("sentences", answer):
        return _blocked(row, node, answer)
    return None


def _finish_reason(answer: _Answer) -> HostVerdict | None:
    table = _table()["finish_reasons"]
    for node in reversed(answer.nodes):  # the last event of a stream has it
        if node.under not in (*_ENDINGS, "", "Response"):
            continue
        told = (node.value.get(name) for name in _FINISHES)
        for reason in (each for each in told if isinstance(each, str)):
            word = reason.strip().lower()
            if word in table["whole"]:
                return ANSWERED
            if word in table["technical"]:
                shape, means = table["technical"][word]
                return HostVerdict("technical", shape, words=_ENDED.format(reason), means=means)
            if word in table["blocked"]:
                stage: BlockStage = "answer" if answer.text_came else "unknown"
                return HostVerdict("blocked", table["blocked"][word], stage, "host")
    return None


def _flag(answer: _Answer) -> HostVerdict | None:
    """Read the flags of hosts that stand beside a text, or in the place of one; the gravest counts."""
    found = [verdict for node in answer.nodes if (verdict := _flag_at(node, answer)) is not None]
    gravity = ("blocked", "suspected_block", "answered")
    return min(found, key=lambda verdict: gravity.index(verdict.outcome), default=None)


def _flag_at(node: _Node, answer: _Answer) -> HostVerdict | None:
    value, row = node.value, "BD-02" if node.under in _ENDINGS else "BD-03"
    stage: BlockStage = "answer" if answer.text_came else "unknown"
    told = {name: value[name] for name in ("flag", *_WITHDRAWN, *_FLAGS) if name in value}
    words = ", ".join(f"{name}: {each}" for name, each in told.items())
    flag = value.get("flag") if type(value.get("flag")) is int else None
    if flag in (3, 4):
        return HostVerdict("blocked", row, stage, "host", words)
    if flag == 2 or any(name in value and value[name] == bad for name, bad in _WITHDRAWN.items()):
        withheld: Outcome = "suspected_block" if answer.text_came else "blocked"
        return HostVerdict(withheld, row, stage, "host", words)
    if flag == 1:
        return HostVerdict("answered", "BD-02", words=words)
    for name, (shape, values) in _FLAGS.items():
        if value.get(name) in values and answer.text_came:
            return HostVerdict("answered", shape, words=words)
    return None


def _by_status(status: int | None) -> HostVerdict:
    if status == 451:
        return HostVerdict("suspected_block", "G-05")
    return HostVerdict("unknown") if status in UNEXPLAINED_STATUSES else ANSWERED


# --- rows -------------------------------------------------------------------------------------


@cache
def _table() -> dict[str, Any]:
    """Return the table, read once."""
    source = resources.files("uncensoring_chinese_models.models") / "host_blocks.json"
    table: dict[str, Any] = strict_json.loads(source.read_text("utf-8"))
    for kind in ("technical", "codes", "sentences"):
        for row in table[kind]:
            row["codes"] = [re.compile(each, re.IGNORECASE) for each in row.get("codes", ())]
            row["says"] = re.compile(row["says"], re.IGNORECASE) if "says" in row else None
    return table


def _matches(kind: str, answer: _Answer) -> Iterator[tuple[Json, _Node]]:
    """Go through the rows of one kind that apply, each with its first place in the answer."""
    for row in _table()[kind]:
        if "status" in row and answer.status not in row["status"]:
            continue
        if row.get("stream") and not answer.is_stream:
            continue
        for node in answer.nodes:
            if _applies(row, node):
                yield row, node
                break


def _applies(row: Json, node: _Node) -> bool:
    """Return whether everything that a row asks for stands in one mapping."""
    if "under" in row and node.under not in row["under"]:
        return False
    if any(node.value.get(name) in (None, "") for name in row.get("keys", ())):
        return False
    if "envelope" in row and not _ENVELOPES[row["envelope"]](node):
        return False
    if "says_data" in row and row["says_data"] not in str(node.value.get("data")):
        return False
    if row["codes"] and not any(
        each.fullmatch(code) for each in row["codes"] for code in node.codes
    ):
        return False
    said = row["says"]
    return said is None or any(said.search(_plain(each)) for each in node.messages)


def _plain(text: str) -> str:
    """Return the text on one line, with straight apostrophes."""
    return " ".join(text.translate(_APOSTROPHES).split())


def _is_zhipu(node: _Node) -> bool:
    """Zhipu gives its numbers as text, in an error that holds a code and a message alone."""
    code = node.value.get("code")
    is_number = isinstance(code, str) and code.isdecimal()
    return node.under == "error" and is_number and node.value.keys() <= {"code", "message"}


def _is_spark(node: _Node) -> bool:
    return node.under == "header" or (node.under == "" and "sid" in node.value)


def _is_bailian(node: _Node) -> bool:
    own = {"Success", "success", "RequestId", "requestId", "request_id"}
    return node.under == "" and not own.isdisjoint(node.value)


_ENVELOPES = {
    "bailian": _is_bailian,
    "codebuddy": lambda node: node.under == "" and "msg" in node.value,
    "minimax": lambda node: node.under == "base_resp",
    "root": lambda node: node.under == "",
    "spark": _is_spark,
    "zhipu": _is_zhipu,
}
"""Where a bare number is known to be a host's own code."""


def _blocked(row: Json, node: _Node, answer: _Answer) -> HostVerdict:
    words = _words(node, answer.nodes)
    return HostVerdict(
        row.get("verdict", "blocked"),
        row["id"],
        row.get("stage") or _stage(answer, node, words),
        row.get("by", "host"),
        words,
    )


def _words(node: _Node, nodes: Sequence[_Node] = ()) -> str:
    """Return the host's words at this place: its message, else the nearest one, else its code."""
    said = next((each for each in node.messages if _value(each) is None), "")
    if not said:
        others = (each for other in nodes for each in other.messages)
        said = next((each for each in others if _value(each) is None), "")
    reasons = node.value.get("reasons")
    words = said or next(iter(node.codes), "")
    return f"{words} (reasons: {reasons})" if isinstance(reasons, list) and reasons else words


def _stage(answer: _Answer, node: _Node, words: str) -> BlockStage:
    """Return what was stopped, the question or the answer, as far as the host says it."""
    roles = {each.value.get("role") for each in answer.nodes if each.under == "contentFilter"}
    roles.add(node.value.get("stage"))
    told = " ".join((*node.codes, words)).lower()
    is_question = (
        "user" in roles or "input" in roles or ("input" in told and not roles & {"assistant"})
    )
    is_answer = (
        "assistant" in roles or "output" in roles or "output" in told or "generation" in told
    )
    if is_question != is_answer:
        return "question" if is_question else "answer"
    return "answer" if answer.text_came else "unknown"
