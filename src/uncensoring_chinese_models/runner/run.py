"""One audit, put together: config → clients → loop → run directory and observers.

The command line calls this, and so will anything that runs many audits; there is no second way.
"""

from __future__ import annotations

import asyncio
import platform
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.audit import (
    AuditorPrompt,
    iteration_needs,
    prompt_file_text,
    response_format,
)
from uncensoring_chinese_models.config import AuditConfig, load_config, recorded_config
from uncensoring_chinese_models.errors import (
    BudgetExceededError,
    ResumeMismatchError,
)
from uncensoring_chinese_models.measure import parse_facts, read_facts
from uncensoring_chinese_models.models import (
    BudgetGate,
    BudgetMeter,
    InFlight,
    Notice,
    Sampler,
    bound_of,
    canary_bounds,
    checked_endpoints,
    describe,
    interruptible,
    open_sides,
    stack,
    utc_now,
)
from uncensoring_chinese_models.runner.builtins import BUILTINS
from uncensoring_chinese_models.runner.pipeline import Parts, unfold
from uncensoring_chinese_models.runner.resume import as_begun
from uncensoring_chinese_models.runs import Journal, RunStore, run_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from uncensoring_chinese_models.audit import AuditEvent
    from uncensoring_chinese_models.config import LoadedConfig
    from uncensoring_chinese_models.domain import Json, Price
    from uncensoring_chinese_models.models import CheckedEndpoint

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
    if resume is not None:
        loaded = as_begun(loaded, resume)
    return asyncio.run(interruptible(_run(loaded, observer, resume), observer.notice))


async def _run(loaded: LoadedConfig, observer: Observer, resume: Path | None) -> JobResult:
    config = loaded.settings
    if resume is not None:
        finished = _already_finished(config, resume)
        if finished is not None:
            return finished
    sampler = Sampler(config)
    in_flight = InFlight()
    async with open_sides(config, BUILTINS, observer.notice) as sides:
        prices: dict[str, Price | None] = {side.role: side.price for side in sides}
        if resume is None:
            refuse_hopeless_budget(config, sampler, prices)

        def check(journal: Journal) -> None:
            if config.doctor != "off":
                _refuse_uncovered_canaries(
                    config, checked_endpoints(config, sampler, prices), journal
                )

        with _open_run(loaded, resume, check) as (store, journal):
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
            parts = Parts(config, auditor, target, gate, journal, store, prices)
            try:
                summary = await unfold(
                    parts, lambda event: observer.event(event, budget), observer.notice
                )
            finally:
                await in_flight.drain()
            return JobResult(store.folder, summary)


# --- before anything is sent --------------------------------------------------------------------


def refuse_hopeless_budget(
    config: AuditConfig, sampler: Sampler, prices: Mapping[str, Price | None]
) -> None:
    """Refuse a budget under which not even the first probe could be sent."""
    prompt = AuditorPrompt(config, response_format())
    needs, closing = iteration_needs(config, prompt, sampler, [])
    sizes = [bound_of(need, prices) for need in (*needs, closing)]
    if config.doctor != "off":
        sizes += canary_bounds(checked_endpoints(config, sampler, prices))
    what = "one iteration" if config.doctor == "off" else "the doctor's canaries, one iteration"
    if not BudgetMeter(config.budget).covers(*sizes):
        raise BudgetExceededError(
            f"The budget does not cover {what} and the closing request in the worst case "
            f"({describe(sizes)}); nothing was sent. Raise the budget, or lower max_tokens in "
            "sampling and auditor_sampling."
        )


