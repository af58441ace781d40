"""Pages from templates: one environment, text escaped by default, nothing loaded from elsewhere.

A page in one file carries its own security policy. The policy names the hashes of its style and its
script, so nothing else runs, even if a model wrote it.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, get_args

import jinja2
from markupsafe import Markup

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.audit import IN_WORDS
from uncensoring_chinese_models.domain import ARMS, FACT_LABELS, LABELS, SampleLabel
from uncensoring_chinese_models.errors import CorruptRunError
from uncensoring_chinese_models.measure import FactVerdict
from uncensoring_chinese_models.reports.pages import charts
from uncensoring_chinese_models.reports.pages.model import FactView, RunView, run_view
from uncensoring_chinese_models.reports.pages.text import lang, shown
from uncensoring_chinese_models.reports.sentences import money, status_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from uncensoring_chinese_models.runs import RunFiles

_PACKAGE = "uncensoring_chinese_models.reports.pages"


@cache
def environment() -> jinja2.Environment:
    """Return the one environment of all pages."""
    made = jinja2.Environment(
        autoescape=True,
        loader=jinja2.PackageLoader(_PACKAGE),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    drawings = ("bar", "squares", "dots", "confidence")
    made.globals |= {name: _drawn(getattr(charts, name)) for name in drawings}
    made.globals |= {
        "LABELS": LABELS,
        "FACT_LABELS": FACT_LABELS,
        "labels_in": _labels_in,
        "ARMS": ARMS,
        "IN_WORDS": IN_WORDS,
        "VERDICTS": get_args(FactVerdict),
        "verdict_counts": _verdict_counts,
        "listed": charts.listed,
        "steps_of": charts.steps_of,
        "money": money,
    }
    made.filters |= {
        "shown": shown,
        "lang": lang,
        "status": status_words,
        "pretty": _pretty,
        "slug": charts.slug,
    }
    return made


def _drawn(draw: Callable[..., str]) -> Callable[..., Markup]:
    """Return a function whose SVG is not escaped again; it escapes its own labels."""
    return lambda *args, **named: Markup(draw(*args, **named))  # noqa: S704 -- made of our shapes


def _labels_in(by_arm: Mapping[str, Mapping[SampleLabel, int]]) -> list[SampleLabel]:
    """Return the labels that any sample has, in their order."""
    return [label for label in LABELS if any(counts.get(label) for counts in by_arm.values())]


def _verdict_counts(facts: Sequence[FactView]) -> dict[str, int]:
    return Counter(fact.verdict for fact in facts)


def _pretty(value: object) -> str:
    return shown(strict_json.dumps(value, ensure_ascii=False, indent=2))


def render(template: str, **values: object) -> str:
    """Return a page, or a part of one, from its template.

    Raises:
        CorruptRunError: the run lacks something that every run has.
    """
    try:
        return environment().get_template(template).render(**values)
    except (jinja2.UndefinedError, TypeError, ValueError, KeyError, AttributeError) as err:
        raise CorruptRunError(
            f"The files of this run cannot be shown ({type(err).__name__}: {err}); ucm verify says "
            "what is wrong with them."
        ) from err


def standalone(template: str, **values: object) -> str:
    """Return a page in one file, with its style, its script and its policy."""
    style, script = asset("style.css"), asset("report.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    own = {
        "policy": policy,
        "style": Markup(style),  # noqa: S704 -- a file of ours
        "script": Markup(script),  # noqa: S704 -- a file of ours
    }
    return render(template, **own, **values)


@cache
def asset(name: str) -> str:
    """Return a static file of the pages, such as the style."""
    return resources.files(_PACKAGE).joinpath("static", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"sha256-{digest}"


def prepare() -> None:
    """Load everything that a report needs, so that a later change of the installation cannot break it."""
    for name in ("report.html", "parts.html", "sections.html"):
        environment().get_template(name)
    for name in ("style.css", "report.js"):
        asset(name)


def report_html(files: RunFiles) -> str:
    """Return the report of a run as one file.

    Raises:
        CorruptRunError: a file of the run is malformed.
    """
    view: RunView = run_view(files)
    return standalone("report.html", run=view)
