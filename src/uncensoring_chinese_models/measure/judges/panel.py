"""Combine the judgements of several judges: the majority for each sample, and their agreement.

More than half of the valid judgements decide a sample. Without such a majority it is `not_judged` and
left out of every rate. Samples that patterns decide clearly are not sent to judges, unless the user
asks for all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, get_args

from uncensoring_chinese_models.measure.inference.agreement import krippendorff_alpha
from uncensoring_chinese_models.measure.judges.reply import Judgement, JudgeState
from uncensoring_chinese_models.measure.matrix import build_matrix
from uncensoring_chinese_models.stats import Rate, rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uncensoring_chinese_models.domain import FactLabel, Json
    from uncensoring_chinese_models.measure.answers import Judged
    from uncensoring_chinese_models.measure.inference.agreement import Agreement
    from uncensoring_chinese_models.measure.judges.request import JudgeRequest
    from uncensoring_chinese_models.measure.likelihood import Likelihood
    from uncensoring_chinese_models.measure.matrix import Matrix


_ADDRESS = ("preset", "base_url")


class PanelSample(NamedTuple):
    """One sample, as the patterns, each judge and the majority classify it."""

    patterns: Judged
    request: JudgeRequest | None
    """None where judges were not asked."""
    judgements: tuple[Judgement, ...]
    final: Judged

    def as_json(self) -> Json:
        """Return everything as JSON."""
        options = self.request.options if self.request else {}
        return asdict(self.final) | {
            "patterns": self.patterns.label,
            "options": {letter: option.name for letter, option in options.items()},
            "judgements": [_without_address(each) for each in self.judgements],
        }


@dataclass(frozen=True, slots=True)
class Panel:
    """The judgements of all judges on a run, and the matrix that follows from them."""

    judges: tuple[str, ...]
    samples: tuple[PanelSample, ...]
    matrix: Matrix
    spend: Json
    """The cost of all calls to judges, earlier resumptions included."""

    @property
    def asked(self) -> list[PanelSample]:
        """The samples that judges were asked about."""
        return [each for each in self.samples if each.request is not None]

    def states(self, judge: str) -> dict[JudgeState, int]:
        """Count the requests to a judge by state."""
        counts = Counter(one.state for one in self._of(judge))
        return {state: counts[state] for state in get_args(JudgeState)}

    def asked_at(self, judge: str) -> Json:
        """Return the preset and the address of the judge's server."""
        first = next(iter(self._of(judge)), None)
        return {name: getattr(first, name, None) for name in _ADDRESS}

    def stated(self, judge: str) -> dict[str, Rate]:
        """Return for each arm how many of the samples that a judge judged state the fact."""
        by_arm: dict[str, list[Judgement]] = defaultdict(list)
        for each in self.asked:
            by_arm[each.final.arm] += [one for one in each.judgements if one.judge == judge]
        return {arm: _stated(found) for arm, found in by_arm.items()}

    def agreement(self, *, with_patterns: bool = False) -> Agreement:
        """Return how far the judges agree on the labels; optionally with the patterns as one more judge."""
        units: list[list[FactLabel | None]] = [
            [one.label for one in each.judgements] + [_vote(each.patterns)] * with_patterns
            for each in self.asked
        ]
        return krippendorff_alpha(units)

    def as_json(self) -> Json:
        """Return everything as JSON."""
        judges = [
            {
                "model": judge,
                **self.asked_at(judge),
                "states": self.states(judge),
                "stated": {arm: asdict(found) for arm, found in self.stated(judge).items()},
            }
            for judge in self.judges
        ]
        return {
            "judges": judges,
            "asked": len(self.asked),
            "agreement": asdict(self.agreement()),
            "agreement_with_patterns": asdict(self.agreement(with_patterns=True)),
            "spend": self.spend,
            "matrix": self.matrix.as_json(),
            "judged": [each.as_json() for each in self.samples],
        }

    def _of(self, judge: str) -> list[Judgement]:
        return [one for each in self.asked for one in each.judgements if one.judge == judge]


def _vote(patterns: Judged) -> FactLabel | None:
    """Return the label by patterns; None where they do not judge."""
    return None if patterns.label == "not_judged" else patterns.label


def _without_address(judgement: Judgement) -> Json:
    """Return a judgement as JSON; its server is named once, with the judge."""
    return {name: value for name, value in asdict(judgement).items() if name not in _ADDRESS}


def _stated(found: Sequence[Judgement]) -> Rate:
    judged = [one for one in found if one.state == "judged"]
    left_out: Counter[str] = Counter(one.state for one in found if one.state != "judged")
    return rate(sum(one.mention == "states" for one in judged), len(judged), excluded=left_out)


def make_panel(
    topic: str,
    judges: Sequence[str],
    samples: Sequence[PanelSample],
    spend: Json | None = None,
    likelihood: Likelihood | None = None,
) -> Panel:
    """Return the panel, with the matrix of the majority labels."""
    matrix = build_matrix(topic, [each.final for each in samples], likelihood)
    return Panel(tuple(judges), tuple(samples), matrix, spend or {})


def decide_sample(
    patterns: Judged, request: JudgeRequest | None, judgements: Sequence[Judgement]
) -> PanelSample:
    """Return a sample with the label that more than half of the valid judgements give it."""
    if request is None:
        return PanelSample(patterns, None, (), patterns)
    votes = Counter(one.label for one in judgements if one.label is not None)
    label, count = votes.most_common(1)[0] if votes else (None, 0)
    said = f"{count} of {votes.total()} judges" if votes else "no judge"
    if label is None or 2 * count <= votes.total():
        final = replace(patterns, stance="not_judged", mention=None, reason=f"{said} at most")
        final = replace(final, decoy=None, start=None, end=None)
        return PanelSample(patterns, request, tuple(judgements), final)
    those = [one for one in judgements if one.label == label]
    decoys = Counter(one.decoy for one in those).most_common(2)
    is_tied = len(decoys) > 1 and decoys[0][1] == decoys[1][1]
    stance = Counter(one.stance for one in those).most_common(1)[0][0] or "not_judged"
    final = replace(patterns, mention=those[0].mention, stance=stance, reason=said)
    final = replace(final, decoy=None if is_tied else decoys[0][0])
    final = replace(final, start=those[0].start, end=those[0].end)
    return PanelSample(patterns, request, tuple(judgements), final)
