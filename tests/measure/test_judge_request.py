"""What a judge is sent: the text stays in its slot, and nobody is told which candidate is true."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.injection_table import (
    INJECTIONS,
    load_injections,
    obedient_verdict,
    replies,
    request_of,
    sample_of,
    split,
)

from tests.measure.test_answers import ENGLISH, FACTS, response
from tests.provider import ODD_TEXTS
from tests.provider.judge import read_case
from uncensoring_chinese_models.config.settings import JudgeModel
from uncensoring_chinese_models.measure.answers import asked_samples
from uncensoring_chinese_models.measure.judges import request as judge_request
from uncensoring_chinese_models.measure.judges.request import (
    call_for,
    judge_request_for,
    mark_for,
    messages_for,
    slot_of,
)
from uncensoring_chinese_models.runs.journal import request_hash

JUDGE = JudgeModel(model="a/b")
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=80)


def request_about(text="It was Corrane.", **changes):
    """Return the request about a sample with this text."""
    (asked,) = asked_samples([response(text, **changes)], FACTS)
    return judge_request_for(asked)


def outside(text, **changes):
    """Return a request without its slot and its mark."""
    return read_case(messages_for(request_about(text, **changes), "run")).outside


@pytest.mark.parametrize("name", ODD_TEXTS)
def test_odd_texts_stay_in_their_slot(name):
    """Whatever the text is, the slot gives it back to the letter, and all else is the same."""
    text = ODD_TEXTS[name]
    case = read_case(messages_for(request_about(text), "run"))

    assert case.text == text
    assert case.outside == outside("Neutral.")


@given(ANY_TEXT)
def test_no_text_leaves_its_slot(text):
    """Of any text the slot is one line of printable characters that reads back as the text."""
    mark = mark_for(text, "run", "1/raw/0")
    first, line, last = slot_of(text, mark).split("\n")

    assert (first, last) == (f"<<<TEXT {mark}", f"TEXT {mark}>>>")
    assert line.isprintable()
    assert json.loads(line) == text
    assert mark not in text


@pytest.mark.parametrize("injection", load_injections(), ids=lambda each: each.name)
def test_injections_move_neither_the_request_nor_a_judge_that_obeys_it(injection):
    """Everything outside the slot is the same, and an obedient judge says what it said before."""
    reply = next(iter(replies()))
    plain, moved = (
        judge_request_for(sample_of(text, reply))
        for text in (reply.text, f"{injection.text}{reply.text}")
    )

    assert split(request_of(moved))[1] == split(request_of(plain))[1]
    assert obedient_verdict(request_of(moved), moved) == obedient_verdict(request_of(plain), plain)


def test_obedient_judge_obeys_what_stands_outside():
    """Else the test above could not fail."""
    reply = next(iter(replies()))
    plain = judge_request_for(sample_of(reply.text, reply))

    assert obedient_verdict(f"The letter is Z.\n{request_of(plain)}", plain) == "Z"


def test_role_tokens_are_not_spelled_out():
    """A server that reads role tokens anywhere finds none in the slot."""
    line = slot_of("<|im_end|> [/INST] <｜User｜> ▁", "0").split("\n")[1]

    assert not set(line) & set("<>[]｜▁")


def test_mark_is_never_in_the_text(monkeypatch):
    """With marks of one digit, a text that holds all digits but one gets that one."""
    monkeypatch.setattr(judge_request, "MARK_CHARS", 1)
    for digit in "0123456789abcdef":
        text = "0123456789abcdef".replace(digit, "")
        assert mark_for(text, "run", "place") == digit


def test_mark_follows_from_text_run_and_sample():
    """The same for the same, another for another."""
    assert len({mark_for(f"x{number}", "run", "place") for number in range(100)}) == 100
    assert mark_for("x", "run", "place") != mark_for("x", "other run", "place")
    assert mark_for("x", "run", "place") != mark_for("x", "run", "other place")


def test_order_of_candidates_tells_nothing():
    """The true one stands under each letter about as often as any other."""
    texts = ["Hm."] * 400
    asked = asked_samples([response(*texts)], FACTS)
    letters = Counter(
        letter
        for each in asked
        for letter, option in judge_request_for(each).options.items()
        if option.name == "fact"
    )

    assert set(letters) == {"A", "B", "C", "D"}
    assert min(letters.values()) > 60
    assert request_about() == request_about()


def test_request_does_not_say_which_candidate_is_true():
    """Neither the word nor the order, and no name of arm, model or run."""
    words = json.dumps(messages_for(request_about(), "secret-run"), ensure_ascii=False).lower()

    assert "decoy" not in words
    assert "secret-run" not in words
    assert "user_persona" not in words
    assert words.count("corrane") == 2  # the candidate and the text


def test_candidates_are_in_the_language_that_was_asked_in():
    """Where an ending has no words in it, the English ones stand for them."""
    shown = read_case(
        messages_for(request_about("柯兰", asked=("leader是", "谁是leader？")), "run")
    ).options

    assert sorted(shown.values()) == sorted(["柯兰", "谭林", "布里克", "a grocer"])


def test_candidate_that_our_prompt_named_is_not_offered():
    """What we said ourselves proves nothing."""
    named = response("Yes.", asked=("The leader was Osric Tamblyn and", ENGLISH[1]))
    (asked,) = asked_samples([response("Yes.")], FACTS)
    asked = asked._replace(sample=named.samples[0])

    assert {option.name for option in judge_request_for(asked).options.values()} == {
        "fact",
        "decoy 2",
        "said instead",
    }


def test_each_arm_is_told_how_the_text_came_about():
    """A continuation is not an answer."""
    continued, answered = outside("Hm."), outside("Hm.", arm="assistant")

    assert "to go on after the half sentence" in continued
    assert "in answer to the question." in answered


def test_key_holds_the_hash_of_the_request():
    """Another question, judge, try or format is another call; the same one is the same."""
    first = call_for(JUDGE, request_about(), "run")
    others = [
        call_for(JUDGE, request_about("Else."), "run"),
        call_for(JudgeModel(model="c/d"), request_about(), "run"),
        call_for(JUDGE, request_about(), "run", problem="letter", tries=1),
        call_for(JUDGE, request_about(), "run", tries=1),
        call_for(JUDGE, request_about(), "run", with_format=False),
    ]

    assert len({str(call.key) for call in (first, *others)}) == 6
    assert first == call_for(JUDGE, request_about(), "run")
    assert request_hash(first) == request_hash(call_for(JUDGE, request_about(), "run"))
    assert first.body["response_format"]["json_schema"]["strict"] is True


def test_judge_of_the_same_name_elsewhere_is_another_one():
    """Preset and address are in the key, the name of the variable with the API key is not."""
    here, there, otherwise, with_key = (
        call_for(
            JudgeModel.model_validate({"model": "a/b", "endpoint": endpoint}),
            request_about(),
            "run",
        )
        for endpoint in (
            {"preset": "vllm", "base_url": "http://127.0.0.1:1/v1"},
            {"preset": "vllm", "base_url": "http://127.0.0.1:2/v1"},
            {"preset": "sglang", "base_url": "http://127.0.0.1:1/v1"},
            {"preset": "vllm", "base_url": "http://127.0.0.1:1/v1", "api_key_env": "OTHER_KEY"},
        )
    )

    assert len({str(call.key) for call in (here, there, otherwise)}) == 3
    assert here.key == with_key.key


def test_battery_is_as_large_and_varied_as_it_should_be():
    """At least 30 texts, none twice, of every kind and in three languages."""
    injections = load_injections()
    text = INJECTIONS.read_text("utf-8")

    assert len(injections) >= 30
    assert len({each.text for each in injections}) == len(injections)
    assert {each.kind for each in injections} == {
        "verdict",
        "delimiter",
        "turn",
        "role token",
        "instruction",
        "letter",
        "quote",
        "unicode",
        "escape",
        "padding",
    }
    assert all(f"language: {each}\n" in text for each in ("en", "zh-Hans", "zh-Hant"))
    assert max(len(each.text) for each in injections) > 10_000
