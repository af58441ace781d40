"""Check every quote that the auditor cites against what the target really wrote.

A quote is searched for as it stands, then in normalised form, then approximately; in the cited
iteration, then in the others, then in our own prompts. When in doubt a quote is not found: the
auditor is told and can quote again, whereas a false finding would stay in the report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

from rapidfuzz import fuzz
from rapidfuzz.utils import default_process

from uncensoring_chinese_models.domain import (
    Evidence,
    EvidenceCheck,
    FinalSummary,
    Hypothesis,
    Response,
    Sample,
    Verdict,
)
from uncensoring_chinese_models.normalise import (
    Normalised,
    Reading,
    Span,
    adds_words,
    align,
    as_written,
    differs_in_fact,
    hides_negation,
    normalise,
    read_quote,
    tokens,
)

NEAR_MAX_TEXT = 200_000
"""A longer response is searched for the very words only."""
CLAIM_SCORE = 85.0
"""Similarity in percent from which a claim and a hypothesis say the same."""

Side = Literal["supporting", "contradicting"]
Kind = Literal["knowledge", "behavior"]
_Quote = tuple[Reading, ...]

_BRACKETED = re.compile(r"[\[({【]([^\[\](){}【】]*)[\])}】]")
_BETWEEN_IDS = re.compile(r"[,;/&+|、]|\band\b")
_CLAIM_FRAME = re.compile("model|target|kn[eo]ws?|aware|confirmed|about|it|[模型目标知道]")
"""Words in which a claim may wrap what the hypothesis says."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One entry of the final summary, and what stands behind it."""

    text: str
    kind: Kind
    hypothesis_ids: tuple[str, ...]
    linked_by: Literal["id", "text", "none"]
    supported: bool
    """True when a linked hypothesis of this kind has a supporting excerpt that survives."""
    surviving_excerpts: int
    """Different supporting excerpts that survive."""
    contradicted_by: int
    """Different contradicting excerpts that survive."""


def check_hypotheses(
    hypotheses: Sequence[Hypothesis], responses: Sequence[Response]
) -> tuple[EvidenceCheck, ...]:
    """Check every cited excerpt, in order; per hypothesis the supporting ones come first."""
    pages = tuple(_pages(responses))
    return tuple(
        _check(cited, pages, hypothesis.id, side)
        for hypothesis in hypotheses
        for side, cited in _cited(hypothesis)
    )


def check_excerpt(
    cited: Evidence, responses: Sequence[Response], hypothesis: str = "", side: Side = "supporting"
) -> EvidenceCheck:
    """Check one cited excerpt.

    The target wrote ``The army killed “about 300” people.`` in iteration 1. Then of iteration 1
    ``killed “about 300”`` is exact, ``Killed "about 300"`` normalised, ``the army kiled "about
    300" people`` near, and ``the army killed "about 3000" people`` missing.
    """
    return _check(cited, tuple(_pages(responses)), hypothesis, side)


def link_claims(
    summary: FinalSummary, hypotheses: Sequence[Hypothesis], checks: Sequence[EvidenceCheck]
) -> tuple[Claim, ...]:
    """Say for each claim of the summary which hypotheses and how many true excerpts it rests on.

    ``"[h1] The army fired."`` is linked to h1 by id; a claim that names no known id, to the
    hypothesis of its kind that says the same in nearly the same words.
    """
    return (
        *(_link(text, "knowledge", hypotheses, checks) for text in summary.knowledge_confirmed),
        *(_link(text, "behavior", hypotheses, checks) for text in summary.censorship_patterns),
    )


