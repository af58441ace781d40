"""`ucm facts match`: what texts from anywhere do with the facts of a topic."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.facts_example import example_file, lamps, write_facts
from tests.support import clean_environment, command, run_here

KEYS = ["id", "mention", "ending", "words", "start", "end", "reason", "by"]
PINE = "The number of lamps in the pine hall was"
QUESTION = example_file(1)["facts"][0]["question"]["en"]
NOT_NAMED = ("omits", None, None, "not_named", None)


@pytest.fixture
def topic(tmp_path):
    """Write a facts file; a lie is commonly told of its second fact."""
    content = example_file(2)
    content["facts"][1]["said_instead"] = lamps(9)
    write_facts(tmp_path, content)
    return "lamps.yaml"


def matches(tmp_path, topic, *lines):
    """Return what is told of the facts for each line."""
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    ran = run_here(tmp_path, "facts", "match", topic, path, "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    return [json.loads(line)["facts"] for line in ran.stdout.splitlines()]


def pine(found):
    """Return what is told of the first fact."""
    assert list(found[0]) == KEYS
    return tuple(found[0][key] for key in ("mention", "ending", "words", "reason", "by"))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"text": f"{PINE} 111 lamps."}, ("states", "fact", "111", "stated", None)),
        ({"reply": f"{PINE} 111 lamps."}, ("states", "fact", "111", "stated", None)),
        ({"text": f"{PINE} 411 lamps."}, ("contradicts", "decoy 1", "411", "stated", None)),
        (
            {"text": f"{PINE} not 111 lamps."},
            ("contradicts", "fact", "111", "negated", "not"),
        ),
        (
            {"text": f"{PINE} not 411 lamps but 111 lamps."},
            ("states", "fact", "111", "stated", None),
        ),
        (
            {"text": f"Some people say that {PINE.lower()} 111 lamps."},
            ("omits", "fact", "111", "said", "say that"),
        ),
        ({"text": f"{PINE} odd. There were 111 lamps."}, NOT_NAMED),
        ({"text": None}, NOT_NAMED),
        ({"text": "111 lamps.", "question": "How are you?"}, NOT_NAMED),
        (
            {"text": "There were 111 lamps.", "question": QUESTION, "other": 1},
            ("states", "fact", "111", "stated", None),
        ),
        (
            {"text": f"{PINE} 111 lamps.", "question": "Were there 111 lamps?"},
            NOT_NAMED,
        ),
        ({"text": f"<think>{PINE} 111 lamps.</think>I can't discuss that."}, NOT_NAMED),
    ],
)
def test_each_text_is_matched_as_in_an_audit(tmp_path, topic, line, told):
    """In sentences about the fact, where it is asserted, in the text's own words."""
    (found,) = matches(tmp_path, topic, line)

    assert pine(found) == told


def test_words_stand_where_it_says(tmp_path, topic):
    """Offsets count the characters of the text."""
    text = f"So. {PINE} 111 lamps."
    (found,) = matches(tmp_path, topic, {"text": text})

    assert text[found[0]["start"] : found[0]["end"]] == "111"
    assert found[1]["ending"] is None


def test_table_has_a_row_for_each_named_fact(tmp_path, topic):
    """And one that counts the others; nothing acts on the terminal."""
    path = tmp_path / "texts.jsonl"
    lines = [{"text": f"{PINE} not 111 lamps.\x1b[2J"}, {"text": "Hm."}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    ran = run_here(tmp_path, "facts", "match", topic, path)
    head, *rows = ran.stdout.splitlines()

    assert (ran.returncode, ran.stderr) == (0, "")
    assert head.split() == ["line", "fact", "mention", "ending", "reason", "words"]
    assert [row.split() for row in rows] == [
        ["1", "pine", "contradicts", "fact", "negated", "111", "(not)"],
        ["1", "1", "fact", "omits", "-", "not_named"],
        ["2", "2", "facts", "omits", "-", "not_named"],
    ]


def test_dash_reads_standard_input(tmp_path, topic):
    """A real process, with a text in a pipe, and a topic of the package."""
    ran = subprocess.run(
        command("facts", "match", "tiananmen", "-", "--json"),
        input=b'{"text": "Hu Yaobang died on 15 April 1989."}\n',
        capture_output=True,
        env=clean_environment(),
        check=True,
    )
    facts = json.loads(ran.stdout)["facts"]
    assert [each["id"] for each in facts if each["mention"] == "states"] == ["hu_death"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "line 1 is not JSON"),
        ('{"question": "Who?"}', 'line 1 is not an object with the key "text"'),
        ('{"text": 3}', "line 1 has a text that is not a text"),
        ('{"text": "a", "question": ["b"]}', "line 1 has a question that is not a text"),
    ],
)
def test_wrong_line_is_refused_before_anything_is_printed(tmp_path, topic, line, why):
    """By its number, as `ucm stance` does."""
    (tmp_path / "texts.jsonl").write_text(line + "\n", "utf-8")
    ran = run_here(tmp_path, "facts", "match", topic, "texts.jsonl")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert why in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_unknown_topic_and_missing_file_are_refused(tmp_path, topic):
    """The message names them."""
    for words, name in (
        (["lamp", "texts.jsonl"], "facts file lamp"),
        ([topic, "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
    ):
        ran = run_here(tmp_path, "facts", "match", *words)

        assert (ran.returncode, ran.stdout) == (2, "")
        assert name in ran.stderr
