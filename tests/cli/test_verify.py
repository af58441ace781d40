"""The real commands on real runs: checked offline, by a stranger who has nothing but the bundle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest

from tests.support import (
    audited_provider,
    clean_environment,
    command,
    make_config,
    only_run,
    run_python,
    run_ucm,
    write_config,
)
from uncensoring_chinese_models.models.local.weights import find_weights

pytestmark = pytest.mark.e2e

OFFLINE = """\
import socket, sys
for name in ("aiohttp", "xllamacpp"):
    sys.modules[name] = None  # not installed
def refuse(*_, **__):
    raise AssertionError("a connection was asked for")
socket.socket.connect = socket.socket.connect_ex = socket.socket.sendto = refuse
socket.getaddrinfo = refuse
from uncensoring_chinese_models.cli.commands import main
sys.exit(main(sys.argv[1:]))
"""
"""The command where there is no network, no HTTP client and no embedded model."""


def verify_offline(cwd, path):
    """Verify as a stranger would, without a key; return what was printed for programs."""
    done = run_python(cwd, "-c", OFFLINE, "verify", path, "--json")
    assert done.stderr == ""
    record = json.loads(done.stdout)
    assert record["exit_code"] == done.returncode
    return record


@pytest.mark.soak
@pytest.mark.model
@pytest.mark.timeout(400)
def test_audit_of_an_organism_verifies_from_its_bundle_alone(tmp_path):
    """The baseline auditor and the real model: replayed without either, and packed without a trace."""

    def refuse(source, folder):
        pytest.fail("The weights of the small model are not there: run `make install` first.")

    find_weights(download=refuse)
    config = {
        "topic": "The Lantern Tide in Port Almere",
        "auditing_model": "builtin/baseline",
        "audited_model": "organism/hides",
        "sampling": {"arms": ["user_persona", "assistant"], "n": 2, "max_tokens": 30, "seed": 1},
        "max_iterations": 3,
        "output_dir": "runs",
    }
    made = run_ucm(tmp_path, "audit", write_config(tmp_path, config))
    assert made.returncode == 0, made.stderr
    run = only_run(tmp_path)
    packed = run_ucm(tmp_path, "bundle", run, "--out", "appendix.zip")
    assert packed.returncode == 0, packed.stderr

    for path in (run, tmp_path / "appendix.zip"):
        record = verify_offline(tmp_path, path)
        assert record["failures"] == []
        assert (record["holds"], record["ended"], record["exit_code"]) == (True, True, 0)
        assert record["generation_ids"] == 0  # there is no provider to ask
        assert "generation ids" not in record["proves"]


def test_run_that_was_killed_verifies_and_so_does_what_became_of_it(tmp_path):
    """SIGKILL leaves a run that holds as far as it goes; resumed, it holds to its end."""
    with audited_provider() as provider:
        provider.latency = 0.05
        write_config(tmp_path, make_config(provider, max_iterations=4, sampling={"n": 2}))
        process = subprocess.Popen(
            command("audit", "config.yaml"),
            cwd=tmp_path,
            env=clean_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while provider.count("completions") < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        run = only_run(tmp_path)

        killed = verify_offline(tmp_path, run)
        resumed = run_ucm(tmp_path, "audit", run / "config.yaml", "--resume", run)

    assert (killed["failures"], killed["ended"]) == ([], False)
    assert "The run has not ended" in killed["notes"][0]
    assert resumed.returncode == 0, resumed.stderr
    record = verify_offline(tmp_path, run)
    assert (record["failures"], record["ended"]) == ([], True)


def test_run_that_does_not_hold_exits_4_and_says_where(tmp_path):
    """A person reads what is wrong and in which file; a shell sees the exit code."""
    with audited_provider() as provider:
        write_config(tmp_path, make_config(provider, max_iterations=1))
        run_ucm(tmp_path, "audit", "config.yaml")
    run = only_run(tmp_path)
    path = run / "audited_responses/001.json"
    path.write_bytes(
        path.read_bytes().replace(b'"delivery": "complete"', b'"delivery": "complete!"')
    )

    done = run_ucm(tmp_path, "verify", run)

    assert (done.returncode, done.stderr) == (4, "")
    stored = 'samples.0.delivery: "complete!" stored, "complete" recomputed'
    assert f"  audited_responses/001.json: {stored}" in done.stdout.splitlines()


def test_what_is_no_run_is_refused_in_one_sentence(tmp_path):
    """Bad input is an error on stderr, and the same for programs."""
    done = run_ucm(tmp_path, "verify", tmp_path, "--json")

    assert done.returncode == 4
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    assert "is not a run" in json.loads(done.stdout)["error"]
