"""Scoring by force: what is sent token by token, and what cannot be scored is not guessed."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.facts_example import example_file
from uncensoring_chinese_models.config.settings import FACT_AUDITOR, AuditConfig
from uncensoring_chinese_models.domain import Call, Reply, Token
from uncensoring_chinese_models.errors import RejectedError
from uncensoring_chinese_models.measure.facts.schema import Facts
from uncensoring_chinese_models.measure.likelihood import likelihood_to_json, score_facts
from uncensoring_chinese_models.models.sampling import Sampler


class Llama:
    """A server whose tokens are characters, those of one sign being bytes; it keeps to a grammar."""

    def __init__(self, broken: str = "", *, obeys: bool = True) -> None:
        self.broken, self.obeys = broken, obeys
        self.calls: list[Call] = []

    async def complete(self, call):
        """Cut a text into characters, or write what the grammar says."""
        self.calls.append(call)
        if call.api == "tokenize":
            return Reply("", tokens=tuple(self._cut(call.body["content"])))
        held_to = [int(number) for number in re.findall(r"<\[(\d+)\]>", call.body["grammar"])]
        written = held_to if self.obeys else held_to[:-1]
        return Reply("x", tokens=tuple(Token(number, -1.0) for number in written))

    def _cut(self, text):
        for sign in text:
            whole = sign != self.broken
            yield from [Token(ord(sign))] if whole else [Token(1, is_whole=False)] * 3


def scored(llama, languages=("en",), facts=2):
    """Score the lamps of so many halls."""
    settings = {
        "topic": "t",
        "auditing_model": FACT_AUDITOR,
        "audited_model": "qwen/qwen2.5-7b-instruct",
        "audited_endpoint": {"preset": "llama_cpp"},
        "facts": "x.yaml",
        "likelihood": "auto",
        "languages": list(languages),
    }
    config = AuditConfig.model_validate(settings)
    given = Facts.model_validate(example_file(facts))
    return asyncio.run(score_facts(config, given, llama, Sampler(config)))


def test_each_ending_is_held_to_its_own_tokens_after_what_all_share():
    """111, 411 and 711 lamps part at their first digit; the prompt goes up to there."""
    llama = Llama()

    (pine, _) = scored(llama)

    assert [ending.text for ending in pine.endings] == ["111 lamps", "411 lamps", "711 lamps"]
    assert ["".join(chr(t.name) for t in e.tokens) for e in pine.endings] == [
        "111 lamps",
        "411 lamps",
        "711 lamps",
    ]
    forced = [call for call in llama.calls if call.api == "completions"]
    assert len(forced) == len({str(call.key) for call in llama.calls}) / 2 == 6
    sent = "".join(map(chr, forced[0].body["prompt"]))
    assert sent.endswith("user\nThe number of lamps in the pine hall was ")
    assert forced[0].body["max_tokens"] == len("111 lamps")


def test_languages_are_scored_each_by_itself():
    """One entry per fact and language, in the order of the file."""
    found = scored(Llama(), ("en", "zh-Hant"))

    assert [(each.fact, each.language) for each in found] == [
        ("pine", "en"),
        ("pine", "zh-Hant"),
        ("cypress", "en"),
        ("cypress", "zh-Hant"),
    ]
    assert [ending.text for ending in found[1].endings] == ["111盞", "411盞", "711盞"]


def test_a_part_of_a_character_in_an_ending_is_not_asked_for():
    """The server would not tell its probability; in the opening it does no harm."""
    ending, opening = Llama("盏"), Llama("松")

    (pine,) = scored(ending, ("zh-Hans",), 1)
    assert {each.error for each in pine.endings} == {
        "one of its tokens is part of a character, whose probability the server does not give"
    }
    assert [call.api for call in ending.calls] == ["tokenize"] * 3
    (pine,) = scored(opening, ("zh-Hans",), 1)
    assert all(each.tokens and not each.error for each in pine.endings)


def test_a_server_that_ignores_the_grammar_scores_nothing():
    """What it wrote instead has a probability, too, but not the one that was asked for."""
    (pine, _) = scored(Llama(obeys=False))

    assert {each.error for each in pine.endings} == {
        "the server did not write the tokens that it was held to"
    }
    assert not any(each.tokens for each in pine.endings)


def test_one_call_that_fails_costs_one_ending():
    """The others are scored; the error is kept in the server's words."""

    class Failing(Llama):
        async def complete(self, call):
            if call.key.sample == 2 and call.api == "completions":
                raise RejectedError("no grammar here", status=400)
            return await super().complete(call)

    (pine, _) = scored(Failing())

    assert [bool(each.tokens) for each in pine.endings] == [True, True, False]
    assert pine.endings[2].error == "no grammar here"


def test_stored_tokens_are_pairs():
    """Number and log-probability; what the client knows beside that is not stored."""
    stored = likelihood_to_json("forced", scored(Llama()))

    assert stored["method"] == "forced"
    assert stored["facts"][0]["endings"][0]["tokens"][0] == [ord("1"), -1.0]


@pytest.mark.parametrize(
    "settings",
    [
        {"facts": None, "likelihood": "echo"},
        {"facts": "tiananmen", "likelihood": "auto", "auditing_model": "a/b"},
        {"facts": "tiananmen", "likelihood": "sometimes"},
    ],
)
def test_likelihood_is_for_a_facts_file_alone(settings):
    """Without a facts file there is nothing to score."""
    given = {"topic": "t", "auditing_model": FACT_AUDITOR, "audited_model": "a/b"}

    with pytest.raises(ValueError, match="likelihood"):
        AuditConfig.model_validate(given | settings)
