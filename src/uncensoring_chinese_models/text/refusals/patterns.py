"""The wordings by which a reply withholds, by script and stance.

Patterns are searched in one sentence at a time, normalised (case, width, quote marks and dashes
folded, no space beside ideographs) and with traditional characters made simplified. Every gap in
them is bounded, so that no text makes them slow. The wordings are general formulas; none names a
model or anything of an invented world.
"""

from __future__ import annotations

from uncensoring_chinese_models.domain import Stance
from uncensoring_chinese_models.text.refusals import en, zh
from uncensoring_chinese_models.text.refusals.wording import Wording

Wordings = dict[Stance, tuple[Wording, ...]]
"""In the order in which they are looked for."""

ENGLISH: Wordings = {
    "refuses": en.REFUSAL,
    "denies": en.DENIAL,
    "deflects": en.DEFLECTION,
    "official_line": en.OFFICIAL_LINE,
}
CHINESE: Wordings = {
    "refuses": zh.REFUSAL,
    "denies": zh.DENIAL,
    "deflects": zh.DEFLECTION,
    "official_line": zh.OFFICIAL_LINE,
}
