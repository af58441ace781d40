"""Replay a run from its journal, in memory: nothing is sent, and no other file is read.

A replay uses the same pipeline as the run itself, with the journal in place of the servers. A call
that the journal does not hold ends the replay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.audit import BUILT_IN, servers_of
from uncensoring_chinese_models.config import AuditConfig, file_told, parse_mapping
from uncensoring_chinese_models.domain import Reply
from uncensoring_chinese_models.errors import (
    BudgetExceededError,
    CorruptRunError,
    FailedCheckError,
    NotRecordedError,
    RejectedError,
    ResumeMismatchError,
)
from uncensoring_chinese_models.models import (
    BudgetGate,
    BudgetMeter,
    InFlight,
    Journaled,
    ModelClient,
    describe,
    worst_case,
)
from uncensoring_chinese_models.runner.pipeline import Parts, run_pipeline
from uncensoring_chinese_models.runs import Journal, RunStore, prices_from_json, whole_lines
from uncensoring_chinese_models.text import preview

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from uncensoring_chinese_models.audit import AuditEvent
    from uncensoring_chinese_models.domain import Call, Json, Price, Reservation, Status
    from uncensoring_chinese_models.errors import ClientError
    from uncensoring_chinese_models.models import Need

Auditor = Callable[[AuditConfig], ModelClient]
MAX_VERSION_CHARACTERS = 40
"""A version is only a word of the journal; no more of it is shown."""
NO_PRICES = {"auditor": None, "target": None}
"""Decisions that depend on prices are in the journal."""


@dataclass(slots=True)
class ReservationsChecked:
    """The reservations of the journal, compared with the worst case of the requests of a replay."""

    right: set[int] = field(default_factory=set)
    """Lines whose reservation is what the budget computes for their request."""
    wrong: dict[int, str] = field(default_factory=dict)
    """Lines with another reservation, and what it should be."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a decision of the budget is about."""

    iteration: tuple[Need, ...] = ()
    """The calls of an iteration."""
    closing: Mapping[int, Need] = field(default_factory=dict)
    """The closing request, by the limit on the texts that it shows; an iteration has one to come."""


@dataclass(slots=True)
class Replayed:
    """What follows from a journal."""

    files: dict[str, bytes] = field(default_factory=dict)
    """Every file that the run writes, in the order in which it is first written."""
    ended: bool = False
    stopped_at: str = ""
    """What the journal lacks, if the run has not ended."""
    problem: str = ""
    """Why the replay failed, if not because the journal lacks something."""
    calls: int = 0
    unused_calls: int = 0
    """Calls in the journal that the result does not use."""
    generation_ids: int = 0
    """Replies that a provider can be asked about; local models have none."""
    header: dict[str, Any] = field(default_factory=dict)
    process: dict[str, Any] = field(default_factory=dict)
    """What the journal says of the last process that worked on the run."""
    target_file: str | None = None
    """Which file was the target, and with which template, if it was a file."""
    cuts: list[Json] = field(default_factory=list)
    """What the journal says was cut from it after crashes."""
    files_of_events: int = 0
    """How many of the files were written before the ending."""
    servers: Json = field(default_factory=dict)
    """The servers that the journal names, by role, with the number of calls that each answered."""
    reservations: ReservationsChecked = field(default_factory=ReservationsChecked)
    unasked: dict[str, int] = field(default_factory=dict)
    """Calls that nothing explains: the run, replayed, does not ask them. With their lines."""
    needs: dict[str, Needs] = field(default_factory=dict)
    """What decisions of the budget are about, by their names."""
    went_on_at: int = 0
    """The last line in which the run was resumed to repeat calls; before it other needs may have been."""

    @property
    def other_version(self) -> str | None:
        """The version that last worked on the run, if it is not this one."""
        made_by = self.process.get("package_version")
        return None if made_by == __version__ else preview(str(made_by), MAX_VERSION_CHARACTERS)

    @property
    def may_lack(self) -> list[str]:
        """The files that a killed run may not have written yet."""
        names = list(self.files)
        return names[self.files_of_events :] if self.ended else names[-1:]


