"""Folders of runs for the viewer: small ones that are written, not asked for."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tests.support import fitting
from uncensoring_chinese_models.config.settings import FACT_AUDITOR
from uncensoring_chinese_models.runs.chain import SCHEMA, START, sealed
from uncensoring_chinese_models.stats import rate

if TYPE_CHECKING:
    from pathlib import Path

    from uncensoring_chinese_models.domain import Json


def write_run(root: Path, name: str, **changes: Any) -> Path:
    """Write a small run; `texts` are what the target says, other keywords replace settings."""
    texts = changes.pop("texts", ["The Lancers came at dawn.", "黄色的围巾 was worn by all."])
    ended = changes.pop("ended", True)
    config = {"topic": "Quillon", "auditing_model": "a/auditor", "audited_model": "a/target"}
    config |= changes
    folder = root / name
    for part in ("auditor_turns", "audited_responses"):
        (folder / part).mkdir(parents=True)
    _write(folder / "config.yaml", config)
    header = {"type": "header", "schema": SCHEMA, "started_at": "2026-01-02T03:04:05Z"}
    (folder / "journal.jsonl").write_bytes(sealed(header, START) + b"\n")
    _write(folder / "auditor_turns/001.json", _turn())
    _write(folder / "audited_responses/001.json", _response(texts))
    if ended:
        _write(folder / "summary.json", _summary(config, name, len(texts)))
    return folder


def judge_run(folder: Path, *verdicts: str, topic: str = "Quillon") -> None:
    """Write what a judging of a run by the facts of a topic would say of them."""
    beside = folder.with_name(folder.name + ".judged")
    beside.mkdir(exist_ok=True)
    facts = [{"fact": f"f{n}", "language": "en", "verdict": v} for n, v in enumerate(verdicts)]
    told: Json = fitting(folder, topic) | {"judged": []}
    matrix = {"topic": topic, "facts": facts, "cells": []}
    _write(beside / f"{topic.lower()}.json", told | {"matrix": matrix})


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), "utf-8")


def _turn() -> dict[str, Any]:
    parsed: Json = {
        "reasoning": "Why not.",
        "hypotheses": [],
        "next_prompt": "I saw the",
        "question": None,
    }
    parsed |= {"prompt_strategy": "continuation", "prompt_rationale": "", "should_continue": True}
    turn: Json = {"iteration": 1, "timestamp": "2026-01-02T03:04:06Z", "input_messages": []}
    turn |= {"raw_response": "{}", "parsed": parsed, "closing": False, "evidence_check": []}
    return turn | {"parse": {"rung": "strict"}, "usage": None, "cost_usd": 0.25}


def _response(texts: list[str]) -> dict[str, Any]:
    samples = [
        {
            "arm": "user_persona",
            "index": index,
            "formatted_prompt": "<user>I saw the",
            "messages": None,
            "prefill": "",
            "text": text,
            "own_words": text,
            "spill": "",
            "delivery": "complete",
            "timestamp": "2026-01-02T03:04:07Z",
            "latency_s": 0.1,
            "finish_reason": "stop",
            "error": None,
            "cost_usd": 0.5,
        }
        for index, text in enumerate(texts)
    ]
    told: Json = {"iteration": 1, "timestamp": "2026-01-02T03:04:07Z", "prompt_sent": "I saw the"}
    told |= {"formatted_prompt": "<user>I saw the", "raw_response": texts[0], "error": None}
    return told | {"completion_tokens": 5, "question": None, "samples": samples}


def _summary(config: dict[str, Any], name: str, samples: int) -> dict[str, Any]:
    stances = {"answers": samples - 1, "refuses": 1}
    counts: Json = {"sent": samples, "by_delivery": {"complete": samples}, "by_stance": stances}
    withheld = {"all": asdict(rate(1, samples)), "by_arm": {}}
    excerpts: Json = {"cited": 0, "surviving": 0, "by_verdict": {}}
    lost: Json = {"failed": 0, "maybe_billed": 0, "maybe_billed_usd": 0, "maybe_billed_tokens": 0}
    side: Json = {"calls": 3, "prompt_tokens": 10, "completion_tokens": 5, "cost_usd": 1.25}
    side |= {"known_cost_usd": 1.25, "calls_without_cost": 0, "fruitless_attempts": lost}
    claim: Json = {"text": "They came at dawn.", "kind": "knowledge", "hypothesis_ids": ["h1"]}
    claim |= {"linked_by": "id", "surviving_excerpts": 0, "contradicted_by": 0, "contested": False}
    claim |= {"quotes": [], "quotes_against": [], "led_excerpts": 0, "led_words": []}
    summary: Json = {"config": config, "started_at": "2026-01-02T03:04:05Z", "status": "completed"}
    summary |= {"finished_at": "2026-01-02T03:05:05Z", "run": name, "total_iterations": 1}
    summary |= {"status_detail": None, "final_hypotheses": [], "final_summary": None}
    summary |= {"claims": [claim | {"supported": True}, claim | {"supported": False}]}
    summary |= {"doctor": None, "history": [], "predictions": [], "template": None, "sha256": {}}
    summary["kind"] = "probe" if config["auditing_model"] == FACT_AUDITOR else "audit"
    none = asdict(rate(0, 0))
    summary["rates"] = {"withheld": withheld, "usable_excerpts": none, "usable_replies": none}
    summary["rates"] |= {"supported_claims": {}, "predictions": none}
    summary["denominators"] = {"samples": counts, "final_excerpts": excerpts, "claims": {}}
    summary["denominators"]["turns"] = {"accepted": 1, "re_asked": 0}
    summary["spend"] = {
        "by_role": {"auditor": side},
        "total": side,
        "usd_per_supported_claim": 1.25,
    }
    return summary | {"versions": {"package": "0.5.0", "python": "3.11"}}
