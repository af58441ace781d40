"""Judge a stored run against a facts file, by patterns or with judges; keep it beside the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.config import load_config
from uncensoring_chinese_models.domain import Json
from uncensoring_chinese_models.errors import ConfigError, CorruptRunError
from uncensoring_chinese_models.measure.answers import (
    Asked,
    Judged,
    asked_samples,
    is_plain,
    judge_asked,
    match_audit,
)
from uncensoring_chinese_models.measure.facts.schema import Facts, load_facts, parse_facts
from uncensoring_chinese_models.measure.judges.ask import JudgeResults, ask_judges
from uncensoring_chinese_models.measure.judges.panel import Panel, decide_sample, make_panel
from uncensoring_chinese_models.measure.judges.request import judge_request_for
from uncensoring_chinese_models.measure.likelihood import Likelihood, StoredScores, choose
from uncensoring_chinese_models.measure.matrix import Matrix, build_matrix
from uncensoring_chinese_models.models import Notice
from uncensoring_chinese_models.runs import (
    JUDGED,
    RunFiles,
    RunStore,
    read_finished_run,
    read_header,
    read_responses,
    refuse_link,
)
from uncensoring_chinese_models.text import escape, preview

if TYPE_CHECKING:
    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.models import Notify


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """The judges that classify samples in addition to the patterns."""

    config: AuditConfig
    """Names the judges and the budget."""
    notify: Notify
    every: bool = False
    """True to send every sample with text to judges, not only those that patterns cannot decide."""


def judge_settings_for(
    folder: Path, overrides: Sequence[str], notify: Notify, *, every: bool = False
) -> JudgeSettings:
    """Return the judges that the overrides name.

    Judges that only the run's config names are not asked: the run may come from someone else, and
    its config may name any address.

    Raises:
        ConfigError: an override is wrong, or only makes sense with a judge and none is named.
        RunStoreError: it is not a run directory.
    """
    store = RunStore.existing(folder)
    for word in overrides:
        if word.partition("=")[0].partition(".")[0] not in ("judge_model", "budget", "retries"):
            raise ConfigError(
                f"'{preview(word, 60)}' does not affect judging; only judge_model, budget and "
                "retries can be replaced here."
            )
    config = load_config(store.folder / "config.yaml", overrides).settings
    is_named = any(word.partition("=")[0] == "judge_model" for word in overrides)
    if is_named and config.judge_model:
        return JudgeSettings(config, notify, every)
    if overrides or every:
        raise ConfigError("No judge is named; name one with judge_model=MODEL.")
    if config.judge_model:
        named = ", ".join(escape(judge.model) for judge in config.judge_model)
        notify(
            Notice(
                f"Not asked: {named}, named by the run's config only; judge_model=MODEL asks a judge."
            )
        )
    return JudgeSettings(config.model_copy(update={"judge_model": []}), notify, every)


@dataclass(frozen=True, slots=True)
class RunJudged:
    """The judgements of a run by patterns, and by judges if any were asked."""

    facts: Facts
    judged: tuple[Judged, ...]
    matrix: Matrix | None
    """None if the run did not ask for each of these facts, as in an audit."""
    path: Path
    """The file with the judgements of the patterns."""
    panel: Panel | None = None
    """The judgements of the judges; None if there are no judges or no samples for them."""

    @property
    def shown(self) -> Matrix | None:
        """The matrix to show: that of the judges, else that of the patterns."""
        return self.matrix if self.panel is None else self.panel.matrix

    @property
    def panel_path(self) -> Path:
        """The file with the judgements of the judges."""
        return self.path.with_name(f"{self.facts.topic}.judges.json")


def judge_run(
    folder: Path,
    facts_name: str | None = None,
    judge_settings: JudgeSettings | None = None,
    show: Callable[[Json], None] | None = None,
) -> RunJudged:
    """Judge the samples of a finished run, and write the judgements beside it.

    `show` is called with each judgement as soon as it is stored.

    Raises:
        BudgetExceededError: the budget does not cover the judges; received judgements are kept.
        FatalError: a judge accepts no further call; received judgements are kept.
        ConfigError: there are no facts to judge it by, or they are wrong.
        RunStoreError: it is not a run directory, or the run has not finished.
        CorruptRunError: its files differ from those that its summary lists.
    """
    files = read_finished_run(folder)
    responses = read_responses(files.responses)
    facts = facts_for(folder, facts_name)
    asked = list(asked_samples(responses, facts))
    judged = [judge_asked(each) for each in asked] or match_audit(responses, facts)
    likelihood = _likelihood_of(files, facts)
    matrix = build_matrix(facts.topic, judged, likelihood) if asked else None
    path = folder_beside(folder) / f"{facts.topic}.json"
    result = RunJudged(facts, tuple(judged), matrix, path)
    run = folder.resolve().name
    stored: Json = {"run": run, "package": __version__, "judge": "patterns", "topic": facts.topic}
    matrix_json = None if matrix is None else matrix.as_json()
    stored |= {"matrix": matrix_json, "judged": [asdict(each) for each in judged]}
    store = RunStore(path.parent)
    path.parent.mkdir(exist_ok=True)
    store.write_judged(path.name, stored)
    if show is not None:
        show(stored)
    if judge_settings is None or not judge_settings.config.judge_model:
        return result
    if not asked:
        judge_settings.notify(
            Notice("Judges were not asked: this run did not ask for each of these facts.")
        )
        return result
    panel = _panel(result, asked, judge_settings, run)
    stored = {"run": run, "package": __version__, "topic": facts.topic, **panel.as_json()}
    store.write_judged(result.panel_path.name, stored)
    if show is not None:
        show(stored)
    return replace(result, panel=panel)


def _panel(
    result: RunJudged, asked: Sequence[Asked], judge_settings: JudgeSettings, run: str
) -> Panel:
    """Send the samples that patterns cannot decide to the judges."""
    requests = [
        judge_request_for(each)
        if each.has_text and (judge_settings.every or not is_plain(each))
        else None
        for each in asked
    ]
    sent = [request for request in requests if request is not None]
    results = JudgeResults((), {})
    if sent:
        results = ask_judges(
            judge_settings.config, sent, run, result.path.parent, judge_settings.notify
        )
    judgements = iter(results.judgements)
    samples = [
        decide_sample(patterns, request, () if request is None else next(judgements))
        for patterns, request in zip(result.judged, requests, strict=True)
    ]
    judges = [judge.model for judge in judge_settings.config.judge_model]
    likelihood = None if result.matrix is None else result.matrix.likelihood
    return make_panel(result.facts.topic, judges, samples, results.spend, likelihood)


def folder_beside(folder: Path) -> Path:
    """Return the folder beside a run that holds its judgements; refuse it if it is a link."""
    named = folder if folder.name not in ("", "..") else folder.resolve()
    found = named.with_name(named.name + JUDGED)
    refuse_link(found)
    return found


def facts_for(folder: Path, name: str | None) -> Facts:
    """Return the facts of this name or path, else those of the run's own journal.

    Raises:
        ConfigError: there are no such facts, or they are wrong.
    """
    return load_facts(name) if name else facts_of(folder)


def facts_of(folder: Path) -> Facts:
    """Return the facts that the run was made with, from its journal.

    Raises:
        ConfigError: it was made without facts.
    """
    text = read_header(folder / "journal.jsonl").get("facts")
    if not isinstance(text, str):
        raise ConfigError(
            f"{folder} was made without a facts file; name one with --facts TOPIC (see ucm facts "
            "list) or --facts FILE."
        )
    return parse_facts(text.encode("utf-8"), f"the facts in {folder.name}")


def _likelihood_of(run: RunFiles, facts: Facts) -> Likelihood | None:
    """Return the likelihood results that the run stored for these facts."""
    if run.likelihood is None:
        return None
    try:
        stored = StoredScores.model_validate(run.likelihood)
    except ValidationError as err:
        raise CorruptRunError(
            f"{run.name}/likelihood.json is not in the format that a run writes."
        ) from err
    own = tuple(each for each in stored.facts if facts.fact(each.fact))
    return choose(stored.model_copy(update={"facts": own}))
