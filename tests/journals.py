"""Journals that several processes write one after the other, or read meanwhile."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models.runs.chain import LINKS, START, line_hash, sealed
from uncensoring_chinese_models.runs.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_OPEN: dict[Path, Journal] = {}


def next_process(path: Path, now: str) -> Journal:
    """Open a journal as the next process does: the one before it has ended."""
    if path in _OPEN:
        _OPEN[path].close()
    _OPEN[path] = Journal.open(path, lambda: now)
    return _OPEN[path]


def read_back(path: Path) -> Journal:
    """Return a journal as a reader finds it; it takes no lock."""
    journal = Journal(path, lambda: "")
    journal.load(path.read_bytes())
    return journal


def records_of(run: Path) -> list[dict[str, Any]]:
    """Return what the lines of a run's journal say, without the links between them."""
    lines = (run / "journal.jsonl").read_bytes().splitlines()
    return [{k: v for k, v in json.loads(each).items() if k not in LINKS} for each in lines]


def write_records(run: Path, records: Iterable[dict[str, Any]]) -> None:
    """Forge a journal: write these records, each linked to the one before it."""
    last, forged = START, b""
    for record in records:
        line = sealed(record, last)
        last, forged = line_hash(line), forged + line + b"\n"
    (run / "journal.jsonl").write_bytes(forged)
