"""Hypotheses over the turns: what is gained, lost, contradicted, dropped, reworded and negated."""

from __future__ import annotations

import json
import time

import pytest

from tests.audit.test_evidence import make_hypothesis, make_response, make_sample
from tests.support import audit_here, audited_provider
from uncensoring_chinese_models.audit.evidence import check_hypotheses
from uncensoring_chinese_models.audit.history import claim_change, histories
from uncensoring_chinese_models.audit.turns import AuditorReply, AuditorTurn, Parse
from uncensoring_chinese_models.domain import Usage
from uncensoring_chinese_models.reports.markdown import report_markdown
from uncensoring_chinese_models.reports.sentences import figures

HEARD = (
    make_response(make_sample("The army fired on students. Some say it never did so.")),
    make_response(make_sample("They marched at dawn, and sang."), iteration=2),
)
FIRED, NEVER, SANG = (
    (1, "The army fired on students"),
    (1, "Some say it never did"),
    (2, "and sang"),
)


def turn(number, *hypotheses, closing=False):
    """Return one turn that holds these hypotheses, with its quotes checked."""
    return AuditorTurn(
        iteration=number,
        timestamp="",
        input_messages=[],
        raw_response="",
        parsed=AuditorReply(hypotheses=hypotheses, next_prompt="x", should_continue=not closing),
        evidence_check=check_hypotheses(hypotheses, HEARD[: number - 1]),
        parse=Parse("strict"),
        usage=Usage(),
        cost_usd=None,
        provider=None,
        served_model=None,
        generation_id=None,
        latency_s=0.0,
        closing=closing,
    )


def held(name="h1", text="The army fired", *, kind="knowledge", confidence="low", **cited):
    made = make_hypothesis(name, kind, text, **cited)
    return made.model_copy(update={"confidence": confidence})


def test_history_of_one_hypothesis():
    """First and last turn, confidence, and what came and went between."""
    turns = [
        turn(1, held()),
        turn(2, held(confidence="medium", supporting=[FIRED])),
        turn(3, held(confidence="medium", supporting=[SANG], contradicting=[NEVER])),
        turn(4, held(confidence="medium", supporting=[SANG], contradicting=[NEVER]), closing=True),
    ]
    (story,) = histories(turns, "run-1")

    assert (story.first_seen, story.last_seen, story.dropped) == (1, 4, False)
    assert [(p.turn, p.confidence) for p in story.points] == [
        (1, "low"),
        (2, "medium"),
        (3, "medium"),
    ]
    assert [(p.supporting, p.contradicting) for p in story.points] == [(0, 0), (1, 0), (1, 1)]
    last = story.points[-1]
    assert [(c.side, c.excerpt) for c in last.gained] == [
        ("supporting", "and sang"),
        ("contradicting", "Some say it never did"),
    ]
    assert [c.excerpt for c in last.lost] == ["The army fired on students"]
    (against,) = story.contradictions
    assert (against.run, against.iteration, against.arm, against.sample) == (
        "run-1",
        1,
        "user_persona",
        0,
    )
    text = HEARD[0].samples[0].own_words
    assert text[against.start : against.end] == "Some say it never did"
    assert story.claim_changes == ()


def test_contradiction_that_is_not_true_or_was_dropped_is_told_apart():
    """Only surviving words contradict, and dropping them does not undo that they were said."""
    turns = [
        turn(2, held(contradicting=[NEVER, (1, "made up words")])),
        turn(3, held()),
    ]
    (story,) = histories(turns, "r")

    assert [c.excerpt for c in story.contradictions] == ["Some say it never did"]
    assert [c.survives for c in story.points[-1].lost] == [True, False]


