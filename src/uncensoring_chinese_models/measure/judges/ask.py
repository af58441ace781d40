"""Ask the judges of a config about the samples of a run, with a journal of their own.

The journal lies beside the run. A judging that was stopped resumes from it, so no paid reply is asked
for twice. A failed call is sent again. Each judging begins with a record of its settings, of the run
and of the facts file, and ends with a footer, so that its judgements can be derived again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.domain import Reply
from uncensoring_chinese_models.errors import (
    BudgetExceededError,
    ClientError,
    FatalError,
    RejectedError,
    RunStoreError,
)
from uncensoring_chinese_models.measure.judges.questioning import (
    JudgeClient,
    JudgeResults,
    judge_all_samples,
)
from uncensoring_chinese_models.models import (
    FORMAT_REFUSED,
    BudgetMeter,
    ConnectedModel,
    InFlight,
    Notice,
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
from uncensoring_chinese_models.runs import Journal, RunStore, is_set_aside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.domain import Call, Json, Reservation
    from uncensoring_chinese_models.measure.judges.questioning import JudgeTask
    from uncensoring_chinese_models.measure.judges.request import JudgeRequest
    from uncensoring_chinese_models.models import Notify


class _JudgeJournal:
    """The journal of the judges. It replays replies and rejections; other failures are sent again."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.sent = journal.sent
        self.attempted = journal.attempted
        self.done = journal.done

    def refusal(self, call: Call) -> ClientError | None:
        return self._journal.refusal(call)

    def answer(self, call: Call) -> Reply | ClientError | None:
        held = self._journal.answer(call)
        return held if isinstance(held, Reply | RejectedError) else None


def ask_judges(
    config: AuditConfig,
    requests: Sequence[JudgeRequest],
    task: JudgeTask,
    folder: Path,
    notify: Notify,
    end: Callable[[], None],
) -> JudgeResults:
    """Send every request to every judge of a config.

    Args:
        config: names the judges and the budget.
        requests: one for each sample to be judged.
        task: what is judged, for the journal.
        folder: where the journal is kept.
        notify: receives the number of calls and their maximum cost, and failed attempts.
        end: called when every call is answered, before the journal says so.

    Raises:
        ConfigError: a key or a price is missing; nothing was sent.
        BudgetExceededError: the budget does not cover the next call; received judgements are kept.
        FatalError: a judge accepts no further call; received judgements are kept.
        InterruptedRunError: the user stopped it; received judgements are kept.
        RunStoreError: the journal is that of another run's judges.
    """
    asking = _ask_judges(config, requests, task, folder, notify, end)
    return asyncio.run(interruptible(asking, notify))


async def _ask_judges(
    config: AuditConfig,
    requests: Sequence[JudgeRequest],
    task: JudgeTask,
    folder: Path,
    notify: Notify,
    end: Callable[[], None],
) -> JudgeResults:
    in_flight = InFlight()
    async with connect_judges(config, notify) as connected:
        with _open(folder, task, config, servers_to_json(connected)) as journal:
            if journal.cut_told:
                notify(Notice(journal.cut_told))
            budget, record = BudgetMeter(config.budget), _JudgeJournal(journal)
            budget.charge_past(journal.attempts)
            clients = [
                JudgeClient(
                    judge, wrap_client(model, config, record, budget, in_flight, notify), task.run
                )
                for judge, model in zip(config.judge_model, connected, strict=True)
            ]
            _announce(clients, connected, requests, record, budget, notify)
            try:
                judgements = await judge_all_samples(clients, requests)
            except (FatalError, BudgetExceededError) as err:
                raise _add_where_kept(err, folder) from err
            finally:
                await in_flight.drain()
            end()
            journal.finish("completed")
            return JudgeResults(judgements, spend_of(journal.attempts))


def _announce(
    clients: Sequence[JudgeClient],
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
def _open(folder: Path, task: JudgeTask, config: AuditConfig, servers: Json) -> Iterator[Journal]:
    """Open and lock the journal beside the run, and record what is judged."""
    _refuse_lost_journal(folder)
    process: Json = {"package_version": __version__, **servers, **task.as_json()}
    with closing(Journal.open(RunStore(folder).journal_path, utc_now)) as journal:
        if not journal.header:
            journal.begin({"kind": "judge", **process})
        elif journal.header.get("run") == task.run:
            refuse_unpriced_attempts(config, journal.attempts_for(servers))
            journal.resume(reopen=True, **process)
        else:
            raise RunStoreError(
                f"{folder / 'journal.jsonl'} is that of another run's judges; nothing was "
                "sent. Move the folder elsewhere, and run the same command again."
            )
        yield journal


def _refuse_lost_journal(folder: Path) -> None:
    """Refuse to pay for judgements again that are there, but not the answers that they rest on.

    Raises:
        RunStoreError: the message says what to do.
    """
    path = RunStore(folder).journal_path
    names = sorted(each.name for each in folder.glob("*") if each != path)
    kept = [name for name in names if is_set_aside(name)]
    judged = [name for name in names if name.endswith(".judges.json")]
    if (kept or judged) and not (path.exists() and path.stat().st_size):
        instead = f"Rename {kept[-1]} to {path.name}" if kept else "Restore it from a backup"
        raise RunStoreError(
            f"{path} is missing or empty, and with it the answers of judges that were paid for; nothing "
            f"was sent. {instead}, or remove {', '.join(kept + judged)} to pay for them again."
        )
