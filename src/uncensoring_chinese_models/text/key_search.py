"""Find an API key in a text, in whatever common encoding it stands there.

A text is searched as it is, and again with its escapes decoded (JSON, percent, HTML, look-alike
characters). Each time only its ASCII letters and digits are compared, without their case, so that
neither separators nor invisible characters between them matter. Every step takes linear time.

Nearly a whole key counts in every encoding; a piece of one counts in the most common encodings, so
that the halves of a key are found whatever stands between them and whichever comes first. Shorter
parts count where they add up to nearly the whole key. What is base64 or hex of a text is decoded and
searched as well, and so are the values that fields or lines of one name have together.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import math
import re
import sys
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cache, lru_cache
from html.entities import html5
from itertools import accumulate, compress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MIN_SECRET_LENGTH = 16
"""A shorter key is a placeholder such as EMPTY, which a model may write itself."""
MIN_FORM_LENGTH = 12
"""A form with fewer letters and digits would be found by chance."""
ENOUGH = 0.75
"""Part of a key that counts as the key: servers quote keys cut short."""
PIECE = 16
"""So many characters of a key in a row count, too; half of it if it is shorter than two pieces."""
LONG_PIECE = 24
"""So many letters and digits of a long key count whatever separates them; fewer may be words."""
PART = 8
"""So many characters of a key in a row count where such parts add up to nearly all of it."""
_DECODINGS = 3
_MAX_LAYERS = 3
"""So often base64 or hex is decoded, one around the other."""
_NUMBERS = (
    *("{:d}", "{:03d}", "{:o}", "{:03o}", "0o{:o}", "{:08b}", "0b{:b}"),
    *("0x{:02x}", "x{:02x}", "u{:04x}"),
)
"""How the number of a character is written."""
_URL_SAFE = str.maketrans("+/", "-_")
_KEPT = b"0123456789abcdefghijklmnopqrstuvwxyz"
_LOWER = bytes(range(256)).lower()
_DROPPED = bytes(sorted(set(range(256)) - set(_KEPT) - set(_KEPT.upper())))
_IS_KEPT = bytes(chr(number).lower().encode("latin-1", "replace") in _KEPT for number in range(128))
_IS_KEPT += bytes(128)

Span = tuple[int, int]
_LIKE_A_KEY = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{20,}|\bhf_[A-Za-z0-9]{20,}|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\b(?:gsk_|xai-|nvapi-|tgp_v1_)[A-Za-z0-9_-]{20,}"
    r"|\bAKIA[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{30,}|\bBearer [A-Za-z0-9._~+/-]{16,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)


def looks_like_key(text: str) -> bool:
    """Return whether a text holds something of the form of a well-known kind of key."""
    return _LIKE_A_KEY.search(text) is not None


def find_keys(text: str, keys: Iterable[str], *, in_pieces: bool = True) -> list[Span]:
    """Return where the keys stand in a text, in order and without overlaps.

    Keys shorter than `MIN_SECRET_LENGTH` are not looked for.

    Args:
        text: where to search.
        keys: what to search for.
        in_pieces: whether pieces count. Not in texts that are yet to be joined: with a piece cut
            out of its middle, a key would no longer be found whole.
    """
    forms = [form for key in keys for form in _forms(key) if in_pieces or not form.is_piece]
    return _merged([*_find(text, forms), *_find_in_values(text, forms)]) if forms else []


def replace_spans(texts: list[str], spans: list[Span], mark: str) -> list[str]:
    """Return the texts with a mark in place of spans, which are positions in the joined texts.

    A span that reaches over several texts is marked in the first and cut out of the others.
    """
    replaced, start, begun = [], 0, 0
    for text in texts:
        end, parts, at = start + len(text), [], start
        while begun < len(spans) and spans[begun][0] < end:
            first, last = spans[begun]
            parts.append(text[at - start : max(first, start) - start])
            parts.append(mark if first >= start else "")
            at = min(last, end)
            if last > end:
                break
            begun += 1
        replaced.append("".join(parts) + text[at - start :])
        start = end
    return replaced


# --- the forms of a key -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Form:
    """A key in one encoding, and the parts of it that are searched for."""

    whole: bytes
    enough: int
    """How much of it in a row counts."""
    cores: tuple[tuple[int, bytes], ...]
    """Parts with their places; every stretch that is long enough holds one of them."""
    is_piece: bool = False
    """Whether much less than three quarters of it is enough."""
    is_exact: bool = False
    """Whether what is no letter or digit counts, too: words of prose must not make up a piece."""
    adds_up: bool = False
    """Whether parts of it count only if they are nearly all of it together."""


@lru_cache(maxsize=64)
def _forms(key: str) -> tuple[_Form, ...]:
    if len(key) < MIN_SECRET_LENGTH:
        return ()
    encoded = dict.fromkeys(map(_letters, _encodings(key)))
    made = [_nearly_whole(form) for form in encoded if len(form) >= MIN_FORM_LENGTH]
    if len(_letters(key)) < MIN_FORM_LENGTH:
        return tuple(made)
    share = max(MIN_FORM_LENGTH, min(PIECE, len(key) // 2)) / len(key)
    exact = key.lower().encode("ascii", "replace")
    for each in (exact, exact[::-1]):
        made += [_in_pieces(each, share, is_exact=True), _in_parts(each)]
    made += [_in_pieces(_letters(each), share) for each in _often_in_pieces(key.encode("utf-8"))]
    letters = _letters(key)
    if len(letters) >= LONG_PIECE / ENOUGH:
        share = LONG_PIECE / len(letters)
        made += [_in_pieces(each, share) for each in (letters, letters[::-1])]
    return tuple(made)


def _nearly_whole(form: bytes) -> _Form:
    at = len(form) // 4  # so much may be missing on either side
    middle = form[at : at + len(form) // 2]
    return _Form(form, math.ceil(ENOUGH * len(form)), ((at, middle),))


def _in_pieces(form: bytes, share: float, *, is_exact: bool = False) -> _Form:
    enough = math.ceil(share * len(form))
    size = enough // 2
    places = range(0, len(form) - size + 1, size)
    cores = tuple((at, form[at : at + size]) for at in places)
    return _Form(form, enough, cores, is_piece=True, is_exact=is_exact)


def _in_parts(form: bytes) -> _Form:
    half = PART // 2
    cores = tuple((at, form[at : at + half + 1]) for at in range(0, len(form) - half, half))
    return _Form(form, PART, cores, is_piece=True, is_exact=True, adds_up=True)


def _often_in_pieces(content: bytes) -> Iterator[str]:
    """Yield the encodings in which lines of a dump, or halves, are looked for."""
    yield from (content.hex(), content[::-1].hex(), content.hex()[::-1])
    for encoded in _inside_longer_text(content, base64.b64encode, 6):
        yield from (encoded, encoded[::-1])


def _encodings(key: str) -> Iterator[str]:
    numbers = key.encode("utf-8")
    utf16 = (key.encode("utf-16-le"), key.encode("utf-16-be"))
    yield from (key, key[::-1], codecs.encode(key, "rot13"))
    yield from (content.hex() for content in (numbers, numbers[::-1], *utf16))
    yield numbers.hex()[::-1]
    for pattern in _NUMBERS:
        yield "".join(map(pattern.format, numbers))
    for encode in (base64.b85encode, base64.a85encode):
        yield from _in_blocks(numbers, encode)
    yield from _inside_longer_text(numbers, base64.b32hexencode, 5)
    for content in (numbers, *utf16, numbers[::-1]):
        yield from _inside_longer_text(content, base64.b64encode, 6)
        yield from _inside_longer_text(content, base64.b32encode, 5)
    for hexadecimal in (numbers.hex(), numbers.hex().upper()):
        yield from _inside_longer_text(hexadecimal.encode("ascii"), base64.b64encode, 6)
    for encoded in _inside_longer_text(numbers, base64.b64encode, 6):
        yield from (encoded[::-1], encoded.encode("ascii").hex())
        for twice in (encoded, encoded.translate(_URL_SAFE)):
            yield from _inside_longer_text(twice.encode("ascii"), base64.b64encode, 6)


def _inside_longer_text(
    content: bytes, encode: Callable[[bytes], bytes], bits: int
) -> Iterator[str]:
    """Yield what of the encoded content does not depend on the text around it, at each alignment."""
    for before in range(3 if bits == 6 else 5):
        encoded = encode(bytes(before) + content).decode("ascii")
        yield encoded[-(-before * 8 // bits) : (before + len(content)) * 8 // bits]


def _in_blocks(content: bytes, encode: Callable[[bytes], bytes]) -> Iterator[str]:
    """Yield the encoded blocks of four bytes that lie within the content, at each alignment."""
    for start in range(4):
        end = start + (len(content) - start) // 4 * 4
        yield encode(content[start:end]).decode("ascii")


def _letters(text: str) -> bytes:
    return _letters_of(text.encode("ascii", "replace"))


def _letters_of(data: bytes) -> bytes:
    return data.translate(_LOWER, _DROPPED)


# --- the search ---------------------------------------------------------------------------------


def _find(text: str, forms: list[_Form], layers: int = _MAX_LAYERS) -> list[Span]:
    """Search the text as it is and as often decoded as it has escapes."""
    decoded = text
    found = _find_letters(text, forms) + _find_in_runs(text, forms, layers)
    steps: list[tuple[str, re.Pattern[str]]] = []
    for pattern in (_WIDE, _ESCAPE) * _DECODINGS:
        if pattern is _WIDE and "\0" not in decoded:
            continue
        before, decoded = decoded, pattern.sub(_meaning, decoded)
        if decoded == before:
            continue
        steps.append((before, pattern))
        found += _before_steps(steps, _find_letters(decoded, forms))
    if steps:
        found += _before_steps(steps, _find_in_runs(decoded, forms, layers))
    return found


def _find_letters(text: str, forms: list[_Form]) -> list[Span]:
    """Return where a form stands if only letters and digits count."""
    data = _plain(text).encode("ascii", "replace")  # one byte for each character
    letters = _letters_of(data)
    written = data.lower()
    found: list[Span] = []
    hits: list[Span] = []
    for form in forms:
        if form.adds_up:
            found += _adding_up(written, form)
        elif form.is_exact:
            spans = (hit[:2] for hit in _hits(written, form))
            found += [span for span in spans if _has_letters(written[slice(*span)])]
        else:
            hits += [hit[:2] for hit in _hits(letters, form)]
    if not hits:
        return found
    places = array("I", compress(range(len(data)), data.translate(_IS_KEPT)))
    return found + [(places[start], places[end - 1] + 1) for start, end in hits]


def _has_letters(written: bytes) -> bool:
    return len(_letters_of(written)) >= ENOUGH * MIN_FORM_LENGTH


def _hits(data: bytes | bytearray, form: _Form) -> Iterator[tuple[int, int, int]]:
    """Yield where enough of a form stands, and which of its bytes is the first there."""
    is_one = len(form.cores) == 1
    for at, core in form.cores:
        before, after = form.whole[:at][::-1], form.whole[at + len(core) :]
        core_at = data.find(core)
        while core_at >= 0:
            core_end = core_at + len(core)
            start = core_at - _same(data[max(core_at - at, 0) : core_at][::-1], before)
            end = core_end + _same(data[core_end : core_end + len(after)], after)
            is_enough = end - start >= form.enough
            if is_enough:
                yield start, end, at - (core_at - start)
            if is_enough and not is_one:  # its other cores need not find it again
                data = data if isinstance(data, bytearray) else bytearray(data)
                data[start:end] = bytes(end - start)
            core_at = data.find(core, end if is_enough else core_at + 1)


def _adding_up(data: bytes, form: _Form) -> list[Span]:
    """Return the parts of a form, if they are nearly all of it together."""
    hits = list(_hits(data, form))
    enough = ENOUGH * len(form.whole)
    spans = _merged([(start, end) for start, end, _ in hits])
    parts = _merged([(first, first + end - start) for start, end, first in hits])
    is_enough = all(sum(end - start for start, end in each) >= enough for each in (spans, parts))
    is_enough = is_enough and _has_letters(b"".join(data[start:end] for start, end in spans))
    return spans if is_enough else []


def _same(one: bytes | bytearray, other: bytes) -> int:
    """Return how many bytes two contents share at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (mine, yours) in pairs if mine != yours), min(len(one), len(other)))


