"""A refusal by which a sentence, or the next one, passes over a stretch."""

from __future__ import annotations

import re
from collections.abc import Iterator

from uncensoring_chinese_models.text.assertion import en, zh
from uncensoring_chinese_models.text.assertion.sentence import Operator, Sentence
from uncensoring_chinese_models.text.assertion.view import FoldedText
from uncensoring_chinese_models.text.stance import en as stance_en
from uncensoring_chinese_models.text.stance import zh as stance_zh

_APART = re.compile(
    r"[,;:\u2014!?.]| (?:and|but|so|because|since|though|although) |但|不过|因此|所以|了"
)
"""Between a stretch and a refusal: the clause of the stretch has ended."""
_BARE_CHARS = 60
"""A sentence of fewer characters may be a bare topic."""


def refusals(sentence: Sentence) -> Iterator[Operator]:
    """Yield the first refusal that governs the stretch."""
    for start, end in _spans(sentence):
        if _governs(sentence, start, end):
            yield sentence.operator("refusal", start, end)
            return


def _governs(sentence: Sentence, start: int, end: int) -> bool:
    text, value = sentence.text, sentence.value
    if end <= value:
        between, before = text[end:value], text[:start]
        if en.STOP_OPEN.search(between) or zh.STOP_OPEN.search(between):
            return False
        closed = en.SUBORDINATE.search(before) or zh.SUBORDINATE.search(before)
        return "," not in between or not closed
    if start <= value or not _APART.search(text[value + 1 : start]):
        return True
    clause = max(text.rfind(mark, 0, value) for mark in ",;:") + 1
    return _is_topic(text[:start]) or _is_topic(text[clause:start])


def _is_topic(words: str) -> bool:
    return bool(en.TOPIC.match(words) or zh.TOPIC.match(words))


def _spans(sentence: Sentence) -> Iterator[tuple[int, int]]:
    """Yield where the recogniser of stances, and patterns of ours, see a refusal."""
    plain = sentence.text.replace('"', "'").replace("\u2014", "-")
    for language, wordings in ((en, stance_en.REFUSAL), (zh, stance_zh.REFUSAL)):
        if language in sentence.languages and language.FIRST_PERSON.search(plain):
            found = (wording.search(plain) for wording in wordings)
            yield from (match.span() for match in found if match)
    if zh in sentence.languages and (late := zh.REFUSED_AFTER.search(plain, sentence.value)):
        yield late.span()


def refused_next(sentence: Sentence, first: FoldedText) -> Iterator[Operator]:
    """Yield a refusal in the next sentence, if the one of the stretch is a bare topic."""
    if len(sentence.text) < _BARE_CHARS and _is_topic(sentence.text.strip(" .!\n")):
        for language in (en, zh):
            if refused := language.REFUSED_NEXT.search(first.text):
                yield Operator("refusal", first.span(*refused.span()))
                return
