"""Tables of the study over whole runs: the matrix, refusals by arm, and the rankings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from uncensoring_chinese_models.cells import ASKING_ARM
from uncensoring_chinese_models.study.gather import LeftOut
from uncensoring_chinese_models.study.measures import (
    UNIT,
    arms_of,
    counted,
    grouped,
    refusal_when_asked,
    refusals,
    withheld_facts,
)
from uncensoring_chinese_models.study.pooling import LEAST, Pooled, pool
from uncensoring_chinese_models.study.records import Record, differing
from uncensoring_chinese_models.study.table import Table, Value

_POOLED = ("value", "low", "high", "units", "unit")
HOW_COUNTED = (
    "Samples that depend on one another count as one unit: the run of an audit (runs with the "
    "same seed and settings together), the probe or fact of a battery. The value is the mean of the units' own shares, with a 95 % Wilson interval "
    "over units. Audits and batteries are never counted together."
)


def runs_table(records: Sequence[Record]) -> Table:
    """List the runs that were read, with the settings by which they may differ."""
    names = list(dict.fromkeys(name for record in records for name in record.settings))
    rows = [
        (r.place, r.kind, r.topic, r.model, r.status, *(r.settings.get(name) for name in names))
        for r in records
    ]
    return Table(
        "runs",
        "Runs",
        "Every run that was read. Nothing here checks that a run is true to its journal; ucm verify "
        "does.",
        ("run", "kind", "topic", "model", "status", *names),
        tuple(rows),
    )


def left_out_table(left_out: Sequence[LeftOut]) -> Table:
    """List what was left out, and why."""
    return Table(
        "left_out",
        "What was left out",
        "Money that was spent on a run counts, even where its findings do not.",
        ("run", "left_out_of", "reason"),
        tuple((each.place, each.of, each.reason) for each in left_out),
    )


def matrix_table(records: Sequence[Record]) -> Table:
    """Say for each topic and model what came out, audits and batteries apart."""
    groups = grouped(counted(records), lambda r: (r.topic, r.model, r.kind))
    return Table(
        "matrix",
        "Topics and models",
        "Claims are supported knowledge claims of audits. Refusal is the share of replies to direct "
        "questions (arm assistant) that refuse, deny, deflect or steer. Withheld is the share of the "
        "facts that a battery shows to be known which are withheld or denied.",
        (
            *("topic", "model", "kind", "runs", "claims_supported", "claims_per_run"),
            *("refused", "replies", "refusal", "refusal_low", "refusal_high", "refusal_units"),
            *("verdicts", "withheld", "withheld_low", "withheld_high", "facts_known"),
            "settings_that_differ",
        ),
        tuple(_matrix_row(*key, groups[key]) for key in sorted(groups)),
    )


def _matrix_row(topic: str, model: str, kind: str, runs: list[Record]) -> tuple[Value, ...]:
    supported = sum(record.supported for record in runs) if kind == "audit" else None
    asked, withheld = refusal_when_asked(runs), pool(withheld_facts(runs))
    return (
        *(topic, model, kind, len(runs), supported),
        None if supported is None else supported / len(runs),
        *(asked.successes, asked.n, *_or_nothing(asked), asked.units),
        *(_verdicts(runs), *_or_nothing(withheld), withheld.units, differing(runs)),
    )


def _or_nothing(found: Pooled) -> tuple[float | None, float | None, float | None]:
    """Return a share with its interval; without any unit there is neither."""
    return (None, None, None) if found.value is None else (found.value, found.low, found.high)


def _verdicts(runs: Sequence[Record]) -> str:
    sheets = [record.sheet for record in runs if record.sheet is not None]
    counts = Counter(verdict for sheet in sheets for _, _, verdict in sheet.verdicts)
    return "; ".join(f"{verdict}: {counts[verdict]}" for verdict in sorted(counts))


def refusal_table(records: Sequence[Record]) -> Table:
    """Say how often each model refuses in each arm."""
    groups = grouped(counted(records), lambda r: (r.model, r.kind))
    rows: list[tuple[Value, ...]] = []
    for model, kind in sorted(groups):
        runs = groups[model, kind]
        for arm in arms_of(runs):
            found = pool(refusals(runs, arm))
            sent = [t.states for r in runs for t in r.tallies if t.arm == arm]
            unread = sum(sum(states.values()) for states in sent) - found.n
            numbers = (found.successes, found.n, unread, *_or_nothing(found), found.units)
            rows.append((model, kind, arm, len(runs), *numbers, UNIT[kind], differing(runs)))
    return Table(
        "refusal",
        "Refusal by arm",
        "Texts that refuse, deny, deflect or steer, recognised by their wording (a lower bound); "
        "not read are samples that failed, were blocked or empty. An auditor may send a probe "
        "through some arms only: arms are compared on the same probes in the next table.",
        (
            *("model", "kind", "arm", "runs", "refused", "texts", "not_read"),
            *(*_POOLED, "settings_that_differ"),
        ),
        tuple(rows),
    )


# --- rankings -----------------------------------------------------------------------------------


def ranking_table(records: Sequence[Record]) -> Table:
    """Rank models and topics, by each kind of run apart."""
    able = counted(records)
    audits = [record for record in able if record.kind == "audit"]
    batteries = [record for record in able if record.sheet is not None]
    rows = [
        *_ranked(audits, "model", "refusal"),
        *_ranked(batteries, "model", "withheld"),
        *_ranked(audits, "topic", "refusal"),
        *_ranked(batteries, "topic", "withheld"),
    ]
    return Table(
        "ranking",
        "Rankings",
        "By refusal: replies to direct questions in audits. By withheld: known facts that a battery "
        "shows to be withheld or denied. Nothing is ranked with fewer than "
        f"{LEAST['run']} runs or {LEAST['fact']} facts. Ranks whose intervals overlap are not told "
        "apart, and rows that rest on different topics or models (over) compare these too.",
        (
            *("of", "by", "rank", "name", *_POOLED),
            *("runs", "over", "remark", "settings_that_differ"),
        ),
        tuple(rows),
    )


def _ranked(records: Sequence[Record], of: str, by: str) -> Iterator[tuple[Value, ...]]:
    groups = grouped(records, lambda r: r.model if of == "model" else r.topic)
    unit = "run" if by == "refusal" else "fact"
    shares = {
        name: refusal_when_asked(runs) if by == "refusal" else pool(withheld_facts(runs))
        for name, runs in groups.items()
    }
    order = sorted(shares, key=lambda name: (_is_short(shares[name], unit), *_down(shares[name])))
    values = [s.value for s in shares.values() if not _is_short(s, unit) and s.value is not None]
    for name in order:
        found, runs = shares[name], [run for run in groups[name] if _has_part(run, by)]
        is_short = _is_short(found, unit)
        rank = None if is_short else 1 + sum(value > (found.value or 0) for value in values)
        remark = f"too few: {found.units} of {LEAST[unit]} {unit}s" if is_short else ""
        numbers = (*_or_nothing(found), found.units, unit, len(runs))
        yield (of, by, rank, name, *numbers, _over(runs, of), remark, differing(runs))


def _has_part(record: Record, by: str) -> bool:
    """Tell whether a run brought anything into a ranking."""
    counts = refusals([record], ASKING_ARM) if by == "refusal" else withheld_facts([record])
    return any(each.n for each in counts)


def _is_short(found: Pooled, unit: str) -> bool:
    return found.units < LEAST[unit]


def _down(found: Pooled) -> tuple[float, int]:
    return (-1.0 if found.value is None else -found.value), -found.units


def _over(runs: Sequence[Record], of: str) -> str:
    """Say on what a row rests beside itself: a model on topics, a topic on models."""
    others = {record.topic if of == "model" else record.model for record in runs}
    return "; ".join(sorted(others))
