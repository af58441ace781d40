"""The plan of an audit (--dry-run): its requests and its worst-case cost; no model is asked."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import TYPE_CHECKING

from uncensoring_chinese_models.audit import AuditorPrompt
from uncensoring_chinese_models.config import read_key
from uncensoring_chinese_models.measure import first_calls, parse_facts
from uncensoring_chinese_models.models import (
    HttpApi,
    Sampler,
    body_bytes,
    bound,
    canary_bounds,
    checked_endpoints,
    find_price,
    open_session,
    refuse_unknown_models,
    refuse_unknown_prices,
    worst_case,
)
from uncensoring_chinese_models.runner.builtins import BUILTINS
from uncensoring_chinese_models.runner.run import refuse_hopeless_budget, texts_of

if TYPE_CHECKING:
    from uncensoring_chinese_models.config import AuditConfig, Endpoint
    from uncensoring_chinese_models.domain import Call, Json, Price, Reservation
    from uncensoring_chinese_models.models import Notice, Notify

PROBE = "{the auditor's next_prompt}"
QUESTION = "{the auditor's question, or else its next_prompt}"
FACT_OPENING = "{the opening of a fact}"
FACT_QUESTION = "{the question of a fact}"
TOKENS_PER_TARGET_TOKEN = 2
"""The auditor's tokenizer may need more tokens for the target's words than the target's own."""


def plan(config: AuditConfig, notify: Notify) -> Json:
    """Return the plan as JSON; prices are looked up, but no model is asked.

    Raises:
        AuditToolError: a run with this config would be refused.
    """
    return asyncio.run(_plan(config, notify))


async def _plan(config: AuditConfig, notify: Notify) -> Json:
    sampler, prompt = Sampler(config), AuditorPrompt(config, None)
    planned = sampler.plan(1, *_placeholders(config))
    prices: dict[str, Price | None] = {}
    sides = config.models
    refuse_unknown_models(config, BUILTINS)
    texts = texts_of(config)
    notify = _once(notify)
    async with open_session() as session:
        for role, (model, endpoint) in sides.items():
            api = HttpApi(session, endpoint, read_key(endpoint, required=False))
            prices[role] = await find_price(api, endpoint, model, notify, explain=True)
    refuse_unknown_prices(config, prices)
    refuse_hopeless_budget(config, sampler, prices)
    asked_first = checked_endpoints(config, sampler, prices) if config.doctor != "off" else []
    canaries = canary_bounds(asked_first)
    scored = _scored(config, sampler, texts)
    template = sampler.template
    return {
        "topic": config.topic,
        "auditor": _side(*sides["auditor"]),
        "target": _side(*sides["target"])
        | {
            "template": template and template.family,
            "template_verified": template and template.verified and not template.assumed,
        },
        "arms": list(config.sampling.arms),
        "samples_per_arm": config.sampling.n,
        "calls": {
            "auditor_at_most": config.max_iterations + 1,
            "target_at_most": config.max_iterations * len(planned),
            "canaries_at_most": len(canaries),
            "likelihood_at_most": len(scored),
            "re_asks_at_most": (config.max_iterations + 1) * config.auditor_re_asks,
        },
        "worst_case": _worst_case(
            config,
            sampler,
            prompt,
            prices,
            [*canaries, *(worst_case(call, prices["target"]) for call in scored)],
        ),
        "first_messages": prompt.turn_messages([]),
        "first_requests": [
            {
                "arm": item.arm,
                "formatted_prompt": item.formatted_prompt,
                "messages": item.messages,
                "stop": item.call.body.get("stop", []),
            }
            for item in planned
            if item.index == 0
        ],
        "output_dir": config.output_dir,
    }


def _placeholders(config: AuditConfig) -> tuple[str, str | None]:
    """Return what stands in the shown requests for the probe and for its question."""
    if config.kind == "probe":
        return FACT_OPENING, FACT_QUESTION
    return PROBE, QUESTION if config.auditor_prompt == "continuation" else None


def _once(notify: Notify) -> Notify:
    """Return a notify that shows a message once: both sides may be on one server."""
    shown: set[str] = set()

    def show(notice: Notice) -> None:
        if notice.text not in shown:
            shown.add(notice.text)
            notify(notice)

    return show


def _scored(config: AuditConfig, sampler: Sampler, texts: dict[str, str]) -> list[Call]:
    """Return the requests that score facts by likelihood; the method `forced` takes two each."""
    if config.scoring is None:
        return []
    facts = parse_facts(texts["facts"].encode("utf-8"), "the facts file")
    calls = first_calls(config, facts, sampler)
    return calls * (2 if config.scoring == "forced" else 1)


def _side(model: str, endpoint: Endpoint) -> Json:
    name = endpoint.key_variable
    key = (
        None
        if name is None
        else f"{name} ({'set' if read_key(endpoint, required=False) else 'NOT SET'})"
    )
    address = "embedded" if endpoint.traits.is_ours else endpoint.address
    return {"model": model, "address": address, "key": key}


def _worst_case(
    config: AuditConfig,
    sampler: Sampler,
    prompt: AuditorPrompt,
    prices: dict[str, Price | None],
    others: list[Reservation],
) -> Json:
    """Return an upper bound for the run: every reply as long as allowed, each of our bytes a token.

    Re-asks, retries and harmless prompts after refusals are not included; a budget limits those.
    """
    auditor_out, sampling = config.auditor_sampling.max_tokens, config.sampling
    start = len(str(prompt.turn_messages([])).encode("utf-8", "surrogatepass"))
    samples = sampler.plan(1, PROBE, None)
    shown = len(samples) * (sampling.max_tokens * TOKENS_PER_TARGET_TOKEN + 400)
    step = auditor_out + shown
    needs = list(others)
    for past in range(config.max_iterations + 1):
        if config.auditor_context == "compact" and past:
            history = auditor_out + min(past, 3) * shown + past * 300
        else:
            history = past * step
        needs.append(bound(start + history, auditor_out, prices["auditor"]))
    for item in samples * config.max_iterations:
        size = body_bytes(item.call.body) + 1000
        needs.append(bound(size, sampling.max_tokens, prices["target"]))
    known = all(need.usd is not None for need in needs)
    usd = sum((need.usd or Decimal(0) for need in needs), Decimal(0))
    return {"tokens": sum(need.tokens for need in needs), "usd": float(usd) if known else None}
