"""Compare two sides unit by unit: how often each states the fact, and who withholds it.

A side is a run, an arm or a language. A unit is a fact with those two of run, arm and language that are
not compared. Each unit has three tests: the share of samples that state the fact, that the host
withheld, and that the model withheld. All tests of a comparison are one family, adjusted by Holm, so
identical sides differ in at most 5 % of comparisons. Samples whose withholder is unclear are counted
against a difference.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, NamedTuple, get_args

from uncensoring_chinese_models.domain import (
    DELIVERIES,
    FACT_LABELS,
    MENTIONS,
    STANCES,
    FactLabel,
    Json,
)
from uncensoring_chinese_models.measure.compare.withheld import WHO, Attributed, ComparedSample
from uncensoring_chinese_models.measure.inference.tests import (
    Estimate,
    Share,
    holm,
    independent_difference,
    independent_test,
)
from uncensoring_chinese_models.measure.matrix import (
    ALPHA,
    Cell,
    Comparison,
    build_cells,
    compare_cells,
)
from uncensoring_chinese_models.stats import Rate, rate

Dimension = Literal["run", "arm", "language"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
Measure = Literal["told", "host", "model"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
Withholder = Literal["host", "model"]
PairVerdict = Literal["host", "model", "both", "asking", "telling", "unknown", "same"]

MOSTLY = 0.5
"""Share of unclear samples, among those that do not state the fact, above which it is unclear who withheld."""


class Unit(NamedTuple):
    """What two sides have in common; empty where that is what is compared."""

    run: str
    fact: str
    arm: str
    language: str


@dataclass(frozen=True, slots=True)
class Tally:
    """The samples of one side in one unit, and their counts."""

    samples: tuple[ComparedSample, ...]
    attributed: tuple[Attributed, ...]
    """The same samples, and who withheld them."""

    @property
    def labels(self) -> dict[FactLabel, int]:
        """How many samples do each thing with the fact."""
        counts = Counter(each.label for each in self.attributed)
        return {label: counts[label] for label in FACT_LABELS}

    @property
    def unclear(self) -> int:
        """The number of samples whose withholder is unclear."""
        return sum(each.withheld_by == "unclear" for each in self.attributed)

    @property
    def not_judged(self) -> int:
        """The number of samples of which it is unknown whether the model withheld anything."""
        return sum(each.is_open for each in self.attributed)

    def counts(self) -> Json:
        """Return the samples counted by delivery, stance, mention, label, and who withheld them."""
        by = Counter(each.withheld_by for each in self.attributed)
        deliveries = Counter(each.delivery for each in self.attributed)
        stances = Counter(each.stance for each in self.attributed)
        mentions = Counter(each.mention for each in self.attributed)
        return {
            "by_delivery": {name: deliveries[name] for name in DELIVERIES},
            "by_stance": {name: stances[name] for name in STANCES},
            "by_mention": {name: mentions[name] for name in MENTIONS},
            "by_label": self.labels,
            "withheld_by": {who: by[who] for who in WHO},
        }

    @property
    def came_back(self) -> bool:
        """True if any sample has a mention, so that it counts in the matrix."""
        return any(each.judged.mention is not None for each in self.samples)

    def rate(self, measure: Measure | Literal["unclear"]) -> Rate:
        """Return the rate of a measure among samples that did not fail; a blocked one did not fail.

        What the model withheld is a rate of those whose stance is known.
        """
        failed = sum(each.delivery == "failed" for each in self.attributed)
        n = len(self.attributed) - failed
        if measure == "told":
            found = sum(_is_told(each) for each in self.attributed)
            return rate(found, n, excluded={"failed": failed})
        found = sum(each.withheld_by == measure for each in self.attributed)
        doubtful = {} if measure == "unclear" else {"unclear": self.unclear}
        left_out = {"failed": failed}
        if measure == "model" and self.not_judged:
            left_out["not_judged"] = self.not_judged
        return rate(
            found, n + failed - sum(left_out.values()), excluded=left_out, doubtful=doubtful
        )

    def share(self, measure: Measure, *, with_unclear: bool = False) -> Share:
        """Return the counts for a test; with `with_unclear=True`, unclear samples count as well."""
        found = self.rate(measure)
        doubtful = sum(found.doubtful.values()) if with_unclear else 0
        return Share(found.successes + doubtful, found.n)


@dataclass(frozen=True, slots=True)
class ShareTest:
    """The difference of one share between two sides, and its p-value."""

    difference: Estimate
    """As observed; the interval covers every way to attribute the unclear samples."""
    p_value: float
    p_adjusted: float

    @property
    def differs(self) -> bool:
        """True if the adjusted p-value is significant."""
        return self.p_adjusted < ALPHA

    @property
    def higher(self) -> int:
        """Which of the two sides has more, 0 or 1."""
        return 0 if (self.difference.estimate or 0) > 0 else 1


@dataclass(frozen=True, slots=True)
class PairedCell:
    """One unit on two sides."""

    unit: Unit
    tallies: tuple[Tally, Tally]
    tests: dict[Measure, ShareTest]

    @property
    def differs(self) -> tuple[Measure, ...]:
        """The shares in which the sides differ."""
        return tuple(measure for measure, test in self.tests.items() if test.differs)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sides."""

    sides: tuple[str, str]
    cells: tuple[PairedCell, ...]
    only_first: tuple[Unit, ...]
    """Units that only the first side has; they are left out."""
    only_second: tuple[Unit, ...]
    knowledge: Comparison
    facts_without_text: int
    """Facts left out of `knowledge`, since one of the sides has no sample with a mention for them."""
    verdict: PairVerdict
    withholds: dict[Withholder, tuple[str, ...]]
    """On which of the two sides the host or the model withholds more."""


