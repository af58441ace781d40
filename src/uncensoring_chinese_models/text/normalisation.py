"""Normalise text for comparison: the same words in another typography give the same text.

``normalise`` folds case, width, quote marks, dashes, spaces, ellipses and light markup, and
remembers where each character came from.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache

IDEOGRAPH = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
"""The inside of a character class, as are the constants below."""
_QUOTES = (
    "\"'`\u00ab\u00b4\u00bb\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u2032\u2033\u2035\u2036"
    "\u2039\u203a\u300c\u300d\u300e\u300f\u301d\u301e\u301f\uff02\uff07\uff40\uff62\uff63"
)
_DASHES = "\\-\u058a\u05be\u2010-\u2015\u2212\u2e3a\u2e3b\u301c\u3030\ufe31\ufe32\ufe58\ufe63\uff0d"
_DOTS = ".\u3002\uff61\u2025\u2026\u22ef\uff0e"
_INVISIBLE = (  # never seen, so never quoted: soft hyphen, zero widths, direction marks, selectors
    "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff"
)
# What quoters leave out: bold and italic type, code marks and the addresses of links. The asterisks
# of 2**10, the underscore of a_b and the stroke of don`t mean something.
_UNQUOTED = (
    rf"[{_INVISIBLE}]|\*{{2,}}+(?!\d)|(?<!\d)\*{{2,}}+"
    r"|(?<![\w*])\*(?=[^\W\d])|(?<=[^\W\d])\*(?![\w*])"
    r"|(?<!\w)_++(?=[^\W_])|(?<=[^\W_])_++(?!\w)"
    r"|(?<![\w`])`++|(?<=\w)`++(?!\w)"
    r"|\[(?=[^\[\]]+\]\(https?://[^()\s]*\))|\]\(https?://[^()\s]*\)"
)
_PLAIN = (  # characters that fold one to one, unless a mark follows
    "!-)+,/-Z^a-~\u00c0-\u00d6\u00d8-\u00de\u00e0-\u00f6\u00f8-\u00fe\u0410-\u044f\u2018-\u201f"
    "\u3001\u3008-\u3011\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\uff01-\uff0c\uff0f-\uff3e\uff41-\uff5e"
)
_TOKEN = re.compile(
    # A plain run gives up its last character if what follows might be a mark that joins it.
    # A space beside an ideograph is none of its own.
    rf"(?P<plain>[{_PLAIN}]+(?:(?:[.\-](?: (?![{IDEOGRAPH}]))?|(?<![{IDEOGRAPH}]) (?![{IDEOGRAPH}]))"
    rf"[{_PLAIN}]+)*(?![^{_PLAIN}\s{_DASHES}{_DOTS}*_`\[\]]))"
    rf"|(?P<space>(?:{_UNQUOTED})*+\s(?:\s|{_UNQUOTED})*+)"
    rf"|(?P<unquoted>(?:{_UNQUOTED})++)"
    rf"|(?P<dash>[{_DASHES}]+)"
    rf"|(?P<dots>[{_DOTS}]+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_BESIDE = re.compile(f"[{IDEOGRAPH}]")
_INVISIBLE_ONE = re.compile(f"[{_INVISIBLE}]")
_ONE_QUOTE = dict.fromkeys(map(ord, _QUOTES), "'")
_MAX_MARKS = 30
"""Marks that are read as one character's, as in Unicode's stream-safe format (UAX #15): to sort a
longer run of them takes time that grows with its square."""


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Stretches of the original with their folds, in order; a long text has millions of them."""

    at: array[int] = field(default_factory=lambda: array("I"))
    """Where the fold of each begins in the normalised text."""
    starts: array[int] = field(default_factory=lambda: array("I"))
    ends: array[int] = field(default_factory=lambda: array("I"))
    """Where each begins and ends in the original."""
    linear: bytearray = field(default_factory=bytearray)
    """1 if each character has one for itself in the fold."""

    def add(self, at: int, start: int, end: int, *, is_linear: bool) -> None:
        """Add a stretch behind the others; it continues the last one if both are linear."""
        if is_linear and self.linear and self.linear[-1] and self.ends[-1] == start:
            self.ends[-1] = end
            return
        self.at.append(at)
        self.starts.append(start)
        self.ends.append(end)
        self.linear.append(is_linear)


@dataclass(frozen=True, slots=True)
class Normalised:
    """A normalised text with the way back to the original."""

    text: str
    pieces: _Pieces

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the original offsets of a non-empty normalised span; no character is cut.

        ``normalise("ﬁne").span(1, 4)`` → ``(0, 3)``: the ligature is taken whole.
        """
        of = self.pieces
        first, last = bisect_right(of.at, start) - 1, bisect_right(of.at, end - 1) - 1
        return (
            of.starts[first] + (start - of.at[first] if of.linear[first] else 0),
            of.starts[last] + end - of.at[last] if of.linear[last] else of.ends[last],
        )

    def index(self, position: int) -> int:
        """Return how many normalised characters come wholly from before an original offset."""
        of = self.pieces
        last = bisect_right(of.starts, position) - 1
        if last < 0:
            return 0
        if of.linear[last]:
            return of.at[last] + min(position, of.ends[last]) - of.starts[last]
        if position < of.ends[last]:
            return of.at[last]
        return of.at[last + 1] if last + 1 < len(of.at) else len(self.text)


def normalise(text: str) -> Normalised:
    """Fold away what a quoter changes without changing a word: case, width, quotes, dashes, spaces.

    ``"“The\u00a0 END”…"`` → ``"'the end'..."``. NFKC is held back in one place: a character that
    is not a digit never becomes one, or a footnote mark would turn ``300²`` into 3002 and a list item
    ``①300`` into 1300.

    The latest long texts are remembered: each turn of an audit, and each excerpt that is verified,
    asks about the same ones. Short ones would only drive them out.
    """
    if len(text) < MIN_REMEMBERED:
        return _normalise(text)
    found = _remembered.get(text)
    if found is None:
        found = _normalise(text)
        _remembered.put(text, found)
    return found


class NormalisedTexts:
    """The latest normalised texts, in a limited size."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.size = 0
        self._held: dict[str, Normalised] = {}
        self._changing = threading.Lock()  # the viewer reads runs in several threads

    def get(self, text: str) -> Normalised | None:
        """Return what is remembered of a text."""
        with self._changing:
            found = self._held.pop(text, None)
            if found is not None:
                self._held[text] = found  # now the latest
            return found

    def put(self, text: str, normalised: Normalised) -> None:
        """Remember a text, and forget the oldest for it; the last one always stays."""
        with self._changing:
            if text in self._held:
                return
            self._held[text] = normalised
            self.size += _bytes_of(text, normalised)
            while self.size > self._max_bytes and len(self._held) > 1:
                oldest = next(iter(self._held))
                self.size -= _bytes_of(oldest, self._held.pop(oldest))


def _bytes_of(text: str, normalised: Normalised) -> int:
    """Return about how much memory a text and its normalised form take."""
    return 2 * (len(text) + len(normalised.text)) + _PIECE_BYTES * len(normalised.pieces.at)


MIN_REMEMBERED = 1000
"""A text of fewer characters is normalised each time: it takes less than a millisecond."""
_MAX_REMEMBERED_BYTES = 1 << 26
_PIECE_BYTES = 3 * array("I").itemsize + 1
_remembered = NormalisedTexts(_MAX_REMEMBERED_BYTES)


def _normalise(text: str) -> Normalised:
    folds: list[str] = []
    pieces = _Pieces()
    at = position = 0
    while match := _TOKEN.match(text, position):
        kind, end = str(match.lastgroup), match.end()
        if kind == "other":
            end = _end_of_marks(text, end)
        if kind == "space" and (
            _BESIDE.match(text, end) or _BESIDE.match(folds[-1][-1] if folds else "")
        ):
            fold = ""
        else:
            fold = _fold_token(kind, text[position:end])
        if fold:
            folds.append(fold)
            is_linear = kind == "plain" or len(fold) == end - position == 1
            pieces.add(at, position, end, is_linear=is_linear)
            at += len(fold)
        position = end
    return Normalised("".join(folds), pieces)


def as_written(text: str) -> Normalised:
    """Return the text unchanged in the same form, so that one search serves both."""
    pieces = _Pieces()
    pieces.add(0, 0, len(text), is_linear=True)
    return Normalised(text, pieces)


def _end_of_marks(text: str, end: int) -> int:
    """Return where the character that ends at ``end`` ends with the marks that join it."""
    stop = min(len(text), end + _MAX_MARKS)
    while end < stop and joins(text[end]):
        end += 1
    return end


def joins(char: str) -> bool:
    """Return whether NFKC may melt the character, if there is one, into the one before it."""
    return char != "" and (
        unicodedata.category(char)[0] == "M"
        or "\u1160" <= char <= "\u11ff"  # vowels and finals of decomposed Hangul
        or "\uff9e" <= char <= "\uffdc"  # half-width voicing marks and Hangul
    )


def _fold_token(kind: str, token: str) -> str:
    if kind == "plain":
        return _fold(token)
    if kind == "other":
        return _fold_other(token)
    if kind == "dots" and len(token) < 3 and not token.strip(".\u3002\uff0e\uff61"):
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
