"""What a ranking of the study must not be fooled by: blocks, losses, copies, and runs cut short."""

from __future__ import annotations

import json

import pytest

from tests.study_runs import ANSWER, BLOCKED, LOST, REFUSAL, HandMade, asked_run, judge
from uncensoring_chinese_models.reports.study.fact_tables import by_fact, withheld_table
from uncensoring_chinese_models.reports.study.gather import gather
from uncensoring_chinese_models.reports.study.run_tables import (
    arms_table,
    matrix_table,
    ranking_table,
    runs_table,
    withheld_texts_table,
)
from uncensoring_chinese_models.reports.study.writing import write_study

TREES = ("pine", "cypress", "plum", "bamboo", "laurel", "peach")


def records_of(folder):
    return gather(folder, folder).records


def three(folder, model, *texts, **changes):
    """Write three runs of a model that is asked and says these texts."""
    for number in range(3):
        name = f"{model}{number}{len(texts)}"
        replies = ({"assistant": list(texts), "user_persona": [ANSWER]},)
        HandMade(name, model=model, replies=replies, **changes).write(folder)


def ranked(folder, of="model"):
    return {
        row["name"]: row for row in ranking_table(records_of(folder)).dicts() if row["of"] == of
    }


# --- blocked by the host ------------------------------------------------------------------------


def test_a_host_that_blocks_is_not_the_most_open(tmp_path):
    """Nine of ten questions blocked weigh more than two of ten refused."""
    three(tmp_path, "blocking", *[BLOCKED] * 9, ANSWER)
    three(tmp_path, "refusing", *[REFUSAL] * 2, *[ANSWER] * 8)

    rows = ranked(tmp_path)

    blocking, refusing = rows["blocking"], rows["refusing"]
    assert (blocking["rank"], blocking["by"]) == (1, "texts withheld or blocked")
    assert refusing["rank"] == 2
    assert [blocking["value"], refusing["value"]] == pytest.approx([0.9, 0.2])
    assert (blocking["blocked"], blocking["not_judged"], blocking["samples"]) == (27, 0, 30)


def test_the_matrix_and_the_arms_say_what_was_blocked(tmp_path):
    """Every sample that was sent is in one column."""
    texts = (BLOCKED, LOST, "", REFUSAL, ANSWER, ANSWER, ANSWER)
    three(tmp_path, "m", *texts)

    records = records_of(tmp_path)
    (row,) = matrix_table(records).dicts()

    assert [row[name] for name in ("withheld", "blocked", "texts", "not_judged")] == [3, 3, 12, 6]
    assert row["texts_withheld_or_blocked"] == pytest.approx(2 / 5)
    (asked,) = [row for row in withheld_texts_table(records).dicts() if row["arm"] == "assistant"]
    assert (asked["withheld"], asked["texts"], asked["blocked"], asked["not_judged"]) == (
        3,
        12,
        3,
        6,
    )
    assert asked["value"] == 1 / 4
    assert {row["measure"] for row in arms_table(records).dicts()} == {"withheld"}


def blocked_sheet(path, verdicts, deliveries):
    """Judge a probe run in which each fact was asked for as often as there are deliveries."""
    judged = [
        {"fact": fact, "language": "en", "arm": "assistant", "delivery": delivery}
        | {"iteration": iteration, "sample": sample, "stance": "not_judged"}
        for iteration, fact in enumerate(verdicts, 1)
        for sample, delivery in enumerate(deliveries)
    ]
    judge(path, verdicts, judged=judged)
    return path


def change_cells(path, arm, **changes):
    """Change what judging made of an arm."""
    file = path.with_name(f"{path.name}.judged") / "lamps.json"
    told = json.loads(file.read_text("utf-8"))
    for cell in told["matrix"]["cells"]:
        cell.update(changes if cell["arm"] == arm else {})
    file.write_text(json.dumps(told), "utf-8")


@pytest.mark.parametrize(
    ("deliveries", "expected"),
    [(["blocked"] * 5, 1.0), (["suspected_block"] * 5, 1.0), (["failed"] * 5, None)],
)
def test_known_facts_that_the_host_blocks_are_withheld(tmp_path, deliveries, expected):
    """Asked for and blocked is withheld by the host; asked for and lost is nothing."""
    verdicts = dict.fromkeys(TREES, "known, no answer")
    path = blocked_sheet(asked_run("a").write(tmp_path), verdicts, deliveries)
    change_cells(path, "assistant", stated={"successes": 0, "n": 0})

    (row,) = matrix_table(records_of(tmp_path)).dicts()

    assert row["facts_withheld_or_blocked"] == expected
    assert row["facts_blocked"] == (6 if expected else 0)
    rows = withheld_table(by_fact(records_of(tmp_path))).dicts()
    assert [row["blocked_by"] for row in rows] == ([1] * 6 if expected else [])
    assert [row["hidden_by"] for row in rows] == ([1] * 6 if expected else [])


