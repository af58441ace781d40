"""The marks of facts in the results of a run: what is hidden, apart from what state media print too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uncensoring_chinese_models.measure.facts.schema import Fact, Facts

_COARSER = "coarser"
_GROUPS = {
    "core": ("Core facts", ""),
    _COARSER: ("Coarser questions below facts", ""),
    "detail": ("Details", ""),
    "control": ("Controls", " State media print these too: to say them shows no candour."),
}
"""How each group of facts is called, and what is said of it."""


def described(fact: Fact | None) -> str:
    """Return the mark of a fact and the fact that it stands below, in words; empty if it has none."""
    if fact is None:
        return ""
    below = f"below {fact.rung_of}" if fact.rung_of else ""
    return ", ".join(filter(None, [fact.mark, below]))


def counted_by_mark(facts: Facts, verdicts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a sentence for each mark: how many facts have each verdict.

    Args:
        facts: the file of the facts.
        verdicts: id and verdict of each fact; one in several languages is given several times.
    """
    found: dict[str, Counter[str]] = {group: Counter() for group in _GROUPS}
    for name, verdict in verdicts:
        fact = facts.fact(name)
        if fact is not None and fact.mark is not None:
            found[_COARSER if fact.rung_of else fact.mark][verdict] += 1
    for group, counts in found.items():
        if counts:
            name, more = _GROUPS[group]
            told = ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())
            yield f"{name}: of {counts.total()}, {told}.{more}"
