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
from uncensoring_chinese_models.measure.judges.ask import Hearing, hear
from uncensoring_chinese_models.measure.judges.panel import Panel, make_panel, settle
from uncensoring_chinese_models.measure.judges.request import ballot_of
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
class Court:
    """Who judges beside the patterns."""

    config: AuditConfig
    """Names the judges and the budget."""
    notify: Notify
    every: bool = False
    """Whether judges see every sample with text, or those that patterns leave open."""


def court_for(
    folder: Path, overrides: Sequence[str], notify: Notify, *, every: bool = False
) -> Court:
    """Return who judges a run: whom the words name, and nobody else.

    A run may be somebody else's, and its config name a stranger's address.

    Raises:
        ConfigError: a word is wrong, or there is to be a judge and none is named.
        RunStoreError: it is no run directory.
    """
    store = RunStore.existing(folder)
    for word in overrides:
        if word.partition("=")[0].partition(".")[0] not in ("judge_model", "budget", "retries"):
            raise ConfigError(
                f"'{preview(word, 60)}' changes nothing about judging; only judge_model, budget "
                "and retries can be replaced here."
            )
    config = load_config(store.folder / "config.yaml", overrides).settings
    is_named = any(word.partition("=")[0] == "judge_model" for word in overrides)
    if is_named and config.judge_model:
        return Court(config, notify, every)
    if overrides or every:
        raise ConfigError("There is no judge to ask; name one with judge_model=MODEL.")
    if config.judge_model:
        named = ", ".join(escape(judge.model) for judge in config.judge_model)
        notify(Notice(f"Not asked: {named}, whom the run's config names; judge_model=MODEL asks."))
    return Court(config.model_copy(update={"judge_model": []}), notify, every)


@dataclass(frozen=True, slots=True)
class RunJudged:
    """What a run shows of the facts of its topic."""

    facts: Facts
    judged: tuple[Judged, ...]
    matrix: Matrix | None
    """None for an audit: nobody was asked for each fact there."""
    path: Path
    """The file that holds what patterns make of it."""
    panel: Panel | None = None
    """What judges make of it; None if there are none, or nothing for them."""

    @property
    def shown(self) -> Matrix | None:
        """The matrix that the screen shows: of the judges, else of the patterns."""
        return self.matrix if self.panel is None else self.panel.matrix

    @property
    def panel_path(self) -> Path:
        """The file that holds what judges make of it."""
        return self.path.with_name(f"{self.facts.topic}.judges.json")


def judge_run(
    folder: Path,
    facts_name: str | None = None,
    court: Court | None = None,
    show: Callable[[Json], None] | None = None,
) -> RunJudged:
    """Judge the samples of a finished run, and write the judgements beside it.

    `show` is called with each judgement as soon as it is stored.

    Raises:
        BudgetExceededError: the budget does not cover the judges; what came is kept.
        FatalError: a judge takes no further call; what came is kept.
        ConfigError: there are no facts to judge it by, or they are wrong.
        RunStoreError: it is no run directory, or the run has not finished.
        CorruptRunError: its files are not those that its summary lists.
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
    told: Json = {"run": run, "package": __version__, "judge": "patterns", "topic": facts.topic}
    matrix_told = None if matrix is None else matrix.as_json()
    told |= {"matrix": matrix_told, "judged": [asdict(each) for each in judged]}
    store = RunStore(path.parent)
    path.parent.mkdir(exist_ok=True)
    store.write_judged(path.name, told)
    if show is not None:
        show(told)
    if court is None or not court.config.judge_model:
        return result
    if not asked:
        court.notify(Notice("Judges were not asked: nobody asked for each fact in this run."))
        return result
    panel = _panel(result, asked, court, run)
    told = {"run": run, "package": __version__, "topic": facts.topic, **panel.as_json()}
    store.write_judged(result.panel_path.name, told)
    if show is not None:
        show(told)
    return replace(result, panel=panel)


def _panel(result: RunJudged, asked: Sequence[Asked], court: Court, run: str) -> Panel:
    """Put the samples that patterns leave open to the judges."""
    ballots = [
        ballot_of(each) if each.has_text and (court.every or not is_plain(each)) else None
        for each in asked
    ]
    open_ones = [ballot for ballot in ballots if ballot is not None]
    heard = Hearing((), {})
    if open_ones:
        heard = hear(court.config, open_ones, run, result.path.parent, court.notify)
    said = iter(heard.judgements)
    seen = [
        settle(patterns, ballot, () if ballot is None else next(said))
        for patterns, ballot in zip(result.judged, ballots, strict=True)
    ]
    judges = [judge.model for judge in court.config.judge_model]
    likelihood = None if result.matrix is None else result.matrix.likelihood
    return make_panel(result.facts.topic, judges, seen, heard.spend, likelihood)


def folder_beside(folder: Path) -> Path:
    """Return the folder that holds what was made of a run afterwards; refuse it if it is a link."""
    named = folder if folder.name not in ("", "..") else folder.resolve()
    found = named.with_name(named.name + JUDGED)
    refuse_link(found)
    return found


def facts_for(folder: Path, name: str | None) -> Facts:
    """Return the facts of this name or path, else those that the run itself was given.

    Raises:
        ConfigError: there are none, or they are wrong.
    """
    return load_facts(name) if name else facts_of(folder)


def facts_of(folder: Path) -> Facts:
    """Return the facts that the run itself was given; its journal holds them.

    Raises:
        ConfigError: it was given none.
    """
    text = read_header(folder / "journal.jsonl").get("facts")
    if not isinstance(text, str):
        raise ConfigError(
            f"{folder} was made without a facts file; name one with --facts TOPIC (see ucm facts "
            "list) or --facts FILE."
        )
    return parse_facts(text.encode("utf-8"), f"the facts in {folder.name}")


def _likelihood_of(run: RunFiles, facts: Facts) -> Likelihood | None:
    """Return what the run's own scores say of these facts; its files were checked."""
    if run.likelihood is None:
        return None
    try:
        stored = StoredScores.model_validate(run.likelihood)
    except ValidationError as err:
        raise CorruptRunError(
            f"{run.name}/likelihood.json does not hold what a run writes there."
        ) from err
    own = tuple(each for each in stored.facts if facts.fact(each.fact))
    return choose(stored.model_copy(update={"facts": own}))
