"""Each layer around a client does its one thing, alone and stacked."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import pytest

from tests.journals import next_process, read_back
from uncensoring_chinese_models.config.settings import Budget, Retries
from uncensoring_chinese_models.domain import Call, CallKey, Price, Reply, Reservation, Usage
from uncensoring_chinese_models.errors import (
    UNCONNECTABLE,
    UNREACHABLE,
    BudgetExceededError,
    FatalError,
    InterruptedRunError,
    RejectedError,
    RunStoreError,
    TransientError,
)
from uncensoring_chinese_models.models import layers
from uncensoring_chinese_models.models.budget import BudgetMeter, PricedMeter
from uncensoring_chinese_models.models.canary import canary_of
from uncensoring_chinese_models.models.layers import (
    InFlight,
    Journaled,
    Limited,
    Metered,
    Retrying,
)
from uncensoring_chinese_models.models.protocols import Notice

PRICE = Price(Decimal("0.000001"), Decimal("0.000002"))
LATER = "2026-01-02T03:04:05Z"


def make_call(number=0, prompt="I remember"):
    key = CallKey(1, "target", "sample", arm="raw", sample=number)
    return Call(key, "completions", {"model": "m", "prompt": prompt, "max_tokens": 10})


class Scripted:
    """Answers with one result after the other, and keeps what it was asked."""

    def __init__(self, *results):
        self.results = list(results)
        self.calls = []

    async def complete(self, call):
        self.calls.append(call)
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result


class Waiting:
    """Answers, or fails, when it is let."""

    def __init__(self, error=None):
        self.entered = asyncio.Event()
        self.let = asyncio.Event()
        self.calls = []
        self.inside = self.most_inside = 0
        self._error = error

    async def complete(self, call):
        self.calls.append(call)
        self.inside += 1
        self.most_inside = max(self.inside, self.most_inside)
        self.entered.set()
        try:
            await self.let.wait()
        finally:
            self.inside -= 1
        if self._error:
            raise self._error
        return Reply(call.body["prompt"])


async def settle_down():
    """Let every task run until it waits for something that does not come by itself."""
    for _ in range(20):
        await asyncio.sleep(0)


def ignore(notice: Notice) -> None:
    """Take a notice that the test is not about."""


def opened(path):
    return next_process(path, LATER)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


@pytest.fixture
def journal(path):
    fresh = opened(path)
    fresh.begin({})
    yield fresh
    fresh.close()


@pytest.fixture
def in_flight():
    return InFlight()


def metered(inner, journal, in_flight, budget=None, price=PRICE):
    meter = PricedMeter(budget or BudgetMeter(Budget()), price)
    return Metered(inner, journal, meter, in_flight, lambda: LATER)


def journaled(inner, journal, in_flight):
    return Journaled(metered(inner, journal, in_flight), journal, in_flight)


# --- Journaled ----------------------------------------------------------------------------------


async def test_recorded_reply_is_given_without_asking(path, journal, in_flight):
    """A call that was paid for is answered from the record, in the same process and the next."""
    inner = Scripted(Reply("once", usage=Usage(1, 2)))
    first = await journaled(inner, journal, in_flight).complete(make_call())

    again = await journaled(Scripted(), journal, in_flight).complete(make_call())
    resumed = await journaled(Scripted(), opened(path), in_flight).complete(make_call())

    assert again == resumed == first
    assert len(inner.calls) == 1


async def test_recorded_error_is_raised_without_asking(path, journal, in_flight):
    """A failure that the run went on past is the same failure in a replay."""
    with pytest.raises(RejectedError):
        await journaled(
            Scripted(RejectedError("400: no", status=400)), journal, in_flight
        ).complete(make_call())

    with pytest.raises(RejectedError, match="400: no") as caught:
        await journaled(Scripted(), opened(path), in_flight).complete(make_call())

    assert (caught.value.status, caught.value.finished_at) == (400, LATER)


async def test_fatal_error_is_not_settled(path, journal, in_flight):
    """What stops the run is asked again when the run goes on."""
    with pytest.raises(FatalError):
        await journaled(Scripted(FatalError("402: no credit")), journal, in_flight).complete(
            make_call()
        )

    reply = await journaled(Scripted(Reply("paid")), opened(path), in_flight).complete(make_call())

    assert reply.text == "paid"
    assert b'"type": "done"' not in path.read_bytes().split(b'"paid"')[0]


MODEL = "deepseek/deepseek-chat"


@pytest.mark.parametrize(
    ("error", "meets_all"),
    [
        (TransientError("no connection", error_type=UNREACHABLE), True),
        (TransientError("no connection", error_type=UNCONNECTABLE), True),
        (RejectedError("Not Found", status=404), True),
        (RejectedError("redirected", status=307), True),
        (RejectedError("x", status=400, error_type="model_not_found"), True),
        (RejectedError(f"400: {MODEL} is not a valid model ID", status=400), True),
        (RejectedError(f"The model `{MODEL}` does not exist.", status=400), True),
        (RejectedError(f"400: invalid value: logprobs, for {MODEL}", status=400), False),
        (RejectedError(f"top_k is not a valid parameter of {MODEL}", status=400), False),
        (RejectedError("400: this key does not exist", status=400), False),
        (TransientError("500: broken", status=500), False),
        (TransientError("no answer within 300 s", status=408), False),
    ],
)
async def test_call_that_others_wait_for_ends_the_run_where_all_would_fail(
    path, journal, in_flight, error, meets_all
):
    """It is then not settled, so that a resumed run asks again; any other call is settled."""
    plain = make_call()
    call = replace(plain, body={**plain.body, "model": MODEL})
    for opens, expected in ((True, meets_all), (False, False)):
        sent = replace(call, key=replace(call.key, sample=int(opens)), opens=opens)
        client = journaled(Scripted(error), journal, in_flight)
        with pytest.raises(FatalError if expected else type(error)):
            await client.complete(sent)

        assert (read_back(path).answer(sent) is None) == expected


@pytest.mark.parametrize("stop", [BudgetExceededError("no"), InterruptedRunError("stopped")])
async def test_call_that_was_not_sent_is_not_settled(path, journal, in_flight, stop):
    """A call that the budget or the user kept back is no failure of the model."""
    with pytest.raises(type(stop)):
        await Journaled(Scripted(stop), journal, in_flight).complete(make_call())

    assert read_back(path).answer(make_call()) is None
    assert path.read_bytes().count(b"\n") == 1


async def test_concurrent_calls_are_each_recorded(path, journal, in_flight):
    """Calls that run at once end up in the journal each with its own reply."""
    inner = Waiting()
    client = journaled(inner, journal, in_flight)

    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(client.complete(make_call(number, f"prompt {number}")))
            for number in range(16)
        ]
        await settle_down()
        assert inner.inside == 16
        inner.let.set()

    again = opened(path)
    for number, task in enumerate(tasks):
        held = again.answer(make_call(number, f"prompt {number}"))
        assert held == task.result()
        assert held.text == f"prompt {number}"


async def test_cancelled_waiter_does_not_cancel_what_is_in_flight(path, journal, in_flight):
    """When the one who asked is gone, the call is still waited for and recorded."""
    inner = Waiting()
    waiter = asyncio.create_task(journaled(inner, journal, in_flight).complete(make_call()))
    await inner.entered.wait()

    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    draining = asyncio.create_task(in_flight.drain())
    await settle_down()
    assert not draining.done()
    assert read_back(path).answer(make_call()) is None
    inner.let.set()
    await draining

    held = read_back(path).answer(make_call())
    assert isinstance(held, Reply)
    assert held.text == "I remember"


async def test_failure_that_nobody_waits_for_is_recorded_in_silence(path, journal, in_flight):
    """An abandoned call that fails is settled too, and complains to nobody."""
    complaints = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told: complaints.append(told))
    inner = Waiting(RejectedError("400: no"))
    waiter = asyncio.create_task(journaled(inner, journal, in_flight).complete(make_call()))
    await inner.entered.wait()
    waiter.cancel()

    inner.let.set()
    await in_flight.drain()

    assert isinstance(read_back(path).answer(make_call()), RejectedError)
    assert complaints == []


async def test_abandoned_call_stays_in_the_books(path, journal, in_flight):
    """A call that a second Ctrl-C abandons is no answer, and counts as lost in flight."""
    inner = Waiting()
    waiter = asyncio.create_task(journaled(inner, journal, in_flight).complete(make_call()))
    await inner.entered.wait()

    for task in list(in_flight._tasks):
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    await in_flight.drain()

    again = opened(path)
    assert again.answer(make_call()) is None
    assert [attempt.result for attempt in again.attempts] == [None]


async def test_draining_starts_nothing_new(journal, in_flight):
    """Calls that still wait for a slot when the run stops are not sent any more."""
    inner = Waiting()
    client = Journaled(Limited(metered(inner, journal, in_flight), 1), journal, in_flight)
    waiters = [asyncio.create_task(client.complete(make_call(number))) for number in range(3)]
    await inner.entered.wait()

    draining = asyncio.create_task(in_flight.drain())
    await settle_down()
    inner.let.set()
    await draining

    await asyncio.wait(waiters)
    first, *others = [waiter.exception() for waiter in waiters]
    assert first is None
    assert [type(error) for error in others] == [InterruptedRunError, InterruptedRunError]
    assert len(inner.calls) == 1


async def test_draining_with_nothing_in_flight_ends_at_once(in_flight):
    """A run without open calls stops without waiting."""
    await in_flight.drain()

    assert in_flight.stopping.is_set()


async def test_reply_is_durable_before_it_is_returned(path, journal, in_flight, monkeypatch):
    """When the caller sees a reply, the line that holds it has been synced."""
    synced = []
    fsync = os.fsync

    def noting(handle):
        fsync(handle)
        synced.append(path.read_bytes())

    monkeypatch.setattr(os, "fsync", noting)

    await journaled(Scripted(Reply("paid for")), journal, in_flight).complete(make_call())

    assert b'"paid for"' in synced[-1]


async def test_reply_that_cannot_be_recorded_is_not_returned(journal, in_flight):
    """A full disk ends the call with an error, not with a reply that a resumed run lacks."""
    inner = Waiting()
    asked = asyncio.create_task(journaled(inner, journal, in_flight).complete(make_call()))
    await inner.entered.wait()
    journal.close()
    inner.let.set()

    with pytest.raises(RunStoreError):
        await asked


# --- Retrying -----------------------------------------------------------------------------------


class Tried:
    """A retrying client over scripted results, and what it told."""

    def __init__(self, *results, **policy):
        self.notices: list[Notice] = []
        self.inner = Scripted(*results)
        self.in_flight = InFlight()
        settings = {"max_attempts": 6, "max_wait_s": 60, "first_wait_s": 0, **policy}
        self.client = Retrying(
            self.inner, Retries.model_validate(settings), self.in_flight, self.hear
        )

    def hear(self, notice: Notice) -> None:
        self.notices.append(notice)

    async def error(self):
        with pytest.raises(TransientError) as caught:
            await self.client.complete(make_call())
        return caught.value


def limited(number=0):
    return TransientError(f"429: later {number}", status=429)


async def test_reply_ends_the_attempts():
    """What time cured is answered as if nothing had been."""
    tried = Tried(limited(1), TransientError("cut off"), Reply("at last"))

    assert (await tried.client.complete(make_call())).text == "at last"
    assert len(tried.inner.calls) == 3


@pytest.mark.parametrize("most", [1, 2, 6])
async def test_attempts_are_bounded(most):
    """After so many attempts the last error is raised, and no more is sent."""
    tried = Tried(*(limited(number) for number in range(9)), max_attempts=most)

    error = await tried.error()

    assert error.message == f"429: later {most - 1}"
    assert len(tried.inner.calls) == most


async def test_wall_time_is_bounded(monkeypatch):
    """No attempt is begun once the time for the call is over, however slowly each one failed."""
    clock = iter(range(0, 10_000, 100))
    monkeypatch.setattr(layers, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    tried = Tried(*(limited(number) for number in range(9)), max_wait_s=250)

    await tried.error()

    assert len(tried.inner.calls) == 4  # the clock starts when the first has failed


async def test_wait_that_would_take_too_long_is_not_begun():
    """A Retry-After beyond the time for the call gives up at once."""
    tried = Tried(TransientError("429: tomorrow", status=429, retry_after_s=86_400), max_wait_s=600)

    await tried.error()

    assert [notice.wait_s for notice in tried.notices] == [None]
    assert "gave up after attempt 1" in tried.notices[0].text


async def test_back_off_that_would_take_too_long_is_not_begun():
    """Without a Retry-After the wait counts against the time for the call just the same."""
    tried = Tried(limited(), max_wait_s=1, first_wait_s=30)

    await tried.error()

    assert len(tried.inner.calls) == 1


@pytest.mark.parametrize(
    "error",
    [
        *(
            TransientError(f"{status}: the same", status=status)
            for status in (408, 429, 500, 502, 520, 530)
        ),
        TransientError("it broke the connection", maybe_billed=True),
        TransientError("the server sent something that is not JSON", status=200),
        TransientError("the provider returned an empty answer without a reason"),
        TransientError("no connection", error_type=UNREACHABLE),
        TransientError("402: in flight", status=402, retry_after_s=0.0),
    ],
    ids=str,
)
async def test_same_error_every_time_gets_all_its_attempts(error):
    """An outage says the same each time, so words that repeat are no reason to give up."""
    lasting, passing = Tried(*[error] * 9), Tried(*[error] * 5, Reply("at last"))

    await lasting.error()

    assert len(lasting.inner.calls) == 6
    assert (await passing.client.complete(make_call())).text == "at last"


async def test_default_settings_bridge_a_minute(monkeypatch):
    """However chance falls, the last attempt of a call comes a minute after its first failure."""
    monkeypatch.setattr(layers, "random", SimpleNamespace(uniform=lambda low, high: low))
    default = Retries()
    broken = TransientError("500: broken", status=500)
    tried = Tried(*[broken] * default.max_attempts, **default.model_dump())
    monkeypatch.setattr(tried.client, "_wait", lambda seconds: asyncio.sleep(0))

    await tried.error()

    waited = sum(notice.wait_s or 0 for notice in tried.notices)
    assert len(tried.inner.calls) == default.max_attempts
    assert 60 <= waited < default.max_wait_s


NO_SUCH_HOST = TransientError("no connection to x: no such name", error_type=UNCONNECTABLE)


async def test_wrong_host_name_ends_the_run_at_once():
    """A server that nothing has reached yet and whose name is wrong is asked once, and named."""
    tried = Tried(NO_SUCH_HOST)

    with pytest.raises(FatalError, match=r"no such name.*check base_url"):
        await tried.client.complete(make_call())

    assert len(tried.inner.calls) == 1
    assert [notice.wait_s for notice in tried.notices] == [None]


@pytest.mark.parametrize(
    "before", [Reply("hello"), TransientError("500: broken", status=500)], ids=["reply", "error"]
)
async def test_name_server_that_fails_in_the_middle_is_waited_for(before):
    """Once the server has been reached, a missing name or certificate is an outage."""
    tried = Tried(before, *[NO_SUCH_HOST] * 4, Reply("at last"), Reply("and on"))

    replies = [await tried.client.complete(make_call(number)) for number in range(2)]

    assert replies[-1].text in ("at last", "and on")


async def test_server_that_is_starting_is_waited_for():
    """A refused connection is no wrong address: a server may still be loading its model."""
    starting = TransientError("refused", error_type=UNREACHABLE)
    tried = Tried(*[starting] * 5, Reply("loaded"))

    assert (await tried.client.complete(make_call())).text == "loaded"


@pytest.mark.parametrize("error", [RejectedError("400: no"), FatalError("401: no key")])
async def test_refusal_is_never_tried_again(error):
    """What would be refused again is sent once, and told once."""
    tried = Tried(error)

    with pytest.raises(type(error)):
        await tried.client.complete(make_call())

    assert len(tried.inner.calls) == 1
    assert [notice.wait_s for notice in tried.notices] == [None]
    assert error.message in tried.notices[0].text


@pytest.mark.parametrize("stop", [BudgetExceededError("no"), InterruptedRunError("stopped")])
async def test_call_kept_back_is_passed_on_in_silence(stop):
    """The budget and the user's stop are no failed attempts."""
    tried = Tried(stop)

    with pytest.raises(type(stop)):
        await tried.client.complete(make_call())

    assert tried.notices == []


