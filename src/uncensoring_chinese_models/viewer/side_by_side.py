"""Two runs side by side: settings that differ, claims, samples by arm, and facts.

Any two runs can be shown. If both asked for the facts of one file, they are also tested as
`ucm compare` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models.errors import AuditToolError
from uncensoring_chinese_models.viewer.signatures import by_name

if TYPE_CHECKING:
    from pathlib import Path

    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.reports import RunView
    from uncensoring_chinese_models.runs import RunFiles

_OUR_OWN = ("output_dir",)
"""Settings that do not affect the result."""
ABSENT = "not set"
_OF_A_FACT = {"fact", "language", "verdict"}
_DIFFERENT = (
    "The runs were judged by different facts files (A by {}; B by {}), so their facts cannot be "
    "compared. Judge both by one facts file with ucm judge."
)
VERDICTS = {
    "host": "it looks as if the host removes what the model writes",
    "model": "it looks as if the model itself declines",
    "both": "it looks as if the host removes what the model writes, and the model itself declines",
    "telling": "the runs state different facts, and it looks as if neither host nor model withholds",
    "unknown": "the runs state different facts, and it is unknown who withholds",
    "same": "no significant difference",
}
"""What the verdict of a comparison of two runs means. Experimental: the host is never asked."""
MEASURES = {
    "told": "facts stated",
    "host": "what the host seems to withhold",
    "model": "what the model seems to withhold",
}


def differing_settings(one: Json, other: Json) -> list[Json]:
    """Return the settings in which two runs differ, by their dotted names."""
    first, second = dict(_flat(one)), dict(_flat(other))
    names = [*first, *(name for name in second if name not in first)]
    return [
        {"setting": name, "a": first.get(name, ABSENT), "b": second.get(name, ABSENT)}
        for name in names
        if name not in _OUR_OWN and first.get(name, ABSENT) != second.get(name, ABSENT)
    ]


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if isinstance(item, dict) and item:
            yield from _flat(item, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", item


def labels_by_arm(one: RunView, other: RunView) -> list[Json]:
    """Return the counts of samples of both runs, for each arm of either."""
    arms = [*one.labels, *(arm for arm in other.labels if arm not in one.labels)]
    return [
        {"arm": arm, "a": dict(one.labels.get(arm, {})), "b": dict(other.labels.get(arm, {}))}
        for arm in arms
    ]


def facts_of_both(one: RunFiles, other: RunFiles) -> tuple[list[Json], str | None]:
    """Return the verdicts on each fact that was judged in both runs, differing ones first.

    The id of a fact has a meaning only within its facts file. If the runs were judged by different
    files, a sentence says so instead.
    """
    first, second = _judgings(one), _judgings(other)
    topic = next((each for each in first if each in second), None)
    if topic is None:
        by = [", ".join(judgings) for judgings in (first, second)]
        return [], _DIFFERENT.format(*by) if all(by) else None
    both = [
        {"fact": fact, "language": language, "a": verdict, "b": second[topic][fact, language]}
        | {"same": verdict == second[topic][fact, language]}
        for (fact, language), verdict in first[topic].items()
        if (fact, language) in second[topic]
    ]
    return sorted(both, key=lambda each: bool(each["same"])), None


def _judgings(run: RunFiles) -> dict[str, dict[tuple[str, str], str]]:
    """Return the verdicts on facts by the topic of the facts file; judges come before patterns."""
    found: dict[str, dict[tuple[str, str], str]] = {}
    for judged in run.judged:
        matrix = judged.get("matrix")
        if isinstance(matrix, dict) and isinstance(matrix.get("facts"), list):
            topic = str(matrix.get("topic") or judged.get("topic") or "")
            verdicts = {
                (str(each["fact"]), str(each["language"])): str(each["verdict"])
                for each in matrix["facts"]
                if isinstance(each, dict) and {*each} >= _OF_A_FACT
            }
            found.setdefault(topic, verdicts)
    return found


def claim_counts(run: RunView) -> Json:
    """Return how many claims of each kind there are, and how many of them are supported."""
    made = Counter(claim.kind for claim in run.claims)
    held = Counter(claim.kind for claim in run.claims if claim.is_supported)
    return {kind: {"made": made[kind], "supported": held[kind]} for kind in made}


def tested(one: RunFiles, other: RunFiles) -> Json | None:
    """Return what `ucm compare` says of two probe runs, or why it cannot compare them; None for audits."""
    folders = _probe_runs(one, other)
    if folders is None:
        return None
    from uncensoring_chinese_models.measure import (  # noqa: PLC0415 -- slow to import
        as_json,
        compare_runs,
    )

    try:
        told: Json = {"problem": None, **as_json(compare_runs(folders))}
    except AuditToolError as err:
        told = {"problem": str(err)}
    return dict(_named(told, folders))


def _named(value: Any, folders: Sequence[Path]) -> Any:
    """Return a value with the names of runs instead of their paths."""
    if isinstance(value, str):
        return by_name(value, *folders)
    if isinstance(value, dict):
        return {by_name(str(key), *folders): _named(item, folders) for key, item in value.items()}
    return [_named(item, folders) for item in value] if isinstance(value, list | tuple) else value


def _probe_runs(*runs: RunFiles) -> list[Path] | None:
    """Return the folders of runs that all ended and all asked for facts; else None."""
    folders = [
        run.folder
        for run in runs
        if run.folder is not None and run.summary is not None and run.kind == "probe"
    ]
    return folders if len(folders) == len(runs) else None
