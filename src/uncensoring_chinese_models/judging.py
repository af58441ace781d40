"""Judge a stored run against a facts file, by patterns or with judges; keep it beside the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.cells import (
    Asked,
    Judged,
    asked_samples,
    is_plain,
    judge_asked,
    match_audit,
)
from uncensoring_chinese_models.chain import read_line, whole_lines
from uncensoring_chinese_models.choice import KNOWN_FROM, Choice, Likelihood, StoredScores, choose
from uncensoring_chinese_models.config_file import load_config
from uncensoring_chinese_models.domain import Json
from uncensoring_chinese_models.errors import ConfigError, CorruptRunError
from uncensoring_chinese_models.facts import Facts, load_facts, parse_facts
from uncensoring_chinese_models.judge_request import ballot_of
from uncensoring_chinese_models.judges import Hearing, hear
from uncensoring_chinese_models.matrix import Cell, Matrix, build_matrix
from uncensoring_chinese_models.pages.render import report_html
from uncensoring_chinese_models.panel import Panel, make_panel, settle
from uncensoring_chinese_models.protocols import Notice
from uncensoring_chinese_models.rates import beside, in_words
from uncensoring_chinese_models.recorded import read_responses
from uncensoring_chinese_models.run_files import JUDGED, read_files
from uncensoring_chinese_models.run_store import RunStore, refuse_link
from uncensoring_chinese_models.scorecard import read_run
from uncensoring_chinese_models.visible import preview, visible

if TYPE_CHECKING:
    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.protocols import Notify


WEAK_AGREEMENT = 0.4
"""Alpha of judges and patterns below which the screen warns of them."""


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
        named = ", ".join(visible(judge.model) for judge in config.judge_model)
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


def judge_run(folder: Path, facts_name: str | None = None, court: Court | None = None) -> RunJudged:
    """Judge the samples of a finished run, and write what came out beside it.

    Raises:
        BudgetExceededError: the budget does not cover the judges; what came is kept.
        FatalError: a judge takes no further call; what came is kept.
        ConfigError: there are no facts to judge it by, or they are wrong.
        RunStoreError: it is no run directory, or the run has not finished.
        CorruptRunError: its files are not those that its summary lists.
    """
    responses = read_responses(read_run(folder).responses)
    facts = facts_for(folder, facts_name)
    asked = list(asked_samples(responses, facts))
    judged = [judge_asked(each) for each in asked] or match_audit(responses, facts)
    likelihood = _likelihood_of(folder, facts)
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
    _write_page(store, folder, told)
    if court is None or not court.config.judge_model:
        return result
    if not asked:
        court.notify(Notice("Judges were not asked: nobody asked for each fact in this run."))
        return result
    panel = _panel(result, asked, court, run)
    told = {"run": run, "package": __version__, "topic": facts.topic, **panel.as_json()}
    store.write_judged(result.panel_path.name, told)
    _write_page(store, folder, told)
    return replace(result, panel=panel)


def _write_page(store: RunStore, folder: Path, told: Json) -> None:
    """Write the run's report once more, with what it shows of the facts."""
    store.write_page(report_html(replace(read_files(folder), judged=(told,))))


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
    lines, _ = whole_lines((folder / "journal.jsonl").read_bytes())
    text = read_line(lines[0], None).get("facts") if lines else None
    if not isinstance(text, str):
        raise ConfigError(
            f"{folder} was made without a facts file; name one with --facts TOPIC (see ucm facts "
            "list) or --facts FILE."
        )
    return parse_facts(text.encode("utf-8"), f"the facts in {folder.name}")


def _likelihood_of(folder: Path, facts: Facts) -> Likelihood | None:
    """Return what the run's own scores say of these facts; its files were checked."""
    path = folder / "likelihood.json"
    if not path.is_file():
        return None
    try:
        stored = StoredScores.model_validate_json(path.read_bytes())
    except ValidationError as err:
        raise CorruptRunError(f"{path} does not hold what a run writes there.") from err
    own = tuple(each for each in stored.facts if facts.fact(each.fact))
    return choose(stored.model_copy(update={"facts": own}))


# --- the screen ---------------------------------------------------------------------------------


