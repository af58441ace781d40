"""Count how often each interval holds the true value and each test rejects a true null.

    python tools/statistics_bench.py [--print]

Where all possible samples can be listed, they are, each with its probability: then the figures are
exact. Alpha and families of tests are simulated, with fixed seeds. The tables are written into
docs/measurements/coverage.md, unless they are only to be printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from uncensoring_chinese_models.measure.inference import agreement
from uncensoring_chinese_models.measure.inference import tests as inference
from uncensoring_chinese_models.measure.inference.tests import Share

PAGE = Path(__file__).resolve().parent.parent / "docs" / "measurements" / "coverage.md"
COVERAGE = ("<!-- coverage:begin -->", "<!-- coverage:end -->")
ERRORS = ("<!-- errors:begin -->", "<!-- errors:end -->")
SIZES = (8, 16, 50)
GRID = tuple(step / 50 for step in range(51))
"""The true rates of which pairs are tried: 0, 0.02, ... 1."""
FINE_GRID = tuple(step / 100 for step in range(101))
"""The true rates that are tried alone."""
CLOSE = 1e-9
"""An end of an interval that misses the true value by rounding alone does not miss it."""
ALPHA = 0.05
Array = Any
Ends = tuple[Array, Array]


@dataclass(frozen=True, slots=True)
class Row:
    """How one interval fared with samples of one size, over all true values tried."""

    method: str
    size: str
    points: int
    poor: int
    """Points with a coverage below 0.93."""
    mean: float
    least: float
    worst_at: str
    draws: int | None = None
    """Simulated samples per point; None if every possible sample was counted."""


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """How often a true null was rejected at 0.05, at the worst of the settings tried."""

    test: str
    size: str
    settings: int
    most: float
    worst_at: str
    draws: int | None = None


def main() -> int:
    """Write or print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--print", action="store_true", help="print the tables, write nothing")
    options = parser.parse_args()
    coverage = list(coverage_table([*counted_coverage(), *alpha_coverage(draws=500)]))
    errors = list(error_table([*counted_errors(), *fisher_errors(), *family_errors(draws=20_000)]))
    print("\n".join([*coverage, "", *errors]))
    if not options.print:
        text = with_part(PAGE.read_text("utf-8"), COVERAGE, coverage)
        PAGE.write_text(with_part(text, ERRORS, errors), "utf-8")
    return 0


# --- every possible sample ----------------------------------------------------------------------


def counted_coverage(
    sizes: Sequence[int] = SIZES, labels: Sequence[int] = (8, 25, 50)
) -> Iterator[Row]:
    """Yield the rows whose figures are exact."""
    for n in sizes:
        for method in ("wilson", "exact"):
            yield _share_row(method, n)
        yield _row("paired or exclusive difference (Tango)", f"n = {n}", _exclusive_points(n))
        yield _row("independent difference (Newcombe)", f"n = {n} and {n}", _independent_points(n))
    for n, labelled in product(sizes, labels):
        size = f"n = {n}, labelled {labelled} + {labelled}"
        yield _row("corrected rate (Lang and Reiczigel)", size, _corrected_points(n, labelled))


def _share_row(method: Any, n: int) -> Row:
    ends = _ends(
        (n + 1,), lambda found: inference.share_interval(Share(found[0], n), method=method)
    )
    points = ((f"{p:.2f}", float(_held(ends, p) @ _binomial(n, p))) for p in FINE_GRID)
    name = {"wilson": "share (Wilson)", "exact": "share (Clopper and Pearson)"}[method]
    return _row(name, f"n = {n}", points)


def _exclusive_points(n: int) -> Iterator[tuple[str, float]]:
    found = [inference.paired_difference(a, b, n) for a, b in _splits(n).tolist()]
    ends = np.array([each.low for each in found]), np.array([each.high for each in found])
    for p, q in product(GRID, GRID):
        if p + q <= 1 + CLOSE:
            yield f"{p:.2f} - {q:.2f}", float(_held(ends, p - q) @ _chances(n, p, q))


def _independent_points(n: int) -> Iterator[tuple[str, float]]:
    ends = _ends(
        (n + 1, n + 1),
        lambda found: inference.independent_difference(Share(found[0], n), Share(found[1], n)),
    )
    for p, q in product(GRID, GRID):
        chance = _binomial(n, p) @ _held(ends, p - q) @ _binomial(n, q)
        yield f"{p:.2f} - {q:.2f}", float(chance)


