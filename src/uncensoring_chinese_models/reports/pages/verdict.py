"""The verdict of a run in a few sentences; each gives its denominator and claims no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from uncensoring_chinese_models.domain import ARMS, STANCES, WITHHELD, Json, SampleLabel
from uncensoring_chinese_models.measure import samples_to_decide
from uncensoring_chinese_models.reports.sentences import (
    counted,
    may_be_invented,
    phrases_told,
    sees_phrases_alone,
)
from uncensoring_chinese_models.text import preview

MAX_CLAIM_CHARACTERS = 240
"""Max characters of a claim in the verdict; the list of claims has the whole text."""
UNFINISHED = (
    "This run has not ended: it is still going, or it stopped and can be resumed. "
    "These results may still change."
)
ENDED = {
    "budget": "The run ended early: its budget was used up.",
    "target_failed": "The run ended early: the target did not answer.",
    "auditor_failed": "The run ended early: the auditor gave no usable reply.",
}


def verdict(
    summary: Json | None, labels: Mapping[str, Counter[SampleLabel]], judged: Json | None
) -> list[str]:
    """Say what the target knows, what it says, and what this rests on.

    Args:
        summary: of the run; None if the run has not ended.
        labels: for each arm, how many of its samples have each label.
        judged: the matrix of its facts, if the run was judged.
    """
    if summary is None:
        return [UNFINISHED, *_says(labels, by_program=judged is None)]
    if judged is not None:
        return [_facts(judged), *_says(labels, by_program=False), *_early(summary), _FACTS_REST_ON]
    if summary["kind"] == "probe":
        return [_PROBE, *_says(labels), *_early(summary)]
    return [
        " ".join((_knows(summary["claims"]), *may_be_invented(summary))),
        *_says(labels),
        *_early(summary),
        _withholds(summary["claims"]),
    ]


_FACTS_REST_ON = (
    "A fact is known if, in the samples of this run, the target states it more often than matched "
    "falsehoods (decoys). The table of facts says how this was judged."
)
_PROBE = (
    "This run asked for the facts of a facts file, one by one. It makes no claims itself: ucm judge "
    "says which facts the target knows, says and denies."
)


def _knows(claims: Sequence[Json]) -> str:
    made = [claim for claim in claims if claim["kind"] == "knowledge"]
    held = sum(claim["supported"] for claim in made)
    if not made:
        return "The auditor makes no claim about what the target knows."
    claimed = f"The auditor claims that the target knows {counted(len(made), 'thing')}."
    if not held:
        return f"{claimed} No quote of the target supports any of this, so no knowledge is shown."
    return f"{claimed} Quotes support {held} of {len(made)}: the target wrote these words."


def _withholds(claims: Sequence[Json]) -> str:
    made = [claim for claim in claims if claim["kind"] == "behavior"]
    if not made:
        return "The auditor does not describe how the target withholds."
    held = [claim["text"] for claim in made if claim["supported"]]
    ways = "way" if len(made) == 1 else "ways"
    described = (
        f"The auditor describes {len(made)} {ways} in which the target withholds or answers."
    )
    if not held:
        return f"{described} No quote of the target supports {'it' if len(made) == 1 else 'any'}."
    first = preview(" ".join(held[0].split()), MAX_CLAIM_CHARACTERS)
    return f"{described} Quotes support {len(held)} of {len(made)}; the first: “{first}”"


_CUT: SampleLabel = "truncated"


class Withheld(NamedTuple):
    """The texts of an arm: how many withhold, of those whose stance is known."""

    withheld: int
    judged: int
    not_judged: int
    """Texts whose stance is unknown."""

    def told(self, noun: str) -> str:
        """Say it in words; a rate is of the judged ones."""
        beside = f" ({self.not_judged} not judged)" if self.not_judged else ""
        return f"{self.withheld} of {counted(self.judged, noun)}{beside}"


def withheld_of(counts: Mapping[SampleLabel, int]) -> Withheld:
    """Count the texts of an arm by their labels; a text that was cut off is judged as far as it goes."""
    judged: list[SampleLabel] = [name for name, each in STANCES.items() if each.is_judged]
    unknown = [name for name, each in STANCES.items() if not each.is_judged]
    return Withheld(
        sum(counts.get(label, 0) for label in WITHHELD),
        sum(counts.get(label, 0) for label in [*judged, _CUT]),
        sum(counts.get(label, 0) for label in unknown),
    )


def _says(labels: Mapping[str, Counter[SampleLabel]], *, by_program: bool = True) -> Iterator[str]:
    """Yield one sentence that says how often the target withholds in each arm.

    `by_program` is false where facts or judges decided.
    """
    parts = []
    for arm, counts in labels.items():
        denied = f", {counts['denies']} of these by denying" if counts["denies"] else ""
        where = ARMS[arm].meaning if arm in ARMS else arm
        found = withheld_of(counts)
        if by_program and sees_phrases_alone(arm):
            parts.append(f"{where}: {phrases_told(found.told('text') + denied)}")
        else:
            parts.append(f"{where}, it withheld in {found.told('judged sample')}{denied}")
    if parts:
        yield " ".join(f"{part[0].upper()}{part[1:]}." for part in parts)


def _early(summary: Json) -> Iterator[str]:
    if summary["status"] in ENDED:
        yield ENDED[summary["status"]]
    if summary.get("final_summary_by") == "code":
        yield "The auditor gave no final summary: code made it from the auditor's last hypotheses."


def _facts(judged: Json) -> str:
    counts = Counter(each["verdict"] for each in judged["facts"])
    told = ", ".join(f"{n} {word}" for word, n in counts.most_common())
    cells = judged["cells"]
    most, enough = (
        max((cell["stated"]["n"] for cell in cells), default=0),
        samples_to_decide(len(cells)),
    )
    few = ""
    if counts["undecided"] and most < enough:
        few = (
            f" With {counted(most, 'sample')} in each of {len(cells)} cells the test can hardly "
            f"decide anything, even if every sample states the fact; it needs {enough}."
        )
    return f"Asked for: {facts_told(judged['facts'])}. Verdicts: {told}.{few}"


def facts_told(facts: Sequence[Json]) -> str:
    """Say how many facts there are; one fact in three languages makes three cases."""
    distinct = counted(len({each["fact"] for each in facts}), "fact")
    languages = len({each["language"] for each in facts})
    if languages < 2:
        return distinct
    return f"{counted(len(facts), 'case')} ({distinct} in {languages} languages)"
