"""Intervals and tests agree with published examples, and hold what they promise."""

from __future__ import annotations

import sys
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools import statistics_bench as bench
from uncensoring_chinese_models.errors import ConfigError, MissingExtraError
from uncensoring_chinese_models.measure.inference import tests as inference
from uncensoring_chinese_models.measure.inference.agreement import (
    corrected_rate,
    krippendorff_alpha,
)
from uncensoring_chinese_models.measure.inference.tests import (
    Estimate,
    Share,
    exclusive_contrast,
    holm,
    independent_difference,
    independent_test,
    mcnemar,
    paired_difference,
    share_interval,
)
from uncensoring_chinese_models.stats import wilson

ENCYCLOPAEDIA = ("*****34121133*3", "1*213343*******", "**21344*21133*4")
HANDBOOK = ("123321412***", "1233224125*3", "*3332342251*", "12332441251*")

parts = st.integers(1, 60).flatmap(
    lambda n: st.integers(0, n).flatmap(
        lambda a: st.tuples(st.just(a), st.integers(0, n - a), st.just(n))
    )
)
shares = st.integers(0, 60).flatmap(lambda n: st.builds(Share, st.integers(0, n), st.just(n)))


def by_unit(rows):
    """Turn one row per judge into one tuple per unit."""
    return [
        tuple(None if value == "*" else value for value in unit) for unit in zip(*rows, strict=True)
    ]


def ends(found):
    return found.low, found.high


# --- one share ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(13, 16, 0.5435, 0.9595), (10, 10, 0.6915, 1.0), (0, 10, 0.0, 0.3085)],
)
def test_exact_interval_gives_published_values(successes, n, low, high):
    """As R's contingencytables, made for Fagerland, Lydersen and Laake (2017), publishes them."""
    found = share_interval(Share(successes, n), method="exact")

    assert ends(found) == pytest.approx((low, high), abs=1e-4)


@given(shares)
def test_wilson_interval_is_the_one_of_the_core_package(share):
    """The library and the formula that needs no library agree."""
    low, high = wilson(share.successes, share.n)

    assert ends(share_interval(share)) == pytest.approx((low, high), abs=1e-4)


@given(shares)
def test_exact_interval_holds_the_share(share):
    """The interval lies in 0 to 1 around what was seen, and touches the ends at none and all."""
    found = share_interval(share, method="exact")

    assert 0 <= found.low <= (share.rate or 0) <= found.high <= 1
    assert (found.low == 0) == (share.successes == 0)
    assert (found.high == 1) == (share.successes == share.n)


@pytest.mark.parametrize(("successes", "n"), [(-1, 3), (4, 3), (0, -1)])
def test_impossible_share_is_refused(successes, n):
    """More successes than trials are a mistake of the caller."""
    with pytest.raises(ValueError, match="is not a share"):
        Share(successes, n)


@pytest.mark.parametrize("level", [0, 1, 95])
def test_impossible_level_is_refused(level):
    """A level in per cent is not taken for a share."""
    with pytest.raises(ValueError, match="not a confidence level"):
        paired_difference(1, 2, 8, level=level)


# --- two shares ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second", "p_value"), [(6, 16, 0.052479), (1, 7, 18 / 256)])
def test_mcnemar_gives_published_values(first, second, p_value):
    """Cavo's trial as in R's contingencytables, chapter 8; Bentur's 1 and 7 are 2 · (1 + 8) / 2^8."""
    assert mcnemar(first, second).p_value == pytest.approx(p_value, abs=1e-6)


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_twice_the_smaller_tail(first, second):
    """The p value is the probability of a split at least as uneven, and the same both ways."""
    n, fewer = first + second, min(first, second)
    tail = sum(comb(n, k) for k in range(fewer + 1)) / 2**n

    assert mcnemar(first, second).p_value == pytest.approx(min(1.0, 2 * tail))
    assert mcnemar(second, first).p_value == mcnemar(first, second).p_value


def test_units_that_never_differ_show_nothing():
    """Without a differing unit there is nothing to test."""
    assert mcnemar(0, 0).p_value == 1.0


def test_paired_difference_gives_tangos_published_interval():
    """Cavo's trial (59, 6, 16, 80), Tango's interval as in R's contingencytables, chapter 8."""
    found = paired_difference(6, 16, 59 + 6 + 16 + 80)

    assert found.estimate == pytest.approx(-0.0621, abs=1e-4)
    assert ends(found) == pytest.approx((-0.1240, -0.0054), abs=1e-4)


