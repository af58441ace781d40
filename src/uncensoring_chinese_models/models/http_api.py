"""One HTTP client for every OpenAI-compatible server; the only place that imports aiohttp."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from dataclasses import fields, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.config import (
    is_this_machine,
    redact,
    redact_json,
    redact_message,
    redact_parts,
    remember_secret,
)
from uncensoring_chinese_models.domain import MAX_USD, Price
from uncensoring_chinese_models.errors import (
    UNCONNECTABLE,
    UNREACHABLE,
    ClientError,
    TransientError,
)
from uncensoring_chinese_models.models.wire import (
    RawResponse,
    read_ollama,
    read_response,
    read_tokenized,
)

if TYPE_CHECKING:
    from uncensoring_chinese_models.config import Endpoint
    from uncensoring_chinese_models.domain import Call, Json, Reply

MAX_BODY_BYTES = 64 * 1024 * 1024
CATALOGUE_TIMEOUT_S = 15.0
_BILLED_AS = (
    ("prompt", "input_cache_read", "input_cache_write"),
    ("completion", "internal_reasoning"),
    ("request",),
)
"""The rates in a list of models that input, output and a request may be billed at."""
_RATES = tuple(chain.from_iterable(_BILLED_AS))


def open_session() -> aiohttp.ClientSession:
    """Return the HTTP session of a run; the layer `Limited` limits concurrency, not the session."""
    # Many servers close idle connections after 5 s; a request sent into one would be lost.
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=4)
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())


class HttpApi:
    """Sends calls to one endpoint."""

    def __init__(
        self, session: aiohttp.ClientSession, endpoint: Endpoint, api_key: str | None
    ) -> None:
        self._session = session
        self._endpoint = endpoint
        self._key = api_key
        self._headers = {**endpoint.traits.headers, **endpoint.headers}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"

    async def complete(self, call: Call) -> Reply:
        """Send the call once and read the answer."""
        path, body = self._request(call)
        started = time.monotonic()
        raw = await self._exchange("POST", path, body, self._endpoint.timeout_s)
        now, asked = datetime.now(UTC), _texts_of(call.body)
        try:
            if path.endswith("/api/generate"):
                reply = read_ollama(raw, now=now, asked=asked)
            elif call.api == "tokenize":
                reply = read_tokenized(raw, now=now)
            else:
                reply = read_response(raw, call.api, now=now, asked=asked)
        except ClientError as err:
            redact_error(err)
            err.message += self._hint(err)
            raise
        return replace(redacted(reply), latency_s=round(time.monotonic() - started, 3))

    async def catalogue(self) -> dict[str, Price | None]:
        """Return the models that the server lists, with their prices if it gives them.

        Free of charge. Raises ClientError if the server has no such list.
        """
        timeout = min(CATALOGUE_TIMEOUT_S, self._endpoint.timeout_s)
        # The connection is not reused: a paid call must not be sent on one that is closing.
        async with open_session() as passing:
            lister = HttpApi(passing, self._endpoint, self._key)
            raw = await lister._exchange("GET", f"{self._endpoint.address}/models", None, timeout)
        try:
            listed = strict_json.loads_leniently(raw.body) if raw.status == 200 else {"data": []}
            entries = redact_json(listed)["data"]
            return {redact(str(entry["id"])): _price(entry.get("pricing")) for entry in entries}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise TransientError("the server's list of models is not readable") from None

    def _hint(self, err: ClientError) -> str:
        """Return a hint on which setting of this endpoint may have caused the error."""
        if err.status == 401:
            variable = self._endpoint.key_variable
            if not self._key:
                return " (no key was sent: set api_key_env)"
            return f" (the key came from {variable})" if variable else ""
        if err.status == 404 and not self._endpoint.address.endswith("/v1"):
            return " (base_url usually ends in /v1)"
        return ""

    def _request(self, call: Call) -> tuple[str, Json]:
        address = self._endpoint.address
        if call.api == "chat":
            return f"{address}/chat/completions", call.body
        if call.api == "tokenize":  # it is not below /v1
            return f"{address.removesuffix('/v1')}/tokenize", call.body
        if self._endpoint.traits.completions_dialect == "ollama_generate":
            return f"{address.removesuffix('/v1')}/api/generate", _ollama_body(call.body)
        return f"{address}/completions", call.body

    async def _exchange(
        self, method: str, url: str, body: Json | None, timeout_s: float
    ) -> RawResponse:
        """Send one request and read the whole answer within the time given.

        Redirects are not followed: the key and the probe are sent only where the config says.
        """
        headers = {**self._headers, "Content-Type": "application/json"} if body else self._headers
        data = strict_json.dumps(body).encode("ascii") if body else None
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._session.request(
                    method,
                    url,
                    data=data,
                    headers=headers,
                    allow_redirects=False,
                    proxy=_proxy_for(url),
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=30),
                ) as response,
            ):
                content = bytearray()
                async for chunk in response.content.iter_chunked(1 << 16):
                    content += chunk
                    if len(content) > MAX_BODY_BYTES:
                        raise TransientError("the answer is too large", maybe_billed=True)
                return RawResponse(response.status, response.headers, bytes(content))
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as err:
            raise self._lost(err, timeout_s) from None

    def _lost(self, err: Exception, timeout_s: float) -> ClientError:
        """Return the error of a failed connection; a request that was sent may have been billed."""
        host = urlsplit(self._endpoint.address).netloc
        unreached = (
            aiohttp.ClientConnectorError,
            aiohttp.ClientHttpProxyError,
            aiohttp.ConnectionTimeoutError,
        )
        if isinstance(err, aiohttp.InvalidURL):  # its text may hold a proxy's password
            return TransientError(
                f"no connection to {host}: it is not a valid address, or the proxy is not",
                error_type=UNCONNECTABLE,
            )
        # aiohttp's message if the connection was closed before the whole request was written.
        unsent = isinstance(err, aiohttp.ClientOSError) and "write request body" in str(err)
        if isinstance(err, unreached) or unsent:
            lasting = isinstance(err, aiohttp.ClientSSLError) or _is_wrong_name(err)
            return TransientError(
                f"no connection to {host}: {_clean(err)}",
                error_type=UNCONNECTABLE if lasting else UNREACHABLE,
            )
        if isinstance(err, TimeoutError):
            return TransientError(
                f"{host} did not answer within {timeout_s:g} s", status=408, maybe_billed=True
            )
        return TransientError(f"{host} broke the connection: {_clean(err)}", maybe_billed=True)


def _texts_of(body: Json) -> list[str]:
    """Return the texts of a request: an error may repeat them."""
    contents = [each["content"] for each in body.get("messages", ())]
    return [each for each in [body.get("prompt"), *contents] if isinstance(each, str)]


def redacted(reply: Reply) -> Reply:
    """Return the reply without keys, not even one that is split over its fields or tokens."""
    names = [each.name for each in fields(reply) if isinstance(getattr(reply, each.name), str)]
    before = [getattr(reply, name) for name in names]
    tokens = [str(token.name) for token in reply.tokens]
    after = redact_parts(before + tokens)
    if after == before + tokens:
        return reply
    changed: dict[str, Any] = dict(zip(names, after, strict=False))
    marked = [
        token if old == new else token._replace(name=new)
        for token, old, new in zip(reply.tokens, tokens, after[len(names) :], strict=True)
    ]
    return replace(reply, **changed, tokens=tuple(marked))


def redact_error(err: ClientError) -> None:
    """Remove keys from the texts of an error, also one whose parts stand in several of them."""
    err.message = redact_message(err.message)
    err.error_type = err.error_type and redact_message(err.error_type)
    names = ("message", "error_type", "partial_text", "host_answer")
    held = [name for name in names if getattr(err, name)]
    for name, text in zip(held, redact_parts([getattr(err, each) for each in held]), strict=True):
        setattr(err, name, text)


def _clean(err: Exception) -> str:
    text = " ".join(str(err).split()) or type(err).__name__
    text = re.sub(r"//[^/\s]*@", "//", text)  # a proxy's address may hold a password
    return redact_message(text)[:300]


def _is_wrong_name(err: Exception) -> bool:
    """Return whether there is no host of this name, as far as the name server knows."""
    is_unknown = isinstance(err, aiohttp.ClientConnectorDNSError)
    return is_unknown and getattr(err, "errno", None) != socket.EAI_AGAIN


def _proxy_for(url: str) -> str | None:
    """Return the proxy of the environment for this address; the local machine needs none."""
    parts = urlsplit(url)
    if not parts.hostname or is_this_machine(parts.hostname) or proxy_bypass(parts.hostname):
        return None
    proxy = getproxies().get(parts.scheme)
    if not proxy:
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    _remember_password(proxy)
    return proxy


def _remember_password(proxy: str) -> None:
    """Remember what a proxy is told, so that it can echo it in vain."""
    user_info, at, _ = proxy.partition("://")[2].rpartition("@")
    if at:
        for secret in {user_info, unquote(user_info), unquote(user_info.partition(":")[2])} - {""}:
            remember_secret(secret)


def _price(pricing: Any) -> Price | None:
    """Read OpenRouter's pricing: strings, in USD per token; the dearest rates count."""
    try:
        # Overrides are dearer tiers, such as for long prompts.
        tiers = [pricing, *(pricing.get("overrides") or ())]
        required = [Decimal(pricing["prompt"]), Decimal(pricing["completion"])]
        told = [[Decimal(tier.get(name) or 0) for name in _RATES] for tier in tiers]
    except (KeyError, InvalidOperation, TypeError, ValueError, AttributeError):
        return None
    every = [*required, *chain.from_iterable(told)]
    # -1 means "it depends".
    if any(not rate.is_finite() or not 0 <= rate < MAX_USD for rate in every):
        return None
    rates = dict(zip(_RATES, map(max, *told, [Decimal(0)] * len(_RATES)), strict=True))
    return Price(*(max(rates[name] for name in names) for names in _BILLED_AS))


def _ollama_body(body: Json) -> Json:
    """Return the body in Ollama's format; `raw` switches its chat template off."""
    names = {"max_tokens": "num_predict"}
    known = ("max_tokens", "temperature", "top_p", "seed", "stop")
    ours = {names.get(name, name): body[name] for name in known if name in body}
    options = {**(body.get("options") or {}), **ours}
    rest = {name: body[name] for name in body if name not in (*known, "prompt", "model", "options")}
    own = {"model": body["model"], "prompt": body["prompt"], "raw": True, "stream": False}
    return {**own, "options": options, **rest}
