"""The JSON of responses, replies and errors: the keys of the spec, and ours."""

from __future__ import annotations

from dataclasses import asdict, astuple
from decimal import Decimal
from typing import TYPE_CHECKING

from uncensoring_chinese_models.domain import Price, Reply, Token, Usage
from uncensoring_chinese_models.errors import (
    ClientError,
    FatalError,
    RejectedError,
    TransientError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uncensoring_chinese_models.domain import Json, Response, Sample


def response_to_json(response: Response) -> Json:
    """Return the content of `audited_responses/NNN.json`.

    The spec's fields show the first sample of the first arm; `samples` holds all of them.
    """
    first = response.samples[0]
    return {
        "iteration": response.iteration,
        "timestamp": first.timestamp,
        "prompt_sent": response.probe,
        "formatted_prompt": first.formatted_prompt,
        "raw_response": first.text,
        "completion_tokens": first.usage.completion_tokens,
        "error": first.error,
        "question": response.question,
        "samples": [_sample_to_json(sample) for sample in response.samples],
    }


def _sample_to_json(sample: Sample) -> Json:
    return {**asdict(sample), "cost_usd": as_number(sample.cost_usd)}


def as_number(amount: Decimal | None) -> float | None:
    """Return an amount as a JSON number; sums are made before, exactly."""
    return None if amount is None else float(amount)


_MAX_AMOUNT = 10**30
_MAX_TOKENS = 10**12
"""Far above what a reply may say, and small enough that no sum of them is too large for a number."""
_ERRORS: dict[str, type[ClientError]] = {
    kind.kind: kind for kind in (TransientError, RejectedError, FatalError)
}
_ERROR_FIELDS = (
    "status",
    "error_type",
    "retry_after_s",
    "maybe_billed",
    "partial_text",
    "tokens",
    "finished_at",
    "reason",
    "host_answer",
)


def reply_to_json(reply: Reply) -> Json:
    """Return a reply as the journal holds it."""
    cost = None if reply.cost_usd is None else str(reply.cost_usd)
    data = {**asdict(reply), "cost_usd": cost}
    del data["server"]  # the line of the attempt's sending names it
    if not reply.tokens:  # most replies have none
        del data["tokens"]
    return data


def reply_from_json(data: Json) -> Reply:
    """Return the reply that the journal holds."""
    cost = amount_from_json(data["cost_usd"])
    _refuse_implausible(*data["usage"].values())
    tokens = tuple(Token(*each) for each in data.get("tokens", ()))
    own = {"usage": Usage(**data["usage"]), "cost_usd": cost, "tokens": tokens}
    return Reply(**{**data, **own})


def error_to_json(error: ClientError) -> Json:
    """Return an error as the journal holds it."""
    data: Json = {"kind": error.kind, "message": error.message}
    data |= {name: getattr(error, name) for name in _ERROR_FIELDS}
    return {**data, "cost_usd": None if error.cost_usd is None else str(error.cost_usd)}


def error_from_json(data: Json) -> ClientError:
    """Return the error that the journal holds."""
    cost = amount_from_json(data["cost_usd"])
    _refuse_implausible(data["tokens"])
    fields = {name: data[name] for name in _ERROR_FIELDS}
    return _ERRORS[data["kind"]](data["message"], cost_usd=cost, **fields)


def prices_to_json(prices: Mapping[str, Price | None]) -> dict[str, list[str] | None]:
    """Return prices as the journal holds them: of input, output and request, in USD."""
    return {
        name: None if price is None else [f"{amount:f}" for amount in astuple(price)]
        for name, price in prices.items()
    }


def prices_from_json(data: Json) -> dict[str, Price | None]:
    """Return the prices that the journal holds.

    Raises:
        ValueError: one of them cannot be a price.
    """
    return {name: None if told is None else _price(told) for name, told in data.items()}


def _price(told: list[str]) -> Price:
    amounts = [amount_from_json(str(each)) for each in told]
    price = Price(*(amount for amount in amounts if amount is not None))
    if any(amount < 0 for amount in astuple(price)):
        raise ValueError("a price is not an amount")
    return price


def amount_from_json(told: str | None) -> Decimal | None:
    """Return an amount of money that the journal holds.

    Raises:
        ValueError: it is not an amount that a run can have: a sum of such would not be a number.
        ArithmeticError: it is not a number.
    """
    amount = None if told is None else Decimal(told)
    if amount is not None and not (amount.is_finite() and abs(amount) < _MAX_AMOUNT):
        raise ValueError("an amount of money is not plausible")
    return amount


def _refuse_implausible(*counts: int | None) -> None:
    for told in counts:
        if told is not None and not 0 <= told < _MAX_TOKENS:
            raise ValueError("a number of tokens is not plausible")


def refuses(result: Reply | ClientError) -> bool:
    """Tell whether a canary was refused; what may pass with time is no refusal."""
    if isinstance(result, Reply):
        return result.block is not None
    return not isinstance(result, TransientError)
