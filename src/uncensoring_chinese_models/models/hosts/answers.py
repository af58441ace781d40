"""Where a host speaks in its answer: the mappings that hold errors, codes, finish reasons and flags.

Hosts and routers wrap the same error in many ways: in other keys, in a list, in the events of a stream,
as JSON in a string. So all of them are unwrapped. Inside an error each place is read, but for those that
repeat the request. Beside an answer only known places are: the text of a model is no error.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from uncensoring_chinese_models import strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uncensoring_chinese_models.domain import Json

_MAX_UNWRAPPED = 5
"""So many times a string is read as JSON inside JSON."""
_MAX_NESTED = 16
_MAX_NODES = 10_000
_MAX_STARTS = 20
"""So many brackets of a text are tried as the beginning of JSON."""
_MAX_LITERAL = 20_000

ENDINGS = frozenset({"choices", "candidates"})
"""Lists of what a model wrote: only their finish reasons, flags and errors are read."""
_ERRORS = frozenset({"error", "errors", "detail", "baseresp"})
_PLACES = _ERRORS | ENDINGS | {"header", "response", "result", "data", "output", "v", "fragments"}
_PLACES |= {"contentfilter", "promptfeedback", "incompletedetails", "delta"}
"""Where errors, finish reasons and flags stand beside an answer."""
_REPEATS = frozenset({"request", "prompt", "messages", "input", "inputs", "query", "question"})
_REPEATS |= {"content", "text", "flaggedinput"}
"""What stands in these places of an error was written by a user or a model."""
_WORDS = frozenset({"message", "msg", "statusmsg", "errormsg", "errormessage", "errmsg"})
_WORDS |= {"error", "errors", "detail", "raw"}
"""Where a host says in words what happened."""
_ERROR_WORDS = _WORDS | {"details", "description", "errordescription", "title", "reason"}
_ERROR_WORDS |= {"body", "response", "cause"}
"""Where it may say so inside an error."""
_WRITTEN = frozenset({"message", "delta", "content", "parts", "text"})
_WRITTEN |= {"thinking", "reasoning", "reasoningcontent"}
"""Where a model's text stands in an entry of `ENDINGS`."""

_CODES = (
    *("code", "type", "errortype", "errorcode", "status", "providercode", "statuscode"),
    "amazonbedrockguardrailaction",
)
_PAGE = re.compile(r"\s*<(?!\d{3}>)")
_STREAM = re.compile(r"\ufeff?\s*(data|id|event|retry)?:")
_LINE_END = re.compile(r"\r\n|\n|\r")
_START = re.compile(r"\[\s*\{|\{")
_BRACKET = re.compile(r"[][{}]")


class Node(NamedTuple):
    """A mapping in a server's answer, with the name under which it stands."""

    under: str
    value: Json
    """By the normal names of its keys."""
    words: tuple[str, ...] = ()
    """What it says of itself, without JSON that is packed in it."""
    in_error: bool = False
    parent: Node | None = None
    """The mapping around it."""

    @property
    def codes(self) -> list[str]:
        """The codes that it gives; not those of a model's message."""
        if self.under in ENDINGS:
            return []
        is_whole = not self.under or not ENDINGS.isdisjoint(self.value)
        names = (*_CODES, "model") if is_whole else _CODES
        names = (*names, "reason", "action") if self.in_error else names
        found = [self.value.get(name) for name in names]
        if self.under == "incompletedetails":
            found.append(self.value.get("reason"))
        if str(self.value.get("p", "")).rpartition("/")[2] == "status":
            found.append(self.value.get("v"))
        return [str(each) for each in found if isinstance(each, str | int)]


def normal(name: str) -> str:
    """Return the name of a key without its style: `finishReason` and `finish_reason` are the same."""
    return name.replace("_", "").replace("-", "").casefold()


def is_stream(text: str) -> bool:
    """Tell whether a text is framed as the events of a stream."""
    return _STREAM.match(text) is not None


def read_json(text: str) -> Any:
    """Return the JSON in a text, in the events of a stream or in a Python mapping; else None.

    A page has none, whatever stands in its scripts. JSON that is only a text is a message.
    """
    if _PAGE.match(text):
        return None
    found = _unpack(text)[0]
    if found is None and text.strip().startswith('"'):
        try:
            return {"message": str(strict_json.loads_leniently(text))}
        except (ValueError, RecursionError):
            return None
    return found


def nodes_of(value: Any, *, is_error: bool) -> list[Node]:
    """Return the mappings in which a host speaks, the outer ones first.

    Args:
        value: JSON, of any type.
        is_error: whether the status says that the whole answer is an error.
    """
    found: list[Node] = []
    pending = deque([_Place("", value, is_error)])
    while pending and len(found) < _MAX_NODES:
        place = pending.popleft()
        if isinstance(place.value, list):
            pending += [place.into(place.under, each) for each in place.value[:_MAX_NODES]]
        elif isinstance(place.value, dict) and place.depth <= _MAX_NESTED:
            own = _by_normal_names(place.value)
            words: list[str] = []
            inner = [one for name, each in own.items() for one in place.inside(name, each, words)]
            node = Node(place.under, own, tuple(words), place.in_error, place.parent)
            pending += [one._replace(parent=node) for one in inner]
            found.append(node)
    return found


