"""Faithful quotes: how an excerpt may be read, and what it must keep of its source.

Words and numbers stay whole, numbers and negations stay the same, and some of the words must be
the writer's own. Nothing here knows of audits, samples or verdicts.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Literal, NamedTuple

from rapidfuzz import fuzz
from rapidfuzz.utils import default_process

from uncensoring_chinese_models.text.normalisation import IDEOGRAPH, Normalised, joins, normalise
from uncensoring_chinese_models.text.numbers import CARDINALS, HAN_NUMERALS, SCALE_WORDS
from uncensoring_chinese_models.text.words import stem

Tier = Literal["exact", "normalised", "near"]
Flaw = Literal["cuts_word", "drops_negation", "too_short"]

NEAR_SCORE = 90.0
"""Similarity in percent from which a quote counts as near, if it also keeps the facts."""
MIN_NEAR_CHARACTERS = 12
"""A shorter quote resembles too many things."""
MAX_NEAR_CHARACTERS = 2_000
"""A longer quote takes seconds to align; one of 2,000 in a text of 200,000 takes 0.15 s at most."""
MIN_PART_CHARACTERS = 3
"""A shorter part between two ellipses is found anywhere, so it proves nothing."""
MIN_WORDS, MIN_IDEOGRAPHS = 2, 4
"""A quote with fewer words and fewer ideographs is too short."""
SAME_SCORE = 85.0
"""Similarity in percent from which two sentences may say the same."""
_CLAUSE_MAX_CHARS = 300
_BESIDE = 4
"""Characters before a quote that must not hold a negation for it to be near."""
_AROUND = 64
"""Characters around a place in which a word or a number is searched."""

_ELLIPSIS = re.compile(r"\[ ?\.(?: ?\.){2,} ?\]|\( ?\.(?: ?\.){2,} ?\)|\.(?: ?\.){2,}")
_LETTER = rf"[^\W\d_{IDEOGRAPH}]"
_COUNTED = "|".join(word for word, value in CARDINALS.items() if value)  # not the zero- of a name
_NUMERALS = f"{HAN_NUMERALS}兆廿卅几数半"
_NUMBER_WORD = (
    rf"(?<!{_LETTER})(?:{_COUNTED}|half|(?:dozen|{'|'.join(SCALE_WORDS)})s?)(?!{_LETTER})"
)
_FIGURE = re.compile(rf"\d+(?:[.,]\d+)*|[{_NUMERALS}]+|{_NUMBER_WORD}")
# 1,000 and 38th and 5% and 三百万 and 1989-06-04, and also "two hundred and fifty" or "3 million"
_COUNT = rf"(?:(?:\d++(?:[.,:/\-]\d++)*+|[{_NUMERALS}])++(?:{_LETTER}++|%)?|{_NUMBER_WORD})"
_UNIT = re.compile(
    rf"{_COUNT}(?:[ \-](?:and |a )?{_COUNT})*"
    # A possessive may be left off: Mao in Mao's.
    rf"|{_LETTER}(?:{_LETTER}|\d)*+(?:'(?!s(?!{_LETTER})){_LETTER}++)*"
)
_HYPHENED = re.compile(rf"[^\W_{IDEOGRAPH}][\-\u2010\u2011][^\W_{IDEOGRAPH}]")
_WORD = re.compile(rf"[{IDEOGRAPH}]|{_LETTER}+")
_WORD_OR_NUMBER = re.compile(rf"[{IDEOGRAPH}]|[^\W{IDEOGRAPH}]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CONTRACTED = re.compile(
    r"(?<![a-z])(?:([a-z]+)n't|(can)not|"
    r"(do|does|did|is|are|was|were|has|have|had|ca|wo|could|would|should)nt)(?![a-z])"
)
_NEGATION = re.compile(
    "no[tnr]?|never|none|neither|nobody|nothing|nowhere|without|hardly|scarcely|barely|"
    "[不没沒未无無非否别別勿莫毋]"
)
_NO_NEGATION = re.compile(  # very, special, others, future, each, difference, not only, soon ...
    "(?<![并並])非常|[特分区區][别別]|[别別]人|未[来來](?!得及)|不[仅僅但久断斷]|莫斯科|非洲|南非|[无無][论論]"
)
_SMALL = re.compile("an?|the|of|in|on|at|and|that|is|are|was|were|[的了地得着]")
_SENTENCE_END = re.compile(rf"[!?]|\.(?!{_LETTER}|\d)")
# Of unaltered text. A point may belong to a number, an initial or a title.
_CLAUSE_END = re.compile(
    r"[!?;:！？；：，。、…\u2013-\u2015]|\n\s*\n|\n(?!\s*[a-z])|,(?!\d)|--|(?<!\w)-|-(?!\w)"
    r"|(?<!\b\w)(?<!\b[DM]r)(?<!\bMrs)(?<!\bGen)(?<!\bCol)(?<!\bProf)\.(?!\d)"
)
_WORDS = re.compile(r"\w(?:.*\w)?", re.DOTALL)
_TO_NEXT_WORD = re.compile(r"[^\w\n.,;:!?，。；：！？、…\u2013-\u2015-]*(?=\w)")
_ASSENT = re.compile("没错|沒錯|正确|正確|确实|確實|的确|的確|当然|當然|好的")
SMALL_WORDS = frozenset(
    _WORD_OR_NUMBER.findall(
        "a an the of in on at to by for from with as and or but so that this these those it its "
        "he she they them his her their we us you i me my your our is are was were be been being "
        "am has have had do does did will would can could there here also just very really which "
        "who what when where 's 'm 're 've 'll 'd yes yeah no true correct right indeed exactly "
        "sure ok okay well 的了地得着过過吗嗎呢吧啊呀嗯哦是对對在也都就和与與这這那其之不"
    )
)
"""Small words and bare assents."""
_ALIKE_SCORE = 80


class QuoteReading(NamedTuple):
    """What must be found in order, and the verdict if it is."""

    tier: Tier
    parts: tuple[str, ...]


def read_quote(excerpt: str) -> tuple[QuoteReading, ...]:
    """Return the readings of an excerpt, in the order in which to try them; none if it is not a quote.

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
    readings = [QuoteReading("exact", (excerpt,))]
    readings += (QuoteReading("normalised", (reading,)) for reading in (literal, whole))
    if len(parts) == 1:
        return (*readings, QuoteReading("near", parts))
    if any(len(part) < MIN_PART_CHARACTERS or not _has_words(part) for part in parts):
        return tuple(readings)
    if whole == literal and not any("'" in text[a - 1 : a] + text[b : b + 1] for a, b in spans):
        written = tuple(excerpt[slice(*normalised.span(*span))] for span in spans)
        readings.append(QuoteReading("exact", written))
    return (*readings, QuoteReading("normalised", parts))


