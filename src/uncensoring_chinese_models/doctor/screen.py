"""The verdicts for people: a page on the screen, a line in a report."""

from __future__ import annotations

import textwrap
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from uncensoring_chinese_models.visible import preview, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uncensoring_chinese_models.doctor.subject import Diagnosis
    from uncensoring_chinese_models.domain import Json

WIDTH = 100
MOST_LINES = 39
"""A page, with the line below it that says where the canaries are kept."""
_LONGEST_VALUE = 60
_INDENT = " " * 26


def lines_of(diagnoses: Sequence[Diagnosis]) -> list[str]:
    """Lay the verdicts out, one subject below the other; numbers are cut short to fit a page."""
    lines: list[str] = []
    for for_yes, for_others in ((2, 2), (1, 2), (1, 1)):
        lines = []
        for (side, arm), of_subject in groupby(diagnoses, key=lambda each: (each.side, each.arm)):
            lines.append(side if arm is None else f"{side}, arm {arm}")
            for each in of_subject:
                lines += _rows(each, for_yes if each.verdict == "yes" else for_others)
        lines.append(_in_words(Counter(each.verdict for each in diagnoses)))
        if len(lines) <= MOST_LINES:
            break
    return lines


def in_short(diagnoses: Sequence[Diagnosis]) -> Json:
    """Return what a summary says: how many verdicts of each kind, and which are not yes."""
    counts = Counter(each.verdict for each in diagnoses)
    named = {
        verdict: [each.where for each in diagnoses if each.verdict == verdict]
        for verdict in ("no", "unknown")
    }
    return {"yes": counts["yes"], **named}


def doctor_to_json(diagnoses: Sequence[Diagnosis]) -> Json:
    """Return what `doctor.json` holds."""
    return {"checks": [each.as_json() for each in diagnoses]}


def warnings_of(diagnoses: Sequence[Diagnosis]) -> Iterator[str]:
    """Yield what someone who waits for an audit wants to know: every no, and the sum."""
    for each in diagnoses:
        if each.verdict == "no":
            yield f"warning: doctor: {each.where}: {each.meaning}"
    counts = _in_words(Counter(each.verdict for each in diagnoses))
    yield f"Doctor: {counts}; doctor.json has the numbers."


def _rows(each: Diagnosis, most: int) -> Iterator[str]:
    """Yield one line, or more where the numbers need them."""
    head = f"  {each.verdict:<7} {each.check:<15} "
    given = ((name, value) for name, value in each.numbers.items() if value is not None)
    numbers = "; ".join(_number(name, value) for name, value in given)
    text = f"{each.meaning} ({numbers})" if numbers else each.meaning
    yield from textwrap.wrap(
        head + text,
        WIDTH,
        subsequent_indent=_INDENT,
        max_lines=most,
        placeholder=" …",
        break_on_hyphens=False,
    )


def _number(name: str, value: object) -> str:
    return f"{name.replace('_', ' ')} {preview(_shown(value), _LONGEST_VALUE)}"


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(_shown(part) for part in value.values())
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return visible(str(value))


def _in_words(counts: Counter[str]) -> str:
    return f"{counts['yes']} yes, {counts['no']} no, {counts['unknown']} unknown"
