"""What no process writes in this order, or decides so, is named by `verify` in a forged journal."""

from __future__ import annotations

import copy
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.journals import records_of, write_records
from tests.support import (
    CrashError,
    CrashingWatcher,
    Watcher,
    audit_here,
    audited_provider,
    make_config,
    write_config,
)
from uncensoring_chinese_models.config.loading import load_config
from uncensoring_chinese_models.errors import AuditToolError, FatalError, NotRecordedError
from uncensoring_chinese_models.models.budget import worst_case
from uncensoring_chinese_models.runner import replaying
from uncensoring_chinese_models.runner.run import run_job
from uncensoring_chinese_models.runs.format import prices_from_json
from uncensoring_chinese_models.runs.journal import request_hash
from uncensoring_chinese_models.verify.verification import verify_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.provider import Provider
    from uncensoring_chinese_models.domain import Call

Record = dict[str, Any]
CHEAP: Record = {"sampling": {"max_tokens": 100}, "auditor_sampling": {"max_tokens": 1000}}
CAPS = {"a cap that is far away": {"max_usd": 1}, "tokens enough": {"max_tokens": 10**7}}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run with failed attempts, the doctor's canaries, and a cap that is far away."""
    with audited_provider() as provider:
        provider.fail("500", api="completions", times=2, after=1)
        folder = tmp_path_factory.mktemp("made")
        return audit_here(folder, provider, budget={"max_usd": 1}, doctor="report", **CHEAP).folder


@pytest.fixture(scope="module")
def went_on(tmp_path_factory):
    """A run that was stopped by an error, resumed, ended by the budget, and went on with more."""
    folder = tmp_path_factory.mktemp("went_on")
    settings = {**CHEAP, "max_iterations": 6}
    with audited_provider() as provider:
        provider.fail("402", api="completions", times=1, after=1)
        with pytest.raises(FatalError):
            audit_here(folder, provider, budget={"max_usd": 0.12}, **settings)
        (run,) = (folder / "runs").glob("[!.]*")
        ended = audit_here(folder, provider, resume=run, budget={"max_usd": 0.12}, **settings)
        assert ended.summary["status"] == "budget"
        return audit_here(folder, provider, resume=run, budget={"max_usd": 9}, **settings).folder


@pytest.fixture
def forged(tmp_path):
    """Return what forges a copy of a run, and returns what the check of its lines says."""

    def forge(run: Path, change: Callable[[list[Record]], object]) -> list[str]:
        copied = shutil.copytree(run, tmp_path / run.parent.parent.name / run.name)
        records = records_of(copied)
        change(records)
        write_records(copied, records)
        (check,) = [each for each in verify_run(copied).checks if each.name == "record"]
        return [str(each) for each in check.failures]

    return forge


def job(folder: Path, provider: Provider, watcher: Watcher, **changes: Any) -> None:
    """Run an audit, or resume one."""
    resume = changes.pop("resume", None)
    retries = {"max_attempts": 1, "first_wait_s": 0}
    settings = {"output_dir": str(folder / "runs"), "retries": retries, **CHEAP, **changes}
    loaded = load_config(write_config(folder, make_config(provider, **settings)))
    run_job(loaded, watcher, resume=resume)


def places(records: list[Record], kind: str, **has: Any) -> list[int]:
    """Return where the records of a type are that have these values."""
    return [
        at
        for at, each in enumerate(records)
        if each["type"] == kind and has.items() <= each.items()
    ]


def of_target(records: list[Record], kind: str) -> int:
    """Return where the first record of a sample of the target is."""
    return next(at for at in places(records, kind) if "/target/sample" in records[at]["call"])


def test_honest_runs_hold(made, went_on, forged):
    """Nothing is said of runs that failed, were stopped, ended by the budget and went on."""
    for run in (made, went_on):
        assert forged(run, lambda _: None) == []
        assert verify_run(run).holds


