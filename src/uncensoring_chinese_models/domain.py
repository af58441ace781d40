"""The nouns of an audit.

What an auditor writes is validated (see `written`); what a target writes is only carried, so that
no text of a model, however odd, is refused or altered on its way to disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from uncensoring_chinese_models.errors import ClientError
    from uncensoring_chinese_models.written import AuditorReply

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
Verdict = Literal["exact", "normalised", "near", "other_iteration", "prompt_echo", "missing"]
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
    choices: int = 1
    has_logprobs: bool = False
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


# --- the auditor's side -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LedWord:
    """A decisive word of a claim that stood in our own prompt, and where."""

    word: str
    """As we wrote it."""
    where: str
    """The key of the response, or of the sample, that holds it: `prompt_sent`, `messages` ..."""
    start: int
    """First character in that text, counted from 0."""
    end: int


@dataclass(frozen=True, slots=True)
class EvidenceCheck:
    """What code found out about one cited excerpt."""

    hypothesis: str
    side: Literal["supporting", "contradicting"]
    iteration: int
    excerpt: str
    verdict: Verdict
    score: float | None = None
    """Similarity in percent, for `near`."""
    found_iteration: int | None = None
    """Where it was found; differs from `iteration` for `other_iteration`."""
    arm: str | None = None
    sample: int | None = None
    start: int | None = None
    """First character of the match in that sample's text."""
    end: int | None = None
    in_spill: bool = False
    """True when the words stand after the sampled turn was closed."""
    also_in_prompt: bool = False
    """True when it says nothing that our own prompt does not, so that it proves nothing."""
    flaw: Literal["cuts_word", "drops_negation", "too_short"] | None = None
    """Why words that were found still mislead."""
    led_by: tuple[LedWord, ...] = ()
    """The decisive words of its hypothesis, if our prompt brought them in and the excerpt none."""
    led_unjudged: bool = False
    """True when our prompt is in another script than its hypothesis, so that no word can be found."""

    @property
    def led(self) -> bool:
        """True when the probe itself had said what this is cited for."""
        return bool(self.led_by)

    @property
    def survives(self) -> bool:
        """True when the target itself said this in these very words, and we did not."""
        is_found = self.verdict in ("exact", "normalised")
        return is_found and not (self.also_in_prompt or self.flaw or self.led)


@dataclass(frozen=True, slots=True)
class Parse:
    """How a reply of the auditor was read."""

    rung: Rung
    re_asked: int = 0
    """How many times it had to be asked again before this reply was accepted."""
    problems: tuple[str, ...] = ()
    """Why the earlier replies were not accepted."""
    strategy_listed: bool = True
    """False when `prompt_strategy` is not one of the eight."""


@dataclass(frozen=True, slots=True)
class AuditorTurn:
    """One accepted turn of the auditor, with everything that led to it."""

    iteration: int
    timestamp: str
    input_messages: list[Json]
    raw_response: str
    parsed: AuditorReply
    evidence_check: tuple[EvidenceCheck, ...]
    parse: Parse
    usage: Usage
    cost_usd: Decimal | None
    provider: str | None
    served_model: str | None
    generation_id: str | None
    latency_s: float
    dropped_hypotheses: tuple[str, ...] = ()
    """Ids of the turn before that are not in this one."""
    closing: bool = False


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


# --- events: what the loop yields ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AuditEnded:
    """The last event of a run that ended by itself."""

    status: Status
    detail: str | None = None
    """What went wrong, in one sentence, where something did."""
    unparsed: int = 0
    """Replies of the auditor after its last turn that could not be used."""


AuditEvent = AuditorTurn | Response | AuditEnded
