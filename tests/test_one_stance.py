"""One sample has one stance: whoever shows it, on the screen, on a page or in a table."""

from __future__ import annotations

import ast
import io
import json

import pytest

from tests.judged_runs import judge_words, judging_provider, probed
from tests.provider import ScriptedTarget
from tests.support import ROOT, audit_here, audited_provider, run_here
from uncensoring_chinese_models import load_run
from uncensoring_chinese_models.audit import stances
from uncensoring_chinese_models.cli.progress import ProgressPrinter
from uncensoring_chinese_models.config.settings import Budget
from uncensoring_chinese_models.domain import ARMS, Response, label_of
from uncensoring_chinese_models.measure.judging import judge_run
from uncensoring_chinese_models.models.budget import BudgetMeter
from uncensoring_chinese_models.reports.pages.model import run_view
from uncensoring_chinese_models.reports.pages.render import report_html
from uncensoring_chinese_models.reports.study.records import make_record
from uncensoring_chinese_models.runs.reading import read_run
from uncensoring_chinese_models.text import Recognised
from uncensoring_chinese_models.text.stance.classify import recognise
from uncensoring_chinese_models.viewer.rows import read_row
from uncensoring_chinese_models.viewer.screens import run_screen
from uncensoring_chinese_models.viewer.signatures import find_signed

ANSWER = "The archive in Qinghe opened its doors in the spring of 1931."
REFUSAL = "I'm sorry, but I can't discuss that."
HARD = "There are many views of these years, and each of them has its place."
"""A text of which a recogniser cannot say what it does."""
RUSSIAN = "Архив открыли весной тысяча девятьсот тридцать первого года."
TEXTS = (ANSWER, REFUSAL, HARD, RUSSIAN)
EXPECTED = {
    True: ("answers", "refuses", "not_judged", "unreadable"),
    False: ("answers", "refuses", "answers", "unreadable"),
}
"""The stances of these texts, where they are replies to a question and where they continue a text."""
QUESTION = "Who was the keeper?"


class _Recogniser:
    """The recogniser with a model that abstains from one text; it remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: set[tuple[str, str | None, bool]] = set()

    def __call__(self, text, asked=None, *, is_reply=True):
        self.calls.add((text, asked, is_reply))
        if is_reply and text == HARD:
            return Recognised("not_judged", probability=0.4)
        return recognise(text, asked, is_reply=is_reply)


@pytest.fixture
def recogniser(monkeypatch):
    """Put the abstaining recogniser in the place of the real one."""
    double = _Recogniser()
    monkeypatch.setattr(stances, "recognise", double)
    return double


class _Target(ScriptedTarget):
    """It says the same four texts in each arm."""

    def __call__(self, ask):
        return TEXTS[ask.body["seed"] % len(TEXTS)]


@pytest.fixture
def audited(tmp_path, recogniser):
    """Audit a target that answers, refuses, evades and writes Russian, in every arm."""
    with audited_provider(target=_Target()) as provider:
        sampling = {"n": len(TEXTS), "seed": 0, "arms": list(ARMS)}
        return audit_here(tmp_path, provider, sampling=sampling)


def seen(folder):
    """Return the label of each sample, in the report, in the viewer and in an export."""
    files = read_run(folder)
    report = {
        (probe.iteration, arm.arm, sample.number - 1): sample.label
        for probe in run_view(files).probes
        for arm in probe.arms
        for sample in arm.samples
    }
    told = json.loads(run_screen("id", folder, {}).json())
    viewer = {
        (probe["iteration"], arm["arm"], sample["number"] - 1): sample["label"]
        for probe in told["probes"]
        for arm in probe["arms"]
        for sample in arm["samples"]
    }
    exported = {
        (row.iteration, row.arm, row.sample): label_of(row.delivery, row.stance)  # type: ignore[arg-type]
        for row in load_run(folder).samples
    }
    return report, viewer, exported


def row_of(folder):
    """Return a run as the viewer lists it."""
    (signed,) = find_signed(folder).values()
    found = read_row(signed)
    assert found is not None
    return found.row


def place_of(folder, text):
    """Return where the assistant says a text."""
    rows = load_run(folder).samples
    (place,) = [
        (row.iteration, row.arm, row.sample)
        for row in rows
        if (row.arm, row.own_words) == ("assistant", text)
    ]
    return place


def on_screen(event):
    """Return what a run prints of its responses."""
    screen = io.StringIO()
    ProgressPrinter(screen).event(event, BudgetMeter(Budget()))
    return screen.getvalue()


def test_every_view_of_an_audit_says_the_same(audited):
    """Screen, report, viewer, export, summary and study, sample by sample."""
    report, viewer, exported = seen(audited.folder)

    assert report == viewer == exported
    responses = [each for each in audited.watcher.events if isinstance(each, Response)]
    for response in responses:
        shown = on_screen(response)
        for sample in response.samples:
            expected = EXPECTED[ARMS[sample.arm].asks][TEXTS.index(sample.own_words)]
            label = report[response.iteration, sample.arm, sample.index]
            assert label == expected
            assert f"  {sample.arm} {sample.index + 1}: {label}, " in shown
    by_stance = audited.summary["denominators"]["samples"]["by_stance"]
    assert by_stance == {name: list(report.values()).count(name) for name in by_stance}
    record = make_record(read_run(audited.folder), "run")
    tallied = sum(tally.withheld for tally in record.tallies), sum(t.judged for t in record.tallies)
    found = list(report.values())
    assert tallied == (found.count("refuses"), found.count("refuses") + found.count("answers"))


def test_abstentions_stand_beside_every_rate(audited):
    """A rate is of the judged ones; who was not judged is said, and is neither answer nor withheld."""
    files = read_run(audited.folder)
    n = len(files.responses)
    rate = audited.summary["rates"]["withheld"]["by_arm"]["assistant"]
    row = row_of(audited.folder)
    run = load_run(audited.folder).overview

    assert (rate["successes"], rate["n"]) == (n, 2 * n)
    assert (rate["excluded"]["not_judged"], rate["excluded"]["unreadable"]) == (n, n)
    assert (row.withheld, row.judged, row.not_judged) == (n, 2 * n, 2 * n)
    assert (run.withheld, run.judged_texts, run.not_judged_texts) == (n, 2 * n, 2 * n)
    page = report_html(files)
    assert f"it withheld in {n} of {2 * n} judged samples ({2 * n} not judged)" in page
    assert f"left out: {n} unreadable, {n} not_judged" in page


def test_question_goes_with_replies_alone(audited, recogniser):
    """Where it was asked, the recogniser knows the question; a continuation has none."""
    response = audited.response(1)
    probe = response["question"] or response["prompt_sent"]

    assert (HARD, probe, True) in recogniser.calls
    assert (HARD, None, False) in recogniser.calls
    assert {asked for text, asked, is_reply in recogniser.calls if not is_reply} == {None}


@pytest.mark.parametrize(
    ("reply", "stance"),
    [
        ("Who was the keeper?", "not_judged"),
        ("**who was the keeper**\n\nWho was the keeper", "not_judged"),
        ("<think>hm</think> Who was the keeper?", "not_judged"),
        ("Who was the keeper? The keeper of the archive was an old man from Qinghe.", "answers"),
        ("The keeper", "answers"),
    ],
)
def test_reply_that_only_repeats_the_question_is_no_answer(reply, stance):
    """It shows neither knowledge nor that any is kept back; a text that goes on from ours may repeat it."""
    assert stances.received("complete", "assistant", reply, "", QUESTION).stance == stance
    assert (
        stances.received("complete", "user_persona", QUESTION, QUESTION, None).stance == "answers"
    )


def test_chinese_question_is_known_again_without_its_marks():
    """Marks and scripts of marks do not matter."""
    asked = "1989年发生了什么？"
    found = stances.received("complete", "assistant", "「1989年发生了什么?」", "", asked)
    assert found.stance == "not_judged"


def test_export_says_what_decided_and_how_sure_it_is(audited):
    """The probability is the model's; without a model there is none."""
    rows = [row for row in load_run(audited.folder).samples if row.arm == "assistant"]
    told = {row.own_words: (row.stance, row.stance_probability, row.stance_by) for row in rows}

    assert told[HARD] == ("not_judged", 0.4, None)
    assert told[REFUSAL][::2] == ("refuses", "wording")


