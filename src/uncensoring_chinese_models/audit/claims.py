"""Link the entries of the final summary to hypotheses, and to the quotes that they rest on.

A claim is supported when quotes exist that the target wrote. Whether they entail it is for the
reader to judge, and so each claim names its quotes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from uncensoring_chinese_models.audit.evidence import cited_by
from uncensoring_chinese_models.audit.leading import Leads
from uncensoring_chinese_models.audit.turns import EvidenceCheck, FinalSummary, Hypothesis
from uncensoring_chinese_models.text import likeness, negations, normalise

Kind = Literal["knowledge", "behavior"]
LinkedBy = Literal["id", "text", "none"]

_BRACKETED = re.compile(r"[\[({【]([^\[\](){}【】]*)[\])}】]")
_BETWEEN_IDS = re.compile(r"[,;/&+|、]|\band\b")
_CLAIM_FRAME = re.compile("model|target|kn[eo]ws?|aware|confirmed|about|it|[模型目标知道]")
"""Words that a claim may add around a hypothesis without changing it."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of the target that support a claim."""

    excerpt: str
    iteration: int | None
    arm: str | None
    sample: int | None
    start: int | None
    """First character in the `text` of that sample, counted from 0."""
    end: int | None
    in_spill: bool = False
    """True if the target wrote it after the sampled turn was closed."""
    in_thoughts: bool = False
    """True if it is from the target's thoughts: it knows it, but did not say it."""
    run: str = ""
    """The run that it is from."""
    led_not_judged: bool = False
    """True if our prompt is in another script than the claim, so that words cannot be compared."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One entry of the final summary, and the evidence for it."""

    text: str
    kind: Kind
    hypothesis_ids: tuple[str, ...]
    linked_by: LinkedBy
    supported: bool
    """True if more surviving excerpts support it than contradict it, and it is not led."""
    surviving_excerpts: int
    """Different supporting excerpts that survive, of linked hypotheses that may lend support."""
    contradicted_by: int
    """Different contradicting excerpts that survive."""
    contested: bool
    """True if surviving excerpts contradict it, and at least as many as support it."""
    quotes: tuple[Quote, ...] = ()
    """The supporting excerpts that survive, with their places."""
    quotes_against: tuple[Quote, ...] = ()
    """The contradicting excerpts that survive."""
    led_excerpts: int = 0
    """Supporting excerpts that do not count, because our prompt gave them away."""
    led_words: tuple[str, ...] = ()
    """Its names and rare words that our prompts contained, and that the target never wrote unasked."""

    @property
    def is_led(self) -> bool:
        """True if it lacks support because our prompts gave it away."""
        return not self.supported and bool(self.led_excerpts or self.led_words)


@dataclass(frozen=True, slots=True)
class Basis:
    """What claims are linked to."""

    hypotheses: Sequence[Hypothesis]
    checks: Sequence[EvidenceCheck]
    leads: Leads
    run: str = ""


def link_claims(summary: FinalSummary, basis: Basis) -> tuple[Claim, ...]:
    """Say for each claim of the summary which hypotheses and how many true excerpts it rests on.

    ``"[h1] The army fired."`` is linked to h1 by id; a claim that names no known id, to the
    hypothesis of its kind that says the same in nearly the same words.
    """
    return (
        *(_link(text, "knowledge", basis) for text in summary.knowledge_confirmed),
        *(_link(text, "behavior", basis) for text in summary.censorship_patterns),
    )


def claims_of_hypotheses(basis: Basis) -> tuple[Claim, ...]:
    """Return each hypothesis as a claim that rests on its own excerpts alone."""
    return tuple(
        _judge(each.hypothesis, each.type, [each], "id", basis) for each in basis.hypotheses
    )


def _link(text: str, kind: Kind, basis: Basis) -> Claim:
    if named := _named(text, basis.hypotheses):
        return _judge(text, kind, named, "id", basis)
    alike = _alike(text, kind, basis.hypotheses)
    return _judge(text, kind, alike, "text" if alike else "none", basis)


def _judge(
    text: str, kind: Kind, linked: Sequence[Hypothesis], linked_by: LinkedBy, basis: Basis
) -> Claim:
    """Return the claim with the excerpts of the hypotheses that it is linked to."""
    checks = basis.checks
    alive = {(c.hypothesis, c.side, c.iteration, c.excerpt): c for c in checks if c.survives}
    # The id alone would not do: an auditor may give one id to hypotheses of different kinds.
    excerpts = {
        (side, cited.iteration, cited.excerpt): alive[each.id, side, cited.iteration, cited.excerpt]
        for each in linked
        for side, cited in cited_by(each)
        if each.type == kind and (each.id, side, cited.iteration, cited.excerpt) in alive
        if side == "contradicting" or _lends_support(each, text)
    }
    cited = [c for (side, *_), c in excerpts.items() if side == "supporting"]
    ids = {each.id for each in linked if each.type == kind}
    led = {(c.iteration, c.excerpt) for c in checks if c.led and c.hypothesis in ids}
    only_ours: tuple[str, ...] = ()
    if kind == "knowledge":
        led |= {(c.iteration, c.excerpt) for c in cited if basis.leads.led_by(text, c)}
        only_ours = basis.leads.only_ours([text, *(h.hypothesis for h in linked)]) if cited else ()
    own = [c for c in cited if (c.iteration, c.excerpt) not in led]
    rivals = [c for (side, *_), c in excerpts.items() if side == "contradicting"]
    supporting, against = len(own), len(rivals)
    return Claim(
        text,
        kind,
        hypothesis_ids=tuple(dict.fromkeys(each.id for each in linked)),
        linked_by=linked_by,
        supported=supporting > against and not only_ours,
        surviving_excerpts=supporting,
        contradicted_by=against,
        contested=against > 0 and against >= supporting,
        quotes=tuple(_quote(check, text, kind, basis) for check in own),
        quotes_against=tuple(_quote(check, text, kind, basis) for check in rivals),
        led_excerpts=len(led),
        led_words=only_ours,
    )


def _quote(check: EvidenceCheck, claim: str, kind: Kind, basis: Basis) -> Quote:
    where = (check.found_iteration, check.arm, check.sample, check.start, check.end)
    not_judged = kind == "knowledge" and basis.leads.is_not_judged(claim, check)
    aside = (check.in_spill, check.in_thoughts)
    return Quote(check.excerpt, *where, *aside, basis.run, led_not_judged=not_judged)


def _lends_support(hypothesis: Hypothesis, claim: str) -> bool:
    """Return whether a hypothesis is still held, and neither denies the claim nor is denied by it."""
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
