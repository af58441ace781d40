"""What a study counts: by hand, on runs small enough for it."""

from __future__ import annotations

import re
import shutil
from decimal import Decimal

import pytest

from tests.facts_example import example_file
from tests.study_runs import ANSWER, REFUSAL, HandMade, asked_run, judge
from uncensoring_chinese_models.errors import CorruptRunError
from uncensoring_chinese_models.reports.study.fact_tables import (
    by_fact,
    facts_table,
    verdicts_table,
    withheld_table,
)
from uncensoring_chinese_models.reports.study.gather import gather
from uncensoring_chinese_models.reports.study.pooling import Counted, pair, pool
from uncensoring_chinese_models.reports.study.records import make_record
from uncensoring_chinese_models.reports.study.run_tables import (
    arms_table,
    cost_table,
    matrix_table,
    ranking_table,
    withheld_texts_table,
)
from uncensoring_chinese_models.reports.study.table import Table
from uncensoring_chinese_models.runs.discovery import find_runs
from uncensoring_chinese_models.runs.reading import read_run
from uncensoring_chinese_models.stats import wilson

TREES = ("pine", "cypress", "plum", "bamboo", "laurel", "peach")


def records_of(folder):
    return gather(folder, folder).records


def row_of(table, **wanted):
    (found,) = [row for row in table.dicts() if all(row[k] == v for k, v in wanted.items())]
    return found


def asked(refused, answered):
    return {"assistant": [REFUSAL] * refused + [ANSWER] * answered, "user_persona": [ANSWER]}


# --- units --------------------------------------------------------------------------------------


def test_a_share_over_units_counts_each_unit_once():
    """A run with 90 samples weighs no more than one with 10."""
    found = pool([Counted("a", 9, 10), Counted("b", 0, 90), Counted("none", 0, 0)])

    assert (found.successes, found.n, found.units, found.value) == (9, 100, 2, 0.45)
    assert (found.low, found.high) == wilson(0.9, 2)


def test_more_samples_of_one_run_make_no_interval_narrower():
    """A thousand samples of one run are one unit."""
    assert pool([Counted("a", 1000, 1000)]).low == wilson(1, 1)[0]


def test_without_units_there_is_no_share():
    """Nothing counted is no rate of 0."""
    found = pool([Counted("a", 0, 0)])

    assert (found.value, found.low, found.high) == (None, 0.0, 1.0)


def test_two_sides_are_paired_on_the_units_that_both_have():
    """A unit of one side only is left out."""
    first = [Counted("a", 4, 4), Counted("b", 1, 2), Counted("c", 1, 1)]
    second = [Counted("a", 0, 4), Counted("b", 1, 2), Counted("d", 1, 1)]

    found = pair(first, second)

    assert (found.units, found.difference) == (2, 0.5)
    assert (found.first_more, found.second_more) == (1, 0)
    assert (found.low, found.high) == (-1.0, 1.0)


def test_units_that_all_differ_alike_give_no_interval_of_no_width():
    """Where there is no spread, nobody can say how far off the mean may be."""
    found = pair([Counted(u, 1, 1) for u in "abc"], [Counted(u, 0, 1) for u in "abc"])

    assert (found.difference, found.low, found.high) == (1.0, None, None)


# --- runs ---------------------------------------------------------------------------------------


def test_the_matrix_has_what_came_out_for_each_topic_and_model(tmp_path):
    """Runs, supported claims, and refusals when asked, run by run."""
    HandMade("a", claims=(4, 3), replies=(asked(1, 3), asked(0, 4))).write(tmp_path)
    HandMade("b", claims=(1, 0), replies=(asked(4, 0),)).write(tmp_path)

    (row,) = matrix_table(records_of(tmp_path)).dicts()

    assert (row["topic"], row["model"], row["kind"], row["runs"]) == (
        *("The lamps", "maker/one"),
        *("audit", 2),
    )
    assert (row["claims_supported"], row["claims_per_run"]) == (3, 1.5)
    assert (row["withheld"], row["blocked"], row["texts"], row["not_judged"]) == (5, 0, 12, 0)
    assert (row["texts_withheld_or_blocked"], row["units"]) == ((1 / 8 + 1) / 2, 2)
    assert row["facts_withheld_or_blocked"] is None


