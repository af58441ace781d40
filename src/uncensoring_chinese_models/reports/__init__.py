"""Show a run (`pages`) or many (`study`) to readers: Markdown, HTML, SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.doors import lazy_door

if TYPE_CHECKING:
    from uncensoring_chinese_models.reports.markdown import as_markdown, report_markdown
    from uncensoring_chinese_models.reports.pages.model import RunView, run_view
    from uncensoring_chinese_models.reports.pages.render import prepare, render, report_html
    from uncensoring_chinese_models.reports.sentences import (
        conclusion_title,
        counted,
        figures,
        may_be_invented,
        phrases_told,
        place_of,
        why_unsupported,
    )
    from uncensoring_chinese_models.reports.study.writing import write_study

__all__ = [
    "RunView",
    "as_markdown",
    "conclusion_title",
    "counted",
    "figures",
    "may_be_invented",
    "phrases_told",
    "place_of",
    "prepare",
    "render",
    "report_html",
    "report_markdown",
    "run_view",
    "why_unsupported",
    "write_study",
]

__getattr__ = lazy_door(__name__)