def _refuse_uncovered_canaries(
    config: AuditConfig, subjects: Sequence[CheckedEndpoint], journal: Journal
) -> None:
    """Refuse to resume under a budget that the canaries still to be sent could pass."""
    bounds, budget = canary_bounds(subjects, journal.answer), BudgetMeter(config.budget)
    budget.charge_past(journal.attempts)
    if bounds and not budget.covers(*bounds):
        raise BudgetExceededError(
            "The budget does not cover the doctor's canaries on top of what the run has spent "
            f"({describe(bounds)} in the worst case); nothing was sent, and the run is as it was. "
            "Raise the budget, or resume with doctor=off."
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
    _refuse_other_config(recorded_config(summary["config"]).identity(), config, folder)
    store.check_hashes(summary)
    return JobResult(folder, summary, was_finished=True)


# --- the run ------------------------------------------------------------------------------------


@contextmanager
def _open_run(
    loaded: LoadedConfig, resume: Path | None, check: Callable[[Journal], None]
) -> Iterator[tuple[RunStore, Journal]]:
    """Open a new run directory, or one that is to go on and passes the check, and own it."""
    config = loaded.settings
    texts = texts_of(config)  # first, so that what is refused leaves no run directory
    started_at = utc_now()
    if resume is None:
        name = run_name(config.audited_model, config.topic, started_at)
        store = RunStore.create(Path(config.output_dir).expanduser(), name, loaded.file_bytes)
    else:
        store = RunStore.existing(resume)
    process: Json = {
        "package_version": __version__,
        "python_version": platform.python_version(),
        "config": config.model_dump(mode="json"),
    }
    with store.lock():
        journal = Journal.open(store.journal_path, utc_now)
        try:
            if journal.header:
                _refuse_other_kind(journal.header, store.folder)
                _refuse_other_config(journal.header.get("settings", {}), config, store.folder)
                _refuse_other_texts(journal.header, texts, config, store.folder)
                check(journal)
                # A run without a footer was interrupted: it goes on as if nothing had happened.
                ended = None if journal.footer is None else journal.footer["status"]
                reopen = store.is_finished or ended not in (None, *ENDED_FOR_GOOD)
                store.begin_again()  # first, so that no summary tells of a run that goes on
                journal.resume(reopen=reopen, **process)
            else:
                if resume is not None:  # it was broken off before the journal began
                    stored = load_config(store.folder / "config.yaml").settings
                    _refuse_other_config(stored.identity(), config, store.folder)
                header: Json = {
                    "kind": config.kind,
                    "started_at": started_at,  # the folder bears it, too
                    **process,
                    "settings": config.identity(),
                    "seed": config.sampling.seed,
                    "config_sha256": store.hashes()["config.yaml"],
                }
                journal.begin(header | texts)
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
            "timeouts, concurrency, retries, judges and doctor may change."
        )


def _refuse_other_kind(header: Json, folder: Path) -> None:
    if header.get("kind") not in ("audit", "probe"):
        raise ResumeMismatchError(
            f"{folder} is the record of ucm {header.get('kind')}, not of an audit; nothing was "
            "sent. Start the audit as a new run."
        )


def texts_of(config: AuditConfig) -> dict[str, str]:
    """Return the texts of the files that a config names; the journal keeps them.

    Raises:
        ConfigError: there is no such file, or it is wrong.
    """
    texts: dict[str, str] = {}
    prompt_file = prompt_file_text(config.auditor_prompt)
    if prompt_file is not None:
        texts["auditor_prompt"] = prompt_file
    if config.facts is not None:
        raw = read_facts(config.facts)
        parse_facts(raw, config.facts)
        texts["facts"] = raw.decode("utf-8")
    return texts


def _refuse_other_texts(
    header: Json, texts: Mapping[str, str], config: AuditConfig, folder: Path
) -> None:
    for key, text in texts.items():
        if key in header and header[key] != text:
            raise ResumeMismatchError(
                f"{getattr(config, key)} is not the file any more that {folder} was made with; "
                "nothing was sent. Put its old text back (the journal's first line holds it), or "
                "start a new run."
            )


def _differences(before: Json, after: Json, prefix: str = "") -> Iterator[str]:
    for key in dict.fromkeys([*after, *before]):  # in the order of the config: the topic first
        old, new = before.get(key), after.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(old, new, f"{prefix}{key}.")
        elif old != new:
            yield f"{prefix}{key}: {old!r} there, {new!r} now"