@pytest.mark.parametrize("doctor", ["report", "require"])
def test_run_that_was_resumed_with_the_doctor_and_stopped_there_holds(tmp_path, doctor):
    """Its earlier calls are not asked in a replay, which stops where the run did."""
    with audited_provider() as provider:
        with pytest.raises(CrashError):
            job(tmp_path, provider, CrashingWatcher(4))
        (run,) = (tmp_path / "runs").glob("[!.]*")
        provider.ignore_stops = doctor == "require"
        if doctor == "report":
            provider.fail("402", times=None)
        with pytest.raises(AuditToolError):
            job(tmp_path, provider, Watcher(), resume=run, doctor=doctor)
        assert '"doctor": "' + doctor in (run / "journal.jsonl").read_text("utf-8")

    result = verify_run(run)

    assert [str(one) for each in result.checks for one in each.failures] == []


# --- answers and what is said of them -----------------------------------------------------------


def hide_answer(records):
    failed = next(each for each in records if each["type"] == "attempt" and "error" in each)
    records[of_target(records, "done")]["error"] = copy.deepcopy(failed["error"])


def hide_failure(records):
    failed = places(records, "attempt")
    at = next(at for at in failed if "error" in records[at])
    records.insert(at + 1, {"type": "done", "call": records[at]["call"], "error": None})


def settle_nothing(records):
    records.insert(1, {"type": "done", "call": "009/target/sample/raw/0", "error": None})


@pytest.mark.parametrize("change", [hide_answer, hide_failure, settle_nothing])
def test_outcome_that_no_attempt_had_is_named(made, forged, change):
    """A call that was answered has not failed, and one that was never answered is not settled."""
    assert any("settles the call" in each for each in forged(made, change))


# --- attempts -----------------------------------------------------------------------------------


def send_twice(records):
    at = of_target(records, "sent")
    records.insert(at, copy.deepcopy(records[at]))


def send_for_ever(records):
    at = of_target(records, "sent")
    failed = next(each for each in records if each["type"] == "attempt" and "error" in each)
    more = []
    for number in range(1, 10):
        more.append({**records[at], "attempt": number})
        more.append({**copy.deepcopy(failed), "call": records[at]["call"], "attempt": number})
    for each in records[at:]:
        if each.get("call") == records[at]["call"] and "attempt" in each:
            each["attempt"] += 9
    records[at:at] = more


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (send_twice, "sends attempt 1 at the call"),
        (send_for_ever, "though its settings allow 8"),
    ],
)
def test_attempts_that_no_process_makes_are_named(made, forged, change, says):
    """Each attempt has its number, and a process makes no more than its settings allow."""
    assert any(says in each for each in forged(made, change))


# --- the end, and going on ----------------------------------------------------------------------


def end_early(records):
    records.insert(of_target(records, "sent"), copy.deepcopy(records[-1]))


def end_twice(records):
    records.append(copy.deepcopy(records[-1]))


@pytest.mark.parametrize("change", [end_early, end_twice])
def test_line_after_the_end_is_named(made, forged, change):
    """A run that has ended goes on only where it is resumed."""
    assert any("after the end of the run" in each for each in forged(made, change))


def go_on_after_no_end(records):
    records[places(records, "resumed")[0]]["goes_on"] = True


def go_on_with_others(records):
    records[places(records, "resumed")[0]]["reopened"] = [
        records[of_target(records, "done")]["call"]
    ]


def do_not_go_on(records):
    records[places(records, "resumed")[-1]]["goes_on"] = False


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (go_on_after_no_end, "though no line says that it had ended"),
        (go_on_with_others, "though its end does not name"),
        (do_not_go_on, "does not go on"),
    ],
)
def test_resuming_that_no_process_does_is_named(went_on, forged, change, says):
    """What is asked again follows from how the run had ended before."""
    assert any(says in each for each in forged(went_on, change))


# --- the header ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"), [("seed", 999), ("facts", "topic: x"), ("auditor_prompt", "Be kind.")]
)
def test_first_line_that_its_settings_contradict_is_named(made, forged, name, value):
    """The seed is that of the settings, and texts are those of the files that they name."""
    said = forged(made, lambda records: records[0].update({name: value}))

    assert any(f"line 1: gives another {name} than its config" in each for each in said)


