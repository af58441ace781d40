"""Queries of the index: the matrix of topics and models, and the search over all samples."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.text import escape
from uncensoring_chinese_models.viewer.index import like

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.viewer.index import Index

MAX_TOPICS, MAX_MODELS = 40, 20
"""Max size of the matrix; the topics and models with the most runs come first."""
MIN_INDEXED_CHARACTERS = 3
"""Min length of a query for the index; a shorter one is compared with every text."""
_AROUND = 90
_IS_OPEN = "(status = 'unfinished')"
Level = Literal["nothing", "none", "few", "some", "most"]
MIN_SOME, MIN_MOST = 0.1, 0.5
HIDDEN = ("known but withheld", "known but denied")
KNOWN = ("known and said", *HIDDEN, "known, not said")
"""Verdicts on facts that the target knows and was asked about."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """The samples of all ended runs of one kind in a cell, taken together."""

    runs: int = 0
    withheld: int = 0
    blocked: int = 0
    judged: int = 0
    supported: int = 0
    claims: int = 0
    not_judged: int = 0
    """Texts whose stance is unknown."""

    @property
    def kept_back(self) -> int:
        """How many samples withhold, or were withheld by the host."""
        return self.withheld + self.blocked

    @property
    def of(self) -> int:
        """How many samples were judged or blocked."""
        return self.judged + self.blocked


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """All runs of one topic on one model."""

    topic: str
    model: str
    audits: Sampled = Sampled()
    probes: Sampled = Sampled()
    verdicts: dict[str, int] = field(default_factory=dict)
    """Verdicts on the facts in ended runs: each fact once per run and language."""
    unfinished: int = 0
    """Runs that have not ended; they are counted nowhere else."""

    @property
    def facts(self) -> int:
        """How many verdicts on facts there are."""
        return sum(self.verdicts.values())

    @property
    def known(self) -> int:
        """How many of these say that the fact is known and was asked about."""
        return sum(self.verdicts.get(each, 0) for each in KNOWN)

    @property
    def hidden(self) -> int:
        """How many of these say that the fact is withheld or denied."""
        return sum(self.verdicts.get(each, 0) for each in HIDDEN)

    @property
    def level(self) -> Level:
        """How much is withheld, as a word that is also a colour: the largest share in the cell."""
        parts = [(self.hidden, self.known)]
        parts += [(kind.kept_back, kind.of) for kind in (self.audits, self.probes)]
        shares = [part / whole for part, whole in parts if whole]
        if not shares:
            return "nothing"
        share = max(shares)
        if share == 0:
            return "none"
        return "few" if share < MIN_SOME else "some" if share < MIN_MOST else "most"

    def as_json(self) -> Json:
        """Return everything as JSON."""
        told = {name: getattr(self, name) for name in ("facts", "known", "hidden", "level")}
        kinds = {
            name: asdict(kind) | {"kept_back": kind.kept_back, "of": kind.of}
            for name, kind in (("audits", self.audits), ("probes", self.probes))
        }
        return asdict(self) | told | kinds


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
    topics = tuple(index.values("topic")[:MAX_TOPICS])
    models = tuple(index.values("target")[:MAX_MODELS])
    every = _cells(index)
    shown = {
        (cell.topic, cell.model): cell
        for cell in every
        if cell.topic in topics and cell.model in models
    }
    left_out = sum(map(_runs, every)) - sum(map(_runs, shown.values()))
    return TopicMatrix(topics, models, shown, left_out)


def _runs(cell: MatrixCell) -> int:
    return cell.audits.runs + cell.probes.runs + cell.unfinished


def _cells(index: Index) -> list[MatrixCell]:
    """Return the cells of all topics and models; runs that have not ended are only counted."""
    verdicts = _verdicts(index)
    parts: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for names, kind, (is_open, *counts) in index.ask(
        f"SELECT topic, target, kind, {_IS_OPEN}, count(*), sum(withheld), sum(blocked), "  # noqa: S608 -- words of ours
        "sum(judged), sum(supported), sum(claims), sum(not_judged) FROM runs "
        "WHERE is_run AND topic != '' AND target != '' GROUP BY 1, 2, 3, 4",
        (),
        lambda row: ((str(row[0]), str(row[1])), str(row[2]), [int(each) for each in row[3:]]),
    ):
        cell = parts[names]
        if is_open:
            cell["unfinished"] = cell.get("unfinished", 0) + counts[0]
        else:
            cell["probes" if kind == "probe" else "audits"] = Sampled(*counts)
    return [
        MatrixCell(*names, verdicts=verdicts.get(names, {}), **cell)
        for names, cell in parts.items()
    ]


def _verdicts(index: Index) -> dict[tuple[str, str], dict[str, int]]:
    """Count the verdicts on facts, by topic and model."""
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    told = index.ask(
        "SELECT topic, target, verdicts FROM runs "  # noqa: S608 -- words of ours
        f"WHERE is_run AND verdicts != '{{}}' AND NOT {_IS_OPEN}",
        (),
        lambda row: (str(row[0]), str(row[1]), dict(strict_json.loads(row[2]))),
    )
    for topic, target, verdicts in told:
        found[topic, target].update(verdicts)
    return {cell: dict(counts.most_common()) for cell, counts in found.items()}


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A sample that contains the searched text."""

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


def search(index: Index, query: str, limit: int, offset: int = 0) -> list[SearchHit]:
    """Return samples that contain exactly this text, in any case; the latest read come first."""
    wanted = escape(query, newlines=True)
    if not wanted.strip():
        return []
    if len(wanted) >= MIN_INDEXED_CHARACTERS:
        quoted = wanted.replace('"', '""')
        condition, value = "texts MATCH ?", f'"{quoted}"'
    else:
        condition, value = "texts.text LIKE ? ESCAPE '\\'", like(wanted)
    return index.ask(
        "SELECT runs.id, runs.name, runs.topic, runs.target, iteration, arm, sample, texts.text "  # noqa: S608 -- words of ours
        "FROM texts JOIN samples ON samples.number = texts.rowid JOIN runs ON runs.id = run "
        f"WHERE {condition} ORDER BY texts.rowid DESC LIMIT ? OFFSET ?",
        (value, limit, offset),
        lambda row: SearchHit(*row[:7], *_around(row[7], wanted)),
    )


def _around(text: str, wanted: str) -> Sequence[str]:
    """Return the text before the first hit, the hit, and the text after it."""
    hit = re.search(re.escape(wanted), text, re.IGNORECASE)
    start, end = hit.span() if hit else (0, 0)
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    head = "…" if start > _AROUND else ""
    tail = "…" if len(text) > end + _AROUND else ""
    return head + before, text[start:end], after + tail
