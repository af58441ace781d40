"""The sentence of a stretch, without the parentheses that do not hold it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import NamedTuple

from uncensoring_chinese_models.text.assertion import en, en_cues, en_words, zh, zh_cues, zh_words
from uncensoring_chinese_models.text.assertion.cues import (
    Cue,
    CueKind,
    Lexicon,
    chinese,
    english,
    find_chinese,
    find_english,
)
from uncensoring_chinese_models.text.assertion.view import HAN, VALUE, FoldedText, Surroundings

_LATIN = re.compile(r"[a-z]{2}")
_HAN = re.compile(HAN)
_MARKED = re.compile(r"[,(\u2014:]")
_NOTATION = re.compile(r'"[^"\n]{0,80}" ?: ?"[^"\n]{0,200}",?')
"""A member of a JSON object; its words are not prose."""
_UNFINISHED = re.compile(
    r"(?:n't|\b(?:not|never|that|which|who|is|was|were|are|has|have|had|did|does|do|will|would|could|of|to))$"
)
_NEAR = 80
"""Characters around a sentence that show its languages, too."""


class Operator(NamedTuple):
    """What acts on a stretch, and where its words stand in the text."""

    kind: CueKind
    place: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sentence:
    """The sentence of a stretch; the stretch is one sign in it."""

    around: Surroundings
    languages: tuple[ModuleType, ...]
    """The modules of patterns for the languages in it."""
    piece: FoldedText
    asides: tuple[FoldedText, ...]
    """The parentheses that were taken out."""
    text: str = field(init=False)
    value: int = field(init=False)
    """Where the sign of the stretch stands."""

    def __post_init__(self) -> None:
        """Look the sign up once."""
        object.__setattr__(self, "text", self.piece.text)
        object.__setattr__(self, "value", self.piece.text.index(VALUE))

    @property
    def head(self) -> str:
        """What stands before the stretch."""
        return self.text[: self.value]

    @property
    def rest(self) -> str:
        """What stands behind it."""
        return self.text[self.value + 1 :]

    @property
    def is_asked(self) -> bool:
        """True if it ends with a question mark."""
        return self.rest.rstrip(" \n\"')").endswith("?")

    def operator(self, kind: CueKind, start: int, end: int) -> Operator:
        """Return what words of this sentence do."""
        return Operator(kind, self.piece.span(start, max(end, start + 1)))

    def behind(self, kind: CueKind, found: re.Match[str]) -> Operator:
        """Return what words do that were found in the rest."""
        offset = self.value + 1
        return self.operator(kind, offset + found.start(), offset + found.end())


def sentence_of(around: Surroundings) -> Sentence:
    """Return the sentence of a stretch."""
    whole = around.sentence
    near = f"{around.before.text[-_NEAR:]}{whole.text}{around.words}{around.after.text[:_NEAR]}"
    languages = [module for module, sign in ((en, _LATIN), (zh, _HAN)) if sign.search(near)]
    spans = _parentheses(whole.text, languages)
    asides = tuple(whole[slice(*span)] for span in spans)
    piece = whole.without([_taken_out(whole.text, *span) for span in spans])
    return Sentence(around, tuple(languages), piece, asides)


def _taken_out(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a parenthesis with the comma behind it, if that cannot close the clause around it."""
    if text[end - 1] == ",":
        end -= 1
    if text[end : end + 1] == "," and _UNFINISHED.search(text[:start]):
        end += 1
    return start, end


def _parentheses(text: str, languages: list[ModuleType]) -> list[tuple[int, int]]:
    if not _MARKED.search(text):
        return []
    patterns = [_NOTATION, *(language.PARENTHESIS for language in languages)]
    found = [
        match.span()
        for pattern in patterns
        for match in pattern.finditer(text)
        if VALUE not in match.group()
    ]
    found.sort()
    return [span for n, span in enumerate(found) if not n or span[0] >= found[n - 1][1]]


# --- the cues of a text


@cache
def _english() -> tuple[Lexicon, Lexicon]:
    """Read the rules when they are first used: to compile them takes a while."""
    families = {**vars(en_words), "VALUE": VALUE}
    return english(en_cues.BEFORE, families), english(en_cues.BEHIND, families)


@cache
def _chinese() -> Lexicon:
    return chinese(zh_cues.BEFORE, {**vars(zh_words), "VALUE": VALUE})


def cues_before(text: str, languages: tuple[ModuleType, ...], stop: int) -> list[Cue]:
    """Return the cues up to an offset that may reach what follows them."""
    cues = find_english(text, _english()[0], 0, stop) if en in languages else []
    return cues + find_chinese(text, _chinese(), 0, stop) if zh in languages else cues


def english_cues_behind(text: str, start: int, stop: int) -> list[Cue]:
    """Return the English predicates that may say something of what stands before them."""
    return find_english(text, _english()[1], start, stop)