def _find_in_runs(text: str, forms: list[_Form], layers: int) -> list[Span]:
    """Return the runs of base64 or hex that hold a key once they are decoded."""
    places, contents = [], []
    for start, content, size in _decoded_runs(text) if layers else ():
        for written in _WRITTEN.finditer(content):
            first, last = math.floor(written.start() * size), math.ceil(written.end() * size)
            places.append((start + first, start + last))
            contents.append(written[0].decode("ascii"))
    spans = _find("".join(contents), forms, layers - 1) if contents else []
    return [places[number] for number, _, _ in _shares(contents, spans)]


def _decoded_runs(text: str) -> Iterator[tuple[int, bytes, float]]:
    """Yield what runs may stand for: where each begins, its bytes, and how many characters one takes."""
    for run in _BASE64.finditer(text):
        for digits in _HEX.finditer(text, *run.span()):
            for start in range(*digits.span())[:2]:
                end = digits.end() - (digits.end() - start) % 2
                yield start, bytes.fromhex(text[start:end]), 2
        standard = run[0].translate(_STANDARD)
        for start in range(4):  # it may begin anywhere in the run
            end = len(standard) - (len(standard) - start) % 4
            yield run.start() + start, binascii.a2b_base64(standard[start:end]), 4 / 3


def _find_in_values(text: str, forms: list[_Form]) -> list[Span]:
    """Return where a key is spread over the values of one name, as over the events of a stream."""
    found: list[Span] = []
    for places in _values_by_name(text):
        values = [text[start:end] for start, end in places]
        for number, first, last in _shares(values, _find("".join(values), forms)):
            start = places[number][0]
            found.append((start + first, start + last))
    return found


