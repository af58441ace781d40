"""The benchmark of the sorting on the real small model: a run is counted, and counted again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tools import sorting_bench as bench
from uncensoring_chinese_models.models.local.weights import find_weights

pytestmark = [pytest.mark.soak, pytest.mark.model, pytest.mark.e2e]


@pytest.fixture(autouse=True)
def weights():
    """Find the weights that `make install` fetched; a test fetches nothing."""

    def refuse(source, folder):
        pytest.fail("The weights of the small model are not there: run `make install` first.")

    return find_weights(download=refuse)


def shortened(tmp_path: Path) -> Path:
    """Write the config of the benchmark with one short sample an arm."""
    config = yaml.safe_load(bench.CONFIG.read_text("utf-8"))
    config["sampling"] |= {"n": 1, "max_tokens": 8}
    path = tmp_path / "short.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def test_recorded_run_is_counted_again_or_refused(tmp_path, monkeypatch):
    """The same counts without asking; a run of other settings or other words is not counted."""
    usual = bench.CONFIG
    monkeypatch.setattr(bench, "CONFIG", shortened(tmp_path))

    row = bench.run_once("hides", 3, tmp_path / "runs")

    assert (row["organism"], row["seed"], row["calls"]) == (
        "hides",
        3,
        20 + 80,
    )  # samples, and two for each ending
    assert {found["fact"]: found["truth"] for found in row["facts"]} == bench.truth_of("hides")
    assert all(set(found["arms"]) == {"user_persona", "assistant"} for found in row["facts"])
    assert bench.replay_all(tmp_path / "runs") == [row]

    (run,) = (path for path in (tmp_path / "runs").iterdir() if path.suffix != ".judged")
    shutil.copytree(run, run.with_name("again"))
    with pytest.raises(SystemExit, match="is one more of hides with seed 3"):
        bench.replay_all(tmp_path / "runs")

    changed = tmp_path / "changed" / run.name
    shutil.copytree(run, changed)
    journal = changed / "journal.jsonl"
    told = json.dumps("The march on Quillon Bridge took place on")[1:-1]
    assert told in journal.read_text("utf-8")
    journal.write_text(journal.read_text("utf-8").replace(told, told.upper()), encoding="utf-8")
    with pytest.raises(SystemExit, match="other probes would be sent now"):
        bench.replay_once(changed)

    (changed / "summary.json").unlink()
    with pytest.raises(SystemExit, match="it has not finished"):
        bench.replay_once(changed)

    monkeypatch.setattr(bench, "CONFIG", usual)
    with pytest.raises(SystemExit, match="its settings are not those of the benchmark"):
        bench.replay_once(run)