def _has_words(text: str) -> bool:
    """Return whether there is a letter, a number or a pictograph."""
    return any(kind[0] in "LN" or kind == "So" for kind in map(unicodedata.category, text))


def _strip(text: str, start: int, end: int, chars: str) -> tuple[int, int]:
    """Return the span without these characters at its ends."""
    span = text[start:end]
    return start + len(span) - len(span.lstrip(chars)), end - len(span) + len(span.rstrip(chars))


class Span(NamedTuple):
    """The place of a quote."""

    start: int
    end: int


def align(quote: str, text: str) -> tuple[Span, float] | None:
    """Find the stretch of a normalised text that a quote resembles, and how much in percent."""
    if not MIN_NEAR_CHARACTERS <= len(quote) <= MAX_NEAR_CHARACTERS:
        return None
    if len(text) > len(quote):
        window = fuzz.partial_ratio_alignment(quote, text, score_cutoff=NEAR_SCORE)
        if window is None:
            return None
        score, start, end = window.score, window.dest_start, window.dest_end
    else:  # here rapidfuzz would look for the text in the quote, and "ok" is in many a quote
        score, start, end = fuzz.ratio(quote, text), 0, len(text)
    start, end = _widen(text, start, end)
    left_out = negations(text[max(0, start - _BESIDE) : start])
    if score < NEAR_SCORE or left_out or differs_in_fact(quote, text[start:end]):
        return None
    return Span(start, end), round(score, 1)


