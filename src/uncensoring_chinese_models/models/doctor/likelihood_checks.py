"""Whether a server tells how probable words are that we choose, and by which method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.domain import CallKey
from uncensoring_chinese_models.models.doctor.subject import Judgement
from uncensoring_chinese_models.models.token_scores import (
    echoed_tokens,
    grammar_of,
    numbers_of,
    tokenize,
)

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Call, Json
    from uncensoring_chinese_models.models.doctor.subject import Seen, Subject
    from uncensoring_chinese_models.models.token_scores import Method

SENTENCE = "The capital of France is Paris"
_BY_PRESET: dict[str, tuple[Method, ...]] = {
    "vllm": ("echo",),
    "sglang": ("echo",),
    "llama_cpp": ("forced",),
    "organism": ("forced",),
    "openai_compatible": ("echo", "forced"),
}
"""The methods that a kind of server may have; other kinds have none that is known."""
_HELD_TO = 2
"""Tokens at the end of the sentence that the server is held to."""


def methods(subject: Subject) -> tuple[Method, ...]:
    """Return the methods that can be tried on a subject: the user turn alone is scored."""
    return _BY_PRESET.get(subject.endpoint.preset_name, ()) if subject.arm == "user_persona" else ()


def plan_likelihood(subject: Subject) -> list[Call]:
    """Return a sentence to be echoed with its probabilities, or to be cut into tokens."""
    prompt = subject.sampler.user_turn(SENTENCE)
    calls: dict[Method, Call] = {
        "echo": subject.sampler.scoring_call(_key("echo"), prompt, max_tokens=1, echo=True),
        "forced": tokenize(_key("tokens"), prompt),
    }
    return [calls[method] for method in methods(subject)]


def then_likelihood(seen: Seen) -> list[Call]:
    """Return a request that holds the server to the sentence's last tokens, if it told them."""
    tokens = _tokens(seen)
    if len(tokens) <= _HELD_TO:
        return []
    start, rest = tokens[:-_HELD_TO], tokens[-_HELD_TO:]
    fields: Json = {"max_tokens": _HELD_TO, "grammar": grammar_of(rest)}
    return [seen.subject.sampler.scoring_call(_key("forced"), start, **fields)]


def judge_likelihood(seen: Seen) -> Judgement:
    """Say which method works, if one does."""
    echo, forced = seen.reply("echo"), seen.reply("forced")
    echoed = () if echo is None else echoed_tokens(echo)
    by_echo = bool(echoed) and all(token.logprob is not None for token in echoed[1:])
    held = [] if forced is None else numbers_of(forced.tokens)
    by_force = bool(held) and held == _tokens(seen)[-_HELD_TO:]
    numbers: Json = {"echo": by_echo, "forced": by_force}
    if by_echo or by_force:
        return Judgement("yes", numbers)
    tried = [name for name in ("echo", "tokens", "forced") if name in seen.results]
    has_answer = any(seen.reply(name) or seen.is_rejected(name) for name in tried)
    return Judgement("no" if has_answer else "unknown", numbers)


def _tokens(seen: Seen) -> list[int]:
    reply = seen.reply("tokens")
    return [] if reply is None else numbers_of(reply.tokens)


def _key(name: str) -> CallKey:
    return CallKey(0, "target", "doctor", arm=name)
