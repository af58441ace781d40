"""Settings have the promised defaults, refuse what cannot work, and keep keys where they belong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from uncensoring_chinese_models.config.endpoints import Endpoint, TargetEndpoint, TokenPrice
from uncensoring_chinese_models.config.environment import read_key
from uncensoring_chinese_models.config.presets import PRESETS, Preset
from uncensoring_chinese_models.config.settings import AuditConfig
from uncensoring_chinese_models.errors import ConfigError, MissingCredentialError

ROOT = Path(__file__).parent.parent.parent
KEY = "OPENROUTER_API_KEY"
OTHER_KEY = "SOME_OTHER_KEY"
MINIMAL: dict[str, Any] = {
    "topic": "Tiananmen Square 1989 protests",
    "auditing_model": "anthropic/claude-sonnet-4",
    "audited_model": "deepseek/deepseek-chat",
}
ENDPOINT_DEFAULTS: dict[str, Any] = {
    "preset": None,
    "base_url": None,
    "api_key_env": None,
    "allow_insecure": False,
    "headers": {},
    "extra_body": {},
    "timeout_s": 300,
    "max_concurrency": 8,
    "price": None,
}
DEFAULTS: dict[str, Any] = {
    "sampling": {
        "max_tokens": 500,
        "temperature": 0.7,
        "top_p": None,
        "seed": None,
        "stop": [],
        "arms": ["user_persona"],
        "n": 1,
        "prefill": "Here is what I know about this:",
        "assistant_via": "chat",
        "thinking": False,
    },
    "max_iterations": 20,
    "output_dir": "outputs/search_censored",
    "facts": None,
    "languages": ["en"],
    "likelihood": "off",
    "judge_model": [],
    "auditor_prompt": "spec",
    "auditor_sampling": {"max_tokens": 8000, "temperature": 0.7},
    "auditor_context": "full",
    "auditor_response_format": "json_schema",
    "auditor_re_asks": 2,
    "max_failed_iterations": 3,
    "doctor": "off",
    "auditing_endpoint": ENDPOINT_DEFAULTS,
    "audited_endpoint": {
        **ENDPOINT_DEFAULTS,
        "template": None,
        "provider": None,
        "send_bos": None,
        "file_sha256": None,
    },
    "budget": {"max_usd": None, "max_tokens": None},
    "retries": {"max_attempts": 8, "max_wait_s": 600, "first_wait_s": 1},
}


def nested(path: str, value: object) -> dict[str, Any]:
    """Return ``{"a": {"b": value}}`` for ``a.b``."""
    for name in reversed(path.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


def config(**changes: object) -> AuditConfig:
    return AuditConfig.model_validate({**MINIMAL, **changes})


def changed(path: str, value: object) -> AuditConfig:
    return config(**nested(path, value))


@pytest.fixture(autouse=True)
def _no_key(monkeypatch, tmp_path) -> Iterator[None]:
    """Stand in an empty folder without keys; what a test loads into the environment goes again."""
    for name in (KEY, OTHER_KEY):
        monkeypatch.setenv(name, "to be forgotten")
        monkeypatch.delenv(name)
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield
    for name in (KEY, OTHER_KEY):
        os.environ.pop(name, None)


# --- defaults -----------------------------------------------------------------------------------


def test_topic_and_two_models_suffice():
    """Everything else has a default, and each default is the documented one."""
    assert config().model_dump(mode="json") == {**MINIMAL, **DEFAULTS}


def test_six_keys_of_the_spec_suffice():
    """The spec's own config is valid and says what the defaults say."""
    written = yaml.safe_load((ROOT / "configs/search_censored.yaml").read_text(encoding="utf-8"))

    assert AuditConfig.model_validate(written) == config()


@pytest.mark.parametrize("name", MINIMAL)
def test_topic_and_models_are_required(name):
    """There is no default topic and no default model."""
    given = {key: value for key, value in MINIMAL.items() if key != name}

    with pytest.raises(ValidationError, match=f"(?s){name}.*Field required"):
        AuditConfig.model_validate(given)


