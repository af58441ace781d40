"""Say where two versions of a file differ: a path inside JSON, else a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.text import escape, preview

_WIDTH = 60
_BEFORE = 25
"""How much is shown before the place where two texts differ."""
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where the stored file differs from the replayed one."""

    where: str
    says: str


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
        return strict_json.loads(content.decode("utf-8"))
    except RecursionError:
        raise ValueError("nested too deep") from None


def json_differences(stored: Any, derived: Any, path: str = "") -> Iterator[Difference]:
    """Yield each place in which two JSON values differ, in order."""
    if isinstance(stored, dict) and isinstance(derived, dict):
        for key in dict.fromkeys([*derived, *stored]):
            here = f"{path}.{key}" if path else str(key)
            if key not in stored or key not in derived:
                says = _only_one(stored.get(key, _ABSENT), derived.get(key, _ABSENT))
                yield Difference(here, says)
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
        yield Difference(path, _both(stored, derived))


def _only_one(stored: Any, derived: Any) -> str:
    if stored is _ABSENT:
        return f"absent, {_shown(derived)} recomputed"
    return f"{_shown(stored)} stored, absent when recomputed"


def _first_line(stored: bytes, derived: bytes) -> Difference:
    """Return the first line that differs."""
    pairs = zip(stored.split(b"\n"), derived.split(b"\n"), strict=False)
    number, (one, other) = next(
        ((number, pair) for number, pair in enumerate(pairs, start=1) if pair[0] != pair[1]),
        (min(stored.count(b"\n"), derived.count(b"\n")) + 1, (b"", b"")),
    )
    texts = [line.decode("utf-8", "backslashreplace") for line in (one, other)]
    return Difference(f"line {number}", _windows(texts[0], texts[1]))


def _both(stored: Any, derived: Any) -> str:
    """Show two values, long texts around their first difference."""
    if isinstance(stored, str) and isinstance(derived, str):
        return _windows(stored, derived, quote='"')
    return f"{_shown(stored)} stored, {_shown(derived)} recomputed"


def _windows(stored: str, derived: str, quote: str = "'") -> str:
    """Show two texts around the first character in which they differ."""
    pairs = zip(stored, derived, strict=False)
    shorter = min(len(stored), len(derived))
    at = next((i for i, (one, other) in enumerate(pairs) if one != other), shorter)
    start = 0 if _fits(stored) and _fits(derived) else _window_start(stored, at)
    lead = "…" if start else ""
    one, other = (
        f"{quote}{lead}{preview(text[start:], _WIDTH)}{quote}" for text in (stored, derived)
    )
    place = f"at character {at + 1}: " if start else ""
    return f"{place}{one} stored, {other} recomputed{_code_points(stored[at:], derived[at:])}"


def _fits(text: str) -> bool:
    return len(escape(text[: _WIDTH + 1])) <= _WIDTH


def _window_start(text: str, at: int) -> int:
    """Return where to begin so that a little text before a place is shown, and the place itself."""
    start, room = at, _BEFORE
    while start and (room := room - len(escape(text[start - 1]))) >= 0:
        start -= 1
    return start


def _code_points(stored: str, derived: str) -> str:
    """Return the code points of the first characters, unless both are printable ASCII."""
    if all(not text or (text[0].isascii() and text[0].isprintable()) for text in (stored, derived)):
        return ""
    names = [f"U+{ord(text[0]):04X}" if text else "nothing" for text in (stored, derived)]
    return f" ({names[0]} stored, {names[1]} recomputed)"


def _shown(value: Any) -> str:
    try:
        return preview(strict_json.dumps(value, ensure_ascii=False), _WIDTH)
    except RecursionError:
        return "something nested too deep"