def _shares(texts: list[str], spans: list[Span]) -> Iterator[tuple[int, int, int]]:
    """Yield which texts share in spans of all of them joined: the number of each, and where in it."""
    begins = list(accumulate(map(len, texts), initial=0))
    for first, last in _merged(spans):
        for number in range(bisect_right(begins, first) - 1, bisect_left(begins, last)):
            start, end = max(first, begins[number]), min(last, begins[number + 1])
            if start < end:
                yield number, start - begins[number], end - begins[number]


def _values_by_name(text: str) -> list[list[Span]]:
    """Return where the values of fields and lines stand that have one name, whatever numbers it has."""
    by_name: dict[tuple[bool, str], list[Span]] = {}
    for value in _VALUE.finditer(text):
        before = text[max(0, value.start() - _MAX_NAME) : value.start()].rstrip("\\")
        name = before[max(before.rfind('"'), before.rfind("'")) + 1 :]
        place = value.span(value.lastindex or 0)
        by_name.setdefault((True, name.translate(_NO_DIGITS)), []).append(place)
    for line in _LINE.finditer(text):
        name = (line[1] or "").translate(_NO_DIGITS)
        by_name.setdefault((False, name), []).append(line.span(2))
    return [places for places in by_name.values() if len(places) > 1]


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


