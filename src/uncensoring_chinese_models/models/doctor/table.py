"""All checks as data: where each applies, what it sends, how it judges, what a verdict means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.domain import ARMS
from uncensoring_chinese_models.models.doctor import (
    likelihood_checks,
    server_checks,
    text_checks,
    token_checks,
)
from uncensoring_chinese_models.models.doctor.canaries import DoctorCheck

if TYPE_CHECKING:
    from uncensoring_chinese_models.models.doctor.canaries import CheckedEndpoint


def _is_arm(checked: CheckedEndpoint) -> bool:
    return checked.arm is not None


def _is_prefilled(checked: CheckedEndpoint) -> bool:
    return checked.arm is not None and ARMS[checked.arm].prefills


def _is_raw(checked: CheckedEndpoint) -> bool:
    return _is_arm(checked) and checked.api == "completions"


def _is_routed(checked: CheckedEndpoint) -> bool:
    return checked.side == "target" and not _is_arm(checked) and checked.endpoint.is_openrouter


def _is_asked_for_json(checked: CheckedEndpoint) -> bool:
    is_auditor = checked.side == "auditor" and checked.can_be_asked
    return is_auditor and checked.config.auditor_response_format != "none"


CHECKS = (
    DoctorCheck(
        name="model",
        applies=lambda checked: not _is_arm(checked) and checked.can_be_asked,
        plan=server_checks.plan_model,
        judge=server_checks.judge_model,
        meanings={
            "yes": "the server names the model that was asked for",
            "no": "another model answers, or none: results would not be about this model",
            "unknown": "the answers do not say clearly which model wrote them",
        },
        needed=True,
        reads_all=True,
    ),
    DoctorCheck(
        name="json_mode",
        applies=_is_asked_for_json,
        plan=server_checks.plan_json_mode,
        judge=server_checks.judge_json_mode,
        meanings={
            "yes": "the reply came as JSON",
            "no": "JSON mode is refused or ignored: replies are repaired or re-asked",
            "unknown": "16 tokens are too few to see whether replies come as JSON",
        },
    ),
    DoctorCheck(
        name="provider",
        applies=_is_routed,
        judge=server_checks.judge_provider,
        meanings={
            "yes": "only hosts that the config allows answered",
            "no": "samples mix hosts, or come from one that the config does not allow",
            "unknown": "no host is pinned or clearly named: samples may mix hosts",
        },
        needed=True,
        reads_all=True,
    ),
    DoctorCheck(
        name="raw_prompt",
        applies=_is_raw,
        plan=token_checks.plan_raw_prompt,
        judge=token_checks.judge_raw_prompt,
        meanings={
            "yes": "token counts show no template and no second BOS around a prompt",
            "no": "raw prompts are refused, or altered by a template or a second BOS",
            "unknown": "token counts do not show whether prompts arrive as written",
        },
        needed=True,
    ),
    DoctorCheck(
        name="special_tokens",
        applies=lambda checked: _is_raw(checked) and bool(token_checks.special_tokens_of(checked)),
        plan=token_checks.plan_special_tokens,
        judge=token_checks.judge_special_tokens,
        meanings={
            "yes": "role tokens are read as one token each",
            "no": "a role token is read as plain text or dropped: its turn does not open",
            "unknown": "token counts do not show whether role tokens are read as tokens",
        },
        needed=True,
    ),
    DoctorCheck(
        name="stop",
        applies=_is_arm,
        plan=text_checks.plan_open,
        then=text_checks.then_stop,
        judge=text_checks.judge_stop,
        meanings={
            "yes": "a stop string ended the text",
            "no": "stop strings are ignored: samples run on into other turns, and cost more",
            "unknown": "the model wrote too little, or something else, so this cannot be decided",
        },
        needed=True,
    ),
    DoctorCheck(
        name="prefill",
        applies=_is_prefilled,
        plan=text_checks.plan_prefill,
        judge=text_checks.judge_prefill,
        meanings={
            "yes": "the model continues a prefilled answer",
            "no": "the model starts a new answer: this arm equals the assistant arm",
            "unknown": "the reply does not show whether the model continues a prefilled answer",
        },
        needed=True,
    ),
    DoctorCheck(
        name="thinking",
        applies=_is_arm,
        plan=text_checks.plan_open,
        judge=text_checks.judge_thinking,
        meanings={
            "yes": "the reply comes as text, not as reasoning",
            "no": "reasoning comes instead of text or before it: samples may be truncated",
            "unknown": "16 tokens are too few to see whether text comes without reasoning",
        },
        needed=True,
    ),
    DoctorCheck(
        name="samples",
        applies=_is_arm,
        plan=text_checks.plan_samples,
        judge=text_checks.judge_samples,
        meanings={
            "yes": "two equal requests gave two texts",
            "unknown": "two equal requests gave one text: a cache, or a very certain model",
        },
    ),
    DoctorCheck(
        name="seed",
        applies=_is_arm,
        plan=text_checks.plan_seed,
        judge=text_checks.judge_seed,
        meanings={
            "yes": "a repeated request gave the same text; under load it may not",
            "no": "the same request with the same seed gave two texts",
            "unknown": "the texts do not show whether the seed has an effect",
        },
        alone=True,
    ),
    DoctorCheck(
        name="likelihood",
        applies=lambda checked: bool(likelihood_checks.methods(checked)),
        plan=likelihood_checks.plan_likelihood,
        then=likelihood_checks.then_likelihood,
        judge=likelihood_checks.judge_likelihood,
        meanings={
            "yes": "the server scores given text: ucm probe can use the likelihood method",
            "no": "the server does not score given text: ucm probe leaves likelihood out",
            "unknown": "no answer shows whether the server scores given text",
        },
    ),
)