def test_a_fact_that_is_mostly_blocked_is_withheld_whatever_the_rest_says(tmp_path):
    """One answer that slipped through nine blocks does not make it said, nor undecided."""
    verdicts = {"pine": "known and said", "plum": "undecided"}
    path = blocked_sheet(asked_run("a").write(tmp_path), verdicts, ["blocked"] * 9)
    change_cells(path, "user_persona", shows_knowledge=True)
    blocked_sheet(asked_run("b").write(tmp_path), {"peach": "unknown"}, ["blocked"] * 9)
    blocked_sheet(asked_run("c").write(tmp_path), {"fir": "known and said"}, ["blocked"])

    (row,) = matrix_table(records_of(tmp_path)).dicts()

    assert row["facts_blocked"] == 2  # nobody knows peach, and of fir 1 of 9 was blocked
    assert (row["facts_known"], row["facts_withheld_or_blocked"]) == (3, 2 / 3)


# --- what could not be read ---------------------------------------------------------------------


@pytest.mark.parametrize("lost", [LOST, "", "\u0e2b\u0e25\u0e2d\u0e14\u0e44\u0e1f"])
def test_whoever_was_not_heard_is_not_ranked(tmp_path, lost):
    """Failed, empty and unread texts may have been anything."""
    three(tmp_path, "heard", *[ANSWER] * 8, *[lost] * 2)
    three(tmp_path, "unheard", *[ANSWER] * 7, *[lost] * 3)

    rows = ranked(tmp_path)

    assert (rows["heard"]["rank"], rows["heard"]["remark"]) == (1, "")
    assert rows["unheard"]["rank"] is None
    assert rows["unheard"]["remark"] == "not judged: 9 of 30 samples"


def test_runs_of_which_nothing_could_be_read_count_as_unread(tmp_path):
    """A run without any text has no share, but its samples were sent."""
    three(tmp_path, "m", ANSWER)
    three(tmp_path, "m", LOST, LOST)

    row = ranked(tmp_path)["m"]

    assert (row["rank"], row["runs"], row["not_judged"], row["samples"]) == (None, 3, 6, 9)


def test_unranked_rows_are_drawn_hollow_with_their_reason(tmp_path):
    """The figure says why there is no rank."""
    three(tmp_path / "runs", "m", ANSWER, LOST)

    write_study(tmp_path / "runs")

    assert (
        "not judged: 0.50 of all"
        in (tmp_path / "runs.study/figures/ranking_models.svg").read_text()
    )


# --- units --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runs", "units"),
    [
        ([(1, {}), (1, {"max_tokens": 51}), (1, {"temperature": 0.2})], 1),
        ([(1, {}), (2, {}), (3, {})], 3),
        ([(None, {}), (None, {})], 2),
        ([(0, {}), (2**25, {})], 1),
    ],
)
def test_runs_that_share_draws_are_one_unit(tmp_path, runs, units):
    """Runs of one seed are one unit; seeds are sent modulo 2^25."""
    for number, (seed, sampling) in enumerate(runs):
        HandMade(f"r{number}", sampling={"seed": seed} | sampling).write(tmp_path)

    (row,) = matrix_table(records_of(tmp_path)).dicts()

    assert (row["runs"], row["units"]) == (len(runs), units)


def test_other_models_and_topics_are_other_draws(tmp_path):
    """The same seed says nothing about another model, or another question."""
    HandMade("a", sampling={"seed": 1}).write(tmp_path)
    HandMade("b", sampling={"seed": 1}, model="m/b").write(tmp_path)
    HandMade("c", sampling={"seed": 1}, topic="The moon").write(tmp_path)

    assert len({record.draw for record in records_of(tmp_path)}) == 3


# --- runs that ended early ----------------------------------------------------------------------


def test_runs_that_ended_early_are_named(tmp_path):
    """In the table of runs, on the page, and counted where they are counted with others."""
    runs = tmp_path / "runs"
    HandMade("whole").write(runs)
    HandMade("poor", status="budget").write(runs)
    HandMade("lost", status="target_failed").write(runs)

    records = records_of(runs)
    rows = {row["run"]: row["ended_early"] for row in runs_table(records).dicts()}
    page = write_study(runs)[0].read_text("utf-8")

    assert rows == {
        "whole": "",
        "poor": "the budget was spent",
        "lost": "the target failed",
    }
    (row,) = matrix_table(records).dicts()
    assert (row["runs"], row["ended_early"]) == (2, 1)
    assert ranked(runs)["maker/one"]["ended_early"] == 1
    assert "2 runs ended early: lost (the target failed), poor (the budget was spent)." in page
    (left_out,) = gather(runs, runs).left_out
    assert left_out.reason == "it ended early: the target failed"
