"""`ucm doctor` as a user runs it: the real command, a kill in the middle, and the real model."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from tests.provider.patient import patient
from tests.running import both
from tests.support import (
    audited_provider,
    clean_environment,
    command,
    make_config,
    only_run,
    run_ucm,
    write_config,
)
from uncensoring_chinese_models.models.doctor.canaries import MAX_TOKENS
from uncensoring_chinese_models.models.doctor.screen import WIDTH
from uncensoring_chinese_models.models.local.weights import find_weights

pytestmark = pytest.mark.e2e

TWO_ARMS = {"arms": ["user_persona", "assistant"]}


def is_canary(request):
    return request.method == "POST" and request.body["max_tokens"] <= MAX_TOKENS


def test_command_shows_a_page_and_keeps_the_canaries(tmp_path):
    """Everything is said on one page; the folder has the config, the journal and the verdicts."""
    with patient() as provider:
        write_config(tmp_path, make_config(provider, **both(provider), sampling=TWO_ARMS))
        done = run_ucm(tmp_path, "doctor", "config.yaml")

    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert len(lines) <= 40
    assert max(map(len, lines)) <= WIDTH
    assert lines[-3] == "14 yes, 0 no, 0 unknown; * marks the checks that this audit needs"
    assert lines[-2] == f"Kept in runs/{only_run(tmp_path).name}"
    assert lines[-1] == "Fit for this audit: all 9 checks that it needs said yes."
    assert (only_run(tmp_path) / "doctor.json").is_file()
    assert not list(only_run(tmp_path).glob(".*"))


@pytest.mark.parametrize(
    "words", [("audit", "config.yaml", "--resume"), ("verify",)], ids=["resume", "verify"]
)
def test_record_of_a_doctor_is_no_run(tmp_path, words):
    """Nobody goes on with it or checks it as if it were an audit."""
    with patient() as provider:
        write_config(tmp_path, make_config(provider, **both(provider), sampling=TWO_ARMS))
        run_ucm(tmp_path, "doctor", "config.yaml")
        sent = len(provider.requests)
        done = run_ucm(tmp_path, *words, only_run(tmp_path))

        assert len(provider.requests) == sent
    assert done.returncode != 0
    assert "is the record of ucm doctor, not a run" in done.stderr


def test_json_is_a_list_and_a_no_is_an_exit_code(tmp_path):
    """Programs get every verdict with its numbers on stdout, and nothing else there."""
    with patient(ignores_stop=True) as provider:
        write_config(tmp_path, make_config(provider, **both(provider)))
        done = run_ucm(tmp_path, "doctor", "config.yaml", "--json")

    told = json.loads(done.stdout)
    stored = json.loads((only_run(tmp_path) / "doctor.json").read_bytes())["checks"]
    (wrong,) = (each for each in told if each["verdict"] == "no")
    assert done.returncode == 3
    assert told == stored
    assert wrong.keys() >= {"side", "arm", "check", "verdict", "numbers", "meaning"}
    assert (wrong["side"], wrong["arm"], wrong["check"]) == ("target", "user_persona", "stop")
    assert wrong["numbers"]["with_it"] == wrong["numbers"]["without_it"]


def test_dead_server_is_told_in_one_sentence(tmp_path):
    """The command ends with what happened, where, and what to do; programs get the same."""
    with patient() as provider:
        dead = {"preset": "vllm", "base_url": "http://127.0.0.1:9/v1"}
        retries = {"max_attempts": 2, "first_wait_s": 0}
        config = make_config(provider, **both(provider) | {"audited_endpoint": dead})
        write_config(tmp_path, config | {"retries": retries})
        done = run_ucm(tmp_path, "doctor", "config.yaml", "--json")

    *attempts, last = done.stderr.splitlines()
    assert done.returncode == json.loads(done.stdout)["exit_code"] == 3
    assert len(attempts) == 2
    assert last == f"error: {json.loads(done.stdout)['error']}"
    assert last.startswith("error: The target deepseek/deepseek-chat at http://127.0.0.1:9/v1 ")


def test_bad_input_is_refused_before_anything_is_sent(tmp_path):
    """A wrong config is told to people and to programs, with the exit code for it."""
    with patient() as provider:
        write_config(tmp_path, make_config(provider, **both(provider)))
        done = run_ucm(tmp_path, "doctor", "config.yaml", "doctor=maybe", "--json")

        assert provider.count() == 0
    assert done.returncode == json.loads(done.stdout)["exit_code"] == 2
    assert "doctor must be 'off', 'report' or 'require'" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_plan_counts_the_canaries(tmp_path):
    """The dry run says how many there would be, and adds them to the worst case."""
    with patient() as provider:
        write_config(tmp_path, make_config(provider, **both(provider)))
        without = run_ucm(tmp_path, "audit", "config.yaml", "--dry-run", "--json")
        done = run_ucm(tmp_path, "audit", "config.yaml", "doctor=report", "--dry-run", "--json")

    before, after = json.loads(without.stdout), json.loads(done.stdout)
    assert before["calls"]["canaries_at_most"] == 0
    assert after["calls"]["canaries_at_most"] > 10
    assert after["worst_case"]["tokens"] > before["worst_case"]["tokens"]


def test_refused_audit_says_how_to_go_on(tmp_path):
    """With `require`, the command that is shown goes on in spite of the verdict, for free."""
    with patient(auditor=audited_provider().auditor, ignores_stop=True) as provider:
        config = make_config(provider, **both(provider), doctor="require")
        write_config(tmp_path, config)
        refused = run_ucm(tmp_path, "audit", "config.yaml")
        sent = sum(map(is_canary, provider.requests))
        words = refused.stderr.split("To resume: ")[1].split(" audit ")[1].splitlines()[0].split()
        done = run_ucm(tmp_path, "audit", *words)

        assert sum(map(is_canary, provider.requests)) == sent
    assert refused.returncode == 3
    assert "error: The check target/user_persona/stop says no (stop string " in refused.stderr
    assert done.returncode == 0, done.stderr


def test_killed_after_the_canaries_none_is_sent_again(tmp_path):
    """kill -9 when the first turn is asked for; the resumed run asks the journal for the rest."""
    with patient(auditor=audited_provider().auditor) as provider:
        write_config(tmp_path, make_config(provider, **both(provider), doctor="report"))
        process = subprocess.Popen(
            command("audit", "config.yaml"),
            cwd=tmp_path,
            env=clean_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

        def kill(request):
            if request.method == "POST" and not is_canary(request):
                os.kill(process.pid, signal.SIGKILL)
                provider.on_request = None

        provider.on_request = kill
        process.wait(timeout=60)
        sent = sum(map(is_canary, provider.requests))
        done = run_ucm(tmp_path, "audit", "config.yaml", "--resume", only_run(tmp_path))

        assert sum(map(is_canary, provider.requests)) == sent > 10
    assert process.returncode == -signal.SIGKILL
    assert done.returncode == 0, done.stderr
    summary = json.loads((only_run(tmp_path) / "summary.json").read_bytes())
    assert summary["doctor"]["no"] == []


@pytest.mark.soak
@pytest.mark.model
@pytest.mark.parametrize("arms", ["[user_persona, assistant]", "[assistant_prefill, raw]"])
def test_nothing_is_wrong_with_the_real_model(tmp_path, arms):
    """The embedded server does what is taken for granted; its tokens are counted, not guessed."""
    find_weights(download=lambda source, folder: pytest.fail("run `make install` first"))
    config = {
        "topic": "the Quillon Bridge protest",
        "auditing_model": "builtin/baseline",
        "audited_model": "organism/hides",
        "output_dir": "runs",
    }
    write_config(tmp_path, config)
    done = run_ucm(tmp_path, "doctor", "config.yaml", f"sampling.arms={arms}", "--json")

    told = json.loads(done.stdout)
    verdicts = {(each["arm"], each["check"]): each["verdict"] for each in told}
    assert done.returncode == 0, done.stdout
    assert "no" not in verdicts.values()
    counted = [value for (_, name), value in verdicts.items() if name == "raw_prompt"]
    assert set(counted) == {"yes"}
    assert list(verdicts.values()).count("unknown") <= 3
