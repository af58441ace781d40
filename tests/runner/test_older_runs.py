"""Runs that an older version began: they go on as they began, or are left as they are."""

import pytest

from tests.support import (
    CrashError,
    CrashingWatcher,
    audit_here,
    audited_provider,
    make_config,
    rewrite,
    write_config,
)
from uncensoring_chinese_models.config.loading import load_config
from uncensoring_chinese_models.errors import ResumeMismatchError
from uncensoring_chinese_models.runner.run import run_job
from uncensoring_chinese_models.verify.verification import verify_run

SAMPLING = {"n": 2, "seed": 5}


def begun(folder, provider, **sampling):
    """Begin a run, break it off, and return its directory."""
    config = make_config(
        provider, output_dir=str(folder / "runs"), max_iterations=3, sampling=SAMPLING | sampling
    )
    watcher = CrashingWatcher(events_left=3)
    with pytest.raises(CrashError):
        run_job(load_config(write_config(folder, config)), watcher)
    assert watcher.folder is not None
    return watcher.folder


def age(folder):
    """Let a run be that of a version which knew no seed steps."""

    def change(record):
        for key in ("config", "settings"):
            if isinstance(record.get(key), dict):
                record[key]["sampling"].pop("seed_step", None)
        if record["type"] == "header":
            record["package_version"] = "0.5.0"

    rewrite(folder, change)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_of_before_seed_steps_goes_on_with_the_seeds_that_it_began_with(tmp_path):
    """Nothing that was answered is asked again, and what is asked has the next seed."""
    with audited_provider() as provider:
        folder = begun(tmp_path, provider, seed_step=1)
        age(folder)
        asked = provider.count("completions")
        run = audit_here(tmp_path, provider, resume=folder, max_iterations=3, sampling=SAMPLING)
        seeds = {r.body["seed"] for r in provider.requests if r.api == "completions"}
    assert run.summary["status"] in ("completed", "max_iterations")
    assert run.summary["config"]["sampling"]["seed_step"] == 1
    assert seeds == {5, 6}
    assert provider.count("completions") - asked == 2 * (run.summary["total_iterations"] - 1)
    assert verify_run(run.folder).holds


def test_a_run_whose_requests_would_differ_now_is_left_as_it_is(tmp_path):
    """It is refused before anything of it is touched, its ending included."""
    with audited_provider() as provider:
        folder = begun(tmp_path, provider)  # with steps of 64, as no old version would have
        age(folder)
        before = contents(folder)
        with pytest.raises(ResumeMismatchError, match="nothing was changed"):
            audit_here(tmp_path, provider, resume=folder, max_iterations=3, sampling=SAMPLING)
    assert contents(folder) == before


def test_a_run_without_a_seed_goes_on_whoever_began_it(tmp_path):
    """Where no seed is sent, its steps do not matter."""
    with audited_provider() as provider:
        folder = begun(tmp_path, provider, seed=None)
        age(folder)
        run = audit_here(
            tmp_path, provider, resume=folder, max_iterations=3, sampling={"n": 2, "seed": None}
        )
    assert run.summary["status"] in ("completed", "max_iterations")
