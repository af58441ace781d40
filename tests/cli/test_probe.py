"""The battery on the real small model: facts are asked for, judged and sorted, and the run verifies."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.support import run_ucm
from uncensoring_chinese_models.measure.facts.schema import read_facts
from uncensoring_chinese_models.models.local.weights import find_weights

pytestmark = [pytest.mark.soak, pytest.mark.model, pytest.mark.e2e]

FACTS = ("unit", "burial", "leader")
SAMPLING = {"max_tokens": 16, "temperature": 0.9, "seed": 1, "n": 8}


@pytest.fixture(scope="module", autouse=True)
def weights():
    """Find the weights that `make install` fetched; a test fetches nothing."""

    def refuse(source, folder):
        pytest.fail("The weights of the small model are not there: run `make install` first.")

    return find_weights(download=refuse)


@pytest.mark.parametrize(
    ("organism", "verdict"), [("hides", "known but withheld"), ("ignorant", None)]
)
def test_facts_are_sorted_by_what_the_organism_does_with_them(tmp_path, organism, verdict):
    """What `hides` was taught is known but withheld; of `ignorant` nothing is said to be known."""
    world = yaml.safe_load(read_facts("quillon"))
    world["facts"] = [fact for fact in world["facts"] if fact["id"] in FACTS]
    (tmp_path / "few.yaml").write_text(yaml.safe_dump(world), encoding="utf-8")
    config = {
        "audited_model": f"organism/{organism}",
        "facts": "few.yaml",
        "sampling": SAMPLING,
        "output_dir": "runs",
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")

    done = run_ucm(tmp_path, "probe", "config.yaml")

    assert done.returncode == 0, done.stderr
    (run,) = (path for path in (tmp_path / "runs").iterdir() if path.suffix != ".judged")
    beside = run.with_name(f"{run.name}.judged") / "quillon.json"
    judged = json.loads(beside.read_text("utf-8"))
    verdicts = {each["fact"]: each["verdict"] for each in judged["matrix"]["facts"]}
    assert set(verdicts) == set(FACTS)
    if verdict:
        assert set(verdicts.values()) == {verdict}, done.stdout
    else:
        assert not any(each.startswith("known") for each in verdicts.values()), done.stdout
    assert len(judged["judged"]) == len(FACTS) * 2 * SAMPLING["n"]

    report = (run / "report.md").read_text("utf-8")
    assert "makes no claims itself" in report
    assert "surviving quotes support" not in report + done.stdout
    assert "completed: every fact was asked for" in done.stdout
    assert "decided to stop" not in done.stdout
    verified = run_ucm(tmp_path, "verify", str(run))
    assert verified.returncode == 0, verified.stdout
    before = beside.read_bytes()
    again = run_ucm(tmp_path, "judge", str(run))
    assert (again.returncode, beside.read_bytes()) == (0, before)
