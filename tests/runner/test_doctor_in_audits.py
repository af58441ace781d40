"""The doctor within an audit: before the first probe, in the same journal, and only when asked."""

from __future__ import annotations

import json

import pytest

from tests.provider.patient import patient
from tests.running import PINNED, both, endpoint, run_over
from tests.support import CrashError, CrashingWatcher, audited_provider, make_config, write_config
from uncensoring_chinese_models.config.loading import load_config
from uncensoring_chinese_models.config.settings import Budget
from uncensoring_chinese_models.errors import BudgetExceededError, FailedCheckError, FatalError
from uncensoring_chinese_models.models.budget import BudgetMeter
from uncensoring_chinese_models.models.doctor.canaries import MAX_TOKENS
from uncensoring_chinese_models.runner.run import run_job
from uncensoring_chinese_models.runs.journal import Journal
from uncensoring_chinese_models.verify.verification import verify_run

pytestmark = pytest.mark.wire

TWO_ARMS = {"arms": ["user_persona", "assistant"]}


def auditable(**ills):
    """Return a patient with an auditor that can run an audit."""
    return patient(auditor=audited_provider().auditor, **ills)


def canaries(provider):
    bodies = [request.body for request in provider.requests if request.method == "POST"]
    return [body for body in bodies if body["max_tokens"] <= MAX_TOKENS]


def others(provider):
    posted = [request.body for request in provider.requests if request.method == "POST"]
    return len(posted) - len(canaries(provider))


def test_no_canary_is_sent_unless_asked_for(tmp_path):
    """By default an audit sends what the spec says, and its summary says null."""
    with auditable() as provider:
        ran = run_over(tmp_path, provider, **both(provider), sampling=TWO_ARMS)

        assert canaries(provider) == []
    assert ran.summary["doctor"] is None
    assert not (ran.folder / "doctor.json").exists()
    assert "doctor" not in (ran.folder / "report.md").read_text("utf-8")


def test_off_is_what_yaml_makes_of_it(tmp_path):
    """A bare off, which YAML reads as false, is the word; true is not."""
    with auditable() as provider:
        off = run_over(tmp_path, provider, **both(provider), doctor=False)
        on = run_over(tmp_path, provider, **both(provider), doctor=True)

    assert off.summary["config"]["doctor"] == "off"
    assert "doctor must be 'off', 'report' or 'require'" in str(on.error)


def test_report_goes_on_and_tells_what_is_wrong(tmp_path):
    """Verdicts are in the run, in its summary and in its report; the canaries are in its spend."""
    with auditable(ignores_stop=True) as provider:
        settings = {**both(provider), "sampling": TWO_ARMS}
        ran = run_over(tmp_path, provider, **settings, doctor="report")
        sent = [request for request in provider.requests if request.method == "POST"]

    checks = json.loads((ran.folder / "doctor.json").read_bytes())["checks"]
    wrong = ["target/user_persona/stop", "target/assistant/stop"]
    assert ran.status == "max_iterations"
    assert ran.summary["doctor"]["no"] == wrong
    assert ran.summary["doctor"]["yes"] == sum(each["verdict"] == "yes" for each in checks)
    assert sum(value["calls"] for value in ran.summary["spend"]["by_role"].values()) == len(sent)
    assert "doctor.json" in ran.summary["sha256"]
    assert f"2 no ({', '.join(wrong)})".replace("_", r"\_") in (ran.folder / "report.md").read_text(
        "utf-8"
    )
    assert [line for line in ran.warnings if "stop strings are ignored" in line]


def test_require_refuses_before_the_first_probe(tmp_path):
    """One sentence names the check and its numbers, and nothing but canaries was sent."""
    with auditable(ignores_stop=True) as provider:
        settings = {**both(provider), "sampling": TWO_ARMS}
        ran = run_over(tmp_path, provider, **settings, doctor="require")
        asked_before = len(canaries(provider))

        assert isinstance(ran.error, FailedCheckError)
        assert "target/user_persona/stop" in str(ran.error)
        assert "with it 64 characters" in str(ran.error)
        assert others(provider) == 0
        assert (ran.folder / "doctor.json").exists()
        assert not (ran.folder / "summary.json").exists()

        gone_on = run_over(tmp_path, provider, **settings, doctor="report", resume=ran.folder)
        assert len(canaries(provider)) == asked_before
    assert gone_on.status == "max_iterations"
    assert gone_on.folder == ran.folder


@pytest.mark.parametrize("ills", [{"ignores_seed": True}, {"refuses_json": True}, {}])
def test_require_does_not_refuse_what_the_audit_does_without(tmp_path, ills):
    """An auditor without JSON mode and a server without seeds are reported, and audited."""
    with auditable(**ills) as provider:
        ran = run_over(tmp_path, provider, **both(provider), doctor="require")

    assert ran.status == "max_iterations"
    assert bool(ran.summary["doctor"]["no"]) == bool(ills)


@pytest.mark.parametrize("later", ["report", "off"])
def test_resumed_run_sends_no_canary_again(tmp_path, later):
    """What broke after the canaries goes on without them; switched off, their verdicts go."""
    with auditable() as provider:
        settings = {**both(provider), "max_iterations": 2}
        config = make_config(provider, output_dir=str(tmp_path / "runs"), **settings)
        watcher = CrashingWatcher(1)
        with pytest.raises(CrashError):
            run_job(load_config(write_config(tmp_path, config | {"doctor": "report"})), watcher)
        asked_before = len(canaries(provider))
        ran = run_over(tmp_path, provider, **settings, doctor=later, resume=watcher.folder)

        assert asked_before == len(canaries(provider)) > 10
    assert ran.status == "max_iterations"
    assert (ran.folder / "doctor.json").exists() == (later == "report")
    assert (ran.summary["doctor"] is None) == (later == "off")


