"""No call can cost more than was set aside for it, and nothing spent is ever forgotten."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.journals import next_process
from uncensoring_chinese_models.config.settings import Budget
from uncensoring_chinese_models.domain import (
    Attempt,
    Call,
    CallKey,
    Price,
    Reply,
    Reservation,
    Usage,
)
from uncensoring_chinese_models.errors import (
    BudgetExceededError,
    FatalError,
    RejectedError,
    TransientError,
)
from uncensoring_chinese_models.models.budget import (
    TEMPLATE_TOKENS,
    BudgetGate,
    BudgetMeter,
    PricedMeter,
    body_bytes,
    bound,
    bound_of,
    charge,
    describe,
    price_of,
    spend,
    worst_case,
)
from uncensoring_chinese_models.models.protocols import Need

PRICE = Price(Decimal("0.000003"), Decimal("0.000015"), Decimal("0.001"))
RESERVED = Reservation(Decimal("0.5"), 1000)


def chat_call(content="go on", max_tokens=100, purpose="turn"):
    messages = [{"role": "user", "content": content}]
    body = {"model": "m", "messages": messages, "max_tokens": max_tokens}
    return Call(CallKey(1, "auditor", purpose), "chat", body)


def completion_call(prompt="I remember", max_tokens=100, sample=0):
    key = CallKey(1, "target", "sample", arm="raw", sample=sample)
    return Call(key, "completions", {"model": "m", "prompt": prompt, "max_tokens": max_tokens})


def meter(max_usd=None, max_tokens=None):
    return BudgetMeter(Budget(max_usd=max_usd, max_tokens=max_tokens))


def opened(path):
    return next_process(path, "2026-01-02T03:04:05Z")


# --- the worst case -----------------------------------------------------------------------------

any_text = st.text(st.characters(exclude_categories=()))
prices = st.builds(Price, *[st.decimals(0, 1, places=9)] * 3)


@given(any_text, st.integers(1, 10_000), st.sampled_from([chat_call, completion_call]))
def test_worst_case_has_a_token_for_each_byte(text, max_tokens, make_call):
    """However a tokenizer cuts a text, it makes no more tokens than the text has bytes; the
    template's room is left for the template."""
    call = make_call(text, max_tokens)

    reserved = worst_case(call, PRICE)

    input_tokens = reserved.tokens - TEMPLATE_TOKENS - max_tokens
    assert input_tokens == body_bytes(call.body) > len(text.encode("utf-8", "surrogatepass"))


@given(any_text, prices, st.data())
def test_worst_case_covers_every_price_that_can_come_of_it(text, price, data):
    """Whatever tokens a server counts within the bound, their list price is covered."""
    call = completion_call(prompt=text)
    most = body_bytes(call.body) + TEMPLATE_TOKENS
    usage = Usage(data.draw(st.integers(0, most)), data.draw(st.integers(0, 100)))

    reserved = worst_case(call, price)

    cost = price_of(usage, price)
    assert cost is not None
    assert reserved.usd is not None
    assert cost <= reserved.usd
    assert sum((usage.prompt_tokens or 0, usage.completion_tokens or 0)) <= reserved.tokens


def test_bound_is_the_price_of_everything_at_once():
    """The bound adds the request, every input byte, the template's room and the whole output."""
    reserved = bound(1000, 500, PRICE)

    assert reserved.tokens == 1000 + 1024 + 500
    assert reserved.usd == Decimal("0.001") + 2024 * PRICE.input_usd + 500 * PRICE.output_usd


def test_bound_without_a_price_counts_tokens_only():
    """An unknown price is unknown, not zero."""
    assert bound(1000, 500, None) == Reservation(None, 2524, 500)


@pytest.mark.parametrize(
    ("usage", "price", "cost"),
    [
        (Usage(10, 20), PRICE, Decimal("0.00133")),
        (Usage(0, 0), PRICE, Decimal("0.001")),
        (Usage(10, 20), None, None),
        (Usage(None, 20), PRICE, None),
        (Usage(10, None), PRICE, None),
    ],
)
def test_list_price_is_known_only_with_tokens_and_price(usage, price, cost):
    """Where tokens or the price are unknown the cost is null, never 0."""
    assert price_of(usage, price) == cost


