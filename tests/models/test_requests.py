"""What leaves the program: bodies, headers, keys, addresses, and how many at once."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest

from tests.provider import FAULTS, MODELS, Model
from tests.provider.fault import spoiled
from tests.running import (
    KEY,
    KEY_VARIABLE,
    PINNED,
    PRICE,
    asked,
    both,
    endpoint,
    run_over,
)
from tests.support import audited_provider, fault_group, one_of_each
from uncensoring_chinese_models.audit.reply import response_format
from uncensoring_chinese_models.domain import Price
from uncensoring_chinese_models.errors import FatalError
from uncensoring_chinese_models.models.http_api import _price, _proxy_for

pytestmark = pytest.mark.wire

BOS = "<\uff5cbegin\u2581of\u2581sentence\uff5c>"
USER = "<\uff5cUser\uff5c>"
STOPS = ["<\uff5cAssistant\uff5c>", USER, "<\uff5cend\u2581of\u2581sentence\uff5c>"]
NO_COMPRESSION = [{"id": "context-compression", "enabled": False}]
PROBE = "I\uff5cremember\u2581it\n\r\n\t\x00NUL \U0001f9d1\U0001f3fd\u200d\U0001f680 \u2028 六四 \"'\\ \x7f"
"""What must arrive as it is: U+FF5C, U+2581, line breaks, NUL, emoji, quotes."""


def local(provider, preset, **changes):
    """Return the endpoint of a server of our own, which serves under /v1."""
    return {"preset": preset, "base_url": f"{provider.root_url}/v1", "price": PRICE, **changes}


def only(provider, role):
    """Return the first request of one side."""
    return asked(provider, role)[0]


# --- OpenRouter -----------------------------------------------------------------------------------


def test_body_for_the_target_at_openrouter(tmp_path):
    """The raw prompt, its limits, the routing object as given, compression off; no stream, no n."""
    routing = {"only": ["parasail/fp8"], "allow_fallbacks": False, "require_parameters": True}
    with audited_provider() as provider:
        settings = both(provider) | {"audited_endpoint": endpoint(provider, provider=routing)}
        ran = run_over(tmp_path, provider, **settings)

    probe = ran.turns()[0]["parsed"]["next_prompt"]
    request = only(provider, "target")
    assert (request.method, request.path) == ("POST", "/api/v1/completions")
    assert request.body == {
        "model": "deepseek/deepseek-chat",
        "prompt": BOS + USER + probe,
        "max_tokens": 500,
        "temperature": 0.7,
        "stop": STOPS,
        "provider": routing,
        "plugins": NO_COMPRESSION,
    }


def test_body_for_the_auditor_at_openrouter(tmp_path):
    """The messages that are stored, a schema for the reply, compression off; no stream."""
    with audited_provider() as provider:
        ran = run_over(tmp_path, provider, **both(provider))

    request = only(provider, "auditor")
    assert (request.method, request.path) == ("POST", "/api/v1/chat/completions")
    assert request.body == {
        "model": "anthropic/claude-sonnet-4",
        "messages": ran.turns()[0]["input_messages"],
        "max_tokens": 8000,
        "temperature": 0.7,
        "response_format": response_format(),
        "plugins": NO_COMPRESSION,
    }
    wanted = request.body["response_format"]
    assert (wanted["type"], wanted["json_schema"]["name"]) == ("json_schema", "auditor_turn")
    assert {"hypotheses", "next_prompt"} <= wanted["json_schema"]["schema"]["properties"].keys()


def test_body_for_the_assistant_arm(tmp_path):
    """The target's chat has its question and limits, no schema, no stop strings of a template."""
    with audited_provider() as provider:
        ran = run_over(tmp_path, provider, sampling={"arms": ["assistant"]}, **both(provider))

    request = only(provider, "target")
    assert request.path == "/api/v1/chat/completions"
    assert request.body == {
        "model": "deepseek/deepseek-chat",
        "messages": [{"role": "user", "content": ran.turns()[0]["parsed"]["next_prompt"]}],
        "max_tokens": 500,
        "temperature": 0.7,
        "provider": PINNED,
        "plugins": NO_COMPRESSION,
    }


