"""A run on disk: its journal, its files, and where runs are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.doors import lazy_door

if TYPE_CHECKING:
    from uncensoring_chinese_models.runs.chain import (
        START,
        AlteredLineError,
        is_run_header,
        is_set_aside,
        line_hash,
        read_line,
        survey,
        whole_lines,
    )
    from uncensoring_chinese_models.runs.discovery import (
        find_runs,
        is_record,
        is_run,
        looks_like_run,
        refuse_in_run,
    )
    from uncensoring_chinese_models.runs.format import (
        as_number,
        prices_from_json,
        prices_to_json,
        refuses,
        response_to_json,
    )
    from uncensoring_chinese_models.runs.journal import Journal
    from uncensoring_chinese_models.runs.lock import is_locked, lock_file, unlock_file
    from uncensoring_chinese_models.runs.reading import (
        JUDGEMENT,
        LABELS,
        RunFiles,
        is_judged_file,
        judged_sha256,
        parse_run,
        read_finished_run,
        read_run,
    )
    from uncensoring_chinese_models.runs.recorded import (
        Place,
        RecordedClaim,
        RecordedHypothesis,
        RecordedQuote,
        RecordedResponse,
        RecordedSample,
        RecordedSpend,
        RecordedSummary,
        RecordedTurn,
        read_responses,
        read_summary,
        read_turns,
    )
    from uncensoring_chinese_models.runs.store import (
        RunStore,
        doctor_name,
        refuse_link,
        replace_file,
        run_name,
    )
    from uncensoring_chinese_models.runs.untrusted import (
        BUNDLED,
        BUNDLED_JUDGED,
        GIVEN,
        JUDGED,
        MANIFEST,
        README,
        RunTree,
        judged_folder,
        read_header,
        read_run_tree,
    )

__all__ = [
    "BUNDLED",
    "BUNDLED_JUDGED",
    "GIVEN",
    "JUDGED",
    "JUDGEMENT",
    "LABELS",
    "MANIFEST",
    "README",
    "START",
    "AlteredLineError",
    "Journal",
    "Place",
    "RecordedClaim",
    "RecordedHypothesis",
    "RecordedQuote",
    "RecordedResponse",
    "RecordedSample",
    "RecordedSpend",
    "RecordedSummary",
    "RecordedTurn",
    "RunFiles",
    "RunStore",
    "RunTree",
    "as_number",
    "doctor_name",
    "find_runs",
    "is_judged_file",
    "is_locked",
    "is_record",
    "is_run",
    "is_run_header",
    "is_set_aside",
    "judged_folder",
    "judged_sha256",
    "line_hash",
    "lock_file",
    "looks_like_run",
    "parse_run",
    "prices_from_json",
    "prices_to_json",
    "read_finished_run",
    "read_header",
    "read_line",
    "read_responses",
    "read_run",
    "read_run_tree",
    "read_summary",
    "read_turns",
    "refuse_in_run",
    "refuse_link",
    "refuses",
    "replace_file",
    "response_to_json",
    "run_name",
    "survey",
    "unlock_file",
    "whole_lines",
]

__getattr__ = lazy_door(__name__)
