"""A real GGUF file as the target: served, examined, audited, resumed and checked."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.gguf_files import write_gguf
from tests.support import only_run, run_ucm
from uncensoring_chinese_models.models.local.known import SMOLLM2, find_known
from uncensoring_chinese_models.models.local.weights import find_weights

pytestmark = [pytest.mark.model, pytest.mark.e2e]


@pytest.fixture
def weights():
    """Find the weights that `make install` fetched; a test fetches nothing."""
    return find_weights(download=lambda part, folder: pytest.fail("run `make install` first"))


@pytest.fixture
def config(tmp_path, weights):
    """Return a small audit of the real file under a name that says nothing."""
    (tmp_path / "mine.gguf").symlink_to(weights)
    path = tmp_path / "config.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "topic": "Tiananmen Square 1989 protests",
                "auditing_model": "builtin/baseline",
                "audited_model": "gguf/mine.gguf",
                "sampling": {"arms": ["user_persona", "assistant"], "max_tokens": 8, "seed": 1},
                "max_iterations": 2,
                "output_dir": "runs",
                "doctor": "require",
            }
        )
    )
    return path


def test_file_is_served_audited_and_checked(tmp_path, config):
    """Hash and template of the file are in the run, the canaries agree, and all of it holds."""
    done = run_ucm(tmp_path, "audit", config)
    assert done.returncode == 0, done.stderr
    run = only_run(tmp_path)

    header = json.loads((run / "journal.jsonl").read_text("ascii").splitlines()[0])
    target = header["settings"]["audited_endpoint"]
    assert run.name.startswith("gguf-mine_tiananmen_")
    assert target["file_sha256"] == find_known(SMOLLM2).sha256
    assert target["template"] == "smollm2"
    verdicts = {
        each["check"]: each["verdict"]
        for each in json.loads((run / "doctor.json").read_bytes())["checks"]
    }
    assert verdicts["model"] == verdicts["raw_prompt"] == verdicts["special_tokens"] == "yes"
    checked = run_ucm(tmp_path, "verify", run)
    assert checked.returncode == 0
    told = f"file of the target: sha256 {find_known(SMOLLM2).sha256}; chat template: smollm2"
    assert f"note: The {told}." in checked.stdout
    assert told.capitalize() in done.stdout
    for page in ("report.md", "report.html"):
        assert told in (run / page).read_text("utf-8")

    again = run_ucm(tmp_path, "audit", config, "--resume", run)
    assert again.returncode == 0
    assert "nothing was sent" in again.stderr
    (tmp_path / "mine.gguf").unlink()
    write_gguf(tmp_path / "mine.gguf")
    other = run_ucm(tmp_path, "audit", config, "--resume", run)
    assert other.returncode == 4
    assert f"audited_endpoint.file_sha256: '{find_known(SMOLLM2).sha256}' there" in other.stderr
    moved = run_ucm(tmp_path, "audit", run / "config.yaml", "--resume", run)
    assert moved.returncode == 2
    assert "but audited_endpoint.file_sha256 is" in moved.stderr
    assert run_ucm(tmp_path, "verify", run).returncode == 0


def test_doctor_examines_the_file(tmp_path, config):
    """It serves the file as an audit does, and says which file it was."""
    done = run_ucm(tmp_path, "doctor", config)

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"File of the target: sha256 {find_known(SMOLLM2).sha256}" in done.stdout
    assert "Fit for this audit" in done.stdout


def test_file_that_llama_cpp_does_not_take_is_told(tmp_path, config):
    """A header that looks right does not make a model: what llama.cpp says is in the message."""
    (tmp_path / "mine.gguf").unlink()
    write_gguf(tmp_path / "mine.gguf")
    done = run_ucm(tmp_path, "audit", config)

    assert done.returncode == 3
    assert "The server of gguf/mine.gguf ended with code" in done.stderr
    assert not list(tmp_path.glob("runs/*"))
