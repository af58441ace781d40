"""Numbers in English and Chinese, however they are written: 3,869, `two hundred and one`, 3600多万."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from uncensoring_chinese_models.measure.facts.matchers.finding import CACHED_TEXTS
from uncensoring_chinese_models.text import (
    CARDINALS,
    HAN_NUMERALS,
    MAX_FIGURE_CHARACTERS,
    SCALE_WORDS,
    han_value,
    spelt_value,
)

Share = Literal["percent", "permille"]
_MIN_SIGNIFICANT = 3
"""A number of so many digits that are not zeros at its end hardly stands for anything else."""
_YEARS = range(1000, 2101)
_SHORT_SCALES = {"k": 10**3, "m": 10**6, "mn": 10**6, "bn": 10**9}


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number as a text gives it."""

    start: int
    end: int
    value: Decimal
    share: Share | None = None
    """What it is a share of, if its own signs say so, as in 百分之七十 and 七成."""
    is_plain: bool = False
    """True if it is digits alone, without a sign for thousands or a word for millions."""

    @property
    def is_telling(self) -> bool:
        """True if it hardly stands for anything else: it is neither round nor short, nor a year."""
        digits = "".join(map(str, self.value.as_tuple().digits)).rstrip("0")
        is_year = self.is_plain and self.value == int(self.value) and int(self.value) in _YEARS
        return len(digits) >= _MIN_SIGNIFICANT and not is_year


_BIG = "|".join(SCALE_WORDS)
_SCALE = (
    rf"(?P<words>(?:[ -](?:{_BIG})(?![A-Za-z])){{1,2}})"
    r"|(?P<short>k|mn?|bn)(?![A-Za-z0-9])"
    r"|(?P<han>[多余餘来來几幾]?[十百千]?[万萬亿億]|[多余餘来來几幾]?[十百千]"
    r"| [多余餘来來几幾]?[万萬亿億])"
)
_FIGURE = re.compile(
    r"(?<![A-Za-z0-9_])(?<!\d\.)(?:(?<!\d,)|(?!\d{3}(?!\d)))(?P<digits>\d{1,3}(?:[, ]\d{3})+(?!\d)|\d+)(?P<part>\.\d+)?"
    rf"(?!\d|\.\d|,\d{{3}}(?!\d))(?:{_SCALE})?",
    re.IGNORECASE,
)
_UNITS = [word for word, value in CARDINALS.items() if value < 20]
_TENS = [word for word, value in CARDINALS.items() if value >= 20]
_SMALL = (
    rf"(?:(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(_UNITS[1:10])}))?|{'|'.join(reversed(_UNITS))})"
)
_WORDS = re.compile(
    rf"(?<![A-Za-z])(?:(?P<half>half an? (?=(?:{_BIG})))|an? (?=(?:{_BIG})))?"
    rf"(?:(?:(?:{_SMALL})[ -])?(?:{_BIG})(?:[ -](?:{_BIG}))?"
    rf"(?:(?:[ -](?:and )?|, and |, (?=(?:{_SMALL})[ -]hundred))(?:{_SMALL})(?![A-Za-z])(?:[ -](?:{_BIG})){{0,2}}){{0,4}}|{_SMALL})(?![A-Za-z])",
    re.IGNORECASE,
)
_HAN = re.compile(
    rf"[{HAN_NUMERALS}廿]+(?!分之)(?:[多余餘][万萬亿億])?(?:[点點](?P<part>[〇零一二三四五六七八九]+))?"
)
_HAN_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_VAGUE = str.maketrans("", "", "多余餘来來几幾 ")
_ENDS_IN = re.compile("[亿億]$")


def _scale(match: re.Match[str]) -> int:
    found = 1
    if match["words"]:
        for word in re.split("[ -]", match["words"].strip(" -").lower()):
            found *= SCALE_WORDS[word]
    elif match["short"]:
        found = _SHORT_SCALES[match["short"].lower()]
    elif match["han"]:
        for sign in match["han"].translate(_VAGUE):
            found *= _HAN_SCALES[sign]
    return found


def _figures(text: str) -> Iterator[Numeral]:
    for match in _FIGURE.finditer(text):
        digits = re.sub("[, ]", "", match["digits"])[:MAX_FIGURE_CHARACTERS]
        part = (match["part"] or "")[: MAX_FIGURE_CHARACTERS + 1]
        is_plain = match["digits"].isdecimal() and match.end() == match.end("digits")
        yield Numeral(*match.span(), Decimal(digits + part) * _scale(match), is_plain=is_plain)


def _spelt(text: str) -> Iterator[Numeral]:
    for match in _WORDS.finditer(text):
        words = re.findall("[a-z]+", match.group().lower())
        value = Decimal(spelt_value(word for word in words if word not in ("half", "a", "an")))
        yield Numeral(*match.span(), value / 2 if match["half"] else value)


def _in_chinese(text: str) -> Iterator[Numeral]:
    for match in _HAN.finditer(text):
        whole = match.group().split("点")[0].split("點")[0].translate(_VAGUE)
        part = "".join(
            str(han_value(sign)) for sign in (match["part"] or "")[:MAX_FIGURE_CHARACTERS]
        )
        yield Numeral(*match.span(), Decimal(f"{han_value(whole)}.{part or 0}"))


def _joined(text: str, found: list[Numeral]) -> Iterator[Numeral]:
    """Yield numbers with those whose parts are written in two ways as one: 3亿7500万, 1.2亿."""
    last: Numeral | None = None
    for each in found:
        if last and each.start < last.end:
            continue
        is_rest = (
            last is not None
            and last.end == each.start
            and _ENDS_IN.search(text, last.start, last.end)
            and each.value < 10**8
        )
        if last and is_rest:
            last = Numeral(last.start, each.end, last.value + each.value)
            continue
        if last:
            yield last
        last = each
    if last:
        yield last


_SHARES = {"百分之": "percent", "千分之": "permille"}
_TENTHS = re.compile("成(?P<rest>[一二三四五六七八九](?![百千万萬]))?(?![为為立员員功都年就果本])")


def _with_share(text: str, each: Numeral) -> Numeral:
    head = text[max(0, each.start - 3) : each.start]
    if head in _SHARES:
        share: Share = "percent" if head[0] == "百" else "permille"
        return Numeral(each.start - 3, each.end, each.value, share)
    tenths = _TENTHS.match(text, each.end) if each.value < 10 else None
    if tenths:
        rest = han_value(tenths["rest"]) if tenths["rest"] else 0
        return Numeral(each.start, tenths.end(), each.value * 10 + rest, "percent")
    return each


@lru_cache(maxsize=CACHED_TEXTS)
def numerals_in(text: str) -> tuple[Numeral, ...]:
    """Return the numbers of a text, in their order."""
    text = text.replace("\u25cb", "\u3007")  # a circle for the zero
    found = [*_figures(text), *_spelt(text), *_in_chinese(text)]
    found.sort(key=lambda each: (each.start, -each.end))
    joined: list[Numeral] = []
    for each in _joined(text, found):
        if not joined or each.start >= joined[-1].end:
            joined.append(_with_share(text, each))
    return tuple(joined)
