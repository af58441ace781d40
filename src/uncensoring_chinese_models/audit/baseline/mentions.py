"""Find what a text names: dates, figures, names and rare words, with their places.

Two texts agree when they name the same thing, however they put it. A thing is *specific* if a text
would hardly name it by chance; common names, round figures and years are not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from uncensoring_chinese_models.audit.baseline.countries import COUNTRIES, DEMONYMS
from uncensoring_chinese_models.text import (
    CARDINALS,
    MAX_FIGURE_CHARACTERS,
    MONTHS,
    NUMBER_WORDS,
    day_words,
    most_common_words,
    singular,
    spelt_value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["date", "number", "name", "word"]

COMMON_PARTS = 8_000
COMMON_FORMS = 10_000
COMMON_WORDS = 10_000
COMMON_NAMES = 25_000
"""Ranks in the list of common words. A word above the rank does not count as part of a rare compound,
as the root of a rare form, as a rare word, or as a rare name."""

_MONTH = f"(?a:{'|'.join(MONTHS)})"  # else the long s would match an s
_SPELT_DAY = day_words()
_COUNTING = frozenset({*NUMBER_WORDS, *_SPELT_DAY})
_DAYS = "|".join(sorted(_SPELT_DAY, key=len, reverse=True))
_DAY = rf"\d{{1,2}}(?:st|nd|rd|th)?|(?a:{_DAYS})"
_DATE = re.compile(
    rf"(?<!\w)(?:({_DAY})(?: day)?(?: of)? ({_MONTH})|({_MONTH}) (?:the )?({_DAY}))(?!\w)"
    r"|(?<!\d)(\d{1,2})月(\d{1,2})日",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?!\w)|(?<![\w.,])\d+(?![\w%]|[.,]\d)")
_NUMBER_WORD = "|".join([*CARDINALS, "hundred", "thousand"])
"""Without `million`: after digits (`15 million`) it would be read as a number of its own."""
_LETTERS = re.compile("[a-z]+")
_SPELT = re.compile(
    rf"(?<!\w)(?:{_NUMBER_WORD})(?:(?:[ -]| and )(?:{_NUMBER_WORD}))*(?!\w)", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_INFLECTION = re.compile("(?<=[a-z]{3})(?:ed|ing|ingly|er|est|ly|ness|less|ful|fully)$")
_SENTENCE_START = re.compile(r"(?:\A|[.!?。！？\n:;“\"]\s*)\Z")
_DESCRIBES = re.compile("(?:ese|ish|ian|ean|can|ist)$")
"""The end of many words that say of what people something is: Chinese, British, Russian, Communist."""
_NEXT_WORD = re.compile(" ([a-z]+)")
POSSESSIVE = re.compile("['\u2019]s?$")
_WITHIN = re.compile(r"(?<!\w)(?:of|in|within|across|throughout) (?:the )?\Z", re.IGNORECASE)
"""Words after which the name of a country only says where something is."""
_LIST_MARK = re.compile(r"(?:\A|\n)[ \t]*[-*#>(\[]*[ \t]*\Z")
_LIST_POINT = re.compile(r"[.):\]]\**(?:\s|\Z)|\u3001")
_FUNCTION_WORDS = frozenset(
    str.split(
        "a about above after again against all also am an and any are as at be because been before being "
        "below between both but by can could did do does doing down during each every few for from "
        "further had has have having he her here hers him his how i if in into is it its itself just let "
        "may me might more most must my no nor not now of off on once one only or other our out over own "
        "said same say says she should so some still such than that the their theirs them then there "
        "these they this those through to too two under until up upon us very was we were what when "
        "where which while who whom why will with would yes yet you your"
    )
)


@dataclass(frozen=True, slots=True)
class NamedThing:
    """One thing that a text names."""

    key: str
    """The thing, spelled one way."""
    kind: Kind
    start: int
    end: int
    is_specific: bool

    @property
    def is_telling(self) -> bool:
        """True for what two texts hardly share by chance: not a mere word, not a figure below 100."""
        is_short = self.kind == "number" and len(self.key) < 3
        return self.is_specific and self.kind != "word" and not is_short


def stems(text: str) -> frozenset[str]:
    """Return the singulars of all words of a text, and its figures and dates as keys."""
    counted = {each.key for each in (*_dates(text), *_figures(text))}
    return frozenset({*map(singular, _WORD.findall(text)), *re.findall(r"\d+", text), *counted})


def content_stems(text: str) -> frozenset[str]:
    """Return the singulars of the words that carry content."""
    words = (word.lower() for word in _WORD.findall(text))
    return frozenset(singular(word) for word in words if word not in _FUNCTION_WORDS)


@cache
def common_stems(most: int) -> frozenset[str]:
    """Return the singulars of the most common English words, up to this rank."""
    return frozenset(map(singular, most_common_words(most)))


def find_mentions(text: str, ours: frozenset[str]) -> list[NamedThing]:
    """Return what a text names, except what our own words name; `ours` are their singulars."""
    dates = list(_dates(text))
    figures = [each for each in _figures(text) if not _overlaps(each, dates)]
    taken = [*dates, *figures]
    names = [each for each in _names(text, ours) if not _overlaps(each, taken)]
    found = [*taken, *names]
    return sorted((each for each in found if not _is_ours(each, ours)), key=lambda m: m.start)


def _overlaps(one: NamedThing, others: list[NamedThing]) -> bool:
    return any(one.start < other.end and other.start < one.end for other in others)


def _is_ours(mention: NamedThing, ours: frozenset[str]) -> bool:
    return mention.key in ours or all(part in ours for part in mention.key.split())


def _dates(text: str) -> Iterator[NamedThing]:
    for match in _DATE.finditer(text):
        if match[5]:
            day, month = int(match[6]), int(match[5])
        else:
            day = _day(match[1] or match[4])
            month = MONTHS.index((match[2] or match[3]).lower()) + 1
        if 1 <= day <= 31 and 1 <= month <= 12:
            yield NamedThing(f"{day} {MONTHS[month - 1]}", "date", *match.span(), is_specific=True)


def _day(word: str) -> int:
    digits = re.match(r"\d+", word)
    return int(digits[0]) if digits else _SPELT_DAY[word.lower()]


def _figures(text: str) -> Iterator[NamedThing]:
    for match in _FIGURE.finditer(text):
        if len(match[0]) > MAX_FIGURE_CHARACTERS or _numbers_a_list(text, match):
            continue
        value = int(match[0].replace(",", ""))
        yield _figure(value, match, is_year="," not in match[0] and 1000 <= value <= 2100)
    for match in _SPELT.finditer(text):
        value = spelt_value(_LETTERS.findall(match[0].lower()))
        if value >= 13:  # smaller numbers occur in every text
            yield _figure(value, match, is_year=False)


def _numbers_a_list(text: str, match: re.Match[str]) -> bool:
    """Return whether a figure is only the number of an entry in a list.

    A text that begins with a figure may have counted something; a list begins with 1, or goes on.
    """
    mark = _LIST_MARK.search(text, 0, match.start())
    if mark is None or len(match[0]) > 2 or not _LIST_POINT.match(text, match.end()):
        return False
    following = re.compile(rf"\n\W*{int(match[0]) + 1}[.):\]\u3001]")
    return mark.start() > 0 or text[0] == "\n" or match[0] == "1" or bool(following.search(text))


def _figure(value: int, match: re.Match[str], *, is_year: bool) -> NamedThing:
    digits = str(value).rstrip("0")
    is_specific = len(digits) > 1 and value > 12 and not is_year
    return NamedThing(str(value), "number", *match.span(), is_specific=is_specific)


def _names(text: str, ours: frozenset[str]) -> Iterator[NamedThing]:
    """Yield rare words, and runs of common words that are written as names."""
    run: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        word = match[0]
        root = singular(word)
        is_name = word[0].isupper() and "-" not in word
        kind: Kind = "name" if is_name and not _begins_sentence(text, match) else "word"
        if not _is_common(root, kind) and _is_rare(root, ours) and not _says_where(text, [match]):
            yield NamedThing(root, kind, *match.span(), is_specific=True)
        capital = word[0].isupper() and word.lower() not in _FUNCTION_WORDS
        if run and not (capital and text[run[-1].end() : match.start()] == " "):
            yield from _run(text, run)
            run = []
        if capital:
            run.append(match)
    yield from _run(text, run)


def _run(text: str, run: list[re.Match[str]]) -> Iterator[NamedThing]:
    """Yield a run of capitalised common words; its first word may only begin a sentence."""
    if run and _begins_sentence(text, run[0]):
        run = run[1:]
    if not run or (len(run) == 1 and _describes(text, run[0])) or _says_where(text, run):
        return
    words = [match for match in run if singular(match[0]) in common_stems(COMMON_NAMES)]
    if words and len(words) == len(run):
        key = " ".join(singular(match[0]) for match in run)
        yield NamedThing(key, "name", run[0].start(), run[-1].end(), is_specific=False)


def _describes(text: str, match: re.Match[str]) -> bool:
    """Return whether a word with a capital describes the next one: ``the Chinese government``."""
    after = _NEXT_WORD.match(text, match.end())
    is_noun_next = after is not None and after[1] not in _FUNCTION_WORDS
    is_adjective = _DESCRIBES.search(match[0]) is not None or match[0].lower() in DEMONYMS
    return is_noun_next and is_adjective


def _says_where(text: str, run: list[re.Match[str]]) -> bool:
    """Return whether a country only says of what country something is: ``the unrest in China``."""
    if " ".join(singular(match[0]) for match in run) not in COUNTRIES:
        return False
    is_possessive = POSSESSIVE.search(run[-1][0]) is not None
    return is_possessive or _WITHIN.search(text, 0, run[0].start()) is not None


def _begins_sentence(text: str, match: re.Match[str]) -> bool:
    """Return whether a word has a capital because it begins a sentence."""
    return _SENTENCE_START.search(text, 0, match.start()) is not None


def _is_common(root: str, kind: Kind) -> bool:
    """Return whether a word is common, or a mere form of a common one: ``harmed``, ``louder``."""
    if kind == "name":
        return root in common_stems(COMMON_NAMES)
    if "-" in root:
        return all(singular(part) in common_stems(COMMON_PARTS) for part in root.split("-"))
    bare = _INFLECTION.sub("", root)
    forms = {bare, f"{bare}e", bare[:-1] if bare[-2:-1] == bare[-1:] else bare}
    is_form = any(len(form) > 3 and form in common_stems(COMMON_FORMS) for form in forms)
    return is_form or root in common_stems(COMMON_WORDS) or not root.isalpha()


def _is_rare(root: str, ours: frozenset[str]) -> bool:
    """Return whether a word is rare, and not derived from a word of ours."""
    if len(root) < 3 or root in ours or root in _COUNTING:
        return False
    if not root.isascii():
        return False
    near = root[: max(5, len(root) - 3)]
    return not any(word.startswith(near) or root.startswith(word) for word in ours if len(word) > 4)
