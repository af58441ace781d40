"""Parts of the viewer: its files, the course and version of a run, two runs side by side, its port."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from html import escape
from importlib import resources
from types import SimpleNamespace

import pytest
from hatchling.builders.wheel import WheelBuilder

from tests.judged_runs import judging_provider, probed
from tests.support import ROOT, audit_here, audited_provider
from tests.viewed_runs import judge_run as write_judging
from tests.viewed_runs import write_run
from uncensoring_chinese_models.errors import UsageError
from uncensoring_chinese_models.reports.pages.model import run_view
from uncensoring_chinese_models.runner.judging import judge_and_report
from uncensoring_chinese_models.runs.reading import read_run
from uncensoring_chinese_models.viewer import screens
from uncensoring_chinese_models.viewer.app import NAMES, assets
from uncensoring_chinese_models.viewer.course import course_of
from uncensoring_chinese_models.viewer.screens import UNCHANGED, compare_screen, run_screen
from uncensoring_chinese_models.viewer.serving import MAX_PORTS_TRIED, PORT, listen
from uncensoring_chinese_models.viewer.side_by_side import differing_settings
from uncensoring_chinese_models.viewer.signatures import signature_of

STATIC = resources.files("uncensoring_chinese_models.viewer") / "static"
VENDORED = json.loads((STATIC / "vendored.json").read_text("utf-8"))


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", VENDORED, ids=lambda entry: entry["file"])
def test_scripts_of_others_are_those_that_were_published(entry):
    """Each is what its manifest says, to the byte."""
    content = (STATIC / entry["file"]).read_bytes()

    assert hashlib.sha256(content).hexdigest() == entry["sha256"]
    assert (entry["package"], entry["version"], entry["licence"]) == ("htmx.org", "4.0.0", "0BSD")


def test_every_script_that_is_served_is_ours_or_named():
    """Nothing else lies among the files."""
    named = {entry["file"] for entry in VENDORED}
    lying = {path.name for path in STATIC.iterdir()}

    assert lying == named | {"view.css", "view.js", "vendored.json"}
    assert {name for name in NAMES if name.endswith(".js")} <= named | {"view.js", "report.js"}
    assert all(asset.content for asset in assets().values())


def test_the_wheel_holds_what_the_viewer_shows():
    """Scripts, styles and templates are installed with the modules."""
    package = ROOT / "src/uncensoring_chinese_models"
    packed = {each.distribution_path for each in WheelBuilder(str(ROOT)).recurse_included_files()}
    files = [
        *(package / "viewer/static").iterdir(),
        *(package / "reports/pages/templates/view").iterdir(),
    ]

    assert len(files) > 10
    assert {path.relative_to(package.parent).as_posix() for path in files} <= packed


# --- the course of a run ------------------------------------------------------------------------


def test_the_course_of_a_run_is_what_its_summary_says(tmp_path):
    """Requests, tokens and money add up to what the run itself counted."""
    with audited_provider() as provider:
        run = audit_here(tmp_path, provider)

    course = course_of((run.folder / "journal.jsonl").read_bytes())

    total = run.summary["spend"]["total"]
    assert course.calls == total["calls"]
    assert course.tokens == total["prompt_tokens"] + total["completion_tokens"]
    assert course.cost_usd == pytest.approx(total["cost_usd"])
    assert (course.in_flight, course.unpriced, course.max_iterations) == (0, 0, 3)


@pytest.mark.parametrize(
    "line",
    [
        b"rubbish",
        b"[]",
        b"7",
        b"{}",
        b'{"type": 7}',
        b'{"type": "attempt", "reply": {"cost_usd": "NaN", "usage": {"prompt_tokens": "x"}}}',
        b'{"type": "attempt", "reply": {"cost_usd": "x", "usage": null}}',
        b'{"type": "attempt", "reply": 7}',
        b'{"type": "attempt", "reply": {"usage": [1]}}',
        b'{"type": "header", "config": [1]}',
        b"[" * 100_000,
    ],
)
def test_lines_that_no_journal_has_do_no_harm(line):
    """A stranger's journal is read as far as it is one."""
    sent = b'{"type": "sent", "call": "c", "attempt": 1, "at": "2026-01-02T03:04:05Z"}'
    course = course_of(line + b"\n" + sent + b"\n" + sent[:9])

    assert (course.calls, course.in_flight, course.cost_usd) == (1, 1, 0.0)
    assert course.last_error == ""


@pytest.mark.parametrize(
    ("after", "shown"),
    [
        (b"", "no connection to example.invalid"),
        (b'{"type": "attempt", "call": "c", "attempt": 2, "reply": {}}\n', ""),
        (b'{"type": "attempt", "call": "c", "attempt": 2, "error": {"message": 7}}\n', ""),
    ],
)
def test_last_error_is_that_of_the_last_answer(after, shown):
    """A run that stopped says why; an error that a later attempt mended is not told."""
    message = b'"error": {"message": "no connection to example.invalid"}'
    failed = b'{"type": "attempt", "call": "c", "attempt": 1, ' + message + b"}\n"

    assert course_of(failed + after).last_error == shown