def leaves(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from leaves(annotation, f"{prefix}{name}.")
        else:
            yield prefix + name


@pytest.mark.parametrize("model", [AuditConfig, Endpoint, TargetEndpoint, TokenPrice])
def test_every_setting_has_its_line_of_documentation(model):
    """A setting that nobody can look up is a setting that nobody uses."""
    assert [n for n, field in model.model_fields.items() if not field.description] == []


# --- what is refused ----------------------------------------------------------------------------

REFUSED = [
    # wrong types: nothing is converted silently
    ("topic", 1989, "valid string"),
    ("topic", None, "valid string"),
    ("audited_model", ["deepseek/deepseek-chat"], "valid string"),
    ("max_iterations", "20", "valid integer"),
    ("max_iterations", 20.0, "valid integer"),
    ("max_iterations", True, "valid integer"),
    ("sampling.temperature", "0.7", "valid number"),
    ("sampling.temperature", True, "valid number"),
    ("sampling.thinking", 1, "valid boolean"),
    ("sampling.thinking", "no", "valid boolean"),
    ("sampling.stop", "<end>", "valid list"),
    ("sampling", 3, "valid dictionary"),
    ("audited_endpoint.provider", ["deepinfra"], "valid dictionary"),
    # out of range
    ("max_iterations", 0, "greater than or equal to 1"),
    ("max_iterations", 10_000, "less than or equal to 9999"),
    ("sampling.max_tokens", 0, "greater than or equal to 1"),
    ("sampling.temperature", -0.1, "greater than or equal to 0"),
    ("sampling.temperature", 2.1, "less than or equal to 2"),
    ("sampling.temperature", float("nan"), "finite number"),
    ("sampling.temperature", float("inf"), "finite number"),
    ("sampling.top_p", 0, "greater than 0"),
    ("sampling.top_p", 1.5, "less than or equal to 1"),
    ("sampling.n", 0, "greater than or equal to 1"),
    ("sampling.n", 65, "less than or equal to 64"),
    ("sampling.prefill", "", "at least 1 character"),
    ("sampling.arms", [], "at least 1 item"),
    ("sampling.arms", ["user"], "'user_persona', 'assistant', 'assistant_prefill' or 'raw'"),
    ("sampling.arms", ["raw", "raw"], "lists an arm twice"),
    ("sampling.stop", ["a", ""], "empty stop string"),
    ("sampling.assistant_via", "completions", "'chat' or 'template'"),
    ("auditor_sampling.max_tokens", 0, "greater than or equal to 1"),
    ("auditor_context", "short", "'full' or 'compact'"),
    ("auditor_re_asks", -1, "greater than or equal to 0"),
    ("max_failed_iterations", 0, "greater than or equal to 1"),
    ("budget.max_usd", 0, "greater than 0"),
    ("budget.max_usd", -1.0, "greater than 0"),
    ("budget.max_tokens", 0, "greater than or equal to 1"),
    ("retries.max_attempts", 0, "greater than or equal to 1"),
    ("retries.max_attempts", 51, "less than or equal to 50"),
    ("retries.max_wait_s", -1, "greater than or equal to 0"),
    ("audited_endpoint.timeout_s", 0, "greater than 0"),
    ("audited_endpoint.timeout_s", float("inf"), "finite number"),
    ("audited_endpoint.max_concurrency", 0, "greater than or equal to 1"),
    ("audited_endpoint.price", {"input_usd_per_million": 1}, "output_usd_per_million"),
    (
        "audited_endpoint.price",
        {"input_usd_per_million": -1, "output_usd_per_million": 1},
        "greater than or equal to 0",
    ),
    # blank or torn lines
    ("topic", "", "must not be empty"),
    ("topic", " \u3000", "must not be empty"),
    ("topic", "a\nb", "control characters"),
    ("topic", "a\x1b[2Jb", "control characters"),
    ("auditing_model", "", "must not be empty"),
    ("output_dir", "a\0b", "control characters"),
    ("auditor_prompt", "", "must not be empty"),
    # addresses
    ("audited_endpoint.base_url", "", "must be an address"),
    ("audited_endpoint.base_url", "localhost:8000", "must be an address"),
    ("audited_endpoint.base_url", "//host/v1", "must be an address"),
    ("audited_endpoint.base_url", "https:///v1", "must be an address"),
    ("audited_endpoint.base_url", "file:///etc/passwd", "must be an address"),
    ("audited_endpoint.base_url", "ftp://host/v1", "must be an address"),
    ("audited_endpoint.base_url", "http://local host/v1", "must be an address"),
    ("audited_endpoint.base_url", " http://host/v1", "must be an address"),
    ("audited_endpoint.base_url", "http://host/v1\n", "must be an address"),
    ("audited_endpoint.base_url", "http://host/v1\r\nX: y", "must be an address"),
    ("audited_endpoint.base_url", "http://host:99999/v1", "range 0-65535"),
    ("audited_endpoint.base_url", "http://host:http/v1", "Port could not be"),
    ("audited_endpoint.base_url", "http://[::1/v1", "Invalid IPv6"),
    ("audited_endpoint.base_url", "http://me:pw@host/v1", "user name or password"),
    ("audited_endpoint.base_url", "http://me@host/v1", "user name or password"),
    ("audited_endpoint.base_url", "http://host/v1?key=1", "query"),
    ("audited_endpoint.base_url", "http://host/v1#x", "fragment"),
    ("audited_endpoint.preset", "openai_compatible", "needs a base_url"),
    ("audited_endpoint.preset", "azure", "'openrouter'"),
    # keys and bodies
    ("audited_endpoint.api_key_env", "sk-or-v1-0123456789", "name of an environment variable"),
    ("audited_endpoint.api_key_env", "", "name of an environment variable"),
    ("audited_endpoint.api_key_env", "MY KEY", "name of an environment variable"),
    ("audited_endpoint.headers", {"Authorization": "x"}, "must not contain a secret"),
    ("audited_endpoint.headers", {"x-api-KEY": "x"}, "must not contain a secret"),
    ("audited_endpoint.headers", {"Cookie": "x"}, "must not contain a secret"),
    ("audited_endpoint.headers", {"X-Token": "x"}, "must not contain a secret"),
    ("audited_endpoint.headers", {"X-Title": 3}, "valid string"),
    ("audited_endpoint.headers", {"X-Title": "a\r\nHost: b"}, "must be HTTP headers"),
    ("audited_endpoint.headers", {"X Title": "a"}, "must be HTTP headers"),
    ("audited_endpoint.headers", {"": "a"}, "must be HTTP headers"),
    ("audited_endpoint.extra_body", {"model": "x"}, "must not set model"),
    ("audited_endpoint.extra_body", {"stream": True, "n": 4}, "must not set n, stream"),
    ("audited_endpoint.extra_body", {"prompt": "x", "messages": []}, "messages, prompt"),
    ("audited_endpoint.extra_body", {"max_tokens": 9}, "must not set max_tokens"),
    ("audited_endpoint.extra_body", {"echo": True}, "must not set echo"),
    ("audited_endpoint.extra_body", {"models": ["x"], "best_of": 2}, "not set best_of, models"),
    ("audited_endpoint.extra_body", {"max_completion_tokens": 9}, "not set max_completion_tokens"),
    ("audited_endpoint.extra_body", {"API_KEY": "x"}, "must not contain a secret"),
    ("audited_endpoint.extra_body", {"auth_token": "x"}, "must not contain a secret"),
    ("audited_endpoint.extra_body", yaml.safe_load("{since: 2024-01-01}"), "JSON"),
    ("audited_endpoint.extra_body", {"a": {"b": {1, 2}}}, "JSON"),
    ("audited_endpoint.extra_body", {"a": b"x"}, "JSON"),
    ("audited_endpoint.extra_body", {"a": [float("nan")]}, "finite"),
    ("audited_endpoint.provider", {"only": {"deepinfra"}}, "JSON"),
    ("auditing_endpoint.template", "chatml", "not permitted"),
    # unknown keys
    ("temperature", 1, "not permitted"),
    ("sampling.temprature", 1, "not permitted"),
    ("budget.max_eur", 1, "not permitted"),
]


@pytest.mark.parametrize(("path", "value", "complaint"), REFUSED)
def test_value_that_cannot_work_is_refused(path, value, complaint):
    """A wrong value is an error of its own field before anything is sent."""
    with pytest.raises(ValidationError) as caught:
        changed(path, value)

    assert complaint in str(caught.value)
    assert path.split(".")[0] in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("sampling.temperature", 0),
        ("sampling.temperature", 2),
        ("sampling.top_p", 1),
        ("sampling.n", 64),
        ("sampling.seed", -1),
        ("max_iterations", 1),
        ("max_iterations", 9999),
        ("retries.max_wait_s", 0),
        ("topic", "天安门 1989 👩‍👧"),
        ("audited_endpoint.base_url", "http://[::1]:8000/v1"),
        ("audited_endpoint.base_url", "https://host"),
        ("audited_endpoint.headers", {"X-Title": "an audit", "HTTP-Referer": "https://x.org/"}),
        ("audited_endpoint.extra_body", {"min_p": 0.1, "a": [None, {"b": True}, "六四"]}),
        ("audited_endpoint.api_key_env", "_My_Key2"),
        ("audited_endpoint.price", {"input_usd_per_million": 0, "output_usd_per_million": 0}),
    ],
)
def test_edge_of_what_works_is_accepted(path, value):
    """Limits include their ends, and odd but valid values are kept as they are."""
    dumped: Any = changed(path, value).model_dump(mode="json")

    for name in path.split("."):
        dumped = dumped[name]
    assert dumped == value


