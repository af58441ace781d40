"""A table of the study: every number of the page and of its figures is in one of these."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from decimal import Decimal

from uncensoring_chinese_models.domain import Json
from uncensoring_chinese_models.text import escape, harmless

Value = str | int | float | Decimal | None
NOTHING = "\u2013"


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows, what they show, and how to read them."""

    name: str
    """The name of its file, without the suffix."""
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
        """Return the table as CSV that no spreadsheet will execute; unknown values are empty."""
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
    """Return a value as pages and figures show it: shares with two digits, None as a dash."""
    if value is None:
        return NOTHING
    if isinstance(value, float):
        # Adding 0.0 turns -0.00 into 0.00.
        return f"{round(value, 2) + 0.0:.2f}"
    if isinstance(value, Decimal):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else escape(value)
