"""`ucm doctor`: send the canaries of a config through the same clients as an audit, and record them."""

from __future__ import annotations

import asyncio
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.config import file_told, path_from, refuse_keys_in
from uncensoring_chinese_models.errors import BudgetExceededError
from uncensoring_chinese_models.models import (
    BudgetMeter,
    InFlight,
    NextSteps,
    Sampler,
    canary_bounds,
    checked_endpoints,
    connect_models,
    describe,
    doctor_to_json,
    examine,
    interruptible,
    settle_target,
    utc_now,
    wrap_client,
)
from uncensoring_chinese_models.runner.builtins import BUILTINS
from uncensoring_chinese_models.runs import Journal, RunStore, doctor_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uncensoring_chinese_models.config import LoadedConfig
    from uncensoring_chinese_models.domain import Role
    from uncensoring_chinese_models.models import CheckResult, Notify


@dataclass(frozen=True, slots=True)
class Checkup:
    """The folder of the record, and the verdicts."""

    folder: Path
    diagnoses: list[CheckResult]
    rules: dict[Role, str]
    """The built-in models by role: they run in this process and were sent nothing."""
    target_file: str | None
    """Which file the target is, and with which template, if it is a file."""

    @property
    def exit_code(self) -> int:
        """3 if any verdict is no, else 0."""
        return 3 if any(each.verdict == "no" for each in self.diagnoses) else 0


def run_checkup(loaded: LoadedConfig, notify: Notify) -> Checkup:
    """Send the canaries of a config and judge the replies.

    Raises:
        ConfigError: something is wrong with the input; nothing was sent.
        BudgetExceededError: the budget does not cover the canaries; nothing was sent.
        FatalError: an endpoint takes no call; nothing more was sent.
    """
    return asyncio.run(interruptible(_check_up(loaded, notify), notify))


async def _check_up(loaded: LoadedConfig, notify: Notify) -> Checkup:
    loaded = settle_target(loaded)
    config, in_flight = loaded.settings, InFlight()
    sampler = Sampler(config)
    async with connect_models(config, BUILTINS, notify) as sides:
        subjects = checked_endpoints(config, sampler, {side.role: side.price for side in sides})
        budget, bounds = BudgetMeter(config.budget), canary_bounds(subjects)
        if not budget.covers(*bounds):
            raise BudgetExceededError(
                f"The budget does not cover the canaries in the worst case ({describe(bounds)}); "
                "nothing was sent. Raise the budget."
            )
        with _open(loaded) as (store, journal):
            clients = {
                side.role: wrap_client(side, config, journal, budget, in_flight, notify)
                for side in sides
            }
            try:
                kept = f"the record of the attempts is kept in {store.folder}"
                after = NextSteps(kept, "run the doctor again", "")
                diagnoses = await examine(subjects, clients, after)
            finally:
                await in_flight.drain()
            journal.finish("completed")
            store.write_doctor(doctor_to_json(diagnoses))
    rules = {each.side: each.model for each in subjects if not each.can_be_asked}
    return Checkup(store.folder, diagnoses, rules, file_told(config.model_dump()))


@contextmanager
def _open(loaded: LoadedConfig) -> Iterator[tuple[RunStore, Journal]]:
    """Make a folder for the record, and open its journal."""
    config = loaded.settings
    refuse_keys_in({"The config": loaded.file_bytes.decode("utf-8", "replace")})
    name = doctor_name(config.audited_model, utc_now())
    store = RunStore.create(path_from(config.output_dir), name, loaded.file_bytes)
    with closing(Journal.open(store.journal_path, utc_now, create=False)) as journal:
        header = {"kind": "doctor", "package_version": __version__}
        journal.begin({**header, "settings": config.identity()})
        yield store, journal
