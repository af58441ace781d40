"""What there is to find: the words of the facts files, without the patterns that find it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Relation = Literal["before", "after", "same"]
Unit = Literal["people", "votes", "years", "days", "age", "percent", "article"]


@dataclass(frozen=True)
class Wanted:
    """What one ending is."""

    patterns: list[str] | None = None
    near: list[str] | None = None
    date: str | None = None
    numbers: tuple[int | float, int | float] | None = None
    """The smallest and the largest."""
    to: int | None = None
    unit: Unit | None = None
    of: list[str] | None = None
    relation: Relation | None = None
    first: list[str] | None = None
    second: list[str] | None = None
    dates: list[str] | None = None
