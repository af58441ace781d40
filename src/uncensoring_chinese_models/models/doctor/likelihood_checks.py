"""Check whether a server scores text that we choose, and by which method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.domain import ARMS, CallKey
from uncensoring_chinese_models.models.doctor.canaries import CheckFinding
from uncensoring_chinese_models.models.token_scores import (
    echoed_tokens,
    grammar_of,
    numbers_of,
    tokenize,
)

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Call, Json
    from uncensoring_chinese_models.models.doctor.canaries import CanaryReplies, CheckedEndpoint
    from uncensoring_chinese_models.models.token_scores import Method

SENTENCE = "The capital of France is Paris"
_FORCED = 2
"""How many tokens at the end of the sentence the grammar forces."""


def methods(checked: CheckedEndpoint) -> tuple[Method, ...]:
    """Return the methods to try; only the user turn is scored."""
    if checked.arm is None or ARMS[checked.arm].turn != "user":
        return ()
    traits = checked.endpoint.traits
    return (traits.scoring,) if traits.scoring else traits.scoring_to_try


def plan_likelihood(checked: CheckedEndpoint) -> list[Call]:
    """Return requests to echo a sentence with its probabilities, or to cut it into tokens."""
    prompt = checked.sampler.user_turn(SENTENCE)
    calls: dict[Method, Call] = {
        "echo": checked.sampler.scoring_call(_key("echo"), prompt, max_tokens=1, echo=True),
        "forced": tokenize(_key("tokens"), prompt),
    }
    return [calls[method] for method in methods(checked)]


def then_likelihood(canaries: CanaryReplies) -> list[Call]:
    """Return a request that forces the sentence's last tokens, if the server told them."""
    tokens = _tokens(canaries)
    if len(tokens) <= _FORCED:
        return []
    start, rest = tokens[:-_FORCED], tokens[-_FORCED:]
    fields: Json = {"max_tokens": _FORCED, "grammar": grammar_of(rest)}
    return [canaries.checked.sampler.scoring_call(_key("forced"), start, **fields)]


def judge_likelihood(canaries: CanaryReplies) -> CheckFinding:
    """Check which method works."""
    echo, forced = canaries.reply("echo"), canaries.reply("forced")
    echoed = () if echo is None else echoed_tokens(echo)
    by_echo = bool(echoed) and all(token.logprob is not None for token in echoed[1:])
    held = [] if forced is None else numbers_of(forced.tokens)
    by_force = bool(held) and held == _tokens(canaries)[-_FORCED:]
    numbers: Json = {"echo": by_echo, "forced": by_force}
    if by_echo or by_force:
        return CheckFinding("yes", numbers)
    tried = [name for name in ("echo", "tokens", "forced") if name in canaries.results]
    has_answer = any(canaries.reply(name) or canaries.is_rejected(name) for name in tried)
    return CheckFinding("no" if has_answer else "unknown", numbers)


def _tokens(canaries: CanaryReplies) -> list[int]:
    reply = canaries.reply("tokens")
    return [] if reply is None else numbers_of(reply.tokens)


def _key(name: str) -> CallKey:
    return CallKey(0, "target", "doctor", arm=name)