async def test_each_failed_attempt_is_told_with_the_wait_that_follows():
    """A person at the screen sees every failure, why, and how long it will take."""
    tried = Tried(
        TransientError("503: busy", status=503, retry_after_s=0.0),
        TransientError("cut off"),
        TransientError("500: broken", status=500),
        max_attempts=3,
    )

    await tried.error()

    assert [notice.wait_s for notice in tried.notices] == [0.0, 0.0, None]
    assert [notice.text for notice in tried.notices] == [
        "001/target/sample/raw/0: attempt 1 failed: 503: busy",
        "001/target/sample/raw/0: attempt 2 failed: cut off",
        "001/target/sample/raw/0: gave up after attempt 3: 500: broken",
    ]


@pytest.mark.parametrize("attempt", [1, 2, 3, 6, 50])
def test_back_off_doubles_up_to_a_minute(attempt):
    """Waits grow with each attempt, are spread by chance, and stay below a minute."""
    client = Tried(first_wait_s=2).client
    longest = min(60.0, 2.0**attempt)

    waits = {client._next_wait(TransientError("x"), attempt) for _ in range(50)}

    assert longest / 2 <= min(waits) < max(waits) <= longest


@pytest.mark.parametrize("asked", [30.0, 86_400.0])
def test_wait_that_the_server_asks_for_is_never_shortened(asked):
    """A Retry-After that is longer than our own wait is taken as it is."""
    client = Tried(first_wait_s=2).client

    assert client._next_wait(TransientError("x", retry_after_s=asked), 3) == asked


