"""Asking the judges of a config about the samples of a run, over a journal of their own.

The journal lies beside the run, so that a judging that was stopped goes on where it was, and
nothing that was paid for is asked again. What failed is asked again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.domain import Reply
from uncensoring_chinese_models.errors import (
    BudgetExceededError,
    ClientError,
    FatalError,
    RejectedError,
)
from uncensoring_chinese_models.measure.judges.reply import (
    Judgement,
    UnusableError,
    is_refusal,
    read_judgement,
)
from uncensoring_chinese_models.measure.judges.request import call_for
from uncensoring_chinese_models.models import (
    FORMAT_REFUSED,
    BudgetMeter,
    ConnectedModel,
    InFlight,
    Notice,
    all_of,
    connect_judges,
    describe,
    interruptible,
    spend_of,
    utc_now,
    worst_case,
    wrap_client,
)
from uncensoring_chinese_models.runs import Journal, RunStore, refuse_link

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from uncensoring_chinese_models.config import AuditConfig, JudgeModel
    from uncensoring_chinese_models.domain import Call, Json, Reservation
    from uncensoring_chinese_models.measure.judges.request import Ballot, Problem
    from uncensoring_chinese_models.models import ModelClient, Notify


@dataclass(frozen=True, slots=True)
class Hearing:
    """What every judge said, ballot by ballot, and what it cost."""

    judgements: tuple[tuple[Judgement, ...], ...]
    spend: Json


class _Kept:
    """The journal as judges use it: what failed for a reason that may pass is asked again."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.sent = journal.sent
        self.attempted = journal.attempted
        self.done = journal.done

    def answer(self, call: Call) -> Reply | ClientError | None:
        held = self._journal.answer(call)
        return held if isinstance(held, Reply | RejectedError) else None


def hear(
    config: AuditConfig, ballots: Sequence[Ballot], run: str, folder: Path, notify: Notify
) -> Hearing:
    """Ask every judge of a config about every ballot.

    Args:
        config: names the judges and the budget.
        ballots: the samples to be judged.
        run: the name of the run.
        folder: where the journal is kept.
        notify: hears how many calls there will be, and of failed attempts.

    Raises:
        ConfigError: a key or a price is missing; nothing was sent.
        BudgetExceededError: the budget does not cover the next call; what came is kept.
        FatalError: a judge takes no further call; what came is kept.
        InterruptedRunError: the user stopped it; what came is kept.
    """
    return asyncio.run(interruptible(_hear(config, ballots, run, folder, notify), notify))


async def _hear(
    config: AuditConfig, ballots: Sequence[Ballot], run: str, folder: Path, notify: Notify
) -> Hearing:
    in_flight = InFlight()
    async with connect_judges(config, notify) as sides:
        with _open(folder, run) as journal:
            budget, record = BudgetMeter(config.budget), _Kept(journal)
            budget.charge_past(journal.attempts)
            benches = [
                _Bench(judge, wrap_client(side, config, record, budget, in_flight, notify), run)
                for judge, side in zip(config.judge_model, sides, strict=True)
            ]
            _announce(benches, sides, ballots, record, budget, notify)
            try:
                heard = await all_of(bench.judge_all(ballots) for bench in benches)
            except (FatalError, BudgetExceededError) as err:
                raise _with_what_is_kept(err, folder) from err
            finally:
                await in_flight.drain()
            journal.finish("completed")
            return Hearing(tuple(zip(*heard, strict=True)), spend_of(journal.attempts))


