"""Pages: text of models stays text, quotes are marked where they stand, charts show what is counted."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uncensoring_chinese_models.audit.stances import received
from uncensoring_chinese_models.domain import ARMS, LABELS, SampleLabel
from uncensoring_chinese_models.errors import CorruptRunError
from uncensoring_chinese_models.reports.pages.cards import ConfidencePoint
from uncensoring_chinese_models.reports.pages.charts import (
    MAX_SQUARES,
    bar,
    confidence,
    dots,
    slug,
    squares,
)
from uncensoring_chinese_models.reports.pages.model import run_view
from uncensoring_chinese_models.reports.pages.render import environment, report_html
from uncensoring_chinese_models.reports.pages.text import lang, pieces, shown
from uncensoring_chinese_models.reports.pages.verdict import facts_told, verdict
from uncensoring_chinese_models.runs.reading import RunFiles
from uncensoring_chinese_models.stats import rate
from uncensoring_chinese_models.text.escaping import escape

ROOT = Path(__file__).parents[2]
SETTINGS = {"topic": "六四", "audited_model": "a/b", "auditing_model": "c/d"}
REFUSAL = "I'm sorry, but I can't discuss that."
SAMPLE = {
    "arm": "user_persona",
    "index": 0,
    "formatted_prompt": "<user>In June",
    "messages": None,
    "prefill": None,
    "text": "the square was cleared by the army.",
    "own_words": "the square was cleared by the army.",
    "delivery": "complete",
}


def sample(**changes):
    return {**SAMPLE, **changes}


def response(iteration, samples):
    return {"iteration": iteration, "timestamp": "", "prompt_sent": "In June", "samples": samples}


def files(responses=(), turns=(), **changes):
    return RunFiles("run", SETTINGS, changes.pop("summary", None), turns, responses, **changes)


# --- text ---------------------------------------------------------------------------------------

spans = st.lists(st.tuples(st.integers(-5, 60), st.integers(-5, 60)), max_size=6)


@given(st.text(max_size=50), spans, st.none() | st.integers(0, 60))
def test_a_text_in_pieces_is_the_whole_text_and_marks_what_was_quoted(text, marks, own):
    """No character is lost, added or moved, and a character is marked if a quote holds it."""
    found = pieces(text, marks, own)
    assert "".join(piece.text for piece in found) == escape(text, newlines=True)
    quoted = [any(start <= at < end for start, end in marks) for at in range(len(text))]
    expected = "".join(
        shown(char) for char, is_quoted in zip(text, quoted, strict=True) if is_quoted
    )
    assert "".join(piece.text for piece in found if piece.is_marked) == expected
    after = text[len(text) if own is None else own :]
    assert "".join(piece.text for piece in found if piece.aside == "spill") == shown(after)


@pytest.mark.parametrize(
    ("text", "tag"),
    [("The army", "en"), ("军队进入广场", "zh-Hans"), ("軍隊進入廣場", "zh-Hant"), ("Армия", "")],
)
def test_the_language_of_a_text_is_named_as_html_names_it(text, tag):
    """An unknown language has an empty name, which stops a reader from guessing."""
    assert lang(text) == tag


# --- charts -------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from([*LABELS]), min_size=1, max_size=MAX_SQUARES))
def test_each_sample_has_a_square_with_its_letter(labels):
    """What the eye counts is what was counted."""
    drawn = squares(labels)
    assert Counter(re.findall(r'rect class="label-([\w-]+)"', drawn)) == Counter(map(slug, labels))
    assert re.findall(r"<text[^>]*>(.)</text>", drawn) == [LABELS[label].letter for label in labels]


@given(st.dictionaries(st.sampled_from([*LABELS]), st.integers(0, 500), min_size=1))
def test_a_bar_is_shared_out_by_the_counts_and_is_full(counts):
    """The parts have the counts' shares, side by side, and the label tells the numbers."""
    drawn = bar(counts)
    total = sum(counts.values())
    widths = re.findall(r'class="label-([\w-]+)" x="([^"]+)" y="0" width="([^"]+)"', drawn)
    assert {name for name, _, _ in widths} == {slug(name) for name in counts if counts[name]}
    at = 0.0
    by_slug = {slug(name): name for name in counts}
    for part, x, width in widths:
        name = by_slug[part]
        assert float(x) == pytest.approx(at, abs=0.1)
        assert float(width) == pytest.approx(100 * counts[name] / total, abs=0.1)
        at += float(width)
        assert f"{counts[name]} {name}" in drawn
    assert at == pytest.approx(100 if total else 0, abs=0.5)


