"""The journal: every model call of a run, one line each, in the order it happened.

Append-only JSON lines, chained by their hashes (`chain`), so that a change anywhere shows. A reply
is on disk before it is used. Resuming a run means running it again over its journal: `answer`
returns the replies that were paid for.

The file is locked (`lock`), so that one process at a time pays, and watched (`journal_file`). What a
crash damaged (`chain` has the rule) is cut when the first line is written, and kept beside.

::

    header    format (`schema`), kind, versions, settings, seed, started_at
    sent      an attempt is about to be sent: call, server, hash of the request, reserved budget
    attempt   how it ended: the whole reply, or the error
    done      the call is settled; with its error, if no attempt succeeded
    decision  a decision that depends on the budget, and so does not follow from the replies
    resumed   another process resumed the run; `reopened` names the calls that it may repeat, `cut`
              says what was damaged and cut (so does that of the header)
    footer    finished_at, status, and the failed calls that ended the run (`ask_again`)

`header` and `resumed` hold the prices of the process and the names of its servers. An attempt that
was sent before its price was known has the first price that was known later for the same server.
"""

from __future__ import annotations

import errno
import hashlib
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.domain import Attempt, Reply, Reservation
from uncensoring_chinese_models.errors import (
    ClientError,
    CorruptRunError,
    ResumeMismatchError,
    RunStoreError,
)
from uncensoring_chinese_models.runs.chain import (
    CUT,
    LINKS,
    SCHEMA,
    START,
    AlteredLineError,
    Survey,
    line_hash,
    lost_journal,
    refuse_other_format,
    sealed,
    survey,
    told_of_cut,
)
from uncensoring_chinese_models.runs.format import (
    amount_from_json,
    error_from_json,
    error_to_json,
    prices_from_json,
    refuses,
    reply_from_json,
    reply_to_json,
)
from uncensoring_chinese_models.runs.journal_file import JournalFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from uncensoring_chinese_models.domain import Call, Json, Price, Role, Status

PROCESS = ("package_version", "python_version", "config", "prices", "servers")
"""What the header says about the process that began the run, and `resumed` about a later one."""
_IN_FLIGHT = ("attempt", "done")
"""Lines of calls that were sent: they are kept even if the file was removed or replaced."""


def request_hash(call: Call) -> str:
    """Return the sha256 of the canonical request: API, model and body, without address and headers."""
    canonical = strict_json.dumps(
        {"api": call.api, "body": call.body}, sort_keys=True, separators=(",", ":")
    )
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


@dataclass(slots=True)
class _Held:
    """What the journal holds of one call."""

    request: str
    role: Role
    server: str | None = None
    """The server of the last attempt."""
    result: Reply | ClientError | None = None
    attempts: int = 0
    refusal: ClientError | None = None
    """Why the last attempt was refused, while the canary of its route is not answered yet."""
    may_differ: bool = False
    """True after a reopened call: another answer may lead to other requests."""


@dataclass(frozen=True, slots=True)
class _Servers:
    """The prices and the servers of a process, by role; those of judges by model."""

    prices: dict[str, Price | None]
    servers: dict[str, str]

    def price(self, name: str, server: str | None) -> Price | None:
        """Return the price of a model at this server; None if it is unknown there."""
        return self.prices.get(name) if self.servers.get(name) == server else None


