"""Measure on labelled sentences whether the program sees what their writers assert.

    python tools/assertion_table.py

Reads tests/text/assertion_*.jsonl and writes the tables of docs/measurements/assertion.md: the share
that is right by set and language; and, of the sets that no author of the rules saw, by label and by
construction.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models.measure.inference.tests import Share, share_interval
from uncensoring_chinese_models.text import assertion_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
SETS = ROOT / "tests" / "text"
PAGE = ROOT / "docs" / "measurements" / "assertion.md"
BEGIN, END = "<!-- tables:begin -->", "<!-- tables:end -->"
LABELS = {"stated": "states", "denied": "denies", "not_asserted": "neither"}
"""Label of a sentence for each verdict."""


class Row(NamedTuple):
    """A labelled sentence, and what the program says of it."""

    id: str
    set: str
    language: str
    why: str
    label: str
    verdict: str

    @property
    def is_unseen(self) -> bool:
        """True if its set was not at hand when the rules were written."""
        return self.set.startswith("unseen")

    @property
    def is_right(self) -> bool:
        """True if the program says what the label says."""
        return LABELS[self.verdict] == self.label


def read(path: Path) -> list[Row]:
    """Return the sentences of a set with the verdicts of the program."""
    return [_row(path, json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def _row(path: Path, told: dict[str, str]) -> Row:
    start = told["text"].index(told["value"])
    found = assertion_of(told["text"], start, start + len(told["value"]))
    name = path.stem.removeprefix("assertion_")
    return Row(told["id"], name, told["language"], told["why"], told["label"], found.verdict)


def sets() -> list[Path]:
    """Return the files of labelled sentences."""
    return sorted(SETS.glob("assertion_*.jsonl"))


def share_right(rows: Sequence[Row]) -> Share:
    """Return how many are right."""
    return Share(sum(row.is_right for row in rows), len(rows))


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the tables."""
    yield from _table("set and language", rows, lambda row: f"{row.set}, {row.language}")
    rows = [row for row in rows if row.is_unseen]
    yield ""
    yield "Of the unseen sets:"
    yield ""
    yield "| label | judged `states` | `denies` | `neither` |"
    yield "| --- | ---: | ---: | ---: |"
    counts = Counter((row.label, LABELS[row.verdict]) for row in rows)
    for label in LABELS.values():
        found = " | ".join(str(counts[label, verdict]) for verdict in LABELS.values())
        yield f"| `{label}` | {found} |"
    yield ""
    yield from _table("construction", rows, lambda row: row.why)


def _table(what: str, rows: Sequence[Row], key: Callable[[Row], str]) -> Iterator[str]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    yield f"| {what} | sentences | right | taken for a statement |"
    yield "| --- | ---: | ---: | ---: |"
    for name in sorted(groups):
        yield _line(name, groups[name])
    yield _line("all", rows)


def _line(name: str, rows: Sequence[Row]) -> str:
    right = share_right(rows)
    interval = share_interval(right)
    mistaken = sum(row.verdict == "stated" and row.label != "states" for row in rows)
    shown = f"{right.successes}: {right.successes / right.n:.2f} ({interval.low:.2f} to {interval.high:.2f})"
    return f"| {name} | {right.n} | {shown} | {mistaken} |"


def page(text: str, shown: Iterable[str]) -> str:
    """Return the page with these lines between its marks."""
    before, after = text.split(BEGIN, maxsplit=1)[0], text.split(END)[1]
    body = "\n".join(shown)
    return f"{before}{BEGIN}\n\n{body}\n\n{END}{after}"


def main() -> int:
    """Write the tables, and name on the screen the sentences that are wrong: not those of unseen sets."""
    rows = [row for path in sets() for row in read(path)]
    PAGE.write_text(page(PAGE.read_text("utf-8"), lines(rows)), "utf-8")
    for row in rows:
        if not row.is_right and not row.is_unseen:
            print(f"{row.set} {row.id} ({row.why}): {row.label}, but judged {row.verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
