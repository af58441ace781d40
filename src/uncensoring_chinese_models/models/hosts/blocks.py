"""How a host says "blocked": the table of known shapes, and the function that recognises them.

The table is `blocks.json`; the ids of its rows are those of the collection of shapes that the
tests hold as bodies. `classify` follows one order and stops at the first rule that applies:

1. an exact code or sentence of a technical error;
2. an exact code or field with which a host says that it blocked something;
3. an exact sentence with which a host says so, in a field of an error;
4. a code or a sentence of an error that no row has, read word by word (`wording.py`);
5. a finish reason, the native one first;
6. a flag beside the text;
7. a status: 451 is suspected, and 400, 403 or 422 with an error that nothing explains is unknown.

Words are searched for in fields of errors alone, never in the text of a model: a model may write about
filters. What an error repeats from the request is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.domain import is_cut
from uncensoring_chinese_models.models.hosts.answers import (
    ENDINGS,
    Node,
    is_stream,
    nodes_of,
    normal,
    read_json,
    text_came,
)
from uncensoring_chinese_models.models.hosts.wording import (
    code_hints_at_block,
    code_names_account,
    code_says_block,
    finish_names_block,
    says_account,
    says_block,
    without_repeats,
)
from uncensoring_chinese_models.text import fold_script

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uncensoring_chinese_models.domain import BlockedBy, BlockStage, Json

Outcome = Literal["answered", "blocked", "suspected_block", "technical", "content", "unknown"]
"""`content`: an error whose words, which no row has, say that contents were stopped."""
Means = Literal["ends", "passing", "request"]
"""What a technical error means: no further call would succeed, a later attempt may, or this request never will."""

UNEXPLAINED_STATUSES = frozenset({400, 403, 422})
"""Statuses that hosts use for blocks as well as for mistakes."""
_FINISHES = ("nativefinishreason", "finishreason", "stopreason")
"""Normal names of finish reasons, the native one first."""
_WITHDRAWN = {"need_clear_history": True, "is_safe": 0}
"""Flags of Baidu, with the value that means that the conversation must end."""
_FLAGS: dict[str, tuple[str, tuple[object, ...]]] = {
    "input_sensitive": ("MM-03", (True,)),
    "output_sensitive": ("MM-03", (True,)),
    "ModerationLevel": ("TC-03", (1, "1")),
}
"""Flags beside an answer that stands, with their rows and values."""
_MAX_SEARCHED = 100_000
"""So many characters of what an error says are searched; hosts send some hundreds."""
_ENDED = "the provider stopped in the middle of its answer ({})"
_ASKED = re.compile("input|prompt|输入|提问", re.IGNORECASE)
_WRITTEN = re.compile("output|generation|输出|生成", re.IGNORECASE)
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


class _Answer(NamedTuple):
    """A server's answer, unwrapped."""

    status: int | None
    nodes: list[Node]
    is_stream: bool
    text_came: bool
    searched: dict[str, str]
    """What is searched of each text that errors hold."""

    def says(self, pattern: re.Pattern[str], text: str) -> bool:
        """Return whether a text of an error says this in the host's own words."""
        return pattern.search(self.searched[text]) is not None


def classify(status: int | None, body: str | Json | None, asked: Sequence[str] = ()) -> HostVerdict:
    """Return what a server's answer means, by its status and its body.

    Args:
        status: that of HTTP, or the one that an error inside a 200 stands for.
        body: parsed already if it is one JSON object; keys have been removed from it.
        asked: the texts of the request, which an error may repeat.
    """
    value = read_json(body) if isinstance(body, str) else body
    if value is None:
        return ANSWERED
    nodes = nodes_of(value, is_error=status is not None and status >= 300)
    streamed = isinstance(body, str) and is_stream(body)
    answer = _Answer(status, nodes, streamed, text_came(nodes), _searched(nodes, asked))
    rules = (_technical, _block_code, _block_sentence, _wording, _finish_reason, _flag)
    found = next((verdict for rule in rules if (verdict := rule(answer)) is not None), None)
    return found or _by_status(status)


# --- the rules, in their order ----------------------------------------------------------------


def _technical(answer: _Answer) -> HostVerdict | None:
    for row, node in _matches("technical", answer):
        return HostVerdict("technical", row["id"], words=_words(node, answer), means=row["means"])
    for node in answer.nodes:
        if node.in_error and {"loc", "msg"} <= node.value.keys():
            return HostVerdict("technical", words=_words(node, answer))  # a wrong field
    return None


