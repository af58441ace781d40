"""Read the auditor's messages: what was sent to the target, and what the target wrote.

The baseline gets only the messages that an LLM would get and keeps no state of its own, so a resumed
run gives the same replies.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.audit.stances import recognise_sample
from uncensoring_chinese_models.domain import ASKING_ARM, STANCES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uncensoring_chinese_models.domain import Delivery, Json
    from uncensoring_chinese_models.text import Recognised

FOLLOW_UP = "Too few samples said this: would another one complete the sentence in the same way?"
"""The rationale of a probe that breaks off a sentence of the target's own."""

_NUMBER = re.compile(r"\AResponse of the target in iteration (\d+) of ")
_HEAD = re.compile(r"^\[arm (\w+), sample (\d+): (\w+)\]$", re.MULTILINE)
_MARK = re.compile(r"<<<TARGET ([0-9a-f]{16})\n")
_CUT = " [cut here: too long to show]"
_NOT_ITS_WORDS = (
    "[written after it closed the sampled turn",
    "[the host's policy",
    "[the error",
    "[a reasoning parser",
)


@dataclass(frozen=True, slots=True)
class TranscriptSample:
    """One sample: what the target wrote in the sampled turn, and what it was sent."""

    iteration: int
    arm: str
    sample: int
    delivery: Delivery
    text: str
    sent: str
    """Our words that it continued or answered."""
    recognised: Recognised
    is_follow_up: bool = False
    """True if our words were the beginning of a sentence that the target wrote before."""

    @property
    def place(self) -> tuple[int, str, int]:
        """Which sample of the run it is."""
        return self.iteration, self.arm, self.sample

    @property
    def is_asked(self) -> bool:
        """True where the target was asked a question."""
        return self.arm == ASKING_ARM

    @property
    def is_judged(self) -> bool:
        """True where it is known what the sample does."""
        return STANCES[self.recognised.stance].is_judged

    @property
    def may_tell(self) -> bool:
        """True unless it is known to withhold, or cannot be read: what it names counts."""
        return self.recognised.stance in ("answers", "not_judged")

    @property
    def is_cut(self) -> bool:
        """True where the last sentence is not whole."""
        return self.delivery == "truncated"


@dataclass(frozen=True, slots=True)
class Round:
    """One iteration: what the auditor sent, and the samples that came back."""

    iteration: int
    strategy: str
    probe: str
    question: str
    is_follow_up: bool
    """True where the probe breaks off a sentence of the target's own."""
    samples: tuple[TranscriptSample, ...]


def read_transcript(messages: Sequence[Json]) -> list[Round]:
    """Return the iterations that the messages show, in order."""
    rounds = []
    own = ""
    for message in messages:
        if message["role"] == "assistant":
            own = message["content"]  # before a re-ask it may not be JSON, for it may be cut
        elif own and (number := _NUMBER.match(message["content"])):
            rounds.append(_read_round(int(number[1]), strict_json.loads(own), message["content"]))
    return rounds


def _read_round(iteration: int, own: Json, content: str) -> Round:
    probe = own["next_prompt"]
    question = own.get("question") or probe
    is_follow_up = own.get("prompt_rationale") == FOLLOW_UP
    samples = tuple(
        TranscriptSample(iteration, arm, sample, delivery, text, sent, recognised, is_follow_up)
        for arm, sample, shown_as, shown in _samples(content)
        for delivery, text in [_own_words(shown_as, shown)]
        for sent in [question if arm == ASKING_ARM else probe]
        for recognised in [recognise_sample(delivery, arm, text, probe, question)]
    )
    return Round(iteration, own.get("prompt_strategy", ""), probe, question, is_follow_up, samples)


def _samples(content: str) -> Iterator[tuple[str, int, Delivery, str]]:
    """Yield arm, sample, delivery and own words; text inside marks is never read as ours."""
    head: tuple[str, int, Delivery] | None = None
    text, at = "", 0
    while True:
        mark = _MARK.search(content, at)
        found = _HEAD.search(content, at, mark.start() if mark else len(content))
        if found:
            if head:
                yield (*head, text)
            delivery: Delivery = found[3]  # type: ignore[assignment]  # our own prompt names it
            head, text = (found[1], int(found[2]), delivery), ""
            at = found.end()
        elif mark:
            words, after = _marked(content, mark)
            before = content[at : mark.start()].rstrip("\n").rpartition("\n")[2]
            if head and not before.startswith(_NOT_ITS_WORDS):
                text = words
            at = after
        else:
            break
    if head:
        yield (*head, text)


def _own_words(delivery: Delivery, text: str) -> tuple[Delivery, str]:
    """Return the delivery and what of the shown text the target wrote, up to a whole word."""
    if text.endswith(_CUT):
        shown = text.removesuffix(_CUT)
        return "truncated", shown.rpartition(" ")[0] or shown
    return delivery, text


def _marked(content: str, mark: re.Match[str]) -> tuple[str, int]:
    """Return the marked text and where it ends; only the mark of the whole text closes it."""
    closing, at = f"\nTARGET {mark[1]}>>>", mark.end()
    while (end := content.find(closing, at)) >= 0:
        words = content[mark.end() : end]
        if hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16] == mark[1]:
            return words, end + len(closing)
        at = end + 1
    return "", mark.end()