def test_headers_for_openrouter(tmp_path):
    """The response cache is off for every request, and a body is one piece of ASCII JSON."""
    with audited_provider() as provider:
        run_over(tmp_path, provider, **both(provider))

    assert len(provider.requests) == 3
    for request in provider.requests:
        assert request.headers["X-OpenRouter-Cache"] == "false"
        assert request.headers["X-OpenRouter-Title"] == "uncensoring_chinese_models"
        assert request.headers["Content-Type"] == "application/json"
        assert request.headers["Content-Length"] == str(len(request.raw))
        assert "Transfer-Encoding" not in request.headers
        assert request.raw.isascii()


@pytest.mark.parametrize("wanted", ["json_object", "none"])
def test_other_reply_formats(tmp_path, wanted):
    """The auditor is asked for the format that the config names, or for none."""
    with audited_provider() as provider:
        run_over(tmp_path, provider, auditor_response_format=wanted, **both(provider))

    told = only(provider, "auditor").body.get("response_format")
    assert told == {"json_object": {"type": "json_object"}, "none": None}[wanted]


def test_schema_that_was_refused_is_not_sent_again(tmp_path):
    """Once an endpoint has turned the schema down, no later turn is sent with it."""
    with audited_provider() as provider:
        provider.fail(
            "400_response_format",
            api="chat",
            times=None,
            when=lambda body: "response_format" in body,
        )
        ran = run_over(tmp_path, provider, max_iterations=3, **both(provider))

    assert ran.status == "max_iterations"
    sent = ["response_format" in request.body for request in asked(provider, "auditor")]
    assert sent == [True, False, False, False, False]


# --- other servers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preset", "opening", "more"),
    [
        ("openai_compatible", BOS + USER, {}),
        ("vllm", BOS + USER, {"add_special_tokens": False, "skip_special_tokens": False}),
        ("sglang", USER, {"skip_special_tokens": False}),
        ("llama_cpp", USER, {}),
    ],
)
def test_body_for_servers_of_our_own(tmp_path, preset, opening, more):
    """Each server gets the beginning of sequence once, and nothing of OpenRouter's."""
    with audited_provider() as provider:
        sides = {
            name: local(provider, preset) for name in ("auditing_endpoint", "audited_endpoint")
        }
        ran = run_over(tmp_path, provider, **sides)

    target, auditor = only(provider, "target"), only(provider, "auditor")
    assert (target.path, auditor.path) == ("/v1/completions", "/v1/chat/completions")
    assert target.body == {
        "model": "deepseek/deepseek-chat",
        "prompt": opening + ran.turns()[0]["parsed"]["next_prompt"],
        "max_tokens": 500,
        "temperature": 0.7,
        "stop": STOPS,
        **more,
    }
    names = ["max_tokens", "messages", "model", "response_format", "temperature"]
    assert sorted(auditor.body) == names
    assert not any("openrouter" in name.lower() for name in target.headers)
    assert ran.samples()[0]["formatted_prompt"] == target.body["prompt"]


def test_body_for_ollama(tmp_path):
    """The target goes to /api/generate, raw and in one piece; the auditor to the chat API."""
    with audited_provider() as provider:
        sides = {
            "auditing_endpoint": local(provider, "ollama"),
            "audited_endpoint": local(provider, "ollama"),
        }
        sampling = {"max_tokens": 123, "temperature": 0.2, "seed": 7, "top_p": 0.9, "stop": ["##"]}
        ran = run_over(tmp_path, provider, sampling=sampling, **sides)

    target, auditor = only(provider, "target"), only(provider, "auditor")
    assert (target.path, auditor.path) == ("/api/generate", "/v1/chat/completions")
    assert target.body == {
        "model": "deepseek/deepseek-chat",
        "prompt": USER + ran.turns()[0]["parsed"]["next_prompt"],
        "raw": True,
        "stream": False,
        "options": {
            "num_predict": 123,
            "temperature": 0.2,
            "top_p": 0.9,
            "seed": 64 * 7,
            "stop": [*STOPS, "##"],
        },
    }
    (sample,) = ran.samples()
    assert (sample["delivery"], sample["finish_reason"]) == ("complete", "stop")
    assert sample["usage"]["completion_tokens"] > 0


