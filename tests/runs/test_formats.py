"""Runs of another format: each command refuses them in one sentence, and changes nothing."""

import json

import pytest

from tests.support import audit_here, audited_provider, rewrite
from uncensoring_chinese_models.errors import RunStoreError
from uncensoring_chinese_models.exports.loading import load_run, load_runs
from uncensoring_chinese_models.measure.judging import judge_run
from uncensoring_chinese_models.reports.study.gather import gather
from uncensoring_chinese_models.runs.chain import SCHEMA, refuse_other_format
from uncensoring_chinese_models.runs.reading import read_run
from uncensoring_chinese_models.verify.bundle import pack_run
from uncensoring_chinese_models.verify.verification import verify_run
from uncensoring_chinese_models.viewer.index import Filters, Index

OLDER = (
    f"was made by an older version (format 2); this version reads format {SCHEMA}. "
    "Use the version that made it: 0.5.0."
)


@pytest.fixture(scope="module")
def older(tmp_path_factory):
    """Return the directory of a finished run whose journal has an older format."""

    def age(record):
        if record["type"] == "header":
            record |= {"schema": 2, "package_version": "0.5.0"}

    folder = tmp_path_factory.mktemp("older")
    with audited_provider() as provider:
        run = audit_here(folder, provider, max_iterations=2).folder
    rewrite(run, age)
    return run


READERS = {
    "verify": verify_run,
    "bundle": pack_run,
    "judge": lambda run: judge_run(run, "tiananmen"),
    "report": read_run,
    "export": load_run,
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_an_older_run_is_refused(older, read):
    """The sentence names the run, both formats and the version to use."""
    with pytest.raises(RunStoreError) as refused:
        read(older)
    assert str(refused.value) == f"{older} {OLDER}"


def test_an_older_run_is_not_resumed(older, tmp_path):
    """Whether it has ended or not, nothing of it is changed and nothing is sent."""
    for name in (None, "summary.json"):
        if name:
            (older / name).rename(tmp_path / name)
        before = {path: path.read_bytes() for path in older.rglob("*") if path.is_file()}
        with audited_provider() as provider:
            with pytest.raises(RunStoreError) as refused:
                audit_here(tmp_path, provider, resume=older, max_iterations=2)
            assert provider.count("chat") == provider.count("completions") == 0
        assert str(refused.value) == f"{older} {OLDER}"
        assert {path: path.read_bytes() for path in older.rglob("*") if path.is_file()} == before
        if name:
            (tmp_path / name).rename(older / name)


def test_an_older_run_is_listed_as_unreadable(older, tmp_path):
    """The viewer, a study and an export of the folder name it and go on."""
    index = Index(older.parent, tmp_path)
    index.refresh()
    (row,) = index.rows(Filters(), 10)
    index.close()
    assert row.status == "unreadable"
    assert row.problem == f"{older.name} {OLDER}"
    (left_out,) = gather(older.parent, older.parent).left_out
    assert left_out.reason == f"{older.name} {OLDER}"
    assert load_runs(older.parent).unreadable == {older.name: f"{older} {OLDER}"}


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ({"schema": 1}, "an older version (format 1)"),
        ({"schema": SCHEMA + 1, "package_version": "9.1"}, "Use the version that made it: 9.1."),
        ({"schema": 2, "package_version": "\x1b[2J"}, "Use the version that made it."),
    ],
)
def test_other_formats(header, says):
    """A newer format is refused, too; what does not look like a version is not repeated."""
    line = json.dumps({"type": "header", **header}).encode() + b"\n"
    with pytest.raises(RunStoreError) as refused:
        refuse_other_format(line, "a run")
    assert says in str(refused.value)


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]\n", b'{"type": "sent"}\n', b'{"type": "header"}\n']
)
def test_a_line_that_names_no_format_is_not_refused_for_it(line):
    """What is wrong with it, its reader says."""
    refuse_other_format(line, "a run")