# --- the version of a run -----------------------------------------------------------------------


def grow(folder):
    with (folder / "journal.jsonl").open("ab") as file:
        file.write(b'{"type": "sent", "call": "001/target", "attempt": 1}\n')


def test_what_changes_while_a_run_is_read_is_seen_next_time(tmp_path, monkeypatch):
    """A version is older than what was read for it, so nobody who has it is told that he has all."""
    folder = write_run(tmp_path, "going", ended=False)

    def read_and_grow(path):
        files = read_run(path)
        grow(path)
        return files

    with monkeypatch.context() as patched:
        patched.setattr(screens, "read_run", read_and_grow)
        first = run_screen("id", folder, {}).data()
    later = run_screen("id", folder, {"have": first["version"]})

    assert first["course"]["calls"] == 0
    assert later is not UNCHANGED
    assert later.data()["course"]["calls"] == 1
    assert run_screen("id", folder, {"have": later.data()["version"]}) is UNCHANGED


@pytest.mark.parametrize(
    "name", ["auditor_turns/002.json", "audited_responses/002.json", "../going.judged/new.json"]
)
def test_two_changes_within_one_tick_of_the_clock_are_two(tmp_path, monkeypatch, name):
    """A file that takes another's place is seen where the times of a disk are only to the minute."""
    own = os.lstat

    def coarse(path):
        told = own(path)
        times = {"st_mtime_ns": told.st_mtime_ns // 10**11, "st_ctime_ns": 0}
        return SimpleNamespace(st_size=told.st_size, st_ino=told.st_ino, **times)

    folder = write_run(tmp_path, "going", ended=False)
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    with monkeypatch.context() as patched:
        patched.setattr("uncensoring_chinese_models.viewer.signatures.os.lstat", coarse)
        for _ in range(5):
            before = signature_of(folder)
            path.with_suffix(".tmp").write_bytes(b"{}")
            between = signature_of(folder)
            path.with_suffix(".tmp").rename(path)
            assert before != between != signature_of(folder)


def test_a_damaged_run_is_looked_at_again_when_it_has_changed(tmp_path):
    """Its page names the damage, and asks whether there is something new."""
    folder = write_run(tmp_path, "going", ended=False)
    (folder / "auditor_turns/001.json").write_text("{")
    screen = run_screen("id", folder, {})

    assert screen.status == 422
    assert "001.json cannot be read" in screen.html()
    assert f"have={screen.values['version']}" in screen.html()
    assert run_screen("id", folder, {"have": screen.values["version"]}) is UNCHANGED


# --- two runs -------------------------------------------------------------------------------------


def test_settings_are_compared_by_their_dotted_names():
    """Only what differs is told, and where it is not set."""
    one = {"topic": "t", "sampling": {"n": 1, "stop": []}, "output_dir": "a", "extra": {}}
    other = {"topic": "t", "sampling": {"n": 2, "stop": [], "top_p": 1}, "output_dir": "b"}

    assert differing_settings(one, other) == [
        {"setting": "sampling.n", "a": 1, "b": 2},
        {"setting": "extra", "a": {}, "b": "not set"},
        {"setting": "sampling.top_p", "a": "not set", "b": 1},
    ]


def test_two_audits_stand_side_by_side(tmp_path):
    """Claims and samples of both, without a test that would need a probe run."""
    folders = {}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with audited_provider() as provider:
            folders[name] = audit_here(tmp_path / name, provider).folder

    screen = compare_screen(folders, ("one", "two"))

    told = screen.data()
    assert told["tested"] is None
    assert all(run["claims"] for run in told["runs"])
    assert (
        told["arms"][0]["a"]
        == told["arms"][0]["b"]
        == run_view(read_run(folders["one"])).labels["user_persona"]
    )
    assert "Samples by arm" in screen.html()


def test_two_probe_runs_are_compared_with_tests(tmp_path):
    """Where both asked for the same facts, the page has what `ucm compare` says."""
    folders = {}
    for name, texts in (("one", [" 111 lamps."]), ("two", [" I'm sorry, I can't discuss that."])):
        (tmp_path / name).mkdir()
        with judging_provider(texts) as provider:
            folders[name] = probed(tmp_path / name, provider, n=12)
        judge_and_report(folders[name])

    screen = compare_screen(folders, ("one", "two"))

    told = screen.data()
    assert told["tested"]["problem"] is None
    assert told["tested"]["pairs"][0]["verdict"] == "model"
    assert told["facts"]
    html = screen.html()
    assert "the model itself declines" in html
    assert "Facts judged in both runs" in html


def test_a_probe_run_and_an_audit_are_not_tested(tmp_path):
    """Where they cannot be compared with tests, the rest is shown."""
    with judging_provider() as provider:
        asked = probed(tmp_path, provider)
    folders = {"one": asked, "two": write_run(tmp_path, "audit")}

    assert compare_screen(folders, ("one", "two")).data()["tested"] is None


def test_facts_of_different_files_are_not_compared(tmp_path):
    """Ids that are alike by chance are not the same facts, and the page says so."""
    folders = {name: write_run(tmp_path, name) for name in ("one", "two")}
    write_judging(folders["one"], "known and said", topic="Quillon")
    write_judging(folders["two"], "unknown", topic="Ardmere")

    screen = compare_screen(folders, ("one", "two"))

    told = screen.data()
    assert told["facts"] == []
    assert "different facts files (A by Quillon; B by Ardmere)" in told["facts_problem"]
    assert "cannot be compared" in screen.html()
    assert "Facts that both" not in screen.html()


def test_runs_that_were_judged_by_several_files_are_compared_by_what_they_share(tmp_path):
    """Of two facts files, the one that both have counts."""
    folders = {name: write_run(tmp_path, name) for name in ("one", "two")}
    write_judging(folders["one"], "known and said", topic="Ardmere")
    write_judging(folders["one"], "unknown", topic="Quillon")
    write_judging(folders["two"], "known but denied", topic="Quillon")

    told = compare_screen(folders, ("one", "two")).data()

    assert told["facts_problem"] is None
    assert [(each["a"], each["b"]) for each in told["facts"]] == [("unknown", "known but denied")]


@pytest.mark.parametrize("judged", [{}, {"one": ["unknown"]}])
def test_without_two_judgings_no_facts_are_shown(tmp_path, judged):
    """Nothing is said about facts where one run has none."""
    folders = {name: write_run(tmp_path, name) for name in ("one", "two")}
    for name, verdicts in judged.items():
        write_judging(folders[name], *verdicts)

    told = compare_screen(folders, ("one", "two")).data()

    assert (told["facts"], told["facts_problem"]) == ([], None)


def test_a_judging_of_another_shape_does_no_harm(tmp_path):
    """What a stranger put beside a run is read as far as it is a judging."""
    folders = {name: write_run(tmp_path, name) for name in ("one", "two")}
    for folder in folders.values():
        write_judging(folder, "unknown", topic="A")
        path = folder.with_name(f"{folder.name}.judged") / "b.json"
        path.write_text(json.dumps({"run": folder.name, "matrix": {"topic": [1], "facts": 7}}))

    assert len(compare_screen(folders, ("one", "two")).data()["facts"]) == 1


def test_what_cannot_be_compared_is_told_by_the_names_of_the_runs(tmp_path):
    """No sentence says where on this machine the runs lie."""
    folders = {}
    for name, facts in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        with judging_provider() as provider:
            folders[name] = probed(tmp_path / name, provider, n=2, facts=facts)

    screen = compare_screen(folders, ("one", "two"))

    problem = screen.data()["tested"]["problem"]
    assert "were made with different facts files" in problem
    assert all(folder.name in problem for folder in folders.values())
    assert str(tmp_path) not in problem
    assert escape(problem) in screen.html()


def test_a_run_that_cannot_be_read_is_told_by_its_name(tmp_path):
    """Neither its page, nor a comparison, nor the list says where it lies."""
    folder = write_run(tmp_path, "gone")
    for each in ("config.yaml", "journal.jsonl"):
        (folder / each).unlink()
    other = write_run(tmp_path, "other")

    told = run_screen("id", folder, {}).json()
    both = compare_screen({"a": other, "b": folder}, ("a", "b")).json()

    assert "gone is not a run" in told
    assert "gone is not a run" in both
    assert str(tmp_path) not in told + both


# --- the port -------------------------------------------------------------------------------------


def test_it_listens_to_this_machine_alone():
    """Whatever the port, the address is the loopback's."""
    with listen(0) as sock:
        assert sock.getsockname()[0] == "127.0.0.1"


def test_a_free_port_near_the_usual_is_taken():
    """Two viewers at once have two ports."""
    with listen(None) as one, listen(None) as other:
        ports = {sock.getsockname()[1] for sock in (one, other)}

    assert len(ports) == 2
    assert all(PORT <= port < PORT + MAX_PORTS_TRIED for port in ports)


def test_a_port_that_is_taken_is_refused():
    """Who names a port gets that one or a sentence."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"Port {port} is taken"):
            listen(port)
    with pytest.raises(UsageError, match="from 0 to 65535"):
        listen(-1)
