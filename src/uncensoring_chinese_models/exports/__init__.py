"""Runs for other programs: tables, data frames, Parquet, Inspect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.doors import lazy_door

if TYPE_CHECKING:
    from uncensoring_chinese_models.exports.loading import Run, Runs, load_run, load_runs
    from uncensoring_chinese_models.exports.writing import Exported, check_format, export_runs

__all__ = [
    "Exported",
    "Run",
    "Runs",
    "check_format",
    "export_runs",
    "load_run",
    "load_runs",
]

__getattr__ = lazy_door(__name__)