def replay(config_yaml: bytes, journal: bytes, auditor: Auditor | None = None) -> Replayed:
    """Replay a run from an unbroken journal; it never raises, whatever the journal holds.

    Args:
        config_yaml: the config as it is stored.
        journal: the journal as it is stored.
        auditor: makes a client that is asked in place of the recorded auditor.
    """
    replayed = Replayed()
    try:
        asyncio.run(_replay(config_yaml, journal, replayed, auditor))
    except NotRecordedError as err:
        replayed.stopped_at = str(err)
    except FailedCheckError:
        replayed.stopped_at = "the first probe, which the doctor forbade"
    except Exception as err:  # noqa: BLE001 -- a stranger's journal may say anything
        replayed.problem = f"{type(err).__name__}: {err}"
    return replayed


def journals_before_resume(journal: bytes) -> Iterator[bytes]:
    """Yield the journal as it was each time before the run was resumed, newest first."""
    lines, _ = whole_lines(journal)
    for number in range(len(lines) - 1, 0, -1):
        if lines[number].startswith(b'{"type": "resumed"'):
            yield b"".join(line + b"\n" for line in lines[:number])


async def _replay(
    config_yaml: bytes, content: bytes, replayed: Replayed, instead: Auditor | None
) -> None:
    journal = Recording()
    journal.load(content)
    replayed.header, replayed.process = journal.header, journal.process
    replayed.servers, replayed.reservations = servers_of(journal.attempts), journal.reservations
    replayed.cuts = journal.cuts
    config = _settings(config_yaml, journal)
    replayed.target_file = file_told(config.model_dump())
    replayed.generation_ids = _provider_ids(config, journal)
    store = MemoryStore({"config.yaml": config_yaml, "journal.jsonl": content})
    store.config_sha256 = journal.header.get("config_sha256")
    replayed.files = store.files
    budget = BudgetMeter(config.budget)
    recorded = Journaled(EndOfRecord(budget), journal, InFlight())
    auditor = recorded if instead is None else instead(config)
    gate = RecordedGate(budget, NO_PRICES, journal, replayed.needs)

    def watch(_: AuditEvent) -> None:
        replayed.files_of_events = len(store.files)

    try:
        parts = Parts(config, auditor, recorded, gate, journal, store)
        await run_pipeline(parts, watch, lambda _: None)
        replayed.ended = True
    finally:
        replayed.calls = len(journal.used)
        replayed.unused_calls = journal.answered - len(journal.used)
        replayed.unasked = journal.unasked()
        replayed.went_on_at = journal.went_on_at


def _settings(config_yaml: bytes, journal: Recording) -> AuditConfig:
    recorded = journal.process.get("config") or parse_mapping(config_yaml, "config.yaml")
    config = AuditConfig.model_validate(recorded)
    prompt = journal.header.get("auditor_prompt")
    if config.auditor_prompt not in BUILT_IN and not isinstance(prompt, str):
        raise CorruptRunError("the journal does not hold the text of the auditor's prompt file")
    return config


def _provider_ids(config: AuditConfig, journal: Recording) -> int:
    """Count the replies with an id, except those of local and built-in models."""
    endpoints = {"auditor": config.auditing_endpoint, "target": config.audited_endpoint}
    return sum(
        isinstance(attempt.result, Reply)
        and attempt.result.generation_id is not None
        and not endpoints[attempt.role].traits.is_ours
        for attempt in journal.attempts
    )


class _Sent(NamedTuple):
    """An attempt as the journal has it: what was reserved for it, at the prices of its time."""

    line: int
    request: str
    reserved: Reservation
    prices: dict[str, Price | None]


