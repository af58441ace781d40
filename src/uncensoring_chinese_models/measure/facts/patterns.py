"""Patterns that find a value in a text: regular expressions, matched as whole words in any case.

Chinese is written without spaces: a match that begins or ends with an ideograph, or next to one,
counts as a whole word.

A facts file may be a stranger's: it travels in the journals of runs. One line of it can take longer
to search for than anybody waits, so the patterns of a file share a limited time. A file that exceeds
it is refused as a whole: to leave one pattern out would change verdicts, on slow machines only.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, ValidationInfo

from uncensoring_chinese_models.errors import ConfigError, SlowPatternError
from uncensoring_chinese_models.measure.facts.syntax import is_anchored, refuse_unusable, shown

if TYPE_CHECKING:
    import regex

MIN_SEARCH_S = 2.0
"""Processor time that the patterns of a file may always take."""
SEARCH_S_PER_CHARACTER = 1e-7
"""More of it for each character that a pattern searches; patterns of ours take a hundredth of it."""
_ON_EMPTY_S = 0.1
"""Time that a pattern may take on the empty text."""
_PART_OF_WORD = r"(?=[\0-\u052f\u1e00-\u1eff])\w"
"""A digit, or a letter of Latin, Greek or Cyrillic."""
_NOT_WITHIN_A_WORD = rf"(?-i:(?<!{_PART_OF_WORD})|(?!{_PART_OF_WORD}))"
_AS_TYPED = {wide: chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)}
"""Full-width letters, digits and marks, as Chinese texts hold them, and the plain ones."""
_AS_WRITTEN = {wide: re.escape(sign) for wide, sign in _AS_TYPED.items()}
"""The same for patterns, in which a plain sign may mean something else."""
TESTED = object()
"""Validation context of the package's own files: the tests have compiled their patterns."""
_SPACE = re.compile(r"\s")
_SIGNS = re.compile(r"[\W_]*")
_WORD_GOES_ON = re.compile(r"(?<=[0-9A-Za-z_\u00c0-\u052f])[0-9A-Za-z_\u00c0-\u052f]+")
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")


def compile_pattern(pattern: str) -> regex.Pattern[str]:
    """Return the pattern as it is searched for.

    Raises:
        ValueError: it is not a regular expression, or holds what is not allowed.
    """
    import regex  # noqa: PLC0415 -- commands that search for nothing need not load it

    refuse_unusable(pattern)
    plain = pattern.translate(_AS_WRITTEN)
    whole = f"{_NOT_WITHIN_A_WORD}(?:{plain}){_NOT_WITHIN_A_WORD}"
    try:
        return regex.compile(whole, regex.IGNORECASE)
    except (regex.error, OverflowError, RecursionError) as err:
        raise ValueError(f"{shown(pattern)} is not a regular expression: {err}") from None


def _usable(pattern: str, info: ValidationInfo) -> str:
    if info.context is TESTED:
        return pattern
    refuse_unusable(pattern)
    if pattern and not _SPECIAL.search(pattern):
        return pattern
    compiled = compile_pattern(pattern)
    try:
        matches_nothing = compiled.search("", timeout=_ON_EMPTY_S)
    except TimeoutError:
        # Not a ValueError: after that, the other patterns of the file would be tried as well.
        raise ConfigError(f"the pattern {shown(pattern)} takes too long on an empty text") from None
    if matches_nothing:
        raise ValueError(f"{shown(pattern)} matches the empty text; name the words to look for")
    return pattern


Pattern = Annotated[str, AfterValidator(_usable)]
"""A pattern as a file may hold it."""


@lru_cache(maxsize=64)
def as_searched(text: str) -> str:
    """Return the text with plain white space and plain signs for full-width ones, at equal length."""
    return _SPACE.sub(" ", text.translate(_AS_TYPED))


@dataclass
class SearchTime:
    """How long the patterns of a file have searched, and how long they may."""

    file: str = "the facts"
    spent: dict[tuple[str, str], float] = field(default_factory=dict, compare=False)
    """Processor time by what a pattern finds, and the pattern."""
    total: float = field(default=0.0, compare=False)
    allowed: float = field(default=MIN_SEARCH_S, compare=False)

    refusal: str = field(default="", compare=False)

    def begin(self, characters: int) -> float:
        """Return how many seconds a search of so many characters may take.

        Raises:
            SlowPatternError: the file was refused, now or before.
        """
        self.allowed += SEARCH_S_PER_CHARACTER * characters
        if not self.refusal and self.total < self.allowed:
            return self.allowed - self.total
        if not self.refusal:
            of, pattern = max(self.spent, key=lambda each: self.spent[each])
            self.refusal = (
                f"The facts file on {self.file} is refused: its pattern {shown(pattern)} of {of} "
                "takes too long to search for. Nothing was judged by it; narrow the pattern."
            )
        raise SlowPatternError(self.refusal)

    def add(self, of: str, pattern: str, seconds: float) -> None:
        """Count the time that a pattern took."""
        self.total += seconds
        self.spent[of, pattern] = self.spent.get((of, pattern), 0.0) + seconds


def _from(text: str, start: int) -> tuple[str, int, int]:
    """Return what a text says from a place on, so that ``^`` is its first word.

    Returns:
        that text, where to search it (behind a word that began before it), and how many characters
        are left out.
    """
    begun = _WORD_GOES_ON.match(text, start)
    if begun:
        return text[start:], begun.end() - start, start
    signs = _SIGNS.match(text, start)
    first = signs.end() if signs else start
    return text[first:], 0, first


class Searcher:
    """The patterns of one value, with the time that they may take."""

    def __init__(self, patterns: Iterable[str], of: str, search_time: SearchTime) -> None:
        """Compile the patterns.

        Args:
            patterns: what to search for.
            of: what they find, in words.
            search_time: of the file that they come from.
        """
        self._patterns = [(each, compile_pattern(each)) for each in patterns]
        self._anchored = {each for each, _ in self._patterns if "^" in each and is_anchored(each)}
        self._of, self._time = of, search_time

    def first(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """Return where any pattern matches first in a text from `as_searched`.

        Raises:
            SlowPatternError: the patterns of the file take too long.
        """
        found = (self._matches(*each, text, start, only_first=True) for each in self._patterns)
        return min((spans[0] for spans in found if spans), default=None)

    def any_in(self, text: str) -> bool:
        """Return whether any pattern matches in a text from `as_searched`.

        Raises:
            SlowPatternError: the patterns of the file take too long.
        """
        return any(self._matches(*each, text, 0, only_first=True) for each in self._patterns)

    def all(self, text: str, start: int = 0) -> list[tuple[int, int]]:
        """Return every place where patterns match in a text from `as_searched`.

        Raises:
            SlowPatternError: the patterns of the file take too long.
        """
        found = (self._matches(*each, text, start, only_first=False) for each in self._patterns)
        return sorted({span for spans in found for span in spans})

    def _matches(
        self, name: str, pattern: regex.Pattern[str], text: str, start: int, *, only_first: bool
    ) -> list[tuple[int, int]]:
        characters, skipped = len(text) - start, 0
        if name in self._anchored:
            text, start, skipped = _from(text, start)
        while True:
            limit, spans = self._time.begin(characters), []
            began, characters = time.thread_time(), 0
            try:
                for match in pattern.finditer(text, start, timeout=limit):
                    if match.group():
                        spans.append((match.start() + skipped, match.end() + skipped))
                        if only_first:
                            break
            except TimeoutError:
                continue  # its clock also counts the work of other threads; ours decides
            else:
                return spans
            finally:
                self._time.add(self._of, name, time.thread_time() - began)
