"""Runs that are broken off in every way there is, and still come to their end."""

from __future__ import annotations

import contextlib
import json
import random
from collections import Counter

import pytest

from tests.support import (
    CrashError,
    CrashingWatcher,
    Watcher,
    audited_provider,
    make_config,
    write_config,
)
from uncensoring_chinese_models.config.loading import load_config
from uncensoring_chinese_models.errors import AuditToolError
from uncensoring_chinese_models.runner.run import run_job

FAULTS = ["400", "402", "403_moderation", "429", "500", "close_mid_body", "choices_empty"]


def replies_sent_again(folder):
    """Count calls that were sent again after the model's words were on disk."""
    answered: Counter[tuple[str, str]] = Counter()
    requests = {}
    again = 0
    for line in (folder / "journal.jsonl").read_bytes().splitlines():
        record = json.loads(line)
        if record["type"] == "sent":
            requests[record["call"], record["attempt"]] = record["request"]
            again += answered[record["call"], record["request"]]
        elif record["type"] == "attempt" and record.get("reply", {}).get("text"):
            request = requests[record["call"], record["attempt"]]
            answered[record["call"], request] += 1
    return again


@pytest.mark.parametrize("seed", range(12))
def test_run_that_is_broken_off_again_and_again_comes_to_its_end(tmp_path, seed):
    """After any mix of faults, crashes and caps, a healthy provider and a high cap finish it."""
    rng = random.Random(seed)  # noqa: S311 -- a trial, not a secret
    with audited_provider() as provider:
        folder = None

        def attempt(watcher, cap):
            config = make_config(
                provider,
                max_iterations=4,
                output_dir=str(tmp_path / "runs"),
                sampling={"max_tokens": 100, "n": 2},
                auditor_sampling={"max_tokens": 1000},
                budget={"max_usd": cap},
                retries={"first_wait_s": 0, "max_attempts": 3},
                auditor_response_format="none",
            )
            loaded = load_config(write_config(tmp_path, config))
            return run_job(loaded, watcher, resume=folder)

        for _ in range(rng.randint(1, 5)):
            provider.heal()
            for _ in range(rng.randint(0, 2)):
                provider.fail(
                    rng.choice(FAULTS),
                    api=rng.choice(["chat", "completions"]),
                    times=rng.choice([1, 3, None]),
                    after=rng.randint(0, 6),
                )
            watcher = CrashingWatcher(rng.randint(1, 12))
            with contextlib.suppress(CrashError, AuditToolError):
                attempt(watcher, rng.choice([0.08, 0.12, 0.3, 5.0]))
            folder = folder or watcher.folder
        provider.heal()
        # An iteration that the budget cut off ends once more before a higher cap counts.
        folder = attempt(Watcher(), 9.0).folder
        result = attempt(Watcher(), 9.0)

    assert result.summary["status"] == "max_iterations"
    assert result.summary["total_iterations"] == 4
    assert result.summary["final_summary"] is not None
    assert len(list((tmp_path / "runs").glob("[!.]*"))) == 1
    assert provider.billed_usd <= 9
    by_call = result.summary["denominators"]["samples"]
    assert by_call["sent"] == 8
    assert replies_sent_again(result.folder) == 0
