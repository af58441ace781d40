"""Settings: what a config file may say, what it means by default, and where keys come from.

Servers are data (`presets`), not classes. Reading the file is `config_file`'s job.
"""

from __future__ import annotations

import os
import re
from decimal import Decimal
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from dotenv import find_dotenv, load_dotenv
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    field_validator,
    model_validator,
)

from uncensoring_chinese_models.domain import Arm, Json, Price
from uncensoring_chinese_models.errors import ConfigError, MissingCredentialError
from uncensoring_chinese_models.presets import PRESETS, Preset, PresetName

OPENROUTER_HOST = "openrouter.ai"
OPENROUTER_KEY = "OPENROUTER_API_KEY"


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    if any(ord(char) < 32 or ord(char) == 127 for char in value):
        raise ValueError("must not hold control characters or line breaks")
    return value


def _http_url(value: str) -> str:
    parts = urlsplit(value)
    is_torn = any(char.isspace() or not char.isprintable() for char in value)
    if is_torn or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an address such as http://localhost:8000/v1")
    if parts.username or parts.password:
        raise ValueError("must not hold a user name or password; use api_key_env")
    if parts.query or parts.fragment:
        raise ValueError("must not hold a query or a fragment")
    _ = parts.port  # an impossible port raises here
    return value.rstrip("/")


def _variable_name(value: str) -> str:
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", value):  # it may be the key itself
        raise ValueError("must be the name of an environment variable, such as MY_API_KEY")
    return value


Line = Annotated[str, AfterValidator(_not_blank)]
VariableName = Annotated[str, AfterValidator(_variable_name)]
Url = Annotated[str, AfterValidator(_http_url)]


class Settings(BaseModel):
    """A part of the config: typed strictly, closed to unknown keys."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class Sampling(Settings):
    """How the target is sampled."""

    max_tokens: int = Field(default=500, ge=1)
    """Most tokens in one completion."""
    temperature: float = Field(default=0.7, ge=0, le=2)
    """Sampling temperature."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Nucleus sampling; not sent when null."""
    seed: int | None = None
    """Seed sent with each request, counted up by sample; not sent when null."""
    stop: list[str] = Field(default_factory=list)
    """Stop strings beside the template's own."""
    arms: list[Arm] = Field(default=["user_persona"], min_length=1)
    """How each probe is sent: user_persona, assistant, assistant_prefill, raw."""
    n: int = Field(default=1, ge=1, le=64)
    """Samples per arm and probe; one request each."""
    prefill: str = Field(default="Here is what I know about this:", min_length=1)
    """Opening put into the assistant's mouth when the auditor gives none (assistant_prefill)."""
    assistant_via: Literal["chat", "template"] = "chat"
    """Whether the assistant arm uses the chat API or our own template over raw completions."""
    thinking: bool = False
    """Whether templated assistant turns let the model think first, where its template has both."""

    @field_validator("arms")
    @classmethod
    def _each_once(cls, arms: list[Arm]) -> list[Arm]:
        if len(set(arms)) < len(arms):
            raise ValueError("names an arm twice; use n for more samples")
        return arms

    @field_validator("stop")
    @classmethod
    def _no_empty_stop(cls, stop: list[str]) -> list[str]:
        if any(not text for text in stop):
            raise ValueError("holds an empty stop string")
        return stop


class AuditorSampling(Settings):
    """How the auditor is sampled."""

    max_tokens: int = Field(default=8000, ge=1)
    """Most tokens in one reply of the auditor."""
    temperature: float = Field(default=0.7, ge=0, le=2)
    """Sampling temperature."""


class TokenPrice(Settings):
    """What an endpoint charges, where it does not say so itself."""

    input_usd_per_million: float = Field(ge=0)
    """USD per million input tokens."""
    output_usd_per_million: float = Field(ge=0)
    """USD per million output tokens."""

    def per_token(self) -> Price:
        """Return the price of one token."""
        million = Decimal(1_000_000)
        return Price(
            Decimal(str(self.input_usd_per_million)) / million,
            Decimal(str(self.output_usd_per_million)) / million,
        )