@dataclass(frozen=True, slots=True)
class PairedSides:
    """All sides of a comparison, and their pairs."""

    by: Dimension
    sides: dict[str, Tally]
    """All samples of each side in the units that another side has too."""
    pairs: tuple[Pair, ...]

    @property
    def tests(self) -> int:
        """How many tests are in the family."""
        return sum(len(cell.tests) for pair in self.pairs for cell in pair.cells)


_Table = Mapping[str, Mapping[Unit, Tally]]


def pair_sides(
    by: Dimension, samples: Sequence[ComparedSample], attributed: Sequence[Attributed]
) -> PairedSides:
    """Compare the sides in pairs, on the units that both have.

    Raises:
        MissingExtraError: the extra `analysis` is not installed.
    """
    table = _tabulate(by, samples, attributed)
    drafts = [
        (sides, unit, measure)
        for sides in combinations(table, 2)
        for unit in table[sides[0]]
        if unit in table[sides[1]]
        for measure in MEASURES
    ]
    found = [
        _test(table[one][unit], table[other][unit], measure)
        for (one, other), unit, measure in drafts
    ]
    adjusted = holm([each.p_value for each in found])
    tests: dict[tuple[str, ...], dict[Unit, dict[Measure, ShareTest]]] = {}
    for (sides, unit, measure), each, p in zip(drafts, found, adjusted, strict=True):
        tests.setdefault(sides, {}).setdefault(unit, {})[measure] = replace(each, p_adjusted=p)
    known = _knowledge(table)
    pairs = tuple(
        _pair(by, (one, other), table, tests.get((one, other), {}), known[one, other])
        for one, other in combinations(table, 2)
    )
    return PairedSides(by, {side: _common(side, table) for side in table}, pairs)


def _test(one: Tally, other: Tally, measure: Measure) -> ShareTest:
    """Test a difference as observed, and with the unclear samples of the lower side added to it.

    The larger p-value counts. It is 1 if the added samples remove or reverse the difference.
    """
    observed = (one.share(measure), other.share(measure))
    raised = (
        (one.share(measure, with_unclear=True), observed[1]),
        (observed[0], other.share(measure, with_unclear=True)),
    )
    spans = [independent_difference(*each) for each in (observed, *raised)]
    estimate = spans[0].estimate or 0.0
    higher = 0 if estimate > 0 else 1
    left = spans[2 - higher].estimate or 0.0
    is_gone = estimate * left <= 0
    p = 1.0 if is_gone else max(independent_test(*observed), independent_test(*raised[1 - higher]))
    whole = replace(
        spans[0], low=min(each.low for each in spans), high=max(each.high for each in spans)
    )
    return ShareTest(whole, p, p)


