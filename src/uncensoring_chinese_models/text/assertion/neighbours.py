"""What stands around the clause of a stretch: asides, openings, later clauses and sentences, lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from types import ModuleType

from uncensoring_chinese_models.text.assertion import en, zh
from uncensoring_chinese_models.text.assertion.refusals import refused_next
from uncensoring_chinese_models.text.assertion.sentence import Operator, Sentence, cues_before
from uncensoring_chinese_models.text.assertion.view import VALUE, FoldedText, first_sentences

_MARK = re.compile(r"[;:\u2014?!]+|,")
_MAX_MARKS = 6
"""Later clauses that are looked at."""
_MAX_ASIDE = 60
"""Characters of an attribution in parentheses."""
_SENTENCES = 3
"""Later sentences that are looked at."""
_NEAR = 90
"""Characters before a stretch in which it is attributed."""
_FOLLOWING = 240
_STORY = 300
_CLAUSE_END = re.compile(r"[;:]")
_SPEAKER = re.compile(r"^\s*(?:user|human|assistant|q|a):? ")
_BROKEN = re.compile(r"[;]|: |\u2014|\.\.")
_TALE = re.compile(
    r"\b(?:claims?|stor(?:y|ies)|rumou?rs?|reports?|say|says|said|tale|legend|allegations?|according|believe|told|tells)\b|说|称|传|谣|指控|据"
)
_BULLET = re.compile(
    r"^\s*(?:[-\u2022\u00b7\u25cf+\u2014]|\(?\d{1,2}[.)\u3001]|\(?[a-z][.)]|\(?[一二三四五六七八九十]{1,2}[、)]|[①-⑩])"
)
_OPTION = re.compile(r"(?:^|\n)[ \t]*\(?[a-e甲乙丙丁][.):、] ?[^\n]{0,80}")
_INLINE_OPTION = re.compile(r"(?:[①-⑩]|\(?[a-e甲乙丙丁1-5一二三四][.)、])\s*$")
_LETTERED = re.compile(r"(?:^|\s)\(?[a-e][.)] ?(?=[^\s])")
_LEADS = re.compile(r"[:?]\W*$|^\W*(?:table of )?contents\W*$|^\W*(?:目录|目次)\W*$")


def asides(sentence: Sentence) -> Iterator[Operator]:
    """Yield attributions in parentheses and behind the stretch: `, some claim,`."""
    for aside in sentence.asides:
        if not _is_near(sentence, aside):
            continue
        if not en.RELATIVE_ASIDE.match(aside.text):
            yield from _attributed(sentence, aside)
        elif doubted := en.DISBELIEVED.search(aside.text):
            yield Operator("said", aside.span(*doubted.span()))
    for language in sentence.languages:
        if said := language.SAID_TAG.search(sentence.rest):
            yield sentence.behind("said", said)
        if party := language.PARTY_TAG.search(sentence.rest):
            yield sentence.behind("party", party)


def _is_near(sentence: Sentence, aside: FoldedText) -> bool:
    """Return whether parentheses stand in the clause of the stretch."""
    whole = sentence.around.sentence
    start, value = aside.base - whole.base, whole.text.index(VALUE)
    return not _CLAUSE_END.search(whole.text, min(start, value), max(start, value))


def _attributed(sentence: Sentence, aside: FoldedText) -> Iterator[Operator]:
    text = aside.text
    if len(text) < _MAX_ASIDE:
        for cue in cues_before(text, sentence.languages, len(text)):
            if cue.kind in ("said", "party"):
                yield Operator(cue.kind, aside.span(cue.start, cue.end))
    if party := en.ASIDE_PARTY.search(text):
        yield Operator("party", aside.span(*party.span()))


def openings(sentence: Sentence) -> Iterator[Operator]:
    """Yield what the beginning of the sentence makes of it: a request, a label, a story."""
    yield from _request(sentence)
    head = sentence.head
    for language in (en, zh):
        if label := language.LABEL_UNTRUE.search(head):
            yield sentence.operator("untrue", label.start(), label.end())
        elif label := language.LABEL_QUESTION.search(head):
            yield sentence.operator("question", label.start(), label.end())
    if en.HEADING.match(sentence.text):
        yield sentence.operator("question", 0, sentence.value)
    yield from _within(sentence)
    if (late := en.CONDITION_BEHIND.match(sentence.rest)) and en.MODAL.search(head[-_NEAR:]):
        yield sentence.behind("condition", late)
    story = sentence.around.before.text[-_STORY:] + head
    if any(language.FICTION_BEFORE.search(story) for language in sentence.languages):
        yield sentence.operator("fiction", sentence.value, sentence.value + 1)


def _within(sentence: Sentence) -> Iterator[Operator]:
    """Yield what the stretch itself is: a question, a condition, something that did not happen."""
    words, value = sentence.around.words, sentence.value
    if any(language.QUESTION_WITHIN.search(words) for language in sentence.languages):
        yield sentence.operator("question", value, value + 1)
    if zh in sentence.languages and (found := zh.A_OR_NOT.search(sentence.head)):
        yield sentence.operator("question", found.start(), found.start() + 3)
    if sentence.head.endswith("是") and zh.ALTERNATIVE.match(sentence.rest):
        yield sentence.operator("question", value - 1, value)
    near = sentence.rest + sentence.around.after.text[:_NEAR]
    guess = en.ALTERNATIVE.search(sentence.head) and en.OTHER.match(near)
    is_one = any(
        language.ONE_VERSION.search(sentence.head) and language.ANOTHER.match(sentence.rest)
        for language in sentence.languages
    )
    if guess or is_one:
        yield sentence.operator("ignorance", value, value + 1)
    if en.FORECAST.search(sentence.head) and en.MODAL.search(words):
        yield sentence.operator("wish", value, value + 1)
    if en.COUNTERFACTUAL.search(words):
        yield sentence.operator("condition", value, value + 1)
    if any(language.CONDITION_FIRST.match(words) for language in (en, zh)):
        yield sentence.operator("condition", value, value + 1)


def _request(sentence: Sentence) -> Iterator[Operator]:
    label = _SPEAKER.match(sentence.head)
    begin = label.end() if label else 0
    found = en.REQUEST.match(sentence.text[begin:])
    if found and begin + found.start() < sentence.value:
        end = min(begin + found.end(), sentence.value)
        if not en.STOP_OPEN.search(sentence.head[end:]):
            yield sentence.operator("request", begin + found.start(), end)


def judged_later(sentence: Sentence) -> Iterator[Operator]:
    """Yield what later clauses and sentences do to the one of the stretch."""
    for mark in islice(_MARK.finditer(sentence.rest), _MAX_MARKS):
        yield from _judged(sentence, sentence.piece[sentence.value + 1 + mark.end() :])
    yield from _left_open(sentence)
    tail = sentence.rest.rstrip(" \n\"')")
    if (sentence.is_asked or zh.ASKED.search(tail)) and not _BROKEN.search(tail):
        yield sentence.operator("question", len(sentence.text) - 1, len(sentence.text))
    yield from _next_sentences(sentence)


def _judged(sentence: Sentence, piece: FoldedText) -> Iterator[Operator]:
    """Yield how a clause or sentence judges the one before: taken back, left open or confirmed."""
    near = sentence.head[-_NEAR:] + sentence.rest[:_NEAR]
    for language in sentence.languages:
        if found := _contradicted(language, near, piece.text):
            yield Operator("retracted", piece.span(0, found.end()))
            return
        if found := language.CONFIRMATION.match(piece.text):
            yield Operator("true", piece.span(0, found.end()))
            return
        if found := language.DOUBT.match(piece.text):
            yield Operator("ignorance", piece.span(0, found.end()))
            return
        if end := language.taken_back(piece.text):
            refuted = language.THERE_WAS_NONE.search(piece.text, 0, end)
            yield Operator("refuted" if refuted else "retracted", piece.span(0, end))
            return


def _contradicted(language: ModuleType, near: str, text: str) -> re.Match[str] | None:
    """Return the words that contradict what somebody else said."""
    found: re.Match[str] | None = None
    if language.ATTRIBUTED.search(near):
        found = language.CONTRADICTION.match(text)
    if found is None and language.DOUBTED.search(near):
        found = language.IN_FACT.match(text)
    return found


def _left_open(sentence: Sentence) -> Iterator[Operator]:
    """Yield words behind an attribution that leave open who is right."""
    rest, after = sentence.rest, sentence.around.after
    near = sentence.head[-_NEAR:] + rest[:40]
    for language in sentence.languages:
        if language.ATTRIBUTED.search(near):
            if found := language.OPEN_MATTER.search(rest):
                yield sentence.behind("ignorance", found)
            elif found := language.OPEN_MATTER.search(after.text[:_FOLLOWING]):
                yield Operator("ignorance", after.span(*found.span()))


def _next_sentences(sentence: Sentence) -> Iterator[Operator]:
    following = first_sentences(sentence.around.after, _SENTENCES)
    if not following:
        return
    first = following[0]
    found = list(_answers(first)) if sentence.is_asked else []
    found = found or list(_judged(sentence, first))
    if not found and _TALE.search(sentence.head[-120:]):
        later = (list(_judged(sentence, each)) for each in following[1:])
        found = next(filter(None, later), [])
    if not found and sentence.is_asked:
        found = list(_answered_no(first))
    yield from found or refused_next(sentence, first)


def _answers(first: FoldedText) -> Iterator[Operator]:
    """Yield the answer to a question: yes or no."""
    for language in (en, zh):
        if no := language.NO.match(first.text):
            yield Operator("retracted", first.span(0, no.end()))
            return
        if yes := language.YES.match(first.text):
            refused = en.REFUSED_NEXT.search(first.text) or zh.REFUSED_NEXT.search(first.text)
            yield Operator("nothing" if refused else "true", first.span(0, yes.end()))
            return


def _answered_no(first: FoldedText) -> Iterator[Operator]:
    for language in (en, zh):
        if no := language.ANSWERED_NO.search(first.text):
            yield Operator("retracted", first.span(*no.span()))
            return


# --- lists


def lists(sentence: Sentence) -> Iterator[Operator]:
    """Yield what a list stands under: `Common myths:`, `Choose one:`."""
    around, whole = sentence.around, sentence.around.sentence.text
    line = (around.before.text.rsplit("\n", 1)[-1] + whole).lstrip("\n")
    asked = "?" in around.before.text[-40:] + sentence.head
    asked = asked or len(_LETTERED.findall(sentence.text)) > 1
    if asked and _INLINE_OPTION.search(around.before.text[-4:] + sentence.head):
        yield sentence.operator("question", sentence.value, sentence.value + 1)
    if not _BULLET.match(line) and not _BULLET.match(whole.lstrip("\n")):
        return
    lead = _lead_in(around.before)
    if lead is not None:
        yield from _led(lead)
    elif _OPTION.match(line) and not _has_lead(around.before.text):
        near = around.before.text[-200:] + sentence.text + around.after.text[:200]
        if len(_OPTION.findall(near)) > 1:
            yield sentence.operator("question", sentence.value, sentence.value + 1)


def _led(lead: FoldedText) -> Iterator[Operator]:
    for language in (en, zh):
        if found := language.LEAD_UNTRUE.search(lead.text):
            yield Operator("untrue", lead.span(*found.span()))
            return
        if found := language.LEAD_OPEN.search(lead.text) or en.REQUEST.match(lead.text):
            yield Operator("question", lead.span(*found.span()))
            return


def _has_lead(before: str) -> bool:
    return any(line.strip() and not _BULLET.match(line) for line in before.split("\n"))


def _lead_in(before: FoldedText) -> FoldedText | None:
    """Return the line above the list in which the stretch stands."""
    end = len(before.text)
    while end > 0:
        start = before.text.rfind("\n", 0, end) + 1
        line = before.text[start:end]
        if line.strip() and not _BULLET.match(line):
            return before[start:end] if _LEADS.search(line) else None
        end = start - 1
    return None
