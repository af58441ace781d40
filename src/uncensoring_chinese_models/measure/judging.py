"""Judge a stored run against a facts file, by patterns or with judges; keep it beside the run.

What is written follows from the run, the text of the facts file, and the journal of the judges.
`ucm judge` writes it, and `ucm verify` derives it again, with the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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
from uncensoring_chinese_models.measure.facts.schema import (
    Facts,
    load_facts,
    parse_facts,
    read_facts,
)
from uncensoring_chinese_models.measure.judges.panel import Panel, decide_sample, make_panel
from uncensoring_chinese_models.measure.judges.questioning import JudgeTask
from uncensoring_chinese_models.measure.judges.request import judge_request_for
from uncensoring_chinese_models.measure.likelihood import Likelihood, StoredScores, choose
from uncensoring_chinese_models.measure.matrix import Matrix, build_matrix
from uncensoring_chinese_models.models import Notice
from uncensoring_chinese_models.runs import (
    RunFiles,
    RunStore,
    judged_folder,
    judged_sha256,
    read_finished_run,
    read_header,
    read_responses,
    refuse_link,
)
from uncensoring_chinese_models.text import escape, preview

if TYPE_CHECKING:
    from uncensoring_chinese_models.config import AuditConfig, JudgeModel
    from uncensoring_chinese_models.measure.judges.questioning import JudgeResults
    from uncensoring_chinese_models.measure.judges.request import JudgeRequest
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


class JudgedRun(NamedTuple):
    """A finished run and the facts that it is judged by; all judgements of it follow from these."""

    head: Json
    """What each file of judgements begins with: the run, its summary, and the facts file."""
    facts: Facts
    asked: tuple[Asked, ...]
    """The samples that were asked for a fact; none in an audit."""
    judged: tuple[Judged, ...]
    likelihood: Likelihood | None

    @property
    def run(self) -> str:
        """The name that evidence of the run carries, whatever its folder is called."""
        return str(self.head["run"])

    @property
    def matrix(self) -> Matrix | None:
        """The verdicts by patterns; None if the run did not ask for each of these facts."""
        if not self.asked:
            return None
        return build_matrix(self.facts.topic, self.judged, self.likelihood)

    def by_patterns(self, package: str) -> Json:
        """Return the content of `TOPIC.json`."""
        matrix = self.matrix
        stored: Json = {**self.head, "package": package, "judge": "patterns"}
        stored["matrix"] = None if matrix is None else matrix.as_json()
        return stored | {"judged": [asdict(each) for each in self.judged]}

    def by_judges(self, panel: Panel, package: str) -> Json:
        """Return the content of `TOPIC.judges.json`."""
        return {**self.head, "package": package, **panel.as_json()}

    def requests(self, *, every: bool) -> list[JudgeRequest | None]:
        """Return the request for each sample; None where judges are not asked."""
        return [
            judge_request_for(each) if each.has_text and (every or not is_plain(each)) else None
            for each in self.asked
        ]

    def panel(
        self,
        judges: Sequence[JudgeModel],
        requests: Sequence[JudgeRequest | None],
        results: JudgeResults,
    ) -> Panel:
        """Return what judges and patterns say together."""
        judgements = iter(results.judgements)
        samples = [
            decide_sample(patterns, request, () if request is None else next(judgements))
            for patterns, request in zip(self.judged, requests, strict=True)
        ]
        models = [judge.model for judge in judges]
        return make_panel(self.facts.topic, models, samples, results.spend, self.likelihood)


def judged_run(files: RunFiles, facts_text: str) -> JudgedRun:
    """Judge the samples of a finished run by patterns.

    Raises:
        ConfigError: the text is not that of a facts file.
        CorruptRunError: a file of the run is not what a run writes.
    """
    facts = parse_facts(
        facts_text.encode("utf-8"), f"the facts file that {files.name} is judged by"
    )
    responses = read_responses(files.responses)
    asked = tuple(asked_samples(responses, facts))
    judged = [judge_asked(each) for each in asked] or match_audit(responses, facts)
    head: Json = {
        "run": files.ended.get("run") or files.name,
        "summary_sha256": files.summary_sha256,
        "topic": facts.topic,
        "facts_sha256": judged_sha256({"facts": facts_text}),
        "facts": facts_text,
    }
    return JudgedRun(head, facts, asked, tuple(judged), _likelihood_of(files, facts))


def judge_run(
    folder: Path,
    facts_name: str | None = None,
    judge_settings: JudgeSettings | None = None,
    show: Callable[[], None] | None = None,
) -> RunJudged:
    """Judge the samples of a finished run, and write the judgements beside it.

    `show` is called as soon as judgements are stored; the page that shows them is gone by then.

    Raises:
        BudgetExceededError: the budget does not cover the judges; received judgements are kept.
        FatalError: a judge accepts no further call; received judgements are kept.
        ConfigError: there are no facts to judge it by, or they are wrong.
        RunStoreError: it is not a run directory, or the run has not finished.
        CorruptRunError: its files differ from those that its summary lists.
    """
    files = read_finished_run(folder)
    subject = judged_run(files, facts_text_for(files, folder, facts_name))
    store = RunStore(folder_beside(folder))
    path = store.folder / f"{subject.facts.topic}.json"
    store.folder.mkdir(exist_ok=True)
    store.write_judged(path.name, subject.by_patterns(__version__))
    if show is not None:
        show()
    result = RunJudged(subject.facts, subject.judged, subject.matrix, path)
    if judge_settings is None or not judge_settings.config.judge_model:
        return result
    requests = subject.requests(every=judge_settings.every)
    sent = [request for request in requests if request is not None]
    if not sent:
        why = "patterns decided every sample that has text"
        if not subject.asked:
            why = "this run did not ask for each of these facts"
        judge_settings.notify(Notice(f"Judges were not asked: {why}."))
        return result
    from uncensoring_chinese_models.measure.judges.ask import (  # noqa: PLC0415 -- loads HTTP
        ask_judges,
    )

    config = judge_settings.config
    task = JudgeTask(subject.head, config.judge_model, judge_settings.every)

    def end() -> None:
        store.remove_judged(result.panel_path.name)

    results = ask_judges(config, sent, task, store.folder, judge_settings.notify, end)
    panel = subject.panel(config.judge_model, requests, results)
    store.write_judged(result.panel_path.name, subject.by_judges(panel, __version__))
    if show is not None:
        show()
    return replace(result, panel=panel)


def folder_beside(folder: Path) -> Path:
    """Return the folder beside a run that holds its judgements; refuse it if it is a link."""
    found = judged_folder(folder)
    refuse_link(found)
    return found


def facts_text_for(files: RunFiles, folder: Path, name: str | None) -> str:
    """Return the text of the facts file of this name or path, else of the run's own.

    Raises:
        ConfigError: there is no such file, it is wrong, or the run was made without facts.
    """
    if name:
        load_facts(name)  # says what is wrong with it by its name
        return read_facts(name).decode("utf-8")
    return _own_facts(files.header, folder)


def facts_of(folder: Path) -> Facts:
    """Return the facts that the run was made with, from its journal.

    Raises:
        ConfigError: it was made without facts.
    """
    text = _own_facts(read_header(folder / "journal.jsonl"), folder)
    return parse_facts(text.encode("utf-8"), f"the facts in {folder.name}")


def _own_facts(header: Json, folder: Path) -> str:
    text = header.get("facts")
    if not isinstance(text, str):
        raise ConfigError(
            f"{folder} was made without a facts file; name one with --facts TOPIC (see ucm facts "
            "list) or --facts FILE."
        )
    return text


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
