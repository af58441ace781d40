"""What the target was sent and what came back: probe by probe, arm by arm, sample by sample."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.domain import ARMS, DELIVERIES, LABELS, Json, SampleLabel
from uncensoring_chinese_models.measure import RunStances
from uncensoring_chinese_models.reports.pages.text import Piece, pieces

Place = tuple[int, str, int]
"""Iteration, arm and index of a sample."""
Marks = Mapping[Place, Sequence[tuple[int, int]]]
"""Where the quotes are in each quoted sample."""


class LabelledSample(NamedTuple):
    """A stored sample, and the one word for what it does."""

    sample: Json
    label: SampleLabel


@dataclass(frozen=True, slots=True)
class SampleView:
    """One completion."""

    anchor: str
    number: int
    """From 1, as people count."""
    label: SampleLabel
    pieces: list[Piece]
    reasoning: str | None
    error: str | None
    error_is: str
    """What `error` holds: an error, or words of the host."""
    about: list[str]
    """Its delivery, length, server and provider."""
    is_cited: bool


@dataclass(frozen=True, slots=True)
class ArmView:
    """The samples of one arm to one probe."""

    arm: str
    prompt: str
    """What was sent, byte for byte, or its messages as JSON."""
    prefill: str | None
    samples: list[SampleView]

    @property
    def counts(self) -> dict[SampleLabel, int]:
        """How many samples came out in each way that any did."""
        counts = Counter(sample.label for sample in self.samples)
        return {label: counts[label] for label in LABELS if counts[label]}


@dataclass(frozen=True, slots=True)
class ProbeView:
    """One iteration."""

    iteration: int
    timestamp: str
    probe: str
    question: str | None
    """The question that was asked; None where no arm asked one."""
    strategy: str
    rationale: str
    prediction: str | None
    arms: list[ArmView]


def anchor_of(place: Place) -> str:
    """Return the address of a sample on its page."""
    return f"s-{place[0]}-{place[1]}-{place[2]}"


def samples_by_place(responses: Sequence[Json], stances: RunStances) -> dict[Place, LabelledSample]:
    """Return every sample by iteration, arm and index."""
    return {
        (response["iteration"], sample["arm"], sample["index"]): LabelledSample(
            sample, stances.received(response, sample).label
        )
        for response in responses
        for sample in response["samples"]
    }


def probes_of(
    responses: Sequence[Json],
    turns: Sequence[Json],
    samples: Mapping[Place, LabelledSample],
    marks: Marks,
) -> list[ProbeView]:
    """Return every probe, with the auditor's reasons for it."""
    meant = {turn["iteration"]: turn["parsed"] for turn in turns}
    by_probe: dict[int, dict[Place, LabelledSample]] = defaultdict(dict)
    for place, each in samples.items():
        by_probe[place[0]][place] = each
    return [
        _probe(each, meant.get(each["iteration"], {}), by_probe[each["iteration"]], marks)
        for each in responses
    ]


def _probe(
    response: Json, meant: Json, samples: Mapping[Place, LabelledSample], marks: Marks
) -> ProbeView:
    by_arm: dict[str, dict[Place, LabelledSample]] = defaultdict(dict)
    for place, each in samples.items():
        by_arm[place[1]][place] = each
    prediction = meant.get("prediction") or {}
    return ProbeView(
        response["iteration"],
        response["timestamp"] or "",
        response["prompt_sent"],
        response.get("question") if any(map(_is_asked, by_arm)) else None,
        meant.get("prompt_strategy") or "",
        meant.get("prompt_rationale") or "",
        prediction.get("expects"),
        [_arm(arm, own, marks) for arm, own in by_arm.items()],
    )


def _is_asked(arm: str) -> bool:
    return arm in ARMS and ARMS[arm].turn == "assistant"


def _arm(arm: str, samples: Mapping[Place, LabelledSample], marks: Marks) -> ArmView:
    first = next(iter(samples.values())).sample
    return ArmView(
        arm,
        prompt_of(first),
        first.get("prefill"),
        [sample_view(place, each, marks) for place, each in samples.items()],
    )


def prompt_of(sample: Json) -> str:
    """Return what was sent for a sample."""
    if sample["formatted_prompt"] is not None:
        return str(sample["formatted_prompt"])
    return strict_json.dumps(sample["messages"], ensure_ascii=False, indent=2)


def sample_view(place: Place, labelled: LabelledSample, marks: Marks) -> SampleView:
    """Return one sample with its quotes marked."""
    sample, label = labelled
    text = sample["text"] or ""
    own = marks.get(place, ())
    reply = sample.get("reply_start") or 0, sample.get("reply_end")
    return SampleView(
        anchor_of(place),
        sample["index"] + 1,
        label,
        pieces(text, own, len(sample["own_words"] or ""), reply),
        sample.get("reasoning"),
        sample.get("error"),
        _error_is(sample),
        list(_about(sample)),
        bool(own),
    )


def _error_is(sample: Json) -> str:
    if not DELIVERIES[sample["delivery"]].by_host:
        return "Error"
    is_guess = sample["delivery"] == "suspected_block" and bool(sample["text"])
    return "Perhaps the host's words" if is_guess else "The host's words"


def _about(sample: Json) -> list[str]:
    tokens = (sample.get("usage") or {}).get("completion_tokens")
    told = [
        sample["delivery"] if sample["delivery"] != "complete" else None,
        "refused, and nothing says why" if sample.get("failure") == "unknown" else None,
        f"shape {sample['block_shape']}" if sample.get("block_shape") else None,
        "by your own guardrail" if sample.get("blocked_by") == "own_guardrail" else None,
        f"{tokens} tokens" if tokens is not None else None,
        sample.get("server"),
        sample.get("provider"),
        "role tokens in the probe" if sample.get("role_tokens_in_prompt") else None,
    ]
    return [str(each) for each in told if each]
