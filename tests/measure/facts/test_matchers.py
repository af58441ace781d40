"""Dates, numbers and orders: forms that are found, and what is near them and is not."""

from __future__ import annotations

import datetime as dt
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from uncensoring_chinese_models.measure.facts.recognising import Recognisable
from uncensoring_chinese_models.text import day_words

HERE = Path(__file__).parent / "wordings"
DATES, NUMBERS, ORDERS = (
    yaml.safe_load((HERE / f"{name}.yaml").read_text("utf-8"))
    for name in ("dates", "numbers", "orders")
)
CONTINUES = "… "
WORDS = {value: word for word, value in day_words().items() if " " not in word}
DIGITS = "〇一二三四五六七八九"


def han(number: int) -> str:
    """Return a number below 200 in Chinese."""
    hundred, rest = divmod(number, 100)
    tens, ones = divmod(rest, 10)
    text = "一百" + ("零" if rest < 10 else "") if hundred else ""
    text += {0: "", 1: "一十" if hundred else "十"}.get(tens, f"{DIGITS[tens]}十")
    return text + (DIGITS[ones] if ones else "")


def parts_of(day: dt.date) -> dict[str, Any]:
    """Return what the forms of a day are filled with."""
    other, wrong = day.year + 3, day.day % 27 + 1
    wrong_month = day.month % 12 + 1
    ending = {1: "st", 2: "nd", 3: "rd"}.get(
        day.day % 10 if day.day not in (11, 12, 13) else 0, "th"
    )
    return {
        "d": day.day,
        "dd": f"{day.day:02}",
        "th": f"{day.day}{ending}",
        "word": WORDS[day.day] if day.day < 31 else "31st",
        "month": f"{day:%B}",
        "MONTH": f"{day:%B}".upper(),
        "mon": f"{day:%b}",
        "m": day.month,
        "mm": f"{day.month:02}",
        "y": day.year,
        "yy": f"{day.year % 100:02}",
        "other": other,
        "next": day.day + 1,
        "wrong": wrong if wrong not in (day.day, day.day + 1) else 29,
        "wrong_month": f"{dt.date(2001, wrong_month, 1):%B}",
        "m_wrong": wrong_month,
        "zy": "".join(DIGITS[int(each)] for each in str(day.year)),
        "zother": "".join(DIGITS[int(each)] for each in str(other)),
        "zm": han(day.month),
        "zd": han(day.day),
        "roc": day.year - 1911,
        "zroc": han(day.year - 1911),
        "roc_other": other - 1911,
        "wide": "".join(chr(ord(each) + 0xFEE0) for each in str(day.year)),
    }


def forms_of(day: dt.date) -> list[str]:
    """Return every form of a day."""
    forms = [*DATES["forms"]["en"], *DATES["forms"]["zh"]]
    forms += DATES["late_days"]["en"] if day.day > 12 else []
    forms += [*DATES["ranges"]["en"], *DATES["ranges"]["zh"]] if day.day < 28 else []
    return [form.format(**parts_of(day)) for form in forms]


def said(recognisable: Recognisable, words: str, before: str) -> bool:
    """Return whether a text says it; one that begins with `… ` continues what came before."""
    text = words.removeprefix(CONTINUES)
    return recognisable.first_in(text, before if words.startswith(CONTINUES) else "") is not None


def wrong_ones(case: dict[str, Any], says: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the texts of a case that are found and should not be, or the other way round."""
    matcher = Recognisable.model_validate(says)
    return [
        (kind, words)
        for kind in ("found", "missed")
        for words in map(str, case[kind])
        if said(matcher, words, case.get("before", "")) != (kind == "found")
    ]


def test_tables_are_large_enough():
    """Sixteen forms of a date per language, and twelve of each number and order, with near-misses."""
    assert min(map(len, (*DATES["forms"].values(), *DATES["misses"].values()))) >= 16
    assert len(DATES["days"]) >= 10
    for case in ORDERS:
        assert min(len(case["found"]), len(case["missed"])) >= 12
    assert sum(len(case["found"]) >= 12 for case in NUMBERS) >= 8


@pytest.mark.parametrize("day", DATES["days"], ids=str)
def test_every_form_of_a_day_is_found(day):
    """Alone, in a sentence, and after an opening."""
    matcher = Recognisable.model_validate({"date": day})
    forms = forms_of(day)

    assert [form for form in forms if not matcher.first_in(form)] == []
    assert [form for form in forms if not matcher.first_in(f"It was on {form}.")] == []
    assert [form for form in forms if not matcher.first_in(f"{form}.", "He died on ")] == []


@pytest.mark.parametrize("day", DATES["days"], ids=str)
def test_a_date_of_another_year_day_or_month_is_not_found(day):
    """The year that stands with a date decides, however both are written."""
    matcher = Recognisable.model_validate({"date": day})
    misses = [*DATES["misses"]["en"], *DATES["misses"]["zh"]]
    texts = [miss.format(**parts_of(day)) for miss in misses]

    assert [text for text in texts if matcher.first_in(text)] == []


@pytest.mark.parametrize("case", DATES["parts"], ids=lambda case: str(case["date"]))
def test_months_and_years_are_found(case):
    """A month needs its year, or a word for it; a year is no number of something."""
    assert wrong_ones(case, {"date": case["date"]}) == []


@pytest.mark.parametrize("case", NUMBERS, ids=lambda case: str(case["says"]["number"]))
def test_numbers_are_found_with_what_they_count(case):
    """A number that counts something else is another number."""
    assert wrong_ones(case, case["says"]) == []


@pytest.mark.parametrize("case", ORDERS, ids=lambda case: str(case["says"]["order"]["relation"]))
def test_orders_are_found(case):
    """Whatever word tells the order, and whichever event is named first."""
    assert wrong_ones(case, case["says"]) == []


@pytest.mark.parametrize(
    ("text", "before", "found"),
    [
        ("4月15日。", "那是1989年", (0, 5)),
        ("4月15日。", "那是1990年", None),
        ("5日。", "1989年4月1", None),
        ("It was on 15 April 1989.", "", (10, 18)),
        ("15 April 1989", "It was on ", (0, 8)),
        ("5 April 1989", "It was on 1", None),
    ],
)
def test_a_date_may_begin_in_the_prompt_with_its_year_alone(text, before, found):
    """What the prompt says of a date is the prompt's; its year still decides."""
    assert Recognisable.model_validate({"date": "1989-04-15"}).first_in(text, before) == found


PIECES = """27 |killed 27 |45 votes to |aa before bb |1989年|4月1、|一|1|1,|1.1|百|two |twenty-|
hundred and |first |aa first |number of people |15 April, """.replace("\n", "").split("|")


@pytest.mark.parametrize("piece", PIECES)
def test_hostile_texts_take_no_longer_than_others(piece):
    """Time grows with the length of a text, whatever it repeats: minutes would pass otherwise."""
    text = piece * (30_000 // len(piece))
    for says in (
        {"date": "1989-04-15"},
        {"number": 27, "unit": "people", "of": ["killed"], "near": ["killed"]},
        {"number": 45, "to": 9},
        {"order": {"relation": "before", "first": ["aa"], "second": ["bb"]}},
    ):
        began = time.process_time()
        Recognisable.model_validate(says).first_in(text)
        assert time.process_time() - began < 5
