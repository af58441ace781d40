"""Dates in English and Chinese, however they are written, and the matcher of one date.

A date of another year is another date. A date without its year may be of any year: what was asked
usually gives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from uncensoring_chinese_models.measure.facts.matchers.finding import (
    CACHED_TEXTS,
    Finder,
    TextSpan,
    is_whole_reply,
)
from uncensoring_chinese_models.text import MONTH_NAMES, MONTHS, day_words, han_value

_ROC_BEGAN = 1911
"""The year 民國1年 is 1912."""
_REACH = 40
"""Max characters between the name of a month and the beginning or end of its date."""
_MONTH_NUMBERS = {name: MONTHS.index(month) + 1 for name, month in MONTH_NAMES.items()}
_DAY_WORDS = day_words()


@dataclass(frozen=True, slots=True)
class DateMention:
    """A date as a text gives it: a day, a month or a year."""

    start: int
    core: int
    """Where its month begins, or its year if it has no month: the year may stand in the prompt."""
    end: int
    core_end: int = 0
    """Where its day ends; its year may stand behind it."""
    month: int | None = None
    days: tuple[int, ...] = ()
    """The day, or the first and the last of several."""
    years: tuple[int, ...] = ()
    """The years that it may be of; none if it does not say."""
    is_relative: bool = False
    """True if it gives its year as that of another date, as in 同年 and *the following year*."""

    @property
    def lacks_year(self) -> bool:
        """True if it is a day that says nothing of its year."""
        return bool(self.days) and not self.years and not self.is_relative


# --- English ------------------------------------------------------------------------------------

_YEAR = r"(?P<year>(?:1\d|20)\d\d)(?!\d|[.,]\d|['\u2019]?s(?!\w))"
_SHORT_YEAR = r"['\u2019](?P<short>\d\d)(?![\w'\u2019])"
_YEAR_BEHIND = rf"(?:\)?[ -]?,? ?\(?(?:(?:of|in) )?(?:the year )?{_YEAR}|,? (?:of )?{_SHORT_YEAR})"
_OTHER_YEAR = (
    r"(?P<relative>,? (?:of |in )?(?:the |that )?(?:same|following|next|previous|that) year(?!\w))"
)
_NUMBER_OF_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?: ?(?:st|nd|rd|th)(?![a-z]))?"
_WORD_FOR_DAY = "|".join(sorted((re.escape(each) for each in _DAY_WORDS), key=len, reverse=True))
_DAY = rf"(?:{_NUMBER_OF_DAY}|{_WORD_FOR_DAY})"
_TO = r" ?(?:-|\u2013|\u2014|~|/|&|to|and|or|until|through) ?"
_COUNTED = (
    r"(?! (?:people|persons?|men|women|students|votes?|years?|months?|weeks?|days?|hours?|minutes?"
    r"|per ?cent|million|thousand|hundred|times)(?!\w)|[\d:%]|[.,]\d|-(?:year|day|month|week))"
)
_MONTH = re.compile(
    rf"(?<![A-Za-z_])(?P<name>{'|'.join(sorted(MONTH_NAMES, key=len, reverse=True))})(?![A-Za-z_])"
    r"(?:(?<!may)(?<![a-z]{5})(?<!june)(?<!july)\.)?",
    re.IGNORECASE,
)
_DAY_BEFORE = re.compile(
    rf"(?<![A-Za-z0-9_$-])(?<!\d[.,:])(?P<first>{_DAY})(?:(?:{_TO})(?:the )?(?P<last>{_DAY}))?"
    r"(?:[ -]|,? (?:day )?of )?$",
    re.IGNORECASE,
)
_DAY_BEHIND = re.compile(
    rf"[ -](?:the )?(?P<first>{_DAY})(?![a-z]){_COUNTED}"
    rf"(?:(?:{_TO})(?:the )?(?P<last>{_DAY})(?![a-z]){_COUNTED})?",
    re.IGNORECASE,
)
_BEHIND = re.compile(rf"{_YEAR_BEHIND}|{_OTHER_YEAR}", re.IGNORECASE)
_YEAR_BEFORE = re.compile(r"(?<![\w.,$-])(?P<year>(?:1\d|20)\d\d) $")
_RELATIVE_BEFORE = re.compile(
    r"(?:the following|the next|next|the same|that|the previous) $", re.IGNORECASE
)


def _day(words: str | None) -> int | None:
    if not words:
        return None
    figures = re.match(r"\d+", words)
    value = int(figures.group()) if figures else _DAY_WORDS[" ".join(words.lower().split())]
    return value if 1 <= value <= 31 else None


def _years(match: re.Match[str] | None) -> tuple[int, ...]:
    if match is None:
        return ()
    found = match.groupdict()
    if found.get("year"):
        return (int(found["year"]),)
    return (1900 + int(found["short"]), 2000 + int(found["short"])) if found.get("short") else ()


def _english(text: str) -> Iterator[DateMention]:
    for match in _MONTH.finditer(text):
        found = _around_month(text, match)
        is_verb = match.group()[0].islower() and match.group().lower() in ("may", "march")
        if not is_verb or found.days or found.years:
            yield found


def _around_month(text: str, match: re.Match[str]) -> DateMention:
    month = _MONTH_NUMBERS[match["name"].lower()]
    start, end = match.span()
    left = text[max(0, start - _REACH) : start]
    day = _DAY_BEFORE.search(left)
    if day is not None:
        start -= len(left) - day.start()
    else:
        day = _DAY_BEHIND.match(text, end, end + _REACH)
        end = day.end() if day else end
    days = tuple(filter(None, map(_day, day.groups()))) if day else ()
    year = _BEHIND.match(text, end, end + _REACH)
    years = _years(year)
    is_relative = bool(year and year["relative"])
    core, core_end = start, end
    if year is not None:
        end = year.end()
    elif before := _YEAR_BEFORE.search(text[max(0, start - 8) : start]):
        years, start = (int(before["year"]),), start - len(before.group())
    elif relative := _RELATIVE_BEFORE.search(text[max(0, start - 20) : start]):
        is_relative, start = True, start - len(relative.group())
    if text[end - 1] == ".":
        end -= 1
    return DateMention(start, core, end, min(core_end, end), month, days, years, is_relative)


# --- Chinese ------------------------------------------------------------------------------------

_HAN = "〇零一二三四五六七八九十廿"
_HAN_YEAR = rf"[一二][{_HAN[:-2]}]{{3}}|[二两兩]千(?:[零〇]?[{_HAN}]{{1,3}})?"
_ANY_YEAR = (
    rf"民[国國] ?(?P<roc>\d{{1,3}}|[百{_HAN}]{{1,5}})|(?P<year>(?:1\d|20)\d\d)|(?P<han>{_HAN_YEAR})"
    r"|(?<!\d)['\u2019]?(?P<short>\d\d)"
)
_SAME_YEAR = "[同当當次翌隔该該是今去明本来來]|那一?|[这這]一?|第二|[转轉]"
_BEFORE_HAN_MONTH = re.compile(
    rf"(?:(?:{_ANY_YEAR}) ?年|(?P<relative>(?:{_SAME_YEAR})年)) ?的?,? ?"
    rf"(?P<month>0?[1-9]|1[0-2]|[{_HAN[2:]}]{{1,2}}|元) ?$"
    rf"|(?<![\d{_HAN}.])(?P<alone>0?[1-9]|1[0-2]|[{_HAN[2:]}]{{1,2}}|元) ?$"
)
_HAN_DAY = rf"(?:0?[1-9]|[12]\d|3[01]|[{_HAN[2:]}]{{1,3}})(?!\d)"
_BEHIND_HAN_MONTH = re.compile(
    rf"(?:份? ?(?P<first>{_HAN_DAY}) ?[日号號]?"
    rf"(?: ?(?:[-\u2013\u2014~至到、和與与及或]) ?(?P<last>{_HAN_DAY}))? ?[日号號])"
)


def _number(figure: str) -> int:
    return int(figure) if figure.isdecimal() else han_value(figure)


def _han_years(match: re.Match[str]) -> tuple[int, ...]:
    if match["year"]:
        return (int(match["year"]),)
    if match["roc"]:
        return (_ROC_BEGAN + _number(match["roc"]),)
    if match["han"]:
        return (han_value(match["han"]),)
    if match["short"]:  # in Taiwan the years of the republic are written so, too
        number = int(match["short"])
        return 1900 + number, 2000 + number, _ROC_BEGAN + number
    return ()


def _chinese(text: str) -> Iterator[DateMention]:
    at = text.find("月")
    while at >= 0:
        left = text[max(0, at - 20) : at]
        before = _BEFORE_HAN_MONTH.search(left)
        if before is not None:
            yield from _around_han_month(text, at, before, at - len(left))
        at = text.find("月", at + 1)


def _around_han_month(
    text: str, at: int, before: re.Match[str], offset: int
) -> Iterator[DateMention]:
    group = "month" if before["month"] else "alone"
    month = _number(before[group].replace("元", "1"))
    behind = _BEHIND_HAN_MONTH.match(text, at + 1) or _BEHIND_HAN_MONTH.match(text, at + 2)
    if behind and text[at + 1 : behind.start()].strip():
        behind = None
    days = tuple(_number(each) for each in behind.groups() if each) if behind else ()
    if 1 <= month <= 12 and all(1 <= day <= 31 for day in days):
        start, core = before.start() + offset, before.start(group) + offset
        end = behind.end() if behind else at + 1
        years, relative = _han_years(before), bool(before["relative"])
        yield DateMention(start, core, end, end, month, days, years, relative)


# --- in figures, and years ------------------------------------------------------------------------

_ISO = re.compile(
    r"(?<![\w/-])(?<!\d[.,])(?P<year>(?:1\d|20)\d\d)(?P<sign>[-/.])(?P<month>0?[1-9]|1[0-2])"
    r"(?:(?P=sign)(?P<day>0?[1-9]|[12]\d|3[01]))?(?![\d%]|[-/.]\d|[A-SU-Za-z_])",
    re.ASCII,
)
_FIGURES = re.compile(
    r"(?<![\w/-])(?<!\d[.,])(?P<one>\d{1,2})(?P<sign>[-/.])(?P<two>\d{1,2})(?P=sign)"
    r"(?:(?P<year>(?:1\d|20)\d\d)|(?P<short>\d\d))(?!\w|[-/.]\d)",
    re.ASCII,
)
_LONE_YEAR = re.compile(
    r"(?<![A-Za-z0-9_$€£¥#+])(?<!\d\.)(?<!No )(?<!No\. )(?P<year>(?:1\d|20)\d\d)"
    r"(?!\d|\.\d|,\d{3}(?!\d)|[A-Za-z_]|%)"
    r"(?! ?(?:多|余|餘)?(?:[名人个個位票页頁元条條份枚吨噸号號万萬亿億天次户戶家公米件篇颗顆枪槍座]|"
    r"[发發](?![生布表起动動现現出展明言])|(?:rounds|shots|bullets|people|persons?|votes?|pages?|men|women"
    r"|students|dollars|yuan|million|tons?|residents)(?!\w)))"
    r"(?: ?年)?",
)
_LONE_SHORT_YEAR = re.compile(rf"(?<!\w){_SHORT_YEAR}")
_LONE_HAN_YEAR = re.compile(
    rf"民[国國] ?(?P<roc>\d{{1,3}}|[百{_HAN}]{{1,5}}) ?年"
    rf"|(?<![{_HAN}百千万萬])(?P<han>{_HAN_YEAR}) ?年"
    rf"|(?<![{_HAN}百千万萬])(?P<digits>[一二][{_HAN[:-2]}]{{3}})(?![{_HAN}百千万萬])年?"
)


def _in_figures(text: str) -> Iterator[DateMention]:
    for match in _ISO.finditer(text):
        if match["sign"] == "." and not match["day"]:
            continue  # it is a number with a decimal
        days = (int(match["day"]),) if match["day"] else ()
        year = (int(match["year"]),)
        start, end = match.span()
        yield DateMention(start, start, end, end, int(match["month"]), days, year)
    for match in _FIGURES.finditer(text):
        one, two = int(match["one"]), int(match["two"])
        # 5/6/1989 is the fifth of June to some, and the sixth of May to others.
        months = {
            month for month, day in ((one, two), (two, one)) if 0 < month < 13 and 0 < day < 32
        }
        if len(months) == 1:
            (month,) = months
            day = two if month == one else one
            start = match.start()
            end = match.end()
            yield DateMention(start, start, end, end, month, (day,), _years(match))


def _lone_years(text: str) -> Iterator[DateMention]:
    for match in (*_LONE_YEAR.finditer(text), *_LONE_SHORT_YEAR.finditer(text)):
        yield DateMention(match.start(), match.start(), match.end(), years=_years(match))
    for match in _LONE_HAN_YEAR.finditer(text):
        figure = match["roc"] or match["han"] or match["digits"]
        year = _number(figure) + (_ROC_BEGAN if match["roc"] else 0)
        yield DateMention(match.start(), match.start(), match.end(), years=(year,))


# --- all of them --------------------------------------------------------------------------------

_TAKES_LATER_YEAR = re.compile(
    r",? ?(?:and|or|to|until|through|&|[-\u2013\u2014]),? ?(?:the )?|, ?(?:the )?", re.IGNORECASE
)
_TAKES_EARLIER_YEAR = re.compile(" ?[、和與与及至到\u2014\u2013~-] ?")


@lru_cache(maxsize=CACHED_TEXTS)
def dates_in(text: str) -> tuple[DateMention, ...]:
    """Return the dates of a text, in their order; of two that overlap, the longer one."""
    text = text.replace("\u25cb", "\u3007")  # a circle for the zero
    found = [*_english(text), *_chinese(text), *_in_figures(text), *_lone_years(text)]
    found.sort(key=lambda each: (each.start, -each.end))
    apart: list[DateMention] = []
    for each in found:
        if not apart or each.start >= apart[-1].end:
            apart.append(each)
        elif each.end - each.start > apart[-1].end - apart[-1].start:
            apart[-1] = each
    return tuple(_with_shared_years(text, apart))


def _with_shared_years(text: str, found: list[DateMention]) -> list[DateMention]:
    """Give dates of a row their common year: `15 April and 4 June 1989`, 1989年4月15日至6月4日."""
    for place in reversed(range(len(found) - 1)):
        one, other = found[place], found[place + 1]
        if one.lacks_year and other.days and _joins(text, one, other, _TAKES_LATER_YEAR):
            found[place] = replace(one, years=other.years)
    for place in range(1, len(found)):
        one, other = found[place - 1], found[place]
        if other.lacks_year and one.month and _joins(text, one, other, _TAKES_EARLIER_YEAR):
            found[place] = replace(other, years=one.years)
    return found


def _joins(text: str, one: DateMention, other: DateMention, link: re.Pattern[str]) -> bool:
    return link.fullmatch(text, one.end, other.start) is not None


@dataclass(frozen=True)
class DateMatcher(Finder):
    """Finds one date: a day, a month or a year."""

    year: int
    month: int | None = None
    day: int | None = None
    needs_year: bool = True
    """False if a month without a year counts, as where two dates tell an order."""

    def all(self, text: str, start: int = 0) -> list[tuple[int, int]]:
        """Return every place in a text that gives this date: of a day, without its year."""
        return [
            TextSpan(each.core, each.core_end)
            if self.day
            else TextSpan(max(each.start, start), each.end)
            for each in dates_in(text)
            if each.core >= start and self._is(each, text, start)
        ]

    def _is(self, found: DateMention, text: str, start: int) -> bool:
        if found.years and self.year not in found.years:
            return False
        if self.month is None:
            return bool(found.years)
        if found.month != self.month:
            return False
        if self.day is not None:
            return self.day in found.days
        says_year = bool(found.years) or found.is_relative or not self.needs_year
        return says_year or is_whole_reply(text, start, (found.start, found.end))
