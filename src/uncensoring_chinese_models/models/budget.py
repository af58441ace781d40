"""The budget: the worst-case cost of calls, their actual cost, and the cap.

Before an attempt is sent, its worst case is reserved: as many input tokens as its body has UTF-8
bytes (no tokenizer makes more), and all of `max_tokens`. The cap holds as long as a server honours
`max_tokens` and bills no more than its list price. What an attempt cost is stated by the server, else
follows from its tokens and the price, else counts as its worst case.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import ROUND_UP, Decimal
from typing import TYPE_CHECKING

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.domain import Reply, Reservation, Usage
from uncensoring_chinese_models.errors import BudgetExceededError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from uncensoring_chinese_models.config import Budget
    from uncensoring_chinese_models.domain import Attempt, Call, Json, Price
    from uncensoring_chinese_models.errors import ClientError
    from uncensoring_chinese_models.models.protocols import Decisions, Need

TEMPLATE_TOKENS = 1024
"""Allowance for the tokens that a server's own chat template adds to a prompt."""


def worst_case(call: Call, price: Price | None) -> Reservation:
    """Return the worst-case cost of one attempt at this call."""
    max_output = int(call.body.get("max_tokens", 0)) * int(call.body.get("n", 1))
    return bound(body_bytes(call.body), max_output, price)


