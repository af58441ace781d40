"""Hypotheses as cards: the claim, the confidence in it by turn, and each excerpt in its sample."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from uncensoring_chinese_models.domain import Json
from uncensoring_chinese_models.reports.pages.probes import (
    LabelledSample,
    Place,
    SampleView,
    prompt_of,
    sample_view,
)
from uncensoring_chinese_models.reports.sentences import aside_of

LEVELS = ("low", "medium", "high")
_FLAWS = {
    "cuts_word": "begins or ends inside a word",
    "drops_negation": "leaves out a negation",
    "too_short": "too short to show anything",
}
_VERDICTS = {
    "near": "the target wrote something similar, but not these words",
    "other_iteration": "the target wrote it in another iteration than the one cited",
    "prompt_echo": "only our own prompt says it",
    "missing": "the target never wrote this",
}


@dataclass(frozen=True, slots=True)
class ConfidencePoint:
    """A hypothesis in one turn."""

    turn: int
    confidence: str
    status: str | None
    supporting: int
    contradicting: int


@dataclass(frozen=True, slots=True)
class ExcerptView:
    """One cited excerpt, and the sample that it is from."""

    excerpt: str
    survives: bool
    verdict: str
    why: str
    """Why it does not survive; empty if it does."""
    place: str
    """Iteration, arm and sample as people count them; empty if it was not found."""
    anchor: str
    prompt: str
    sample: SampleView | None


@dataclass(frozen=True, slots=True)
class HypothesisView:
    """One hypothesis, over the whole run."""

    id: str
    anchor: str
    type: str
    hypothesis: str
    confidence: str
    status: str | None
    is_held: bool
    """Whether the last turn still has it."""
    points: list[ConfidencePoint]
    supporting: list[ExcerptView]
    contradicting: list[ExcerptView]
    changes: list[str]
    """Where its type changed, or a negation came or went."""
    first_wording: str

    @property
    def first_turn(self) -> int:
        """The turn that first had it."""
        return self.points[0].turn

    @property
    def surviving(self) -> tuple[int, int]:
        """How many excerpts for it and against it survive."""
        return (
            sum(each.survives for each in self.supporting),
            sum(each.survives for each in self.contradicting),
        )


def hypotheses_of(
    turns: Sequence[Json], samples: Mapping[Place, LabelledSample], history: Sequence[Json]
) -> list[HypothesisView]:
    """Return every hypothesis ever held: those of the last turn first, in its order."""
    points: dict[str, list[ConfidencePoint]] = defaultdict(list)
    newest: dict[str, tuple[Json, list[Json]]] = {}
    for turn in turns:
        checks = checks_by_hypothesis(turn)
        for each in turn["parsed"].get("hypotheses") or ():
            own = checks.get(each["id"], [])
            points[each["id"]].append(_point(turn["iteration"], each, own))
            newest[each["id"]] = each, own
    last = [each["id"] for each in turns[-1]["parsed"].get("hypotheses") or ()] if turns else []
    order = [*dict.fromkeys(last), *(name for name in newest if name not in last)]
    past = {each["id"]: each for each in history}
    return [
        _card(
            newest[name],
            points[name],
            samples,
            anchor=f"h-{number}",
            is_held=name in last,
            past=past.get(name, {}),
        )
        for number, name in enumerate(order, 1)
    ]


def checks_by_hypothesis(turn: Json) -> dict[str, list[Json]]:
    """Return the check of each excerpt of a turn, by hypothesis."""
    found: dict[str, list[Json]] = defaultdict(list)
    for check in turn["evidence_check"]:
        found[check["hypothesis"]].append(check)
    return found


def _point(turn: int, hypothesis: Json, own: Sequence[Json]) -> ConfidencePoint:
    sides = [check["side"] for check in own if check["survives"]]
    return ConfidencePoint(
        turn,
        hypothesis["confidence"],
        hypothesis.get("status"),
        sides.count("supporting"),
        sides.count("contradicting"),
    )


def _card(
    newest: tuple[Json, list[Json]],
    points: list[ConfidencePoint],
    samples: Mapping[Place, LabelledSample],
    *,
    anchor: str,
    is_held: bool,
    past: Json,
) -> HypothesisView:
    hypothesis, own = newest
    sides = {
        side: [_excerpt(check, samples) for check in own if check["side"] == side]
        for side in ("supporting", "contradicting")
    }
    return HypothesisView(
        hypothesis["id"],
        anchor,
        hypothesis["type"],
        hypothesis["hypothesis"],
        hypothesis["confidence"],
        hypothesis.get("status"),
        is_held,
        points,
        sides["supporting"],
        sides["contradicting"],
        [
            f"{c['by']} changed in turn {c['turn']}: “{c['before']}” became “{c['after']}”"
            for c in past.get("claim_changes", ())
        ],
        str(past.get("first_wording", hypothesis["hypothesis"])),
    )


def place_of(check: Json) -> Place | None:
    """Return the sample that an excerpt was found in."""
    if check.get("sample") is None or check.get("found_iteration") is None:
        return None
    return check["found_iteration"], check["arm"], check["sample"]


def _excerpt(check: Json, samples: Mapping[Place, LabelledSample]) -> ExcerptView:
    place = place_of(check)
    found = samples.get(place) if place else None
    marks = (
        {} if place is None or check["start"] is None else {place: [(check["start"], check["end"])]}
    )
    view = sample_view(place, found, marks) if place and found else None
    where = f"iteration {place[0]}, {place[1]} sample {place[2] + 1}" if place else ""
    return ExcerptView(
        check["excerpt"],
        check["survives"],
        check["verdict"],
        _why_not(check),
        where + aside_of(check),
        view.anchor if view else "",
        prompt_of(found.sample) if found else "",
        view,
    )


def _why_not(check: Json) -> str:
    """Say why an excerpt does not survive."""
    if check["survives"]:
        return ""
    if check["verdict"] in _VERDICTS:
        return _VERDICTS[check["verdict"]]
    if check.get("also_in_prompt"):
        return "our own prompt says the same"
    return _FLAWS.get(check.get("flaw") or "", "led: our prompt already said what it is cited for")
