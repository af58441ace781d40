"""CSV that no spreadsheet obeys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models.exports.rows import columns_of
from uncensoring_chinese_models.text import harmless

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from uncensoring_chinese_models.exports.rows import Row

MARK = "\ufeff"
"""The byte order mark: without it Excel takes Chinese for Latin letters."""


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
