"""One audit, put together: config → clients → loop → run directory and observers.

The command line calls this, and so will anything that runs many audits; there is no second way.
"""

from __future__ import annotations

import asyncio
import platform
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.audit import iteration_needs, run_audit
from uncensoring_chinese_models.auditor_prompt import AuditorPrompt
from uncensoring_chinese_models.auditor_reply import response_format
from uncensoring_chinese_models.budget import BudgetGate, BudgetMeter, bound_of, describe
from uncensoring_chinese_models.clients.layers import InFlight
from uncensoring_chinese_models.config import AuditConfig
from uncensoring_chinese_models.domain import AuditEnded, AuditorTurn, Response
from uncensoring_chinese_models.errors import (
    BudgetExceededError,
    InterruptedRunError,
    ResumeMismatchError,
)
from uncensoring_chinese_models.journal import Journal
from uncensoring_chinese_models.protocols import Notice
from uncensoring_chinese_models.report import report_markdown
from uncensoring_chinese_models.run_format import response_to_json, turn_to_json
from uncensoring_chinese_models.run_store import RunStore, run_name
from uncensoring_chinese_models.sampling import Sampler
from uncensoring_chinese_models.sides import open_sides, stack, utc_now
from uncensoring_chinese_models.summary import RunRecord, summarise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from uncensoring_chinese_models.config_file import LoadedConfig
    from uncensoring_chinese_models.domain import AuditEvent, Json, Price

ENDED_FOR_GOOD = frozenset({"completed", "max_iterations"})
"""Statuses of a run that resuming adds nothing to."""


class Observer(Protocol):
    """Someone who watches a run: the screen, a report, a test."""

    def started(self, folder: Path, config: AuditConfig) -> None:
        """Hear that the run directory is there."""
        ...

    def event(self, event: AuditEvent, budget: BudgetMeter) -> None:
        """See one turn, response or ending, and what is spent by then."""
        ...

    def notice(self, notice: Notice) -> None:
        """Hear of a failed attempt, a wait or a warning."""
        ...


@dataclass(frozen=True, slots=True)
class JobResult:
    """Where the run is and what it found."""

    folder: Path
    summary: Json
    was_finished: bool = False
    """True when the run had ended before and nothing was sent."""


def run_job(loaded: LoadedConfig, observer: Observer, *, resume: Path | None = None) -> JobResult:
    """Run one audit to its end, or go on with one that was interrupted.

    Raises:
        ConfigError: something is wrong with the input; nothing was sent.
        FatalError: the provider takes no further call; the run can be resumed.
        InterruptedRunError: the user stopped it; the run can be resumed.
    """
    return asyncio.run(_interruptible(loaded, observer, resume))


async def _interruptible(
    loaded: LoadedConfig, observer: Observer, resume: Path | None
) -> JobResult:
    """Let the first Ctrl-C wait for the calls in flight, and the second abandon them."""
    work = asyncio.ensure_future(_run(loaded, observer, resume))
    signals: list[int] = []

    def stop() -> None:
        signals.append(1)
        if len(signals) == 1:
            observer.notice(
                Notice("Stopping: waiting for calls in flight (Ctrl-C again abandons them).")
            )
        work.cancel()

    with _on_signals(stop):
        try:
            return await work
        except asyncio.CancelledError:
            raise InterruptedRunError("Stopped; every finished call is in the journal.") from None


@contextmanager
def _on_signals(action: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    caught = (signal.SIGINT, signal.SIGTERM)
    for number in caught:
        loop.add_signal_handler(number, action)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)


async def _run(loaded: LoadedConfig, observer: Observer, resume: Path | None) -> JobResult:
    config = loaded.settings
    if resume is not None:
        finished = _already_finished(config, resume)
        if finished is not None:
            return finished
    sampler = Sampler(config)
    in_flight = InFlight()
    async with open_sides(config, observer.notice) as sides:
        prices: dict[str, Price | None] = {side.role: side.price for side in sides}
        if resume is None:
            refuse_hopeless_budget(config, sampler, prices)
        with _open_run(loaded, resume) as (store, journal):
            budget = BudgetMeter(config.budget)
            budget.charge_past(journal.attempts)
            gate = BudgetGate(budget, prices, journal)
            observer.started(store.folder, config)
            if journal.attempts:
                observer.notice(
                    Notice("Resuming: what the journal holds is shown again, for free.")
                )
            if journal.cut_bytes:
                observer.notice(
                    Notice("The journal's torn last line was cut off; all else is kept.")
                )
            auditor, target = (
                stack(side, config, journal, budget, in_flight, observer.notice) for side in sides
            )
            run = run_name(config.audited_model, config.topic, journal.header["started_at"])
            record = RunRecord(run, config.topic)
            try:
                async for event in run_audit(config, auditor, target, gate):
                    record.add(event)
                    _store(store, event, run)
                    observer.event(event, budget)
            finally:
                await in_flight.drain()
            summary = _finish(config, sampler, store, journal, record)
            return JobResult(store.folder, summary)