@pytest.mark.parametrize("asked", [0.0, 0.25, 1.0])
def test_short_wait_that_the_server_asks_for_uses_up_no_attempts(asked):
    """A server that says "now" while it is down for a minute is still asked more and more slowly."""
    client = Tried(first_wait_s=2).client

    waits = {client._next_wait(TransientError("x", retry_after_s=asked), 5) for _ in range(20)}

    assert 16 <= min(waits) <= max(waits) <= 32


async def test_stop_ends_a_wait_at_once():
    """Nobody who stops a run waits for a rate limit, and nothing is sent after the stop."""
    tried = Tried(TransientError("429: later", status=429, retry_after_s=30.0), Reply("late"))
    asked = asyncio.create_task(tried.client.complete(make_call()))
    await settle_down()
    assert (len(tried.inner.calls), [notice.wait_s for notice in tried.notices]) == (1, [30.0])

    tried.in_flight.stopping.set()
    with pytest.raises(InterruptedRunError):
        await asked

    assert len(tried.inner.calls) == 1


async def test_stop_before_a_wait_of_nothing_counts_too():
    """A run that is stopping does not slip in one more attempt because its wait is 0."""
    tried = Tried(limited(), Reply("late"))
    tried.in_flight.stopping.set()

    with pytest.raises(InterruptedRunError):
        await tried.client.complete(make_call())