_OUR_FIELDS = frozenset(
    {"model", "models", "messages", "prompt", "stream", "max_tokens", "max_completion_tokens"}
    | {"n", "best_of", "echo"}
)
"""Fields that `extra_body` must leave alone: they would change what is asked, who answers or what
it may cost; `echo` would return our words as the target's."""
_SECRET_FIELD = re.compile("(^|_)(api_?key|secret|password|authorization|(access|auth)_token)$")


class Endpoint(Settings):
    """Where one side is reached."""

    preset: PresetName | None = None
    """Kind of server; by default openrouter, or openai_compatible where base_url is given."""
    base_url: Url | None = None
    """Address up to and including /v1; by default the preset's."""
    api_key_env: VariableName | None = None
    """Environment variable that holds the key; without it only OpenRouter itself gets one."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Extra HTTP headers."""
    extra_body: dict[str, JsonValue] = Field(default_factory=dict)
    """Extra fields for each request body."""
    timeout_s: float = Field(default=300, gt=0)
    """Longest time one attempt may take."""
    max_concurrency: int = Field(default=8, ge=1)
    """Most requests in flight at once."""
    price: TokenPrice | None = None
    """What it charges, where the server does not say."""

    @model_validator(mode="after")
    def _has_address(self) -> Endpoint:
        if self.traits.base_url is None and self.base_url is None:
            raise ValueError("preset openai_compatible needs a base_url")
        clash = set(self.extra_body) & _OUR_FIELDS
        if clash:
            raise ValueError(f"extra_body must not set {', '.join(sorted(clash))}")
        if any(_SECRET_FIELD.search(name.lower()) for name in self.extra_body):
            raise ValueError("extra_body must hold no secret; use api_key_env")
        return self

    @field_validator("headers")
    @classmethod
    def _no_secret_and_no_line_break(cls, headers: dict[str, str]) -> dict[str, str]:
        secret = re.compile("auth|key|token|secret|cookie", re.IGNORECASE)
        for name, value in headers.items():
            if secret.search(name):  # a config is copied into the run directory and published
                raise ValueError(f"must hold no secret such as {name}; use api_key_env")
            if not re.fullmatch(r"[!#-'*+.^-z|~0-9A-Z-]+", name) or not value.isprintable():
                raise ValueError(f"must be HTTP headers, which {name!r} and its value are not")
        return headers

    @property
    def preset_name(self) -> PresetName:
        """The name of the preset that applies."""
        return self.preset or ("openrouter" if self.base_url is None else "openai_compatible")

    @property
    def traits(self) -> Preset:
        """The preset that applies."""
        return PRESETS[self.preset_name]

    @property
    def is_openrouter(self) -> bool:
        """True when the server speaks OpenRouter's dialect."""
        return self.traits is PRESETS["openrouter"]

    @property
    def address(self) -> str:
        """The base address that requests go to."""
        return self.base_url or self.traits.base_url or ""

    @property
    def key_variable(self) -> str | None:
        """The variable whose key this endpoint is given, or None.

        OpenRouter's key goes to OpenRouter's own address alone, never to a look-alike.
        """
        if self.api_key_env:
            return self.api_key_env
        parts = urlsplit(self.address)
        is_home = parts.scheme == "https" and parts.hostname == OPENROUTER_HOST
        return OPENROUTER_KEY if is_home and parts.port in (None, 443) else None


class TargetEndpoint(Endpoint):
    """Where the target is reached, and how it is spoken to."""

    template: str | dict[str, Any] | None = None
    """Chat template: a family name, or a mapping with user_open etc.; by default by model name."""
    provider: dict[str, JsonValue] | None = None
    """OpenRouter's routing object, e.g. {only: [deepinfra], allow_fallbacks: false}."""
    send_bos: bool | None = None
    """Whether raw prompts begin with the template's BOS token; by default the preset's."""

    @property
    def provider_is_pinned(self) -> bool:
        """True when all samples come from the same provider."""
        routing = self.provider or {}
        named = routing.get("only") or routing.get("order")
        one = isinstance(named, list) and len(named) == 1
        return one and routing.get("allow_fallbacks") is False


class Budget(Settings):
    """The most a run may spend, over all its resumptions."""

    max_usd: float | None = Field(default=None, gt=0)
    """Cap in USD; needs a known price for both sides, and servers that bill what they list."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Cap in tokens, input and output together."""


