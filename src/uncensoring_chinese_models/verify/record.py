"""Check that the lines of a journal can all be true: times, servers, prices, reservations and the cap.

Anybody can change a journal and make all its hashes anew. So the lines are compared with each other,
with the settings of the process that wrote them, and with what a replay computes. A line that cannot
be true beside the others is named.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models.audit import BUILT_IN
from uncensoring_chinese_models.config import AuditConfig, server_of
from uncensoring_chinese_models.domain import Price, Reply, Reservation
from uncensoring_chinese_models.errors import RunStoreError
from uncensoring_chinese_models.models import at_price, charge
from uncensoring_chinese_models.runner import FINAL_STATUSES
from uncensoring_chinese_models.runs import Journal, prices_from_json
from uncensoring_chinese_models.verify.checks import RunCheck, has_not_begun
from uncensoring_chinese_models.verify.compare_files import Failure
from uncensoring_chinese_models.verify.decisions import Books, wrong_decision
from uncensoring_chinese_models.verify.diff import json_differences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.runner import Replayed
    from uncensoring_chinese_models.runs import RunTree

TOLERANCE = timedelta(minutes=5)
"""How far times may go back: a clock is corrected, or the run is resumed on another machine.

Synchronised clocks differ by less than a second. Five minutes is what Kerberos allows between two
machines, so clocks that differ by more already cause errors elsewhere.
"""
JOURNAL = "journal.jsonl"
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_OF_A_RUN = ("sent", "decision", "footer")
"""Lines of a run that goes on; calls that were under way at its end may still be answered."""
_STRANGE = (KeyError, TypeError, ValueError, ArithmeticError, AttributeError)
"""What reading raises where a line holds a value of an unexpected kind."""


@dataclass(slots=True)
class Recorded:
    """What was found in the lines of a journal."""

    check: RunCheck
    notes: list[str] = field(default_factory=list)


def check_record(tree: RunTree, replayed: Replayed | None, now: datetime | None = None) -> Recorded:
    """Check the lines of an unbroken journal; without a replay nothing is done."""
    check = RunCheck("record")
    if replayed is None:
        check.is_done = False
        begun = not has_not_begun(tree)
        check.said = "it needs an unbroken journal" if begun else "there is no line to check yet"
        return Recorded(check)
    lines = JournalLines(replayed)
    try:
        lines.load(tree.files[JOURNAL])
    except RunStoreError as err:
        lines.add(0, f"cannot be read to its end: {err}")
    lines.check_replayed()
    check.failures = [Failure(JOURNAL, where, problem) for where, problem in lines.failures]
    check.said = (
        f"{lines.times.dated} dates, {lines.attempts_seen} servers and reservations compared with the "
        f"settings in force; {len(replayed.reservations.right)} reservations computed again"
    )
    return Recorded(check, list(lines.notes(now or datetime.now(UTC))))


class Times:
    """The times of the lines of a journal, read one after the other."""

    def __init__(self) -> None:
        self.dated = 0
        self._began: datetime | None = None
        self._latest: tuple[datetime, int] | None = None

    def read(self, text: Any, number: int) -> tuple[datetime, str]:
        """Return the time of a line, and what is wrong with it; the first one is the beginning.

        Raises:
            ValueError, TypeError: it is no time.
        """
        found, problem = datetime.strptime(text, _TIME).replace(tzinfo=UTC), ""
        self.dated += 1
        if self._began is None or self._latest is None:
            self._began = found
        elif found < self._began - TOLERANCE:
            began = self._began.strftime(_TIME)
            problem = f"is dated {text}, before the run began ({began})"
        elif found < self._latest[0] - TOLERANCE:
            latest = self._latest[0].strftime(_TIME)
            problem = f"is dated {text}, before line {self._latest[1]} ({latest})"
        if self._latest is None or found >= self._latest[0]:
            self._latest = found, number
        return found, problem

    def in_future(self, now: datetime) -> Iterator[str]:
        """Say which line is dated in the future; the clock of the reader may be wrong."""
        if self._latest is not None and self._latest[0] > now + TOLERANCE:
            yield (
                f"Line {self._latest[1]} of the journal is dated {self._latest[0].strftime(_TIME)}, "
                "in the future by the clock of this machine."
            )


class JournalLines(Journal):
    """A journal whose lines are compared with each other while it is loaded."""

    def __init__(self, replayed: Replayed) -> None:
        super().__init__(Path(JOURNAL), lambda: "")
        self.failures: list[tuple[str, str]] = []
        self.attempts_seen = 0
        self._replayed = replayed
        self._settings: AuditConfig | None = None
        self._prices: dict[str, Price | None] = {}
        self.times = Times()
        self._in_flight: dict[tuple[str, int], datetime] = {}
        self._spent = Reservation(Decimal(0), 0)
        """All charges so far; an attempt without a result counts as much as was reserved for it."""
        self._peak = self._spent
        """The most of it since an iteration began."""
        self._overcharged: list[int] = []
        self._ended = False
        self._sent: set[tuple[str, int]] = set()
        self._made: Counter[tuple[str, str]] = Counter()
        """Attempts of this process, by call and request."""
        self._outcomes: dict[str, Json | None] = {}
        """The error of the last attempt at each call; None if it was answered."""

    def add(self, number: int, problem: str) -> None:
        """Add what is wrong with a line; 0 stands for the whole journal."""
        self.failures.append((f"line {number}" if number else "", problem))

    def check_replayed(self) -> None:
        """Add what a replay found: other reservations, and calls that the run does not ask."""
        for number, expected in sorted(self._replayed.reservations.wrong.items()):
            self.add(number, f"reserves another amount than its request takes at most ({expected})")
        if not self._replayed.problem:
            for name, number in self._replayed.unasked.items():
                self.add(number, f"sends the call {name}, which the run, replayed, does not ask")
            if self.footer is not None and not self._replayed.ended:
                stops = self._replayed.stopped_at
                self.add(0, f"has an end that the run, replayed, does not reach: it lacks {stops}")

    def notes(self, now: datetime) -> list[str]:
        """Return what is odd, but can be true."""
        found = list(self.times.in_future(now))
        over, billed = self._over_cap(self._spent), self._on_overcharges()
        if over:
            why = billed or "the cap was lowered when the run was resumed"
            found.append(f"More was spent than the budget allows ({over}): {why}.")
        elif billed:
            found.append(f"The recorded prices or limits may not be the server's: {billed}.")
        return found

    def _on_overcharges(self) -> str:
        """Say which attempts were billed more than was reserved for them; nothing if none was."""
        number = len(self._overcharged)
        if not number:
            return ""
        what = "one attempt" if number == 1 else f"{number} attempts"
        return (
            f"the server billed more than was reserved for {what}, first in line "
            f"{self._overcharged[0]}"
        )

    # --- line by line ---------------------------------------------------------------------------

    def _load(self, record: Json, number: int) -> None:
        footer = self.footer
        super()._load(record, number)
        try:
            self._check_order(record, number, footer)
            self._check(record, number)
        except _STRANGE as err:
            self.add(number, f"has a missing or damaged field ({type(err).__name__}: {err})")

    def _check(self, record: Json, number: int) -> None:
        kind = record["type"]
        checks = {
            "header": self._check_header,
            "resumed": self._check_resumed,
            "sent": self._check_sent,
            "attempt": self._check_attempt,
            "done": self._check_done,
            "decision": self._check_decision,
            "footer": self._check_footer,
        }
        if kind in checks:
            checks[kind](record, number)

    def _check_order(self, record: Json, number: int, footer: Json | None) -> None:
        """Check what may follow the lines before; `footer` is the end that they tell of."""
        kind = record["type"]
        if self._ended and kind in _OF_A_RUN:
            self.add(number, "comes after the end of the run, which was not resumed")
        self._ended = kind == "footer" or (self._ended and kind != "resumed")
        if kind == "sent":
            name = record["call"], record["attempt"]
            if name in self._sent:
                self.add(number, f"sends attempt {name[1]} at the call {name[0]} again")
            self._sent.add(name)
        if kind == "resumed":
            self._made.clear()
            self._check_going_on(record, number, footer)

    def _check_going_on(self, record: Json, number: int, footer: Json | None) -> None:
        """Check that a run goes on after an end as that end says."""
        goes_on, is_cut = record["goes_on"], record["cut"] is not None
        is_final = footer is None or footer["status"] in FINAL_STATUSES
        if goes_on and footer is None and not is_cut:
            self.add(number, "goes on, though no line says that it had ended")
        if not goes_on and not is_final:
            self.add(number, "does not go on, though the run could")
        asks = footer["ask_again"] if footer is not None and goes_on else []
        if record["reopened"] != asks:
            self.add(number, "asks calls again, though its end does not name them, or not all")

    def _check_header(self, record: Json, number: int) -> None:
        self._date(record["started_at"], number)
        self._check_process(record, number)
        self._check_texts(record, number)
        if self._settings is not None and record["kind"] != self._settings.kind:
            self.add(number, f"says that the run is of the kind {record['kind']!r}")
        if not isinstance(record["config_sha256"], str):
            self.add(number, "does not give the sha256 of config.yaml")

    def _check_texts(self, record: Json, number: int) -> None:
        """Check that the header has the seed, and the texts of the files, that its config names."""
        if self._settings is None:
            return
        names = {"facts": self._settings.facts is not None}
        names["auditor_prompt"] = self._settings.auditor_prompt not in BUILT_IN
        wrong = [name for name, is_named in names.items() if (name in record) is not is_named]
        wrong += ["seed"] * (record["seed"] != self._settings.sampling.seed)
        for name in wrong:
            self.add(number, f"gives another {name} than its config")

    def _check_resumed(self, record: Json, number: int) -> None:
        self._date(record["at"], number)
        self._in_flight.clear()  # what was under way then was lost
        self._check_process(record, number)
        # Lines that a crash cut off are charged now, and calls whose price is known only now.
        self._spent = Reservation(Decimal(0), 0)
        for attempt in self._attempts.values():
            self._spend(charge(attempt.reserved, attempt.result, attempt.price), 1)

    def _check_process(self, record: Json, number: int) -> None:
        """Take over the settings of a process, which must be those that the run began with."""
        self._settings, self._prices = None, {}
        if not isinstance(record["package_version"], str):
            self.add(number, "does not name the version that wrote it")
        config = AuditConfig.model_validate(record["config"])
        for one in json_differences(config.identity(), self.header.get("settings")):
            self.add(number, f"config.{one.where}: the run began with other settings: {one.says}")
        self._settings, self._prices = config, prices_from_json(record["prices"])
        for role, (model, endpoint) in config.models.items():
            price = self._prices[role]
            if endpoint.known_price not in (None, price):
                self.add(number, f"gives another price for the {role} than its config")
            if record["servers"][role] != server_of(model, endpoint):
                self.add(number, f"gives another server for the {role} than its config")

    def _check_sent(self, record: Json, number: int) -> None:
        self.attempts_seen += 1
        call, attempt = record["call"], record["attempt"]
        self._in_flight[call, attempt] = self._date(record["at"], number)
        _, role, *_ = call.split("/")
        if record["role"] != role:
            self.add(number, f"names the role {record['role']!r} for a call to the {role}")
        if attempt > 1 and (call, attempt - 1) not in self._attempts:
            self.add(
                number, f"is attempt {attempt} at a call, though there is no attempt before it"
            )
        if self._settings is None:
            return
        self._check_allowed(record, self._settings, number)
        server = server_of(*self._settings.models[record["role"]])
        if record["server"] != server:
            self.add(number, f"asks {record['server']}, though the config in force names {server}")
        reserved = self._attempts[call, attempt].reserved
        self._check_reserved(reserved, self._prices[record["role"]], number)
        self._spend(reserved, 1)
        over = self._over_cap(self._spent)
        if over:
            self.add(number, f"sends a call that the budget in force does not cover ({over})")

    def _check_allowed(self, record: Json, settings: AuditConfig, number: int) -> None:
        """Check that the settings in force allow this attempt."""
        call, most = record["call"], settings.retries.max_attempts
        self._made[call, record["request"]] += 1
        made = self._made[call, record["request"]]
        if made > most:
            self.add(number, f"is attempt {made} of a process, though its settings allow {most}")
        if "/doctor/" in call and settings.doctor == "off":
            self.add(number, f"sends {call}, though its config switches the doctor off")

    def _check_reserved(self, reserved: Reservation, price: Price | None, number: int) -> None:
        """Check the limits of a reservation; those of calls that are replayed are computed again."""
        computed = self._replayed.reservations
        if number in computed.right or number in computed.wrong:
            return
        output = reserved.output_tokens
        fits = output is not None and 0 <= output <= reserved.tokens
        fits = fits and reserved == at_price(replace(reserved, usd=None), price)
        if not fits or reserved.tokens <= 0:
            self.add(number, "reserves an amount that no request takes at the recorded price")

    def _check_attempt(self, record: Json, number: int) -> None:
        self._outcomes[record["call"]] = record.get("error")
        key = record["call"], record["attempt"]
        sent_at = self._in_flight.pop(key, None)
        attempt = self._attempts[key]
        result = attempt.result
        if sent_at is None:
            self.add(number, "is the result of an attempt that was not under way")
        if result is None:
            return
        ended = self._date(result.finished_at, number)
        took = result.latency_s if isinstance(result, Reply) else 0.0
        if took < 0 or (sent_at and timedelta(seconds=took) > ended - sent_at + TOLERANCE):
            self.add(number, f"took {took} s, which is not the time between its lines")
        spent = charge(attempt.reserved, result, attempt.price)
        if spent.tokens < 0 or (spent.usd or 0) < 0:
            self.add(number, "was billed less than nothing")
        if sent_at is not None:
            self._spend(attempt.reserved, -1)
            self._spend(spent, 1)
        if self._is_more(spent, attempt.reserved):
            self._overcharged.append(number)

    def _check_done(self, record: Json, number: int) -> None:
        """Check that a call is settled as its last attempt ended."""
        call = record["call"]
        if call not in self._outcomes:
            self.add(number, f"settles the call {call}, which no attempt had ended")
        elif record["error"] != self._outcomes[call]:
            self.add(number, f"settles the call {call} otherwise than its last attempt ended")

    def _check_decision(self, record: Json, number: int) -> None:
        if self._settings is None:
            return
        if str(record["name"]).startswith("go/"):
            self._peak = self._spent
        books = Books(self._settings, self._prices, self._spent, self._peak)
        is_last_part = number > self._replayed.went_on_at
        problem = wrong_decision(record, books, self._replayed, is_last_part=is_last_part)
        if problem:
            self.add(number, problem)

    def _check_footer(self, record: Json, number: int) -> None:
        self._date(record["finished_at"], number)

    # --- times and amounts ----------------------------------------------------------------------

    def _date(self, text: Any, number: int) -> datetime:
        """Return a time; add a failure if it is before the run began, or before an earlier line."""
        found, problem = self.times.read(text, number)
        if problem:
            self.add(number, problem)
        return found

    def _spend(self, amount: Reservation, sign: int) -> None:
        self._spent = Reservation(
            (self._spent.usd or Decimal(0)) + sign * (amount.usd or Decimal(0)),
            self._spent.tokens + sign * amount.tokens,
        )
        usd = max(self._peak.usd or Decimal(0), self._spent.usd or Decimal(0))
        self._peak = Reservation(usd, max(self._peak.tokens, self._spent.tokens))

    def _over_cap(self, spent: Reservation) -> str:
        """Say by how much the cap in force is passed; nothing if it is not."""
        if self._settings is None:
            return ""
        cap, usd = self._settings.budget, spent.usd or Decimal(0)
        if cap.max_usd is not None and usd > Decimal(str(cap.max_usd)):
            return f"${usd:.6f} spent and reserved, budget.max_usd {cap.max_usd}"
        if cap.max_tokens is not None and spent.tokens > cap.max_tokens:
            return f"{spent.tokens:,} tokens spent and reserved, budget.max_tokens {cap.max_tokens}"
        return ""

    @staticmethod
    def _is_more(spent: Reservation, reserved: Reservation) -> bool:
        more_usd = reserved.usd is not None and (spent.usd or 0) > reserved.usd
        return more_usd or spent.tokens > reserved.tokens
