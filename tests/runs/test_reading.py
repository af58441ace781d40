"""What pages, tables and exports read of a run."""

import hashlib
import json
import os
import shutil

import pytest

from tests.support import audit_here, audited_provider, fitting, rewrite
from uncensoring_chinese_models.errors import CorruptRunError, RunStoreError
from uncensoring_chinese_models.runs.journal import Journal
from uncensoring_chinese_models.runs.reading import read_run
from uncensoring_chinese_models.runs.untrusted import JUDGED
from uncensoring_chinese_models.verify.verification import verify_run


@pytest.fixture
def folder(tmp_path):
    with audited_provider() as provider:
        return audit_here(tmp_path, provider, max_iterations=3).folder


def test_a_finished_run_is_read_whole(folder):
    """Every turn and response is there, in order, with the summary."""
    run = read_run(folder)
    assert run.name == folder.name
    assert run.status == json.loads((folder / "summary.json").read_bytes())["status"]
    assert [turn["iteration"] for turn in run.turns] == list(range(1, len(run.turns) + 1))
    assert run.summary is not None
    assert len(run.responses) == run.summary["total_iterations"]
    assert run.settings["max_iterations"]
    assert run.journal.startswith(b'{"type": "header"')


def test_a_run_that_goes_on_has_no_summary_and_is_read_all_the_same(folder):
    """Before the end, what is there is shown."""
    (folder / "summary.json").unlink()
    run = read_run(folder)
    assert run.summary is None
    assert run.status == "unfinished"
    assert run.settings == run.config


def test_what_judges_said_comes_before_what_patterns_said(folder):
    """And what is beside another run, or a link, is not taken for this one's."""
    beside = folder.with_name(folder.name + JUDGED)
    beside.mkdir()
    for name in ("a.json", "a.judges.json"):
        (beside / name).write_text(json.dumps(fitting(folder, "a") | {"name": name}), "utf-8")
    (beside / "c.json").symlink_to(beside / "a.json")
    (beside / "a.labels.json").write_text(json.dumps(fitting(folder, "a")), "utf-8")
    assert [each["name"] for each in read_run(folder).judged] == ["a.judges.json", "a.json"]
    assert read_run(folder).unfit == ()


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("a.json", {"summary_sha256": "0" * 64}, "it judges another run, or another state"),
        ("a.json", {"summary_sha256": None}, "it judges another run, or another state"),
        ("a.json", {"facts": "topic: b"}, "does not hold the text of the facts file"),
        ("a.json", {"facts": None, "facts_sha256": None}, "does not hold the text"),
        (
            "a.judges.json",
            {"facts": "", "facts_sha256": hashlib.sha256(b"").hexdigest()},
            "was made by another facts file than a.json",
        ),
    ],
)
def test_judgement_that_does_not_fit_is_left_out_and_named(folder, name, change, why):
    """A judgement of another run, of an earlier state, or by other facts is not shown as true."""
    beside = folder.with_name(folder.name + JUDGED)
    beside.mkdir()
    for each in ("a.json", "a.judges.json"):
        told = fitting(folder, "a") | {"name": each} | (change if each == name else {})
        (beside / each).write_text(json.dumps(told), "utf-8")

    run = read_run(folder)

    assert name not in [each["name"] for each in run.judged]
    named = [each for each in run.unfit if each.startswith(f"{name} does not fit this run")]
    assert [why in each for each in named] == [True]


def test_judgement_of_a_run_that_has_not_ended_is_left_out(folder):
    """A run that was resumed after it was judged is another run until it is judged again."""
    beside = folder.with_name(folder.name + JUDGED)
    beside.mkdir()
    (beside / "a.json").write_text(json.dumps(fitting(folder, "a")), "utf-8")
    (folder / "summary.json").unlink()

    assert read_run(folder).judged == ()
    assert "this one has no summary.json" in read_run(folder).unfit[0]


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b"[" * 100_000])
def test_a_file_that_is_no_object_is_named(folder, content):
    """Nothing else than JSON objects is taken, and the file is named."""
    (folder / "auditor_turns" / "001.json").write_bytes(content)
    with pytest.raises(CorruptRunError, match=r"auditor_turns/001\.json"):
        read_run(folder)


def test_a_link_out_of_the_folder_is_not_followed(folder, tmp_path):
    """A stranger's run shows nothing of the reader's own files."""
    secret = tmp_path / "secret.json"
    secret.write_text('{"iteration": 99}', encoding="utf-8")
    (folder / "audited_responses" / "999.json").symlink_to(secret)
    assert all(each["iteration"] != 99 for each in read_run(folder).responses)


def test_a_folder_that_is_no_run_is_refused(tmp_path, folder):
    """A folder of runs is not a run."""
    shutil.copytree(folder, tmp_path / "many" / "one")
    with pytest.raises(RunStoreError, match="is not a run"):
        read_run(tmp_path / "many")


def test_a_pipe_beside_a_run_is_not_waited_for(folder):
    """Nobody may ever write into it."""
    beside = folder.with_name(folder.name + JUDGED)
    beside.mkdir()
    os.mkfifo(beside / "x.json")
    (beside / "y.json").mkdir()
    assert read_run(folder).judged == ()


def test_two_files_of_one_iteration_are_refused(folder):
    """A link to a sample must lead to one response."""
    copy = folder / "audited_responses" / "1.json"
    copy.write_bytes((folder / "audited_responses" / "001.json").read_bytes())
    with pytest.raises(CorruptRunError, match="two files of one iteration"):
        read_run(folder)


@pytest.mark.parametrize("content", [b'{"a": NaN}', b'{"a": 1e999}', b'{"a": ' + b"9" * 990 + b"}"])
def test_a_file_with_an_odd_number_is_named(folder, content):
    """What other programs cannot hold is no part of a run."""
    (folder / "auditor_turns" / "001.json").write_bytes(content)
    with pytest.raises(CorruptRunError, match=r"auditor_turns/001\.json.*64 bits"):
        read_run(folder)


def test_a_file_larger_than_any_run_writes_is_not_parsed(folder):
    """It is named with the limit."""
    path = folder / "audited_responses" / "001.json"
    path.write_bytes(path.read_bytes() + b" " * (1 << 25))
    with pytest.raises(CorruptRunError, match=r"audited_responses/001\.json is larger than 32 MB"):
        read_run(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cost_usd", "NaN"),
        ("cost_usd", "1e999999"),
        ("cost_usd", "-1e99"),
        ("prompt_tokens", 10**13),
        ("completion_tokens", -1),
    ],
)
def test_a_journal_with_absurd_amounts_is_damaged(folder, key, value):
    """Sums of such amounts would be no numbers; `verify` says so, and raises nothing."""

    def spoil(record):
        if "reply" in record:
            told = record["reply"] if key == "cost_usd" else record["reply"]["usage"]
            told[key] = value

    rewrite(folder, spoil)

    with pytest.raises(CorruptRunError, match=r"damaged field .*not plausible"):
        Journal.open(folder / "journal.jsonl", now=str)
    assert not verify_run(folder).holds