class Journal:
    """The open journal of a run. Its lock allows one process at a time."""

    def __init__(self, path: Path, now: Callable[[], str]) -> None:
        self._path = path
        self._now = now
        self._last_hash = START
        self._file: JournalFile | None = None
        self._damage: Survey | None = None
        self._held: dict[str, _Held] = {}
        self._attempts: dict[tuple[str, int], Attempt] = {}
        self._priced_as: dict[tuple[str, int], str] = {}
        self._servers = _Servers({}, {})
        self._refusing: set[str] = set()
        """The roles whose canary was refused in this process: their routes refuse everything."""
        self._decisions: dict[str, Any] = {}
        self.header: Json = {}
        self.process: Json = {}
        """The keys `PROCESS` of the last process that worked on the run."""
        self.footer: Json | None = None
        self.cuts: list[Json] = []
        """What was cut after crashes, each time the run was resumed."""
        self.cut_told = ""
        """What this process cut, for the screen."""

    # --- opening and closing --------------------------------------------------------------------

    @classmethod
    def open(cls, path: Path, now: Callable[[], str], *, create: bool = True) -> Self:
        """Open and lock the journal, new or old; nothing is written yet.

        Raises:
            RunStoreError: it was made in another format, or cannot be opened or locked.
            RunLockedError: another process has it open.
            CorruptRunError: a line was altered.
        """
        journal = cls(path, now)
        try:
            journal._file = JournalFile(path, create=create)
            journal.load(journal._file.content)
        except OSError as err:
            journal.close()
            if isinstance(err, FileNotFoundError) and path.parent.is_dir():
                raise RunStoreError(lost_journal(path, "missing")) from err
            raise RunStoreError(f"{path} cannot be opened: {err.strerror}.") from err
        except BaseException:
            journal.close()
            raise
        return journal

    def load(self, content: bytes) -> None:
        """Load the content of a journal, except what a crash damaged.

        Raises:
            CorruptRunError: a line was altered.
        """
        refuse_other_format(content, self._path.parent)
        try:
            found = survey(content)
        except AlteredLineError as err:
            raise CorruptRunError(
                f"{self._path}, line {err.number} {err}; nothing was changed."
            ) from None
        for number, (line, record) in enumerate(zip(found.lines, found.records, strict=True), 1):
            self._load(record, number)
            self._last_hash = line_hash(line)
        self._damage = found if found.cut else None
        if self._file is not None:
            self._file.drop_damage(b"".join(line + b"\n" for line in found.lines))

    @property
    def cut_bytes(self) -> int:
        """How many bytes a crash had damaged when the journal was opened."""
        return 0 if self._damage is None else len(self._damage.cut)

    def refuse_if_emptied(self) -> None:
        """Refuse an empty journal of a run that has results: what was paid for is lost.

        Raises:
            RunStoreError: it holds nothing.
        """
        if not self.header and self._damage is None:
            raise RunStoreError(lost_journal(self._path, "empty"))

    def begin(self, header: Json) -> None:
        """Write the header of a new run."""
        record = {"type": "header", "schema": SCHEMA, "started_at": self._now(), **header}
        record["cut"] = self._set_aside()
        self._append(record, durable=True)
        self._apply(record)

    def resume(self, package_version: str, *, reopen: bool, **process: Any) -> list[str]:
        """Record that this process resumes the run; `reopen` repeats the calls that ended it."""
        reopened = self.footer["ask_again"] if reopen and self.footer else []
        record: Json = {"type": "resumed", "at": self._now(), "package_version": package_version}
        record |= {"goes_on": reopen, "reopened": reopened, "cut": self._set_aside(), **process}
        self._append(record, durable=True)
        self._apply(record)
        return reopened

    def finish(self, status: Status, ask_again: Sequence[str] = ()) -> str:
        """Write the footer, unless it is there already; return when the run finished."""
        self.check_file()
        if self.footer is None:
            self.footer = {"finished_at": self._now(), "status": status}
            self.footer["ask_again"] = list(ask_again)
            self._append({"type": "footer", **self.footer}, durable=True)
        return str(self.footer["finished_at"])

    def close(self) -> None:
        """Close the file, and end its lock."""
        if self._file is not None:
            self._file.close()

    # --- calls ----------------------------------------------------------------------------------

    @property
    def attempts(self) -> list[Attempt]:
        """Every attempt of the run so far, including those of earlier processes."""
        return list(self._attempts.values())

    def attempts_for(self, process: Json) -> list[Attempt]:
        """Return every attempt so far as a process with these prices and servers counts it."""
        servers = _servers(process)
        return [self._at_prices(name, servers) for name in self._attempts]

    def answer(self, call: Call) -> Reply | ClientError | None:
        """Return the recorded reply or error of this call, if there is one.

        Raises:
            ResumeMismatchError: the same call was made with another request.
        """
        held = self._held.get(str(call.key))
        if held is None:
            return None
        if held.request != request_hash(call):
            if held.may_differ:
                return None
            raise ResumeMismatchError(
                f"{self._path.parent}: call {call.key} would send another request than the one "
                "this run was answered for, so its answers do not apply; nothing was sent. "
                "Resume with the config, prompt file and package version "
                f"({self.header.get('package_version')}) that made the run, or start a new run."
            )
        return held.result

    def refusal(self, call: Call) -> ClientError | None:
        """Return the refusal of a call that is not settled, because its canary was not answered yet."""
        held = self._held.get(str(call.key))
        return held.refusal if held and held.request == request_hash(call) else None

    def sent(self, call: Call, reservation: Reservation, server: str | None = None) -> int:
        """Record that an attempt is about to be sent to this server; return its number."""
        held = self._held.get(str(call.key))
        number = 1 if held is None else held.attempts + 1
        record: Json = {"type": "sent", "call": str(call.key), "role": call.key.role}
        record["server"] = server
        record |= {"attempt": number, "at": self._now(), "request": request_hash(call)}
        if call.key.role == "judge":  # there may be many, each with its own price
            record["model"] = call.body["model"]
        usd = None if reservation.usd is None else str(reservation.usd)
        record["reserved"] = {
            "usd": usd,
            "tokens": reservation.tokens,
            "output_tokens": reservation.output_tokens,
        }
        self._append(record)
        self._apply(record)
        return number

    def attempted(self, call: Call, attempt: int, result: Reply | ClientError) -> None:
        """Record durably how the attempt ended."""
        record: Json = {"type": "attempt", "call": str(call.key), "attempt": attempt}
        if isinstance(result, Reply):
            record["reply"] = reply_to_json(result)
        else:
            record["error"] = error_to_json(result)
        self._append(record, durable=True)
        self._apply(record)

    def done(self, call: Call, error: ClientError | None) -> None:
        """Record that the call is settled; a reply is durable already."""
        record: Json = {"type": "done", "call": str(call.key)}
        record["error"] = None if error is None else error_to_json(error)
        self._append(record, durable=error is not None)
        self._apply(record)

    def has_decided(self, name: str) -> bool:
        """Tell whether there is a decision of this name."""
        return name in self._decisions

    def decide(self, name: str, value: Callable[[], Any], *, lasting: bool = True) -> Any:
        """Return the decision of this name; if there is none, make and record it.

        A "no" that is not `lasting` is decided again the next time.
        """
        has_decided = name in self._decisions
        if not has_decided or not (lasting or self._decisions[name]):
            decided = value()
            if not has_decided or decided != self._decisions[name]:
                record = {"type": "decision", "name": name, "value": decided}
                self._append(record, durable=True)
                self._apply(record)
        return self._decisions[name]

    # --- the state is a fold over the lines -----------------------------------------------------

    def _load(self, record: Json, number: int) -> None:
        try:
            self._apply(record)
        except (KeyError, TypeError, ValueError, ArithmeticError) as err:
            raise CorruptRunError(
                f"{self._path}, line {number} has a missing or damaged field ({err})."
            ) from err

    def _apply(self, record: Json) -> None:
        """Update the state by one record, whether it was just written or read back."""
        match record["type"]:
            case "header":
                self.header = {key: record[key] for key in record if key not in LINKS}
                self._take_over(record)
                self._apply_cut(record["cut"])
            case "sent":
                self._apply_sent(record)
            case "attempt":
                self._apply_attempt(record)
            case "done" if record["error"] is not None:
                held = self._held[record["call"]]
                held.result = error_from_json(record["error"])
                held.result.server = held.server
            case "decision":
                self._decisions[record["name"]] = record["value"]
            case "resumed":
                self._take_over(record)
                self._apply_cut(record["cut"])
            case "footer":
                self.footer = {key: record[key] for key in ("finished_at", "status")}
                self.footer["ask_again"] = [str(name) for name in record["ask_again"]]

    def _take_over(self, record: Json) -> None:
        self.process = {key: record[key] for key in PROCESS if key in record}
        self._servers = _servers(record)
        self._refusing.clear()
        self._attempts = {name: self._at_prices(name, self._servers) for name in self._attempts}
        if record["type"] == "resumed" and record["goes_on"]:
            self._reopen(record["reopened"])

    def _apply_sent(self, record: Json) -> None:
        fresh = _Held(record["request"], record["role"])
        held = self._held.pop(record["call"], fresh)
        if held.request != record["request"]:  # asked anew after a reopened call
            held = fresh
        self._held[record["call"]] = held  # in the order in which calls were last sent
        held.attempts, held.server, held.refusal = record["attempt"], record["server"], None
        self.footer = None  # a run that sends has not finished
        bound, name = record["reserved"], (record["call"], record["attempt"])
        usd = amount_from_json(bound["usd"])
        reserved = Reservation(usd, bound["tokens"], bound["output_tokens"])
        self._priced_as[name] = str(record.get("model", record["role"]))
        self._attempts[name] = Attempt(held.role, reserved, None, held.server)
        self._attempts[name] = self._at_prices(name, self._servers)

    def _at_prices(self, name: tuple[str, int], servers: _Servers) -> Attempt:
        """Return the attempt with the price of its server, unless it has one already."""
        attempt = self._attempts[name]
        if attempt.price is not None:
            return attempt
        return replace(attempt, price=servers.price(self._priced_as[name], attempt.server))

    def _apply_cut(self, cut: Json | None) -> None:
        """Charge what was sent in lines that were cut, as attempts that were lost in flight."""
        if cut is None:
            return
        self.cuts.append(cut)
        footer = self.footer
        for sent in cut["sent"]:
            self._apply_sent(sent)
            self._held[sent["call"]].may_differ = True  # so may the answers before it
        self.footer = footer

    def _apply_attempt(self, record: Json) -> None:
        held, name = self._held[record["call"]], (record["call"], record["attempt"])
        sent = self._attempts[name]
        result: Reply | ClientError
        if "reply" in record:
            result = held.result = replace(reply_from_json(record["reply"]), server=sent.server)
        else:
            result = error_from_json(record["error"])
            result.server = sent.server
            is_held = result.reason != "technical" and held.role not in self._refusing
            held.refusal = result if is_held else None
        self._attempts[name] = replace(sent, result=result)
        if "/canary/" in record["call"] and refuses(result):
            self._forget_refusals(held)

    def _forget_refusals(self, canary: _Held) -> None:
        """A canary was refused: it ends the run, and a resumed run asks it and the calls again."""
        canary.result = None
        self._refusing.add(canary.role)
        for held in self._held.values():
            held.refusal = None if held.role == canary.role else held.refusal

    def servers_of(self, calls: Iterable[str]) -> list[str]:
        """Return the servers that these calls were last sent to, each once."""
        held = (self._held.get(name) for name in calls)
        return list(dict.fromkeys(each.server for each in held if each and each.server))

    def _reopen(self, names: list[str]) -> None:
        """Forget these answers; later calls and closing calls may then differ."""
        later = False
        for name, held in self._held.items():
            later = later or name in names
            if name in names:
                held.result = held.refusal = None
            held.may_differ = held.may_differ or later or "/closing/" in name
        # What the budget forbade is decided again.
        allowed = [name for name, value in self._decisions.items() if value is True]
        self._decisions = dict.fromkeys(allowed, True)
        self.footer = None

    # --- writing --------------------------------------------------------------------------------

    def _append(self, record: Json, *, durable: bool = False) -> None:
        """Write one line; if the file was replaced, only that of a call in flight, and stop."""
        line = sealed(record, self._last_hash)
        try:
            if self._file is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))  # noqa: TRY301 -- it is closed
            self._file.check()
            if record["type"] not in _IN_FLIGHT:
                self._stop_if_lost()
            self._file.append(line + b"\n", durable=durable)
        except OSError as err:
            self._stop_if_lost()
            raise RunStoreError(
                f"{self._path} cannot be written: {err.strerror}. Every call recorded before is "
                f"kept; make room, then resume with --resume {self._path.parent}"
            ) from err
        self._last_hash = line_hash(line)
        self._stop_if_lost()

    def check_file(self) -> None:
        """Stop if the file was removed, replaced or changed; its lines are kept.

        Raises:
            RunStoreError: the message says where the lines are.
        """
        if self._file is not None:
            self._file.check()
            self._stop_if_lost()

    def _stop_if_lost(self) -> None:
        if self._file is not None and self._file.lost:
            raise RunStoreError(self._file.lost)

    def _set_aside(self) -> Json | None:
        """Keep what a crash damaged in a file beside the journal; return what is recorded of it."""
        found, self._damage = self._damage, None
        if found is None or self._file is None:
            return None
        try:
            path = self._file.keep_beside(CUT, found.cut)
        except OSError as err:
            raise RunStoreError(
                f"What a crash damaged in {self._path} cannot be kept beside it: {err.strerror}; "
                "nothing was changed or sent."
            ) from err
        cut: Json = {
            "bytes": len(found.cut),
            "lines": [found.cut_lines[0], found.cut_lines[-1]],
            "file": path.name,
            "answers": [name for name in found.lost_answers if not self._has_answer(name)],
            "sent": [each for each in found.lost if each["type"] == "sent"],
        }
        self.cut_told = told_of_cut(cut, found.place, path)
        return cut

    def _has_answer(self, name: str) -> bool:
        return name in self._held and self._held[name].result is not None


def _servers(process: Json) -> _Servers:
    servers = dict(process.get("servers", {}))
    return _Servers(prices_from_json(dict(process.get("prices", {}))), servers)