# --- Limited ------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 3, 8])
async def test_no_more_than_so_many_are_out_at_once(most):
    """The limit is reached, never passed, and every call gets its turn."""
    inner = Waiting()
    client = Limited(inner, most)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(client.complete(make_call(number))) for number in range(20)]
        await settle_down()
        assert inner.inside == most
        inner.let.set()

    assert inner.most_inside == most
    assert len(inner.calls) == len(tasks) == 20


async def test_canary_takes_the_next_slot():
    """It decides whether the calls before it in the line would be in vain."""
    inner = Waiting()
    client = Limited(inner, 1)
    canary = canary_of(make_call())

    async with asyncio.TaskGroup() as group:
        for call in (make_call(0), make_call(1), make_call(2), canary):
            group.create_task(client.complete(call))
        await settle_down()
        inner.let.set()

    assert [each.key.purpose for each in inner.calls] == ["sample", "canary", "sample", "sample"]


async def test_cancelled_call_takes_no_slot_with_it():
    """Neither one that waits for a slot, nor one that was given it at the same moment."""
    inner = Waiting()
    client = Limited(inner, 1)

    async def first():
        await client.complete(make_call(0))
        given.cancel()

    out = asyncio.create_task(first())
    waiting, given, last = (
        asyncio.create_task(client.complete(make_call(number))) for number in (1, 2, 3)
    )
    await settle_down()
    waiting.cancel()
    await settle_down()
    inner.let.set()
    await out

    await asyncio.wait_for(last, 5)

    assert waiting.cancelled()
    assert given.cancelled()
    assert [each.key.sample for each in inner.calls] == [0, 3]