def test_options_for_ollama_are_added_to_ours(tmp_path):
    """A wider context can be asked for without losing the limit on what is written."""
    with audited_provider() as provider:
        options = {"options": {"num_ctx": 8192, "num_predict": -1}, "keep_alive": "5m"}
        target = local(provider, "ollama", extra_body=options)
        run_over(tmp_path, provider, **both(provider) | {"audited_endpoint": target})

    body = only(provider, "target").body
    assert body["options"]["num_ctx"] == 8192
    assert (body["options"]["num_predict"], body["options"]["stop"]) == (500, STOPS)
    assert (body["raw"], body["keep_alive"]) == (True, "5m")


@pytest.mark.parametrize(
    ("preset", "send_bos", "opening"),
    [("llama_cpp", True, BOS + USER), ("vllm", False, USER), ("openrouter", False, USER)],
)
def test_config_decides_about_the_beginning_of_sequence(tmp_path, preset, send_bos, opening):
    """The preset's habit can be overruled where a server is set up otherwise."""
    with audited_provider() as provider:
        target = local(provider, preset, send_bos=send_bos)
        run_over(tmp_path, provider, **both(provider) | {"audited_endpoint": target})

    assert only(provider, "target").body["prompt"].startswith(opening)


# --- what is sent stays what it is ----------------------------------------------------------------


@pytest.mark.parametrize("preset", ["openrouter", "vllm", "llama_cpp", "ollama"])
def test_prompt_arrives_unchanged(tmp_path, preset):
    """Not one character of a probe is lost, trimmed or normalised on its way to the server."""
    with audited_provider(role_tokens=PROBE) as provider:
        target = local(provider, preset)
        sampling = {"arms": ["user_persona", "raw", "assistant"]}
        settings = both(provider) | {"audited_endpoint": target}
        ran = run_over(tmp_path, provider, sampling=sampling, **settings)

    probe = ran.turns()[0]["parsed"]["next_prompt"]
    assert PROBE in probe
    bodies = [request.body for request in asked(provider, "target")]
    prompts = {body["prompt"].removeprefix(BOS) for body in bodies if "prompt" in body}
    assert prompts == {USER + probe, probe}
    chats = [body["messages"] for body in bodies if "messages" in body]
    assert chats == [[{"role": "user", "content": probe}]]
    persona, raw, assistant = ran.samples()
    assert persona["formatted_prompt"] in [body.get("prompt") for body in bodies]
    assert (raw["formatted_prompt"], assistant["messages"]) == (probe, chats[0])


def test_each_sample_is_a_request_of_its_own(tmp_path):
    """n samples are n requests without `n`; a seed counts up, so that none repeats another."""
    with audited_provider() as provider:
        run_over(tmp_path, provider, sampling={"n": 5, "seed": 40}, **both(provider))

    bodies = [request.body for request in asked(provider, "target")]
    assert sorted(body["seed"] for body in bodies) == [64 * 40 + sample for sample in range(5)]
    assert not any("n" in body or "stream" in body for body in bodies)


def test_extra_fields_and_headers_reach_their_side_only(tmp_path):
    """What the config adds for one endpoint is sent there, and nowhere else."""
    with audited_provider() as provider:
        settings: dict[str, Any] = {
            "auditing_endpoint": endpoint(
                provider,
                extra_body={"reasoning": {"effort": "low"}},
                headers={"HTTP-Referer": "https://audit.example"},
            ),
            "audited_endpoint": endpoint(
                provider, provider=PINNED, extra_body={"top_k": 5}, headers={"X-Lab": "two"}
            ),
        }
        run_over(tmp_path, provider, **settings)

    target, auditor = only(provider, "target"), only(provider, "auditor")
    assert auditor.body["reasoning"] == {"effort": "low"}
    assert auditor.headers["HTTP-Referer"] == "https://audit.example"
    assert (target.body["top_k"], target.headers["X-Lab"]) == (5, "two")
    assert "top_k" not in auditor.body
    assert "X-Lab" not in auditor.headers
    assert "reasoning" not in target.body
    assert "HTTP-Referer" not in target.headers


# --- keys -----------------------------------------------------------------------------------------


