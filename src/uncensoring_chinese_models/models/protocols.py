"""What the parts of an audit are handed, so that they need not know one another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from uncensoring_chinese_models.domain import Call, Reply, Reservation, Role
    from uncensoring_chinese_models.errors import ClientError


@dataclass(frozen=True, slots=True)
class Need:
    """The size of a call that is not written yet, from above."""

    role: Role
    input_bytes: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person waiting at the screen wants to know: a failed attempt, a wait, a warning."""

    text: str
    wait_s: float | None = None


Notify = Callable[[Notice], None]
"""Where notices go."""


class ModelClient(Protocol):
    """Everything that talks to a model: a call in, a reply out."""

    async def complete(self, call: Call) -> Reply:
        """Answer the call, or raise a ClientError."""
        ...


class CallRecord(Protocol):
    """Where calls and their attempts are recorded; the journal is one."""

    def answer(self, call: Call) -> Reply | ClientError | None:
        """Return what this call was answered with before, if it was."""
        ...

    def sent(self, call: Call, reservation: Reservation) -> int:
        """Record that an attempt is about to leave; return its number."""
        ...

    def attempted(self, call: Call, attempt: int, result: Reply | ClientError) -> None:
        """Record durably how the attempt ended."""
        ...

    def done(self, call: Call, error: ClientError | None) -> None:
        """Record that the call is settled, with an error if no attempt succeeded."""
        ...


class Decisions(Protocol):
    """Where decisions are recorded that do not follow from replies; the journal is one."""

    def has_decided(self, name: str) -> bool:
        """Tell whether something was decided under this name."""
        ...

    def decide(self, name: str, value: Callable[[], Any], *, lasting: bool = True) -> Any:
        """Return what was decided before under this name, else decide and record it."""
        ...


class Meter(Protocol):
    """Where the worst case of each attempt is set aside before it leaves; the budget is one."""

    def reserve(self, call: Call) -> Reservation:
        """Set aside the most this call can cost, or raise BudgetExceededError."""
        ...

    def settle(self, reserved: Reservation, result: Reply | ClientError) -> None:
        """Replace the reservation by what the attempt really cost."""
        ...

    def priced(self, reply: Reply) -> Reply:
        """Return the reply with its list price, where the server billed none."""
        ...


class Gate(Protocol):
    """What depends on the state of the budget; its answers are recorded."""

    def may_begin(self, iteration: int, needs: Sequence[Need], closing: Need) -> bool:
        """Return whether the budget covers this iteration and the closing request after it."""
        ...

    def is_cut_off(self, stage: str) -> bool:
        """Tell whether the budget broke this stage off before."""
        ...

    def cut_off(self, stage: str) -> None:
        """Record that the budget broke this stage off."""
        ...

    def closing_limit(self, iteration: int, options: Mapping[int, Need]) -> int:
        """Return the first limit on shown texts with which the closing request is covered."""
        ...
