"""Connect to the models of a run: start those of this machine, find keys and prices, wrap the clients."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.config import AuditConfig, read_key, refuse_keys_in, server_of
from uncensoring_chinese_models.domain import FREE, Price
from uncensoring_chinese_models.errors import (
    ClientError,
    ConfigError,
    FatalError,
    TransientError,
)
from uncensoring_chinese_models.models.budget import PricedMeter, charge
from uncensoring_chinese_models.models.http_api import HttpApi, open_session
from uncensoring_chinese_models.models.layers import (
    InFlight,
    Journaled,
    Limited,
    Metered,
    Retrying,
)
from uncensoring_chinese_models.models.local.catalogue import find_organism
from uncensoring_chinese_models.models.local.launch import serve
from uncensoring_chinese_models.models.protocols import ModelClient, Notice
from uncensoring_chinese_models.runs import prices_to_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from uncensoring_chinese_models.config import Endpoint
    from uncensoring_chinese_models.domain import Attempt, Call, Json, Reply, Role
    from uncensoring_chinese_models.models.budget import BudgetMeter
    from uncensoring_chinese_models.models.local.launch import Served
    from uncensoring_chinese_models.models.protocols import CallRecord, Notify

_Connect = Callable[["Endpoint", str | None], HttpApi]
Builtins = Mapping[str, Callable[[AuditConfig], ModelClient]]
"""Built-in auditors, by the name after ``builtin/``; they follow rules in this process."""


def utc_now() -> str:
    """Return the time in UTC with whole seconds, as it is stored in files."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class ConnectedModel:
    """A model, the client that reaches it, and its price."""

    role: Role
    model: str
    endpoint: Endpoint
    api: ModelClient
    price: Price | None


