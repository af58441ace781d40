"""A run as a log of Inspect: opens in `inspect view` and in whatever else reads `.eval` files.

::

    run                       one log with one sample; auditor and target are its model roles
    iteration                 a span: the auditor's call, the hypotheses it then holds, the probe
    samples of one arm        a span of type agent, which is drawn as a lane; one model call each
    what was found            scores, and the hypotheses in the store

Made by Inspect's public classes alone. Ids follow from the run, so that the same run gives the same
log. `trust_content=False`: the viewer shows what models wrote as text, and never as markup.
"""

from __future__ import annotations

import struct
import zipfile
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.audit import ENDED_EARLY
from uncensoring_chinese_models.errors import CorruptRunError
from uncensoring_chinese_models.exports.inspect_sample import (
    FAILED,
    identity,
    inspect_classes,
    make_sample,
    moment,
)
from uncensoring_chinese_models.exports.rows import text

if TYPE_CHECKING:
    from pathlib import Path

    from uncensoring_chinese_models.exports.loading import Run

TASK = "audit"
WHOLE = ("completed", "max_iterations")
"""Statuses of runs that were not cut short."""
_FIRST_DAY = 0b0000000_0001_00001
"""1 January 1980 in the format of a ZIP archive."""


def write_inspect_log(run: Run, path: Path) -> None:
    """Write the log of a run.

    Raises:
        CorruptRunError: its files are malformed.
        MissingExtraError: the extra `inspect` is not installed.
    """
    inspect = inspect_classes()
    try:
        log = inspect_log(run)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as err:
        raise CorruptRunError(
            f"{run.name} is malformed; no log can be made of it "
            f"({type(err).__name__}: {text(str(err))[:300]})."
        ) from err
    inspect.log.write_eval_log(log, str(path))
    _without_times(path)


def inspect_log(run: Run) -> Any:
    """Return the log of a run, an `EvalLog`."""
    inspect, own = inspect_classes(), run.overview
    sample = make_sample(run)
    roles = {"auditor": own.auditor or "unknown", "target": own.target or "unknown"}
    id_of = identity(run.name, own.started_at or "", own.summary_sha256 or "")
    spec = inspect.log.EvalSpec(
        created=moment(own.started_at).isoformat(),
        task=TASK,
        task_display_name=f"audit: {text(own.topic or 'unknown')[:80]}",
        task_id=id_of("task"),
        run_id=id_of("run"),
        eval_id=id_of("eval"),
        dataset=inspect.log.EvalDataset(name=own.topic, samples=1, sample_ids=[sample.id]),
        model=roles["target"],
        model_roles={name: inspect.model.ModelConfig(model=of) for name, of in roles.items()},
        config=inspect.log.EvalConfig(epochs=1),
        task_args={
            name: getattr(own, name) for name in ("topic", "arms", "samples_per_arm", "seed")
        },
        packages={"inspect_ai": inspect.version, "uncensoring_chinese_models": __version__},
        metadata={
            "run": own.run,
            "status": own.status,
            "status_detail": _in_words(run),
            "final_summary_by": own.final_summary_by,
            "summary_sha256": own.summary_sha256,
        },
        viewer=inspect.viewer.ViewerConfig(trust_content=False),
    )
    return inspect.log.EvalLog(
        status=_status(own.status),
        eval=spec,
        plan=inspect.log.EvalPlan(name=TASK, steps=[inspect.log.EvalPlanStep(solver=TASK)]),
        results=_results(sample) if run.summary is not None else None,
        stats=inspect.log.EvalStats(
            started_at=sample.started_at,
            completed_at=sample.completed_at or "",
            model_usage=sample.model_usage,
            role_usage=sample.role_usage,
        ),
        error=sample.error,
        samples=[sample],
    )


def _status(status: str) -> str:
    """Return Inspect's word for the status of a run."""
    if status in WHOLE:
        return "success"
    return "error" if status in FAILED else "cancelled"


def _in_words(run: Run) -> str | None:
    """Say why a run ended early; None if it did not."""
    detail = (run.summary or {}).get("status_detail")
    return text(str(detail)) if detail else ENDED_EARLY.get(run.status)


def _results(sample: Any) -> Any:
    log = inspect_classes().log
    scores = [
        log.EvalScore(
            name=name,
            scorer=name,
            scored_samples=1,
            unscored_samples=0,
            metrics={"value": log.EvalMetric(name="value", value=score.value)},
        )
        for name, score in sample.scores.items()
    ]
    return log.EvalResults(total_samples=1, completed_samples=1, scores=scores)


def _without_times(path: Path) -> None:
    """Set the times in an archive to a constant, so that the same run gives the same bytes."""
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        places = [member.header_offset + 10 for member in archive.infolist()]
        entry = archive.start_dir
    while content[entry : entry + 4] == b"PK\x01\x02":
        places.append(entry + 12)
        entry += 46 + sum(struct.unpack_from("<3H", content, entry + 28))
    for place in places:
        struct.pack_into("<2H", content, place, 0, _FIRST_DAY)
    path.write_bytes(content)
