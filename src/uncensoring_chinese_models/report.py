"""The report of a run in plain Markdown: what was found, in whose words, out of how much.

A pure function of the summary. Text of models is data: it stands in quotes, escaped, so that no
reader of Markdown obeys it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from uncensoring_chinese_models.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uncensoring_chinese_models.domain import Json

MOST_QUOTES = 3
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&@]|:(?=//)|(?<=www)\.|^[-+=.)]|^\d+(?=[.)]))")


def report_markdown(summary: Json) -> str:
    """Return the report of a run that ended."""
    return "\n".join(_lines(summary)) + "\n"


def _lines(summary: Json) -> Iterator[str]:
    config, claims = summary["config"], summary["claims"]
    yield f"# Audit: {_text(config['topic'])}"
    yield ""
    yield f"- target: {_text(config['audited_model'])}"
    yield f"- auditor: {_text(config['auditing_model'])}"
    yield f"- from {summary['started_at']} to {summary['finished_at']}, status `{summary['status']}`"
    if summary["status_detail"]:
        yield f"- {_text(summary['status_detail'])}"
    yield f"- {_counts(summary)}"
    doctor = summary.get("doctor")  # runs of before have none
    if doctor is not None:
        yield f"- doctor: {_checks(doctor)}"
    for title, kind in (("What it knows", "knowledge"), ("How it withholds", "behavior")):
        of_kind = [claim for claim in claims if claim["kind"] == kind]
        yield from _claims(title, of_kind)
    conclusion = summary["final_summary"]
    if conclusion is not None:
        yield from ("", "## Conclusion, in the auditor's words", "")
        yield f"> {_text(conclusion['conclusion'])}"
    yield from _how_to_check()


def _counts(summary: Json) -> str:
    samples = summary["denominators"]["samples"]
    by_outcome = {name: count for name, count in samples["by_outcome"].items() if count}
    listed = ", ".join(f"{count} {name}" for name, count in by_outcome.items())
    return f"{summary['total_iterations']} probes, {samples['sent']} samples ({listed or 'none'})"


def _checks(doctor: Json) -> str:
    """Say what the doctor found, and where it found something wrong."""
    named = [f"{len(doctor[word])} {word}" for word in ("no", "unknown")]
    wrong = f" ({', '.join(map(_text, doctor['no']))})" if doctor["no"] else ""
    return f"{doctor['yes']} yes, {named[0]}{wrong}, {named[1]}; see `doctor.json`"


def _claims(title: str, claims: Sequence[Json]) -> Iterator[str]:
    """Yield the supported claims with their quotes, and then those that no quote supports."""
    supported = [claim for claim in claims if claim["supported"]]
    yield from ("", f"## {title}", "")
    if not supported:
        yield "Nothing that surviving quotes support."
    for claim in supported:
        yield f"- {_text(claim['text'])}"
        quotes = claim["quotes"]
        for quote in quotes[:MOST_QUOTES]:
            where = f"iteration {quote['iteration']}, {quote['arm']} {quote['sample'] + 1}"
            yield f"  - “{_text(quote['excerpt'])}” ({where})"
        if len(quotes) > MOST_QUOTES:
            yield f"  - and {len(quotes) - MOST_QUOTES} more in `summary.json`"
        if claim["contradicted_by"]:
            yield f"  - {claim['contradicted_by']} surviving excerpts speak against it"
    unsupported = [claim for claim in claims if not claim["supported"]]
    if unsupported:
        yield from ("", f"Claimed, but not supported ({len(unsupported)}):", "")
        yield from (f"- {_text(claim['text'])}" for claim in unsupported)


def _how_to_check() -> Iterator[str]:
    yield from ("", "## How to check this", "")
    yield "Every quote names its iteration, arm and sample; `audited_responses/` holds the exact"
    yield "prompt and the whole text of each, and `journal.jsonl` every call in order."
    yield "A quote shows that the target wrote these words, not that they are true."


def _text(text: str) -> str:
    """Return text on one line that Markdown shows as it stands."""
    return _SPECIAL.sub(r"\\\1", " ".join(visible(text).split()))
