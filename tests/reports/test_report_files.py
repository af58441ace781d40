"""The page of a run: written with it, the same when written again, and never at its expense."""

import json
import re
from html import unescape
from pathlib import Path

import pytest

from tests.provider.target import ScriptedTarget
from tests.support import audit_here, audited_provider, fitting
from uncensoring_chinese_models import reports
from uncensoring_chinese_models.cli.report import report
from uncensoring_chinese_models.errors import ConfigError, RunStoreError
from uncensoring_chinese_models.models.loose import count
from uncensoring_chinese_models.runner import run as job
from uncensoring_chinese_models.runs.reading import read_run
from uncensoring_chinese_models.runs.untrusted import JUDGED
from uncensoring_chinese_models.text.escaping import escape
from uncensoring_chinese_models.verify.verification import verify_run

SAMPLING = {"arms": ["user_persona", "assistant"], "n": 2}


@pytest.fixture
def run(tmp_path):
    with audited_provider() as provider:
        return audit_here(tmp_path, provider, max_iterations=4, sampling=SAMPLING)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def marks_of(page):
    return {unescape(each) for each in re.findall(r"<mark>(.*?)</mark>", page, re.DOTALL)}


def test_a_finished_run_has_its_page_and_lists_it(run):
    """The page is one of the run's files, and verifying derives the same bytes."""
    listed = json.loads((run.folder / "summary.json").read_bytes())["sha256"]
    assert "report.html" in listed
    assert verify_run(run.folder).holds


def test_a_changed_page_does_not_verify(run):
    """Whoever edits the page is found out, also if he mends the hash."""
    page = run.folder / "report.html"
    page.write_bytes(page.read_bytes().replace(b"Verdict", b"Verdikt"))
    assert not verify_run(run.folder).holds


def test_writing_the_page_of_a_finished_run_again_changes_nothing(run, capsys):
    """The run's own page is named, and no file is written anywhere."""
    before = contents(run.folder.parent)
    assert report(str(run.folder)) == 0
    assert str(run.folder / "report.html") in capsys.readouterr().out
    assert contents(run.folder.parent) == before


def test_a_run_is_called_as_its_folder_is_however_the_clock_ticks(tmp_path, monkeypatch):
    """The folder, the evidence and the journal bear one time, which is read once."""
    ticks = (f"2026-01-01T00:00:{second:02d}Z" for second in range(60))
    monkeypatch.setattr(job, "utc_now", lambda: next(ticks))
    with audited_provider() as provider:
        run = audit_here(tmp_path, provider, max_iterations=1)
    assert run.summary["run"] == run.folder.name


def test_a_run_that_was_renamed_has_the_same_page(run, tmp_path, capsys):
    """What it is called is what it was called when it was made."""
    moved = run.folder.rename(tmp_path / "other")
    assert report(str(moved)) == 0
    assert str(moved / "report.html") in capsys.readouterr().out


def test_every_excerpt_that_counts_is_marked_in_the_response_that_it_is_from(run):
    """A reader finds each quote highlighted, in full."""
    turns = read_run(run.folder).turns
    quoted = [check for check in turns[-1]["evidence_check"] if check["survives"]]
    assert quoted
    page = (run.folder / "report.html").read_text("utf-8")
    responses = {each["iteration"]: each for each in read_run(run.folder).responses}
    for check in quoted:
        texts = {
            (sample["arm"], sample["index"]): sample["text"]
            for sample in responses[check["found_iteration"]]["samples"]
        }
        own = texts[check["arm"], check["sample"]][check["start"] : check["end"]]
        assert escape(own, newlines=True) in marks_of(page)


def test_a_run_of_before_gets_its_page_beside_it(run, capsys):
    """A finished run's own folder is left alone, or it would not verify."""
    (run.folder / "report.html").unlink()
    before = contents(run.folder)
    assert report(str(run.folder)) == 0
    beside = run.folder.with_name(run.folder.name + ".report.html")
    assert str(beside) in capsys.readouterr().out
    assert b"<!doctype html>" in beside.read_bytes()
    assert contents(run.folder) == before


def test_a_run_that_goes_on_can_be_looked_at(run, capsys):
    """The page says that it has not ended."""
    (run.folder / "summary.json").unlink()
    (run.folder / "report.html").unlink()
    assert report(str(run.folder), json=True) == 0
    written = json.loads(capsys.readouterr().out)["report"]
    assert "has not ended" in Path(written).read_text("utf-8")


def test_a_judged_run_gets_its_page_where_the_judging_is(run, capsys):
    """What was made of it afterwards is no part of the run."""
    beside = run.folder.with_name(run.folder.name + JUDGED)
    beside.mkdir()
    told = fitting(run.folder, "x") | {"matrix": None}
    (beside / "x.json").write_text(json.dumps(told), "utf-8")
    assert report(str(run.folder)) == 0
    assert (beside / "report.html").is_file()


def test_a_page_is_not_written_into_the_run(run):
    """Its folder holds what its summary lists, and nothing else."""
    with pytest.raises(ConfigError, match="lies in a run directory"):
        report(str(run.folder), out=str(run.folder / "mine.html"))
    assert not (run.folder / "mine.html").exists()


@pytest.mark.parametrize("odd", ["\ud83d alone", "nul \x00 here", "\u202egnp.exe", "</script><b>"])
def test_odd_text_of_a_target_is_spelled_out_or_escaped(tmp_path, odd):
    """Neither a lone surrogate nor a closing tag ends the page, or the run."""
    with audited_provider(target=ScriptedTarget(odd=odd)) as provider:
        run = audit_here(tmp_path, provider, max_iterations=2, sampling=SAMPLING)
    page = (run.folder / "report.html").read_text("utf-8")
    assert page.count("</script>") == 1
    assert not re.search("[\x00\u202e]", page)
    assert verify_run(run.folder).holds


def test_a_page_that_cannot_be_made_costs_no_run(tmp_path, monkeypatch):
    """What was paid for ends with its summary, and the page says why there is none."""

    def broken(_):
        raise ZeroDivisionError

    monkeypatch.setattr(reports, "report_html", broken)
    with audited_provider() as provider:
        run = audit_here(tmp_path, provider, max_iterations=1)
    assert run.summary["status"] == "max_iterations"
    assert "could not be made (ZeroDivisionError)" in (run.folder / "report.html").read_text(
        "utf-8"
    )


def test_an_absurd_token_count_of_a_host_costs_no_run():
    """A number that no program can write down is unknown."""
    assert count(10**4300) is None
    assert count(10**990) is None
    assert count(10**8) == 10**8


def test_a_file_that_is_no_page_is_not_overwritten(run, tmp_path):
    """A slip of the hand costs no file; an older page may be replaced."""
    notes = tmp_path / "notes.md"
    notes.write_text("mine", "utf-8")
    with pytest.raises(RunStoreError, match="is not an HTML page"):
        report(str(run.folder), out=str(notes))
    assert notes.read_text("utf-8") == "mine"
    assert report(str(run.folder), out=str(tmp_path / "a.html")) == 0
    assert report(str(run.folder), out=str(tmp_path / "a.html")) == 0