def _corrected_points(n: int, labelled: int) -> Iterator[tuple[str, float]]:
    """Yield coverage given that the judge was measured to be better than chance."""
    shape = (n + 1, labelled + 1, labelled + 1)
    ends = _ends(
        shape,
        lambda found: agreement.corrected_rate(
            Share(found[0], n), Share(found[1], labelled), Share(found[2], labelled)
        ),
    )
    right = np.add.outer(np.arange(labelled + 1), np.arange(labelled + 1))
    for true, se, sp in product((0.0, 0.1, 0.3, 0.5, 0.8, 1.0), (0.8, 0.9, 1.0), (0.8, 0.9, 1.0)):
        labels = np.outer(_binomial(labelled, se), _binomial(labelled, sp)) * (right > labelled)
        verdicts = _binomial(n, true * se + (1 - true) * (1 - sp))
        held = np.tensordot(verdicts, _held(ends, true), axes=1)
        yield f"{true:.1f}, Se {se}, Sp {sp}", float((held * labels).sum() / labels.sum())


def _ends(shape: tuple[int, ...], interval: Callable[[tuple[int, ...]], Any]) -> Ends:
    """Return the ends of the interval of each possible sample."""
    low, high = np.empty(shape), np.empty(shape)
    for found in np.ndindex(*shape):
        each = interval(found)
        low[found], high[found] = each.low, each.high
    return low, high


def _held(ends: Ends, true: float) -> Array:
    return ((ends[0] <= true + CLOSE) & (true - CLOSE <= ends[1])).astype(float)


@cache
def _splits(n: int) -> Array:
    """Return how many of n samples can give the first answer, and how many the second."""
    return np.array([(a, b) for a in range(n + 1) for b in range(n + 1 - a)])


@cache
def _ways(n: int) -> Array:
    """Return in how many orders each split can come about."""
    return np.array([float(comb(n, a) * comb(n - a, b)) for a, b in _splits(n).tolist()])


def _chances(n: int, p: float, q: float) -> Array:
    """Return the probability of each split, if the answers have these."""
    first, second = _splits(n).T
    return _ways(n) * p**first * q**second * max(0.0, 1 - p - q) ** (n - first - second)


@cache
def _binomial(n: int, p: float) -> Array:
    return binom.pmf(np.arange(n + 1), n, p)


def _row(
    method: str, size: str, points: Iterable[tuple[str, float]], draws: int | None = None
) -> Row:
    found = list(points)
    # Mirrored true values differ by rounding alone; the first of them is named.
    worst_at, least = min(found, key=lambda point: round(point[1], 9))
    mean = sum(held for _, held in found) / len(found)
    poor = sum(held < 0.93 for _, held in found)
    return Row(method, size, len(found), poor, mean, least, worst_at, draws)


def fisher_errors(sizes: Sequence[int] = SIZES) -> Iterator[ErrorRow]:
    """Yield how often Fisher's test rejects two separate samples that have one rate."""
    for n in sizes:
        rejects = np.array(
            [
                [
                    inference.independent_test(Share(a, n), Share(b, n)) <= ALPHA
                    for b in range(n + 1)
                ]
                for a in range(n + 1)
            ],
            dtype=float,
        )
        wrong = {p: float(_binomial(n, p) @ rejects @ _binomial(n, p)) for p in FINE_GRID}
        worst = max(wrong, key=lambda p: round(wrong[p], 9))
        where = f"both {worst:.2f}"
        yield ErrorRow("exact Fisher", f"n = {n} and {n}", len(wrong), wrong[worst], where)


def counted_errors(sizes: Sequence[int] = SIZES) -> Iterator[ErrorRow]:
    """Yield how often the exact test rejects two answers that are equally likely."""
    for n in sizes:
        rejects = np.array(
            [inference.mcnemar(a, b).p_value <= ALPHA for a, b in _splits(n).tolist()]
        )
        wrong = {p / 2: float(rejects @ _chances(n, p / 2, p / 2)) for p in GRID}
        worst = max(wrong, key=lambda p: round(wrong[p], 9))
        where = f"both {worst:.2f}"
        yield ErrorRow("exact McNemar", f"n = {n}", len(wrong), wrong[worst], where)


