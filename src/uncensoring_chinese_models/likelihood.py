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

from uncensoring_chinese_models.clients.layers import together
from uncensoring_chinese_models.domain import Call, CallKey, Json, Language, Reply, Token
from uncensoring_chinese_models.facts import join

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.errors import ClientError
    from uncensoring_chinese_models.facts import Fact, Facts
    from uncensoring_chinese_models.protocols import ModelClient
    from uncensoring_chinese_models.sampling import Sampler

Method = Literal["echo", "forced"]


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
    plan = _echo if config.scoring == "echo" else _tokenize
    return [plan(each, sampler) for each in endings]


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
    return {"method": method, "facts": [asdict(each) for each in scored]}


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
    spelt = [[name for name, _ in echoed_tokens(reply)] for reply in replies]
    parts = _parts(endings, spelt)
    return [
        _read_echo(ending, reply, parts[ending.item])
        for ending, reply in zip(endings, replies, strict=True)
    ]


def echoed_tokens(reply: Reply | ClientError) -> tuple[Token, ...]:
    """Return the tokens of a prompt that was echoed, without what was written after it; else none."""
    if not isinstance(reply, Reply):
        return ()
    written = reply.usage.completion_tokens
    tokens = reply.tokens[: -1 if written is None else len(reply.tokens) - written]
    is_prompt = len(tokens) > 1 and reply.usage.prompt_tokens in (None, len(tokens))
    return tokens if is_prompt else ()


def _read_echo(ending: _Ending, reply: Reply | ClientError, start: int) -> ScoredEnding:
    if not isinstance(reply, Reply):
        return ScoredEnding(ending.name, ending.text, error=reply.message)
    tokens = echoed_tokens(reply)
    problem = None if tokens else "the server did not echo the prompt with its probabilities"
    return ScoredEnding(ending.name, ending.text, tokens[start:], problem)


# --- by force -----------------------------------------------------------------------------------


def _tokenize(ending: _Ending, _: Sampler) -> Call:
    body: Json = {"content": ending.prompt, "add_special": True, "parse_special": True}
    return Call(ending.key("tokens"), "tokenize", body)


async def _by_force(
    endings: Sequence[_Ending], target: ModelClient, sampler: Sampler
) -> list[ScoredEnding]:
    replies = await together(target, [_tokenize(each, sampler) for each in endings])
    spelt = [_numbers(reply) for reply in replies]
    parts = _parts(endings, spelt)
    todo = [
        (ending, numbers[: parts[ending.item]], numbers[parts[ending.item] :])
        for ending, numbers in zip(endings, spelt, strict=True)
    ]
    calls = [_force(*each, sampler) for each in todo if each[2]]
    forced = iter(await together(target, calls))
    return [
        _read_forced(ending, rest, next(forced) if rest else reply)
        for (ending, _, rest), reply in zip(todo, replies, strict=True)
    ]


def _numbers(reply: Reply | ClientError) -> list[int]:
    tokens = reply.tokens if isinstance(reply, Reply) else ()
    return [number for number, _ in tokens if isinstance(number, int)]


def _parts(endings: Sequence[_Ending], spelt: Sequence[Sequence[int | str]]) -> dict[int, int]:
    """Return for each fact how many tokens its sentences begin with in common."""
    of_item: dict[int, list[Sequence[int | str]]] = {}
    for ending, tokens in zip(endings, spelt, strict=True):
        of_item.setdefault(ending.item, []).append(tokens)
    known = {item: [tokens for tokens in of if tokens] for item, of in of_item.items()}
    return {item: len(_common(of)) for item, of in known.items()}


def _common(spelt: Sequence[Sequence[int | str]]) -> list[tuple[int | str, ...]]:
    return list(takewhile(lambda column: len(set(column)) == 1, zip(*spelt, strict=False)))


def _force(ending: _Ending, prompt: list[int], rest: list[int], sampler: Sampler) -> Call:
    key = ending.key("likelihood")
    return sampler.scoring_call(key, prompt, max_tokens=len(rest), grammar=grammar_of(rest))


def grammar_of(tokens: Sequence[int]) -> str:
    """Return the grammar, in llama.cpp's notation, of a text of just these tokens."""
    return "root ::= " + " ".join(f"<[{number}]>" for number in tokens)


def _read_forced(ending: _Ending, rest: list[int], reply: Reply | ClientError) -> ScoredEnding:
    if not isinstance(reply, Reply):
        return ScoredEnding(ending.name, ending.text, error=reply.message)
    if not rest or [number for number, _ in reply.tokens] != rest:
        problem = "the server did not write the tokens that it was held to"
        return ScoredEnding(ending.name, ending.text, error=problem)
    return ScoredEnding(ending.name, ending.text, reply.tokens)
