"""Who answered: the servers of a run, and the hosts and models that they name."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from uncensoring_chinese_models.domain import Reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from uncensoring_chinese_models.domain import Attempt, Json

ORIGINS = {"server": "server", "provider": "provider", "served_model": "served model"}
"""What may differ between the replies of one role, and its name for readers."""
UNKNOWN = "unknown"
"""Where a server did not say."""


def servers_of(attempts: Iterable[Attempt]) -> Json:
    """Return every server that was asked, by role, with the number of calls that it answered."""
    found: dict[str, Counter[str]] = {"auditor": Counter(), "target": Counter()}
    for attempt in attempts:
        counts = found.setdefault(attempt.role, Counter())
        counts[attempt.server or UNKNOWN] += isinstance(attempt.result, Reply)
    return {
        role: [{"server": server, "calls": calls} for server, calls in counts.items()]
        for role, counts in found.items()
    }


def count_origins(replies: Iterable[Mapping[str, object]]) -> Json:
    """Count replies by each of `ORIGINS`, in the order in which they came.

    `mixed` lists the origins of which there is more than one.
    """
    rows = list(replies)
    counts: dict[str, Counter[str]] = {
        name: Counter(str(row.get(name) or UNKNOWN) for row in rows) for name in ORIGINS
    }
    mixed = [name for name, each in counts.items() if len(set(each) - {UNKNOWN}) > 1]
    return {**{f"by_{name}": dict(each) for name, each in counts.items()}, "mixed": mixed}


def origins_of(samples: Sequence[object]) -> Json:
    """Count samples or turns by each of `ORIGINS`."""
    return count_origins({name: getattr(each, name) for name in ORIGINS} for each in samples)
