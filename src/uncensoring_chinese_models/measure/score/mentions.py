"""Find which values of a truth the target said in its own words, and which our prompts gave away.

Who says a value first decides. If the target does, later prompts may repeat it, and only the samples
of those prompts are led; if our prompt does, every later mention is led.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from uncensoring_chinese_models.measure.facts.truth import Key, Truth, ValueHit
from uncensoring_chinese_models.runs import Place, RecordedResponse

_REACH = 70
"""Max characters shown on either side of a mention."""
_SENTENCE_END = re.compile(r"[.!?。！？\n]")


@dataclass(frozen=True, slots=True)
class ValueMention:
    """One place where the target's own words match a value."""

    key: Key
    place: Place
    start: int
    """First character in the sample's `text`, counted from 0."""
    end: int
    led: bool
    """True when our prompts held the value in this iteration, or before the target said it."""
    words: str
    """The sentence around it, or a part of the sentence."""


@dataclass(frozen=True)
class Findings:
    """Every mention of every value, sample by sample."""

    mentions: tuple[ValueMention, ...]

    @cached_property
    def unled(self) -> tuple[ValueMention, ...]:
        """The mentions that are not led."""
        return tuple(each for each in self.mentions if not each.led)

    def of(self, key: Key) -> tuple[ValueMention, ...]:
        """Return the mentions of one value, led ones last."""
        found = [each for each in self.mentions if each.key == key]
        return tuple(sorted(found, key=lambda each: each.led))

    def within(self, place: tuple[object, ...], start: int, end: int) -> tuple[ValueMention, ...]:
        """Return the mentions inside a span of one sample."""
        return tuple(
            each
            for each in self.mentions
            if each.place == place and start <= each.start and each.end <= end
        )


def find_values(responses: Sequence[RecordedResponse], truth: Truth) -> Findings:
    """Find every value of the truth in the target's samples."""
    ordered = sorted(responses, key=lambda response: response.iteration)
    ours = {
        response.iteration: frozenset(
            key for prompt in response.prompts() for key in truth.keys(prompt)
        )
        for response in ordered
    }
    given_away: set[Key] = set()
    """Values that our prompts held before the target had said them."""
    said: set[Key] = set()
    mentions: list[ValueMention] = []
    for response in ordered:
        given_away |= ours[response.iteration] - said
        for sample in response.samples:
            place = (response.iteration, sample.arm, sample.index)
            for hit in truth.find(sample.target_words, before=sample.formatted_prompt or ""):
                led = hit.key in given_away or hit.key in ours[response.iteration]
                words = _around(sample.target_words, hit)
                mentions.append(ValueMention(hit.key, place, hit.start, hit.end, led, words))
        said |= {each.key for each in mentions if not each.led}
    return Findings(tuple(mentions))


def _around(text: str, hit: ValueHit) -> str:
    """Return the sentence around a hit, up to a limit on either side."""
    left, right = text[max(0, hit.start - _REACH) : hit.start], text[hit.end : hit.end + _REACH]
    begins = [match.end() for match in _SENTENCE_END.finditer(left)]
    ends = _SENTENCE_END.search(right)
    left = left[begins[-1] :] if begins else left
    return (left + text[hit.start : hit.end] + (right[: ends.end()] if ends else right)).strip()
