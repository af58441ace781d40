"""Running a whole audit over the wire, and looking at everything it left behind."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.provider import Ask, ScriptedTarget
from tests.support import Watcher, make_config, write_config
from uncensoring_chinese_models.config.loading import load_config
from uncensoring_chinese_models.errors import AuditToolError
from uncensoring_chinese_models.models.canary import OPENING, QUESTION
from uncensoring_chinese_models.runner.run import run_job
from uncensoring_chinese_models.runs.journal import Journal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.provider import Provider, Request

KEY = "sk-or-v1-5ec4e75ec4e75ec4e75ec4e7"
KEY_VARIABLE = "WIRE_TEST_KEY"
PINNED = {"only": ["deepinfra"], "allow_fallbacks": False}
PRICE = {"input_usd_per_million": 1.0, "output_usd_per_million": 3.0}
FOUR_ATTEMPTS = {"max_attempts": 4, "first_wait_s": 0}
HANGING = ("drip_forever", "hang_after_headers", "hang_before_headers", "hang_mid_body")
"""The faults that never end by themselves."""


@dataclass
class Ran:
    """A run that is over, however it ended."""

    files: Path
    """Everything that was written lies below."""
    watcher: Watcher
    summary: dict[str, Any] = field(default_factory=dict)
    error: AuditToolError | None = None
    seconds: float = 0.0

    @property
    def folder(self) -> Path:
        """The run directory."""
        assert self.watcher.folder is not None
        return self.watcher.folder

    @property
    def status(self) -> str:
        """How it ended: a status, or the name of what was raised."""
        return str(self.summary["status"]) if self.error is None else type(self.error).__name__

    @property
    def failures_told(self) -> list[str]:
        """The lines on the screen that tell of failed attempts."""
        return [text for text in self.watcher.notices if not text.startswith("warning: ")]

    @property
    def warnings(self) -> list[str]:
        """The lines on the screen that warn."""
        return [text for text in self.watcher.notices if text.startswith("warning: ")]

    def records(self, kind: str, role: str = "") -> list[dict[str, Any]]:
        """Return the journal's records of one type, of one side or of both."""
        lines = (self.folder / "journal.jsonl").read_bytes().splitlines()
        every = [json.loads(line) for line in lines]
        return [each for each in every if each["type"] == kind and role in each.get("call", "")]

    def errors(self, role: str = "") -> list[dict[str, Any]]:
        """Return the errors of the attempts that failed, in their order."""
        return [each["error"] for each in self.records("attempt", role) if "error" in each]

    def samples(self, iteration: int = 1) -> list[dict[str, Any]]:
        """Return the stored samples of one iteration."""
        path = self.folder / f"audited_responses/{iteration:03d}.json"
        samples: list[dict[str, Any]] = json.loads(path.read_bytes())["samples"]
        return samples

    def turns(self) -> list[dict[str, Any]]:
        """Return the stored turns of the auditor."""
        paths = sorted((self.folder / "auditor_turns").glob("[0-9][0-9][0-9].json"))
        return [json.loads(path.read_bytes()) for path in paths]

    def holds(self, text: str) -> list[str]:
        """Name the files and lines on the screen in which this text stands."""
        paths = [path for path in self.files.rglob("*") if path.is_file()]
        found = [path.name for path in paths if text.encode() in path.read_bytes()]
        return found + [line for line in (*self.watcher.notices, str(self.error)) if text in line]


def run_over(
    folder: Path, provider: Provider, *, resume: Path | None = None, **changes: Any
) -> Ran:
    """Run one iteration against the provider, unless the changes say otherwise."""
    settings = {"output_dir": str(folder / "runs"), "max_iterations": 1, "retries": FOUR_ATTEMPTS}
    config = make_config(provider, **{**settings, **changes})
    ran = Ran(folder, Watcher())
    started = time.monotonic()
    try:
        loaded = load_config(write_config(folder, config))
        ran.summary = run_job(loaded, ran.watcher, resume=resume).summary
    except AuditToolError as error:
        ran.error = error
    ran.seconds = time.monotonic() - started
    return ran


def endpoint(provider: Provider, /, **changes: Any) -> dict[str, Any]:
    """Return an endpoint whose price is known, so that no list of models is asked for."""
    return {"preset": "openrouter", "base_url": provider.base_url, "price": PRICE, **changes}


def both(provider: Provider, /, **changes: Any) -> dict[str, Any]:
    """Return both endpoints, the target's provider pinned."""
    return {
        "auditing_endpoint": endpoint(provider, **changes),
        "audited_endpoint": endpoint(provider, **{"provider": PINNED, **changes}),
    }


def is_target(body: dict[str, Any]) -> bool:
    """Tell the target's chats from the auditor's: they have no system message."""
    return all(message["role"] != "system" for message in body.get("messages", []))


def is_canary(body: dict[str, Any]) -> bool:
    """Tell the harmless prompts that check a route from all others."""
    return body.get("prompt") == OPENING or QUESTION in str(body.get("messages"))


def canaries(provider: Provider, role: str = "") -> list[Request]:
    """Return the harmless prompts of one side, or of both."""
    made = [each for each in provider.requests if each.method == "POST" and is_canary(each.body)]
    return [each for each in made if role in ("", _role(each.body["model"]))]


def _role(model: str) -> str:
    return "auditor" if model.startswith("anthropic/") else "target"


def asked(provider: Provider, role: str) -> list[Request]:
    """Return the requests of one side, but for the harmless prompts."""
    made = [
        each for each in provider.requests if each.method == "POST" and not is_canary(each.body)
    ]
    return [each for each in made if is_target(each.body) == (role == "target")]


def written_by_target(request: Request) -> str:
    """Return what the scripted target writes in answer to a request."""
    said = ScriptedTarget()(Ask(request.api, request.body))
    assert isinstance(said, str)
    return said


def opens_again(folder: Path) -> bool:
    """Tell whether the journal reads back whole."""
    journal = Journal.open(folder / "journal.jsonl", lambda: "2026-01-02T03:04:05Z")
    journal.close()
    return journal.cut_bytes == 0
