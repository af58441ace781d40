"""The provider itself: a loopback HTTP server in a thread of its own."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from multidict import CIMultiDict

from tests.provider.answering import Answering, Plan
from tests.provider.auditor import ScriptedAuditor
from tests.provider.fault import Fault, Rule
from tests.provider.faults import FAULTS
from tests.provider.ledger import Ledger, Request
from tests.provider.sending import send, transport_of
from tests.provider.target import ScriptedTarget
from tests.provider.wire import MODELS, Api, Ask, Brain, Json, Model, digest

PATHS: Mapping[tuple[str, str], Api] = {
    ("POST", "/api/v1/chat/completions"): "chat",
    ("POST", "/v1/chat/completions"): "chat",
    ("POST", "/api/v1/completions"): "completions",
    ("POST", "/v1/completions"): "completions",
    ("GET", "/api/v1/models"): "models",
    ("GET", "/v1/models"): "models",
    ("POST", "/api/generate"): "ollama",
}
ANSWERING = tuple(one.name for one in fields(Answering))
MAX_REQUEST_BYTES = 64 << 20


def has_system_message(ask: Ask) -> bool:
    """Tell the auditor's chats from the target's: they open with a system message."""
    return bool(ask.messages) and ask.messages[0].get("role") == "system"


@dataclass(eq=False, kw_only=True)
class Provider:
    """A server on 127.0.0.1 that speaks OpenRouter's dialect, and fails when told to.

    Use it as a context manager, or call `start` and `close`. It runs in a thread of its own, so
    that tests of every kind and other processes can talk to it. What it answers depends on the
    request alone. Its settings may be changed while it runs, but for `log` and `port`. Closed
    and started again, it is the same server on the same port after an outage.
    """

    auditor: Brain = field(default_factory=ScriptedAuditor)
    target: Brain = field(default_factory=ScriptedTarget)
    is_auditor: Callable[[Ask], bool] = has_system_message
    """Tells which chats are the auditor's; everything else goes to the target."""
    models: Sequence[Model] = MODELS
    """The catalogue, and what is charged; other models are served at a default price."""
    strict_models: bool = False
    """Refuse models that are not in the catalogue."""
    api_key: str | None = None
    """Refuse requests that bear another key than this; None takes any, or none."""
    report_cost: bool = True
    """Put `cost` into usage; it is charged in any case."""
    ignore_stops: bool = False
    """Run on past the stop strings."""
    default_max_tokens: int | None = None
    """For requests that name no limit; vLLM has 16."""
    extra_prompt_tokens: int = 0
    """Counted on top: 1 looks like a doubled BOS, 5 or more like a chat template."""
    provider_name: str = "DeepInfra"
    """Who serves, unless the request names its own choice."""
    amend: Callable[[Ask, Json], Json] = lambda ask, reply: reply
    """Changes the ordinary reply, knowing the request; the books keep what was generated."""
    echo: Callable[[Plan], Plan] = lambda plan: plan
    """Changes every response that is ready to leave: `echo.everywhere` repeats keys in it."""
    latency: float | Callable[[Request], float] = 0.0
    """Seconds between reading a request and answering it; others go on meanwhile."""
    on_request: Callable[[Request], object] | None = None
    """Called in the server's thread when a request has been read and before it is answered.
    While it runs, nothing else does."""
    bill_abandoned: bool = True
    """Charge for answers whose client has gone, as OpenRouter does when it does not stream."""
    drip_s: float = 0.001
    """Seconds between two pieces of a body that drips."""
    log: Path | None = None
    """Gets one line of JSON for each request, when it has ended."""
    port: int = 0

    def __post_init__(self) -> None:
        self._ledger = Ledger(self.log)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False
        self.broken: list[Exception] = []
        """What brains and hooks raised; leaving the context raises the first of them."""

    # --- life ---------------------------------------------------------------------------------

    def start(self) -> Self:
        """Listen on 127.0.0.1, on a free port unless one was given."""
        ready: Future[int] = Future()
        self._thread = threading.Thread(
            target=self._run, args=(ready,), name="provider", daemon=True
        )
        self._thread.start()
        self.port = ready.result()
        return self

    def close(self) -> None:
        """Close every connection, end whatever hangs, and wait for the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if error is None and self.broken:
            raise self.broken[0]

    @property
    def root_url(self) -> str:
        """The server's address, where Ollama's API begins."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """The address where OpenRouter's API begins."""
        return f"{self.root_url}/api/v1"

    # --- orders -------------------------------------------------------------------------------

    def fail(
        self,
        fault: str | Fault,
        *,
        api: Api | None = None,
        times: int | None = 1,
        after: int = 0,
        when: Callable[[Json], bool] | None = None,
        per_body: bool = False,
        retry_after: float | str | None = None,
        billed: bool | None = None,
    ) -> Rule:
        """Order the next matching requests to fail.

        Rules are asked in the order in which they were given, when a request has been read; the
        first that takes it is applied, and only that one is used up.

        Args:
            fault: a name from FAULTS, or a fault of your own.
            api: the API that fails; None for all.
            times: how many requests fail; None for all.
            after: how many are let through first.
            when: a predicate over the body of the request.
            per_body: count `times` and `after` for each distinct body, so that what fails does
                not depend on the order in which requests come.
            retry_after: replaces what the fault's Retry-After says, or adds one.
            billed: overrides whether the provider charges for it.
        """
        kind = FAULTS[fault] if isinstance(fault, str) else fault
        if api is not None and api not in kind.apis:
            raise ValueError(f"{kind.name} cannot occur in {api}, only in {sorted(kind.apis)}")
        if retry_after is not None:
            kind = replace(kind, retry_after=retry_after)
        if billed is not None:
            kind = replace(kind, billed=billed)
        rule = Rule(fault=kind, api=api, times=times, after=after, when=when, per_body=per_body)
        self._ledger.order(rule)
        return rule

    def heal(self) -> None:
        """Forget every order to fail."""
        self._ledger.forget_rules()

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Read requests, but answer none before the context is left."""
        self._in_loop(self._gate.clear)
        try:
            yield
        finally:
            self._in_loop(self._gate.set)

    # --- books --------------------------------------------------------------------------------

    @property
    def requests(self) -> list[Request]:
        """Every request so far, in the order in which they had been read."""
        return self._ledger.requests()

    def count(self, api: Api | None = None) -> int:
        """Count the requests to one API, or all."""
        return len(self._ledger.requests(api))

    def bodies(self, api: Api | None = None) -> list[Json]:
        """Return the JSON bodies that were sent to one API, or all."""
        return [request.body for request in self._ledger.requests(api)]

    @property
    def billed_usd(self) -> Decimal:
        """What the provider charges for everything so far, lost answers included."""
        return sum((request.billed_usd for request in self.requests), Decimal(0))

    @property
    def billed_tokens(self) -> int:
        """The tokens charged for, of prompts and completions."""
        return sum(request.billed_tokens for request in self.requests)

    @property
    def max_in_flight(self) -> int:
        """The most requests at one time that had been read and whose answer had not left.

        Without latency an answer leaves at once, and hardly two are ever in flight; with it, or
        while holding, this is how many the client had going. One that a client gave up counts
        until the server learns of it.
        """
        return self._ledger.max_in_flight

    @property
    def connections(self) -> int:
        """How many connections brought a request."""
        return len({request.peer for request in self.requests})

    def wait_for(self, count: int, api: Api | None = None, *, timeout_s: float = 30) -> None:
        """Wait until so many requests have been read."""
        self._ledger.wait(lambda: self.count(api) >= count, timeout_s)

    def wait_idle(self, *, timeout_s: float = 30) -> None:
        """Wait until every request that was read has ended, and stands in the log."""
        self._ledger.wait(lambda: not self._ledger.open, timeout_s)

    # --- the server's thread ------------------------------------------------------------------

    def _run(self, ready: Future[int]) -> None:
        try:
            asyncio.run(self._serve(ready))
        except OSError as error:
            if ready.done():
                raise
            ready.set_exception(error)

    async def _serve(self, ready: Future[int]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop, self._gate = asyncio.Event(), asyncio.Event()
        self._gate.set()
        self._closing = False
        app = web.Application(client_max_size=MAX_REQUEST_BYTES)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=1.0
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", self.port, backlog=4096).start()
            ready.set_result(runner.addresses[0][1])
            await self._stop.wait()
        finally:
            self._closing = True
            for task in self._tasks:
                task.cancel()
            await runner.cleanup()

    def _in_loop(self, act: Callable[[], object]) -> None:
        done: Future[object] = Future()
        self._loop.call_soon_threadsafe(lambda: done.set_result(act()))
        done.result()

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        request = self._read(http, await http.read())
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._ledger.receive(request)
        try:
            return await self._answer(http, request)
        except Exception as error:
            if not isinstance(error, ConnectionError):
                self.broken.append(error)
            raise
        finally:
            self._tasks.discard(task)
            self._ledger.end(request)

    def _read(self, http: web.Request, raw: bytes) -> Request:
        api = PATHS.get((http.method, http.path), "other")
        if http.path.startswith("/elsewhere"):
            api = "elsewhere"
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        return Request(
            api=api,
            method=http.method,
            path=http.path_qs,
            headers=CIMultiDict(http.headers),
            raw=raw,
            body=body if isinstance(body, dict) else {},
            key=digest(api, raw.hex() if body is None else body),
            peer=transport_of(http).get_extra_info("peername")[:2],
            read_at=time.monotonic(),
            when=time.time(),
        )

    async def _answer(self, http: web.Request, request: Request) -> web.StreamResponse:
        answering = Answering(**{name: getattr(self, name) for name in ANSWERING})
        plan = answering.plan(request, f"http://localhost:{self.port}/elsewhere")
        try:
            if self.on_request is not None:
                self.on_request(request)
                for _ in range(3):
                    await asyncio.sleep(0)  # lets the loop see a client that the hook has killed
            await self._gate.wait()
            latency = self.latency(request) if callable(self.latency) else self.latency
            if latency:
                await asyncio.sleep(latency)
        except asyncio.CancelledError:
            if self.bill_abandoned and not self._closing:
                self._settle(request, plan)
            raise
        self._settle(request, plan)
        return await send(http, request, plan, self._ledger, drip_s=self.drip_s)

    def _settle(self, request: Request, plan: Plan) -> None:
        self._ledger.settle(request, status=plan.status, usd=plan.usd, tokens=plan.tokens)
