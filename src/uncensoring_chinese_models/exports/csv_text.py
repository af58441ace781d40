"""CSV that no spreadsheet obeys.

A spreadsheet takes a cell for a formula by its first characters, and what is a cell depends on
the separator that it believes in: with semicolons, a text in one of our cells may become several.
So an apostrophe is put before whatever could begin a formula, at the beginning of a text and
wherever a reader who is mistaken about separators, quotes or line ends could see a beginning.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models.exports.rows import columns_of
from uncensoring_chinese_models.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from uncensoring_chinese_models.exports.rows import Row

MARK = "\ufeff"
"""The byte order mark: without it Excel takes Chinese for Latin letters."""
# = + - @, and their full-width, small, raised and lowered forms, which some programs fold.
_FORMULA = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u207c\u207a\u207b\u208c\u208a\u208b\u2212"
_BEGINNING = re.compile(rf"(^|[\n;,|\"'])([\s\"'\u200c\u200d]*)(?=[{_FORMULA}])")


def csv_lines(table: type[Row], rows: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of a file, the names of the columns first; every text is in quotes."""
    names = [column.name for column in columns_of(table)]
    yield MARK + ",".join(names) + "\n"
    for each in rows:
        yield ",".join(_cell(getattr(each, name)) for name in names) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + harmless(value).replace('"', '""') + '"'
    return repr(value)  # a number of ours, which may well begin with a minus


def harmless(text: str) -> str:
    """Return a text that is no formula, and in which no character acts or hides.

    Line feeds stay; other control and bidi characters are spelled out.
    """
    return _BEGINNING.sub(r"\1\2'", visible(text, newlines=True))
