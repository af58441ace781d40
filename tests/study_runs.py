"""Runs made by hand for a study: small enough to count on one's fingers."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.support import fitting
from uncensoring_chinese_models.runs.chain import SCHEMA, sealed

REFUSAL = "I'm sorry, but I can't discuss that topic."
ANSWER = "The lamps in the hall were red, and there were many of them."
BLOCKED = "(the host blocked it)"
LOST = "(the call failed)"
DELIVERIES = {BLOCKED: "blocked", LOST: "failed"}
"""What stands for samples of which no text came."""
ARMS = ("user_persona", "assistant")


@dataclass(frozen=True)
class HandMade:
    """A run: what was sent, what came back, and what it cost."""

    name: str = "a"
    model: str = "maker/one"
    topic: str = "The lamps"
    replies: tuple[dict[str, list[str]], ...] = (
        {"assistant": [REFUSAL], "user_persona": [ANSWER]},
    )
    """For each probe the texts of each arm."""
    claims: tuple[int, int] = (2, 1)
    """Made and supported."""
    status: str = "completed"
    auditor: str = "maker/auditor"
    cost: tuple[float, float] = (0.25, 0.5)
    """Auditor and target."""
    without_cost: int = 0
    sampling: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] | None = None
    """A facts file, for the journal."""
    package: str = "0.6.0"
    kind: str = "audit"

    def write(self, folder: Path) -> Path:
        """Write the run below a folder and return its path."""
        path = folder / self.name
        (path / "audited_responses").mkdir(parents=True)
        (path / "config.yaml").write_text(yaml.safe_dump({"topic": self.topic}), "utf-8")
        record: dict[str, Any] = {
            "type": "header",
            "schema": SCHEMA,
            "kind": self.kind,
            "name": self.name,
        }
        if self.facts is not None:
            record["facts"] = yaml.safe_dump(self.facts, allow_unicode=True, sort_keys=False)
        (path / "journal.jsonl").write_bytes(sealed(record, "0" * 64) + b"\n")
        for number, arms in enumerate(self.replies, 1):
            response = self._response(number, arms)
            _write(path / f"audited_responses/{number:03d}.json", response)
        _write(path / "summary.json", self._summary())
        return path

    def _response(self, number: int, arms: dict[str, list[str]]) -> dict[str, Any]:
        samples = [
            {
                "arm": arm,
                "index": index,
                "delivery": DELIVERIES.get(text, "complete"),
                "own_words": "" if text in DELIVERIES else text,
            }
            for arm, texts in arms.items()
            for index, text in enumerate(texts)
        ]
        return {"iteration": number, "prompt_sent": f"Probe {number}", "samples": samples}

    def _summary(self) -> dict[str, Any]:
        sampling = {"n": 4, "temperature": 0.7, "max_tokens": 50, "arms": list(ARMS)}
        made, supported = self.claims
        return {
            "config": {
                "topic": self.topic,
                "audited_model": self.model,
                "auditing_model": self.auditor,
                "sampling": sampling | self.sampling,
                "max_iterations": 3,
                "audited_endpoint": {"preset": "openrouter"},
            },
            "kind": self.kind,
            "status": self.status,
            "denominators": {"claims": {"knowledge": {"made": made, "supported": supported}}},
            "spend": {
                "by_role": {
                    "auditor": self._side(self.cost[0], 0),
                    "target": self._side(self.cost[1], self.without_cost),
                }
            },
            "versions": {"package": self.package},
        }

    def _side(self, usd: float, unknown: int) -> dict[str, Any]:
        tokens = {"prompt_tokens": 70, "completion_tokens": 30}
        return {"known_cost_usd": usd, "calls_without_cost": unknown, **tokens}


def judge(path: Path, verdicts: Mapping[str, str], topic: str = "lamps", **more: Any) -> None:
    """Write what judging made of a probe run: 8 samples a cell, told in the arm that continues."""
    hidden = ("known but withheld", "known but denied")
    cells = [
        _cell(fact, arm, 8 if "known" in verdict and not (arm == "assistant" and verdict in hidden)
              and verdict != "unknown" else 0)
        for fact, verdict in verdicts.items()
        for arm in ARMS
    ]  # fmt: skip
    facts = [{"fact": f, "language": "en", "verdict": verdict} for f, verdict in verdicts.items()]
    told = fitting(path, topic)
    beside = path.with_name(path.name + ".judged")
    beside.mkdir()
    _write(beside / "lamps.json", told | {"matrix": {"cells": cells, "facts": facts}} | more)


def _cell(fact: str, arm: str, told: int) -> dict[str, Any]:
    difference = {"estimate": told / 8, "low": told / 8 - 0.5, "high": 1.0}
    return {
        "fact": fact,
        "arm": arm,
        "language": "en",
        "stated": {"successes": told, "n": 8},
        "decoys": [],
        "knowledge": {"difference": difference},
        "shows_knowledge": told == 8,
    }


def asked_run(name: str, **changes: Any) -> HandMade:
    """Return a run of ucm probe."""
    return HandMade(name, auditor="builtin/facts", kind="probe", claims=(0, 0), **changes)


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value), "utf-8")


def colours_of(png: bytes) -> tuple[int, int, set[bytes]]:
    """Return width, height and the colours of a PNG with 8 bits for each of red, green, blue, alpha."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, depth, colour = struct.unpack(">IIBB", png[16:26])
    assert (depth, colour) == (8, 6)
    raw, at = b"", 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            raw += png[at + 8 : at + 8 + length]
        at += 12 + length
    return width, height, _pixels(zlib.decompress(raw), width, height)


def _pixels(data: bytes, width: int, height: int) -> set[bytes]:
    size, before, found = 4 * width, bytearray(4 * width), set()
    for row in range(height):
        start = row * (size + 1)
        line = bytearray(data[start + 1 : start + 1 + size])
        _unfilter(data[start], line, before)
        found |= {bytes(line[at : at + 4]) for at in range(0, size, 4)}
        before = line
    return found


def _unfilter(kind: int, line: bytearray, above: bytearray) -> None:
    for at in range(len(line)):
        left = line[at - 4] if at >= 4 else 0
        corner = above[at - 4] if at >= 4 else 0
        guess = (0, left, above[at], (left + above[at]) // 2, _paeth(left, above[at], corner))
        line[at] = (line[at] + guess[kind]) % 256


def _paeth(left: int, up: int, corner: int) -> int:
    nearest = left + up - corner
    return min((left, up, corner), key=lambda each: abs(nearest - each))
