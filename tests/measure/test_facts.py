"""Facts files as they are read: patterns, what the loader refuses, sentences and languages."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.facts_example import example_fact, example_file, lamps, rung, write_facts
from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.measure.facts.patterns import Searcher, SearchTime, as_searched
from uncensoring_chinese_models.measure.facts.schema import (
    MAX_FACTS,
    Facts,
    builtin_topics,
    load_facts,
    parse_facts,
)


def wide(text: str) -> str:
    """Return plain letters and figures as Chinese texts may hold them."""
    return "".join(chr(ord(sign) + 0xFEE0) for sign in text)


# --- patterns -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("April 15", "It began on april 15, they say.", True),
        ("April 15", "It began on April 153.", False),
        ("April 15(?:th)?", "on April 15th.", True),
        ("April 15", "on April 15th.", False),
        ("Hong Kong", "in Hong\nKong", True),
        ("Lhasa", "Lhasas", False),
        ("rümqi", "Ürümqi", False),
        ("ürümqi", "ÜRÜMQI", True),
        ("saka", "Ōsaka", False),
        ("1995", "于1995年去世", True),
        ("1995", "编号19951", False),
        ("1995", "x1995", False),
        ("1995", "1_1995", False),
        ("5月4日", "1919年5月4日", True),
        ("5月4日", "15月4日", False),
        ("Lhasa", "拉萨Lhasa市", True),
        ("1989", "1989년에", True),
        ("刘晓波", "刘晓波2009年被判刑", True),
        ("刘晓波", "Liu刘晓波", True),
        ("封城前", "封城前3天", True),
        ("1995", f"{wide('1995')}年", True),
        ("1995", f"{wide('11995')}年", False),
        ("4月15日", f"{wide('4')}月{wide('15')}日", True),
        ("3,869", f"{wide('3,869')}人", True),
        ("Shanghai", wide("Shanghai"), True),
        ("11|112", "112", True),
    ],
)
def test_patterns_are_whole_words_in_any_case(pattern, text, matches):
    """A word or figure within a longer one is another; beside an ideograph each is whole."""
    assert Searcher([pattern], "it", SearchTime()).any_in(as_searched(text)) is matches


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("开枪，打死", "军队开枪，打死学生", True),
        ("开枪[^，。]{0,9}学生", "军队开枪，打死学生", False),
        ("多少人？", "死了多少人", False),
        ("多少人？", "死了多少人？", True),
        (wide("(PLA)"), "解放军（PLA）", True),
    ],
)
def test_full_width_signs_of_patterns_count_as_plain_ones(pattern, text, matches):
    """A pattern may write them as the texts do; they mean themselves."""
    assert Searcher([pattern], "it", SearchTime()).any_in(as_searched(text)) is matches


@given(st.text())
def test_text_as_searched_keeps_its_places(text):
    """What is found in it stands at the same place in the text itself."""
    assert len(as_searched(text)) == len(text)


# --- what is refused ----------------------------------------------------------------------------


def spoilt(key: str, value: Any) -> dict[str, Any]:
    """Return a file whose first fact has another value, or lacks the key where it is None."""
    content = example_file(2)
    content["facts"][0][key] = value
    if value is None:
        del content["facts"][0][key]
    return content


SOURCE = {"title": "x", "publisher": "y", "url": "https://example.org"}


def many(number: int) -> dict[str, Any]:
    """Return a fact with an id of its own and two coarser questions."""
    return example_fact("pine", 111) | {"id": f"pine{number}", "coarser": [rung("pine")] * 2}


REFUSED: dict[str, tuple[Any, str]] = {
    "no UTF-8": (b"\xff\xfe", "is not UTF-8 text"),
    "empty": (b"", "must be a mapping of keys to values, but it is empty"),
    "a list": (b"- a", "must be a mapping of keys to values, but it is a list"),
    "no YAML": (b"topic: [", "is not valid YAML"),
    "key given twice": (b"topic: a\ntopic: b\n", "the key 'topic' is given twice (line 2)"),
    "no topic": ({"names": {"en": "x"}, "facts": example_file()["facts"]}, "topic is missing"),
    "topic that is no name": (example_file(topic="the lamps"), "topic"),
    "no names": ({"topic": "x", "facts": example_file()["facts"]}, "names is missing"),
    "no English name": (example_file(names={"zh-Hans": "灯"}), "names lacks English (en)"),
    "no fact": (example_file(0), "facts list should have at least 1 item"),
    "unknown key": (example_file(fact=1), "unknown key fact (did you mean facts?)"),
    "unknown key of a fact": (spoilt("patern", []), "unknown key facts.0.patern"),
    "unknown language": (spoilt("opening", {"en": "It was", "fr": "Il y a"}), "fr"),
    "no English opening": (spoilt("opening", {"zh-Hans": "有"}), "opening lacks English (en)"),
    "no question": (spoilt("question", None), "facts.0.question is missing"),
    "no opening": (spoilt("opening", None), "facts.0.opening is missing"),
    "no ending": (spoilt("ending", None), "facts.0.ending is missing"),
    "no id": (spoilt("id", None), "facts.0.id is missing"),
    "id that is no name": (spoilt("id", "a b"), "facts.0.id"),
    "no about": (spoilt("about", []), "facts.0.about list should have at least 1 item"),
    "no pattern": (spoilt("patterns", []), "facts.0.patterns list should have at least 1 item"),
    "no decoy": (spoilt("decoys", []), "facts.0.decoys list should have at least 1 item"),
    "decoy with a source": (
        spoilt("decoys", [{**lamps(9), "source": {}}]),
        "unknown key facts.0.decoys.0.source",
    ),
    "unknown kind": (spoilt("kind", "person"), "facts.0.kind must be 'date', 'number'"),
    "blank text": (spoilt("ending", {"en": " "}), "facts.0.ending.en must not be empty"),
    "two lines": (spoilt("ending", {"en": "a\nb"}), "must not contain control characters"),
    "figure for a text": (spoilt("ending", {"en": 111}), "not 111 (put it in quotes)"),
    "stray bracket": (spoilt("patterns", ["a)(b"]), "'a)(b' is not a regular expression"),
    "flag in a pattern": (spoilt("patterns", ["(?s)a"]), "'(?s)a' is not a regular expression"),
    "pattern for nothing": (spoilt("about", ["x?"]), "'x?' matches the empty text"),
    "nothing to look for": (spoilt("patterns", None), "facts.0 says nothing to look for"),
    "no date": (spoilt("date", "15 April"), "'15 April' is no date; write 1989-04-15"),
    "no such day": (spoilt("date", "1989-02-30"), "'1989-02-30' is no day of the calendar"),
    "no such month": (spoilt("date", "1989-13"), "'1989-13' is no day of the calendar"),
    "date that is a list": (spoilt("date", [1989]), "facts.0.date"),
    "number in words": (spoilt("number", "eleven"), "facts.0.number"),
    "range that falls": (spoilt("number", [9, 3]), "has a range of numbers that does not rise"),
    "range of three": (spoilt("number", [1, 2, 3]), "facts.0.number"),
    "unit without a number": (spoilt("unit", "people"), "has to, unit or of without a number"),
    "unknown unit": ({**spoilt("unit", "sheep")}, "facts.0.unit must be 'people', 'votes'"),
    "order of nothing": (
        spoilt("order", {"relation": "before"}),
        "gives an order of the fact pine without first or second; name both events",
    ),
    "unknown relation": (spoilt("order", {"relation": "near"}), "facts.0.order.relation must be"),
    "stray bracket in a name": (
        spoilt("order", {"relation": "before", "first": ["a)"], "second": ["b"]}),
        "'a)' is not a regular expression",
    ),
    "one id for two": (spoilt("id", "cypress"), "uses the id cypress twice"),
    "no source": (spoilt("sources", None), "gives no source for pine; add one"),
    "source without a publisher": (
        spoilt("sources", [{"title": "x", "url": "https://example.org"}]),
        "facts.0.sources.0.publisher is missing",
    ),
    "source on no web page": (
        spoilt("sources", [{"title": "x", "publisher": "y", "url": "a book"}]),
        "facts.0.sources.0.url",
    ),
    "source of no date": (
        spoilt("sources", [{**SOURCE, "date": "last year"}]),
        "facts.0.sources.0.date 'last year' is no date",
    ),
    "archive on no web page": (
        spoilt("sources", [{**SOURCE, "archive": "a shelf"}]),
        "facts.0.sources.0.archive",
    ),
    "unknown mark": (
        spoilt("mark", "secret"),
        "facts.0.mark must be 'core', 'detail' or 'control'",
    ),
    "coarser question with a mark": (
        spoilt("coarser", [rung("pine") | {"mark": "core"}]),
        "unknown key facts.0.coarser.0.mark",
    ),
    "five coarser questions": (spoilt("coarser", [rung("pine")] * 5), "facts.0.coarser list"),
    "fact with the id of a coarser question": (
        {
            **example_file(),
            "facts": [
                example_fact("pine", 111) | {"coarser": [rung("pine")]},
                example_fact("plum", 121) | {"id": "pine-1"},
            ],
        },
        "uses the id pine-1 twice",
    ),
    "too many with coarser questions": (
        example_file(facts=[many(each) for each in range(40)]),
        f"has more than {MAX_FACTS} facts and coarser questions",
    ),
}


@pytest.mark.parametrize(("content", "complaint"), REFUSED.values(), ids=REFUSED)
def test_file_that_is_wrong_is_refused_in_one_sentence(content, complaint):
    """The sentence names the file and the key, and stands on one line."""
    raw = content if isinstance(content, bytes) else yaml.safe_dump(content).encode()

    with pytest.raises(ConfigError) as refused:
        parse_facts(raw, "lamps.yaml")

    said = str(refused.value)
    assert said.startswith("lamps.yaml")
    assert complaint in said
    assert said.endswith(".")
    assert "\n" not in said


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("nowhere.yaml", "The facts file nowhere.yaml cannot be read: No such file or directory."),
        ("folder.yaml", "The facts file folder.yaml cannot be read: Is a directory."),
        ("~nobody-at-all/x.yaml", "~nobody-at-all/x.yaml cannot be read: No such file"),
        ("lamps", "There is no facts file lamps; the package has covid, "),
        ("../facts", "Name one of them, or give the path of a YAML file."),
    ],
)
def test_file_that_is_not_there_is_told(name, complaint, tmp_path, monkeypatch):
    """A path and a topic that lead nowhere are each told in a sentence."""
    (tmp_path / "folder.yaml").mkdir()
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ConfigError) as refused:
        load_facts(name)

    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_invented_facts_need_no_source():
    """An organism's world can be looked up nowhere."""
    content = spoilt("sources", None) | {"invented": True}

    assert Facts.model_validate(content).facts[0].sources == []