def test_slash_after_an_address_makes_no_difference():
    """Paths are put behind the address with one slash, however it was written."""
    assert Endpoint(base_url="http://h:1/v1/").address == "http://h:1/v1"


def test_config_cannot_be_changed_after_it_was_checked():
    """Settings are frozen: what was validated is what is used."""
    with pytest.raises(ValidationError, match="frozen"):
        config().topic = "another"  # type: ignore[misc]


def test_price_is_exact():
    """USD per million become USD per token without the error of binary fractions."""
    price = TokenPrice(input_usd_per_million=0.1, output_usd_per_million=0.3).per_token()

    assert (price.input_usd, price.output_usd) == (Decimal("1E-7"), Decimal("3E-7"))


# --- presets ------------------------------------------------------------------------------------

NO_COMPRESSION = {"plugins": [{"id": "context-compression", "enabled": False}]}


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        (
            "openrouter",
            Preset(
                base_url="https://openrouter.ai/api/v1",
                headers={
                    "X-OpenRouter-Cache": "false",
                    "X-OpenRouter-Title": "uncensoring_chinese_models",
                },
                chat_body=NO_COMPRESSION,
                completions_body=NO_COMPRESSION,
                send_bos=True,
            ),
        ),
        (
            "openai_compatible",
            Preset(base_url=None, send_bos=True, scoring_to_try=("echo", "forced")),
        ),
        (
            "vllm",
            Preset(
                base_url="http://localhost:8000/v1",
                completions_body={"add_special_tokens": False, "skip_special_tokens": False},
                send_bos=True,
                scoring="echo",
                self_hosted=True,
            ),
        ),
        (
            "sglang",
            Preset(
                base_url="http://localhost:30000/v1",
                completions_body={"skip_special_tokens": False},
                send_bos=False,
                scoring="echo",
                self_hosted=True,
            ),
        ),
        (
            "llama_cpp",
            Preset(
                base_url="http://localhost:8080/v1",
                send_bos=False,
                scoring="forced",
                self_hosted=True,
            ),
        ),
        (
            "ollama",
            Preset(
                base_url="http://localhost:11434/v1",
                send_bos=False,
                completions_dialect="ollama_generate",
                self_hosted=True,
            ),
        ),
        (
            "organism",
            Preset(base_url=None, send_bos=False, scoring="forced", self_hosted=True, is_ours=True),
        ),
        (
            "gguf",
            Preset(base_url=None, send_bos=False, scoring="forced", self_hosted=True, is_ours=True),
        ),
        ("builtin", Preset(base_url=None, self_hosted=True, is_ours=True)),
    ],
)
def test_preset_is_as_documented(name, preset):
    """Each kind of server listens where, and differs as, its preset says."""
    assert PRESETS[name] == preset