class Retries(Settings):
    """How long a failing call is tried again."""

    max_attempts: int = Field(default=6, ge=1, le=50)
    """Most attempts for one call."""
    max_wait_s: float = Field(default=600, ge=0)
    """Longest time for one call, over all its attempts and waits."""
    first_wait_s: float = Field(default=1, ge=0)
    """Wait before the second attempt; doubled each time, with jitter."""


class AuditConfig(Settings):
    """Everything one audit needs; the spec's six keys suffice."""

    topic: Line
    """The topic to investigate."""
    auditing_model: Line
    """The auditor: designs probes, forms hypotheses."""
    audited_model: Line
    """The target: the model under audit."""
    sampling: Sampling = Field(default_factory=Sampling)
    """How the target is sampled."""
    max_iterations: int = Field(default=20, ge=1, le=9999)
    """Most probes sent."""
    output_dir: Line = "outputs/search_censored"
    """Folder that gets one directory per run."""
    auditor_prompt: Line = "spec"
    """System prompt: spec, continuation, or the path of a text file."""
    auditor_sampling: AuditorSampling = Field(default_factory=AuditorSampling)
    """How the auditor is sampled."""
    auditor_context: Literal["full", "compact"] = "full"
    """What the auditor is shown: the whole conversation, or a summary that grows linearly."""
    auditor_response_format: Literal["json_schema", "json_object", "none"] = "json_schema"
    """JSON mode asked of the auditor's endpoint; given up by itself where it is refused."""
    auditor_re_asks: int = Field(default=2, ge=0, le=10)
    """How often an invalid reply is asked for again."""
    max_failed_iterations: int = Field(default=3, ge=1)
    """Consecutive iterations without any answer that end the run."""
    auditing_endpoint: Endpoint = Field(default_factory=Endpoint)
    """Where the auditor is reached; OpenRouter by default."""
    audited_endpoint: TargetEndpoint = Field(default_factory=TargetEndpoint)
    """Where the target is reached; OpenRouter by default."""
    budget: Budget = Field(default_factory=Budget)
    """The most the run may spend."""
    retries: Retries = Field(default_factory=Retries)
    """How long a failing call is tried again."""

    def identity(self) -> Json:
        """Return the settings that decide what the models are asked.

        A run can be resumed with other budgets, timeouts, prices, addresses and retries;
        what is returned here must stay the same.
        """
        free = {"api_key_env", "base_url", "headers", "timeout_s", "max_concurrency", "price"}
        settings = self.model_dump(
            mode="json",
            exclude={
                "budget": True,
                "retries": True,
                "output_dir": True,
                "auditing_endpoint": free,
                "audited_endpoint": free,
            },
        )
        # An address may imply the preset, and the preset decides what a body holds.
        settings["auditing_endpoint"]["preset"] = self.auditing_endpoint.preset_name
        settings["audited_endpoint"]["preset"] = self.audited_endpoint.preset_name
        return settings


def read_key(endpoint: Endpoint, *, required: bool = True) -> str | None:
    """Return the endpoint's key from the environment or .env, or None if it takes none.

    The key itself is never part of a message.
    """
    name = endpoint.key_variable
    if name is None:
        return None
    if not os.environ.get(name, "").strip():
        os.environ.pop(name, None)  # set but empty: it must not hide the one in .env
    dotenv_path = find_dotenv(usecwd=True)
    if dotenv_path:
        try:
            load_dotenv(dotenv_path)
        except (OSError, UnicodeDecodeError):  # the latter would quote the file
            raise ConfigError(f"{dotenv_path} cannot be read as UTF-8 text.") from None
    key = os.environ.get(name, "").strip()
    if not key:
        if not required:
            return None
        looked = f"in {dotenv_path}" if dotenv_path else "in a .env file here or above (none found)"
        raise MissingCredentialError(
            f"No API key: {name} is not set; looked in the environment and {looked}. "
            f"Put a line {name}=... into .env, then run the same command again."
        )
    if not key.isascii() or not key.isprintable() or not set(key).isdisjoint(" '\""):
        raise ConfigError(
            f"The value of {name} holds spaces, line breaks, quotes or non-ASCII characters; "
            "copy the key again, without quotes or anything around it."
        )
    return key