def test_topic_and_path_load_alike(tmp_path):
    """What the package has is found by name, anything else by its path."""
    path = write_facts(tmp_path, example_file())

    assert load_facts(path) == Facts.model_validate(example_file())
    assert load_facts(builtin_topics()[0]).topic == builtin_topics()[0]


# --- what a file says ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def facts():
    """Return the file without a fault."""
    return Facts.model_validate(example_file())


def test_sentence_is_opening_and_ending(facts):
    """English has a space between them; each has its own full stop, and a decoy the same opening."""
    pine = facts.fact("pine")

    assert pine.sentence("en") == "The number of lamps in the pine hall was 111 lamps."
    assert pine.sentence("zh-Hans") == "松厅里挂着的灯共有111盏。"
    assert pine.sentence("zh-Hant") == "松廳裡掛著的燈共有111盞。"
    assert pine.sentence("zh-Hant", pine.decoys[0]) == "松廳裡掛著的燈共有411盞。"


@pytest.mark.parametrize("key", ["opening", "ending"])
def test_sentence_needs_both_parts(key):
    """Where the file has half of it in a language, there is no sentence in it."""
    content = example_file(1)
    del content["facts"][0][key]["zh-Hant"]
    pine = Facts.model_validate(content).facts[0]

    assert pine.sentence("zh-Hant") is None
    assert pine.sentence("en") is not None


