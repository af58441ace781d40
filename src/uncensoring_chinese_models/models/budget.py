"""The budget: the worst-case cost of calls, their actual cost, and the cap.

Before an attempt is sent, its worst case is reserved: as many input tokens as its body has UTF-8
bytes (no tokenizer makes more), and all of `max_tokens`. The cap holds as long as a server honours
`max_tokens` and bills no more than its list price.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from uncensoring_chinese_models.domain import Reply, Reservation
from uncensoring_chinese_models.errors import BudgetExceededError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from uncensoring_chinese_models.config import Budget
    from uncensoring_chinese_models.domain import Attempt, Call, Json, Price, Usage
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
    return len(json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def bound(input_bytes: int, output_tokens: int, price: Price | None) -> Reservation:
    """Return the worst-case cost of a call of this size."""
    input_tokens = input_bytes + TEMPLATE_TOKENS
    if price is None:
        return Reservation(None, input_tokens + output_tokens)
    usd = price.request_usd + input_tokens * price.input_usd + output_tokens * price.output_usd
    return Reservation(usd, input_tokens + output_tokens)


def bound_of(need: Need, prices: Mapping[str, Price | None]) -> Reservation:
    """Return the worst-case cost of a call of this size, at the price of its model."""
    return bound(need.input_bytes, need.output_tokens, prices[need.role])


def describe(amounts: Sequence[Reservation]) -> str:
    """Return the sum of these amounts in words."""
    tokens = f"{sum(amount.tokens for amount in amounts):,} tokens"
    if any(amount.usd is None for amount in amounts):
        return tokens
    return f"${sum(amount.usd or 0 for amount in amounts):.4f}, {tokens}"


def price_of(usage: Usage, price: Price | None) -> Decimal | None:
    """Return the list price of a call, or None if tokens or price are unknown (never 0)."""
    if price is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    spent_in = usage.prompt_tokens * price.input_usd
    return price.request_usd + spent_in + usage.completion_tokens * price.output_usd


def charge(reserved: Reservation, result: Reply | ClientError | None) -> Reservation:
    """Return the charge of an attempt: its known cost, else all that was reserved for it.

    An attempt without a result was under way when the process ended: it may have been billed.
    """
    if result is None:
        return reserved
    if isinstance(result, Reply):
        usd, tokens, unknown = result.cost_usd, result.usage.total, True
    else:
        usd, tokens, unknown = result.cost_usd, result.tokens, result.maybe_billed
    fallback = reserved if unknown else Reservation(Decimal(0), 0)
    return Reservation(
        fallback.usd if usd is None else usd, fallback.tokens if tokens is None else tokens
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

    def charge_past(self, attempts: Iterable[Attempt]) -> None:
        """Count what earlier processes spent on this run."""
        for attempt in attempts:
            self._spend(charge(attempt.reserved, attempt.result))

    def hold_for_closing(self, amount: Reservation) -> None:
        """Reserve this amount for the closing request; nothing else may use it."""
        self._closing = amount

    def covers(self, *needs: Reservation, closing: bool = False) -> bool:
        """Return whether all of these fit under the cap together."""
        usd = sum((need.usd or Decimal(0) for need in needs), Decimal(0))
        tokens = sum(need.tokens for need in needs)
        if not closing:
            usd += self._closing.usd or Decimal(0)
            tokens += self._closing.tokens
        usd += self.spent_usd + self._reserved_usd
        tokens += self.spent_tokens + self._reserved_tokens
        fits_usd = self.cap.max_usd is None or usd <= Decimal(str(self.cap.max_usd))
        return fits_usd and (self.cap.max_tokens is None or tokens <= self.cap.max_tokens)

    def reserve(self, amount: Reservation, *, closing: bool) -> None:
        """Reserve the amount, or raise BudgetExceededError."""
        if not self.covers(amount, closing=closing):
            raise BudgetExceededError("the budget does not cover this call; it was not sent")
        self._reserved_usd += amount.usd or Decimal(0)
        self._reserved_tokens += amount.tokens

    def settle(self, reserved: Reservation, spent: Reservation) -> None:
        """Replace the reserved amount by the spent amount."""
        self._reserved_usd -= reserved.usd or Decimal(0)
        self._reserved_tokens -= reserved.tokens
        self._spend(spent)

    def _spend(self, amount: Reservation) -> None:
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
        self.budget.reserve(amount, closing=call.key.purpose == "closing")
        return amount

    def settle(self, reserved: Reservation, result: Reply | ClientError) -> None:
        """Replace the reservation by the actual cost of the attempt."""
        self.budget.settle(reserved, charge(reserved, result))

    def priced(self, reply: Reply) -> Reply:
        """Return the reply with its list price if the server reported no cost."""
        if reply.cost_usd is not None:
            return reply
        return replace(reply, cost_usd=price_of(reply.usage, self.price))


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

    def is_cut_off(self, stage: str) -> bool:
        """Return whether the budget ended this stage earlier."""
        return self.decisions.has_decided(f"cut/{stage}")

    def cut_off(self, stage: str) -> None:
        """Record that the budget ended this stage."""
        self.decisions.decide(f"cut/{stage}", lambda: False)

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

    def add(self, attempt: Attempt) -> None:
        result = attempt.result
        if isinstance(result, Reply):
            self.calls += 1
            self.prompt_tokens += result.usage.prompt_tokens or 0
            self.completion_tokens += result.usage.completion_tokens or 0
            if result.cost_usd is None:
                self.calls_without_cost += 1
            else:
                self.cost_usd += result.cost_usd
            return
        self.failed_attempts += result is not None
        charged = charge(attempt.reserved, result)
        if result is None or result.maybe_billed:
            self.uncertain_attempts += 1
            self.uncertain_usd += charged.usd or Decimal(0)
            self.uncertain_tokens += charged.tokens
        else:
            self.cost_usd += charged.usd or Decimal(0)

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
                "maybe_billed_usd": float(self.uncertain_usd),
                "maybe_billed_tokens": self.uncertain_tokens,
            },
        }
