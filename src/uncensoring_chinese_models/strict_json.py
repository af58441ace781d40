"""JSON as every program can read it: the only module that reads or writes it.

Python writes ``NaN`` and ``Infinity``, which are not JSON, and reads them. It also reads whole numbers
of any length, which neither a database nor a data frame can hold. Here they are refused; what a paid
server said is read with such a number as unknown.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

MAX_INT = 2**63 - 1
"""Larger whole numbers do not fit into 64 bits."""


def dumps(value: Any, **options: Any) -> str:
    """Return a value as JSON; the options are those of Python's `json.dumps`.

    Raises:
        ValueError: a number of it is not finite.
    """
    return json.dumps(value, allow_nan=False, **options)


def loads(content: str | bytes, **options: Any) -> Any:
    """Return the value of JSON; the options are those of Python's `json.loads`.

    Raises:
        ValueError: it is not JSON, or a number is not finite or does not fit into 64 bits.
        RecursionError: it is nested too deep.
    """
    return _loads(content, _refuse, options)


def loads_leniently(content: str | bytes) -> Any:
    """Return the value of JSON, with null for numbers that `loads` refuses: they are unknown.

    A paid answer is not lost for one of them.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deep.
    """
    return _loads(content, _unknown, {})


def first_leniently(text: str, start: int) -> tuple[Any, int]:
    """Return the value of the JSON that begins at a place of a text, and where it ends.

    Odd numbers are null, as for `loads_leniently`.

    Raises:
        ValueError: no JSON begins there.
        RecursionError: it is nested too deep.
    """
    return json.JSONDecoder(**_hooks(_unknown)).raw_decode(text, start)


def refuse_odd_numbers(value: Any) -> None:
    """Refuse a value that did not come from here, if a number of it could not.

    Raises:
        ValueError: a number is not finite or does not fit into 64 bits.
    """
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list):
            pending += item
        elif isinstance(item, float) and not math.isfinite(item):
            _refuse(str(item))
        elif isinstance(item, int) and abs(item) > MAX_INT:
            _refuse("of so many digits")


def _loads(content: str | bytes, odd: Callable[[str], Any], options: dict[str, Any]) -> Any:
    return json.loads(content, **_hooks(odd), **options)


def _hooks(odd: Callable[[str], Any]) -> dict[str, Any]:
    """Return the readers of numbers, with one for those that not every program can hold."""

    def whole(text: str) -> Any:
        if len(text) < 19:
            return int(text)
        number = int(text) if len(text) <= 20 else MAX_INT + 1
        return number if abs(number) <= MAX_INT else odd(text)

    def real(text: str) -> Any:
        number = float(text)
        return number if math.isfinite(number) else odd(text)

    return {"parse_int": whole, "parse_float": real, "parse_constant": odd}


def _refuse(text: str) -> None:
    shown = text if len(text) <= 20 else f"{text[:20]}…"
    raise ValueError(f"the number {shown} is not finite or does not fit into 64 bits")


def _unknown(_: str) -> None:
    return None
