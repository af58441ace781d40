"""The decisive words of a claim: its figures, dates, names and rare words, else its common ones.

Who first writes these words has made the claim. Dates and numbers are read as values, so that
``the third of September`` is ``3 September`` and ``two hundred and twelve`` or ``二百一十二`` is 212.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property, lru_cache
from typing import Literal, NamedTuple

from uncensoring_chinese_models.text.normalisation import IDEOGRAPH, normalise
from uncensoring_chinese_models.text.numbers import (
    FIGURE,
    HAN_DAY,
    HAN_NUMBER,
    MONTH_NAMES,
    NUMBER_WORDS,
    SCALE_WORDS,
    SHORT_YEAR,
    date_key,
    figure_key,
    figure_value,
    han_value,
    spelt_value,
)
from uncensoring_chinese_models.text.quotes import SMALL_WORDS
from uncensoring_chinese_models.text.words import most_common_words, stem

Weight = Literal["rare", "name", "common"]

COMMON_NAMES, COMMON_WORDS = 12_000, 16_000
"""A word below this rank in the list of common words is rare; the first is for words with a capital."""
SMALL_FIGURE = 12
"""Figures up to this occur in every text, and decide nothing alone."""

_TOKEN = re.compile(
    r"(?P<date>(?<!\d)(?:(?P<month>1[0-2]|0?[1-9])月(?P<day>[12]\d|3[01]|0?[1-9])[日号號]"
    rf"|(?P<han_month>{HAN_DAY})月(?P<han_day>{HAN_DAY})[日号號]))"
    r"|(?P<iso>(?<=(?<!\d)\d{4}[\-/])(?P<iso_month>1[0-2]|0?[1-9])[\-/]"
    r"(?P<iso_day>[12]\d|3[01]|0?[1-9])(?!\d|[\-/]\d))"
    rf"|(?P<short>{SHORT_YEAR})?(?P<figure>{FIGURE})(?:st|nd|rd|th)?(?![^\W{IDEOGRAPH}])|(?P<han>{HAN_NUMBER})"
    rf"|(?P<ideographs>(?:(?!{HAN_NUMBER}|{HAN_DAY}月{HAN_DAY}[日号號])[{IDEOGRAPH}])+)"
    rf"|(?P<word>[^\W_{IDEOGRAPH}]+)(?:'s(?!\w))?"
)
_WITHIN_NUMBER = re.compile(r"[ -]|,? and ")
_WITHIN_DATE = re.compile(r"\.? (?:(?:day )?of )?|,? (?:the )?")
_SIGN = re.compile(f"[{IDEOGRAPH}]")
_LATIN = re.compile("[a-z\u00df-\u024f]+")
_FRAME = frozenset(
    stem(word)
    for word in str.split(
        "about aware awareness claim claims confirm confirmed confirms detail details event events "
        "fact facts information knew know knowledge known knows mention mentions model models "
        "recall recalls remembers said say says state states target tell tells that topic"
    )
)
"""Words that frame a claim (`the model knows that`); they are not part of it."""


class Word(NamedTuple):
    """One word, figure, date or name of a text."""

    key: str
    """The same for every spelling and inflection."""
    start: int
    """First character in the text as written."""
    end: int
    weight: Weight
    at: int
    """Where it begins in the normalised text, and ends there."""
    until: int


@dataclass(frozen=True)
class KeywordReading:
    """The words of a text."""

    text: str

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """Every word that means something, in order."""
        counted = list(_counted(list(_plain(self.text)), self._folded))
        return tuple(_dated(self.text, counted, self._folded))

    @cached_property
    def names(self) -> tuple[Word, ...]:
        """Runs of common words that are written as names: ``Copper Watch``."""
        return tuple(_runs(self.text, self.words, self._folded))

    @cached_property
    def _folded(self) -> str:
        return normalise(self.text).text

    @cached_property
    def _keys(self) -> frozenset[str]:
        return frozenset(word.key for word in self.words)

    def find(self, key: str) -> tuple[int, int] | None:
        """Return the first place of a word or name, in any spelling."""
        parts = key.split(" ")
        if not self._keys.issuperset(parts):
            return None
        for at in range(len(self.words)):
            run = self.words[at : at + len(parts)]
            if [word.key for word in run] == parts:
                return run[0].start, run[-1].end
        return None


@lru_cache(maxsize=2048)
def read(text: str) -> KeywordReading:
    """Return the words of a text; the same text is read once."""
    return KeywordReading(text)


def rare_words(claim: str, topic: str) -> tuple[str, ...]:
    """Return the keys of the figures, dates, rare names and rare words that a claim adds to its topic."""
    return _added((word for word in read(claim).words if word.weight == "rare"), topic)


def proper_names(claim: str, topic: str) -> tuple[str, ...]:
    """Return the keys of the names made of common words that a claim adds to its topic."""
    return _added(read(claim).names, topic)


def all_words(claim: str, topic: str) -> tuple[str, ...]:
    """Return the keys of everything that a claim adds to its topic and to its own frame."""
    return _added((word for word in read(claim).words if word.key not in _FRAME), topic)


def _added(words: Iterator[Word] | Sequence[Word], topic: str) -> tuple[str, ...]:
    given = {word.key for word in read(topic).words}
    keys = dict.fromkeys(word.key for word in words)
    return tuple(key for key in keys if not all(_is_given(part, given) for part in key.split(" ")))


def _is_given(key: str, given: set[str]) -> bool:
    """Return whether the topic holds a word or its root: ``protest`` for ``protester``."""
    near = key[: max(5, len(key) - 3)]
    return key in given or any(
        word.startswith(near) or key.startswith(word) for word in given if len(word) > 4
    )


def script_of(text: str) -> Literal["han", "other"] | None:
    """Return the script of most of a text; an ideograph weighs as much as three letters."""
    signs = len(_SIGN.findall(text))
    letters = sum(map(str.isalpha, text)) - signs
    return ("han" if 3 * signs >= letters else "other") if signs or letters > 0 else None


# --- reading ------------------------------------------------------------------------------------


def _plain(text: str) -> Iterator[Word]:
    """Yield words and figures; of ideographs every pair, because Chinese does not mark word ends."""
    folded = normalise(text)
    for match in _TOKEN.finditer(folded.text):
        kind = str(match.lastgroup)
        at, until = match.span(kind)
        start, end = folded.span(at, until)
        if kind == "ideographs":
            for i in range(at, max(until - 1, at + 1)):
                pair = min(i + 2, until)
                yield Word(folded.text[i:pair], *folded.span(i, pair), "common", i, pair)
        elif kind != "word":
            is_short = bool(match["short"]) and text[start - 1] in "'\u2018\u2019"
            yield _valued(match, (start, end), is_short=is_short)
        elif match[kind] not in SMALL_WORDS or match[kind] in NUMBER_WORDS:
            root = stem(match[kind])
            weight = _weight(root, is_capital=text[start].isupper())
            yield Word(root, start, end, weight, at, until)


def _valued(match: re.Match[str], span: tuple[int, int], *, is_short: bool) -> Word:
    """Return a date, a figure or a number in Chinese as a word."""
    kind = str(match.lastgroup)
    if kind == "figure":
        value = figure_value(match["digits"], match["scale"] or "", is_short=is_short)
        return _figure(value, span, match.span(kind))
    if kind == "han":
        return _figure(han_value(match[kind]), span, match.span(kind))
    month = match["month"] or match["han_month"] or match["iso_month"]
    date = date_key(month, match["day"] or match["han_day"] or match["iso_day"])
    return Word(date or match[kind], *span, "rare", *match.span(kind))


def _figure(value: Decimal | int, span: tuple[int, int], folded: tuple[int, int]) -> Word:
    return Word(figure_key(value), *span, "rare" if value > SMALL_FIGURE else "common", *folded)


def _weight(root: str, *, is_capital: bool) -> Weight:
    is_word = _LATIN.fullmatch(root) is not None and len(root) >= 3 - is_capital
    common = _common_stems(COMMON_NAMES if is_capital else COMMON_WORDS)
    return "rare" if is_word and root not in common else "common"


@cache
def _common_stems(most: int) -> frozenset[str]:
    return frozenset(map(stem, (*most_common_words(most), *NUMBER_WORDS, *SCALE_WORDS)))


def _counted(words: list[Word], folded: str) -> Iterator[Word]:
    """Read numbers in words as figures."""
    at = 0
    while at < len(words):
        end = at + 1
        if _is_number(words[at], folded):
            while end < len(words) and _goes_on(words[end - 1], words[end], folded):
                end += 1
            yield _spelt(words[at:end], folded)
        else:
            yield words[at]
        at = end


def _is_number(word: Word, folded: str) -> bool:
    spelling = folded[word.at : word.until]
    return spelling in NUMBER_WORDS or spelling in SCALE_WORDS


def _goes_on(before: Word, after: Word, folded: str) -> bool:
    joint = folded[before.until : after.at]
    return _is_number(after, folded) and _WITHIN_NUMBER.fullmatch(joint) is not None


def _spelt(words: list[Word], folded: str) -> Word:
    value = spelt_value(folded[word.at : word.until] for word in words)
    return _figure(value, (words[0].start, words[-1].end), (words[0].at, words[-1].until))


def _dated(text: str, words: list[Word], folded: str) -> Iterator[Word]:
    """Read a day beside a month as one date."""
    at = 0
    while at < len(words):
        pair = words[at : at + 2]
        day = _day_of(pair, text, folded)
        if day:
            yield Word(day, pair[0].start, pair[1].end, "rare", pair[0].at, pair[1].until)
        else:
            yield words[at]
        at += 2 if day else 1


def _day_of(pair: list[Word], text: str, folded: str) -> str | None:
    if len(pair) < 2 or not _WITHIN_DATE.fullmatch(folded[pair[0].until : pair[1].at]):
        return None
    for day, month in (pair, pair[::-1]):
        name = MONTH_NAMES.get(folded[month.at : month.until])
        is_month = name and text[month.start].isupper()  # else it may be a verb
        if is_month and day.key.isdecimal() and 1 <= int(day.key) <= 31:
            return f"{day.key}-{name}"
    return None


def _runs(text: str, words: Sequence[Word], folded: str) -> Iterator[Word]:
    run: list[Word] = []
    for word in (*words, None):
        is_name = word is not None and text[word.start].isupper() and word.key not in _FRAME
        goes_on = is_name and word and run and folded[run[-1].until : word.at] == " "
        if not goes_on:
            if len(run) > 1 and all(each.weight == "common" for each in run):
                key = " ".join(each.key for each in run)
                yield Word(key, run[0].start, run[-1].end, "name", run[0].at, run[-1].until)
            run = []
        if word is not None and is_name:
            run.append(word)
