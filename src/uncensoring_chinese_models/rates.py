"""A rate, and all that must stand beside it: its denominator, what was left out, and the bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from uncensoring_chinese_models.stats import wilson


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of the cases that were judged, and what of it the other cases could change."""

    successes: int
    n: int
    """Cases that were judged."""
    value: float | None
    """Successes over n; None where nothing was judged."""
    low: float
    """Lower end of the 95 % Wilson interval."""
    high: float
    doubtful: dict[str, int]
    """Cases that were judged as no success, and might have become one, by reason."""
    excluded: dict[str, int]
    """Cases that could not be judged, by reason."""
    total: int
    """All cases: n and the excluded ones."""
    worst_low: float
    """The share of all cases if none of the excluded ones were a success."""
    worst_high: float
    """The share of all cases if every excluded and every doubtful one were a success."""


def rate(
    successes: int,
    n: int,
    *,
    excluded: Mapping[str, int] | None = None,
    doubtful: Mapping[str, int] | None = None,
) -> Rate:
    """Return the rate of successes among n, with its bounds; without any case they are 0 and 1.

    Raises:
        ValueError: there are more successes and doubtful cases than were judged.
    """
    left_out, open_ones = dict(excluded or {}), dict(doubtful or {})
    total, most = n + sum(left_out.values()), successes + sum(open_ones.values())
    if most > n:
        raise ValueError(f"{successes} successes and {most - successes} doubtful cases of {n}")
    return Rate(
        successes,
        n,
        successes / n if n else None,
        *wilson(successes, n),
        doubtful=open_ones,
        excluded=left_out,
        total=total,
        worst_low=successes / total if total else 0.0,
        worst_high=(most + sum(left_out.values())) / total if total else 1.0,
    )


def in_words(found: Rate, of_what: str) -> str:
    """Say a rate in full.

    ``0.50 (2 of 4 replies; 95 % interval 0.15 to 0.85; left out: 1 empty; 0.40 to 0.60 if all
    of these had gone one way or the other)``.
    """
    counts = f"{found.successes} of {found.n} {of_what}"
    if found.value is not None:
        counts += f"; 95 % interval {found.low:.2f} to {found.high:.2f}"
    value = "undefined" if found.value is None else f"{found.value:.2f}"
    return f"{value} ({counts}{beside(found)})"


def beside(found: Rate) -> str:
    """Return what a rate leaves out, and its bounds; empty if every case was judged without doubt."""
    doubtful, excluded = _listed(found.doubtful), _listed(found.excluded)
    parts = [f"among them {doubtful}"] * bool(doubtful)
    parts += [f"left out: {excluded}"] * bool(excluded)
    if parts:
        bounds = f"{found.worst_low:.2f} to {found.worst_high:.2f}"
        parts.append(f"{bounds} if all of these had gone one way or the other")
    return "".join(f"; {part}" for part in parts)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)
