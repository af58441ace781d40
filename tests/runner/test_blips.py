"""Outages in the middle of a run, with the default settings for retries."""

from __future__ import annotations

import threading

import pytest

from tests.running import both, run_over
from tests.support import audited_provider
from uncensoring_chinese_models.config.settings import Retries

pytestmark = pytest.mark.wire

OUTAGE_S = 5.0


@pytest.mark.parametrize(
    ("fault", "api"),
    [
        ("500", "chat"),
        ("520", "completions"),
        *(
            pytest.param(fault, api, marks=pytest.mark.soak)
            for fault in ("html_403", "close_before_headers", "choices_empty")
            for api in ("chat", "completions")
        ),
    ],
)
def test_run_survives_five_seconds_of_an_outage(tmp_path, fault, api):
    """Every request fails for five seconds, in the same words; the run loses nothing."""
    with audited_provider() as provider:
        lasting = provider.fail(fault, api=api, times=None, after=1)
        over = threading.Timer(OUTAGE_S, provider.heal)

        def begin(_):
            if lasting.hits and not over.is_alive() and not over.finished.is_set():
                over.start()

        provider.on_request = begin
        ran = run_over(
            tmp_path, provider, max_iterations=3, retries=Retries().model_dump(), **both(provider)
        )
        over.join()

    assert ran.status == "max_iterations"
    assert ran.summary["denominators"]["samples"]["by_delivery"]["complete"] == 3
    assert ran.summary["final_summary"] is not None
    assert ran.errors()