def test_budget_must_cover_the_canaries_and_an_iteration(tmp_path):
    """A budget for the audit alone is refused before anything is sent."""
    with auditable() as provider:
        alone = {**both(provider), "budget": {"max_tokens": 90_000}}
        enough = run_over(tmp_path, provider, **alone)
        sent_before = provider.count()
        ran = run_over(tmp_path, provider, **alone, doctor="report")

        assert enough.status in ("max_iterations", "budget")
        assert isinstance(ran.error, BudgetExceededError)
        assert "canaries" in str(ran.error)
        assert provider.count() == sent_before


def ended_by_budget(tmp_path, provider):
    """Return the settings of a run, the run that its budget ended, and what it spent."""
    settings = {**both(provider), "sampling": TWO_ARMS, "max_iterations": 20}
    ran = run_over(tmp_path, provider, **settings, budget={"max_tokens": 150_000})
    spent, journal = BudgetMeter(Budget()), Journal(ran.folder / "journal.jsonl", str)
    journal.load((ran.folder / "journal.jsonl").read_bytes())
    spent.charge_past(journal.attempts)
    assert ran.status == "budget"
    return settings, ran, spent.spent_tokens


def test_ended_run_is_left_as_it_is_where_the_budget_does_not_cover_the_canaries(tmp_path):
    """Resumed with hardly more budget, it is refused before its files are taken back."""
    with auditable() as provider:
        settings, ran, spent = ended_by_budget(tmp_path, provider)
        before = {path.name: path.read_bytes() for path in ran.folder.glob("*.*")}
        sent_before = provider.count()
        little = {"max_tokens": spent + 5_000}
        again = run_over(
            tmp_path, provider, **settings, budget=little, doctor="report", resume=ran.folder
        )

        assert isinstance(again.error, BudgetExceededError)
        assert "canaries" in str(again.error)
        assert "doctor=off" in str(again.error)
        assert {path.name: path.read_bytes() for path in ran.folder.glob("*.*")} == before
        assert provider.count() == sent_before


def test_canaries_that_the_journal_holds_need_no_budget(tmp_path):
    """A run that its budget ended after the canaries ends the same way again, for free."""
    with auditable() as provider:
        settings, ran, spent = ended_by_budget(tmp_path, provider)
        enough = {"max_tokens": spent + 60_000}
        first = run_over(
            tmp_path, provider, **settings, budget=enough, doctor="report", resume=ran.folder
        )
        sent_before, least = len(canaries(provider)), {"max_tokens": 1}
        again = run_over(
            tmp_path, provider, **settings, budget=least, doctor="report", resume=ran.folder
        )

        assert len(canaries(provider)) == sent_before > 10
    assert (first.status, again.status) == ("budget", "budget")


@pytest.mark.parametrize("later", ["report", "off"])
def test_refused_run_that_had_ended_gets_its_files_back(tmp_path, later):
    """What `require` took back is written again by report or off, and its message says so."""
    with auditable(ignores_stop=True) as provider:
        settings, ran, spent = ended_by_budget(tmp_path, provider)
        settings |= {"budget": {"max_tokens": spent + 60_000}, "resume": ran.folder}
        refused = run_over(tmp_path, provider, **settings, doctor="require")

        assert "doctor=report or doctor=off" in str(refused.error)
        assert "summary" in str(refused.error)
        back = run_over(tmp_path, provider, **settings, doctor=later)
    assert back.status == "budget"
    assert (back.folder / "report.md").exists()


@pytest.mark.parametrize("doctor", ["report", "require"])
def test_dead_target_ends_the_run_before_its_first_probe(tmp_path, doctor):
    """What the doctor could not ask is asked again when the run goes on; verify finds no fault."""
    with auditable() as provider:
        settings = {**both(provider), "sampling": TWO_ARMS, "doctor": doctor}
        dead = endpoint(provider, provider=PINNED, base_url="http://127.0.0.1:9/v1")
        ran = run_over(tmp_path, provider, **settings | {"audited_endpoint": dead})
        sent = len(canaries(provider))

        assert isinstance(ran.error, FatalError)
        assert str(ran.error).startswith("The target deepseek/deepseek-chat at http://127.0.0.1:9")
        assert "the run is kept" in str(ran.error)
        assert (sent, others(provider)) == (1, 0)
        assert not (ran.folder / "summary.json").exists()
        assert verify_run(ran.folder).holds

        gone_on = run_over(tmp_path, provider, **settings, resume=ran.folder)
    assert gone_on.status == "max_iterations"
    assert gone_on.summary["doctor"]["no"] == []
    assert "target" not in str(gone_on.summary["doctor"]["unknown"])
    assert len(gone_on.errors("000/target")) == 4


def test_missing_model_ends_the_run_and_says_that_another_name_is_another_run(tmp_path):
    """A run cannot be resumed under another name, so it is not advised to."""
    with auditable(strict_models=True) as provider:
        reached = endpoint(provider, template="deepseek-v3", provider=PINNED)
        settings = {**both(provider), "audited_endpoint": reached, "audited_model": "x/none"}
        ran = run_over(tmp_path, provider, **settings, doctor="require")

    assert isinstance(ran.error, FatalError)
    assert "then resume it, or start a new run if the name was wrong." in str(ran.error)
