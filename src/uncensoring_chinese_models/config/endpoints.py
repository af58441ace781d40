"""The settings of an endpoint: address, the variable that holds the key, price.

Kinds of servers are data (`presets`), not classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    field_validator,
    model_validator,
)

from uncensoring_chinese_models.config.addresses import is_this_machine
from uncensoring_chinese_models.config.presets import PRESETS, Preset, PresetName
from uncensoring_chinese_models.domain import FREE, Price

OPENROUTER_HOST = "openrouter.ai"
OPENROUTER_KEY = "OPENROUTER_API_KEY"


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    if any(ord(char) < 32 or ord(char) == 127 for char in value):
        raise ValueError("must not contain control characters or line breaks")
    return value


def _http_url(value: str) -> str:
    parts = urlsplit(value)
    is_torn = any(char.isspace() or not char.isprintable() for char in value)
    if is_torn or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an address such as http://localhost:8000/v1")
    if parts.username or parts.password:
        raise ValueError("must not contain a user name or password; use api_key_env")
    if parts.query or parts.fragment:
        raise ValueError("must not contain a query or a fragment")
    _ = parts.port  # an impossible port raises here
    return value.rstrip("/")


def _variable_name(value: str) -> str:
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", value):  # it may be the key itself
        raise ValueError("must be the name of an environment variable, such as MY_API_KEY")
    return value


def _sha256(value: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", value):
        raise ValueError("must be 64 hexadecimal digits")
    return value


Line = Annotated[str, AfterValidator(_not_blank)]
VariableName = Annotated[str, AfterValidator(_variable_name)]
Sha256 = Annotated[str, AfterValidator(_sha256)]
Url = Annotated[str, AfterValidator(_http_url)]


class Settings(BaseModel):
    """A group of settings: strict types, no unknown keys."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class TokenPrice(Settings):
    """Price of an endpoint whose server does not list prices."""

    input_usd_per_million: float = Field(ge=0, le=10**9)
    """USD per million input tokens."""
    output_usd_per_million: float = Field(ge=0, le=10**9)
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
"""Fields that `extra_body` must not set: they would change the prompt, the model or the cost; `echo`
would return the prompt as the target's words."""
_SECRET_FIELD = re.compile(
    "(^token|api[_-]?key|secret|password|passwd|authorization|credentials?"
    "|(access|auth|bearer)[_-]?token)$",
    re.IGNORECASE,
)
_SECRET_HEADER = re.compile(
    "auth|key|token|secret|cookie|credential|passw|passphrase|signature|session", re.IGNORECASE
)
_SECRET_VALUE = re.compile(r"\s*(bearer|basic|digest|token)\s", re.IGNORECASE)


def _names_of_texts(value: JsonValue) -> Iterator[str]:
    """Yield the names of the fields of a JSON value that are texts, at every depth."""
    held = value.items() if isinstance(value, dict) else ()
    yield from (name for name, each in held if isinstance(each, str))
    for each in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _names_of_texts(each)


