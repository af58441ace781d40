"""Check a run offline, and pack it for publication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.doors import lazy_door

if TYPE_CHECKING:
    from uncensoring_chinese_models.verify.bundle import pack_run
    from uncensoring_chinese_models.verify.compare_files import Failure
    from uncensoring_chinese_models.verify.verification import Verification, verify_run

__all__ = [
    "Failure",
    "Verification",
    "pack_run",
    "verify_run",
]

__getattr__ = lazy_door(__name__)