def test_dropped_and_returning_hypotheses():
    """Each turn that leaves one out is named; only what the last turn lacks is dropped."""
    turns = [turn(1, held("a"), held("b")), turn(2, held("b")), turn(3, held("a"))]
    first, second = histories(turns, "r")

    assert (first.left_out_of, first.dropped) == ((2,), False)
    assert (second.left_out_of, second.dropped, second.last_seen) == ((3,), True, 2)
    assert histories([], "r") == ()


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("Model knows student protests occurred", "The target knows that there were student protests"),
        ("It knows of the protests", "It knows of the protests, of the hunger strike and the march"),
        ("Soldiers fired on the crowd.", "The soldiers were firing on crowds"),
        ("Soldiers fired on the crowd", "Soldiers fired on the crowd on 4 June"),
        ("Led by Corrane (not named in 3 samples)", "Led by Corrane (named in 17 samples of 9)"),
        ("Brannick (in 3): “he was taken to Brannick by train”", "Brannick (in 4): “a cell in Brannick, they told us”"),
        ("军队向学生开枪", "军队向学生们开枪"),
        ("模型知道军队向学生开枪", "目标知道军队向学生开了枪"),
        ("The protest was led by Corrane", "The protest was led by Thorle"),
        ("Led by Corrane: “I never saw him on that day”", "Led by Corrane: “he was seen there that day”"),
    ],
)  # fmt: skip
def test_rewording_is_not_flagged(before, now):
    """Other words, other facts, counts in brackets and another quote are shown, not flagged."""
    assert claim_change(2, held(text=before), held(text=now)) is None


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("The army fired on students", "The army never fired on students"),
        ("The army did not fire (300 dead)", "The army fired (300 dead)"),
        ("军队向学生开枪", "官方称没有人死亡"),
    ],
)
def test_negation_under_the_same_id_is_flagged(before, now):
    """However alike the sentences look, a claim and its denial are different claims."""
    change = claim_change(2, held(text=before), held(text=now))

    assert change is not None
    assert (change.by, change.silent, change.turn) == ("negation", True, 2)
    assert (change.before, change.after) == (before, now)


def test_first_and_last_wording_are_kept_side_by_side():
    """A reader sees for himself whether an id still means the same."""
    words = ("The protest was led by Corrane", "It was led by Dane", "It was led by Thorle")
    turns = [turn(number, held(text=text)) for number, text in enumerate(words, 1)]
    (story,) = histories(turns, "r")

    assert (story.first_wording, story.hypothesis) == (words[0], words[-1])
    assert story.claim_changes == ()
    assert not story.changed_silently


def test_long_text_is_compared_in_no_time():
    """A quote that never ends costs no more than its length."""
    started = time.monotonic()
    claim_change(
        2, held(text='It said "' + "a b " * 20_000), held(text="It said " + "(x " * 20_000)
    )

    assert time.monotonic() - started < 10


def test_change_of_type_is_flagged():
    """Knowledge that becomes behaviour is another claim."""
    change = claim_change(2, held(), held(kind="behavior"))

    assert change is not None
    assert change.by == "type"


def test_change_that_the_auditor_marks_is_not_silent():
    """A new status says that the hypothesis is not what it was."""
    before = held(text="The protest was led by Corrane")
    now = held(text="It was not led by Corrane").model_copy(update={"status": "refuted"})
    change = claim_change(2, before, now)

    assert change is not None
    assert not change.silent


def test_run_tells_the_history_in_its_files_on_the_screen_and_in_the_report(tmp_path):
    """An id whose claim is negated is flagged wherever the run is read."""

    with audited_provider() as provider:
        scripted = provider.auditor

        def fickle(ask):
            reply = json.loads(str(scripted(ask)))
            if not reply["reasoning"].startswith(("Turn 1:", "Turn 2:")):
                reply["hypotheses"][0]["hypothesis"] = "It never happened"
            return json.dumps(reply)

        provider.auditor = fickle
        run = audit_here(tmp_path, provider)

    first, second = run.summary["history"][:2]
    assert (first["id"], first["changed_silently"]) == ("h1", True)
    assert [change["turn"] for change in first["claim_changes"]] == [3]
    assert not second["changed_silently"]
    assert "Warning: h1 changed without saying so (negation in turn 3)" in figures(run.summary)
    report = report_markdown(run.summary)
    assert "its negation changed in turn 3 without saying so" in report
    assert "last wording: “It never happened”" in report
    assert "- h2: turns 1 to 4; confidence " in report
    assert all(cited["run"] == run.summary["run"] for p in first["points"] for cited in p["gained"])