def _is_of_stage(call: str, *stage: str) -> bool:
    """Tell whether a call belongs to a stage that the budget may end: ``2/samples``, ``likelihood``."""
    iteration, role, purpose, *rest = call.split("/")
    if len(stage) == 1:
        return purpose in ("likelihood", "tokens") or rest[0] == "likelihood"
    number, name = int(stage[0]), stage[1]
    if name == "samples":
        return role == "target" and int(iteration) == number
    return role == "auditor" and int(iteration) in (number, number + 1)


@dataclass(frozen=True, slots=True)
class RecordedGate(BudgetGate):
    """The gate of a replay: decisions are in the journal, and what they are about is kept."""

    needs: dict[str, Needs] = field(default_factory=dict)

    def may_begin(self, iteration: int, needs: Sequence[Need], closing: Need) -> bool:
        """Return what was decided."""
        self.needs[f"go/{iteration}"] = Needs(tuple(needs), {0: closing})
        return BudgetGate.may_begin(self, iteration, needs, closing)

    def closing_limit(self, iteration: int, options: Mapping[int, Need]) -> int:
        """Return what was chosen."""
        self.needs[f"closing/{iteration}"] = Needs((), dict(options))
        return BudgetGate.closing_limit(self, iteration, options)


class EndOfRecord:
    """The client of a replay: it answers nothing."""

    def __init__(self, budget: BudgetMeter | None = None) -> None:
        self._budget = budget

    async def complete(self, call: Call) -> Reply:
        """Raise an error that names the missing answer, unless the budget did not cover the call."""
        if self._budget is not None and self._budget.closed:
            raise BudgetExceededError("the budget did not cover this call")
        raise NotRecordedError(f"the answer to call {call.key}")