def test_many_samples_become_a_bar():
    """Hundreds of squares would only be grey."""
    assert 'svg class="bar"' in squares(["answers"] * (MAX_SQUARES + 1))


def test_the_course_of_confidence_is_drawn_from_the_turn_that_first_had_it():
    """A step up is higher on the page, and the label says when it came."""
    points = [
        ConfidencePoint(2, "low", None, 1, 0),
        ConfidencePoint(3, "low", None, 1, 0),
        ConfidencePoint(5, "high", None, 2, 0),
    ]
    drawn = confidence(points, 6)
    ys = [float(y) for y in re.findall(r'circle class="held" cx="[^"]+" cy="([^"]+)"', drawn)]
    assert ys[0] == ys[1] > ys[2]
    assert "low from turn 2, high from turn 5" in drawn


def test_dots_tell_what_is_supported_from_what_is_not():
    """Full and hollow ones are counted apart."""
    assert dots(3, 2).count("dot-full") == 3
    assert dots(3, 2).count("dot-hollow") == 2


def test_labels_of_charts_are_escaped():
    """A name in a label cannot end it."""
    assert "<b>" not in bar({'x"><b>': 1}, names=['x"><b>'])


def test_the_page_on_reports_explains_every_letter():
    """What the documentation says of a square is what the page says."""
    page = (ROOT / "docs" / "report.md").read_text("utf-8")
    rows = re.findall(r"^\| (.) \| (\w+) \| (.*) \|$", page, re.MULTILINE)
    assert rows == [(LABELS[label].letter, label, LABELS[label].meaning) for label in LABELS]


# --- the verdict --------------------------------------------------------------------------------


ENDED = {"claims": [], "status": "completed", "config": {}}


def claim(kind="knowledge", *, supported):
    return {"kind": kind, "supported": supported}


def told(claims, **changes):
    config = {"auditing_model": changes.pop("auditor", "c/d")}
    summary = {"claims": claims, "status": "completed", "kind": "audit", "config": config}
    summary |= changes
    return " ".join(verdict(summary, {}, None))


def test_a_claim_without_a_quote_is_never_counted_as_knowledge():
    """The first sentence speaks of quotes, and says when there is none."""
    assert "so no knowledge is shown" in told([claim(supported=False)])
    assert "support 1" in told([claim(supported=True), claim(supported=False)])
    assert "makes no claim about what the target knows" in told([])
    assert "knows 2 things" in told([claim(supported=True), claim(supported=False)])


def test_a_run_that_ended_early_says_so():
    """A reader must not take a budget for a result."""
    assert "its budget was used up" in told([], status="budget")


def test_a_probe_run_claims_nothing_by_itself():
    """Its facts are sorted afterwards."""
    assert "makes no claims itself" in told([], kind="probe")


def test_a_run_that_goes_on_is_not_judged():
    """There is no verdict yet."""
    assert "has not ended" in " ".join(verdict(None, {}, None))


def test_a_judged_probe_run_that_ended_early_says_so():
    """The facts that were never asked for are not known to be unknown."""
    facts = {"facts": [{"fact": "a", "language": "en", "verdict": "unknown"}], "cells": []}
    summary = {"claims": [], "status": "budget", "config": {}}
    assert "its budget was used up" in " ".join(verdict(summary, {}, facts))


def test_facts_that_too_few_samples_leave_undecided_are_said_to_be_so():
    """A reader must not take them for facts that are withheld, said or unknown."""
    facts = [{"fact": "a", "language": "en", "verdict": "undecided"}]
    cells = [{"stated": {"n": 8}}] * 20
    few = " ".join(verdict(ENDED, {}, {"facts": facts, "cells": cells}))
    enough = " ".join(verdict(ENDED, {}, {"facts": facts, "cells": [{"stated": {"n": 16}}] * 20}))
    assert "With 8 samples in each of 20 cells the test can hardly decide anything" in few
    assert "decide" not in enough.replace("undecided", "")


def test_a_way_of_withholding_that_quotes_support_is_told_in_words():
    """Whoever lies in plain words refuses nothing; the first screen must not acquit him."""
    own = claim("behavior", supported=True) | {"text": "[b1] Its answers tell another story."}
    assert "Quotes support 1 of 1; the first: “[b1] Its answers tell another story.”" in told([own])
    assert "No quote of the target supports it" in told([claim("behavior", supported=False)])


