"""Verdicts in words: numbers with their units, and what all of them say of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.text import preview, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uncensoring_chinese_models.models.doctor.subject import Diagnosis

_LONGEST_VALUE = 60
_MOST_NAMED = 4
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
    "asked": ("asked", "choice"),
    "choices": ("came", "choice"),
    "input_usd_per_million": ("USD per million input tokens", ""),
    "output_usd_per_million": ("per million output tokens", ""),
}
"""How a number is called, and what it counts; a name that is not here speaks for itself."""


def in_words(each: Diagnosis) -> str:
    """Return the numbers of a verdict with their units; an error that it names is not repeated."""
    given = {name: value for name, value in each.numbers.items() if value is not None}
    if str(given.get("error")) in each.meaning:
        given = {name: given[name] for name in given if name not in ("status", "error")}
    return "; ".join(_number(name, value) for name, value in given.items())


def fitness(diagnoses: Sequence[Diagnosis]) -> str:
    """Say whether an audit can rest on what was examined: by the checks that it needs."""
    needed = [each for each in diagnoses if each.needed]
    failed = [each for each in needed if each.verdict == "no"]
    if failed:
        return (
            f"Not fit for this audit: {_names(failed)} said no; mend the endpoint or the config, "
            "or leave the arm out."
        )
    open_ones = [each for each in needed if each.verdict == "unknown"]
    if open_ones:
        return f"Cannot tell whether it is fit: {_names(open_ones)} unknown; see above why."
    harmless = [each for each in diagnoses if each.verdict == "no"]
    others = f" ({_names(harmless)} said no, and is not needed)" if harmless else ""
    return f"Fit for this audit: all {len(needed)} checks that it needs said yes{others}."


def _names(diagnoses: Sequence[Diagnosis]) -> str:
    named = [f"{each.check} ({each.arm or each.side})" for each in diagnoses[:_MOST_NAMED]]
    more = len(diagnoses) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _number(name: str, value: object) -> str:
    label, unit = _WORDS.get(name, (name.replace("_", " "), ""))
    counted = value[-1] if isinstance(value, list) and value else value
    is_count = isinstance(counted, int | float) and not isinstance(counted, bool)
    shown = preview(_shown(value, unit), _LONGEST_VALUE)
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
    return f"{value:g}" if isinstance(value, float) else visible(str(value))