class _Bench:
    """One judge, and how it is asked."""

    def __init__(self, judge: JudgeModel, client: ModelClient, run: str) -> None:
        self.judge = judge
        self.with_format = True
        self._client = client
        self._run = run

    def call(self, ballot: Ballot, problem: Problem | None = None, tries: int = 0) -> Call:
        return call_for(
            self.judge,
            ballot,
            self._run,
            problem=problem,
            with_format=self.with_format,
            tries=tries,
        )

    async def judge_all(self, ballots: Sequence[Ballot]) -> list[Judgement]:
        """Judge one ballot, which shows how the judge can be asked, and then the others at once."""
        first = [await self._judge(ballot, opens=True) for ballot in ballots[:1]]
        heard = first + await all_of(self._judge(ballot) for ballot in ballots[1:])
        asked = self.judge.endpoint
        return [
            replace(each, preset=asked.preset_name, base_url=asked.address or None)
            for each in heard
        ]

    async def _judge(self, ballot: Ballot, *, opens: bool = False) -> Judgement:
        name, problem, why = self.judge.model, None, ""
        for tries in range(self.judge.re_asks + 1):
            try:
                reply = await self._send(ballot, problem, tries, opens=opens)
            except FatalError:
                raise
            except ClientError as err:
                return Judgement(name, "failed", re_asked=tries, problem=err.message)
            if is_refusal(reply):
                words = reply.block_message or reply.text
                return Judgement(name, "refused", re_asked=tries, problem=words)
            try:
                return replace(read_judgement(reply, ballot, name), re_asked=tries)
            except UnusableError as err:
                problem, why = err.problem, str(err)
        return Judgement(name, "invalid", re_asked=self.judge.re_asks, problem=why)

    async def _send(
        self, ballot: Ballot, problem: Problem | None, tries: int, *, opens: bool
    ) -> Reply:
        """Send the request; the first one goes without `response_format` where that is refused."""
        call = replace(self.call(ballot, problem, tries), opens=opens)
        try:
            return await self._client.complete(call)
        except (RejectedError, FatalError) as err:
            if not (opens and self.with_format and err.status in FORMAT_REFUSED):
                raise
        self.with_format = False
        call = replace(self.call(ballot, problem, tries), opens=True)
        return await self._client.complete(call)


def _announce(
    benches: Sequence[_Bench],
    sides: Sequence[ConnectedModel],
    ballots: Sequence[Ballot],
    record: _Kept,
    budget: BudgetMeter,
    notify: Notify,
) -> None:
    """Say what will be asked and what it may cost; refuse a budget that covers none of it."""
    new: list[Reservation] = []
    asked: Counter[str] = Counter()
    for bench, side in zip(benches, sides, strict=True):
        bench.with_format = not _is_turned_down(record.answer(bench.call(ballots[0])))
        calls = [bench.call(ballot) for ballot in ballots]
        unanswered = [call for call in calls if record.answer(call) is None]
        asked[bench.judge.model] = len(unanswered)
        new += [worst_case(call, side.price) for call in unanswered]
    if new and not budget.covers(max(new, key=lambda need: (need.usd or 0, need.tokens))):
        raise BudgetExceededError(
            f"The budget does not cover a single judgement ({describe(new[:1])} in the worst "
            "case); nothing was sent. Raise budget.max_usd or budget.max_tokens."
        )
    counts = ", ".join(f"{count} to {judge}" for judge, count in asked.items())
    before = len(ballots) * len(benches) - len(new)
    kept = f", {before} were answered before" if before else ""
    notify(
        Notice(
            f"Judging {len(ballots)} samples: {len(new)} calls ({counts}{kept}); at most "
            f"{describe(new)} without re-asks and retries."
        )
    )


def _is_turned_down(held: Reply | ClientError | None) -> bool:
    return isinstance(held, RejectedError) and held.status in FORMAT_REFUSED


def _with_what_is_kept(
    err: FatalError | BudgetExceededError, folder: Path
) -> FatalError | BudgetExceededError:
    kept = f"every judgement that came is kept in {folder / 'journal.jsonl'}"
    if isinstance(err, BudgetExceededError):
        return BudgetExceededError(
            f"The budget does not cover the next judgement; {kept}. Raise budget.max_usd or "
            "budget.max_tokens and run the same command again."
        )
    err.message = f"{err.message}; {kept}: mend it and run the same command again."
    return err


@contextmanager
def _open(folder: Path, run: str) -> Iterator[Journal]:
    """Own the folder beside the run, and its journal."""
    with RunStore(folder).lock():
        refuse_link(folder / "journal.jsonl")
        journal = Journal.open(folder / "journal.jsonl", utc_now)
        try:
            if journal.header:
                journal.resume(package_version=__version__, reopen=False)
            else:
                journal.begin({"kind": "judge", "package_version": __version__, "run": run})
            yield journal
        finally:
            journal.close()
