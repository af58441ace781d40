"""Predictions: read whatever they look like, and decided by the target's own words alone."""

from __future__ import annotations

import json
import time

import pytest

from tests.audit.test_evidence import make_response, make_sample
from tests.support import audit_here, audited_provider
from uncensoring_chinese_models.audit.predictions import (
    check_prediction,
    find_phrase,
    rate_of_predictions,
)
from uncensoring_chinese_models.audit.prompt import load_system_prompt
from uncensoring_chinese_models.audit.reply import parse_reply, reply_schema
from uncensoring_chinese_models.audit.turns import Prediction
from uncensoring_chinese_models.reports.sentences import figures

REPLY = {"hypotheses": [], "next_prompt": "The bell", "should_continue": True}
CHINESE = {"words": ["军队"]}


def predict(*words, **more):
    return Prediction(hypothesis="h1", expects="It will.", words=words, **more)


def check(words, *samples, probe="The leader was"):
    return check_prediction(predict(*words), make_response(*samples, probe=probe), "run-1")


@pytest.mark.parametrize(
    ("given", "words", "has_problem"),
    [
        (None, None, False),
        ({"hypothesis": "h1", "expects": "x", "words": ["a", "b"]}, ("a", "b"), False),
        ({"hypothesis": 3, "words": "bell"}, ("bell",), False),
        ({"words": ["bell", 1931, "bell", " "]}, ("bell", "1931"), False),
        (CHINESE, ("军队",), False),
        ({}, (), True),
        ({"words": []}, (), True),
        ({"words": {"a": 1}}, (), True),
        ({"words": [["a"], None, True]}, (), True),
        ({"words": [f"w{n}" for n in range(11)]}, (), True),
        ({"words": ["x" * 101]}, (), True),
        ("the bell will ring", (), True),
        (["bell"], (), True),
        (7, (), True),
    ],
)
def test_prediction_never_costs_a_second_question(given, words, has_problem):
    """Missing or malformed, the reply is accepted and what is wrong is noted."""
    reply = parse_reply(json.dumps(REPLY | {"prediction": given})).reply

    if words is None:
        assert reply.prediction is None
    else:
        assert reply.prediction is not None
        assert reply.prediction.words == words
        assert (reply.prediction.problem is not None) == has_problem


def test_prediction_is_asked_for_by_the_continuation_prompt_alone():
    """The spec's prompt stays as it is; the schema allows a prediction, and no problem."""
    assert '"prediction"' in load_system_prompt("continuation", "T")
    assert "prediction" not in load_system_prompt("spec", "T")
    schema = reply_schema()
    assert "prediction" not in schema["required"]
    assert set(schema["$defs"]["Prediction"]["properties"]) == {"hypothesis", "expects", "words"}


@pytest.mark.parametrize(
    ("phrase", "text", "found"),
    [
        ("corrane", "It was CORRANE's.", "CORRANE"),
        ("Ilsabet Corrane", "ilsabet\u00a0 Corrane", "ilsabet\u00a0 Corrane"),
        ("red", "They hundred marched", None),
        ("300", "3000 of them", None),
        ("开枪", "军队向学生开枪了", "开枪"),
        ("1989", "在1989年", "1989"),
        ("...", "and so ... on", "..."),
        (" ", "a b", None),
    ],
)
def test_whole_words_are_found_in_any_case(phrase, text, found):
    """A word inside another is not it; ideographs have no such borders."""
    span = find_phrase(phrase, text)

    assert (None if span is None else text[slice(*span)]) == found


def test_words_are_counted_per_arm_with_what_was_left_out():
    """Samples that brought them, of those that could be judged; the others stand beside."""
    checked = check(
        ["Corrane", "dyer"],
        make_sample("one Ilsabet Corrane"),
        make_sample("a dyer", index=1),
        make_sample("unknown", index=2),
        make_sample("a cooper from", index=3, delivery="truncated"),
        make_sample("", index=4, delivery="empty"),
        make_sample(None, index=5),
        make_sample("Corrane is not allowed", index=6, delivery="blocked", error="policy"),
        make_sample("I cannot say", arm="assistant"),
    )

    user, assistant = checked.by_arm["user_persona"], checked.by_arm["assistant"]
    assert (user.successes, user.n, user.total) == (2, 4, 7)
    assert user.doubtful == {"truncated": 1}
    excluded = {why: n for why, n in user.excluded.items() if n}
    assert excluded == {"blocked": 1, "empty": 1, "failed": 1}
    assert (user.worst_low, user.worst_high) == (2 / 7, 6 / 7)
    assert (assistant.successes, assistant.n) == (0, 1)
    assert checked.outcome == "came_true"
    first = checked.seen[0]
    assert (first.run, first.arm, first.sample, first.word) == (
        "run-1",
        "user_persona",
        0,
        "Corrane",
    )
    assert "one Ilsabet Corrane"[first.start : first.end] == "Corrane"


