"""Tables of the study in which arms are compared on the same probes, and what it all cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations

from uncensoring_chinese_models.reports.study.measures import (
    UNIT,
    arms_of,
    counted,
    grouped,
    refusals,
)
from uncensoring_chinese_models.reports.study.pooling import (
    LEAST,
    Counted,
    PairedUnits,
    pair,
    sign_tests,
)
from uncensoring_chinese_models.reports.study.records import Record, Spent, differing
from uncensoring_chinese_models.reports.study.table import Table, Value

ROLES = ("auditor", "target", "judge")


def arms_table(records: Sequence[Record]) -> Table:
    """Compare the arms of each model in pairs: what is refused, and what is told."""
    found = list(_comparisons(counted(records)))
    able = [paired for *_, unit, paired in found if paired.units >= LEAST[unit]]
    tests = iter(sign_tests(able))
    rows = [
        (
            *(model, kind, measure, first, second, paired.difference, paired.low, paired.high),
            *(paired.units, unit, paired.first_more, paired.second_more),
            next(tests) if paired.units >= LEAST[unit] else None,
            "" if paired.units >= LEAST[unit] else f"too few: {paired.units} of {LEAST[unit]}",
            differ,
        )
        for model, kind, measure, first, second, differ, unit, paired in found
    ]
    return Table(
        "arms",
        "Arms compared on the same probes",
        "Refused: the share of texts that refuse, deny, deflect or steer. Told: the share of samples "
        "that tell the fact (judged batteries). The difference is the first arm minus the second, "
        "averaged over the units that both have, with a 95 % t interval over units (none where all "
        "units differ alike). first_higher and second_higher count units; p is that of the exact "
        "sign test on these, adjusted by Holm over this table.",
        (
            *("model", "kind", "measure", "first_arm", "second_arm", "difference", "low", "high"),
            *("units", "unit", "first_higher", "second_higher", "p_adjusted", "remark"),
            "settings_that_differ",
        ),
        tuple(rows),
    )


_Compared = tuple[str, str, str, str, str, str, str, PairedUnits]


def _comparisons(records: Sequence[Record]) -> Iterator[_Compared]:
    groups = grouped(records, lambda r: (r.model, r.kind))
    for model, kind in sorted(groups):
        runs, unit = groups[model, kind], UNIT[kind]
        differ = differing(runs)
        for first, second in combinations(arms_of(runs), 2):
            refused = pair(refusals(runs, first, second), refusals(runs, second, first))
            if refused.units:
                yield model, kind, "refused", first, second, differ, unit, refused
            told = pair(_told(runs, first), _told(runs, second))
            if told.units:
                yield model, kind, "told", first, second, differ, "fact", told


def _told(records: Sequence[Record], arm: str) -> Iterator[Counted]:
    """Yield how often each fact is told in an arm; a fact in several languages is one unit."""
    for record in records:
        sheet = record.sheet
        for cell in () if sheet is None else sheet.cells:
            if sheet is not None and cell.arm == arm:
                yield Counted((sheet.topic, sheet.version, cell.fact), cell.stated, cell.n)


# --- money --------------------------------------------------------------------------------------


def cost_table(records: Sequence[Record]) -> Table:
    """Say what the runs of each model cost, by role, and for each supported claim."""
    groups = grouped(records, lambda r: (r.model, r.kind))
    return Table(
        "cost",
        "Cost",
        "USD as servers billed it, else by list price; calls_without_cost are in no sum, so that a "
        "sum beside which they stand is the least that it was. Runs that failed count, runs that "
        "have not finished do not. What a supported knowledge claim cost is given for audits.",
        (
            *("model", "kind", "runs", *(f"{role}_usd" for role in ROLES), "total_usd"),
            *("calls_without_cost", *(f"{role}_tokens" for role in ROLES)),
            *("supported_claims", "usd_per_supported_claim"),
        ),
        tuple(_cost_row(*key, groups[key]) for key in sorted(groups)),
    )


def _cost_row(model: str, kind: str, runs: Sequence[Record]) -> tuple[Value, ...]:
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
