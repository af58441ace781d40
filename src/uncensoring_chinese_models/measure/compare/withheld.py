"""Who withheld: for each sample that does not state the fact, the host, the model, or unclear.

The rules are those of docs/methods/compare.md. Where a bill is missing, or bills and texts of a server do
not go together, a host is not accused; where only a bill could tell, it is unclear.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from uncensoring_chinese_models.domain import DELIVERIES, STANCES, fact_label
from uncensoring_chinese_models.measure.compare.token_bills import (
    SPARE_TOKENS,
    Books,
    fit_of,
    has_words,
    is_whole,
    most_tokens,
    tokens_of,
)
from uncensoring_chinese_models.text import language_of

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Delivery, FactLabel, FactMention, Stance
    from uncensoring_chinese_models.measure.answers import Judged
    from uncensoring_chinese_models.runs import RecordedSample

Who = Literal["host", "model", "unclear"]
WHO: tuple[Who, ...] = get_args(Who)

DISTINCTIVE = 60
"""Signs of a text (an ideograph counts for three) from which it is no commonplace."""
IDEOGRAPH_SIGNS = 3
_WITHHELD_REASONS = ("denies", "said instead")


@dataclass(frozen=True, slots=True)
class Heard:
    """One sample of a probe run, with whom it came from."""

    run: str
    model: str
    host: str
    """Whoever serves it: the provider by its name, else the address."""
    judged: Judged
    sample: RecordedSample
    is_own: bool = False
    """True when it was served by whoever asks, so that there is no host to suspect."""

    @property
    def maker(self) -> str:
        """Who made the model, as its name says; empty where it does not."""
        return self.model.rpartition("/")[0].partition("/")[0]

    @property
    def channel(self) -> tuple[str, bool, str]:
        """What its bill is comparable with: one model, one API, one language."""
        return self.model, self.sample.messages is not None, self.judged.language

    @property
    def words(self) -> str:
        """The text with its white space made even."""
        return " ".join((self.sample.text or "").split())


class Attributed(NamedTuple):
    """A sample as token bills and repeated texts show it, and who withheld it."""

    delivery: Delivery
    stance: Stance
    mention: FactMention | None
    withheld_by: Who | None = None
    """None where nothing was withheld; `unclear` where it cannot be said who withheld it."""

    @property
    def label(self) -> FactLabel:
        """The one word for what the sample does with the fact."""
        if DELIVERIES[self.delivery].by_host:
            return self.delivery
        return fact_label(self.mention, self.delivery, self.stance)


@dataclass(frozen=True, slots=True)
class Canned:
    """A text that came back to the letter for different facts."""

    text: str
    heard: tuple[Heard, ...]

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts that it was given for."""
        return tuple(sorted({each.judged.fact for each in self.heard}))

    @property
    def is_shared(self) -> bool:
        """True when a host gives it for models of different makers, and it is no commonplace.

        It accuses nobody: a tuned copy of a model bears another name and keeps its phrases.
        """
        if _signs(self.text) < DISTINCTIVE:
            return False
        makers = defaultdict(set)
        for each in self.heard:
            if each.maker and not each.is_own:
                makers[each.host].add(each.maker)
        return any(len(found) > 1 for found in makers.values())


