"""Facts files of strangers: what their patterns may hold, and how long they may search."""

from __future__ import annotations

import re
import threading
import time
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest
import regex
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.facts_example import example_fact, example_file, lamps
from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.measure.facts import patterns as limits
from uncensoring_chinese_models.measure.facts.patterns import compile_pattern
from uncensoring_chinese_models.measure.facts.schema import (
    MAX_FACTS,
    MAX_PATTERNS,
    builtin_controls,
    builtin_topics,
    builtin_worlds,
    load_facts,
    parse_facts,
    read_facts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

SLOW = [
    "(?:a|a)*c",
    "(?:a|aa)+c",
    "(?:a?|aa?){99}(?:a|aa){99}(?:a|aa)*c",
    "(?:a*?){0,99}?c",
    "(?=(?:a|aa)*c)a",
]
"""Each takes more steps than a life has seconds, in a text of as and a c."""
TEXT = "a" * 5000 + "!c"


def spoilt(**changes: Any) -> bytes:
    """Return a facts file whose first fact has other values."""
    content = example_file(2)
    content["facts"][0] |= changes
    return yaml.safe_dump(content, allow_unicode=True).encode()


# --- at match time --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern", [SLOW[0], *(pytest.param(each, marks=pytest.mark.soak) for each in SLOW[1:])]
)
def test_a_pattern_that_takes_too_long_is_refused_by_name(pattern):
    """The sentence names topic, fact and pattern, after seconds and not years."""
    facts = parse_facts(spoilt(patterns=["111", pattern]), "lamps.yaml")
    began = time.process_time()

    with pytest.raises(ConfigError) as refused:
        facts.facts[0].first_in(TEXT)

    assert time.process_time() - began < 5 * limits.MIN_SEARCH_S
    assert f"'{pattern}' of the fact pine" in str(refused.value)
    assert "The facts file on lamps is refused" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("place", "of"),
    [("about", "the fact pine"), ("decoys", "the fact pine"), ("said_instead", "the fact pine")],
)
def test_every_pattern_of_a_file_has_its_limit(place, of):
    """Decoys, what is said instead and what shows the subject are searched for in the same way."""
    slow = {**lamps(9), "patterns": SLOW[:1]}
    value = {"about": SLOW[:1], "decoys": [slow], "said_instead": slow}[place]
    fact = parse_facts(spoilt(**{place: value}), "lamps.yaml").facts[0]
    searches: dict[str, Callable[[str], object]] = {
        "about": fact.is_spoken_of,
        "decoys": fact.decoys[0].first_in,
        "said_instead": (fact.said_instead or fact).first_in,
    }

    with pytest.raises(ConfigError, match=re.escape(f"'{SLOW[0]}' of {of}")):
        searches[place](TEXT)


def test_a_file_once_refused_stays_refused():
    """Its other patterns are not searched for either, so no verdict can rest on half of them."""
    facts = parse_facts(spoilt(patterns=[SLOW[0]]), "lamps.yaml")
    for fact in facts.facts:
        with pytest.raises(ConfigError, match=re.escape(SLOW[0])):
            fact.first_in(TEXT)
    began = time.process_time()

    with pytest.raises(ConfigError, match=re.escape(SLOW[0])):
        facts.facts[1].decoys[0].first_in("nothing much")

    assert time.process_time() - began < 0.1


def test_many_patterns_that_are_each_slow_share_one_limit():
    """The limit is that of the file: a hundred patterns may not take a hundred times as long."""
    slow = [f"(?:a|aa)+{letter}" for letter in "cdefghijkl"]
    facts = parse_facts(spoilt(patterns=slow), "lamps.yaml")
    began = time.process_time()

    with pytest.raises(ConfigError, match="takes too long"):
        list(map(facts.facts[0].first_in, ("a" * length + "!cdefghijkl" for length in range(99))))

    assert time.process_time() - began < 5 * limits.MIN_SEARCH_S


def test_other_threads_run_while_a_pattern_searches():
    """A search does not stop the pages of others: no pause is longer than a fraction of a second."""
    fact = parse_facts(spoilt(patterns=["watched", SLOW[0]]), "lamps.yaml").facts[0]
    ended, pauses = threading.Event(), []

    def watch() -> None:
        last = time.monotonic()
        while not ended.is_set():
            time.sleep(0.01)
            now = time.monotonic()
            pauses.append(now - last)
            last = now

    watching = threading.Thread(target=watch)
    watching.start()
    with pytest.raises(ConfigError):
        fact.first_in(TEXT)
    ended.set()
    watching.join()

    assert len(pauses) > 10
    assert max(pauses) < limits.MIN_SEARCH_S / 2


def test_time_that_others_take_counts_against_no_file():
    """A search that the processor was kept from is begun again: only its own time is limited."""

    class Held:
        tries = 0

        def finditer(self, text, start, timeout):
            self.tries += 1
            if self.tries < 4:
                time.sleep(timeout)
                raise TimeoutError
            return compile_pattern("lamps").finditer(text, start)

    held = Held()
    searcher = limits.Searcher(["lamps"], "the fact", limits.SearchTime(allowed=0.05))
    searcher._patterns = [("lamps", held)]

    assert searcher.first("ten lamps") == (4, 9)
    assert held.tries == 4


