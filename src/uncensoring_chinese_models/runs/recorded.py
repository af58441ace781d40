"""The typed parts of a run's files that scores and judgements use.

Text of models is carried as it is: pydantic's own `str` refuses lone surrogates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, InstanceOf, ValidationError

from uncensoring_chinese_models.domain import Arm, Delivery, Json, blank_thoughts
from uncensoring_chinese_models.errors import CorruptRunError

Text = InstanceOf[str]
Place = tuple[int, str, int]
"""Iteration, arm and index of a sample."""


class _Recorded(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class RecordedUsage(_Recorded):
    """Tokens as the server counted them; None where it did not say."""

    completion_tokens: int | None = None
    reasoning_tokens: int | None = None


class RecordedSample(_Recorded):
    """One completion of the target, and what was sent for it."""

    arm: Arm
    index: int
    formatted_prompt: Text | None
    messages: list[Any] | None
    prefill: Text | None
    own_words: Text
    delivery: Delivery
    reply_start: int = 0
    reply_end: int | None = None
    text: Text | None = None
    reasoning: Text | None = None
    finish_reason: Text | None = None
    native_finish_reason: Text | None = None
    server: Text | None = None
    provider: Text | None = None
    error: Text | None = None
    usage: RecordedUsage = RecordedUsage()

    @property
    def target_words(self) -> str:
        """What the target itself wrote in the sampled turn, thoughts included."""
        return self.own_words[: self.reply_end]

    @property
    def said(self) -> str:
        """The target's words with its thoughts blanked out, so that offsets stay the same."""
        return blank_thoughts(self.target_words, self.reply_start)

    def prompts(self) -> Iterator[str]:
        """Yield every text that we sent for this sample."""
        yield from filter(None, (self.formatted_prompt, self.prefill))
        for message in self.messages or ():
            content = message.get("content") if isinstance(message, dict) else None
            # Content may also be a list of parts, {"type": "text", "text": ...}.
            for part in content if isinstance(content, list) else (content,):
                text = part.get("text") if isinstance(part, dict) else part
                if isinstance(text, str):
                    yield text


class RecordedResponse(_Recorded):
    """All samples of one iteration."""

    iteration: int
    prompt_sent: Text
    question: Text | None = None
    samples: list[RecordedSample]

    def prompts(self) -> Iterator[str]:
        """Yield every text that we sent in this iteration."""
        yield from filter(None, (self.prompt_sent, self.question))
        for sample in self.samples:
            yield from sample.prompts()


class _Reply(_Recorded):
    prompt_strategy: Text = ""


class RecordedCheck(_Recorded):
    """The check of one cited excerpt."""

    hypothesis: Text
    side: str
    excerpt: Text
    found_iteration: int | None
    arm: str | None
    sample: int | None
    start: int | None
    end: int | None
    survives: bool

    @property
    def supports(self) -> bool:
        """True when it speaks for its hypothesis."""
        return self.survives and self.side == "supporting"


class _Parse(_Recorded):
    re_asked: int = 0


class RecordedTurn(_Recorded):
    """One turn of the auditor."""

    iteration: int
    parsed: _Reply
    parse: _Parse = _Parse()
    evidence_check: list[RecordedCheck] = []


class RecordedQuote(_Recorded):
    """A supporting excerpt that survives, and its position."""

    excerpt: Text
    iteration: int | None
    arm: str | None
    sample: int | None
    start: int | None
    end: int | None

    @property
    def place(self) -> tuple[int | None, str | None, int | None]:
        """The sample that it quotes."""
        return self.iteration, self.arm, self.sample


class RecordedClaim(_Recorded):
    """One entry of the final summary."""

    text: Text
    kind: Literal["knowledge", "behavior"]
    hypothesis_ids: list[Text]
    supported: bool
    quotes: list[RecordedQuote]


class RecordedHypothesis(_Recorded):
    """One hypothesis of the last turn."""

    id: Text
    type: str
    hypothesis: Text = ""
    confidence: Literal["low", "medium", "high"]


class RecordedSpend(_Recorded):
    """Calls and tokens of one role."""

    calls: int
    prompt_tokens: int
    completion_tokens: int


class _Spends(_Recorded):
    by_role: dict[str, RecordedSpend]
    total: RecordedSpend


class _Endpoint(_Recorded):
    preset: Any = None
    template: Any = None


class _Config(_Recorded):
    topic: Text
    audited_model: Text
    auditing_model: Text
    sampling: dict[str, Any] = {}
    audited_endpoint: _Endpoint = _Endpoint()


class _Turns(_Recorded):
    unparsed: int = 0


class _Denominators(_Recorded):
    turns: _Turns = _Turns()


class RecordedSummary(_Recorded):
    """The summary of a run that ended."""

    config: _Config
    status: str
    status_detail: Text | None = None
    total_iterations: int
    final_hypotheses: list[RecordedHypothesis]
    claims: list[RecordedClaim]
    denominators: _Denominators = _Denominators()
    spend: _Spends


_Model = TypeVar("_Model", bound=_Recorded)


def read_summary(data: Json) -> RecordedSummary:
    """Read `summary.json`."""
    return _read(RecordedSummary, data, "summary.json")


def read_turns(turns: Sequence[Json]) -> tuple[RecordedTurn, ...]:
    """Read the files of `auditor_turns`."""
    return tuple(_read(RecordedTurn, data, "a file of auditor_turns") for data in turns)


def read_responses(responses: Sequence[Json]) -> tuple[RecordedResponse, ...]:
    """Read the files of `audited_responses`."""
    return tuple(_read(RecordedResponse, data, "a file of audited_responses") for data in responses)


def _read(model: type[_Model], data: Json, name: str) -> _Model:
    try:
        return model.model_validate(data)
    except ValidationError as err:
        where = ".".join(str(part) for part in err.errors()[0]["loc"])
        raise CorruptRunError(
            f"{name} is not what a run writes (see {where or 'its beginning'}); it cannot be scored."
        ) from err
