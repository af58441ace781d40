"""The card of a dataset: what is in it, column by column, and which runs it was made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.exports.rows import TABLES, columns_of
from uncensoring_chinese_models.reports import as_markdown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from uncensoring_chinese_models.exports.loading import Runs

_ABOUT = """\
What language models said when they were asked about matters of public record, and what an auditor
made of it. Made from run directories by `ucm export` of uncensoring_chinese_models {version}.

**Choose a licence before you publish this**: the head of this file says `unknown`, since only you
can say under which terms the texts may be passed on. Look at the texts first, too: they were
written by models, may be false or offensive, and what your prompts and a host's errors hold is in
here as it was. Nothing was sent anywhere to make this.

Texts are as they came, but that a lone surrogate is spelled out (⟨U+D800⟩). Costs are USD.
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
