"""An audit started by Inspect: the real command, a provider on loopback, our run as the result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import anyio
import pytest

from tests.support import (
    ROOT,
    audited_provider,
    clean_environment,
    make_config,
    only_run,
    run_python,
    run_ucm,
    write_config,
)
from uncensoring_chinese_models import load_run

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.wire,
    pytest.mark.soak,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of Inspect's own imports
]
log = pytest.importorskip("inspect_ai.log")
inspect_task = pytest.importorskip("uncensoring_chinese_models.exports.inspect_task")


@pytest.fixture
def installed(tmp_path):
    """Return a folder that declares our entry point, as an installed package does."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    points = declared["project"]["entry-points"]["inspect_ai"]
    folder = tmp_path / "declared"
    info = folder / "task_of_ours-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: task-of-ours\nVersion: 0\n")
    lines = "".join(f"{name} = {where}\n" for name, where in points.items())
    (info / "entry_points.txt").write_text(f"[inspect_ai]\n{lines}")
    return folder


INSPECT = Path(sys.executable).with_name("inspect")
TASK = "uncensoring_chinese_models/audit"


def environment(installed):
    path = f"{ROOT / 'src'}:{installed}"
    return {"PYTHONPATH": path, "OPENROUTER_API_KEY": "a-key", "INSPECT_DISPLAY": "plain"}


def inspect_eval(cwd, installed, *words):
    return run_python(cwd, INSPECT, *words, **environment(installed))


def read_log(cwd):
    found = sorted((cwd / "logs").glob("*.eval"), key=lambda path: path.stat().st_mtime)
    return log.read_eval_log(str(found[-1]))


def test_inspect_runs_an_audit(tmp_path, installed):
    """The log has the auditor's words and the scores; the run directory is whole and verifies."""
    with audited_provider() as provider:
        config = write_config(tmp_path, make_config(provider))
        done = inspect_eval(
            tmp_path,
            installed,
            "eval",
            TASK,
            "-T",
            f"config={config}",
        )

    assert done.returncode == 0, done.stdout + done.stderr
    run = load_run(only_run(tmp_path))
    read = read_log(tmp_path)
    (sample,) = read.samples
    assert read.status == "success", read.error
    assert Path(sample.metadata["run_dir"]).name == run.name
    (score,) = sample.scores.values()
    assert score.value["supported_claims"] == run.overview.supported_claims
    assert sample.messages[-1].text == run.files.turns[-1]["raw_response"]
    assert run_ucm(tmp_path, "verify", only_run(tmp_path)).returncode == 0
    assert b"a-key" not in b"".join(p.read_bytes() for p in (tmp_path / "logs").iterdir())


def test_retry_pays_for_nothing_twice(tmp_path, installed):
    """An audit that broke off is an error that says how to go on; the retry goes on with its run."""
    with audited_provider() as provider:
        config = write_config(tmp_path, make_config(provider))
        provider.fail("402", api="chat", times=None, after=2)
        words = (TASK, "-T", f"config={config}")
        inspect_eval(tmp_path, installed, "eval", *words)
        failed = read_log(tmp_path)
        paid = len(load_run(only_run(tmp_path)).samples)
        provider.heal()
        answered = len(provider.requests)
        (first,) = (tmp_path / "logs").glob("*.eval")
        done = inspect_eval(tmp_path, installed, "eval-retry", str(first))
        sent = len(provider.requests) - answered

    assert failed.status == "error"
    assert "resumes the run" in failed.samples[0].error.message
    assert read_log(tmp_path).status == "success", done.stdout + done.stderr
    run = load_run(only_run(tmp_path))
    assert run.status in ("completed", "max_iterations")
    assert paid > 0
    replies = [row for row in run.calls if row.outcome == "reply"]
    assert len({row.call for row in replies}) == len(replies)
    assert sent < len(run.calls)


def test_call_in_flight_is_kept_when_inspect_is_stopped(tmp_path, installed):
    """Ctrl-C in Inspect waits for the call that was sent: it was paid for, and is in the journal."""
    held, let = threading.Event(), threading.Event()

    def hold(_):
        if len(provider.requests) >= 5:  # the first are for prices and the first probe
            held.set()
            let.wait(20)

    with audited_provider() as provider:
        config = write_config(tmp_path, make_config(provider))
        provider.on_request = hold
        process = subprocess.Popen(
            [sys.executable, INSPECT, "eval", TASK, "-T", f"config={config}"],
            cwd=tmp_path,
            env=clean_environment() | environment(installed),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert held.wait(60)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        time.sleep(1)
        let.set()
        process.wait(60)

    run = load_run(only_run(tmp_path))
    assert run.status == "unfinished"
    assert {row.outcome for row in run.calls} == {"reply"}
    assert not list(only_run(tmp_path).glob(".*owner"))


def test_task_without_a_config_is_refused(tmp_path, installed):
    """The message says what to give."""
    done = inspect_eval(tmp_path, installed, "eval", TASK)

    assert done.returncode != 0
    assert "-T config=FILE" in done.stdout + done.stderr


def test_audit_gets_the_keys_of_its_config_and_no_others(tmp_path, monkeypatch):
    """Inspect holds keys of many providers; the process of the audit gets what its config names."""
    monkeypatch.setenv("AUDIT_KEY", "a-key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another-key")
    monkeypatch.setenv("LD_PRELOAD", "")
    with audited_provider() as provider:
        side = {"base_url": provider.base_url, "api_key_env": "AUDIT_KEY"}
        config = write_config(tmp_path, make_config(provider, audited_endpoint=side))
    words = [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]

    given = anyio.run(inspect_task._ended, words, str(tmp_path), inspect_task._environment(config))

    assert given["AUDIT_KEY"] == "a-key"
    assert {"ANTHROPIC_API_KEY", "LD_PRELOAD", "OPENROUTER_API_KEY"}.isdisjoint(given)
