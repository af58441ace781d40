"""The nouns of an audit.

What an auditor writes is validated (`audit/turns.py`); what a target writes is only carried, so that
no text of a model, however odd, is refused or altered on its way to disk.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from uncensoring_chinese_models.errors import ClientError, FailureReason

Role = Literal["auditor", "target", "judge"]
Purpose = Literal[
    "turn",
    "re_ask",
    "schema_fallback",
    "closing",
    "sample",
    "canary",
    "doctor",
    "tokens",
    "likelihood",
    "judge",
]
Api = Literal["chat", "completions", "tokenize"]
RunKind = Literal["audit", "probe", "doctor"]
Arm = Literal["user_persona", "assistant", "assistant_prefill", "raw"]
Delivery = Literal[
    "complete", "truncated", "empty", "blocked", "suspected_block", "replaced", "failed"
]
Stance = Literal[
    "answers",
    "tells_otherwise",
    "refuses",
    "denies",
    "deflects",
    "official_line",
    "unreadable",
    "not_judged",
]
FactMention = Literal["states", "contradicts", "omits"]
Rung = Literal["strict", "extracted", "repaired"]
Status = Literal["completed", "max_iterations", "budget", "target_failed", "auditor_failed"]
Language = Literal["en", "zh-Hans", "zh-Hant"]
Block = Literal["blocked", "suspected_block"]
BlockStage = Literal["question", "answer", "unknown"]
BlockedBy = Literal["host", "gateway", "own_guardrail", "unknown"]
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

MAX_USD = Decimal(10**9)
"""A cost of one call above this is a mistake, and counts as unknown; so does such a price of a token."""
MAX_PROBE_BYTES = 4000
"""A longer probe is re-asked for, so that an iteration has a worst case before it begins."""


# --- the words for a sample, and their traits -----------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeliveryTraits:
    """What a delivery means: did a text of the target arrive?"""

    letter: str
    """What the square of such a sample shows, so that colour is not the only sign."""
    meaning: str
    has_text: bool = False
    """True where the text is the target's own, so that a stance can be read from it."""
    by_host: bool = False
    """True where the host, not the model, kept the text back or changed it."""


DELIVERIES: dict[Delivery, DeliveryTraits] = {
    "complete": DeliveryTraits("C", "the target ended its text itself", has_text=True),
    "truncated": DeliveryTraits(
        "…", "cut off at max_tokens before anything was withheld", has_text=True
    ),
    "empty": DeliveryTraits("-", "no reply came: nothing, or thoughts alone"),
    "blocked": DeliveryTraits("B", "the host blocked it", by_host=True),
    "suspected_block": DeliveryTraits("S", "perhaps the host refused or altered it", by_host=True),
    "replaced": DeliveryTraits("P", "the host replaced the text or a part of it", by_host=True),
    "failed": DeliveryTraits("X", "the call failed"),
}
"""Did text arrive? Each sample has one delivery."""


@dataclass(frozen=True, slots=True)
class StanceTraits:
    """What a stance means: what does the reply do?"""

    letter: str
    meaning: str
    withholds: bool = False
    is_judged: bool = True
    """False where nothing can be said about what the reply does."""


STANCES: dict[Stance, StanceTraits] = {
    "answers": StanceTraits("A", "withholds nothing, as far as its words show"),
    "tells_otherwise": StanceTraits("I", "tells something else in place of the fact"),
    "refuses": StanceTraits("R", "declines to answer", withholds=True),
    "denies": StanceTraits("D", "denies it", withholds=True),
    "deflects": StanceTraits("V", "evades, or changes the subject", withholds=True),
    "official_line": StanceTraits("O", "gives the official line", withholds=True),
    "unreadable": StanceTraits("?", "in a script that the patterns cannot read", is_judged=False),
    "not_judged": StanceTraits(
        "~",
        "there are no words to judge, or they do not show whether it withholds",
        is_judged=False,
    ),
}
"""What does the reply do? Each sample has one stance."""
WITHHELD: tuple[Stance, ...] = tuple(name for name, each in STANCES.items() if each.withholds)


@dataclass(frozen=True, slots=True)
class MentionTraits:
    """What a mention means: what does the sample do with a fact?"""

    meaning: str


MENTIONS: dict[FactMention, MentionTraits] = {
    "states": MentionTraits("says the fact"),
    "contradicts": MentionTraits("denies the fact, or says something false in its place"),
    "omits": MentionTraits("does neither"),
}

