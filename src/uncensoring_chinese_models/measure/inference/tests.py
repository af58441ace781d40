"""Intervals and tests for what runs are compared by; each says what it takes for granted.

Needs the extra `analysis` (scipy, which brings numpy), imported when first used. Intervals hold
the true value in 95 % of samples as nearly as docs/measurements/coverage.md shows. The tests are exact: under
the null they reject at most as often as they say. An interval and a test of the same counts may
disagree at the margin; then the test decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import hypot, sqrt
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from uncensoring_chinese_models.config import require_extra

if TYPE_CHECKING:
    from collections.abc import Sequence

LEVEL = 0.95


class Libraries(NamedTuple):
    """What the extra `analysis` brings."""

    numpy: Any
    optimize: Any
    stats: Any


@cache
def libraries() -> Libraries:
    """Return the libraries that the formulas need, imported when they are first asked for.

    Raises:
        MissingExtraError: the extra `analysis` is not installed.
    """
    with require_extra("analysis", "Computing intervals and tests"):
        import numpy  # noqa: ICN001, PLC0415  # late: an optional dependency
        from scipy import optimize, stats  # noqa: PLC0415
    return Libraries(numpy, optimize, stats)


@cache
def quantile(level: float) -> float:
    """Return the standard normal quantile of a two-sided level."""
    if not 0 < level < 1:
        raise ValueError(f"{level} is not a confidence level between 0 and 1")
    return float(libraries().stats.norm.ppf((1 + level) / 2))


# --- one share ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Share:
    """So many of n trials that were independent and equally likely to succeed."""

    successes: int
    n: int

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.n:
            raise ValueError(f"{self.successes} of {self.n} is not a share")

    @property
    def rate(self) -> float | None:
        """The share as a number; None without trials."""
        return self.successes / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval."""

    estimate: float | None
    """None where there is nothing to estimate it from; the interval is then all that is possible."""
    low: float
    high: float


def share_interval(
    share: Share, *, method: Literal["wilson", "exact"] = "wilson", level: float = LEVEL
) -> Estimate:
    """Return a share with Wilson's score interval, or with Clopper and Pearson's exact one.

    Assumes independent trials with one probability. Wilson's covers the level on average over
    shares and can fall below it for some; the exact one never falls below it, and is wider.
    """
    if share.n == 0:
        return Estimate(None, 0.0, 1.0)
    test = libraries().stats.binomtest(share.successes, share.n)
    found = test.proportion_ci(level, method=method)
    # At the ends both are 0 and 1 but for rounding.
    low = 0.0 if share.successes == 0 else float(found.low)
    high = 1.0 if share.successes == share.n else float(found.high)
    return Estimate(share.rate, low, high)


def excess_test(share: Share, chance: float) -> float:
    """Return the exact p value of at least so many successes where each has this chance.

    Assumes independent trials; where their chances differ, the largest is the safe one to give.
    """
    if share.n == 0:
        return 1.0
    test = libraries().stats.binomtest(share.successes, share.n, chance, alternative="greater")
    return float(test.pvalue)


# --- two shares ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SignTest:
    """Of the units on which two sides differ, how many favour each, and how odd that is."""

    only_first: int
    only_second: int
    p_value: float


@dataclass(frozen=True, slots=True)
class Contrast:
    """A difference of two rates with its interval, and the test that there is none."""

    difference: Estimate
    p_value: float


def mcnemar(only_first: int, only_second: int) -> SignTest:
    """Return McNemar's exact test that two yes-or-no outcomes of the same units are equally often yes.

    Assumes that units are independent of one another; within a unit the two outcomes may depend on
    each other as they like. It takes the units where just one outcome is yes: given their number,
    each favours either side with probability 1/2. Two-sided; 1 where no unit differs.
    """
    if min(only_first, only_second) < 0:
        raise ValueError(f"{only_first} and {only_second} are no counts")
    differing = only_first + only_second
    if differing == 0:
        return SignTest(0, 0, 1.0)
    found = libraries().stats.binomtest(only_first, differing, 0.5)
    return SignTest(only_first, only_second, min(1.0, float(found.pvalue)))