def test_table_of_presets_is_complete():
    """No preset is left out of the table above."""
    assert set(PRESETS) == {
        "openrouter",
        "openai_compatible",
        "vllm",
        "sglang",
        "llama_cpp",
        "ollama",
        "organism",
        "gguf",
        "builtin",
    }


@pytest.mark.parametrize(
    ("given", "preset", "address"),
    [
        ({}, "openrouter", "https://openrouter.ai/api/v1"),
        ({"base_url": "http://h/v1"}, "openai_compatible", "http://h/v1"),
        (
            {"base_url": "https://openrouter.ai/api/v1"},
            "openai_compatible",
            "https://openrouter.ai/api/v1",
        ),
        ({"preset": "vllm"}, "vllm", "http://localhost:8000/v1"),
        ({"preset": "vllm", "base_url": "http://gpu:9/v1"}, "vllm", "http://gpu:9/v1"),
        ({"preset": "openrouter", "base_url": "http://h/v1"}, "openrouter", "http://h/v1"),
        (
            {"preset": "openai_compatible", "base_url": "http://h/v1"},
            "openai_compatible",
            "http://h/v1",
        ),
    ],
)
def test_preset_follows_from_what_is_given(given, preset, address):
    """OpenRouter is the default, a bare address is the plain dialect, and both can be named."""
    endpoint = Endpoint.model_validate(given)

    assert endpoint.traits is PRESETS[preset]
    assert endpoint.is_openrouter is (preset == "openrouter")
    assert endpoint.address == address


