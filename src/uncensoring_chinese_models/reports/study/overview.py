"""Tables of the study over whole runs: the matrix, refusals by arm, and the rankings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from uncensoring_chinese_models.reports.study.gather import LeftOut
from uncensoring_chinese_models.reports.study.measures import (
    UNIT,
    arms_of,
    counted,
    grouped,
    refusals,
    sent,
    withheld_facts,
    withheld_when_asked,
)
from uncensoring_chinese_models.reports.study.pooling import LEAST, Pooled, pool
from uncensoring_chinese_models.reports.study.records import Record, differing
from uncensoring_chinese_models.reports.study.table import Table, Value

_POOLED = ("value", "low", "high", "units", "unit")
HOW_COUNTED = (
    "Samples that depend on one another count as one unit: the run of an audit (runs of one topic "
    "and model that share seeds together), the probe or fact of a battery. The value is the mean of the units' own shares, with a 95 % Wilson interval "
    "over units. Audits and batteries are never counted together."
)


def runs_table(records: Sequence[Record]) -> Table:
    """List the runs that were read, with the settings by which they may differ."""
    names = list(dict.fromkeys(name for record in records for name in record.settings))
    rows = [
        (
            *(r.place, r.kind, r.topic, r.model, r.status, r.ended_early),
            *(r.settings.get(name) for name in names),
        )
        for r in records
    ]
    return Table(
        "runs",
        "Runs",
        "Every run that was read. Nothing here checks that a run is true to its journal; ucm verify "
        "does.",
        ("run", "kind", "topic", "model", "status", "ended_early", *names),
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
        "Claims are supported knowledge claims of audits. Of the replies to direct questions (arm "
        "assistant), refused counts the texts that refuse, deny, deflect or steer, blocked what the "
        "host kept back, unread what failed, was empty or is in a script that cannot be read; "
        "refused or blocked is the share of both among texts and blocks: withheld by model or host. "
        "Withheld or blocked is the share of the facts that a battery shows to be known which are "
        "withheld or denied, or of which the host blocked most questions. Runs that ended early "
        "count with what they have.",
        (
            *("topic", "model", "kind", "runs", "ended_early"),
            *("claims_supported", "claims_per_run", "refused", "texts", "blocked", "unread"),
            *_with_bounds("refused_or_blocked"),
            *("units", "verdicts", *_with_bounds("withheld_or_blocked")),
            *("facts_known", "facts_blocked", "settings_that_differ"),
        ),
        tuple(_matrix_row(*key, groups[key]) for key in sorted(groups)),
    )


def _matrix_row(topic: str, model: str, kind: str, runs: list[Record]) -> tuple[Value, ...]:
    supported = sum(record.supported for record in runs) if kind == "audit" else None
    asked, withheld = pool(withheld_when_asked(runs)), pool(withheld_facts(runs))
    return (
        *(topic, model, kind, len(runs), _early(runs), supported),
        None if supported is None else supported / len(runs),
        *(*sent(runs), *_or_nothing(asked), asked.units),
        *(_verdicts(runs), *_or_nothing(withheld), withheld.units, _facts_blocked(runs)),
        differing(runs),
    )


def _with_bounds(name: str) -> tuple[str, str, str]:
    return name, f"{name}_low", f"{name}_high"


def _early(runs: Sequence[Record]) -> int:
    return sum(bool(record.ended_early) for record in runs)


def _facts_blocked(runs: Sequence[Record]) -> int:
    """Return how many known facts the host blocked in any run or language."""
    sheets = [record.sheet for record in runs if record.sheet is not None]
    return len({(s.topic, s.version, fact) for s in sheets for fact, _ in s.blocked})


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
            numbers = (*sent(runs, arm), *_or_nothing(found), found.units)
            rows.append((model, kind, arm, len(runs), *numbers, UNIT[kind], differing(runs)))
    return Table(
        "refusal",
        "Refusal by arm",
        "Texts that refuse, deny, deflect or steer, recognised by their wording (a lower bound); "
        "the value is their share of the texts. What the host blocked, and what was not read (failed, "
        "empty, or in a script that cannot be read), is in no share here. An auditor may send a probe "
        "through some arms only: arms are compared on the same probes in the next table.",
        (
            *("model", "kind", "arm", "runs", "refused", "texts", "blocked", "unread"),
            *(*_POOLED, "settings_that_differ"),
        ),
        tuple(rows),
    )


# --- rankings -----------------------------------------------------------------------------------


ASKED, FACTS = "refused or blocked", "withheld or blocked"
"""By what is ranked: direct questions of audits, and known facts of batteries."""
MOST_UNREAD = 0.2
"""Whoever has a larger share of samples that could not be read is not ranked."""
NOT_READ = "not read"
_COUNTS = {ASKED: withheld_when_asked, FACTS: withheld_facts}
_UNITS = {ASKED: "run", FACTS: "fact"}


def ranking_table(records: Sequence[Record]) -> Table:
    """Rank models and topics, by each kind of run apart."""
    able = counted(records)
    audits = [record for record in able if record.kind == "audit"]
    batteries = [record for record in able if record.sheet is not None]
    rows = [
        *_ranked(audits, "model", ASKED),
        *_ranked(batteries, "model", FACTS),
        *_ranked(audits, "topic", ASKED),
        *_ranked(batteries, "topic", FACTS),
    ]
    return Table(
        "ranking",
        "Rankings",
        "What is withheld, by model or host. Refused or blocked: replies to direct questions in "
        "audits that refuse, deny, deflect or steer, or that the host kept back. Withheld or "
        "blocked: known facts that a battery shows to be withheld or denied, or of which the host "
        f"blocked most questions. Nothing is ranked with fewer than {LEAST['run']} runs or "
        f"{LEAST['fact']} facts, or where more than a fifth of the samples could not be read "
        "(failed, empty, or in a script that cannot be read). Ranks whose intervals overlap are not "
        "told apart, and rows that rest on different topics or models (over) compare these too.",
        (
            *("of", "by", "rank", "name", *_POOLED),
            *("blocked", "unread", "samples", "runs", "ended_early"),
            *("over", "remark", "settings_that_differ"),
        ),
        tuple(rows),
    )


def _ranked(records: Sequence[Record], of: str, by: str) -> Iterator[tuple[Value, ...]]:
    groups = grouped(records, lambda r: r.model if of == "model" else r.topic)
    shares = {name: pool(_COUNTS[by](runs)) for name, runs in groups.items()}
    remarks = {name: _remark(shares[name], groups[name], _UNITS[by]) for name in groups}
    order = sorted(shares, key=lambda name: (bool(remarks[name]), *_down(shares[name])))
    values = [shares[name].value or 0 for name in order if not remarks[name]]
    for name in order:
        found, remark, asked = shares[name], remarks[name], sent(groups[name])
        runs = [run for run in groups[name] if any(each.n for each in _COUNTS[by]([run]))]
        rank = None if remark else 1 + sum(value > (found.value or 0) for value in values)
        numbers = (*_or_nothing(found), found.units, _UNITS[by])
        samples = (asked.blocked, asked.unread, asked.samples, len(runs), _early(runs))
        yield (of, by, rank, name, *numbers, *samples, _over(runs, of), remark, differing(runs))


def _remark(found: Pooled, runs: Sequence[Record], unit: str) -> str:
    """Say why there is no rank; empty if there is one."""
    if found.units < LEAST[unit]:
        return f"too few: {found.units} of {LEAST[unit]} {unit}s"
    asked = sent(runs)
    if asked.unread > MOST_UNREAD * asked.samples:
        return f"{NOT_READ}: {asked.unread} of {asked.samples} samples"
    return ""


def _down(found: Pooled) -> tuple[float, int]:
    return (-1.0 if found.value is None else -found.value), -found.units


def _over(runs: Sequence[Record], of: str) -> str:
    """Say on what a row rests beside itself: a model on topics, a topic on models."""
    others = {record.topic if of == "model" else record.model for record in runs}
    return "; ".join(sorted(others))