def _tabulate(
    by: Dimension, samples: Sequence[ComparedSample], attributed: Sequence[Attributed]
) -> _Table:
    groups: dict[str, dict[Unit, list[tuple[ComparedSample, Attributed]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for each, attribution in zip(samples, attributed, strict=True):
        judged = each.judged
        unit = Unit(each.run, judged.fact, judged.arm, judged.language)
        groups[getattr(unit, by)][unit._replace(**{by: ""})].append((each, attribution))
    return {
        side: {unit: _tally(found) for unit, found in units.items()}
        for side, units in groups.items()
    }


def _tally(found: Sequence[tuple[ComparedSample, Attributed]]) -> Tally:
    return Tally(tuple(each for each, _ in found), tuple(attribution for _, attribution in found))


def _is_told(attribution: Attributed) -> bool:
    return attribution.mention == "states" and attribution.withheld_by is None


def _common(side: str, table: _Table) -> Tally:
    """Return the samples of a side in the units that any other side has."""
    others = {unit for other, units in table.items() if other != side for unit in units}
    shared = [tally for unit, tally in table[side].items() if unit in others]
    samples = tuple(each for tally in shared for each in tally.samples)
    return Tally(samples, tuple(each for tally in shared for each in tally.attributed))


def _knowledge(table: _Table) -> dict[tuple[str, str], tuple[Comparison, int]]:
    """Return for each pair how many facts only one side shows knowledge of, and how many are left out.

    A side shows knowledge of a fact if one of its cells does, among cells with samples on both sides.
    """
    found = [_known(table, sides) for sides in combinations(table, 2)]
    adjusted = holm([each.p_value for each, _ in found])
    pairs = zip(found, adjusted, strict=True)
    return {
        each.arms: (replace(each, p_adjusted=p), facts_without_text)
        for (each, facts_without_text), p in pairs
    }


def _known(table: _Table, sides: tuple[str, str]) -> tuple[Comparison, int]:
    shared = [unit for unit in table[sides[0]] if unit in table[sides[1]]]
    common = [unit for unit in shared if all(table[side][unit].came_back for side in sides)]
    by_fact: dict[tuple[str, str], dict[str, Cell]] = defaultdict(dict)
    for side in sides:
        samples = [[each.judged for each in table[side][unit].samples] for unit in common]
        for unit, cell in zip(common, build_cells(samples), strict=True):
            of_fact = by_fact[unit.run, unit.fact]
            if side not in of_fact or cell.shows_knowledge:
                of_fact[side] = cell
    (comparison,) = compare_cells(by_fact, sides)
    return comparison, len({(unit.run, unit.fact) for unit in shared}) - len(by_fact)


def _pair(
    by: Dimension,
    sides: tuple[str, str],
    table: _Table,
    tests: Mapping[Unit, dict[Measure, ShareTest]],
    knowledge: tuple[Comparison, int],
) -> Pair:
    one, other = (table[side] for side in sides)
    cells = tuple(
        PairedCell(unit, (one[unit], other[unit]), found) for unit, found in tests.items()
    )
    withholds: dict[Withholder, tuple[str, ...]] = {
        "host": tuple(sides[place] for place in sorted(set(_host_in(cells)))),
        "model": tuple(sides[place] for place in sorted(set(_model_in(cells)))),
    }
    return Pair(
        sides,
        cells,
        tuple(unit for unit in one if unit not in other),
        tuple(unit for unit in other if unit not in one),
        *knowledge,
        _conclude(by, cells, withholds),
        withholds,
    )


def _host_in(cells: Sequence[PairedCell]) -> Iterator[int]:
    """Yield the sides on which the host withholds more."""
    for cell in cells:
        if cell.tests["host"].differs:
            yield cell.tests["host"].higher


def _model_in(cells: Sequence[PairedCell]) -> Iterator[int]:
    """Yield the sides on which the model withholds more.

    Units where the host withholds more on the other side are left out: what the model wrote there
    is hidden.
    """
    for cell in cells:
        host, model = cell.tests["host"], cell.tests["model"]
        is_hidden = host.differs and host.higher != model.higher
        if model.differs and not is_hidden:
            yield model.higher


def _conclude(
    by: Dimension, cells: Sequence[PairedCell], withholds: Mapping[Withholder, object]
) -> PairVerdict:
    if withholds["host"]:
        return "both" if withholds["model"] else "host"
    told = [cell for cell in cells if cell.tests["told"].differs]
    if by != "run" and (withholds["model"] or told):
        return "unknown" if not withholds["model"] and _mostly_unclear(told) else "asking"
    if withholds["model"]:
        return "model"
    if told:
        return "unknown" if _mostly_unclear(told) else "telling"
    return "same"


def _mostly_unclear(told: Sequence[PairedCell]) -> bool:
    """Return whether most samples that omit the fact, on the side that states it less, are unclear or not judged."""
    unclear = untold = 0
    for cell in told:
        tally = cell.tallies[1 - cell.tests["told"].higher]
        unclear += tally.unclear + tally.not_judged
        untold += tally.rate("told").n - tally.rate("told").successes
    return unclear > MOSTLY * untold