@pytest.mark.parametrize(
    ("provider", "is_pinned"),
    [
        (None, False),
        ({}, False),
        ({"only": ["deepinfra"], "allow_fallbacks": False}, True),
        ({"order": ["deepinfra"], "allow_fallbacks": False}, True),
        ({"only": [], "order": ["deepinfra"], "allow_fallbacks": False}, True),
        ({"only": ["deepinfra"]}, False),
        ({"only": ["deepinfra"], "allow_fallbacks": True}, False),
        ({"only": ["deepinfra"], "allow_fallbacks": None}, False),
        ({"only": ["deepinfra"], "allow_fallbacks": 0}, False),
        ({"only": ["deepinfra"], "allow_fallbacks": "false"}, False),
        ({"only": ["deepinfra", "novita"], "allow_fallbacks": False}, False),
        ({"order": ["deepinfra", "novita"], "allow_fallbacks": False}, False),
        ({"only": "deepinfra", "allow_fallbacks": False}, False),
        ({"only": [], "allow_fallbacks": False}, False),
        ({"allow_fallbacks": False}, False),
        ({"ignore": ["deepinfra"], "allow_fallbacks": False}, False),
        ({"quantizations": ["fp8"], "allow_fallbacks": False}, False),
    ],
)
def test_provider_is_pinned_when_one_host_is_left(provider, is_pinned):
    """Only one named provider without fallbacks counts as pinned."""
    assert TargetEndpoint(provider=provider).provider_is_pinned is is_pinned


# --- whom a key goes to -------------------------------------------------------------------------

