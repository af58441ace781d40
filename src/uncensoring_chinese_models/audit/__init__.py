"""The method: the loop, the auditor, its turns, evidence and claims; `baseline` is an auditor made of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.doors import lazy_door

if TYPE_CHECKING:
    from uncensoring_chinese_models.audit.baseline.auditor import BaselineAuditor
    from uncensoring_chinese_models.audit.evidence import check_excerpt
    from uncensoring_chinese_models.audit.loop import run_audit
    from uncensoring_chinese_models.audit.origins import (
        ORIGINS,
        UNKNOWN,
        count_origins,
        host_blocks,
        servers_of,
    )
    from uncensoring_chinese_models.audit.predictions import IN_WORDS, check_prediction
    from uncensoring_chinese_models.audit.prompt import (
        BUILT_IN,
        AuditorPrompt,
        prompt_file_text,
        prompt_parts,
    )
    from uncensoring_chinese_models.audit.reply import response_format
    from uncensoring_chinese_models.audit.spending import iteration_needs
    from uncensoring_chinese_models.audit.stances import (
        ENDED_EARLY,
        Received,
        count_labels,
        count_received,
        has_words,
        left_out,
        rate_of_withholding,
        received,
        recognise_sample,
        stance_by_wording,
        unknown_texts,
    )
    from uncensoring_chinese_models.audit.summary import RunRecord, summarise
    from uncensoring_chinese_models.audit.turns import (
        AuditEnding,
        AuditEvent,
        AuditorTurn,
        Evidence,
        Prediction,
        UnusableReply,
        turn_to_json,
        unusable_to_json,
    )

__all__ = [
    "BUILT_IN",
    "ENDED_EARLY",
    "IN_WORDS",
    "ORIGINS",
    "UNKNOWN",
    "AuditEnding",
    "AuditEvent",
    "AuditorPrompt",
    "AuditorTurn",
    "BaselineAuditor",
    "Evidence",
    "Prediction",
    "Received",
    "RunRecord",
    "UnusableReply",
    "check_excerpt",
    "check_prediction",
    "count_labels",
    "count_origins",
    "count_received",
    "has_words",
    "host_blocks",
    "iteration_needs",
    "left_out",
    "prompt_file_text",
    "prompt_parts",
    "rate_of_withholding",
    "received",
    "recognise_sample",
    "response_format",
    "run_audit",
    "servers_of",
    "stance_by_wording",
    "summarise",
    "turn_to_json",
    "unknown_texts",
    "unusable_to_json",
]

__getattr__ = lazy_door(__name__)
