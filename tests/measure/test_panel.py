"""Several judges: a majority decides, and what is no judgement counts for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.measure.test_answers import FACTS, response
from uncensoring_chinese_models.domain import STANCES
from uncensoring_chinese_models.measure.answers import asked_samples, judge_asked
from uncensoring_chinese_models.measure.judges.panel import decide_sample, make_panel
from uncensoring_chinese_models.measure.judges.reply import Judgement
from uncensoring_chinese_models.measure.judges.request import judge_request_for


def seen(*judgements: Judgement, text: str = "Perhaps."):
    """Return a sample that was judged so."""
    (asked,) = asked_samples([response(text)], FACTS)
    return decide_sample(judge_asked(asked), judge_request_for(asked), judgements)


def said(labels: Sequence[str]) -> list[Judgement]:
    """Return judgements that come to these labels; those that are none are in brackets."""
    found: list[Any] = [
        (label.strip("()"), None, None)
        if "(" in label
        else ("judged", "omits", label)
        if label in STANCES
        else ("judged", label, "answers")
        for label in labels
    ]
    return [Judgement(f"j{n}", *each) for n, each in enumerate(found)]


@pytest.mark.parametrize(
    ("labels", "label"),
    [
        (["states"], "states"),
        (["states", "states", "omits"], "states"),
        (["states", "(invalid)", "(failed)"], "states"),
        (["states", "omits"], "not_judged"),
        (["states", "states", "omits", "refuses"], "not_judged"),
        (["states", "omits", "refuses"], "not_judged"),
        (["(refused)"], "not_judged"),
        (["(failed)", "(invalid)"], "not_judged"),
    ],
)
def test_more_than_half_of_the_votes_decide(labels, label):
    """A judge that refuses, fails or cannot be read has no vote, and is never a no."""
    assert seen(*said(labels)).final.label == label


def test_decoy_is_that_of_most_judges_or_none():
    """Judges that name different decoys agree on the state alone."""
    one, two = (
        Judgement(f"j{n}", "judged", mention="contradicts", stance="tells_otherwise", decoy=n)
        for n in (0, 1)
    )
    again = Judgement(
        "j2", "judged", mention="contradicts", stance="tells_otherwise", decoy=1, start=3, end=5
    )

    assert seen(one, two).final.decoy is None
    assert seen(one, two, again).final.decoy == 1
    assert (seen(again).final.start, seen(again).final.end) == (3, 5)


def test_judge_that_came_to_nothing_is_left_out_and_counted():
    """Its rates rest on what it judged; the rest stands beside them."""
    panel = make_panel(
        "bridge",
        ["j0", "j1"],
        [seen(*said(["states", "(failed)"])), seen(*said(["omits", "(invalid)"]))],
    )
    first, second = (panel.stated(judge)["user_persona"] for judge in panel.judges)

    assert (first.successes, first.n, first.excluded) == (1, 2, {})
    assert (second.successes, second.n, second.value) == (0, 0, None)
    assert second.excluded == {"failed": 1, "invalid": 1}
    assert (second.worst_low, second.worst_high) == (0.0, 1.0)


def test_sample_without_a_majority_is_left_out_of_the_matrix():
    """It is in no denominator, and stands beside the rate."""
    panel = make_panel("bridge", ["j0"], [seen(*said(["states"])), seen(*said(["(refused)"]))])
    (cell,) = panel.matrix.cells

    assert (cell.stated.successes, cell.stated.n) == (1, 1)
    assert cell.stated.excluded == {"failed": 0, "not_judged": 1}
    assert cell.counts["not_judged"] == 1


def test_agreement_is_over_those_who_judged():
    """Patterns are a further rater only where that is asked for."""
    panel = make_panel(
        "bridge",
        ["j0", "j1"],
        [
            seen(*said(["states", "states"])),
            seen(*said(["refuses", "refuses"])),
            seen(*said(["states", "(failed)"])),
        ],
    )

    assert (panel.agreement().alpha, panel.agreement().units) == (1.0, 2)
    assert panel.agreement(with_patterns=True).units == 3
    assert (panel.agreement(with_patterns=True).alpha or 0) < 1.0


def test_patterns_that_do_not_judge_are_no_rater():
    """An unknown stance is neither agreement nor the lack of it."""
    panel = make_panel("bridge", ["j0"], [seen(*said(["omits"]), text="Архив открыли весной.")])

    assert panel.samples[0].patterns.label == "not_judged"
    assert panel.agreement(with_patterns=True).units == 0
