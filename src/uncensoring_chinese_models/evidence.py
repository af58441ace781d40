"""Check every quote that the auditor cites against what the target really wrote.

A quote is searched for as it stands, then in normalised form, then approximately; in the cited
iteration, then in the others, then in our own prompts. When in doubt a quote does not survive:
the auditor is told and can quote again, whereas a false finding would stay in the report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import Literal, NamedTuple

from uncensoring_chinese_models.domain import (
    Evidence,
    EvidenceCheck,
    FinalSummary,
    Hypothesis,
    Response,
    Sample,
    Verdict,
)
from uncensoring_chinese_models.normalise import Normalised, as_written, normalise
from uncensoring_chinese_models.quoting import (
    Flaw,
    Reading,
    Span,
    adds_content,
    align,
    cuts_word,
    drops_negation,
    hides_negation,
    is_too_short,
    likeness,
    negations,
    read_quote,
    tokens,
)

NEAR_MAX_TEXT = 200_000
"""A longer response is searched for the very words only."""
MAX_OCCURRENCES = 100
"""Among so many places of the same words in one text, one without a flaw is looked for."""

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
    """True when more excerpts that survive speak for it than against it."""
    surviving_excerpts: int
    """Different supporting excerpts that survive, of linked hypotheses that may lend support."""
    contradicted_by: int
    """Different contradicting excerpts that survive."""
    contested: bool
    """True when there are some of the latter, and no fewer than of the former."""


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
        heard = self.sample and self.sample.outcome != "host_refusal"  # that is the host's text
        return as_written((self.sample.text if self.sample and heard else None) or "")

    @cached_property
    def normalised(self) -> Normalised:
        return normalise(self.written.text)

    @cached_property
    def ours(self) -> tuple[str, ...]:
        return tuple(normalise(prompt).text for prompt in self.prompts)

    def echoes(self, quote: _Quote) -> bool:
        """Tell whether we wrote all of the quote ourselves, punctuation aside."""
        return any(
            all(self._is_ours(part) for part in reading.parts)
            for reading in quote
            if reading.tier == "normalised"
        )

    def _is_ours(self, words: str) -> bool:
        return any(words in ours or tokens(words) in tokens(ours) for ours in self.ours)

    def flaw(self, spans: Sequence[Span]) -> Flaw | None:
        """Return what these spans of the text, quoted as one, get wrong."""
        text = self.written.text
        if any(cuts_word(text, self.normalised, end) for span in spans for end in span):
            return "cuts_word"
        return "drops_negation" if drops_negation(text, spans[0].start, spans[-1].end) else None


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
    flaw: Flaw | None = None
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
        flaw=match.flaw,
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
    """Return the best match: without a flaw, then in own words, then in words that we did not send."""
    words = normalise(" ".join(reading.parts)).text
    matches = []
    for page in pages:
        own_end = len(page.sample.own_words) if page.sample else 0
        for stop in dict.fromkeys((own_end, len(page.written.text))):
            if found := _find(reading, page, stop):
                (start, end), score, flaw = found
                if reading.tier != "near" and is_too_short(words):
                    flaw = flaw or "too_short"
                is_echo = page.echoes(quote) or not adds_content(words, page.ours)
                matches.append(_Match(page, start, end, score, flaw, end > own_end, is_echo))
    return min(matches, key=lambda m: (m.flaw is not None, m.in_spill, m.is_echo), default=None)


def _find(
    reading: Reading, page: _Page, stop: int
) -> tuple[Span, float | None, Flaw | None] | None:
    """Find a reading before an offset of the sample's text."""
    searched = page.written if reading.tier == "exact" else page.normalised
    text = searched.text[: searched.index(stop)]
    if reading.tier == "near":
        near = align(reading.parts[0], text) if len(text) <= NEAR_MAX_TEXT else None
        return near and (Span(*searched.span(*near[0])), near[1], None)

    def flaw(*spans: Span) -> Flaw | None:
        return page.flaw([Span(*searched.span(*span)) for span in spans])

    for is_good in (lambda span: flaw(span) is None, bool):
        spans = _in_order(reading.parts, text, is_good)
        gaps = ((before.end, after.start) for before, after in pairwise(spans))
        if spans and not any(hides_negation(text, *gap) for gap in gaps):
            return Span(*searched.span(spans[0].start, spans[-1].end)), None, flaw(*spans)
    return None


def _in_order(parts: Sequence[str], text: str, is_good: Callable[[Span], bool]) -> list[Span]:
    """Find each part after the one before it, in a good place if there is one; all or nothing."""
    spans: list[Span] = []
    for part in parts:
        found = _occurrences(part, text, spans[-1].end if spans else 0)
        places = list(islice(found, MAX_OCCURRENCES))
        if not places:
            return []
        spans.append(next(filter(is_good, places), places[0]))
    return spans


def _occurrences(part: str, text: str, at: int) -> Iterator[Span]:
    while (start := text.find(part, at)) >= 0:
        yield Span(start, start + len(part))
        at = start + 1


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
        if side == "contradicting" or _lends_support(each, text)
    }
    supporting = sum(side == "supporting" for side, *_ in excerpts)
    against = len(excerpts) - supporting
    return Claim(
        text,
        kind,
        hypothesis_ids=tuple(dict.fromkeys(each.id for each in linked)),
        linked_by="id" if named else "text" if linked else "none",
        supported=supporting > against,
        surviving_excerpts=supporting,
        contradicted_by=against,
        contested=against > 0 and against >= supporting,
    )


def _lends_support(hypothesis: Hypothesis, claim: str) -> bool:
    """Tell whether a hypothesis still stands, and does not deny what the claim says or vice versa."""
    one, other = (bool(negations(normalise(text).text)) for text in (hypothesis.hypothesis, claim))
    return hypothesis.status not in ("led", "refuted", "retired") and one == other


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
    """Return the hypothesis of the kind that says what the claim says, if there is one."""
    claim = normalise(text).text
    scores = [
        (likeness(claim, normalise(each.hypothesis).text, _CLAIM_FRAME), each)
        for each in hypotheses
        if each.type == kind
    ]
    score, best = max(scores, key=lambda scored: scored[0], default=(0, None))
    return [best] if best and score else []
