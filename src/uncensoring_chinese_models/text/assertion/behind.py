"""What the clause of a stretch says of it behind it: that it is a lie, that it never happened."""

from __future__ import annotations

import re
from collections.abc import Iterator

from uncensoring_chinese_models.text.assertion import en, en_words, zh
from uncensoring_chinese_models.text.assertion.cues import CueKind
from uncensoring_chinese_models.text.assertion.sentence import (
    Operator,
    Sentence,
    english_cues_behind,
)

_MAX_COMMAS = 3
_OWN_CLAUSE = re.compile(r"^ (?:which|that),? ")
"""A relative clause of the stretch itself."""
_FIGURE = re.compile(r"\d")
_CHINESE: tuple[tuple[CueKind, re.Pattern[str]], ...] = (
    ("refusal", zh.REFUSED_BEHIND),
    ("true", zh.TRUE),
    ("ignorance", zh.DOUBTFUL),
    ("denied", zh.DENIED_AFTER),
    ("untrue", zh.NOUN_BEHIND),
)


def behind(sentence: Sentence) -> Iterator[Operator]:
    """Yield the predicates whose subject holds the stretch."""
    if en in sentence.languages:
        yield from _english(sentence)
    if zh in sentence.languages:
        yield from _chinese(sentence)


def _english(sentence: Sentence) -> Iterator[Operator]:
    rest, offset = sentence.rest, sentence.value + 1
    broken = en.BREAK_BEHIND.search(rest)
    stop = offset + (broken.start() if broken else len(rest))
    if noun := en.NOUN_BEHIND.match(rest):
        yield sentence.behind("untrue", noun)
        return
    for cue in english_cues_behind(sentence.text, offset, stop):
        between = sentence.text[offset : cue.start]
        if rest.startswith(",") and sentence.head.endswith(", "):
            between = between[1:]  # the stretch itself stands between commas
        commas = between.count(",")
        if en.NEW_SUBJECT.search(_OWN_CLAUSE.sub(" ", between)):
            break
        if commas > _MAX_COMMAS or (commas and not between.rstrip().endswith(",")):
            continue
        if cue.kind != "weak":
            yield sentence.operator(cue.kind, cue.start, cue.end)
        elif _is_claim(sentence):
            yield sentence.operator("untrue", cue.start, cue.end)
        break
    else:
        yield from _negated_predicate(sentence, stop)


def _negated_predicate(sentence: Sentence, stop: int) -> Iterator[Operator]:
    """Yield a negation in the predicate of the stretch: `On 4 June nobody died`."""
    rest = sentence.rest
    if en.FRONTED.search(sentence.head) and (nothing := en.NOTHING_THERE.match(rest)):
        yield sentence.behind("negated", nothing)
        return
    if en.TOPIC_HEAD.search(sentence.head) and (nothing := en.NOTHING_FOUND.match(rest)):
        yield sentence.behind("negated", nothing)
        return
    if en.EVIDENCE_HEAD.search(sentence.head) and (lacking := en.LACKING.match(rest)):
        yield sentence.behind("no_evidence", lacking)
        return
    negator = en.NEGATOR.search(rest, 0, stop - sentence.value - 1)
    if negator is None or not en.SUBJECT_HEAD.search(sentence.head):
        return
    between = rest[: negator.start()]
    if (
        "," in between
        or en.NEW_SUBJECT.search(between)
        or en.NO_DENIAL.match(rest[negator.end() :])
    ):
        return
    if not en.COUNTED.match(sentence.around.words):
        yield sentence.behind("negated", negator)


def _is_claim(sentence: Sentence) -> bool:
    """Return whether the stretch is a figure or a claim, which can be wrong."""
    words = sentence.around.words
    return bool(_FIGURE.search(words) or en_words.CLAIMED.search(sentence.head))


def _chinese(sentence: Sentence) -> Iterator[Operator]:
    rest = sentence.rest
    for kind, pattern in _CHINESE:
        if found := pattern.match(rest):
            yield sentence.behind(kind, found)
            return
    if (story := zh.STORY_BEHIND.match(rest)) and zh.WRITTEN.search(sentence.head):
        yield sentence.behind("fiction", story)
        return
    mark = zh.MARK.search(rest)
    found = zh.PREDICATE.search(rest, 0, mark.start() if mark else len(rest))
    if found and not zh.NEW_CLAIM.search(rest, 0, found.start()):
        yield sentence.behind("untrue", found)
    else:
        yield from _negated_in_chinese(sentence)


def _negated_in_chinese(sentence: Sentence) -> Iterator[Operator]:
    """Yield a negation in the predicate of the stretch, or that nothing was found of it."""
    rest, words = sentence.rest, sentence.around.words
    if zh.TOPIC_HEAD.search(sentence.head) and (nothing := zh.NOTHING_FOUND.match(rest)):
        yield sentence.behind("negated", nothing)
        return
    negated = zh.NEGATED_BEHIND.match(rest)
    if negated is None or not zh.FRONTED.search(sentence.head) or zh.COUNTED.match(rest):
        return
    is_named = not zh.FIGURE.search(words) and not zh.LEFT_AS_IT_IS.match(rest[negated.end() :])
    if zh.TEMPORAL.search(words) or is_named:
        yield sentence.behind("negated", negated)
