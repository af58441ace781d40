"""Text as it is compared: the same words in another typography come out the same.

``normalise`` folds case, width, quote marks, dashes, spaces and ellipses, and remembers where each
character came from. The rest compares normalised texts loosely without losing what matters:
numbers, negations, and words of one's own. Nothing here knows of audits, samples or verdicts.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Literal, NamedTuple

from rapidfuzz import fuzz

Tier = Literal["exact", "normalised", "near"]

NEAR_SCORE = 90.0
"""Similarity in percent from which a quote counts as near, if it also keeps the facts."""
NEAR_MIN_CHARS = 12
"""A shorter quote resembles too many things."""
NEAR_MAX_CHARS = 2_000
"""A longer quote takes seconds to align; one of 2,000 in a text of 200,000 takes 0.15 s at most."""
PART_MIN_CHARS = 3
"""A shorter part between two ellipses is found anywhere, so it proves nothing."""

_QUOTES = (
    "\"'`\u00ab\u00b4\u00bb\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u2032\u2033\u2035\u2036"
    "\u2039\u203a\u300c\u300d\u300e\u300f\u301d\u301e\u301f\uff02\uff07\uff40\uff62\uff63"
)
_DASHES = "\\-\u058a\u05be\u2010-\u2015\u2212\u2e3a\u2e3b\u301c\u3030\ufe31\ufe32\ufe58\ufe63\uff0d"
_DOTS = ".\u2025\u2026\u22ef\uff0e"
_INVISIBLE = (  # never seen, so never quoted: soft hyphen, zero widths, direction marks, selectors
    "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff"
)
# Quoters also leave out the asterisks of bold type; those of 2**10 mean something.
_UNQUOTED = rf"[{_INVISIBLE}]|\*{{2,}}+(?!\d)|(?<!\d)\*{{2,}}+"
_PLAIN = (  # characters that fold one to one, whatever stands beside them, unless it is a mark
    "!-)+,/-~\u00c0-\u00d6\u00d8-\u00de\u00e0-\u00f6\u00f8-\u00fe\u0410-\u044f\u2018-\u201f\u3001"
    "\u3002\u3008-\u3011\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\uff01-\uff0c\uff0f-\uff5e"
)
_TOKEN = re.compile(
    # A plain run gives up its last character if what follows might be a mark that joins it.
    rf"(?P<plain>[{_PLAIN}]+(?:(?:[.\-] ?| )[{_PLAIN}]+)*(?![^{_PLAIN}\s{_DASHES}{_DOTS}]))"
    rf"|(?P<space>(?:{_UNQUOTED})*+\s(?:\s|{_UNQUOTED})*+)"
    rf"|(?P<unquoted>(?:{_UNQUOTED})++)"
    rf"|(?P<dash>[{_DASHES}]+)"
    rf"|(?P<dots>[{_DOTS}]+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_INVISIBLE_ONE = re.compile(f"[{_INVISIBLE}]")
_ONE_QUOTE = dict.fromkeys(map(ord, _QUOTES), "'")
_ELLIPSIS = re.compile(r"\[ ?\.(?: ?\.){2,} ?\]|\( ?\.(?: ?\.){2,} ?\)|\.(?: ?\.){2,}")
_MAX_MARKS = 30
"""Marks that are read as one character's, as in Unicode's stream-safe format (UAX #15): to sort a
longer run of them takes time that grows with its square."""

_IDEOGRAPH = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTER = rf"[^\W\d_{_IDEOGRAPH}]"
_NUMERALS = "〇零一二两兩三四五六七八九十百千万萬亿億兆壹贰叁肆伍陆柒捌玖拾佰仟廿卅几数半"
_NUMBER = rf"\d+(?:[.,]\d+)*|[{_NUMERALS}]+"
_NUMBER_WORD = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    "(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|"
    "half|(?:dozen|hundred|thousand|million|billion|trillion)s?"
)
_FIGURE = re.compile(rf"{_NUMBER}|(?<!{_LETTER})(?:{_NUMBER_WORD})(?!{_LETTER})")
_UNIT = re.compile(rf"{_NUMBER}|{_LETTER}+(?:'{_LETTER}+)*")
_WORD = re.compile(rf"[{_IDEOGRAPH}]|{_LETTER}+")
_WORD_OR_NUMBER = re.compile(rf"[{_IDEOGRAPH}]|[^\W{_IDEOGRAPH}]+")
_CONTRACTED = re.compile(
    r"(?<![a-z])(?:([a-z]+)n't|(can)not|(do|does|did|is|are|was|were|has|have|had|ca|wo)nt)(?![a-z])"
)
_NEGATION = re.compile(
    "no[tnr]?|never|none|neither|nobody|nothing|nowhere|without|[不没沒未无無非否别別勿莫毋]"
)
_SMALL = re.compile("an?|the|of|in|on|at|and|that|is|are|was|were|[的了地得着]")
_SENTENCE_END = re.compile(r"[!?。]|\.(?!\w)")
_ALIKE_SCORE = 80


class _Piece(NamedTuple):
    """A stretch of the original and the place in the normalised text where its fold begins."""

    at: int
    start: int
    end: int
    is_linear: bool
    """True when each character has one for itself in the fold."""


@dataclass(frozen=True, slots=True)
class Normalised:
    """A normalised text with the way back to the original."""

    text: str
    pieces: list[_Piece]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the original offsets of a non-empty normalised span; no character is cut.

        ``normalise("ﬁne").span(1, 4)`` → ``(0, 3)``: the ligature is taken whole.
        """
        first = self.pieces[bisect_right(self.pieces, start, key=attrgetter("at")) - 1]
        last = self.pieces[bisect_right(self.pieces, end - 1, key=attrgetter("at")) - 1]
        return (
            first.start + (start - first.at if first.is_linear else 0),
            last.start + end - last.at if last.is_linear else last.end,
        )

    def index(self, position: int) -> int:
        """Return how many normalised characters come wholly from before an original offset."""
        number = bisect_right(self.pieces, position, key=attrgetter("start"))
        if number == 0:
            return 0
        piece = self.pieces[number - 1]
        if piece.is_linear:
            return piece.at + min(position, piece.end) - piece.start
        if position < piece.end:
            return piece.at
        return self.pieces[number].at if number < len(self.pieces) else len(self.text)


def normalise(text: str) -> Normalised:
    """Fold away what a quoter changes without changing a word: case, width, quotes, dashes, spaces.

    ``"“The\u00a0 END”…"`` → ``"'the end'..."``. NFKC is held back in one place: a character that
    is no digit never becomes one, or a footnote mark would turn ``300²`` into 3002 and a list item
    ``①300`` into 1300.
    """
    folds: list[str] = []
    pieces: list[_Piece] = []
    at = position = 0
    while match := _TOKEN.match(text, position):
        kind, end = str(match.lastgroup), match.end()
        if kind == "other":
            end = _end_of_marks(text, end)
        if fold := _fold_token(kind, text[position:end]):
            folds.append(fold)
            pieces.append(_Piece(at, position, end, is_linear=kind == "plain"))
            at += len(fold)
        position = end
    return Normalised("".join(folds), pieces)


def as_written(text: str) -> Normalised:
    """Return the text unchanged in the same form, so that one search serves both."""
    return Normalised(text, [_Piece(0, 0, len(text), is_linear=True)])


def _end_of_marks(text: str, end: int) -> int:
    """Return where the character that ends at ``end`` ends with the marks that join it."""
    stop = min(len(text), end + _MAX_MARKS)
    while end < stop and _joins(text[end]):
        end += 1
    return end


def _joins(char: str) -> bool:
    """Tell whether NFKC may melt the character into the one before it."""
    return (
        unicodedata.category(char)[0] == "M"
        or "\u1160" <= char <= "\u11ff"  # vowels and finals of decomposed Hangul
        or "\uff9e" <= char <= "\uffdc"  # half-width voicing marks and Hangul
    )


def _fold_token(kind: str, token: str) -> str:
    if kind == "plain":
        return _fold(token)
    if kind == "other":
        return _fold_other(token)
    if kind == "dots" and len(token) < 3 and not token.strip(".\uff0e"):
        return "." * len(token)
    return {"space": " ", "unquoted": "", "dash": "-", "dots": "..."}[kind]


def _fold(text: str) -> str:
    """Apply NFKC and case folding until stable, with one kind of quote mark."""
    folded = unicodedata.normalize("NFKC", text.translate(_ONE_QUOTE)).casefold()
    return unicodedata.normalize("NFKC", folded).translate(_ONE_QUOTE)


@lru_cache(maxsize=4096)
def _fold_other(char: str) -> str:
    """Fold one character with its marks, unless that would make a digit of it."""
    folded = _fold(char)
    if any(map(str.isdecimal, folded)) and not char[0].isdecimal():
        folded = unicodedata.normalize("NFC", char).casefold()
    return _INVISIBLE_ONE.sub("", folded)


class Reading(NamedTuple):
    """What must be found in order, and the verdict if it is."""

    tier: Tier
    parts: tuple[str, ...]


def read_quote(excerpt: str) -> tuple[Reading, ...]:
    """Return the readings of an excerpt, in the order in which to try them; none if it is no quote.

    ``“A [...] B…”`` may be the target's as it stands, or as ``a [...] b``, or else as ``a`` and then
    ``b``. If the quoter put marks around it, no reading of its parts is exact.
    """
    normalised = normalise(excerpt)
    text = normalised.text
    if not _has_words(text):
        return ()
    bounds = [0, *(i for match in _ELLIPSIS.finditer(text) for i in match.span()), len(text)]
    spans = [_strip(text, *ends, " '") for ends in zip(bounds[::2], bounds[1::2], strict=True)]
    spans = [(start, end) for start, end in spans if start < end]
    literal, whole = text.strip(), text[spans[0][0] : spans[-1][1]]
    parts = tuple(text[start:end] for start, end in spans)
    readings = [Reading("exact", (excerpt,))]
    readings += (Reading("normalised", (reading,)) for reading in (literal, whole))
    if len(parts) == 1:
        return (*readings, Reading("near", parts))
    if any(len(part) < PART_MIN_CHARS or not _has_words(part) for part in parts):
        return tuple(readings)
    if whole == literal and not any("'" in text[a - 1 : a] + text[b : b + 1] for a, b in spans):
        written = tuple(excerpt[slice(*normalised.span(*span))] for span in spans)
        readings.append(Reading("exact", written))
    # Aligned in one piece, the dots of an ellipsis would stand for any few words, even for "not".
    return (*readings, Reading("normalised", parts), Reading("near", parts))


def _has_words(text: str) -> bool:
    """Tell whether there is a letter, a number or a pictograph."""
    return any(kind[0] in "LN" or kind == "So" for kind in map(unicodedata.category, text))


def _strip(text: str, start: int, end: int, chars: str) -> tuple[int, int]:
    """Return the span without these characters at its ends."""
    span = text[start:end]
    return start + len(span) - len(span.lstrip(chars)), end - len(span) + len(span.rstrip(chars))


class Span(NamedTuple):
    """Where a quote stands; with a score in percent if it only nearly does."""

    start: int
    end: int
    score: float | None = None


def align(quote: str, text: str) -> Span | None:
    """Find the stretch of a normalised text that a quote nearly repeats, if it keeps the facts."""
    if not NEAR_MIN_CHARS <= len(quote) <= NEAR_MAX_CHARS:
        return None
    if len(text) > len(quote):
        window = fuzz.partial_ratio_alignment(quote, text, score_cutoff=NEAR_SCORE)
        if window is None:
            return None
        score, start, end = window.score, window.dest_start, window.dest_end
    else:  # here rapidfuzz would look for the text in the quote, and "ok" is in many a quote
        score, start, end = fuzz.ratio(quote, text), 0, len(text)
    start, end = widen(text, *_settle(quote, text, start, end))
    found = text[start:end]
    if score < NEAR_SCORE or differs_in_fact(quote, found) or adds_words(quote, found):
        return None
    return Span(start, end, round(score, 1))


def _settle(quote: str, text: str, start: int, end: int) -> tuple[int, int]:
    """Move the ends of an alignment to where the quote's first and last characters stand nearby.

    The alignment is as long as the quote, so it lacks an end where the quote left something out,
    such as the asterisks of ``the **whole** truth``.
    """
    reach = 8 + len(quote) // 8
    lack = max(0, len(quote) - (end - start))  # rapidfuzz cuts short at the ends of the text
    left, right = max(0, start - lack), min(len(text), end + lack)
    for size in (4, 10):  # the longer one decides, where it is found
        first = text.find(quote[:size], max(0, start - reach), start + reach + size)
        last = text.rfind(quote[-size:], max(0, end - reach - size), end + reach)
        left = left if first < 0 else first
        right = right if last < 0 else last + size
    return (left, right) if right - left > len(quote) // 2 else (start, end)


def widen(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span with the words and numbers at its ends made whole, and spaces left out."""
    for unit in _UNIT.finditer(text, max(0, start - 64), min(len(text), end + 64)):
        first, last = unit.span()
        if first < start < last:
            start = first
        if first < end < last:
            end = last
    return _strip(text, start, end, " ")


def differs_in_fact(one: str, other: str) -> bool:
    """Tell whether two normalised texts differ in a number or a negation, however alike they look.

    300 and 3,000, 1989 and 1998, 三百 and 三千, *did* and *did not* are all a letter or two apart.
    """
    return _figures(one) != _figures(other) or negations(one) != negations(other)


def adds_words(text: str, source: str, frame: re.Pattern[str] | None = None) -> bool:
    """Tell whether a normalised text has words that its source lacks: *saved* for *killed*.

    Articles and the like may be added, as may words of the ``frame``, and a word may be misspelt
    (``recieve``). Its first letter must stay: *illegal* and *legal* differ less than many do.
    """
    ours, theirs = Counter(_words(text)), Counter(_words(source))
    lost = theirs - ours
    free = (_SMALL, _NEGATION, frame or _SMALL)
    return any(
        not any(word[0] == other[0] and fuzz.ratio(word, other) >= _ALIKE_SCORE for other in lost)
        for word in ours - theirs
        if not any(pattern.fullmatch(word) for pattern in free)
    )


def negations(normalised: str) -> Counter[str]:
    """Count the negations, contracted or not: ``"i can't, won't. 没有"`` → not: 2, 没: 1."""
    return Counter(filter(_NEGATION.fullmatch, _words(normalised)))


def hides_negation(text: str, start: int, end: int) -> bool:
    """Tell whether an ellipsis for this span leaves a negation out of a sentence: ``I do ... know``."""
    start, end = widen(text, start, end)
    sentences = _SENTENCE_END.split(normalise(text[start:end]).text)
    return any(negations(sentence) for sentence in (sentences[0], sentences[-1]))


def tokens(normalised: str) -> str:
    """Return the words and numbers alone, a space around each, to compare across punctuation.

    ``"killed (1989), 死了"`` → ``" killed 1989 死 了 "``; a text of pictographs alone stays.
    """
    return f" {' '.join(_WORD_OR_NUMBER.findall(normalised)) or normalised} "


def _figures(normalised: str) -> list[str]:
    """Return the numbers in order: ``"3,000 of two 三百"`` → 3000, two, 三百."""
    return [re.sub(r",(?=\d{3}(?!\d))", "", figure) for figure in _FIGURE.findall(normalised)]


def _words(normalised: str) -> list[str]:
    return _WORD.findall(_CONTRACTED.sub(r"\1\2\3 not", normalised))
