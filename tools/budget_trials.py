"""Check by trial that no run spends past its budget.

Each trial sends 64 calls at once, of both sides of an audit, through the layers that an audit uses
to a provider on this machine that bills what it answers. Prices, sizes, caps, concurrency and
faults are random; some answers are billed and never arrive, and some runs are cut off with calls in
flight and resumed. What the provider billed must never pass the cap, and neither in all nor for
any single call may the books say that less was spent than the provider billed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.provider import Ask, Model, Provider

from uncensoring_chinese_models.config.endpoints import Endpoint
from uncensoring_chinese_models.config.settings import AuditConfig, Budget, Retries
from uncensoring_chinese_models.domain import Call, CallKey, Price
from uncensoring_chinese_models.errors import BudgetExceededError, ClientError
from uncensoring_chinese_models.models.budget import BudgetMeter, charge, worst_case
from uncensoring_chinese_models.models.connect import ConnectedModel, utc_now, wrap_client
from uncensoring_chinese_models.models.http_api import HttpApi, open_session
from uncensoring_chinese_models.models.layers import InFlight
from uncensoring_chinese_models.runs.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uncensoring_chinese_models.domain import Json, Role
    from uncensoring_chinese_models.models.protocols import ModelClient, Notice

CALLS = 64
ROLES: tuple[Role, Role] = ("auditor", "target")
FAULTS = {
    "429_retry_after_seconds": False,
    "500": False,
    "503_retry_after": False,
    "close_before_headers": True,
    "close_after_headers": True,
    "reset_mid_body": True,
    "json_truncated": True,
    "html_524": True,
    "finish_error_only": True,
    "usage_missing": True,
    "cost_missing": True,
}
"""What goes wrong, and whether the provider bills for it."""


@dataclass(frozen=True)
class Trial:
    """One random situation."""

    prices: dict[Role, Price]
    calls: list[Call]
    budget: Budget
    concurrency: int
    extra_prompt_tokens: int
    wordiness: float
    """How much of max_tokens an answer would take, if it were let."""
    report_cost: bool
    failing: dict[str, set[int]]
    """Which calls each fault strikes first."""
    cut_after: int | None
    """So many requests are read before the first process is cut off; None lets it end."""


@dataclass
class Outcome:
    """What became of a trial."""

    problems: list[str]
    sent: int
    refused: int
    retried: int
    share: float
    """How much of the cap the provider billed."""


# --- making up a trial --------------------------------------------------------------------------


def make_trial(seed: int, number: int) -> Trial:
    """Return the trial of this number; the same each time."""
    rng = random.Random(f"{seed}/{number}")  # noqa: S311 -- chance, not a secret
    prices: dict[Role, Price] = {role: Price(_rate(rng), _rate(rng)) for role in ROLES}
    calls = [_call(rng, index) for index in range(CALLS)]
    return Trial(
        prices=prices,
        calls=calls,
        budget=_budget(rng, prices, calls),
        concurrency=rng.choice([1, 4, 16, CALLS, CALLS]),
        extra_prompt_tokens=rng.choice([0, rng.randint(0, 1024), 1024, 1024]),
        wordiness=rng.choice([rng.uniform(0.1, 1.5), 1.5, 1.5]),
        report_cost=rng.random() < 0.6,
        failing={name: set(rng.sample(range(CALLS), rng.randint(0, 8))) for name in FAULTS},
        cut_after=rng.randint(1, CALLS) if rng.random() < 0.4 else None,
    )


def _rate(rng: random.Random) -> Decimal:
    return Decimal(rng.randint(1, 9999)).scaleb(rng.choice([-10, -9, -8]))


def _call(rng: random.Random, index: int) -> Call:
    role: Role = ROLES[index % 2]
    text = f"#{index} " + rng.choice(["lantern ", "灯笼", "🏮"]) * rng.choice(
        [0, 10, rng.randint(0, 400)]
    )
    body: Json = {"model": f"trial/{role}", "max_tokens": rng.choice([1, 50, 500, 4000])}
    if role == "auditor":
        body["messages"] = [{"role": "user", "content": text}]
        return Call(CallKey(index, role, "turn"), "chat", body)
    body["prompt"] = text
    return Call(CallKey(index, role, "sample", arm="raw"), "completions", body)


def _budget(rng: random.Random, prices: dict[Role, Price], calls: Sequence[Call]) -> Budget:
    """Choose a cap that most of the calls fit under, or few."""
    bounds = [worst_case(call, prices[call.key.role]) for call in calls]
    usd = sum((bound.usd or Decimal(0) for bound in bounds), Decimal(0))
    tokens = sum(bound.tokens for bound in bounds)
    kind = rng.choice(["usd", "tokens", "both"])
    share = rng.uniform(0.02, 0.8)
    return Budget(
        max_usd=None if kind == "tokens" else round(float(usd) * share, 6),
        max_tokens=None if kind == "usd" else int(tokens * min(1, share * rng.uniform(0.8, 1.3))),
    )


# --- running it ---------------------------------------------------------------------------------


def run_trial(trial: Trial) -> Outcome:
    """Run the trial against a provider of its own, and compare the books."""
    with tempfile.TemporaryDirectory() as folder, _provider(trial) as provider:
        path = Path(folder) / "journal.jsonl"
        told: Counter[str] = Counter()
        if trial.cut_after is not None:
            asyncio.run(_sit(trial, provider, path, told, cut_after=trial.cut_after))
        budget = asyncio.run(_sit(trial, provider, path, told))
        provider.wait_idle()
        problems = [*_compare(trial, provider, budget), *_reread(path, provider, budget)]
        share = _share(trial.budget, provider)
        return Outcome(problems, provider.count(), told["refused"], told["retried"], share)


def _provider(trial: Trial) -> Provider:
    models = [
        Model(f"trial/{role}", f"{price.input_usd:f}", f"{price.output_usd:f}", 10**6)
        for role, price in trial.prices.items()
    ]

    def say(ask: Ask) -> str:
        return "灯" * int((ask.max_tokens or 0) * 4 / 3 * trial.wordiness)

    provider = Provider(
        target=say,
        models=models,
        strict_models=True,
        report_cost=trial.report_cost,
        extra_prompt_tokens=trial.extra_prompt_tokens,
        latency=lambda request: int(request.key[:4], 16) / 0xFFFF * 0.005,
    )
    for name, struck in trial.failing.items():
        provider.fail(
            name,
            times=1 + len(struck) % 2,
            per_body=True,
            when=partial(_is_struck, struck),
            billed=FAULTS[name],
        )
    return provider


def _is_struck(struck: set[int], body: Json) -> bool:
    return _index(body) in struck


def _index(body: Json) -> int:
    text = str(body["prompt"] if "prompt" in body else body["messages"][0]["content"])
    return int(text.removeprefix("#").partition(" ")[0])


async def _sit(
    trial: Trial,
    provider: Provider,
    path: Path,
    told: Counter[str],
    *,
    cut_after: int | None = None,
) -> BudgetMeter:
    """Send what is not answered yet, as one process of a run does; be cut off if asked to."""
    journal = Journal.open(path, utc_now)
    if journal.header:
        journal.resume("trial", reopen=False)
    else:
        journal.begin({})
    budget = BudgetMeter(trial.budget)
    budget.charge_past(journal.attempts)

    def hear(notice: Notice) -> None:
        told["retried"] += notice.wait_s is not None

    async with open_session() as session:
        endpoint = Endpoint(base_url=provider.base_url, max_concurrency=trial.concurrency)
        config = AuditConfig(
            topic="trial",
            auditing_model="trial/auditor",
            audited_model="trial/target",
            retries=Retries(max_attempts=4, first_wait_s=0),
            budget=trial.budget,
        )
        in_flight = InFlight()
        clients = {}
        for role, price in trial.prices.items():
            side = ConnectedModel(
                role, f"trial/{role}", endpoint, HttpApi(session, endpoint, None), price
            )
            clients[role] = wrap_client(side, config, journal, budget, in_flight, hear)
        asked = [
            asyncio.create_task(_ask(clients[call.key.role], call, told)) for call in trial.calls
        ]
        if cut_after is not None:
            await _cut_off(provider, cut_after, asked)
        await asyncio.wait(asked)
        for task in asked:
            if not task.cancelled():
                task.result()  # raises what nobody expected
        await in_flight.drain()
    journal.close()
    return budget


async def _ask(client: ModelClient, call: Call, told: Counter[str]) -> None:
    try:
        await client.complete(call)
    except BudgetExceededError:
        told["refused"] += 1
    except ClientError:
        told["failed"] += 1


async def _cut_off(provider: Provider, after: int, asked: Sequence[asyncio.Task[None]]) -> None:
    """Abandon whatever is out once so many requests have been read, or all calls are over."""
    loop, enough = asyncio.get_running_loop(), asyncio.Event()

    def count(_: object) -> None:
        if provider.count() >= after:
            loop.call_soon_threadsafe(enough.set)

    provider.on_request = count
    ends = [loop.create_task(enough.wait()), loop.create_task(asyncio.wait(asked))]
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    provider.on_request = None
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


# --- comparing the books ------------------------------------------------------------------------


def _compare(trial: Trial, provider: Provider, budget: BudgetMeter) -> Iterator[str]:
    usd, tokens, cap = provider.billed_usd, provider.billed_tokens, trial.budget
    if cap.max_usd is not None and usd > Decimal(str(cap.max_usd)):
        yield f"the provider billed ${usd}, more than the cap of ${cap.max_usd}"
    if cap.max_tokens is not None and tokens > cap.max_tokens:
        yield f"the provider billed {tokens} tokens, more than the cap of {cap.max_tokens}"
    if budget.spent_usd < usd:
        yield f"the provider billed ${usd}, but the meter counts only ${budget.spent_usd}"
    if budget.spent_tokens < tokens:
        yield f"the provider billed {tokens} tokens, but the meter counts {budget.spent_tokens}"


def _share(cap: Budget, provider: Provider) -> float:
    usd = float(provider.billed_usd) / cap.max_usd if cap.max_usd else 0.0
    return max(usd, provider.billed_tokens / cap.max_tokens if cap.max_tokens else 0.0)


def _reread(path: Path, provider: Provider, budget: BudgetMeter) -> Iterator[str]:
    """Compare what the journal says with the meter in all, and with the provider call by call."""
    journal, again = Journal.open(path, utc_now), BudgetMeter(Budget())
    journal.close()
    again.charge_past(journal.attempts)
    if (again.spent_usd, again.spent_tokens) != (budget.spent_usd, budget.spent_tokens):
        yield (
            f"the journal says that ${again.spent_usd} and {again.spent_tokens} tokens are spent, "
            f"but the meter ${budget.spent_usd} and {budget.spent_tokens}"
        )
    usd, tokens = [Decimal(0)] * CALLS, [0] * CALLS
    for (name, _), attempt in journal._attempts.items():  # noqa: SLF001 -- it names the calls
        index, charged = int(name.partition("/")[0]), charge(attempt.reserved, attempt.result)
        usd[index] += charged.usd or Decimal(0)
        tokens[index] += charged.tokens
    for request in provider.requests:
        usd[_index(request.body)] -= request.billed_usd
        tokens[_index(request.body)] -= request.billed_tokens
    for index in range(CALLS):
        if usd[index] < 0 or tokens[index] < 0:
            yield f"of call {index} the books lack ${-usd[index]} or {-tokens[index]} tokens"


def main(words: Sequence[str] | None = None) -> int:
    """Run the trials; print each failure, and the count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(words)
    os.environ["no_proxy"] = "*"
    outcomes = []
    for number in range(1, given.trials + 1):
        outcomes.append(run_trial(make_trial(given.seed, number)))
        for problem in outcomes[-1].problems:
            print(f"trial {number} of seed {given.seed}: {problem}")
    held = sum(not outcome.problems for outcome in outcomes)
    bound = sum(outcome.refused > 0 for outcome in outcomes)
    most = max(outcome.share for outcome in outcomes)
    print(
        f"the cap kept calls back in {bound} of {given.trials} trials; up to {most:.1%} was billed"
    )
    print(
        f"{held} of {given.trials} trials: the cap was never passed "
        f"({sum(outcome.sent for outcome in outcomes)} calls sent, "
        f"{sum(outcome.refused for outcome in outcomes)} refused by the budget, "
        f"{sum(outcome.retried for outcome in outcomes)} retried)"
    )
    return 0 if held == given.trials else 1


if __name__ == "__main__":
    sys.exit(main())