def text_came(nodes: Sequence[Node]) -> bool:
    """Tell whether the model had written something, in any of the forms of hosts."""
    return any(_holds_text(node) for node in nodes)


class _Place(NamedTuple):
    """A value that is still to be looked at."""

    under: str
    value: Any
    in_error: bool
    depth: int = 0
    unpacked: int = 0
    parent: Node | None = None

    def into(self, name: str, value: Any) -> _Place:
        in_error = (self.in_error or name in _ERRORS) and name not in ENDINGS
        return _Place(name, value, in_error, self.depth + 1, self.unpacked, self.parent)

    def inside(self, name: str, value: Any, words: list[str]) -> Iterator[_Place]:
        """Go through what stands under a name; what it says in words is added to them."""
        is_own = self.under not in ENDINGS
        reads_all = self.in_error and is_own and name not in _REPEATS
        known = _ERROR_WORDS if self.in_error else _WORDS
        says = is_own and (name in known or name.endswith(("msg", "message")))
        if isinstance(value, dict | list) and (name in _PLACES or reads_all):
            yield self.into(name, value)
        for text in (value if isinstance(value, list) else [value]) if says else ():
            if not isinstance(text, str) or _PAGE.match(text):  # a page is a firewall's
                continue
            packed, said = _unpack(text) if self.unpacked < _MAX_UNWRAPPED else (None, text)
            if said.strip():
                words.append(said)
            if packed is not None:
                yield self.into(name, packed)._replace(unpacked=self.unpacked + 1)


def _by_normal_names(value: Json) -> Json:
    """Return a mapping by the normal names of its keys; of two, the first that says something."""
    own: Json = {}
    for name, each in value.items():
        if own.get(normal(name)) in (None, ""):
            own[normal(name)] = each
    return own


def _holds_text(node: Node) -> bool:
    if node.under in ENDINGS:
        pending = [node.value.get(name) for name in _WRITTEN]
    elif "stopreason" in node.value and isinstance(node.value.get("content"), list):
        pending = [node.value["content"]]
    else:
        pending = [each for each in [node.value.get("result")] if isinstance(each, str)]
    while pending:
        each = pending.pop()
        if isinstance(each, str) and each.strip():
            return True
        if isinstance(each, dict):
            pending += [held for name, held in each.items() if normal(name) in _WRITTEN]
        elif isinstance(each, list):
            pending += each
    return False


# --- JSON in text ---------------------------------------------------------------------------------


def _unpack(text: str) -> tuple[Any, str]:
    """Return the JSON in a text, and the text around it; a list if there are several values."""
    if is_stream(text):
        events = [value for event in _events(text) for value in _values(event)[0]]
        if events:
            return events, ""
    found, around = _values(text)
    return (found[0] if len(found) == 1 else found or None), around


def _events(text: str) -> list[str]:
    """Return the data of the events of a stream; that of an event may have several lines."""
    events: list[list[str]] = [[]]
    for line in _LINE_END.split(text):
        if line.strip().startswith("data:"):
            events[-1].append(line.strip().removeprefix("data:"))
        elif not line.strip():
            events.append([])
    found = []
    for lines in events:
        whole = "\n".join(lines)
        found += [whole] if len(lines) > 1 and _is_json(whole) else lines
    return found


def _is_json(text: str) -> bool:
    try:
        strict_json.loads_leniently(text)
    except (ValueError, RecursionError):
        return False
    return True


def _values(text: str) -> tuple[list[Any], str]:
    """Return the mappings and lists of mappings in a text, one after the other, and the rest."""
    found: list[Any] = []
    around, end, failures = "", 0, 0
    start = _START.search(text)
    while start is not None and failures < _MAX_STARTS and len(found) < _MAX_NODES:
        begin = start.start()
        try:
            value, stop = strict_json.first_leniently(text, begin)
        except (ValueError, RecursionError):
            failures, stop = failures + 1, _closing(text, begin)
            around += text[end:stop]
        else:
            found.append(value)
            around += text[end:begin]
        end, start = stop, _START.search(text, stop)
    around += text[end:]
    return (found, around) if found else _unusual(text)


def _closing(text: str, start: int) -> int:
    """Return where what opens at a place is closed: its inside may be anybody's text."""
    depth = 0
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket.group() in "{[" else -1
        if depth == 0:
            return bracket.end()
    return len(text)


def _unusual(text: str) -> tuple[list[Any], str]:
    """Read a mapping that is written as Python writes it, or as JSON inside a string."""
    start, stop = text.find("{"), text.rfind("}") + 1
    if not 0 <= start < stop <= start + _MAX_LITERAL:
        return [], text
    part, around = text[start:stop], text[:start] + text[stop:]
    if '\\"' in part:
        try:
            inner = strict_json.loads_leniently(f'"{part}"')
        except (ValueError, RecursionError):
            return [], text
        found = _values(inner)[0]
        return (found, around) if found else ([], text)
    try:
        value = ast.literal_eval(part)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return [], text
    return ([value], around) if isinstance(value, dict) else ([], text)
