"""The wordings by which a reply withholds, by script and manner.

Patterns are searched in one sentence at a time, normalised (case, width, quote marks and dashes
folded, no space beside ideographs) and with traditional characters made simplified. Every gap in
them is bounded, so that no text makes them slow. The wordings are general formulas; none names a
model or anything of an invented world.
"""

from __future__ import annotations

from typing import Literal

from uncensoring_chinese_models.text.refusals import en as manners_en
from uncensoring_chinese_models.text.refusals import zh as manners_zh
from uncensoring_chinese_models.text.refusals.wording import Wording

Withholding = Literal["refusal", "denial", "deflection", "steering"]
Wordings = dict[Withholding, tuple[Wording, ...]]
"""In the order in which they are looked for."""

ENGLISH: Wordings = {
    "refusal": manners_en.REFUSAL,
    "denial": manners_en.DENIAL,
    "deflection": manners_en.DEFLECTION,
    "steering": manners_en.STEERING,
}
CHINESE: Wordings = {
    "refusal": manners_zh.REFUSAL,
    "denial": manners_zh.DENIAL,
    "deflection": manners_zh.DEFLECTION,
    "steering": manners_zh.STEERING,
}
