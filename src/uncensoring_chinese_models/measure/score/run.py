"""Score a run directory against the truth of its target."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.measure.facts.truth import Truth, builtin_truth, load_truth
from uncensoring_chinese_models.measure.score.scoring import Score, score
from uncensoring_chinese_models.models import PREFIX as ORGANISM
from uncensoring_chinese_models.runs import read_finished_run, read_summary
from uncensoring_chinese_models.text import escape


@dataclass(frozen=True, slots=True)
class Scored:
    """The score of a run directory, with warnings for the reader."""

    score: Score
    warnings: tuple[str, ...]


def score_run(folder: Path, truth_file: str | None = None) -> Scored:
    """Score a finished run against a ground truth file, or against that of its organism.

    Raises:
        ConfigError: there is no truth for this run, or it is wrong.
        RunStoreError: the folder is not a run, or the run has not finished.
        CorruptRunError: its files are not those that its summary lists.
    """
    run = read_finished_run(folder)
    config = read_summary(run.ended).config
    truth, warnings = _truth_for(folder, config.audited_model, config.topic, truth_file)
    return Scored(score(run.ended, run.turns, run.responses, truth), warnings)


def _truth_for(
    folder: Path, model: str, topic: str, truth_file: str | None
) -> tuple[Truth, tuple[str, ...]]:
    if truth_file is None and not model.startswith(ORGANISM):
        raise ConfigError(
            f"{folder} is an audit of {escape(model)}, which is not an organism of "
            "this package; give its ground truth with --truth FILE (docs/methods/scoring.md shows the format)."
        )
    truth = load_truth(truth_file) if truth_file else builtin_truth(model.removeprefix(ORGANISM))
    if truth.topic == topic:
        return truth, ()
    differs = f"the run's topic is '{escape(topic)}', but the truth's is '{escape(truth.topic)}'"
    if truth_file is None:
        raise ConfigError(
            f"{folder} cannot be scored: {differs}. Audit the organism on its own topic, or give "
            "another truth with --truth FILE."
        )
    return truth, (f"Note: {differs}; the topic may give facts away.",)
