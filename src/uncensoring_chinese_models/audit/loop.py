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
from uncensoring_chinese_models.domain import CallKey, Response
from uncensoring_chinese_models.errors import AuditorReplyError, BudgetExceededError
from uncensoring_chinese_models.models import Sampler, read_sample, together

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from uncensoring_chinese_models.audit.turns import AuditEvent
    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.models import Gate, ModelClient

_CLOSING_STAGES = ("closing", "closing_again")
_WHY = {
    "max_iterations": "the last iteration is over",
    "budget": "the budget is spent",
    "target_failed": "the target does not answer",
    "completed": "you decided to stop",
    "auditor_failed": "an earlier request to you failed",
}


async def run_audit(
    config: AuditConfig,
    auditor_client: ModelClient,
    target: ModelClient,
    gate: Gate,
    prompt_file: str | None = None,
) -> AsyncIterator[AuditEvent]:
    """Probe until something ends the audit, then conclude. Yields turns, responses and the ending.

    Each reply of the auditor that cannot be used is yielded too. A failed call to the target is
    recorded as data, and the audit continues. A failure of the auditor ends the audit; it is asked
    once more for the summary. An error that would fail every further call (a bad key, no credit) is
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
                async for said in auditor.next_turn(history, sampler):
                    # 3. Check every excerpt it cites against what the target wrote.
                    checked = with_checks(said, history, config.topic)
                    turn = checked if isinstance(checked, AuditorTurn) else turn
                    yield checked

            # 4. Stop if the auditor has learned enough.
            if turn is None or not turn.parsed.should_continue:
                ending = AuditEnding("completed")
                break

            # 5. Send the probe through every arm; a failed call is recorded, not raised.
            with budget.stage("samples", history):
                response = await sample_target(target, sampler, turn)
            yield response
            history.append(Step(turn, response))

            # 6. Stop if the target has failed too often in a row.
            if _failed_in_a_row(history) >= config.max_failed_iterations:
                ending = _target_failed(response)
                break
    except (BudgetExceededError, AuditorReplyError) as err:
        ending = _ending_of(err)

    # 7. Ask for the final summary, so that the last response is always analysed.
    async for event in _conclude(auditor, budget, history, turn, ending):
        yield with_checks(event, history, config.topic)


def with_checks(event: AuditEvent, history: Sequence[Step], topic: str) -> AuditEvent:
    """Compare every excerpt of a turn with the stored responses, and mark those that we led.

    Any other event is returned as it is.
    """
    if not isinstance(event, AuditorTurn):
        return event
    responses = [step.response for step in history]
    hypotheses = event.parsed.hypotheses
    checks = check_hypotheses(hypotheses, responses)
    return replace(event, evidence_check=Leads(responses, topic).mark(checks, hypotheses))


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
) -> AsyncIterator[AuditEvent]:
    """Ask for the final summary, unless the last turn holds it or there is nothing to summarise."""
    if ending.status == "max_iterations" and all(step.response.all_failed for step in history):
        ending = _target_failed(history[-1].response)
    if turn is None or not history:
        uncovered = "the budget did not cover a single iteration"
        yield replace(ending, detail=uncovered) if ending.status == "budget" else ending
    elif turn.parsed.final_summary is not None:
        yield ending
    else:
        async for event in _close(auditor, budget, history, turn.iteration + 1, ending):
            yield event


async def _close(
    auditor: Auditor,
    budget: AuditBudget,
    history: Sequence[Step],
    number: int,
    ending: AuditEnding,
) -> AsyncIterator[AuditEvent]:
    """Ask for the final summary, in the turn of this number; then yield the ending.

    If the auditor fails at it, it is asked once more; if it had failed before, only once.
    """
    failures = [ending] if ending.status == "auditor_failed" else []
    for times_asked in range(2 - len(failures)):
        try:
            with budget.stage(_CLOSING_STAGES[times_asked], history):
                why = _WHY[ending.status]
                asked = auditor.closing_turn(
                    history, number, why, budget.gate, times_asked=times_asked
                )
                async for said in asked:
                    yield said
        except AuditorReplyError as err:
            failures.append(_ending_of(err))
        except BudgetExceededError as err:
            uncovered = _ending_of(err, "the budget did not cover the closing request")
            failures = failures or [uncovered]
            break
        else:
            yield ending
            return
    calls = tuple(call for failure in failures for call in failure.ask_again)
    yield replace(failures[0], ask_again=calls)


def _ending_of(
    err: BudgetExceededError | AuditorReplyError, over_budget: str | None = None
) -> AuditEnding:
    """Return how an audit ends when the budget or the auditor stops it."""
    if isinstance(err, AuditorReplyError):
        return AuditEnding("auditor_failed", str(err), (err.last_call,))
    return AuditEnding("budget", over_budget)


def _target_failed(response: Response) -> AuditEnding:
    """Return how an audit ends whose target does not answer."""
    failed = [sample for sample in response.samples if sample.delivery == "failed"]
    keys = [
        CallKey(response.iteration, "target", "sample", 0, sample.arm, sample.index)
        for sample in failed
    ]
    detail = f"no sample of the newest iterations succeeded; the last error was: {failed[-1].error}"
    return AuditEnding("target_failed", detail, tuple(map(str, keys)))


def _failed_in_a_row(history: Sequence[Step]) -> int:
    """Count the newest iterations in which every sample failed."""
    return sum(1 for _ in takewhile(lambda step: step.response.all_failed, reversed(history)))