class Recording(Journal):
    """A journal that is only read."""

    def __init__(self) -> None:
        super().__init__(Path("journal.jsonl"), lambda: "")
        self.used: set[str] = set()
        self._asked: set[str] = set()
        self.reservations = ReservationsChecked()
        self._sent: dict[str, list[_Sent]] = {}
        self.went_on_at = 0
        """The last line in which the run was resumed to repeat calls."""
        self._resumed_at = 0
        """The last line in which it was resumed at all."""
        self._refused_at: dict[str, int] = {}
        """Where the budget refused an iteration."""
        self._revoked: list[tuple[int, int]] = []
        """Where it did, and where it covered the same iteration later: between them the run was ending."""
        self._asks_budget = False
        """Whether the replay came to the first iteration, which comes after the doctor."""

    @property
    def answered(self) -> int:
        """How many calls have an answer."""
        return sum(held.result is not None for held in self._held.values())

    @property
    def rejected(self) -> dict[str, RejectedError]:
        """The calls that a server rejected, by name; those that ended a judging have no answer."""
        return {
            name: attempt.result
            for (name, _), attempt in self._attempts.items()
            if isinstance(attempt.result, RejectedError)
        }

    def last_request(self, name: str) -> str:
        """Return the hash of the request with which a call was last sent."""
        return self._held[name].request

    def answer(self, call: Call) -> Reply | ClientError | None:
        """Return what this call was answered with."""
        name = str(call.key)
        self._asked.add(name)
        try:
            result = super().answer(call)
        except ResumeMismatchError:
            raise CorruptRunError(
                f"line {self._sent[name][-1].line}: call {name} was sent with another request than the "
                "one that follows from the config and the replies before it"
            ) from None
        if result is not None:
            self.used.add(name)
        self._check_reservations(call)
        return result

    def unasked(self) -> dict[str, int]:
        """Return the calls of the journal that were not asked, except where a decision or resuming says why.

        A resumed run may ask other calls than before, and a stage that the budget cut off is passed
        over. One that was resumed with the doctor, and stopped before it was done, asks nothing else.
        One that had begun to end for its budget, and was resumed with more, does not end there.
        """
        since = self.went_on_at if self._asks_budget else self._resumed_at
        cut = [name.split("/", 2)[1:] for name in self._decisions if name.startswith("cut/")]
        return {
            name: self._sent[name][-1].line
            for name in self._held
            if name not in self._asked
            and self._sent[name][-1].line > since
            and "/doctor/" not in name  # resuming may switch the doctor off
            and not self._was_refused_canary(name)
            and not any(_is_of_stage(name, *stage) for stage in cut)
            and not any(first < self._sent[name][-1].line < last for first, last in self._revoked)
        }

    def _was_refused_canary(self, name: str) -> bool:
        """Tell whether a call is a canary that ended the run, or was lost in flight."""
        return "/canary/" in name and self._held[name].result is None

    def _check_reservations(self, call: Call) -> None:
        """Compare what was reserved for this request with its worst case, for each attempt."""
        held = self._held.get(str(call.key))
        for sent in self._sent.get(str(call.key), ()):
            if held is None or sent.request != held.request:
                continue  # another request of this name, before the run was resumed
            found = sent.reserved
            named = call.body["model"] if call.key.role == "judge" else call.key.role
            expected = worst_case(call, sent.prices.get(named))
            if found == expected:
                self.reservations.right.add(sent.line)
            else:
                self.reservations.wrong[sent.line] = describe([expected])

    def decide(  # the budget of now does not matter
        self,
        name: str,
        value: Callable[[], Any],  # noqa: ARG002 -- as above
        *,
        lasting: bool = True,  # noqa: ARG002 -- as above
    ) -> Any:
        """Return what was decided."""
        self._asks_budget = True
        if name in self._decisions:
            return self._decisions[name]
        raise NotRecordedError(f"the decision {name}")

    def finish(self, status: Status, ask_again: Sequence[str] = ()) -> str:
        """Return when the run finished; it must have ended in this way."""
        if self.footer is None:
            raise NotRecordedError("the end of the run")
        if self.footer["status"] != status:
            raise CorruptRunError(
                f"the footer says {self.footer['status']}, but the run ends as {status}"
            )
        if self.footer["ask_again"] != list(ask_again):
            raise CorruptRunError(
                "the footer names other failed calls than those that ended the run"
            )
        return str(self.footer["finished_at"])

    def _load(self, record: Json, number: int) -> None:
        super()._load(record, number)
        if record["type"] == "sent":
            reserved = self._attempts[record["call"], record["attempt"]].reserved
            prices = prices_from_json(self.process.get("prices") or {})
            sent = _Sent(number, record["request"], reserved, prices)
            self._sent.setdefault(record["call"], []).append(sent)
        elif record["type"] == "decision" and record["value"] is False:
            self._refused_at[record["name"]] = number
        elif record["type"] == "decision" and record["name"] in self._refused_at:
            self._revoked.append((self._refused_at.pop(record["name"]), number))
        elif record["type"] == "resumed":
            self._resumed_at = number
            self.went_on_at = number if record["goes_on"] else self.went_on_at

    def _append(self, record: Json, *, durable: bool = False) -> None:  # noqa: ARG002 -- never kept
        raise NotRecordedError(f"a line of type {record['type']}")


class MemoryStore(RunStore):
    """A run directory in memory."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(Path())
        self.files = files
        self.config_sha256: str | None = None
        """The hash of the config that the run began with; its file may have changed since."""

    def hashes(self) -> dict[str, str]:
        """Return the sha256 of every file of the run but the summary, by relative path."""
        found = super().hashes()
        return found | ({"config.yaml": self.config_sha256} if self.config_sha256 else {})

    def _names(self) -> list[str]:
        return sorted(self.files)

    def _read(self, name: str) -> bytes:
        return self.files[name]

    def _remove(self, name: str) -> None:
        del self.files[name]

    def _holds(self, name: str, content: bytes) -> bool:
        return self.files.get(name) == content

    def _write(self, name: str, content: bytes) -> None:
        self.files[name] = content
