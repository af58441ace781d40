"""What pages, tables and exports read of a run."""

import json
import os
import shutil

import pytest

from tests.support import audit_here, audited_provider
from uncensoring_chinese_models.errors import CorruptRunError, RunStoreError
from uncensoring_chinese_models.runs.reading import JUDGED, read_run


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
    for name, run in (("a.json", folder.name), ("a.judges.json", folder.name), ("b.json", "x")):
        (beside / name).write_text(json.dumps({"run": run, "name": name}), encoding="utf-8")
    (beside / "c.json").symlink_to(beside / "a.json")
    assert [each["name"] for each in read_run(folder).judged] == ["a.judges.json", "a.json"]


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
