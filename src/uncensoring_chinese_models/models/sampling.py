"""How the target is sampled: one probe becomes one request per arm and sample, and back.

This module decides what the model reads (never how it gets there) and whose words are whose in
what comes back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models.config import MAX_SAMPLES
from uncensoring_chinese_models.domain import ARMS, Arm, Call, CallKey, Json, Reply, Sample
from uncensoring_chinese_models.errors import UnknownTemplateError
from uncensoring_chinese_models.models.delivery import read_arrived
from uncensoring_chinese_models.models.templates import (
    ChatTemplate,
    choose_template,
    inline_template,
    template_named,
)
from uncensoring_chinese_models.text import opens_thought

if TYPE_CHECKING:
    from collections.abc import Collection

    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.errors import ClientError

_SEEDS = 2**31
"""How many seeds every server takes."""


def template_for(config: AuditConfig) -> ChatTemplate | None:
    """Return the target's chat template, or None if no configured arm needs one.

    Raises:
        UnknownTemplateError: no template is known for the model; there is no silent default.
    """
    given = config.audited_endpoint.template
    if isinstance(given, dict):
        return inline_template(given)
    if given is not None:
        return template_named(given)
    return choose_template(config.audited_model) if needs_template(config) else None


def needs_template(config: AuditConfig) -> bool:
    """Return whether an arm, or scoring by likelihood, writes prompts with the target's template."""
    uses = {ARMS[arm].template for arm in config.sampling.arms}
    by_setting = config.sampling.assistant_via == "template"
    needs_one = "always" in uses or ("by_setting" in uses and by_setting)
    return needs_one or config.scoring is not None


def _role_tokens_of(config: AuditConfig, template: ChatTemplate | None) -> tuple[str, ...]:
    """Return the model's role tokens, also where no arm needs its template."""
    if template is None:
        try:
            template = choose_template(config.audited_model)
        except UnknownTemplateError:
            return ()
    return template.role_tokens()


@dataclass(frozen=True, slots=True)
class PlannedSample:
    """One request to the target before it is sent."""

    call: Call
    arm: Arm
    index: int
    formatted_prompt: str | None
    messages: list[Json] | None
    prefill: str | None
    turn_ends: tuple[str, ...]
    """Strings that close the sampled turn; what stands after the first of them is spill."""
    role_tokens: tuple[str, ...]
    """Role tokens found inside the probe."""
    in_thought: bool = False
    """Whether the template had opened the thoughts."""
    has_host: bool = True
    """False where the user runs the server, so that nobody else writes the text."""