@pytest.mark.parametrize(
    ("before", "text", "found"),
    [
        ("", "111 lamps", (0, 3)),
        ("", "There were 111, or 111.", (11, 14)),
        ("", "There were 1111.", None),
        ("There were ", "111.", (0, 3)),
        ("There were 1", "111.", None),
        ("There were 111", " lamps.", None),
        ("There were 111 or ", "111.", (0, 3)),
        ("There were 11", "1 lamps, so 111.", (12, 15)),
        ("共有", f"{wide('111')}盏", (0, 3)),
        (f"共有{wide('1')}", f"{wide('111')}盏", None),
    ],
)
def test_first_place_that_tells_it(facts, before, text, found):
    """Places are those of the text, and a word that began before it is not whole in it."""
    assert facts.fact("pine").first_in(text, before) == found


def test_pattern_sees_all_that_came_before():
    """One that looks back over several characters looks into what the text continues."""
    content = example_file(1)
    content["facts"][0]["patterns"] = ["(?<!not )(?<!not quite )111"]
    pine = Facts.model_validate(content).facts[0]

    assert pine.first_in("111", "It was ") == (0, 3)
    assert pine.first_in("111", "It was not ") is None
    assert pine.first_in("111", "It was not quite ") is None


def test_first_of_several_patterns_is_the_first_in_the_text():
    """The order of the patterns decides nothing."""
    content = example_file(1)
    content["facts"][0]["patterns"] = ["late", "early", "early on"]
    pine = Facts.model_validate(content).facts[0]

    assert pine.first_in("early on, and late") == (0, 5)


