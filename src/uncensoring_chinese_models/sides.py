"""The two models of an audit: keys and prices found, layers wrapped around their clients."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from uncensoring_chinese_models.budget import SideMeter
from uncensoring_chinese_models.clients.http_api import HttpApi, open_session
from uncensoring_chinese_models.clients.layers import (
    InFlight,
    Journaled,
    Limited,
    Metered,
    Retrying,
)
from uncensoring_chinese_models.config import read_key
from uncensoring_chinese_models.errors import ClientError, ConfigError
from uncensoring_chinese_models.protocols import Notice

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from uncensoring_chinese_models.budget import BudgetMeter
    from uncensoring_chinese_models.config import AuditConfig, Endpoint
    from uncensoring_chinese_models.domain import Price, Role
    from uncensoring_chinese_models.protocols import CallRecord, ModelClient, Notify


def utc_now() -> str:
    """Return the time as files show it: UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two models, and how it is reached."""

    role: Role
    model: str
    endpoint: Endpoint
    api: HttpApi
    price: Price | None


@asynccontextmanager
async def open_sides(config: AuditConfig, notify: Notify) -> AsyncIterator[list[Side]]:
    """Find keys and prices for both sides; refuse what would be spent blindly."""
    async with open_session() as session:
        sides = []
        named: list[tuple[Role, str, Endpoint]] = [
            ("auditor", config.auditing_model, config.auditing_endpoint),
            ("target", config.audited_model, config.audited_endpoint),
        ]
        for role, model, endpoint in named:
            api = HttpApi(session, endpoint, read_key(endpoint))
            price = await find_price(api, endpoint, model, notify)
            sides.append(Side(role, model, endpoint, api, price))
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


def refuse_unknown_prices(config: AuditConfig, prices: Mapping[str, Price | None]) -> None:
    """Refuse a cap in USD where nobody knows what a call costs."""
    models = {"auditor": config.auditing_model, "target": config.audited_model}
    for role, price in prices.items():
        if config.budget.max_usd is not None and price is None:
            raise ConfigError(
                f"budget.max_usd is set, but the price of the {role} {models[role]} is unknown; "
                "give price: {input_usd_per_million: ..., output_usd_per_million: ...} for its "
                "endpoint, or cap tokens with budget.max_tokens."
            )


async def find_price(
    api: HttpApi, endpoint: Endpoint, model: str, notify: Notify, *, explain: bool = False
) -> Price | None:
    """Return what the model costs: from the config, else from the server's list, else None."""
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
