"""Patterns that tell a value in a text: regular expressions, read as whole words in any case.

Chinese is written without spaces: what begins or ends with an ideograph, or stands beside one, is
whole there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated

from pydantic import AfterValidator

_PART_OF_WORD = r"(?=[\0-\u052f\u1e00-\u1eff])\w"
"""A digit, or a letter of Latin, Greek or Cyrillic; larger classes take long to compile."""
_NOT_WITHIN_A_WORD = rf"(?-i:(?<!{_PART_OF_WORD})|(?!{_PART_OF_WORD}))"
_AS_TYPED = {wide: chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)}
"""Full-width letters, digits and marks, as Chinese texts hold them, and the plain ones."""
_SPACE = re.compile(r"\s")


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return the pattern as it is searched for.

    Raises:
        re.error: it is no regular expression.
    """
    re.compile(pattern)  # by itself, so that a stray bracket cannot close ours
    return re.compile(f"{_NOT_WITHIN_A_WORD}(?:{pattern}){_NOT_WITHIN_A_WORD}", re.IGNORECASE)


def _usable(pattern: str) -> str:
    try:
        compiled = compile_pattern(pattern)
    except (re.error, OverflowError, RecursionError) as err:
        raise ValueError(f"'{pattern}' is not a regular expression: {err}") from None
    if compiled.search(""):
        raise ValueError(f"'{pattern}' matches the empty text; name the words that tell it")
    return pattern


Pattern = Annotated[str, AfterValidator(_usable)]
"""A pattern as a file may hold it."""


def as_searched(text: str) -> str:
    """Return a text of the same length in which white space and full-width signs are plain."""
    return _SPACE.sub(" ", text.translate(_AS_TYPED))


def spans(
    patterns: Iterable[re.Pattern[str]], text: str, start: int = 0
) -> Iterator[tuple[int, int]]:
    """Yield where patterns match in a text that is as it is searched."""
    for pattern in patterns:
        found = pattern.finditer(text, start)
        yield from (match.span() for match in found if match.group())
