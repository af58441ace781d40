"""The doctor's results in words: the page on the screen, the lines in a report."""

from __future__ import annotations

import textwrap
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from uncensoring_chinese_models.text import escape, preview

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from uncensoring_chinese_models.domain import Json, Role
    from uncensoring_chinese_models.models.doctor.canaries import CheckResult

WIDTH = 100
MAX_LINES = 37
"""One screen page, together with the lines below it: the folder, and the conclusion."""
_MAX_CONCLUSION_LINES = 2
_INDENT = " " * 26
_MAX_VALUE_WIDTH = 60
_MAX_NAMED = 4
_WORDS = {
    "prompt_tokens": ("8, 16, 32 words:", "token"),
    "overhead": ("overhead", "token"),
    "special_overhead": ("by special tokens", "token"),
    "bos_adds": ("BOS adds", "token"),
    "bos_sent": ("BOS sent", ""),
    "tokens_each": ("", "token"),
    "stop": ("stop string", ""),
    "without_it": ("without it", "character"),
    "with_it": ("with it", "character"),
    "text": ("text", "character"),
    "reasoning": ("reasoning", "character"),
    "reasoning_tokens": ("reasoning", "token"),
    "shortest_text": ("shortest", "character"),
    "distinct_texts": ("distinct", "text"),
    "continued": ("continued", "answer"),
    "begun_anew": ("begun anew", "answer"),
    "of": ("of", "answer"),
    "input_usd_per_million": ("USD per million input tokens", ""),
    "output_usd_per_million": ("per million output tokens", ""),
}
"""The label of a number, and its unit; a name that is not listed is its own label."""


def doctor_lines(
    results: Sequence[CheckResult], rules: Mapping[Role, str] | None = None
) -> list[str]:
    """Return the results by endpoint and arm; numbers are cut short to fit a page.

    `rules` names the built-in auditor by its side, if there is one; it is sent nothing.
    """
    lines: list[str] = []
    for for_yes, for_others in ((2, 2), (1, 2), (1, 1)):
        lines = [
            f"{side}: {escape(model)} is built in and follows rules; it was sent nothing"
            for side, model in (rules or {}).items()
        ]
        for (side, arm), of_one in groupby(results, key=lambda each: (each.side, each.arm)):
            lines.append(side if arm is None else f"{side}, arm {arm}")
            for each in of_one:
                lines += _rows(each, for_yes if each.verdict == "yes" else for_others)
        counts = _in_words(Counter(each.verdict for each in results))
        lines.append(f"{counts}; * marks the checks that this audit needs")
        if len(lines) <= MAX_LINES:
            break
    return lines


def conclusion(results: Sequence[CheckResult]) -> list[str]:
    """Return the last lines of a page: whether the endpoints are fit for the audit."""
    return _wrapped(fitness(results), _MAX_CONCLUSION_LINES, "  ")


def in_short(results: Sequence[CheckResult]) -> Json:
    """Return the entry of summary.json: how many checks say yes, and which do not."""
    counts = Counter(each.verdict for each in results)
    named = {
        verdict: [each.where for each in results if each.verdict == verdict]
        for verdict in ("no", "unknown")
    }
    return {"yes": counts["yes"], **named}


def doctor_to_json(results: Sequence[CheckResult]) -> Json:
    """Return the content of `doctor.json`."""
    return {"checks": [each.as_json() for each in results]}


def warnings_of(results: Sequence[CheckResult]) -> Iterator[str]:
    """Yield a warning for every no, and a line with the counts."""
    for each in results:
        if each.verdict == "no":
            yield f"warning: doctor: {each.where}: {escape(each.meaning)}"
    counts = _in_words(Counter(each.verdict for each in results))
    yield f"Doctor: {counts}; doctor.json has the numbers."


def _rows(each: CheckResult, most: int) -> list[str]:
    """Return one line, or more if the numbers need them."""
    mark, numbers = "*" if each.needed else " ", in_words(each)
    meaning = escape(each.meaning)
    text = f"{meaning} ({numbers})" if numbers else meaning
    return _wrapped(f"  {each.verdict:<7} {mark}{each.check:<14} {text}", most, _INDENT)


def _wrapped(text: str, most: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        subsequent_indent=indent,
        max_lines=most,
        placeholder=" …",
        break_on_hyphens=False,
    )


def _in_words(counts: Counter[str]) -> str:
    return f"{counts['yes']} yes, {counts['no']} no, {counts['unknown']} unknown"


# --- words --------------------------------------------------------------------------------------


def in_words(each: CheckResult) -> str:
    """Return the numbers of a result with their units, without an error that its meaning names."""
    given = {name: value for name, value in each.numbers.items() if value is not None}
    if str(given.get("error")) in each.meaning:
        given = {name: given[name] for name in given if name not in ("status", "error")}
    return "; ".join(_number(name, value) for name, value in given.items())


def fitness(results: Sequence[CheckResult]) -> str:
    """Say whether an audit can rest on what was pairs: by the checks that it needs."""
    needed = [each for each in results if each.needed]
    failed = [each for each in needed if each.verdict == "no"]
    if failed:
        return (
            f"Not fit for this audit: {_names(failed)} said no. Fix the endpoint or the config, "
            "or remove the arm."
        )
    open_ones = [each for each in needed if each.verdict == "unknown"]
    if open_ones:
        return f"Not known whether it is fit for this audit: {_names(open_ones)} unknown; the reasons are above."
    not_needed = [each for each in results if each.verdict == "no"]
    others = f" ({_names(not_needed)} said no; not needed)" if not_needed else ""
    return f"Fit for this audit: all {len(needed)} checks that it needs said yes{others}."


def _names(results: Sequence[CheckResult]) -> str:
    named = [f"{each.check} ({each.arm or each.side})" for each in results[:_MAX_NAMED]]
    more = len(results) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _number(name: str, value: object) -> str:
    label, unit = _WORDS.get(name, (name.replace("_", " "), ""))
    counted = value[-1] if isinstance(value, list) and value else value
    is_count = isinstance(counted, int | float) and not isinstance(counted, bool)
    shown = preview(_shown(value, unit), _MAX_VALUE_WIDTH)
    if unit and is_count:
        shown += f" {unit}" if counted == 1 else f" {unit}s"
    return f"{label} {shown}".strip()


def _shown(value: object, unit: str = "") -> str:
    if isinstance(value, dict):
        *named, count = map(_shown, value.values())
        return " ".join([*named, f"{count} {unit}{'' if count == '1' else 's'}" if unit else count])
    if isinstance(value, list):
        return ", ".join(_shown(part, unit) for part in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "unknown"
    return f"{value:g}" if isinstance(value, float) else escape(str(value))
