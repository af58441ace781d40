"""Text of models on a page: escaped, with invisible characters spelled out, and its language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from uncensoring_chinese_models.text import escape, language_of

_ACCENT = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_STACKED = re.compile(f"({_ACCENT}{{8}})({_ACCENT}+)")
"""Hundreds of accents on one letter cover the lines around it and prevent line breaks."""

_MAX_LANGUAGE_CHARACTERS = 2_000
"""Max characters that are looked at to find the language of a text."""


Aside = Literal["thoughts", "host", "spill"]
ASIDES: dict[Aside, str] = {
    "thoughts": "thoughts: written before the reply",
    "host": "the host's words, as it seems: in the place of the reply, or behind it",
    "spill": "spill: written after the sampled turn ended",
}
"""The parts of a text that are not the reply."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, whether it is quoted, and what it is if not the reply."""

    text: str
    is_marked: bool = False
    aside: Aside | None = None

    @property
    def title(self) -> str:
        """What a reader must know about it; empty for the reply."""
        return ASIDES[self.aside] if self.aside else ""


def shown(text: object) -> str:
    """Return text as a page shows it: control characters, bidi marks and piles of accents spelled out."""
    return _STACKED.sub(_spelled, escape(str(text), newlines=True))


def _spelled(stack: re.Match[str]) -> str:
    return stack[1] + "".join(f"⟨U+{ord(mark):04X}⟩" for mark in stack[2])


def lang(text: object) -> str:
    """Return the language of a text as HTML names it; an empty name if it is unknown."""
    language = language_of(str(text)[:_MAX_LANGUAGE_CHARACTERS])
    return "" if language == "other" else language


def pieces(
    text: str,
    marks: Iterable[tuple[int, int]],
    own: int | None = None,
    reply: tuple[int, int | None] = (0, None),
) -> list[Piece]:
    """Cut a text where quotes begin and end, and where the reply and the sampled turn do.

    Args:
        text: all that the server sent.
        marks: offsets of quotes. They may overlap; parts outside the text are ignored.
        own: how many characters were written inside the sampled turn.
        reply: where the reply begins and ends in them.
    """
    spans = _merged((max(start, 0), min(end, len(text))) for start, end in marks)
    border = len(text) if own is None else min(own, len(text))
    begin = min(reply[0], border)
    stop = border if reply[1] is None else max(begin, min(reply[1], border))
    cuts = sorted({0, begin, stop, border, len(text), *(cut for span in spans for cut in span)})
    found = []
    for start, end in pairwise(cuts):
        is_marked = any(low <= start and end <= high for low, high in spans)
        aside: Aside | None = "host" if stop <= start < border else None
        aside = "thoughts" if start < begin else "spill" if start >= border else aside
        found.append(Piece(shown(text[start:end]), is_marked, aside))
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