@dataclass(frozen=True)
class _Page:
    """One sample with the words that we sent; each is normalised once, when first needed."""

    iteration: int
    sample: Sample | None
    """None for a response without samples, whose probe is still ours."""
    prompts: tuple[str, ...]

    @cached_property
    def written(self) -> Normalised:
        return as_written((self.sample.text if self.sample else None) or "")

    @cached_property
    def normalised(self) -> Normalised:
        return normalise(self.written.text)

    @cached_property
    def ours(self) -> tuple[str, ...]:
        return tuple(normalise(prompt).text for prompt in self.prompts)

    def echoes(self, quote: _Quote, *, is_near: bool = False) -> bool:
        """Tell whether we wrote all of the quote ourselves, punctuation aside.

        A quote that only resembles the target's words is held against ours as loosely.
        """
        return any(
            all(self._is_ours(part, is_near=is_near) for part in reading.parts)
            for reading in quote
            if reading.tier == "normalised"
        )

    def _is_ours(self, words: str, *, is_near: bool) -> bool:
        return any(
            words in ours
            or tokens(words) in tokens(ours)
            or (is_near and align(words, ours) is not None)
            for ours in self.ours
        )


def _pages(responses: Iterable[Response]) -> Iterator[_Page]:
    for response in responses:
        for sample in response.samples or (None,):
            ours = (response.probe, response.question, *(_sent(sample) if sample else ()))
            yield _Page(response.iteration, sample, tuple(filter(None, ours)))


def _sent(sample: Sample) -> Iterator[str | None]:
    yield sample.formatted_prompt
    yield sample.prefill
    for message in sample.messages or ():
        content = message.get("content")
        # Content may also be a list of parts, {"type": "text", "text": ...}.
        for part in content if isinstance(content, list) else (content,):
            text = part.get("text") if isinstance(part, dict) else part
            yield text if isinstance(text, str) else None


class _Match(NamedTuple):
    page: _Page
    start: int | None = None
    end: int | None = None
    score: float | None = None
    in_spill: bool = False
    is_echo: bool = True


def _cited(hypothesis: Hypothesis) -> Iterator[tuple[Side, Evidence]]:
    for evidence in hypothesis.supporting_evidence:
        yield "supporting", evidence
    for evidence in hypothesis.contradicting_evidence:
        yield "contradicting", evidence


def _check(cited: Evidence, pages: Sequence[_Page], hypothesis: str, side: Side) -> EvidenceCheck:
    quote = read_quote(cited.excerpt)
    verdict, match = _judge(quote, cited.iteration, pages) if quote else ("missing", None)
    check = EvidenceCheck(hypothesis, side, cited.iteration, cited.excerpt, verdict)
    if match is None:
        return check
    sample = match.page.sample
    return replace(
        check,
        score=match.score,
        found_iteration=match.page.iteration,
        arm=sample.arm if sample else None,
        sample=sample.index if sample else None,
        start=match.start,
        end=match.end,
        in_spill=match.in_spill,
        also_in_prompt=match.is_echo,
    )


def _judge(quote: _Quote, iteration: int, pages: Sequence[_Page]) -> tuple[Verdict, _Match | None]:
    """Return the best verdict that holds, and where."""
    here = [page for page in pages if page.iteration == iteration]
    elsewhere = [page for page in pages if page.iteration != iteration]
    for reading in quote:
        if match := _best(reading, quote, here):
            return reading.tier, match
    for reading in quote:
        if reading.tier != "near" and (match := _best(reading, quote, elsewhere)):
            return "other_iteration", match
    echo = next((page for page in (*here, *elsewhere) if page.echoes(quote)), None)
    return ("prompt_echo", _Match(echo)) if echo else ("missing", None)


def _best(reading: Reading, quote: _Quote, pages: Iterable[_Page]) -> _Match | None:
    """Return the first match, own words before spill, and then words that we did not send."""
    matches = []
    for page in pages:
        own_end = len(page.sample.own_words) if page.sample else 0
        stops = dict.fromkeys((own_end, len(page.written.text)))
        if found := next(filter(None, (_find(reading, page, stop) for stop in stops)), None):
            is_echo = page.echoes(quote, is_near=reading.tier == "near")
            matches.append(_Match(page, *found, found.end > own_end, is_echo))
    return min(matches, key=lambda match: (match.in_spill, match.is_echo), default=None)


