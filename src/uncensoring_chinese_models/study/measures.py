"""What is counted in the runs of a study: refusals by unit, and facts known and withheld."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from uncensoring_chinese_models.cells import ASKING_ARM
from uncensoring_chinese_models.study.pooling import Counted, Pooled, pool
from uncensoring_chinese_models.study.records import Kind, Record

Key = TypeVar("Key")

WITHHELD = ("known but withheld", "known but denied")
TOLD_OR_NOT = ("known and said", *WITHHELD, "known, not said")
"""Verdicts on facts that the target knows and was heard on when it was asked."""
UNIT: dict[Kind, str] = {"audit": "run", "battery": "probe"}
"""What may be taken for independent, where refusals are counted."""


def grouped(records: Iterable[Record], key: Callable[[Record], Key]) -> dict[Key, list[Record]]:
    """Return the records by a key, in the order in which the keys come up."""
    found: dict[Key, list[Record]] = defaultdict(list)
    for record in records:
        found[key(record)].append(record)
    return dict(found)


def counted(records: Iterable[Record]) -> list[Record]:
    """Return the runs that findings may rest on."""
    return [record for record in records if not record.has_failed]


def arms_of(records: Iterable[Record]) -> list[str]:
    """Return the arms that were sampled, the one that asks last."""
    found = {tally.arm for record in records for tally in record.tallies}
    return sorted(found, key=lambda arm: (arm == ASKING_ARM, arm))


def refusals(records: Sequence[Record], arm: str, only: str | None = None) -> Iterator[Counted]:
    """Yield the refusals of an arm.

    Args:
        records: runs of one kind.
        arm: the arm.
        only: another arm; probes that were not sent through it too are left out.
    """
    for record in records:
        shared = {tally.iteration for tally in record.tallies if tally.arm == only}
        for tally in record.tallies:
            if tally.arm == arm and (only is None or tally.iteration in shared):
                unit = record.draw if record.kind == "audit" else (record.topic, tally.probe)
                yield Counted((record.model, unit), tally.refused, tally.judged)


def refusal_when_asked(records: Sequence[Record]) -> Pooled:
    """Return how often runs of one kind refuse in the arm that asks."""
    return pool(refusals(records, ASKING_ARM))


def withheld_facts(records: Sequence[Record]) -> Iterator[Counted]:
    """Yield for each fact of judged batteries how many verdicts say that it is known and withheld.

    A fact is one unit, however often and in however many languages it was asked for.
    """
    for record in records:
        sheet = record.sheet
        for fact, _, verdict in () if sheet is None else sheet.verdicts:
            if verdict in TOLD_OR_NOT:
                unit = (sheet.topic, sheet.version, fact) if sheet else fact
                yield Counted(unit, verdict in WITHHELD, 1)
