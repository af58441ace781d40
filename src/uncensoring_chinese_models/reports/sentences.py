"""Sentences about the summary of a run, for the screen and for reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from uncensoring_chinese_models.audit import ORIGINS, UNKNOWN
from uncensoring_chinese_models.config import file_told
from uncensoring_chinese_models.domain import ARMS
from uncensoring_chinese_models.models import PREFIX as ORGANISM
from uncensoring_chinese_models.stats import Rate, in_words
from uncensoring_chinese_models.text import escape

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json


OURS = ("builtin/", "organism/", "gguf/")
"""How the names of models begin that this program serves."""


def figures(summary: Json) -> list[str]:
    """Say how much evidence the findings rest on, and what the run cost."""
    blocks = summary.get("host_blocks") or ()
    told = [*_evidence(summary), *block_lines(blocks, summary["total_iterations"])]
    return [*told, *rate_lines(summary), *_history(summary), *_cost(summary)]


def block_lines(blocks: Sequence[Json], probes: int) -> Iterator[str]:
    """Say what hosts refused: what they kept back, what our own account did, and what is not explained."""
    kept: Counter[str] = Counter()
    for each in blocks:
        kept.update(each["kept_back"])
    suspected = kept.pop("suspected_block", 0)
    if kept:
        questions = len(
            {each["iteration"] for each in blocks if set(each["kept_back"]) & set(kept)}
        )
        yield (
            f"The host or a gateway, not the model, kept back {counted(kept.total(), 'sample')} "
            f"({_listed(kept)}), in {questions} of {counted(probes, 'probe')}."
        )
    if suspected:
        yield f"The host has perhaps kept back {counted(suspected, 'sample')} (suspected_block)."
    own = sum(each["own_guardrail"] for each in blocks)
    if own:
        yield (
            f"{counted(own, 'sample')} blocked by a guardrail of your own account: this says nothing "
            "about the host, but counts as blocked. Switch it off and run again."
        )
    unexplained = sum(each["unexplained"] for each in blocks)
    if unexplained:
        yield (
            f"{counted(unexplained, 'call')} refused, and nothing says why; no harmless prompt on the "
            "same route was refused. It may be a block: read the host's words."
        )


def block_of(block: Json) -> str:
    """Say what a host refused of one question."""
    counts = {**block["kept_back"], "own guardrail": block["own_guardrail"]}
    told = _listed({**counts, "refused and not explained": block["unexplained"]})
    stages = [f"the {each}" for each in block["stages"] if each != "unknown"]
    stopped = f"; stopped: {' and '.join(stages)}" if stages else ""
    shapes = f"; known as {', '.join(block['shapes'])}" if block["shapes"] else ""
    return f"of {counted(block['sent'], 'sample')}, {told}{stopped}{shapes}"


def conclusion_title(summary: Json) -> str:
    """Return the heading over the conclusion: it says whose words it is."""
    if summary.get("final_summary_by") == "code":
        return "Conclusion, made by code: the auditor gave none"
    return "Conclusion, in the auditor's words"


def _evidence(summary: Json) -> Iterator[str]:
    counts = summary["denominators"]
    samples, excerpts = counts["samples"], counts["final_excerpts"]
    sent = f"{samples['sent']} ({_listed(samples['by_delivery'])})"
    yield f"Probes: {summary['total_iterations']}; samples: {sent}"
    yield f"Stances of the samples: {_listed(samples['by_stance'])}"
    verdicts = _listed(excerpts["by_verdict"])
    yield (
        f"Excerpts in the final hypotheses: {excerpts['surviving']} of {excerpts['cited']} survive "
        f"({verdicts})"
    )
    if any(excerpts.get("unusable", {}).values()):
        yield f"Excerpts that do not survive: {_listed(excerpts['unusable'])}"


def rate_lines(summary: Json) -> Iterator[str]:
    """Yield every rate with its denominator, what it excludes, and its bounds with the excluded."""
    rates = summary.get("rates")
    if not rates:
        return
    for arm, withheld in rates["withheld"]["by_arm"].items():
        yield f"Withheld, {escape(arm)}: {_rate_of_arm(arm, Rate(**withheld))}"
    yield f"Usable auditor replies: {in_words(Rate(**rates['usable_replies']), 'replies')}"
    predictions = Rate(**rates["predictions"])
    if predictions.total:
        without = summary["total_iterations"] - predictions.total
        beside = f"; {counted(without, 'probe')} had no prediction" if without else ""
        yield f"Predictions that came true: {in_words(predictions, 'predictions')}{beside}"
    yield from _mixed_rates(summary)


def _rate_of_arm(arm: str, withheld: Rate) -> str:
    if sees_phrases_alone(arm):
        return phrases_told(in_words(withheld, "texts"))
    return in_words(withheld, "judged texts")


def sees_phrases_alone(arm: str) -> bool:
    """Tell whether this program finds withholding in the samples of an arm by set phrases alone."""
    return arm in ARMS and not ARMS[arm].asks


def phrases_told(counts: str) -> str:
    """Say how many texts withhold, where set phrases alone were looked for."""
    return f"set phrases of withholding in {counts}; denials in other words are not seen here"


def may_be_invented(summary: Json) -> Iterator[str]:
    """Warn that what a target tells may be invented, if nothing says what is true.

    Of an organism it is known what it was taught.
    """
    claimed = any(claim["kind"] == "knowledge" for claim in summary.get("claims") or ())
    target = str(summary["config"].get("audited_model", ""))
    if claimed and not target.startswith(ORGANISM):
        yield "Fluent text may be invented: nobody checked whether it is true."


def _mixed_rates(summary: Json) -> Iterator[str]:
    """Warn of rates over samples of several servers, hosts or models, and give those of each server."""
    counts = summary.get("denominators") or {}
    samples = counts.get("samples") or {}
    for line in mixture_lines(samples, "samples"):
        yield f"{line} The rates mix these."
    if "server" in (samples.get("mixed") or ()):
        for server, withheld in summary["rates"]["withheld"]["by_server"].items():
            yield f"Withheld, {escape(server)}: {in_words(Rate(**withheld), 'judged texts')}"
    yield from mixture_lines(counts.get("turns") or {}, "turns of the auditor")


def mixture_lines(counts: Json, what: str) -> Iterator[str]:
    """Say where samples or turns come from, if it is not all from one server, host and model.

    Args:
        counts: what `count_origins` returned.
        what: "samples" or "turns of the auditor".
    """
    for name in counts.get("mixed") or ():
        found = dict(counts[f"by_{name}"])
        silent = found.pop(UNKNOWN, 0)
        parts = [f"{count} from {escape(origin)}" for origin, count in found.items()]
        parts += [f"{silent} {UNKNOWN}"] if silent else []
        yield f"The {what} are not all from one {ORIGINS[name]}: {', '.join(parts)}."


def server_lines(summary: Json) -> Iterator[str]:
    """Say which servers answered each role, whether there was more than one, and which file it was."""
    servers = summary.get("servers")
    if not servers:
        return
    listed = [f"{role} {servers_told(servers[role])}" for role in ("target", "auditor")]
    yield f"servers: {'; '.join(listed)}"
    several = [role for role in ("target", "auditor") if is_mixed(servers[role])]
    if several:
        yield f"This run was answered by more than one server, as {' and as '.join(several)}."
    file = file_told(summary["config"])
    if file is not None:
        yield escape(file)


def is_mixed(servers: Sequence[Json]) -> bool:
    """Tell whether more than one server answered."""
    return sum(bool(each["calls"]) for each in servers) > 1


def servers_told(servers: Sequence[Json]) -> str:
    """List the servers of a role, with the calls that each answered where there are several."""
    if len(servers) == 1:
        return escape(servers[0]["server"])
    told = [f"{escape(each['server'])} ({counted(each['calls'], 'call')})" for each in servers]
    return " and ".join(told) or "none"


def unchecked_servers(summary: Json) -> Iterator[str]:
    """Say which servers answered without having been checked by the doctor."""
    doctor = summary.get("doctor")
    if doctor is None:
        return
    found: dict[str, None] = {}
    for role, checked in (doctor.get("servers") or {}).items():
        asked = [each["server"] for each in summary["servers"][role]]
        found.update(dict.fromkeys(server for server in asked if server not in checked))
    if found:
        yield f"The doctor did not check {' and '.join(map(escape, found))}."


def _history(summary: Json) -> Iterator[str]:
    """Yield how many hypotheses there were, and warnings about those that changed their claim."""
    history = summary.get("history")
    if not history:
        return
    dropped = sum(each["dropped"] for each in history)
    against = sum(bool(each["contradictions"]) for each in history)
    yield (
        f"Hypotheses in all: {len(history)}; dropped: {dropped}; "
        f"contradicted by a surviving excerpt: {against}"
    )
    for each in history:
        silent = [change for change in each["claim_changes"] if change["silent"]]
        if silent:
            changes = ", ".join(f"{change['by']} in turn {change['turn']}" for change in silent)
            yield f"Warning: {escape(each['id'])} changed without saying so ({changes})"


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
    if lost["maybe_billed"] and not _is_free(summary["config"]):
        yield (
            f"Failed attempts that may have been billed: {lost['maybe_billed']} "
            f"(at most {lost['maybe_billed_tokens']:,} tokens)"
        )


def _is_free(config: Json) -> bool:
    """Tell whether this program serves both models itself, so that nobody sends a bill."""
    models = (config.get("auditing_model"), config.get("audited_model"))
    return all(str(model).startswith(OURS) for model in models)


def money(amount: float | None) -> str:
    """Show an amount in USD; an unknown amount is not zero."""
    return "unknown" if amount is None else f"${amount:.4f}"


def status_words(status: str) -> str:
    """Say how a run ended."""
    return "all probes sent" if status == "max_iterations" else escape(status).replace("_", " ")


def aside_of(quote: Json) -> str:
    """Say whether a quote is from outside the reply."""
    spill = ", after the sampled turn" if quote.get("in_spill") else ""
    return spill + (", in its thoughts" if quote.get("in_thoughts") else "")


def place_of(quote: Json) -> str:
    """Say which sample a quote is from, and what a reader must know about it."""
    not_judged = ", not judged for leading: our words are in another script than the claim"
    mind = aside_of(quote) + (not_judged if quote.get("led_not_judged") else "")
    return f"iteration {quote['iteration']}, {quote['arm']} sample {quote['sample'] + 1}{mind}"


def why_unsupported(claim: Json) -> str:
    """Say in a few words why a claim is not supported."""
    if claim.get("led_words"):
        words = ", ".join(escape(word) for word in claim["led_words"])
        return f"led (only our probes mention {words})"
    if claim.get("led_excerpts") and not claim["quotes"]:
        return "led (our probes already said what its excerpts are cited for)"
    if claim.get("contested"):
        return "contested (at least as many surviving excerpts contradict it as support it)"
    return "unsupported (no excerpt for it survives)"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"