def test_text_speaks_of_a_fact_by_its_own_patterns(facts):
    """What a text is about is told apart from what it says of it."""
    pine = facts.fact("pine")

    assert pine.is_spoken_of("In the Pine Hall it was dark.")
    assert pine.is_spoken_of("松廳2號")
    assert not pine.is_spoken_of("There were 111 lamps in the plum hall.")


def test_falsehoods_are_decoys_and_what_is_said_instead():
    """Both are other endings of the opening, and neither is so."""
    content = example_file(1)
    content["facts"][0]["said_instead"] = lamps(7)
    pine = Facts.model_validate(content).facts[0]

    assert [each.patterns for each in pine.falsehoods] == [["411"], ["711"], ["7"]]
    assert Facts.model_validate(example_file(1)).facts[0].falsehoods == tuple(pine.decoys)


def told(**ending: Any) -> Any:
    """Return a fact that is recognised in another way, and the decoys that it is given."""
    content = example_file(1)
    fact = content["facts"][0]
    del fact["patterns"]
    decoys = ending.pop("decoys")
    fact |= ending
    fact["decoys"] = [{"ending": {"en": "x"}} | decoy for decoy in decoys]
    return Facts.model_validate(content).facts[0]


def test_a_decoy_counts_what_its_fact_counts():
    """Unit, words for what is counted and words nearby are those of the fact, if it has no own."""
    pine = told(
        number=27,
        of=["lamps?"],
        near=["hall"],
        decoys=[{"number": 19}, {"number": 41, "of": ["chairs?"], "near": ["cellar"]}],
    )
    one, other = pine.decoys

    assert pine.first_in("In the hall hung 27 lamps.")
    assert one.first_in("In the hall hung 19 lamps.")
    assert not one.first_in("In the hall stood 19 chairs.")
    assert not one.first_in("In the street hung 19 lamps.")
    assert other.first_in("In the cellar stood 41 chairs.")
    assert not other.first_in("In the hall hung 41 lamps.")


def test_a_decoy_compares_the_events_of_its_fact():
    """It may name another second event."""
    order = {"relation": "before", "first": ["march"], "second": ["ban"]}
    later = {"order": {"relation": "after"}}
    other = {"order": {"relation": "before", "second": ["storm"]}}
    pine = told(order=order, decoys=[later, other])

    assert pine.first_in("The march preceded the ban.")
    assert pine.decoys[0].first_in("The march followed the ban.")
    assert pine.decoys[1].first_in("The march preceded the storm.")
    assert not pine.decoys[1].first_in("The march preceded the ban.")


@pytest.mark.parametrize("written", ["1989-04-15", "'1989-04-15'"])
def test_dates_are_read_with_and_without_quotes(written):
    """YAML reads the one as a date and the other as text."""
    raw = yaml.safe_dump(example_file(1)).replace("patterns:\n  - '111'", f"date: {written}", 1)
    (pine,) = parse_facts(raw.encode(), "lamps.yaml").facts

    assert pine.date == "1989-04-15"
    assert pine.first_in("15 April 1989")


def test_words_nearby_are_not_needed_in_a_reply_that_says_nothing_else():
    """A name alone answers a question; in a longer text it may stand for something else."""
    pine = told(patterns=["Shanghai"], near=["court"], decoys=[{"patterns": ["Nanjing"]}])

    assert pine.first_in("Shanghai.")
    assert pine.first_in("It was Shanghai, I believe.")
    assert pine.first_in("Shanghai", "The court sat in ")
    assert not pine.first_in("She came from Shanghai by train.")
    assert pine.decoys[0].first_in("The court sat in Nanjing.")