class Endpoint(Settings):
    """How a model is reached."""

    preset: PresetName | None = None
    """Kind of server; by default openrouter, or openai_compatible if base_url is set."""
    base_url: Url | None = None
    """Address up to and including /v1; by default the preset's."""
    api_key_env: VariableName | None = None
    """Environment variable that holds the key; by default OPENROUTER_API_KEY for OpenRouter, and none elsewhere."""
    allow_insecure: bool = False
    """Whether the key may be sent over plain http, which others on the way can read, to another machine."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Extra HTTP headers."""
    extra_body: dict[str, JsonValue] = Field(default_factory=dict)
    """Extra fields for each request body."""
    timeout_s: float = Field(default=300, gt=0)
    """Max seconds per attempt."""
    max_concurrency: int = Field(default=8, ge=1)
    """Max number of requests at once."""
    price: TokenPrice | None = None
    """Price, if the server does not list it."""

    @model_validator(mode="after")
    def _has_address(self) -> Endpoint:
        if self.traits.is_ours and (self.base_url or self.api_key_env):
            raise ValueError(f"preset {self.preset} takes no base_url and no api_key_env")
        if not self.traits.is_ours and not self.address:
            raise ValueError("preset openai_compatible needs a base_url")
        clash = set(self.extra_body) & _OUR_FIELDS
        if clash:
            raise ValueError(f"extra_body must not set {', '.join(sorted(clash))}")
        if any(_SECRET_FIELD.search(name) for name in _names_of_texts(self.extra_body)):
            raise ValueError("extra_body must not contain a secret; use api_key_env")
        return self

    @model_validator(mode="after")
    def _no_key_over_plain_http(self) -> Endpoint:
        parts = urlsplit(self.address)
        is_open = parts.scheme == "http" and not is_this_machine(parts.hostname or "")
        if is_open and self.key_variable and not self.allow_insecure:
            raise ValueError(
                f"would send the key {self.key_variable} over plain http, which others on the way "
                "can read; use an https address, or set allow_insecure: true for this endpoint"
            )
        return self

    @field_validator("headers")
    @classmethod
    def _no_secret_and_no_line_break(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            # A config is copied into the run directory and published.
            if _SECRET_HEADER.search(name) or _SECRET_VALUE.match(value):
                raise ValueError(f"must not contain a secret such as {name}; use api_key_env")
            if not re.fullmatch(r"[!#-'*+.^-z|~0-9A-Z-]+", name) or not value.isprintable():
                raise ValueError(f"must be HTTP headers, but {name!r} or its value is not valid")
        return headers

    @property
    def preset_name(self) -> PresetName:
        """The name of the preset that applies."""
        return self.preset or ("openrouter" if self.base_url is None else "openai_compatible")

    @property
    def known_price(self) -> Price | None:
        """The price that needs no asking: the one given, and nothing for a model of this machine."""
        if self.traits.is_ours:
            return FREE
        return None if self.price is None else self.price.per_token()

    @property
    def traits(self) -> Preset:
        """The preset that applies."""
        return PRESETS[self.preset_name]

    @property
    def is_openrouter(self) -> bool:
        """True if the server is OpenRouter."""
        return self.traits is PRESETS["openrouter"]

    @property
    def address(self) -> str:
        """The base address that requests go to."""
        return self.base_url or self.traits.base_url or ""

    @property
    def key_variable(self) -> str | None:
        """The variable that holds the key of this endpoint, or None.

        OpenRouter's key is sent to OpenRouter's own address only, never to a similar one.
        """
        if self.api_key_env:
            return self.api_key_env
        parts = urlsplit(self.address)
        is_home = parts.scheme == "https" and parts.hostname == OPENROUTER_HOST
        return OPENROUTER_KEY if is_home and parts.port in (None, 443) else None


_DEFAULT_PORTS = {"http": 80, "https": 443}


def server_of(model: str, endpoint: Endpoint) -> str:
    """Return the one name of the server that a model is asked at: its address, in one spelling.

    A model of this machine has no lasting address, so its own name stands for it: ``organism/hides``.
    """
    if endpoint.traits.is_ours:
        return model
    parts = urlsplit(endpoint.address)
    host = (parts.hostname or "").lower()
    name = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{name}{port}{parts.path.rstrip('/')}"


class TargetEndpoint(Endpoint):
    """How the target is reached, and how prompts are written for it."""

    template: str | dict[str, Any] | None = None
    """Chat template: a family name, or a mapping with user_open etc.; by default chosen by the model's name."""
    provider: dict[str, JsonValue] | None = None
    """OpenRouter's routing object, such as {only: [deepinfra], allow_fallbacks: false}."""
    send_bos: bool | None = None
    """Whether raw prompts begin with the template's BOS token; by default the preset's."""
    file_sha256: Sha256 | None = None
    """The sha256 that the file of gguf/PATH must have; by default the one that it has is recorded."""

    @model_validator(mode="after")
    def _only_a_file_has_a_hash(self) -> TargetEndpoint:
        if self.file_sha256 is not None and self.preset_name != "gguf":
            raise ValueError("file_sha256 is for gguf/NAME_OR_PATH alone")
        return self

    @property
    def provider_is_pinned(self) -> bool:
        """True if all samples come from the same provider."""
        routing = self.provider or {}
        named = routing.get("only") or routing.get("order")
        one = isinstance(named, list) and len(named) == 1
        return one and routing.get("allow_fallbacks") is False


def file_told(config: Mapping[str, Any]) -> str | None:
    """Say which file was the target of a stored config, and with which template; None without a file."""
    target = config.get("audited_endpoint")
    if not isinstance(target, dict) or not isinstance(sha256 := target.get("file_sha256"), str):
        return None
    template = target.get("template")
    named = (
        template if isinstance(template, str) else "none" if template is None else "in the config"
    )
    return f"file of the target: sha256 {sha256}; chat template: {named}"
