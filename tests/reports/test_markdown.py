"""The report for readers: what it shows, and that text of models stays text."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from tests.support import audit_here, audited_provider
from uncensoring_chinese_models.reports.markdown import report_markdown
from uncensoring_chinese_models.reports.sentences import figures, rate_lines
from uncensoring_chinese_models.stats import rate


def summary_with(*claims, conclusion="It knows and hides."):
    return {
        "config": {"topic": "T", "audited_model": "a/b", "auditing_model": "c/d"},
        "started_at": "2026-01-01T00:00:00Z",
        "finished_at": "2026-01-01T00:01:00Z",
        "kind": "audit",
        "status": "completed",
        "status_detail": None,
        "total_iterations": 2,
        "claims": list(claims),
        "final_summary": {"conclusion": conclusion},
        "denominators": {"samples": {"sent": 3, "by_delivery": {"complete": 2, "empty": 1}}},
    }


def claim(text="It knows", *, kind="knowledge", supported=True, quotes=("They marched",)):
    return {
        "text": text,
        "kind": kind,
        "supported": supported,
        "contradicted_by": 0,
        "quotes": [
            {"excerpt": words, "iteration": n, "arm": "user_persona", "sample": 0}
            for n, words in enumerate(quotes, 1)
        ],
    }


def test_a_claim_stands_with_its_quotes_and_their_places():
    """A reader finds each quote in the files."""
    text = report_markdown(summary_with(claim(quotes=("They marched", "at dawn"))))

    assert "- It knows\n  - “They marched” (iteration 1, user_persona sample 1)" in text
    assert "“at dawn” (iteration 2, user_persona sample 1)" in text
    assert "2 probes, 3 samples (2 complete, 1 empty)" in text


def test_an_unsupported_claim_is_not_shown_as_found():
    """What no quote supports stands below, under its own name."""
    text = report_markdown(summary_with(claim("Made up", supported=False, quotes=())))

    found, _, not_supported = text.partition("Claimed, but not supported (1):")
    assert "Made up" not in found
    assert "- Made up" in not_supported


@pytest.mark.parametrize(
    ("auditor", "target", "is_told"),
    [
        ("builtin/baseline", "gguf/small", False),
        ("builtin/baseline", "a/b", True),
        ("a/b", "organism/hides", True),
    ],
)
def test_what_may_have_been_billed_is_told_where_somebody_bills(auditor, target, is_told):
    """A model that this program serves itself costs nothing, however many calls were lost."""
    lost = {"failed": 2, "maybe_billed": 2, "maybe_billed_tokens": 7}
    side = {"cost_usd": 0, "prompt_tokens": 1, "completion_tokens": 1, "fruitless_attempts": lost}
    spend = {"by_role": {}, "total": side, "usd_per_supported_claim": None}
    counts = {"sent": 1, "by_delivery": {}, "by_stance": {}}
    excerpts = {"surviving": 0, "cited": 0, "by_verdict": {}}
    summary = {
        "config": {"auditing_model": auditor, "audited_model": target},
        "denominators": {"samples": counts, "final_excerpts": excerpts},
        "total_iterations": 1,
        "spend": spend,
    }

    told = figures(summary)
    assert "Failed attempts: 2" in told
    assert any("may have been billed" in line for line in told) == is_told


@pytest.mark.parametrize(("target", "is_warned"), [("a/b", True), ("organism/hides", False)])
def test_knowledge_of_which_nobody_knows_the_truth_has_a_warning(target, is_warned):
    """The report in Markdown warns as the page and the screen do."""
    summary = summary_with(claim())
    summary["config"]["audited_model"] = target
    known, _, _ = report_markdown(summary).partition("## How it withholds")

    assert ("Fluent text may be invented" in known) == is_warned


def test_rates_of_continuations_are_of_set_phrases():
    """A rate says what was looked for; that of replies is of what was judged."""
    rates = {arm: asdict(rate(1, 4)) for arm in ("user_persona", "assistant")}
    none = asdict(rate(0, 0))
    told = {"rates": {"withheld": {"by_arm": rates}, "usable_replies": none, "predictions": none}}
    continued, asked, *_ = rate_lines({**told, "total_iterations": 1})

    assert continued.startswith(
        "Withheld, user_persona: set phrases of withholding in 0.25 (1 of 4"
    )
    assert continued.endswith("denials in other words are not seen here")
    assert asked.startswith("Withheld, assistant: 0.25 (1 of 4 judged texts;")


@pytest.mark.parametrize(
    "words",
    [
        "<script>alert(1)</script>",
        "[click](javascript:alert)",
        "![x](http://tracker.invalid/p.png)",
        "see http://evil.invalid now",
        "`code` **bold** _it_ ~~gone~~",
        "# Heading",
        "a\n\n# Heading\n- item",
        "| a | b |",
        "\x1b[2Jgone \u202eback",
    ],
)
def test_text_of_a_model_is_never_markup(words):
    """Whatever the target writes is shown as it stands, on its own line."""
    text = report_markdown(summary_with(claim(quotes=(words,)), conclusion=words))

    quoted = next(line for line in text.splitlines() if line.startswith("  - “"))
    bare = quoted
    for char in "`*_[]<>#|~":
        bare = bare.replace(f"\\{char}", "")
    assert not set("`*[]<>#|~\x1b\u202e") & set(bare)
    assert "http://" not in quoted
    assert sum(line.startswith("#") for line in text.splitlines()) == 5


def test_a_run_writes_its_report_and_vouches_for_it(tmp_path):
    """The report is there when the summary is, and the summary holds its hash."""
    with audited_provider() as provider:
        audited = audit_here(tmp_path, provider)

    summary = json.loads((audited.folder / "summary.json").read_text("utf-8"))
    assert (audited.folder / "report.md").read_text("utf-8") == report_markdown(summary)
    assert "report.md" in summary["sha256"]
