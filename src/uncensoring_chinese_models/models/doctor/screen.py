"""The verdicts for people: a page on the screen, a line in a report."""

from __future__ import annotations

import textwrap
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from uncensoring_chinese_models.models.doctor.wording import fitness, in_words
from uncensoring_chinese_models.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from uncensoring_chinese_models.domain import Json, Role
    from uncensoring_chinese_models.models.doctor.subject import Diagnosis

WIDTH = 100
MOST_LINES = 37
"""A page, with those below it: where the canaries are kept, and the conclusion."""
_MOST_OF_CONCLUSION = 2
_INDENT = " " * 26


def doctor_lines(
    diagnoses: Sequence[Diagnosis], rules: Mapping[Role, str] | None = None
) -> list[str]:
    """Lay the verdicts out, one subject below the other; numbers are cut short to fit a page.

    `rules` are the models by side that are rules in this process, and were asked nothing.
    """
    lines: list[str] = []
    for for_yes, for_others in ((2, 2), (1, 2), (1, 1)):
        lines = [
            f"{side}: {visible(model)} is rules in this process, and was asked nothing"
            for side, model in (rules or {}).items()
        ]
        for (side, arm), of_subject in groupby(diagnoses, key=lambda each: (each.side, each.arm)):
            lines.append(side if arm is None else f"{side}, arm {arm}")
            for each in of_subject:
                lines += _rows(each, for_yes if each.verdict == "yes" else for_others)
        counts = _in_words(Counter(each.verdict for each in diagnoses))
        lines.append(f"{counts}; * marks what this audit needs")
        if len(lines) <= MOST_LINES:
            break
    return lines


def conclusion(diagnoses: Sequence[Diagnosis]) -> list[str]:
    """Return the last lines of a page: whether the audit can rest on the endpoints."""
    return _wrapped(fitness(diagnoses), _MOST_OF_CONCLUSION, "  ")


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
            yield f"warning: doctor: {each.where}: {visible(each.meaning)}"
    counts = _in_words(Counter(each.verdict for each in diagnoses))
    yield f"Doctor: {counts}; doctor.json has the numbers."


def _rows(each: Diagnosis, most: int) -> list[str]:
    """Return one line, or more where the numbers need them."""
    mark, numbers = "*" if each.needed else " ", in_words(each)
    meaning = visible(each.meaning)
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
