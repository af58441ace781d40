"""Agreement of judges (Krippendorff's alpha), and rates corrected for the errors of a judge.

Each function states its assumptions.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import isnan, sqrt
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

from uncensoring_chinese_models.measure.inference.tests import LEVEL, Share, libraries, quantile

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

MIN_UNITS = 16
"""Min units for an interval of alpha: with 8, it may cover alpha in only 77 % of samples."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of judges beyond chance."""

    alpha: float | None
    """1 is perfect, 0 is chance; None where no unit was judged twice or all values are the same."""
    units: int
    """Units with at least two judges; the others are not used."""
    values: int
    low: float | None
    """None with too few units, and where the units do not differ from one another."""
    high: float | None


def krippendorff_alpha(
    units: Sequence[Sequence[Hashable | None]],
    *,
    resamples: int = 2000,
    seed: int = 0,
    min_units: int = MIN_UNITS,
    level: float = LEVEL,
) -> Agreement:
    """Return Krippendorff's alpha for nominal values, one sequence of values per unit.

    None stands for a missing value; values are assumed to be missing at random. The interval is a bias-corrected and accelerated bootstrap over units, which
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
    np = libraries().numpy
    table = np.array([[count[kind] for kind in kinds] for count in paired], dtype=float)
    within = _disagreements(table)
    alpha = float(_alpha(table.sum(axis=0), within.sum()))
    if alpha == 1.0 or (table == table[0]).all() or len(paired) < max(2, min_units):
        return Agreement(alpha, len(paired), values, None, None)

    def resampled(rows: Any, axis: int = -1) -> Any:
        return _alpha(table[rows].sum(axis=axis - 1), within[rows].sum(axis=axis))

    with catch_warnings():
        simplefilter("ignore", RuntimeWarning)  # where no unit matters more, ends are NaN
        found = libraries().stats.bootstrap(
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
    """Return alpha; 0, as by chance, where all values are the same."""
    np = libraries().numpy
    values = totals.sum(axis=-1)
    expected = values**2 - (totals**2).sum(axis=-1)
    varied = expected > 0
    return np.where(varied, 1 - (values - 1) * observed / np.where(varied, expected, 1.0), 0.0)


# --- a judge's errors ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """A rate corrected for the known errors of a judge."""

    estimate: float | None
    """None where the judge is no better than chance, or something was not measured."""
    low: float
    high: float
    unclipped: float | None
    """The estimate before it was clipped to 0..1; far outside, judge and sample contradict each other."""


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
    low, high = _lang_reiczigel(judged, sensitivity, specificity, quantile(level))
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