def body_bytes(body: Json) -> int:
    """Count the UTF-8 bytes of a request body: an upper bound for its input tokens."""
    return len(strict_json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def bound(input_bytes: int, output_tokens: int, price: Price | None) -> Reservation:
    """Return the worst-case cost of a call of this size."""
    tokens = input_bytes + TEMPLATE_TOKENS + output_tokens
    return at_price(Reservation(None, tokens, output_tokens), price)


def bound_of(need: Need, prices: Mapping[str, Price | None]) -> Reservation:
    """Return the worst-case cost of a call of this size, at the price of its model."""
    return bound(need.input_bytes, need.output_tokens, prices[need.role])


def describe(amounts: Sequence[Reservation]) -> str:
    """Return the sum of these amounts in words, rounded up: a budget of so much covers it."""
    tokens = f"{sum(amount.tokens for amount in amounts):,} tokens"
    if any(amount.usd is None for amount in amounts):
        return tokens
    usd = sum((amount.usd or Decimal(0) for amount in amounts), Decimal(0))
    return f"${usd.quantize(Decimal('0.0001'), ROUND_UP):f}, {tokens}"


def at_price(bound: Reservation, price: Price | None) -> Reservation:
    """Return a worst case with its cost; one that has a cost keeps it."""
    if bound.usd is not None or price is None:
        return bound
    if bound.output_tokens is None:
        usage = Usage(total_tokens=bound.tokens)
    else:
        usage = Usage(bound.tokens - bound.output_tokens, bound.output_tokens)
    return replace(bound, usd=price_of(usage, price))


def price_of(usage: Usage, price: Price | None) -> Decimal | None:
    """Return the list price of a call, or None if tokens or price are unknown (never 0)."""
    if price is None or usage.total is None:
        return None
    prompt, completion = usage.prompt_tokens or 0, usage.completion_tokens or 0
    # What only the total counts is reasoning, or is not told apart.
    rest = (usage.total - prompt - completion) * max(price.input_usd, price.output_usd)
    return price.request_usd + prompt * price.input_usd + completion * price.output_usd + rest


def charge(
    reserved: Reservation, result: Reply | ClientError | None, price: Price | None = None
) -> Reservation:
    """Return the charge of an attempt: its known cost, else all that was reserved for it.

    An attempt without a result was under way when the process ended: it may have been billed.
    Where no price was known when it was sent, `price` is the one that was learnt later.
    """
    worst = at_price(reserved, price)
    if result is None:
        return worst
    if isinstance(result, Reply):
        usd, tokens, is_free = _cost_of(result, price), _counted(result).total, False
    else:
        usd, tokens = result.cost_usd, result.tokens
        is_free = not (result.maybe_billed or tokens) and usd is None
    fallback = Reservation(Decimal(0), 0) if is_free else worst
    return Reservation(
        fallback.usd if usd is None else usd, fallback.tokens if tokens is None else tokens
    )


def _cost_of(reply: Reply, price: Price | None) -> Decimal | None:
    return price_of(_counted(reply), price) if reply.cost_usd is None else reply.cost_usd


def _counted(reply: Reply) -> Usage:
    """Return the tokens of a reply; where no cost is stated, zero for a text is no count of it."""
    if reply.cost_usd is not None:
        return reply.usage
    usage, wrote = reply.usage, reply.text or reply.reasoning
    return replace(
        usage,
        prompt_tokens=usage.prompt_tokens or None,
        completion_tokens=(usage.completion_tokens or None) if wrote else usage.completion_tokens,
        total_tokens=usage.total_tokens or None,
    )


@dataclass(slots=True)
class BudgetMeter:
    """Keeps the sum of spent and reserved amounts under the cap."""

    cap: Budget
    spent_usd: Decimal = Decimal(0)
    spent_tokens: int = 0
    _reserved_usd: Decimal = Decimal(0)
    _reserved_tokens: int = 0
    _closing: Reservation = field(default_factory=lambda: Reservation(Decimal(0), 0))
    _has_unknown_cost: bool = False
    closed: bool = False
    """Whether nothing may be reserved: the budget ended this stage of the run in an earlier process."""

    def charge_past(self, attempts: Iterable[Attempt]) -> None:
        """Count what earlier processes spent on this run."""
        for attempt in attempts:
            self._spend(charge(attempt.reserved, attempt.result, attempt.price))

    def hold_for_closing(self, amount: Reservation) -> None:
        """Reserve this amount for the closing request; nothing else may use it."""
        self._closing = amount

    def covers(self, *needs: Reservation, closing: bool = False) -> bool:
        """Return whether all of these fit under the cap together; an unknown cost fits under none."""
        held = needs if closing else (*needs, self._closing)
        tokens = self.spent_tokens + self._reserved_tokens + sum(need.tokens for need in held)
        if self.cap.max_tokens is not None and tokens > self.cap.max_tokens:
            return False
        if self.cap.max_usd is None:
            return True
        if self._has_unknown_cost or any(need.usd is None for need in held):
            return False
        usd = self.spent_usd + self._reserved_usd + sum(need.usd or Decimal(0) for need in held)
        return usd <= Decimal(str(self.cap.max_usd))

    def reserve(self, amount: Reservation, *, closing: bool) -> None:
        """Reserve the amount, or raise BudgetExceededError."""
        if self.closed or not self.covers(amount, closing=closing):
            raise BudgetExceededError("the budget does not cover this call; it was not sent")
        self._reserved_usd += amount.usd or Decimal(0)
        self._reserved_tokens += amount.tokens

    def settle(self, reserved: Reservation, spent: Reservation) -> None:
        """Replace the reserved amount by the spent amount."""
        self._reserved_usd -= reserved.usd or Decimal(0)
        self._reserved_tokens -= reserved.tokens
        self._spend(spent)

    def _spend(self, amount: Reservation) -> None:
        self._has_unknown_cost |= amount.usd is None
        self.spent_usd += amount.usd or Decimal(0)
        self.spent_tokens += amount.tokens


@dataclass(frozen=True, slots=True)
class PricedMeter:
    """The budget as one model sees it: it knows the price of that model."""

    budget: BudgetMeter
    price: Price | None

    def reserve(self, call: Call) -> Reservation:
        """Reserve the worst-case cost of this call."""
        amount = worst_case(call, self.price)
        purpose = call.key.purpose
        closing = purpose == "closing" or (purpose == "canary" and call.key.ordinal == 1)
        self.budget.reserve(amount, closing=closing)
        return amount

    def settle(self, reserved: Reservation, result: Reply | ClientError) -> None:
        """Replace the reservation by the actual cost of the attempt."""
        self.budget.settle(reserved, charge(reserved, result))

    def priced(self, reply: Reply) -> Reply:
        """Return the reply with its list price if the server reported no cost."""
        return replace(reply, cost_usd=_cost_of(reply, self.price))


@dataclass(frozen=True, slots=True)
class BudgetGate:
    """Decides by the budget whether to continue, and records the decisions."""

    budget: BudgetMeter
    prices: Mapping[str, Price | None]
    decisions: Decisions

    def may_begin(self, iteration: int, needs: Sequence[Need], closing: Need) -> bool:
        """Return whether the budget covers this iteration and the closing request after it."""
        self.budget.hold_for_closing(self._bound(closing))
        return bool(
            self.decisions.decide(
                f"go/{iteration}",
                lambda: self.budget.covers(*(self._bound(need) for need in needs)),
                lasting=False,
            )
        )

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Record if the budget ends this stage; once it has, only recorded answers are given in it."""
        self.budget.closed = self.decisions.has_decided(f"cut/{name}")
        try:
            yield
        except BudgetExceededError:
            self.decisions.decide(f"cut/{name}", lambda: False)
            raise
        finally:
            self.budget.closed = False

    def closing_limit(self, iteration: int, options: Mapping[int, Need]) -> int:
        """Return the first limit on shown texts with which the budget covers the closing request."""

        def choose() -> int:
            fitting = (
                limit
                for limit, need in options.items()
                if self.budget.covers(self._bound(need), closing=True)
            )
            return next(fitting, list(options)[-1])

        return int(self.decisions.decide(f"closing/{iteration}", choose))

    def _bound(self, need: Need) -> Reservation:
        return bound_of(need, self.prices)


def spend(attempts: Iterable[Attempt]) -> Json:
    """Return the costs by role and in total; amounts that may have been billed are kept apart."""
    known = list(attempts)
    by_role = {
        role: spend_of(each for each in known if each.role == role)
        for role in ("auditor", "target")
    }
    return {"by_role": by_role, "total": spend_of(known)}


def spend_of(attempts: Iterable[Attempt]) -> Json:
    """Return the costs of attempts of any role."""
    total = _Total()
    for attempt in attempts:
        total.add(attempt)
    return total.as_json()


@dataclass(slots=True)
class _Total:
    calls: int = 0
    failed_attempts: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    calls_without_cost: int = 0
    uncertain_attempts: int = 0
    uncertain_usd: Decimal = Decimal(0)
    uncertain_tokens: int = 0
    is_bounded: bool = True
    """False if an attempt that may have been billed has no known price."""

    def add(self, attempt: Attempt) -> None:
        result = attempt.result
        if isinstance(result, Reply):
            self.calls += 1
            self.prompt_tokens += result.usage.prompt_tokens or 0
            self.completion_tokens += result.usage.completion_tokens or 0
            cost = _cost_of(result, attempt.price)
            self.calls_without_cost += cost is None
            self.cost_usd += cost or 0
            return
        charged = charge(attempt.reserved, result, attempt.price)
        if result is not None:
            self.failed_attempts += 1
            self.cost_usd += result.cost_usd or 0
        if result is None or result.maybe_billed:
            self.uncertain_attempts += 1
            self.uncertain_tokens += charged.tokens
        if result is None or result.cost_usd is None:
            self.uncertain_usd += charged.usd or 0
            self.is_bounded = self.is_bounded and charged.usd is not None

    def as_json(self) -> Json:
        """Return the figures; the cost is null if that of one call is unknown."""
        return {
            "calls": self.calls,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cost_usd": None if self.calls_without_cost else float(self.cost_usd),
            "known_cost_usd": float(self.cost_usd),
            "calls_without_cost": self.calls_without_cost,
            "fruitless_attempts": {
                "failed": self.failed_attempts,
                "maybe_billed": self.uncertain_attempts,
                "maybe_billed_usd": float(self.uncertain_usd) if self.is_bounded else None,
                "maybe_billed_tokens": self.uncertain_tokens,
            },
        }
