"""Runs as Markdown for readers: the report of each, with its facts, and an overview of all."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from uncensoring_chinese_models.errors import CorruptRunError
from uncensoring_chinese_models.reports import as_markdown, report_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from uncensoring_chinese_models.exports.loading import Run, Runs
    from uncensoring_chinese_models.exports.rows import FactRow


def document_of(run: Run) -> str:
    """Return the report of a run, and what it shows of each fact.

    Raises:
        CorruptRunError: its summary is not what a run writes.
    """
    if run.summary is None:
        parts = list(_unfinished(run))
    else:
        try:
            parts = [report_markdown(run.summary)]
        except (AttributeError, KeyError, TypeError, ValueError) as err:
            raise CorruptRunError(
                f"{run.name}/summary.json is not what a run writes ({type(err).__name__}: {err}); "
                "leave this run out, or see what ucm verify says of it."
            ) from err
    return "\n".join([*parts, *_facts(run.facts)])


def overview_of(runs: Runs, names: Sequence[str]) -> str:
    """Return a table of all runs, each with a link to its document."""
    head = ["run", "status", "target", "topic", "probes", "refused", "supported claims", "USD"]
    lines = [
        "# Runs",
        "",
        *_table(head, (_overview(run, name) for run, name in zip(runs, names, strict=True))),
    ]
    return "\n".join(lines) + "\n"


def _overview(run: Run, name: str) -> list[str]:
    own = run.overview
    claims = "" if own.claims is None else f"{own.supported_claims} of {own.claims}"
    cost = "unknown" if own.cost_usd is None else f"{own.cost_usd:.4f}"
    return [
        f"[{as_markdown(own.run)}]({quote(name, errors='surrogateescape')})",
        as_markdown(own.status),
        as_markdown(own.target or ""),
        as_markdown(own.topic or ""),
        str(own.iterations),
        f"{own.refused} of {own.judged_texts} ({own.refusal_arm})",
        claims,
        cost,
    ]


def _unfinished(run: Run) -> Iterator[str]:
    own = run.overview
    yield f"# Audit: {as_markdown(own.topic or 'unknown')}"
    yield ""
    yield f"- target: {as_markdown(own.target or 'unknown')}"
    yield f"- auditor: {as_markdown(own.auditor or 'unknown')}"
    yield f"- from {as_markdown(own.started_at or 'unknown')}, not finished; what follows may change"
    yield f"- {own.iterations} probes, {own.samples} samples, of {own.judged_texts} texts (arm {own.refusal_arm}) {own.refused} refuse or evade"
    yield from ("", "## Hypotheses so far", "")
    if not run.hypotheses:
        yield "None."
    for each in run.hypotheses:
        if each.is_final:
            quotes = f"{each.supporting} excerpts for it, {each.contradicting} against it"
            says = (
                f"{as_markdown(each.text or '')} ({as_markdown(each.confidence or '')}; {quotes})"
            )
            yield f"- {as_markdown(each.hypothesis)}: {says}"
    yield ""


def _facts(facts: Sequence[FactRow]) -> Iterator[str]:
    """Yield the facts, one table for each judge."""
    for judge in dict.fromkeys(each.judge for each in facts):
        yield from ("", f"## Facts, by {as_markdown(judge)}", "")
        own = [each for each in facts if each.judge == judge]
        if judge == "likelihood":
            head = ["fact", "language", "nats per token over the nearest decoy", "known"]
            yield from _table(head, (_scored(each) for each in own))
        else:
            head = [
                "fact",
                "language",
                "verdict",
                "arm",
                "stated",
                "fact minus decoy",
                "p, adjusted",
            ]
            yield from _table(head, (_judged(each) for each in own))
    if facts:
        yield ""


def _scored(fact: FactRow) -> list[str]:
    margin = "unknown" if fact.margin is None else f"{fact.margin:.2f}"
    known = "yes" if fact.shows_knowledge else "not shown"
    return [as_markdown(fact.fact), as_markdown(fact.language), margin, known]


def _judged(fact: FactRow) -> list[str]:
    p_value = "" if fact.p_adjusted is None else f"{fact.p_adjusted:.3g}"
    return [
        as_markdown(fact.fact),
        as_markdown(fact.language),
        as_markdown(fact.verdict or ""),
        as_markdown(fact.arm),
        f"{fact.stated} of {fact.n}",
        _interval(fact.difference, fact.difference_low, fact.difference_high),
        p_value,
    ]


def _interval(value: float | None, low: float | None, high: float | None) -> str:
    if value is None or low is None or high is None:
        return "unknown"
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    yield from (f"| {' | '.join(cells)} |" for cells in rows)
