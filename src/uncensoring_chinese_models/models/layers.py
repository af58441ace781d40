"""The layers around a client, each of which does one thing.

::

    Journaled   a call that the journal holds is answered from it; a new one is recorded
    Retrying    tries again what time may cure, within bounds
    Limited     lets only so many requests out at once
    Metered     reserves the worst case, records the attempt, settles what it cost
    HttpApi     sends it

The budget sits below the retries, so that each attempt is reserved for and settled by itself: an
attempt that was cut off after it was sent may have been billed, and stays charged.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
import signal
import time
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
from uncensoring_chinese_models.models.protocols import Notice

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator

    from uncensoring_chinese_models.config import Retries
    from uncensoring_chinese_models.domain import Call
    from uncensoring_chinese_models.models.protocols import CallRecord, Meter, ModelClient, Notify

_T = TypeVar("_T")
SAME_ERROR_LIMIT = 3
"""The same deterministic error this often in a row is not going to pass."""
_WAITING_HELPS = frozenset({408, 429, 502, 503, 504, 529})
"""Trouble that looks the same each time and passes all the same, like any with a Retry-After."""
_LONGEST_WAIT_S = 60.0
_NO_SUCH_PAGE = frozenset({404, 405, 410})
_NO_SUCH = re.compile(
    r"not a valid model|not found|n[o']t exist|no (such model|endpoints)|(unknown|invalid) model",
    re.IGNORECASE,
)
"""How servers say, beside its name, that they have no such model."""


class InFlight:
    """The calls that are out: they are waited for, whatever happens to those who asked."""

    def __init__(self) -> None:
        self.stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[Reply]] = set()

    async def see_through(self, task: asyncio.Task[Reply]) -> Reply:
        """Wait for the task; if the one who waits is cancelled, the task goes on."""
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    async def drain(self) -> None:
        """Start nothing new, and wait for what is out."""
        self.stopping.set()
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def _forget(self, task: asyncio.Task[Reply]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # seen: nobody may be left to ask for it


async def together(client: ModelClient, calls: Iterable[Call]) -> list[Reply | ClientError]:
    """Send calls at once; what fails is an answer, too, unless no further call would succeed."""
    return await all_of(settled(client, call) for call in calls)


async def all_of(work: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Do all of the work at once; of several errors the gravest is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except BaseExceptionGroup as errors:
        gravest = [err for err in errors.exceptions if isinstance(err, FatalError)]
        raise [*gravest, *errors.exceptions][0] from None
    return [task.result() for task in tasks]


async def settled(client: ModelClient, call: Call) -> Reply | ClientError:
    """Send one call and return what became of it."""
    try:
        return await client.complete(call)
    except FatalError:
        raise
    except ClientError as err:
        return err


class Journaled:
    """Answers from the record what it holds; records what it does not."""

    def __init__(self, inner: ModelClient, record: CallRecord, in_flight: InFlight) -> None:
        self._inner = inner
        self._record = record
        self._in_flight = in_flight

    async def complete(self, call: Call) -> Reply:
        """Answer the call at no cost if it was answered before."""
        held = self._record.answer(call)
        if isinstance(held, Reply):
            return held
        if held is not None:
            raise held
        return await self._in_flight.see_through(asyncio.ensure_future(self._send(call)))

    async def _send(self, call: Call) -> Reply:
        try:
            reply = await self._inner.complete(call)
        except FatalError:
            raise  # it ends the run, so a resumed run asks again
        except ClientError as err:
            if call.opens and _meets_every_call(call, err):
                raise FatalError(
                    err.message, status=err.status, error_type=err.error_type
                ) from None  # for the same reason
            self._record.done(call, err)
            raise
        self._record.done(call, None)
        return reply


def _meets_every_call(call: Call, err: ClientError) -> bool:
    """Tell whether any other call would fail alike: no server, no such page, no such model."""
    if err.error_type in (UNREACHABLE, UNCONNECTABLE):
        return True
    if not isinstance(err, RejectedError):
        return False
    model = str(call.body.get("model", "")).lower()
    names_it = model in err.message.lower() and _NO_SUCH.search(err.message)
    is_missing = err.status in _NO_SUCH_PAGE or 300 <= (err.status or 0) < 400
    return is_missing or err.error_type == "model_not_found" or bool(names_it)


class Retrying:
    """Tries again what time may cure, bounded in attempts, in time and in sameness."""

    def __init__(
        self, inner: ModelClient, policy: Retries, in_flight: InFlight, notify: Notify
    ) -> None:
        self._inner = inner
        self._policy = policy
        self._stopping = in_flight.stopping
        self._notify = notify

    async def complete(self, call: Call) -> Reply:
        """Answer the call, or raise its last error."""
        deadline = math.inf  # from the first failure on: waiting for a slot does not count
        last, same, attempt = "", 0, 0
        while True:
            attempt += 1
            try:
                return await self._inner.complete(call)
            except TransientError as err:
                same = same + 1 if err.message == last else 1
                last = err.message
                wait_s = self._next_wait(err, attempt)
                hopeless = same >= SAME_ERROR_LIMIT and not _may_pass(err)
                now = time.monotonic()
                deadline = min(deadline, now + self._policy.max_wait_s)
                late = now + wait_s > deadline
                if attempt >= self._policy.max_attempts or hopeless or late:
                    self._notify(Notice(f"{call.key}: gave up after attempt {attempt}: {last}"))
                    raise
                self._notify(Notice(f"{call.key}: attempt {attempt} failed: {last}", wait_s))
            except ClientError as err:
                self._notify(Notice(f"{call.key}: failed: {err.message}"))
                raise
            await self._wait(wait_s)

    def _next_wait(self, err: TransientError, attempt: int) -> float:
        if err.retry_after_s is not None:
            return err.retry_after_s
        longest = min(_LONGEST_WAIT_S, self._policy.first_wait_s * 2.0 ** (attempt - 1))
        return longest * random.uniform(0.5, 1)  # noqa: S311 -- jitter, not a secret

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return
        raise InterruptedRunError("stopped while waiting to try again")


def _may_pass(err: TransientError) -> bool:
    """Tell trouble that looks the same each time, and passes, from an error that stays."""
    asked_to_wait = err.retry_after_s is not None
    return asked_to_wait or err.status in _WAITING_HELPS or err.error_type == UNREACHABLE


class Limited:
    """Lets only so many requests out at once."""

    def __init__(self, inner: ModelClient, max_concurrency: int) -> None:
        self._inner = inner
        self._slots = asyncio.Semaphore(max_concurrency)

    async def complete(self, call: Call) -> Reply:
        """Answer the call when a slot is free."""
        async with self._slots:
            return await self._inner.complete(call)


class Metered:
    """Accounts for every attempt: reserved before it leaves, recorded and settled after."""

    def __init__(
        self,
        inner: ModelClient,
        record: CallRecord,
        meter: Meter,
        in_flight: InFlight,
        now: Callable[[], str],
    ) -> None:
        self._inner = inner
        self._record = record
        self._meter = meter
        self._stopping = in_flight.stopping
        self._now = now

    async def complete(self, call: Call) -> Reply:
        """Send one attempt; whatever becomes of it is on disk before anyone sees it."""
        if self._stopping.is_set():
            raise InterruptedRunError("stopped before the request was sent")
        reserved = self._meter.reserve(call)
        attempt = self._record.sent(call, reserved)
        try:
            reply = await self._inner.complete(call)
        except ClientError as err:
            err.finished_at = self._now()
            self._record.attempted(call, attempt, err)
            self._meter.settle(reserved, err)
            raise
        reply = replace(self._meter.priced(reply), finished_at=self._now())
        self._record.attempted(call, attempt, reply)
        self._meter.settle(reserved, reply)
        return reply


# --- Ctrl-C --------------------------------------------------------------------------------------


async def interruptible(todo: Coroutine[Any, Any, _T], notify: Notify) -> _T:
    """Let the first Ctrl-C wait for the calls in flight, and the second abandon them."""
    work = asyncio.ensure_future(todo)
    signals: list[int] = []

    def stop() -> None:
        signals.append(1)
        if len(signals) == 1:
            notify(Notice("Stopping: waiting for calls in flight (Ctrl-C again abandons them)."))
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
