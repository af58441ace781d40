"""A run in short: what a study keeps of it, so that thousands of runs fit into memory.

Samples of runs that were not judged are read anew by this version's recogniser, so that runs of
different versions are counted by the same rules.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from uncensoring_chinese_models.audit import ENDED_EARLY, Received, count_received
from uncensoring_chinese_models.config import MAX_SAMPLES
from uncensoring_chinese_models.domain import ASKING_ARM, DELIVERIES, Json
from uncensoring_chinese_models.errors import ConfigError, CorruptRunError
from uncensoring_chinese_models.measure import RunStances, parse_facts
from uncensoring_chinese_models.models import name_of_target

if TYPE_CHECKING:
    from uncensoring_chinese_models.measure import Facts
    from uncensoring_chinese_models.runs import RunFiles

Kind = Literal["audit", "probe"]

SEEDS = 2**31 // MAX_SAMPLES
"""How many seeds differ: a request sends `MAX_SAMPLES` times the seed plus an index, modulo 2^31."""

KNOWN = "known"
"""How the verdicts begin that say so."""

FAILED = ("target_failed", "auditor_failed")
"""How runs end whose findings say more of a failure than of the target."""


@dataclass(frozen=True, slots=True)
class ProbeTally:
    """The samples of one probe in one arm, counted."""

    probe: str
    """What was sent."""
    iteration: int
    arm: str
    counts: Counter[Received]

    @property
    def withheld(self) -> int:
        """How many texts refuse, deny, deflect or give the official line."""
        return sum(n for each, n in self.counts.items() if each.withholds)

    @property
    def judged(self) -> int:
        """How many texts could be read."""
        return sum(n for each, n in self.counts.items() if each.is_judged)

    @property
    def blocked(self) -> int:
        """How many samples the host kept back."""
        return sum(n for each, n in self.counts.items() if each.by_host)

    @property
    def not_judged(self) -> int:
        """How many samples failed, were empty, or have an unknown stance."""
        return self.counts.total() - self.judged - self.blocked


@dataclass(frozen=True, slots=True)
class FactCell:
    """How often one fact is stated in one arm and one language of one run."""

    fact: str
    language: str
    arm: str
    stated: int
    n: int
    decoy: int
    """How often the most frequent decoy is stated."""
    difference: tuple[float, float, float] | None
    """Fact minus decoy with its interval, as the run was judged; None where nothing came back."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """The facts of a probe run as they were sorted."""

    topic: str
    """The name of the facts file."""
    version: str
    """A short hash of its text; empty where the run does not hold it."""
    judged_by: str
    cells: tuple[FactCell, ...]
    verdicts: tuple[tuple[str, str, str], ...]
    """Fact, language, verdict."""
    sentences: dict[str, str]
    """What each fact says, where the run holds its facts file."""
    blocked: frozenset[tuple[str, str]] = frozenset()
    """Fact and language of those that the target knows, and that the host mostly kept back."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one role cost."""

    usd: Decimal
    """What is known of it."""
    calls_without_cost: int
    tokens: int


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """One finished run."""

    place: str
    """Its path below the folder of the study."""
    kind: Kind
    topic: str
    model: str
    status: str
    settings: dict[str, str]
    """Those by which runs may differ that are pooled."""
    made: int
    """Knowledge claims."""
    supported: int
    tallies: tuple[ProbeTally, ...]
    sheet: Sheet | None
    spend: dict[str, Spent]
    seed: int | None = None
    """The seed of its requests, modulo `SEEDS`; None if none was sent."""
    report: str | None = None
    """Where its own page lies, seen from the study's."""
    draw: str = ""
    """The first run with the same topic, model and seed, whose samples may be the same; else itself."""
    unfit: tuple[str, ...] = ()
    """Which judgements beside it do not fit it, and why."""

    @property
    def ended_early(self) -> str:
        """Why it ended before its time; empty if it did not."""
        return ENDED_EARLY.get(self.status, "")

    @property
    def has_failed(self) -> bool:
        """True if it ended because the target or the auditor failed."""
        return self.status in FAILED


def make_record(run: RunFiles, place: str, report: str | None = None) -> StudyRecord:
    """Return a finished run in short.

    Raises:
        CorruptRunError: its files lack what a run writes.
    """
    if run.summary is None:
        raise ValueError("a run that has not ended has no record")
    try:
        return _record(run, run.summary, place, report)
    except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError) as err:
        detail = f"{type(err).__name__}: {err}"
        raise CorruptRunError(f"{place} is not what a run writes ({detail}).") from err


def _record(run: RunFiles, summary: Json, place: str, report: str | None) -> StudyRecord:
    kind: Kind = "probe" if run.kind == "probe" else "audit"
    sheet, judges = _sheet(run) if kind == "probe" else (None, None)
    claims, stances = summary["denominators"]["claims"]["knowledge"], RunStances(run)
    seed = run.settings["sampling"].get("seed")
    return StudyRecord(
        place,
        kind,
        str(run.settings["topic"]),
        name_of_target(run.settings),
        str(summary["status"]),
        _settings(run, summary, kind, sheet),
        int(claims["made"]),
        int(claims["supported"]),
        tuple(tally for response in run.responses for tally in _tallies(response, stances)),
        sheet,
        _spend(summary, judges),
        None if seed is None else int(seed) % SEEDS,
        report,
        place,
        run.unfit,
    )