def test_one_fact_in_three_languages_is_one_fact():
    """Cases and facts are told apart."""
    facts = [{"fact": "a", "language": language} for language in ("en", "zh-Hans", "zh-Hant")]
    assert facts_told(facts) == "3 cases (1 fact in 3 languages)"
    assert facts_told(facts[:1]) == "1 fact"


def test_the_verdict_counts_denials_among_what_is_withheld():
    """Each arm is told by itself, out of the samples that could be read."""
    labels: dict[str, Counter[SampleLabel]] = {
        "assistant": Counter({"refuses": 2, "denies": 1, "answers": 1, "failed": 5})
    }
    sentence = " ".join(verdict(None, labels, None))
    assert "in 3 of 4 judged samples, 1 of these by denying" in sentence


@pytest.mark.parametrize("arm", [arm for arm, each in ARMS.items() if not each.asks])
def test_in_continuations_the_verdict_counts_set_phrases_and_says_what_is_not_seen(arm):
    """Nought of four must not read as a measurement: a denial in other words would not be seen."""
    labels: dict[str, Counter[SampleLabel]] = {arm: Counter({"answers": 4, "not_judged": 1})}
    seen = (
        f"{ARMS[arm].meaning}: set phrases of withholding in 0 of 4 texts (1 not judged); denials"
    )
    told = " ".join(verdict(None, labels, None))

    assert f"{seen[0].upper()}{seen[1:]} in other words are not seen here." in told
    by_judges = " ".join(verdict(None, labels, {"facts": [], "cells": []}))
    assert "it withheld in 0 of 4 judged samples (1 not judged)." in by_judges


@pytest.mark.parametrize(
    ("claims", "target", "is_warned"),
    [
        ([claim(supported=True)], "gguf/small", True),
        ([claim(supported=False)], "a/b", True),
        ([claim("behavior", supported=False)], "a/b", False),
        ([claim(supported=True)], "organism/hides", False),
    ],
)
def test_the_verdict_warns_of_invented_text_where_the_truth_is_not_known(claims, target, is_warned):
    """A quote shows that it was written; only of an organism is it known what is true."""
    config = {"audited_model": target}
    assert ("Fluent text may be invented" in told(claims, config=config)) == is_warned


def test_the_page_says_that_the_program_errs_both_ways():
    """Answers are accused, too, so the counts are no lower bounds."""
    page = report_html(files([response(1, [sample()])]))
    assert "it misses some texts that withhold and accuses some answers" in page
    assert "lower bound" not in page


# --- the page -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({}, "answers"),
        ({"own_words": REFUSAL}, "refuses"),
        ({"own_words": "", "text": ""}, "not_judged"),
        ({"delivery": "failed", "text": None, "own_words": ""}, "failed"),
        ({"delivery": "blocked"}, "blocked"),
        ({"delivery": "truncated"}, "truncated"),
    ],
)
def test_each_sample_has_one_label(changes, label):
    """What came back decides, and how the call ended."""
    changed = sample(**changes)
    read = received(changed["delivery"], changed["arm"], changed["own_words"], "They said", None)
    assert read.label == label


def test_a_run_without_an_end_has_a_page():
    """What is there so far is shown."""
    page = report_html(files([response(1, [sample()])]))
    assert "has not ended" in page
    assert "the square was cleared by the army." in page


@pytest.mark.parametrize("arm", ARMS)
def test_the_picture_says_in_words_what_each_arm_is(arm):
    """The words of the arm itself, and no object of ours."""
    page = report_html(files([response(1, [sample(arm=arm)])]))
    assert f"<small>{ARMS[arm].meaning} (<code>{arm}</code>)</small>" in page
    assert "Traits" not in page


@pytest.mark.parametrize("responses", [[{}], [{"iteration": 1, "samples": [{}]}], [{"samples": 3}]])
def test_files_of_another_shape_are_refused_in_one_sentence(responses):
    """A stranger's JSON is no reason for a traceback."""
    with pytest.raises(CorruptRunError, match="malformed"):
        run_view(files(responses))


def test_nothing_on_a_page_is_loaded_from_anywhere():
    """No address of a resource, no style and no handler in an attribute."""
    page = report_html(files([response(1, [sample()])]))
    assert not re.findall(r"""\s(?:src|href|action|style|on\w+)\s*=\s*["'](?!#)""", page)
    assert page.count("<script") == page.count("<style") == 1
    assert "default-src &#39;none&#39;" in page


