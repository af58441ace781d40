"""Kinds of servers as data: their default addresses, and how they differ from the OpenAI API."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json

PresetName = Literal[
    "openrouter",
    "openai_compatible",
    "vllm",
    "sglang",
    "llama_cpp",
    "ollama",
    "organism",
    "gguf",
    "builtin",
]


@dataclass(frozen=True, slots=True)
class Preset:
    """How one kind of server differs from the plain OpenAI API."""

    base_url: str | None
    headers: dict[str, str] = field(default_factory=dict)
    chat_body: Json = field(default_factory=dict)
    completions_body: Json = field(default_factory=dict)
    send_bos: bool = True
    """False if the server itself adds the beginning-of-sequence token to a raw prompt."""
    completions_dialect: Literal["openai", "ollama_generate"] = "openai"
    scoring: Literal["echo", "forced"] | None = None
    """The known method to get the probability of a given text, if there is one."""
    scoring_to_try: tuple[Literal["echo", "forced"], ...] = ()
    """Methods that the doctor tries where none is known."""
    self_hosted: bool = False
    """True where the user probably runs the server, so that there is no host to suspect."""
    is_ours: bool = False
    """True if this program serves the model itself: no address, no key, no price."""


_NO_COMPRESSION = {"plugins": [{"id": "context-compression", "enabled": False}]}

PRESETS: dict[str, Preset] = {
    # Compression is on by default for small contexts, and a response cache can be switched on by
    # an account preset: either would alter what the model sees or repeat a sample.
    "openrouter": Preset(
        "https://openrouter.ai/api/v1",
        headers={"X-OpenRouter-Cache": "false", "X-OpenRouter-Title": "uncensoring_chinese_models"},
        chat_body=_NO_COMPRESSION,
        completions_body=_NO_COMPRESSION,
    ),
    "openai_compatible": Preset(None, scoring_to_try=("echo", "forced")),
    # vLLM adds BOS to raw prompts unless told not to, and strips special tokens from the text
    # before it looks for stop strings.
    "vllm": Preset(
        "http://localhost:8000/v1",
        self_hosted=True,
        completions_body={"add_special_tokens": False, "skip_special_tokens": False},
        scoring="echo",
    ),
    # SGLang and llama.cpp tokenise raw prompts with BOS and cannot be told otherwise.
    "sglang": Preset(
        "http://localhost:30000/v1",
        self_hosted=True,
        completions_body={"skip_special_tokens": False},
        send_bos=False,
        scoring="echo",
    ),
    "llama_cpp": Preset(
        "http://localhost:8080/v1", self_hosted=True, send_bos=False, scoring="forced"
    ),
    # Ollama's /v1/completions wraps the prompt in the chat template (ollama#5544);
    # /api/generate with raw:true does not.
    "ollama": Preset(
        "http://localhost:11434/v1",
        self_hosted=True,
        send_bos=False,
        completions_dialect="ollama_generate",
    ),
    # A small model of this package behind llama.cpp's server, which is started for the run.
    "organism": Preset(None, send_bos=False, scoring="forced", self_hosted=True, is_ours=True),
    # A file of the user behind the same server.
    "gguf": Preset(None, send_bos=False, scoring="forced", self_hosted=True, is_ours=True),
    # Rules in this process instead of a model.
    "builtin": Preset(None, self_hosted=True, is_ours=True),
}


def preset_for_model(model: str) -> PresetName | None:
    """Return the preset of organism/NAME, gguf/PATH or builtin/NAME; None for any other model."""
    own: tuple[PresetName, ...] = ("organism", "gguf", "builtin")
    return next((name for name in own if model.startswith(f"{name}/")), None)
