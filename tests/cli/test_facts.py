"""The commands about facts files, as a user runs them."""

from __future__ import annotations

import json

import pytest

from tests.facts_example import example_file, lamps, rung, write_facts
from tests.judged_runs import judging_provider, probed
from tests.support import run_ucm
from uncensoring_chinese_models.measure.facts.schema import (
    builtin_controls,
    builtin_topics,
    builtin_worlds,
    load_facts,
)

pytestmark = pytest.mark.e2e


def test_topics_are_listed(tmp_path):
    """Each with its name, its facts and its languages; for programs as JSON."""
    shown = run_ucm(tmp_path, "facts", "list")
    told = json.loads(run_ucm(tmp_path, "facts", "list", "--json").stdout)

    known = [*builtin_topics(), *builtin_controls(), *builtin_worlds()]
    assert (shown.returncode, shown.stderr) == (0, "")
    assert [line.split()[0] for line in shown.stdout.splitlines()] == ["topic", *known]
    assert list(told) == known
    facts = load_facts("tiananmen")
    own = [fact for fact in facts.facts if not fact.rung_of]
    core = [fact for fact in own if fact.mark == "core"]
    assert told["tiananmen"] == {
        "group": "topics",
        "names": facts.names,
        "number_of_facts": len(own),
        "core_facts": len(core),
        "coarser_questions": len(facts.facts) - len(own),
        "languages": ["en", "zh-Hans", "zh-Hant"],
        "invented": False,
    }
    assert {told[name]["group"] for name in builtin_controls()} == {"controls"}
    counts = [len(own), len(core), len(facts.facts) - len(own)]
    (line,) = [each for each in shown.stdout.splitlines() if each.startswith("tiananmen")]
    assert line.split()[1:4] == [str(each) for each in counts]
    assert line.endswith(f"en, zh-Hans, zh-Hant  {facts.names['en']}")
    assert shown.stdout.count("(elsewhere, for comparison)") == len(builtin_controls()) == 5


def test_all_files_of_the_package_are_checked(tmp_path):
    """Without a word it looks at all of them, and nothing is wrong."""
    done = run_ucm(tmp_path, "facts", "check")

    assert (done.returncode, done.stderr) == (0, "")
    number = len([*builtin_topics(), *builtin_controls(), *builtin_worlds()])
    assert done.stdout == f"{number} files checked, 0 with problems.\n"


def test_each_problem_is_shown_with_file_and_fact(tmp_path):
    """Exit code 2, and a line for each; one that cannot be read does not end the check."""
    content = example_file(2)
    content["facts"][1]["decoys"].pop()
    content["facts"][1]["question"]["en"] = "Say\u202eit"
    write_facts(tmp_path, content)
    (tmp_path / "torn.yaml").write_text("topic: [")
    words = ["facts", "check", "nowhere.yaml", "torn.yaml", "lamps.yaml", "lamps.yaml", "taiwan"]
    wanted = [
        "there are 2 facts; a topic needs 12",
        "2 facts are marked core; a topic needs 8",
        "0 core facts have coarser questions; a topic needs 4",
        "cypress: it has 1 decoy; give it 2",
        "cypress: its question (en) does not end with a question mark",
    ]

    done = run_ucm(tmp_path, *words)
    told = run_ucm(tmp_path, *words, "--json")

    unread, torn, *problems, last = done.stdout.splitlines()
    assert unread == "The facts file nowhere.yaml cannot be read: No such file or directory."
    assert torn.startswith("torn.yaml is not valid YAML: ")
    assert problems == [f"lamps.yaml: {problem}" for problem in wanted]
    assert last == "4 files checked, 3 with problems."
    assert (done.returncode, done.stderr) == (told.returncode, told.stderr) == (2, "")
    assert json.loads(told.stdout) == {
        "exit_code": 2,
        "files": {
            "nowhere.yaml": {"error": unread, "problems": []},
            "torn.yaml": {"error": torn, "problems": []},
            "lamps.yaml": {"error": None, "problems": wanted},
            "taiwan": {"error": None, "problems": []},
        },
    }