@settings(max_examples=40)
@given(parts)
def test_ends_of_the_paired_interval_are_where_the_score_test_turns(found):
    """At both ends the score statistic, with its nuisance found by brute force, is 1.96 in size."""
    first, second, n = found
    interval = paired_difference(first, second, n)
    for end in ends(interval):
        if abs(end) > 1 - 1e-6:
            continue
        q = np.linspace(max(0, -end), (1 - end) / 2, 20_001)[1:-1]  # P(only second)
        with np.errstate(divide="ignore"):
            likelihood = (n - first - second) * np.log(1 - 2 * q - end)
            likelihood += first * np.log(q + end) + second * np.log(q)
        best = q[np.argmax(likelihood)]
        score = (first - second - n * end) / (n * (2 * best + end - end**2)) ** 0.5
        assert abs(score) == pytest.approx(1.96, abs=0.01)


@given(parts)
def test_paired_interval_holds_the_difference_and_mirrors(found):
    """It lies in -1 to 1 around the difference; sides exchanged, it is the same with other signs."""
    first, second, n = found
    one, other = paired_difference(first, second, n), paired_difference(second, first, n)

    assert one.estimate is not None
    assert -1 <= one.low < one.estimate + 1e-12
    assert one.estimate - 1e-12 < one.high <= 1
    assert (one.low, one.high) == (-other.high, -other.low)


def test_paired_interval_at_the_ends():
    """All for one side leaves the other end open to what is possible, none for either stays around 0."""
    everything, nothing = paired_difference(16, 0, 16), paired_difference(0, 0, 16)

    assert everything.high == 1.0
    assert 0.5 < everything.low < 1
    assert nothing.low == -nothing.high
    assert 0 < nothing.high < 0.25


@pytest.mark.parametrize(("first", "second", "n"), [(-1, 0, 3), (2, 2, 3), (0, -1, 3)])
def test_impossible_parts_are_refused(first, second, n):
    """Counts that cannot be parts of one whole are a mistake of the caller."""
    with pytest.raises(ValueError, match="are no parts"):
        paired_difference(first, second, n)
    with pytest.raises(ValueError, match="no"):
        mcnemar(-1, 2)


def test_knowledge_is_the_fact_against_its_decoy():
    """12 samples with the fact, 1 with the decoy and 3 with neither are 11/16, p = 2 · 14 / 2^13."""
    found = exclusive_contrast(12, 1, 16)

    assert found.difference == paired_difference(12, 1, 16)
    assert found.difference.estimate == 11 / 16
    assert found.difference.low > 0.25
    assert found.p_value == pytest.approx(2 * 14 / 2**13)


def test_independent_difference_gives_newcombes_published_interval():
    """Newcombe (1998), table II, example (a), method 10: 56/70 against 48/80."""
    found = independent_difference(Share(56, 70), Share(48, 80))

    assert ends(found) == pytest.approx((0.0524, 0.3339), abs=1e-4)


@pytest.mark.parametrize(
    ("first", "second", "level", "low", "high"),
    [
        (Share(0, 1), Share(1, 1), 0.80, -1.0, -0.12099202933443465),
        (Share(0, 1), Share(1, 1), 0.95, -1.0, 0.12210872068194178),
        (Share(0, 8), Share(0, 8), 0.95, -0.32440756488388023, 0.32440756488388023),
        (Share(8, 8), Share(0, 8), 0.95, 0.5412184220047868, 1.0),
        (Share(8, 8), Share(0, 8), 0.99, 0.35885021849402066, 1.0),
        (Share(3, 8), Share(5, 16), 0.80, -0.1780316174062694, 0.3174879228925036),
        (Share(3, 8), Share(5, 16), 0.95, -0.2780718473054033, 0.4245999282863202),
        (Share(3, 8), Share(5, 16), 0.99, -0.35275514713944456, 0.4994877131570913),
        (Share(16, 16), Share(12, 50), 0.95, 0.5244709306243007, 0.8570260860300827),
        (Share(16, 16), Share(12, 50), 0.99, 0.4161339117324328, 0.8788599972076179),
        (Share(1, 3), Share(399, 400), 0.95, -0.9360158494872601, -0.20501497864561063),
        (Share(56, 70), Share(48, 80), 0.95, 0.05243147240236498, 0.333872654036906),
        (Share(9, 10), Share(3, 10), 0.80, 0.32733876522827304, 0.7619177530738719),
        (Share(9, 10), Share(3, 10), 0.95, 0.17052272393450302, 0.8090179735354881),
        (Share(9, 10), Share(3, 10), 0.99, 0.04302696661534444, 0.8374050678947365),
    ],
)
def test_independent_interval_is_the_one_of_statsmodels(first, second, level, low, high):
    """confint_proportions_2indep of statsmodels 0.15.0, method "newcomb", gives these numbers."""
    found = independent_difference(first, second, level=level)

    assert ends(found) == pytest.approx((low, high), rel=0, abs=1e-14)


