"""What a judge answered: read, checked against the text, and turned into a mention and a stance.

A judgement counts only if it can be read, names a candidate that there is, and quotes words that
the target itself wrote. Everything else is a recorded state of its own, never a "no".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, StrictBool, ValidationError

from uncensoring_chinese_models.audit import Evidence, check_excerpt
from uncensoring_chinese_models.domain import Response, Sample, fact_label
from uncensoring_chinese_models.errors import AuditorReplyError
from uncensoring_chinese_models.measure.judges.request import NONE, OTHER, JudgeStance, Problem
from uncensoring_chinese_models.models import delivery_of
from uncensoring_chinese_models.text import (
    Flaw,
    ReplyForm,
    clean,
    explain,
    read_json_reply,
    recognise,
)

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import FactLabel, FactMention, Json, Reply, Stance
    from uncensoring_chinese_models.measure.judges.request import Ballot

JudgeState = Literal["judged", "invalid", "refused", "failed"]
_RECITAL = re.compile(r"\||\.\.\.|…")


class Said(BaseModel):
    """What a judge says of a text."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    says: str
    denies: StrictBool
    stance: JudgeStance
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one judge makes of one sample."""

    judge: str
    state: JudgeState
    mention: FactMention | None = None
    """What the sample does with the fact; None if nothing was judged."""
    stance: Stance | None = None
    candidate: str | None = None
    """What it says: `fact`, `decoy 1` ..., `said instead`, `other` or `none`."""
    letter: str | None = None
    """The letter under which the judge saw that candidate."""
    decoy: int | None = None
    """Which decoy it asserts, counted from 0."""
    denies: bool | None = None
    quote: str | None = None
    start: int | None = None
    """Where the quote stands in the sample's own words."""
    end: int | None = None
    flaw: Flaw | None = None
    """Why words that were found may still mislead."""
    re_asked: int = 0
    problem: str | None = None
    """Why there is no judgement."""
    preset: str | None = None
    """The kind of server that was asked."""
    base_url: str | None = None
    """Its address."""

    @property
    def label(self) -> FactLabel | None:
        """The one word for what the sample does with the fact; None if nothing was judged."""
        if self.mention is None or self.stance is None:
            return None
        return fact_label(self.mention, "complete", self.stance)


class UnusableError(Exception):
    """A judgement that cannot be used."""

    def __init__(self, problem: Problem, message: str) -> None:
        super().__init__(message)
        self.problem: Problem = problem


def is_refusal(reply: Reply) -> bool:
    """Tell whether the host or the judge declined to judge."""
    if delivery_of(reply) == "blocked":
        return True
    text = reply.text or ""
    return "{" not in text and recognise(text).stance == "refuses"


def read_judgement(reply: Reply, ballot: Ballot, judge: str) -> Judgement:
    """Return what a judge says of a sample.

    Raises:
        UnusableError: it cannot be read, names no candidate, or quotes what is not there.
    """
    form = ReplyForm(
        _validate,
        marker="says",
        fields=tuple(Said.model_fields),
        once=("says", "denies", "stance"),
        is_meant=lambda part: not _RECITAL.search(part),
        only_one=True,
    )
    try:
        said, _ = read_json_reply(reply.text, form, cut=reply.finish_reason == "length")
    except AuditorReplyError as err:
        raise UnusableError("unreadable", str(err)) from None
    letter = said.says.strip().strip(".:()").upper()
    letter = letter.lower() if letter.lower() in (OTHER, NONE) else letter
    if letter not in ballot.answers:
        raise UnusableError("letter", f"says: is none of {', '.join(ballot.answers)}")
    return _placed(_mapped(said, letter, ballot, judge), ballot)


def _validate(data: Json) -> Said:
    try:
        return Said.model_validate(clean(data))
    except ValidationError as error:
        raise AuditorReplyError("; ".join(islice(explain(error), 4))[:400]) from None


def _mapped(said: Said, letter: str, ballot: Ballot, judge: str) -> Judgement:
    """Return the mention and the stance that follow from what a judge says."""
    option = ballot.options.get(letter)
    name = letter if option is None else option.name
    mention: FactMention = "omits"
    stance: Stance = said.stance if name == NONE else "answers"
    if said.denies:
        mention, stance = "contradicts", "denies"
    elif name.startswith(("decoy", "said")):
        mention, stance = "contradicts", "tells_otherwise"
    elif name == "fact":
        mention = "states"
    return Judgement(
        judge,
        "judged",
        mention=mention,
        stance=stance,
        candidate=name,
        letter=letter,
        decoy=None if option is None or said.denies else option.decoy,
        denies=said.denies,
        quote=said.quote,
    )


def _placed(judgement: Judgement, ballot: Ballot) -> Judgement:
    """Return the judgement with the place of its quote in the target's own words."""
    quote = (judgement.quote or "").strip()
    if not quote:
        if judgement.candidate == NONE and judgement.label == "omits":
            return judgement
        raise UnusableError("misquoted", "quote: is empty")
    asked = ballot.asked
    text = asked.said
    page = Sample("raw", 0, None, None, None, text, text, "", "complete", "")
    found = check_excerpt(Evidence(iteration=1, excerpt=quote), [Response(1, "", None, (page,))])
    if found.verdict not in ("exact", "normalised") or found.flaw == "cuts_word":
        raise UnusableError("misquoted", "quote: is not in the text")
    return replace(judgement, start=found.start, end=found.end, flaw=found.flaw)
