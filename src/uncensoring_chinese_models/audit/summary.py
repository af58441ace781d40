"""The summary of a run: claims with their evidence, rates with their counts, and the cost.

A pure function of the turns, the responses and the recorded attempts, so that it can be computed
again from the other files of a run.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from uncensoring_chinese_models.audit.claims import Basis, Claim, link_claims
from uncensoring_chinese_models.audit.code_summary import summary_by_code
from uncensoring_chinese_models.audit.history import histories
from uncensoring_chinese_models.audit.leading import Leads
from uncensoring_chinese_models.audit.origins import (
    UNKNOWN,
    host_blocks,
    origins_of,
    servers_of,
)
from uncensoring_chinese_models.audit.predictions import (
    CheckedPrediction,
    check_predictions,
    rate_of_predictions,
)
from uncensoring_chinese_models.audit.stances import (
    Received,
    count_deliveries,
    count_received,
    count_stances,
    rate_of_withholding,
    received,
)
from uncensoring_chinese_models.audit.turns import (
    AuditEnding,
    AuditorTurn,
    ExcerptVerdict,
    FinalSummary,
    UnusableReply,
)
from uncensoring_chinese_models.domain import DELIVERIES, Response, Rung
from uncensoring_chinese_models.models import spend
from uncensoring_chinese_models.runs import response_to_json
from uncensoring_chinese_models.stats import rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from uncensoring_chinese_models.audit.turns import AuditEvent, EvidenceCheck
    from uncensoring_chinese_models.domain import Attempt, Json, Sample


@dataclass(slots=True)
class RunRecord:
    """The events of a run, in order."""

    run: str
    """The name of the run, as its evidence cites it."""
    topic: str
    turns: list[AuditorTurn] = field(default_factory=list)
    unusable: list[UnusableReply] = field(default_factory=list)
    """Replies of the auditor that were not accepted as turns."""
    responses: list[Response] = field(default_factory=list)
    ended: AuditEnding | None = None
    doctor: Json | None = None
    """The doctor's verdicts in short, if it was run."""

    def add(self, event: AuditEvent) -> None:
        """Add one event."""
        if isinstance(event, AuditorTurn):
            self.turns.append(event)
        elif isinstance(event, UnusableReply):
            self.unusable.append(event)
        elif isinstance(event, Response):
            self.responses.append(event)
        else:
            self.ended = event


def summarise(record: RunRecord, attempts: Sequence[Attempt]) -> Json:
    """Return the summary of a run that ended."""
    ended = record.ended or AuditEnding("auditor_failed")
    last = record.turns[-1] if record.turns else None
    hypotheses = last.parsed.hypotheses if last else ()
    checks = last.evidence_check if last else ()
    basis = Basis(hypotheses, checks, Leads(record.responses, record.topic), record.run)
    conclusion, claims, by = _conclusion(record, ended, basis)
    predictions = check_predictions(record.turns, record.responses, record.run)
    return {
        "run": record.run,
        "total_iterations": len(record.responses),
        "status": ended.status,
        "status_detail": ended.detail,
        "final_hypotheses": [
            item.model_dump(mode="json", exclude_none=True) for item in hypotheses
        ],
        "final_summary": conclusion.model_dump(mode="json") if conclusion else None,
        "final_summary_by": by,
        "claims": [asdict(claim) for claim in claims],
        "doctor": record.doctor,
        "history": [
            {**asdict(each), "changed_silently": each.changed_silently}
            for each in histories(record.turns, record.run)
        ],
        "predictions": [asdict(prediction) for prediction in predictions],
        "rates": _rates(record, checks, claims, predictions),
        "denominators": _denominators(record, checks, claims),
        "host_blocks": host_blocks(map(response_to_json, record.responses)),
        "servers": servers_of(attempts),
        "spend": _spend(attempts, claims),
    }


def _conclusion(
    record: RunRecord, ended: AuditEnding, basis: Basis
) -> tuple[FinalSummary | None, tuple[Claim, ...], Literal["auditor", "code"] | None]:
    """Return the final summary, its claims, and who made it; without a response there is none."""
    last = record.turns[-1] if record.turns else None
    if last is not None and last.parsed.final_summary is not None:
        conclusion = last.parsed.final_summary
        return conclusion, link_claims(conclusion, basis), "auditor"
    if last is None or not record.responses:
        return None, (), None
    return *summary_by_code(last, record.responses, ended, basis), "code"