def test_canaries_of_a_doctor_that_is_off_are_named(made, forged):
    """A check that failed cannot be hidden by a setting."""
    said = forged(made, lambda records: records[0]["config"].update(doctor="off"))

    assert any("though its config switches the doctor off" in each for each in said)


# --- what the budget decides --------------------------------------------------------------------


def derived(run: Path, monkeypatch) -> Call | None:
    """Write the files that follow from a journal; return the first call that it lacks."""
    missing: list[Call] = []

    async def complete(_: object, call: Call) -> None:
        missing.append(call)
        raise NotRecordedError(str(call.key))

    monkeypatch.setattr(replaying.EndOfRecord, "complete", complete)
    journal = (run / "journal.jsonl").read_bytes()
    for name, content in replaying.replay(
        (run / "config.yaml").read_bytes(), journal
    ).files.items():
        (run / name).parent.mkdir(exist_ok=True)
        (run / name).write_bytes(content)
    return missing[0] if missing else None


def answered(call: Call, records: list[Record], end: Record) -> list[Record]:
    """Return the lines of an answer to a call, made from those of the auditor's last one."""
    last = [at for at in places(records, "attempt") if "/auditor/" in records[at]["call"]][-1]
    sent = [at for at in places(records, "sent") if "/auditor/" in records[at]["call"]][-1]
    need = worst_case(call, prices_from_json(records[0]["prices"])["auditor"])
    reserved = {"usd": str(need.usd), "tokens": need.tokens, "output_tokens": need.output_tokens}
    who = {"call": str(call.key), "attempt": 1}
    asked = {"request": request_hash(call), "reserved": reserved, "at": end["finished_at"]}
    answer = copy.deepcopy(records[last])
    answer["reply"]["finished_at"] = end["finished_at"]
    return [
        {**records[sent], **who, **asked},
        {**answer, **who},
        {"type": "done", "call": str(call.key), "error": None},
    ]


@pytest.mark.parametrize("budget", [None, *CAPS.values()], ids=["no cap", *CAPS])
def test_end_by_a_budget_that_was_not_reached_is_named(tmp_path, monkeypatch, budget):
    """A run whose later iterations were taken out cannot say that it had no money for them."""
    with audited_provider() as provider:
        changes = {} if budget is None else {"budget": budget}
        run = audit_here(tmp_path, provider, **changes, **CHEAP).folder
    records = records_of(run)
    end, at = records[-1], places(records, "decision", name="go/3")[0]
    (closing,) = [each for each in records if each.get("name", "").startswith("closing/")]
    cut = [*records[:at], {**records[at], "value": False}, {**closing, "name": "closing/3"}]
    write_records(run, cut)
    for name in ("auditor_turns", "audited_responses"):
        shutil.rmtree(run / name)
    (run / "summary.json").unlink()
    call = derived(run, monkeypatch)
    assert call is not None
    forged = [*cut, *answered(call, records, end), {**end, "status": "budget", "ask_again": []}]
    write_records(run, forged)
    assert derived(run, monkeypatch) is None

    result = verify_run(run)

    assert json.loads((run / "summary.json").read_bytes())["status"] == "budget"
    assert not result.holds
    failures = [str(one) for each in result.checks for one in each.failures]
    assert len(failures) == 1
    assert "line" in failures[0]
    assert "budget" in failures[0]


def cut_stage(records, stage):
    at = places(records, "decision", name="go/3")[0]
    records.insert(at + 1, {"type": "decision", "name": f"cut/{stage}", "value": False})


@pytest.mark.parametrize("stage", ["3/turn", "3/samples"])
def test_stage_that_the_budget_cut_off_in_plenty_is_named(made, forged, stage):
    """Neither the auditor's turn nor samples are passed over for a budget that covers them."""
    said = forged(made, lambda records: cut_stage(records, stage))

    assert any("budget" in each and "cut" in each for each in said)


def test_shorter_texts_than_the_budget_asks_for_are_named(made, forged):
    """The auditor's last request shows the texts as whole as the budget allows."""
    at = {"name": "closing/4"}

    def shorten(records):
        (found,) = places(records, "decision", **at)
        records[found]["value"] = 400

    assert any("another limit" in each for each in forged(made, shorten))
