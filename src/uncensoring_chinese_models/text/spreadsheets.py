"""Text that is safe in spreadsheet cells: never a formula.

A spreadsheet takes a cell for a formula by its first characters, and what is a cell depends on
the separator that it believes in: with semicolons, a text in one of our cells may become several.
So an apostrophe is put before whatever could begin a formula, at the beginning of a text and
wherever a reader who is mistaken about separators, quotes or line ends could see a beginning.
"""

from __future__ import annotations

import re

from uncensoring_chinese_models.text.escaping import escape

# = + - @ % |, and full-width, small, raised and lowered forms, which some programs fold.
FORMULA = (
    "=+\\-@%|\uff1d\uff0b\uff0d\uff20\uff05\uff5c\ufe66\ufe62\ufe63\ufe6b\ufe6a"
    "\u207c\u207a\u207b\u208c\u208a\u208b\ufb29\u2212"
)
"""What begins a formula, for a class of characters."""
_SKIPPED = r"\s\"'\u200c\u200d"
_BEFORE = re.compile(rf"(?<![{_SKIPPED}])[{_SKIPPED}]*(?=[{FORMULA}])")
"""All that is skipped before such a character; the lookbehind keeps the time linear."""
_BEGINS_WITHIN = re.compile(r"[\n\t\"']")


def harmless(text: str) -> str:
    """Return a text that is not a formula, and that has no control or hidden characters.

    Line feeds stay; other control and bidi characters are spelled out.
    """
    return _BEFORE.sub(_marked, escape(text, newlines=True))


def _marked(found: re.Match[str]) -> str:
    """Return what is skipped, with an apostrophe behind it if a cell may begin there."""
    skipped, start = found.group(), found.start()
    before = found.string[start - 1 : start] if start else ""
    is_beginning = before in ("", ";", ",", "|") or _BEGINS_WITHIN.search(skipped) is not None
    return f"{skipped}'" if is_beginning else skipped
