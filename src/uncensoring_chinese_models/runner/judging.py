"""Judge a run, and write its report again with the judgements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from uncensoring_chinese_models.measure import folder_beside, judge_run
from uncensoring_chinese_models.reports import report_html
from uncensoring_chinese_models.runs import RunStore, read_run

if TYPE_CHECKING:
    from pathlib import Path

    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.measure import JudgeSettings, RunJudged


def judge_and_report(
    folder: Path, facts_name: str | None = None, judge_settings: JudgeSettings | None = None
) -> RunJudged:
    """Judge a finished run; write the judgements and a report that shows them beside it.

    Raises what `judge_run` raises. Judgements that were stored before an error have their report.
    """

    def write_page(judgement: Json) -> None:
        page = report_html(replace(read_run(folder), judged=(judgement,)))
        RunStore(folder_beside(folder)).write_page(page)

    return judge_run(folder, facts_name, judge_settings, write_page)
