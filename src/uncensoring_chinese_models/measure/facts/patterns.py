"""Patterns that find a value in a text: regular expressions, matched as whole words in any case.

Chinese is written without spaces: a match that begins or ends with an ideograph, or next to one,
counts as a whole word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo

_PART_OF_WORD = r"(?=[\0-\u052f\u1e00-\u1eff])\w"
"""A digit, or a letter of Latin, Greek or Cyrillic; larger classes take long to compile."""
_NOT_WITHIN_A_WORD = rf"(?-i:(?<!{_PART_OF_WORD})|(?!{_PART_OF_WORD}))"
_AS_TYPED = {wide: chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)}
"""Full-width letters, digits and marks, as Chinese texts hold them, and the plain ones."""
TESTED = object()
"""Validation context of the package's own files: the tests have compiled their patterns."""
_SPACE = re.compile(r"\s")
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return the pattern as it is searched for.

    Raises:
        re.error: it is not a regular expression.
    """
    re.compile(pattern)  # by itself, so that a stray bracket cannot close ours
    return re.compile(f"{_NOT_WITHIN_A_WORD}(?:{pattern}){_NOT_WITHIN_A_WORD}", re.IGNORECASE)


def _usable(pattern: str, info: ValidationInfo) -> str:
    if info.context is TESTED or (pattern and not _SPECIAL.search(pattern)):
        return pattern
    try:
        compiled = re.compile(pattern)
        if compiled.flags != re.UNICODE:  # flags for the whole expression, which cannot be wrapped
            compile_pattern(pattern)
    except (re.error, OverflowError, RecursionError) as err:
        raise ValueError(f"'{pattern}' is not a regular expression: {err}") from None
    if compiled.search(""):
        raise ValueError(f"'{pattern}' matches the empty text; name the words to look for")
    return pattern


Pattern = Annotated[str, AfterValidator(_usable)]
"""A pattern as a file may hold it."""


def as_searched(text: str) -> str:
    """Return the text with plain white space and plain signs for full-width ones, at equal length."""
    return _SPACE.sub(" ", text.translate(_AS_TYPED))


def spans(
    patterns: Iterable[re.Pattern[str]], text: str, start: int = 0
) -> Iterator[tuple[int, int]]:
    """Yield where patterns match in a text from `as_searched`."""
    for pattern in patterns:
        found = pattern.finditer(text, start)
        yield from (match.span() for match in found if match.group())
