"""Checks before a run is resumed: nothing is sent, and nothing of the run is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.audit import servers_of
from uncensoring_chinese_models.config import AuditConfig, server_of
from uncensoring_chinese_models.errors import BudgetExceededError, ResumeMismatchError
from uncensoring_chinese_models.models import BudgetMeter, canary_bounds, describe
from uncensoring_chinese_models.runs import RunStore, is_run_header, read_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from uncensoring_chinese_models.domain import Attempt, Json
    from uncensoring_chinese_models.models import Subject
    from uncensoring_chinese_models.runs import Journal

FINAL_STATUSES = frozenset({"completed", "max_iterations"})
"""Statuses of a run to which resuming adds nothing."""
MAX_SHOWN = 5
"""How many differing settings are named."""


def summary_if_final(config: AuditConfig, folder: Path) -> Json | None:
    """Return the summary of a run to which resuming adds nothing; None if there is more to do.

    Raises:
        RunStoreError: it is not a run directory, or of another format.
        ResumeMismatchError: it was made with other settings.
        CorruptRunError: one of its files is not what its summary says.
    """
    store = RunStore.existing(folder)
    if not store.is_finished:
        return None
    summary = store.read_summary()
    read_run(folder)  # refuses what is not a run of this format
    if summary.get("status") not in FINAL_STATUSES:
        return None
    refuse_other_config(AuditConfig.model_validate(summary["config"]).identity(), config, folder)
    store.check_hashes(summary)
    return summary


def refuse_other_run(
    header: Json, texts: Mapping[str, str], config: AuditConfig, folder: Path
) -> None:
    """Refuse to resume what is not a run, or a run that was made from other settings or files.

    Raises:
        ResumeMismatchError: the message says what differs.
    """
    if not is_run_header(header):
        raise ResumeMismatchError(
            f"{folder} is the record of ucm {header['kind']}, not a run; nothing was sent. Start "
            "the audit as a new run."
        )
    refuse_other_config(header.get("settings", {}), config, folder)
    for key, text in texts.items():
        if header.get(key) != text:
            raise ResumeMismatchError(
                f"{getattr(config, key)} has changed since {folder} was made; nothing was sent. "
                "Restore its old text (the journal's first line holds it), or start a new run."
            )


def refuse_other_config(made_by: Json, config: AuditConfig, folder: Path) -> None:
    """Refuse to resume a run with settings that would ask the models something else.

    Raises:
        ResumeMismatchError: the message names the settings.
    """
    changed = list(_differences(made_by, config.identity()))
    if changed:
        more = len(changed) - MAX_SHOWN
        shown = "; ".join(changed[:MAX_SHOWN]) + (f"; and {more} more" if more > 0 else "")
        raise ResumeMismatchError(
            f"{folder} was made with other settings ({shown}); nothing was sent. "
            f"Resume with {folder / 'config.yaml'}, or start a new run. Budget, prices, "
            "timeouts, concurrency, retries, judges and doctor may change."
        )


def refuse_uncovered_canaries(
    config: AuditConfig,
    subjects: Sequence[Subject],
    journal: Journal,
    attempts: Sequence[Attempt],
) -> None:
    """Refuse to resume if the canaries still to be sent could exceed the budget.

    Raises:
        BudgetExceededError: they could.
    """
    bounds, budget = canary_bounds(subjects, journal.answer), BudgetMeter(config.budget)
    budget.charge_past(attempts)
    if bounds and not budget.covers(*bounds):
        raise BudgetExceededError(
            "The budget does not cover the doctor's canaries on top of what the run has spent "
            f"({describe(bounds)} in the worst case); nothing was sent, and the run is as it was. "
            "Raise the budget, or resume with doctor=off."
        )


def notes_on_resuming(config: AuditConfig, journal: Journal) -> Iterator[str]:
    """Yield what a person should know of the run so far: what is free, who answered, what was lost."""
    if journal.attempts:
        yield "Resuming: what the journal holds is shown again, for free."
    yield from _changed_servers(config, journal.attempts)
    if journal.cut_told:
        yield journal.cut_told


def _changed_servers(config: AuditConfig, attempts: Sequence[Attempt]) -> Iterator[str]:
    """Yield a warning for each role that goes on at another server than the one that answered."""
    so_far = servers_of(attempts)
    for role, (model, endpoint) in config.models.items():
        answered = [each["server"] for each in so_far[role] if each["calls"]]
        now = server_of(model, endpoint)
        if any(server != now for server in answered):
            yield (
                f"warning: the {role} was answered by {' and '.join(answered)} so far; the run "
                f"continues with {now}. Its report names {'both' if len({*answered, now}) == 2 else 'all'}."
            )


def _differences(before: Json, after: Json, prefix: str = "") -> Iterator[str]:
    for key in dict.fromkeys([*after, *before]):  # in the order of the config: the topic first
        old, new = before.get(key), after.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(old, new, f"{prefix}{key}.")
        elif old != new:
            yield f"{prefix}{key}: {old!r} there, {new!r} now"