@asynccontextmanager
async def connect_models(
    config: AuditConfig, builtins: Builtins, notify: Notify
) -> AsyncIterator[list[ConnectedModel]]:
    """Connect to auditor and target; refuse a USD budget if a price is unknown."""
    refuse_unknown_models(config, builtins)
    for judge in config.judge_model:  # a host may know this key too, and repeat it
        read_key(judge.endpoint, required=False)
    async with AsyncExitStack() as opened:
        connect = partial(HttpApi, await opened.enter_async_context(open_session()))
        sides = [
            ConnectedModel(role, model, endpoint, builtins[_builtin_name(model)](config), FREE)
            if endpoint.preset_name == "builtin"
            else await _reach(config, role, (model, endpoint), connect, opened, notify)
            for role, (model, endpoint) in config.models.items()
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
async def connect_judges(
    config: AuditConfig, notify: Notify
) -> AsyncIterator[list[ConnectedModel]]:
    """Connect to the judges; refuse a USD budget if a price is unknown."""
    refuse_keyless_judges(config)
    for judge in config.judge_model:
        _refuse_unknown_organism(judge.model, judge.endpoint)
    async with AsyncExitStack() as opened:
        connect = partial(HttpApi, await opened.enter_async_context(open_session()))
        sides = []
        refuse_keys_in({"The config": strict_json.dumps(config.model_dump(mode="json"))})
        for judge in config.judge_model:
            reached = (judge.model, judge.endpoint)
            sides.append(await _reach(config, "judge", reached, connect, opened, notify))
            _refuse_unknown_price(config, sides[-1].price, f"judge {judge.model}")
        yield sides


def refuse_keyless_judges(config: AuditConfig) -> None:
    """Refuse judges whose key is not set, before anything is sent.

    Raises:
        MissingCredentialError: the message names the variable.
    """
    for judge in config.judge_model:
        read_key(judge.endpoint, of=f"the judge {judge.model}")


async def _reach(
    config: AuditConfig,
    role: Role,
    reached: tuple[str, Endpoint],
    connect: _Connect,
    opened: AsyncExitStack,
    notify: Notify,
) -> ConnectedModel:
    """Start a model of this machine, or find the key and the price of a remote one."""
    model, endpoint = reached
    if endpoint.traits.is_ours:
        serving = serve(model, notify, max_tokens=config.sampling.max_tokens)
        served = await opened.enter_async_context(serving)
        # The address and the key are for the client alone; they are stored nowhere.
        here = endpoint.model_copy(update={"base_url": served.base_url})
        ours = _OurServer(connect(here, served.key), served)
        return ConnectedModel(role, model, endpoint, ours, FREE)
    api = connect(endpoint, read_key(endpoint, of=f"the {role} {model}"))
    price = await find_price(api, endpoint, model, notify)
    return ConnectedModel(role, model, endpoint, api, price)


@dataclass(frozen=True, slots=True)
class _OurServer:
    """The client of a server that this process started: once that has ended, to wait is vain."""

    api: HttpApi
    served: Served

    async def complete(self, call: Call) -> Reply:
        """Answer the call, or raise a ClientError; a FatalError if the server has ended."""
        try:
            return await self.api.complete(call)
        except TransientError as err:
            end = self.served.end()
            if end is None:
                raise
            raise FatalError(
                f"The server of {self.served.model} on this machine ended ({end}).",
                maybe_billed=err.maybe_billed,
                partial_text=err.partial_text,
            ) from err


def _builtin_name(model: str) -> str:
    return model.removeprefix("builtin/")


def refuse_unknown_models(config: AuditConfig, builtins: Builtins) -> None:
    """Reject an unknown organism or built-in auditor, and a built-in used as the target.

    A built-in auditor also rejects a config whose requirements it cannot meet.
    """
    for model, endpoint in config.models.values():
        _refuse_unknown_organism(model, endpoint)
    if config.audited_endpoint.preset_name == "builtin":
        raise ConfigError(
            f"{config.audited_model} is an auditor and cannot be the target; set audited_model to a "
            "model, such as organism/hides."
        )
    if config.auditing_endpoint.preset_name != "builtin":
        return
    name = _builtin_name(config.auditing_model)
    if name not in builtins:
        near = difflib.get_close_matches(name, builtins, 1) or sorted(builtins)
        known = " or ".join(f"builtin/{each}" for each in near) or "another model"
        raise ConfigError(
            f"The auditor {config.auditing_model} does not exist; did you mean {known}?"
        )
    if config.auditor_context != "full" and name != "facts":
        raise ConfigError(
            f"auditor_context: {config.auditor_context} hides responses that {config.auditing_model} "
            "must count; nothing was sent. Set auditor_context: full, or remove the key."
        )
    builtins[name](config)  # raises ConfigError for what it cannot do


def _refuse_unknown_organism(model: str, endpoint: Endpoint) -> None:
    if endpoint.preset_name == "organism":
        find_organism(model)


def refuse_unknown_prices(config: AuditConfig, prices: Mapping[str, Price | None]) -> None:
    """Refuse a USD budget if the price of a model is unknown."""
    models = {"auditor": config.auditing_model, "target": config.audited_model}
    for role, price in prices.items():
        _refuse_unknown_price(config, price, f"{role} {models[role]}")


def servers_to_json(sides: Sequence[ConnectedModel]) -> Json:
    """Return prices and servers as the journal holds them: by role, those of judges by model."""
    named = {side.model if side.role == "judge" else side.role: side for side in sides}
    return {
        "prices": prices_to_json({name: side.price for name, side in named.items()}),
        "servers": {name: server_of(side.model, side.endpoint) for name, side in named.items()},
    }


def refuse_unpriced_attempts(config: AuditConfig, attempts: Iterable[Attempt]) -> None:
    """Refuse a USD budget if it is unknown what an earlier attempt can have cost.

    Raises:
        ConfigError: the message names the server and says what to do.
    """
    if config.budget.max_usd is None:
        return
    unknown = Counter(
        (attempt.role, attempt.server)
        for attempt in attempts
        if charge(attempt.reserved, attempt.result, attempt.price).usd is None
    )
    for (role, server), count in unknown.items():
        calls = "1 earlier call" if count == 1 else f"{count} earlier calls"
        raise ConfigError(
            f"budget.max_usd is set, but the cost of {calls} to the {role} at "
            f"{server or 'an unknown server'} is unknown; nothing was sent. Run once more with "
            "that base_url and price: {input_usd_per_million: ..., output_usd_per_million: ...} in "
            "its endpoint, or limit tokens with budget.max_tokens."
        )


def _refuse_unknown_price(config: AuditConfig, price: Price | None, whose: str) -> None:
    if config.budget.max_usd is not None and price is None:
        raise ConfigError(
            f"budget.max_usd is set, but the price of the {whose} is unknown; "
            "add price: {input_usd_per_million: ..., output_usd_per_million: ...} to its "
            "endpoint, or limit tokens with budget.max_tokens."
        )


async def find_price(
    api: HttpApi, endpoint: Endpoint, model: str, notify: Notify, *, explain: bool = False
) -> Price | None:
    """Return the price of the model: from the config, else from the server's list, else None."""
    if endpoint.known_price is not None:
        return endpoint.known_price
    try:
        listed = await api.catalogue()
    except ClientError as err:
        if explain:
            notify(Notice(f"No price list: {err.message}"))
        return None
    if endpoint.is_openrouter and listed and model not in listed:
        notify(Notice(f"warning: {endpoint.address} does not list the model {model}."))
    return listed.get(model)


def wrap_client(
    side: ConnectedModel,
    config: AuditConfig,
    record: CallRecord,
    budget: BudgetMeter,
    in_flight: InFlight,
    notify: Notify,
) -> ModelClient:
    """Return the client with its layers: journal, retries, concurrency limit, budget."""
    meter, server = PricedMeter(budget, side.price), server_of(side.model, side.endpoint)
    metered = Metered(side.api, record, meter, in_flight, utc_now, server)
    limited = Limited(metered, side.endpoint.max_concurrency)
    retrying = Retrying(limited, config.retries, in_flight, notify)
    return Journaled(retrying, record, in_flight, notify)
