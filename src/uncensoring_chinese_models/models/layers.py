"""Layers around a client; each does one thing.

::

    Journaled   answers a recorded call from the journal, and records a new one
    Retrying    repeats a call after a transient error, within limits
    Limited     limits how many requests are sent at once
    Metered     reserves the worst-case cost, records the attempt, settles the actual cost
    HttpApi     sends the request

The budget is below the retries, so that each attempt is reserved and settled by itself: an attempt
that was lost after it was sent may have been billed, and stays charged.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
import signal
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from uncensoring_chinese_models.domain import Reply
from uncensoring_chinese_models.errors import (
    UNCONNECTABLE,
    UNREACHABLE,
    ClientError,
    FatalError,
    InterruptedRunError,
    RejectedError,
    TransientError,
)
from uncensoring_chinese_models.models.canary import (
    canary_of,
    is_unexplained,
    needs_canary,
)
from uncensoring_chinese_models.models.protocols import Notice
from uncensoring_chinese_models.runs import refuses

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator

    from uncensoring_chinese_models.config import Retries
    from uncensoring_chinese_models.domain import Call, CallKey
    from uncensoring_chinese_models.models.protocols import CallRecord, Meter, ModelClient, Notify

_T = TypeVar("_T")
_MAX_WAIT_S = 60.0
_NO_SUCH_PAGE = frozenset({404, 405, 410})
_GOES_ON = (
    "warning: {} was refused, and {}. A harmless prompt on the same route {}, so the run goes on; "
    "the report counts this as {}."
)
_COUNTS_AS = {
    "unknown": ("nothing says why", "unknown"),
    "content": ("its words speak of the content", "a suspected block"),
}
_NO_SUCH = re.compile(
    r"not a valid model|not found|n[o']t exist|no (such model|endpoints)|(unknown|invalid) model",
    re.IGNORECASE,
)
"""Phrases that servers use, together with the model's name, for an unknown model."""


