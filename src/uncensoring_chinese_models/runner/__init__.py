"""Run an audit or probe from its config; plan, resume and replay it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.doors import lazy_door

if TYPE_CHECKING:
    from uncensoring_chinese_models.runner.checkup import run_checkup
    from uncensoring_chinese_models.runner.judging import judge_and_report
    from uncensoring_chinese_models.runner.planning import plan
    from uncensoring_chinese_models.runner.rejudging import JudgedFinding, Rejudged, rejudge
    from uncensoring_chinese_models.runner.replaying import (
        Needs,
        Replayed,
        journals_before_resume,
        replay,
    )
    from uncensoring_chinese_models.runner.resume import FINAL_STATUSES
    from uncensoring_chinese_models.runner.run import run_job

__all__ = [
    "FINAL_STATUSES",
    "JudgedFinding",
    "Needs",
    "Rejudged",
    "Replayed",
    "journals_before_resume",
    "judge_and_report",
    "plan",
    "rejudge",
    "replay",
    "run_checkup",
    "run_job",
]

__getattr__ = lazy_door(__name__)
