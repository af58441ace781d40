"""What the loop asks of the budget: does it cover the next iteration, and did it stop a stage?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uncensoring_chinese_models.domain import MAX_PROBE_BYTES, CallKey
from uncensoring_chinese_models.models import Need, body_bytes, canary_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from uncensoring_chinese_models.audit.prompt import AuditorPrompt, Step
    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.models import Gate, Sampler


@dataclass(frozen=True, slots=True)
class AuditBudget:
    """The budget as the loop sees it; the gate records every decision, so that a replay repeats it."""

    config: AuditConfig
    prompt: AuditorPrompt
    sampler: Sampler
    gate: Gate

    def covers_next(self, history: Sequence[Step]) -> bool:
        """Return whether the budget covers the next iteration and the closing request after it."""
        needs, closing = iteration_needs(self.config, self.prompt, self.sampler, history)
        return self.gate.may_begin(len(history) + 1, needs, closing)

    def stage(self, name: str, history: Sequence[Step]) -> AbstractContextManager[None]:
        """Run one stage of the next iteration, as far as the budget covered it before.

        Raises:
            BudgetExceededError: the budget stops this stage now, or stopped it in an earlier process.
        """
        return self.gate.stage(f"{len(history) + 1}/{name}")


def iteration_needs(
    config: AuditConfig, prompt: AuditorPrompt, sampler: Sampler, history: Sequence[Step]
) -> tuple[list[Need], Need]:
    """Return the most that the next iteration can need, and the closing request after it."""
    auditor_out, target_out = config.auditor_sampling.max_tokens, config.sampling.max_tokens
    messages = prompt.turn_messages(history)
    turn_bytes = prompt.size(messages)
    planned = sampler.plan(len(history) + 1, "", None)
    longest_probe = MAX_PROBE_BYTES * 5 // 4  # it may grow by its JSON escapes
    needs = [Need("auditor", turn_bytes, auditor_out)]
    needs += [
        Need("target", body_bytes(item.call.body) + longest_probe, target_out) for item in planned
    ]
    calls = [prompt.call(CallKey(1, "auditor", "turn"), messages, with_format=False)]
    calls += [item.call for item in planned]
    canaries = {canary.key: canary for canary in map(canary_of, calls)}.values()
    needs += [
        Need(each.key.role, body_bytes(each.body), each.body["max_tokens"]) for each in canaries
    ]
    # The closing request also holds the reply and the responses of the iteration before it; if
    # they turn out longer in bytes than this, they are cut to fit.
    grows_by = auditor_out * 5 + len(planned) * (target_out * 6 + 400) + 1000
    return needs, Need("auditor", turn_bytes + grows_by, auditor_out)
