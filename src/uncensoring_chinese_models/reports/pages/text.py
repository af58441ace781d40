"""Text of models on a page: escaped, with invisible characters spelled out, and its language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from uncensoring_chinese_models.text import escape, language_of

_ACCENT = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_STACKED = re.compile(f"({_ACCENT}{{8}})({_ACCENT}+)")
"""Hundreds of accents on one letter cover the lines around it and prevent line breaks."""

_MAX_LANGUAGE_CHARACTERS = 2_000
"""Max characters that are looked at to find the language of a text."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, and whether it is quoted or spill."""

    text: str
    is_marked: bool = False
    is_spill: bool = False


def shown(text: object) -> str:
    """Return text as a page shows it: control characters, bidi marks and piles of accents spelled out."""
    return _STACKED.sub(_spelled, escape(str(text), newlines=True))


def _spelled(stack: re.Match[str]) -> str:
    return stack[1] + "".join(f"⟨U+{ord(mark):04X}⟩" for mark in stack[2])


def lang(text: object) -> str:
    """Return the language of a text as HTML names it; an empty name if it is unknown."""
    language = language_of(str(text)[:_MAX_LANGUAGE_CHARACTERS])
    return "" if language == "other" else language


def pieces(text: str, marks: Iterable[tuple[int, int]], own: int | None = None) -> list[Piece]:
    """Cut a text where quotes begin and end, and where the sampled turn was closed.

    Args:
        text: all that the server sent.
        marks: offsets of quotes. They may overlap; parts outside the text are ignored.
        own: how many characters were written inside the sampled turn.
    """
    spans = _merged((max(start, 0), min(end, len(text))) for start, end in marks)
    border = len(text) if own is None else min(own, len(text))
    cuts = sorted({0, len(text), border, *(cut for span in spans for cut in span)})
    found = []
    for start, end in pairwise(cuts):
        is_marked = any(low <= start and end <= high for low, high in spans)
        found.append(Piece(shown(text[start:end]), is_marked, start >= border))
    return found


def _merged(spans: Iterable[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """Join spans that overlap, and drop empty ones."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