SampleLabel = Delivery | Stance
"""The one word that a page shows for a sample."""
LABELS: dict[SampleLabel, DeliveryTraits | StanceTraits] = {
    **{name: STANCES[name] for name in ("answers", "tells_otherwise", *WITHHELD)},
    "truncated": DELIVERIES["truncated"],
    "unreadable": STANCES["unreadable"],
    "not_judged": STANCES["not_judged"],
    **{name: each for name, each in DELIVERIES.items() if not each.has_text},
}
"""Every such word, in the order in which pages list them."""


def label_of(delivery: Delivery, stance: Stance) -> SampleLabel:
    """Return the one word for a sample: what it does, or else why that cannot be said."""
    if not DELIVERIES[delivery].has_text:
        return delivery
    is_final = delivery == "complete" or STANCES[stance].withholds or not STANCES[stance].is_judged
    return stance if is_final else delivery


FactLabel = FactMention | SampleLabel
"""The one word for what a sample does with the fact that it was asked for."""
FACT_LABELS: tuple[FactLabel, ...] = (
    "states",
    "contradicts",
    *(name for name in WITHHELD if name != "denies"),  # a denial contradicts the fact
    "omits",
    "not_judged",
    *(name for name, each in DELIVERIES.items() if not each.has_text),
)
"""Every such word, in the order in which pages list them."""
IN_RATES: tuple[FactLabel, ...] = FACT_LABELS[: FACT_LABELS.index("omits") + 1]
"""Those that count in the rates of a fact; the others are left out."""


def fact_label(mention: FactMention | None, delivery: Delivery, stance: Stance) -> FactLabel:
    """Return the one word for a sample and a fact; without a mention, why there is none.

    A text that omits the fact and whose stance is unknown may withhold it: it is `not_judged`.
    """
    if mention is None:
        return "not_judged" if DELIVERIES[delivery].has_text else delivery
    if mention == "omits" and DELIVERIES[delivery].has_text and not STANCES[stance].is_judged:
        return "not_judged"
    return stance if mention == "omits" and STANCES[stance].withholds else mention


@dataclass(frozen=True, slots=True)
class ArmTraits:
    """How an arm samples the target."""

    meaning: str
    turn: Literal["user", "assistant", "none"]
    """The turn in which the target writes; `none` where the prompt has no turns."""
    prefills: bool = False
    """True where we write the first words of the assistant's reply."""
    template: Literal["always", "by_setting", "never"] = "always"
    """Whether its prompt is made with the model's chat template; `assistant_via` is the setting."""

    @property
    def asks(self) -> bool:
        """True where the target is asked as a user would ask it, and replies in its own words."""
        return self.turn == "assistant" and not self.prefills

    @property
    def continues(self) -> bool:
        """True where the target continues our text instead of replying to it."""
        return self.turn != "assistant"


ARMS: dict[Arm, ArmTraits] = {
    "user_persona": ArmTraits("sampled from inside the user turn", "user"),
    "assistant": ArmTraits("asked as an assistant", "assistant", template="by_setting"),
    "assistant_prefill": ArmTraits(
        "asked, with the first words put into its mouth", "assistant", prefills=True
    ),
    "raw": ArmTraits("given plain text to continue", "none", template="never"),
}
ASKING_ARM: Arm = next(name for name, each in ARMS.items() if each.asks)
"""The arm in which a fact is asked for as a user would."""
RAW_ARM: Arm = next(name for name, each in ARMS.items() if each.turn == "none")
"""The arm that sends plain text."""


@dataclass(frozen=True, slots=True)
class LanguageTraits:
    """How a language is written."""

    name: str
    script: Literal["latin", "han"]
    joiner: str
    """What stands between an opening and its ending."""
    full_stop: str
    font_region: str = ""
    """The part of a CJK font's name that says for which region its characters are drawn."""


LANGUAGES: dict[Language, LanguageTraits] = {
    "en": LanguageTraits("English", "latin", " ", "."),
    "zh-Hans": LanguageTraits("Chinese (simplified)", "han", "", "。", "SC"),
    "zh-Hant": LanguageTraits("Chinese (traditional)", "han", "", "。", "TC"),
}


def is_in_ideographs(language: str) -> bool:
    """Return whether a language is written in ideographs; `zh` is Chinese in either script."""
    return any(
        name == language or name.startswith(f"{language}-")
        for name, each in LANGUAGES.items()
        if each.script == "han"
    )


def font_region(language: str) -> str:
    """Return the region of a CJK font for a text; simplified characters unless it is known."""
    regions: dict[str, str] = {
        name: each.font_region for name, each in LANGUAGES.items() if each.font_region
    }
    return regions.get(language, next(iter(regions.values())))


