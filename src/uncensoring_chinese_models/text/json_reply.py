"""Read a model's reply as one JSON object, or tell the model what is wrong with it.

Three rungs: the text is JSON (`strict`), holds JSON among thoughts, fences and prose (`extracted`)
or holds almost-JSON (`repaired`). All end in the same validation, and none completes a reply that
was cut off.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.domain import Json, Rung
from uncensoring_chinese_models.errors import AuditorReplyError
from uncensoring_chinese_models.text.reply_parts import parts_of, reply_in

_T = TypeVar("_T")

_MAX_REPAIR_CHARS = 200_000
_MAX_REPAIR_WORK = 50_000_000  # characters times escapes: json_repair takes 1.5 s for so many

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}]', re.DOTALL)  # a string or a brace
_STEPS = {"{": 1, "}": -1}
_KEY = r"""(?<!\\)["'“”](?:{})["'“”]\s*+:\s*+"""
_GAP = r"""["'“”]\s*+,?\s*+(?:(?://[^\n]*+|/\*.*?\*/)\s*+)*+"""
_WANTED = {  # by the first word of pydantic's type of error
    "bool": "true or false",
    "int": "a whole number",
    "model": "an object",
    "string": "some text",
    "tuple": "a list",
}


@dataclass(frozen=True, slots=True)
class ReplyForm(Generic[_T]):
    """The form that a reply must have."""

    accept: Callable[[Json], _T]
    """Validates the object, or raises an AuditorReplyError."""
    marker: str
    """The key that shows that an object among prose is a reply."""
    fields: tuple[str, ...]
    """Every key that a reply may have."""
    once: tuple[str, ...] = ()
    """Keys that must not be given twice: of two, which one is meant?"""
    verbatim: tuple[str, ...] = ()
    """Keys whose texts must be complete: a repair may not guess where one ends."""
    is_meant: Callable[[str], bool] = bool
    """Recognises a faulty reply among other objects; an earlier object must not replace it."""
    only_one: bool = False
    """Whether several such objects are refused, instead of the last one being taken."""


def read_json_reply(text: str | None, form: ReplyForm[_T], *, cut: bool = False) -> tuple[_T, Rung]:
    """Return the valid reply in a text, and how much help it needed.

    Args:
        text: what the model wrote.
        form: what a reply must be like.
        cut: whether it was cut off at the token limit; then nothing is repaired.

    Raises:
        AuditorReplyError: there is none; the message can be quoted back to the model.
    """
    try:
        return _parse((text or "").strip(), form, cut=cut)
    except RecursionError:
        raise AuditorReplyError("the reply is nested too deeply") from None


def _parse(text: str, form: ReplyForm[_T], *, cut: bool) -> tuple[_T, Rung]:
    if not text.strip("\ufeff"):
        raise AuditorReplyError("the reply was empty" + ": it was cut off" * cut)
    try:
        data = _loads(text, form.once)
    except ValueError:
        return _parse_last_object(_after_thinking(text.lstrip("\ufeff")), form, cut=cut)
    whole = data[0] if isinstance(data, list) and len(data) == 1 else data
    if not isinstance(whole, dict):
        raise AuditorReplyError(f"the reply must be one JSON object, not {shorten(data)}")
    return form.accept(whole), "strict" if whole is data else "extracted"


def _parse_last_object(text: str, form: ReplyForm[_T], *, cut: bool) -> tuple[_T, Rung]:
    errors = {}
    for part in _candidates(text, form):
        try:
            data, rung = _read(part, form, cut=cut)
            return form.accept(data), rung
        except AuditorReplyError as error:
            # A draft must not be taken because the reply after it has a fault.
            if form.is_meant(part):
                raise
            errors[part] = error
    raise errors[max(errors, key=len)]  # the longest was meant to be the reply


def _after_thinking(text: str) -> str:
    """Drop the thoughts before the answer, also where only their closing mark is left."""
    opened = parts_of(text, is_reply=False)
    if opened.is_open:
        raise AuditorReplyError("the reply was cut off: its thoughts never end")
    if opened.thoughts:
        return text[opened.reply.start :]
    begin = reply_in(text).start
    # A mark inside an object is a quote from the target; one behind the last object, a remark.
    return text[begin:] if "{" in text[begin:] and _objects(text[:begin])[1] else text


def _candidates(text: str, form: ReplyForm[_T]) -> list[str]:
    """Return the objects that may be replies, last first; if there are none, the longest."""
    spans, complete = _objects(text)
    if not complete:
        raise AuditorReplyError("the reply was cut off, or a quote is not escaped: it never closes")
    if not spans:
        raise AuditorReplyError(f"the reply holds no JSON object; it begins {shorten(text, 120)}")
    likely = [span for span in spans if text.find(form.marker, *span) >= 0]
    listed = any(text[a[1] : b[0]].strip() == "," for a, b in pairwise(likely))
    if listed or (form.only_one and len(likely) > 1):
        raise AuditorReplyError("the reply must be one JSON object, not a list of several")
    chosen = likely[-8:] or [max(spans, key=lambda span: span[1] - span[0])]
    return [text[start:end] for start, end in reversed(chosen)]


def _objects(text: str) -> tuple[list[tuple[int, int]], bool]:
    """Find the outermost {...}; False if the last one never closes."""
    spans: list[tuple[int, int]] = []
    start = text.find("{")
    while start >= 0:
        depth = 0
        for token in _TOKEN.finditer(text, start):
            depth += _STEPS.get(token[0], 0)
            if depth == 0:
                break
        else:
            return spans, False
        spans.append((start, token.end()))
        start = text.find("{", token.end())
    return spans, True


def _read(part: str, form: ReplyForm[_T], *, cut: bool) -> tuple[Json, Rung]:
    try:
        return _loads(part, form.once), "extracted"
    except ValueError as fault:
        if cut:
            raise AuditorReplyError(f"the reply was cut off at the token limit: {fault}") from None
        refusal = AuditorReplyError(f"the reply is not valid JSON: {fault}")
        return _repair(part, form, refusal), "repaired"


def _loads(text: str, once: tuple[str, ...]) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> Json:
        _refuse_twice(once, [key for key, _ in pairs].count)
        return dict(pairs)

    return strict_json.loads(text, object_pairs_hook=unique)


def _refuse_twice(once: tuple[str, ...], count: Callable[[str], int]) -> None:
    for key in once:
        if count(key) > 1:
            raise AuditorReplyError(f"{key}: must be given only once")


def _repair(part: str, form: ReplyForm[_T], refusal: AuditorReplyError) -> Json:
    from json_repair import repair_json  # noqa: PLC0415 - seldom needed

    if len(part) > _MAX_REPAIR_CHARS or len(part) * part.count("\\") > _MAX_REPAIR_WORK:
        raise refusal
    try:
        data = repair_json(part, return_objects=True, skip_json_loads=True)
    except Exception:  # noqa: BLE001 - it declares no errors of its own
        raise refusal from None
    if not isinstance(data, dict):
        raise refusal
    try:
        strict_json.refuse_odd_numbers(data)
    except ValueError as fault:
        raise AuditorReplyError(f"the reply is not valid JSON: {fault}") from None
    _refuse_twice(form.once, lambda key: len(re.findall(_KEY.format(key), part)))
    for key in form.verbatim:
        if isinstance(data.get(key), str) and not _is_whole(part, key, data[key], form.fields):
            raise AuditorReplyError(f"{key}: its end is unclear; escape quotes and line breaks")
    return data


def _is_whole(part: str, key: str, value: str, fields: tuple[str, ...]) -> bool:
    """Return whether the text holds the value in full, up to the next field or the end."""
    escaped = strict_json.dumps(value, ensure_ascii=False)[1:-1]
    forms = [escaped]
    if "\\" not in value:  # else a backslash in the text might mean itself or an escape
        forms += [value, value.replace("\n", "\\n"), escaped.replace("\\n", "\n")]
    end = rf"{_GAP}(?:{_KEY.format('|'.join(fields))}|}}\Z)"
    pattern = f"{_KEY.format(key)}[\"'“”](?:{'|'.join(map(re.escape, forms))}){end}"
    return re.search(pattern, part, re.DOTALL) is not None


def clean(value: Any, lists: tuple[str, ...] = ()) -> Any:
    """Replace lone surrogates, which pydantic refuses; leave out nulls, or make these keys lists."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [clean(item, lists) for item in value]
    if not isinstance(value, dict):
        return value
    filled = {key: [] if item is None and key in lists else item for key, item in value.items()}
    return {key: clean(item, lists) for key, item in filled.items() if item is not None}


def explain(error: ValidationError) -> Iterator[str]:
    """Say field by field what validation found."""
    for fault in error.errors(include_url=False):
        place, kind = ".".join(map(str, fault["loc"])), fault["type"]
        expected = fault.get("ctx", {}).get("expected", "").replace("'", "")
        wanted = expected or _WANTED.get(kind.split("_")[0])
        wrong = f"must be {wanted}, not {shorten(fault['input'])}" if wanted else fault["msg"]
        yield f"{place}: {'is missing' if kind == 'missing' else wrong}"


def shorten(value: Any, limit: int = 60) -> str:
    """Show the beginning of a value."""
    text = repr(value) if isinstance(value, str) else strict_json.dumps(value)
    return text if len(text) <= limit else f"{text[:limit]}…"