def _rates(
    record: RunRecord,
    checks: Sequence[EvidenceCheck],
    claims: Sequence[Claim],
    predictions: Sequence[CheckedPrediction],
) -> Json:
    """Return every rate of the run, with the excluded samples and the bounds that they leave."""
    samples = _received(record)
    arms = dict.fromkeys(sample.arm for sample, _ in samples)
    made = {kind: [c for c in claims if c.kind == kind] for kind in ("knowledge", "behavior")}
    return {
        "withheld": {
            "all": asdict(rate_of_withholding(count_received(each for _, each in samples))),
            "by_arm": {
                arm: asdict(
                    rate_of_withholding(count_received(s for of, s in samples if of.arm == arm))
                )
                for arm in arms
            },
            "by_server": _withheld_by_server(record),
        },
        "usable_excerpts": asdict(rate(sum(check.survives for check in checks), len(checks))),
        "usable_replies": asdict(
            rate(len(record.turns), len(record.turns) + len(record.unusable)),
        ),
        "supported_claims": {
            kind: asdict(rate(sum(claim.supported for claim in of_kind), len(of_kind)))
            for kind, of_kind in made.items()
        },
        "predictions": asdict(rate_of_predictions(predictions)),
    }


def _withheld_by_server(record: RunRecord) -> Json:
    found: dict[str, list[Received]] = {}
    for sample, each in _received(record):
        found.setdefault(sample.server or UNKNOWN, []).append(each)
    return {
        server: asdict(rate_of_withholding(count_received(own))) for server, own in found.items()
    }


def _received(record: RunRecord) -> list[tuple[Sample, Received]]:
    """Return every sample that was sent, with its delivery and its stance."""
    return [
        (sample, received(sample.delivery, sample.arm, sample.own_words, each.probe, each.question))
        for each in record.responses
        for sample in each.samples
    ]


def _denominators(
    record: RunRecord, checks: Sequence[EvidenceCheck], claims: Sequence[Claim]
) -> Json:
    samples = [sample for response in record.responses for sample in response.samples]
    arms = list(dict.fromkeys(sample.arm for sample in samples))
    counts = count_received(each for _, each in _received(record))
    all_checks = [check for turn in record.turns for check in turn.evidence_check]
    return {
        "samples": {
            "sent": len(samples),
            "by_delivery": count_deliveries(counts),
            "by_stance": count_stances(counts),
            "by_arm": {
                arm: _count((s.delivery for s in samples if s.arm == arm), tuple(DELIVERIES))
                for arm in arms
            },
            "with_spill": sum(bool(sample.spill) for sample in samples),
            "with_role_tokens_in_prompt": sum(bool(s.role_tokens_in_prompt) for s in samples),
            **origins_of(samples),
        },
        "final_excerpts": _excerpts(checks),
        "all_excerpts": _excerpts(all_checks),
        "turns": {
            "accepted": len(record.turns),
            "by_rung": _count((turn.parse.rung for turn in record.turns), get_args(Rung)),
            "re_asked": sum(turn.parse.re_asked for turn in record.turns),
            "unparsed": len(record.unusable),
            "unlisted_strategies": sum(not turn.parse.strategy_listed for turn in record.turns),
            **origins_of(record.turns),
        },
        "claims": {
            kind: {
                "made": sum(claim.kind == kind for claim in claims),
                "supported": sum(claim.kind == kind and claim.supported for claim in claims),
                "led": sum(claim.kind == kind and claim.is_led for claim in claims),
            }
            for kind in ("knowledge", "behavior")
        },
    }


def _excerpts(checks: Sequence[EvidenceCheck]) -> Json:
    return {
        "cited": len(checks),
        "surviving": sum(check.survives for check in checks),
        "by_verdict": _count((check.verdict for check in checks), get_args(ExcerptVerdict)),
        "unusable": _count(filter(None, map(_why_unusable, checks))),
    }


def _why_unusable(check: EvidenceCheck) -> str | None:
    """Return the first reason why an excerpt does not count; None if it does."""
    if check.survives:
        return None
    if check.verdict not in ("exact", "normalised"):
        return check.verdict
    return "also_in_prompt" if check.also_in_prompt else check.flaw or "led"


def _count(values: Iterable[str], known: Sequence[str] = ()) -> dict[str, int]:
    """Count values; known values that do not occur count 0."""
    counts = Counter(values)
    return {name: counts[name] for name in (*known, *sorted(set(counts) - set(known)))}


def _spend(attempts: Sequence[Attempt], claims: Sequence[Claim]) -> Json:
    spent = spend(attempts)
    total = spent["total"]["cost_usd"]
    supported = sum(claim.kind == "knowledge" and claim.supported for claim in claims)
    per_claim = total / supported if total is not None and supported else None
    return {**spent, "usd_per_supported_claim": per_claim}