@pytest.mark.parametrize("key", ["opening", "question"])
def test_languages_are_those_in_which_every_fact_can_be_asked(key):
    """One opening or question that is missing takes the language from the whole file."""
    content = example_file(3)
    assert Facts.model_validate(content).languages == ("en", "zh-Hans", "zh-Hant")
    del content["facts"][1][key]["zh-Hans"]

    assert Facts.model_validate(content).languages == ("en", "zh-Hant")


def test_language_needs_a_name_of_the_topic():
    """A language in which the topic has no name is none of the file's."""
    content = example_file(3, names={"en": "the lamps", "zh-Hant": "燈"})

    assert Facts.model_validate(content).languages == ("en", "zh-Hant")


def test_fact_is_found_by_its_id(facts):
    """An id that no fact has finds none."""
    assert facts.fact("plum").id == "plum"
    assert facts.fact("oak") is None


def test_language_without_every_ending_cannot_be_asked_in():
    """A fact whose ending is missing there would leave its decoys alone to be scored."""
    content = example_file()
    del content["facts"][0]["ending"]["zh-Hans"]
    del content["facts"][1]["decoys"][1]["ending"]["zh-Hant"]

    assert Facts.model_validate(content).languages == ("en",)


def test_same_bytes_are_parsed_once():
    """A command reads one file under several names; only what is wrong is said under each."""
    raw = yaml.safe_dump(example_file(3)).encode()

    assert parse_facts(raw, "lamps.yaml") is parse_facts(raw, "the run's facts file")
    for name in ("one.yaml", "two.yaml"):
        with pytest.raises(ConfigError, match=f"{name}: "):
            parse_facts(raw.replace(b"topic:", b"tropic:"), name)


# --- coarser questions, marks and sources -------------------------------------------------------


def with_rungs() -> Facts:
    """Return a fact with two coarser questions, and one without."""
    content = example_file(2)
    own = [rung("pine") | {"about": ["lanterns"]}, rung("pine")]
    content["facts"][0] |= {"mark": "detail", "coarser": own}
    return Facts.model_validate(content)


def test_coarser_questions_stand_before_their_fact():
    """They are asked like facts, under ids that name their fact, the coarsest first."""
    facts = with_rungs().facts

    assert [fact.id for fact in facts] == ["pine-1", "pine-2", "pine", "cypress"]
    assert [fact.rung_of for fact in facts] == ["pine", "pine", None, None]
    assert facts[0].sentence("en") == "In the pine hall there were a great many lamps."


def test_coarser_question_has_mark_sources_and_patterns_of_its_fact():
    """Its own patterns of what it is about count beside those of the fact."""
    first, second, pine, _ = with_rungs().facts

    assert {each.mark for each in (first, second, pine)} == {"detail"}
    assert first.sources == second.sources == pine.sources
    assert first.is_spoken_of("the pine hall")
    assert first.is_spoken_of("so many lanterns")
    assert not pine.is_spoken_of("so many lanterns")
    assert first.first_in("A great many lamps!") == (0, 18)


def test_one_source_of_an_older_file_is_a_list_of_one():
    """The journals of older runs hold facts files with the key `source`."""
    content = spoilt("sources", None)
    content["facts"][0]["source"] = SOURCE

    (source,) = Facts.model_validate(content).facts[0].sources

    assert (source.title, source.date, source.archive) == ("x", None, None)


@pytest.mark.parametrize(
    ("text", "before", "found"),
    [
        ("soldiers fired", "The first shots came from ", (0, 8)),
        (' "Soldiers" fired', "The first shots came from ", (2, 10)),
        ("the soldiers fired", "The first shots came from ", None),
        ("soldiers fired", "", (0, 8)),
        ("soldiersmith", "", None),
        ("soldiers fired", "the anti", None),
        ("军队开枪", "首先开枪的是", (0, 2)),
    ],
)
def test_a_caret_is_where_the_reply_begins(text, before, found):
    """Behind what a prompt began as well; spaces and signs do not count, nor the rest of a word."""
    content = spoilt("patterns", ["^soldiers", "^军队"])

    fact = Facts.model_validate(content).facts[0]

    assert fact.first_in(text, before) == found
