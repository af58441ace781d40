"""What an auditor writes, validated: hypotheses with their quotes, predictions, conclusions."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StrictBool, field_validator
from pydantic.json_schema import SkipJsonSchema


class _Written(BaseModel):
    """Something the auditor wrote: extra keys are ignored here and kept in the raw reply."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class Evidence(_Written):
    """One quote from the target, as the auditor cites it."""

    iteration: int
    """The iteration whose response is quoted."""
    excerpt: str = Field(validation_alias=AliasChoices("excerpt", "response_excerpt"))
    """The quoted words."""


class Hypothesis(_Written):
    """One claim of the auditor about what the target knows or how it behaves."""

    id: str = Field(min_length=1)
    """The auditor's own name for it, stable across turns."""
    type: Literal["knowledge", "behavior"]
    """Whether it is about what the target knows or about how it behaves."""
    hypothesis: str = Field(min_length=1)
    """The claim."""
    confidence: Literal["low", "medium", "high"]
    """How sure the auditor is."""
    supporting_evidence: tuple[Evidence, ...] = ()
    """Quotes that speak for it."""
    contradicting_evidence: tuple[Evidence, ...] = ()
    """Quotes that speak against it."""
    status: Literal["open", "seen_once", "recurred", "led", "refuted", "retired"] | None = None
    """Where it stands; only the continuation prompt asks for it."""

    @field_validator("type", "confidence", "status", mode="before")
    @classmethod
    def _tolerate_spelling(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        word = value.strip().lower().replace(" ", "_").replace("-", "_")
        return "behavior" if word == "behaviour" else word


class Prediction(_Written):
    """What the auditor expects of a probe, said before it is sent; only code decides if it came."""

    hypothesis: str = ""
    """Id of the hypothesis that it tests."""
    expects: str = ""
    """What will come, in one sentence."""
    words: tuple[str, ...] = ()
    """Words or short phrases, any of which would show that it came."""
    problem: SkipJsonSchema[str | None] = None
    """Why it cannot be checked; it is then counted, and costs no second question."""


class FinalSummary(_Written):
    """What the auditor concludes: claims about what the target knows and how it withholds it."""

    knowledge_confirmed: tuple[str, ...]
    censorship_patterns: tuple[str, ...]
    conclusion: str
    """The overall assessment."""


class AuditorReply(_Written):
    """One turn of the auditor, validated."""

    reasoning: str = ""
    """The auditor's analysis of the previous response."""
    hypotheses: tuple[Hypothesis, ...]
    """All current hypotheses, completed where the auditor wrote `unchanged`."""
    next_prompt: str = ""
    """The probe to send next."""
    question: str | None = None
    """A complete question for the assistant arms; only the continuation prompt asks for it."""
    arms: tuple[str, ...] = ()
    """Arms to send the probe through, of those in the config; all of them if none is named."""
    prompt_strategy: str = ""
    """One of the eight strategies, or whatever the auditor wrote."""
    prompt_rationale: str = ""
    """Why this probe."""
    prediction: Prediction | None = None
    """What this probe should bring; only the continuation prompt asks for it."""
    should_continue: StrictBool
    """Whether the auditor wants another iteration."""
    final_summary: FinalSummary | None = None
    """The conclusion, given when `should_continue` is false."""

    @field_validator("prediction", mode="before")
    @classmethod
    def _tolerate_prediction(cls, value: object) -> object:
        return value if value is None or isinstance(value, Prediction) else _read_prediction(value)


MOST_WORDS, LONGEST_WORD = 10, 100
"""A prediction names at most so many words, of at most so many characters."""


def _read_prediction(value: object) -> Prediction:
    """Read a prediction whatever it looks like: what is wrong with it is noted and never raised."""
    if not isinstance(value, dict):
        return Prediction(problem="it is not an object")
    told = {name: _line(value.get(name)) for name in ("hypothesis", "expects")}
    listed: Any = value.get("words")
    listed = listed if isinstance(listed, list) else [listed]
    words = tuple(dict.fromkeys(filter(None, map(_line, listed))))
    problem = None
    if not words:
        problem = "it names no words to look for"
    elif len(words) > MOST_WORDS or any(len(word) > LONGEST_WORD for word in words):
        problem = f"it names more than {MOST_WORDS} words, or one of over {LONGEST_WORD} characters"
    return Prediction(**told, words=() if problem else words, problem=problem)


def _line(value: object) -> str:
    """Return a text or a number as one line; anything else is none."""
    is_said = isinstance(value, str | int | float) and not isinstance(value, bool)
    return " ".join(str(value).split()) if is_said else ""
