"""Symbolic links that a stranger left where the program writes: none is followed."""

from __future__ import annotations

import json

import pytest

from tests.judged_runs import judging_provider, probed
from tests.study_runs import HandMade
from tests.support import audit_here, audited_provider
from uncensoring_chinese_models.cli.report import report
from uncensoring_chinese_models.config.settings import AuditConfig
from uncensoring_chinese_models.errors import RunStoreError
from uncensoring_chinese_models.measure.judges.ask import _open
from uncensoring_chinese_models.measure.judges.questioning import JudgeTask
from uncensoring_chinese_models.measure.labels import open_label_task
from uncensoring_chinese_models.reports.study.writing import write_study
from uncensoring_chinese_models.runner.judging import judge_and_report
from uncensoring_chinese_models.runs.store import RunStore, replace_file

SECRET = b"ssh-ed25519 mine\n"
CONFIG = AuditConfig(topic="t", auditing_model="a/b", audited_model="c/d")


@pytest.fixture
def precious(tmp_path):
    """Return a file outside of everything, which must stay as it is."""
    path = tmp_path / "authorized_keys"
    path.write_bytes(SECRET)
    yield path
    assert path.read_bytes() == SECRET


@pytest.fixture
def elsewhere(tmp_path):
    """Return a folder outside of everything, into which nothing must be written."""
    path = tmp_path / "elsewhere"
    path.mkdir()
    (path / "mine").touch()
    yield path
    assert [each.name for each in path.iterdir()] == ["mine"]


def test_a_temporary_name_that_is_a_link_is_not_followed(tmp_path, precious):
    """Who knows the temporary name can plant it too."""
    (tmp_path / ".x.json.tmp").symlink_to(precious)

    replace_file(tmp_path / "x.json", b"new")

    assert (tmp_path / "x.json").read_bytes() == b"new"
    assert not (tmp_path / ".x.json.tmp").is_symlink()


def test_a_report_replaces_a_link(tmp_path, precious):
    """The link beside the run becomes the report, and what it led to stays."""
    with audited_provider() as provider:
        run = audit_here(tmp_path, provider).folder
    (run / "report.html").write_text("older", "utf-8")
    target = run.with_name(f"{run.name}.report.html")
    target.symlink_to(precious)

    assert report(str(run)) == 0

    assert not target.is_symlink()
    assert b"<html" in target.read_bytes()


@pytest.mark.parametrize("given", [None, "page.html"])
def test_a_report_that_is_a_link_elsewhere_is_replaced_too(tmp_path, precious, given):
    """Also where it was named by hand, and where the run was judged."""
    with judging_provider() as provider:
        run = probed(tmp_path, provider)
    judge_and_report(run)
    out = run.with_name(run.name + ".judged") / "report.html" if given is None else tmp_path / given
    out.unlink(missing_ok=True)
    out.symlink_to(precious)

    assert report(str(run), out=None if given is None else str(out)) == 0

    assert not out.is_symlink()


def test_a_folder_of_judgements_that_is_a_link_is_refused(tmp_path, elsewhere):
    """Nothing is judged into a folder that a stranger chose."""
    with judging_provider() as provider:
        run = probed(tmp_path, provider)
    run.with_name(run.name + ".judged").symlink_to(elsewhere)

    with pytest.raises(RunStoreError, match="is a symbolic link"):
        judge_and_report(run)
    with pytest.raises(RunStoreError, match="is a symbolic link"):
        open_label_task(run)


def test_journal_of_judges_that_is_a_link_is_refused(tmp_path, precious):
    """What judges are asked is appended to no file elsewhere."""
    folder = tmp_path / "run.judged"
    folder.mkdir()
    (folder / "journal.jsonl").symlink_to(precious)

    task = JudgeTask({"run": "run"}, (), every=False)
    with pytest.raises(RunStoreError, match="link"), _open(folder, task, CONFIG, {}):
        pass


@pytest.mark.parametrize("name", [".journal.jsonl.owner", ".journal.jsonl.tmp", "journal.cut-1"])
def test_files_beside_the_journal_that_are_links_are_not_followed(tmp_path, precious, name):
    """Who holds the lock, a new journal, and what is cut from it, are written to files of our own."""
    folder = tmp_path / "run.judged"
    folder.mkdir()
    (folder / name).symlink_to(precious)
    (folder / "journal.jsonl").write_bytes(b"\0" * 512)

    with _open(folder, JudgeTask({"run": "run"}, (), every=False), CONFIG, {}):
        pass

    assert (folder / "journal.jsonl").read_bytes().startswith(b'{"type": "header"')
    assert not (folder / "journal.jsonl").is_symlink()


def test_a_folder_within_a_run_that_is_a_link_is_refused(tmp_path, elsewhere):
    """A run that came from elsewhere may be resumed."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run/auditor_turns").symlink_to(elsewhere)

    with pytest.raises(RunStoreError, match="is a symbolic link"):
        RunStore(tmp_path / "run").write_turn(1, {})


@pytest.mark.parametrize("name", ["index.html", "tables/matrix.csv", "figures/matrix.svg"])
def test_a_study_replaces_links(tmp_path, precious, name):
    """Its files are its own."""
    HandMade("a").write(tmp_path / "runs")
    write_study(tmp_path / "runs")
    file = tmp_path / "runs.study" / name
    if name != "index.html":
        file.unlink()
        file.symlink_to(precious)
        write_study(tmp_path / "runs")
        assert not file.is_symlink()
        return
    file.unlink()
    file.symlink_to(precious)
    with pytest.raises(RunStoreError, match="not a study of this program"):
        write_study(tmp_path / "runs")


@pytest.mark.parametrize("name", ["", "figures", "tables"])
def test_folders_of_a_study_that_are_links_are_refused(tmp_path, elsewhere, name):
    """A study is written where it says, or not at all."""
    HandMade("a").write(tmp_path / "runs")
    study = tmp_path / "runs.study"
    if name:
        write_study(tmp_path / "runs")
        for each in (study / name).iterdir():
            each.unlink()
        (study / name).rmdir()
        (study / name).symlink_to(elsewhere)
    else:
        study.symlink_to(elsewhere)

    with pytest.raises(RunStoreError, match="is a symbolic link"):
        write_study(tmp_path / "runs")


def test_a_link_to_the_same_bytes_is_replaced(tmp_path):
    """What a link leads to may change later; a run holds its own files."""
    other = tmp_path / "other.json"
    other.write_bytes(b'{\n  "a": 1\n}\n')
    (tmp_path / "run").mkdir()
    (tmp_path / "run/doctor.json").symlink_to(other)

    RunStore(tmp_path / "run").write_doctor({"a": 1})

    assert not (tmp_path / "run/doctor.json").is_symlink()
    assert json.loads((tmp_path / "run/doctor.json").read_text("utf-8")) == {"a": 1}
