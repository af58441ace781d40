"""What goes over the wire: tokens, prices and the shapes of OpenRouter's and Ollama's replies.

Nothing in here knows of sockets, faults or scripts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

Api = Literal["chat", "completions", "models", "ollama", "elsewhere", "other"]
Json = dict[str, Any]

BYTES_PER_TOKEN = 4
CREATED = 1_700_000_000
"""All replies bear the same time, so that the same request gives the same bytes."""


# --- text and tokens ----------------------------------------------------------------------------


def utf8(text: str) -> bytes:
    """Encode text, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


def count_tokens(text: str) -> int:
    """Count one token per four bytes, rounded up: never more tokens than bytes."""
    return -(-len(utf8(text)) // BYTES_PER_TOKEN)


def first_tokens(text: str, limit: int) -> str:
    """Keep as many whole characters as fit into that many tokens."""
    room = limit * BYTES_PER_TOKEN
    if len(utf8(text)) <= room:
        return text
    for end, char in enumerate(text):
        room -= len(utf8(char))
        if room < 0:
            return text[:end]
    return text


def text_of(message: Json) -> str:
    """Return the text of a chat message, whether it is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


def prompt_tokens(body: Json) -> int:
    """Count what the request sends to the model, be it messages or a prompt."""
    if "messages" in body:
        return sum(count_tokens(text_of(message)) for message in body["messages"])
    prompt = body.get("prompt", "")
    return len(prompt) if isinstance(prompt, list) else count_tokens(str(prompt))


def encode(value: object) -> bytes:
    """Write JSON as raw UTF-8, as OpenRouter does; what UTF-8 cannot hold is escaped."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True).encode()


def digest(*parts: object) -> str:
    """Return a stable hash of JSON-like values; the order of keys does not matter."""
    canonical = json.dumps(parts, ensure_ascii=True, sort_keys=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()


def pick(options: Sequence[str], *parts: object) -> str:
    """Choose one of the options by the hash of the rest."""
    return options[int(digest(*parts), 16) % len(options)]


# --- the catalogue ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """One entry of the catalogue; prices are strings in USD per token, as OpenRouter gives them."""

    id: str
    prompt_usd: str = "0.0000003"
    completion_usd: str = "0.0000009"
    context_length: int = 131_072
    served: str | None = None
    """The version that answers, where it is named otherwise than asked for."""
    parameters: Sequence[str] = (
        "frequency_penalty",
        "logit_bias",
        "max_tokens",
        "presence_penalty",
        "reasoning",
        "response_format",
        "seed",
        "stop",
        "structured_outputs",
        "temperature",
        "top_k",
        "top_p",
    )

    def cost(self, prompt: int, completion: int) -> Decimal:
        """Price the tokens; a variable price ("-1") costs nothing here."""
        rates = Decimal(self.prompt_usd), Decimal(self.completion_usd)
        return max(rates[0], Decimal(0)) * prompt + max(rates[1], Decimal(0)) * completion

    def listing(self) -> Json:
        """Return the entry as GET /models gives it."""
        author, _, name = self.id.partition("/")
        return {
            "id": self.id,
            "canonical_slug": self.served or self.id,
            "name": f"{author}: {name}",
            "created": CREATED,
            "description": "An entry of the test catalogue.",
            "context_length": self.context_length,
            "architecture": {
                "modality": "text->text",
                "input_modalities": ["text"],
                "output_modalities": ["text"],
                "tokenizer": "Other",
                "instruct_type": None,
            },
            "pricing": {
                "prompt": self.prompt_usd,
                "completion": self.completion_usd,
                "request": "0",
                "image": "0",
            },
            "top_provider": {
                "context_length": self.context_length,
                "max_completion_tokens": None,
                "is_moderated": False,
            },
            "per_request_limits": None,
            "supported_parameters": list(self.parameters),
            "expiration_date": None,
        }


MODELS = (
    Model("anthropic/claude-sonnet-4", "0.000003", "0.000015", 200_000),
    Model("deepseek/deepseek-chat", "0.0000003", "0.00000085", 163_840),
    Model("moonshotai/kimi-k2", "0.00000055", "0.0000022", 131_072),
    Model("qwen/qwen3-8b:free", "0", "0", 40_960),
    Model("openrouter/auto", "-1", "-1", 2_000_000),
)


# --- replies ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Generation:
    """What a model wrote for one request, counted and priced, before it is put into a shape."""

    api: Api
    id: str
    model: Model
    provider: str
    prompt_tokens: int
    completion_tokens: int
    text: str | None
    finish_reason: str | None = "stop"
    reasoning: str | None = None
    refusal: str | None = None
    reasoning_tokens: int = 0

    @property
    def cost(self) -> Decimal:
        """What the tokens cost in USD."""
        return self.model.cost(self.prompt_tokens, self.completion_tokens)

    @property
    def native_finish_reason(self) -> str | None:
        """The upstream's own word for how it ended."""
        if not self.model.id.startswith("anthropic/"):
            return self.finish_reason
        words = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
        return words.get(self.finish_reason or "", self.finish_reason)


def finish(
    text: str, *, stops: Sequence[str], max_tokens: int | None
) -> tuple[str, Literal["stop", "length"]]:
    """Cut what a model would write at the first stop string, then at the token limit."""
    ends = [at for at in (text.find(stop) for stop in stops if stop) if at >= 0]
    written = text[: min(ends, default=len(text))]
    if max_tokens is None or count_tokens(written) <= max_tokens:
        return written, "stop"
    return first_tokens(written, max_tokens), "length"


def render(generation: Generation, *, cost: bool = True) -> Json:
    """Put a generation into the shape of its API."""
    if generation.api == "ollama":
        return _ollama(generation)
    return {
        "id": generation.id,
        "provider": generation.provider,
        "model": generation.model.served or generation.model.id,
        "object": "chat.completion" if generation.api == "chat" else "text_completion",
        "created": CREATED,
        "choices": [_choice(generation)],
        "usage": usage(generation, cost=cost),
    }


def usage(generation: Generation, *, cost: bool = True) -> Json:
    """Return OpenRouter's usage block; `cost` is a JSON number of USD."""
    block: Json = {
        "prompt_tokens": generation.prompt_tokens,
        "completion_tokens": generation.completion_tokens,
        "total_tokens": generation.prompt_tokens + generation.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": generation.reasoning_tokens},
    }
    if cost:
        block["cost"] = float(generation.cost)
        block["is_byok"] = False
        block["cost_details"] = {"upstream_inference_cost": None}
    return block


def _choice(generation: Generation) -> Json:
    choice: Json = {
        "index": 0,
        "logprobs": None,
        "finish_reason": generation.finish_reason,
        "native_finish_reason": generation.native_finish_reason,
    }
    if generation.api == "chat":
        choice["message"] = {
            "role": "assistant",
            "content": generation.text,
            "refusal": generation.refusal,
            "reasoning": generation.reasoning,
        }
        return choice
    choice["text"] = generation.text
    choice["reasoning"] = generation.reasoning
    if generation.refusal is not None:
        choice["refusal"] = generation.refusal
    return choice


def _ollama(generation: Generation) -> Json:
    return {
        "model": generation.model.id,
        "created_at": "2023-11-14T22:13:20Z",
        "response": generation.text,
        "done": True,
        "done_reason": generation.finish_reason,
        "total_duration": 5_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": generation.prompt_tokens,
        "prompt_eval_duration": 1_000_000,
        "eval_count": generation.completion_tokens,
        "eval_duration": 3_000_000,
    }


@dataclass(frozen=True)
class Ask:
    """One request as a brain sees it."""

    api: Api
    body: Json

    @property
    def messages(self) -> list[Json]:
        """The chat messages; none for a raw prompt."""
        return list(self.body.get("messages") or [])

    @property
    def prompt(self) -> str:
        """The raw prompt; empty for a chat."""
        return str(self.body.get("prompt") or "")

    @property
    def options(self) -> Mapping[str, Any]:
        """Where this API keeps its sampling options."""
        return self.body.get("options") or {} if self.api == "ollama" else self.body

    @property
    def stops(self) -> list[str]:
        """The stop strings asked for."""
        stop = self.options.get("stop") or []
        return [stop] if isinstance(stop, str) else [str(one) for one in stop]

    @property
    def max_tokens(self) -> int | None:
        """The token limit asked for."""
        names = (
            ("num_predict",) if self.api == "ollama" else ("max_tokens", "max_completion_tokens")
        )
        asked = [self.options.get(name) for name in names]
        limits = [limit for limit in asked if isinstance(limit, int) and limit >= 0]
        return min(limits, default=None)


@dataclass(frozen=True)
class Said:
    """What a brain answers where plain text is not enough."""

    text: str
    reasoning: str | None = None
    """What a reasoning parser splits off; it is billed as completion."""


Brain = Callable[[Ask], str | Said]
"""Whoever answers: a pure function of the request, so that a resumed run is told the same again."""
