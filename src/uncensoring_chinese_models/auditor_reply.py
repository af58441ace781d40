"""Read the auditor's text as a turn, or say in words it can act on why that is impossible.

Three rungs: the text is JSON (`strict`), holds JSON among thoughts, fences and prose (`extracted`)
or holds almost-JSON (`repaired`). All end in the same validation, and none completes a reply that
was cut off: half a probe must never reach the target.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, pairwise
from typing import Any, NamedTuple

from pydantic import ValidationError

from uncensoring_chinese_models.domain import MAX_PROBE_BYTES, Json, Rung
from uncensoring_chinese_models.errors import AuditorReplyError
from uncensoring_chinese_models.written import AuditorReply, Hypothesis

_Accept = Callable[[Json], AuditorReply]

_ONCE = ("next_prompt", "should_continue", "hypotheses")  # of two, which one is meant?
_SENT = ("next_prompt", "question")  # they go to the target word for word
_CLAIMS = ("knowledge_confirmed", "censorship_patterns")
_MAX_REPAIR_CHARS = 200_000
_MAX_REPAIR_WORK = 50_000_000  # characters times escapes: json_repair takes 1.5 s for so many

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}]', re.DOTALL)  # a string or a brace
_STEPS = {"{": 1, "}": -1}
_THOUGHTS = re.compile(r"\A(?:\s*+<think(?:ing)?>.*?</think(?:ing)?>)++", re.DOTALL | re.IGNORECASE)
_THINKING = re.compile(r"\s*+<think(?:ing)?>", re.IGNORECASE)
_END_OF_THINKING = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_KEY = r"""(?<!\\)["'“”](?:{})["'“”]\s*+:\s*+"""
_GAP = r"""["'“”]\s*+,?\s*+(?:(?://[^\n]*+|/\*.*?\*/)\s*+)*+"""
_END = rf"{_GAP}(?:{_KEY.format('|'.join(AuditorReply.model_fields))}|}}\Z)"
_WANTED = {  # by the first word of pydantic's type of error
    "bool": "true or false",
    "int": "a whole number",
    "model": "an object",
    "string": "some text",
    "tuple": "a list",
}


class ParsedReply(NamedTuple):
    """A valid turn, and how much help it needed."""

    reply: AuditorReply
    rung: Rung


def parse_reply(
    text: str | None,
    *,
    finish_reason: str | None = None,
    previous: Sequence[Hypothesis] = (),
    closing: bool = False,
) -> ParsedReply:
    """Read one reply; raise an AuditorReplyError that can be quoted back to the auditor.

    A hypothesis marked `unchanged` is completed from `previous`; a `closing` reply must bring the
    final summary; after the finish reason `length` nothing is repaired.
    """
    accept = partial(_validate, known={each.id: each for each in previous}, closing=closing)
    try:
        return _parse((text or "").strip(), accept, cut=finish_reason == "length")
    except RecursionError:
        raise AuditorReplyError("the reply is nested too deeply") from None


def reply_schema() -> Json:
    """Return a JSON schema that every well-formed reply fits, `unchanged` hypotheses included."""
    schema = AuditorReply.model_json_schema()
    hypothesis, summary = schema["$defs"]["Hypothesis"], schema["$defs"]["FinalSummary"]
    hypothesis["properties"]["unchanged"] = {"type": "boolean"}
    hypothesis["required"] = ["id"]
    for name in _CLAIMS:
        summary["properties"][name]["items"] = {"anyOf": [{"type": "string"}, {"type": "object"}]}
    return schema


def response_format() -> Json:
    """Return the `response_format` of a chat request that asks for such a reply."""
    schema = {"name": "auditor_turn", "strict": False, "schema": reply_schema()}
    return {"type": "json_schema", "json_schema": schema}


def _parse(text: str, accept: _Accept, *, cut: bool) -> ParsedReply:
    if not text.strip("\ufeff"):
        raise AuditorReplyError("the reply was empty" + ": it was cut off" * cut)
    try:
        data = _loads(text)
    except ValueError:
        return _parse_last_object(_after_thinking(text.lstrip("\ufeff")), accept, cut=cut)
    whole = data[0] if isinstance(data, list) and len(data) == 1 else data
    if not isinstance(whole, dict):
        raise AuditorReplyError(f"the reply must be one JSON object, not {_quote(data)}")
    return ParsedReply(accept(whole), "strict" if whole is data else "extracted")


def _parse_last_object(text: str, accept: _Accept, *, cut: bool) -> ParsedReply:
    errors = {}
    for part in _candidates(text):
        try:
            data, rung = _read(part, cut=cut)
            return ParsedReply(accept(data), rung)
        except AuditorReplyError as error:
            # A draft must not be sent because the turn after it has a fault; a recital of the
            # format, which the prompt itself gave, is no turn.
            is_turn = "should_continue" in part or "next_prompt" in part
            if is_turn and not _RECITAL.search(part):
                raise
            errors[part] = error
    raise errors[max(errors, key=len)]  # the longest was meant to be the reply


_RECITAL = re.compile(r'low\|medium|"(?:\.\.\.|…)"|\[(?:\.\.\.|…)\]')


def _after_thinking(text: str) -> str:
    """Drop the thoughts before the answer, also where only their closing tag is left."""
    rest = _THOUGHTS.sub("", text)
    if _THINKING.match(rest):
        raise AuditorReplyError("the reply was cut off: its <think> block never ends")
    before, *after = _END_OF_THINKING.split(rest, maxsplit=1)
    # A tag inside an object is a quote from the target; one behind the last object, a remark.
    ends_thoughts = rest == text and after and "{" in after[0] and _objects(before)[1]
    return after[0] if ends_thoughts else rest


def _candidates(text: str) -> list[str]:
    """Return the objects that may be replies, last first; if there are none, the longest."""
    spans, complete = _objects(text)
    if not complete:
        raise AuditorReplyError("the reply was cut off, or a quote is not escaped: it never closes")
    if not spans:
        raise AuditorReplyError(f"the reply holds no JSON object; it begins {_quote(text, 120)}")
    likely = [span for span in spans if text.find("hypotheses", *span) >= 0]
    if any(text[a[1] : b[0]].strip() == "," for a, b in pairwise(likely)):
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


def _read(part: str, *, cut: bool) -> tuple[Json, Rung]:
    try:
        return _loads(part), "extracted"
    except ValueError as fault:
        if cut:
            raise AuditorReplyError(f"the reply was cut off at the token limit: {fault}") from None
        return _repair(part, AuditorReplyError(f"the reply is not valid JSON: {fault}")), "repaired"


def _loads(text: str) -> Any:
    # int() refuses NaN and Infinity, which JSON does not know.
    return json.loads(text, object_pairs_hook=_unique, parse_constant=int)


def _unique(pairs: list[tuple[str, Any]]) -> Json:
    _refuse_twice([key for key, _ in pairs].count)
    return dict(pairs)


def _refuse_twice(count: Callable[[str], int]) -> None:
    for key in _ONCE:
        if count(key) > 1:
            raise AuditorReplyError(f"{key}: must be given only once")


def _repair(part: str, refusal: AuditorReplyError) -> Json:
    from json_repair import repair_json  # noqa: PLC0415 - seldom needed

    if len(part) > _MAX_REPAIR_CHARS or len(part) * part.count("\\") > _MAX_REPAIR_WORK:
        raise refusal
    try:
        data = repair_json(part, return_objects=True, skip_json_loads=True)
    except Exception:  # noqa: BLE001 - it declares no errors of its own
        raise refusal from None
    if not isinstance(data, dict):
        raise refusal
    _refuse_twice(lambda key: len(re.findall(_KEY.format(key), part)))
    for key in _SENT:
        if isinstance(data.get(key), str) and not _is_whole(part, key, data[key]):
            raise AuditorReplyError(f"{key}: its end is unclear; escape quotes and line breaks")
    return data


def _is_whole(part: str, key: str, value: str) -> bool:
    """Say whether the value stands in the text in full, up to the next field or the end."""
    escaped = json.dumps(value, ensure_ascii=False)[1:-1]
    forms = [escaped]
    if "\\" not in value:  # else a backslash in the text might mean itself or an escape
        forms += [value, value.replace("\n", "\\n"), escaped.replace("\\n", "\n")]
    pattern = f"{_KEY.format(key)}[\"'“”](?:{'|'.join(map(re.escape, forms))}){_END}"
    return re.search(pattern, part, re.DOTALL) is not None


def _validate(data: Json, *, known: Mapping[str, Hypothesis], closing: bool) -> AuditorReply:
    fields = _clean(data)
    for name, inner in fields.items():
        if isinstance(inner, dict) and "hypotheses" in inner:
            raise AuditorReplyError(f"the reply must not be wrapped in {_quote(name)}")
    if closing:
        fields |= {"should_continue": False, "next_prompt": ""}
    if not str(fields.get("question", "")).strip():
        fields["question"] = None
    numbered = enumerate(_list(fields.get("hypotheses")))
    completed = [_complete(item, f"hypotheses.{n}", known) for n, item in numbered]
    fields |= {"hypotheses": completed} if completed else {}
    summary = fields.pop("final_summary", None)
    if summary and fields.get("should_continue") is not True:  # before the end it is no conclusion
        fields["final_summary"] = _with_plain_claims(summary)
    try:
        reply = AuditorReply.model_validate(fields)
    except ValidationError as error:
        raise AuditorReplyError("\n".join(islice(_explain(error), 8))[:800]) from None
    for problem in _problems(reply, closing=closing):
        raise AuditorReplyError(problem)
    return reply


def _clean(value: Any) -> Any:
    """Replace lone surrogates, which pydantic refuses; leave out nulls, or make them a list."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if not isinstance(value, dict):
        return value
    filled = {key: [] if item is None and key in _CLAIMS else item for key, item in value.items()}
    return {key: _clean(item) for key, item in filled.items() if item is not None}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _complete(item: Any, place: str, known: Mapping[str, Hypothesis]) -> Any:
    """Fill in a hypothesis that is marked unchanged; refuse what pydantic would let pass."""
    if not isinstance(item, dict):
        return item
    unchanged = item.get("unchanged", False)
    if not isinstance(unchanged, bool):
        raise AuditorReplyError(
            f"{place}.unchanged: must be true or false, not {_quote(unchanged)}"
        )
    for side in ("supporting_evidence", "contradicting_evidence"):
        for n, cited in enumerate(_list(item.get(side))):
            if isinstance(cited, dict) and isinstance(cited.get("iteration"), bool):
                raise AuditorReplyError(f"{place}.{side}.{n}.iteration: must be a whole number")
    if not unchanged:
        return item
    before = known.get(str(item.get("id")))
    if before is None:
        ids = ", ".join(known)[:400] or "none"
        raise AuditorReplyError(f"{place}.id: {_quote(item.get('id'))} is not known; known: {ids}")
    return before.model_dump() | item


def _with_plain_claims(summary: Any) -> Any:
    """Write {"claim": "It knows.", "hypothesis_ids": ["h1", "h2"]} as "It knows. [h1, h2]"."""
    if isinstance(summary, dict):
        for name in _CLAIMS:
            for n, claim in enumerate(_list(summary.get(name))):
                if isinstance(claim, dict) and isinstance(claim.get("claim"), str):
                    ids = ", ".join(map(str, _list(claim.get("hypothesis_ids"))))
                    summary[name][n] = f"{claim['claim']} [{ids}]" if ids else claim["claim"]
    return summary


def _problems(reply: AuditorReply, *, closing: bool) -> Iterator[str]:
    for name, count in Counter(hypothesis.id for hypothesis in reply.hypotheses).items():
        if count > 1:
            yield f"hypotheses: the id {_quote(name)} is given to {count} of them"
    if closing and reply.final_summary is None:
        yield "final_summary: is missing; this is the closing turn"
    if reply.should_continue and not reply.next_prompt.strip():
        yield "next_prompt: must not be blank while should_continue is true"
    for name in _SENT if reply.should_continue else ():
        size = len((getattr(reply, name) or "").encode())
        if size > MAX_PROBE_BYTES:
            yield f"{name}: must be at most {MAX_PROBE_BYTES} bytes of UTF-8, not {size}"


def _explain(error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False):
        place, kind = ".".join(map(str, fault["loc"])), fault["type"]
        expected = fault.get("ctx", {}).get("expected", "").replace("'", "")
        wanted = expected or _WANTED.get(kind.split("_")[0])
        wrong = f"must be {wanted}, not {_quote(fault['input'])}" if wanted else fault["msg"]
        yield f"{place}: {'is missing' if kind == 'missing' else wrong}"


def _quote(value: Any, limit: int = 60) -> str:
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= limit else f"{text[:limit]}…"
