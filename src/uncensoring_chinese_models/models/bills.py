"""What the body of a server's answer says about tokens and cost, wherever it says it.

Servers state a cost beside an answer, beside an error, or at the choice; where two places differ,
the higher figure counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from uncensoring_chinese_models.domain import MAX_USD, Usage
from uncensoring_chinese_models.models import loose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uncensoring_chinese_models.domain import Json

_PROMPT = ("prompt_tokens", "input_tokens", "prompt_eval_count")
_COMPLETION = ("completion_tokens", "output_tokens", "eval_count")
_COST = ("cost", "total_cost", "estimated_cost")
_MAX_PLACES = 1000
"""Of choices, or of usages in a list, only so many are read; one is asked for."""


@dataclass(frozen=True, slots=True)
class Bill:
    """Tokens and cost as a body states them; None where it does not."""

    usage: Usage
    cost_usd: Decimal | None

    @property
    def shows_work(self) -> bool:
        """True if tokens are counted: a model has read or written something."""
        known = (self.usage.prompt_tokens, self.usage.completion_tokens, self.usage.total_tokens)
        return any(known)


def read_bill(data: Json | None) -> Bill:
    """Return what a body says about tokens and cost."""
    parts = list(_parts(data or {}))
    details = [loose.mapping(part.get("completion_tokens_details")) for part in parts]
    prompts = [loose.mapping(part.get("prompt_tokens_details")) for part in parts]
    usage = Usage(
        prompt_tokens=_count(parts, *_PROMPT),
        completion_tokens=_count(parts, *_COMPLETION),
        reasoning_tokens=_count(details, "reasoning_tokens"),
        cached_tokens=_count(prompts, "cached_tokens"),
        total_tokens=_count(parts, "total_tokens"),
    )
    costs = [cost for part in parts if (cost := _cost(part)) is not None]
    return Bill(usage, None if any(map(_is_partial, parts)) else max(costs, default=None))


def _parts(data: Json) -> Iterator[Json]:
    """Yield every part of a body in which servers state tokens or a cost."""
    choices = data.get("choices")
    for holder in (data, *_several(choices)):
        place = loose.mapping(holder)
        error = loose.mapping(place.get("error"))
        around = (place, error, loose.mapping(error.get("metadata")))
        for each in (*around, loose.mapping(place.get("message"))):
            yield each
            yield from map(loose.mapping, _several(each.get("usage")))


def _several(value: object) -> list[object]:
    return value[:_MAX_PLACES] if isinstance(value, list) else [value]


def _count(parts: list[Json], *names: str) -> int | None:
    counts = [loose.count(part.get(name)) for part in parts for name in names]
    return max((count for count in counts if count is not None), default=None)


def _cost(part: Json) -> Decimal | None:
    """Return the cost that one part states: with a key of one's own, both bills together."""
    told = [_usd(part.get(name)) for name in _COST]
    told += [_usd(loose.mapping(part.get("cost")).get(name)) for name in _COST]
    cost = max((each for each in told if each is not None), default=None)
    upstream = _upstream(part)
    if upstream is None or part.get("is_byok") is False:
        return cost
    # Without a key of one's own, the cost covers what the model's provider bills.
    is_own_key = part.get("is_byok") is True or upstream > (cost or 0)
    return (cost or Decimal(0)) + upstream if is_own_key else cost


def _is_partial(part: Json) -> bool:
    """Return whether only a fee is stated, and not what the model's provider bills for one's own key."""
    return part.get("is_byok") is True and _upstream(part) is None


def _upstream(part: Json) -> Decimal | None:
    return _usd(loose.mapping(part.get("cost_details")).get("upstream_inference_cost"))


def _usd(value: object) -> Decimal | None:
    """Read an amount; a value that nobody could owe is unknown (None), not zero."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = Decimal(str(value))
    except ArithmeticError:
        return None
    return amount if amount.is_finite() and 0 <= amount < MAX_USD else None
