"""Ask a server for the tokens of a text and their probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from uncensoring_chinese_models.domain import Call, CallKey, Json, Reply, Token

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uncensoring_chinese_models.errors import ClientError

Method = Literal["echo", "forced"]
"""How a server is asked for the probability of a given text."""


def tokenize(key: CallKey, prompt: str) -> Call:
    """Return the request that cuts a raw prompt into tokens."""
    body: Json = {"content": prompt, "add_special": True, "parse_special": True}
    return Call(key, "tokenize", {**body, "with_pieces": True})


def echoed_tokens(reply: Reply | ClientError) -> tuple[Token, ...]:
    """Return the tokens of an echoed prompt, without the model's own; empty if there is no echo."""
    if not isinstance(reply, Reply):
        return ()
    written = reply.usage.completion_tokens
    tokens = reply.tokens[: -1 if written is None else len(reply.tokens) - written]
    is_prompt = len(tokens) > 1 and reply.usage.prompt_tokens in (None, len(tokens))
    return tokens if is_prompt else ()


def numbers_of(tokens: Sequence[Token]) -> list[int]:
    """Return the ids of the tokens."""
    return [token.name for token in tokens if isinstance(token.name, int)]


def grammar_of(tokens: Sequence[int]) -> str:
    """Return a grammar in llama.cpp's notation that allows exactly these tokens."""
    return "root ::= " + " ".join(f"<[{number}]>" for number in tokens)
