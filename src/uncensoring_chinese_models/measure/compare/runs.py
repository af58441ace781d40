"""Read runs, compare them, and return the result as JSON.

What it says about hosts is *experimental*: it looks as if they withheld a text (`withheld.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models.config import PRESETS, is_near
from uncensoring_chinese_models.domain import Delivery, Json
from uncensoring_chinese_models.errors import ConfigError, UsageError
from uncensoring_chinese_models.measure.answers import judge_asked_samples
from uncensoring_chinese_models.measure.compare.pairs import (
    DIMENSIONS,
    Dimension,
    Pair,
    PairedCell,
    PairedSides,
    Tally,
    pair_sides,
)
from uncensoring_chinese_models.measure.compare.token_bills import tokens_of
from uncensoring_chinese_models.measure.compare.withheld import (
    WHO,
    Attributed,
    Canned,
    ComparedSample,
    Withholding,
)
from uncensoring_chinese_models.measure.facts.schema import Facts, load_facts
from uncensoring_chinese_models.measure.judging import facts_of
from uncensoring_chinese_models.runs import (
    Place,
    RecordedSample,
    RunFiles,
    read_finished_run,
    read_responses,
    read_summary,
)

if TYPE_CHECKING:
    from uncensoring_chinese_models.measure.compare.pairs import Measure

_MEASURES: tuple[Measure, ...] = ("told", "host", "model")
_SETTINGS = (
    *("max_tokens", "temperature", "top_p", "n", "stop", "prefill"),
    *("assistant_via", "thinking", "template"),
)
MAX_EXAMPLES = 3
"""Maximum number of samples that are shown for each side and delivery."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A sampling setting in which the runs differ, with its value in each run."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RunComparison:
    """The result of a comparison."""

    topic: str
    runs: dict[str, str]
    """The model of each run."""
    settings: tuple[Setting, ...]
    paired: PairedSides
    canned: tuple[tuple[Canned, tuple[Attributed, ...]], ...]
    """Canned texts, and who withheld each sample that has one."""
    examples: tuple[tuple[str, Delivery, ComparedSample], ...]
    """Samples that look as if a host withheld them: side, delivery, sample."""


def compare_runs(
    folders: Sequence[Path], by: str | None = None, facts_name: str | None = None
) -> RunComparison:
    """Compare finished runs of ucm probe, or the arms or languages of one.

    Raises:
        ConfigError: the facts differ or were not asked for, or no two sides have a unit in common.
        RunStoreError: one is not a run directory, or the run has not finished.
        CorruptRunError: the files of one differ from those that its summary lists.
        MissingExtraError: the extra `analysis` is not installed.
    """
    dimension = _dimension(by, folders)
    files = [read_finished_run(folder) for folder in folders]
    for folder, found in zip(folders, files, strict=True):
        if found.ended["kind"] != "probe":
            raise ConfigError(
                f"{folder} is an audit, which does not ask for each fact; nothing was "
                "compared. Compare runs of ucm probe."
            )
    facts = _shared_facts(folders, facts_name)
    samples = [
        each
        for folder, name, found in zip(folders, _names(folders), files, strict=True)
        for each in _samples_of(folder, name, found, facts)
    ]
    withholding = Withholding(samples)
    paired = pair_sides(dimension, samples, withholding.attributed)
    _refuse_nothing_in_common(paired)
    return RunComparison(
        facts.topic,
        {each.run: each.model for each in samples},
        tuple(_differing(files)),
        paired,
        tuple(_canned(withholding, samples)),
        tuple(_examples(paired.by, withholding, samples)),
    )


