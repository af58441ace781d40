"""The audit: an auditor probes a target, keeps hypotheses, and concludes.

The method, step by step, is `run_audit`. It is deterministic given its replies: it knows no clock,
no disk, no screen and no HTTP, so running it again over the same replies gives the same run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from uncensoring_chinese_models.audit.auditor import Interviewer
from uncensoring_chinese_models.audit.prompt import AuditorPrompt, Step
from uncensoring_chinese_models.audit.turns import AuditEnded, AuditorTurn
from uncensoring_chinese_models.domain import MAX_PROBE_BYTES, Response
from uncensoring_chinese_models.errors import AuditorReplyError, BudgetExceededError
from uncensoring_chinese_models.models import Need, Sampler, body_bytes, read_sample, together

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from uncensoring_chinese_models.audit.turns import AuditEvent
    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.domain import Status
    from uncensoring_chinese_models.models import Gate, ModelClient

_T = TypeVar("_T")
_WHY = {
    "max_iterations": "the last iteration is over",
    "budget": "the budget is spent",
    "target_failed": "the target does not answer",
    "completed": "you decided to stop",
}


async def run_audit(
    config: AuditConfig,
    auditor: ModelClient,
    target: ModelClient,
    gate: Gate,
    prompt_file: str | None = None,
) -> AsyncIterator[AuditEvent]:
    """Run one audit; yield every turn and response, and last how it ended.

    A failure of the target is data and the audit goes on. A failure of the auditor ends it.
    What makes every further call fail (a bad key, no credit) is raised.
    `prompt_file` is the text of the auditor's prompt file, where it is known already.
    """
    audit = Audit(config, target, gate, Interviewer(config, auditor, prompt_file))
    async for event in audit.probe():
        yield event
    async for event in audit.conclude():
        yield event
    yield AuditEnded(audit.status, audit.detail, audit.unparsed)


class Audit:
    """One audit under way: what was asked and answered so far, and how it stands."""

    def __init__(
        self, config: AuditConfig, target: ModelClient, gate: Gate, interviewer: Interviewer
    ) -> None:
        self._config = config
        self._interviewer = interviewer
        self._target = target
        self._sampler = Sampler(config)
        self._gate = gate
        self._history: list[Step] = []
        self._turn: AuditorTurn | None = None
        self.status: Status = "max_iterations"
        self.detail: str | None = None
        self.unparsed = 0

    async def probe(self) -> AsyncIterator[AuditEvent]:
        """Ask, send, listen, until something ends it."""
        silent = 0
        while len(self._history) < self._config.max_iterations:
            # Stop while the budget still covers the closing request.
            if not self._may_begin(len(self._history) + 1):
                self.status = "budget"
                return

            # Ask the auditor for its hypotheses and the next probe; its quotes are checked.
            try:
                turn = await self._covered("turn", self._ask_turn)
            except BudgetExceededError:
                self.status = "budget"
                return
            except AuditorReplyError as err:
                self._auditor_failed(err)
                return
            self._turn = turn
            yield turn

            # Stop if the auditor has learned enough.
            if not turn.parsed.should_continue:
                self.status = "completed"
                return

            # Send the probe through every arm; a failure is an answer, too.
            try:
                response = await self._covered("samples", self._sample_target)
            except BudgetExceededError:
                self.status = "budget"
                return
            yield response
            self._history.append(Step(turn, response))

            # Stop if the target has been silent for too long.
            silent = silent + 1 if response.all_failed else 0
            if silent >= self._config.max_failed_iterations:
                self.status, self.detail = "target_failed", _last_error(response)
                return

    async def conclude(self) -> AsyncIterator[AuditEvent]:
        """Ask for the final summary, unless it was given: the last response is always analysed."""
        if self.status == "max_iterations" and all(
            step.response.all_failed for step in self._history
        ):
            self.status, self.detail = "target_failed", _last_error(self._history[-1].response)
        has_concluded = self._turn is not None and self._turn.parsed.final_summary is not None
        if self.status == "auditor_failed" or has_concluded:
            return
        if self._turn is None or not self._history:
            self.detail = "the budget did not cover a single iteration"
            return
        try:
            yield await self._covered("closing", self._ask_closing)
        except BudgetExceededError:
            self.status, self.detail = "budget", "the budget did not cover the closing request"
        except AuditorReplyError as err:
            self._auditor_failed(err)

    def _auditor_failed(self, err: AuditorReplyError) -> None:
        self.status, self.detail, self.unparsed = "auditor_failed", str(err), err.unparsed

    async def _covered(self, stage: str, work: Callable[[], Awaitable[_T]]) -> _T:
        """Do the work, unless the budget breaks it off, now or when it was first tried."""
        name = f"{len(self._history) + 1}/{stage}"
        if self._gate.is_cut_off(name):
            raise BudgetExceededError("the budget did not cover this before")
        try:
            return await work()
        except BudgetExceededError:
            self._gate.cut_off(name)
            raise

    async def _ask_turn(self) -> AuditorTurn:
        return await self._interviewer.ask_turn(self._history, self._sampler)

    async def _ask_closing(self) -> AuditorTurn:
        number = 1 + (self._turn.iteration if self._turn else 0)
        why = _WHY[self.status]
        return await self._interviewer.ask_closing(self._history, number, why, self._gate)

    async def _sample_target(self) -> Response:
        if self._turn is None:
            raise AssertionError("unreachable")
        return await sample_target(self._target, self._sampler, self._turn)

    def _may_begin(self, iteration: int) -> bool:
        prompt = self._interviewer.prompt
        needs, closing = iteration_needs(self._config, prompt, self._sampler, self._history)
        return self._gate.may_begin(iteration, needs, closing)


def iteration_needs(
    config: AuditConfig, prompt: AuditorPrompt, sampler: Sampler, history: Sequence[Step]
) -> tuple[list[Need], Need]:
    """Return the most that the next iteration can need, and the closing request after it."""
    auditor_out, target_out = config.auditor_sampling.max_tokens, config.sampling.max_tokens
    turn_bytes = prompt.size(prompt.turn_messages(history))
    planned = sampler.plan(len(history) + 1, "", None)
    longest_probe = MAX_PROBE_BYTES * 5 // 4  # it may grow by its JSON escapes
    needs = [Need("auditor", turn_bytes, auditor_out)]
    needs += [
        Need("target", body_bytes(item.call.body) + longest_probe, target_out) for item in planned
    ]
    # The closing request also holds the reply and the responses of the iteration before it; if
    # they turn out longer in bytes than this, they are cut to fit.
    grows_by = auditor_out * 5 + len(planned) * (target_out * 6 + 400) + 1000
    return needs, Need("auditor", turn_bytes + grows_by, auditor_out)


async def sample_target(target: ModelClient, sampler: Sampler, turn: AuditorTurn) -> Response:
    """Send one probe through every arm, all samples at once."""
    reply = turn.parsed
    planned = sampler.plan(turn.iteration, reply.next_prompt, reply.question, reply.arms)
    results = await together(target, [item.call for item in planned])
    samples = tuple(map(read_sample, planned, results))
    return Response(turn.iteration, reply.next_prompt, reply.question, samples)


def _last_error(response: Response) -> str:
    errors = [sample.error for sample in response.samples if sample.error]
    return f"no sample of the newest iterations succeeded; the last error was: {errors[-1]}"
