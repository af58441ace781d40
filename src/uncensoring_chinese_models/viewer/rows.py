"""What the index keeps of one run: a row for lists and the matrix, and the texts to search.

Runs may come from strangers: every value is checked before it is kept, and control characters of
texts are spelled out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from uncensoring_chinese_models.audit import count_received, rate_of_withholding
from uncensoring_chinese_models.domain import ASKING_ARM, DELIVERIES, STANCES
from uncensoring_chinese_models.errors import AuditToolError
from uncensoring_chinese_models.measure import RunStances
from uncensoring_chinese_models.models import name_of_target
from uncensoring_chinese_models.runs import RunFiles, is_record, read_run
from uncensoring_chinese_models.text import escape, preview
from uncensoring_chinese_models.viewer.signatures import by_name

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.viewer.signatures import SignedRun

UNREADABLE = "unreadable"
MAX_SEARCHED_CHARACTERS = 20_000
"""Max characters of one sample that can be searched."""
MAX_SEARCHED_OF_RUN = 10_000_000
"""Max characters of one run that can be searched."""
_MAX_NAME_CHARACTERS = 200
_MAX_NUMBER = 2**53
_GARBLED = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)
"""What reading a malformed value may raise."""


@dataclass(frozen=True, slots=True)
class ViewerRow:
    """One run in a list."""

    id: str
    name: str
    place: str
    topic: str = ""
    auditor: str = ""
    target: str = ""
    status: str = UNREADABLE
    problem: str = ""
    """Why it cannot be read."""
    started_at: str = ""
    cost_usd: float | None = None
    """Null where a call's cost is unknown."""
    iterations: int = 0
    samples: int = 0
    withheld: int = 0
    """Samples that refuse, deny, deflect or give the official line."""
    blocked: int = 0
    judged: int = 0
    """Samples whose stance is known."""
    not_judged: int = 0
    """Texts whose stance is unknown."""
    claims: int = 0
    supported: int = 0
    kind: str = "audit"
    verdicts: dict[str, int] = field(default_factory=dict)
    """How many facts came out how, where the run was judged."""

    def as_json(self) -> Json:
        """Return everything as JSON."""
        return asdict(self)


class SampleText(NamedTuple):
    """One sample's text."""

    iteration: int
    arm: str
    sample: int
    text: str


class IndexedRun(NamedTuple):
    """A run as the index keeps it."""

    row: ViewerRow
    texts: tuple[SampleText, ...]


def read_row(found: SignedRun) -> IndexedRun | None:
    """Read a run for the index; None if the folder is the record of the doctor."""
    base = ViewerRow(
        found.id, preview(found.folder.name, _MAX_NAME_CHARACTERS), escape(found.place)
    )
    try:
        if is_record(found.folder):
            return None
        files = read_run(found.folder)
        return IndexedRun(_row(base, files), tuple(_texts(files)))
    except AuditToolError as err:
        return IndexedRun(_unreadable(base, by_name(str(err), found.folder)), ())
    except OSError as err:
        return IndexedRun(_unreadable(base, f"It cannot be read: {err.strerror}."), ())
    except MemoryError:
        return IndexedRun(_unreadable(base, "It does not fit into memory."), ())
    except _GARBLED as err:
        problem = f"A file of it is malformed ({type(err).__name__}: {err})."
        return IndexedRun(_unreadable(base, problem), ())


def _unreadable(base: ViewerRow, problem: str) -> ViewerRow:
    return ViewerRow(base.id, base.name, base.place, problem=preview(problem, 500))


def _row(base: ViewerRow, files: RunFiles) -> ViewerRow:
    settings, summary = files.settings, files.summary
    asked = _asked(files)
    claims = [] if summary is None else list(summary.get("claims") or ())
    return ViewerRow(
        base.id,
        base.name,
        base.place,
        _word(settings.get("topic")),
        _word(settings.get("auditing_model")),
        _word(name_of_target(settings)),
        _word(files.status),
        "",
        _word(started_at(files)),
        cost_usd(files),
        len(files.responses),
        sum(1 for _ in _samples(files)),
        *asked,
        len(claims),
        sum(bool(claim["supported"]) for claim in claims),
        _word(files.kind),
        _verdicts(files.judged),
    )


