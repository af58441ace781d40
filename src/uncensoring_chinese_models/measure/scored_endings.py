"""How likely the target finds each fact and its decoys, as endings of the same words of a user.

Nothing is sampled: the target is shown the opening in the user turn and says how probable the
tokens of each ending are. It cannot refuse that. Two ways, by what a server can do:

::

    echo     the whole sentence is sent as a prompt and echoed with the probability of each token
    forced   the server says which tokens the sentence has, and is held to those of the ending by a
             grammar; the probabilities are those from before the grammar (llama.cpp)
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple

from uncensoring_chinese_models.domain import Call, CallKey, Json, Language, Reply, Token
from uncensoring_chinese_models.measure.facts.schema import join
from uncensoring_chinese_models.models import (
    Method,
    echoed_tokens,
    grammar_of,
    numbers_of,
    together,
    tokenize,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.errors import ClientError
    from uncensoring_chinese_models.measure.facts.schema import Fact, Facts
    from uncensoring_chinese_models.models import ModelClient, Sampler

_UNREADABLE = "\ufffd"
"""What servers write for a part of a character, whichever it is."""


@dataclass(frozen=True, slots=True)
class ScoredEnding:
    """One ending, and its tokens with their log-probabilities."""

    ending: str
    """`fact`, or `decoy` and its number."""
    text: str
    tokens: tuple[Token, ...] = ()
    """From the first one in which the endings of a fact differ."""
    error: str | None = None
    """Why there are none."""


@dataclass(frozen=True, slots=True)
class ScoredFact:
    """A fact and its decoys in one language."""

    fact: str
    language: Language
    endings: tuple[ScoredEnding, ...]


class _Ending(NamedTuple):
    """An ending that is to be scored."""

    item: int
    """Which fact and language, counted from 1."""
    number: int
    """0 for the fact, else the decoy's."""
    language: Language
    text: str
    prompt: str

    def key(self, purpose: Literal["tokens", "likelihood"]) -> CallKey:
        return CallKey(self.item, "target", purpose, 0, self.language, self.number)

    @property
    def name(self) -> str:
        return f"decoy {self.number}" if self.number else "fact"


def first_calls(config: AuditConfig, facts: Facts, sampler: Sampler) -> list[Call]:
    """Return the first request of each ending; a forced one has a second of about its size."""
    endings = _endings(facts, config.languages, sampler) if config.scoring else []
    if config.scoring == "echo":
        return [_echo(each, sampler) for each in endings]
    return [tokenize(each.key("tokens"), each.prompt) for each in endings]


async def score_facts(
    config: AuditConfig, facts: Facts, target: ModelClient, sampler: Sampler
) -> list[ScoredFact]:
    """Score every fact of a file in every language of the config.

    Raises:
        BudgetExceededError: the budget does not cover it.
        FatalError: the target takes no further call.
    """
    endings = _endings(facts, config.languages, sampler)
    score = _by_echo if config.scoring == "echo" else _by_force
    scored = await score(endings, target, sampler)
    items = [(fact.id, language) for fact in facts.facts for language in config.languages]
    return [
        ScoredFact(
            *item, tuple(each for of, each in zip(endings, scored, strict=True) if of.item == n)
        )
        for n, item in enumerate(items, 1)
    ]


def to_json(method: Method, scored: Sequence[ScoredFact]) -> Json:
    """Return what `likelihood.json` holds."""
    told: Json = {"method": method, "facts": [asdict(each) for each in scored]}
    for ending in (ending for fact in told["facts"] for ending in fact["endings"]):
        ending["tokens"] = [list(token[:2]) for token in ending["tokens"]]
    return told


def _endings(facts: Facts, languages: Sequence[Language], sampler: Sampler) -> list[_Ending]:
    items = [(fact, language) for fact in facts.facts for language in languages]
    return [
        _Ending(item, number, language, text, sampler.user_turn(_sentence(fact, text, language)))
        for item, (fact, language) in enumerate(items, 1)
        for number, ending in enumerate((fact, *fact.decoys))
        if (text := ending.ending.get(language)) is not None
    ]


def _sentence(fact: Fact, ending: str, language: Language) -> str:
    return join(fact.opening[language], ending, language)


