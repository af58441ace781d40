"""The auditor: asks its model for a turn, and re-asks until the reply can be used."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uncensoring_chinese_models.audit.prompt import AuditorPrompt
from uncensoring_chinese_models.audit.reply import ParsedReply, parse_reply, response_format
from uncensoring_chinese_models.audit.turns import AuditorTurn, Parse, UnusableReply
from uncensoring_chinese_models.domain import MAX_PROBE_BYTES, STRATEGIES, CallKey, Json
from uncensoring_chinese_models.errors import (
    AuditorReplyError,
    ClientError,
    FatalError,
    RejectedError,
)
from uncensoring_chinese_models.models import FORMAT_REFUSED, Need

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from uncensoring_chinese_models.audit.prompt import Step
    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.domain import Reply
    from uncensoring_chinese_models.models import Gate, ModelClient, Sampler


@dataclass(slots=True)
class _Question:
    """One thing asked of the auditor, until it gives a reply that can be used."""

    key: CallKey
    messages: list[Json]
    closing: bool
    history: Sequence[Step]
    sampler: Sampler | None
    problems: list[str]
    warned_of_role_tokens: bool = False
    last_call: str = ""
    """The key of the call that was made last."""


class Auditor:
    """Asks the auditor's model, at most `auditor_re_asks` times more if a reply cannot be used.

    Whatever is asked yields each reply that cannot be used, and then the turn.
    """

    def __init__(
        self, config: AuditConfig, client: ModelClient, prompt_file: str | None = None
    ) -> None:
        self._config = config
        self._client = client
        wanted = {"json_schema": response_format(), "json_object": {"type": "json_object"}}
        wanted_format = wanted.get(config.auditor_response_format)
        self.prompt = AuditorPrompt(config, wanted_format, prompt_file)
        self._with_format = config.auditor_response_format != "none"
        self._unusable: Counter[int] = Counter()

    def next_turn(
        self, history: Sequence[Step], sampler: Sampler
    ) -> AsyncIterator[UnusableReply | AuditorTurn]:
        """Ask for hypotheses and the next probe."""
        key = CallKey(len(history) + 1, "auditor", "turn")
        messages = self.prompt.turn_messages(history)
        question = _Question(
            key, messages, closing=False, history=history, sampler=sampler, problems=[]
        )
        return self._ask(question)

    def closing_turn(
        self, history: Sequence[Step], number: int, why: str, gate: Gate, *, times_asked: int = 0
    ) -> AsyncIterator[UnusableReply | AuditorTurn]:
        """Ask for the final summary; texts are cut if the budget asks for it.

        Args:
            history: what there is to summarise.
            number: of the turn.
            why: why the audit is over.
            gate: decides how long the texts may be.
            times_asked: how often the summary was asked for in vain.
        """
        drafts = {
            limit: self.prompt.closing_messages(history, why, max_text_bytes=limit)
            for limit in (self.prompt.max_text_bytes, 2000, 400)
        }
        most_out = self._config.auditor_sampling.max_tokens
        options = {
            limit: Need("auditor", self.prompt.size(draft), most_out)
            for limit, draft in drafts.items()
        }
        messages = drafts[gate.closing_limit(number, options)]
        first = times_asked * (self._config.auditor_re_asks + 1)
        key = CallKey(number, "auditor", "closing", first)
        return self._ask(
            _Question(key, messages, closing=True, history=history, sampler=None, problems=[])
        )

    async def _ask(self, question: _Question) -> AsyncIterator[UnusableReply | AuditorTurn]:
        """Ask until a reply is valid, at most `auditor_re_asks` times more."""
        messages = question.messages
        for tries in range(self._config.auditor_re_asks + 1):
            try:
                reply, sent = await self._send(question, messages, tries)
            except FatalError:
                raise
            except ClientError as err:
                raise AuditorReplyError(
                    f"the auditor could not be asked: {err.message}", last_call=question.last_call
                ) from err
            try:
                parsed = self._read(question, reply)
            except AuditorReplyError as err:
                question.problems.append(str(err))
                yield self._unused(question, reply, sent)
                messages = self.prompt.re_ask_messages(question.messages, reply.text, str(err))
                continue
            yield _turn(question, parsed, reply, sent)
            return
        raise AuditorReplyError(
            f"the auditor gave no usable reply in {len(question.problems)} attempts; "
            f"the last problem was: {question.problems[-1]}",
            last_call=question.last_call,
        )

    async def _send(
        self, question: _Question, messages: list[Json], tries: int
    ) -> tuple[Reply, list[Json]]:
        """Send the messages; without `response_format` where the endpoint refuses it."""
        purpose = question.key.purpose if question.closing or not tries else "re_ask"
        key = replace(question.key, purpose=purpose, ordinal=question.key.ordinal + tries)
        with_format = self._with_format
        call = self.prompt.call(key, messages, with_format=with_format)
        question.last_call = str(call.key)
        try:
            return await self._client.complete(call), call.body["messages"]
        except RejectedError as err:
            if not with_format or err.status not in FORMAT_REFUSED:
                raise
        self._with_format = False
        key = replace(key, purpose="schema_fallback")
        call = self.prompt.call(key, messages, with_format=False)
        question.last_call = str(call.key)
        return await self._client.complete(call), call.body["messages"]

    def _unused(self, question: _Question, reply: Reply, sent: list[Json]) -> UnusableReply:
        """Return a reply that could not be used, for the last problem of the question."""
        iteration = question.key.iteration
        self._unusable[iteration] += 1
        return UnusableReply(
            iteration=iteration,
            number=self._unusable[iteration],
            timestamp=reply.finished_at,
            input_messages=sent,
            raw_response=reply.text or "",
            error=question.problems[-1],
            closing=question.closing,
            finish_reason=reply.finish_reason,
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            server=reply.server,
            provider=reply.provider,
            served_model=reply.served_model,
            generation_id=reply.generation_id,
            latency_s=reply.latency_s,
        )

    def _read(self, question: _Question, reply: Reply) -> ParsedReply:
        """Validate the reply, and refuse what would spoil the audit."""
        if reply.block is not None:
            raise AuditorReplyError(f"the host's policy blocked the reply: {reply.block_message}")
        previous = question.history[-1].turn.parsed.hypotheses if question.history else ()
        parsed = parse_reply(
            reply.text,
            finish_reason=reply.finish_reason,
            previous=previous,
            closing=question.closing,
        )
        if question.closing or question.sampler is None:
            return parsed
        if not parsed.reply.should_continue:
            if not question.history:
                raise AuditorReplyError(
                    "should_continue is false, but no response has been seen yet: "
                    "give a next_prompt and set should_continue to true."
                )
            return parsed
        self._refuse_unsendable(question, question.sampler, parsed)
        return parsed

    @staticmethod
    def _refuse_unsendable(question: _Question, sampler: Sampler, parsed: ParsedReply) -> None:
        """Refuse a probe that is too long or, once, one that would open another turn."""
        reply = parsed.reply
        if len((reply.question or "").encode("utf-8", "surrogatepass")) > MAX_PROBE_BYTES:
            raise AuditorReplyError(f"question is longer than {MAX_PROBE_BYTES} bytes.")
        tokens = sampler.role_tokens_in(reply.next_prompt, reply.question)
        if tokens and not question.warned_of_role_tokens:
            question.warned_of_role_tokens = True
            raise AuditorReplyError(
                f"next_prompt or question holds the target's role tokens ({', '.join(tokens)}): "
                "they would close its turn and open another. Write the text without them."
            )


def _turn(question: _Question, parsed: ParsedReply, reply: Reply, sent: list[Json]) -> AuditorTurn:
    """Return the accepted turn; its excerpts are not checked yet."""
    history, accepted = question.history, parsed.reply
    before = history[-1].turn.parsed.hypotheses if history else ()
    kept = {hypothesis.id for hypothesis in accepted.hypotheses}
    return AuditorTurn(
        iteration=question.key.iteration,
        timestamp=reply.finished_at,
        input_messages=sent,
        raw_response=reply.text or "",
        parsed=accepted,
        evidence_check=(),
        parse=Parse(
            rung=parsed.rung,
            re_asked=len(question.problems),
            problems=tuple(question.problems),
            strategy_listed=question.closing
            or not accepted.should_continue
            or accepted.prompt_strategy in STRATEGIES,
        ),
        usage=reply.usage,
        cost_usd=reply.cost_usd,
        provider=reply.provider,
        served_model=reply.served_model,
        generation_id=reply.generation_id,
        latency_s=reply.latency_s,
        dropped_hypotheses=tuple(item.id for item in before if item.id not in kept),
        closing=question.closing,
        server=reply.server,
    )
