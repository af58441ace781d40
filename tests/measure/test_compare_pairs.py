"""Two sides on the same cells: planted differences, verdicts, and how often identical sides differ."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from tests.measure.planted import PLANTED
from tests.measure.test_token_bills import sample
from uncensoring_chinese_models.measure.answers import Judged
from uncensoring_chinese_models.measure.compare.pairs import pair_sides
from uncensoring_chinese_models.measure.compare.withheld import ComparedSample

WORD = sample("x", 1)


def compared_samples(
    kinds: Sequence[str], *, run="r", fact="unit", arm="assistant"
) -> list[ComparedSample]:
    """Return samples of one fact to which these things happened."""
    cells = [
        Judged(fact, arm, "en", 1, place, *PLANTED[kind][:3], "")
        for place, kind in enumerate(kinds)
    ]
    return [ComparedSample(run, "m/m", "h", cell, WORD) for cell in cells]


def plant(sides, *, by="run", facts=("unit", "leader", "burial")):
    """Compare sides of which each fact has the samples given, by kind."""
    samples, kinds = [], []
    for side, counts in sides.items():
        planted = [kind for kind, number in counts.items() for _ in range(number)]
        for fact in facts:
            samples += compared_samples(planted, fact=fact, **{by: side})
            kinds += planted
    return pair_sides(by, samples, [PLANTED[kind] for kind in kinds])


@pytest.mark.parametrize(
    ("one", "other", "verdict", "withholds"),
    [
        ({"told": 8}, {"told": 8}, "same", {"host": (), "model": ()}),
        ({"told": 8}, {"erased": 8}, "host", {"host": ("b",), "model": ()}),
        (
            {"told": 8},
            {"filtered": 4, "cut": 2, "replaced": 2},
            "host",
            {"host": ("b",), "model": ()},
        ),
        ({"told": 8}, {"declined": 8}, "model", {"host": (), "model": ("b",)}),
        ({"declined": 8}, {"told": 8}, "model", {"host": (), "model": ("a",)}),
        ({"declined": 8}, {"otherwise": 8}, "model", {"host": (), "model": ("a",)}),
        ({"told": 8}, {"otherwise": 8}, "telling", {"host": (), "model": ()}),
        ({"told": 8}, {"unclear": 8}, "unknown", {"host": (), "model": ()}),
        ({"told": 8}, {"unclear": 3, "otherwise": 5}, "telling", {"host": (), "model": ()}),
        ({"declined": 8}, {"erased": 8}, "host", {"host": ("b",), "model": ()}),
        ({"told": 16}, {"declined": 8, "erased": 8}, "both", {"host": ("b",), "model": ("b",)}),
        ({"erased": 8}, {"erased": 8}, "same", {"host": (), "model": ()}),
        ({"told": 8}, {"failed": 8}, "same", {"host": (), "model": ()}),
        ({"told": 8}, {"told": 6, "declined": 2}, "same", {"host": (), "model": ()}),
        ({"declined": 8}, {"open": 8}, "same", {"host": (), "model": ()}),
        ({"told": 8}, {"open": 8}, "unknown", {"host": (), "model": ()}),
    ],
)
def test_verdict_says_who_withholds(one, other, verdict, withholds):
    """The host, the model, both, nobody seen, or no difference; the side is named."""
    (pair,) = plant({"a": one, "b": other}).pairs

    assert (pair.verdict, pair.withholds) == (verdict, withholds)


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        ({"declined": 8}, {"unclear": 8}, "same"),
        ({"unclear": 8}, {"erased": 8}, "same"),
        ({"declined": 8}, {"declined": 1, "unclear": 7}, "same"),
        ({"declined": 8}, {"otherwise": 7, "unclear": 1}, "model"),
        ({"declined": 7, "unclear": 1}, {"told": 8}, "model"),
    ],
)
def test_unknown_of_the_lower_side_are_counted_against_a_difference(one, other, verdict):
    """A host without bills must not differ from one with them that does the same."""
    (pair,) = plant({"a": one, "b": other}).pairs

    assert pair.verdict == verdict


def test_model_is_judged_by_the_samples_of_known_stance():
    """The others are beside its rate, and no answers; they state nothing, and no host took them."""
    paired = plant({"a": {"declined": 6, "open": 2}, "b": {"told": 8}})
    tally = paired.sides["a"]

    per_fact = len(tally.attributed) // 8
    model = tally.rate("model")
    assert (model.successes, model.n) == (6 * per_fact, 6 * per_fact)
    assert model.excluded == {"failed": 0, "not_judged": 2 * per_fact}
    assert tally.rate("told").n == tally.rate("host").n == 8 * per_fact


def test_interval_holds_whatever_became_of_the_unknown():
    """It reaches from one end of what they might be to the other, and p goes with it."""
    (pair,) = plant({"a": {"declined": 8}, "b": {"told": 2, "unclear": 6}}).pairs
    test = pair.cells[0].tests["model"]

    assert test.difference.estimate == 1.0
    assert test.difference.low < 0 < test.difference.high == 1.0
    assert (test.p_value, test.differs) == (pytest.approx(0.4667, abs=1e-4), False)


@pytest.mark.parametrize("empty", ["failed", "filtered"])
def test_facts_without_a_usable_sample_show_nothing_of_knowledge(empty):
    """Nothing came back there, so that nobody can say what is known; they are counted."""
    (pair,) = plant({"a": {"told": 8}, "b": {empty: 8}}).pairs

    assert (pair.knowledge.n, pair.knowledge.only_first, pair.facts_without_text) == (0, 0, 3)


def test_arm_without_a_usable_sample_leaves_the_others_to_tell():
    """A fact is left out only if no arm of it came back on both sides."""
    samples, kinds = [], []
    for run, arm in product("ab", ("assistant", "raw")):
        planted: list[str] = ["failed" if (run, arm) == ("b", "raw") else "told"] * 8
        samples += compared_samples(planted, run=run, arm=arm)
        kinds += planted
    (pair,) = pair_sides("run", samples, [PLANTED[kind] for kind in kinds]).pairs

    assert (pair.knowledge.n, pair.knowledge.only_first, pair.facts_without_text) == (1, 0, 0)


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        ({"declined": 8}, "asking"),
        ({"otherwise": 8}, "asking"),
        ({"erased": 8}, "host"),
        ({"unclear": 8}, "unknown"),
        ({"told": 8}, "same"),
    ],
)
def test_two_arms_differ_by_the_way_of_asking_unless_a_host_removes(other, verdict):
    """One model behind one host: what differs is how it was asked."""
    (pair,) = plant({"user_persona": {"told": 8}, "assistant": other}, by="arm").pairs

    assert (pair.sides, pair.verdict) == (("user_persona", "assistant"), verdict)


def test_cell_has_its_figures():
    """Counts, states, difference with interval, p by hand, and the same times the family."""
    paired = plant({"a": {"told": 8}, "b": {"declined": 7, "failed": 2}})
    (pair,) = paired.pairs
    cell = pair.cells[0]
    told = cell.tests["told"]

    assert paired.tests == 9
    assert [tally.labels["states"] for tally in cell.tallies] == [8, 0]
    assert cell.tallies[1].rate("told").excluded == {"failed": 2}
    assert told.difference.estimate == 1.0
    assert told.difference.low == pytest.approx(0.5, abs=0.05)
    assert told.p_value == pytest.approx(1 / 6435)
    assert told.p_adjusted == pytest.approx(9 / 6435)
    assert cell.differs == ("told", "model")
    assert pair.knowledge.n == 3


def test_blocked_sample_counts_as_one_that_does_not_tell():
    """A host that filters everything leaves no text, and yet a rate: none of eight."""
    (pair,) = plant({"a": {"told": 8}, "b": {"filtered": 8}}).pairs

    assert (
        pair.cells[0].tallies[1].share("told").successes,
        pair.cells[0].tests["told"].differs,
    ) == (0, True)
    assert pair.cells[0].tallies[1].share("told").n == 8


def test_unit_of_one_side_is_listed_and_left_out():
    """It is in no test, in no count of a side, and named."""
    told: list[str] = ["told"] * 8
    asked = [("a", "unit"), ("a", "leader"), ("b", "unit"), ("b", "press")]
    samples = [each for run, fact in asked for each in compared_samples(told, run=run, fact=fact)]

    paired = pair_sides("run", samples, [PLANTED["told"]] * len(samples))
    (pair,) = paired.pairs

    assert [cell.unit.fact for cell in pair.cells] == ["unit"]
    assert [unit.fact for unit in pair.only_first] == ["leader"]
    assert [unit.fact for unit in pair.only_second] == ["press"]
    assert [tally.rate("told").n for tally in paired.sides.values()] == [8, 8]
    assert pair.knowledge.n == 1


def test_three_sides_are_one_family():
    """Each pair has its verdict, and Holm covers the tests of all."""
    paired = plant({"a": {"told": 8}, "b": {"declined": 8}, "c": {"erased": 8}})

    assert [pair.verdict for pair in paired.pairs] == ["model", "host", "host"]
    assert paired.tests == 27
    assert [pair.sides for pair in paired.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]


def test_sides_without_anything_in_common_have_no_cells():
    """Nothing is tested, and nothing breaks."""
    samples = [
        *compared_samples(["told"], run="a", fact="unit"),
        *compared_samples(["told"], run="b", fact="leader"),
    ]

    (pair,) = pair_sides("run", samples, [PLANTED["told"]] * 2).pairs

    assert (pair.cells, pair.verdict, pair.knowledge.n) == ((), "same", 0)


@pytest.mark.soak
@pytest.mark.parametrize(
    "chances",
    [
        pytest.param({"told": 0.5, "declined": 0.3, "erased": 0.2}, id="all-three"),
        pytest.param({"told": 0.5, "declined": 0.5}, id="told-or-declined"),
        pytest.param({"told": 0.3, "unclear": 0.3, "otherwise": 0.4}, id="unknown"),
    ],
)
def test_identical_sides_are_rarely_said_to_differ(chances):
    """Of 200 comparisons of a side with itself, drawn anew, at most 5 % say so, within error."""
    rng = np.random.default_rng(8)
    kinds, weights = list(chances), list(chances.values())
    wrong = 0
    for _ in range(200):
        samples, drawn = [], []
        for run, fact in product("ab", ("unit", "leader", "burial", "press")):
            planted = [kinds[place] for place in rng.choice(len(kinds), size=8, p=weights)]
            samples += compared_samples(planted, run=run, fact=fact)
            drawn += planted
        (pair,) = pair_sides("run", samples, [PLANTED[kind] for kind in drawn]).pairs
        wrong += pair.verdict != "same"

    assert wrong / 200 <= 0.05 + 2 * (0.05 * 0.95 / 200) ** 0.5


@pytest.mark.soak
def test_identical_sides_are_rarely_said_to_differ_where_one_has_no_bills():
    """What the one side's bills tell is unknown on the other; nothing else differs."""
    rng = np.random.default_rng(9)
    chances = {"told": 0.2, "declined": 0.3, "erased": 0.3, "otherwise": 0.2}
    wrong = 0
    for _ in range(100):
        samples, drawn = [], []
        for run, fact in product("ab", ("unit", "leader", "burial", "press")):
            found = [list(chances)[k] for k in rng.choice(4, size=16, p=list(chances.values()))]
            is_open = {"declined", "erased"} if run == "b" else set()
            planted: list[str] = ["unclear" if kind in is_open else kind for kind in found]
            samples += compared_samples(planted, run=run, fact=fact)
            drawn += planted
        (pair,) = pair_sides("run", samples, [PLANTED[kind] for kind in drawn]).pairs
        wrong += pair.verdict != "same"

    assert wrong / 100 <= 0.05 + 2 * (0.05 * 0.95 / 100) ** 0.5


def test_every_kind_is_counted_once():
    """A side's counts add up to its samples."""
    counts = dict.fromkeys(PLANTED, 2)
    paired = plant({"a": counts, "b": counts})

    assert all(
        sum(tally.labels.values()) == 3 * 2 * len(PLANTED) for tally in paired.sides.values()
    )