async def test_failed_call_gives_its_slot_back():
    """Errors do not use up the limit."""
    client = Limited(Scripted(TransientError("cut off"), Reply("next")), 1)
    with pytest.raises(TransientError):
        await client.complete(make_call())

    assert (await client.complete(make_call())).text == "next"


async def test_waiting_between_attempts_takes_no_slot(in_flight):
    """A call that waits for its next attempt lets others out meanwhile."""
    inner = Scripted(TransientError("429", status=429, retry_after_s=30.0), Reply("other"))
    policy = Retries(max_wait_s=60.0)
    client = Retrying(Limited(inner, 1), policy, in_flight, ignore)
    asked = asyncio.create_task(client.complete(make_call()))
    await settle_down()

    assert (await client.complete(make_call(1))).text == "other"

    in_flight.stopping.set()
    with pytest.raises(InterruptedRunError):
        await asked


# --- Metered ------------------------------------------------------------------------------------


class Books:
    """A record, a meter and a client in one, which note in what order they are used."""

    def __init__(self, result, *, broke=False):
        self.events = []
        self._result = result
        self._broke = broke

    def reserve(self, call):
        if self._broke:
            raise BudgetExceededError("no")
        self.events.append("reserve")
        return Reservation(Decimal(1), 100)

    def sent(self, call, reservation, server=None):
        self.events.append("sent")
        return 7

    async def complete(self, call):
        self.events.append("send")
        if isinstance(self._result, Exception):
            raise self._result
        return self._result

    def priced(self, reply):
        self.events.append("priced")
        return reply

    def attempted(self, call, attempt, result):
        self.events.append(f"attempted {attempt}")
        self.recorded = result

    def settle(self, reserved, result):
        self.events.append("settle")
        self.settled = (reserved, result)

    def answer(self, call):
        raise AssertionError("not asked here")

    def refusal(self, call):
        raise AssertionError("not asked here")

    def done(self, call, error):
        raise AssertionError("not settled here")

    def client(self, in_flight):
        return Metered(self, self, self, in_flight, lambda: LATER)


