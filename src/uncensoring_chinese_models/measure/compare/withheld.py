"""Who withheld a sample that does not state the fact: the host, the model, or unclear.

*Experimental*: a host is suspected because its token counts look as if it changed the text, which no
live provider has confirmed. docs/methods/compare.md has the rules. Without token counts, or where a
server's counts do not fit its texts in general, a host is not suspected; a case that only token counts
could decide is unclear.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from uncensoring_chinese_models.domain import DELIVERIES, STANCES, fact_label, is_in_ideographs
from uncensoring_chinese_models.measure.compare.token_bills import (
    SPARE_TOKENS,
    TokenBills,
    fit_of,
    has_words,
    is_whole,
    max_tokens_in,
    tokens_of,
)
from uncensoring_chinese_models.text import language_of

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Delivery, FactLabel, FactMention, Stance
    from uncensoring_chinese_models.measure.answers import Judged
    from uncensoring_chinese_models.runs import RecordedSample

Who = Literal["host", "model", "unclear"]
WHO: tuple[Who, ...] = get_args(Who)

MIN_DISTINCTIVE = 60
"""Minimum characters (an ideograph counts for three) at which a text is too long to recur by chance."""
IDEOGRAPH_WEIGHT = 3
_WITHHELD_REASONS = ("denies", "said instead")


@dataclass(frozen=True, slots=True)
class ComparedSample:
    """One sample of a probe run, with its run, its model and its host."""

    run: str
    model: str
    host: str
    """The provider's name, else the address of the server."""
    judged: Judged
    sample: RecordedSample
    is_own: bool = False
    """True if the user runs the server, so there is no host to suspect."""

    @property
    def maker(self) -> str:
        """The maker in the model's name; empty if it names none."""
        return self.model.rpartition("/")[0].partition("/")[0]

    @property
    def channel(self) -> tuple[str, bool, str]:
        """Model, API and language: only within these are token counts comparable."""
        return self.model, self.sample.messages is not None, self.judged.language

    @property
    def words(self) -> str:
        """The text with each run of white space as one space."""
        return " ".join((self.sample.text or "").split())


class Attributed(NamedTuple):
    """A sample after token counts and repeated texts were taken into account, and who withheld it.

    Experimental: `suspected_block` and `replaced` mean that it looks as if the host did so.
    """

    delivery: Delivery
    stance: Stance
    mention: FactMention | None
    withheld_by: Who | None = None
    """None where nothing was withheld; `unclear` where it cannot be said who withheld it."""

    @property
    def is_open(self) -> bool:
        """True where it is unknown whether the model withheld anything."""
        is_unknown = self.mention == "omits" and self.label == "not_judged"
        return is_unknown and self.withheld_by is None

    @property
    def label(self) -> FactLabel:
        """The one word for what the sample does with the fact."""
        if DELIVERIES[self.delivery].by_host:
            return self.delivery
        return fact_label(self.mention, self.delivery, self.stance)


