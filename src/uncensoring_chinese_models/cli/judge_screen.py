"""What a judged run shows of the facts, line by line, for the screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from uncensoring_chinese_models.measure import (
    KNOWN_FROM,
    Cell,
    Choice,
    Facts,
    Judged,
    Likelihood,
    Matrix,
    Panel,
    RunJudged,
    samples_to_decide,
)
from uncensoring_chinese_models.rates import beside, in_words
from uncensoring_chinese_models.text import visible

WEAK_AGREEMENT = 0.4
"""Alpha of judges and patterns below which the screen warns of them."""


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
    yield from _too_few(matrix)
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


def _too_few(matrix: Matrix) -> Iterator[str]:
    most = max((cell.stated.n for cell in matrix.cells), default=0)
    enough = samples_to_decide(len(matrix.cells))
    if matrix.count()["undecided"] and most < enough:
        yield f"With {most} samples in each of {len(matrix.cells)} cells little can be decided; with {enough} it can."


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
