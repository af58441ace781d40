"""Who may ask the viewer, and what every answer forbids a browser to do.

A page of another site can make a browser send requests to this machine, and can make its own name
lead here. So the name that was asked for must be ours to the letter, whoever asks from another
site may only open a page, and nobody may do anything but read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

METHODS = ("GET", "HEAD")
MAX_QUERY_BYTES = 4096
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
_FROM_HERE = ("same-origin", "none")


class Guard:
    """An ASGI application around another: refuses what must not reach it."""

    def __init__(self, app: App, port: int) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it in one sentence."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a WebSocket that nobody accepts is closed
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, _guarded(send))
        else:
            await _refuse(_guarded(send), *refusal)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return why a request is refused, and the status that says so."""
        if scope["method"] not in METHODS:
            return 405, "This server is for reading: only GET and HEAD are answered."
        if len(scope["query_string"]) > MAX_QUERY_BYTES:
            return 414, f"The query is longer than {MAX_QUERY_BYTES} bytes."
        return self._stranger(scope["headers"])

    def _stranger(self, headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        """Return why whoever asks may not, by what the browser says of them."""
        found: dict[str, list[str]] = {}
        for name, value in headers:
            found.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
        hosts = found.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 403, "This server answers only to 127.0.0.1, localhost and [::1]."
        if any(origin not in self._origins for origin in found.get("origin", [])):
            return 403, "Pages of other sites may not ask this server."
        is_here = all(site in _FROM_HERE for site in found.get("sec-fetch-site", []))
        if not is_here and not _opens_a_page(found):
            return 403, "Other sites may link to a page of this server, and nothing else."
        return None


def _opens_a_page(found: dict[str, list[str]]) -> bool:
    """Tell whether somebody follows a link, rather than a page loading something."""
    return found.get("sec-fetch-mode") == ["navigate"] and found.get("sec-fetch-dest") == [
        "document"
    ]


def _guarded(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [pair for pair in message.get("headers", []) if pair[0].decode() not in HEADERS]
            ours = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*kept, *ours]}
        await send(message)

    return guarded


async def _refuse(send: Send, status: int, sentence: str) -> None:
    body = f"{sentence}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
    ]
    if status == 405:
        headers.append((b"allow", ", ".join(METHODS).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
