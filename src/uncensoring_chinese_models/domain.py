"""The nouns of an audit.

What an auditor writes is validated (`audit/turns.py`); what a target writes is only carried, so that
no text of a model, however odd, is refused or altered on its way to disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from uncensoring_chinese_models.errors import ClientError

Role = Literal["auditor", "target", "judge"]
Purpose = Literal[
    "turn",
    "re_ask",
    "schema_fallback",
    "closing",
    "sample",
    "doctor",
    "tokens",
    "likelihood",
    "judge",
]
Api = Literal["chat", "completions", "tokenize"]
Arm = Literal["user_persona", "assistant", "assistant_prefill", "raw"]
Outcome = Literal["answered", "length", "empty", "content_filter", "host_refusal", "failed"]
Rung = Literal["strict", "extracted", "repaired"]
Status = Literal["completed", "max_iterations", "budget", "target_failed", "auditor_failed"]
Language = Literal["en", "zh-Hans", "zh-Hant"]
Json = dict[str, Any]

STRATEGIES = (
    "direct_factual",
    "historical_framing",
    "comparative",
    "hypothetical",
    "educational",
    "specific_probing",
    "counter_narrative",
    "tangential",
)
"""The prompt strategies of the spec; another one is kept and flagged."""

MAX_PROBE_BYTES = 4000
"""A longer probe is re-asked for, so that an iteration has a worst case before it begins."""


# --- calls -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class CallKey:
    """Which call of a run this is; the same in every replay.

    ``ordinal`` counts re-asks in a turn; ``arm`` (the name of a canary, or of a judge's request) and
    ``sample`` tell samples.
    """

    iteration: int
    role: Role
    purpose: Purpose
    ordinal: int = 0
    arm: str = ""
    sample: int = 0

    def __str__(self) -> str:
        """Name the call in one word, e.g. ``003/target/sample/user_persona/0``."""
        tail = f"{self.arm}/{self.sample}" if self.arm else str(self.ordinal)
        return f"{self.iteration:03d}/{self.role}/{self.purpose}/{tail}"


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a model: what it is for, which API it goes to, and the JSON body."""

    key: CallKey
    api: Api
    body: Json
    opens: bool = False
    """Whether others wait for it: an error that each of them would meet ends the run at once."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them; None where it did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None

    @property
    def total(self) -> int | None:
        """Prompt and completion tokens together, or None if either is unknown."""
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens


class Token(NamedTuple):
    """A token by its number or its text, and its log-probability where it has one."""

    name: int | str
    logprob: float | None = None
    is_whole: bool = True
    """False for a part of a character."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for one call. ``host_refusal`` holds the host's words when policy blocked it."""

    text: str | None
    finish_reason: str | None = None
    native_finish_reason: str | None = None
    host_refusal: str | None = None
    reasoning: str | None = None
    provider: str | None = None
    served_model: str | None = None
    generation_id: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: Decimal | None = None
    finished_at: str = ""
    latency_s: float = 0.0
    tokens: tuple[Token, ...] = ()
    """What the reply is made of, where the server says: with an echo, the prompt as well."""


@dataclass(frozen=True, slots=True)
class Price:
    """What one token costs, in USD; ``input_usd`` is the dearest rate that input may be billed at."""

    input_usd: Decimal
    output_usd: Decimal
    request_usd: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Reservation:
    """The most that one attempt can cost; ``usd`` is None where the price is unknown."""

    usd: Decimal | None
    tokens: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt as it is recorded; `result` is None where none was: it was lost in flight."""

    role: Role
    reserved: Reservation
    result: Reply | ClientError | None


# --- the target's side --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sample:
    """One completion of one arm: what was sent, what came back, and whose words are whose."""

    arm: Arm
    index: int
    formatted_prompt: str | None
    messages: list[Json] | None
    """The raw prompt for the completions API, or the messages for the chat API."""
    prefill: str | None
    """Words that we put into the assistant's mouth; never the target's."""
    text: str | None
    """The server's text unaltered: `own_words` + `spill`; None if the call failed."""
    own_words: str
    """What the target wrote inside the sampled turn."""
    spill: str
    """What it wrote after closing that turn."""
    outcome: Outcome
    timestamp: str
    role_tokens_in_prompt: tuple[str, ...] = ()
    """Role tokens inside the probe: the model may have seen other turns than the arm says."""
    finish_reason: str | None = None
    native_finish_reason: str | None = None
    reasoning: str | None = None
    """What a reasoning parser on the server's side split off."""
    provider: str | None = None
    served_model: str | None = None
    generation_id: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: Decimal | None = None
    latency_s: float = 0.0
    error: str | None = None
    """Why the call failed, or the host's words when its policy blocked it."""
    partial_text: str | None = None
    """What the model had written before an error; never an answer."""


@dataclass(frozen=True, slots=True)
class Response:
    """Everything the target answered in one iteration."""

    iteration: int
    probe: str
    """The auditor's `next_prompt`."""
    question: str | None
    """The auditor's complete question for the assistant arms, if it gave one."""
    samples: tuple[Sample, ...]

    @property
    def all_failed(self) -> bool:
        """True when no sample brought an answer or a refusal."""
        return all(sample.outcome == "failed" for sample in self.samples)
