"""Keys are removed from what is parsed, before anything is journaled or printed."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from typing import Any, cast

import pytest

from tests.provider import Provider
from tests.provider.answering import Plan
from tests.provider.echo import APART, ENCODINGS, traces
from tests.running import KEY_VARIABLE, both, run_over
from tests.support import audited_provider
from uncensoring_chinese_models.config import (
    Endpoint,
    redact,
    redact_json,
    redact_message,
    remember_secret,
)
from uncensoring_chinese_models.domain import Call, CallKey, Reply, Token
from uncensoring_chinese_models.errors import ClientError, TransientError
from uncensoring_chinese_models.models.http_api import HttpApi, open_session, redact_error, redacted
from uncensoring_chinese_models.models.wire import MAX_HOST_ANSWER

KEY = "sk-or-v1-9fQz_4TgXb7LmW2pR8sYc-aV3nHd"
OTHER = "Zx81mQ0bTt5vRk2WnE7cPq40"
HALF = len(KEY) // 2


@pytest.fixture(autouse=True)
def known():
    """Let the process know two keys."""
    remember_secret(KEY)
    remember_secret(OTHER)


# --- values -------------------------------------------------------------------------------------

TEXTS = [each.name for each in fields(Reply) if "str" in str(each.type)]


@pytest.mark.parametrize("name", TEXTS)
def test_every_text_of_a_reply_is_redacted(name):
    """No field may hold a key, whichever the server filled."""
    reply = replace(Reply(text=""), **cast("Any", {name: f"a {KEY} b"}))

    assert getattr(redacted(reply), name) == "a [key] b"


def test_texts_of_a_reply_are_those_that_are_known():
    """A new text of a reply is tested above."""
    assert {
        "text",
        "reasoning",
        "generation_id",
        "provider",
        "block_message",
        "host_answer",
    } <= set(TEXTS)


@pytest.mark.parametrize("name", ["message", "error_type", "partial_text", "host_answer"])
def test_every_text_of_an_error_is_redacted(name):
    """The same for errors."""
    err = TransientError("")
    setattr(err, name, f"a {KEY} b")
    redact_error(err)

    assert getattr(err, name) == "a [key] b"


def test_every_text_of_an_error_is_tested():
    """A new text of an error must be redacted, too."""
    known = ["message", "error_type", "partial_text", "host_answer", "finished_at"]
    texts = [name for name, kind in ClientError.__init__.__annotations__.items() if "str" in kind]

    assert sorted(texts) == sorted(known)  # the last one is ours


def test_key_that_is_split_over_tokens_is_removed():
    """Tokens are stored one by one; together they must not be the key."""
    pieces = [KEY[at : at + 3] for at in range(0, len(KEY), 3)]
    reply = Reply(text="x", tokens=tuple(Token(each, -0.5) for each in ("so ", *pieces, " on")))

    tokens = redacted(reply).tokens

    assert [token.name for token in tokens if token.name] == ["so ", "[key]", " on"]
    assert {token.logprob for token in tokens} == {-0.5}


def test_key_in_the_numbers_of_tokens_is_removed():
    """A server that tokenizes by bytes can say the key in numbers."""
    reply = Reply(text="x", tokens=tuple(Token(number) for number in (1, *KEY.encode(), 7)))

    assert [token.name for token in redacted(reply).tokens if token.name] == [1, "[key]", 7]


def test_reply_without_a_key_stays_as_it_is():
    """Not even its tokens are copied."""
    reply = Reply(text="plain", tokens=(Token(5), Token("a")))

    assert redacted(reply) is reply


@pytest.mark.parametrize(
    "value",
    [
        [KEY],
        {"a": [{"b": KEY}]},
        {KEY: 1},
        {"a": {f"x {KEY}": {"b": 2}}},
        [KEY[:HALF], KEY[HALF:]],
        {"a": KEY[:HALF], "b": KEY[HALF:]},
        [int("".join(f"{each:03d}" for each in KEY.encode()[:-1]))],
        [[[[[[[[[[KEY]]]]]]]]]],
    ],
)
def test_key_is_removed_anywhere_in_json(value):
    """Values, names, long numbers, parts beside each other, at any depth."""
    written = json.dumps(redact_json(value))

    assert traces(written.encode(), KEY) == []
    assert "[key]" in written


def test_short_key_is_removed_from_errors_alone():
    """A placeholder may be a word of the model's; in an error it is removed as it stands."""
    remember_secret("lm-studio")
    remember_secret("EMPTY")

    assert redact("I use lm-studio. EMPTY.") == "I use lm-studio. EMPTY."
    assert redact_message("Bearer lm-studio, EMPTY") == "Bearer [key], EMPTY"