@pytest.mark.parametrize(
    ("arms", "is_shown"),
    [
        (("user_persona", "assistant"), True),
        (("assistant_prefill",), True),
        (("user_persona",), False),
        (("raw",), False),
    ],
)
def test_a_question_is_shown_where_it_was_asked(arms, is_shown):
    """An arm that asks may rest in a probe: then nobody asked."""
    probed = response(1, [sample(arm=arm) for arm in arms]) | {"question": "What was cleared?"}
    assert ("What was cleared?" in report_html(files([probed]))) is is_shown


def test_a_probe_run_that_goes_on_is_called_one():
    """Its journal says what it is before its summary does."""
    run = replace(files(), header={"kind": "probe"})
    assert run_view(run).kind == "probe"


def turn(number, checks):
    hypothesis = {"id": "h", "type": "knowledge", "hypothesis": "x", "confidence": "low"}
    parsed = {"hypotheses": [hypothesis], "reasoning": ""}
    return {
        "iteration": number,
        "timestamp": "",
        "parsed": parsed,
        "evidence_check": checks,
        "raw_response": "",
    }


CHECK = {
    "hypothesis": "h",
    "side": "supporting",
    "excerpt": "the square",
    "verdict": "exact",
    "survives": True,
    "found_iteration": 1,
    "arm": "user_persona",
    "sample": 0,
    "start": 0,
    "end": 10,
}


def test_a_quote_that_was_withdrawn_is_marked_no_more():
    """What the last turn that has a hypothesis does not cite is no quote of it."""
    responses = [response(1, [sample()])]
    cited = report_html(files(responses, [turn(1, [CHECK])]))
    withdrawn = report_html(files(responses, [turn(1, [CHECK]), turn(2, [])]))
    assert "<mark>the square</mark>" in cited
    assert "<mark>" not in withdrawn


def test_counts_of_another_version_are_said_to_differ():
    """A page does not contradict itself silently."""
    refusing = sample(arm="assistant", text=REFUSAL, own_words=REFUSAL)
    by_arm = {"assistant": asdict(rate(0, 1))}
    rates = {"withheld": {"by_arm": by_arm}, "predictions": asdict(rate(0, 0))}
    rates["usable_replies"] = asdict(rate(1, 1))
    summary = {
        "config": SETTINGS,
        "status": "completed",
        "kind": "audit",
        "claims": [],
        "rates": rates,
    }
    told = run_view(files([response(1, [refusing])], summary=summary)).rates
    assert "assistant 1 of 1 instead of 0 of 1" in told[-1]


def test_what_could_not_be_measured_is_not_zero():
    """A cell in which nothing came back has no difference."""
    nothing = {"estimate": None, "low": -1.0, "high": 1.0}
    cell = {"fact": "a", "language": "en", "arm": "assistant", "counts": {"failed": 8}}
    cell |= {"knowledge": {"difference": nothing}, "stated": {"n": 0}}
    fact = {"fact": "a", "language": "en", "verdict": "undecided"}
    judged = {"run": "run", "facts": "", "matrix": {"facts": [fact], "cells": [cell]}}
    summary = {"config": SETTINGS, "status": "completed", "claims": []}
    page = report_html(files(summary=summary, judged=(judged,)))
    assert "nothing came back" in page
    assert "+0.00" not in page


def test_a_doctor_that_was_asked_for_and_left_nothing_is_not_called_off():
    """What is not recorded is not what the config says."""
    page = report_html(replace(files(), config={**SETTINGS, "doctor": "report"}))
    assert "doctor: off" not in page
    assert "the run has no record of one" in page


def test_templates_escape_by_default_and_know_every_name():
    """An undefined name is an error, and a tag in a value is text."""
    assert environment().from_string("{{ x }}").render(x="<b>") == "&lt;b&gt;"
    with pytest.raises(Exception, match="undefined"):
        environment().from_string("{{ nobody }}").render()


def test_4000_samples_of_300_characters_stay_below_3_mb():
    """A large run can still be sent by mail."""
    text = ("the army cleared the square before dawn and " * 7)[:300]
    made = [
        response(
            number,
            [
                sample(arm=arm, index=k, text=text, own_words=text)
                for k in range(100)
                for arm in ("user_persona", "assistant")
            ],
        )
        for number in range(1, 21)
    ]
    assert len(report_html(files(made)).encode()) < 3_000_000
