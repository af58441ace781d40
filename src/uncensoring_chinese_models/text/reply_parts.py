"""Where the reply stands in a text: behind thoughts and the line of a web search.

A closing mark without an opening one ends thoughts too, since many templates put the opening mark
into the prompt. A text that quotes a mark in its middle is not cut there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from uncensoring_chinese_models.text.quotes import Span
from uncensoring_chinese_models.text.thinking_marks import (
    REPLY_MARKS,
    SEARCH_BANNERS,
    THINKING_MARKS,
    THINKING_TAG,
)


def _any_of(texts: Iterable[str]) -> str:
    return "(?:" + "|".join(map(re.escape, texts)) + ")"


_TAG = re.compile(rf"<\s?({THINKING_TAG})\s?>", re.IGNORECASE)
_OPENINGS = f"(?:{_any_of(marks.opening for marks in THINKING_MARKS)}|{_TAG.pattern})"
_CLOSINGS = (
    f"(?:{_any_of(marks.closing for marks in THINKING_MARKS if marks.closes_alone)}"
    rf"|</\s?(?:{THINKING_TAG})\s?>)"
)
_OPENING = re.compile(_OPENINGS, re.IGNORECASE)
_OPENING_AT_END = re.compile(_OPENINGS + r"\s*\Z", re.IGNORECASE)
_CLOSING_OF = {marks.opening.casefold(): re.escape(marks.closing) for marks in THINKING_MARKS}
_FIRST = "".join({marks.opening[0] for marks in THINKING_MARKS})
_MARK = re.compile(  # the look-ahead makes the search over a long text twice as fast
    f"(?=[{re.escape(_FIRST)}])(?:(?P<opening>{_OPENINGS})|{_CLOSINGS})", re.IGNORECASE
)
_LEFT_OVER = re.compile(f"{_any_of(REPLY_MARKS)}|{_CLOSINGS}", re.IGNORECASE)
_BANNER = re.compile(
    rf"(?:[^\w\s]{{1,3}}[ \t]?)?(?:{'|'.join(SEARCH_BANNERS)})[ \t]*[.。:：…]?[ \t]*(?=[\r\n]|\Z)"
)
_SPACE = re.compile(r"[\s\u200b\ufeff]*")
_QUOTES = frozenset("`\"'()\u2018\u2019\u201c\u201d《》「」『』\uff08\uff09")
_IN_SENTENCE_BEFORE = re.compile(r"\w[ \t]+\Z")
_IN_SENTENCE_AFTER = re.compile(r"[ \t]+\w|[,;，；、]|\.(?!\w)")
_SPOKEN_OF_BEFORE = re.compile(r"(?:[是以用写寫]|标记|標記|标签|標籤|符号|符號)\Z")
_SPOKEN_OF_AFTER = re.compile(
    r"[ \t]+(?:(?:is|are|was|were|means|opens?|closes?|tags?|marks?|tokens?|and </?)\b)"
    r"|[ \t]*(?:标签|標籤|标记|標記|表示|是一[个種种個])"
)
_BEFORE_CHARACTERS = 4
"""Enough to see the word before a mark."""
_MAX_NESTED = 64
"""So many marks inside a block are looked at for blocks inside it."""


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
        end = _lone_closing(text, at, in_thought=in_thought)
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
        opening, left_over = _OPENING.match(text, start), _LEFT_OVER.match(text, start)
        mark = opening or left_over
        if mark and not is_closed and _SPOKEN_OF_AFTER.match(text, mark.end()):
            return thoughts, at, is_closed
        if opening:
            closing = _closing(text, opening)
            if closing is None:
                return [*thoughts, Span(start, len(text))], len(text), False
            at, is_closed = closing.end(), True
            thoughts.append(Span(start, at))
        elif left_over:
            at, is_closed = left_over.end(), True
        elif banner := _BANNER.match(text, start):
            at = banner.end()
        else:
            return thoughts, at, is_closed


def _end_of_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _closing(text: str, opening: re.Match[str]) -> re.Match[str] | None:
    """Return the mark that closes the thoughts: not one that the model speaks of in them.

    Blocks inside the block have their own closing marks. If these do not come out even, the first
    closing mark counts.
    """
    found = _pair_of(opening[0]).finditer(text, opening.end())
    marks = (mark for mark in found if not _is_quoted(text, mark))
    first, depth = None, 1
    for mark in islice(marks, _MAX_NESTED):
        is_closing = mark["closing"] is not None
        first = first or (mark if is_closing else None)
        if _is_in_sentence(text, mark):
            continue
        depth += -1 if is_closing else 1
        if depth == 0:
            return mark
    return first or next((mark for mark in marks if mark["closing"] is not None), None)


@lru_cache(maxsize=256)
def _pair_of(opening: str) -> re.Pattern[str]:
    """Return the pattern of an opening mark, and of the mark that closes it."""
    tag = _TAG.fullmatch(opening)
    name = re.escape(tag[1]) if tag else ""
    closing = rf"</\s?{name}\s?>" if tag else _CLOSING_OF[opening.casefold()]
    return re.compile(f"(?P<closing>{closing})|{re.escape(opening)}", re.IGNORECASE)


def _lone_closing(text: str, at: int, *, in_thought: bool) -> int | None:
    """Return the end of the first mark if it closes thoughts that began in the prompt."""
    own = (mark for mark in _MARK.finditer(text, at) if not _is_quoted(text, mark))
    first = next(own, None)
    if first is None or first["opening"] or _is_in_sentence(text, first):
        return None
    if not in_thought and _is_spoken_of(text, first):
        return None
    return first.end()


def _is_quoted(text: str, mark: re.Match[str]) -> bool:
    start, end = mark.span()
    return text[max(start - 1, 0) : start] in _QUOTES and text[end : end + 1] in _QUOTES


def _is_spoken_of(text: str, mark: re.Match[str]) -> bool:
    """Return whether the words around a mark say what it is."""
    before = text[max(mark.start() - _BEFORE_CHARACTERS, 0) : mark.start()]
    return bool(_SPOKEN_OF_BEFORE.search(before) or _SPOKEN_OF_AFTER.match(text, mark.end()))


def _is_in_sentence(text: str, mark: re.Match[str]) -> bool:
    """Return whether a sentence goes on around a mark, so that it speaks of the mark."""
    before = text[max(mark.start() - _BEFORE_CHARACTERS, 0) : mark.start()]
    return bool(_IN_SENTENCE_BEFORE.search(before) and _IN_SENTENCE_AFTER.match(text, mark.end()))