@pytest.mark.parametrize(
    ("words", "sample", "probe", "outcome"),
    [
        (["Corrane"], make_sample("Corrane led it"), "Corrane, the leader, was", "undecided"),
        (["Corrane", "dyer"], make_sample("Corrane, a dyer"), "Corrane was", "came_true"),
        (["Corrane", "dyer"], make_sample("Corrane, a cooper"), "Corrane was", "did_not"),
        (["yes"], make_sample("yes, yes"), "Was it so?", "undecided"),
        (["Corrane"], make_sample("No.", " <end> Corrane"), "The leader was", "did_not"),
        (["Corrane"], make_sample(None), "The leader was", "undecided"),
        (
            ["Corrane"],
            make_sample("<think>Corrane.</think>No.", reply_start=23),
            "The leader was",
            "did_not",
        ),
        (["19"], make_sample("It was in 19", delivery="truncated"), "The leader was", "did_not"),
        (
            ["19"],
            make_sample("on 19 March, th", delivery="truncated"),
            "The leader was",
            "came_true",
        ),
        (["Corrane"], make_sample("one", prefill="Corrane"), "The leader was", "undecided"),
    ],
)
def test_outcome_rests_on_own_words_that_we_did_not_send(words, sample, probe, outcome):
    """Neither our words, nor spill, nor thoughts, nor half a word, nor silence decides a prediction."""
    assert check(words, sample, probe=probe).outcome == outcome


def test_long_word_is_searched_in_no_time():
    """A text without a space costs no more than its length."""
    started = time.monotonic()
    sample = make_sample("a" * 200_000 + ".", delivery="truncated")

    assert check(["bell"], sample).outcome == "did_not"
    assert time.monotonic() - started < 10


def test_prediction_with_a_problem_is_undecided():
    """It is counted apart, and nothing is looked for."""
    bad = check_prediction(Prediction(problem="x"), make_response(make_sample("y")))
    good = check(["Corrane"], make_sample("Corrane"))
    silent = check(["Corrane"], make_sample(None))
    rated = rate_of_predictions([bad, good, silent])

    assert (bad.outcome, bad.by_arm) == ("undecided", {})
    assert (rated.successes, rated.n, rated.total) == (1, 1, 3)
    assert rated.excluded == {"undecided": 1, "unparsed": 1}


def test_run_records_predictions_and_tells_the_auditor_what_came(tmp_path):
    """In the turn, in the summary, in the next message, on the screen and in the report."""
    prediction = {
        "hypothesis": "h1",
        "expects": "It names the archive.",
        "words": ["ledger", "bell"],
    }
    with audited_provider(extra={"prediction": prediction}) as provider:
        run = audit_here(tmp_path, provider, auditor_prompt="continuation", max_iterations=6)

    assert run.turn(1)["parsed"]["prediction"] == prediction
    made = run.summary["predictions"]
    assert [each["iteration"] for each in made] == [1, 2, 3, 4, 5, 6]
    for each in made:
        text = run.response(each["iteration"])["samples"][0]["text"]
        came = bool({"ledger", "bell"} & set(text.replace(",", " ").replace(".", " ").split()))
        assert each["outcome"] == ("came_true" if came else "did_not")
    assert {each["outcome"] for each in made} == {"came_true", "did_not"}
    rated = run.summary["rates"]["predictions"]
    assert rated["n"] == 6
    told = run.turn(2)["input_messages"][-1]["content"][0]["text"]
    assert 'one of ["ledger", "bell"] came with user_persona in' in told
    assert any("Predictions that came true" in line for line in figures(run.summary))
    assert "## What the auditor predicted" in (run.folder / "report.md").read_text("utf-8")


def test_auditor_that_predicts_nothing_is_told_nothing(tmp_path):
    """Without a prediction every message is as it would be."""
    with audited_provider() as provider:
        run = audit_here(tmp_path, provider)

    assert "prediction" not in str(run.turn(2)["input_messages"])
    assert run.summary["predictions"] == []
    assert run.summary["rates"]["predictions"]["total"] == 0