def _settings(run: RunFiles, summary: Json, kind: Kind, sheet: Sheet | None) -> dict[str, str]:
    sampling = run.settings["sampling"]
    found = {name: str(sampling.get(name)) for name in ("n", "temperature", "max_tokens")}
    found["arms"] = ", ".join(map(str, sampling.get("arms") or ()))
    if kind == "audit":
        found["auditor"] = str(run.settings.get("auditing_model"))
        found["max_iterations"] = str(run.settings.get("max_iterations"))
    if sheet is not None:
        found["judged_by"] = sheet.judged_by
    endpoint = run.settings.get("audited_endpoint") or {}
    found["endpoint"] = str(endpoint.get("preset"))
    found["servers"] = _servers(run)
    found["package"] = str((summary.get("versions") or {}).get("package"))
    return found


def _servers(run: RunFiles) -> str:
    """Return the servers of the samples; those inside this program differ by their model alone."""
    asked = dict.fromkeys(s.get("server") for r in run.responses for s in r["samples"])
    own = str(run.settings["audited_model"])
    return " and ".join(str(each) for each in asked if each != own) or "this program"


def _tallies(response: Json, stances: RunStances) -> list[ProbeTally]:
    by_arm: dict[str, list[Received]] = defaultdict(list)
    for sample in response["samples"]:
        by_arm[str(sample["arm"])].append(stances.received(response, sample))
    probe, iteration = str(response["prompt_sent"]), int(response["iteration"])
    return [
        ProbeTally(probe, iteration, arm, count_received(found)) for arm, found in by_arm.items()
    ]


# --- facts --------------------------------------------------------------------------------------


def _sheet(run: RunFiles) -> tuple[Sheet | None, Json | None]:
    """Return the facts as they were sorted, by judges if there were any, and what judges cost."""
    told = next((each for each in run.judged if each.get("matrix")), None)
    if told is None:
        return None, None
    judges = ", ".join(str(judge["model"]) for judge in told.get("judges", ()))
    matrix, topic = told["matrix"], str(told["topic"])
    facts, version = _facts(told)
    cells = tuple(_cell(cell) for cell in matrix["cells"])
    verdicts = tuple(
        (str(each["fact"]), str(each["language"]), str(each["verdict"])) for each in matrix["facts"]
    )
    sentences = {} if facts is None else _sentences(facts)
    judged_by = judges or "patterns"
    blocked = frozenset(_blocked(told, verdicts))
    return Sheet(topic, version, judged_by, cells, verdicts, sentences, blocked), told.get("spend")


def _blocked(told: Json, verdicts: Sequence[tuple[str, str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the known facts of which the host blocked more questions than it let through."""
    asked = [each for each in told.get("judged", ()) if each["arm"] == ASKING_ARM]
    kept = Counter((e["fact"], e["language"]) for e in asked if DELIVERIES[e["delivery"]].by_host)
    cells = told["matrix"]["cells"]
    heard = {
        (c["fact"], c["language"]): int(c["stated"]["n"]) for c in cells if c["arm"] == ASKING_ARM
    }
    shown = {(c["fact"], c["language"]) for c in cells if c.get("shows_knowledge")}
    for fact, language, verdict in verdicts:
        key = fact, language
        is_known = verdict.startswith(KNOWN) or key in shown
        if is_known and kept[key] > heard.get(key, 0):
            yield key


def _facts(told: Json) -> tuple[Facts | None, str]:
    """Return the facts file that a run was judged by, and a short hash of it."""
    facts = _parsed(str(told["facts"]))
    return facts, "" if facts is None else str(told["facts_sha256"])[:8]


@lru_cache(maxsize=64)
def _parsed(text: str) -> Facts | None:
    """Return a facts file; many runs hold the same, and reading one takes long."""
    try:
        return parse_facts(text.encode("utf-8"), "the facts of a run")
    except (ConfigError, ValueError):
        return None


def _sentences(facts: Facts) -> dict[str, str]:
    found = {fact.id: fact.sentence("en") for fact in facts.facts}
    return {name: sentence for name, sentence in found.items() if sentence}


def _cell(cell: Json) -> FactCell:
    difference = cell["knowledge"]["difference"]
    numbers = (difference["estimate"], difference["low"], difference["high"])
    stated, n = int(cell["stated"]["successes"]), int(cell["stated"]["n"])
    decoy = int(cell["decoys"][0]) if cell["decoys"] else 0
    if min(stated, decoy) < 0 or stated + decoy > n:
        raise ValueError(f"{stated} and {decoy} are no parts of {n} samples")
    return FactCell(
        str(cell["fact"]),
        str(cell["language"]),
        str(cell["arm"]),
        stated,
        n,
        decoy,
        None if numbers[0] is None else (float(numbers[0]), float(numbers[1]), float(numbers[2])),
    )


# --- money --------------------------------------------------------------------------------------


def _spend(summary: Json, judges: Json | None) -> dict[str, Spent]:
    sides = dict(summary["spend"]["by_role"])
    if judges is not None:
        sides["judge"] = judges
    return {role: _spent(side) for role, side in sides.items()}


def _spent(side: Json) -> Spent:
    usd = Decimal(str(side["known_cost_usd"]))
    tokens = int(side["prompt_tokens"]) + int(side["completion_tokens"])
    return Spent(usd, int(side["calls_without_cost"]), tokens)


# --- what differs -------------------------------------------------------------------------------


def differing(records: list[StudyRecord]) -> str:
    """Say in which settings runs differ that are counted together; nothing if they do not."""
    values: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        for name, value in record.settings.items():
            values[name][value] += 1
    return "; ".join(
        f"{name}: {', '.join(sorted(found))}" for name, found in values.items() if len(found) > 1
    )
