"""Samples of a comparison by what happened to them, as the code describes them."""

from __future__ import annotations

from uncensoring_chinese_models.domain import DELIVERIES
from uncensoring_chinese_models.measure.compare.withheld import Attributed

PLANTED = {
    "told": Attributed("complete", "answers", "states"),
    "otherwise": Attributed("complete", "answers", "omits"),
    "open": Attributed("complete", "not_judged", "omits"),
    "failed": Attributed("failed", "not_judged", None),
    "erased": Attributed("suspected_block", "not_judged", "omits", "host"),
    "filtered": Attributed("blocked", "not_judged", None, "host"),
    "cut": Attributed("suspected_block", "answers", "omits", "host"),
    "replaced": Attributed("replaced", "refuses", "omits", "host"),
    "declined": Attributed("complete", "refuses", "omits", "model"),
    "silent": Attributed("empty", "not_judged", "omits", "model"),
    "unclear": Attributed("complete", "refuses", "omits", "unclear"),
}
"""What happened to a sample, and how it is described."""


def seen_as(found: Attributed) -> tuple[str, str | None]:
    """Return where the text was lost or that it is told, and who withheld it."""
    if found.withheld_by == "unclear":
        return "unclear", "unclear"
    if DELIVERIES[found.delivery].has_text:
        return "told" if found.mention == "states" else "text", found.withheld_by
    return found.delivery, found.withheld_by


def happened(name: str) -> tuple[str, str | None]:
    """Return the same for something that happened."""
    return seen_as(PLANTED[name])