# --- escapes ------------------------------------------------------------------------------------

_ESCAPE = re.compile(
    # \u0073, \x73, \163, \n; %73, %2573, %u0073, =73; &#115; &#x73; &lowbar; <b id=x>; a colour
    r"[\\%=&<\x1b](?:(?<=\\)\\{0,16}+(?:u([dD][89ABab][0-9A-Fa-f]{2}\\{1,16}u[dD][C-Fc-f][0-9A-Fa-f]{2})"
    r"|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})"
    r"|[ux]\{([0-9A-Fa-f]{1,8})\}|[0-3][0-7][0-7]|[abfnrtv/])"
    r"|(?<=[%=])(?:25){0,4}(?:u(?=[0-9A-Fa-f]{4})00)?([0-9A-Fa-f]{2})"
    r"|(?<=&)(?:amp;){0,4}(?:\#[xX]([0-9A-Fa-f]{1,8});?|\#[0-9]{1,7};?|[A-Za-z]{2,8};)"
    r"|(?<=<)(?:/?[A-Za-z]{1,10}(?:\s[^<>]{0,100}+)?/?|!--[^<>]{0,100}+)>"
    r"|(?<=\x1b)\[[0-9;]{0,20}+[A-Za-z])"
)

_VALUE = re.compile(
    r"[\"']\s*+:\s*+(?:\\*+(?:\"((?:[^\"\\]++|\\++(?!\"))++)|'((?:[^'\\]++|\\++(?!'))++))|([0-9]{1,9}))"
)
"""A value behind its name in JSON, wherever it stands in a text, and however often it is escaped; or
as Python writes it."""
_LINE = re.compile(
    r"^[ \t]*+(?:([A-Za-z][\w .-]{0,30}?)[:=][ \t]*+|[0-9A-Fa-f]{1,12}[.:)|]?[ \t]++)([^\n]++)",
    re.MULTILINE,
)
"""A line behind its name or number."""
_NO_DIGITS = dict.fromkeys(range(ord("0"), ord("9") + 1))
_BASE64 = re.compile("[A-Za-z0-9+/_-]{24,}")
_HEX = re.compile("[0-9A-Fa-f]{24,}")
_WRITTEN = re.compile(rb"[\t\n\r\0 -~]{12,}")
"""ASCII text; in UTF-16 and UTF-32 there are zeros in it."""
_STANDARD = str.maketrans("-_", "+/")
_MAX_NAME = 100
_WIDE = re.compile(r"[^\0]\0+")
"""A character of UTF-16 that was read as bytes; there may be escapes among such characters."""


