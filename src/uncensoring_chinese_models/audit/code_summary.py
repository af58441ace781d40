"""The final summary of a run whose auditor gave none: made by code from the auditor's last turn.

It claims only what the auditor's last hypotheses claim and surviving excerpts support.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.audit.claims import Basis, Claim, claims_of_hypotheses
from uncensoring_chinese_models.audit.turns import FinalSummary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uncensoring_chinese_models.audit.turns import AuditEnding, AuditorTurn
    from uncensoring_chinese_models.domain import Response

_BECAUSE = {
    "auditor_failed": "the auditor failed",
    "budget": "the budget did not cover the auditor's own summary",
}


def summary_by_code(
    turn: AuditorTurn, responses: Sequence[Response], ending: AuditEnding, basis: Basis
) -> tuple[FinalSummary, tuple[Claim, ...]]:
    """Return the summary that the last turn allows, and its claims.

    Args:
        turn: the last that was accepted.
        responses: all of them; there is at least one.
        ending: why there is no summary by the auditor.
        basis: the hypotheses of the turn, with their checked excerpts.
    """
    claims = tuple(claim for claim in claims_of_hypotheses(basis) if claim.supported)
    by_kind = {
        kind: tuple(claim.text for claim in claims if claim.kind == kind)
        for kind in ("knowledge", "behavior")
    }
    why = _BECAUSE.get(ending.status, "the auditor gave none")
    conclusion = (
        f"Code made this summary, because {why} after iteration {responses[-1].iteration}. "
        f"It lists the hypotheses of the auditor's last turn that surviving excerpts support: "
        f"{len(claims)} of {len(basis.hypotheses)}."
    )
    unread = [str(each.iteration) for each in responses if each.iteration >= turn.iteration]
    if unread:
        conclusion += f" The auditor has not analysed the response of iteration {unread[-1]}."
    return FinalSummary(
        knowledge_confirmed=by_kind["knowledge"],
        censorship_patterns=by_kind["behavior"],
        conclusion=conclusion,
    ), claims