def _block_code(answer: _Answer) -> HostVerdict | None:
    for row, node in _matches("codes", answer):
        return _blocked(row, node, answer)
    return None


def _block_sentence(answer: _Answer) -> HostVerdict | None:
    for row, node in _matches("sentences", answer):
        return _blocked(row, node, answer)
    return None


def _wording(answer: _Answer) -> HostVerdict | None:
    """Read the codes and sentences of an error that no row has."""
    is_error = not any(node.under in ENDINGS for node in answer.nodes)
    places = [node for node in answer.nodes if node.in_error or (is_error and not node.under)]
    # Under 429 a quota may be one of a minute, and under 5xx that of somebody behind the host.
    if answer.status != 429 and (answer.status or 0) < 500:
        for node in places:
            if any(map(code_names_account, node.codes)) or any(
                says_account(answer.searched[each]) for each in node.words
            ):
                return HostVerdict("technical", words=_words(node, answer), means="ends")
    for node in places:
        if any(map(code_says_block, node.codes)):
            words = _words(node, answer)
            return HostVerdict("blocked", None, _stage(answer, node, words), words=words)
    for node in places:
        said = [each for each in node.words if says_block(answer.searched[each])]
        if answer.status != 429 and (said or any(map(code_hints_at_block, node.codes))):
            return HostVerdict("content", words=said[0] if said else _words(node, answer))
    return None


def _finish_reason(answer: _Answer) -> HostVerdict | None:
    table = _table()["finish_reasons"]
    for node in reversed(answer.nodes):  # the last event of a stream has it
        told = (node.value.get(name) for name in _FINISHES)
        for reason in (each for each in told if isinstance(each, str)):
            word = normal(reason.strip())
            if is_cut(reason):
                return ANSWERED
            if word in table["technical"]:
                shape, means = table["technical"][word]
                return HostVerdict("technical", shape, words=_ENDED.format(reason), means=means)
            if word in table["blocked"] or finish_names_block(reason):
                stage: BlockStage = "answer" if answer.text_came else "unknown"
                return HostVerdict("blocked", table["blocked"].get(word), stage, "host")
    return None


def _flag(answer: _Answer) -> HostVerdict | None:
    """Read the flags of hosts that stand beside a text, or in the place of one; the gravest counts."""
    found = [verdict for node in answer.nodes if (verdict := _flag_at(node, answer)) is not None]
    gravity = ("blocked", "suspected_block", "answered")
    return min(found, key=lambda verdict: gravity.index(verdict.outcome), default=None)


def _flag_at(node: Node, answer: _Answer) -> HostVerdict | None:
    row = "BD-02" if node.under in ENDINGS else "BD-03"
    stage: BlockStage = "answer" if answer.text_came else "unknown"
    names = {name: normal(name) for name in ("flag", *_WITHDRAWN, *_FLAGS)}
    told = {name: node.value[key] for name, key in names.items() if key in node.value}
    words = ", ".join(f"{name}: {each}" for name, each in told.items())
    flag = told.get("flag") if type(told.get("flag")) is int else None
    if node.under not in ENDINGS and not {"result", "banround"} & node.value.keys():
        flag = None  # any host may have a flag of its own
    if flag in (3, 4):
        return HostVerdict("blocked", row, stage, "host", words)
    if flag == 2 or any(name in told and told[name] == bad for name, bad in _WITHDRAWN.items()):
        withheld: Outcome = "suspected_block" if answer.text_came else "blocked"
        return HostVerdict(withheld, row, stage, "host", words)
    if flag == 1:
        return HostVerdict("answered", "BD-02", words=words)
    for name, (shape, values) in _FLAGS.items():
        if told.get(name) in values and answer.text_came:
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
    source = resources.files("uncensoring_chinese_models.models.hosts") / "blocks.json"
    table: dict[str, Any] = strict_json.loads(source.read_text("utf-8"))
    for kind in ("technical", "codes", "sentences"):
        for row in table[kind]:
            row["codes"] = [re.compile(each, re.IGNORECASE) for each in row.get("codes", ())]
            row["says"] = re.compile(row["says"], re.IGNORECASE) if "says" in row else None
            for names in ("keys", "under"):
                row[names] = [normal(name) for name in row.get(names, ())]
    reasons = table["finish_reasons"]
    for kind in ("blocked", "technical"):
        reasons[kind] = {normal(word): row for word, row in reasons[kind].items()}
    return table


