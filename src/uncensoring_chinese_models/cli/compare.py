"""The command `compare`: two or more runs, arms or languages, fact by fact."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.cli.output import Output
from uncensoring_chinese_models.errors import RunStoreError, UsageError
from uncensoring_chinese_models.text import escape, preview

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from uncensoring_chinese_models.domain import FactLabel, Json
    from uncensoring_chinese_models.measure import (
        Measure,
        Pair,
        PairedCell,
        PairVerdict,
        RunComparison,
        Tally,
        Unit,
    )

MAX_TEXTS = 5
MAX_UNITS = 5
_WIDTH = 100
_WORDS: dict[Measure, str] = {
    "told": "tell it",
    "host": "withheld by the host",
    "model": "withheld by the model",
}
_VERDICTS: dict[PairVerdict, str] = {
    "host": "it looks as if the host removes what the model writes",
    "model": "it looks as if the model itself declines",
    "both": "it looks as if the host removes what the model writes, and the model itself declines",
    "asking": "only the way of asking differs",
    "telling": "the sides state different facts, and it looks as if neither host nor model withholds",
    "unknown": "the sides state different facts, and it is unknown who withholds",
    "same": "no significant difference",
}


def compare(
    run_dir: str,
    *others: str,
    by: str | None = None,
    facts: str | None = None,
    out: str | None = None,
    json: bool = False,
) -> int:
    """Compare runs of ucm probe, fact by fact, and who seems to withhold: the host or the model.

    Compares the same probes on two hosts, checkpoints or dates, or two arms or languages of one
    run. Sends nothing to any model and changes nothing in the runs. Who withholds is experimental:
    it is inferred from token counts and repeated texts. Needs the extra `analysis`,
    which make install includes.

    Args:
        run_dir (RUN_DIR): run directory of ucm probe.
        others (RUN_DIR): further runs with the same facts file.
        by (WHAT): what to compare: run, arm or language; by default run, or arm if there is one run.
        facts (TOPIC): name or path of a facts file; by default that of the runs.
        out (FILE): also write the comparison to this new file, as JSON.
        json: print one JSON record on stdout.
    """
    from uncensoring_chinese_models.measure import as_json, compare_runs  # noqa: PLC0415

    folders = [Path(each) for each in (run_dir, *others)]
    with Output(as_json=json, runs=list(map(str, folders))) as output:
        if out is not None and Path(out).exists():
            raise UsageError(f"{out} exists already and is not replaced; nothing was compared.")
        compared = compare_runs(folders, by, facts)
        record = as_json(compared)
        lines = list(lines_of(compared))
        if out is not None:
            _write(Path(out), record)
            lines.append(f"Comparison: {escape(out)}")
        return output.finish(lines, record)


def _write(path: Path, record: Json) -> None:
    try:
        with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(strict_json.dumps(record, ensure_ascii=True, indent=2) + "\n")
    except OSError as err:
        raise RunStoreError(
            f"{path} cannot be written: {err.strerror}; the runs are unchanged. Name another "
            "file with --out."
        ) from err


# --- the screen ---------------------------------------------------------------------------------


def lines_of(compared: RunComparison) -> Iterator[str]:
    """Yield the differences, what each side withholds, and the verdicts, line by line."""
    paired = compared.paired
    names = _short(compared)
    yield f"Compared by {paired.by} on the facts of {escape(compared.topic)}"
    for run, model in compared.runs.items():
        label = f"{names[run]}: " if names[run] else ""
        yield f"  {label}{escape(run)} ({escape(model)})"
    for each in compared.settings:
        values = zip(compared.runs, each.values, strict=True)
        shown = ", ".join(f"{names[run]} {_value(value)}" for run, value in values)
        yield f"  differs: {each.name} ({shown})"
    for pair in paired.pairs:
        yield ""
        yield from _pair_lines(pair, names, paired.tests)
    yield ""
    yield "Who seems to withhold, among the samples that did not fail"
    for side, tally in paired.sides.items():
        yield from (f"  {line}" for line in _side_lines(names[side], tally))
    yield from _canned_lines(compared)
    yield from _example_lines(compared, names)
    yield ""
    for pair in paired.pairs:
        yield _verdict_line(pair, names, paired.sides)
    yield "Experimental: inferred from patterns, token counts and repeated texts (docs/compare.md)."


def _short(compared: RunComparison) -> dict[str, str]:
    """Return short names for the screen: a letter per run, none if there is only one run."""
    runs, sides = list(compared.runs), compared.paired.sides
    letters = {run: _letters(number) if len(runs) > 1 else "" for number, run in enumerate(runs)}
    is_run = compared.paired.by == "run"
    return letters if is_run else letters | {each: escape(each) for each in sides}


def _value(value: object) -> str:
    return preview(strict_json.dumps(value, ensure_ascii=False), _WIDTH)


def _letters(number: int) -> str:
    more, place = divmod(number, 26)
    return (_letters(more - 1) if more else "") + chr(ord("A") + place)


def _pair_lines(pair: Pair, names: Mapping[str, str], tests: int) -> Iterator[str]:
    one, other = (names[side] for side in pair.sides)
    differing = [cell for cell in pair.cells if cell.differs]
    yield (
        f"{one} and {other}: {len(differing)} of {len(pair.cells)} cells differ "
        f"(exact Fisher, Holm over {tests} tests)"
    )
    for cell in differing:
        yield f"  {_named(cell.unit, names)}: " + "; ".join(_cell_parts(cell, one, other))
    for side, units in ((one, pair.only_first), (other, pair.only_second)):
        if units:
            yield f"  excluded, because only {side} has them: {_listed(units, names)}"
    known = pair.knowledge
    yield (
        f"  knowledge: only {one} shows it of {known.only_first}, only {other} of "
        f"{known.only_second} of {known.n} facts (difference {known.difference.estimate or 0:+.2f}, "
        f"95 % interval {known.difference.low:+.2f} to {known.difference.high:+.2f}; exact McNemar, "
        f"Holm-adjusted p = {known.p_adjusted:.3g})"
    )
    if pair.facts_without_text:
        what = "fact" if pair.facts_without_text == 1 else "facts"
        yield f"    excluded: {pair.facts_without_text} {what} without any text on one side"


def _cell_parts(cell: PairedCell, one: str, other: str) -> Iterator[str]:
    for measure in cell.differs:
        test = cell.tests[measure]
        rates = [tally.rate(measure) for tally in cell.tallies]
        counts = [f"{each.successes} of {each.n}" for each in rates]
        yield (
            f"{_WORDS[measure]} {counts[0]} on {one}, {counts[1]} on {other} "
            f"({test.difference.estimate or 0:+.2f}, {test.difference.low:+.2f} to "
            f"{test.difference.high:+.2f}, p = {test.p_adjusted:.2g})"
        )


def _named(unit: Unit, names: Mapping[str, str]) -> str:
    stored = map(escape, (unit.fact, unit.arm, unit.language))
    return ", ".join(filter(None, (*stored, names.get(unit.run))))


def _listed(units: tuple[Unit, ...], names: Mapping[str, str]) -> str:
    shown = "; ".join(_named(unit, names) for unit in units[:MAX_UNITS])
    more = len(units) - MAX_UNITS
    return f"{shown}; and {more} more" if more > 0 else shown


def _side_lines(name: str, tally: Tally) -> Iterator[str]:
    told, host, model = (tally.rate(measure) for measure in _WORDS)
    parts = [
        f"the host {host.successes} ({host.low:.2f} to {host.high:.2f})",
        f"the model {model.successes} ({model.low:.2f} to {model.high:.2f})",
        f"unclear {tally.unclear}{_not_judged(tally)}",
    ]
    yield f"{name}: of {told.n} samples {told.successes} tell the fact; {', '.join(parts)}"
    yield f"  {_counts(tally.labels)}"


def _not_judged(tally: Tally) -> str:
    """Return how many samples are in no rate of what the model withheld; empty if none."""
    return f", not judged {tally.not_judged}" if tally.not_judged else ""


def _counts(counts: Mapping[FactLabel, int]) -> str:
    return ", ".join(f"{count} {label}" for label, count in counts.items() if count)


def _canned_lines(compared: RunComparison) -> Iterator[str]:
    if compared.canned:
        yield ""
        yield "Identical texts for different facts"
    for canned, found in compared.canned[:MAX_TEXTS]:
        runs = len({each.run for each in canned.samples})
        where = f"{len(canned.facts)} facts, {runs} run{'s' if runs > 1 else ''}"
        makers = ", models of different makers" if canned.is_shared else ""
        labels = Counter(each.label for each in found)
        yield f"  “{preview(canned.text, _WIDTH)}”: {_counts(labels)} ({where}{makers})"
    if len(compared.canned) > MAX_TEXTS:
        yield f"  and {len(compared.canned) - MAX_TEXTS} more (--json lists them all)"


def _example_lines(compared: RunComparison, names: Mapping[str, str]) -> Iterator[str]:
    from uncensoring_chinese_models.measure import tokens_of  # noqa: PLC0415

    if compared.examples:
        yield ""
        yield "Examples of what hosts seem to have withheld"
    seen = set()
    for side, delivery, compared_sample in compared.examples:
        if (side, delivery) not in seen:
            seen.add((side, delivery))
            judged, tokens = compared_sample.judged, tokens_of(compared_sample.sample)
            billed = "tokens unknown" if tokens is None else f"{tokens} tokens billed"
            yield (
                f"  {names[side]}, {delivery}: iteration {judged.iteration}, {escape(judged.arm)} "
                f"{judged.sample + 1}, {billed}: “{preview(compared_sample.sample.text or '', _WIDTH)}”"
            )


def _verdict_line(pair: Pair, names: Mapping[str, str], sides: Mapping[str, Tally]) -> str:
    one, other = (names[side] for side in pair.sides)
    where = " and ".join(
        f"the {who} withholds more on {', '.join(names[side] for side in found)}"
        for who, found in pair.withholds.items()
        if found
    )
    figures = "; ".join(
        f"{names[side]} withheld by the host {tally.rate('host').successes}, by the model "
        f"{tally.rate('model').successes}, unclear {tally.unclear}{_not_judged(tally)}, told "
        f"{tally.rate('told').successes} of {tally.rate('told').n}"
        for side, tally in ((side, sides[side]) for side in pair.sides)
    )
    said = _VERDICTS[pair.verdict] + (f" ({where})" if where else "")
    return f"Verdict, {one} and {other}: {said}. {figures}."
