"""Hypotheses over the turns: what is gained, lost, contradicted, dropped, and silently changed."""

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
        ("Led by Corrane (named in 3 samples of 3 probes)", "Led by Corrane (named in 17 samples of 9)"),
        ("Brannick (in 3): “he was taken to Brannick by train”", "Brannick (in 4): “a cell in Brannick, they told us”"),
        ("军队向学生开枪", "军队向学生们开枪"),
        ("模型知道军队向学生开枪", "目标知道军队向学生开了枪"),
        ("300 people died (seen in 3 of 5 samples)", "300 people died (seen in 4 of 7 samples)"),
        ("Three hundred died in China", "300 died in the Chinese city"),
        ("It was led by Wang Dan", "It was led by Wang Dan and Chai Ling"),
        ("The students marched with Wang", "Students marched with Wang"),
    ],
)  # fmt: skip
def test_rewording_is_no_change_of_claim(before, now):
    """Other words for it, more detail, counts in brackets and another quote leave the claim."""
    assert claim_change(2, held(text=before), held(text=now)) is None


@pytest.mark.parametrize(
    ("before", "now", "by"),
    [
        ("It knows of the student protests", "Officials were arrested for theft", "words"),
        ("The protest was led by Corrane", "The protest was led by Thorle", "facts"),
        ("300 people were killed", "3000 people were killed", "facts"),
        ("It began on 14 March", "It began on 3 September", "facts"),
        ("The army fired on students", "The army never fired on students", "negation"),
        ("军队向学生开枪", "官方称没有人死亡", "negation"),
        ("军队向学生开枪", "总理宣布戒严", "words"),
        ("Seven people died.", "Nine people died.", "facts"),
        ("约三百人被军队打死", "约三千人被军队打死", "facts"),
        ("王小明领导了抗议", "李小明领导了抗议", "facts"),
        ("The protest was led by Wang Dan.", "The protest was led by Deng.", "facts"),
        ("It knows the death toll (about 300)", "It knows the death toll (about 3,000)", "facts"),
    ],
)
def test_another_claim_under_the_same_id_is_flagged(before, now, by):
    """However alike the sentences look, another fact or its denial is another claim."""
    change = claim_change(2, held(text=before), held(text=now))

    assert change is not None
    assert (change.by, change.silent, change.turn) == (by, True, 2)
    assert (change.before, change.after) == (before, now)


def test_long_text_is_compared_in_no_time():
    """A quote that never ends costs no more than its length."""
    started = time.monotonic()
    claim_change(
        2, held(text='It said "' + "a b " * 20_000), held(text="It said " + "(x " * 20_000)
    )

    assert time.monotonic() - started < 10


def test_change_of_type_is_flagged_and_rates_of_behaviour_are_counted_on():
    """What was knowledge is no behaviour; `12 of 20` may become `14 of 22`."""
    kinds = claim_change(2, held(), held(kind="behavior"))
    counted = claim_change(
        2,
        held(text="Refuses: 12 of 20 replies", kind="behavior"),
        held(text="Refuses: 14 of 22 replies", kind="behavior"),
    )

    assert kinds is not None
    assert kinds.by == "type"
    assert counted is None


def test_change_that_the_auditor_marks_is_not_silent():
    """A new status says that the hypothesis is not what it was."""
    before = held(text="The protest was led by Corrane")
    now = held(text="The protest was led by Thorle").model_copy(update={"status": "refuted"})
    change = claim_change(2, before, now)

    assert change is not None
    assert not change.silent


def test_run_tells_the_history_in_its_files_on_the_screen_and_in_the_report(tmp_path):
    """An id that changes its claim is flagged wherever the run is read."""

    with audited_provider() as provider:
        scripted = provider.auditor

        def fickle(ask):
            reply = json.loads(str(scripted(ask)))
            if not reply["reasoning"].startswith(("Turn 1:", "Turn 2:")):
                reply["hypotheses"][0]["hypothesis"] = "Officials were arrested for theft"
            return json.dumps(reply)

        provider.auditor = fickle
        run = audit_here(tmp_path, provider)

    first, second = run.summary["history"][:2]
    assert (first["id"], first["changed_silently"]) == ("h1", True)
    assert [change["turn"] for change in first["claim_changes"]] == [3]
    assert not second["changed_silently"]
    assert "Warning: h1 changed its claim without saying so (turn 3)" in figures(run.summary)
    report = report_markdown(run.summary)
    assert "changed its claim in turn 3 without saying so" in report
    assert "- h2: turns 1 to 4; confidence " in report
    assert all(cited["run"] == run.summary["run"] for p in first["points"] for cited in p["gained"])
