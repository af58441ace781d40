"""A key crosses the network in plain text only where the config allows it."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tests.support import audited_provider, make_config, run_here, write_config
from uncensoring_chinese_models.config.endpoints import Endpoint, TargetEndpoint
from uncensoring_chinese_models.config.settings import JudgeModel

KEY = "sk-or-v1-5ec4e75ec4e75ec4e75ec4e7"
LOOPBACK = [
    "http://localhost:8000/v1",
    "HTTP://LOCALHOST/v1",
    "http://127.0.0.1:1/v1",
    "http://127.9.8.7/v1",
    "http://[::1]:8000/v1",
    "http://[0:0:0:0:0:0:0:1]/v1",
]
ELSEWHERE = [
    "http://api.example/v1",
    "HTTP://api.example/v1",
    "http://localhost.evil.com/v1",
    "http://127.0.0.1.nip.io/v1",
    "http://localhost.:8000/v1",
    "http://evil.localhost/v1",
    "http://localhost%2eevil.com/v1",
    "http://0.0.0.0:8000/v1",
    "http://[::]/v1",
    "http://2130706433/v1",
    "http://0x7f000001/v1",
    "http://0177.0.0.1/v1",
    "http://127.1/v1",
    "http://127.0.0.1.evil.com/v1",
    "http://10.0.0.7/v1",
    "http://192.168.1.2/v1",
    "http://172.16.0.1/v1",
    "http://169.254.169.254/v1",
    "http://[fe80::1]/v1",
    "http://[fd00::1]/v1",
    "http://gpu-7/v1",
    "http://m.internal/v1",
    "http://openrouter.ai/api/v1",
]


@pytest.mark.parametrize("kind", [Endpoint, TargetEndpoint])
@pytest.mark.parametrize("address", ELSEWHERE)
def test_key_over_plain_http_is_refused(kind, address):
    """Every spelling of an address that is not plainly this machine needs the flag."""
    with pytest.raises(ValidationError) as caught:
        kind(base_url=address, api_key_env="MY_KEY")

    message = str(caught.value)
    assert "would send the key MY_KEY over plain http" in message
    assert "set allow_insecure: true for this endpoint" in message


@pytest.mark.parametrize("address", ELSEWHERE)
def test_key_over_plain_http_can_be_allowed(address):
    """One flag, on this endpoint alone."""
    endpoint = Endpoint(base_url=address, api_key_env="MY_KEY", allow_insecure=True)

    assert endpoint.key_variable == "MY_KEY"


@pytest.mark.parametrize("address", LOOPBACK)
def test_loopback_needs_no_flag(address):
    """What stays on this machine cannot be read on the way."""
    assert Endpoint(base_url=address, api_key_env="MY_KEY").key_variable == "MY_KEY"


@pytest.mark.parametrize("address", ELSEWHERE)
def test_without_a_key_no_flag_is_needed(address):
    """A server in the lab without a key is used as before."""
    assert Endpoint(base_url=address).key_variable is None


def test_https_needs_no_flag():
    """Not even to a private address."""
    assert Endpoint(base_url="https://10.0.0.7/v1", api_key_env="MY_KEY").key_variable == "MY_KEY"


def test_judges_need_the_flag_too():
    """Each endpoint has its own."""
    with pytest.raises(ValidationError, match="over plain http"):
        JudgeModel.model_validate(
            {"model": "a/b", "endpoint": {"base_url": ELSEWHERE[0], "api_key_env": "MY_KEY"}}
        )


@pytest.mark.parametrize("words", [("audit",), ("audit", "--dry-run"), ("doctor",), ("probe",)])
@pytest.mark.parametrize("side", ["auditing_endpoint", "audited_endpoint"])
def test_nothing_is_sent_before_the_refusal(tmp_path, monkeypatch, words, side):
    """Every command refuses the config, and no server hears of it: the proxy is one."""
    monkeypatch.setenv("MY_KEY", KEY)
    with audited_provider() as provider:
        monkeypatch.setenv("http_proxy", provider.root_url)
        target = {"base_url": "http://10.0.0.7/v1", "api_key_env": "MY_KEY"}
        write_config(tmp_path, make_config(provider, facts="tiananmen", **{side: target}))
        done = run_here(tmp_path, words[0], "config.yaml", *words[1:])

    assert done.returncode == 2
    assert f"{side} would send the key MY_KEY over plain http" in done.stderr
    assert provider.requests == []
    assert list(tmp_path.iterdir()) == [tmp_path / "config.yaml"]


def test_judge_command_refuses_it_too(tmp_path, monkeypatch):
    """A judge that is named on the command line."""
    monkeypatch.setenv("MY_KEY", KEY)
    with audited_provider(stop_after=1) as provider:
        write_config(tmp_path, make_config(provider, max_iterations=1))
        run_here(tmp_path, "audit", "config.yaml")
        (run,) = (tmp_path / "runs").iterdir()
        judge = "judge_model={model: a/b, endpoint: {base_url: 'http://10.0.0.7/v1', api_key_env: MY_KEY}}"
        done = run_here(tmp_path, "judge", run, judge, "--facts", "tiananmen")

    assert done.returncode == 2
    assert "over plain http" in done.stderr


def test_allowed_key_is_sent(tmp_path, monkeypatch):
    """With the flag the request goes out as before, here through a proxy."""
    monkeypatch.setenv("MY_KEY", KEY)
    with audited_provider(stop_after=1) as provider:
        monkeypatch.setenv("http_proxy", provider.root_url)
        side = {"base_url": "http://10.0.0.7/v1", "api_key_env": "MY_KEY", "allow_insecure": True}
        sides = {"auditing_endpoint": side, "audited_endpoint": side}
        write_config(tmp_path, make_config(provider, max_iterations=1, **sides))
        done = run_here(tmp_path, "audit", "config.yaml")

    assert done.returncode == 0, done.stderr
    assert {each.headers["Authorization"] for each in provider.requests} == {f"Bearer {KEY}"}
