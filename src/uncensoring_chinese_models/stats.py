"""Rates with all that must stand beside them, intervals for shares and for means, and the Brier score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

# fmt: off
_T_975 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)
# fmt: on
"""The 0.975 quantiles of Student's t for 1 to 30 degrees of freedom; with more, that of 30 is
used, which is a little too wide."""


def wilson(successes: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """Return Wilson's score interval of a share; without any trial it is everything, 0 to 1.

    Successes may be fractions, where each trial is a share itself: the interval is then too wide
    rather than too narrow, since shares spread less than yes and no of the same mean.

    Raises:
        ValueError: there are fewer than no successes, or more than trials.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is not a share")
    if n == 0:
        return 0.0, 1.0
    share, spread = successes / n, z * z / n
    middle = (share + spread / 2) / (1 + spread)
    half = z * sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    # At the ends the formula gives 0 and 1 but for rounding.
    low = 0.0 if successes == 0 else middle - half
    high = 1.0 if successes == n else middle + half
    return low, high


def brier(pairs: Sequence[tuple[float, bool]]) -> float | None:
    """Return the mean squared distance of what was said from what was so; None without pairs."""
    return fmean((said - so) ** 2 for said, so in pairs) if pairs else None


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean over a few independent runs, and how far it can be trusted."""

    n: int
    mean: float
    minimum: float
    maximum: float
    low: float | None
    """Lower end of the 95 % t interval; None for a single value, which has no spread."""
    high: float | None


def mean_interval(values: Sequence[float]) -> MeanInterval:
    """Return the mean with its 95 % t interval: mean ± t · s / √n, with n - 1 degrees of freedom.

    Raises:
        ValueError: there is no value.
    """
    if not values:
        raise ValueError("no values, so no mean")
    n, mean, least, most = len(values), fmean(values), min(values), max(values)
    if n == 1:
        return MeanInterval(n, mean, least, most, None, None)
    half = _T_975[min(n - 1, len(_T_975)) - 1] * stdev(values) / sqrt(n)
    return MeanInterval(n, mean, least, most, mean - half, mean + half)


# --- rates --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of the cases that were judged, and what of it the other cases could change."""

    successes: int
    n: int
    """Cases that were judged."""
    value: float | None
    """Successes over n; None where nothing was judged."""
    low: float
    """Lower end of the 95 % Wilson interval."""
    high: float
    doubtful: dict[str, int]
    """Cases that were judged as no success, and might have become one, by reason."""
    excluded: dict[str, int]
    """Cases that could not be judged, by reason."""
    total: int
    """All cases: n and the excluded ones."""
    worst_low: float
    """The share of all cases if none of the excluded ones were a success."""
    worst_high: float
    """The share of all cases if every excluded and every doubtful one were a success."""


def rate(
    successes: int,
    n: int,
    *,
    excluded: Mapping[str, int] | None = None,
    doubtful: Mapping[str, int] | None = None,
) -> Rate:
    """Return the rate of successes among n, with its bounds; without any case they are 0 and 1.

    Raises:
        ValueError: there are more successes and doubtful cases than were judged.
    """
    left_out, open_ones = dict(excluded or {}), dict(doubtful or {})
    total, most = n + sum(left_out.values()), successes + sum(open_ones.values())
    if most > n:
        raise ValueError(f"{successes} successes and {most - successes} doubtful cases of {n}")
    return Rate(
        successes,
        n,
        successes / n if n else None,
        *wilson(successes, n),
        doubtful=open_ones,
        excluded=left_out,
        total=total,
        worst_low=successes / total if total else 0.0,
        worst_high=(most + sum(left_out.values())) / total if total else 1.0,
    )


def in_words(found: Rate, of_what: str) -> str:
    """Say a rate in full.

    ``0.50 (2 of 4 replies; 95 % interval 0.15 to 0.85; left out: 1 empty; with these
    it is 0.40 to 0.60)``.
    """
    counts = f"{found.successes} of {found.n} {of_what}"
    if found.value is not None:
        counts += f"; 95 % interval {found.low:.2f} to {found.high:.2f}"
    value = "undefined" if found.value is None else f"{found.value:.2f}"
    return f"{value} ({counts}{beside(found)})"


def beside(found: Rate) -> str:
    """Return what a rate leaves out, and its bounds; empty if every case was judged without doubt."""
    doubtful, excluded = _listed(found.doubtful), _listed(found.excluded)
    parts = [f"among them {doubtful}"] * bool(doubtful)
    parts += [f"left out: {excluded}"] * bool(excluded)
    if parts:
        bounds = f"{found.worst_low:.2f} to {found.worst_high:.2f}"
        parts.append(f"with these it is {bounds}")
    return "".join(f"; {part}" for part in parts)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)
