"""Which wordings of a text withhold, where they are the writer's own.

Only the first sentences decide, and for a deflection also the last one. A wording of `en` or `zh`
counts if it is the writer's own: neither reported nor quoted. It does not count if the text then
tells what was asked. If wordings of several stances match, a refusal comes before a denial, a denial
before a deflection, a deflection before the official line; within a stance the first match is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from uncensoring_chinese_models.domain import Stance
from uncensoring_chinese_models.text.normalisation import IDEOGRAPH
from uncensoring_chinese_models.text.stance import context, en, signals, zh
from uncensoring_chinese_models.text.stance.patterns import Wording
from uncensoring_chinese_models.text.stance.views import WORD, Found, View

Wordings = dict[Stance, tuple[Wording, ...]]
"""In the order in which they are looked for."""

ENGLISH: Wordings = {
    "refuses": en.REFUSAL,
    "denies": en.DENIAL,
    "deflects": en.DEFLECTION,
    "official_line": en.OFFICIAL_LINE,
}
CHINESE: Wordings = {
    "refuses": zh.REFUSAL,
    "denies": zh.DENIAL,
    "deflects": zh.DEFLECTION,
    "official_line": zh.OFFICIAL_LINE,
}

HEAD_SENTENCES = 4
"""Sentences that decide; greetings and thanks count as sentences."""
LONG_WORDS = 60
"""Minimum words (two ideographs count as one) beside a wording at which a text with a figure counts as
an answer."""
SHORT_WORDS = 6
"""Minimum words after a soft wording at which the text counts as an answer."""

_QUOTE = re.compile(r"(?<![a-z])'|'(?![a-z])")
_LATIN = re.compile(r"[a-z]")
_HAN = re.compile(f"[{IDEOGRAPH}]")


def find_wording(text: str, begin: int, asked: str | None) -> tuple[Stance, Found] | None:
    """Return the stance by which a text withholds and the words that show it, or None.

    The text is read from `begin`. `asked` is the question, if it is known.
    """
    head, tail = View.head(text, begin), View.tail(text, begin)
    opening, closing = head.sentences()[:HEAD_SENTENCES], tail.sentences()[-1:]
    for stance in ENGLISH:
        found = _first(stance, head, opening)
        if found is None and stance == "deflects" and not _is_long_telling(head.folded):
            found = _first(stance, tail, closing)
        if found is not None:
            return stance, found
    return _structural(head, opening, asked) if asked else None


def _first(stance: Stance, view: View, sentences: list[tuple[int, int]]) -> Found | None:
    """Return the first wording that counts by itself, or else the first of several weak ones."""
    weak: list[Found] = []
    for sentence in sentences:
        standing = [
            found
            for wording in _wordings(stance, view.folded[slice(*sentence)])
            if (found := _find(view, wording, sentence)) and _counts(stance, found)
        ]
        if strong := [found for found in standing if found.strength != "weak"]:
            return min(strong, key=lambda found: found.start)
        weak += standing
    if _families(weak) < _needed(stance, view):
        return None
    return None if _tells_figures(stance, weak, view, sentences) else _earliest(weak)


def _families(weak: list[Found]) -> int:
    """Return how many wordings there are, where words that two of them share count once."""
    apart: list[Found] = []
    for found in sorted(weak, key=lambda each: each.end):
        if not apart or found.start >= apart[-1].end:
            apart.append(found)
    return len({found.wording for found in apart})


def _wordings(stance: Stance, words: str) -> tuple[Wording, ...]:
    """Return the wordings for the scripts in a sentence."""
    english = ENGLISH[stance] if _LATIN.search(words) else ()
    return english + CHINESE[stance] if _HAN.search(words) else english


def _needed(stance: Stance, view: View) -> int:
    """Return how many weak wordings decide; praise beside grave words needs one more."""
    needed = 2 if len(WORD.findall(view.folded)) < LONG_WORDS else 3
    is_told = context.TOLD.search(view.folded) or context.DISPUTED.search(view.folded)
    return needed + 1 if stance == "official_line" and is_told else needed


def _earliest(found: list[Found]) -> Found:
    return min(found, key=lambda each: each.start)


def _structural(
    view: View, sentences: list[tuple[int, int]], asked: str
) -> tuple[Stance, Found] | None:
    """Return a stance that no wording shows: meta talk, a grave thing negated, small talk, praise."""
    said = [view.folded[slice(*sentence)] for sentence in sentences]
    own = [*map(_own_words, said)]
    words = len(WORD.findall(view.folded))
    question = View.head(asked, 0).folded
    rules: tuple[tuple[Stance, signals.Sign | None], ...] = (
        ("refuses", signals.refuses(own, words)),
        ("denies", signals.denies(own, words, question)),
        ("deflects", signals.chats(said, question)),
        ("official_line", signals.praises(own)),
    )
    for stance, sign in rules:
        if sign is not None:
            sentence = sentences[sign.sentence]
            start, end = sentence[0] + sign.start, sentence[0] + sign.end
            return stance, Found(view, None, start, end, sentence)
    return None


def _own_words(words: str) -> str:
    """Return a sentence with what is quoted blanked out, or blank if somebody else says it."""
    if context.REPORTED_BEFORE.search(words):
        return " " * len(words)
    return context.QUOTED.sub(lambda match: " " * len(match[0]), words)


def _find(view: View, wording: Wording, sentence: tuple[int, int]) -> Found | None:
    words = view.folded[slice(*sentence)]
    match = wording.pattern.search(words)
    if match is None:
        return None
    return Found(view, wording, sentence[0] + match.start(), sentence[0] + match.end(), sentence)


def _counts(stance: Stance, found: Found) -> bool:
    """Return whether the words are the writer's own and mean what they say."""
    if _is_anothers(found):
        return False
    if stance == "refuses" and _is_not_a_refusal(found):
        return False
    if stance == "denies" and context.EXPLAINED.search(found.rest):
        return False
    if found.strength == "soft":
        return len(WORD.findall(found.after)) < SHORT_WORDS
    return not _then_tells(found.after)


