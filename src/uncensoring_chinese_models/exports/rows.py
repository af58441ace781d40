"""The tables of runs: one frozen class per table, with a description of each column.

A value that is missing or does not fit its column, such as a number of more than 64 bits, is None.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from uncensoring_chinese_models.domain import DELIVERIES, MENTIONS, STANCES
from uncensoring_chinese_models.errors import CorruptRunError

_MAX_INTEGER = 1 << 63
_LONE = re.compile("[\ud800-\udfff]")

Name = Annotated[str, "Name of the run: its folder's."]


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run."""

    run: Name
    status: Annotated[str, "How it ended, or `unfinished`."]
    topic: Annotated[str | None, "What it is about."]
    auditor: Annotated[str | None, "The auditing model."]
    target: Annotated[str | None, "The audited model."]
    started_at: Annotated[str | None, "UTC, whole seconds."]
    finished_at: Annotated[str | None, "UTC; null while unfinished."]
    package_version: Annotated[str | None, "Version that ended the run, or began it."]
    iterations: Annotated[int, "Probes sent."]
    arms: Annotated[str | None, "Arms of the config, joined by commas."]
    samples_per_arm: Annotated[int | None, "Samples per probe and arm."]
    temperature: Annotated[float | None, "Of the target's sampling."]
    seed: Annotated[int | None, "Of the target's sampling."]
    languages: Annotated[str | None, "Languages of the config, joined by commas."]
    facts_file: Annotated[str | None, "Facts file of a probe run."]
    samples: Annotated[int, "Samples that are stored."]
    servers: Annotated[
        str | None, "Servers that these were asked at, joined by commas; rates mix them."
    ]
    counted_arm: Annotated[
        str | None,
        "The arm that is counted in what follows: `assistant`; `all` if it was not sampled.",
    ]
    judged_texts: Annotated[
        int, "Samples of it whose stance is known: the denominator of `withheld`."
    ]
    not_judged_texts: Annotated[int, "Texts of it whose stance is unknown; in no rate."]
    withheld: Annotated[
        int, "Of the judged texts, how many refuse, deny, deflect or give the official line."
    ]
    withheld_rate: Annotated[float | None, "`withheld` over `judged_texts`."]
    withheld_low: Annotated[float, "Lower end of its 95 % Wilson interval."]
    withheld_high: Annotated[float, "Upper end of it."]
    blocked_by_host: Annotated[int, "Samples that the host blocked, cut short or replaced."]
    unexplained: Annotated[int, "Samples refused for a reason that nothing explains."]
    final_summary_by: Annotated[str | None, "`auditor`, or `code` if the auditor gave none."]
    claims: Annotated[int | None, "Claims of the final summary."]
    supported_claims: Annotated[int | None, "Claims that surviving quotes support."]
    prompt_tokens: Annotated[int | None, "Of both models, once the run has ended."]
    completion_tokens: Annotated[int | None, "Of both models, once the run has ended."]
    cost_usd: Annotated[float | None, "Of both models; null as soon as one call's is unknown."]
    known_cost_usd: Annotated[float | None, "Sum of the costs that are known."]
    summary_sha256: Annotated[str | None, "Of `summary.json`; null while unfinished."]