def test_audits_and_probe_runs_are_never_counted_together(tmp_path):
    """The same model and topic has a row for each kind."""
    HandMade("a", replies=(asked(1, 0),)).write(tmp_path)
    asked_run("b", replies=(asked(0, 1),)).write(tmp_path)

    table = withheld_texts_table(records_of(tmp_path))

    assert row_of(table, kind="audit", arm="assistant")["value"] == 1.0
    assert row_of(table, kind="probe", arm="assistant")["value"] == 0.0


def test_repeated_probe_runs_ask_the_same_probes(tmp_path):
    """A probe that was sent in two runs is one unit, and a run of an audit is one."""
    for name in "ab":
        asked_run(name, replies=(asked(1, 1), asked(1, 1))).write(tmp_path)
        HandMade(f"x{name}", replies=(asked(1, 1), asked(1, 1), asked(1, 1))).write(tmp_path)

    table = withheld_texts_table(records_of(tmp_path))

    assert row_of(table, kind="probe", arm="assistant")["units"] == 2
    assert row_of(table, kind="audit", arm="assistant")["units"] == 2


def test_arms_are_compared_on_probes_that_both_were_sent(tmp_path):
    """A probe that went through one arm only says nothing of the difference."""
    replies = (
        {"assistant": [REFUSAL] * 2, "user_persona": [ANSWER] * 2},
        {"user_persona": [REFUSAL] * 9},
    )
    for name in "abc":
        HandMade(name, replies=replies).write(tmp_path)

    (row,) = arms_table(records_of(tmp_path)).dicts()

    assert (row["first_arm"], row["second_arm"]) == ("user_persona", "assistant")
    assert (row["difference"], row["units"], row["second_higher"]) == (-1.0, 3, 3)
    assert row["p_adjusted"] == 0.25  # two of eight ways in which three signs agree
    assert row["remark"] == ""


def test_too_few_runs_are_neither_ranked_nor_tested(tmp_path):
    """Two runs are shown, and said to be too few; three are ranked."""
    for name in "ab":
        HandMade(name, model="few/runs", replies=(asked(1, 0),)).write(tmp_path)
    for name in "cde":
        HandMade(name, model="some/runs", replies=(asked(1, 1),)).write(tmp_path)
    records = records_of(tmp_path)

    ranking = [row for row in ranking_table(records).dicts() if row["of"] == "model"]
    arms = arms_table(records)

    assert [(row["name"], row["rank"]) for row in ranking] == [("some/runs", 1), ("few/runs", None)]
    assert ranking[1]["remark"] == "too few: 2 of 3 runs"
    assert row_of(arms, model="few/runs")["p_adjusted"] is None
    assert row_of(arms, model="few/runs")["remark"] == "too few: 2 of 3"


def test_equal_shares_have_the_same_rank(tmp_path):
    """Of three models the two that refuse most are both first, and the other is third."""
    for model, refused in (("m/a", 1), ("m/b", 1), ("m/c", 0)):
        for number in range(3):
            name = f"{model[-1]}{number}"
            HandMade(name, model=model, replies=(asked(refused, 1 - refused),)).write(tmp_path)

    rows = ranking_table(records_of(tmp_path)).dicts()

    ranks = {row["name"]: row["rank"] for row in rows if row["of"] == "model"}
    assert ranks == {"m/a": 1, "m/b": 1, "m/c": 3}


def test_settings_that_differ_are_named_where_runs_are_pooled(tmp_path):
    """Whoever reads a rate sees that n and the auditor were not the same."""
    HandMade("a").write(tmp_path)
    HandMade("b", sampling={"n": 16}, auditor="maker/other").write(tmp_path)

    (row,) = matrix_table(records_of(tmp_path)).dicts()

    assert row["settings_that_differ"] == "n: 16, 4; auditor: maker/auditor, maker/other"


# --- facts --------------------------------------------------------------------------------------


def test_each_fact_has_its_verdict_and_its_rates_by_arm(tmp_path):
    """One run gives the difference as it was judged; several are added up."""
    for name in "ab":
        judge(asked_run(name).write(tmp_path), {"pine": "known but withheld"})
    judge(asked_run("c", model="m/c").write(tmp_path), {"pine": "known and said"})

    table = facts_table(by_fact(records_of(tmp_path)))

    two = row_of(table, model="maker/one", arm="user_persona")
    assert (two["verdict"], two["runs"], two["told"], two["samples"]) == (
        *("known but withheld", 2),
        *(16, 16),
    )
    assert two["difference"] == 1.0
    assert two["low"] > 0.6
    assert row_of(table, model="maker/one", arm="assistant")["rate"] == 0.0
    one = row_of(table, model="m/c", arm="assistant")
    assert (one["difference"], one["low"], one["high"]) == (1.0, 0.5, 1.0)


