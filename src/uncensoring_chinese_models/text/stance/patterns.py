"""A refusal pattern: a family of set phrases, and how much a match counts.

Patterns are searched in one sentence at a time, normalised (case, width, quote marks and dashes
folded, no space beside ideographs) and with traditional characters made simplified. Every gap in
them is bounded, so that no text makes them slow. The wordings are general formulas; none names a
model or anything of an invented world.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Strength = Literal["strong", "soft", "weak"]
"""One strong match is enough. A soft one counts only if the reply says nothing else. Weak ones need two."""


class Wording(NamedTuple):
    """One family of set phrases."""

    strength: Strength
    pattern: re.Pattern[str]


def wordings(strength: Strength, *patterns: str) -> tuple[Wording, ...]:
    """Return one wording for each pattern."""
    return tuple(Wording(strength, re.compile(pattern)) for pattern in patterns)
