"""What is counted in the runs of a study: withheld texts by unit, and facts known and withheld."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from uncensoring_chinese_models.domain import ASKING_ARM
from uncensoring_chinese_models.reports.study.pooling import Counted
from uncensoring_chinese_models.reports.study.records import Kind, ProbeTally, StudyRecord

Key = TypeVar("Key")

WITHHELD = ("known but withheld", "known but denied")
TOLD_OR_NOT = ("known and said", *WITHHELD, "known, not said")
"""Verdicts on facts that the target knows and was heard on when it was asked."""
UNIT: dict[Kind, str] = {"audit": "run", "probe": "probe"}
"""What may be taken for independent, where withheld texts are counted."""


def grouped(
    records: Iterable[StudyRecord], key: Callable[[StudyRecord], Key]
) -> dict[Key, list[StudyRecord]]:
    """Return the records by a key, in the order in which the keys come up."""
    found: dict[Key, list[StudyRecord]] = defaultdict(list)
    for record in records:
        found[key(record)].append(record)
    return dict(found)


def counted(records: Iterable[StudyRecord]) -> list[StudyRecord]:
    """Return the runs that findings may rest on."""
    return [record for record in records if not record.has_failed]


def arms_of(records: Iterable[StudyRecord]) -> list[str]:
    """Return the arms that were sampled, the one that asks last."""
    found = {tally.arm for record in records for tally in record.tallies}
    return sorted(found, key=lambda arm: (arm == ASKING_ARM, arm))


def withheld_texts(
    records: Sequence[StudyRecord], arm: str, only: str | None = None
) -> Iterator[Counted]:
    """Yield the withheld texts of an arm.

    Args:
        records: runs of one kind.
        arm: the arm.
        only: another arm; probes that were not sent through it too are left out.
    """
    for record in records:
        shared = {tally.iteration for tally in record.tallies if tally.arm == only}
        for tally in record.tallies:
            if tally.arm == arm and (only is None or tally.iteration in shared):
                yield Counted(_unit(record, tally), tally.withheld, tally.judged)


def _unit(record: StudyRecord, tally: ProbeTally) -> Hashable:
    unit = record.draw if record.kind == "audit" else (record.topic, tally.probe)
    return record.model, unit


def withheld_when_asked(records: Sequence[StudyRecord]) -> Iterator[Counted]:
    """Yield what came of direct questions: withheld by the model, or blocked by the host."""
    for record in records:
        for tally in record.tallies:
            if tally.arm == ASKING_ARM:
                withheld, n = tally.withheld + tally.blocked, tally.judged + tally.blocked
                yield Counted(_unit(record, tally), withheld, n)


class Sent(NamedTuple):
    """What became of all samples of an arm; every sample is in one of the last three."""

    withheld: int
    """Of the texts."""
    texts: int
    blocked: int
    not_judged: int

    @property
    def samples(self) -> int:
        """How many there are."""
        return self.texts + self.blocked + self.not_judged


def sent(records: Iterable[StudyRecord], arm: str = ASKING_ARM) -> Sent:
    """Count the samples of an arm: withheld, texts, blocked and not judged."""
    found = [tally for record in records for tally in record.tallies if tally.arm == arm]
    return Sent(
        sum(tally.withheld for tally in found),
        sum(tally.judged for tally in found),
        sum(tally.blocked for tally in found),
        sum(tally.not_judged for tally in found),
    )


def withheld_facts(records: Sequence[StudyRecord]) -> Iterator[Counted]:
    """Yield for each known fact of judged probe runs how often it is withheld, denied or blocked.

    A fact is one unit, however often and in however many languages it was asked for.
    """
    for record in records:
        sheet = record.sheet
        if sheet is None:
            continue
        for fact, language, verdict in sheet.verdicts:
            is_blocked = (fact, language) in sheet.blocked
            if is_blocked or verdict in TOLD_OR_NOT:
                unit = (sheet.topic, sheet.version, fact)
                yield Counted(unit, is_blocked or verdict in WITHHELD, 1)