def test_key_goes_to_the_endpoint_that_names_it(tmp_path, monkeypatch):
    """Each server sees its own key; one that names none sees none."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with audited_provider() as provider, audited_provider() as other:
        provider.api_key = KEY
        settings: dict[str, Any] = {
            "auditing_endpoint": endpoint(provider, api_key_env=KEY_VARIABLE),
            "audited_endpoint": endpoint(other, provider=PINNED),
        }
        ran = run_over(tmp_path, provider, **settings)

    assert ran.status == "max_iterations"
    assert {each.headers.get("Authorization") for each in provider.requests} == {f"Bearer {KEY}"}
    assert {each.headers.get("Authorization") for each in other.requests} == {None}
    assert ran.holds(KEY) == []


def test_key_of_openrouter_goes_to_openrouter_alone(tmp_path, monkeypatch):
    """Another server that speaks its dialect is not given the key that is meant for it."""
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    with audited_provider() as provider:
        run_over(tmp_path, provider, **both(provider, price=None))

    assert provider.count("models") == 2
    assert {each.headers.get("Authorization") for each in provider.requests} == {None}


@pytest.mark.parametrize("shape", ["redirect_302", "redirect_307"])
@pytest.mark.parametrize("api", ["chat", "completions", "models"])
def test_redirects_are_not_followed(tmp_path, monkeypatch, api, shape):
    """Key and probe go where the config says, or nowhere."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with audited_provider() as provider:
        provider.fail(shape, api=api, times=None)
        changes = {"api_key_env": KEY_VARIABLE, "price": None}
        ran = run_over(tmp_path, provider, **both(provider, **changes))

    assert provider.count(api) >= 1
    assert provider.count("elsewhere") == 0
    ends = {"chat": "auditor_failed", "completions": "target_failed"}
    assert ran.status == ends.get(api, "max_iterations")


@pytest.mark.parametrize("api", ["chat", "completions"])
@pytest.mark.parametrize(
    "shape", ["400_echoes_key", "401_echoes_key", "429_echoes_key", "200_echoes_key"]
)
def test_key_that_a_server_repeats_is_not_stored_or_shown(tmp_path, monkeypatch, api, shape):
    """An error that quotes the Authorization header shows a mark in place of the key."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with audited_provider() as provider:
        provider.fail(shape, api=api, times=None)
        ran = run_over(tmp_path, provider, **both(provider, api_key_env=KEY_VARIABLE))

    assert ran.holds(KEY) == []
    assert ran.errors()[0]["message"].count("Bearer [key]") == 1


# --- many at once ---------------------------------------------------------------------------------


@contextmanager
def answered_together(provider, count):
    """Let the provider answer nobody before so many more requests for samples are there."""
    wanted, holds = provider.count("completions") + count, threading.Event()

    def hold():
        with provider.holding():
            holds.set()
            provider.wait_for(wanted, "completions", timeout_s=20)

    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(hold)
        assert holds.wait(10)
        yield
        held.result()


@pytest.mark.parametrize(("most", "at_once"), [(8, 6), (6, 6), (2, 2), (1, 1)])
def test_samples_of_all_arms_run_at_once_within_the_limit(tmp_path, most, at_once):
    """All samples of an iteration are out together, but never more than max_concurrency."""
    sampling = {"arms": ["user_persona", "raw"], "n": 3}
    with audited_provider() as provider:
        settings = {"sampling": sampling, **both(provider, max_concurrency=most)}
        provider.fail("401", api="completions", times=None)
        stopped = run_over(tmp_path, provider, **settings)  # the auditor's turn is in the journal
        provider.heal()
        with answered_together(provider, at_once):
            ran = run_over(tmp_path, provider, resume=stopped.folder, **settings)

    assert type(stopped.error) is FatalError
    assert ran.status == "max_iterations"
    assert provider.max_in_flight == at_once
    assert len({(sample["arm"], sample["index"]) for sample in ran.samples()}) == 6


def test_connections_are_used_again(tmp_path):
    """A run opens about as many connections as it has requests at once, not one for each."""
    with audited_provider() as provider:
        provider.latency = 0.01
        settings = {"sampling": {"n": 8}, **both(provider, max_concurrency=4)}
        run_over(tmp_path, provider, max_iterations=4, **settings)

    assert len(provider.requests) == 4 * 8 + 5
    assert provider.max_in_flight <= 4
    assert provider.connections <= 6


# --- prices and costs -----------------------------------------------------------------------------


def test_cost_comes_from_the_list_where_none_is_reported(tmp_path):
    """Where a reply names no cost, its tokens are priced by the server's list of models."""
    with audited_provider() as provider:
        provider.report_cost = False
        ran = run_over(tmp_path, provider, **both(provider, price=None))

    (sample,) = ran.samples()
    usage = sample["usage"]
    listed = next(model for model in MODELS if model.id == "deepseek/deepseek-chat")
    assert sample["cost_usd"] == float(
        listed.cost(usage["prompt_tokens"], usage["completion_tokens"])
    )
    assert provider.count("models") == 2
    assert ran.summary["spend"]["total"]["cost_usd"] == float(provider.billed_usd)
    assert ran.summary["spend"]["total"]["calls_without_cost"] == 0