@cache
def _look_alikes() -> dict[int, str]:
    """Return the characters that are one ASCII letter or digit in another style."""
    found = {0xE0000 + number: chr(number) for number in range(0x20, 0x7F)}  # invisible tags
    for number in range(0x80, 0x20000):  # those beyond are ideographs
        plain = unicodedata.normalize("NFKC", chr(number))
        if plain != chr(number) and plain.isascii():
            only = [each for each in plain if each.isalnum()]
            if len(only) == 1:
                found[number] = only[0]
    return found


def _plain(text: str) -> str:
    """Return a text of the same length without look-alikes."""
    if text.isascii() or _look_alikes().keys().isdisjoint(map(ord, set(text))):
        return text
    return text.translate(_look_alikes())


def _meaning(escape: re.Match[str]) -> str:
    """Return the character that an escape stands for; a space for what is no letter or digit."""
    written = escape[0]
    if written[-1] == "\0":
        return written[0]
    if escape.lastindex == 1:  # a pair of surrogates
        high, low = int(escape[1][:4], 16), int(escape[1][-4:], 16)
        return chr(0x10000 + (high % 0x400 << 10) + low % 0x400)
    if escape.lastindex:
        return _char(int(escape[escape.lastindex], 16))
    if written[0] == "&":
        word = written.strip("&;").removeprefix("amp;" * written.count("amp;"))
        named = _char(int(word[1:])) if word[0] == "#" else html5.get(f"{word};", " ")
        return named if len(named) == 1 else " "
    number = written.lstrip("\\")
    return chr(int(number, 8)) if written[0] == "\\" and number.isdigit() else " "


def _char(number: int) -> str:
    return chr(number) if number <= sys.maxunicode else " "


def _before_steps(steps: list[tuple[str, re.Pattern[str]]], spans: list[Span]) -> list[Span]:
    """Return where spans of a text stand in the one from which these steps decoded it."""
    for step in reversed(steps if spans else ()):
        spans = _before_decoding(*step, spans)
    return spans


def _before_decoding(text: str, pattern: re.Pattern[str], spans: list[Span]) -> list[Span]:
    """Return where spans of the decoded text stand in the text that was decoded."""
    decoded, starts, ends = array("I"), array("I"), array("I")
    shorter = 0
    for escape in pattern.finditer(text):
        start, end = escape.span()
        decoded.append(start - shorter)
        starts.append(start)
        ends.append(end)
        shorter += end - start - 1

    def place(position: int) -> Span:
        number = bisect_right(decoded, position) - 1
        if number < 0:
            return position, position + 1
        if decoded[number] == position:
            return starts[number], ends[number]
        at = ends[number] + position - decoded[number] - 1
        return at, at + 1

    return [(place(start)[0], place(end - 1)[1]) for start, end in spans]
