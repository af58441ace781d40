"""What a wording is: a family of formulas, and how much one of them weighs."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Strength = Literal["strong", "soft", "weak"]
"""One strong wording decides; a soft one if nothing is told beside it; weak ones by twos."""


class Wording(NamedTuple):
    """One family of formulas."""

    strength: Strength
    pattern: re.Pattern[str]


def wordings(strength: Strength, *patterns: str) -> tuple[Wording, ...]:
    """Return one wording for each pattern."""
    return tuple(Wording(strength, re.compile(pattern)) for pattern in patterns)
