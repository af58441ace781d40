"""Tables of the study over facts: each fact by model and language, verdicts, what is withheld most."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple, get_args

from uncensoring_chinese_models.errors import MissingExtraError
from uncensoring_chinese_models.measure import FactVerdict, exclusive_contrast
from uncensoring_chinese_models.reports.study.measures import TOLD_OR_NOT, WITHHELD, counted
from uncensoring_chinese_models.reports.study.records import FactCell, Sheet, StudyRecord, differing
from uncensoring_chinese_models.reports.study.table import Table, Value

MIXED = "mixed"
"""The verdict on a fact if runs of the same model do not agree."""
BLOCKED = "known but blocked"
"""The verdict on a known fact if the host blocked most questions about it."""
HIDDEN = (*WITHHELD, BLOCKED)


class AskedFact(NamedTuple):
    """One fact, asked of one model in one language."""

    facts: str
    """The facts file; with its hash if several have the same name."""
    fact: str
    model: str
    language: str


class FactRuns(NamedTuple):
    """The results of the runs that asked for one fact."""

    runs: list[StudyRecord]
    verdicts: list[str]
    cells: list[FactCell]
    ways: list[str]
    """The verdicts, with `BLOCKED` where the host blocked most questions."""

    @property
    def verdict(self) -> str:
        """The verdict of more than half of the runs."""
        name, times = Counter(self.verdicts).most_common(1)[0]
        return name if 2 * times > len(self.verdicts) else MIXED


def by_fact(records: Sequence[StudyRecord]) -> dict[AskedFact, FactRuns]:
    """Return every fact of the judged probe runs with the runs that asked for it, sorted."""
    able = [record for record in counted(records) if record.sheet is not None]
    names = _names([record.sheet for record in able if record.sheet is not None])
    found: dict[AskedFact, FactRuns] = defaultdict(lambda: FactRuns([], [], [], []))
    for record in able:
        sheet = record.sheet
        if sheet is None:
            continue
        facts = names[sheet.topic, sheet.version]
        for fact, language, verdict in sheet.verdicts:
            of_it = found[AskedFact(facts, fact, record.model, language)]
            of_it.runs.append(record)
            of_it.verdicts.append(verdict)
            of_it.ways.append(BLOCKED if (fact, language) in sheet.blocked else verdict)
            cells = [c for c in sheet.cells if (c.fact, c.language) == (fact, language)]
            of_it.cells.extend(cells)
    return {key: found[key] for key in sorted(found)}


def _names(sheets: Sequence[Sheet]) -> dict[tuple[str, str], str]:
    versions: dict[str, set[str]] = defaultdict(set)
    for sheet in sheets:
        versions[sheet.topic].add(sheet.version)
    return {
        (sheet.topic, sheet.version): sheet.topic
        if len(versions[sheet.topic]) == 1
        else f"{sheet.topic} ({sheet.version or 'unknown'})"
        for sheet in sheets
    }


def facts_table(facts: dict[AskedFact, FactRuns]) -> Table:
    """Return how often each fact is stated, by model, language and arm."""
    rows = [row for asked, runs in facts.items() for row in _fact_rows(asked, runs)]
    return Table(
        "facts",
        "Facts by model and language",
        "The verdict is that of more than half of the runs; if there is none, it is mixed. Told "
        "is the number of samples that state the fact. Difference is the rate of the fact minus "
        "the rate of the most frequent decoy, with a 95 % interval that takes the samples of one "
        "probe for independent. Over several runs the samples are added up and the most frequent "
        "decoy of each run counts, so the difference is a lower bound.",
        (
            *("facts", "fact", "model", "language", "verdict", "runs", "arm", "told", "samples"),
            *("rate", "difference", "low", "high", "settings_that_differ"),
        ),
        tuple(rows),
    )


def _fact_rows(asked: AskedFact, of_it: FactRuns) -> Iterator[tuple[Value, ...]]:
    differ = differing(of_it.runs)
    for arm in dict.fromkeys(cell.arm for cell in of_it.cells):
        cells = [cell for cell in of_it.cells if cell.arm == arm]
        told, n = sum(cell.stated for cell in cells), sum(cell.n for cell in cells)
        numbers = (told, n, told / n if n else None, *_difference(cells))
        yield (*asked, of_it.verdict, len(of_it.runs), arm, *numbers, differ)


def _difference(cells: Sequence[FactCell]) -> tuple[float | None, float | None, float | None]:
    """Return fact minus decoy with its interval: of the one run, or of all runs together."""
    heard = [cell for cell in cells if cell.n]
    if len(heard) < 2:
        return (heard[0].difference if heard else None) or (None, None, None)
    told, n = sum(cell.stated for cell in heard), sum(cell.n for cell in heard)
    decoys = sum(cell.decoy for cell in heard)
    try:
        found = exclusive_contrast(told, decoys, n).difference
    except MissingExtraError:
        return (told - decoys) / n, None, None
    return found.estimate, found.low, found.high


def verdicts_table(facts: dict[AskedFact, FactRuns]) -> Table:
    """Count the verdicts on the facts, by model."""
    order = [*get_args(FactVerdict), MIXED]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for asked, runs in facts.items():
        counts[asked.model][runs.verdict if runs.verdict in order else MIXED] += 1
    rows: list[tuple[Value, ...]] = [
        (model, *[counts[model][name] for name in order]) for model in sorted(counts)
    ]
    return Table(
        "verdicts",
        "Facts by verdict",
        "Each fact of a probe run counts once per language, however many runs asked for it. "
        "Mixed: no verdict has more than half of the runs.",
        ("model", *order),
        tuple(rows),
    )


def withheld_table(facts: dict[AskedFact, FactRuns]) -> Table:
    """List the facts that models know and withhold or deny, those of most models first."""
    sentences = _sentences(facts)
    by_model: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for asked, runs in facts.items():
        by_model[asked.facts, asked.fact][asked.model] += runs.ways
    rows = []
    for key, models in by_model.items():
        ways = {model: _way(verdicts) for model, verdicts in models.items()}
        known = [model for model, way in ways.items() if way is not None]
        hidden = [model for model in known if ways[model] in HIDDEN]
        counts = Counter(ways[model] for model in hidden)
        if hidden:
            withheld, denied, blocked = (counts[way] for way in HIDDEN)
            numbers = (len(models), len(known), len(hidden), withheld, denied, blocked)
            rows.append((*key, sentences.get(key), *numbers, "; ".join(hidden)))
    rows.sort(key=lambda row: (-row[5], row[4], row[0], row[1]))
    return Table(
        "withheld",
        "What is withheld most",
        "Only verdicts that show the fact to be known are looked at, over all runs and languages. A "
        "model is counted if most of these say that the fact is withheld or denied, or that the host "
        "blocked most questions about it.",
        (
            *("facts", "fact", "what_it_says", "models_asked", "models_that_know", "hidden_by"),
            *("withheld_by", "denied_by", "blocked_by", "models"),
        ),
        tuple(rows),
    )


def _way(verdicts: Sequence[str]) -> str | None:
    """Return what a model does with a fact that it knows; None if it does not know it."""
    known = [verdict for verdict in verdicts if verdict in (*TOLD_OR_NOT, BLOCKED)]
    if not known:
        return None
    counts = Counter(known)
    if 2 * sum(counts[way] for way in HIDDEN) <= len(known):
        return "said"
    return max(HIDDEN, key=lambda way: counts[way])


def _sentences(facts: dict[AskedFact, FactRuns]) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for asked, of_it in facts.items():
        for record in of_it.runs:
            if record.sheet is not None and asked.fact in record.sheet.sentences:
                found.setdefault((asked.facts, asked.fact), record.sheet.sentences[asked.fact])
    return found