def test_a_long_honest_run_is_never_refused():
    """Texts of two million characters are searched for every fact of a file of ours."""
    facts = load_facts("tiananmen")
    text = "On 4 June 1989 the army cleared the square; 四月十五日胡耀邦去世。\n" * 10_000

    for fact in facts.facts:
        for ending in (fact, *fact.decoys):
            ending.first_in(text)
        fact.is_spoken_of(text)


# --- at loading -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        (r"(a)\1", r"it holds \1"),
        ("(?P<x>a)", "it holds (?P"),
        ("(?i)a", "it holds (?i"),
        ("(?#x)a", "it holds (?#"),
        ("(a)(?(1)b|c)", "it holds (?("),
        ("(?:lamp){e<=2}", r"it holds {e<=2}"),
        ("lamp{", "it holds {"),
        (r"\p{Han}x", r"it holds \p"),
        (r"\X", r"it holds \X"),
        (r"\Kx", r"it holds \K"),
        ("[[:alpha:]]x", "it holds ["),
        ("[a--b]x", "it holds --"),
        ("[a&&b]x", "it holds &&"),
        ("a{2}{3}x", "it repeats a repeat"),
        ("a**x", "it repeats a repeat"),
        ("(a", "lacks a )"),
        ("a)", "stray )"),
        ("[a", "lacks a ]"),
        ("a\\", "ends in a \\"),
        ("*a", "nothing to repeat"),
        ("a{3,2}", "is not a regular expression"),
        ("(?:(?:(?:a{1000}){1000}){1000})", "repeats too much"),
        ("a{60000}", "repeats too much"),
        ("(?:" * 40 + "a" + ")" * 40, "too many groups inside each other"),
        ("a" * 1001, "is longer than"),
    ],
)
def test_a_pattern_that_means_different_things_or_too_much_is_refused(pattern, complaint):
    """What engines read differently, and what is too large to compile, is refused at loading."""
    began = time.process_time()

    with pytest.raises(ConfigError) as refused:
        parse_facts(spoilt(patterns=[pattern]), "lamps.yaml")

    assert complaint in str(refused.value)
    assert "facts.0.patterns.0" in str(refused.value)
    assert len(str(refused.value)) < 500
    assert time.process_time() - began < 2


def test_a_pattern_that_takes_too_long_on_an_empty_text_is_refused():
    """Every pattern is tried on one when a file is read, before any time is counted."""
    pattern = "(?:a?|b?)" * 22 + "(?!$)"

    with pytest.raises(ConfigError, match="takes too long on an empty text"):
        parse_facts(spoilt(patterns=[pattern]), "lamps.yaml")


@given(st.text("ab1(){}[]*+?|\\.^$:=!<>,- 年", max_size=20))
def test_whatever_is_accepted_can_be_searched_for(pattern):
    """A pattern is refused in a sentence or works; nothing else ever comes out."""
    try:
        facts = parse_facts(spoilt(patterns=[pattern]), "lamps.yaml")
    except ConfigError as refused:
        assert "\n" not in str(refused)  # noqa: PT017 -- accepting is right, too
    else:
        facts.facts[0].first_in("ab 1年 a1b")


@pytest.mark.parametrize("name", [*builtin_topics(), *builtin_controls(), *builtin_worlds()])
def test_our_own_files_pass_what_strangers_must(name):
    """The limits of patterns, facts and bytes leave room for the files of the package."""
    assert parse_facts(read_facts(name), name).topic == name


@pytest.mark.parametrize("name", builtin_topics()[:3])
def test_our_own_patterns_match_as_python_matches(name):
    """The engine with a limit finds the same places as `re` does, in the texts of the file itself."""
    facts = load_facts(name)
    texts = [
        text
        for fact in facts.facts
        for each in (fact.question, fact.opening, fact.ending, *(one.ending for one in fact.decoys))
        for text in each.values()
    ]
    text = " ".join(texts)
    patterns = chain.from_iterable(
        (*fact.about, *chain(*(each.patterns or () for each in (fact, *fact.decoys))))
        for fact in facts.facts
    )

    for pattern in dict.fromkeys(patterns):
        ours = compile_pattern(pattern)
        python = re.compile(ours.pattern, re.IGNORECASE)
        assert isinstance(ours, regex.Pattern)
        assert [each.span() for each in ours.finditer(text)] == [
            each.span() for each in python.finditer(text)
        ]


def many_facts(number: int) -> list[dict[str, Any]]:
    """Return so many facts, each with an id of its own."""
    return [example_fact("pine", 111) | {"id": f"pine{each}"} for each in range(number)]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (spoilt(patterns=["111"] * (MAX_PATTERNS + 1)), "has more than"),
        (yaml.safe_dump(example_file(1, facts=many_facts(MAX_FACTS + 1))).encode(), "facts list"),
        (b"# " + b"x" * 300_000 + b"\n" + spoilt(), "is larger than"),
    ],
    ids=["patterns", "facts", "bytes"],
)
def test_a_file_that_is_too_large_is_refused(content, complaint):
    """There is a limit to its bytes, its facts and its patterns."""
    began = time.process_time()

    with pytest.raises(ConfigError, match=complaint):
        parse_facts(content, "lamps.yaml")

    assert time.process_time() - began < 3