def test_price_of_the_config_wins_over_the_list(tmp_path):
    """A price in the config is used as it is, and the list is not even asked for."""
    price = {"input_usd_per_million": 2.5, "output_usd_per_million": 10}
    with audited_provider() as provider:
        provider.report_cost = False
        ran = run_over(tmp_path, provider, **both(provider, price=price))

    (sample,) = ran.samples()
    tokens = Decimal(sample["usage"]["prompt_tokens"]), sample["usage"]["completion_tokens"]
    assert sample["cost_usd"] == float(
        tokens[0] * Decimal("0.0000025") + tokens[1] * Decimal("0.00001")
    )
    assert provider.count("models") == 0


def test_cost_that_the_server_bills_wins_over_any_price(tmp_path):
    """What was really billed is recorded, whatever the config or the list says it should be."""
    with audited_provider() as provider:
        ran = run_over(tmp_path, provider, **both(provider))

    (request,) = asked(provider, "target")
    assert ran.samples()[0]["cost_usd"] == float(request.billed_usd)
    assert ran.summary["spend"]["total"]["cost_usd"] == float(provider.billed_usd)


@pytest.mark.parametrize("models", [(), (Model("openrouter/auto", "-1", "-1"),)])
def test_cost_is_unknown_where_nobody_tells_it(tmp_path, models):
    """Without a cost, a price in the list or one in the config, the cost is null and never 0."""
    with audited_provider() as provider:
        provider.report_cost, provider.models = False, models
        ran = run_over(tmp_path, provider, **both(provider, price=None))

    assert ran.samples()[0]["cost_usd"] is None
    assert ran.samples()[0]["usage"]["completion_tokens"] > 0
    assert [turn["cost_usd"] for turn in ran.turns()] == [None, None]
    total = ran.summary["spend"]["total"]
    assert (total["cost_usd"], total["calls_without_cost"]) == (None, 3)


@pytest.mark.parametrize("shape", ["usage_missing", "usage_null", "usage_list"])
def test_tokens_that_are_not_told_are_unknown(tmp_path, shape):
    """A reply without usage has no tokens and no cost; they are null, not 0."""
    with audited_provider() as provider:
        provider.fail(shape, api="completions")
        ran = run_over(tmp_path, provider, **both(provider))

    (sample,) = ran.samples()
    assert sample["delivery"] == "complete"
    assert set(sample["usage"].values()) == {None}
    assert sample["cost_usd"] is None
    stored = json.loads((ran.folder / "audited_responses/001.json").read_bytes())
    assert stored["completion_tokens"] is None
    target = ran.summary["spend"]["by_role"]["target"]
    assert (target["cost_usd"], target["calls_without_cost"]) == (None, 1)


@pytest.mark.parametrize("shape", ["cost_missing", "cost_null"])
def test_cost_that_is_left_out_is_counted_from_the_price(tmp_path, shape):
    """One reply without its cost is priced like any reply of a server that reports none."""
    with audited_provider() as provider:
        provider.fail(shape, api="completions")
        ran = run_over(tmp_path, provider, **both(provider, price=None))

    (request,) = asked(provider, "target")
    assert ran.samples()[0]["cost_usd"] == float(request.billed_usd)


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
@pytest.mark.parametrize(
    "shape",
    one_of_each(
        sorted(
            name
            for name, fault in FAULTS.items()
            if "models" in fault.apis and fault.then != "hang" and fault.drips != "spaces"
        ),
        fault_group,
    ),
)
def test_broken_list_of_models_does_no_harm(tmp_path, shape):
    """The list is a service to the user: without it prices are unknown, and the audit runs."""
    with audited_provider() as provider:
        provider.fail(shape, api="models", times=None)
        ran = run_over(tmp_path, provider, **both(provider, price=None))

    assert ran.status == "max_iterations"
    assert ran.samples()[0]["delivery"] == "complete"
    assert ran.errors() == []


