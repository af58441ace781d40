"""Which of the cues before a stretch reach it."""

from __future__ import annotations

import re

from uncensoring_chinese_models.text.assertion import en, zh
from uncensoring_chinese_models.text.assertion.cues import Cue
from uncensoring_chinese_models.text.assertion.sentence import Sentence, cues_before
from uncensoring_chinese_models.text.assertion.view import HAN

_HAN = re.compile(HAN)
_OPENING_CHARS = 24
"""A participle within so many characters opens the sentence."""
_CONTRAST_CHARS = 40
_ASIDE = re.compile(r"^,[^,]{1,50},")
"""Words between two commas right behind a negation: `nobody, least of all the mayor,`."""
_ENDED_BY_COLON = frozenset({"wish", "untrue", "negated", "no_evidence", "ignorance", "denied"})
"""What follows a colon is told in place of what they reach."""


def reaching(sentence: Sentence) -> list[Cue]:
    """Return the cues that reach the stretch, the nearest first."""
    cues = cues_before(sentence.text, sentence.languages, sentence.value)
    return sorted((cue for cue in cues if _reaches(sentence, cue)), key=lambda cue: -cue.start)


def _reaches(sentence: Sentence, cue: Cue) -> bool:
    if cue.kind == "nothing" or cue.end > sentence.value:
        return cue.kind != "nothing"
    between = sentence.text[cue.end : sentence.value]
    if between.rfind("(") > between.rfind(")"):
        return False  # it stands outside the parentheses that hold the stretch
    if "," in sentence.text[_gap(cue) : sentence.value] and _is_closed(sentence, cue, between):
        return False
    return _is_subject(sentence, cue, between) or not _is_stopped(sentence, cue, between)


def _gap(cue: Cue) -> int:
    """Return where the words between a cue and the stretch begin: `he said,` may hold its comma."""
    return cue.end - 1 if cue.kind == "said" else cue.end


def _is_stopped(sentence: Sentence, cue: Cue, between: str) -> bool:
    """Return whether words between a cue and the stretch end what it reaches."""
    if cue.kind in _ENDED_BY_COLON and ":" in between:
        return True
    language = zh if _HAN.match(sentence.text, cue.start) else en
    if cue.kind == "negated" and language is zh:
        return _is_stopped_in_chinese(sentence, cue, between)
    ends = cue.kind == "denied" or (cue.kind == "question" and language is zh)
    if ends and language.OBJECT_ENDS.search(between):
        return True
    if cue.kind == "negated":
        between = _ASIDE.sub("", between)
    return bool(language.STOPS[cue.scope].search(between))


def _is_stopped_in_chinese(sentence: Sentence, cue: Cue, between: str) -> bool:
    """Return whether a negation speaks of something else than the stretch."""
    if zh.ABOUT_IT.match(between) and zh.PRESUPPOSED.match(sentence.rest):
        return True
    if zh.NAMED_FIGURE.match(sentence.rest):
        return "," in between
    opens = not cue.start or sentence.text[cue.start - 1] in ",.;:\n"
    if opens and zh.ATTRIBUTIVE.match(between):
        return True
    return bool(zh.STOPS[cue.scope].search(between))


def _is_subject(sentence: Sentence, cue: Cue, between: str) -> bool:
    """Return whether the stretch is what a negated subject with a clause of its own does."""
    if cue.kind != "negated":
        return False
    if en.WITNESSED.match(between):
        return True
    verb = en.VERB_FIRST.match(sentence.around.words)
    return verb is not None and en.SUBJECT_WITH_CLAUSE.match(between) is not None


def _is_closed(sentence: Sentence, cue: Cue, between: str) -> bool:
    """Return whether the clause of a cue ends with its comma, before the stretch."""
    text = sentence.text
    comma = text.index(",", _gap(cue))
    prefix, head = text[: cue.start], text[: cue.end]
    opens = cue.kind != "condition" and cue.start < _OPENING_CHARS
    if opens and en.PARTICIPLE.match(text):
        return True
    if zh.CONTRAST.search(text[max(0, cue.start - _CONTRAST_CHARS) : comma + 1]):
        return True
    if en.RELATIVE.search(prefix):
        return True
    if cue.kind == "condition":
        return not en.HYPOTHESIS.match(text, cue.start) and _is_consequent(sentence, between)
    opened = prefix if cue.kind == "question" else head
    return bool(en.SUBORDINATE.search(opened) or zh.SUBORDINATE.search(opened))


def _is_consequent(sentence: Sentence, between: str) -> bool:
    """Return whether the stretch follows a condition and is told as so, without `would`."""
    clause = sentence.text[sentence.text.rfind(",", 0, sentence.value) :]
    if _HAN.search(between):
        return zh.CONCESSIVE.search(sentence.head) is not None
    return not en.MODAL.search(clause[:120] + sentence.around.words[:120])
