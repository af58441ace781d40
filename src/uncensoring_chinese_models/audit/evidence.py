"""Check every quote that the auditor cites against what the target really wrote.

A quote is searched for as it stands, then in normalised form, then approximately; in the cited
iteration, then in the others, then in our own prompts. When in doubt a quote does not survive:
the auditor is told and can quote again, whereas a false finding would stay in the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import Literal, NamedTuple

from uncensoring_chinese_models.audit.turns import (
    Evidence,
    EvidenceCheck,
    ExcerptVerdict,
    Hypothesis,
)
from uncensoring_chinese_models.domain import Response, Sample
from uncensoring_chinese_models.text import (
    Flaw,
    Normalised,
    QuoteReading,
    Span,
    adds_content,
    align,
    as_written,
    cuts_word,
    drops_negation,
    hides_negation,
    is_too_short,
    normalise,
    read_quote,
    tokens,
)

NEAR_MAX_TEXT = 200_000
"""In a longer response only exact words are searched for."""
MAX_OCCURRENCES = 100
"""How many places of the same words in one text are tried, to find one without a flaw."""

Side = Literal["supporting", "contradicting"]
_Quote = tuple[QuoteReading, ...]


def check_hypotheses(
    hypotheses: Sequence[Hypothesis], responses: Sequence[Response]
) -> tuple[EvidenceCheck, ...]:
    """Check every cited excerpt, in order; per hypothesis the supporting ones come first."""
    pages = tuple(_pages(responses))
    return tuple(
        _check(cited, pages, hypothesis.id, side)
        for hypothesis in hypotheses
        for side, cited in cited_by(hypothesis)
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


@dataclass(frozen=True)
class _Page:
    """One sample with the words that we sent; each is normalised once, when first needed."""

    iteration: int
    sample: Sample | None
    """None for a response without samples, whose probe is still ours."""
    prompts: tuple[str, ...]

    @cached_property
    def written(self) -> Normalised:
        return as_written(written_by_target(self.sample) if self.sample else "")

    @cached_property
    def normalised(self) -> Normalised:
        return normalise(self.written.text)

    @cached_property
    def ours(self) -> tuple[str, ...]:
        return tuple(normalise(prompt).text for prompt in self.prompts)

    def echoes(self, quote: _Quote) -> bool:
        """Return whether we wrote all of the quote ourselves, punctuation aside."""
        return any(
            all(self._is_ours(part) for part in reading.parts)
            for reading in quote
            if reading.tier == "normalised"
        )

    def _is_ours(self, words: str) -> bool:
        return any(words in ours for ours in self.ours) or any(
            tokens(words) in ours for ours in self._our_tokens
        )

    @cached_property
    def _our_tokens(self) -> tuple[str, ...]:
        return tuple(map(tokens, self.ours))

    def flaw(self, spans: Sequence[Span]) -> Flaw | None:
        """Return what these spans of the text, quoted as one, get wrong."""
        text = self.written.text
        if any(cuts_word(text, self.normalised, end) for span in spans for end in span):
            return "cuts_word"
        return "drops_negation" if drops_negation(text, spans[0].start, spans[-1].end) else None


def written_by_target(sample: Sample) -> str:
    """Return the text without words of the host; the spill stays, unless the host wrote before it."""
    own = sample.target_words
    return own if len(own) < len(sample.own_words) else sample.text or ""


def _pages(responses: Iterable[Response]) -> Iterator[_Page]:
    for response in responses:
        for sample in response.samples or (None,):
            ours = tuple(text for _, text in words_of_ours(response, sample))
            yield _Page(response.iteration, sample, ours)


def words_of_ours(response: Response, sample: Sample | None) -> Iterator[tuple[str, str]]:
    """Yield every text that we wrote for a sample, under the key that holds it in the files."""
    ours = {"prompt_sent": response.probe, "question": response.question}
    if sample:
        ours |= {"formatted_prompt": sample.formatted_prompt, "prefill": sample.prefill}
    yield from ((where, text) for where, text in ours.items() if text)
    for message in (sample.messages if sample else None) or ():
        content = message.get("content")
        # Content may also be a list of parts, {"type": "text", "text": ...}.
        for part in content if isinstance(content, list) else (content,):
            text = part.get("text") if isinstance(part, dict) else part
            if isinstance(text, str) and text:
                yield "messages", text


class _Match(NamedTuple):
    page: _Page
    start: int | None = None
    end: int | None = None
    score: float | None = None
    flaw: Flaw | None = None
    in_spill: bool = False
    in_thoughts: bool = False
    is_echo: bool = True


def cited_by(hypothesis: Hypothesis) -> Iterator[tuple[Side, Evidence]]:
    """Yield what a hypothesis cites, the supporting excerpts first."""
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
        in_thoughts=match.in_thoughts,
        also_in_prompt=match.is_echo,
        flaw=match.flaw,
    )


def _judge(
    quote: _Quote, iteration: int, pages: Sequence[_Page]
) -> tuple[ExcerptVerdict, _Match | None]:
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


def _best(reading: QuoteReading, quote: _Quote, pages: Iterable[_Page]) -> _Match | None:
    """Return the best match: without a flaw, in the reply, in words that we did not send.

    Of several such the one is taken that leaves least of its sample out: an excerpt that is one
    sample's whole text is not looked for inside another's.
    """
    words = normalise(" ".join(reading.parts)).text
    matches = []
    for page in pages:
        begin = page.sample.reply_start if page.sample else 0
        own_end = len(page.sample.target_words) if page.sample else 0
        for within in dict.fromkeys(((begin, own_end), (0, own_end), (0, len(page.written.text)))):
            if found := _find(reading, page, Span(*within)):
                (start, end), score, flaw = found
                if reading.tier != "near" and is_too_short(words):
                    flaw = flaw or "too_short"
                is_echo = page.echoes(quote) or not adds_content(words, page.ours)
                where = (page, start, end, score, flaw)
                matches.append(_Match(*where, end > own_end, start < begin, is_echo))
    return min(matches, key=_rank, default=None)


def _rank(match: _Match) -> tuple[bool, bool, bool, bool, int]:
    sample = match.page.sample
    whole = sample.target_words if sample and not match.in_spill else match.page.written.text
    left_out = len(whole.strip()) - ((match.end or 0) - (match.start or 0))
    return match.flaw is not None, match.in_spill, match.is_echo, match.in_thoughts, left_out


def _find(
    reading: QuoteReading, page: _Page, within: Span
) -> tuple[Span, float | None, Flaw | None] | None:
    """Find a reading in a part of the sample's text."""
    searched = page.written if reading.tier == "exact" else page.normalised
    first = searched.index(within.start)
    text = searched.text[first : searched.index(within.end)]

    def original(start: int, end: int) -> Span:
        return Span(*searched.span(first + start, first + end))

    if reading.tier == "near":
        near = align(reading.parts[0], text) if len(text) <= NEAR_MAX_TEXT else None
        return near and (original(*near[0]), near[1], None)

    def flaw(*spans: Span) -> Flaw | None:
        return page.flaw([original(*span) for span in spans])

    for is_good in (lambda span: flaw(span) is None, bool):
        spans = _in_order(reading.parts, text, is_good)
        gaps = ((before.end, after.start) for before, after in pairwise(spans))
        if spans and not any(hides_negation(text, *gap) for gap in gaps):
            return original(spans[0].start, spans[-1].end), None, flaw(*spans)
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