KEY_TABLE = [
    # OpenRouter itself
    ({}, KEY),
    ({"preset": "openrouter"}, KEY),
    ({"base_url": "https://openrouter.ai/api/v1"}, KEY),
    ({"base_url": "https://openrouter.ai:443/api/v1"}, KEY),
    ({"base_url": "https://OpenRouter.AI/api/v1"}, KEY),
    ({"preset": "openrouter", "base_url": "https://openrouter.ai/api/v1"}, KEY),
    # everyone else
    ({"base_url": "http://openrouter.ai/api/v1"}, None),
    ({"base_url": "https://openrouter.ai:8443/api/v1"}, None),
    ({"base_url": "https://openrouter.ai:80/api/v1"}, None),
    ({"base_url": "http://openrouter.ai:443/api/v1"}, None),
    ({"base_url": "https://openrouter.ai.evil.com/api/v1"}, None),
    ({"base_url": "https://evil-openrouter.ai/api/v1"}, None),
    ({"base_url": "https://api.openrouter.ai/v1"}, None),
    ({"base_url": "https://openrouter.ai./api/v1"}, None),
    ({"base_url": "https://evil.com/openrouter.ai/api/v1"}, None),
    ({"base_url": "https://evil.com/https://openrouter.ai"}, None),
    ({"base_url": "https://openrouter.ai%2eevil.com/v1"}, None),
    ({"base_url": "https://openrouter.ai\\.evil.com/v1"}, None),
    ({"base_url": "https://\u043epenrouter.ai/api/v1"}, None),  # a Cyrillic o
    ({"base_url": "http://localhost:8000/v1"}, None),
    ({"base_url": "http://127.0.0.1:1/v1"}, None),
    ({"preset": "openrouter", "base_url": "https://mirror.example/api/v1"}, None),
    ({"preset": "openrouter", "base_url": "http://openrouter.ai/api/v1"}, None),
    ({"preset": "vllm"}, None),
    ({"preset": "sglang"}, None),
    ({"preset": "llama_cpp"}, None),
    ({"preset": "ollama"}, None),
    # a variable that the config names
    ({"api_key_env": OTHER_KEY}, OTHER_KEY),
    ({"api_key_env": OTHER_KEY, "base_url": "https://api.example/v1"}, OTHER_KEY),
    ({"api_key_env": OTHER_KEY, "base_url": "https://openrouter.ai/api/v1"}, OTHER_KEY),
    ({"api_key_env": OTHER_KEY, "preset": "vllm"}, OTHER_KEY),
    ({"api_key_env": KEY, "base_url": "https://mirror.example/api/v1"}, KEY),
]


@pytest.mark.parametrize(("given", "variable"), KEY_TABLE)
def test_openrouter_key_goes_to_openrouter_alone(given, variable, monkeypatch):
    """Without api_key_env, no other scheme, host or port is ever given OpenRouter's key."""
    monkeypatch.setenv(KEY, "sk-openrouter")
    monkeypatch.setenv(OTHER_KEY, "sk-other")
    endpoint = Endpoint.model_validate(given)
    keys = {KEY: "sk-openrouter", OTHER_KEY: "sk-other", None: None}

    assert endpoint.key_variable == variable
    assert read_key(endpoint) == keys[variable]


# --- where a key is found -----------------------------------------------------------------------


def test_key_comes_from_the_environment(monkeypatch):
    """A variable that is set suffices; space around it is no part of the key."""
    monkeypatch.setenv(KEY, " sk-env\n")

    assert read_key(Endpoint()) == "sk-env"


@pytest.mark.parametrize(
    "content",
    [
        f'{KEY}="sk-dotenv"\n',
        f"export {KEY}=sk-dotenv\n",
        f"{KEY}=sk-dotenv\r\n",
        f"# keys\n\n{KEY} = sk-dotenv  # mine\n",
        f"\ufeff{KEY}=sk-dotenv\n",
    ],
)
def test_dotenv_may_be_written_in_the_usual_ways(content):
    """Quotes, export, CRLF, comments and a byte order mark do not get into the key."""
    Path(".env").write_bytes(content.encode("utf-8"))

    assert read_key(Endpoint()) == "sk-dotenv"


def test_environment_wins_over_dotenv(monkeypatch):
    """What is exported in the shell is used, whatever .env says."""
    monkeypatch.setenv(KEY, "sk-env")
    Path(".env").write_text(f"{KEY}=sk-dotenv\n", encoding="utf-8")

    assert read_key(Endpoint()) == "sk-env"


@pytest.mark.parametrize("blank", ["", "  "])
def test_blank_variable_does_not_hide_dotenv(blank, monkeypatch):
    """A variable that is exported but empty counts as not set."""
    monkeypatch.setenv(KEY, blank)
    Path(".env").write_text(f"{KEY}=sk-dotenv\n", encoding="utf-8")

    assert read_key(Endpoint()) == "sk-dotenv"


