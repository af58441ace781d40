"""Interfaces between the parts of a run, so that no part imports another's implementation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from uncensoring_chinese_models.domain import Call, Reply, Reservation, Role
    from uncensoring_chinese_models.errors import ClientError


@dataclass(frozen=True, slots=True)
class Need:
    """An upper bound on the size of a call that is not written yet."""

    role: Role
    input_bytes: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Notice:
    """A message for the screen during a run: a failed attempt, a wait, a warning."""

    text: str
    wait_s: float | None = None


Notify = Callable[[Notice], None]
"""A function that shows notices."""


class ModelClient(Protocol):
    """A client of a model: a call in, a reply out."""

    async def complete(self, call: Call) -> Reply:
        """Answer the call, or raise a ClientError."""
        ...


class CallRecord(Protocol):
    """A record of calls and their attempts; the journal implements it."""

    def answer(self, call: Call) -> Reply | ClientError | None:
        """Return the recorded answer to this call, or None."""
        ...

    def refusal(self, call: Call) -> ClientError | None:
        """Return the recorded refusal of a call that is not settled: its canary was not answered yet."""
        ...

    def sent(self, call: Call, reservation: Reservation, server: str | None = None) -> int:
        """Record that an attempt is about to be sent to this server; return its number."""
        ...

    def attempted(self, call: Call, attempt: int, result: Reply | ClientError) -> None:
        """Record on disk how the attempt ended."""
        ...

    def done(self, call: Call, error: ClientError | None) -> None:
        """Record that the call is settled, with an error if no attempt succeeded."""
        ...


class Decisions(Protocol):
    """A record of decisions that do not follow from replies; the journal implements it."""

    def has_decided(self, name: str) -> bool:
        """Return whether there is a decision with this name."""
        ...

    def decide(self, name: str, value: Callable[[], Any], *, lasting: bool = True) -> Any:
        """Return the recorded decision with this name; if there is none, decide and record it."""
        ...


class Meter(Protocol):
    """Reserves the worst-case cost of each attempt before it is sent; the budget implements it."""

    def reserve(self, call: Call) -> Reservation:
        """Reserve the worst-case cost of this call, or raise BudgetExceededError."""
        ...

    def settle(self, reserved: Reservation, result: Reply | ClientError) -> None:
        """Replace the reservation by the actual cost of the attempt."""
        ...

    def priced(self, reply: Reply) -> Reply:
        """Return the reply with its list price if the server reported no cost."""
        ...


class Gate(Protocol):
    """Decisions that depend on the budget; they are recorded, so that a resumed run repeats them."""

    def may_begin(self, iteration: int, needs: Sequence[Need], closing: Need) -> bool:
        """Return whether the budget covers this iteration and the closing request after it."""
        ...

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Record if the budget ends this stage; once it has, only recorded answers are given in it."""
        ...

    def closing_limit(self, iteration: int, options: Mapping[int, Need]) -> int:
        """Return the first limit on shown texts with which the budget covers the closing request."""
        ...
