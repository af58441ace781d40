"""Tables of the study over whole runs: matrix, refusals, rankings, arms compared, cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations

from uncensoring_chinese_models.reports.study.gather import LeftOut
from uncensoring_chinese_models.reports.study.measures import (
    UNIT,
    arms_of,
    counted,
    grouped,
    sent,
    withheld_facts,
    withheld_texts,
    withheld_when_asked,
)
from uncensoring_chinese_models.reports.study.pooling import (
    MIN_UNITS,
    Counted,
    PairedUnits,
    Pooled,
    pair,
    pool,
    sign_tests,
)
from uncensoring_chinese_models.reports.study.records import Spent, StudyRecord, differing
from uncensoring_chinese_models.reports.study.table import Table, Value

_POOLED = ("value", "low", "high", "units", "unit")
HOW_COUNTED = (
    "Samples that depend on one another count as one unit. In an audit the unit is the run; runs "
    "of one topic and model that share seeds are one unit. In a probe run it is the probe or the "
    "fact. A value is the mean of the shares of its units, with a 95 % Wilson interval over "
    "units. Audits and probe runs are never counted together."
)


def runs_table(records: Sequence[StudyRecord]) -> Table:
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
        "Every run that was read. This study does not check that a run agrees with its journal; "
        "ucm verify does.",
        ("run", "kind", "topic", "model", "status", "ended_early", *names),
        tuple(rows),
    )


def left_out_table(left_out: Sequence[LeftOut]) -> Table:
    """List the runs that were left out, with the reason."""
    return Table(
        "left_out",
        "What was left out",
        "The cost of a run counts even if its findings do not.",
        ("run", "left_out_of", "reason"),
        tuple((each.place, each.of, each.reason) for each in left_out),
    )


def matrix_table(records: Sequence[StudyRecord]) -> Table:
    """Say for each topic and model what came out, audits and probe runs apart."""
    groups = grouped(counted(records), lambda r: (r.topic, r.model, r.kind))
    return Table(
        "matrix",
        "Topics and models",
        "Claims are the supported knowledge claims of audits. The counts are of replies to "
        "direct questions (arm assistant). Withheld: texts that refuse, deny, deflect or give "
        "the official line. Blocked: samples that the host blocked. Not judged: samples that "
        "failed, were empty, or have an unknown stance. Withheld or blocked: the share of these two among all texts and blocked samples. Facts withheld or blocked: of "
        "the facts that a probe run shows to be known, the share that is withheld or denied, or "
        "of which the host blocked most questions. Runs that ended early count with what they "
        "have.",
        (
            *("topic", "model", "kind", "runs", "ended_early"),
            *("claims_supported", "claims_per_run", "withheld", "texts", "blocked", "not_judged"),
            *_with_bounds("texts_withheld_or_blocked"),
            *("units", "verdicts", *_with_bounds("facts_withheld_or_blocked")),
            *("facts_known", "facts_blocked", "settings_that_differ"),
        ),
        tuple(_matrix_row(*key, groups[key]) for key in sorted(groups)),
    )


def _matrix_row(topic: str, model: str, kind: str, runs: list[StudyRecord]) -> tuple[Value, ...]:
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


def _early(runs: Sequence[StudyRecord]) -> int:
    return sum(bool(record.ended_early) for record in runs)


def _facts_blocked(runs: Sequence[StudyRecord]) -> int:
    """Return how many known facts the host blocked in any run or language."""
    sheets = [record.sheet for record in runs if record.sheet is not None]
    return len({(s.topic, s.version, fact) for s in sheets for fact, _ in s.blocked})


def _or_nothing(found: Pooled) -> tuple[float | None, float | None, float | None]:
    """Return a share with its interval; three times None if there is no unit."""
    return (None, None, None) if found.value is None else (found.value, found.low, found.high)


def _verdicts(runs: Sequence[StudyRecord]) -> str:
    sheets = [record.sheet for record in runs if record.sheet is not None]
    counts = Counter(verdict for sheet in sheets for _, _, verdict in sheet.verdicts)
    return "; ".join(f"{verdict}: {counts[verdict]}" for verdict in sorted(counts))


def withheld_texts_table(records: Sequence[StudyRecord]) -> Table:
    """Say how often each model refuses in each arm."""
    groups = grouped(counted(records), lambda r: (r.model, r.kind))
    rows: list[tuple[Value, ...]] = []
    for model, kind in sorted(groups):
        runs = groups[model, kind]
        for arm in arms_of(runs):
            found = pool(withheld_texts(runs, arm))
            numbers = (*sent(runs, arm), *_or_nothing(found), found.units)
            rows.append((model, kind, arm, len(runs), *numbers, UNIT[kind], differing(runs)))
    return Table(
        "withheld_texts",
        "Withheld by arm",
        "The value is the share of texts that refuse, deny, deflect or give the official line. "
        "Samples that the host "
        "blocked or that were not judged (failed, empty, or of unknown stance) are in no share "
        "here. An auditor may send a probe through some arms only; the next table "
        "compares arms on the same probes.",
        (
            *("model", "kind", "arm", "runs", "withheld", "texts", "blocked", "not_judged"),
            *(*_POOLED, "settings_that_differ"),
        ),
        tuple(rows),
    )


# --- rankings -----------------------------------------------------------------------------------


ASKED, FACTS = "texts withheld or blocked", "facts withheld or blocked"
"""By what is ranked: direct questions of audits, and known facts of probe runs."""
MAX_NOT_JUDGED_SHARE = 0.2
"""Whoever has a larger share of samples that could not be read is not ranked."""
NOT_READ = "not judged"
_COUNTS = {ASKED: withheld_when_asked, FACTS: withheld_facts}
_UNITS = {ASKED: "run", FACTS: "fact"}


def ranking_table(records: Sequence[StudyRecord]) -> Table:
    """Rank models and topics, by each kind of run apart."""
    able = counted(records)
    audits = [record for record in able if record.kind == "audit"]
    probes = [record for record in able if record.sheet is not None]
    rows = [
        *_ranked(audits, "model", ASKED),
        *_ranked(probes, "model", FACTS),
        *_ranked(audits, "topic", ASKED),
        *_ranked(probes, "topic", FACTS),
    ]
    return Table(
        "ranking",
        "Rankings",
        "Texts withheld or blocked: in audits, the share of replies to direct questions that "
        "refuse, deny, deflect or give the official line, or that the host blocked. Facts "
        "withheld or blocked: in probe runs, the share of known facts that are withheld or "
        "denied, or of which the host blocked most questions. There is no rank with fewer than "
        f"{MIN_UNITS['run']} runs or {MIN_UNITS['fact']} facts, or if more than a fifth of the "
        "samples could not be judged (failed, empty, or of unknown stance). Ranks "
        "whose intervals overlap may be due to chance. Rows may rest on different topics or "
        "models (column over); a comparison of such rows compares these too.",
        (
            *("of", "by", "rank", "name", *_POOLED),
            *("blocked", "not_judged", "samples", "runs", "ended_early"),
            *("over", "remark", "settings_that_differ"),
        ),
        tuple(rows),
    )


def _ranked(records: Sequence[StudyRecord], of: str, by: str) -> Iterator[tuple[Value, ...]]:
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
        samples = (asked.blocked, asked.not_judged, asked.samples, len(runs), _early(runs))
        yield (of, by, rank, name, *numbers, *samples, _over(runs, of), remark, differing(runs))


def _remark(found: Pooled, runs: Sequence[StudyRecord], unit: str) -> str:
    """Say why a row has no rank; empty if it has one."""
    if found.units < MIN_UNITS[unit]:
        return f"too few: {found.units} of {MIN_UNITS[unit]} {unit}s"
    asked = sent(runs)
    if asked.not_judged > MAX_NOT_JUDGED_SHARE * asked.samples:
        return f"{NOT_READ}: {asked.not_judged} of {asked.samples} samples"
    return ""


def _down(found: Pooled) -> tuple[float, int]:
    return (-1.0 if found.value is None else -found.value), -found.units


def _over(runs: Sequence[StudyRecord], of: str) -> str:
    """Return what a row is averaged over: the topics of a model, or the models of a topic."""
    others = {record.topic if of == "model" else record.model for record in runs}
    return "; ".join(sorted(others))


# --- arms compared ---------------------------------------------------------------------------------


ROLES = ("auditor", "target", "judge")


def arms_table(records: Sequence[StudyRecord]) -> Table:
    """Compare the arms of each model in pairs: what is withheld, and which facts are stated."""
    found = list(_comparisons(counted(records)))
    able = [paired for *_, unit, paired in found if paired.units >= MIN_UNITS[unit]]
    tests = iter(sign_tests(able))
    rows = [
        (
            *(model, kind, measure, first, second, paired.difference, paired.low, paired.high),
            *(paired.units, unit, paired.first_more, paired.second_more),
            next(tests) if paired.units >= MIN_UNITS[unit] else None,
            ""
            if paired.units >= MIN_UNITS[unit]
            else f"too few: {paired.units} of {MIN_UNITS[unit]}",
            differ,
        )
        for model, kind, measure, first, second, differ, unit, paired in found
    ]
    return Table(
        "arms",
        "Arms compared on the same probes",
        "Withheld: the share of texts that refuse, deny, deflect or give the official line. "
        "Told: the share of samples that state the fact (judged probe runs). The difference is "
        "the first arm minus the second, averaged over the units that both have, with a 95 % t "
        "interval over units (none if all differences are equal). first_higher and second_higher "
        "count units; p_adjusted is from the exact sign test on these, adjusted by Holm over "
        "this table.",
        (
            *("model", "kind", "measure", "first_arm", "second_arm", "difference", "low", "high"),
            *("units", "unit", "first_higher", "second_higher", "p_adjusted", "remark"),
            "settings_that_differ",
        ),
        tuple(rows),
    )


_Comparison = tuple[str, str, str, str, str, str, str, PairedUnits]


def _comparisons(records: Sequence[StudyRecord]) -> Iterator[_Comparison]:
    groups = grouped(records, lambda r: (r.model, r.kind))
    for model, kind in sorted(groups):
        runs, unit = groups[model, kind], UNIT[kind]
        differ = differing(runs)
        for first, second in combinations(arms_of(runs), 2):
            withheld = pair(
                withheld_texts(runs, first, second), withheld_texts(runs, second, first)
            )
            if withheld.units:
                yield model, kind, "withheld", first, second, differ, unit, withheld
            told = pair(_told(runs, first), _told(runs, second))
            if told.units:
                yield model, kind, "told", first, second, differ, "fact", told


def _told(records: Sequence[StudyRecord], arm: str) -> Iterator[Counted]:
    """Yield how often each fact is stated in an arm; a fact in several languages is one unit."""
    for record in records:
        sheet = record.sheet
        for cell in () if sheet is None else sheet.cells:
            if sheet is not None and cell.arm == arm:
                yield Counted((sheet.topic, sheet.version, cell.fact), cell.stated, cell.n)


# --- money --------------------------------------------------------------------------------------


def cost_table(records: Sequence[StudyRecord]) -> Table:
    """Return the cost of the runs of each model, by role and per supported claim."""
    groups = grouped(records, lambda r: (r.model, r.kind))
    return Table(
        "cost",
        "Cost",
        "Costs are in USD, as servers billed them or else by list price. Calls of unknown cost "
        "(calls_without_cost) are in no sum, so a sum with such calls is a lower bound. Failed "
        "runs count; unfinished runs do not. The cost per supported knowledge claim is given for "
        "audits.",
        (
            *("model", "kind", "runs", *(f"{role}_usd" for role in ROLES), "total_usd"),
            *("calls_without_cost", *(f"{role}_tokens" for role in ROLES)),
            *("supported_claims", "usd_per_supported_claim"),
        ),
        tuple(_cost_row(*key, groups[key]) for key in sorted(groups)),
    )


def _cost_row(model: str, kind: str, runs: Sequence[StudyRecord]) -> tuple[Value, ...]:
    spent = {role: [r.spend[role] for r in runs if role in r.spend] for role in ROLES}
    usd = {role: _usd(found) for role, found in spent.items()}
    every = [each for found in spent.values() for each in found]
    total, unknown = _usd(every), sum(each.calls_without_cost for each in every)
    supported = sum(record.supported for record in runs) if kind == "audit" else None
    each_claim = total / supported if supported and not unknown else None
    tokens = [sum(each.tokens for each in spent[role]) for role in ROLES]
    money = (*(usd[role] for role in ROLES), total)
    return (model, kind, len(runs), *money, unknown, *tokens, supported, each_claim)


def _usd(found: Sequence[Spent]) -> Decimal:
    return sum((each.usd for each in found), Decimal(0))