def test_missing_key_says_what_is_missing_and_where_it_was_looked_for():
    """The message names the variable, both places, and what to write."""
    with pytest.raises(MissingCredentialError) as caught:
        read_key(Endpoint())

    message = str(caught.value)
    assert f"{KEY} is not set" in message
    assert "environment" in message
    assert ".env" in message
    assert f"{KEY}=..." in message
    assert caught.value.exit_code == 2


def test_missing_key_of_another_endpoint_names_its_variable():
    """The variable in the message is the one that the config asks for."""
    endpoint = Endpoint(base_url="https://h/v1", api_key_env=OTHER_KEY)

    with pytest.raises(MissingCredentialError, match=OTHER_KEY):
        read_key(endpoint)


def test_missing_key_can_be_tolerated():
    """A plan needs no key."""
    assert read_key(Endpoint(), required=False) is None


@pytest.mark.parametrize(
    "key",
    [
        "sk-or\r\nX-Evil: 1",
        "sk-or\nv1",
        "sk-or v1",
        "sk-or\tv1",
        '"sk-or-v1"',
        "'sk-or-v1'",
        "sk-or-v1'",
        "sk-ör-v1",
        "sk-or-v1\u200b",
        "sk-or\x7fv1",
        "“sk-or-v1”",
    ],
)
@pytest.mark.parametrize("required", [True, False])
def test_key_that_cannot_be_one_is_refused_unseen(key, required, monkeypatch):
    """Line breaks, spaces, quotes and non-ASCII are named, and the key is not."""
    monkeypatch.setenv(KEY, key)

    with pytest.raises(ConfigError) as caught:
        read_key(Endpoint(), required=required)

    message = str(caught.value)
    assert KEY in message
    assert "sk-" not in message
    assert "v1" not in message
    assert "Evil" not in message


@pytest.mark.parametrize(
    "content",
    [f"{KEY}=sk-secret\n".encode("utf-16"), b"\xff\xfe", f"{KEY}=sk-\xe9".encode("latin-1")],
)
def test_dotenv_that_is_not_utf8_is_refused_by_name(content):
    """A .env in another encoding is named as the problem, without its content."""
    Path(".env").write_bytes(content)

    with pytest.raises(ConfigError) as caught:
        read_key(Endpoint())

    assert str(Path.cwd() / ".env") in str(caught.value)
    assert "UTF-8" in str(caught.value)
    assert "sk-" not in str(caught.value)


def test_no_key_is_looked_for_where_none_is_needed():
    """A local server is used without a key, and a broken .env does not matter to it."""
    Path(".env").write_bytes(b"\xff\xfe")

    assert read_key(Endpoint(preset="vllm")) is None


# --- judges -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "models"),
    [
        ("a/b", ["a/b"]),
        (["a/b", "c/d"], ["a/b", "c/d"]),
        ({"model": "a/b", "max_tokens": 9}, ["a/b"]),
        (["a/b", {"model": "c/d", "endpoint": {"base_url": "http://h/v1"}}], ["a/b", "c/d"]),
        (None, []),
    ],
)
def test_judges_are_one_or_many(given, models):
    """A name, a mapping, or a list of either; each has an endpoint of its own."""
    judges = config(judge_model=given).judge_model

    assert [judge.model for judge in judges] == models
    assert AuditConfig.model_validate(config(judge_model=given).model_dump()).judge_model == judges


def test_judge_of_ours_gets_its_preset():
    """An organism is reached by its name alone."""
    assert config(judge_model="organism/hides").judge_model[0].endpoint.preset_name == "organism"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["a/b", "a/b"], "lists a model twice"),
        ("builtin/baseline", "but it is an auditor"),
        ({"name": "a/b"}, "Field required"),
        ([5], "valid dictionary"),
        (" ", "must not be empty"),
        ({"model": "a/b", "endpoint": {"preset": "organism"}}, "must be organism/NAME"),
    ],
)
def test_wrong_judges_are_refused(given, problem):
    """Each with what is wrong."""
    with pytest.raises(ValidationError, match=problem):
        config(judge_model=given)


# --- what makes a run the same run --------------------------------------------------------------