def _tiers(*dearer):
    """Return a list price with tiers, such as for long prompts."""
    return {"prompt": "1", "completion": "2", "overrides": list(dearer)}


@pytest.mark.parametrize(
    ("listed", "price"),
    [
        ({"prompt": "0.000001", "completion": "0.000002"}, ("0.000001", "0.000002", "0")),
        ({"prompt": "0", "completion": "0", "request": "0.01"}, ("0", "0", "0.01")),
        ({"prompt": "1", "completion": "2", "input_cache_write": "1.25"}, ("1.25", "2", "0")),
        ({"prompt": "1", "completion": "2", "input_cache_write": "0.1"}, ("1", "2", "0")),
        (_tiers({"prompt": "3"}), ("3", "2", "0")),
        (_tiers({"completion": "5"}, {"completion": "4"}), ("1", "5", "0")),
        (_tiers({"prompt": "0.5", "completion": "0.1"}), ("1", "2", "0")),
        (_tiers({"input_cache_write": "7", "request": "0.3"}), ("7", "2", "0.3")),
        (_tiers({"internal_reasoning": "9"}), ("1", "9", "0")),
        ({"prompt": "1", "completion": "2", "internal_reasoning": "6"}, ("1", "6", "0")),
        (_tiers({"prompt": "-1"}), None),
        (_tiers({"prompt": "NaN"}), None),
        (_tiers("dear"), None),
        ({"prompt": "-1", "completion": "-1"}, None),
        ({"prompt": "1"}, None),
        ({"prompt": "NaN", "completion": "2"}, None),
        ({"prompt": "free", "completion": "2"}, None),
        ({"prompt": None, "completion": "2"}, None),
        ({"prompt": ["1"], "completion": "2"}, None),
        ({}, None),
        (None, None),
        ("1", None),
    ],
)
def test_listed_price_is_read_or_unknown(listed, price):
    """Prices are strings per token; the dearest input counts, and what is no price is unknown."""
    assert _price(listed) == (price and Price(*map(Decimal, price)))


# --- warnings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("routing", "warned"),
    [
        ({}, 1),
        ({"order": ["deepinfra"]}, 1),
        ({"only": ["deepinfra", "parasail"], "allow_fallbacks": False}, 1),
        ({"only": ["deepinfra"], "allow_fallbacks": False}, 0),
        ({"order": ["deepinfra"], "allow_fallbacks": False}, 0),
    ],
)
def test_provider_that_is_not_pinned_is_warned_about_once(tmp_path, routing, warned):
    """Samples that may come from several hosts are warned about once in a run, not once each."""
    with audited_provider() as provider:
        settings = both(provider) | {"audited_endpoint": endpoint(provider, provider=routing)}
        ran = run_over(tmp_path, provider, max_iterations=2, sampling={"n": 2}, **settings)

    assert len([line for line in ran.warnings if "not pinned" in line]) == warned
    assert len(ran.warnings) == warned


def test_own_server_is_not_warned_about(tmp_path):
    """Only OpenRouter routes: a server of one's own needs no pin and lists what it likes."""
    with audited_provider() as provider:
        provider.models = ()
        target = local(provider, "vllm", price=None)
        ran = run_over(tmp_path, provider, **both(provider) | {"audited_endpoint": target})

    assert ran.warnings == []


def test_model_that_is_not_listed_is_warned_about(tmp_path):
    """A name that OpenRouter does not list is told before anything is spent on it."""
    with audited_provider() as provider:
        provider.models = [model for model in MODELS if model.id != "deepseek/deepseek-chat"]
        ran = run_over(tmp_path, provider, **both(provider, price=None))

    (warning,) = ran.warnings
    assert warning.endswith("does not list the model deepseek/deepseek-chat.")


# --- who answered ---------------------------------------------------------------------------------


