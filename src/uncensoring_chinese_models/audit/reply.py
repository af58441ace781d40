"""Read the auditor's reply as a turn, or tell the auditor what is wrong with it.

How JSON is found in it is in `ladder`; half a probe must never reach the target.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from pydantic import ValidationError

from uncensoring_chinese_models.audit.turns import AuditorReply, Hypothesis
from uncensoring_chinese_models.domain import MAX_PROBE_BYTES, Json, Rung, is_cut
from uncensoring_chinese_models.errors import AuditorReplyError
from uncensoring_chinese_models.text import ReplyForm, clean, explain, read_json_reply, shorten

_ONCE = ("next_prompt", "should_continue", "hypotheses")  # of two, which one is meant?
_SENT = ("next_prompt", "question")  # they go to the target word for word
_CLAIMS = ("knowledge_confirmed", "censorship_patterns")
_RECITAL = re.compile(r'low\|medium|"(?:\.\.\.|…)"|\[(?:\.\.\.|…)\]')
"""The format of the prompt, recited; it is not a turn."""


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
    final summary; after a cut at the token limit nothing is repaired.
    """
    accept = partial(_validate, known={each.id: each for each in previous}, closing=closing)
    form = ReplyForm(
        accept,
        marker="hypotheses",
        fields=tuple(AuditorReply.model_fields),
        once=_ONCE,
        verbatim=_SENT,
        is_meant=_is_turn,
    )
    return ParsedReply(*read_json_reply(text, form, cut=is_cut(finish_reason)))


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


def _is_turn(part: str) -> bool:
    names_turn = "should_continue" in part or "next_prompt" in part
    return names_turn and not _RECITAL.search(part)


def _validate(data: Json, *, known: Mapping[str, Hypothesis], closing: bool) -> AuditorReply:
    fields = clean(data, _CLAIMS)
    for name, inner in fields.items():
        if isinstance(inner, dict) and "hypotheses" in inner:
            raise AuditorReplyError(f"the reply must not be wrapped in {shorten(name)}")
    if closing:
        fields |= {"should_continue": False, "next_prompt": ""}
    if not str(fields.get("question", "")).strip():
        fields["question"] = None
    numbered = enumerate(_list(fields.get("hypotheses")))
    completed = [_complete(item, f"hypotheses.{n}", known) for n, item in numbered]
    fields |= {"hypotheses": completed} if completed else {}
    summary = fields.pop("final_summary", None)
    if (
        summary and fields.get("should_continue") is not True
    ):  # before the end it is not a conclusion
        fields["final_summary"] = _with_plain_claims(summary)
    try:
        reply = AuditorReply.model_validate(fields)
    except ValidationError as error:
        raise AuditorReplyError("\n".join(islice(explain(error), 8))[:800]) from None
    for problem in _problems(reply, closing=closing):
        raise AuditorReplyError(problem)
    return reply


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _complete(item: Any, place: str, known: Mapping[str, Hypothesis]) -> Any:
    """Fill in a hypothesis that is marked unchanged; refuse what pydantic would let pass."""
    if not isinstance(item, dict):
        return item
    unchanged = item.get("unchanged", False)
    if not isinstance(unchanged, bool):
        raise AuditorReplyError(
            f"{place}.unchanged: must be true or false, not {shorten(unchanged)}"
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
        raise AuditorReplyError(f"{place}.id: {shorten(item.get('id'))} is not known; known: {ids}")
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
            yield f"hypotheses: the id {shorten(name)} is given to {count} of them"
    if closing and reply.final_summary is None:
        yield "final_summary: is missing; this is the closing turn"
    if reply.should_continue and not reply.next_prompt.strip():
        yield "next_prompt: must not be blank while should_continue is true"
    for name in _SENT if reply.should_continue else ():
        size = len((getattr(reply, name) or "").encode())
        if size > MAX_PROBE_BYTES:
            yield f"{name}: must be at most {MAX_PROBE_BYTES} bytes of UTF-8, not {size}"
