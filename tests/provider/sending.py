"""How a response leaves: whole, in drips, in part, or not at all."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import NoReturn

from aiohttp import web

from tests.provider.answering import Plan
from tests.provider.ledger import Ledger, Request

PIECES = 50
"""Into how many pieces a body is cut that drips."""
AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER without time to linger: closing sends RST."""


async def send(
    http: web.Request, request: Request, plan: Plan, ledger: Ledger, *, drip_s: float
) -> web.StreamResponse:
    """Let the response leave as its fault wants it, and enter whether all of it does."""
    fault = plan.fault
    if fault is not None and (fault.then != "keep" or fault.unheard is not None):
        _break_off(http, request, plan, ledger)
        await asyncio.Event().wait()  # until the loss of the connection cancels us
    response = web.StreamResponse(status=plan.status, reason=plan.reason, headers=plan.headers)
    if fault is not None and fault.drips == "spaces":
        await _pad_forever(http, response, drip_s)
    if plan.status not in (204, 304):
        response.content_length = len(plan.payload)
    await response.prepare(http)
    rest = plan.payload
    if fault is not None and fault.drips == "body":
        step = len(rest) // PIECES + 1
        while len(rest) > step:
            await response.write(rest[:step])
            rest = rest[step:]
            await asyncio.sleep(drip_s)
    ledger.answer(request)
    try:
        await response.write_eof(rest)
    except BaseException:
        request.answered = False
        raise
    return response


async def _pad_forever(http: web.Request, response: web.StreamResponse, drip_s: float) -> NoReturn:
    await response.prepare(http)
    while True:
        await response.write(b" ")
        await asyncio.sleep(drip_s)


def _break_off(http: web.Request, request: Request, plan: Plan, ledger: Ledger) -> None:
    """Send so much of the response, and then close, reset or forget the connection."""
    fault = plan.fault
    assert fault is not None
    transport = transport_of(http)
    headers = {**plan.headers, "Content-Length": str(len(plan.payload))}
    lines = [
        f"HTTP/1.1 {plan.status} {plan.reason}",
        *(f"{name}: {text}" for name, text in headers.items()),
    ]
    head = "\r\n".join([*lines, "", ""]).encode("latin-1")
    sent = {
        "nothing": b"",
        "headers": head,
        "half": head + plan.payload[: len(plan.payload) // 2],
        "all": head + plan.payload,
    }[fault.sends]
    if fault.sends == "all" and fault.unheard is None:
        ledger.answer(request)
    transport.write(sent if fault.unheard is None else fault.unheard)
    if fault.then == "reset":
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        transport.abort()
    elif fault.then == "close":
        transport.close()


def transport_of(http: web.Request) -> asyncio.Transport:
    """Return the connection that a request came by."""
    if http.transport is None:
        raise ConnectionResetError("the client has gone")
    assert isinstance(http.transport, asyncio.Transport)
    return http.transport