@pytest.mark.parametrize(
    "text", ["The Lantern Archive opened in 1931. ", "清河灯笼档案馆于1931年春天开馆。"]
)
def test_large_reply_is_searched_quickly(text):
    """Ten megabytes take less than two seconds."""
    large = text * (10_000_000 // len(text.encode()))
    began = time.process_time()
    found = redacted(Reply(text=redact_json({"text": large})["text"]))

    assert found.text == large
    assert time.process_time() - began < 2


# --- over the wire ----------------------------------------------------------------------------------


@asynccontextmanager
async def reaching(provider, **settings):
    async with open_session() as session:
        yield HttpApi(session, Endpoint(base_url=provider.base_url, **settings), KEY)


def saying(change) -> Provider:
    """Return a provider whose replies are changed."""
    return Provider(amend=lambda ask, reply: change(reply) or reply)


def call(api="chat", **body: Any) -> Call:
    asked = {"messages": [{"role": "user", "content": "x"}]} if api == "chat" else {"prompt": "x"}
    return Call(CallKey(1, "target", "sample"), api, {"model": "a/b", **asked, **body})


def _answering(status: int, body: str) -> Callable[[Plan], Plan]:
    payload = body.encode("utf-8", "surrogatepass")
    return lambda plan: replace(plan, status=status, payload=payload)


def parts(reply):
    reply["choices"][0]["message"]["content"] = [
        {"type": "text", "text": KEY[:5]},
        {"type": "text", "text": KEY[5:HALF]},
        {"type": "text", "text": KEY[HALF:] + " end"},
    ]


def parts_and_pieces(reply):
    reply["choices"][0]["message"]["content"] = [
        {"type": "text", "text": KEY[:9]},
        {"type": "text", "text": KEY[9:26]},
        {"type": "text", "text": KEY[26:] + " end"},
    ]


def halves_in_fields(reply):
    reply["id"], reply["provider"] = KEY[HALF:], KEY[:HALF]


def logprobs(reply):
    content = [{"token": char, "logprob": -1.0} for char in KEY]
    reply["choices"][0]["logprobs"] = {"content": content}


@pytest.mark.parametrize("split", [parts, parts_and_pieces])
async def test_key_that_is_split_over_parts_of_a_text_is_removed(split):
    """It is looked for again after the parts are joined, and no piece was cut out of it before."""
    with saying(split) as provider:
        async with reaching(provider) as api:
            reply = await api.complete(call())

    assert reply.text == "[key] end"


async def test_halves_of_a_key_in_two_fields_are_removed():
    """Whichever comes first, and whatever fields are between them."""
    with saying(halves_in_fields) as provider:
        async with reaching(provider) as api:
            reply = await api.complete(call())

    assert (reply.generation_id, reply.provider) == ("[key]", "[key]")


def thirds_in_fields(reply):
    reply["id"], reply["model"], reply["provider"] = KEY[:13], KEY[13:26], f"by {KEY[26:]}"


async def test_thirds_of_a_key_in_three_fields_are_removed():
    """Each is shorter than a piece that counts by itself."""
    with saying(thirds_in_fields) as provider:
        async with reaching(provider) as api:
            reply = await api.complete(call())

    left = f"{reply.generation_id} {reply.served_model} {reply.provider}"
    assert "by [key]" in left
    assert not any(KEY[at : at + 8] in left for at in range(len(KEY) - 7))


@pytest.mark.parametrize("form", [form for form in APART if form != "half with spaces"])
async def test_key_in_parts_of_an_error_is_removed(form):
    """However it is taken apart, and in whatever fields of the error its parts stand."""
    told = APART[form](KEY)
    bodies = [told, json.dumps({"error": {"message": told}})]
    bodies.append(json.dumps({"error": {"message": KEY[:13], "type": KEY[13:26], "raw": KEY[26:]}}))
    with Provider() as provider:
        async with reaching(provider) as api:
            for body in bodies:
                provider.echo = _answering(400, body)
                with pytest.raises(ClientError) as caught:
                    await api.complete(call())
                err = caught.value
                left = f"{err.message} {err.error_type} {err.host_answer}"
                assert "[key]" in left
                for each in (KEY, KEY[::-1]):
                    assert not any(each[at : at + 16] in left for at in range(len(each) - 15))
                assert traces(left.encode(), KEY) == []


async def test_thirds_of_a_key_in_the_fields_of_an_error_are_removed():
    """Its message, its type and what was written hold no part; none is long enough by itself."""
    told = {"message": f"begins {KEY[26:]}", "type": KEY[:13]}
    body = {"error": told, "choices": [{"message": {"content": KEY[13:26]}}]}
    with Provider() as provider:
        async with reaching(provider) as api:
            provider.echo = _answering(400, json.dumps(body))
            with pytest.raises(ClientError) as caught:
                await api.complete(call())

    err = caught.value
    left = f"{err.message} {err.error_type} {err.partial_text} {err.host_answer}"
    assert "begins" in left
    assert not any(KEY[at : at + 8] in left for at in range(len(KEY) - 7))


async def test_key_in_tokens_is_removed():
    """Each token is one character of the key."""
    with saying(logprobs) as provider:
        async with reaching(provider) as api:
            reply = await api.complete(call())

    assert [token.name for token in reply.tokens if token.name] == ["[key]"]


async def test_key_of_another_endpoint_is_removed():
    """A host may repeat the key that it heard of another one."""
    with saying(lambda reply: reply.update(provider=f"host {OTHER}")) as provider:
        async with reaching(provider) as api:
            reply = await api.complete(call())

    assert reply.provider == "host [key]"


async def test_key_in_the_list_of_models_is_removed():
    """The names are shown in warnings."""
    with saying(lambda reply: None) as provider:
        known = type(provider.models[0])
        names = (f"a/{KEY}", f"a/{KEY[:HALF]}/b/{KEY[HALF:]}")
        provider.models = [*provider.models, *map(known, names)]
        async with reaching(provider) as api:
            listed = await api.catalogue()

    assert {"a/[key]", "a/[key]/b/[key]"} <= listed.keys()
    assert traces(str(list(listed)).encode(), KEY) == []


@pytest.mark.parametrize("form", ENCODINGS)
async def test_message_that_is_cut_off_holds_no_part_of_a_key(form):
    """The key is removed before the message is shortened, so no half of it is left."""
    with Provider() as provider:
        async with reaching(provider) as api:
            for length in (0, 50, 60, 70, 960, 980, 990):
                told = "x " * (length // 2) + ENCODINGS[form](KEY)
                for body in (told, json.dumps({"error": {"message": told, "type": told}})):
                    provider.echo = _answering(500, body)
                    with pytest.raises(ClientError) as caught:
                        await api.complete(call())
                    left = f"{caught.value.message} {caught.value.error_type}"
                    assert KEY[:12] not in left
                    assert KEY[-12:] not in left
                    assert traces(left.encode(), KEY[: len(KEY) * 3 // 4]) == []


@pytest.mark.parametrize("says", ["no", "content_filter"])
async def test_kept_body_that_is_cut_off_holds_no_part_of_a_key(says):
    """What is kept of the body of an error or a block is shortened after the key is removed."""
    with Provider() as provider:
        async with reaching(provider) as api:
            for length in range(MAX_HOST_ANSWER - 100, MAX_HOST_ANSWER, 7):
                told = {
                    "error": {"code": says, "message": says, "debug": "x " * (length // 2) + KEY}
                }
                for body in (json.dumps(told), f"{says} " + "x " * (length // 2) + KEY):
                    provider.echo = _answering(400, body)
                    kept = await _host_answer(api)
                    assert len(kept) > MAX_HOST_ANSWER - 200
                    assert KEY[:12] not in kept
                    assert KEY[-12:] not in kept


async def _host_answer(api: HttpApi) -> str:
    """Return what is kept of the body of an error or a block."""
    try:
        said: Reply | ClientError = await api.complete(call())
    except ClientError as err:
        said = err
    return str(said.host_answer)


async def test_key_that_an_error_spells_in_numbers_is_removed():
    """What was no text in the answer becomes one in the message."""
    with Provider() as provider:
        async with reaching(provider) as api:
            for length in (0, *range(780, 1000, 20)):
                told = {"message": "x " * (length // 2), "metadata": {"reasons": [*KEY.encode()]}}
                provider.echo = _answering(403, json.dumps({"error": told}))
                reply = await api.complete(call())

                left = str(reply.block_message)
                assert "[key]" in left
                assert re.findall(r"\d+", left) == []


async def test_short_key_that_an_error_quotes_is_removed():
    """A key that someone chose for a server of their own is not shown."""
    remember_secret("my-secret-1")
    with Provider() as provider:
        provider.echo = _answering(400, json.dumps({"error": {"message": "Bearer my-secret-1?"}}))
        async with reaching(provider) as api:
            with pytest.raises(ClientError, match=r"Bearer \[key\]\?"):
                await api.complete(call())


async def test_address_of_a_redirect_that_is_cut_off_holds_no_part_of_a_key():
    """The header is searched before the message is shortened."""
    with Provider() as provider:
        async with reaching(provider) as api:
            for length in range(900, 1000, 7):
                told = {"Location": "http://h/" + "x/" * (length // 2) + KEY}
                provider.echo = lambda plan, told=told: replace(plan, status=302, headers=told)  # type: ignore[misc]
                with pytest.raises(ClientError) as caught:
                    await api.complete(call())
                assert "redirected to http://h/x/" in caught.value.message
                assert KEY[:12] not in caught.value.message


# --- proxies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["{0}", "{1}", "Basic {2}", "https://{0}@proxy"])
async def test_password_of_a_proxy_is_removed(monkeypatch, form):
    """A proxy that repeats what it was told is redacted like a server."""
    user_info, plain = "someone:pass%2Fw0rd-of-mine-77", "someone:pass/w0rd-of-mine-77"
    told = form.format(user_info, plain, base64.b64encode(plain.encode()).decode())
    with saying(lambda reply: reply.update(provider=told)) as proxy:
        monkeypatch.setenv("http_proxy", f"http://{user_info}@127.0.0.1:{proxy.port}")
        async with open_session() as session:
            endpoint = Endpoint(base_url="http://far.invalid/api/v1")
            reply = await HttpApi(session, endpoint, None).complete(call())

    assert proxy.requests
    assert "w0rd" not in str(reply.provider)
    assert "[key]" in str(reply.provider)


# --- what is copied into a run -----------------------------------------------------------------------


@pytest.mark.parametrize("place", ["comment", "prompt", "topic", "path"])
@pytest.mark.parametrize("is_known", [True, False])
def test_key_in_what_a_run_copies_is_refused(tmp_path, monkeypatch, place, is_known):
    """Config, prompt file and settings are part of the run; nothing is sent, and no run is made."""
    key = "a-key-of-no-known-kind-4711-8xQz" if is_known else "sk-or-v1-4711471147114711471147"
    monkeypatch.setenv(KEY_VARIABLE, key if is_known else "another-key-0123456789")
    (tmp_path / "prompt.txt").write_text(f"Ask on {{topic}}. {key if place == 'prompt' else ''}")
    with audited_provider() as provider:
        changes = both(provider, api_key_env=KEY_VARIABLE)
        changes["auditor_prompt"] = str(tmp_path / "prompt.txt")
        if place == "topic":
            changes["topic"] = f"Lanterns {key}"
        if place == "path":
            changes["audited_endpoint"]["base_url"] += f"/{key}"
        if place == "comment":
            monkeypatch.setattr("tests.support.yaml.safe_dump", _with_comment(key))
        ran = run_over(tmp_path, provider, **changes)

    assert ran.status == "ConfigError"
    assert "holds an API key, or something that looks like one" in str(ran.error)
    assert "api_key_env" in str(ran.error)
    assert ran.watcher.folder is None
    assert not list(tmp_path.glob("runs/*"))
    assert provider.count("chat") + provider.count("completions") == 0
    assert traces(str(ran.error).encode(), key) == []


def _with_comment(key):
    return lambda config, **_: f"# mine: {key}\n{json.dumps(config)}"