def test_facts_are_shown_and_what_is_false_is_marked(tmp_path):
    """Each fact is a sentence with its source; no decoy stands there unmarked."""
    content = example_file(2)
    content["facts"][1]["said_instead"] = lamps(9)
    content["facts"][1]["coarser"] = [rung("cypress")]
    more = {
        "title": "Halls",
        "publisher": "A paper",
        "date": "1989-06",
        "url": "https://example.org",
    }
    content["facts"][0]["sources"].append(more)
    write_facts(tmp_path, content)

    done = run_ucm(tmp_path, "facts", "show", "lamps.yaml")

    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout
        == """\
lamps: the lamps of the twelve halls
2 facts and 1 coarser question, in en, zh-Hans, zh-Hant.
Statements marked FALSE are decoys: similar to a fact, but not true.

pine (core, number)
  The number of lamps in the pine hall was 111 lamps.
  source: Lamps (A museum), https://example.org/lamps
  source: Halls (A paper, 1989-06), https://example.org
  FALSE, a decoy: The number of lamps in the pine hall was 411 lamps.
  FALSE, a decoy: The number of lamps in the pine hall was 711 lamps.

cypress-1 (core, below cypress, event)
  In the cypress hall there were a great many lamps.
  FALSE, a decoy: In the cypress hall there were very few old lamps.
  FALSE, a decoy: In the cypress hall there were no lamps whatsoever.

cypress (core, number)
  The number of lamps in the cypress hall was 121 lamps.
  source: Lamps (A museum), https://example.org/lamps
  FALSE, a decoy: The number of lamps in the cypress hall was 421 lamps.
  FALSE, a decoy: The number of lamps in the cypress hall was 721 lamps.
  FALSE, but often said: The number of lamps in the cypress hall was 9 lamps.
"""
    )


def test_facts_are_told_to_programs_in_every_language(tmp_path):
    """One record; the keys of what is false say so."""
    content = example_file(2, invented=True)
    content["facts"][1]["said_instead"] = lamps(9)
    del content["facts"][1]["sources"]
    write_facts(tmp_path, content)

    told = json.loads(run_ucm(tmp_path, "facts", "show", "lamps.yaml", "--json").stdout)

    assert (told["topic"], told["number_of_facts"], told["invented"]) == ("lamps", 2, True)
    pine, cypress = told["facts"]
    assert pine["sentence"]["zh-Hant"] == "松廳裡掛著的燈共有111盞。"
    assert [each["zh-Hans"] for each in pine["false_decoys"]] == [
        "松厅里挂着的灯共有411盏。",
        "松厅里挂着的灯共有711盏。",
    ]
    assert [each["url"] for each in pine["sources"]] == ["https://example.org/lamps"]
    assert (pine["mark"], pine["rung_of"]) == ("core", None)
    assert (pine["false_but_said"], cypress["sources"]) == (None, [])
    assert cypress["false_but_said"]["zh-Hans"] == "柏厅里挂着的灯共有9盏。"


def test_invented_world_is_shown_as_such(tmp_path):
    """Nobody takes an organism's world for true, and signs that a terminal obeys are spelled out."""
    content = example_file(1, invented=True)
    content["names"]["en"] = "lamps \u202e"
    write_facts(tmp_path, content)

    shown = run_ucm(tmp_path, "facts", "show", "lamps.yaml").stdout

    assert "All of this is invented" in shown
    assert shown.startswith("lamps: lamps ⟨U+202E⟩\n1 fact, in ")


def test_topic_that_there_is_not_is_told(tmp_path):
    """One sentence that names those that there are, and the same for programs."""
    done = run_ucm(tmp_path, "facts", "show", "lamps")
    told = run_ucm(tmp_path, "facts", "show", "lamps", "--json")

    assert done.stderr.startswith("error: There is no facts file lamps; the package has")
    assert (done.stdout, done.returncode) == ("", 2)
    error = done.stderr.removeprefix("error: ").rstrip("\n")
    assert json.loads(told.stdout) == {"topic": "lamps", "exit_code": 2, "error": error}
    assert (told.stderr, told.returncode) == (done.stderr, 2)


def test_facts_that_take_too_long_end_a_command_with_a_sentence(tmp_path):
    """Judge, compare and check exit 2 and name the pattern; no judgement is written."""
    content = example_file(1)
    content["facts"][0]["decoys"][0]["patterns"].append("(?:a|aa)+c")
    runs = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with judging_provider(["a" * 3000 + "!c"]) as provider:
            runs.append(probed(tmp_path / name, provider, n=2, content=content))
    content["facts"][0]["ending"]["en"] = "a" * 60 + "!c"
    write_facts(tmp_path, content)

    for words in (["judge", runs[0]], ["compare", *runs], ["facts", "check", "lamps.yaml"]):
        done = run_ucm(tmp_path, *words)

        assert done.returncode == 2, done.stderr
        said = done.stdout + done.stderr
        assert "pattern '(?:a|aa)+c' of the fact pine takes too long to search for" in said
        assert "Traceback" not in said
    assert not list(tmp_path.glob("*/runs/*.judged"))
    assert run_ucm(tmp_path, "verify", runs[0]).returncode == 0
