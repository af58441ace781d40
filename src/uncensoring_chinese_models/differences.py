"""Where two versions of a file differ, in words: a path inside JSON, else a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from uncensoring_chinese_models.visible import preview

_WIDTH = 60
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where what is stored is not what was recomputed."""

    where: str
    says: str
    is_absence: bool = False
    """True when only one of the two has this key; a list that is longer is another value."""


def differences(name: str, stored: bytes, derived: bytes) -> list[Difference]:
    """Return where the bytes of a file differ from those recomputed; none if they are the same."""
    if stored == derived:
        return []
    if name.endswith(".json"):
        try:
            value = parse_json(stored)
        except ValueError as err:
            return [Difference("", f"is not readable as JSON ({err})")]
        found = list(json_differences(value, parse_json(derived)))
        if found:
            return found
    return [_first_line(stored, derived)]


def parse_json(content: bytes) -> Any:
    """Return the value of a file that a stranger may have written.

    Raises:
        ValueError: it is not JSON in UTF-8, or nested too deep.
    """
    try:
        return json.loads(content.decode("utf-8"))
    except RecursionError:
        raise ValueError("nested too deep") from None


def json_differences(stored: Any, derived: Any, path: str = "") -> Iterator[Difference]:
    """Yield each place in which two JSON values differ, in order."""
    if isinstance(stored, dict) and isinstance(derived, dict):
        for key in dict.fromkeys([*derived, *stored]):
            here = f"{path}.{key}" if path else str(key)
            if key not in stored or key not in derived:
                says = _only_one(stored.get(key, _ABSENT), derived.get(key, _ABSENT))
                yield Difference(here, says, is_absence=True)
            else:
                yield from json_differences(stored[key], derived[key], here)
    elif isinstance(stored, list) and isinstance(derived, list):
        for index in range(max(len(stored), len(derived))):
            one, other = (
                value[index] if index < len(value) else _ABSENT for value in (stored, derived)
            )
            here = f"{path}.{index}" if path else str(index)
            if one is _ABSENT or other is _ABSENT:
                yield Difference(here, _only_one(one, other))
            else:
                yield from json_differences(one, other, here)
    elif stored != derived:
        yield Difference(path, f"{_shown(stored)} stored, {_shown(derived)} recomputed")


def _only_one(stored: Any, derived: Any) -> str:
    if stored is _ABSENT:
        return f"absent, {_shown(derived)} recomputed"
    return f"{_shown(stored)} stored, absent when recomputed"


def _first_line(stored: bytes, derived: bytes) -> Difference:
    """Name the first line that differs; in JSON, values do not, or it would not be asked for."""
    pairs = zip(stored.split(b"\n"), derived.split(b"\n"), strict=False)
    number, (one, other) = next(
        ((number, pair) for number, pair in enumerate(pairs, start=1) if pair[0] != pair[1]),
        (min(stored.count(b"\n"), derived.count(b"\n")) + 1, (b"", b"")),
    )
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    says = [_text(line[max(0, at - 10) :]) for line in (one, other)]
    return Difference(f"line {number}", f"{says[0]} stored, {says[1]} recomputed")


def _text(line: bytes) -> str:
    return f"'{preview(line.decode('utf-8', 'backslashreplace'), _WIDTH)}'"


def _shown(value: Any) -> str:
    try:
        return preview(json.dumps(value, ensure_ascii=False), _WIDTH)
    except RecursionError:
        return "something nested too deep"
