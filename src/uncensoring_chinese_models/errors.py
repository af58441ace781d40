"""The errors that the program raises on purpose, with their exit codes.

::

    AuditToolError                  base class; carries the exit code
    ├── ConfigError            2    the user can fix it; raised before anything is spent
    │   ├── UsageError         2    a wrong word on the command line
    │   ├── MissingExtraError  2    an optional library is not installed; names the command to install it
    │   ├── UnknownTemplateError 2  no chat template for this model; names the nearest ones
    │   └── MissingCredentialError 2  an API key is not set; names the variable
    ├── ClientError            3    one model call failed; carries status, type and message
    │   ├── TransientError     3    temporary (429, 5xx, timeout, lost connection): retried
    │   ├── RejectedError      3    permanent for this request: not retried
    │   └── FatalError         3    permanent for every call (401, 402, a refused canary): stops the run
    ├── FailedCheckError       3    a check of the doctor failed, and the config requires it
    ├── LocalModelError        3    a model of this machine cannot be fetched or started
    ├── AuditorReplyError      6    the auditor's text is not a valid reply; the message says why
    ├── BudgetExceededError    5    this call could exceed the budget; nothing was sent
    ├── RunStoreError          4    the run directory cannot be read or written
    │   ├── RunLockedError     4    another process is using this run; names pid and host
    │   ├── CorruptRunError    4    a file is damaged; names file and line; nothing is deleted
    │   ├── ResumeMismatchError 4   the run was made with another config; shows the difference
    │   ├── NotRecordedError   4    a replay needs a call that the journal does not have
    │   └── UnfitToPublishError 4   a run contains secrets, paths or names; lists them, packs nothing
    └── InterruptedRunError  130    the user stopped a run or a download; what was finished is kept
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from decimal import Decimal
FailureReason = Literal["technical", "content", "unknown"]
"""Why a call failed: `unknown` where it may be a block as well as a mistake, `content` where the
words of the error, in no known shape, say that it is a block."""
UNREACHABLE = "unreachable"
"""Error type: no connection to the server, as while it starts or the network is down."""
UNCONNECTABLE = "unconnectable"
"""Error type: no connection is possible: no host has this name, or its certificate is wrong.

If the server was reached before, this too is waited for: name servers fail in outages.
"""


class AuditToolError(Exception):
    """Base class of the errors raised on purpose; the message is one sentence for the user."""

    exit_code: ClassVar[int] = 1


class ConfigError(AuditToolError):
    """The user can fix it; raised before anything is spent."""

    exit_code = 2


class SlowPatternError(ConfigError):
    """A pattern of a facts file takes longer to search for than it may, on this machine."""


class UsageError(ConfigError):
    """A wrong word on the command line."""


class MissingExtraError(ConfigError):
    """An optional library is needed but not installed."""


class UnknownTemplateError(ConfigError):
    """No chat template is known for this model."""


class MissingCredentialError(ConfigError):
    """The API key of an endpoint is not set."""


class ClientError(AuditToolError):
    """One model call failed.

    Attributes:
        status: the HTTP status, or the error code inside a 200 if it says more.
        error_type: the provider's name for the error, if it gives one.
        retry_after_s: the wait that the server asked for.
        maybe_billed: True if the request may have been billed, and its cost is not known.
        partial_text: the text before the error; never used as an answer.
        tokens: the tokens of the failed attempt, if the server reports them.
        cost_usd: the cost of the failed attempt, if the server reports it.
        finished_at: the recorded time of the failure.
        reason: `unknown` where a 400, 403 or 422 says nothing that explains it: a block, or a mistake;
            `content` where its words speak of what the prompt or the answer holds.
        host_answer: the body of the server's answer, without keys.
        server: the server that was asked.
    """

    exit_code = 3
    kind: ClassVar[str] = "client"

    def __init__(  # noqa: PLR0913 -- an error carries all that is known about it
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
        reason: FailureReason = "technical",
        host_answer: str | None = None,
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
        self.reason: FailureReason = reason
        self.host_answer = host_answer
        self.server: str | None = None

    def __str__(self) -> str:
        """Return the message, with the hints that were added to it."""
        return self.message


class TransientError(ClientError):
    """A temporary error: rate limit, overload, timeout, lost connection, unreadable body."""

    kind = "transient"


class RejectedError(ClientError):
    """The server would refuse the same request again."""

    kind = "rejected"


class FatalError(ClientError):
    """Every further call would fail too: bad key, no credit, a harmless prompt refused."""

    kind = "fatal"


class FailedCheckError(AuditToolError):
    """A check that the config requires failed; only canaries were sent."""

    exit_code = 3


class LocalModelError(AuditToolError):
    """A model of this machine cannot be fetched or started; nothing was sent."""

    exit_code = 3


class AuditorReplyError(AuditToolError):
    """The auditor's text is not a valid reply; the message says why, for the re-ask."""

    exit_code = 6

    def __init__(self, message: str, *, last_call: str = "") -> None:
        super().__init__(message)
        self.last_call = last_call
        """The key of the last call that was made for this reply; a resumed run asks it again."""


class BudgetExceededError(AuditToolError):
    """This call could exceed the budget; nothing was sent."""

    exit_code = 5


class RunStoreError(AuditToolError):
    """The run directory cannot be read or written."""

    exit_code = 4


class RunLockedError(RunStoreError):
    """Another process is using this run."""


class CorruptRunError(RunStoreError):
    """A file of the run is damaged; nothing is deleted."""


class ResumeMismatchError(RunStoreError):
    """The run was made with another config than the one given."""


class NotRecordedError(RunStoreError):
    """A replay needs a call that the journal does not have."""


class UnfitToPublishError(RunStoreError):
    """A run contains what should not be published; nothing was packed."""


class InterruptedRunError(AuditToolError):
    """The user stopped the run; every finished call is in the journal."""

    exit_code = 130