async def test_attempt_is_reserved_and_noted_before_it_leaves(in_flight):
    """Reserve, note, send, record, settle: in this order and no other."""
    books = Books(Reply("x"))

    reply = await books.client(in_flight).complete(make_call())

    assert books.events == ["reserve", "sent", "send", "priced", "attempted 7", "settle"]
    assert reply == books.recorded == Reply("x", finished_at=LATER)
    assert books.settled == (Reservation(Decimal(1), 100), reply)


@pytest.mark.parametrize("kind", [TransientError, RejectedError, FatalError])
async def test_failed_attempt_is_recorded_and_settled_too(in_flight, kind):
    """Every attempt that left is accounted for, whatever became of it."""
    books = Books(kind("failed"))

    with pytest.raises(kind) as caught:
        await books.client(in_flight).complete(make_call())

    assert books.events == ["reserve", "sent", "send", "attempted 7", "settle"]
    assert books.recorded is caught.value
    assert caught.value.finished_at == LATER


async def test_nothing_is_sent_when_the_budget_refuses(in_flight):
    """A call that could pass the cap leaves no trace at the provider or in the journal."""
    books = Books(Reply("x"), broke=True)

    with pytest.raises(BudgetExceededError):
        await books.client(in_flight).complete(make_call())

    assert books.events == []


