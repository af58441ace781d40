"""Intervals and tests for what runs are compared by; each says what it takes for granted.

Needs the extra `analysis` (scipy and statsmodels), imported when first used. Intervals hold the
true value in 95 % of samples as nearly as docs/statistics.md shows. The tests are exact: under the
null they reject at most as often as they say. An interval and a test of the same counts may
disagree at the margin; then the test decides.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from math import isnan, sqrt
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from warnings import catch_warnings, simplefilter

from uncensoring_chinese_models.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

LEVEL = 0.95
LEAST_UNITS = 16
"""Fewest units for which an interval of alpha is given: with 8, it can hold alpha as rarely as in 77 % of samples."""


class _Libraries(NamedTuple):
    numpy: Any
    optimize: Any
    stats: Any
    proportion: Any
    multitest: Any


@cache
def _libraries() -> _Libraries:
    try:
        import numpy  # noqa: ICN001, PLC0415  # late: an optional dependency
        from scipy import optimize, stats  # noqa: PLC0415
        from statsmodels.stats import multitest, proportion  # noqa: PLC0415
    except ImportError as err:
        raise MissingExtraError(
            "Comparisons need scipy and statsmodels, which are not installed; nothing was computed. "
            "Get them with: pip install 'uncensoring-chinese-models[analysis]'"
        ) from err
    return _Libraries(numpy, optimize, stats, proportion, multitest)


@cache
def _quantile(level: float) -> float:
    """Return the standard normal quantile of a two-sided level."""
    if not 0 < level < 1:
        raise ValueError(f"{level} is no confidence level between 0 and 1")
    return float(_libraries().stats.norm.ppf((1 + level) / 2))


# --- one share ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Share:
    """So many of n trials that were independent and equally likely to succeed."""

    successes: int
    n: int

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.n:
            raise ValueError(f"{self.successes} of {self.n} is no share")

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
    test = _libraries().stats.binomtest(share.successes, share.n)
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
    test = _libraries().stats.binomtest(share.successes, share.n, chance, alternative="greater")
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
    found = _libraries().stats.binomtest(only_first, differing, 0.5)
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
    z = _quantile(level)
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
    return float(_libraries().optimize.brentq(beyond, estimate + 1e-9, 1.0, xtol=1e-12))


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
    interval = _libraries().proportion.confint_proportions_2indep
    counts = (first.successes, first.n, second.successes, second.n)
    low, high = interval(*counts, method="newcomb", compare="diff", alpha=1 - level)
    return Estimate(first.rate - second.rate, max(-1.0, float(low)), min(1.0, float(high)))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return the p values adjusted for being a family, in the order given.

    Whoever calls significant what is at most alpha after this errs anywhere in the family with a
    probability of at most alpha, however the tests depend on one another (Holm 1979, Scandinavian
    Journal of Statistics 6:65-70). Assumes that the family was fixed before the data were seen.
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("a p value lies between 0 and 1")
    if not p_values:
        return ()
    adjusted = _libraries().multitest.multipletests(list(p_values), method="holm")[1]
    return tuple(float(p) for p in adjusted)


# --- agreement ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far judges agree beyond chance."""

    alpha: float | None
    """1 is perfect, 0 is chance; None where nothing was judged twice or all judged the same."""
    units: int
    """Units that at least two judges judged; the others count for nothing."""
    values: int
    low: float | None
    """None with too few units, and where none or all disagree: what lacks spread shows none."""
    high: float | None


