"""The first line of a journal is its header, and no other line is: every reader refuses anything else."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.support import audit_here, audited_provider
from uncensoring_chinese_models.errors import CorruptRunError, FatalError, RunStoreError
from uncensoring_chinese_models.exports.loading import load_run
from uncensoring_chinese_models.runs.chain import LINKS, SCHEMA, START, line_hash, read_line, sealed
from uncensoring_chinese_models.runs.journal import Journal
from uncensoring_chinese_models.runs.reading import read_run
from uncensoring_chinese_models.verify.verification import verify_run
from uncensoring_chinese_models.viewer.index import Filters, Index

NOW = "2026-01-02T03:04:05Z"
NOT_A_HEADER = f"is not a header of format {SCHEMA}"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run that was interrupted and resumed, so that every type of line occurs."""
    folder = tmp_path_factory.mktemp("made")
    with audited_provider() as provider:
        provider.fail("402", api="completions", times=None)
        with pytest.raises(FatalError):
            audit_here(folder, provider, max_iterations=1)
        provider.heal()
        (run,) = (folder / "runs").glob("[!.]*")
        return audit_here(folder, provider, max_iterations=1, resume=run).folder


def chained(records):
    """Return a journal of these records, whose hashes all fit."""
    last, content = START, b""
    for record in records:
        line = sealed({key: record[key] for key in record if key not in LINKS}, last)
        last, content = line_hash(line), content + line + b"\n"
    return content


def without_header(records):
    return records[1:]


def header_second(records):
    return [records[1], records[0], *records[2:]]


def begins_with(kind):
    """Return a change that puts the first line of one type before all others, header included."""

    def change(records):
        first = next(each for each in records if each["type"] == kind)
        return [first, *records]

    return change


CHANGES = {
    "no header": without_header,
    "header second": header_second,
    **{
        kind: begins_with(kind)
        for kind in ("sent", "attempt", "done", "decision", "resumed", "footer")
    },
}


@pytest.fixture(params=CHANGES.values(), ids=list(CHANGES))
def run(request, made, tmp_path):
    """A copy of the run whose journal begins with another line; its summary lists the new journal."""
    folder = shutil.copytree(made, tmp_path / "runs/run")
    path, summary = folder / "journal.jsonl", folder / "summary.json"
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    path.write_bytes(chained(request.param(records)))
    value = json.loads(summary.read_bytes())
    value["sha256"]["journal.jsonl"] = line_hash(path.read_bytes())
    summary.write_text(json.dumps(value))
    return folder


def test_verify_names_the_first_line(run):
    """The line is wrong, and nothing is derived from such a journal."""
    result = verify_run(run)

    (journal, replay) = (each for each in result.checks if each.name in ("journal", "replay"))
    assert str(journal.failures[0]) == f"journal.jsonl: line 1: {NOT_A_HEADER}"
    assert (replay.verdict, result.holds) == ("not done", False)


def test_journal_is_not_opened(run):
    """What resuming opens is refused before anything is written."""
    before = (run / "journal.jsonl").read_bytes()

    with pytest.raises(CorruptRunError, match=f"line 1 {NOT_A_HEADER}"):
        Journal.open(run / "journal.jsonl", lambda: NOW)
    assert (run / "journal.jsonl").read_bytes() == before


@pytest.mark.parametrize("has_ended", [True, False])
def test_run_is_not_resumed(run, tmp_path, has_ended):
    """Neither one that has ended, to which resuming adds nothing, nor another; nothing is sent."""
    if not has_ended:
        (run / "summary.json").unlink()
    with audited_provider() as provider:
        with pytest.raises(RunStoreError, match="header"):
            audit_here(tmp_path, provider, max_iterations=1, resume=run)
        assert not [each for each in provider.requests if each.method == "POST"]


def test_reports_and_exports_refuse_it(run):
    """What is read from it would lack its start, its kind and its settings."""
    for read in (read_run, load_run):
        with pytest.raises(RunStoreError, match="does not begin with a header"):
            read(run)


def test_viewer_lists_it_as_unreadable(run, tmp_path):
    """It stays in the list, with the reason, and shows no figures."""
    index = Index(run.parent, tmp_path / "cache")
    index.refresh()
    (row,) = index.rows(Filters(), 10)
    index.close()

    assert "does not begin with a header" in row.problem
    assert row.samples == 0


@pytest.mark.parametrize("damage", [b"\0\0\n", b"\0\0", b'{"type": "hea'])
def test_damage_before_it_hides_no_missing_header(made, tmp_path, damage):
    """NUL bytes or a torn line at the beginning do not make another line the first one."""
    folder = shutil.copytree(made, tmp_path / "run")
    path = folder / "journal.jsonl"
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    path.write_bytes(damage + chained(without_header(records)))
    before = path.read_bytes()

    with pytest.raises(CorruptRunError, match=NOT_A_HEADER):
        Journal.open(path, lambda: NOW)
    assert path.read_bytes() == before
    assert not verify_run(folder).holds


def test_second_header_is_refused(made, tmp_path):
    """A later header would replace what the run began with."""
    folder = shutil.copytree(made, tmp_path / "run")
    path = folder / "journal.jsonl"
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    forged = [*records[:3], records[0] | {"started_at": NOW}, *records[3:]]
    path.write_bytes(chained(forged))

    result = verify_run(folder)
    assert "journal.jsonl: line 4: is a second header" in [str(one) for one in result.failures]
    with pytest.raises(CorruptRunError, match="line 4 is a second header"):
        Journal.open(path, lambda: NOW)


def test_line_of_an_unknown_type_is_refused(made, tmp_path):
    """A line that no version writes is not passed over."""
    folder = shutil.copytree(made, tmp_path / "run")
    path = folder / "journal.jsonl"
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    path.write_bytes(chained([*records, {"type": "remark", "text": "all is well"}]))

    assert not verify_run(folder).holds
    with pytest.raises(CorruptRunError, match="has the type 'remark', which is none"):
        Journal.open(path, lambda: NOW)


def test_header_is_read_as_a_header_alone():
    """The reader of a line is told which line it is."""
    header = sealed({"type": "header", "schema": SCHEMA}, START)
    other = sealed({"type": "decision", "name": "x", "value": True}, START)

    assert read_line(header, is_header=True)["type"] == "header"
    assert read_line(other, is_header=False)["type"] == "decision"
    with pytest.raises(ValueError, match="is not a header"):
        read_line(other, is_header=True)
    with pytest.raises(ValueError, match="is a second header"):
        read_line(header, is_header=False)