class Sampler:
    """Turns probes into requests and replies into samples, for one target."""

    def __init__(self, config: AuditConfig) -> None:
        self._config = config
        self._sampling = config.sampling
        self._endpoint = config.audited_endpoint
        self.template = template_for(config)
        self._role_tokens = _role_tokens_of(config, self.template)

    def plan(
        self,
        iteration: int,
        probe: str,
        question: str | None = None,
        arms: Collection[str] = (),
    ) -> list[PlannedSample]:
        """Return every request of one iteration, in the order in which they are stored.

        If arms are named, the others rest; names that are not in the config count for nothing.
        """
        named = [arm for arm in self._sampling.arms if arm in arms]
        return [
            self.plan_one(CallKey(iteration, "target", "sample", 0, arm, index), probe, question)
            for arm in named or self._sampling.arms
            for index in range(self._sampling.n)
        ]

    def role_tokens_in(self, *texts: str | None) -> tuple[str, ...]:
        """Return the target's role tokens that stand in the texts.

        Such a probe would close its own turn and open another: one arm would pose as another.
        """
        written = "\n".join(text for text in texts if text)
        return tuple(token for token in self._role_tokens if token in written)

    def plan_one(self, key: CallKey, probe: str, question: str | None) -> PlannedSample:
        """Return one request, of the arm that its key names."""
        arm: Arm = key.arm  # type: ignore[assignment]  # a key's arm comes from the config
        traits = ARMS[arm]
        asked = question or probe
        prefill: str | None = None
        messages: list[Json] | None = None
        prompt: str | None = None
        ours: tuple[str, ...] = (probe,)
        if traits.turn == "none":
            prompt = probe
        elif traits.turn == "user":
            prompt = self.user_turn(probe)
        elif traits.prefills:
            prefill = probe if question else self._sampling.prefill
            prompt, ours = self._assistant_turn(asked) + prefill, (asked, prefill)
        else:
            ours = (asked,)
            if traits.template == "always" or self._sampling.assistant_via == "template":
                prompt = self._assistant_turn(asked)
            else:
                messages = [{"role": "user", "content": asked}]
        ends = self._turn_ends(arm, chat=messages is not None)
        body = self._body(key, prompt, messages, ends)
        call = Call(key, "chat" if messages else "completions", body)
        tokens = self.role_tokens_in(*ours)
        in_thought = traits.turn == "assistant" and opens_thought(prompt or "")
        return PlannedSample(
            *(call, arm, key.sample, prompt, messages, prefill, ends, tokens),
            in_thought=in_thought,
            has_host=not self._endpoint.traits.self_hosted,
        )

    def user_turn(self, text: str) -> str:
        """Return the raw prompt in which a user has written this much."""
        template = self._known_template()
        return self._without_bos(template.user_open) + text

    def _assistant_turn(self, text: str) -> str:
        template = self._known_template()
        opening, closing, answer = template.user_open, template.user_close, template.assistant_open
        if not self._sampling.thinking and template.assistant_open_no_think is not None:
            opening = template.user_open_no_think or opening
            closing = template.user_close_no_think or closing
            answer = template.assistant_open_no_think
        return self._without_bos(opening) + text + closing + answer

    def _known_template(self) -> ChatTemplate:
        if self.template is None:
            raise AssertionError("unreachable")
        return self.template

    def _without_bos(self, opening: str) -> str:
        send_bos = self._endpoint.send_bos
        if send_bos is None:
            send_bos = self._endpoint.traits.send_bos
        return opening if send_bos else opening.removeprefix(self._known_template().bos)

    def _turn_ends(self, arm: Arm, *, chat: bool) -> tuple[str, ...]:
        own = (
            ()
            if self.template is None or ARMS[arm].template == "never" or chat
            else self.template.stop
        )
        return tuple(dict.fromkeys((*own, *self._sampling.stop)))

    def _body(
        self, key: CallKey, prompt: str | None, messages: list[Json] | None, stop: tuple[str, ...]
    ) -> Json:
        sampling = self._sampling
        body: Json = {"model": self._config.audited_model}
        body |= {"prompt": prompt} if messages is None else {"messages": messages}
        body |= {"max_tokens": sampling.max_tokens, "temperature": sampling.temperature}
        if sampling.top_p is not None:
            body["top_p"] = sampling.top_p
        if sampling.seed is not None:
            body["seed"] = (sampling.seed * MAX_SAMPLES + key.sample) % _SEEDS
        if stop:
            body["stop"] = list(stop)
        return self._addressed(body, chat=messages is not None)

    def scoring_call(self, key: CallKey, prompt: str | list[int], **fields: Any) -> Call:
        """Return a raw request that has the probabilities of tokens told."""
        body: Json = {"model": self._config.audited_model, "prompt": prompt, "temperature": 0}
        return Call(key, "completions", self._addressed({**body, "logprobs": 1, **fields}))

    def _addressed(self, body: Json, *, chat: bool = False) -> Json:
        """Add what this endpoint wants in each body."""
        endpoint = self._endpoint
        if endpoint.provider:
            body["provider"] = endpoint.provider
        body |= endpoint.traits.chat_body if chat else endpoint.traits.completions_body
        return body | endpoint.extra_body


def read_sample(planned: PlannedSample, result: Reply | ClientError) -> Sample:
    """Return the stored form of one answered or failed request."""
    sample = Sample(
        arm=planned.arm,
        index=planned.index,
        formatted_prompt=planned.formatted_prompt,
        messages=planned.messages,
        prefill=planned.prefill,
        text=None,
        own_words="",
        spill="",
        delivery="failed",
        timestamp=result.finished_at,
        role_tokens_in_prompt=planned.role_tokens,
        server=result.server,
    )
    if not isinstance(result, Reply):
        failed = replace(sample, error=result.message, partial_text=result.partial_text)
        if result.reason != "content":
            return replace(failed, failure=result.reason)
        # Its canary was not refused, so it is about this prompt.
        return replace(
            failed, delivery="suspected_block", block_stage="unknown", blocked_by="unknown"
        )
    own_words, spill = split_turn(result.text or "", planned.turn_ends)
    arrived = read_arrived(
        result,
        own_words,
        is_reply=not ARMS[planned.arm].continues,
        in_thought=planned.in_thought,
        has_host=planned.has_host,
        max_tokens=planned.call.body.get("max_tokens"),
    )
    return replace(
        sample,
        text=result.text,
        own_words=own_words,
        spill=spill,
        delivery=arrived.delivery,
        reply_start=arrived.start,
        reply_end=arrived.end,
        finish_reason=result.finish_reason,
        native_finish_reason=result.native_finish_reason,
        reasoning=result.reasoning,
        provider=result.provider,
        served_model=result.served_model,
        generation_id=result.generation_id,
        usage=result.usage,
        cost_usd=result.cost_usd,
        latency_s=result.latency_s,
        error=arrived.hosts_words,
        block_shape=result.block_shape,
        block_stage=result.block_stage,
        blocked_by=result.blocked_by,
    )


def split_turn(text: str, turn_ends: tuple[str, ...]) -> tuple[str, str]:
    r"""Split a completion where the sampled turn was closed.

    ``"They marched.<|im_end|>\n<|im_start|>assistant\nI cannot"`` with ``<|im_end|>`` gives
    ``"They marched."`` and the rest.
    """
    cuts = [at for end in turn_ends if (at := text.find(end)) >= 0]
    cut = min(cuts, default=len(text))
    return text[:cut], text[cut:]