def krippendorff_alpha(
    units: Sequence[Sequence[Hashable | None]],
    *,
    resamples: int = 2000,
    seed: int = 0,
    least_units: int = LEAST_UNITS,
    level: float = LEVEL,
) -> Agreement:
    """Return Krippendorff's alpha for nominal values, one sequence of values per unit.

    None stands for a value that is missing; it is assumed to be missing for no reason that has to
    do with the value. The interval is a bias-corrected and accelerated bootstrap over units, which
    are assumed independent; the judges are taken as they are, not as a sample of judges
    (Krippendorff 2011, Computing Krippendorff's Alpha-Reliability; Efron 1987, Journal of the
    American Statistical Association 82:171-185).
    """
    counts = [Counter(value for value in unit if value is not None) for unit in units]
    paired = [count for count in counts if count.total() > 1]
    kinds = sorted({value for count in paired for value in count}, key=repr)
    values = sum(count.total() for count in paired)
    if len(kinds) < 2:
        return Agreement(None, len(paired), values, None, None)
    np = _libraries().numpy
    table = np.array([[count[kind] for kind in kinds] for count in paired], dtype=float)
    within = _disagreements(table)
    alpha = float(_alpha(table.sum(axis=0), within.sum()))
    if alpha == 1.0 or (table == table[0]).all() or len(paired) < max(2, least_units):
        return Agreement(alpha, len(paired), values, None, None)

    def resampled(rows: Any, axis: int = -1) -> Any:
        return _alpha(table[rows].sum(axis=axis - 1), within[rows].sum(axis=axis))

    with catch_warnings():
        simplefilter("ignore", RuntimeWarning)  # where no unit matters more, ends are NaN
        found = _libraries().stats.bootstrap(
            (np.arange(len(paired)),),
            resampled,
            n_resamples=resamples,
            confidence_level=level,
            rng=seed,
        )
    ends = (None if isnan(end) else float(end) for end in found.confidence_interval)
    return Agreement(alpha, len(paired), values, *ends)


def _disagreements(table: Any) -> Any:
    """Return for each unit its pairs of differing values, weighted so that each value counts once."""
    judged = table.sum(axis=1)
    return (judged**2 - (table**2).sum(axis=1)) / (judged - 1)


def _alpha(totals: Any, observed: Any) -> Any:
    """Return alpha; values that are all the same tell nothing, and count as no better than chance."""
    np = _libraries().numpy
    values = totals.sum(axis=-1)
    expected = values**2 - (totals**2).sum(axis=-1)
    varied = expected > 0
    return np.where(varied, 1 - (values - 1) * observed / np.where(varied, expected, 1.0), 0.0)


# --- a judge's errors ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """A rate from which a judge's known errors were taken out."""

    estimate: float | None
    """None where the judge is no better than chance, or something was not measured."""
    low: float
    high: float
    unclipped: float | None
    """The same before it was clipped to 0..1; far outside, judge and sample contradict each other."""


def corrected_rate(
    judged: Share, sensitivity: Share, specificity: Share, *, level: float = LEVEL
) -> CorrectedRate:
    """Return the true rate behind a judge's verdicts, by Rogan and Gladen, with its interval.

    `judged` is what the judge called positive; `sensitivity` and `specificity` are what it got right
    of the labelled positives and of the labelled negatives. Assumes three independent samples, and
    that the judge errs on `judged` as it did on the labelled ones. The interval carries the
    uncertainty of all three (Lang and Reiczigel 2014, Preventive Veterinary Medicine 113:13-22); it
    is everything, 0 to 1, where sensitivity and specificity add up to no more than 1.
    """
    rates = (judged.rate, sensitivity.rate, specificity.rate)
    if rates[0] is None or rates[1] is None or rates[2] is None or rates[1] + rates[2] <= 1:
        return CorrectedRate(None, 0.0, 1.0, None)
    unclipped = (rates[0] + rates[2] - 1) / (rates[1] + rates[2] - 1)
    low, high = _lang_reiczigel(judged, sensitivity, specificity, _quantile(level))
    return CorrectedRate(_clipped(unclipped), _clipped(low), _clipped(high), unclipped)


def _lang_reiczigel(
    judged: Share, sensitivity: Share, specificity: Share, z: float
) -> tuple[float, float]:
    n, n_se, n_sp = judged.n + z * z, sensitivity.n + 2, specificity.n + 2
    apparent = (judged.successes + z * z / 2) / n
    se, sp = (sensitivity.successes + 1) / n_se, (specificity.successes + 1) / n_sp
    power = se + sp - 1
    if power <= 0:  # measured on so few that, drawn towards 1/2, it is no better than chance
        return 0.0, 1.0
    true = (apparent + sp - 1) / power
    of_se, of_sp = se * (1 - se) / n_se, sp * (1 - sp) / n_sp
    middle = true + 2 * z * z * (true * of_se - (1 - true) * of_sp)
    spread = apparent * (1 - apparent) / n + true**2 * of_se + (1 - true) ** 2 * of_sp
    half = z * sqrt(spread) / power
    return middle - half, middle + half


def _clipped(value: float) -> float:
    return min(1.0, max(0.0, value))
