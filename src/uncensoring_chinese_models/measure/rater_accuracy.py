"""Accuracy of patterns and judges against human labels: sensitivity, specificity, corrected rates."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from uncensoring_chinese_models import __version__, strict_json
from uncensoring_chinese_models.domain import Json
from uncensoring_chinese_models.errors import CorruptRunError
from uncensoring_chinese_models.measure.answers import judge_asked
from uncensoring_chinese_models.measure.inference.agreement import CorrectedRate, corrected_rate
from uncensoring_chinese_models.measure.inference.tests import Estimate, Share, share_interval
from uncensoring_chinese_models.runs import Place, RunStore
from uncensoring_chinese_models.text import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from uncensoring_chinese_models.measure.labels import Labels, LabelTask

Verdicts = dict[Place, "bool | None"]
"""For each sample, whether the fact is stated; None where the rater gave no verdict."""


@dataclass(frozen=True, slots=True)
class ArmRate:
    """How often a rater calls the fact stated in one arm, and the rate corrected for its errors."""

    arm: str
    judged: Share
    left_out: int
    """Samples with text that it did not judge."""
    apparent: Estimate
    corrected: CorrectedRate


@dataclass(frozen=True, slots=True)
class RaterAccuracy:
    """How often a rater agrees with the human labels."""

    rater: str
    sensitivity: Share
    """Samples that it calls stated, of those labelled as stated."""
    specificity: Share
    """Samples that it calls not stated, of those labelled as not stated."""
    left_out: int
    """Labelled samples that it did not judge."""
    sensitivity_interval: Estimate
    specificity_interval: Estimate
    arms: tuple[ArmRate, ...]


def measure_raters(task: LabelTask, labels: Labels) -> tuple[RaterAccuracy, ...]:
    """Compare the patterns, and the judges if the run has any, with the labels.

    Raises:
        CorruptRunError: the file of the judges is not one, or does not fit the run and the facts.
    """
    path = task.folder / f"{task.topic}.judges.json"
    return rater_accuracies(task, labels, path.read_bytes() if path.exists() else None)


def rater_accuracies(
    task: LabelTask, labels: Labels, judges: bytes | None
) -> tuple[RaterAccuracy, ...]:
    """Compare the patterns, and the judges whose file holds these bytes, with the labels."""
    return tuple(_accuracy(name, found, labels) for name, found in _raters(task, judges).items())


def _raters(task: LabelTask, judges: bytes | None) -> dict[str, Verdicts]:
    """Return the verdicts of each rater."""
    raters: dict[str, Verdicts] = {
        "patterns": {
            place: judge_asked(asked).mention == "states" for place, asked in task.asked.items()
        }
    }
    path = task.folder / f"{task.topic}.judges.json"
    if judges is None:
        return raters
    try:
        told = strict_json.loads(judges)
        if any(told[name] != value for name, value in task.head.items()):
            raise CorruptRunError(
                f"{path} judges another run, or by another facts file; nothing was counted. Run "
                "ucm judge with its judges again, or remove that file."
            )
        names = [each["model"] for each in told["judges"]]
        entries = {
            (each["iteration"], each["arm"], each["sample"]): each for each in told["judged"]
        }
        for name in names:
            raters[name] = {
                place: _judged(entry, name)
                for place, entry in entries.items()
                if place in task.asked
            }
        raters["patterns and judges"] = {
            place: None if entry["mention"] is None else entry["mention"] == "states"
            for place, entry in entries.items()
            if place in task.asked
        }
    except (ValueError, KeyError, TypeError) as err:
        raise CorruptRunError(f"{path} is not a file of ucm judge ({err}).") from err
    return raters


def _judged(entry: Json, judge: str) -> bool | None:
    """Return whether a sample states the fact for one judge; None if that judge did not judge it."""
    found = [each["mention"] for each in entry["judgements"] if each["judge"] == judge]
    return None if not found or found[0] is None else found[0] == "states"


def _accuracy(rater: str, found: Verdicts, labels: Labels) -> RaterAccuracy:
    pairs = [(is_so, found.get(place)) for place, is_so in labels.stated.items()]
    sensitivity = _share([said for is_so, said in pairs if is_so])
    specificity = _share([None if said is None else not said for is_so, said in pairs if not is_so])
    arms = []
    for arm in sorted({place[1] for place in found}):
        said = [each for place, each in found.items() if place[1] == arm]
        judged = _share(said)
        corrected = corrected_rate(judged, sensitivity, specificity)
        arms.append(ArmRate(arm, judged, said.count(None), share_interval(judged), corrected))
    return RaterAccuracy(
        rater,
        sensitivity,
        specificity,
        sum(said is None for _, said in pairs),
        share_interval(sensitivity),
        share_interval(specificity),
        tuple(arms),
    )


def _share(said: Sequence[bool | None]) -> Share:
    known = [each for each in said if each is not None]
    return Share(sum(known), len(known))


def accuracy_to_json(task: LabelTask, labels: Labels, found: Sequence[RaterAccuracy]) -> Json:
    """Return the accuracy of the raters as JSON."""
    told: Json = {**task.head, "package": __version__}
    told["sheet_sha256"] = hashlib.sha256(labels.sheet).hexdigest()
    told |= {"labelled": len(labels.stated), "unfilled": labels.unfilled}
    return told | {
        "stated": sum(labels.stated.values()),
        "raters": [asdict(each) for each in found],
    }


def write_accuracy(task: LabelTask, labels: Labels, told: Json) -> Path:
    """Write the sheet and the accuracy of the raters beside the run; return the path of the latter."""
    name, store = f"{task.topic}.labels.json", RunStore(task.folder)
    store.write_bytes(task.sheet.name, labels.sheet)
    store.write_labels(name, told)
    return task.folder / name


def accuracy_lines(labels: Labels, found: Sequence[RaterAccuracy]) -> Iterator[str]:
    """Yield the accuracy of the raters as lines."""
    total = len(labels.stated) + labels.unfilled
    yield (
        f"Labelled: {len(labels.stated)} of {total} rows ({sum(labels.stated.values())} state the "
        f"fact); not filled in: {labels.unfilled}"
    )
    for each in found:
        yield f"{escape(each.rater)}:"
        yield f"  sensitivity {_told(each.sensitivity, each.sensitivity_interval)}"
        yield f"  specificity {_told(each.specificity, each.specificity_interval)}"
        if each.left_out:
            yield f"  labelled, but not judged by it: {each.left_out}"
        for arm in each.arms:
            yield (
                f"  {arm.arm}: stated in {_told(arm.judged, arm.apparent)}; corrected "
                f"{_value(arm.corrected)}" + f"; {arm.left_out} left out" * bool(arm.left_out)
            )
    yield "Corrected rates assume that a rater errs in each arm as on the labelled samples."


def _told(share: Share, interval: Estimate) -> str:
    return f"{share.successes} of {share.n} = {_value(interval)}"


def _value(found: Estimate | CorrectedRate) -> str:
    value = "undefined" if found.estimate is None else f"{found.estimate:.2f}"
    unclipped = found.unclipped if isinstance(found, CorrectedRate) else None
    beyond = ""
    if unclipped is not None and not 0 <= unclipped <= 1:
        beyond = f", from {unclipped:.2f}: the labels contradict this run, so do not rely on the interval"
    return f"{value} ({found.low:.2f} to {found.high:.2f}{beyond})"
