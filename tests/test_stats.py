"""Intervals and scores agree with published and hand-computed values."""

from __future__ import annotations

from math import gamma, pi, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uncensoring_chinese_models import stats
from uncensoring_chinese_models.stats import brier, mean_interval, wilson

shares = st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
unit = st.floats(0, 1)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_newcombes_published_intervals(successes, n, low, high):
    """The four worked examples of Newcombe (1998), method 3, come out to four digits."""
    assert wilson(successes, n) == pytest.approx((low, high), abs=1e-4)


def test_wilson_follows_the_formula_with_another_z():
    """With z = 1 and 1 of 2, it is 1/2 ± sqrt(1/8 + 1/16) / 1.5."""
    half = sqrt(1 / 8 + 1 / 16) / 1.5

    assert wilson(1, 2, z=1) == pytest.approx((0.5 - half, 0.5 + half))


def test_nothing_tried_says_nothing():
    """Without trials every share is possible."""
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "n"), [(-1, 3), (4, 3), (0, -1)])
def test_impossible_share_is_refused(successes, n):
    """More successes than trials are a mistake of the caller."""
    with pytest.raises(ValueError, match="is not a share"):
        wilson(successes, n)


@given(shares)
def test_wilson_holds_the_share_and_stays_within_bounds(share):
    """The interval lies in 0 to 1 and holds the observed share."""
    successes, n = share
    low, high = wilson(successes, n)

    assert 0 <= low <= successes / n <= high <= 1
    assert low < high


@given(shares)
def test_wilson_rises_with_successes_and_mirrors_failures(share):
    """One success more moves both ends up, and failures have the mirrored interval."""
    successes, n = share
    low, high = wilson(successes, n)
    mirrored_low, mirrored_high = wilson(n - successes, n)

    assert (1 - mirrored_high, 1 - mirrored_low) == pytest.approx((low, high), abs=1e-12)
    if successes < n:
        next_low, next_high = wilson(successes + 1, n)
        assert (next_low > low, next_high > high) == (True, True)


@given(shares)
def test_wilson_narrows_with_more_trials(share):
    """Ten times the trials at the same share give a narrower interval."""
    successes, n = share
    low, high = wilson(successes, n)
    more_low, more_high = wilson(10 * successes, 10 * n)

    assert more_high - more_low < high - low


def test_brier_of_hand_computed_pairs():
    """(0.95 - 1)² = 0.0025, (0.66 - 0)² = 0.4356, (0.33 - 0)² = 0.1089; their mean is 0.18233."""
    pairs = [(0.95, True), (0.66, False), (0.33, False)]

    assert brier(pairs) == pytest.approx(0.547 / 3)


def test_brier_of_nothing_is_undefined():
    """No forecast is neither good nor bad."""
    assert brier([]) is None


@given(st.lists(st.tuples(unit, st.booleans()), min_size=1))
def test_brier_is_between_perfect_and_perfectly_wrong(pairs):
    """It lies in 0 to 1, and is 0 for who was sure and right."""
    value = brier(pairs)

    assert value is not None
    assert 0 <= value <= 1
    assert brier([(float(so), so) for _, so in pairs]) == 0
    assert brier([(float(not so), so) for _, so in pairs]) == 1


def test_mean_interval_of_hand_computed_values():
    """8, 9, 10, 9, 9: mean 9, s² = 2/4, so the interval is 9 ± 2.776 · sqrt(0.5 / 5)."""
    found = mean_interval([8, 9, 10, 9, 9])
    half = 2.776 * sqrt(0.1)

    assert (found.n, found.mean, found.minimum, found.maximum) == (5, 9, 8, 10)
    assert (found.low, found.high) == pytest.approx((9 - half, 9 + half))


def test_single_value_has_no_interval():
    """One seed says nothing of the spread."""
    found = mean_interval([0.5])

    assert (found.mean, found.low, found.high) == (0.5, None, None)


def test_no_value_has_no_mean():
    """An empty list is a mistake of the caller."""
    with pytest.raises(ValueError, match="no mean"):
        mean_interval([])


@pytest.mark.parametrize("degrees", range(1, 31))
def test_quantiles_hold_95_percent_of_students_t(degrees):
    """Student's density, integrated by Simpson's rule between the quantiles, gives 0.95."""
    scale = gamma((degrees + 1) / 2) / (sqrt(degrees * pi) * gamma(degrees / 2))

    def density(x):
        return scale * (1 + x * x / degrees) ** (-(degrees + 1) / 2)

    end, steps = stats._T_975[degrees - 1], 2000
    width = end / steps
    inner = sum(density(k * width) * (4 if k % 2 else 2) for k in range(1, steps))
    area = 2 * width / 3 * (density(0) + inner + density(end))
    assert area == pytest.approx(0.95, abs=1e-4)


@given(st.lists(st.floats(-1000, 1000), min_size=2, max_size=80))
def test_mean_interval_lies_around_the_mean(values):
    """The mean is within its interval and between the extremes."""
    found = mean_interval(values)

    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.mean <= found.high
    assert found.minimum - 1e-9 <= found.mean <= found.maximum + 1e-9


@given(st.floats(0, 1), st.integers(2, 60))
def test_more_seeds_of_the_same_spread_narrow_the_interval(value, n):
    """With the same two values repeated, more of them make a narrower interval."""
    few, many = mean_interval([value, value + 1] * n), mean_interval([value, value + 1] * (n + 1))

    assert few.low is not None
    assert many.low is not None
    assert many.mean - many.low < few.mean - few.low