def paired_difference(
    only_first: int, only_second: int, n: int, *, level: float = LEVEL
) -> Estimate:
    """Return the first rate minus the second on the same n units, with Tango's score interval.

    Assumes as `mcnemar` does. The interval is the set of differences that the score test would not
    reject (Tango 1998, Statistics in Medicine 17:891-908).
    """
    if min(only_first, only_second) < 0 or only_first + only_second > n:
        raise ValueError(f"{only_first} and {only_second} are no parts of {n}")
    if n == 0:
        return Estimate(None, -1.0, 1.0)
    z = quantile(level)
    low = -_tango_high(only_second, only_first, n, z)
    high = _tango_high(only_first, only_second, n, z)
    return Estimate((only_first - only_second) / n, low, high)


def _tango_high(first: int, second: int, n: int, z: float) -> float:
    """Return the largest difference that the score test lets stand."""
    if first == n:
        return 1.0

    def beyond(difference: float) -> float:
        # The probability of "only second" that is likeliest if this is the difference.
        linear = (2 * n - first + second) * difference - first - second
        constant = -second * difference * (1 - difference)
        likeliest = (sqrt(max(0.0, linear**2 - 8 * n * constant)) - linear) / (4 * n)
        variance = n * (2 * likeliest + difference * (1 - difference))
        distance = n * difference - first + second
        return distance - z * sqrt(max(0.0, variance))

    estimate = (first - second) / n
    # Just above the estimate the variance outweighs the distance; at 1 there is none.
    return float(libraries().optimize.brentq(beyond, estimate + 1e-9, 1.0, xtol=1e-12))


def exclusive_contrast(first: int, second: int, n: int, *, level: float = LEVEL) -> Contrast:
    """Return how much likelier one answer is than another that excludes it, on the same n samples.

    Of n samples some give the first answer, some the second, none both, the rest neither: with the
    fact as the first and its decoy as the second, this is the measure of knowledge. Assumes that
    samples are independent draws of one distribution. The law of the two counts is that of the
    differing units of a paired design, so Tango's interval and the exact test apply as they are.
    """
    difference = paired_difference(first, second, n, level=level)
    return Contrast(difference, mcnemar(first, second).p_value)


def independent_difference(first: Share, second: Share, *, level: float = LEVEL) -> Estimate:
    """Return the first rate minus the second with Newcombe's hybrid score interval.

    Assumes that the two samples have nothing to do with each other; where they are of the same
    units, `paired_difference` is right (Newcombe 1998, Statistics in Medicine 17:873-890, method 10).
    """
    if first.rate is None or second.rate is None:
        return Estimate(None, -1.0, 1.0)
    one, other = share_interval(first, level=level), share_interval(second, level=level)
    difference = first.rate - second.rate
    low = difference - hypot(first.rate - one.low, other.high - second.rate)
    high = difference + hypot(one.high - first.rate, second.rate - other.low)
    return Estimate(difference, max(-1.0, low), min(1.0, high))


@cache
def independent_test(first: Share, second: Share) -> float:
    """Return the p value of Fisher's exact test that two separate samples have one rate.

    Assumes as `independent_difference` does. Given how many successes there are in both together,
    it is the probability of a table at most as likely as this one. Two-sided; 1 without trials on
    either side (Fisher 1934, Statistical Methods for Research Workers, 5th edition, section 21.02).
    """
    table = [[each.successes, each.n - each.successes] for each in (first, second)]
    return min(1.0, float(libraries().stats.fisher_exact(table).pvalue))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return the p values adjusted for being a family, in the order given.

    Whoever calls significant what is at most alpha after this errs anywhere in the family with a
    probability of at most alpha, however the tests depend on one another (Holm 1979, Scandinavian
    Journal of Statistics 6:65-70). Assumes that the family was fixed before the data were seen.
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("a p value lies between 0 and 1")
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[place] * (len(p_values) - rank)))
        adjusted[place] = largest
    return tuple(adjusted)
