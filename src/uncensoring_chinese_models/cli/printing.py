"""How a command puts a record for programs on stdout."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json


def print_json(value: Json) -> None:
    """Print one record on one line, in ASCII, so that no terminal acts on what it holds."""
    print(json.dumps(value, ensure_ascii=True))
