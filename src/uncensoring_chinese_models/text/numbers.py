"""Numbers and months as values, however they are written: ``2k``, ``1.2 million``, ``三百``, ``'89``.

The only tables of number words and months. All texts here are normalised.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from uncensoring_chinese_models.text.normalisation import IDEOGRAPH

MAX_FIGURE_CHARACTERS, MAX_SPELT = 20, 10**15
"""A longer row of digits, or a larger number in words, is cut: it may be endless."""
MAX_SHORT_YEAR = 30
"""'30 is 2030, and '31 is 1931."""

_ONES = str.split(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_ORDINALS = str.split(
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_TENS = str.split("twenty thirty forty fifty sixty seventy eighty ninety")
CARDINALS = {word: value for value, word in enumerate(_ONES)} | {
    word: 10 * value for value, word in enumerate(_TENS, 2)
}
ORDINALS = {word: value for value, word in enumerate(_ORDINALS)} | {
    f"{word[:-1]}ieth": 10 * value for value, word in enumerate(_TENS, 2)
}
NUMBER_WORDS = CARDINALS | ORDINALS
SCALE_WORDS = {
    "hundred": 100,
    "thousand": 1_000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_SUFFIXES = {"k": 1_000, "m": 10**6, "mn": 10**6, "bn": 10**9}
_HAN_DIGITS = {
    **{digit: value for value, digit in enumerate("零一二三四五六七八九")},
    **{digit: value for value, digit in enumerate("〇壹贰叁肆伍陆柒捌玖")},
    "两": 2,
    "兩": 2,
}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1_000, "拾": 10, "佰": 100, "仟": 1_000}
_HAN_SCALES = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
HAN_NUMERALS = "".join((*_HAN_DIGITS, *_HAN_UNITS, *_HAN_SCALES))
_SCALES = SCALE_WORDS | _SUFFIXES | _HAN_UNITS | _HAN_SCALES
MONTHS = str.split(
    "january february march april may june july august september october november december"
)
MONTH_NAMES = {name: month for month in MONTHS for name in (month, month[:3])} | {
    "sept": "september"
}

_NO_LETTER = rf"(?![^\W{IDEOGRAPH}])"
FIGURE = (
    r"(?P<digits>\d+(?:,\d{3}(?!\d))*(?:\.\d+(?!\.?\d))?)"
    rf"(?P<scale>(?:[ \-](?:{'|'.join(SCALE_WORDS)}){_NO_LETTER}){{1,3}}"
    rf"|(?:{'|'.join(_SUFFIXES)}){_NO_LETTER}|[{''.join(_HAN_UNITS | _HAN_SCALES)}]{{1,3}})?"
)
"""Pattern of a figure, with its groups ``digits`` and ``scale``."""
SHORT_YEAR = r"(?<!\w)'(?=\d\d(?![\d.,]\d|\d)(?![^']{0,200}[\w.,!?]'(?!\w)))"
"""Pattern of an apostrophe before a year that does not open a quotation."""
_DIGIT, _UNIT, _SCALE = map("".join, (_HAN_DIGITS, _HAN_UNITS, _HAN_SCALES))
HAN_NUMBER = (
    rf"(?<![几数幾數{_DIGIT}{_UNIT}{_SCALE}])"
    rf"(?:[{_DIGIT}]{{4}}(?=年)"
    rf"|(?:[{_DIGIT}](?=[{_UNIT}{_SCALE}])|十(?=[{_DIGIT}{_SCALE}])|百(?=[{_SCALE}]))"
    rf"[{_DIGIT}{_UNIT}{_SCALE}]+)"
)
"""Pattern of a number in Chinese, save those that are mostly part of a word, as in 六四 and 十分."""
HAN_DAY = "[一二三四五六七八九十廿]{1,3}"
"""Pattern of a month or a day in Chinese."""


def figure_value(digits: str, scale: str, *, is_short: bool) -> Decimal:
    """Return the value of a figure: ``1.2`` and ``million`` are 1,200,000, and short ``89`` is 1989."""
    whole, _, part = digits.replace(",", "").partition(".")
    value = Decimal(f"{whole[:MAX_FIGURE_CHARACTERS]}.{part[:MAX_FIGURE_CHARACTERS]}")
    if is_short and not scale:
        return value + (2000 if value <= MAX_SHORT_YEAR else 1900)
    words = [scale] if scale in _SUFFIXES else scale.replace("-", " ").split()
    for word in words:
        for part in [word] if word in _SCALES else word:
            value *= _SCALES[part]
    return value


def figure_key(value: Decimal | int) -> str:
    """Return a value as digits, without zeros at the end of its decimals."""
    whole = int(value)
    return str(whole) if whole == value else format(Decimal(value).normalize(), "f")


def han_value(numeral: str) -> int:
    """Return the value of a number in Chinese: ``三百五十万`` is 3,500,000, ``一九八九`` is 1989."""
    if all(sign in _HAN_DIGITS for sign in numeral):
        return int("".join(str(_HAN_DIGITS[sign]) for sign in numeral[:MAX_FIGURE_CHARACTERS]))
    total = section = digit = 0
    for sign in numeral.replace("廿", "二十"):
        if sign in _HAN_DIGITS:
            digit = _HAN_DIGITS[sign]
        elif sign in _HAN_UNITS:
            section, digit = section + (digit or 1) * _HAN_UNITS[sign], 0
        elif _HAN_SCALES[sign] == 10**4:
            total, section, digit = total + max(section + digit, 1) * 10**4, 0, 0
        else:
            total, section, digit = max(total + section + digit, 1) * 10**8, 0, 0
        total, section = min(total, MAX_SPELT), min(section, MAX_SPELT)
    return min(total + section + digit, MAX_SPELT)


def spelt_value(words: Iterable[str]) -> int:
    """Return the value of a number in words: ``two hundred and twelve`` is 212."""
    total = part = 0
    for word in words:
        if word == "hundred":
            part = max(part, 1) * 100
        elif word in SCALE_WORDS:
            total, part = total + max(part, 1) * SCALE_WORDS[word], 0
        else:
            part += NUMBER_WORDS.get(word, 0)  # `and` counts nothing
        part = min(part, MAX_SPELT)
    return min(total + part, MAX_SPELT)


def date_key(month: str, day: str) -> str | None:
    """Return a date that is written in digits or in Chinese; None if there is no such day."""
    numbers = [int(part) if part.isdecimal() else han_value(part) for part in (month, day)]
    is_day = 1 <= numbers[0] <= 12 and 1 <= numbers[1] <= 31
    return f"{numbers[1]}-{MONTHS[numbers[0] - 1]}" if is_day else None


def day_words() -> dict[str, int]:
    """Return the days of a month in words: ``first`` is 1, ``twenty-first`` and ``thirty first`` too.

    Days up to 39 are listed, so that ``thirty-second`` is not read as ``second``.
    """
    days = {word: value for word, value in ORDINALS.items() if 1 <= value <= 30}
    compounds = {
        f"{tens}{joint}{unit}": CARDINALS[tens] + ORDINALS[unit]
        for tens in ("twenty", "thirty")
        for joint in "- "
        for unit in _ORDINALS[1:10]
    }
    return days | compounds