class _AskedCounts(NamedTuple):
    withheld: int
    blocked: int
    judged: int
    not_judged: int


def _asked(files: RunFiles) -> _AskedCounts:
    """Count the samples that were asked: as the summary has them, unless they were judged later.

    The user turn is sampled because refusals do not reach it, so where the assistant was asked,
    its samples alone say how much is withheld.
    """
    stances = RunStances(files)
    told = None if stances.judgements else _in_summary(files)
    if told is None:
        found = [(s["arm"], stances.received(r, s)) for r in files.responses for s in r["samples"]]
        own = [each for arm, each in found if arm == ASKING_ARM]
        told = asdict(rate_of_withholding(count_received(own or [each for _, each in found])))
    left_out = told["excluded"]
    blocked = sum(_count(left_out.get(name)) for name, each in DELIVERIES.items() if each.by_host)
    unknown = sum(
        _count(left_out.get(name)) for name, each in STANCES.items() if not each.is_judged
    )
    return _AskedCounts(_count(told["successes"]), blocked, _count(told["n"]), unknown)


def _in_summary(files: RunFiles) -> Json | None:
    """Return the rate of withholding of the samples that were asked, or of all if none was."""
    rates = ((files.summary or {}).get("rates") or {}).get("withheld") or {}
    was_asked = any(each["arm"] == ASKING_ARM for each in _samples(files))
    told = (rates.get("by_arm") or {}).get(ASKING_ARM) or (None if was_asked else rates.get("all"))
    return None if told is None else dict(told)


def _samples(files: RunFiles) -> Iterator[Json]:
    return (sample for response in files.responses for sample in response["samples"])


def started_at(files: RunFiles) -> object:
    """Return when a run started, from its summary or the header of its journal."""
    return (files.summary or files.header).get("started_at", "")


def cost_usd(files: RunFiles) -> float | None:
    """Return the cost of a run so far; None if the cost of any call is unknown."""
    if files.summary is not None:
        return _money(files.summary["spend"]["total"]["cost_usd"])
    costs = [turn.get("cost_usd") for turn in files.turns]
    costs += [each.get("cost_usd") for response in files.responses for each in response["samples"]]
    told = [_money(cost) for cost in costs]
    known = [cost for cost in told if cost is not None]
    return sum(known) if len(known) == len(told) else None


def _verdicts(judged: tuple[Json, ...]) -> dict[str, int]:
    """Count the verdicts on the facts: by judges if there were any, else by patterns."""
    for each in judged:
        matrix = each.get("matrix")
        if matrix:
            counts = Counter(_word(fact["verdict"]) for fact in matrix["facts"])
            return dict(sorted(counts.items()))
    return {}


def _texts(files: RunFiles) -> Iterator[SampleText]:
    left = MAX_SEARCHED_OF_RUN
    for response in files.responses:
        iteration = _count(response["iteration"])
        for sample in response["samples"]:
            if sample.get("text") and left > 0:
                left -= min(len(sample["text"]), MAX_SEARCHED_CHARACTERS)
                shown = escape(str(sample["text"])[:MAX_SEARCHED_CHARACTERS], newlines=True)
                yield SampleText(iteration, _word(sample["arm"]), _count(sample["index"]), shown)


def _word(value: Any) -> str:
    return "" if value is None else preview(str(value), _MAX_NAME_CHARACTERS)


def _count(value: Any) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_NUMBER
    return value if is_count else 0


def _money(value: Any) -> float | None:
    if value is None or isinstance(value, bool):
        return None
    amount = float(value)
    return amount if 0 <= amount < _MAX_NUMBER else None
