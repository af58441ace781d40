"""Runs as pages in the browser of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.doors import lazy_door

if TYPE_CHECKING:
    from uncensoring_chinese_models.viewer.serving import serve

__all__ = [
    "serve",
]

__getattr__ = lazy_door(__name__)