@given(shares, shares)
def test_independent_interval_is_wilsons_squared_and_added(first, second):
    """Newcombe's formula, written out with Wilson's intervals of the core package, gives the same."""
    found = independent_difference(first, second)
    if first.rate is None or second.rate is None:
        assert found == Estimate(None, -1.0, 1.0)
        return
    (l1, u1), (l2, u2) = (wilson(each.successes, each.n) for each in (first, second))
    difference = first.rate - second.rate
    low = difference - ((first.rate - l1) ** 2 + (u2 - second.rate) ** 2) ** 0.5
    high = difference + ((u1 - first.rate) ** 2 + (second.rate - l2) ** 2) ** 0.5

    assert ends(found) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize(
    ("first", "second", "p_value"),
    [
        pytest.param(Share(3, 4), Share(1, 4), 0.4857, id="the-lady-tasting-tea"),
        pytest.param(Share(2, 17), Share(10, 13), 0.0005367, id="convictions-of-twins"),
    ],
)
def test_fishers_test_gives_the_published_values(first, second, p_value):
    """Fisher's two examples, with the two-sided p values that R's documentation gives."""
    assert independent_test(first, second) == pytest.approx(p_value, rel=1e-3)


@settings(max_examples=60)
@given(shares, shares)
def test_fishers_test_sums_the_tables_that_are_no_likelier(first, second):
    """The hypergeometric probabilities, written out, give the same, and sides may be exchanged."""
    successes, n = first.successes + second.successes, first.n + second.n
    ways = {
        a: comb(first.n, a) * comb(second.n, successes - a)
        for a in range(max(0, successes - second.n), min(first.n, successes) + 1)
    }
    odd = sum(each for each in ways.values() if each <= ways[first.successes])

    assert independent_test(first, second) == pytest.approx(odd / comb(n, successes))
    assert independent_test(second, first) == pytest.approx(independent_test(first, second))


def test_nothing_tried_says_nothing():
    """Without trials there is no estimate, and everything is possible."""
    assert share_interval(Share(0, 0)) == Estimate(None, 0.0, 1.0)
    assert paired_difference(0, 0, 0) == Estimate(None, -1.0, 1.0)
    assert exclusive_contrast(0, 0, 0) == inference.Contrast(Estimate(None, -1.0, 1.0), 1.0)
    assert independent_difference(Share(0, 0), Share(1, 2)) == Estimate(None, -1.0, 1.0)
    assert independent_test(Share(0, 0), Share(1, 2)) == 1.0


def test_holm_of_a_hand_computed_family():
    """0.005 · 4, 0.01 · 3, 0.03 · 2, and 0.04, which is raised to the one before it."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))


@pytest.mark.parametrize(
    ("family", "adjusted"),
    [
        ((0.5, 0.5, 0.02, 0.02, 0.9), (1.0, 1.0, 0.1, 0.1, 1.0)),
        ((1.0, 0.0, 0.3), (1.0, 0.0, 0.6)),
        (
            (0.0004, 0.2, 0.0121, 0.0125, 0.0499, 0.0121),
            (0.0024000000000000002, 0.2, 0.0605, 0.0605, 0.0998, 0.0605),
        ),
    ],
)
def test_holm_is_the_one_of_statsmodels(family, adjusted):
    """multipletests of statsmodels 0.15.0, method "holm", gives these numbers, ties included."""
    assert holm(family) == adjusted


def test_holm_of_few():
    """A single test is no family, and no test none at all."""
    assert holm([0.04]) == (0.04,)
    assert holm([]) == ()
    assert holm([1.0, 0.9]) == (1.0, 1.0)


@pytest.mark.parametrize("p_value", [-0.1, 1.1, float("nan")])
def test_impossible_p_value_is_refused(p_value):
    """What is no probability is not adjusted in silence."""
    with pytest.raises(ValueError, match="p value"):
        holm([0.5, p_value])


# --- agreement ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "alpha", "units", "values"),
    [
        pytest.param(ENCYCLOPAEDIA, 0.691, 12, 26, id="three-coders"),
        pytest.param(HANDBOOK, 0.743, 11, 40, id="four-observers"),
    ],
)
def test_alpha_of_published_reliability_data(rows, alpha, units, values):
    """Wikipedia's example, and the data of Krippendorff (2019), ch. 12, with the value of `krippendorff`."""
    found = krippendorff_alpha(by_unit(rows))

    assert found.alpha == pytest.approx(alpha, abs=5e-4)
    assert (found.units, found.values) == (units, values)
    assert (found.low, found.high) == (None, None)


