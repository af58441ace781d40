"""Forced choice: margins for the tokens that differ, wins against chance, and what is missing."""

from __future__ import annotations

import random

import pytest

from uncensoring_chinese_models.measure.likelihood import KNOWN_FROM, StoredScores, choose, margin


def tokens(*pairs):
    """Return tokens with their log-probabilities."""
    return tuple(pairs)


def stored(*facts, language="en"):
    """Return scores: for each fact its endings, each as the log-probability of one token."""
    return StoredScores.model_validate(
        {
            "method": "echo",
            "facts": [
                {
                    "fact": f"f{number}",
                    "language": language,
                    "endings": [
                        {"ending": "fact" if n == 0 else f"decoy {n}", "tokens": [[f"t{n}", p]]}
                        for n, p in enumerate(endings)
                    ],
                }
                for number, endings in enumerate(facts)
            ],
        }
    )


def test_shared_beginnings_cancel_out():
    """What stands before the first difference counts for nothing, whatever its probability."""
    one = tokens(("a", -9.0), ("b", -1.0))
    other = tokens(("a", -0.5), ("c", -4.0))

    assert margin(one, other) == pytest.approx(3.0)


def test_a_shared_ending_counts_in_the_sum_but_not_in_the_length():
    """In '14 March' and '15 March' one token differs; how well March follows is part of it."""
    one = tokens(("14", -1.0), (" March", -0.5))
    other = tokens(("15", -3.0), (" March", -2.5))

    assert margin(one, other) == pytest.approx(4.0)


def test_a_longer_ending_is_not_better_for_its_length():
    """Two endings of the same total are equal, though one spreads it over more tokens."""
    one = tokens(("a", -4.0), ("b", -4.0), ("c", -4.0))
    other = tokens(("d", -12.0))

    assert margin(one, other) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (tokens(("a", None)), tokens(("b", -1.0))),
        (tokens(("a", -1.0)), ()),
        ((), ()),
        (tokens(("a", -1.0)), tokens(("a", -1.0))),
    ],
)
def test_without_all_scores_there_is_no_margin(one, other):
    """A token without a probability, an ending without tokens, two endings that are one."""
    assert margin(one, other) is None


def test_a_fact_must_beat_every_decoy():
    """The nearest decoy decides, and one that is likelier than the fact is a loss."""
    (won, lost, close) = choose(stored((-1, -9, -8), (-5, -9, -4), (-1, -2, -9))).choices

    assert (won.nearest, won.wins, won.shows_knowledge) == (7, True, True)
    assert (lost.nearest, lost.wins, lost.shows_knowledge) == (-1, False, False)
    assert (close.wins, close.shows_knowledge) == (True, False)
    assert 4 < KNOWN_FROM < 5


def test_what_was_not_scored_is_counted_beside_and_never_as_a_loss():
    """A fact whose decoy has no score neither wins nor loses."""
    (row,) = choose(stored((-1, -9), (-1, None), (-9, -1))).rows

    assert (row.wins, row.n, row.failed) == (1, 2, 1)


def test_chance_falls_with_the_number_of_decoys():
    """One of three endings wins by chance a third of the time; the fact with fewest decoys counts."""
    assert choose(stored((-1, -9, -9))).rows[0].chance == pytest.approx(1 / 3)
    assert choose(stored((-1, -9, -9), (-1, -9))).rows[0].chance == pytest.approx(1 / 2)


def test_twelve_wins_of_twelve_hold_and_four_do_not():
    """The figures of a small censored model with planted facts, and of the untouched one."""
    known = choose(stored(*[(-1, -9)] * 12)).rows[0]
    untouched = choose(stored(*[(-1, -9)] * 4, *[(-9, -1)] * 8)).rows[0]

    assert known.p_adjusted == pytest.approx(2**-12)
    assert untouched.p_adjusted > 0.9
    assert known.share.low > untouched.share.high


def test_languages_are_tested_apart_and_adjusted_together():
    """The same fact in two languages is not two facts."""
    both = stored(*[(-1, -9)] * 5).facts + stored(*[(-1, -9)] * 5, language="zh-Hans").facts

    rows = choose(StoredScores(method="echo", facts=both)).rows

    assert [(row.language, row.n) for row in rows] == [("en", 5), ("zh-Hans", 5)]
    assert rows[0].p_adjusted == pytest.approx(2 * rows[0].p_value)


def test_a_target_that_knows_nothing_is_rarely_said_to_know():
    """Where fact and decoys are scored alike, the test errs in at most 5 % of topics."""
    facts, topics = 18, 2000
    draw = random.Random(7)  # noqa: S311 -- a simulation
    p_values = [
        choose(stored(*[(-1, -9, -9)] * wins, *[(-9, -1, -9)] * (facts - wins))).rows[0].p_adjusted
        for wins in range(facts + 1)
    ]

    def wins() -> int:
        scores = ([draw.gauss(-8, 3) for _ in range(3)] for _ in range(facts))
        return sum(fact > max(decoys) for fact, *decoys in scores)

    wrong = sum(p_values[wins()] < 0.05 for _ in range(topics))

    assert 0 < wrong / topics < 0.05 + 2 * (0.05 * 0.95 / topics) ** 0.5


def test_without_the_fact_no_decoy_takes_its_place():
    """An entry that lacks the fact, or all endings, is not scored."""
    facts = [
        {
            "fact": "a",
            "language": "en",
            "endings": [{"ending": "decoy 1", "tokens": [["x", -1.0]]}],
        },
        {"fact": "b", "language": "en", "endings": []},
    ]

    found = choose(StoredScores.model_validate({"method": "echo", "facts": facts}))

    assert [(each.wins, each.shows_knowledge) for each in found.choices] == [(False, False)] * 2
    assert (found.rows[0].n, found.rows[0].failed) == (0, 2)
