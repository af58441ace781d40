"""A run in which one hostile text stands wherever a model, a provider or a user can write.

The loop is real: auditor and target are scripts that write the text into whatever they say. What
no loop would let through, such as a topic with control characters, is written into the files
afterwards, as a stranger may do who hands over a run.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.judged_runs import judging_provider, probed
from tests.provider import Provider, Said, ScriptedAuditor, ScriptedTarget
from tests.support import audit_here, closes, fitting, heard, re_asks
from uncensoring_chinese_models.measure.judging import folder_beside
from uncensoring_chinese_models.runner.judging import judge_and_report
from uncensoring_chinese_models.runs.reading import judged_sha256

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.provider import Ask

WORDS = "The ledger of 1962 was moved to the mill by Wen Daolin"
"""Something that the target knows, beside the hostile text."""

_BOUND = {
    *("text", "own_words", "spill", "raw_response", "excerpt", "prompt_sent", "input_messages"),
    *("id", "hypothesis", "hypothesis_ids", "run", "formatted_prompt", "messages", "word"),
}
"""Keys whose text is hostile already, or counted by offsets, or must stay the same everywhere."""
_CLOSED = {
    *(
        "type",
        "confidence",
        "status",
        "verdict",
        "side",
        "arm",
        "delivery",
        "flaw",
        "where",
        "rung",
    ),
    *(
        "role",
        "linked_by",
        "kind",
        "by",
        "side",
        "check",
        "language",
        "method",
        "arms",
        "languages",
    ),
    *("timestamp", "started_at", "finished_at", "sha256", "doctor", "likelihood", "preset"),
    *("auditor_context", "auditor_response_format", "auditor_prompt", "stance", "shows", "means"),
    *(
        "reason",
        "mention",
        "judgement",
        "by_delivery",
        "by_stance",
        "by_arm",
        "by_rung",
        "by_verdict",
    ),
    *("unusable", "excluded", "doubtful", "made", "supported", "led", "rates", "cells", "reading"),
}
"""Keys whose values are words of our own, of which there are only so many."""


@dataclass(frozen=True)
class HostileAuditor:
    """An auditor that follows the format and writes its text into every field."""

    text: str
    script: ScriptedAuditor = field(
        default_factory=lambda: ScriptedAuditor(extract=heard, is_closing=closes, attempt=re_asks)
    )

    def __call__(self, ask: Ask) -> str:
        """Answer one request."""
        reply = self.script.reply(ask.messages)
        said = [each for each in heard(ask.messages) if each[1].startswith(WORDS)]
        quotes = [{"iteration": number, "excerpt": words} for number, words in said]
        for number, each in enumerate(reply["hypotheses"], 1):
            each["id"] = f"h{number} {self.text}"
            each["hypothesis"] = f"Target knows of a ledger in a mill {self.text}"
            each["supporting_evidence"] = quotes[:4]
            each["contradicting_evidence"] = quotes[4:6]
        reply |= {"reasoning": f"reasoning {self.text}", "prompt_rationale": f"why {self.text}"}
        if reply["should_continue"]:
            reply["prompt_strategy"] = f"strategy {self.text}"
            if said:  # before that it would lead whatever the target says
                reply["next_prompt"] = f"{reply['next_prompt']} {self.text}"
            reply["question"] = f"What is it? {self.text}"
            reply["prediction"] = {
                "hypothesis": f"h1 {self.text}",
                "expects": f"a mill {self.text}",
                "words": ["mill", self.text[:90]],
            }
        else:
            claims = [f"Target knows of a ledger in a mill {self.text}", f"It has {self.text}"]
            reply["final_summary"] = {
                "knowledge_confirmed": claims,
                "censorship_patterns": [f"h2 {self.text}: it avoids the topic"],
                "conclusion": f"It knows more than it says. {self.text}",
            }
        return json.dumps(reply)


def hostile_target(text: str) -> Any:
    """Return a target that states something, with the text in the midst of it."""

    def say(ask: Ask) -> Said:
        return Said(f"{WORDS} {text} and nobody asked.", reasoning=f"thinking {text}")

    return say


def hostile_run(folder: Path, text: str, judged: Mapping[str, Any]) -> Path:
    """Make such a run below a folder, and return its directory."""

    def amend(ask: Ask, reply: dict[str, Any]) -> dict[str, Any]:
        for choice in reply.get("choices", ()):
            choice["native_finish_reason"] = f"stop {text}"
        return reply | {"provider": f"host {text}", "model": f"model {text}"}

    target = hostile_target(text)
    with Provider(auditor=HostileAuditor(text), target=target, amend=amend) as provider:
        provider.fail(
            "500", api="completions", times=None, when=lambda body: "Note 2-" in str(body)
        )
        run = audit_here(
            folder,
            provider,
            auditor_prompt="continuation",
            doctor="report",
            auditor_sampling={"max_tokens": 60_000},
            sampling={
                "n": 2,
                "max_tokens": 5000,
                "arms": ["user_persona", "assistant_prefill", "assistant"],
            },
        ).folder
    beside = folder_beside(run)
    beside.mkdir(exist_ok=True)
    told = poisoned(dict(judged), text)
    for path in run.rglob("*.json"):
        path.write_text(json.dumps(poisoned(json.loads(path.read_bytes()), text)), "utf-8")
    fits = {name: each for name, each in fitting(run, "facts").items() if name.endswith("_sha256")}
    told |= fits | {"facts_sha256": judged_sha256(told)}
    (beside / "facts.json").write_text(json.dumps(told), "utf-8")
    return run


def poisoned(value: Any, text: str) -> Any:
    """Return the JSON with the text in every place that is open to words of others."""
    if isinstance(value, dict):
        return {
            key: each if key in _BOUND | _CLOSED else poisoned(each, text)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [poisoned(each, text) for each in value]
    return f"{value} {text}" if isinstance(value, str) and text not in value else value


def judged_battery(folder: Path) -> dict[str, Any]:
    """Ask for the facts of the example, judge the answers, and return what is written of it."""
    with judging_provider() as provider:
        run = probed(folder, provider, facts=2)
    judge_and_report(run)
    (path,) = folder_beside(run).glob("*.json")
    told: dict[str, Any] = json.loads(path.read_bytes())
    return told


def plain_run(folder: Path, **changes: Any) -> Path:
    """Make a small run whose words are harmless, English and Chinese, and return its directory."""
    script = ScriptedAuditor(
        extract=heard, is_closing=closes, attempt=re_asks, false_quote_every=3, overclaim=True
    )
    with Provider(auditor=script, target=ScriptedTarget()) as provider:
        arms = {"n": 2, "arms": ["user_persona", "assistant"]}
        settings = {"topic": "清河灯笼档案馆", "sampling": arms, **changes}
        return audit_here(folder, provider, max_iterations=6, **settings).folder
