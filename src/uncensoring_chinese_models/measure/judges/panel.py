"""What several judges make of a run together: votes, replies that are no vote, and agreement.

More than half of the judgements that count decide a sample; without such a majority it is
`not_judged`, and left out of every rate. What patterns decide cleanly is not put to the vote, unless
that is asked for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, get_args

from uncensoring_chinese_models.measure.inference.agreement import krippendorff_alpha
from uncensoring_chinese_models.measure.judges.reply import Judgement, JudgeState
from uncensoring_chinese_models.measure.matrix import build_matrix
from uncensoring_chinese_models.rates import Rate, rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uncensoring_chinese_models.domain import FactLabel, Json
    from uncensoring_chinese_models.measure.answers import Judged
    from uncensoring_chinese_models.measure.inference.agreement import Agreement
    from uncensoring_chinese_models.measure.judges.request import Ballot
    from uncensoring_chinese_models.measure.likelihood import Likelihood
    from uncensoring_chinese_models.measure.matrix import Matrix


_ADDRESS = ("preset", "base_url")


class Seen(NamedTuple):
    """One sample, with what patterns, each judge and the vote make of it."""

    patterns: Judged
    ballot: Ballot | None
    """None where judges were not asked."""
    judgements: tuple[Judgement, ...]
    final: Judged

    def as_json(self) -> Json:
        """Return everything as JSON."""
        options = self.ballot.options if self.ballot else {}
        return asdict(self.final) | {
            "patterns": self.patterns.label,
            "options": {letter: option.name for letter, option in options.items()},
            "judgements": [_without_address(each) for each in self.judgements],
        }


@dataclass(frozen=True, slots=True)
class Panel:
    """A run as judges see it."""

    judges: tuple[str, ...]
    seen: tuple[Seen, ...]
    matrix: Matrix
    spend: Json
    """What this judging cost, over all its resumptions."""

    @property
    def asked(self) -> list[Seen]:
        """The samples that judges were asked about."""
        return [each for each in self.seen if each.ballot is not None]

    def states(self, judge: str) -> dict[JudgeState, int]:
        """Return what became of each request to a judge."""
        counts = Counter(one.state for one in self._of(judge))
        return {state: counts[state] for state in get_args(JudgeState)}

    def asked_at(self, judge: str) -> Json:
        """Return the kind of server that a judge was asked at, and its address."""
        first = next(iter(self._of(judge)), None)
        return {name: getattr(first, name, None) for name in _ADDRESS}

    def stated(self, judge: str) -> dict[str, Rate]:
        """Return by arm how many of the samples that a judge judged state the fact."""
        by_arm: dict[str, list[Judgement]] = defaultdict(list)
        for each in self.asked:
            by_arm[each.final.arm] += [one for one in each.judgements if one.judge == judge]
        return {arm: _stated(found) for arm, found in by_arm.items()}

    def agreement(self, *, with_patterns: bool = False) -> Agreement:
        """Return how far the judges agree on the labels, or they and the patterns."""
        units: list[list[FactLabel | None]] = [
            [one.label for one in each.judgements] + [each.patterns.label] * with_patterns
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
            "judged": [each.as_json() for each in self.seen],
        }

    def _of(self, judge: str) -> list[Judgement]:
        return [one for each in self.asked for one in each.judgements if one.judge == judge]


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
    seen: Sequence[Seen],
    spend: Json | None = None,
    likelihood: Likelihood | None = None,
) -> Panel:
    """Return the panel, with the matrix of what was decided."""
    matrix = build_matrix(topic, [each.final for each in seen], likelihood)
    return Panel(tuple(judges), tuple(seen), matrix, spend or {})


def settle(patterns: Judged, ballot: Ballot | None, judgements: Sequence[Judgement]) -> Seen:
    """Return a sample with the label that more than half of the judgements that count give it."""
    if ballot is None:
        return Seen(patterns, None, (), patterns)
    votes = Counter(one.label for one in judgements if one.label is not None)
    label, count = votes.most_common(1)[0] if votes else (None, 0)
    said = f"{count} of {votes.total()} judges" if votes else "no judge"
    if label is None or 2 * count <= votes.total():
        final = replace(patterns, stance="not_judged", mention=None, reason=f"{said} at most")
        final = replace(final, decoy=None, start=None, end=None)
        return Seen(patterns, ballot, tuple(judgements), final)
    those = [one for one in judgements if one.label == label]
    decoys = Counter(one.decoy for one in those).most_common(2)
    is_tied = len(decoys) > 1 and decoys[0][1] == decoys[1][1]
    stance = Counter(one.stance for one in those).most_common(1)[0][0] or "not_judged"
    final = replace(patterns, mention=those[0].mention, stance=stance, reason=said)
    final = replace(final, decoy=None if is_tied else decoys[0][0])
    final = replace(final, start=those[0].start, end=those[0].end)
    return Seen(patterns, ballot, tuple(judgements), final)