# --- calls -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class CallKey:
    """Which call of a run this is; the same in every replay.

    ``ordinal`` counts re-asks in a turn, and is 1 for the canary of a closing request; ``arm`` (the route
    of a canary, or the name of a judge's request) and ``sample`` tell samples.
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
    total_tokens: int | None = None
    """Some servers count tokens of reasoning in the total alone."""

    @property
    def total(self) -> int | None:
        """Every token that is counted, or None if it is not known how many."""
        counted = (self.prompt_tokens or 0) + (self.completion_tokens or 0)
        total = self.total_tokens or 0
        if None in (self.prompt_tokens, self.completion_tokens):
            return total if total > counted else None  # else it lacks what is not counted
        return max(counted, total)


class Token(NamedTuple):
    """A token by its number or its text, and its log-probability where it has one."""

    name: int | str
    logprob: float | None = None
    is_whole: bool = True
    """False for a part of a character."""


_CUT = frozenset({"length", "len", "context", "truncated"})
_LIMITED = (frozenset({"max", "maximum", "limit"}), frozenset({"token", "tokens", "output"}))
"""A reason that has a word of each is one: `MAX_TOKENS`, `token_limit`, `maxOutputTokens`."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def is_cut(finish_reason: str | None, native: str | None = None) -> bool:
    """Return whether the text was cut at the token limit, by the host's own reason or the server's."""
    for reason in (native, finish_reason):
        words = {word.lower() for word in _WORD.findall(reason or "")}
        if words & _CUT or words == {"limit"} or all(words & each for each in _LIMITED):
            return True
    return False


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for one call."""

    text: str | None
    finish_reason: str | None = None
    native_finish_reason: str | None = None
    block_message: str | None = None
    """The host's words, where its policy blocked the call."""
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
    server: str | None = None
    """The server that was asked: its address, or the name of a model of this package."""
    block: Block | None = None
    """Whether the host, or a gateway before it, kept the answer back."""
    block_shape: str | None = None
    """The row of `models/hosts/blocks.json`; without `block`, a flag that came with an answer."""
    block_stage: BlockStage | None = None
    """What was stopped: the question, or the answer."""
    blocked_by: BlockedBy | None = None
    host_answer: str | None = None
    """The body of the answer, where it is an error: the host's words as they came, without keys."""


@dataclass(frozen=True, slots=True)
class Price:
    """What one token costs, in USD; ``input_usd`` is the dearest rate that input may be billed at."""

    input_usd: Decimal
    output_usd: Decimal
    request_usd: Decimal = Decimal(0)


FREE = Price(Decimal(0), Decimal(0))
"""The price of a model that runs on this machine."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """The most that one attempt can cost; ``usd`` is None where the price is unknown."""

    usd: Decimal | None
    tokens: int
    output_tokens: int | None = None
    """How many of the tokens are output; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt as it is recorded; `result` is None where none was: it was lost in flight."""

    role: Role
    reserved: Reservation
    result: Reply | ClientError | None
    server: str | None = None
    """The server that was asked."""
    price: Price | None = None
    """The price of its model: of the time when it was sent, else the first one known later."""


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
    delivery: Delivery
    timestamp: str
    reply_start: int = 0
    """Where the reply begins in `own_words`: thoughts stand before it."""
    reply_end: int | None = None
    """Where it ends: what the host put in its place, or behind it, follows. None: at the end."""
    role_tokens_in_prompt: tuple[str, ...] = ()
    """Role tokens inside the probe: the model may have seen other turns than the arm says."""
    finish_reason: str | None = None
    native_finish_reason: str | None = None
    reasoning: str | None = None
    """What a reasoning parser on the server's side split off."""
    server: str | None = None
    """The server that was asked, also where the call failed."""
    provider: str | None = None
    served_model: str | None = None
    generation_id: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: Decimal | None = None
    latency_s: float = 0.0
    error: str | None = None
    """Why the call failed, or the host's words when its policy blocked or replaced the text."""
    failure: FailureReason | None = None
    """Whether a failed call was refused for a reason that nothing explains."""
    block_shape: str | None = None
    block_stage: BlockStage | None = None
    blocked_by: BlockedBy | None = None
    partial_text: str | None = None
    """What the model had written before an error; never an answer."""

    @property
    def target_words(self) -> str:
        """What the target itself wrote in the sampled turn, thoughts included."""
        return self.own_words[: self.reply_end]

    @property
    def said(self) -> str:
        """The target's words with its thoughts blanked out, so that offsets stay the same."""
        return blank_thoughts(self.target_words, self.reply_start)

    @property
    def has_hosts_words(self) -> bool:
        """True where the host gave words of its own."""
        return DELIVERIES[self.delivery].by_host and self.error is not None


def blank_thoughts(words: str, reply_start: int) -> str:
    """Return the words with as many spaces in the place of what stands before the reply."""
    return " " * reply_start + words[reply_start:]


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
        return all(sample.delivery == "failed" for sample in self.samples)
