"""Check by trial that no run spends past its budget.

Each trial sends 64 calls at once, of both sides of an audit, through the layers that an audit uses
to a provider on this machine that bills what it answers. Prices, sizes, caps, concurrency and
faults are random. Some answers are billed and never arrive, some are useless and say what they cost,
and some errors are billed and do not say so. Some runs are cut off with calls in flight and resumed:
with the prices known only then, or at another server with other prices. What was billed must never
pass the cap, and neither in all nor for any single call may the books say that less was spent. Where
the price of earlier calls cannot be known, a cap in USD must be refused before anything is sent.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.provider import Ask, Model, Provider, Request

from uncensoring_chinese_models.config.endpoints import Endpoint
from uncensoring_chinese_models.config.settings import AuditConfig, Budget, Retries
from uncensoring_chinese_models.domain import Call, CallKey, Price
from uncensoring_chinese_models.errors import BudgetExceededError, ClientError, ConfigError
from uncensoring_chinese_models.models.budget import BudgetMeter, charge, spend_of, worst_case
from uncensoring_chinese_models.models.connect import (
    ConnectedModel,
    refuse_unknown_prices,
    refuse_unpriced_attempts,
    servers_to_json,
    utc_now,
    wrap_client,
)
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
    "503_retry_after": False,
    "500": True,
    "502": True,
    "200_error_500": True,
    "200_error_code_null": True,
    "close_before_headers": True,
    "close_after_headers": True,
    "reset_mid_body": True,
    "json_truncated": True,
    "json_list": True,
    "body_empty": True,
    "html_524": True,
    "finish_error_only": True,
    "error_beside_answer": True,
    "empty_cost_alone": True,
    "empty_blank_finish": True,
    "choices_cost_alone": True,
    "choices_missing": True,
    "text_number_cost_alone": True,
    "text_missing": True,
    "refusal_field": True,
    "content_filter_empty": True,
    "usage_missing": True,
    "usage_negative": True,
    "usage_zero": True,
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
    burst: set[int]
    """Calls whose every attempt meets an HTTP 500 that is billed."""
    cut_after: int | None
    """So many requests are read before the first process is cut off; None lets it end."""
    late: frozenset[Role]
    """The sides whose price only the second process knows; the first then has no cap in USD."""
    new_prices: dict[Role, Price] | None
    """The prices of the other server that the second process goes to; None where it stays."""

    @property
    def first_budget(self) -> Budget:
        """The budget of the first process."""
        return Budget(max_tokens=self.budget.max_tokens) if self.late else self.budget

    @property
    def cannot_be_known(self) -> bool:
        """Whether nobody will know what the calls of the first process cost."""
        return bool(self.late) and self.new_prices is not None and self.budget.max_usd is not None


@dataclass
class Outcome:
    """What became of a trial."""

    problems: list[str]
    sent: int
    refused: int
    retried: int
    share: float
    """How much of the cap the provider billed."""
    was_refused: bool = False
    """Whether the second process was refused because of unknown prices."""


# --- making up a trial --------------------------------------------------------------------------


def make_trial(seed: int, number: int) -> Trial:
    """Return the trial of this number; the same each time."""
    rng = random.Random(f"{seed}/{number}")  # noqa: S311 -- chance, not a secret
    prices: dict[Role, Price] = {role: Price(_rate(rng), _rate(rng)) for role in ROLES}
    calls = [_call(rng, index) for index in range(CALLS)]
    cut_after = rng.randint(1, CALLS // 2) if rng.random() < 0.6 else None
    is_late, moves = rng.random() < 0.5, rng.random() < 0.4
    return Trial(
        prices=prices,
        calls=calls,
        budget=_budget(rng, prices, calls),
        concurrency=rng.choice([1, 4, 16, CALLS, CALLS]),
        extra_prompt_tokens=rng.choice([0, rng.randint(0, 1024), 1024, 1024]),
        wordiness=rng.choice([rng.uniform(0.1, 1.5), 1.5, 1.5]),
        report_cost=rng.random() < 0.5,
        failing={name: set(rng.sample(range(CALLS), rng.randint(0, 5))) for name in FAULTS},
        burst=set(rng.sample(range(CALLS), rng.choice([0, 0, 8, 24]))),
        cut_after=cut_after,
        late=frozenset(rng.sample(ROLES, rng.randint(1, 2)) if cut_after and is_late else ()),
        new_prices={role: Price(_rate(rng), _rate(rng)) for role in ROLES}
        if cut_after and moves
        else None,
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
    """Run the trial against providers of its own, and compare the books."""
    with (
        tempfile.TemporaryDirectory() as folder,
        _provider(trial, trial.prices) as provider,
        _provider(trial, trial.new_prices or trial.prices) as other,
    ):
        path, told = Path(folder) / "journal.jsonl", Counter[str]()
        if trial.cut_after is not None:
            known = {role: trial.prices[role] for role in ROLES if role not in trial.late}
            first = _Process(provider, trial.first_budget, known, trial.cut_after)
            asyncio.run(_sit(trial, first, path, told))
            provider.wait_idle()
        before = provider.billed_usd if trial.late else Decimal(0)
        there, prices = (provider, trial.prices)
        if trial.new_prices is not None:
            there, prices = (other, trial.new_prices)
        last = _Process(there, trial.budget, prices)
        try:
            budget = asyncio.run(_sit(trial, last, path, told))
        except ConfigError:
            return Outcome([*_refused(trial, other)], provider.count(), 0, 0, 0.0, was_refused=True)
        provider.wait_idle()
        other.wait_idle()
        requests = [*provider.requests, *other.requests]
        problems = [*_compare(trial, requests, budget, before), *_reread(path, requests, budget)]
        if trial.cannot_be_known and before:
            problems.append("the second process was not refused")
        share = _share(trial.budget, requests, before)
        return Outcome(problems, len(requests), told["refused"], told["retried"], share)


@dataclass(frozen=True)
class _Process:
    """One process of a run: where it sends, what it may spend, what it does not know."""

    provider: Provider
    budget: Budget
    prices: dict[Role, Price]
    cut_after: int | None = None


def _refused(trial: Trial, other: Provider) -> Iterator[str]:
    if not trial.cannot_be_known:
        yield "the second process was refused, though its prices are known"
    if other.count():
        yield "the second process was refused, but has sent something"


def _provider(trial: Trial, prices: dict[Role, Price]) -> Provider:
    models = [
        Model(f"trial/{role}", f"{price.input_usd:f}", f"{price.output_usd:f}", 10**6)
        for role, price in prices.items()
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
    provider.fail("500", times=None, when=partial(_is_struck, trial.burst), billed=True)
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


async def _sit(trial: Trial, process: _Process, path: Path, told: Counter[str]) -> BudgetMeter:
    """Send what is not answered yet, as one process of a run does; be cut off if asked to.

    Raises:
        ConfigError: the cap cannot be held; nothing was sent.
    """
    config = AuditConfig(
        topic="trial",
        auditing_model="trial/auditor",
        audited_model="trial/target",
        retries=Retries(max_attempts=4, first_wait_s=0),
        budget=process.budget,
    )
    endpoint = Endpoint(base_url=process.provider.base_url, max_concurrency=trial.concurrency)

    def hear(notice: Notice) -> None:
        told["retried"] += notice.wait_s is not None

    async with open_session() as session:
        api = HttpApi(session, endpoint, None)
        sides = [
            ConnectedModel(
                role,
                f"trial/{role}",
                endpoint,
                api,
                process.prices.get(role),
            )
            for role in ROLES
        ]
        refuse_unknown_prices(config, {side.role: side.price for side in sides})
        with closing(Journal.open(path, utc_now)) as journal:
            budget = _begin(journal, config, sides)
            in_flight = InFlight()
            clients = {
                side.role: wrap_client(side, config, journal, budget, in_flight, hear)
                for side in sides
            }
            asked = [
                asyncio.create_task(_ask(clients[call.key.role], call, told))
                for call in trial.calls
            ]
            if process.cut_after is not None:
                await _cut_off(process.provider, process.cut_after, asked)
            await asyncio.wait(asked)
            for task in asked:
                if not task.cancelled():
                    task.result()  # raises what nobody expected
            await in_flight.drain()
    return budget


def _begin(journal: Journal, config: AuditConfig, sides: Sequence[ConnectedModel]) -> BudgetMeter:
    """Begin or resume the journal, as a run does."""
    servers = servers_to_json(sides)
    if journal.header:
        refuse_unpriced_attempts(config, journal.attempts_for(servers))
        journal.resume("trial", reopen=False, **servers)
    else:
        journal.begin(servers)
    budget = BudgetMeter(config.budget)
    budget.charge_past(journal.attempts)
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


def _compare(
    trial: Trial, requests: Sequence[Request], budget: BudgetMeter, before: Decimal
) -> Iterator[str]:
    """Compare what was billed with the cap and the meter; `before` was billed without the cap."""
    usd, tokens, cap = _usd(requests), _tokens(requests), trial.budget
    if cap.max_usd is not None and usd > max(Decimal(str(cap.max_usd)), before):
        yield f"the provider billed ${usd}, more than the cap of ${cap.max_usd}"
    if cap.max_tokens is not None and tokens > cap.max_tokens:
        yield f"the provider billed {tokens} tokens, more than the cap of {cap.max_tokens}"
    if cap.max_usd is not None and budget.spent_usd < usd:
        yield f"the provider billed ${usd}, but the meter counts only ${budget.spent_usd}"
    if budget.spent_tokens < tokens:
        yield f"the provider billed {tokens} tokens, but the meter counts {budget.spent_tokens}"


def _usd(requests: Sequence[Request]) -> Decimal:
    return sum((request.billed_usd for request in requests), Decimal(0))


def _tokens(requests: Sequence[Request]) -> int:
    return sum(request.billed_tokens for request in requests)


def _share(cap: Budget, requests: Sequence[Request], before: Decimal) -> float:
    usd = float(_usd(requests)) / max(cap.max_usd, float(before)) if cap.max_usd else 0.0
    return max(usd, _tokens(requests) / cap.max_tokens if cap.max_tokens else 0.0)


def _reread(path: Path, requests: Sequence[Request], budget: BudgetMeter) -> Iterator[str]:
    """Compare what the journal says with the meter in all, and with the providers call by call."""
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
        index = int(name.partition("/")[0])
        charged = charge(attempt.reserved, attempt.result, attempt.price)
        # An unknown cost is not said to be less than any.
        usd[index] += Decimal("Infinity") if charged.usd is None else charged.usd
        tokens[index] += charged.tokens
    for request in requests:
        usd[_index(request.body)] -= request.billed_usd
        tokens[_index(request.body)] -= request.billed_tokens
    for index in range(CALLS):
        if usd[index] < 0 or tokens[index] < 0:
            yield f"of call {index} the books lack ${-usd[index]} or {-tokens[index]} tokens"
    total = spend_of(journal.attempts)
    lost = total["fruitless_attempts"]["maybe_billed_usd"]
    if total["cost_usd"] is not None and lost is not None:
        short = float(_usd(requests)) - total["cost_usd"] - lost
        if short > 1e-9 * max(1.0, total["cost_usd"]):
            yield f"the summary lacks ${short}"


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
    late = sum(outcome.was_refused for outcome in outcomes)
    print(f"a cap was refused in {late} trials, as earlier calls have no known price")
    print(
        f"{held} of {given.trials} trials: the cap was never passed "
        f"({sum(outcome.sent for outcome in outcomes)} calls sent, "
        f"{sum(outcome.refused for outcome in outcomes)} refused by the budget, "
        f"{sum(outcome.retried for outcome in outcomes)} retried)"
    )
    return 0 if held == given.trials else 1


if __name__ == "__main__":
    sys.exit(main())
