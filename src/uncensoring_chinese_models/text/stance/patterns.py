"""A wording: a pattern for a family of set phrases by which a reply withholds.

Wordings are searched in one sentence at a time, normalised (case, width, quote marks and dashes
folded, no space beside ideographs) and with traditional characters made simplified. Every gap in
them is bounded, so that no text makes them slow. They are general formulas; none names a model or
anything of an invented world. One match is enough, so each must be precise:
`tools/wording_precision.py` measures them on labelled replies.
"""

from __future__ import annotations

import re

Wording = re.Pattern[str]


def wordings(*patterns: str) -> tuple[Wording, ...]:
    """Return one wording for each pattern."""
    return tuple(map(re.compile, patterns))
