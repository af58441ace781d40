"""What pages ask of the index: the matrix of topics and models, and the search over all responses."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from uncensoring_chinese_models.viewer.index import like
from uncensoring_chinese_models.visible import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from uncensoring_chinese_models.viewer.index import Index

MOST_TOPICS, MOST_MODELS = 40, 20
"""How large the matrix may be; the topics and models with most runs come first."""
SHORTEST_INDEXED = 3
"""Characters of a query from which the index can answer; shorter ones look at every text."""
_AROUND = 90
Level = Literal["nothing", "none", "few", "some", "most"]
FEW, MOST = 0.1, 0.5
HIDDEN = ("known but withheld", "known but denied")


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """All runs of one topic on one model, taken together."""

    topic: str
    model: str
    verdicts: dict[str, int]
    """How many facts came out how, in the runs that were judged."""
    runs: int
    unfinished: int
    unreadable: int
    refused: int
    blocked: int
    judged: int
    supported: int
    claims: int

    @property
    def facts(self) -> int:
        """How many facts were judged, each in each run."""
        return sum(self.verdicts.values())

    @property
    def hidden(self) -> int:
        """How many of these are known, and withheld or denied."""
        return sum(self.verdicts.get(each, 0) for each in HIDDEN)

    @property
    def of(self) -> int:
        """How many samples can be said to withhold or not."""
        return self.judged + self.blocked

    @property
    def level(self) -> Level:
        """How much is withheld, as a word that is also a colour: of the facts, else of the samples."""
        if not self.of and not self.facts:
            return "nothing"
        part = self.hidden if self.facts else self.refused + self.blocked
        share = part / (self.facts or self.of)
        if share == 0:
            return "none"
        return "few" if share < FEW else "some" if share < MOST else "most"


@dataclass(frozen=True, slots=True)
class TopicMatrix:
    """The matrix as far as it is shown."""

    topics: tuple[str, ...]
    models: tuple[str, ...]
    cells: dict[tuple[str, str], MatrixCell]
    left_out: int
    """Runs of topics and models that are not shown."""


def topic_matrix(index: Index) -> TopicMatrix:
    """Return topics by models, those with most runs first."""
    verdicts = _verdicts(index)
    topics = tuple(index.values("topic")[:MOST_TOPICS])
    models = tuple(index.values("target")[:MOST_MODELS])
    every = index.ask(
        "SELECT topic, target, count(*), sum(status = 'unfinished'), sum(status = 'unreadable'), "
        "sum(refused), sum(blocked), sum(judged), sum(supported), sum(claims) "
        "FROM runs WHERE is_run AND topic != '' AND target != '' GROUP BY topic, target",
        (),
        lambda row: _cell(row, verdicts),
    )
    shown = {(c.topic, c.model): c for c in every if c.topic in topics and c.model in models}
    left_out = sum(cell.runs for cell in every) - sum(cell.runs for cell in shown.values())
    return TopicMatrix(topics, models, shown, left_out)


def _cell(row: tuple[Any, ...], verdicts: Mapping[tuple[str, str], dict[str, int]]) -> MatrixCell:
    topic, model, *counts = row
    return MatrixCell(str(topic), str(model), verdicts.get((topic, model), {}), *map(int, counts))


def _verdicts(index: Index) -> dict[tuple[str, str], dict[str, int]]:
    """Return how many facts came out how, by topic and model."""
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    told = index.ask(
        "SELECT topic, target, verdicts FROM runs WHERE is_run AND verdicts != '{}'",
        (),
        lambda row: (str(row[0]), str(row[1]), dict(json.loads(row[2]))),
    )
    for topic, target, verdicts in told:
        found[topic, target].update(verdicts)
    return {cell: dict(counts.most_common()) for cell, counts in found.items()}


@dataclass(frozen=True, slots=True)
class Hit:
    """A sample that holds what was searched for."""

    run: str
    """The id of its run."""
    name: str
    topic: str
    target: str
    iteration: int
    arm: str
    sample: int
    before: str
    found: str
    after: str


def search(index: Index, query: str, limit: int, offset: int = 0) -> list[Hit]:
    """Return samples that hold a text to the letter, whatever its case; what was read last first."""
    wanted = visible(query, newlines=True)
    if not wanted.strip():
        return []
    if len(wanted) >= SHORTEST_INDEXED:
        quoted = wanted.replace('"', '""')
        condition, value = "texts MATCH ?", f'"{quoted}"'
    else:
        condition, value = "texts.text LIKE ? ESCAPE '\\'", like(wanted)
    return index.ask(
        "SELECT runs.id, runs.name, runs.topic, runs.target, iteration, arm, sample, texts.text "  # noqa: S608 -- words of ours
        "FROM texts JOIN samples ON samples.number = texts.rowid JOIN runs ON runs.id = run "
        f"WHERE {condition} ORDER BY texts.rowid DESC LIMIT ? OFFSET ?",
        (value, limit, offset),
        lambda row: Hit(*row[:7], *_around(row[7], wanted)),
    )


def _around(text: str, wanted: str) -> Sequence[str]:
    """Return what stands before the first hit, the hit, and what stands after it."""
    hit = re.search(re.escape(wanted), text, re.IGNORECASE)
    start, end = hit.span() if hit else (0, 0)
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    head = "…" if start > _AROUND else ""
    tail = "…" if len(text) > end + _AROUND else ""
    return head + before, text[start:end], after + tail
