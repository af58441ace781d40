"""The report of a run in plain Markdown: findings, the quotes behind them, counts and rates.

A pure function of the summary. Text of models is data: it is quoted and escaped, so that no program
that renders Markdown acts on it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from uncensoring_chinese_models.audit import IN_WORDS
from uncensoring_chinese_models.reports.sentences import (
    block_lines,
    block_of,
    conclusion_title,
    counted,
    may_be_invented,
    place_of,
    rate_lines,
    server_lines,
    status_words,
    unchecked_servers,
    why_unsupported,
)
from uncensoring_chinese_models.stats import Rate, beside
from uncensoring_chinese_models.text import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uncensoring_chinese_models.domain import Json

MAX_QUOTES = 3
MAX_HYPOTHESES = 40
"""Max number of hypotheses in the report; `summary.json` has all of them."""
MAX_BLOCKS = 40
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&@]|:(?=//)|(?<=www)\.|^[-+=.)]|^\d+(?=[.)]))")


def report_markdown(summary: Json) -> str:
    """Return the report of a run that ended."""
    return "\n".join(_lines(summary)) + "\n"


def _lines(summary: Json) -> Iterator[str]:
    config, claims = summary["config"], summary["claims"]
    yield f"# Audit: {as_markdown(config['topic'])}"
    yield ""
    yield f"- target: {as_markdown(config['audited_model'])}"
    yield f"- auditor: {as_markdown(config['auditing_model'])}"
    status = status_words(summary["status"])
    yield f"- from {summary['started_at']} to {summary['finished_at']}, status: {status}"
    if summary["status_detail"]:
        yield f"- {as_markdown(summary['status_detail'])}"
    yield f"- {_counts(summary)}"
    doctor = summary.get("doctor")
    if doctor is not None:
        yield f"- endpoint checks (doctor): {_checks(doctor)}"
        yield from (f"- {as_markdown(line)}" for line in unchecked_servers(summary))
    yield from (f"- {as_markdown(line)}" for line in server_lines(summary))
    if summary["kind"] == "probe":
        yield from (
            "",
            "This run asked for the facts of a facts file, one by one. It makes no claims itself:",
        )
        yield "`ucm judge` with this folder says which facts the target knows, says and denies."
        yield from _host_blocks(summary)
        yield from _out_of_how_much(summary)
        yield from _how_to_check()
        return
    for title, kind in (("What it knows", "knowledge"), ("How it withholds", "behavior")):
        of_kind = [claim for claim in claims if claim["kind"] == kind]
        yield from _claims(title, of_kind)
        if kind == "knowledge":
            yield from (line for told in may_be_invented(summary) for line in ("", told))
    conclusion = summary["final_summary"]
    if conclusion is not None:
        yield from ("", f"## {conclusion_title(summary)}", "")
        yield f"> {as_markdown(conclusion['conclusion'])}"
    yield from _host_blocks(summary)
    yield from _out_of_how_much(summary)
    yield from _histories(summary.get("history", []))
    yield from _predictions(summary.get("predictions", []))
    yield from _how_to_check()


def _counts(summary: Json) -> str:
    samples = summary["denominators"]["samples"]
    by_delivery = {name: count for name, count in samples["by_delivery"].items() if count}
    listed = ", ".join(f"{count} {name}" for name, count in by_delivery.items())
    probes = counted(summary["total_iterations"], "probe")
    return f"{probes}, {counted(samples['sent'], 'sample')} ({listed or 'none'})"


def _checks(doctor: Json) -> str:
    """Say how many checks of the endpoints passed, and which failed."""
    named = [f"{len(doctor[word])} {word}" for word in ("no", "unknown")]
    wrong = f" ({', '.join(map(as_markdown, doctor['no']))})" if doctor["no"] else ""
    return f"{doctor['yes']} yes, {named[0]}{wrong}, {named[1]}; see `doctor.json`"


def _claims(title: str, claims: Sequence[Json]) -> Iterator[str]:
    """Yield the supported claims with their quotes, then the unsupported claims."""
    supported = [claim for claim in claims if claim["supported"]]
    yield from ("", f"## {title}", "")
    if not supported:
        yield "No claim here is supported by a surviving quote."
    for claim in supported:
        yield from _supported(claim)
    unsupported = [claim for claim in claims if not claim["supported"]]
    if unsupported:
        yield from ("", f"Claimed, but not supported ({len(unsupported)}):", "")
        for claim in unsupported:
            yield f"- {as_markdown(claim['text'])} ({as_markdown(why_unsupported(claim))})"


def _supported(claim: Json) -> Iterator[str]:
    """Yield a claim with the quotes for it and against it."""
    yield f"- {as_markdown(claim['text'])}"
    quotes = claim["quotes"]
    for quote in quotes[:MAX_QUOTES]:
        yield f"  - “{as_markdown(quote['excerpt'])}” ({place_of(quote)})"
    if len(quotes) > MAX_QUOTES:
        yield f"  - and {len(quotes) - MAX_QUOTES} more in `summary.json`"
    if claim["contradicted_by"]:
        yield f"  - contradicted by {counted(claim['contradicted_by'], 'surviving excerpt')}:"
        for quote in claim.get("quotes_against", [])[:MAX_QUOTES]:
            yield f"    - “{as_markdown(quote['excerpt'])}” ({place_of(quote)})"


def _host_blocks(summary: Json) -> Iterator[str]:
    """Yield what hosts refused, question by question, with their words."""
    blocks = summary.get("host_blocks") or ()
    if not blocks:
        return
    yield from ("", "## What the host refused", "")
    yield from (f"{as_markdown(line)}" for line in block_lines(blocks, summary["total_iterations"]))
    yield ""
    for each in blocks[:MAX_BLOCKS]:
        place = f"iteration {each['iteration']}, {as_markdown(each['arm'])}"
        yield f"- {place}: {as_markdown(block_of(each))}. Asked: “{as_markdown(each['asked'])}”"
        yield from (f"  - “{as_markdown(words)}”" for words in each["words"])
    if len(blocks) > MAX_BLOCKS:
        yield f"- and {len(blocks) - MAX_BLOCKS} more in `summary.json`"


def _out_of_how_much(summary: Json) -> Iterator[str]:
    """Yield the counts, and every rate with its denominator and what it excludes."""
    lines = list(rate_lines(summary))
    if not lines:
        return
    yield from ("", "## Counts and rates", "")
    samples = summary["denominators"]["samples"]
    yield f"- Samples by delivery: {_listed(samples['by_delivery'])}"
    yield f"- Samples by stance, as this program read them: {_listed(samples['by_stance'])}"
    excerpts = summary["denominators"]["final_excerpts"]
    yield (
        f"- Excerpts in the final hypotheses: {excerpts['surviving']} of {excerpts['cited']} "
        f"survive; the others: {_listed(excerpts['unusable'])}"
    )
    for kind, claims in summary["denominators"]["claims"].items():
        led = f", {claims['led']} led (given away by our prompts)" if claims["led"] else ""
        yield f"- Claims ({kind}): {claims['supported']} of {claims['made']} supported{led}"
    yield from (f"- {as_markdown(line)}" for line in lines)


def _histories(history: Sequence[Json]) -> Iterator[str]:
    """Yield the history of each hypothesis, and how its claim changed."""
    if not history:
        return
    yield from ("", "## History of the hypotheses", "")
    for each in history[:MAX_HYPOTHESES]:
        yield f"- {as_markdown(each['id'])}: {_fate(each)}"
        if each["first_wording"] != each["hypothesis"]:
            first, last = as_markdown(each["first_wording"]), as_markdown(each["hypothesis"])
            yield f"  - first wording: “{first}”; last wording: “{last}”"
        for change in each["claim_changes"]:
            how = "without saying so" if change["silent"] else "with a new status"
            yield (
                f"  - its {change['by']} changed in turn {change['turn']} {how}: "
                f"“{as_markdown(change['before'])}” became “{as_markdown(change['after'])}”"
            )
    if len(history) > MAX_HYPOTHESES:
        yield f"- and {len(history) - MAX_HYPOTHESES} more in `summary.json`"


def _fate(history: Json) -> str:
    levels = [point["confidence"] for point in history["points"]]
    steps = [level for at, level in enumerate(levels) if at == 0 or levels[at - 1] != level]
    gained = sum(len(point["gained"]) for point in history["points"])
    lost = sum(len(point["lost"]) for point in history["points"])
    parts = [
        f"turns {history['first_seen']} to {history['last_seen']}",
        f"confidence {', then '.join(steps)}",
        f"excerpts: {gained} gained, {lost} lost",
    ]
    if history["contradictions"]:
        parts.append(counted(len(history["contradictions"]), "surviving contradiction"))
    if history["dropped"]:
        parts.append("dropped")
    return "; ".join(parts)


def _predictions(predictions: Sequence[Json]) -> Iterator[str]:
    """Yield what the auditor predicted before each probe, and whether it came true."""
    if not predictions:
        return
    yield from ("", "## What the auditor predicted", "")
    for each in predictions:
        counts = [
            f"{arm} {found['successes']} of {found['n']}{beside(Rate(**found))}"
            for arm, found in each["by_arm"].items()
        ]
        said = as_markdown(", ".join(each["words"]) or each["problem"] or "")
        yield (
            f"- iteration {each['iteration']}, {as_markdown(each['hypothesis'] or 'no hypothesis')}: "
            f"“{said}” {IN_WORDS[each['outcome']]} ({as_markdown('; '.join(counts)) or 'not looked for'})"
        )


def _listed(counts: Json) -> str:
    return (
        ", ".join(f"{count} {as_markdown(name)}" for name, count in counts.items() if count)
        or "none"
    )


def _how_to_check() -> Iterator[str]:
    yield from ("", "## How to check this", "")
    yield "Every quote names its iteration, arm and sample. Samples are counted from 1 here and from 0 in"
    yield "the files. `audited_responses/` holds the exact prompt and the whole text of each sample;"
    yield "`journal.jsonl` holds every call in order. `ucm verify` with this folder checks all of it"
    yield "offline, without a key. A quote shows that the target wrote these words, not that they are true."


def as_markdown(text: str) -> str:
    """Return text on one line, escaped so that Markdown shows it unchanged."""
    return _SPECIAL.sub(r"\\\1", " ".join(escape(text).split()))