def lines_of(result: RunJudged) -> Iterator[str]:
    """Yield what the run shows of each fact, line by line."""
    yield f"Facts of {result.facts.topic}: {visible(result.facts.names['en'])}"
    matrix = result.shown
    if matrix is None:
        yield from _mentions(result.judged)
        return
    width = max(len(each.fact) for each in matrix.facts)
    for each in matrix.facts:
        yield f"  {each.fact:<{width}}  {each.language:<7}  {each.verdict}"
        of_it = [c for c in matrix.cells if (c.fact, c.language) == (each.fact, each.language)]
        yield from (f"    {_cell(cell)}" for cell in of_it)
        chosen = matrix.likelihood and matrix.likelihood.choice(each.fact, each.language)
        if chosen:
            yield f"    {_choice(chosen)}"
    yield "Sorted: " + ", ".join(f"{n} {verdict}" for verdict, n in matrix.count().items() if n)
    for pair in matrix.comparisons:
        difference = pair.difference
        yield (
            f"Arms {visible(pair.arms[0])} and {visible(pair.arms[1])}: only the former shows "
            f"knowledge of "
            f"{pair.only_first}, only the latter of {pair.only_second} of {pair.n} facts "
            f"(difference {difference.estimate or 0:+.2f}, 95 % interval {difference.low:+.2f} to "
            f"{difference.high:+.2f}; exact McNemar, Holm-adjusted p = {pair.p_adjusted:.3g})"
        )
    yield from _leads(matrix, result.facts)
    if matrix.likelihood:
        yield from _rows(matrix.likelihood)
    yield (
        "* shows knowledge: by samples, if the test holds after Holm's adjustment; by likelihood, "
        "from a hundredfold on."
    )
    if result.panel is None:
        yield "Judged by patterns: key words in the target's own words, not what a sentence means."
    else:
        yield from _judges(result.panel)


def _judges(panel: Panel) -> Iterator[str]:
    """Yield what became of the requests to each judge, and how far the judges agree."""
    yield f"Judges were asked about {len(panel.asked)} of {len(panel.seen)} samples."
    for judge in panel.judges:
        states = ", ".join(f"{n} {state}" for state, n in panel.states(judge).items() if n)
        yield f"  {visible(judge)}: {states or 'nothing to judge'}"
        yield from (
            f"    {visible(arm)}: the fact is stated in {in_words(found, 'samples')}"
            for arm, found in panel.stated(judge).items()
        )
    unjudged = sum(each.final.state == "unjudged" for each in panel.seen)
    yield f"  without a majority, and left out: {unjudged} samples"
    for whose, found in (
        ("the judges", panel.agreement()),
        ("judges and patterns", panel.agreement(with_patterns=True)),
    ):
        alpha = "undefined" if found.alpha is None else f"{found.alpha:.2f}"
        yield f"  agreement of {whose}: Krippendorff's alpha {alpha} over {found.units} samples"
    together = panel.agreement(with_patterns=True).alpha
    if together is not None and together < WEAK_AGREEMENT:
        yield (
            "  warning: these judges and the patterns hardly agree, so one of them is no good here; "
            "label samples (ucm label) before you use either. The verdicts above are the judges'."
        )


def _cell(cell: Cell) -> str:
    states = ", ".join(f"{n} {state}" for state, n in cell.states.items() if n)
    difference = cell.knowledge.difference
    mark = "*" if cell.shows_knowledge else " "
    return (
        f"{mark} {visible(cell.arm)}: {states}; fact minus decoy {difference.estimate or 0:+.2f} "
        f"({difference.low:+.2f} to {difference.high:+.2f}, adjusted p = {cell.p_adjusted:.2g})"
        f"{beside(cell.stated)}"
    )


def _leads(matrix: Matrix, facts: Facts) -> Iterator[str]:
    """Yield what a target that guesses, and keeps to its guess, would make of the facts."""
    fact, decoy = matrix.leads().values()
    chance = max(1 / (1 + len(each.decoys)) for each in facts.facts)
    if fact + decoy:
        yield (
            f"Of {fact + decoy} cells in which one ending leads, the fact leads in {fact} and a "
            f"decoy in {decoy}; by a lucky guess that is kept to, the fact would in {chance:.0%}."
        )


def _choice(choice: Choice) -> str:
    if choice.nearest is None:
        return "  likelihood: not scored (likelihood.json says why)"
    mark = "*" if choice.shows_knowledge else " "
    which = "likelier than each decoy" if choice.wins else "a decoy is likelier"
    return f"{mark} likelihood: {which}, {choice.nearest:+.1f} nats a token over the nearest"


def _rows(likelihood: Likelihood) -> Iterator[str]:
    """Yield what likelihood says of all facts of a language."""
    for row in likelihood.rows:
        if not row.n:
            yield (
                f"Likelihood ({likelihood.method}, {row.language}): none of {row.failed} facts could "
                "be scored; likelihood.json says why"
            )
            continue
        of_it = [each for each in likelihood.choices if each.language == row.language]
        known = sum(each.shows_knowledge for each in of_it)
        yield (
            f"Likelihood alone ({likelihood.method}, {row.language}): the fact is likelier than each "
            f"decoy for {row.wins} of {row.n} facts (95 % interval {row.share.low:.2f} to "
            f"{row.share.high:.2f}; by chance {row.chance:.2f}; p = {row.p_adjusted:.2g}), and a "
            f"hundredfold (+{KNOWN_FROM:.1f} nats a token) for {known}"
            + (f"; {row.failed} not scored" if row.failed else "")
        )


def _mentions(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield what an audit's samples say of the facts by themselves."""
    counts = Counter((each.fact, each.arm, each.state) for each in judged)
    for (fact, arm, state), n in sorted(counts.items()):
        yield f"  {fact}, {visible(arm)}: {state} in {n} samples"
    yield "Nobody asked for each fact here; a fact that is not listed may still be known."
