"""Check what a journal says that the budget decided: a run cannot stop for want of money that it has.

A decision is recorded where it was made. So it is made again from what was spent and reserved by then,
the cap in force, and what a replay says that it is about.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from uncensoring_chinese_models.domain import Reservation
from uncensoring_chinese_models.models import BudgetMeter, bound_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.domain import Json, Price
    from uncensoring_chinese_models.runner import Needs, Replayed


class Books(NamedTuple):
    """The state of a run before a line of its journal."""

    config: AuditConfig
    prices: Mapping[str, Price | None]
    spent: Reservation
    """With what was reserved for calls under way."""
    peak: Reservation
    """The most that was spent and reserved at one time since the iteration began."""

    def bounds(self, needs: Needs) -> list[Reservation]:
        """Return the worst case of every call of an iteration, and of the closing request."""
        return [bound_of(each, self.prices) for each in (*needs.iteration, *needs.closing.values())]

    def covers(self, *needs: Reservation, after: Reservation) -> bool:
        """Return whether the budget covers all of these, once so much is spent."""
        budget = BudgetMeter(self.config.budget, after.usd or Decimal(0), after.tokens)
        return budget.covers(*needs, closing=True)


def wrong_decision(record: Json, books: Books, replayed: Replayed, *, is_last_part: bool) -> str:
    """Return what is wrong with a decision; nothing if it can be true.

    Args:
        record: the line.
        books: what was spent before it.
        replayed: says what the decision is about.
        is_last_part: False if calls were repeated later, as other answers lead to other needs.
    """
    stage, _, about = str(record["name"]).partition("/")
    budget = books.config.budget
    if budget.max_usd is None and budget.max_tokens is None and record["value"] is False:
        return (
            f"says that the budget stopped the run ({stage}/{about}), though its config sets none"
        )
    check = _CHECKS.get(stage)
    return check(about, record["value"], books, replayed) if check and is_last_part else ""


def _wrong_go(about: str, value: Any, books: Books, replayed: Replayed) -> str:
    """Compare whether an iteration may begin with what the budget covers."""
    needs = replayed.needs.get(f"go/{about}")
    if needs is None or value is books.covers(*books.bounds(needs), after=books.spent):
        return ""
    says, does = ("covers", "does not") if value is True else ("does not cover", "does")
    return f"says that the budget {says} iteration {about}, which by the lines before it {does}"


def _wrong_limit(about: str, value: Any, books: Books, replayed: Replayed) -> str:
    """Compare the limit on shown texts with the first one at which the budget covers the request."""
    needs = replayed.needs.get(f"closing/{about}")
    if needs is None:
        return ""
    bounds = {limit: bound_of(need, books.prices) for limit, need in needs.closing.items()}
    fitting = (limit for limit in bounds if books.covers(bounds[limit], after=books.spent))
    is_right = value == next(fitting, list(bounds)[-1])
    return "" if is_right else f"gives another limit on texts ({value}) than the budget asks for"


def _wrong_cut(about: str, _: Any, books: Books, replayed: Replayed) -> str:
    """Say that a stage was cut off in plenty.

    Which call was not covered is not on record. It needed no more than all calls of an iteration, as
    often as the auditor may be asked. What scoring by likelihood needs is not known.
    """
    iteration, _, name = about.partition("/")
    if not name:
        return ""
    asked = [f"go/{int(iteration) - before}" for before in range(2)]  # none is after the last one
    needs = next((replayed.needs[each] for each in asked if each in replayed.needs), None)
    most = books.bounds(needs) * (books.config.auditor_re_asks + 2) if needs else []
    if not most or not books.covers(*most, after=books.peak):
        return ""
    return f"says that the budget cut off {name} of iteration {iteration}, which it covers by far"


_CHECKS: Mapping[str, Callable[[str, Any, Books, Replayed], str]] = {
    "go": _wrong_go,
    "closing": _wrong_limit,
    "cut": _wrong_cut,
}