# --- what an attempt is charged -----------------------------------------------------------------

TOLD = Usage(30, 12)
CHARGES = {
    "reply that is billed": (Reply("", usage=TOLD, cost_usd=Decimal("0.1")), "0.1", 42),
    "reply that is free": (Reply("", usage=TOLD, cost_usd=Decimal(0)), "0", 42),
    "reply without cost": (Reply("", usage=TOLD), "0.5", 42),
    "reply without usage": (Reply("", cost_usd=Decimal("0.1")), "0.1", 1000),
    "reply with half its usage": (Reply("", usage=Usage(30, None)), "0.5", 1000),
    "reply without anything": (Reply(""), "0.5", 1000),
    "clean transient error": (TransientError("429: later"), "0", 0),
    "clean rejection": (RejectedError("400: no"), "0", 0),
    "clean fatal error": (FatalError("401: no"), "0", 0),
    "error that may be billed": (TransientError("cut off", maybe_billed=True), "0.5", 1000),
    "error that was billed": (
        TransientError("broke off", cost_usd=Decimal("0.2"), tokens=42),
        "0.2",
        42,
    ),
    "error with a cost and unknown tokens": (
        TransientError("cut off", cost_usd=Decimal("0.2"), maybe_billed=True),
        "0.2",
        1000,
    ),
    "error with a cost alone": (TransientError("odd", cost_usd=Decimal("0.2")), "0.2", 1000),
    "error that was free": (TransientError("odd", cost_usd=Decimal(0), tokens=0), "0", 0),
    "error with tokens alone": (TransientError("odd", tokens=42), "0.5", 42),
    "error with tokens and unknown cost": (
        TransientError("cut off", tokens=42, maybe_billed=True),
        "0.5",
        42,
    ),
    "lost in flight": (None, "0.5", 1000),
}


@pytest.mark.parametrize(("result", "usd", "tokens"), CHARGES.values(), ids=CHARGES)
def test_attempt_is_charged_what_is_known_else_what_was_reserved(result, usd, tokens):
    """A known cost counts; an unknown one counts at its worst; a clean failure counts nothing."""
    assert charge(RESERVED, result) == Reservation(Decimal(usd), tokens)


def test_unknown_price_stays_unknown_when_charged():
    """Without a price only tokens can be charged."""
    assert charge(Reservation(None, 1000), None) == Reservation(None, 1000)


BOUND = Reservation(None, 1000, 100)
LATER = Price(Decimal("0.001"), Decimal("0.01"), Decimal("0.5"))
LATE_CHARGES = {
    "lost in flight": (None, "2.4", 1000),
    "reply with tokens": (Reply("", usage=TOLD), "0.65", 42),
    "reply with its cost": (Reply("", usage=TOLD, cost_usd=Decimal("0.1")), "0.1", 42),
    "reply without usage": (Reply(""), "2.4", 1000),
    "error that may be billed": (TransientError("cut off", maybe_billed=True), "2.4", 1000),
    "clean error": (TransientError("429: later"), "0", 0),
}


@pytest.mark.parametrize(("result", "usd", "tokens"), LATE_CHARGES.values(), ids=LATE_CHARGES)
def test_price_that_is_learnt_later_counts_where_none_was_known(result, usd, tokens):
    """Known tokens are priced; else the bounds of input and output are, each at its own rate."""
    charged = charge(BOUND, result, LATER)

    assert (charged.usd, charged.tokens) == (Decimal(usd), tokens)


@pytest.mark.parametrize(
    ("reply", "tokens"),
    [
        (Reply("x", usage=Usage(0, 0, total_tokens=0)), 1000),
        (Reply("x", usage=Usage(0, 12)), 1000),
        (Reply("x", usage=Usage(0, 12, total_tokens=12)), 1000),
        (Reply("x", usage=Usage(30, 0)), 1000),
        (Reply("", reasoning="hm", usage=Usage(30, 0)), 1000),
        (Reply("", usage=Usage(30, 0)), 30),
        (Reply("x", usage=Usage(0, 0, total_tokens=42)), 42),
    ],
    ids=[
        "nothing",
        "no prompt",
        "no prompt in the total",
        "no text",
        "no reasoning",
        "empty",
        "in the total",
    ],
)
def test_zero_is_no_count_of_what_was_sent_or_written(reply, tokens):
    """A server that counts nothing bills all the same: such a call is charged at its maximum."""
    side = PricedMeter(meter(), LATER)
    reserved = replace(BOUND, usd=Decimal("2.4"))

    charged = charge(reserved, side.priced(reply))

    assert charged.tokens == tokens
    if tokens == 1000:
        assert (side.priced(reply).cost_usd, charged.usd) == (None, Decimal("2.4"))
    else:
        assert charged.usd == side.priced(reply).cost_usd