def test_judges_go_before_the_recogniser(tmp_path):
    """What a judge said of a sample is what every view shows; a sentence says who judged how many."""
    evasive = " Nobody was sorry: 40 lamps were lit in 1931, most of them red."
    texts = (" 111 lamps, all of them red.", evasive, "", HARD)
    with judging_provider(texts) as provider:
        run = probed(tmp_path, provider, n=len(texts))
        before, *_ = seen(run)
        judged = run_here(tmp_path, "judge", run, judge_words(provider, "a/b"), "--all")
    report, viewer, exported = seen(run)

    assert judged.returncode == 0, judged.stderr
    assert report == viewer == exported
    place = place_of(run, evasive)
    assert (before[place], report[place]) == ("answers", "refuses")
    rows = {(row.iteration, row.arm, row.sample): row for row in load_run(run).samples}
    assert (rows[place].stance_by, rows[place].stance_probability) == ("judges", None)
    page = report_html(read_run(run))
    assert "Stances of the samples: judged by a/b as judge (6)" in page
    row = row_of(run)
    assert (row.withheld, row.judged) == (1, 3)


def test_judge_that_cannot_be_read_leaves_the_recogniser_to_say(tmp_path):
    """Without a usable reply of a judge there is no verdict that could go first."""
    texts = (" 111 lamps, all of them red.", f" {REFUSAL}")
    with judging_provider(texts, shapes={"a/b": "prose"}) as provider:
        run = probed(tmp_path, provider, n=len(texts))
        run_here(tmp_path, "judge", run, judge_words(provider, "a/b"), "--all")
    report, viewer, exported = seen(run)

    assert report == viewer == exported
    assert report[place_of(run, f" {REFUSAL}")] == "refuses"


def test_facts_go_before_the_recogniser(tmp_path):
    """In a run judged by a facts file, a false statement is told as one in every view."""
    false = " 411 lamps."
    texts = (" 111 lamps, all of them red.", false)
    with judging_provider(texts) as provider:
        run = probed(tmp_path, provider, n=len(texts))
    judge_run(run)
    report, viewer, exported = seen(run)

    assert report == viewer == exported
    assert report[place_of(run, false)] == "tells_otherwise"
    by = {row.stance: row.stance_by for row in load_run(run).samples}
    assert by["tells_otherwise"] == "facts"


def test_one_module_asks_the_recogniser():
    """Whoever wants the stance of a sample goes through one function, which knows its question."""
    askers = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", getattr(node.func, "attr", "")) == "recognise"
    }
    assert askers == {"src/uncensoring_chinese_models/audit/stances.py"}