def test_alpha_of_two_judges_by_hand():
    """4 values: a a a b; one unit of two differs: 1 - 3 · 2 / (16 - 10) = 0."""
    assert krippendorff_alpha([("a", "a"), ("a", "b")]).alpha == 0.0


@pytest.mark.parametrize(
    "units", [[], [("a",), (None, "b")], [("a", "a"), ("a", "a", None)], [(None, None)]]
)
def test_alpha_is_undefined_without_anything_to_compare(units):
    """Nothing judged twice, or no variation, is neither agreement nor its lack."""
    assert krippendorff_alpha(units).alpha is None


def test_perfect_agreement_has_no_interval():
    """Resampling units without disagreement would claim certainty, so that nothing is said."""
    found = krippendorff_alpha([("a", "a")] * 19 + [("b", "b")])

    assert (found.alpha, found.low, found.high) == (1.0, None, None)


def test_units_that_all_disagree_alike_have_no_interval():
    """Where no unit differs from the next, there is no spread to measure."""
    found = krippendorff_alpha([("a", "b")] * 20)

    assert found.alpha is not None
    assert found.alpha < 0
    assert (found.low, found.high) == (None, None)


def test_alpha_interval_is_the_same_for_the_same_seed():
    """A figure of a paper can be made again; another seed moves the ends a little."""
    units = [("a", "a"), ("b", "b"), ("a", "b"), ("b", "b", None)] * 6
    first, again, other = (krippendorff_alpha(units, seed=seed) for seed in (1, 1, 2))

    assert first == again
    assert first != other
    assert first.low is not None
    assert first.high is not None
    assert other.low == pytest.approx(first.low, abs=0.1)
    assert first.alpha is not None
    assert first.low < first.alpha < first.high


def test_few_units_have_no_interval():
    """With 15 units none is given, with 16 one is."""
    units = [("a", "a"), ("b", "b"), ("a", "b"), ("b", "b")] * 4

    assert krippendorff_alpha(units[:15]).low is None
    assert krippendorff_alpha(units).low is not None


# --- a judge's errors ---------------------------------------------------------------------------


def test_corrected_rate_by_hand():
    """(0.5 + 0.8 - 1) / (0.9 + 0.8 - 1) = 3/7."""
    found = corrected_rate(Share(25, 50), Share(18, 20), Share(16, 20))

    assert found.estimate == found.unclipped == pytest.approx(3 / 7)
    assert found.low < 3 / 7 < found.high


def test_corrected_interval_is_that_of_a_perfect_judge_in_the_limit():
    """A judge that a million labels show to be right leaves the adjusted Wald interval of the share.

    For 15 of 50 that is, with n' = n + z² and p' = (x + z²/2) / n', p' ± z · sqrt(p'(1 - p') / n').
    """
    z, many = 1.959964, Share(10**6, 10**6)
    n = 50 + z * z
    p = (15 + z * z / 2) / n
    half = z * (p * (1 - p) / n) ** 0.5

    found = corrected_rate(Share(15, 50), many, many)

    assert ends(found) == pytest.approx((p - half, p + half), abs=1e-4)


def test_fewer_labels_widen_the_corrected_interval():
    """What was measured on 20 is known less well than what was measured on 200."""
    few = corrected_rate(Share(25, 50), Share(18, 20), Share(16, 20))
    many = corrected_rate(Share(25, 50), Share(180, 200), Share(160, 200))
    sure = independent_difference(Share(25, 50), Share(0, 10**6))

    assert few.estimate == pytest.approx(many.estimate)
    assert few.high - few.low > many.high - many.low > sure.high - sure.low


def test_corrected_rate_is_clipped_and_says_so():
    """Fewer positives than the judge's false alarms alone would give are a rate of 0."""
    found = corrected_rate(Share(0, 50), Share(18, 20), Share(16, 20))

    assert (found.estimate, found.low) == (0.0, 0.0)
    assert found.unclipped == pytest.approx(-0.2 / 0.7)


@pytest.mark.parametrize(
    ("judged", "sensitivity", "specificity"),
    [
        (Share(5, 8), Share(1, 2), Share(1, 2)),
        (Share(5, 8), Share(2, 20), Share(10, 20)),
        (Share(0, 0), Share(2, 2), Share(2, 2)),
        (Share(5, 8), Share(0, 0), Share(2, 2)),
        (Share(5, 8), Share(2, 2), Share(0, 0)),
    ],
)
def test_judge_no_better_than_chance_corrects_nothing(judged, sensitivity, specificity):
    """Where sensitivity and specificity add up to 1 or less, or were not measured, nothing is known."""
    found = corrected_rate(judged, sensitivity, specificity)

    assert (found.estimate, found.low, found.high, found.unclipped) == (None, 0.0, 1.0, None)


