"""Journals that several processes write one after the other, or read meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.runs.journal import Journal

if TYPE_CHECKING:
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