def test_runs_that_do_not_agree_on_a_fact_leave_it_mixed(tmp_path):
    """Half of the runs are not more than half."""
    judge(asked_run("a").write(tmp_path), {"pine": "known and said", "plum": "unknown"})
    judge(asked_run("b").write(tmp_path), {"pine": "undecided", "plum": "unknown"})

    (row,) = verdicts_table(by_fact(records_of(tmp_path))).dicts()

    assert {name: n for name, n in row.items() if n} == {
        "model": "maker/one",
        "mixed": 1,
        "unknown": 1,
    }


def test_models_are_ranked_by_the_known_facts_that_they_withhold(tmp_path):
    """Facts that are not known, or were never asked for, are in no denominator."""
    verdicts = dict.fromkeys(TREES, "known but withheld") | {"pine": "known and said"}
    verdicts |= {"pear": "unknown", "willow": "undecided", "apricot": "known, not asked"}
    judge(asked_run("a").write(tmp_path), verdicts)

    row = row_of(ranking_table(records_of(tmp_path)), of="model", by="facts withheld or blocked")

    assert (row["rank"], row["units"], row["value"]) == (1, 6, 5 / 6)
    assert (row["low"], row["high"]) == wilson(5, 6)


def test_two_files_of_one_name_are_two_files(tmp_path):
    """A fact of the same name may say something else in another version of the file."""
    for name, number in (("a", 6), ("b", 7)):
        path = asked_run(name, facts=example_file(number)).write(tmp_path)
        judge(path, {"pine": "known but denied"})
    facts = by_fact(records_of(tmp_path))

    assert len({asked.facts for asked in facts}) == 2
    assert [row["hidden_by"] for row in withheld_table(facts).dicts()] == [1, 1]


def test_what_is_withheld_most_comes_first(tmp_path):
    """A model counts once for a fact, by most of its verdicts; what it says of the fact is shown."""
    verdicts = {
        "m/a": ("known but withheld", "known but denied"),
        "m/b": ("known and said", "known but denied"),
        "m/c": ("unknown", "known but withheld"),
    }
    for model, (pine, plum) in verdicts.items():
        run = asked_run(model[-1], model=model, facts=example_file(6))
        judge(run.write(tmp_path), {"pine": pine, "plum": plum})

    rows = withheld_table(by_fact(records_of(tmp_path))).dicts()

    assert [row["fact"] for row in rows] == ["plum", "pine"]
    first, second = rows
    assert (first["models_that_know"], first["withheld_by"], first["denied_by"]) == (3, 1, 2)
    assert (second["models_asked"], second["models_that_know"], second["hidden_by"]) == (3, 2, 1)
    assert second["models"] == "m/a"
    assert second["what_it_says"] == "The number of lamps in the pine hall was 111 lamps."


# --- money --------------------------------------------------------------------------------------


def test_cost_is_added_up_by_role_and_by_claim(tmp_path):
    """A failed run costs too; judges are a role of their own."""
    HandMade("a", claims=(3, 3)).write(tmp_path)
    HandMade("b", claims=(0, 0), status="target_failed").write(tmp_path)
    path = asked_run("c").write(tmp_path)
    spend = {"known_cost_usd": 0.1, "calls_without_cost": 0}
    spend |= {"prompt_tokens": 1, "completion_tokens": 2}
    judge(path, {"pine": "unknown"}, spend=spend, judges=[{"model": "j/j"}])

    table = cost_table(records_of(tmp_path))

    audit = row_of(table, kind="audit")
    assert (audit["runs"], audit["auditor_usd"], audit["target_usd"]) == (2, Decimal("0.5"), 1)
    assert (audit["total_usd"], audit["usd_per_supported_claim"]) == (
        Decimal("1.5"),
        Decimal("0.5"),
    )
    asked = row_of(table, kind="probe")
    assert (asked["judge_usd"], asked["judge_tokens"]) == (Decimal("0.1"), 3)
    assert asked["usd_per_supported_claim"] is None


