"""What a person types and sees: one module per command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.doors import lazy_door

if TYPE_CHECKING:
    from uncensoring_chinese_models.cli.commands import main, main_script

__all__ = [
    "main",
    "main_script",
]

__getattr__ = lazy_door(__name__)