# --- by an echo ---------------------------------------------------------------------------------


def _echo(ending: _Ending, sampler: Sampler) -> Call:
    # One token is let out: not every server takes a request for none.
    return sampler.scoring_call(ending.key("likelihood"), ending.prompt, max_tokens=1, echo=True)


async def _by_echo(
    endings: Sequence[_Ending], target: ModelClient, sampler: Sampler
) -> list[ScoredEnding]:
    replies = await together(target, [_echo(each, sampler) for each in endings])
    spelt = [[token.name for token in echoed_tokens(reply)] for reply in replies]
    parts = _parts(endings, spelt)
    return [
        _read_echo(ending, reply, parts[ending.item])
        for ending, reply in zip(endings, replies, strict=True)
    ]


def _read_echo(ending: _Ending, reply: Reply | ClientError, start: int) -> ScoredEnding:
    if not isinstance(reply, Reply):
        return ScoredEnding(ending.name, ending.text, error=reply.message)
    tokens, problem = echoed_tokens(reply), None
    if not tokens:
        problem = "the server did not echo the prompt with its probabilities"
    elif any(_UNREADABLE in str(token.name) for token in tokens):
        problem = "a token of the sentence is part of a character, and cannot be told from others"
    return ScoredEnding(ending.name, ending.text, () if problem else tokens[start:], problem)


# --- by force -----------------------------------------------------------------------------------


async def _by_force(
    endings: Sequence[_Ending], target: ModelClient, sampler: Sampler
) -> list[ScoredEnding]:
    replies = await together(target, [tokenize(e.key("tokens"), e.prompt) for e in endings])
    spelt = [reply.tokens if isinstance(reply, Reply) else () for reply in replies]
    parts = _parts(endings, [numbers_of(tokens) for tokens in spelt])
    rests = [tokens[parts[e.item] :] for e, tokens in zip(endings, spelt, strict=True)]
    calls = [
        _force(ending, tokens, len(rest), sampler)
        for ending, tokens, rest in zip(endings, spelt, rests, strict=True)
        if _can_be_forced(rest)
    ]
    forced = iter(await together(target, calls))
    return [
        _read_forced(ending, rest, next(forced) if _can_be_forced(rest) else reply)
        for ending, rest, reply in zip(endings, rests, replies, strict=True)
    ]


def _can_be_forced(rest: Sequence[Token]) -> bool:
    return bool(rest) and all(token.is_whole for token in rest)


def _parts(endings: Sequence[_Ending], spelt: Sequence[Sequence[int | str]]) -> dict[int, int]:
    """Return for each fact how many tokens its sentences begin with in common."""
    of_item: dict[int, list[Sequence[int | str]]] = {}
    for ending, tokens in zip(endings, spelt, strict=True):
        of_item.setdefault(ending.item, []).append(tokens)
    known = {item: [tokens for tokens in of if tokens] for item, of in of_item.items()}
    return {item: len(_common(of)) for item, of in known.items()}


def _common(spelt: Sequence[Sequence[int | str]]) -> list[tuple[int | str, ...]]:
    return list(takewhile(lambda column: len(set(column)) == 1, zip(*spelt, strict=False)))


def _force(ending: _Ending, tokens: Sequence[Token], rest: int, sampler: Sampler) -> Call:
    numbers, key = numbers_of(tokens), ending.key("likelihood")
    grammar = grammar_of(numbers[-rest:])
    return sampler.scoring_call(key, numbers[:-rest], max_tokens=rest, grammar=grammar)


def _read_forced(
    ending: _Ending, rest: Sequence[Token], reply: Reply | ClientError
) -> ScoredEnding:
    if not isinstance(reply, Reply):
        return ScoredEnding(ending.name, ending.text, error=reply.message)
    problem = None
    if not rest:
        problem = "its tokens are the beginning of those of another ending"
    elif not _can_be_forced(rest):
        problem = "one of its tokens is part of a character, whose probability is not told"
    elif numbers_of(reply.tokens) != numbers_of(rest):
        problem = "the server did not write the tokens that it was held to"
    return ScoredEnding(ending.name, ending.text, () if problem else reply.tokens, problem)
