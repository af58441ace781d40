"""Shares over independent units, so that no interval is too narrow.

Samples of one run or of one probe depend on one another. A unit is what may be taken for
independent: the run of an audit, whose probes follow from one another (runs with the same seed and
settings may be one draw, and are one unit), or the fact of a probe run, however often it was asked for. Each unit counts once, with its own share; the interval is Wilson's
over the units, which is at least as wide as it must be.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

from uncensoring_chinese_models.errors import MissingExtraError
from uncensoring_chinese_models.measure import holm, mcnemar
from uncensoring_chinese_models.stats import mean_interval, wilson

MIN_UNITS = {"run": 3, "fact": 6, "probe": 6}
"""Min number of units for a rank or a test of a difference."""


class Counted(NamedTuple):
    """The successes among n cases of one unit."""

    unit: Hashable
    successes: int
    n: int


@dataclass(frozen=True, slots=True)
class Pooled:
    """A share over units."""

    successes: int
    n: int
    units: int
    value: float | None
    """The mean of the units' own shares; None without any unit."""
    low: float
    high: float


def pool(counts: Iterable[Counted]) -> Pooled:
    """Return the mean share of the units that have any case, with its 95 % interval."""
    together = _by_unit(counts)
    shares = [successes / n for successes, n in together.values()]
    total = fsum(shares)
    low, high = wilson(total, len(shares))
    return Pooled(
        sum(successes for successes, _ in together.values()),
        sum(n for _, n in together.values()),
        len(shares),
        total / len(shares) if shares else None,
        low,
        high,
    )


@dataclass(frozen=True, slots=True)
class PairedUnits:
    """Two sides on the same units: the mean difference of their shares, and in how many each is higher."""

    units: int
    difference: float | None
    low: float | None
    """Lower end of the 95 % t interval over units; None with fewer than two units, or if all
    differences are equal, so that there is no spread."""
    high: float | None
    first_more: int
    second_more: int


def pair(first: Iterable[Counted], second: Iterable[Counted]) -> PairedUnits:
    """Return the first side's shares minus the second's, over the units that both have."""
    one, other = _by_unit(first), _by_unit(second)
    gaps = [one[u][0] / one[u][1] - other[u][0] / other[u][1] for u in one if u in other]
    ahead, behind = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    if not gaps:
        return PairedUnits(0, None, None, None, 0, 0)
    found = mean_interval(gaps)
    low, high = (None, None) if found.minimum == found.maximum else (found.low, found.high)
    if low is not None and high is not None:
        low, high = max(low, -1.0), min(high, 1.0)
    return PairedUnits(len(gaps), found.mean, low, high, ahead, behind)


def sign_tests(pairs: Sequence[PairedUnits]) -> list[float | None]:
    """Return exact sign tests that neither side is ahead more often, adjusted by Holm.

    None for all where the extra `analysis` is not installed.
    """
    try:
        tests = [mcnemar(each.first_more, each.second_more).p_value for each in pairs]
        return list(holm(tests))
    except MissingExtraError:
        return [None] * len(pairs)


def _by_unit(counts: Iterable[Counted]) -> dict[Hashable, tuple[int, int]]:
    found: dict[Hashable, tuple[int, int]] = {}
    for unit, successes, n in counts:
        if n:
            before = found.get(unit, (0, 0))
            found[unit] = before[0] + successes, before[1] + n
    return found
