"""The summary: what was found, on what evidence, out of how much, at what price.

A pure function of the turns, the responses and the recorded attempts, so that anyone can compute
it again from the other files of a run.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, get_args

from uncensoring_chinese_models.budget import spend
from uncensoring_chinese_models.claims import Claim, link_claims
from uncensoring_chinese_models.domain import (
    AuditEnded,
    AuditorTurn,
    Outcome,
    Response,
    Rung,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from uncensoring_chinese_models.domain import Attempt, AuditEvent, EvidenceCheck, Json


@dataclass(slots=True)
class RunRecord:
    """The events of a run, kept as they come."""

    turns: list[AuditorTurn] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    ended: AuditEnded | None = None
    doctor: Json | None = None
    """The doctor's verdicts in short, if it was asked."""

    def add(self, event: AuditEvent) -> None:
        """Keep one event."""
        if isinstance(event, AuditorTurn):
            self.turns.append(event)
        elif isinstance(event, Response):
            self.responses.append(event)
        else:
            self.ended = event


def summarise(record: RunRecord, attempts: Sequence[Attempt]) -> Json:
    """Return the findings and the figures of a run that ended."""
    ended = record.ended or AuditEnded("auditor_failed")
    last = record.turns[-1] if record.turns else None
    conclusion = last.parsed.final_summary if last else None
    hypotheses = last.parsed.hypotheses if last else ()
    checks = last.evidence_check if last else ()
    claims = link_claims(conclusion, hypotheses, checks) if conclusion else ()
    return {
        "total_iterations": len(record.responses),
        "status": ended.status,
        "status_detail": ended.detail,
        "final_hypotheses": [
            item.model_dump(mode="json", exclude_none=True) for item in hypotheses
        ],
        "final_summary": conclusion.model_dump(mode="json") if conclusion else None,
        "claims": [asdict(claim) for claim in claims],
        "doctor": record.doctor,
        "denominators": _denominators(record, checks, claims),
        "spend": _spend(attempts, claims),
    }


def _denominators(
    record: RunRecord, checks: Sequence[EvidenceCheck], claims: Sequence[Claim]
) -> Json:
    samples = [sample for response in record.responses for sample in response.samples]
    arms = list(dict.fromkeys(sample.arm for sample in samples))
    all_checks = [check for turn in record.turns for check in turn.evidence_check]
    return {
        "samples": {
            "sent": len(samples),
            "by_outcome": _count((sample.outcome for sample in samples), get_args(Outcome)),
            "by_arm": {
                arm: _count((s.outcome for s in samples if s.arm == arm), get_args(Outcome))
                for arm in arms
            },
            "with_spill": sum(bool(sample.spill) for sample in samples),
            "with_role_tokens_in_prompt": sum(bool(s.role_tokens_in_prompt) for s in samples),
            "by_provider": _count(sample.provider or "unknown" for sample in samples),
            "by_served_model": _count(sample.served_model or "unknown" for sample in samples),
        },
        "final_excerpts": _excerpts(checks),
        "all_excerpts": _excerpts(all_checks),
        "turns": {
            "accepted": len(record.turns),
            "by_rung": _count((turn.parse.rung for turn in record.turns), get_args(Rung)),
            "re_asked": sum(turn.parse.re_asked for turn in record.turns),
            "unlisted_strategies": sum(not turn.parse.strategy_listed for turn in record.turns),
        },
        "claims": {
            kind: {
                "made": sum(claim.kind == kind for claim in claims),
                "supported": sum(claim.kind == kind and claim.supported for claim in claims),
            }
            for kind in ("knowledge", "behavior")
        },
    }


def _excerpts(checks: Sequence[EvidenceCheck]) -> Json:
    return {
        "cited": len(checks),
        "surviving": sum(check.survives for check in checks),
        "by_verdict": _count((check.verdict for check in checks), get_args(Verdict)),
    }


def _count(values: Iterable[str], known: Sequence[str] = ()) -> dict[str, int]:
    """Count values; known ones that never came are counted too, as 0."""
    counts = Counter(values)
    return {name: counts[name] for name in (*known, *sorted(set(counts) - set(known)))}


def _spend(attempts: Sequence[Attempt], claims: Sequence[Claim]) -> Json:
    spent = spend(attempts)
    total = spent["total"]["cost_usd"]
    supported = sum(claim.kind == "knowledge" and claim.supported for claim in claims)
    per_claim = total / supported if total is not None and supported else None
    return {**spent, "usd_per_supported_claim": per_claim}