class InFlight:
    """The calls that are under way: they are finished even if the caller is cancelled."""

    def __init__(self) -> None:
        self.stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[Reply]] = set()

    async def see_through(self, task: asyncio.Task[Reply]) -> Reply:
        """Wait for the task; it continues even if the caller is cancelled."""
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    async def drain(self) -> None:
        """Start no new call, and wait for the calls under way."""
        self.stopping.set()
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def _forget(self, task: asyncio.Task[Reply]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # mark it as retrieved: the caller may be gone


async def together(client: ModelClient, calls: Iterable[Call]) -> list[Reply | ClientError]:
    """Send calls concurrently and return replies and errors; only a FatalError is raised."""
    return await all_of(settled(client, call) for call in calls)


async def all_of(work: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Run coroutines concurrently; of several errors, raise a FatalError first."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except BaseExceptionGroup as errors:
        fatal = [err for err in errors.exceptions if isinstance(err, FatalError)]
        raise [*fatal, *errors.exceptions][0] from None
    return [task.result() for task in tasks]


async def settled(client: ModelClient, call: Call) -> Reply | ClientError:
    """Send one call and return its reply or its error; only a FatalError is raised."""
    try:
        return await client.complete(call)
    except FatalError:
        raise
    except ClientError as err:
        return err


class Journaled:
    """Answers a recorded call from the record, and records a new one.

    A refusal that nothing explains is recorded once the canary of its route was answered (`canary`).
    Until then the call is not settled: a resumed run goes on with the canary, and after a canary that
    was refused it asks both again.
    """

    def __init__(
        self,
        inner: ModelClient,
        record: CallRecord,
        in_flight: InFlight,
        notify: Notify = lambda _: None,
    ) -> None:
        self._inner = inner
        self._record = record
        self._in_flight = in_flight
        self._notify = notify
        self._canaries: dict[CallKey, asyncio.Task[Reply]] = {}

    async def complete(self, call: Call) -> Reply:
        """Return the recorded answer if there is one; else send the call."""
        held = self._record.answer(call)
        if isinstance(held, Reply):
            return held
        if held is not None:
            if needs_canary(call, held):
                await self._refuse_if_route_does(call, held)
            raise held
        return await self._in_flight.see_through(asyncio.ensure_future(self._send(call)))

    async def _send(self, call: Call) -> Reply:
        try:
            refusal = self._record.refusal(call)
            if refusal is not None and not _ends_run(call, refusal):
                raise refusal
            reply = await self._inner.complete(call)
        except FatalError:
            raise  # it ends the run, so a resumed run asks again
        except ClientError as err:
            if _ends_run(call, err):
                raise _fatal(call, err) from None  # for the same reason
            if needs_canary(call, err):
                met = await self._refuse_if_route_does(call, err)
                why, as_what = _COUNTS_AS[err.reason]
                self._notify(Notice(_GOES_ON.format(call.key, why, met, as_what)))
            self._record.done(call, err)
            raise
        if call.key.purpose == "canary" and refuses(reply):
            raise FatalError(f"the host blocked it: {reply.block_message or reply.finish_reason}")
        self._record.done(call, None)
        return reply

    async def _refuse_if_route_does(self, call: Call, err: ClientError) -> str:
        """Send the canary of this route, once for all calls that wait for it; say what it met.

        Raises:
            FatalError: the canary was refused as well.
        """
        canary = canary_of(call)
        if canary.key not in self._canaries:
            task = asyncio.ensure_future(self.complete(canary))
            self._canaries[canary.key] = task
            task.add_done_callback(_retrieve)
        try:
            await asyncio.shield(self._canaries[canary.key])
        except FatalError as refused:
            too = "" if refused.message == err.message else f" ({refused.message})"
            raise FatalError(
                f"{err.message} -- a harmless prompt was refused on the same route too{too}, so this "
                "is not about the question: check the permissions of the key, the account and the model",
                status=err.status,
                error_type=err.error_type,
            ) from None
        except ClientError:
            return "met an outage, which says nothing"
        return "was answered"


def _retrieve(task: asyncio.Task[Reply]) -> None:
    """Mark the error of a task as retrieved: those who waited for it may be gone."""
    if not task.cancelled():
        task.exception()


def _ends_run(call: Call, err: ClientError) -> bool:
    """Return whether an error of this call says that every other call would fail too."""
    if call.key.purpose == "canary":
        return refuses(err)
    if err.status == 403 and is_unexplained(err) and not needs_canary(call, err):
        return True  # the call is harmless itself, or of no use to a run that goes on
    return call.opens and _would_fail_again(call, err)


def _fatal(call: Call, err: ClientError) -> FatalError:
    forbidden = err.status == 403 and call.key.purpose != "canary"
    advice = " -- not permitted: check the permissions of the key, and the account" * forbidden
    return FatalError(err.message + advice, status=err.status, error_type=err.error_type)


def _would_fail_again(call: Call, err: ClientError) -> bool:
    """Return whether every other call would fail too: no server, no such page, no such model."""
    if err.error_type in (UNREACHABLE, UNCONNECTABLE):
        return True
    if not isinstance(err, RejectedError):
        return False
    model = str(call.body.get("model", "")).lower()
    names_it = model in err.message.lower() and _NO_SUCH.search(err.message)
    is_missing = err.status in _NO_SUCH_PAGE or 300 <= (err.status or 0) < 400
    return is_missing or err.error_type == "model_not_found" or bool(names_it)


class Retrying:
    """Repeats a call after a transient error; limits the attempts and the time.

    An error that repeats is no reason to give up: an outage says the same each time. Only a server
    that nothing has reached yet, and whose name or certificate is wrong, ends the run at once.
    """

    def __init__(
        self, inner: ModelClient, policy: Retries, in_flight: InFlight, notify: Notify
    ) -> None:
        self._inner = inner
        self._policy = policy
        self._stopping = in_flight.stopping
        self._notify = notify
        self._was_reached = False

    async def complete(self, call: Call) -> Reply:
        """Answer the call, or raise its last error."""
        deadline = math.inf  # set at the first failure: waiting for a slot does not count
        attempt = 0
        while True:
            attempt += 1
            try:
                reply = await self._inner.complete(call)
            except TransientError as err:
                self._refuse_wrong_address(call, err)
                wait_s = self._next_wait(err, attempt)
                now = time.monotonic()
                deadline = min(deadline, now + self._policy.max_wait_s)
                if attempt >= self._policy.max_attempts or now + wait_s > deadline:
                    self._notify(Notice(f"{call.key}: gave up after attempt {attempt}: {err}"))
                    raise
                self._notify(Notice(f"{call.key}: attempt {attempt} failed: {err}", wait_s))
            except ClientError as err:
                self._was_reached = True
                self._notify(Notice(f"{call.key}: failed: {err}"))
                raise
            else:
                self._was_reached = True
                return reply
            await self._wait(wait_s)

    def _refuse_wrong_address(self, call: Call, err: TransientError) -> None:
        """End the run if no connection is possible, and none was possible before.

        In the middle of a run the same error is an outage of the network, and is waited for.
        """
        if err.error_type == UNCONNECTABLE and not self._was_reached:
            self._notify(Notice(f"{call.key}: failed: {err}"))
            raise FatalError(
                f"{err} -- nothing has reached this server yet: check base_url and the network",
                error_type=err.error_type,
            ) from None
        self._was_reached = self._was_reached or err.error_type not in (UNCONNECTABLE, UNREACHABLE)

    def _next_wait(self, err: TransientError, attempt: int) -> float:
        """Return the wait before the next attempt: never shorter than the server asks for."""
        longest = min(_MAX_WAIT_S, self._policy.first_wait_s * 2.0 ** (attempt - 1))
        own = longest * random.uniform(0.5, 1)  # noqa: S311 -- jitter, not a secret
        return max(own, err.retry_after_s or 0)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return
        raise InterruptedRunError("Stopped while waiting to try again.")


class Limited:
    """Limits how many requests are sent at once; a canary goes first, as others may be in vain."""

    def __init__(self, inner: ModelClient, max_concurrency: int) -> None:
        self._inner = inner
        self._free = max_concurrency
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def complete(self, call: Call) -> Reply:
        """Answer the call when a slot is free."""
        await self._take(is_first=call.key.purpose == "canary")
        try:
            return await self._inner.complete(call)
        finally:
            self._give()

    async def _take(self, *, is_first: bool) -> None:
        if self._free:
            self._free -= 1
            return
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if is_first:
            self._waiting.appendleft(slot)
        else:
            self._waiting.append(slot)
        try:
            await slot
        except asyncio.CancelledError:
            if not slot.cancelled():
                self._give()  # it was given at the same moment
            raise

    def _give(self) -> None:
        while self._waiting:
            slot = self._waiting.popleft()
            if not slot.done():
                slot.set_result(None)
                return
        self._free += 1


class Metered:
    """Reserves the cost of every attempt before it is sent; records and settles it after."""

    def __init__(
        self,
        inner: ModelClient,
        record: CallRecord,
        meter: Meter,
        in_flight: InFlight,
        now: Callable[[], str],
        server: str | None = None,
    ) -> None:
        self._inner = inner
        self._server = server
        self._record = record
        self._meter = meter
        self._stopping = in_flight.stopping
        self._now = now

    async def complete(self, call: Call) -> Reply:
        """Send one attempt; its result is on disk before it is returned."""
        if self._stopping.is_set():
            raise InterruptedRunError("Stopped before the request was sent.")
        reserved = self._meter.reserve(call)
        attempt = self._record.sent(call, reserved, self._server)
        try:
            reply = await self._inner.complete(call)
        except ClientError as err:
            err.finished_at, err.server = self._now(), self._server
            self._record.attempted(call, attempt, err)
            self._meter.settle(reserved, err)
            raise
        priced = self._meter.priced(reply)
        reply = replace(priced, finished_at=self._now(), server=self._server)
        self._record.attempted(call, attempt, reply)
        self._meter.settle(reserved, reply)
        return reply


# --- Ctrl-C --------------------------------------------------------------------------------------


async def interruptible(todo: Coroutine[Any, Any, _T], notify: Notify) -> _T:
    """Run it; the first Ctrl-C waits for the calls under way, the second abandons them."""
    work = asyncio.ensure_future(todo)
    signals: list[int] = []

    def stop() -> None:
        signals.append(1)
        if len(signals) == 1:
            notify(
                Notice("Stopping after the calls under way; press Ctrl-C again to abandon them.")
            )
        work.cancel()

    with _on_signals(stop):
        try:
            return await work
        except asyncio.CancelledError:
            raise InterruptedRunError("Stopped; every finished call is in the journal.") from None


@contextmanager
def _on_signals(action: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    caught = (signal.SIGINT, signal.SIGTERM)
    for number in caught:
        loop.add_signal_handler(number, action)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
