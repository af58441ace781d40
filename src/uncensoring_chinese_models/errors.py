"""Words for failure: everything the program raises on purpose, by whose fault it is.

::

    AuditToolError                  everything we raise on purpose; carries its exit code
    ├── ConfigError            2    the user can fix it; raised before anything is spent
    │   ├── UsageError         2    a wrong word on the command line
    │   ├── MissingExtraError  2    an optional part is not installed; names the command that gets it
    │   ├── UnknownTemplateError 2  no chat template for this model; names the nearest ones
    │   └── MissingCredentialError 2  names the variable, and where it was looked for
    ├── ClientError            3    one model call failed; carries status, type and message
    │   ├── TransientError     3    time may cure it (429, 5xx, timeout, lost connection): retried
    │   ├── RejectedError      3    the same request would be refused again: never retried
    │   └── FatalError         3    every further call would fail too (401, 402, 403): stops the run
    ├── FailedCheckError       3    an arm failed a check of the doctor that the config requires
    ├── LocalModelError        3    the model that we serve ourselves cannot be had or started
    ├── AuditorReplyError      6    the auditor's text is not a valid reply; carries the reason
    ├── BudgetExceededError    5    sending this call could pass the cap; nothing was sent
    ├── RunStoreError          4    the run directory cannot be read or written
    │   ├── RunLockedError     4    another process owns this run; names pid and host
    │   ├── CorruptRunError    4    a file does not read back; names file and line; nothing is deleted
    │   ├── ResumeMismatchError 4   the run was made by another config; shows the difference
    │   ├── NotRecordedError   4    a replay has come to the end of what the journal holds
    │   └── UnfitToPublishError 4   a run holds secrets, paths or names; lists them, packs nothing
    └── InterruptedRunError  130    the user asked to stop; finished calls are in the journal
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from decimal import Decimal


UNREACHABLE = "unreachable"
"""The error type of a server that could not be connected to: an outage may pass."""
UNCONNECTABLE = "unconnectable"
"""The error type of one that cannot be: a certificate or an address is wrong, and stays so."""


class AuditToolError(Exception):
    """Anything we raise on purpose; its message is one sentence for the user."""

    exit_code: ClassVar[int] = 1


class ConfigError(AuditToolError):
    """The user can fix it; raised before anything is spent."""

    exit_code = 2


class UsageError(ConfigError):
    """A wrong word on the command line."""


class MissingExtraError(ConfigError):
    """An optional part of the program is needed and not installed."""


class UnknownTemplateError(ConfigError):
    """No chat template is known for this model."""


class MissingCredentialError(ConfigError):
    """A key that the endpoint needs is not set."""


class ClientError(AuditToolError):
    """One model call failed.

    Attributes:
        status: the HTTP status or the error code inside a 200, whichever is more telling.
        error_type: the provider's stable word for the error, where it gives one.
        retry_after_s: how long the server asked us to wait.
        maybe_billed: True when the request may have been answered and billed unseen.
        partial_text: what the model had written before the error; never an answer.
        tokens: what the server says the failed attempt used, where it says so.
        cost_usd: what the server says it billed for it, where it says so.
        finished_at: when the call was given up, as recorded.
    """

    exit_code = 3
    kind: ClassVar[str] = "client"

    def __init__(  # noqa: PLR0913 -- an error carries all that is known of it
        self,
        message: str,
        *,
        status: int | None = None,
        error_type: str | None = None,
        retry_after_s: float | None = None,
        maybe_billed: bool = False,
        partial_text: str | None = None,
        tokens: int | None = None,
        cost_usd: Decimal | None = None,
        finished_at: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.error_type = error_type
        self.retry_after_s = retry_after_s
        self.maybe_billed = maybe_billed
        self.partial_text = partial_text
        self.tokens = tokens
        self.cost_usd = cost_usd
        self.finished_at = finished_at

    def __str__(self) -> str:
        """Return the message, with what was added to it on the way."""
        return self.message


class TransientError(ClientError):
    """Time may cure it: rate limits, overload, timeouts, lost connections, unreadable bodies."""

    kind = "transient"


class RejectedError(ClientError):
    """The same request would be refused again."""

    kind = "rejected"


class FatalError(ClientError):
    """Every further call would fail too: bad key, no credit, not permitted."""

    kind = "fatal"


class FailedCheckError(AuditToolError):
    """An arm failed a check that the config requires; nothing but canaries was sent."""

    exit_code = 3


class LocalModelError(AuditToolError):
    """The model that we serve ourselves cannot be had or started; nothing was sent."""

    exit_code = 3


class AuditorReplyError(AuditToolError):
    """The auditor's text is not a valid reply; the message says why, for the re-ask."""

    exit_code = 6

    def __init__(self, message: str, *, unparsed: int = 0) -> None:
        super().__init__(message)
        self.unparsed = unparsed
        """How many replies in a row could not be used, where patience has ended."""


class BudgetExceededError(AuditToolError):
    """Sending this call could pass the cap; nothing was sent."""

    exit_code = 5


class RunStoreError(AuditToolError):
    """The run directory cannot be read or written."""

    exit_code = 4


class RunLockedError(RunStoreError):
    """Another process owns this run."""


class CorruptRunError(RunStoreError):
    """A file of the run does not read back; nothing is deleted."""


class ResumeMismatchError(RunStoreError):
    """The run was made by another config than the one given."""


class NotRecordedError(RunStoreError):
    """A replay has come to the end of what the journal holds."""


class UnfitToPublishError(RunStoreError):
    """A run holds what should not be published; nothing was packed."""


class InterruptedRunError(AuditToolError):
    """The user asked to stop; every finished call is in the journal."""

    exit_code = 130