def _find(reading: Reading, page: _Page, stop: int) -> Span | None:
    """Find the parts of a reading before an offset of the sample's text."""
    is_near = reading.tier == "near"
    searched = page.written if reading.tier == "exact" else page.normalised
    text, limit = searched.text, searched.index(stop)
    if is_near and limit > NEAR_MAX_TEXT:
        return None

    def find(part: str, at: int) -> Span | None:
        start = text.find(part, at, limit)
        if start >= 0:
            return Span(start, start + len(part))
        near = align(part, text[at:limit]) if is_near else None
        return near and Span(at + near.start, at + near.end, near.score)

    spans = _in_order(reading.parts, find)
    gaps = ((before.end, after.start) for before, after in pairwise(spans))
    if not spans or any(hides_negation(text, *gap) for gap in gaps):
        return None
    score = min((span.score for span in spans if span.score is not None), default=None)
    return Span(*searched.span(spans[0].start, spans[-1].end), score)


def _in_order(parts: Sequence[str], find: Callable[[str, int], Span | None]) -> list[Span]:
    """Find each part at or after the end of the one before it; nothing if one is not there."""
    spans: list[Span] = []
    for part in parts:
        span = find(part, spans[-1].end if spans else 0)
        if span is None:
            return []
        spans.append(span)
    return spans


def _link(
    text: str, kind: Kind, hypotheses: Sequence[Hypothesis], checks: Sequence[EvidenceCheck]
) -> Claim:
    named = _named(text, hypotheses)
    linked = named or _alike(text, kind, hypotheses)
    alive = {(c.hypothesis, c.side, c.iteration, c.excerpt) for c in checks if c.survives}
    # The id alone would not do: an auditor may give one id to hypotheses of different kinds.
    excerpts = {
        (side, cited.iteration, cited.excerpt)
        for each in linked
        for side, cited in _cited(each)
        if each.type == kind and (each.id, side, cited.iteration, cited.excerpt) in alive
    }
    supporting = sum(side == "supporting" for side, *_ in excerpts)
    return Claim(
        text,
        kind,
        hypothesis_ids=tuple(dict.fromkeys(each.id for each in linked)),
        linked_by="id" if named else "text" if linked else "none",
        supported=supporting > 0,
        surviving_excerpts=supporting,
        contradicted_by=len(excerpts) - supporting,
    )


def _named(text: str, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Return the hypotheses whose ids the claim names.

    In brackets any id counts that is a whole item, as in ``[h1, memory]``. Elsewhere only an id
    such as ``h1`` or ``k-3`` does: ``memory``, ``3`` or ``1980s`` may be the claim's own words.
    """
    claim = normalise(text).text
    contents = _BRACKETED.findall(claim)
    items = {item.strip(" '#") for content in contents for item in _BETWEEN_IDS.split(content)}
    return [each for each in hypotheses if _is_named(normalise(each.id).text.strip(), claim, items)]


def _is_named(name: str, claim: str, items: set[str]) -> bool:
    if name in items:
        return bool(name)
    is_label = name[:1].isalpha() and any(map(str.isdigit, name)) and " " not in name
    whole = rf"(?<![a-z0-9_.-]){re.escape(name)}(?![a-z0-9_-]|\.\d)"
    return is_label and re.search(whole, claim) is not None


def _alike(text: str, kind: Kind, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Return the hypothesis of the kind that says what the claim says, if there is one.

    A word set that contains another scores 100, so the claim may not say more than the hypothesis,
    and among hypotheses that say more than the claim the most similar counts.
    """
    claim = normalise(text).text
    alike = [
        (fuzz.ratio(claim, other), each)
        for each in hypotheses
        if each.type == kind
        and not differs_in_fact(claim, other := normalise(each.hypothesis).text)
        and not adds_words(claim, other, _CLAIM_FRAME)
        and fuzz.token_set_ratio(claim, other, processor=default_process) >= CLAIM_SCORE
    ]
    return [max(alike, key=lambda scored: scored[0])[1]] if alike else []