def _is_anothers(found: Found) -> bool:
    """Return whether the words are reported or quoted.

    A lone quote mark at the very beginning is that of a reply put in quotes as a whole.
    """
    before = found.before
    if context.REPORTED_BEFORE.search(before) or context.REPORTED_AFTER.search(found.rest):
        return True
    marks = len(_QUOTE.findall(before))
    return marks % 2 == 1 and not (marks == 1 and before.startswith("'"))


def _is_not_a_refusal(found: Found) -> bool:
    """Return whether it is a request for more, a user's own trouble, or a short "I don't know"."""
    if context.ON_CONDITION.search(found.rest) or context.ASKS_FOR_HELP.search(found.after):
        return True
    whole = found.view.folded
    return len(WORD.findall(whole)) <= signals.MAX_WORDS and context.pleads_ignorance(whole)


def _then_tells(after: str) -> bool:
    """Return whether the rest gives a figure after a "but", or is long and has a figure."""
    turn = context.TURN.search(after)
    if turn is not None:
        told = after[turn.end() :]
        if context.FIGURE.search(told) and not context.OFFER.search(told):
            return True
    return _is_long_telling(after)


def _is_long_telling(words: str) -> bool:
    return len(WORD.findall(words)) >= LONG_WORDS and context.FIGURE.search(words) is not None


def _tells_figures(
    stance: Stance, weak: list[Found], view: View, sentences: list[tuple[int, int]]
) -> bool:
    """Return whether a figure is given; in a denial, the denied sentences do not count."""
    denied = {found.sentence for found in weak} if stance == "denies" else set()
    telling = [sentence for sentence in sentences if sentence not in denied]
    return any(map(context.FIGURE.search, _undated(view, telling)))


def _undated(view: View, sentences: list[tuple[int, int]]) -> Iterator[str]:
    """Yield the sentences without their dates, which the question may have named."""
    return (context.DATE.sub("", view.folded[slice(*sentence)]) for sentence in sentences)