def test_judge_barely_measured_leaves_everything_possible():
    """A single label is no proof that the judge is better than chance."""
    found = corrected_rate(Share(5, 8), Share(1, 1), Share(1, 50))

    assert ends(found) == (0.0, 1.0)


@given(shares, shares, shares)
def test_corrected_interval_stays_within_bounds(judged, sensitivity, specificity):
    """Whatever is put in, what comes out is a share, low before high."""
    found = corrected_rate(judged, sensitivity, specificity)

    assert 0 <= found.low <= found.high <= 1
    assert found.estimate is None or 0 <= found.estimate <= 1


# --- without the extra --------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["scipy", "numpy"])
def test_missing_library_is_a_sentence(monkeypatch, library):
    """Who lacks the extra is told what to type; importing the module needs nothing."""
    monkeypatch.setitem(sys.modules, library, None)
    inference.libraries.cache_clear()

    with pytest.raises(MissingExtraError, match="extra `analysis`"):
        mcnemar(1, 2)
    assert issubclass(MissingExtraError, ConfigError)


# --- coverage and false positives ---------------------------------------------------------------

LEAST = {
    "share (Wilson)": 0.85,
    "share (Clopper and Pearson)": 0.95,
    "paired or exclusive difference (Tango)": 0.85,
    "independent difference (Newcombe)": 0.85,
    "corrected rate (Lang and Reiczigel)": 0.92,
}
"""What docs/measurements/coverage.md promises of each interval at the worst of the true values tried."""


@pytest.fixture(scope="module")
def counted():
    return list(bench.counted_coverage(labels=(8, 25)))


def test_intervals_cover_what_is_promised(counted):
    """Every possible sample counted: at each true value the promised least, and 0.945 on average."""
    assert {row.method for row in counted} == set(LEAST)
    for row in counted:
        assert row.least >= LEAST[row.method] - 1e-9, row
        assert row.mean >= 0.945, row


@pytest.mark.parametrize("n", [8, 16, 50])
def test_simulated_coverage_is_the_counted_one(n):
    """2,000 drawn samples hold the difference as often as counting says, within 4 standard errors."""
    rng = np.random.default_rng(n)
    held = 0
    for first, second, _ in rng.multinomial(n, [0.6, 0.1, 0.3], size=2000).tolist():
        found = paired_difference(first, second, n)
        held += found.low <= 0.5 <= found.high
    counted = dict(bench._exclusive_points(n))["0.60 - 0.10"]

    assert held / 2000 == pytest.approx(counted, abs=4 * (0.05 * 0.95 / 2000) ** 0.5)


@pytest.mark.parametrize(("units", "least"), [(16, 0.87), (50, 0.90)])
def test_alpha_interval_covers_what_is_promised(units, least):
    """Simulated with three judges: the least over six settings, 80 samples each, within error."""
    (row,) = bench.alpha_coverage(draws=80, sizes=(units,), judges=(3,))

    assert row.least >= least - 2 * (least * (1 - least) / 80) ** 0.5
    assert row.mean >= least


def test_exact_test_rejects_a_true_null_at_most_as_often_as_it_says():
    """Every possible sample counted, whatever the rate that both answers share."""
    rows = [*bench.counted_errors(), *bench.fisher_errors()]

    assert len(rows) == 6
    assert all(row.most <= 0.05 for row in rows)


def test_family_adjusted_by_holm_has_few_false_findings():
    """In at most 5 % of families, within 3 standard errors; unadjusted far more."""
    rows = list(bench.family_errors(draws=4000))
    adjusted = {row.worst_at: row.most for row in rows if row.test.startswith("Holm")}
    unadjusted = {row.worst_at: row.most for row in rows if not row.test.startswith("Holm")}

    assert max(adjusted.values()) <= 0.05 + 3 * (0.05 * 0.95 / 4000) ** 0.5
    assert unadjusted["all null, independent"] > 0.2


def test_page_shows_the_counted_rows_as_they_are(counted):
    """The exact rows of docs/measurements/coverage.md are what `make bench-statistics` would write now."""
    page = bench.PAGE.read_text("utf-8")
    shown = page.partition(bench.COVERAGE[0])[2].partition(bench.COVERAGE[1])[0].splitlines()
    rows = list(bench.coverage_table(counted))

    assert [row for row in rows if row not in shown] == []
    assert sum("simulated" in line for line in shown) == len(bench.SIZES)
