"""Text in cells that no spreadsheet obeys.

A spreadsheet takes a cell for a formula by its first characters, and what is a cell depends on
the separator that it believes in: with semicolons, a text in one of our cells may become several.
So an apostrophe is put before whatever could begin a formula, at the beginning of a text and
wherever a reader who is mistaken about separators, quotes or line ends could see a beginning.
"""

from __future__ import annotations

import re

from uncensoring_chinese_models.visible import visible

# = + - @ % |, and full-width, small, raised and lowered forms, which some programs fold.
_FORMULA = "=+\\-@%|\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u207c\u207a\u207b\u208c\u208a\u208b\u2212"
_BEGINNING = re.compile(rf"(^|[\n\t;,|\"'])([\s\"'\u200c\u200d]*)(?=[{_FORMULA}])")


def harmless(text: str) -> str:
    """Return a text that is no formula, and in which no character acts or hides.

    Line feeds stay; other control and bidi characters are spelled out.
    """
    return _BEGINNING.sub(r"\1\2'", visible(text, newlines=True))