@pytest.mark.parametrize("rates", [("0.01", "0.001"), ("0.001", "0.01")])
def test_worst_case_that_is_not_divided_has_the_dearer_rate(rates):
    """Where it is not known which tokens are output, each may be of the dearer kind."""
    price = Price(*map(Decimal, rates))

    assert charge(Reservation(None, 1000), None, price).usd == 10


def test_reservation_in_usd_stays_whatever_the_price_is_later():
    """A worst case that had a cost keeps it."""
    assert charge(RESERVED, None, LATER) == RESERVED


def test_unknown_cost_fits_under_no_cap_in_usd():
    """What cannot be bounded is not sent, and nothing is sent after it, under a cap in USD."""
    unknown = Reservation(None, 10)
    capped = meter(max_usd=100.0)
    assert not capped.covers(unknown)
    assert meter(max_tokens=10).covers(unknown)
    with pytest.raises(BudgetExceededError):
        capped.reserve(unknown, closing=False)
    capped.charge_past([Attempt("target", unknown, None)])
    assert not capped.covers(Reservation(Decimal(0), 0))
    held = meter(max_usd=100.0)
    held.hold_for_closing(unknown)
    assert not held.covers(Reservation(Decimal(0), 0))


@pytest.mark.parametrize(
    ("usage", "tokens", "usd"),
    [
        (Usage(30, 12, total_tokens=42), 42, "0.65"),
        (Usage(30, 12, total_tokens=52), 52, "0.75"),
        (Usage(30, 12, total_tokens=7), 42, "0.65"),
        (Usage(30, None, total_tokens=52), 52, "0.75"),
        (Usage(total_tokens=10), 10, "0.6"),
        (Usage(30, None, total_tokens=30), None, None),
        (Usage(None, 12, total_tokens=7), None, None),
        (Usage(total_tokens=0), None, None),
        (Usage(30, None), None, None),
    ],
)
def test_tokens_that_only_the_total_counts_are_charged(usage, tokens, usd):
    """Reasoning that a server counts in the total alone is charged at the dearer rate."""
    assert usage.total == tokens
    assert price_of(usage, LATER) == (usd and Decimal(usd))


def test_reply_is_priced_only_if_the_server_named_no_cost():
    """What the server billed stands, 0 among it; else the list price counts, where known."""
    side = PricedMeter(meter(), PRICE)

    assert side.priced(Reply("", usage=TOLD, cost_usd=Decimal(0))).cost_usd == 0
    assert side.priced(Reply("", usage=TOLD)).cost_usd == price_of(TOLD, PRICE)
    assert side.priced(Reply("")).cost_usd is None
    assert PricedMeter(meter(), None).priced(Reply("", usage=TOLD)).cost_usd is None


# --- the cap ------------------------------------------------------------------------------------


def test_cap_can_be_reached_but_not_passed():
    """Reservations fit exactly up to the cap, in exact decimals."""
    budget = meter(max_usd=0.3, max_tokens=30)
    budget.reserve(Reservation(Decimal("0.1"), 10), closing=False)
    budget.reserve(Reservation(Decimal("0.2"), 20), closing=False)

    with pytest.raises(BudgetExceededError):
        budget.reserve(Reservation(Decimal("1e-20"), 0), closing=False)
    with pytest.raises(BudgetExceededError):
        budget.reserve(Reservation(Decimal(0), 1), closing=False)


def test_refused_reservation_takes_nothing():
    """A call that does not fit leaves the room to one that does."""
    budget = meter(max_usd=1.0)
    with pytest.raises(BudgetExceededError):
        budget.reserve(Reservation(Decimal("1.5"), 0), closing=False)

    budget.reserve(Reservation(Decimal(1), 0), closing=False)

    assert not budget.covers(Reservation(Decimal("0.1"), 0))


