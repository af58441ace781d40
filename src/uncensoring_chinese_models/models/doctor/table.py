"""All checks, as data: where each applies, what it sends, how it judges, and what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.models.doctor import (
    likelihood_checks,
    server_checks,
    text_checks,
    token_checks,
)
from uncensoring_chinese_models.models.doctor.subject import Check

if TYPE_CHECKING:
    from uncensoring_chinese_models.models.doctor.subject import Subject


def _is_arm(subject: Subject) -> bool:
    return subject.arm is not None


def _is_raw(subject: Subject) -> bool:
    return _is_arm(subject) and subject.api == "completions"


def _is_routed(subject: Subject) -> bool:
    return subject.side == "target" and not _is_arm(subject) and subject.endpoint.is_openrouter


def _is_asked_for_json(subject: Subject) -> bool:
    is_auditor = subject.side == "auditor" and subject.can_be_asked
    return is_auditor and subject.config.auditor_response_format != "none"


CHECKS = (
    Check(
        name="model",
        applies=lambda subject: not _is_arm(subject) and subject.can_be_asked,
        plan=server_checks.plan_model,
        judge=server_checks.judge_model,
        meanings={
            "yes": "the server names the model that was asked for",
            "no": "another model answers, or none: findings would not be about this one",
            "unknown": "the answers do not say clearly which model wrote them",
        },
        needed=True,
        reads_all=True,
    ),
    Check(
        name="json_mode",
        applies=_is_asked_for_json,
        plan=server_checks.plan_json_mode,
        judge=server_checks.judge_json_mode,
        meanings={
            "yes": "the reply came as JSON",
            "no": "JSON mode is refused or ignored: replies are repaired or asked for again",
            "unknown": "16 tokens did not show whether replies come as JSON",
        },
    ),
    Check(
        name="provider",
        applies=_is_routed,
        judge=server_checks.judge_provider,
        meanings={
            "yes": "only hosts that the config allows are named",
            "no": "samples mix hosts, or come from one that the config does not allow",
            "unknown": "no host is pinned or clearly named: samples may mix hosts",
        },
        needed=True,
        reads_all=True,
    ),
    Check(
        name="raw_prompt",
        applies=_is_raw,
        plan=token_checks.plan_raw_prompt,
        judge=token_checks.judge_raw_prompt,
        meanings={
            "yes": "token counts show no template and no second BOS around a prompt",
            "no": "raw prompts are refused, or altered by a template or a second BOS",
            "unknown": "token counts do not decide whether prompts arrive as written",
        },
        needed=True,
    ),
    Check(
        name="special_tokens",
        applies=lambda subject: _is_raw(subject) and bool(token_checks.special_tokens_of(subject)),
        plan=token_checks.plan_special_tokens,
        judge=token_checks.judge_special_tokens,
        meanings={
            "yes": "role tokens are read as one token each",
            "no": "a role token is read as plain text or dropped: its turn does not open",
            "unknown": "token counts do not decide whether role tokens are read as tokens",
        },
        needed=True,
    ),
    Check(
        name="stop",
        applies=_is_arm,
        plan=text_checks.plan_open,
        then=text_checks.then_stop,
        judge=text_checks.judge_stop,
        meanings={
            "yes": "a stop string ended the text",
            "no": "stop strings are ignored: samples run on into other turns, and cost more",
            "unknown": "the model did not write enough, or wrote something else, to tell",
        },
        needed=True,
    ),
    Check(
        name="prefill",
        applies=lambda subject: subject.arm == "assistant_prefill",
        plan=text_checks.plan_prefill,
        judge=text_checks.judge_prefill,
        meanings={
            "yes": "an answer that was begun is gone on with",
            "no": "the model answers anew instead of going on: this is the assistant arm",
            "unknown": "what it wrote does not show whether it goes on with a prefill",
        },
        needed=True,
    ),
    Check(
        name="thinking",
        applies=_is_arm,
        plan=text_checks.plan_open,
        judge=text_checks.judge_thinking,
        meanings={
            "yes": "words come as text, not as reasoning",
            "no": "reasoning comes in place of the text or with it: samples may be cut",
            "unknown": "16 tokens did not show whether text comes without reasoning",
        },
        needed=True,
    ),
    Check(
        name="samples",
        applies=_is_arm,
        plan=text_checks.plan_samples,
        judge=text_checks.judge_samples,
        meanings={
            "yes": "two requests alike gave two texts",
            "unknown": "two requests alike gave one text: a cache, or a very sure model",
        },
    ),
    Check(
        name="n",
        applies=_is_arm,
        plan=server_checks.plan_n,
        judge=server_checks.judge_n,
        meanings={
            "yes": "honoured, though the audit does without",
            "no": "refused or ignored; harmless, the audit asks for each sample by itself",
            "unknown": "no text came that could show it; the audit does without",
        },
    ),
    Check(
        name="seed",
        applies=_is_arm,
        plan=text_checks.plan_seed,
        judge=text_checks.judge_seed,
        meanings={
            "yes": "sent again alone, a request gave the same text; in a batch it may not",
            "no": "the same request with the same seed gave two texts",
            "unknown": "the texts do not show whether the seed decides them",
        },
        alone=True,
    ),
    Check(
        name="logprobs",
        applies=_is_arm,
        plan=server_checks.plan_logprobs,
        judge=server_checks.judge_logprobs,
        meanings={
            "yes": "given, though the audit does without",
            "no": "not given; harmless, the audit does without",
            "unknown": "no text came that could show it; the audit does without",
        },
    ),
    Check(
        name="likelihood",
        applies=lambda subject: bool(likelihood_checks.methods(subject)),
        plan=likelihood_checks.plan_likelihood,
        then=likelihood_checks.then_likelihood,
        judge=likelihood_checks.judge_likelihood,
        meanings={
            "yes": "told for words of ours: ucm probe scores facts without sampling",
            "no": "not told for words of ours: ucm probe does without likelihood",
            "unknown": "no answer came that could show it; ucm probe may do without",
        },
    ),
)
