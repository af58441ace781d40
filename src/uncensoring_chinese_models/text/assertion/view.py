"""A stretch of a text in its sentences: folded for patterns, with the way back to the text.

The stretch itself is one sign, so that no pattern finds words in it. Line breaks stay, since a list
item or a heading is a sentence of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from uncensoring_chinese_models.text.chinese import character_table
from uncensoring_chinese_models.text.normalisation import IDEOGRAPH

VALUE = "\ue000"
"""The sign that stands for the stretch; in patterns too."""
BEFORE_CHARS, AFTER_CHARS = 450, 350
"""Characters before and after a stretch that are read."""
SENTENCE_CHARS = 260
"""Characters of its sentence on each side that are read."""
HAN = f"[{IDEOGRAPH}]"

# Patterns below begin with the sign that they look for, so that a search passes over all others.
_INVISIBLE = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff"
_REMOVED = re.compile(
    rf"[*`{_INVISIBLE}]+|_(?:(?=\w)(?<!\w_)|(?<=\w_)(?!\w))|\\(?=[*_#])"
    rf"| (?:(?={HAN})|(?<={HAN} )|(?<=[,.!?:;] )(?={VALUE}{HAN})|(?<=  )| +(?={HAN}))"
)
_SPACED_DASH = re.compile(r"-(?:(?<=[^\n] -)(?= )|(?<=\w-)(?=-)|(?<=--)(?=\w))")
_GOES_ON = "是在于於和与與的了对對把被向以为為有从從而说說称稱明示认為认为\u3001\uff0c,"
_JOINED_LINES = re.compile(  # a line that goes on with a small letter, or breaks off in Chinese
    rf"\n(?:(?<=[a-z,]\n)(?=[a-z{VALUE}])|(?<={VALUE}\n)(?=[a-z])|(?<=[{_GOES_ON}]\n)(?=[{IDEOGRAPH}{VALUE}]))"
)
_TITLES = ("[a-z]", "mr", "dr", "st", "vs", "mrs", "gen", "col", "prof", "ca", "lt")
_ABBREVIATED = "".join(rf"(?<!\b{title}\.)" for title in _TITLES)
_END = re.compile(
    rf"(?:[!?]+[.!?]*|\.(?:(?<={HAN}\.)(?={VALUE})|{_ABBREVIATED}(?!\d|[a-z{VALUE}]|\.)(?!(?<=\bno\.) ?\d)))"
    rf"[\"')\]]*(?=[\s\"'({VALUE}a-z]|{HAN}|\u2014|$)|\n+"
)


@cache
def _table() -> dict[int, str]:
    """Return how single characters fold: script, width, quote marks, dashes, spaces."""
    wide = {n: chr(n - 0xFEE0).lower() for n in range(0xFF01, 0xFF5F)}
    folded = {
        '"': "\u201c\u201d\u201e\u201f\u00ab\u00bb\u300c\u300d\u300e\u300f\u301d\u301e",
        "'": "\u2018\u2019\u201a\u201b\u2032\u00b4",
        "\u2014": "\u2012\u2013\u2014\u2015\u2212\u2e3a\u2e3b",
        " ": "\t\r\u00a0\u2002\u2003\u2009\u202f\u3000",
        ".": "\u3002\uff61",
        "\n": "\u2028\u2029\x0b\x0c",
    }
    signs = {ord(char): sign for sign, chars in folded.items() for char in chars}
    return character_table().fold | wide | signs


def _fold(text: str) -> str:
    """Return a text of equal length in lower case, with simplified characters and plain signs."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(low if len(low := char.lower()) == 1 else char for char in text)
    return lower.translate(_table())


@dataclass(frozen=True, slots=True)
class FoldedText:
    """Folded words, and where each character of them stands in the text."""

    text: str
    at: Sequence[int]
    """Places of the characters; the first one is that of `base`."""
    base: int = 0

    def __getitem__(self, part: slice) -> FoldedText:
        start, stop, _ = part.indices(len(self.text))
        return FoldedText(self.text[start:stop], self.at, self.base + start)

    def without(self, spans: Sequence[tuple[int, int]]) -> FoldedText:
        """Return it without some stretches."""
        if not spans:
            return self
        text: list[str] = []
        at: list[int] = []
        last = 0
        for start, end in (*spans, (len(self.text), len(self.text))):
            text.append(self.text[last:start])
            at += self.at[self.base + last : self.base + start]
            last = end
        return FoldedText("".join(text), at)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where characters of it stand in the text."""
        return self.at[self.base + start], self.at[self.base + end - 1] + 1


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The sentence of a stretch, and what stands before and behind it."""

    before: FoldedText
    sentence: FoldedText
    after: FoldedText
    words: str
    """The stretch itself, folded."""


def surroundings(text: str, start: int, end: int) -> Surroundings:
    """Return the surroundings of a stretch."""
    first, last = max(0, start - BEFORE_CHARS), min(len(text), end + AFTER_CHARS)
    near = text[first:start].replace(VALUE, " ") + VALUE + text[end:last].replace(VALUE, " ")
    places = [*range(first, start), start, *range(end, last)]
    folded = _SPACED_DASH.sub("\u2014", _fold(_JOINED_LINES.sub(" ", near)))
    piece = FoldedText(folded, places)
    piece = piece.without([found.span() for found in _REMOVED.finditer(folded)])
    value = piece.text.index(VALUE)
    begin, stop = _sentence(piece.text, value)
    words = _fold(text[start : min(end, start + AFTER_CHARS)])
    return Surroundings(piece[:begin], piece[begin:stop], piece[stop:], words)


def _sentence(text: str, value: int) -> tuple[int, int]:
    """Return where the sentence of the stretch begins and ends."""
    begin, stop = max(0, value - SENTENCE_CHARS), min(len(text), value + SENTENCE_CHARS)
    for found in _END.finditer(text, begin, stop):
        if found.end() <= value:
            begin = found.end()
        elif found.start() >= value:
            return begin, found.end()
    return begin, stop


def first_sentences(piece: FoldedText, number: int) -> list[FoldedText]:
    """Return the first sentences of what stands behind a sentence."""
    found: list[FoldedText] = []
    begin = 0
    for match in _END.finditer(piece.text):
        if piece.text[begin : match.end()].strip():
            found.append(piece[begin : match.end()])
        begin = match.end()
        if len(found) == number:
            return found
    return [*found, piece[begin:]] if piece.text[begin:].strip() else found