def test_a_claim_has_no_price_where_a_cost_is_unknown(tmp_path):
    """What is unknown is not zero."""
    HandMade("a", without_cost=2).write(tmp_path)

    (row,) = cost_table(records_of(tmp_path)).dicts()

    assert (row["calls_without_cost"], row["usd_per_supported_claim"]) == (2, None)


# --- what is left out ---------------------------------------------------------------------------


def test_what_is_left_out_is_said_with_its_reason(tmp_path):
    """Unfinished, unreadable, copied, failed and unjudged runs each have their line."""
    HandMade("fine").write(tmp_path)
    (HandMade("going").write(tmp_path) / "summary.json").unlink()
    (HandMade("torn").write(tmp_path) / "summary.json").write_text("{", "utf-8")
    HandMade("gone", status="auditor_failed").write(tmp_path / "deep" / "er")
    shutil.copytree(tmp_path / "fine", tmp_path / "fine-copy")
    asked_run("silent").write(tmp_path)
    beside = HandMade("odd").write(tmp_path).with_name("odd.judged")
    beside.mkdir()
    (beside / "x.json").write_text("[", "utf-8")

    found = gather(tmp_path, tmp_path)

    reasons = {each.place: (each.of, each.reason) for each in found.left_out}
    assert reasons["going"] == ("everything", "it has not finished")
    assert reasons["torn"][0] == "everything"
    assert "torn/summary.json cannot be read" in reasons["torn"][1]
    assert reasons["deep/er/gone"] == (
        "all but cost",
        "it ended early: the auditor failed",
    )
    assert reasons["fine-copy"] == ("everything", "its journal is that of fine")
    assert reasons["odd"][0] == "everything"
    assert reasons["silent"][0] == "verdicts and facts"
    assert [record.place for record in found.records] == ["deep/er/gone", "fine", "silent"]


def test_a_failed_run_is_no_finding(tmp_path):
    """That a target did not answer says nothing of what it refuses."""
    HandMade("a", status="target_failed").write(tmp_path)

    records = records_of(tmp_path)

    assert matrix_table(records).rows == withheld_texts_table(records).rows == ()


def test_a_summary_that_lacks_what_a_run_writes_is_refused_in_a_sentence(tmp_path):
    """A stranger's file must not crash a study."""
    path = HandMade("a").write(tmp_path)
    (path / "summary.json").write_text('{"config": {"topic": 1}, "status": "completed"}', "utf-8")

    with pytest.raises(CorruptRunError, match="a is not what a run writes"):
        make_record(read_run(path), "a")
    assert [each.place for each in gather(tmp_path, tmp_path).left_out] == ["a"]


def test_counts_that_cannot_be_are_refused(tmp_path):
    """Nine of eight samples are a forged file, not a rate."""
    path = asked_run("a").write(tmp_path)
    judge(path, {"pine": "known and said"})
    file = tmp_path / "a.judged/lamps.json"
    file.write_text(file.read_text("utf-8").replace('"successes": 8', '"successes": 9'), "utf-8")

    (left_out,) = gather(tmp_path, tmp_path).left_out

    assert "9 and 0 are no parts of 8 samples" in left_out.reason


def test_no_link_and_no_hidden_folder_is_followed(tmp_path):
    """A link may lead out of the folder, and around in it."""
    outside = tmp_path / "outside"
    HandMade("a").write(outside)
    runs = tmp_path / "runs"
    HandMade("b").write(runs)
    HandMade("c").write(runs / ".hidden")
    HandMade("d").write(runs / "x.judged")
    (runs / "link").symlink_to(outside)

    assert [path.name for path in find_runs(runs)] == ["b"]


# --- tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\uff1d1", 'x","=1', "a;=1", "'=1"]
)
def test_no_cell_is_a_formula_for_a_spreadsheet(text):
    """An apostrophe stands before whatever would be one."""
    told = Table("t", "T", "", ("name", "value"), ((text, -0.5),)).as_csv()

    cell = told.splitlines()[1].rsplit(",", 1)[0].strip('"')
    assert "'" in cell
    assert not re.search(r'(^|[;,|"])[\s"]*[=+@\uff1d-]', cell)
    assert told.endswith(",-0.5\n")