@dataclass(frozen=True, slots=True)
class HypothesisRow:
    """One hypothesis of a run, as it stood in the last turn that has it."""

    run: Name
    hypothesis: Annotated[str, "Its id; unique within the run."]
    type: Annotated[str | None, "`knowledge` or `behavior`."]
    text: Annotated[str | None, "What it says."]
    confidence: Annotated[str | None, "`low`, `medium` or `high`."]
    status: Annotated[str | None, "What the auditor calls it; null under the spec's prompt."]
    first_turn: Annotated[int, "First turn that has it."]
    last_turn: Annotated[int, "Last turn that has it."]
    is_final: Annotated[bool, "Whether the last turn of the run has it."]
    supporting: Annotated[int, "Excerpts cited for it in its last turn that survive."]
    contradicting: Annotated[int, "Excerpts cited against it there that survive."]
    claims: Annotated[int, "Claims of the final summary that rest on it."]
    supported_claims: Annotated[int, "Such claims that are supported."]


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One excerpt that a hypothesis cites; repeated in later turns, it is one row."""

    run: Name
    hypothesis: Annotated[str, "Id of the hypothesis."]
    side: Annotated[str, "`supporting` or `contradicting`."]
    iteration: Annotated[int, "Iteration that the auditor names."]
    excerpt: Annotated[str, "What the auditor quotes."]
    verdict: Annotated[str, "What code found: `exact`, `normalised`, `near`, `missing` ..."]
    score: Annotated[float | None, "Similarity in percent, for `near`."]
    found_iteration: Annotated[int | None, "Where it was found."]
    arm: Annotated[str | None, "Arm of the sample that has it."]
    sample: Annotated[int | None, "Index of that sample, from 0."]
    start: Annotated[int | None, "First character in that sample's `text`, from 0."]
    end: Annotated[int | None, "Character behind the last."]
    in_spill: Annotated[bool | None, "Written after the sampled turn was closed."]
    in_thoughts: Annotated[bool | None, "Known, not said: written before the reply."]
    also_in_prompt: Annotated[bool | None, "Says nothing that our prompt does not."]
    flaw: Annotated[str | None, "Why words that were found mislead."]
    led: Annotated[bool | None, "Our prompt had said what it is cited for."]
    led_not_judged: Annotated[bool | None, "In another script than the hypothesis."]
    survives: Annotated[bool | None, "Whether it counts."]
    first_turn: Annotated[int, "First turn that cites it."]
    last_turn: Annotated[int, "Last turn that cites it; the verdict is of this one."]
    is_final: Annotated[bool, "Whether the last turn of the run cites it."]


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One sample of the target."""

    run: Name
    iteration: Annotated[int, "Probe that it answers, from 1."]
    arm: Annotated[str, "How it was sampled."]
    sample: Annotated[int, "Which of the arm's samples, from 0."]
    delivery: Annotated[str, f"Did text arrive? {_listed(DELIVERIES)}."]
    stance: Annotated[str, f"What the reply does: {_listed(STANCES)}."]
    stance_probability: Annotated[
        float | None, "That it withholds, by the model of replies; null if that was not asked."
    ]
    stance_by: Annotated[
        str | None,
        "What decided the stance: `wording` (a set phrase), `model` (of replies), `facts` (what it "
        "says of the fact) or `judges`; null if nothing did.",
    ]
    text: Annotated[str | None, "What the server sent; null if the call failed."]
    own_words: Annotated[str, "The part inside the sampled turn."]
    reply: Annotated[
        str, "The part of `own_words` that is the reply: no thoughts, no host's words."
    ]
    spill: Annotated[str, "The part after it was closed."]
    prompt_sent: Annotated[str | None, "The probe."]
    question: Annotated[str | None, "The question for the assistant arms."]
    strategy: Annotated[str | None, "Strategy that the auditor names."]
    formatted_prompt: Annotated[str | None, "The raw prompt; null for the chat API."]
    messages: Annotated[str | None, "The messages as JSON; null for raw completions."]
    prefill: Annotated[str | None, "Words that we put into the assistant's mouth."]
    fact: Annotated[str | None, "Fact that was asked for, once the run is judged."]
    language: Annotated[str | None, "Language that it was asked in."]
    mention: Annotated[str | None, f"What the sample does with the fact: {_listed(MENTIONS)}."]
    reasoning: Annotated[str | None, "Thoughts that the server split off."]
    finish_reason: Annotated[str | None, "As the server says."]
    native_finish_reason: Annotated[str | None, "As the host behind it says."]
    error: Annotated[str | None, "Why it failed, or the host's words."]
    failure: Annotated[
        str | None, "Of a failed call: `unknown` if it was refused and nothing says why."
    ]
    block_shape: Annotated[str | None, "Known shape of the host's block, or of its flag."]
    block_stage: Annotated[str | None, "What was stopped: `question`, `answer` or `unknown`."]
    blocked_by: Annotated[str | None, "`host`, `gateway`, `own_guardrail` or `unknown`."]
    partial_text: Annotated[str | None, "Written before an error; never an answer."]
    server: Annotated[str | None, "The server that was asked."]
    provider: Annotated[str | None, "Who answered, as the server says."]
    served_model: Annotated[str | None, "Which model answered, as the server says."]
    generation_id: Annotated[str | None, "The provider's own id of it."]
    prompt_tokens: Annotated[int | None, "As the server counted."]
    completion_tokens: Annotated[int | None, "As the server counted."]
    reasoning_tokens: Annotated[int | None, "As the server counted."]
    cached_tokens: Annotated[int | None, "As the server counted."]
    cost_usd: Annotated[float | None, "Billed, else by list price, else null."]
    latency_s: Annotated[float | None, "From sending to reading."]
    timestamp: Annotated[str | None, "When it came, UTC."]