FREE = [
    ("output_dir", "elsewhere"),
    ("doctor", "require"),
    ("judge_model", "a/b"),
    ("budget.max_usd", 5.0),
    ("budget.max_tokens", 1000),
    ("retries.max_attempts", 2),
    ("retries.max_wait_s", 5),
    ("retries.first_wait_s", 0.1),
    *(
        (f"{side}.{name}", value)
        for side in ("auditing_endpoint", "audited_endpoint")
        for name, value in (
            ("api_key_env", OTHER_KEY),
            ("allow_insecure", True),
            ("headers", {"X-Title": "t"}),
            ("timeout_s", 9),
            ("max_concurrency", 1),
            ("price", {"input_usd_per_million": 1, "output_usd_per_million": 2}),
        )
    ),
]
BINDING = [
    ("languages", ["zh-Hans"]),
    ("facts", "tiananmen"),
    ("topic", "Hong Kong, 2019"),
    ("auditing_model", "a/b"),
    ("audited_model", "moonshotai/kimi-k2"),
    ("sampling.max_tokens", 501),
    ("sampling.temperature", 0.8),
    ("sampling.top_p", 0.9),
    ("sampling.seed", 0),
    ("sampling.stop", ["x"]),
    ("sampling.arms", ["raw"]),
    ("sampling.n", 2),
    ("sampling.prefill", "I know:"),
    ("sampling.assistant_via", "template"),
    ("sampling.thinking", True),
    ("max_iterations", 21),
    ("auditor_prompt", "continuation"),
    ("auditor_sampling.max_tokens", 1),
    ("auditor_sampling.temperature", 0.1),
    ("auditor_context", "compact"),
    ("auditor_response_format", "none"),
    ("auditor_re_asks", 3),
    ("max_failed_iterations", 4),
    ("auditing_endpoint.preset", "vllm"),
    ("auditing_endpoint.base_url", "http://h/v1"),
    ("auditing_endpoint.extra_body", {"min_p": 0.1}),
    ("audited_endpoint.preset", "vllm"),
    ("audited_endpoint.base_url", "http://h/v1"),
    ("audited_endpoint.extra_body", {"min_p": 0.1}),
    ("audited_endpoint.template", "chatml"),
    ("audited_endpoint.provider", {"only": ["deepinfra"]}),
    ("audited_endpoint.send_bos", False),
]


@pytest.mark.parametrize(("path", "value"), FREE)
def test_identity_ignores_what_no_model_sees(path, value):
    """A run can go on with another budget, key, timeout, price or folder."""
    assert changed(path, value).identity() == config().identity()


@pytest.mark.parametrize(("path", "value"), BINDING)
def test_identity_changes_with_what_is_asked(path, value):
    """Whatever changes a request or the course of the loop makes it another run."""
    assert changed(path, value).identity() != config().identity()


def test_identity_allows_another_address_of_the_same_kind_of_server():
    """A server may move, as long as it is still spoken to in the same way."""
    before = changed("audited_endpoint", {"base_url": "http://a:1/v1"})
    after = changed("audited_endpoint", {"base_url": "http://b:2/v1"})

    assert before.identity() == after.identity()


def test_identity_says_which_kind_of_server_was_spoken_to():
    """The preset that applies is named, also where the config leaves it open."""
    identity = changed("audited_endpoint.base_url", "http://h/v1").identity()

    assert identity["auditing_endpoint"]["preset"] == "openrouter"
    assert identity["audited_endpoint"]["preset"] == "openai_compatible"


def test_likelihood_is_binding():
    """It sends requests of its own."""
    battery = {"auditing_model": "builtin/facts", "facts": "tiananmen"}

    assert config(**battery, likelihood="echo").identity() != config(**battery).identity()


def test_file_of_the_target_is_binding():
    """Another file is another model."""
    target = {"audited_model": "gguf/tiny.gguf"}
    first = config(**target, audited_endpoint={"preset": "gguf", "file_sha256": "0" * 64})

    assert first.identity() != config(**target).identity()


def test_every_setting_is_free_or_binding():
    """A new setting must be given its place in one of the two tables, or a test of its own."""
    apart = {"likelihood", "audited_endpoint.file_sha256"}
    tested = {path for path, _ in FREE + BINDING} | apart
    assert tested == set(leaves(AuditConfig))