@dataclass(frozen=True, slots=True)
class Canned:
    """Canned text: the same text came back, character for character, for different facts."""

    text: str
    samples: tuple[ComparedSample, ...]

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts for which it came back."""
        return tuple(sorted({each.judged.fact for each in self.samples}))

    @property
    def is_shared(self) -> bool:
        """True if one host returns it for models of different makers, and it is a distinctive text.

        This alone does not implicate the host: a fine-tuned copy of a model has another name and
        keeps its phrases.
        """
        if _characters(self.text) < MIN_DISTINCTIVE:
            return False
        makers = defaultdict(set)
        for each in self.samples:
            if each.maker and not each.is_own:
                makers[each.host].add(each.maker)
        return any(len(found) > 1 for found in makers.values())


class Withholding:
    """Attribute each compared sample that does not state the fact: host, model or unclear.

    Experimental: where it names the host, it looks as if the host withheld the text.
    """

    def __init__(self, samples: Sequence[ComparedSample]) -> None:
        self._canned = {each.text: each for each in _canned(samples)}
        self._bills: dict[object, TokenBills] = defaultdict(TokenBills)
        for each in samples:
            if each.words not in self._canned:
                self._bills[each.run, each.channel].add(each.sample)
                self._bills[each.channel].add(each.sample)
        self.attributed: tuple[Attributed, ...] = tuple(map(self._attribute, samples))

    @property
    def canned(self) -> tuple[Canned, ...]:
        """The canned texts, the most frequent first."""
        return tuple(
            sorted(self._canned.values(), key=lambda each: (-len(each.samples), each.text))
        )

    def _attribute(self, compared: ComparedSample) -> Attributed:
        judged, sample = compared.judged, compared.sample
        found = Attributed(sample.delivery, judged.stance, judged.mention)
        if sample.delivery == "failed" or judged.mention == "states":
            return found
        if sample.delivery == "blocked":
            # The API's `refusal` field with finish_reason `stop` may also be the model's own refusal.
            is_either = sample.error is not None and sample.finish_reason == "stop"
            return found._replace(withheld_by="unclear" if is_either else "host")
        if sample.delivery in ("suspected_block", "replaced"):
            return self._with_hosts_text(compared, found)
        if not has_words(compared.words):
            return self._without_words(compared, found)
        if compared.words in self._canned:
            return self._with_canned_text(compared, self._canned[compared.words], found)
        by_model = found._replace(withheld_by="model")
        return by_model if _withholds(compared) else self._by_its_end(compared, found)

    def _by_its_end(self, compared: ComparedSample, found: Attributed) -> Attributed:
        """Return whether it looks as if the host cut a text that neither states the fact nor refuses."""
        sample, fit = compared.sample, fit_of(compared.sample)
        breaks_off = sample.finish_reason == "stop" and not is_whole(sample.text or "")
        if not breaks_off or fit in ("fits", "too few"):
            return found
        if fit == "too many" and self._counts_are_reliable(compared):
            return found._replace(delivery="suspected_block", withheld_by="host")
        return found._replace(withheld_by="unclear")

    def _without_words(self, compared: ComparedSample, found: Attributed) -> Attributed:
        """Return who withheld a reply that has no words."""
        sample, tokens = compared.sample, tokens_of(compared.sample)
        unclear = found._replace(delivery="empty", withheld_by="unclear")
        if not tokens or sample.finish_reason != "stop":
            return unclear
        room = max_tokens_in(sample.text or "")
        if tokens <= room + 1:
            return (
                unclear
                if self._counts_fit(compared) is False
                else unclear._replace(withheld_by="model")
            )
        if tokens > room + SPARE_TOKENS and self._counts_are_reliable(compared):
            return unclear._replace(delivery="suspected_block", withheld_by="host")
        return unclear

    def _with_hosts_text(self, compared: ComparedSample, found: Attributed) -> Attributed:
        """Return who withheld a sample of which the host wrote a part, or perhaps all."""
        does_not_fit = fit_of(compared.sample) in ("too many", "too few")
        if found.delivery == "replaced" or (does_not_fit and self._counts_are_reliable(compared)):
            return found._replace(delivery="replaced", withheld_by="host")
        return found._replace(withheld_by="unclear")

    def _with_canned_text(
        self, compared: ComparedSample, canned: Canned, found: Attributed
    ) -> Attributed:
        """Return who withheld a sample with a canned text."""
        fit = fit_of(compared.sample)
        if fit in ("too many", "too few") and self._counts_are_reliable(compared):
            cut = self._by_its_end(compared, found)
            if cut.withheld_by == "host":
                return cut
            return found._replace(delivery="replaced", withheld_by="host")
        if fit != "fits":
            return found._replace(withheld_by="unclear")
        if _withholds(compared):
            return found._replace(withheld_by="model")
        return found._replace(withheld_by="unclear") if canned.is_shared else found

    def _counts_are_reliable(self, compared: ComparedSample) -> bool:
        """Return whether token counts that do not fit the text count against the host."""
        fit_texts = self._counts_fit(compared)
        return (
            compared.sample.usage.reasoning_tokens is not None if fit_texts is None else fit_texts
        )

    def _counts_fit(self, compared: ComparedSample) -> bool | None:
        """Return whether token counts fit texts on this server, else on all servers of the model."""
        here = self._bills[compared.run, compared.channel].fit_texts
        return self._bills[compared.channel].fit_texts if here is None else here


def _withholds(compared: ComparedSample) -> bool:
    judged = compared.judged
    is_evasive = judged.mention == "omits" and STANCES[judged.stance].withholds
    return is_evasive or judged.reason in _WITHHELD_REASONS


def _canned(samples: Sequence[ComparedSample]) -> Iterator[Canned]:
    by_text: dict[str, list[ComparedSample]] = defaultdict(list)
    for each in samples:
        # Texts that were cut at max_tokens may differ after the cut.
        states_fact = each.judged.mention == "states"
        if each.sample.delivery == "complete" and not states_fact and each.words:
            by_text[each.words].append(each)
    for text, found in by_text.items():
        if len({each.judged.fact for each in found}) > 1:
            yield Canned(text, tuple(found))


def _characters(text: str) -> int:
    return len("".join(text.split())) * (
        IDEOGRAPH_WEIGHT if is_in_ideographs(language_of(text)) else 1
    )
