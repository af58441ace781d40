"""The provider's books: who asked what, what became of it, and what it cost.

Everything in here may be used from any thread.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from multidict import CIMultiDict

from tests.provider.fault import Fault, Rule
from tests.provider.wire import Api, Json


@dataclass(eq=False, kw_only=True)
class Request:
    """One request that was read whole, and what became of it."""

    api: Api
    method: str
    path: str
    headers: CIMultiDict[str]
    raw: bytes
    body: Json
    """The JSON object that was sent; empty where none was."""
    key: str
    """A hash of API and body: equal for equal requests."""
    peer: tuple[str, int]
    """The client's end of the connection; equal while one connection is used."""
    read_at: float
    """When it had been read, on the monotonic clock."""
    when: float
    """The same in seconds since 1970."""
    number: int = 0
    """Counts from 1 in the order of reading."""
    seen: int = 0
    """How often the same request had come before."""
    fault: Fault | None = None
    ended_at: float | None = None
    status: int | None = None
    answered: bool = False
    """Whether a whole HTTP response left on an open connection."""
    billed_usd: Decimal = Decimal(0)
    billed_tokens: int = 0

    def line(self) -> str:
        """Return the request as one line of the log."""
        entry = {
            "number": self.number,
            "api": self.api,
            "body_sha256": self.key,
            "seen": self.seen,
            "when": self.when,
            "read_at": self.read_at,
            "ended_at": self.ended_at,
            "status": self.status,
            "answered": self.answered,
            "fault": self.fault.name if self.fault else None,
            "billed_usd": str(self.billed_usd),
            "billed_tokens": self.billed_tokens,
        }
        return json.dumps(entry) + "\n"


class Ledger:
    """All requests so far and the rules for those to come, behind one lock."""

    def __init__(self, log: Path | None) -> None:
        self._log = log
        self._changed = threading.Condition()
        self._requests: list[Request] = []
        self._seen: Counter[str] = Counter()
        self._rules: list[Rule] = []
        self.in_flight: set[Request] = set()
        """Those whose answer has not left."""
        self.open: set[Request] = set()
        """Those that have not ended."""
        self.max_in_flight = 0

    def order(self, rule: Rule) -> None:
        """Add a rule behind the others."""
        with self._changed:
            self._rules.append(rule)

    def forget_rules(self) -> None:
        """Drop all rules."""
        with self._changed:
            self._rules.clear()

    def receive(self, request: Request) -> None:
        """Enter a request that has been read, and decide by which fault it is struck."""
        with self._changed:
            self._requests.append(request)
            request.number = len(self._requests)
            request.seen = self._seen[request.key]
            self._seen[request.key] += 1
            takes = (
                rule for rule in self._rules if rule.takes(request.api, request.body, request.key)
            )
            rule = next(takes, None)
            request.fault = rule.fault if rule else None
            self.in_flight.add(request)
            self.open.add(request)
            self.max_in_flight = max(self.max_in_flight, len(self.in_flight))
            self._changed.notify_all()

    def settle(self, request: Request, *, status: int, usd: Decimal, tokens: int) -> None:
        """Enter what a request costs; called before any byte of the response leaves."""
        with self._changed:
            request.status = status
            request.billed_usd = usd
            request.billed_tokens = tokens

    def answer(self, request: Request) -> None:
        """Enter that a whole response leaves; called before its last byte does.

        So no client can have its answer, and send its next request, before the books know.
        """
        with self._changed:
            request.answered = True
            self.in_flight.discard(request)

    def end(self, request: Request) -> None:
        """Enter that nothing more will happen to a request."""
        with self._changed:
            request.ended_at = time.monotonic()
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as log:
                    log.write(request.line())
            self.in_flight.discard(request)
            self.open.discard(request)
            self._changed.notify_all()

    def requests(self, api: Api | None = None) -> list[Request]:
        """Return the requests to one API, or all, in the order in which they had been read."""
        with self._changed:
            return [request for request in self._requests if api in (None, request.api)]

    def wait(self, fits: Callable[[], bool], timeout_s: float) -> None:
        """Wait until something holds that is looked at after every change."""
        with self._changed:
            if not self._changed.wait_for(fits, timeout_s):
                state = f"{len(self._requests)} requests read, {len(self.in_flight)} in flight"
                raise TimeoutError(f"waited {timeout_s} s in vain: {state}")