async def test_nothing_is_sent_or_reserved_when_the_run_is_stopping(in_flight):
    """After the first Ctrl-C no further request leaves."""
    in_flight.stopping.set()
    books = Books(Reply("x"))

    with pytest.raises(InterruptedRunError):
        await books.client(in_flight).complete(make_call())

    assert books.events == []


async def test_calls_in_flight_count_at_their_worst(journal, in_flight):
    """Of many calls at once only as many leave as the cap covers if all of them cost the most."""
    one = PricedMeter(BudgetMeter(Budget()), PRICE).reserve(make_call()).tokens
    budget = BudgetMeter(Budget(max_tokens=5 * one + one // 2))
    inner = Waiting()
    client = metered(inner, journal, in_flight, budget)
    tasks = [asyncio.create_task(client.complete(make_call(number))) for number in range(9)]
    await settle_down()

    assert len(inner.calls) == 5
    inner.let.set()
    await asyncio.wait(tasks)
    refused = [task for task in tasks if isinstance(task.exception(), BudgetExceededError)]
    assert len(refused) == 4


@pytest.mark.parametrize(
    ("reply", "cost"),
    [
        (Reply("x", usage=Usage(10, 5)), Decimal("0.00002")),
        (Reply("x", usage=Usage(10, 5), cost_usd=Decimal("0.5")), Decimal("0.5")),
        (Reply("x", usage=Usage(10, 5), cost_usd=Decimal(0)), Decimal(0)),
        (Reply("x"), None),
    ],
)
async def test_reply_is_priced_only_if_it_was_not_billed(path, journal, in_flight, reply, cost):
    """The price that is recorded and the one that is returned are the same."""
    returned = await metered(Scripted(reply), journal, in_flight).complete(make_call())

    assert returned.cost_usd == cost
    assert read_back(path).answer(make_call()) == returned


async def test_each_attempt_is_settled_by_itself(path, journal, in_flight):
    """An attempt that was cut off stays charged while the next one is paid for."""
    budget = BudgetMeter(Budget())
    inner = Scripted(
        TransientError("cut off", maybe_billed=True),
        TransientError("429: later", status=429),
        Reply("x", usage=Usage(10, 5)),
    )
    policy = Retries(first_wait_s=0.0)
    client = Retrying(metered(inner, journal, in_flight, budget), policy, in_flight, ignore)
    worst = PricedMeter(BudgetMeter(Budget()), PRICE).reserve(make_call())
    assert worst.usd is not None

    await client.complete(make_call())

    assert budget.spent_tokens == worst.tokens + 15
    assert budget.spent_usd == worst.usd + Decimal("0.00002")
    resumed = BudgetMeter(Budget())
    resumed.charge_past(read_back(path).attempts)
    assert (resumed.spent_usd, resumed.spent_tokens) == (budget.spent_usd, budget.spent_tokens)
