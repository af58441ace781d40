"""Judge a stored run against a facts file, without asking anybody; keep it beside the run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import ValidationError

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.cells import Judged, judge_battery, match_audit
from uncensoring_chinese_models.chain import read_line, whole_lines
from uncensoring_chinese_models.choice import KNOWN_FROM, Choice, Likelihood, StoredScores, choose
from uncensoring_chinese_models.domain import Json
from uncensoring_chinese_models.errors import ConfigError, CorruptRunError
from uncensoring_chinese_models.facts import Facts, load_facts, parse_facts
from uncensoring_chinese_models.matrix import Cell, Matrix, build_matrix
from uncensoring_chinese_models.rates import beside
from uncensoring_chinese_models.recorded import read_responses
from uncensoring_chinese_models.scorecard import read_run
from uncensoring_chinese_models.visible import visible


@dataclass(frozen=True, slots=True)
class RunJudged:
    """What a run shows of the facts of its topic."""

    facts: Facts
    judged: tuple[Judged, ...]
    matrix: Matrix | None
    """None for an audit: nobody was asked for each fact there."""
    path: Path
    """The file that holds it all."""


def judge_run(folder: Path, facts_name: str | None = None) -> RunJudged:
    """Judge the samples of a finished run, and write what came out beside it.

    Raises:
        ConfigError: there are no facts to judge it by, or they are wrong.
        RunStoreError: it is no run directory, or the run has not finished.
        CorruptRunError: its files are not those that its summary lists.
    """
    files = read_run(folder)
    facts = load_facts(facts_name) if facts_name else facts_of(folder)
    responses = read_responses(files.responses)
    judged, matrix = judge_battery(responses, facts), None
    if judged:
        matrix = build_matrix(facts.topic, judged, _likelihood_of(folder, facts))
    else:
        judged = match_audit(responses, facts)
    path = folder.with_name(f"{folder.name}.judged") / f"{facts.topic}.json"
    result = RunJudged(facts, tuple(judged), matrix, path)
    _write(result, folder.name)
    return result


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


def _write(result: RunJudged, run: str) -> None:
    told: Json = {
        "run": run,
        "package": __version__,
        "judge": "patterns",
        "topic": result.facts.topic,
        "matrix": None if result.matrix is None else result.matrix.as_json(),
        "judged": [asdict(each) for each in result.judged],
    }
    result.path.parent.mkdir(exist_ok=True)
    draft = result.path.with_suffix(".tmp")
    draft.write_text(json.dumps(told, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    draft.replace(result.path)


# --- the screen ---------------------------------------------------------------------------------


def lines_of(result: RunJudged) -> Iterator[str]:
    """Yield what the run shows of each fact, line by line."""
    yield f"Facts of {result.facts.topic}: {visible(result.facts.names['en'])}"
    if result.matrix is None:
        yield from _mentions(result.judged)
        return
    matrix = result.matrix
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
            f"Arms {pair.arms[0]} and {pair.arms[1]}: only the former shows knowledge of "
            f"{pair.only_first}, only the latter of {pair.only_second} of {pair.n} facts "
            f"(difference {difference.estimate or 0:+.2f}, 95 % interval {difference.low:+.2f} to "
            f"{difference.high:+.2f}; exact McNemar, Holm-adjusted p = {pair.p_adjusted:.3g})"
        )
    if matrix.likelihood:
        yield from _rows(matrix.likelihood)
    yield "Judged by patterns: key words in the target's own words, not what a sentence means."


def _cell(cell: Cell) -> str:
    states = ", ".join(f"{n} {state}" for state, n in cell.states.items() if n)
    difference = cell.knowledge.difference
    mark = "*" if cell.shows_knowledge else " "
    return (
        f"{mark} {cell.arm}: {states}; fact minus decoy {difference.estimate or 0:+.2f} "
        f"({difference.low:+.2f} to {difference.high:+.2f}, p = {cell.p_adjusted:.2g})"
        f"{beside(cell.stated)}"
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
        yield f"  {fact}, {arm}: {state} in {n} samples"
    yield "Nobody asked for each fact here; a fact that is not listed may still be known."
