"""Judge a run, and write its report again with the judgements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.measure import folder_beside, judge_run
from uncensoring_chinese_models.reports import report_html
from uncensoring_chinese_models.runs import RunStore, read_run

if TYPE_CHECKING:
    from pathlib import Path

    from uncensoring_chinese_models.measure import JudgeSettings, RunJudged


def judge_and_report(
    folder: Path, facts_name: str | None = None, judge_settings: JudgeSettings | None = None
) -> RunJudged:
    """Judge a finished run; write the judgements and a report that shows them beside it.

    The report is the one that `ucm report` writes there: it shows all judgements that fit the run.
    Raises what `judge_run` raises. Judgements that were stored before an error have their report.
    """

    def write_page() -> None:
        RunStore(folder_beside(folder)).write_page(report_html(read_run(folder)))

    return judge_run(folder, facts_name, judge_settings, write_page)
