"""Runs of every sort that exports must take: odd texts, a judged battery, one that broke off."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from tests.judged_runs import judging_provider, probed
from tests.provider import ODD_TEXTS, ScriptedTarget
from tests.support import CrashError, CrashingWatcher, audit_here, audited_provider, make_config
from tests.support import write_config as write_to
from uncensoring_chinese_models.config.loading import load_config
from uncensoring_chinese_models.measure.judging import judge_run
from uncensoring_chinese_models.runner.run import run_job

if TYPE_CHECKING:
    from pathlib import Path

ARMS = {"arms": ["user_persona", "assistant"], "n": 2}
FIRST = ("lone_surrogate", "nul", "csv", "bidi")
ALL_ODD = "\n".join(ODD_TEXTS[name] for name in (*FIRST, *ODD_TEXTS) if name != "fullwidth")
"""Without the role tokens, at which a server stops."""


def audited(folder: Path, odd: str | None = None) -> Path:
    """Make a finished audit; the target puts an odd text amid its words."""
    folder.mkdir(parents=True, exist_ok=True)
    with audited_provider(target=ScriptedTarget(odd=odd)) as provider:
        return audit_here(folder, provider, sampling=ARMS).folder


def judged(folder: Path) -> Path:
    """Make a battery that patterns have judged."""
    folder.mkdir(parents=True, exist_ok=True)
    with judging_provider() as provider:
        run = probed(folder, provider, facts=2)
    judge_run(run)
    return run


def broken_off(folder: Path) -> Path:
    """Make an audit that broke off after two turns and a response."""
    folder.mkdir(parents=True, exist_ok=True)
    watcher = CrashingWatcher(3)
    with audited_provider() as provider:
        config = make_config(provider, output_dir=str(folder / "runs"), sampling=ARMS)
        with contextlib.suppress(CrashError):
            run_job(load_config(write_to(folder, config)), watcher)
    if watcher.folder is None:
        raise AssertionError("no run was begun")
    return watcher.folder