def _widen(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span with the words and numbers at its ends made whole, and spaces left out."""
    first, last = _word_around(text, start), _word_around(text, end)
    return _strip(text, first.start if first else start, last.end if last else end, " ")


def _word_around(text: str, position: int) -> Span | None:
    """Return the word or number of a normalised text inside which an offset lies."""
    low, high = max(0, position - _AROUND), position + _AROUND
    spans = (Span(*unit.span()) for unit in _UNIT.finditer(text, low, high))
    return next((span for span in spans if span.start < position < span.end), None)


# --- what a quote that was found in the text may still get wrong


def cuts_word(text: str, normalised: Normalised, position: int) -> bool:
    """Return whether an offset of a text lies inside a word or a number: 300 of 3000, legal of illegal."""
    return (
        joins(text[position : position + 1])
        or _HYPHENED.match(text, max(0, position - 2), position + 1) is not None
        or _HYPHENED.match(text, max(0, position - 1), position + 2) is not None
        or _word_around(normalised.text, normalised.index(position)) is not None
    )


def drops_negation(text: str, start: int, end: int) -> bool:
    """Return whether a negation comes before a span in its clause, or is the very next word.

    ``was killed`` in ``No civilian was killed``; ``I know`` in ``I know nothing``.
    """
    if words := _WORDS.search(text[start:end]):
        start, end = start + words.start(), start + words.end()
    clause = low = max(0, start - _CLAUSE_MAX_CHARS)
    for mark in _CLAUSE_END.finditer(text, low, start + 2):
        clause = mark.end() if mark.end() <= start else clause
    gap = _TO_NEXT_WORD.match(text, end)
    after = normalise(text[gap.end() : gap.end() + _AROUND]).text if gap else ""
    next_word = "".join(_WORD_OR_NUMBER.findall(_NO_NEGATION.sub("-", after))[:1])
    return bool(negations(normalise(text[clause:start]).text) or negations(next_word))


def is_too_short(normalised: str) -> bool:
    """Return whether a quote is too short to say anything: ``the``, ``1989``, ``没有``."""
    ideographs = len(re.findall(f"[{IDEOGRAPH}]", normalised))
    return len(_UNIT.findall(normalised)) < MIN_WORDS and ideographs < MIN_IDEOGRAPHS


def adds_content(quote: str, ours: Iterable[str]) -> bool:
    """Return whether a quote says anything that is not in our texts; all are normalised.

    Order, inflection, small words and bare assents add nothing: *Yes, the army fired* is all in
    *Did the army fire?* An ideograph is ours if it stands beside one that it has with us too.
    """
    theirs = [_content_words(text) for text in ours]
    stems = {stem(word) for words in theirs for word in words}
    pairs = {pair for words in theirs for pair in pairwise(words)}
    words = ["", *_content_words(_ASSENT.sub(" ", quote)), ""]
    return any(
        not (
            word in SMALL_WORDS
            or (stem(word) in stems and not re.match(f"[{IDEOGRAPH}]", word))
            or {(before, word), (word, after)} & pairs
        )
        for before, word, after in zip(words, words[1:], words[2:], strict=False)
    )


def _content_words(normalised: str) -> list[str]:
    return _WORD_OR_NUMBER.findall(_THOUSANDS.sub("", normalised))


def differs_in_fact(one: str, other: str) -> bool:
    """Return whether two normalised texts differ in a number or a negation.

    300 and 3,000, 1989 and 1998, 三百 and 三千, *did* and *did not* are all a letter or two apart.
    """
    return _figures(one) != _figures(other) or negations(one) != negations(other)


def likeness(text: str, source: str, frame: re.Pattern[str]) -> float:
    """Return how alike two normalised sentences are, in percent; 0 if the first says something else.

    A word set that contains another scores 100, so the first may not say more than its source.
    """
    if differs_in_fact(text, source) or _adds_words(text, source, frame):
        return 0.0
    same = fuzz.token_set_ratio(text, source, processor=default_process) >= SAME_SCORE
    return fuzz.ratio(text, source) if same else 0.0


def _adds_words(text: str, source: str, frame: re.Pattern[str]) -> bool:
    """Return whether a normalised text has words that its source lacks: *saved* for *killed*.

    Articles and the like may be added, as may words of the ``frame``, and a word may be misspelt
    (``recieve``). Its first letter must stay: *illegal* and *legal* differ less than many do.
    """
    ours, theirs = Counter(_words(text)), Counter(_words(source))
    lost = theirs - ours
    return any(
        not any(word[0] == other[0] and fuzz.ratio(word, other) >= _ALIKE_SCORE for other in lost)
        for word in ours - theirs
        if not any(pattern.fullmatch(word) for pattern in (_SMALL, _NEGATION, frame))
    )


def negations(normalised: str) -> Counter[str]:
    """Count the negations, contracted or not: ``"i can't, won't. 没有"`` → not: 2, 没: 1."""
    return Counter(filter(_NEGATION.fullmatch, _words(_NO_NEGATION.sub(" ", normalised))))


def hides_negation(text: str, start: int, end: int) -> bool:
    """Return whether an ellipsis for this span leaves a negation out of a sentence: ``I do ... know``."""
    start, end = _widen(text, start, end)
    sentences = _SENTENCE_END.split(normalise(text[start:end]).text)
    return any(negations(sentence) for sentence in (sentences[0], sentences[-1]))


def tokens(normalised: str) -> str:
    """Return the words and numbers alone, a space around each, to compare across punctuation.

    ``"killed (1989), 死了"`` → ``" killed 1989 死 了 "``; a text of pictographs alone stays.
    """
    return f" {' '.join(_WORD_OR_NUMBER.findall(normalised)) or normalised} "


def _figures(normalised: str) -> list[str]:
    """Return the numbers in order: ``"3,000 of two 三百"`` → 3000, two, 三百."""
    return [_THOUSANDS.sub("", figure) for figure in _FIGURE.findall(normalised)]


def _words(normalised: str) -> list[str]:
    return _WORD.findall(_CONTRACTED.sub(r"\1\2\3 not", normalised))
