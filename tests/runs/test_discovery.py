"""Finding runs: one search for the viewer, studies, reports and exports."""

import io
import os
import shutil
import zipfile

import pytest

from tests.study_runs import HandMade
from uncensoring_chinese_models.errors import RunStoreError
from uncensoring_chinese_models.exports.loading import load_runs
from uncensoring_chinese_models.reports.study.gather import gather
from uncensoring_chinese_models.runs import discovery
from uncensoring_chinese_models.runs.chain import SCHEMA, START, sealed
from uncensoring_chinese_models.runs.discovery import MAX_LEVELS, find_runs, is_run
from uncensoring_chinese_models.runs.untrusted import MANIFEST, read_header
from uncensoring_chinese_models.viewer.signatures import find_signed


def places(top, **options):
    return sorted(path.relative_to(top).as_posix() for path in find_runs(top, **options))


def doctor_record(folder):
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("topic: x")
    header = sealed({"type": "header", "schema": SCHEMA, "kind": "doctor"}, START)
    (folder / "journal.jsonl").write_bytes(header + b"\n")
    return folder


def test_everybody_finds_the_same_runs_at_the_same_depth(tmp_path):
    """A run on the deepest level is found, one below it is not, whoever searches."""
    deep, expected = tmp_path, []
    for level in range(1, MAX_LEVELS + 2):
        HandMade(f"run{level}").write(deep)
        if level <= MAX_LEVELS:
            expected.append((deep / f"run{level}").relative_to(tmp_path).as_posix())
        deep /= "d"

    assert places(tmp_path) == places(tmp_path, names_only=True) == sorted(expected)
    assert {each.place for each in find_signed(tmp_path).values()} == set(expected)
    assert {each.place for each in gather(tmp_path, tmp_path).records} == set(expected)
    loaded = load_runs(tmp_path)
    assert len(loaded) + len(loaded.unreadable) == len(expected)


def test_a_run_itself_is_found_alone(tmp_path):
    """What lies in a run is not searched."""
    run = HandMade("a").write(tmp_path)
    shutil.copytree(run, run / "copy")

    assert list(find_runs(run)) == list(find_runs(run, names_only=True)) == [run]


def test_the_record_of_the_doctor_is_not_a_run(tmp_path):
    """Its header says so; by its names alone it looks like one."""
    HandMade("a").write(tmp_path)
    record = doctor_record(tmp_path / "doctor_x")

    assert places(tmp_path) == ["a"]
    assert places(tmp_path, names_only=True) == ["a", "doctor_x"]
    assert not is_run(record)
    assert read_header(record / "journal.jsonl")["kind"] == "doctor"


def test_by_names_alone_nothing_is_opened(tmp_path, monkeypatch):
    """A page that is drawn again and again waits for no pipe and reads no file."""
    HandMade("a").write(tmp_path)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "journal.jsonl")
    (tmp_path / "x.zip").write_bytes(b"")
    opened = []
    monkeypatch.setattr(os, "open", lambda *given, **_: opened.append(given))
    monkeypatch.setattr(io, "open", lambda *given, **_: opened.append(given))

    assert places(tmp_path, names_only=True) == ["a", "pipe"]
    assert opened == []


def test_archives_and_unpacked_bundles_are_found(tmp_path):
    """An archive needs a manifest; any other zip file is not a run."""
    for name in ("bundle.zip", "other.zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(MANIFEST if name == "bundle.zip" else "x", "")
    (tmp_path / "broken.zip").write_bytes(b"PK")
    (tmp_path / "unpacked" / "run").mkdir(parents=True)
    (tmp_path / "unpacked" / MANIFEST).write_text("")

    assert places(tmp_path) == ["bundle.zip", "unpacked"]
    assert places(tmp_path, names_only=True) == ["unpacked"]


def test_too_many_folders_are_refused(tmp_path, monkeypatch):
    """Nobody waits for a search of the whole disk."""
    monkeypatch.setattr(discovery, "MAX_FOLDERS", 3)
    for name in "abcd":
        (tmp_path / name).mkdir()

    with pytest.raises(RunStoreError, match="more than 3 folders"):
        list(find_runs(tmp_path))


@pytest.mark.parametrize("make", ["missing", "pipe", "link", "folder", "garbage", "torn"])
def test_a_header_that_cannot_be_read_is_empty(tmp_path, make):
    """No link is followed and no pipe waited for."""
    path = tmp_path / "journal.jsonl"
    header = sealed({"type": "header", "schema": SCHEMA}, START)
    (tmp_path / "real").write_bytes(header + b"\n")
    if make == "pipe":
        os.mkfifo(path)
    elif make == "link":
        path.symlink_to(tmp_path / "real")
    elif make == "folder":
        path.mkdir()
    elif make != "missing":
        path.write_bytes(header if make == "torn" else b"[]\n")

    assert read_header(path) == {}
    assert read_header(tmp_path / "real")["schema"] == SCHEMA
