"""The two models of an audit: servers of ours started, keys and prices found, clients stacked."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from uncensoring_chinese_models.config import AuditConfig, read_key
from uncensoring_chinese_models.domain import Price
from uncensoring_chinese_models.errors import ClientError, ConfigError
from uncensoring_chinese_models.models.budget import SideMeter
from uncensoring_chinese_models.models.http_api import HttpApi, open_session
from uncensoring_chinese_models.models.layers import (
    InFlight,
    Journaled,
    Limited,
    Metered,
    Retrying,
)
from uncensoring_chinese_models.models.organisms.catalogue import find_organism
from uncensoring_chinese_models.models.organisms.launch import serve
from uncensoring_chinese_models.models.protocols import ModelClient, Notice

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from uncensoring_chinese_models.config import Endpoint
    from uncensoring_chinese_models.domain import Role
    from uncensoring_chinese_models.models.budget import BudgetMeter
    from uncensoring_chinese_models.models.protocols import CallRecord, Notify

_Connect = Callable[["Endpoint", str | None], HttpApi]
FREE = Price(Decimal(0), Decimal(0))
"""What a model of our own costs."""
Builtins = Mapping[str, Callable[[AuditConfig], ModelClient]]
"""Auditors that are rules in this process, by what follows ``builtin/``."""


def utc_now() -> str:
    """Return the time as files show it: UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two models, and how it is reached."""

    role: Role
    model: str
    endpoint: Endpoint
    api: ModelClient
    price: Price | None


def both_sides(config: AuditConfig) -> dict[Role, tuple[str, Endpoint]]:
    """Return the models by role, with where they are reached."""
    return {
        "auditor": (config.auditing_model, config.auditing_endpoint),
        "target": (config.audited_model, config.audited_endpoint),
    }


@asynccontextmanager
async def open_sides(
    config: AuditConfig, builtins: Builtins, notify: Notify
) -> AsyncIterator[list[Side]]:
    """Start what we serve, find keys and prices; refuse what would be spent blindly."""
    refuse_unknown_models(config, builtins)
    async with AsyncExitStack() as opened:
        connect = partial(HttpApi, await opened.enter_async_context(open_session()))
        sides = [
            Side(role, model, endpoint, builtins[_builtin_name(model)](config), FREE)
            if endpoint.preset_name == "builtin"
            else await _reach(role, (model, endpoint), connect, opened, notify)
            for role, (model, endpoint) in both_sides(config).items()
        ]
        refuse_unknown_prices(config, {side.role: side.price for side in sides})
        target = config.audited_endpoint
        if target.is_openrouter and not target.provider_is_pinned:
            notify(
                Notice(
                    "warning: the target's provider is not pinned, so samples may mix hosts and "
                    "quantisations; set audited_endpoint.provider to {only: [NAME], "
                    "allow_fallbacks: false}."
                )
            )
        yield sides


@asynccontextmanager
async def open_judges(config: AuditConfig, notify: Notify) -> AsyncIterator[list[Side]]:
    """Find the keys and prices of the judges; refuse what would be spent blindly."""
    refuse_keyless_judges(config)
    for judge in config.judge_model:
        _refuse_unknown_organism(judge.model, judge.endpoint)
    async with AsyncExitStack() as opened:
        connect = partial(HttpApi, await opened.enter_async_context(open_session()))
        sides = []
        for judge in config.judge_model:
            reached = (judge.model, judge.endpoint)
            sides.append(await _reach("judge", reached, connect, opened, notify))
            _refuse_unknown_price(config, sides[-1].price, f"judge {judge.model}")
        yield sides


def refuse_keyless_judges(config: AuditConfig) -> None:
    """Refuse judges whose key is not there, before anything is asked of anybody.

    Raises:
        MissingCredentialError: it names the variable.
    """
    for judge in config.judge_model:
        read_key(judge.endpoint, of=f"the judge {judge.model}")


async def _reach(
    role: Role,
    reached: tuple[str, Endpoint],
    connect: _Connect,
    opened: AsyncExitStack,
    notify: Notify,
) -> Side:
    """Start what we serve, or find the key and the price of what others serve."""
    model, endpoint = reached
    if endpoint.preset_name == "organism":
        served = await opened.enter_async_context(serve(model, notify))
        # The address and the key are for the client alone: nothing that is stored knows them.
        here = endpoint.model_copy(update={"base_url": served.base_url})
        return Side(role, model, endpoint, connect(here, served.key), FREE)
    api = connect(endpoint, read_key(endpoint, of=f"the {role} {model}"))
    price = await find_price(api, endpoint, model, notify)
    return Side(role, model, endpoint, api, price)


def _builtin_name(model: str) -> str:
    return model.removeprefix("builtin/")


def refuse_unknown_models(config: AuditConfig, builtins: Builtins) -> None:
    """Reject an unknown organism or built-in auditor, and a built-in used as the target.

    A built-in auditor also rejects a config whose requirements it cannot meet.
    """
    for model, endpoint in both_sides(config).values():
        _refuse_unknown_organism(model, endpoint)
    if config.audited_endpoint.preset_name == "builtin":
        raise ConfigError(
            f"{config.audited_model} is an auditor and cannot be the target; "
            "audit a model, such as organism/hides."
        )
    if config.auditing_endpoint.preset_name != "builtin":
        return
    name = _builtin_name(config.auditing_model)
    if name not in builtins:
        near = difflib.get_close_matches(name, builtins, 1) or sorted(builtins)
        known = " or ".join(f"builtin/{each}" for each in near) or "none in this version"
        raise ConfigError(f"There is no auditor {config.auditing_model}; there is {known}.")
    if config.auditor_context != "full" and name != "facts":
        raise ConfigError(
            f"auditor_context: {config.auditor_context} leaves out responses that the rules of "
            f"{config.auditing_model} must count; nothing was sent. Set auditor_context: full, or "
            "leave it out."
        )
    builtins[name](config)  # refuses what it cannot follow


def _refuse_unknown_organism(model: str, endpoint: Endpoint) -> None:
    if endpoint.preset_name == "organism":
        find_organism(model)


def refuse_unknown_prices(config: AuditConfig, prices: Mapping[str, Price | None]) -> None:
    """Refuse a cap in USD where nobody knows what a call costs."""
    models = {"auditor": config.auditing_model, "target": config.audited_model}
    for role, price in prices.items():
        _refuse_unknown_price(config, price, f"{role} {models[role]}")


def _refuse_unknown_price(config: AuditConfig, price: Price | None, whose: str) -> None:
    if config.budget.max_usd is not None and price is None:
        raise ConfigError(
            f"budget.max_usd is set, but the price of the {whose} is unknown; "
            "give price: {input_usd_per_million: ..., output_usd_per_million: ...} for its "
            "endpoint, or cap tokens with budget.max_tokens."
        )


async def find_price(
    api: HttpApi, endpoint: Endpoint, model: str, notify: Notify, *, explain: bool = False
) -> Price | None:
    """Return what the model costs: from the config, else from the server's list, else None."""
    if endpoint.traits.is_ours:
        return FREE
    if endpoint.price is not None:
        return endpoint.price.per_token()
    try:
        listed = await api.catalogue()
    except ClientError as err:
        if explain:
            notify(Notice(f"No price list: {err.message}"))
        return None
    if endpoint.is_openrouter and listed and model not in listed:
        notify(Notice(f"warning: {endpoint.address} does not list the model {model}."))
    return listed.get(model)


def stack(
    side: Side,
    config: AuditConfig,
    record: CallRecord,
    budget: BudgetMeter,
    in_flight: InFlight,
    notify: Notify,
) -> ModelClient:
    """Wrap the layers around one side's client."""
    metered = Metered(side.api, record, SideMeter(budget, side.price), in_flight, utc_now)
    limited = Limited(metered, side.endpoint.max_concurrency)
    return Journaled(Retrying(limited, config.retries, in_flight, notify), record, in_flight)
