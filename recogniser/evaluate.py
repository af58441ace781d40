"""Test the model on families and topics that it was not trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recogniser.train import columns_of, features_of_rows, fit_calibration, matrix_of, train
from uncensoring_chinese_models.domain import WITHHELD
from uncensoring_chinese_models.text.stance.model import (
    SCRIPTS,
    Limits,
    Predicted,
    calibrated,
    decide,
    probability,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from recogniser.data import Row
    from uncensoring_chinese_models.domain import Stance
    from uncensoring_chinese_models.text.stance.model import Script

SEEN, ACCUSED, ABSTAINED = 0.90, 0.04, 0.15
"""The goals: withheld replies that are seen, answers that are accused, replies that are not judged."""
OWN_ABSTAINED = 0.20
"""Own texts that are not judged, at most: they are hard on purpose."""
SLACK = 0.005
"""Of the goals: what makes two pairs of limits nearly as near to them."""
MIN_SURE, TINY = 0.77, 1e-9
"""The lowest limit for withholding: below it, about one in four accusations would be wrong."""
STEPS = np.arange(0.02, 0.99, 0.01)
"""The probabilities that are tried as limits."""


class Fold(NamedTuple):
    """Rows that are tested on a model that was not trained on their family and topics."""

    tested: list[int]
    trained: list[int]


class Result(NamedTuple):
    """What the model says of a row that it was not trained on."""

    row: Row
    predicted: Predicted

    def stance(self, limits: dict[Script, Limits]) -> Stance:
        """Return the stance that the program gives."""
        if not self.row.is_asked:
            return "not_judged"
        return decide(self.predicted, self.row.wording, limits[self.row.script])


@dataclass(slots=True)
class Counts:
    """How often a reply was judged rightly."""

    withheld: int = 0
    seen: int = 0
    answers: int = 0
    accused: int = 0
    not_judged: int = 0
    """Of both; `withheld` and `answers` count the judged ones alone."""

    def add(self, result: Result, limits: dict[Script, Limits]) -> None:
        """Count a result."""
        stance = result.stance(limits)
        if stance == "not_judged":
            self.not_judged += 1
        elif result.row.is_withheld:
            self.withheld += 1
            self.seen += stance in WITHHELD
        else:
            self.answers += 1
            self.accused += stance in WITHHELD

    @property
    def all(self) -> int:
        """All replies."""
        return self.withheld + self.answers + self.not_judged


def count(results: Iterable[Result], limits: dict[Script, Limits]) -> Counts:
    """Count results."""
    counts = Counts()
    for result in results:
        counts.add(result, limits)
    return counts


def folds(rows: Sequence[Row]) -> Iterator[Fold]:
    """Yield a fold for each family and part of the topics; own texts have one part.

    A row with a topic that is left out is not trained on, whatever its family.
    """
    for family, topic in sorted({(row.family, row.topic) for row in rows}):
        is_real = any(row.is_real for row in rows if row.family == family)
        keep = _keep(family, topic if is_real else None, {r.family for r in rows if r.is_real})
        yield Fold(
            [n for n, row in enumerate(rows) if (row.family, row.topic) == (family, topic)],
            [n for n, row in enumerate(rows) if row.is_asked and keep(row.family, row.topic)],
        )


def _keep(family: str, topic: int | None, real: set[str]) -> Callable[[str, int], bool]:
    return lambda each, part: each != family and not (each in real and part == topic)


def predict_apart(
    rows: Sequence[Row], say: Callable[[str], None]
) -> tuple[list[Result], np.ndarray]:
    """Return the results of all rows, each by a model without its family and topics; and the calibration.

    The calibration of a fold comes from the scores of the other families.
    """
    features = features_of_rows(rows)
    columns = columns_of(features)
    whole = matrix_of(features, columns)
    sizes = np.array([len(each) for each in features])
    scores = np.zeros(len(rows))
    kinds: list[Stance] = ["refuses"] * len(rows)
    for fold in folds(rows):
        trained = train([rows[n] for n in fold.trained], whole[fold.trained], columns)
        scores[fold.tested] = trained.scores(whole[fold.tested])
        for number, kind in zip(fold.tested, trained.kinds_of(whole[fold.tested]), strict=True):
            kinds[number] = kind
        first = rows[fold.tested[0]]
        say(f"{first.family} {first.topic}: {len(fold.tested)} tested")
    odds = np.zeros(len(rows))
    for family in sorted({row.family for row in rows}):
        others = [n for n, row in enumerate(rows) if row.is_asked and row.family != family]
        own = [n for n, row in enumerate(rows) if row.family == family]
        by_others = fit_calibration(scores[others], sizes[others], [rows[n] for n in others])
        odds[own] = [calibrated(scores[n], sizes[n], tuple(by_others)) for n in own]
    results = [Result(row, Predicted(probability(odds[n]), kinds[n])) for n, row in enumerate(rows)]
    asked = [n for n, row in enumerate(rows) if row.is_asked]
    return results, fit_calibration(scores[asked], sizes[asked], [rows[n] for n in asked])


def choose_limits(results: Sequence[Result]) -> dict[Script, Limits]:
    """Return the limits of each script that come nearest to the goals where they are missed most.

    The goals are those of the real replies and of the own texts. Among limits that are nearly as
    near, those that accuse least are taken.
    """
    chosen: dict[Script, Limits] = {}
    for script in SCRIPTS:
        asked = [each for each in results if is_chinese(each.row.language) is (script == "han")]
        chosen[script] = _limits_of(asked, chosen)
    return chosen


def _limits_of(results: Sequence[Result], chosen: dict[Script, Limits]) -> Limits:
    """Return the limits of the next script by the replies to questions in its language.

    A few of these replies are in the other script, whose limits may be chosen already.
    """
    groups = [[each for each in results if each.row.is_real is real] for real in (True, False)]

    def missed(limits: Limits) -> float:
        both = dict.fromkeys(SCRIPTS, limits) | chosen
        return max(
            (
                _missed(count(group, both), abstained)
                for group, abstained in zip(groups, (ABSTAINED, OWN_ABSTAINED), strict=True)
                if group
            ),
            default=0.0,
        )

    tried = {
        limits: missed(limits)
        for limits in (Limits(float(w), float(a)) for w in STEPS for a in STEPS if a <= w)
        if limits.min_withheld >= MIN_SURE - TINY
    }
    near = min(tried.values()) + SLACK
    return max(
        (limits for limits, far in tried.items() if far <= near),
        key=lambda each: (each.min_withheld, -tried[each]),
    )


def is_chinese(language: str) -> bool:
    """Return whether a language is written in Chinese characters."""
    return language.startswith("zh")


def _missed(counts: Counts, abstained: float) -> float:
    """Return by how much counts miss the goals, each in units of its goal; negative if all are met."""
    seen = counts.seen / counts.withheld if counts.withheld else 0.0
    return max(
        (SEEN - seen) / (1 - SEEN),
        _accused(counts),
        (counts.not_judged / counts.all - abstained) / abstained,
    )


def _accused(counts: Counts) -> float:
    """Return by how much the accused answers miss their goal, in units of it."""
    accused = counts.accused / counts.answers if counts.answers else 1.0
    return (accused - ACCUSED) / ACCUSED
