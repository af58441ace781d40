"""Wordings of many facts: those that state a fact, contradict it, or do neither."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from uncensoring_chinese_models.measure.facts.schema import Fact, Facts, join

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Language

HERE = Path(__file__).parent / "wordings"
TABLES: dict[str, dict[str, dict[str, list[Any]]]] = {
    name: yaml.safe_load((HERE / f"{name}.yaml").read_text("utf-8")) for name in ("review", "more")
}
TOPICS = {
    each["topic"]: Facts.model_validate(each)
    for each in yaml.safe_load_all((HERE / "facts.yaml").read_text("utf-8"))
}
CONTINUES = "… "


def fact_of(name: str) -> Fact:
    """Return a fact by topic and id."""
    topic, _, key = name.partition(".")
    fact = TOPICS[topic].fact(key)
    assert fact is not None
    return fact


def verdict(fact: Fact, words: str) -> str:
    """Return what a text does with a fact: the ending that it names first decides."""
    text, before = words.removeprefix(CONTINUES), ""
    if words.startswith(CONTINUES):
        language: Language = "zh-Hans" if re.search("[\u4e00-\u9fff]", text) else "en"
        before = join(fact.opening[language], "", language)
    named = [(each.first_in(text, before), each is not fact) for each in fact.endings]
    first = min([(span, is_false) for span, is_false in named if span], default=None)
    if first is None:
        return "omits"
    return "contradicts" if first[1] else "states"


@pytest.mark.parametrize(
    ("table", "name"), [(table, name) for table, facts in TABLES.items() for name in facts]
)
def test_a_wording_is_found_or_not(table, name):
    """Each text does with the fact what the list that it stands in says."""
    fact = fact_of(name)
    wrong = [
        (expected, words, found)
        for expected, texts in TABLES[table][name].items()
        for words in map(str, texts)
        if (found := verdict(fact, words)) != expected
    ]

    assert wrong == []
