"""Which requests the viewer accepts, and the security headers of every answer.

A page of another site can make a browser send requests to this machine, and its own host name can
resolve to this machine. So the requested host must be exactly ours, another site may only link to a
page, and every request may only read.
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
            return  # a WebSocket that is not accepted is closed
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, _guarded(send))
        else:
            await _refuse(_guarded(send), *refusal)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return why a request is refused, and the status that says so."""
        if scope["method"] not in METHODS:
            return 405, "This server is read-only: it answers only GET and HEAD."
        if len(scope["query_string"]) > MAX_QUERY_BYTES:
            return 414, f"The query is longer than {MAX_QUERY_BYTES} bytes."
        return self._stranger(scope["headers"])

    def _stranger(self, headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        """Return why a request of another site is refused, by its headers; None if it is not."""
        found: dict[str, list[str]] = {}
        for name, value in headers:
            found.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
        hosts = found.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 403, "This server answers only to 127.0.0.1, localhost and [::1]."
        if any(origin not in self._origins for origin in found.get("origin", [])):
            return 403, "Pages of other sites may not send requests to this server."
        is_here = all(site in _FROM_HERE for site in found.get("sec-fetch-site", []))
        if not is_here and not _opens_a_page(found):
            return 403, "Other sites may link to a page of this server, but load nothing from it."
        return None


def _opens_a_page(found: dict[str, list[str]]) -> bool:
    """Return True if a person follows a link, False if a page loads something."""
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
