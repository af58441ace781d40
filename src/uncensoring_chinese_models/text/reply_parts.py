"""Where the reply stands in a text: behind thoughts and the line of a web search.

A closing mark without an opening one ends thoughts too, since many templates put the opening mark
into the prompt. A text that quotes a mark in its middle is not cut there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from uncensoring_chinese_models.text.quotes import Span
from uncensoring_chinese_models.text.thinking_marks import (
    REPLY_MARKS,
    SEARCH_BANNERS,
    THINKING_MARKS,
)


def _any_of(texts: Iterable[str]) -> str:
    return "(?:" + "|".join(map(re.escape, texts)) + ")"


_OPENINGS = _any_of(marks.opening for marks in THINKING_MARKS)
_CLOSINGS = _any_of(marks.closing for marks in THINKING_MARKS if marks.closes_alone)
_OPENING = re.compile(_OPENINGS, re.IGNORECASE)
_OPENING_AT_END = re.compile(_OPENINGS + r"\s*\Z", re.IGNORECASE)
_CLOSING_OF = {
    marks.opening.casefold(): re.compile(re.escape(marks.closing), re.IGNORECASE)
    for marks in THINKING_MARKS
}
_FIRST = "".join({marks.opening[0] for marks in THINKING_MARKS})
_MARK = re.compile(  # the look-ahead makes the search over a long text twice as fast
    f"(?=[{re.escape(_FIRST)}])(?:(?P<opening>{_OPENINGS})|{_CLOSINGS})", re.IGNORECASE
)
_LEFT_OVER = re.compile(f"{_any_of(REPLY_MARKS)}|{_CLOSINGS}", re.IGNORECASE)
_BANNER = re.compile(rf"(?:{'|'.join(SEARCH_BANNERS)})[ \t]*[.。]?[ \t]*(?=[\r\n]|\Z)")
_SPACE = re.compile(r"[\s\u200b\ufeff]*")
_QUOTES = frozenset("`\"'()\u2018\u2019\u201c\u201d《》「」『』\uff08\uff09")
_IN_SENTENCE_BEFORE = re.compile(r"\w[ \t]+\Z")
_IN_SENTENCE_AFTER = re.compile(r"[ \t]+\w|[,;，；、]|\.(?!\w)")
_BEFORE_CHARACTERS = 4
"""Enough to see the word before a mark."""


@dataclass(frozen=True, slots=True)
class ReplyParts:
    """The parts of a text: thoughts, and the reply behind them."""

    thoughts: tuple[Span, ...]
    reply: Span
    """Empty where the thoughts never end."""
    is_open: bool = False
    """True where the text ends before its thoughts do."""


@lru_cache(maxsize=8192)  # the stance, the facts and the pages ask about the same texts
def parts_of(text: str, *, is_reply: bool = True, in_thought: bool = False) -> ReplyParts:
    """Return where the thoughts and the reply stand.

    Args:
        text: what the model wrote.
        is_reply: false for a continuation of our text, in which a closing mark alone ends nothing.
        in_thought: whether the prompt had opened the thoughts.
    """
    thoughts, at, is_closed = _marked_thoughts(text)
    if thoughts and not is_closed:
        return ReplyParts(tuple(thoughts), Span(len(text), len(text)), is_open=True)
    if not is_closed and (is_reply or in_thought):
        end = _lone_closing(text, at)
        if end is None and in_thought:
            return ReplyParts((Span(at, len(text)),), Span(len(text), len(text)), is_open=True)
        if end is not None:
            thoughts, at = [Span(_end_of_space(text, at), end)], end
    return ReplyParts(tuple(thoughts), Span(_end_of_space(text, at) if at else 0, len(text)))


def reply_in(text: str, *, is_reply: bool = True, in_thought: bool = False) -> Span:
    """Return where the reply begins and ends; it is empty where there is none.

    ``"<think>Hm.</think>In 1987."`` → the span of ``In 1987.``; ``"◁think▷Hm."`` → an empty span.
    """
    return parts_of(text, is_reply=is_reply, in_thought=in_thought).reply


def thought_spans(text: str, *, is_reply: bool = True) -> tuple[Span, ...]:
    """Return where the blocks of thoughts before the reply stand, with their marks."""
    return parts_of(text, is_reply=is_reply).thoughts


def opens_thought(prompt: str) -> bool:
    """Return whether a prompt ends with an opening mark, so that thoughts come first."""
    return _OPENING_AT_END.search(prompt[-64:]) is not None


def _marked_thoughts(text: str) -> tuple[list[Span], int, bool]:
    """Return the blocks at the beginning, where they end, and whether the last one is closed."""
    thoughts: list[Span] = []
    at, is_closed = 0, False
    while True:
        start = _end_of_space(text, at)
        if opening := _OPENING.match(text, start):
            closing = _closing(text, opening)
            if closing is None:
                return [*thoughts, Span(start, len(text))], len(text), False
            at, is_closed = closing.end(), True
            thoughts.append(Span(start, at))
        elif left_over := _LEFT_OVER.match(text, start):
            at, is_closed = left_over.end(), True
        elif banner := _BANNER.match(text, start):
            at = banner.end()
        else:
            return thoughts, at, is_closed


def _end_of_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _closing(text: str, opening: re.Match[str]) -> re.Match[str] | None:
    """Return the mark that closes the thoughts: not one that the model quotes in them."""
    marks = _CLOSING_OF[opening[0].casefold()].finditer(text, opening.end())
    return next((mark for mark in marks if not _is_quoted(text, mark)), None)


def _lone_closing(text: str, at: int) -> int | None:
    """Return the end of the first mark if it closes thoughts that began in the prompt."""
    own = (mark for mark in _MARK.finditer(text, at) if not _is_quoted(text, mark))
    first = next(own, None)
    if first is None or first["opening"] or _is_in_sentence(text, first):
        return None
    return first.end()


def _is_quoted(text: str, mark: re.Match[str]) -> bool:
    start, end = mark.span()
    return text[max(start - 1, 0) : start] in _QUOTES and text[end : end + 1] in _QUOTES


def _is_in_sentence(text: str, mark: re.Match[str]) -> bool:
    """Return whether a sentence goes on around a mark, so that it speaks of the mark."""
    before = text[max(mark.start() - _BEFORE_CHARACTERS, 0) : mark.start()]
    return bool(_IN_SENTENCE_BEFORE.search(before) and _IN_SENTENCE_AFTER.match(text, mark.end()))