def test_settling_frees_what_was_not_used():
    """After a cheap call the rest of its reservation is free for others."""
    budget = meter(max_usd=1.0, max_tokens=1000)
    budget.reserve(Reservation(Decimal(1), 1000), closing=False)
    budget.settle(Reservation(Decimal(1), 1000), Reservation(Decimal("0.25"), 100))

    assert (budget.spent_usd, budget.spent_tokens) == (Decimal("0.25"), 100)
    assert budget.covers(Reservation(Decimal("0.75"), 900))
    assert not budget.covers(Reservation(Decimal("0.76"), 900))
    assert not budget.covers(Reservation(Decimal("0.75"), 901))


@pytest.mark.parametrize(
    ("usd", "tokens", "fits"), [(99, 100, True), (100, 99, True), (101, 1, False), (1, 101, False)]
)
def test_both_caps_count(usd, tokens, fits):
    """A call must fit under the cap in USD and under the cap in tokens."""
    assert meter(100.0, 100).covers(Reservation(Decimal(usd), tokens)) is fits


def test_without_a_cap_everything_fits():
    """Nobody who set no budget is stopped by one."""
    assert meter().covers(Reservation(Decimal(10**9), 10**12), RESERVED)


def test_several_needs_must_fit_together():
    """An iteration begins only if all its calls fit at once, not each by itself."""
    budget = meter(max_usd=1.0)
    half = Reservation(Decimal("0.6"), 0)

    assert budget.covers(half)
    assert not budget.covers(half, half)


def test_only_the_closing_request_may_use_what_is_held_for_it():
    """What is kept aside is out of reach for every other call, in USD and in tokens."""
    budget = meter(max_usd=1.0, max_tokens=100)
    budget.hold_for_closing(Reservation(Decimal("0.4"), 40))
    side = PricedMeter(budget, Price(Decimal(0), Decimal("0.005")))
    rest = Reservation(Decimal("0.6"), 60)

    assert budget.covers(rest)
    assert not budget.covers(Reservation(Decimal("0.61"), 60))
    assert not budget.covers(Reservation(Decimal("0.6"), 61))
    assert budget.covers(Reservation(Decimal(1), 100), closing=True)
    assert not budget.covers(Reservation(Decimal(1), 101), closing=True)
    with pytest.raises(BudgetExceededError):
        side.reserve(chat_call(max_tokens=200))


@pytest.mark.parametrize(
    ("purpose", "is_sent"), [("closing", True), ("turn", False), ("re_ask", False)]
)
def test_purpose_of_a_call_decides_whether_it_may_use_what_is_held(purpose, is_sent):
    """A side's meter opens the closing's reserve to the closing request alone."""
    budget = meter(max_usd=1.0)
    budget.hold_for_closing(Reservation(Decimal("0.9"), 0))
    side = PricedMeter(budget, Price(Decimal(0), Decimal("0.005")))

    try:
        amount = side.reserve(chat_call(purpose=purpose))
    except BudgetExceededError:
        amount = None

    assert (amount is not None) is is_sent


def test_new_hold_replaces_the_old_one():
    """Each iteration says anew what its closing request may need."""
    budget = meter(max_usd=1.0)
    budget.hold_for_closing(Reservation(Decimal("0.9"), 0))
    budget.hold_for_closing(Reservation(Decimal("0.2"), 0))

    assert budget.covers(Reservation(Decimal("0.8"), 0))


# --- over the journal ---------------------------------------------------------------------------

small_costs = st.none() | st.decimals(0, 100, places=9)
small_counts = st.none() | st.integers(0, 10_000)
results = st.one_of(
    st.builds(
        Reply,
        text=st.just("x"),
        usage=st.builds(Usage, small_counts, small_counts),
        cost_usd=small_costs,
    ),
    st.builds(
        TransientError,
        st.just("failed"),
        maybe_billed=st.booleans(),
        tokens=small_counts,
        cost_usd=small_costs,
    ),
    st.none(),
)
sides = st.none() | prices