# --- before anything is sent --------------------------------------------------------------------


def refuse_hopeless_budget(
    config: AuditConfig, sampler: Sampler, prices: Mapping[str, Price | None]
) -> None:
    """Refuse a budget under which not even the first probe could be sent."""
    prompt = AuditorPrompt(config, response_format())
    needs, closing = iteration_needs(config, prompt, sampler, [])
    sizes = [bound_of(need, prices) for need in (*needs, closing)]
    if not BudgetMeter(config.budget).covers(*sizes):
        raise BudgetExceededError(
            "The budget does not cover one iteration and the closing request in the worst case "
            f"({describe(sizes)}); nothing was sent. Raise the budget, or lower max_tokens in "
            "sampling and auditor_sampling."
        )


def _already_finished(config: AuditConfig, folder: Path) -> JobResult | None:
    """Return the result of a run that resuming adds nothing to.

    Raises:
        ResumeMismatchError: it was made with other settings.
        CorruptRunError: one of its files is not what its summary says.
    """
    store = RunStore.existing(folder)
    if not store.is_finished:
        return None
    summary = store.read_summary()
    if summary.get("status") not in ENDED_FOR_GOOD:
        return None
    _refuse_other_config(AuditConfig.model_validate(summary["config"]).identity(), config, folder)
    store.check_hashes(summary)
    return JobResult(folder, summary, was_finished=True)


# --- the run ------------------------------------------------------------------------------------


@contextmanager
def _open_run(loaded: LoadedConfig, resume: Path | None) -> Iterator[tuple[RunStore, Journal]]:
    """Open a new run directory, or one that is to go on, and own it."""
    config = loaded.settings
    if resume is None:
        name = run_name(config.audited_model, config.topic, utc_now())
        store = RunStore.create(Path(config.output_dir).expanduser(), name, loaded.file_bytes)
    else:
        store = RunStore.existing(resume)
    with store.lock():
        journal = Journal.open(store.journal_path, utc_now)
        try:
            if journal.header:
                _refuse_other_config(journal.header.get("settings", {}), config, store.folder)
                # A run without a footer was interrupted: it goes on as if nothing had happened.
                ended = None if journal.footer is None else journal.footer["status"]
                reopen = store.is_finished or ended not in (None, *ENDED_FOR_GOOD)
                journal.resume(__version__, reopen=reopen)
                store.begin_again()
            else:
                journal.begin(
                    {
                        "package_version": __version__,
                        "settings": config.identity(),
                        "seed": config.sampling.seed,
                    }
                )
            yield store, journal
        finally:
            journal.close()


def _refuse_other_config(made_by: Json, config: AuditConfig, folder: Path) -> None:
    changed = list(_differences(made_by, config.identity()))
    if changed:
        shown = "; ".join(changed[:5]) + (f"; and {len(changed) - 5} more" * (len(changed) > 5))
        raise ResumeMismatchError(
            f"{folder} was made with other settings ({shown}); nothing was sent. "
            f"Resume with {folder / 'config.yaml'}, or start a new run. Budget, prices, "
            "timeouts, concurrency and retries may change."
        )


def _differences(before: Json, after: Json, prefix: str = "") -> Iterator[str]:
    for key in dict.fromkeys([*after, *before]):  # in the order of the config: the topic first
        old, new = before.get(key), after.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(old, new, f"{prefix}{key}.")
        elif old != new:
            yield f"{prefix}{key}: {old!r} there, {new!r} now"


def _store(store: RunStore, event: AuditEvent, run: str) -> None:
    if isinstance(event, AuditorTurn):
        store.write_turn(event.iteration, turn_to_json(event, run))
    elif isinstance(event, Response):
        store.write_response(event.iteration, response_to_json(event))


def _finish(
    config: AuditConfig, sampler: Sampler, store: RunStore, journal: Journal, record: RunRecord
) -> Json:
    """Write the ending: the journal's footer first, the summary last."""
    ended = record.ended or AuditEnded("auditor_failed")
    finished_at = journal.finish(ended.status)
    store.prune(
        max((turn.iteration for turn in record.turns), default=0),
        max((response.iteration for response in record.responses), default=0),
    )
    template = sampler.template
    summary: Json = {
        "config": config.model_dump(mode="json"),
        "started_at": journal.header["started_at"],
        "finished_at": finished_at,
        **summarise(record, journal.attempts),
        "template": None if template is None else template.as_json(),
        "versions": {"package": __version__, "python": platform.python_version()},
    }
    store.write_report(report_markdown(summary))
    store.write_summary(summary)
    return store.read_summary()
