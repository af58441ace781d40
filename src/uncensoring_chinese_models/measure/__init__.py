"""Measure a run against known facts: facts files, judges, likelihood, comparisons and scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.doors import lazy_door

if TYPE_CHECKING:
    from uncensoring_chinese_models.measure.answers import Judged
    from uncensoring_chinese_models.measure.compare.pairs import (
        Measure,
        Pair,
        PairedCell,
        PairVerdict,
        Tally,
        Unit,
    )
    from uncensoring_chinese_models.measure.compare.runs import RunComparison, as_json, compare_runs
    from uncensoring_chinese_models.measure.compare.token_bills import tokens_of
    from uncensoring_chinese_models.measure.fact_auditor import FactAuditor
    from uncensoring_chinese_models.measure.facts.lint import problems_of
    from uncensoring_chinese_models.measure.facts.marks import counted_by_mark, described
    from uncensoring_chinese_models.measure.facts.schema import (
        Ending,
        Fact,
        Facts,
        builtin_controls,
        builtin_topics,
        builtin_worlds,
        load_facts,
        parse_facts,
        read_facts,
    )
    from uncensoring_chinese_models.measure.facts.truth import builtin_truth
    from uncensoring_chinese_models.measure.inference.tests import exclusive_contrast, holm, mcnemar
    from uncensoring_chinese_models.measure.judges.panel import Panel
    from uncensoring_chinese_models.measure.judges.questioning import JudgeTask, replay_judges
    from uncensoring_chinese_models.measure.judging import (
        JudgedRun,
        JudgeSettings,
        RunJudged,
        folder_beside,
        judge_run,
        judge_settings_for,
        judged_run,
    )
    from uncensoring_chinese_models.measure.labels import (
        LabelTask,
        draw_rows,
        label_task,
        open_label_task,
        parse_sheet,
        read_sheet,
        write_sheet,
    )
    from uncensoring_chinese_models.measure.likelihood import (
        KNOWN_FROM,
        Choice,
        Likelihood,
        StoredScores,
        choice_of,
        first_calls,
        likelihood_to_json,
        score_facts,
    )
    from uncensoring_chinese_models.measure.matching import FactMatch, match_text
    from uncensoring_chinese_models.measure.matrix import (
        Cell,
        FactVerdict,
        Matrix,
        samples_to_decide,
    )
    from uncensoring_chinese_models.measure.probe_settings import (
        any_config,
        probe_config,
        too_few_samples,
    )
    from uncensoring_chinese_models.measure.rater_accuracy import (
        accuracy_lines,
        accuracy_to_json,
        measure_raters,
        rater_accuracies,
        write_accuracy,
    )
    from uncensoring_chinese_models.measure.sample_stances import RunStances
    from uncensoring_chinese_models.measure.score.run import score_run
    from uncensoring_chinese_models.measure.score.scorecard import score_lines
    from uncensoring_chinese_models.measure.score.scoring import Score

__all__ = [
    "KNOWN_FROM",
    "Cell",
    "Choice",
    "Ending",
    "Fact",
    "FactAuditor",
    "FactMatch",
    "FactVerdict",
    "Facts",
    "JudgeSettings",
    "JudgeTask",
    "Judged",
    "JudgedRun",
    "LabelTask",
    "Likelihood",
    "Matrix",
    "Measure",
    "Pair",
    "PairVerdict",
    "PairedCell",
    "Panel",
    "RunComparison",
    "RunJudged",
    "RunStances",
    "Score",
    "StoredScores",
    "Tally",
    "Unit",
    "accuracy_lines",
    "accuracy_to_json",
    "any_config",
    "as_json",
    "builtin_controls",
    "builtin_topics",
    "builtin_truth",
    "builtin_worlds",
    "choice_of",
    "compare_runs",
    "counted_by_mark",
    "described",
    "draw_rows",
    "exclusive_contrast",
    "first_calls",
    "folder_beside",
    "holm",
    "judge_run",
    "judge_settings_for",
    "judged_run",
    "label_task",
    "likelihood_to_json",
    "load_facts",
    "match_text",
    "mcnemar",
    "measure_raters",
    "open_label_task",
    "parse_facts",
    "parse_sheet",
    "probe_config",
    "problems_of",
    "rater_accuracies",
    "read_facts",
    "read_sheet",
    "replay_judges",
    "samples_to_decide",
    "score_facts",
    "score_lines",
    "score_run",
    "tokens_of",
    "too_few_samples",
    "write_accuracy",
    "write_sheet",
]

__getattr__ = lazy_door(__name__)
