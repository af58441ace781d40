"""Ask the judges of a config about the samples of a run, with a journal of their own.

The journal lies beside the run. A judging that was stopped resumes from it, so no paid reply is asked
for twice. A failed call is sent again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import closing, contextmanager
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
    refuse_unpriced_attempts,
    servers_to_json,
    spend_of,
    utc_now,
    worst_case,
    wrap_client,
)
from uncensoring_chinese_models.runs import Journal, RunStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from uncensoring_chinese_models.config import AuditConfig, JudgeModel
    from uncensoring_chinese_models.domain import Call, Json, Reservation
    from uncensoring_chinese_models.measure.judges.request import JudgeRequest, Problem
    from uncensoring_chinese_models.models import ModelClient, Notify


@dataclass(frozen=True, slots=True)
class JudgeResults:
    """The judgements of every judge for each request, and their cost."""

    judgements: tuple[tuple[Judgement, ...], ...]
    spend: Json


class _JudgeJournal:
    """The journal of the judges. It replays replies and rejections; other failures are sent again."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.sent = journal.sent
        self.attempted = journal.attempted
        self.done = journal.done

    def answer(self, call: Call) -> Reply | ClientError | None:
        held = self._journal.answer(call)
        return held if isinstance(held, Reply | RejectedError) else None


def ask_judges(
    config: AuditConfig, requests: Sequence[JudgeRequest], run: str, folder: Path, notify: Notify
) -> JudgeResults:
    """Send every request to every judge of a config.

    Args:
        config: names the judges and the budget.
        requests: one for each sample to be judged.
        run: the name of the run.
        folder: where the journal is kept.
        notify: receives the number of calls and their maximum cost, and failed attempts.

    Raises:
        ConfigError: a key or a price is missing; nothing was sent.
        BudgetExceededError: the budget does not cover the next call; received judgements are kept.
        FatalError: a judge accepts no further call; received judgements are kept.
        InterruptedRunError: the user stopped it; received judgements are kept.
    """
    return asyncio.run(interruptible(_ask_judges(config, requests, run, folder, notify), notify))


async def _ask_judges(
    config: AuditConfig, requests: Sequence[JudgeRequest], run: str, folder: Path, notify: Notify
) -> JudgeResults:
    in_flight = InFlight()
    async with connect_judges(config, notify) as connected:
        with _open(folder, run, config, servers_to_json(connected)) as journal:
            if journal.cut_told:
                notify(Notice(journal.cut_told))
            budget, record = BudgetMeter(config.budget), _JudgeJournal(journal)
            budget.charge_past(journal.attempts)
            clients = [
                _JudgeClient(
                    judge, wrap_client(model, config, record, budget, in_flight, notify), run
                )
                for judge, model in zip(config.judge_model, connected, strict=True)
            ]
            _announce(clients, connected, requests, record, budget, notify)
            try:
                judgements = await all_of(client.judge_all(requests) for client in clients)
            except (FatalError, BudgetExceededError) as err:
                raise _add_where_kept(err, folder) from err
            finally:
                await in_flight.drain()
            journal.finish("completed")
            return JudgeResults(tuple(zip(*judgements, strict=True)), spend_of(journal.attempts))