@given(st.lists(st.tuples(results, sides, st.integers(1, 500)), max_size=12))
def test_resumed_meter_knows_what_the_live_one_spent(attempts):
    """The books of a resumed run are those of the run before, with what was in flight charged
    at its reservation."""
    live = meter()
    with tempfile.TemporaryDirectory() as folder:
        journal = opened(Path(folder) / "journal.jsonl")
        journal.begin({})
        for number, (result, price, max_tokens) in enumerate(attempts):
            side = PricedMeter(live, price)
            call = completion_call(max_tokens=max_tokens, sample=number % 5)
            reserved = side.reserve(call)
            attempt = journal.sent(call, reserved)
            if result is None:
                continue
            priced = side.priced(result) if isinstance(result, Reply) else result
            journal.attempted(call, attempt, priced)
            side.settle(reserved, priced)
        journal.close()
        again = opened(Path(folder) / "journal.jsonl")
        again.close()

    resumed = meter()
    resumed.charge_past(again.attempts)

    assert resumed.spent_usd == live.spent_usd + live._reserved_usd
    assert resumed.spent_tokens == live.spent_tokens + live._reserved_tokens


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = opened(path)
    journal.begin({})
    journal.close()
    return path


PRICES = {"auditor": PRICE, "target": None}


def gate(path, max_tokens):
    budget = meter(max_tokens=max_tokens)
    return BudgetGate(budget, PRICES, opened(path))


NEED = Need("target", input_bytes=1000, output_tokens=476)
"""With the template's room this is 2500 tokens."""


def test_gate_opens_only_if_the_closing_request_fits_too(path):
    """An iteration begins if its calls and the closing request fit together."""
    assert not gate(path, 4999).may_begin(1, [NEED], NEED)
    assert gate(path, 5000).may_begin(1, [NEED], NEED)


def test_gate_holds_back_what_the_closing_request_needs(path):
    """Once asked, the gate keeps the closing's share from the calls of the iteration."""
    opened_gate = gate(path, 5000)

    opened_gate.may_begin(1, [NEED], NEED)

    assert opened_gate.budget.covers(bound_of(NEED, PRICES))
    assert not opened_gate.budget.covers(*[bound_of(NEED, PRICES)] * 2)


def test_closed_gate_is_asked_again_by_a_run_with_more_money(path):
    """That the budget ended a run is not held against it once the budget is raised."""
    assert not gate(path, 4999).may_begin(1, [NEED], NEED)
    assert gate(path, 50_000).may_begin(1, [NEED], NEED)


def test_iteration_that_was_begun_is_gone_through_with_less_money_too(path):
    """A replay takes the decision from the record, so that it sees the same run."""
    assert gate(path, 5000).may_begin(1, [NEED], NEED)
    assert gate(path, 1).may_begin(1, [NEED], NEED)


def test_closing_shows_as_much_as_the_budget_covers(path):
    """The first limit that fits is taken, else the tightest; the choice is recorded."""
    options = {limit: Need("auditor", limit, 0) for limit in (100_000, 2000, 400)}

    assert gate(path, 3024).closing_limit(1, options) == 2000
    assert gate(path, 100).closing_limit(2, options) == 400
    assert gate(path, 10**6).closing_limit(3, options) == 100_000
    assert gate(path, 10**6).closing_limit(1, options) == 2000


def test_closing_limit_may_use_what_is_held_for_it(path):
    """What was kept aside for the closing request counts as room for it."""
    closing = gate(path, 5000)
    closing.may_begin(1, [NEED], NEED)

    assert closing.closing_limit(2, {1: Need("auditor", 3000, 0), 0: NEED}) == 1


def test_stage_that_was_cut_off_stays_so_until_the_run_goes_on(path):
    """A replay stops where the budget stopped the run; a run that goes on may try again."""

    def sends(stage):
        rich = gate(path, 10**6)
        with suppress(BudgetExceededError), rich.stage(stage):
            rich.budget.reserve(Reservation(None, 1), closing=False)
            return True
        return False

    with pytest.raises(BudgetExceededError), gate(path, 1).stage("1/turn"):
        raise BudgetExceededError("not covered")

    assert [sends("1/turn"), sends("1/samples"), sends("1/turn")] == [False, True, False]
    journal = opened(path)
    journal.resume("1", reopen=True)
    journal.close()
    assert sends("1/turn")


