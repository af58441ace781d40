"""The audit loop: an auditor probes a target, revises its hypotheses, and concludes.

`run_audit` is the method, in seven steps. It depends on the replies alone: it uses no clock, disk,
screen or HTTP. Running it again over the same replies gives the same run.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from uncensoring_chinese_models.audit.auditor import Auditor
from uncensoring_chinese_models.audit.evidence import check_hypotheses
from uncensoring_chinese_models.audit.leading import Leads
from uncensoring_chinese_models.audit.prompt import Step
from uncensoring_chinese_models.audit.spending import AuditBudget
from uncensoring_chinese_models.audit.turns import AuditEnding, AuditorTurn
from uncensoring_chinese_models.domain import Response
from uncensoring_chinese_models.errors import AuditorReplyError, BudgetExceededError
from uncensoring_chinese_models.models import Sampler, read_sample, together

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from uncensoring_chinese_models.audit.turns import AuditEvent
    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.models import Gate, ModelClient

_WHY = {
    "max_iterations": "the last iteration is over",
    "budget": "the budget is spent",
    "target_failed": "the target does not answer",
    "completed": "you decided to stop",
}


async def run_audit(
    config: AuditConfig,
    auditor_client: ModelClient,
    target: ModelClient,
    gate: Gate,
    prompt_file: str | None = None,
) -> AsyncIterator[AuditEvent]:
    """Probe until something ends the audit, then conclude. Yields turns, responses and the ending.

    A failed call to the target is recorded as data, and the audit continues. A failure of the
    auditor ends the audit. An error that would fail every further call (a bad key, no credit) is
    raised. `prompt_file` is the text of the auditor's prompt file, if it has been read already.
    """
    sampler = Sampler(config)
    auditor = Auditor(config, auditor_client, prompt_file)
    budget = AuditBudget(config, auditor.prompt, sampler, gate)
    history: list[Step] = []
    turn: AuditorTurn | None = None
    ending = AuditEnding("max_iterations")
    try:
        while len(history) < config.max_iterations:
            # 1. Stop while the budget still covers the closing request.
            if not budget.covers_next(history):
                ending = AuditEnding("budget")
                break

            # 2. Ask the auditor for its hypotheses and the next probe.
            with budget.stage("turn", history):
                turn = await auditor.next_turn(history, sampler)

            # 3. Check every excerpt it cites against what the target wrote.
            turn = with_checks(turn, history, config.topic)
            yield turn

            # 4. Stop if the auditor has learned enough.
            if not turn.parsed.should_continue:
                ending = AuditEnding("completed")
                break

            # 5. Send the probe through every arm; a failed call is recorded, not raised.
            with budget.stage("samples", history):
                response = await sample_target(target, sampler, turn)
            yield response
            history.append(Step(turn, response))

            # 6. Stop if the target has failed too often in a row.
            if _failed_in_a_row(history) >= config.max_failed_iterations:
                ending = AuditEnding("target_failed", _last_error(response))
                break
    except (BudgetExceededError, AuditorReplyError) as err:
        ending = _ending_of(err)

    # 7. Ask once for the final summary, so that the last response is always analysed.
    closing, ending = await _conclude(auditor, budget, history, turn, ending)
    if closing is not None:
        yield with_checks(closing, history, config.topic)
    yield ending


def with_checks(turn: AuditorTurn, history: Sequence[Step], topic: str) -> AuditorTurn:
    """Compare every excerpt of a turn with the stored responses, and mark those that we led."""
    responses = [step.response for step in history]
    hypotheses = turn.parsed.hypotheses
    checks = check_hypotheses(hypotheses, responses)
    return replace(turn, evidence_check=Leads(responses, topic).mark(checks, hypotheses))


async def sample_target(target: ModelClient, sampler: Sampler, turn: AuditorTurn) -> Response:
    """Send one probe through every arm, all samples at once."""
    reply = turn.parsed
    planned = sampler.plan(turn.iteration, reply.next_prompt, reply.question, reply.arms)
    results = await together(target, [item.call for item in planned])
    samples = tuple(map(read_sample, planned, results))
    return Response(turn.iteration, reply.next_prompt, reply.question, samples)


async def _conclude(
    auditor: Auditor,
    budget: AuditBudget,
    history: Sequence[Step],
    turn: AuditorTurn | None,
    ending: AuditEnding,
) -> tuple[AuditorTurn | None, AuditEnding]:
    """Ask for the final summary, unless the last turn holds it or there is nothing to summarise."""
    if ending.status == "max_iterations" and all(step.response.all_failed for step in history):
        ending = AuditEnding("target_failed", _last_error(history[-1].response))
    has_concluded = turn is not None and turn.parsed.final_summary is not None
    if ending.status == "auditor_failed" or has_concluded:
        return None, ending
    if turn is None or not history:
        return None, replace(ending, detail="the budget did not cover a single iteration")
    try:
        with budget.stage("closing", history):
            number, why = turn.iteration + 1, _WHY[ending.status]
            return await auditor.closing_turn(history, number, why, budget.gate), ending
    except (BudgetExceededError, AuditorReplyError) as err:
        return None, _ending_of(err, "the budget did not cover the closing request")


def _ending_of(
    err: BudgetExceededError | AuditorReplyError, over_budget: str | None = None
) -> AuditEnding:
    """Return how an audit ends when the budget or the auditor stops it."""
    if isinstance(err, AuditorReplyError):
        return AuditEnding("auditor_failed", str(err), err.unparsed)
    return AuditEnding("budget", over_budget)


def _failed_in_a_row(history: Sequence[Step]) -> int:
    """Count the newest iterations in which every sample failed."""
    return sum(1 for _ in takewhile(lambda step: step.response.all_failed, reversed(history)))


def _last_error(response: Response) -> str:
    errors = [sample.error for sample in response.samples if sample.error]
    return f"no sample of the newest iterations succeeded; the last error was: {errors[-1]}"
