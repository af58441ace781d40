"""Runs as Markdown: a report for each run, an overview of all, and the card of a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.errors import CorruptRunError
from uncensoring_chinese_models.exports.rows import TABLES, columns_of
from uncensoring_chinese_models.reports import as_markdown, report_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from uncensoring_chinese_models.exports.loading import Run, Runs
    from uncensoring_chinese_models.exports.rows import FactRow


def document_of(run: Run) -> str:
    """Return the report of a run, with its results for each fact.

    Raises:
        CorruptRunError: its summary is malformed.
    """
    if run.summary is None:
        parts = list(_unfinished(run))
    else:
        try:
            parts = [report_markdown(run.summary)]
        except (AttributeError, KeyError, TypeError, ValueError) as err:
            raise CorruptRunError(
                f"{run.name}/summary.json is malformed ({type(err).__name__}: {err}); leave this run "
                "out, or see what ucm verify says about it."
            ) from err
    return "\n".join([*parts, *_facts(run.facts)])


def overview_of(runs: Runs, names: Sequence[str]) -> str:
    """Return a table of all runs, each with a link to its document."""
    head = ["run", "status", "target", "topic", "probes", "withheld", "supported claims", "USD"]
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
        f"{own.withheld} of {own.judged_texts} ({own.counted_arm})",
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
    yield f"- {own.iterations} probes, {own.samples} samples, of {own.judged_texts} texts (arm {own.counted_arm}) {own.withheld} withhold"
    yield f"- servers of the samples: {as_markdown(own.servers or 'none')}"
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
    """Yield the facts, one table per judge."""
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
        f"{fact.states} of {fact.n}",
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


# --- the card of a dataset -------------------------------------------------------------------------


_ABOUT = """\
What language models said when they were asked about matters of public record, and what an auditor
concluded from it. Made from run directories by `ucm export` of uncensoring_chinese_models {version}.

**Choose a licence before you publish this**: the head of this file says `unknown`, since only you
can decide on the terms under which the texts may be passed on. Look at the texts first: models
wrote them, and they may be false or offensive. Your prompts and the hosts' error messages are in
here unchanged. Nothing was sent anywhere to make this dataset.

Texts are unchanged, except that lone surrogates are spelled out (⟨U+D800⟩). Costs are in USD.
"""


def dataset_card(runs: Runs, counts: Mapping[str, int]) -> str:
    """Return the text of a dataset's README.md, with the head that dataset viewers read."""
    return "\n".join([*_head(counts), "", *_body(runs, counts)]) + "\n"


def _head(counts: Mapping[str, int]) -> Iterator[str]:
    yield from ("---", "pretty_name: Audits of what language models withhold")
    yield "license: unknown # choose one before you publish"
    yield from ("tags:", "- censorship", "- model-auditing", "configs:")
    for table in counts:
        yield from (f"- config_name: {table}", "  data_files:", "  - split: train")
        yield f"    path: {table}.parquet"
        if table == "samples":
            yield "  default: true"
    yield "---"


def _body(runs: Runs, counts: Mapping[str, int]) -> Iterator[str]:
    yield from ("# Audits of what language models withhold", "")
    yield _ABOUT.format(version=__version__)
    yield from ("## Runs", "", "| run | status | target | topic | sha256 of summary.json |")
    yield "| --- | --- | --- | --- | --- |"
    for run in runs:
        own = run.overview
        cells = [
            own.run,
            own.status,
            own.target or "",
            own.topic or "",
            own.summary_sha256 or "none",
        ]
        yield f"| {' | '.join(map(as_markdown, cells))} |"
    for table, count in counts.items():
        kind = TABLES[table]
        yield from ("", f"## {table}", "", f"{kind.__doc__} {count} rows.", "")
        yield from column_lines(table)


def column_lines(table: str) -> Iterator[str]:
    """Yield the columns of a table, one line each."""
    yield from ("| column | type | meaning |", "| --- | --- | --- |")
    for column in columns_of(TABLES[table]):
        null = ", null" if column.nullable else ""
        yield f"| `{column.name}` | {_KINDS[column.kind]}{null} | {column.says} |"


_KINDS = {str: "text", int: "integer", float: "number", bool: "true or false"}