def _dimension(by: str | None, folders: Sequence[Path]) -> Dimension:
    if not folders:
        raise UsageError("RUN_DIR is missing; name the runs that are to be compared.")
    resolved = [folder.resolve() for folder in folders]
    twice = next((f for f, r in zip(folders, resolved, strict=True) if resolved.count(r) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice} is given twice; a run cannot be compared with itself.")
    wanted = by or ("arm" if len(folders) == 1 else "run")
    for dimension in DIMENSIONS:
        if wanted == dimension:
            if dimension == "run" and len(folders) == 1:
                raise UsageError("--by run needs two runs; name another, or use --by arm.")
            return dimension
    raise UsageError(f"--by takes {', '.join(DIMENSIONS[:-1])} or {DIMENSIONS[-1]}, not '{by}'.")


def _shared_facts(folders: Sequence[Path], name: str | None) -> Facts:
    if name is not None:
        return load_facts(name)
    first = facts_of(folders[0])
    for folder in folders[1:]:
        if facts_of(folder) != first:
            raise ConfigError(
                f"{folders[0]} and {folder} were made with different facts files, so that their "
                "probes are not the same; nothing was compared. Probe both with one file."
            )
    return first


def _names(folders: Sequence[Path]) -> list[str]:
    """Return a name for each run: its folder's name, or the path if two names are equal."""
    names = [folder.resolve().name for folder in folders]
    return [
        name if names.count(name) == 1 else str(folder)
        for folder, name in zip(folders, names, strict=True)
    ]


def _samples_of(folder: Path, name: str, files: RunFiles, facts: Facts) -> Iterator[ComparedSample]:
    config = read_summary(files.ended).config
    endpoint = config.audited_endpoint
    responses = read_responses(files.responses)
    judged = judge_asked_samples(responses, facts)
    if not judged:
        raise ConfigError(
            f"{folder} did not ask for the facts of {facts.topic}; nothing was compared. Make a run "
            "that does with ucm probe CONFIG."
        )
    recorded: dict[Place, RecordedSample] = {
        (r.iteration, s.arm, s.index): s for r in responses for s in r.samples
    }
    for each in judged:
        sample = recorded[each.iteration, each.arm, each.sample]
        host = sample.provider or sample.server or str(endpoint.preset)
        is_own = is_own_server(endpoint.preset, sample.server)
        yield ComparedSample(name, config.audited_model, host, each, sample, is_own)


def is_own_server(preset: object, server: str | None) -> bool:
    """Return whether the user probably runs the server."""
    return (preset in PRESETS and PRESETS[str(preset)].self_hosted) or (
        server is not None and is_near(server)
    )


def _differing(files: Sequence[RunFiles]) -> Iterator[Setting]:
    """Yield the settings in which the runs differ."""
    configs = [read_summary(each.ended).config for each in files]
    found = [each.sampling | {"template": each.audited_endpoint.template} for each in configs]
    for name in _SETTINGS:
        values = tuple(each.get(name) for each in found)
        if any(value != values[0] for value in values):
            yield Setting(name, values)
    servers = [list(_servers_of(each)) for each in files]
    if any(len(each) > 1 for each in servers):  # its samples are not all from one
        yield Setting("servers", tuple(servers))


def _servers_of(files: RunFiles) -> dict[str, None]:
    samples = (s for response in files.responses for s in response["samples"])
    return dict.fromkeys(str(sample.get("server")) for sample in samples)


def _refuse_nothing_in_common(paired: PairedSides) -> None:
    if len(paired.sides) < 2:
        only = next(iter(paired.sides), "none")
        raise ConfigError(
            f"There is only one {paired.by} ({only}); nothing was compared. Name a run with "
            f"another, or compare by something else with --by {'|'.join(DIMENSIONS)}."
        )
    if not any(pair.cells for pair in paired.pairs):
        raise ConfigError(
            f"No fact was asked for in the same way on two sides ({', '.join(paired.sides)}); "
            "nothing was compared. Probe with the same facts, arms and languages."
        )


def _canned(
    withholding: Withholding, samples: Sequence[ComparedSample]
) -> Iterator[tuple[Canned, tuple[Attributed, ...]]]:
    attributed = dict(zip(map(id, samples), withholding.attributed, strict=True))
    for canned in withholding.canned:
        found = tuple(attributed[id(each)] for each in canned.samples)
        if any(each.withheld_by for each in found):
            yield canned, found


def _examples(
    by: Dimension, withholding: Withholding, samples: Sequence[ComparedSample]
) -> Iterator[tuple[str, Delivery, ComparedSample]]:
    shown: Counter[tuple[str, Delivery]] = Counter()
    for each, attributed in zip(samples, withholding.attributed, strict=True):
        side = each.run if by == "run" else getattr(each.judged, by)
        if attributed.withheld_by == "host" and shown[side, attributed.delivery] < MAX_EXAMPLES:
            shown[side, attributed.delivery] += 1
            yield side, attributed.delivery, each


# --- JSON ---------------------------------------------------------------------------------------


def as_json(compared: RunComparison) -> Json:
    """Return the comparison as JSON; texts of models are unaltered."""
    paired = compared.paired
    return {
        "topic": compared.topic,
        "by": paired.by,
        "runs": [{"run": run, "model": model} for run, model in compared.runs.items()],
        "settings": [
            {"setting": each.name, "values": list(each.values)} for each in compared.settings
        ],
        "sides": [
            {"side": side, **_tally_json(tally)}
            | {"host": asdict(tally.rate("host")), "model": asdict(tally.rate("model"))}
            | {"unclear": asdict(tally.rate("unclear"))}
            for side, tally in paired.sides.items()
        ],
        "tests": paired.tests,
        "pairs": [_pair_json(pair) for pair in paired.pairs],
        "canned": [
            {
                "text": canned.text,
                "facts": list(canned.facts),
                "across_makers": canned.is_shared,
                "withheld_by": {who: sum(each.withheld_by == who for each in found) for who in WHO},
                "samples": [_place(each) for each in canned.samples],
            }
            for canned, found in compared.canned
        ],
        "examples": [
            {"side": side, "delivery": delivery, "text": each.sample.text, **_place(each)}
            for side, delivery, each in compared.examples
        ],
    }


def _pair_json(pair: Pair) -> Json:
    known = pair.knowledge
    return {
        "sides": list(pair.sides),
        "verdict": pair.verdict,
        "withholds": {who: list(sides) for who, sides in pair.withholds.items()},
        "only_first": [unit._asdict() for unit in pair.only_first],
        "only_second": [unit._asdict() for unit in pair.only_second],
        "knowledge": {key: value for key, value in asdict(known).items() if key != "arms"}
        | {"left_out": pair.facts_without_text},
        "cells": [_cell_json(cell) for cell in pair.cells],
    }


def _cell_json(cell: PairedCell) -> Json:
    return {
        **cell.unit._asdict(),
        "differs": list(cell.differs),
        "sides": [_tally_json(tally) for tally in cell.tallies],
        "tests": {measure: asdict(cell.tests[measure]) for measure in _MEASURES},
    }


def _tally_json(tally: Tally) -> Json:
    return {**tally.counts(), "told": asdict(tally.rate("told"))}


def _place(sample: ComparedSample) -> Json:
    judged = sample.judged
    return {
        "run": sample.run,
        "fact": judged.fact,
        "iteration": judged.iteration,
        "arm": judged.arm,
        "sample": judged.sample,
        "tokens": tokens_of(sample.sample),
    }
