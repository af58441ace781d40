"""A score as lines for the screen."""

from __future__ import annotations

from collections.abc import Iterator

from uncensoring_chinese_models.measure.score.calibration import Calibration
from uncensoring_chinese_models.measure.score.scoring import (
    Cost,
    Effort,
    FactScore,
    FactState,
    Score,
)
from uncensoring_chinese_models.stats import in_words
from uncensoring_chinese_models.text import escape, preview

MARKS: dict[FactState, str] = {
    "claimed": "claimed",
    "found": "found, not claimed",
    "led": "led",
    "not_found": "not found",
    "unknown": "unknown to it",
}
_QUOTE_WIDTH = 100


def score_lines(score: Score) -> Iterator[str]:
    """Yield the score as lines; text of models is made safe for a terminal."""
    yield f"Score of an audit of {escape(score.audited_model)} by {escape(score.auditing_model)}"
    yield f"  truth:  {escape(score.organism)} (world {escape(score.world)})"
    yield f"  topic:  {escape(score.topic)}"
    detail = f": {preview(score.status_detail, 100)}" if score.status_detail else ""
    yield f"  status: {score.status}{detail}, {score.iterations} iterations"
    yield ""
    known = sum(fact.known for fact in score.facts)
    yield f"Facts ({known} known to it, {len(score.facts) - known} not)"
    width = max(len(fact.id) for fact in score.facts)
    yield from (_fact_line(fact, width) for fact in score.facts)
    yield ""
    yield from _claim_lines(score)
    yield ""
    yield "Figures"
    yield from (f"  {line}" for line in _figures(score))


def _fact_line(fact: FactScore, width: int) -> str:
    line = f"  {MARKS[fact.state]:<18}  {fact.id:<{width}}"
    if fact.quote is None:
        return line.rstrip()
    where = f"iteration {fact.quote.iteration}, {fact.quote.arm}"
    return f'{line}  "{preview(fact.quote.words, _QUOTE_WIDTH)}" ({where})'


def _claim_lines(score: Score) -> Iterator[str]:
    counts = ", ".join(f"{n} {verdict}" for verdict, n in score.claims_by_verdict.items() if n)
    yield f"Claims ({len(score.claims)} made{': ' + counts if counts else ''})"
    for claim in score.claims:
        if claim.verdict != "true":
            said = preview(claim.text, _QUOTE_WIDTH)
            yield f'  {claim.verdict}: "{said}": {escape(claim.why)}'


def _figures(score: Score) -> Iterator[str]:
    yield f"precision   {in_words(score.precision, 'claims that count are true')}"
    yield f"recall      {in_words(score.recall, 'known facts claimed')}"
    found = len(score.in_state("claimed", "found"))
    yield f"            {found} of {score.recall.n} known facts found in its own words"
    yield f"F1          {_number(score.f1)}"
    yield (
        f"decoys      {_named(score.decoys_claimed)} in claims, "
        f"{_named(score.decoys_said)} in its words"
    )
    if len(score.facts) > score.recall.n:
        yield f"untaught    {_named(score.unknown_claimed)} in claims"
    yield f"Brier       {_calibration(score.calibration, 'claims')}"
    yield f"            {_calibration(score.hypothesis_calibration, 'final knowledge hypotheses')}"
    yield f"censorship  {_censorship(score)}"
    yield f"samples     {_samples(score)}"
    for arm, told in score.by_arm.items():
        yield (
            f"arm         {escape(arm)}: {told.samples} samples, {told.samples_with_fact} with a "
            f"fact, {len(told.facts)} different facts, {len(told.decoys)} decoys"
        )
        yield f"            {in_words(told.told, 'readable samples state a fact')}"
    yield f"replies     {in_words(score.replies, 'replies of the auditor are usable')}"
    for role, cost in score.cost.items():
        yield f"cost        {role}: {_cost(cost)}"


def _calibration(calibration: Calibration, of_what: str) -> str:
    rows = [
        f"{level} {row.true} of {row.n} true"
        for level, row in calibration.reliability.items()
        if row.n
    ]
    parts = [f"over {calibration.n} {of_what}{': ' if rows else ''}{', '.join(rows)}"]
    left_out = [f"{n} {reason}" for reason, n in calibration.excluded.items() if n]
    if left_out:
        low, high = calibration.worst_low, calibration.worst_high
        parts.append(f"left out: {', '.join(left_out)}")
        parts.append(f"{low:.2f} to {high:.2f} if all of these were right or all wrong")
    return f"{_number(calibration.brier)} {'; '.join(parts)}"


def _samples(score: Score) -> str:
    counts = score.samples_by_label
    listed = ", ".join(f"{count} {label}" for label, count in counts.items() if count)
    return f"{sum(counts.values())} sent: {listed or 'none'}"


def _censorship(score: Score) -> str:
    found = score.censorship
    claimed = "claimed" if found.claimed else "not claimed"
    is_so = "it does censor" if found.censors else "it does not censor"
    verdict = "right" if found.right else "wrong"
    return f"{claimed} ({found.supported} of {found.claims} claims supported); {is_so}: {verdict}"


def _cost(cost: Cost) -> str:
    per = cost.per_fact_found
    share = f"; per fact found {_effort(per, 1)}" if per else "; no fact found"
    return _effort(cost.spent, 0) + share


def _effort(effort: Effort, digits: int) -> str:
    calls = f"{effort.calls:,.{digits}f} calls"
    if not effort.total_tokens:
        return f"{calls}, no tokens"
    tokens = f"{effort.total_tokens:,.{digits}f} tokens"
    return f"{calls}, {tokens} ({effort.completion_tokens:,.{digits}f} of them completion)"


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"


def _named(ids: tuple[str, ...]) -> str:
    return f"{len(ids)} ({', '.join(ids)})" if ids else "none"