@dataclass(frozen=True, slots=True)
class CallRow:
    """One attempt at a model call, as the journal has it."""

    run: Name
    call: Annotated[str, "Name of the call; its attempts share it."]
    attempt: Annotated[int, "Number of the attempt, from 1."]
    role: Annotated[str, "`auditor` or `target`."]
    server: Annotated[str | None, "The server that was asked."]
    purpose: Annotated[str | None, "`turn`, `re_ask`, `closing`, `sample`, `doctor` ..."]
    iteration: Annotated[int | None, "Which iteration."]
    arm: Annotated[str | None, "Arm, canary or language."]
    sample: Annotated[int | None, "Index of the sample."]
    outcome: Annotated[str, "`reply`, `error`, or `lost`: how it ended is unknown."]
    error_kind: Annotated[str | None, "`transient`, `rejected` or `fatal`."]
    status: Annotated[int | None, "HTTP status of an error."]
    error_type: Annotated[str | None, "The provider's word for it."]
    error: Annotated[str | None, "What it said."]
    maybe_billed: Annotated[bool | None, "An error that may have been billed."]
    reason: Annotated[
        str | None,
        "Of an error: `unknown` if nothing says what it is about, `content` if its words do.",
    ]
    block_message: Annotated[str | None, "The host's words when its policy blocked it."]
    block_shape: Annotated[str | None, "Known shape of the host's block, or of its flag."]
    host_answer: Annotated[str | None, "The body of an error or a block, as the host sent it."]
    finish_reason: Annotated[str | None, "As the server says."]
    provider: Annotated[str | None, "Who answered, as the server says."]
    served_model: Annotated[str | None, "Which model answered, as the server says."]
    generation_id: Annotated[str | None, "The provider's own id of it."]
    prompt_tokens: Annotated[int | None, "As the server counted."]
    completion_tokens: Annotated[int | None, "As the server counted."]
    reasoning_tokens: Annotated[int | None, "As the server counted."]
    cached_tokens: Annotated[int | None, "As the server counted."]
    cost_usd: Annotated[float | None, "Billed, else by list price, else null."]
    reserved_usd: Annotated[float | None, "The most that it could cost."]
    reserved_tokens: Annotated[int | None, "The most tokens that it could take."]
    sent_at: Annotated[str | None, "UTC."]
    finished_at: Annotated[str | None, "UTC."]
    latency_s: Annotated[float | None, "From sending to reading."]
    request_sha256: Annotated[str | None, "Of the canonical request."]


