"""The linter of facts files: each rule catches what breaks it alone, and the package is silent."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from tests.facts_example import TREES, example_fact, lamps, whole_file
from uncensoring_chinese_models.domain import Language
from uncensoring_chinese_models.measure.facts.lint import (
    MIN_DECOYS,
    MIN_FACTS,
    MIN_LADDERS,
    problems_of,
)
from uncensoring_chinese_models.measure.facts.schema import (
    INVENTED_KINDS,
    Facts,
    builtin_controls,
    builtin_topics,
    join,
    load_facts,
)
from uncensoring_chinese_models.text import CARDINALS, SCALE_WORDS

File = dict[str, Any]
THREE: tuple[Language, ...] = ("en", "zh-Hans", "zh-Hant")


def problems(content: File) -> list[str]:
    """Return what is wrong with a file that is given as a mapping."""
    return problems_of(Facts.model_validate(content))


def changed(change: Callable[[File], object]) -> File:
    """Return the clean file after a change to its first fact."""
    content = whole_file()
    change(content["facts"][0])
    return content


def said_instead(ending: dict[str, Any]) -> File:
    """Return the clean file with something that is said in place of its first fact."""
    return changed(lambda fact: fact.update(said_instead=ending))


def with_name(name: str) -> File:
    """Return the clean file under another English name."""
    content = whole_file()
    content["names"]["en"] = name
    return content


def chairs_of(tree: str) -> File:
    """Return the clean file with a decoy on lamps that a count of chairs in some hall agrees with."""
    content = whole_file()
    content["facts"][0]["decoys"][0] = lamps(440)
    other = content["facts"][1]
    sign = TREES[tree]
    other["opening"]["en"] = f"The number of chairs in the {tree} hall was"
    other["ending"] = {"en": "440 chairs", "zh-Hans": "440把", "zh-Hant": "440把"}
    other["patterns"] = ["440"]
    other["about"] = ["chairs", f"{sign}[厅廳]", "柏[厅廳]"]
    other["question"]["en"] = "How many chairs were there?"
    return content


def the_same_twice() -> File:
    """Return the clean file with its first fact in place of its last, under another id."""
    content = whole_file()
    content["facts"][-1] = example_fact("pine", 111) | {"id": "again"}
    return content


def marked(mark: str, number: int) -> File:
    """Return the clean file in which so many facts have another mark; ladders stand below the fifth to eighth."""
    content = whole_file()
    chosen = content["facts"][4:5] if mark == "detail" else content["facts"]
    for fact in [each for each in chosen if mark == "detail" or "coarser" not in each][:number]:
        fact["mark"] = mark
    return content


def without_ladder() -> File:
    """Return the clean file with a coarser question fewer."""
    content = whole_file()
    del content["facts"][4]["coarser"]
    return content


def of_kind(kind: str, number: int) -> File:
    """Return the clean file in which so many facts are of another kind."""
    content = whole_file()
    for fact in content["facts"][:number]:
        fact["kind"] = kind
    return content


def with_rung(**changes: Any) -> File:
    """Return the clean file with a change to its first coarser question."""
    content = whole_file()
    (one,) = content["facts"][4]["coarser"]
    for key, texts in changes.items():
        one[key] |= texts
    return content


RULES: dict[str, tuple[File, str]] = {
    "too few facts": (whole_file(11), "there are 11 facts; a topic needs 12"),
    "question in two languages": (
        changed(lambda fact: fact["question"].pop("zh-Hant")),
        "pine: its question is missing in zh-Hant",
    ),
    "opening in two languages": (
        changed(lambda fact: fact["opening"].pop("zh-Hans")),
        "pine: its opening is missing in zh-Hans",
    ),
    "ending in two languages": (
        changed(lambda fact: fact["ending"].pop("zh-Hans")),
        "pine: its ending of the fact is missing in zh-Hans",
    ),
    "decoy in two languages": (
        changed(lambda fact: fact["decoys"][1]["ending"].pop("zh-Hans")),
        "pine: its ending of decoy 2 is missing in zh-Hans",
    ),
    "said instead in English alone": (
        said_instead({"ending": {"en": "9 lamps", "zh-Hans": "9盏"}, "patterns": ["9"]}),
        "pine: its ending of what is said instead is missing in zh-Hant",
    ),
    "traditional signs": (
        changed(lambda fact: fact["question"].update({"zh-Hans": "松厅里有幾盏燈，國際的？"})),
        "pine: its question (zh-Hans) has characters of the other script: 國幾燈際",
    ),
    "simplified signs": (
        changed(lambda fact: fact["opening"].update({"zh-Hant": "這个国的松廳裡有"})),
        "pine: its opening (zh-Hant) has characters of the other script: 个国",
    ),
    "kind of invented worlds": (
        changed(lambda fact: fact.update(kind="thing")),
        "pine: its kind is thing, which only invented worlds have",
    ),
    "fact without a mark": (
        changed(lambda fact: fact.pop("mark")),
        "pine: it has no mark; say whether it is core, detail or control",
    ),
    "too few core facts": (marked("control", 5), "7 facts are marked core; a topic needs 8"),
    "too few ladders": (
        without_ladder(),
        "3 core facts have coarser questions; a topic needs 4",
    ),
    "ladder below a fact that is not core": (
        marked("detail", 5),
        "3 core facts have coarser questions; a topic needs 4",
    ),
    "too many dates": (
        of_kind("date", 5),
        "5 of 12 facts are dates; at most a third may be",
    ),
    "coarser question that tells a decoy": (
        with_rung(opening={"en": "In the laurel hall were no lamps whatsoever, or"}),
        "laurel-1: the opening (en) gives decoy 2 away",
    ),
    "one decoy": (
        changed(lambda fact: fact["decoys"].pop()),
        "pine: it has 1 decoy; give it 2",
    ),
    "long decoy": (
        changed(lambda fact: fact["decoys"][0]["ending"].update(en="411 lamps of brass")),
        "pine: decoy 1 (en) is much longer or shorter than the fact",
    ),
    "short decoy": (
        changed(lambda fact: fact["decoys"][1]["ending"].update(en="711")),
        "pine: decoy 2 (en) is much longer or shorter than the fact",
    ),
    "short decoy in a world that is invented": (
        whole_file(
            invented=True,
            facts=[
                example_fact("pine", 111)
                | {"decoys": [{**lamps(9), "ending": {**lamps(9)["ending"], "en": "9"}}]}
            ],
        ),
        "pine: decoy 1 (en) is much longer or shorter than the fact",
    ),
    "pattern of the fact that misses": (
        changed(lambda fact: fact.update(patterns=["111 lamps", "111盏"])),
        "pine: no pattern of the fact matches its own ending (zh-Hant)",
    ),
    "pattern of a decoy that misses": (
        changed(lambda fact: fact["decoys"][0].update(patterns=["411盏", "411盞"])),
        "pine: no pattern of decoy 1 matches its own ending (en)",
    ),
    "ending that is lost in its sentence": (
        changed(lambda fact: fact.update(patterns=["111(?=盏|盞)", "(?<!was )111"])),
        "pine: the fact is not found in its own sentence (en)",
    ),
    "pattern of what is said that misses": (
        said_instead({**lamps(9), "patterns": ["9 lamps", "9盞"]}),
        "pine: no pattern of what is said instead matches its own ending (zh-Hans)",
    ),
    "opening that tells the fact": (
        changed(lambda fact: fact["opening"].update(en="In the pine hall, of 111 lamps, were")),
        "pine: the opening (en) gives the fact away",
    ),
    "question that tells the fact": (
        changed(lambda fact: fact["question"].update(en="Were there 111 in the pine hall?")),
        "pine: the question (en) gives the fact away",
    ),
    "question that tells a decoy": (
        changed(lambda fact: fact["question"].update({"zh-Hans": "松厅里有711盏灯吗？"})),
        "pine: the question (zh-Hans) gives decoy 2 away",
    ),
    "name that tells the fact": (
        with_name("the 111 lamps"),
        "pine: the name of the topic (en) gives the fact away",
    ),
    "pattern of the fact that matches a decoy": (
        changed(lambda fact: fact["patterns"].append("[14]11 lamps")),
        "pine: a pattern of the fact matches the ending of decoy 1 (en)",
    ),
    "pattern of a decoy that matches the fact": (
        changed(lambda fact: fact["decoys"][1]["patterns"].append("[17]11盏")),
        "pine: a pattern of decoy 2 matches the ending of the fact (zh-Hans)",
    ),
    "pattern of a decoy that matches the other": (
        changed(lambda fact: fact["decoys"][0]["patterns"].append("711盞")),
        "pine: a pattern of decoy 1 matches the ending of decoy 2 (zh-Hant)",
    ),
    "question without a mark": (
        changed(lambda fact: fact["question"].update(en="Count the lamps in the pine hall.")),
        "pine: its question (en) does not end with a question mark",
    ),
    "opening that ends in space": (
        changed(lambda fact: fact["opening"].update(en="In the pine hall hung ")),
        "pine: its opening (en) ends in space or closes its sentence",
    ),
    "opening that is a sentence": (
        changed(lambda fact: fact["opening"].update({"zh-Hans": "松厅里有灯。"})),
        "pine: its opening (zh-Hans) ends in space or closes its sentence",
    ),
    "nothing that tells what it is about": (
        changed(lambda fact: fact.update(about=["pine hall", "松厅"])),
        "pine: no pattern of `about` matches its opening or question (zh-Hant)",
    ),
    "the same fact twice": (the_same_twice(), "pine: again says the same; leave one out"),
    "decoy that is the ending of another fact": (
        changed(lambda fact: fact["decoys"].__setitem__(0, lamps(141))),
        "pine: its decoy '141 lamps' is true of bamboo",
    ),
    "decoy that agrees with another fact on the same": (
        chairs_of("pine"),
        "pine: its decoy '440 lamps' is true of cypress",
    ),
}


@pytest.mark.parametrize(("content", "problem"), RULES.values(), ids=RULES)
def test_each_rule_is_told_of_alone(content, problem):
    """A file that breaks one rule has one problem, with the fact that it is about."""
    assert problems(content) == [problem]


ALLOWED: dict[str, File] = {
    "the clean file": whole_file(),
    "decoy that agrees with a fact on something else": chairs_of("cypress"),
    "decoy two characters longer": changed(
        lambda fact: fact["decoys"][0]["ending"].update({"zh-Hans": "共有411盏"})
    ),
    "something said instead": said_instead(lamps(9)),
    "what is about it in the question alone": changed(
        lambda fact: fact["opening"].update(en="The number of lamps there was")
    ),
    "small world that is invented": whole_file(
        invented=True, facts=[example_fact("pine", 111) | {"kind": "thing"}]
    ),
    "one decoy in a world that is invented": whole_file(
        invented=True, facts=[example_fact("pine", 111) | {"decoys": [lamps(411)]}]
    ),
}


@pytest.mark.parametrize("content", ALLOWED.values(), ids=ALLOWED)
def test_what_is_right_is_passed_over(content):
    """The linter says nothing where nothing is wrong."""
    assert problems(content) == []


# --- the files of the package -------------------------------------------------------------------


OURS = [*builtin_topics(), *builtin_controls()]


@cache
def packaged(topic: str) -> Facts:
    """Return a file of the package; several tests look at it."""
    return load_facts(topic)


def test_package_has_twelve_topics():
    """As many as the page says, at least."""
    assert len(builtin_topics()) >= 12


@pytest.mark.parametrize("topic", OURS)
def test_file_of_the_package_is_silent_and_whole(topic):
    """No problem, its own name, enough facts, each in three languages and with a source."""
    facts = packaged(topic)

    assert problems_of(facts) == []
    assert facts.topic == topic
    assert not facts.invented
    assert len([fact for fact in facts.facts if not fact.rung_of]) >= MIN_FACTS == 12
    assert facts.languages == tuple(facts.names) == THREE
    for fact in facts.facts:
        assert fact.sources


@pytest.mark.parametrize("topic", OURS)
def test_every_ending_is_told_by_its_patterns_in_its_sentence(topic):
    """In each language the sentence tells its own ending, at its place, and no other of the fact."""
    for fact in packaged(topic).facts:
        for language in THREE:
            before = join(fact.opening[language], "", language)
            for ending in (fact, *fact.falsehoods):
                told = f"{ending.ending[language]}{'.' if language == 'en' else '。'}"
                assert before + told == fact.sentence(language, ending)
                where = (fact.id, language, told)
                assert ending.first_in(told, before) is not None, where
                others = [each for each in (fact, *fact.falsehoods) if each is not ending]
                assert [each for each in others if each.first_in(told, before)] == [], where


@pytest.mark.parametrize("topic", OURS)
def test_ladders_stand_below_core_facts(topic):
    """Enough core facts have coarser questions, each of which stands before its fact with its sources."""
    facts = packaged(topic).facts
    rungs = [fact for fact in facts if fact.rung_of]

    assert len({each.rung_of for each in rungs if each.mark == "core"}) >= MIN_LADDERS == 4
    for each in rungs:
        fact = packaged(topic).fact(str(each.rung_of))
        assert fact is not None
        assert (each.mark, each.sources) == (fact.mark, fact.sources)
        assert facts.index(each) < facts.index(fact)


@pytest.mark.parametrize("topic", OURS)
def test_kinds_vary_and_each_fact_has_two_decoys(topic):
    """At least three kinds, none of which only invented worlds have."""
    facts = packaged(topic).facts
    kinds = {fact.kind for fact in facts}

    assert len(kinds) >= 3
    assert not kinds & set(INVENTED_KINDS)
    assert all(len(fact.decoys) >= MIN_DECOYS == 2 for fact in facts)


@pytest.mark.parametrize("topic", OURS)
def test_decoys_of_figures_bring_in_no_name(topic):
    """A false date, number or order has no name that its fact has not; a month is none."""
    allowed = {*calendar.month_name}
    for fact in packaged(topic).facts:
        ours = " ".join((fact.opening["en"], fact.question["en"], fact.ending["en"]))
        for decoy in fact.falsehoods if fact.kind in ("date", "number", "order") else ():
            named = set(re.findall(r"\b[A-Z]\w+", decoy.ending["en"]))
            assert named <= allowed | set(re.findall(r"\w+", ours)), fact.id


@pytest.mark.parametrize("topic", OURS)
@pytest.mark.parametrize(("language", "codec"), [("zh-Hans", "gb2312"), ("zh-Hant", "big5")])
def test_chinese_is_in_its_own_script(topic, language, codec):
    """Every sign is in the character set of the script, which has none of the other's own."""
    facts = packaged(topic)
    texts = [facts.names[language]]
    for fact in facts.facts:
        texts += [fact.question[language], fact.opening[language]]
        texts += [each.ending[language] for each in (fact, *fact.falsehoods)]
    signs = set(re.findall(r"[\u4e00-\u9fff]", "".join(texts)))

    assert {sign for sign in signs if not sign.encode(codec, "ignore")} == set()


@pytest.mark.parametrize("topic", OURS)
def test_figures_and_dates_hold_a_figure(topic):
    """The kind says what the decoys change: a date or a number has digits, or a word for one."""
    words = {*CARDINALS, *SCALE_WORDS, "dozens", *(f"{word}s" for word in SCALE_WORDS)}
    for fact in packaged(topic).facts:
        for ending in (fact, *fact.decoys):
            said = ending.ending["en"].lower()
            has_figure = any(sign.isdigit() for sign in said) or words & set(
                re.findall(r"\w+", said)
            )
            assert fact.kind not in ("date", "number") or has_figure, (fact.id, said)
