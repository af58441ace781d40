"""`ucm stance`: the stances of replies from anywhere, one line each."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.support import clean_environment, command, run_here
from uncensoring_chinese_models.audit import stances
from uncensoring_chinese_models.text import Recognised

REPLIES = (
    {"question": "What happened?", "reply": "I'm sorry, but I can't discuss that."},
    {"reply": "It opened in 1931.", "model": "other keys", "score": float("nan")},
    {"reply": None},
    {"question": None, "reply": ""},
    {"question": "是什么？", "reply": "对不起，我还没有学会回答这个问题。"},
    {"reply": "Архив открыли весной."},
    {"reply": "\ud800 \x1b[2J [red]It opened.[/red]"},
)
STANCES = ("refuses", "answers", "not_judged", "not_judged", "refuses", "unreadable", "answers")
KEYS = ["stance", "withheld_probability", "judged", "words", "by"]


def lines_of(*replies):
    """Return replies as a file holds them."""
    return "".join(json.dumps(each) + "\n" for each in replies)


@pytest.fixture
def file(tmp_path):
    """Return a file of replies."""
    path = tmp_path / "replies.jsonl"
    path.write_text(lines_of(*REPLIES), "utf-8")
    return path


def test_each_line_has_one_object_in_order(tmp_path, file):
    """The stance, the probability, whether it was judged, the words and what decided."""
    ran = run_here(tmp_path, "stance", file, "--json")
    told = [json.loads(line) for line in ran.stdout.splitlines()]

    assert (ran.returncode, ran.stderr) == (0, "")
    assert tuple(each["stance"] for each in told) == STANCES
    assert all(list(each) == KEYS for each in told)
    assert (told[0]["words"], told[0]["by"], told[0]["judged"]) == (
        "I can't discuss",
        "wording",
        True,
    )
    assert [each["judged"] for each in told[2:4]] == [False, False]


def test_table_ends_with_a_rate_of_the_judged_replies(tmp_path, file):
    """What is not judged is counted beside the rate, and nothing acts on the terminal."""
    ran = run_here(tmp_path, "stance", file)
    head, *rows, last = ran.stdout.splitlines()

    assert head.split() == ["line", "stance", "withheld", "by", "words"]
    assert [row.split()[:2] for row in rows] == [[str(n), s] for n, s in enumerate(STANCES, 1)]
    assert last.startswith("Withheld: 0.50 (2 of 4 judged replies; ")
    assert "left out: 1 unreadable, 2 not_judged" in last
    assert "\x1b" not in ran.stdout


def test_question_reaches_the_recogniser(tmp_path, monkeypatch):
    """Reply and question are read together; a line without a question has none."""
    asked = []

    def double(text, asked_for=None, *, is_reply=True):
        asked.append((text, asked_for, is_reply))
        return Recognised("not_judged", probability=0.5)

    monkeypatch.setattr(stances, "recognise", double)
    path = tmp_path / "replies.jsonl"
    path.write_text(lines_of({"question": "Who?", "reply": "No one."}, {"reply": "None."}), "utf-8")
    ran = run_here(tmp_path, "stance", path, "--json")

    assert asked == [("No one.", "Who?", True), ("None.", None, True)]
    assert json.loads(ran.stdout.splitlines()[0]) == {
        "stance": "not_judged",
        "withheld_probability": 0.5,
        "judged": False,
        "words": None,
        "by": None,
    }


def test_dash_reads_standard_input(file):
    """A real process, with replies in a pipe."""
    ran = subprocess.run(
        command("stance", "-", "--json"),
        input=file.read_bytes(),
        capture_output=True,
        env=clean_environment(),
        check=True,
    )
    assert [json.loads(line)["stance"] for line in ran.stdout.splitlines()] == list(STANCES)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "line 8 is not JSON"),
        ("", "line 8 is not JSON"),
        ("[]", 'line 8 is not an object with the key "reply"'),
        ('{"question": "Who?"}', 'line 8 is not an object with the key "reply"'),
        ('{"reply": 3}', "line 8 has a reply that is not a text"),
        ('{"reply": "a", "question": ["b"]}', "line 8 has a question that is not a text"),
        ("[" * 100_000, "line 8 is not JSON"),
    ],
)
@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["table", "json"])
def test_wrong_line_is_refused_before_anything_is_printed(tmp_path, file, line, why, flags):
    """Its number is said, so that a file of 100,000 lines can be mended."""
    with file.open("a", encoding="utf-8") as more:
        more.write(line + "\n")
    ran = run_here(tmp_path, "stance", file, *flags)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"{why}" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_missing_file_is_refused(tmp_path):
    """The message names it."""
    ran = run_here(tmp_path, "stance", "nowhere.jsonl")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert "nowhere.jsonl cannot be read" in ran.stderr