def test_served_model_and_provider_are_recorded_for_each_sample(tmp_path):
    """A sample that another model or host answered says so, and the summary counts them apart."""
    elsewhere = spoiled(
        "provider_other", "another host", "answer", lambda reply: reply.update(provider="Parasail")
    )
    with audited_provider() as provider:
        provider.fail("model_other", when=lambda body: body.get("seed") == 1)
        provider.fail(elsewhere, when=lambda body: body.get("seed") == 2)
        ran = run_over(tmp_path, provider, sampling={"n": 3, "seed": 0}, **both(provider))

    served = [(sample["served_model"], sample["provider"]) for sample in ran.samples()]
    assert served == [
        ("deepseek/deepseek-chat", "Deepinfra"),
        ("x-ai/another-model", "Deepinfra"),
        ("deepseek/deepseek-chat", "Parasail"),
    ]
    counted = ran.summary["denominators"]["samples"]
    assert counted["by_provider"] == {"Deepinfra": 2, "Parasail": 1}
    assert counted["by_served_model"] == {"deepseek/deepseek-chat": 2, "x-ai/another-model": 1}
    assert {turn["served_model"] for turn in ran.turns()} == {"anthropic/claude-sonnet-4"}


# --- proxies --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://openrouter.ai/api/v1", "http://proxy.example:3128"),
        ("http://vllm.example:8000/v1", "http://other.example:8080"),
        ("https://inside.example/v1", None),
        ("https://deep.inside.example/v1", None),
        ("http://localhost:8000/v1", None),
        ("http://127.0.0.1:8000/v1", None),
        ("http://[::1]:8000/v1", None),
    ],
)
def test_proxy_is_the_one_of_the_environment(monkeypatch, url, proxy):
    """Each scheme has its proxy; what NO_PROXY names and this machine itself have none."""
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("http_proxy", "other.example:8080")
    monkeypatch.setenv("no_proxy", "inside.example")

    assert _proxy_for(url) == proxy


def test_no_proxy_without_an_environment():
    """Where no proxy is named, none is used."""
    assert _proxy_for("https://openrouter.ai/api/v1") is None


def test_audit_runs_through_a_proxy(tmp_path, monkeypatch):
    """A server that only the proxy can reach is audited through it."""
    with audited_provider() as proxy:
        monkeypatch.setenv("http_proxy", proxy.root_url.replace("//", "//me:pa55word@"))
        ran = run_over(tmp_path, proxy, **both(proxy, base_url="http://nowhere.invalid/api/v1"))

    assert ran.status == "max_iterations"
    assert {request.headers["Host"] for request in proxy.requests} == {"nowhere.invalid"}
    assert {"Proxy-Authorization"} <= set(proxy.requests[0].headers)
    assert ran.holds("pa55word") == []


@pytest.mark.parametrize("place", ["127.0.0.1:{port}", "127.0.0.1:1"])
def test_proxy_that_fails_tells_no_password_and_costs_nothing(tmp_path, monkeypatch, place):
    """What stands in the proxy's address never reaches a file or the screen."""
    with audited_provider() as proxy:
        monkeypatch.setenv("https_proxy", f"http://me:pa55word@{place.format(port=proxy.port)}")
        target = endpoint(proxy, base_url="https://nowhere.invalid/api/v1", provider=PINNED)
        ran = run_over(tmp_path, proxy, **both(proxy) | {"audited_endpoint": target})

    error = ran.errors()[0]
    assert error["message"].startswith("no connection to nowhere.invalid: ")
    assert {error["maybe_billed"] for error in ran.errors()} == {False}
    assert ran.holds("pa55word") == []
    assert asked(proxy, "target") == []


def test_proxy_with_a_wrong_address_ends_the_run_and_tells_no_password(tmp_path, monkeypatch):
    """An address that cannot be is no outage; it is refused at the first call to that server."""
    with audited_provider() as proxy:
        monkeypatch.setenv("https_proxy", "http://me:pa55word@127.0.0.1:99999")
        target = endpoint(proxy, base_url="https://nowhere.invalid/api/v1", provider=PINNED)
        ran = run_over(tmp_path, proxy, **both(proxy) | {"audited_endpoint": target})

    assert type(ran.error) is FatalError
    assert "the proxy is not" in str(ran.error)
    assert {error["maybe_billed"] for error in ran.errors()} == {False}
    assert ran.holds("pa55word") == []
    assert asked(proxy, "target") == []