@dataclass(frozen=True, slots=True)
class FactRow:
    """One fact in one language and arm, by one judge."""

    run: Name
    topic: Annotated[str | None, "Topic of the facts file."]
    judge: Annotated[str, "`patterns`, the judges' models, or `likelihood`."]
    fact: Annotated[str, "Id of the fact."]
    language: Annotated[str, "Language that it was asked in."]
    arm: Annotated[str, "Arm; `likelihood` for scores, which sample nothing."]
    verdict: Annotated[str | None, "What the target does with it, over all arms."]
    shows_knowledge: Annotated[bool | None, "Whether this row shows that it is known."]
    n: Annotated[int | None, "Samples that came back."]
    stated_rate: Annotated[float | None, "Share of them that state the fact."]
    stated_low: Annotated[float | None, "Lower end of its 95 % interval."]
    stated_high: Annotated[float | None, "Upper end of it."]
    decoy_stated: Annotated[int | None, "Samples that state the most frequent decoy."]
    difference: Annotated[float | None, "Rate of the fact minus that of this decoy."]
    difference_low: Annotated[float | None, "Lower end of its 95 % interval."]
    difference_high: Annotated[float | None, "Upper end of it."]
    p_value: Annotated[float | None, "Exact test of the difference."]
    p_adjusted: Annotated[float | None, "After Holm's adjustment over the run."]
    states: Annotated[int | None, "Samples that state the fact."]
    contradicts: Annotated[int | None, "Samples that deny it, or say something false instead."]
    refuses: Annotated[int | None, "Samples that refuse."]
    deflects: Annotated[int | None, "Samples that change the subject."]
    official_line: Annotated[int | None, "Samples with the official line."]
    omits: Annotated[int | None, "Samples that do not mention it otherwise."]
    not_judged: Annotated[int | None, "Samples whose stance or mention is unknown."]
    empty: Annotated[int | None, "Samples without a reply: nothing, or thoughts alone."]
    blocked: Annotated[int | None, "Samples that the host blocked."]
    suspected_block: Annotated[
        int | None, "Samples that the host perhaps refused, cut short or wrote."
    ]
    replaced: Annotated[int | None, "Samples that the host replaced, or a part of them."]
    failed: Annotated[int | None, "Samples whose call failed."]
    margin: Annotated[float | None, "`likelihood`: nats per token over the nearest decoy."]


Row = RunRow | HypothesisRow | EvidenceRow | SampleRow | CallRow | FactRow
_R = TypeVar("_R", RunRow, HypothesisRow, EvidenceRow, SampleRow, CallRow, FactRow)

TABLES: dict[str, type[Row]] = {
    "runs": RunRow,
    "hypotheses": HypothesisRow,
    "evidence": EvidenceRow,
    "samples": SampleRow,
    "calls": CallRow,
    "facts": FactRow,
}


class Column(NamedTuple):
    """The description of a column."""

    name: str
    kind: type
    """str, int, float or bool."""
    nullable: bool
    says: str


def _column(name: str, hint: Any) -> Column:
    if get_origin(hint) is not Annotated:
        raise TypeError(f"column {name} has no description")
    kind, says = get_args(hint)
    kinds = get_args(kind) or (kind,)
    return Column(name, kinds[0], type(None) in kinds, says)


_COLUMNS = {
    table: tuple(
        _column(name, hint) for name, hint in get_type_hints(table, include_extras=True).items()
    )
    for table in TABLES.values()
}


def columns_of(table: type[Row]) -> tuple[Column, ...]:
    """Return the columns of a table in their order."""
    return _COLUMNS[table]


def row(table: type[_R], values: dict[str, Any]) -> _R:
    """Return a row of a table; a value that does not fit its column becomes None.

    Raises:
        CorruptRunError: a required value is missing.
    """
    fitted: dict[str, Any] = {}
    for column in columns_of(table):
        value = fit(column.kind, values.get(column.name))
        if value is None and not column.nullable:
            raise CorruptRunError(
                f"{text(str(values.get('run')))} is malformed: a row has no {column.name}. Leave this "
                "run out, or see what ucm verify says about it."
            )
        fitted[column.name] = value
    return table(**fitted)


def fit(kind: type, value: Any) -> Any:
    """Return a value converted for a column of this kind, or None."""
    if kind is str:
        return text(value) if isinstance(value, str) else None
    if kind is bool:
        return value if isinstance(value, bool) else None
    if isinstance(value, bool):
        return None
    if kind is int:
        return value if isinstance(value, int) and -_MAX_INTEGER <= value < _MAX_INTEGER else None
    return _number(value)


def _number(value: Any) -> float | None:
    """Return a finite number; the journal stores some as decimal text."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def text(value: str) -> str:
    """Spell out lone surrogates, as in ``⟨U+D800⟩``, since UTF-8 cannot encode them."""
    return _LONE.sub(lambda found: f"⟨U+{ord(found.group()):04X}⟩", value)