# --- simulated ----------------------------------------------------------------------------------


def alpha_coverage(
    draws: int, sizes: Sequence[int] = SIZES, judges: Sequence[int] = (2, 3)
) -> Iterator[Row]:
    """Yield coverage of alpha's interval where one is given; 8 units get none unless it is asked for."""
    for units in sizes:
        points = (
            (f"{j} judges, prevalence {p}, error {e}", alpha_held(draws, units, j, p, e))
            for j, p, e in product(judges, (0.5, 0.2), (0.05, 0.1, 0.2))
        )
        note = " (not given)" if units < agreement.MIN_UNITS else ""
        yield _row("Krippendorff's alpha (bootstrap)", f"{units} units{note}", points, draws)


def alpha_held(draws: int, units: int, judges: int, prevalence: float, error: float) -> float:
    """Return how often the interval held alpha, for judges who each err independently.

    Two judges of a unit differ with probability 2e(1-e), and two judgements at large with
    2q(1-q), where q is how often a judgement is positive; alpha is 1 minus their ratio.
    """
    rng = np.random.default_rng([units, judges, int(100 * prevalence), int(100 * error)])
    q = prevalence * (1 - error) + (1 - prevalence) * error
    true = 1 - error * (1 - error) / (q * (1 - q))
    held = given = 0
    for number in range(draws):
        labels = rng.random((units, 1)) < prevalence
        judged = (labels ^ (rng.random((units, judges)) < error)).tolist()
        found = agreement.krippendorff_alpha(judged, resamples=500, seed=number, min_units=2)
        if found.low is not None and found.high is not None:
            given += 1
            held += found.low - CLOSE <= true <= found.high + CLOSE
    return held / given


def family_errors(draws: int, n: int = 16, tests: int = 12) -> Iterator[ErrorRow]:
    """Yield how often a family adjusted by Holm has any false finding."""
    p_of = np.array([[inference.mcnemar(a, b).p_value for b in range(n + 1)] for a in range(n + 1)])
    size = f"{tests} tests, n = {n}"
    for name, effects, copies in (
        ("all null, independent", 0, False),
        ("half null, independent", tests // 2, False),
        ("all null, all of the same samples", 0, True),
    ):
        rng = np.random.default_rng(tests)
        counts = rng.multinomial(n, [0.45, 0.45, 0.1], size=(draws, tests))
        counts[:, :effects] = rng.multinomial(n, [0.95, 0.0, 0.05], size=(draws, effects))
        if copies:
            counts[:] = counts[:, :1]
        p_values = p_of[counts[..., 0], counts[..., 1]]
        # Most families have no small p value, and no adjustment makes one smaller.
        doubtful = [family for family in p_values.tolist() if min(family[effects:]) <= ALPHA]
        wrong = sum(min(inference.holm(family)[effects:]) <= ALPHA for family in doubtful)
        yield ErrorRow("Holm over exact McNemar", size, 1, wrong / draws, name, draws)
        unadjusted = len(doubtful) / draws
        yield ErrorRow("the same without Holm", size, 1, unadjusted, name, draws)


# --- the page -----------------------------------------------------------------------------------


def coverage_table(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the table of the intervals."""
    yield "| interval | sample | true values tried | of these below 0.93 | mean coverage | least coverage | at | how |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in sorted(rows, key=lambda row: row.method):
        cells = (row.method, row.size, row.points, row.poor, f"{row.mean:.3f}", f"{row.least:.3f}")
        yield _line(*cells, row.worst_at, _how(row.draws))


def error_table(rows: Iterable[ErrorRow]) -> Iterator[str]:
    """Yield the table of the tests."""
    yield "| test | sample | settings tried | most false positives | at | how |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row in rows:
        cells = (row.test, row.size, row.settings, f"{row.most:.4f}")
        yield _line(*cells, row.worst_at, _how(row.draws))


def _how(draws: int | None) -> str:
    return "exact" if draws is None else f"{draws:,} simulated"


def _line(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def with_part(text: str, marks: tuple[str, str], lines: Iterable[str]) -> str:
    """Return the page with lines between its marks."""
    begin, end = marks
    head, found, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"{PAGE.name} lacks {begin} or {end}; nothing was written, put them back")
    return "\n".join([f"{head}{begin}", *lines, f"{end}{tail}"])


if __name__ == "__main__":
    raise SystemExit(main())
