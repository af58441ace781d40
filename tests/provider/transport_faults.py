"""Faults in which a good answer is spoiled in its bytes or on its way."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from tests.provider.fault import Fault, connection, recoded
from tests.provider.wire import encode

# --- bytes -----------------------------------------------------------------------------------


_PAGE = b"<!DOCTYPE html><html><title>%s</title><body>Ray ID: 8a1<script>1</script></body></html>"
_GZIP = {"Content-Encoding": "gzip"}
_HTML = {"Content-Type": "text/html; charset=UTF-8"}


@lru_cache(maxsize=8)
def _zip(body: bytes) -> bytes:
    return gzip.compress(body, 1, mtime=0)


def _sse(body: bytes) -> bytes:
    error = encode({"error": {"code": 502, "message": "Provider disconnected"}})
    return b": OPENROUTER PROCESSING\n\ndata: " + body + b"\n\ndata: " + error + b"\n\n"


def _repeat_keys(body: bytes) -> bytes:
    return b'{"error": {"code": 500, "message": "first"}, ' + body[1:-1] + b', "error": null}'


_BODIES = (
    recoded(
        "html_200",
        "a web page under HTTP 200",
        "transient",
        lambda _: _PAGE % b"Just a moment",
        headers=_HTML,
        billed=False,
    ),
    recoded(
        "html_403",
        "a web page under HTTP 403: the firewall, not the provider",
        "transient",
        lambda _: _PAGE % b"Attention Required",
        status=403,
        headers=_HTML,
        billed=False,
    ),
    recoded(
        "html_502",
        "a web page under HTTP 502",
        "transient",
        lambda _: _PAGE % b"502 Bad gateway",
        status=502,
        headers=_HTML,
        billed=False,
    ),
    recoded(
        "html_524",
        "a web page under HTTP 524: the proxy lost patience",
        "transient",
        lambda _: _PAGE % b"A timeout occurred",
        status=524,
        headers=_HTML,
    ),
    recoded("body_empty", "HTTP 200 without a body", "transient", lambda _: b""),
    recoded(
        "json_truncated",
        "half of the JSON, as if it were all",
        "transient",
        lambda body: body[: len(body) // 2],
    ),
    recoded(
        "json_trailing",
        "the JSON, and something after it",
        "transient",
        lambda body: body + b'\n{"error": {"code": 500, "message": "late"}}',
    ),
    recoded("json_list", "the answer inside a list", "transient", lambda body: b"[" + body + b"]"),
    recoded("json_null", "the JSON null", "transient", lambda _: b"null"),
    recoded("json_string", "a JSON string", "transient", lambda _: b'"upstream connect error"'),
    recoded(
        "json_deep",
        "lists within lists, a hundred thousand deep",
        "transient",
        lambda _: b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ),
    recoded(
        "json_repeated_keys", "the key `error` twice: an object, then null", "open", _repeat_keys
    ),
    recoded(
        "json_bom", "the JSON after a byte order mark", "open", lambda body: b"\xef\xbb\xbf" + body
    ),
    recoded(
        "json_escaped",
        "the JSON with everything escaped that can be",
        "answer",
        lambda body: json.dumps(json.loads(body), ensure_ascii=True).encode(),
    ),
    recoded(
        "leading_whitespace",
        "blank lines before the JSON",
        "answer",
        lambda body: b"\n         \n" * 50 + body,
    ),
    recoded("gzip", "the JSON, compressed", "answer", _zip, headers=_GZIP),
    recoded(
        "gzip_bad",
        "bytes that are not the gzip they claim to be",
        "transient",
        lambda body: b"\x1f\x8b\x08\x00" + body,
        headers=_GZIP,
    ),
    recoded(
        "gzip_truncated",
        "gzip that ends too early",
        "transient",
        lambda body: _zip(body)[:-20],
        headers=_GZIP,
    ),
    recoded(
        "gzip_bomb",
        "gzip that unpacks to 8 MiB of spaces before the JSON",
        "open",
        lambda body: _zip(b" " * (8 << 20) + body),
        headers=_GZIP,
    ),
    recoded(
        "encoding_unknown",
        "a Content-Encoding that nobody knows",
        "open",
        lambda body: body,
        headers={"Content-Encoding": "x-lantern"},
    ),
    recoded(
        "utf8_invalid",
        "bytes in the text that are not UTF-8",
        "transient",
        lambda body: body.replace(b'"id"', b'"x": "\xff\xfe\xc3", "id"', 1).replace(
            b'"model"', b'"y": "\xed\xa0", "model"', 1
        ),
    ),
    recoded(
        "charset_gb18030",
        "GB18030 that claims to be UTF-8",
        "transient",
        lambda body: ('{"x": "灯笼", ' + body.decode()[1:]).encode("gb18030"),
        headers={"Content-Type": "application/json; charset=utf-8"},
    ),
    recoded(
        "charset_latin1",
        "UTF-8 that claims to be Latin-1",
        "answer",
        lambda body: body,
        headers={"Content-Type": "application/json; charset=iso-8859-1"},
    ),
    recoded(
        "charset_unknown",
        "a charset that nobody knows",
        "answer",
        lambda body: body,
        headers={"Content-Type": "application/json; charset=x-lantern"},
    ),
    recoded(
        "content_type_text",
        "the JSON as text/plain",
        "answer",
        lambda body: body,
        headers={"Content-Type": "text/plain; charset=utf-8"},
    ),
    recoded(
        "sse_unasked",
        "a stream nobody asked for, which ends in an error",
        "transient",
        _sse,
        headers={"Content-Type": "text/event-stream"},
    ),
    recoded(
        "headers_huge",
        "a header of 100 kB",
        "open",
        lambda body: body,
        headers={"X-Ballast": "x" * 100_000},
    ),
    recoded(
        "redirect_302",
        "HTTP 302 to another address",
        "open",
        lambda _: b"",
        status=302,
        headers={"Location": "{elsewhere}"},
        billed=False,
    ),
    recoded(
        "redirect_307",
        "HTTP 307 to another address, body and all",
        "open",
        lambda _: b"",
        status=307,
        headers={"Location": "{elsewhere}"},
        billed=False,
    ),
)


# --- connections -------------------------------------------------------------------------------

_CONNECTIONS = (
    connection(
        "close_before_headers",
        "the connection is closed without a word",
        sends="nothing",
        then="close",
        billed=False,
    ),
    connection(
        "reset_before_headers",
        "the connection is reset without a word",
        sends="nothing",
        then="reset",
        billed=False,
    ),
    connection(
        "close_after_headers",
        "the connection is closed after the headers",
        sends="headers",
        then="close",
        billed=True,
    ),
    connection(
        "close_mid_body",
        "the connection is closed amid the body",
        sends="half",
        then="close",
        billed=True,
    ),
    connection(
        "reset_mid_body",
        "the connection is reset amid the body",
        sends="half",
        then="reset",
        billed=True,
    ),
    connection(
        "hang_before_headers", "nothing comes, for ever", sends="nothing", then="hang", billed=False
    ),
    connection(
        "hang_after_headers",
        "the headers come, and then nothing",
        sends="headers",
        then="hang",
        billed=True,
    ),
    connection(
        "hang_mid_body",
        "half the body comes, and then nothing",
        sends="half",
        then="hang",
        billed=True,
    ),
    replace(
        connection(
            "close_after_reply",
            "a whole answer, after which the connection is dead",
            sends="all",
            then="close",
            billed=True,
        ),
        means="answer",
    ),
    replace(
        connection("slow_drip", "a whole answer, a few bytes at a time", drips="body", billed=True),
        means="answer",
    ),
    connection(
        "drip_forever",
        "spaces to keep the line open, and never an answer",
        drips="spaces",
        billed=False,
    ),
    connection(
        "not_http",
        "bytes that are not HTTP",
        unheard=b"SSH-2.0-lantern\r\n",
        then="close",
        billed=False,
    ),
)


def transport_faults() -> Iterator[Fault]:
    """Go through all of them."""
    yield from _BODIES
    yield from _CONNECTIONS
