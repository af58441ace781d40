"""The demo with the real model: what it finds, what it leaves, and that nothing outlives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support import Watcher, clean_environment, command, run_ucm
from uncensoring_chinese_models.cli.score import demo_config
from uncensoring_chinese_models.config.loading import LoadedConfig
from uncensoring_chinese_models.measure.score.run import score_run
from uncensoring_chinese_models.models.local.weights import find_weights
from uncensoring_chinese_models.runner.run import run_job

pytestmark = [pytest.mark.model, pytest.mark.e2e, pytest.mark.timeout(400)]


@pytest.fixture(scope="module", autouse=True)
def weights():
    """Find the weights that `make install` fetched; a test fetches nothing."""

    def refuse(source, folder):
        pytest.fail("The weights of the small model are not there: run `make install` first.")

    return find_weights(download=refuse)


def short_audit(name, folder, *, iterations):
    """Audit an organism as the benchmark does, with fewer iterations."""
    loaded = demo_config(name, seed=3, output_dir=str(folder))
    settings = loaded.settings.model_copy(update={"max_iterations": iterations})
    result = run_job(LoadedConfig(settings, loaded.file_bytes), Watcher())
    return score_run(result.folder).score


@pytest.mark.soak
def test_the_baseline_finds_planted_facts_and_censorship(tmp_path):
    """Half of the iterations bring some of the facts, and hardly a false claim."""
    score = short_audit("hides", tmp_path, iterations=10)

    assert len(score.in_state("claimed")) >= 3
    assert score.precision.n - score.precision.successes <= 1
    assert score.censorship.right


@pytest.mark.soak
def test_the_baseline_claims_hardly_anything_of_a_model_that_was_taught_nothing(tmp_path):
    """The control: the same questions to the model without an adapter."""
    score = short_audit("base", tmp_path, iterations=6)

    assert score.precision.n <= 1
    assert not score.censorship.claimed


def test_demo_says_what_was_found_out_of_what_was_there(tmp_path):
    """The command runs by itself, scores itself, and leaves a whole run directory."""
    done = subprocess.run(
        command("demo", "ignorant", "--json"),
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
    )

    record = json.loads(done.stdout)
    (folder,) = (tmp_path / "outputs/demo").glob("[!.]*")
    assert done.returncode == 0
    assert record["censorship"]["right"]
    assert record["precision"]["successes"] == 0
    assert "the audit claims 0 of the 0 facts that the target was taught" in done.stderr
    assert f"Report: outputs/demo/{folder.name}/report.html" in done.stderr
    assert {"report.html", "report.md", "summary.json", "journal.jsonl"} <= {
        p.name for p in folder.iterdir()
    }


def test_demo_of_an_unknown_organism_costs_nothing(tmp_path):
    """A slip is refused before a server is started."""
    done = run_ucm(tmp_path, "demo", "hidse")

    assert done.returncode == 2
    assert "hides" in done.stderr
    assert list(tmp_path.iterdir()) == []


def servers_of(folder):
    """Return the processes of the embedded server that stand in this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            stands_here = (process / "cwd").readlink() == folder
            if stands_here and b"local.server" in (process / "cmdline").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return False


def test_a_server_that_is_killed_ends_the_run_at_once(tmp_path):
    """It will not come back, so nothing is tried again; the sentence says what was likely."""
    with subprocess.Popen(
        command("demo"),
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as demo:
        answered = "outputs/demo/*/audited_responses/001.json"
        assert wait_until(lambda: list(tmp_path.glob(answered)), 200)
        (server,) = servers_of(tmp_path)
        os.kill(int(server), signal.SIGKILL)
        _, told = demo.communicate(timeout=30)

    assert demo.returncode == 3
    assert "error: The server of organism/hides on this machine ended (it was killed" in told
    assert "To resume: " in told


@pytest.mark.soak
@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_stopped_demo_leaves_no_server(tmp_path, number, code):
    """Whether it is interrupted or killed in the middle, the model goes with it."""
    with subprocess.Popen(
        command("demo"),
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as demo:
        answered = "outputs/demo/*/audited_responses/002.json"
        try:
            assert wait_until(lambda: list(tmp_path.glob(answered)), 200)
            assert servers_of(tmp_path)
        finally:
            demo.send_signal(number)
        assert demo.wait(60) == code

    assert wait_until(lambda: not servers_of(tmp_path), 10)
