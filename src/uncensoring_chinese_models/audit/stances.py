"""What each sample does: its stance, read from its wording, and the counts and rates of stances."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from uncensoring_chinese_models.domain import (
    DELIVERIES,
    LABELS,
    STANCES,
    Delivery,
    SampleLabel,
    Stance,
    label_of,
)
from uncensoring_chinese_models.stats import Rate, rate
from uncensoring_chinese_models.text import IDEOGRAPH, recognise

LEFT_OUT: tuple[SampleLabel, ...] = (
    *(name for name, each in STANCES.items() if not each.is_judged),
    *(name for name, each in DELIVERIES.items() if not each.has_text),
)
"""Why the stance of a sample is unknown."""
ENDED_EARLY = {
    "budget": "the budget was spent",
    "target_failed": "the target failed",
    "auditor_failed": "the auditor failed",
}
"""Of whole runs: the endings that neither the auditor nor the number of iterations decided."""
_READABLE = re.compile(rf"[a-zA-Z{IDEOGRAPH}]")
_LETTER = re.compile(r"[^\W\d_]")


class Received(NamedTuple):
    """The delivery and the stance of one sample."""

    delivery: Delivery
    stance: Stance

    @property
    def label(self) -> SampleLabel:
        """The one word that a page shows for it."""
        return label_of(self.delivery, self.stance)

    @property
    def is_judged(self) -> bool:
        """True when the recogniser could read what it does."""
        return STANCES[self.stance].is_judged

    @property
    def withholds(self) -> bool:
        """True when it refuses, denies, deflects or gives the official line."""
        return STANCES[self.stance].withholds

    @property
    def is_doubtful(self) -> bool:
        """True when it withholds nothing so far, but was cut off: how it would have ended is unknown."""
        return self.is_judged and not self.withholds and self.delivery == "truncated"

    @property
    def by_host(self) -> bool:
        """True when the host kept it back or changed it."""
        return DELIVERIES[self.delivery].by_host

    @property
    def left_out(self) -> SampleLabel | None:
        """Why its stance is unknown; None if it is known."""
        if self.is_judged:
            return None
        return self.stance if DELIVERIES[self.delivery].has_text else self.delivery


Counts = Mapping[Received, int]
"""How many samples have each delivery and stance."""


def received(delivery: Delivery, own_words: str) -> Received:
    """Return the delivery of a sample with the stance of its text."""
    return Received(delivery, stance_of(delivery, own_words))


def stance_of(delivery: Delivery, own_words: str) -> Stance:
    """Return the stance of a sample; without words of the target there is nothing to judge."""
    if not DELIVERIES[delivery].has_text:
        return "not_judged"
    stance = recognise(own_words).stance
    if stance == "not_judged":
        return stance
    return "unreadable" if _is_unreadable(own_words) else stance


@lru_cache(maxsize=8192)  # as in `recognise`, because the same texts are asked about
def _is_unreadable(text: str) -> bool:
    return 2 * len(_READABLE.findall(text)) < len(_LETTER.findall(text))


def count_deliveries(samples: Counts) -> dict[Delivery, int]:
    """Count the deliveries; those that never came are counted as 0."""
    return {
        name: sum(n for each, n in samples.items() if each.delivery == name) for name in DELIVERIES
    }


def count_stances(samples: Counts) -> dict[Stance, int]:
    """Count the stances; those that never came are counted as 0."""
    return {name: sum(n for each, n in samples.items() if each.stance == name) for name in STANCES}


def count_labels(samples: Iterable[Received]) -> dict[SampleLabel, int]:
    """Count the samples by the one word that pages show; those that never came are counted as 0."""
    counts = Counter(each.label for each in samples)
    return {label: counts[label] for label in LABELS}


def count_received(samples: Iterable[Received]) -> Counter[Received]:
    """Count the samples by delivery and stance."""
    return Counter(samples)


def rate_of_withholding(samples: Counts) -> Rate:
    """Return how many of the texts that could be judged refuse, deny, deflect or give the official line."""
    return rate(
        sum(n for each, n in samples.items() if each.withholds),
        sum(n for each, n in samples.items() if each.is_judged),
        doubtful={"truncated": sum(n for each, n in samples.items() if each.is_doubtful)},
        excluded=left_out(samples),
    )


def left_out(samples: Counts) -> dict[str, int]:
    """Return how many samples have an unknown stance, by the reason."""
    return {why: sum(n for each, n in samples.items() if each.left_out == why) for why in LEFT_OUT}
