"""What calls may cost, what they did cost, and the cap that is never passed.

Before an attempt leaves, the most it can cost is reserved: as many input tokens as its body has
UTF-8 bytes (no tokenizer makes more), and all of `max_tokens`. The cap holds as long as a server
honours `max_tokens` and bills no more than it lists.
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
"""Room for what a server's own chat template adds to a prompt."""


def worst_case(call: Call, price: Price | None) -> Reservation:
    """Return the most that one attempt at this call can cost."""
    most_out = int(call.body.get("max_tokens", 0)) * int(call.body.get("n", 1))
    return bound(body_bytes(call.body), most_out, price)


def body_bytes(body: Json) -> int:
    """Count the UTF-8 bytes of a request body: an upper bound for its input tokens."""
    return len(json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def bound(input_bytes: int, output_tokens: int, price: Price | None) -> Reservation:
    """Return the most that a call of this size can cost."""
    input_tokens = input_bytes + TEMPLATE_TOKENS
    if price is None:
        return Reservation(None, input_tokens + output_tokens)
    usd = price.request_usd + input_tokens * price.input_usd + output_tokens * price.output_usd
    return Reservation(usd, input_tokens + output_tokens)


def bound_of(need: Need, prices: Mapping[str, Price | None]) -> Reservation:
    """Return the most that a call of this size can cost, on its side."""
    return bound(need.input_bytes, need.output_tokens, prices[need.role])


def describe(amounts: Sequence[Reservation]) -> str:
    """Say how much these are together."""
    tokens = f"{sum(amount.tokens for amount in amounts):,} tokens"
    if any(amount.usd is None for amount in amounts):
        return tokens
    return f"${sum(amount.usd or 0 for amount in amounts):.4f}, {tokens}"


def price_of(usage: Usage, price: Price | None) -> Decimal | None:
    """Return the list price of a call, or None where tokens or price are unknown (never 0)."""
    if price is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    spent_in = usage.prompt_tokens * price.input_usd
    return price.request_usd + spent_in + usage.completion_tokens * price.output_usd


def charge(reserved: Reservation, result: Reply | ClientError | None) -> Reservation:
    """Return what an attempt is charged at: what is known, else all that was reserved for it.

    An attempt without any result was in flight when the process ended: it may have been billed.
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
    """Keeps what is spent and what is set aside under the cap."""

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
        """Keep this much aside for the closing request; nothing else may use it."""
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
        """Set the amount aside, or raise BudgetExceededError."""
        if not self.covers(amount, closing=closing):
            raise BudgetExceededError("the budget does not cover this call; it was not sent")
        self._reserved_usd += amount.usd or Decimal(0)
        self._reserved_tokens += amount.tokens

    def settle(self, reserved: Reservation, spent: Reservation) -> None:
        """Replace what was set aside by what was really spent."""
        self._reserved_usd -= reserved.usd or Decimal(0)
        self._reserved_tokens -= reserved.tokens
        self._spend(spent)

    def _spend(self, amount: Reservation) -> None:
        self.spent_usd += amount.usd or Decimal(0)
        self.spent_tokens += amount.tokens


@dataclass(frozen=True, slots=True)
class SideMeter:
    """One side's view of the budget: it knows that side's price."""

    budget: BudgetMeter
    price: Price | None

    def reserve(self, call: Call) -> Reservation:
        """Set aside the most this call can cost."""
        amount = worst_case(call, self.price)
        self.budget.reserve(amount, closing=call.key.purpose == "closing")
        return amount

    def settle(self, reserved: Reservation, result: Reply | ClientError) -> None:
        """Replace the reservation by what the attempt really cost."""
        self.budget.settle(reserved, charge(reserved, result))

    def priced(self, reply: Reply) -> Reply:
        """Return the reply with its list price, where the server billed none."""
        if reply.cost_usd is not None:
            return reply
        return replace(reply, cost_usd=price_of(reply.usage, self.price))


@dataclass(frozen=True, slots=True)
class BudgetGate:
    """Decides by the budget whether to go on, and records what it decided."""

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
        """Tell whether the budget broke this stage off before."""
        return self.decisions.has_decided(f"cut/{stage}")

    def cut_off(self, stage: str) -> None:
        """Record that the budget broke this stage off."""
        self.decisions.decide(f"cut/{stage}", lambda: False)

    def closing_limit(self, iteration: int, options: Mapping[int, Need]) -> int:
        """Return the first limit on shown texts with which the closing request is covered."""

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
    """Add up what each side cost: known costs, and apart from them what may have been billed."""
    known = list(attempts)
    by_role = {
        role: spend_of(each for each in known if each.role == role)
        for role in ("auditor", "target")
    }
    return {"by_role": by_role, "total": spend_of(known)}


def spend_of(attempts: Iterable[Attempt]) -> Json:
    """Add up what attempts cost, whoever was asked."""
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
        """Return the figures; the cost is null as soon as one call's is unknown."""
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
