"""A table of the study: every number of the page and of the figures stands in one of these."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from decimal import Decimal

from uncensoring_chinese_models.domain import Json
from uncensoring_chinese_models.text import harmless, visible

Value = str | int | float | Decimal | None
NOTHING = "\u2013"


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows, what they show, and how to read them."""

    name: str
    """Of its file, without an ending."""
    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"a row of {self.name} does not have {len(self.columns)} values")

    def dicts(self) -> list[Json]:
        """Return the rows by the names of their columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def as_csv(self) -> str:
        """Return the table as CSV that no spreadsheet will execute; what is unknown is empty."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_inert(value) for value in row] for row in self.rows)
        return out.getvalue()


def _inert(value: Value) -> Value:
    if not isinstance(value, str):
        return value
    return harmless(value)


def show(value: Value) -> str:
    """Return a value as a page and a figure show it: shares to two digits, nothing as a dash."""
    if value is None:
        return NOTHING
    if isinstance(value, float):
        # -0.00 is no number that anyone would write.
        return f"{round(value, 2) + 0.0:.2f}"
    if isinstance(value, Decimal):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else visible(value)