class Withholding:
    """Tells for each of the samples that are compared who withheld it."""

    def __init__(self, heard: Sequence[Heard]) -> None:
        self._canned = {each.text: each for each in _canned(heard)}
        self._books: dict[object, Books] = defaultdict(Books)
        for each in heard:
            if each.words not in self._canned:
                self._books[each.run, each.channel].enter(each.sample)
                self._books[each.channel].enter(each.sample)
        self.attributed: tuple[Attributed, ...] = tuple(map(self._attribute, heard))

    @property
    def canned(self) -> tuple[Canned, ...]:
        """The texts that came back to the letter for different facts, the most frequent first."""
        return tuple(sorted(self._canned.values(), key=lambda each: (-len(each.heard), each.text)))

    def _attribute(self, heard: Heard) -> Attributed:
        judged, sample = heard.judged, heard.sample
        seen = Attributed(sample.delivery, judged.stance, judged.mention)
        if sample.delivery == "failed" or judged.mention == "states":
            return seen
        if sample.delivery == "blocked":
            # A refusal in a field of its own after an ordinary end may be the model's as well.
            is_either = sample.error is not None and sample.finish_reason == "stop"
            return seen._replace(withheld_by="unclear" if is_either else "host")
        if not has_words(heard.words):
            return self._blank(heard, seen)
        if heard.words in self._canned:
            return self._repeated(heard, self._canned[heard.words], seen)
        by_model = seen._replace(withheld_by="model")
        return by_model if _withholds(heard) else self._as_it_ends(heard, seen)

    def _as_it_ends(self, heard: Heard, seen: Attributed) -> Attributed:
        """Say whether the host broke off a text that neither tells nor declines."""
        sample, fit = heard.sample, fit_of(heard.sample)
        breaks_off = sample.finish_reason == "stop" and not is_whole(sample.text or "")
        if not breaks_off or fit in ("fits", "too few"):
            return seen
        if fit == "too many" and self._trusted(heard):
            return seen._replace(delivery="suspected_block", withheld_by="host")
        return seen._replace(withheld_by="unclear")

    def _blank(self, heard: Heard, seen: Attributed) -> Attributed:
        """Say who is behind a reply without a word."""
        sample, tokens = heard.sample, tokens_of(heard.sample)
        unclear = seen._replace(delivery="empty", withheld_by="unclear")
        if not tokens or sample.finish_reason != "stop":
            return unclear
        room = most_tokens(sample.text or "")
        if tokens <= room + 1:
            return unclear if self._agree(heard) is False else unclear._replace(withheld_by="model")
        if tokens > room + SPARE_TOKENS and self._trusted(heard):
            return unclear._replace(delivery="suspected_block", withheld_by="host")
        return unclear

    def _repeated(self, heard: Heard, canned: Canned, seen: Attributed) -> Attributed:
        """Say who is behind a text that came back for different facts."""
        fit = fit_of(heard.sample)
        if fit in ("too many", "too few") and self._trusted(heard):
            cut = self._as_it_ends(heard, seen)
            if cut.withheld_by == "host":
                return cut
            return seen._replace(delivery="replaced", withheld_by="host")
        if fit != "fits":
            return seen._replace(withheld_by="unclear")
        if _withholds(heard):
            return seen._replace(withheld_by="model")
        return seen._replace(withheld_by="unclear") if canned.is_shared else seen

    def _trusted(self, heard: Heard) -> bool:
        """Tell whether a bill that does not fit its text accuses the host."""
        agree = self._agree(heard)
        return heard.sample.usage.reasoning_tokens is not None if agree is None else agree

    def _agree(self, heard: Heard) -> bool | None:
        """Tell whether this server's bills fit its texts, or else those of the model elsewhere."""
        here = self._books[heard.run, heard.channel].agree
        return self._books[heard.channel].agree if here is None else here


def _withholds(heard: Heard) -> bool:
    judged = heard.judged
    is_evasive = judged.mention == "omits" and STANCES[judged.stance].withholds
    return is_evasive or judged.reason in _WITHHELD_REASONS


def _canned(heard: Sequence[Heard]) -> Iterator[Canned]:
    by_text: dict[str, list[Heard]] = defaultdict(list)
    for each in heard:
        # What ends at max_tokens may have gone on differently.
        is_told = each.judged.mention == "states"
        if each.sample.delivery == "complete" and not is_told and each.words:
            by_text[each.words].append(each)
    for text, found in by_text.items():
        if len({each.judged.fact for each in found}) > 1:
            yield Canned(text, tuple(found))


def _signs(text: str) -> int:
    is_chinese = language_of(text).startswith("zh")
    return len("".join(text.split())) * (IDEOGRAPH_SIGNS if is_chinese else 1)