def _matches(kind: str, answer: _Answer) -> Iterator[tuple[Json, Node]]:
    """Go through the rows of one kind that apply, each with the first place in the answer that says most."""
    for row in _table()[kind]:
        if "status" in row and answer.status not in row["status"]:
            continue
        if row.get("stream") and not answer.is_stream:
            continue
        found = [node for node in answer.nodes if _applies(row, node, answer)]
        if found:
            yield row, next((node for node in found if node.words), found[0])


def _applies(row: Json, node: Node, answer: _Answer) -> bool:
    """Return whether everything that a row asks for stands in one mapping."""
    if row["under"] and node.under not in row["under"]:
        return False
    if any(node.value.get(name) in (None, "") for name in row["keys"]):
        return False
    if "envelope" in row and not _ENVELOPES[row["envelope"]](node):
        return False
    if "says_data" in row and row["says_data"] not in str(node.value.get("data")).lower():
        return False
    if row["codes"] and not any(
        each.fullmatch(code) for each in row["codes"] for code in node.codes
    ):
        return False
    said = row["says"]
    return said is None or any(answer.says(said, each) for each in node.words)


def _searched(nodes: Sequence[Node], asked: Sequence[str]) -> dict[str, str]:
    """Return each text of an error as it is searched: plain, without what it repeats of the request."""
    said = {word for node in nodes for word in node.words}
    ours = [_plain(each) for each in asked] if said else []
    searched: dict[str, str] = {}
    left = _MAX_SEARCHED
    for word in sorted(said, key=len):
        plain = _plain(word[:left])
        left -= len(plain)
        searched[word] = " ".join(without_repeats(plain, ours).split())
    return searched


def _plain(text: str) -> str:
    """Return a text on one line, with straight apostrophes and simplified characters."""
    return " ".join(fold_script(text).translate(_APOSTROPHES).split())


def _is_zhipu(node: Node) -> bool:
    """Zhipu gives its numbers as text, in an error that holds a code and a message alone."""
    code = node.value.get("code")
    is_number = isinstance(code, str) and code.isdecimal()
    return node.under == "error" and is_number and node.value.keys() <= {"code", "message"}


def _is_spark(node: Node) -> bool:
    return node.under == "header" or "sid" in node.value


_ENVELOPES = {
    "bailian": lambda node: not {"success", "requestid"}.isdisjoint(node.value),
    "codebuddy": lambda node: "msg" in node.value,
    "minimax": lambda node: node.under == "baseresp",
    "siliconflow": lambda node: "data" in node.value,
    "spark": _is_spark,
    "zhipu": _is_zhipu,
}
"""Where a bare number is known to be a host's own code."""


def _blocked(row: Json, node: Node, answer: _Answer) -> HostVerdict:
    words = _words(node, answer, row["says"])
    return HostVerdict(
        row.get("verdict", "blocked"),
        row["id"],
        row.get("stage") or _stage(answer, node, words),
        row.get("by", "host"),
        words,
    )


def _words(node: Node, answer: _Answer, says: re.Pattern[str] | None = None) -> str:
    """Return the host's words at this place: those that a row knows, or the nearest, or its code."""
    known = (each for each in node.words if says is not None and answer.says(says, each))
    around = chain(_outwards(node), answer.nodes)
    nearest = (each for one in around for each in one.words)
    said = next(chain(known, nearest), "")
    reasons = node.value.get("reasons")
    words = said or next(iter(node.codes), "")
    return f"{words} (reasons: {reasons})" if isinstance(reasons, list) and reasons else words


def _outwards(node: Node | None) -> Iterator[Node]:
    """Go through a mapping and those around it."""
    while node is not None:
        yield node
        node = node.parent


def _stage(answer: _Answer, node: Node, words: str) -> BlockStage:
    """Return what was stopped, the question or the answer, as far as the host says it."""
    roles = {str(each.value.get("role")) for each in answer.nodes if each.under == "contentfilter"}
    roles.add(str(node.value.get("stage")))
    told = fold_script(" ".join((*node.codes, words)))
    by_role = (bool(roles & {"user", "input"}), bool(roles & {"assistant", "output"}))
    by_words = (bool(_ASKED.search(told)), bool(_WRITTEN.search(told)))
    for is_question, is_answer in (by_role, by_words):
        if is_question != is_answer:
            return "question" if is_question else "answer"
    return "answer" if answer.text_came else "unknown"