def test_need_is_said_in_dollars_and_tokens():
    """A budget that is too small is told in USD and tokens, or in tokens where no price is known."""
    auditor = Need("auditor", 976, 1000)
    known, unknown = bound_of(auditor, PRICES), bound_of(NEED, PRICES)

    assert describe([known, known]) == "$0.0440, 6,000 tokens"
    assert describe([known, unknown]) == "5,500 tokens"


# --- the summary's figures ----------------------------------------------------------------------


def replied(cost, role="target", usage=TOLD):
    cost_usd = None if cost is None else Decimal(cost)
    return Attempt(role, RESERVED, Reply("x", usage=usage, cost_usd=cost_usd))


def test_costs_are_added_exactly():
    """Ten cents and twenty cents are thirty cents."""
    total = spend([replied("0.1"), replied("0.2")])["total"]

    assert total["cost_usd"] == 0.3
    assert (total["prompt_tokens"], total["completion_tokens"]) == (60, 24)


def test_cost_is_null_as_soon_as_one_is_unknown():
    """An unknown cost is never shown as 0; what is known is shown beside it."""
    spent = spend([replied("0.1"), replied(None), replied("0.2", role="auditor")])

    assert spent["by_role"]["target"]["cost_usd"] is None
    assert spent["by_role"]["target"]["known_cost_usd"] == 0.1
    assert spent["by_role"]["target"]["calls_without_cost"] == 1
    assert spent["by_role"]["auditor"]["cost_usd"] == 0.2
    assert (spent["total"]["cost_usd"], spent["total"]["known_cost_usd"]) == (None, 0.3)


def test_calls_that_were_free_cost_nothing():
    """A cost of 0 is known."""
    assert spend([replied("0")])["total"]["cost_usd"] == 0


def test_what_may_have_been_billed_stands_apart():
    """Lost and cut-off attempts are counted at their worst, beside the known costs."""
    attempts = [
        replied("0.1"),
        Attempt("target", RESERVED, None),
        Attempt("target", RESERVED, TransientError("cut off", maybe_billed=True)),
        Attempt("target", RESERVED, TransientError("429: later")),
        Attempt("target", RESERVED, TransientError("broke off", cost_usd=Decimal("0.02"))),
    ]

    total = spend(attempts)["total"]

    assert (total["calls"], total["cost_usd"]) == (1, 0.12)
    assert total["fruitless_attempts"] == {
        "failed": 3,
        "maybe_billed": 2,
        "maybe_billed_usd": 1.0,
        "maybe_billed_tokens": 2000,
    }


def test_figures_count_prices_that_were_learnt_later():
    """A call without cost is counted at the price learnt later, and a lost one at its bounds."""
    reply = Attempt("target", BOUND, Reply("", usage=TOLD))
    lost = Attempt("target", BOUND, None)

    before, after = (
        spend([replace(each, price=price) for each in (reply, lost)])["total"]
        for price in (None, LATER)
    )

    assert (before["known_cost_usd"], before["calls_without_cost"]) == (0, 1)
    assert before["fruitless_attempts"]["maybe_billed_usd"] is None
    assert (after["cost_usd"], after["calls_without_cost"]) == (0.65, 0)
    assert after["fruitless_attempts"]["maybe_billed_usd"] == 2.4


def test_nothing_spent_is_zero_for_both_sides():
    """A run without a call has spent nothing, which is known."""
    spent = spend([])

    assert set(spent["by_role"]) == {"auditor", "target"}
    assert [side["cost_usd"] for side in (*spent["by_role"].values(), spent["total"])] == [0, 0, 0]


@given(st.permutations([replied("0.1"), replied("0.2", "auditor"), replied("1e-9"), replied("7")]))
def test_figures_do_not_depend_on_the_order_of_calls(attempts):
    """Which reply came first changes no figure."""
    assert spend(attempts)["total"]["cost_usd"] == 7.300000001


@given(amounts=st.lists(st.decimals(0, 10**6, places=12), min_size=1, max_size=5))
def test_worst_case_is_told_rounded_up(amounts):
    """A person who sets a budget to the amount that is shown is not refused again."""
    told = describe([Reservation(usd, 1, None) for usd in amounts])

    shown = Decimal(told.split(",")[0].removeprefix("$"))
    assert sum(amounts) <= shown < sum(amounts) + Decimal("0.0001")
