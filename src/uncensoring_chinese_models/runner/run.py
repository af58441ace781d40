"""Run one audit or probe: config → clients → pipeline → run directory and observers.

Every command that runs an audit calls `run_job`.
"""

from __future__ import annotations

import asyncio
import platform
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from uncensoring_chinese_models import __version__, strict_json
from uncensoring_chinese_models.audit import (
    AuditorPrompt,
    iteration_needs,
    prompt_file_text,
    response_format,
)
from uncensoring_chinese_models.config import AuditConfig, load_config, path_from, refuse_keys_in
from uncensoring_chinese_models.errors import BudgetExceededError
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
    connect_models,
    describe,
    interruptible,
    refuse_unpriced_attempts,
    servers_to_json,
    settle_target,
    utc_now,
    wrap_client,
)
from uncensoring_chinese_models.runner.builtins import BUILTINS
from uncensoring_chinese_models.runner.pipeline import Parts, run_pipeline
from uncensoring_chinese_models.runner.resume import (
    FINAL_STATUSES,
    notes_on_resuming,
    refuse_other_config,
    refuse_other_run,
    refuse_uncovered_canaries,
    summary_if_final,
)
from uncensoring_chinese_models.runs import Journal, RunStore, run_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from uncensoring_chinese_models.audit import AuditEvent
    from uncensoring_chinese_models.config import LoadedConfig
    from uncensoring_chinese_models.domain import Json, Price


_COPIED = {"auditor_prompt": "The prompt file", "facts": "The facts file"}
"""What the texts are whose copies the journal holds."""


class Observer(Protocol):
    """Watches a run: the screen, a test."""

    def started(self, folder: Path, config: AuditConfig) -> None:
        """Called once the run directory exists."""
        ...

    def event(self, event: AuditEvent, budget: BudgetMeter) -> None:
        """Called with each turn, response and ending, and with the budget at that time."""
        ...

    def notice(self, notice: Notice) -> None:
        """Called with each failed attempt, wait and warning."""
        ...


@dataclass(frozen=True, slots=True)
class JobResult:
    """The directory and the summary of a run."""

    folder: Path
    summary: Json
    was_finished: bool = False
    """True when the run had ended before and nothing was sent."""


def run_job(loaded: LoadedConfig, observer: Observer, *, resume: Path | None = None) -> JobResult:
    """Run one audit to its end, or resume one that was interrupted.

    Raises:
        ConfigError: something is wrong with the input; nothing was sent.
        FatalError: the provider takes no further call; the run can be resumed.
        InterruptedRunError: the user stopped it; the run can be resumed.
    """
    return asyncio.run(interruptible(_run(loaded, observer, resume), observer.notice))


async def _run(loaded: LoadedConfig, observer: Observer, resume: Path | None) -> JobResult:
    loaded = settle_target(loaded)
    config = loaded.settings
    if resume is not None:
        summary = summary_if_final(config, resume)
        if summary is not None:
            return JobResult(resume, summary, was_finished=True)
    sampler = Sampler(config)
    in_flight = InFlight()
    async with connect_models(config, BUILTINS, observer.notice) as sides:
        prices: dict[str, Price | None] = {side.role: side.price for side in sides}
        if resume is None:
            refuse_hopeless_budget(config, sampler, prices)

        servers = servers_to_json(sides)

        def check(journal: Journal) -> None:
            attempts = journal.attempts_for(servers)
            refuse_unpriced_attempts(config, attempts)
            if config.doctor != "off":
                endpoints = checked_endpoints(config, sampler, prices)
                refuse_uncovered_canaries(config, endpoints, journal, attempts)

        with _open_run(loaded, resume, servers, check) as (store, journal):
            budget = BudgetMeter(config.budget)
            budget.charge_past(journal.attempts)
            gate = BudgetGate(budget, prices, journal)
            observer.started(store.folder, config)
            for line in notes_on_resuming(config, journal):
                observer.notice(Notice(line))
            auditor, target = (
                wrap_client(side, config, journal, budget, in_flight, observer.notice)
                for side in sides
            )
            parts = Parts(config, auditor, target, gate, journal, store)
            try:
                summary = await run_pipeline(
                    parts, lambda event: observer.event(event, budget), observer.notice
                )
            finally:
                await in_flight.drain()
            return JobResult(store.folder, summary)


# --- before anything is sent --------------------------------------------------------------------


def refuse_hopeless_budget(
    config: AuditConfig, sampler: Sampler, prices: Mapping[str, Price | None]
) -> None:
    """Refuse a budget that does not cover the first probe and the closing request."""
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


# --- the run ------------------------------------------------------------------------------------


@contextmanager
def _open_run(
    loaded: LoadedConfig, resume: Path | None, servers: Json, check: Callable[[Journal], None]
) -> Iterator[tuple[RunStore, Journal]]:
    """Open and lock the journal of a new run, or of one that is resumed and passes the check."""
    config = loaded.settings
    texts = texts_of(config)  # first, so that a refusal leaves no run directory
    refuse_keys_in(
        {
            "The config": loaded.file_bytes.decode("utf-8", "replace"),
            "The settings": strict_json.dumps(config.model_dump(mode="json")),
            **{_COPIED[name]: text for name, text in texts.items()},
        }
    )
    started_at = utc_now()
    if resume is None:
        name = run_name(config.audited_model, config.topic, started_at)
        store = RunStore.create(path_from(config.output_dir), name, loaded.file_bytes)
    else:
        store = RunStore.existing(resume)
    process: Json = {
        "package_version": __version__,
        "python_version": platform.python_version(),
        "config": config.model_dump(mode="json"),
        **servers,
    }
    with closing(Journal.open(store.journal_path, utc_now, create=False)) as journal:
        # The report reads the stored config, so a damaged one is refused before anything is sent.
        stored = loaded if resume is None else load_config(store.folder / "config.yaml")
        if journal.header:
            refuse_other_run(journal.header, texts, config, store.folder)
            check(journal)
            # A run without a footer was interrupted: it continues as if nothing had happened.
            ended = None if journal.footer is None else journal.footer["status"]
            reopen = store.is_finished or ended not in (None, *FINAL_STATUSES)
            store.begin_again()  # first, so that no run that continues has a summary
            journal.resume(reopen=reopen, **process)
        else:
            if resume is not None:  # it was interrupted before the journal began
                made_by = settle_target(stored).settings.identity()
                refuse_other_config(made_by, config, store.folder)
                if store.has_results:
                    journal.refuse_if_emptied()
                store.begin_again()
                store.write_bytes("config.yaml", loaded.file_bytes)  # the run begins now
            header: Json = {
                "kind": config.kind,
                "started_at": started_at,  # as in the name of the folder
                **process,
                "settings": config.identity(),
                "seed": config.sampling.seed,
                "config_sha256": store.hashes()["config.yaml"],
            }
            journal.begin(header | texts)
        yield store, journal


def texts_of(config: AuditConfig) -> dict[str, str]:
    """Return the texts of the files that a config names; the journal holds them.

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
