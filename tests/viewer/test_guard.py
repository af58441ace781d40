"""The guard of the viewer: who is answered, and what every answer says to a browser."""

from __future__ import annotations

import pytest

from uncensoring_chinese_models.viewer.guard import HEADERS, MAX_QUERY_BYTES, Guard

PORT = 8484
HERE = "127.0.0.1:8484"
OPENING = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


async def ask(headers=None, *, method="GET", query=b"", hosts=(HERE,), kind="http"):
    """Ask a guarded application that says yes; return status, headers and body."""
    reached, sent = [], []

    async def app(scope, receive, send):
        reached.append(scope["type"])
        given = [(b"content-type", b"text/plain"), (b"cache-control", b"public")]
        await send({"type": "http.response.start", "status": 200, "headers": given})
        await send({"type": "http.response.body", "body": b"yes"})

    async def receive():
        return {"type": "http.request"}

    async def send(message):
        sent.append(message)

    pairs = [("host", host) for host in hosts] + list((headers or {}).items())
    coded = [(name.encode(), value.encode()) for name, value in pairs]
    scope = {"type": kind, "method": method, "query_string": query, "headers": coded}
    await Guard(app, PORT)(scope, receive, send)
    if not sent:
        return None
    assert (sent[0]["status"] == 200) == bool(reached)
    told = [(name.decode(), value.decode()) for name, value in sent[0]["headers"]]
    assert len(told) == len(dict(told))
    return sent[0]["status"], dict(told), sent[1]["body"].decode()


@pytest.mark.parametrize("host", [HERE, "localhost:8484", "LocalHost:8484", "[::1]:8484"])
async def test_our_own_names_are_answered(host):
    """Whoever asks for this machine by name and port is answered."""
    assert await ask(hosts=[host]) is not None
    assert (await ask(hosts=[host]))[0] == 200


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        [""],
        ["127.0.0.1"],
        ["localhost"],
        ["127.0.0.1:80"],
        ["evil.example:8484"],
        ["evil.example"],
        ["127.0.0.1:8484.evil.example"],
        ["127.0.0.1:8484@evil.example"],
        ["evil.example#127.0.0.1:8484"],
        ["127.0.0.1:84840"],
        [HERE, HERE],
        [HERE, "evil.example"],
        [" 127.0.0.1:8484"],
        ["0.0.0.0:8484"],
        ["127.0.0.2:8484"],
        ["localhost.:8484"],
    ],
)
async def test_other_names_are_refused(hosts):
    """A name that leads here by somebody else's doing is refused, and so is none."""
    status, headers, _ = await ask(hosts=hosts)

    assert status == 403
    assert headers["content-security-policy"] == HEADERS["content-security-policy"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get"])
async def test_nothing_but_reading_is_answered(method):
    """Other methods are told which there are."""
    status, headers, body = await ask(method=method)

    assert (status, headers["allow"]) == (405, "GET, HEAD")
    assert "read-only" in body


async def test_head_is_answered():
    """HEAD is as good as GET."""
    assert (await ask(method="HEAD"))[0] == 200


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://evil.example",
        "https://127.0.0.1:8484",
        "http://127.0.0.1",
        "http://[::1]",
        "",
    ],
)
async def test_other_origins_are_refused(origin):
    """A page of another site may not ask, whatever else the request says."""
    assert (await ask({"origin": origin}))[0] == 403
    assert (await ask({"origin": origin, "sec-fetch-site": "same-origin"}))[0] == 403


@pytest.mark.parametrize("host", [HERE, "localhost:8484", "[::1]:8484"])
async def test_our_own_origins_are_answered(host):
    """Our own pages may ask."""
    assert (await ask({"origin": f"http://{host}"}))[0] == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "rubbish", ""])
async def test_other_sites_may_only_link(site):
    """Whoever follows a link gets the page; what a page of another site loads is refused."""
    assert (await ask({"sec-fetch-site": site}))[0] == 403
    assert (await ask({"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}))[0] == 403
    framed = {**OPENING, "sec-fetch-dest": "iframe"}
    assert (await ask({"sec-fetch-site": site, **framed}))[0] == 403
    assert (await ask({"sec-fetch-site": site, **OPENING, "sec-fetch-mode": "cors"}))[0] == 403
    assert (await ask({"sec-fetch-site": site, **OPENING}))[0] == 200


@pytest.mark.parametrize("site", ["same-origin", "none"])
async def test_our_own_pages_may_load(site):
    """What our pages load, and what a person types, is answered."""
    assert (await ask({"sec-fetch-site": site, "sec-fetch-mode": "cors"}))[0] == 200


async def test_a_long_query_is_refused():
    """No page of ours has one."""
    assert (await ask(query=b"q=" + b"x" * MAX_QUERY_BYTES))[0] == 414
    assert (await ask(query=b"x" * MAX_QUERY_BYTES))[0] == 200


async def test_every_answer_bears_the_policy():
    """Answers and refusals alike forbid whatever pages of ours do not need."""
    for answer in (await ask(), await ask(method="POST"), await ask(hosts=["evil"])):
        _, headers, _ = answer
        assert HEADERS.items() <= headers.items()
    policy = HEADERS["content-security-policy"]
    for part in ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"):
        assert part in policy
    assert "unsafe" not in policy
    assert HEADERS["x-content-type-options"] == "nosniff"


async def test_web_sockets_are_not_answered():
    """Nothing but HTTP reaches the application."""
    assert await ask(kind="websocket") is None