class _JudgeClient:
    """One judge, and whether its requests have a `response_format`."""

    def __init__(self, judge: JudgeModel, client: ModelClient, run: str) -> None:
        self.judge = judge
        self.with_format = True
        self._client = client
        self._run = run

    def call(self, request: JudgeRequest, problem: Problem | None = None, tries: int = 0) -> Call:
        return call_for(
            self.judge,
            request,
            self._run,
            problem=problem,
            with_format=self.with_format,
            tries=tries,
        )

    async def judge_all(self, requests: Sequence[JudgeRequest]) -> list[Judgement]:
        """Send one request first, to learn whether `response_format` works, then all others at once."""
        first = [await self._judge(request, opens=True) for request in requests[:1]]
        judgements = first + await all_of(self._judge(request) for request in requests[1:])
        asked = self.judge.endpoint
        return [
            replace(each, preset=asked.preset_name, base_url=asked.address or None)
            for each in judgements
        ]

    async def _judge(self, request: JudgeRequest, *, opens: bool = False) -> Judgement:
        name, problem, why = self.judge.model, None, ""
        for tries in range(self.judge.re_asks + 1):
            try:
                reply = await self._send(request, problem, tries, opens=opens)
            except FatalError:
                raise
            except ClientError as err:
                return Judgement(name, "failed", re_asked=tries, problem=err.message)
            if is_refusal(reply):
                words = reply.block_message or reply.text
                return Judgement(name, "refused", re_asked=tries, problem=words)
            try:
                return replace(read_judgement(reply, request, name), re_asked=tries)
            except UnusableError as err:
                problem, why = err.problem, str(err)
        return Judgement(name, "invalid", re_asked=self.judge.re_asks, problem=why)

    async def _send(
        self, request: JudgeRequest, problem: Problem | None, tries: int, *, opens: bool
    ) -> Reply:
        """Send the request; if the first one is rejected, send it again without `response_format`."""
        call = replace(self.call(request, problem, tries), opens=opens)
        try:
            return await self._client.complete(call)
        except (RejectedError, FatalError) as err:
            if not (opens and self.with_format and err.status in FORMAT_REFUSED):
                raise
        self.with_format = False
        call = replace(self.call(request, problem, tries), opens=True)
        return await self._client.complete(call)


def _announce(
    clients: Sequence[_JudgeClient],
    connected: Sequence[ConnectedModel],
    requests: Sequence[JudgeRequest],
    record: _JudgeJournal,
    budget: BudgetMeter,
    notify: Notify,
) -> None:
    """Announce the number of calls and their maximum cost; refuse a budget that covers none."""
    new: list[Reservation] = []
    asked: Counter[str] = Counter()
    for client, model in zip(clients, connected, strict=True):
        client.with_format = not _format_was_rejected(record.answer(client.call(requests[0])))
        calls = [client.call(request) for request in requests]
        unanswered = [call for call in calls if record.answer(call) is None]
        asked[client.judge.model] = len(unanswered)
        new += [worst_case(call, model.price) for call in unanswered]
    if new and not budget.covers(max(new, key=lambda need: (need.usd or 0, need.tokens))):
        raise BudgetExceededError(
            f"The budget does not cover a single judgement ({describe(new[:1])} in the worst "
            "case); nothing was sent. Raise budget.max_usd or budget.max_tokens."
        )
    counts = ", ".join(f"{count} to {judge}" for judge, count in asked.items())
    before = len(requests) * len(clients) - len(new)
    kept = f", {before} were answered before" if before else ""
    notify(
        Notice(
            f"Judging {len(requests)} samples: {len(new)} calls ({counts}{kept}); at most "
            f"{describe(new)} without re-asks and retries."
        )
    )


def _format_was_rejected(held: Reply | ClientError | None) -> bool:
    return isinstance(held, RejectedError) and held.status in FORMAT_REFUSED


def _add_where_kept(
    err: FatalError | BudgetExceededError, folder: Path
) -> FatalError | BudgetExceededError:
    kept = f"received judgements are kept in {folder / 'journal.jsonl'}"
    if isinstance(err, BudgetExceededError):
        return BudgetExceededError(
            f"The budget does not cover the next judgement; {kept}. Raise budget.max_usd or "
            "budget.max_tokens and run the same command again."
        )
    err.message = f"{err.message}; {kept}. Correct the problem and run the same command again."
    return err


@contextmanager
def _open(folder: Path, run: str, config: AuditConfig, servers: Json) -> Iterator[Journal]:
    """Open and lock the journal beside the run."""
    process: Json = {"package_version": __version__, **servers}
    with closing(Journal.open(RunStore(folder).journal_path, utc_now)) as journal:
        if journal.header:
            refuse_unpriced_attempts(config, journal.attempts_for(servers))
            journal.resume(reopen=False, **process)
        else:
            journal.begin({"kind": "judge", "run": run, **process})
        yield journal
