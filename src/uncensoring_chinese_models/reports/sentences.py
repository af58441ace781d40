"""The figures of a summary in words, for the screen and for readers; runs of 0.2 lack some of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from uncensoring_chinese_models.rates import Rate, in_words
from uncensoring_chinese_models.text import visible

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json


def figures(summary: Json) -> list[str]:
    """Say on how much the findings rest, and what they cost."""
    return [*_evidence(summary), *rate_lines(summary), *_history(summary), *_cost(summary)]


def _evidence(summary: Json) -> Iterator[str]:
    counts = summary["denominators"]
    samples, excerpts = counts["samples"], counts["final_excerpts"]
    sent = f"{samples['sent']} ({_listed(samples['by_outcome'])})"
    yield f"Probes: {summary['total_iterations']}; samples: {sent}"
    if "by_state" in samples:
        yield f"What came of them: {_listed(samples['by_state'])}"
    own = f"{excerpts['surviving']} usable ({_listed(excerpts['by_verdict'])})"
    yield f"Excerpts in the final hypotheses: {excerpts['cited']} cited, {own}"
    if any(excerpts.get("unusable", {}).values()):
        yield f"Excerpts not usable: {_listed(excerpts['unusable'])}"


def rate_lines(summary: Json) -> Iterator[str]:
    """Yield every rate with its denominator, what was left out of it, and the bounds of that."""
    rates = summary.get("rates")
    if not rates:
        return
    for arm, refused in rates["refused"]["by_arm"].items():
        yield f"Refused or evaded, {visible(arm)}: {in_words(Rate(**refused), 'texts')}"
    yield f"Usable replies of the auditor: {in_words(Rate(**rates['usable_replies']), 'replies')}"
    predictions = Rate(**rates["predictions"])
    if predictions.total:
        without = summary["total_iterations"] - predictions.total
        beside = f"; {without} probes had none" if without else ""
        yield f"Predictions that came true: {in_words(predictions, 'predictions')}{beside}"


def _history(summary: Json) -> Iterator[str]:
    """Yield the fate of the hypotheses in short."""
    history = summary.get("history")
    if not history:
        return
    dropped = sum(each["dropped"] for each in history)
    against = sum(bool(each["contradictions"]) for each in history)
    yield (
        f"Hypotheses ever held: {len(history)}; dropped: {dropped}; "
        f"with surviving contradictions: {against}"
    )
    for each in history:
        turns = [str(change["turn"]) for change in each["claim_changes"] if change["silent"]]
        if turns:
            yield (
                f"Mind that {visible(each['id'])} changed its claim without saying so "
                f"(turn {', '.join(turns)})"
            )


def _cost(summary: Json) -> Iterator[str]:
    spend = summary["spend"]
    sides = [f"{role} {money(side['cost_usd'])}" for role, side in spend["by_role"].items()]
    total = spend["total"]
    tokens = total["prompt_tokens"] + total["completion_tokens"]
    yield f"Cost: {money(total['cost_usd'])} ({', '.join(sides)}), {tokens:,} tokens"
    if spend["usd_per_supported_claim"]:
        yield f"Cost per supported claim: {money(spend['usd_per_supported_claim'])}"
    lost = total["fruitless_attempts"]
    if lost["failed"]:
        yield f"Failed attempts: {lost['failed']}"
    if lost["maybe_billed"]:
        yield (
            f"Cut off after sending, perhaps billed: {lost['maybe_billed']} attempts, "
            f"at most {lost['maybe_billed_tokens']:,} tokens"
        )


def money(amount: float | None) -> str:
    """Show an amount in USD; what is unknown is not zero."""
    return "unknown" if amount is None else f"${amount:.4f}"


def place_of(quote: Json) -> str:
    """Say where a quote stands, and what its reader must mind."""
    spill = ", after the sampled turn" if quote.get("in_spill") else ""
    unjudged = ", not judged for leading: our words are in another script than the claim"
    mind = spill + (unjudged if quote.get("led_unjudged") else "")
    return f"iteration {quote['iteration']}, {quote['arm']} {quote['sample'] + 1}{mind}"


def why_unsupported(claim: Json) -> str:
    """Say in a few words why a claim is not supported."""
    if claim.get("led_words"):
        words = ", ".join(visible(word) for word in claim["led_words"])
        return f"led (only our probes brought in {words})"
    if claim.get("led_excerpts") and not claim["quotes"]:
        return "led (the probes had said what its excerpts are cited for)"
    return "contested" if claim.get("contested") else "unsupported"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _listed(counts: Json) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"
