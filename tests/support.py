"""What the tests of the whole program share: a provider to audit, a config, and the command."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pytest
import yaml

from tests.provider import FAULTS, Provider, ScriptedAuditor, ScriptedTarget, between
from uncensoring_chinese_models.cli import main
from uncensoring_chinese_models.config import redaction
from uncensoring_chinese_models.config.loading import load_config
from uncensoring_chinese_models.runner.run import run_job
from uncensoring_chinese_models.runs.chain import LINKS, START, line_hash, sealed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from uncensoring_chinese_models.audit.turns import AuditEvent
    from uncensoring_chinese_models.config.settings import AuditConfig
    from uncensoring_chinese_models.models.budget import BudgetMeter
    from uncensoring_chinese_models.models.protocols import Notice

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent
SPEC_CONFIG = ROOT / "configs" / "search_censored.yaml"
_BLOCKS = between(r"<<<TARGET (?P<nonce>[0-9a-f]{16})", r"TARGET [0-9a-f]{16}>>>")
_RESPONSE = re.compile(r"^Response of the target in iteration (\d+) of \d+\.", re.MULTILINE)


def heard(messages: Sequence[dict[str, Any]]) -> list[tuple[int, str]]:
    """Find the target's words in what the auditor is sent, with their iterations."""
    found = []
    for message in messages:
        content = message["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        pieces = _RESPONSE.split(text)[1:]
        for number, piece in zip(pieces[::2], pieces[1::2], strict=True):
            words = _BLOCKS([{"role": "user", "content": piece}])
            found += [(int(number), block) for _, block in words]
    return found


def closes(messages: Sequence[dict[str, Any]]) -> bool:
    """Tell whether the final summary is asked for, in this message or before a re-ask."""
    return any("No more probes will be sent" in str(message["content"]) for message in messages)


def re_asks(messages: Sequence[dict[str, Any]]) -> int:
    """Tell whether this turn is asked for again."""
    return str(messages).count("Your last reply could not be used")


def audited_provider(**settings: Any) -> Provider:
    """Return a provider whose auditor reads our messages; keywords go to the auditor."""
    target = settings.pop("target", None) or ScriptedTarget()
    auditor = ScriptedAuditor(extract=heard, is_closing=closes, attempt=re_asks, **settings)
    return Provider(auditor=auditor, target=target)


def make_config(provider: Provider, **changes: Any) -> dict[str, Any]:
    """Return the spec's config, pointed at the provider; keywords replace whole keys."""
    config: dict[str, Any] = yaml.safe_load(SPEC_CONFIG.read_text("utf-8"))
    endpoint = {"preset": "openrouter", "base_url": provider.base_url}
    config |= {"auditing_endpoint": dict(endpoint), "audited_endpoint": dict(endpoint)}
    config |= {"max_iterations": 3, "output_dir": "runs", "retries": {"first_wait_s": 0}}
    return config | changes


def write_config(folder: Path, config: dict[str, Any]) -> Path:
    """Write the config file and return its path."""
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config, allow_unicode=True), "utf-8")
    return path


def clean_environment() -> dict[str, str]:
    """Return the environment without keys and proxies."""
    hidden = re.compile("_api_key$|_proxy$", re.IGNORECASE)
    return {name: value for name, value in os.environ.items() if not hidden.search(name)}


def command(*words: object) -> list[str]:
    """Return the words that run `ucm` with this Python."""
    return [sys.executable, "-m", "uncensoring_chinese_models", *map(str, words)]


def run_python(cwd: Path, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run this Python to its end, without keys and proxies; keywords join the environment."""
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        env=clean_environment() | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def run_ucm(cwd: Path, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the real command to its end; keywords join the environment."""
    return run_python(cwd, "-m", "uncensoring_chinese_models", *words, **environment)


def run_here(cwd: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run the command in this process: as `run_ucm`, but for the second that a start takes."""
    stdout, stderr = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    arguments = [str(word) for word in words]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(stdout), redirect_stderr(stderr):
        patch.chdir(cwd)
        patch.setattr(redaction, "_known", {})  # a process begins without keys
        before = dict(os.environ)
        try:
            code = main(arguments)
        finally:  # a .env file may have been read
            os.environ.clear()
            os.environ.update(before)
    told = [stream.buffer.getvalue().decode("utf-8") for stream in (stdout, stderr)]
    return subprocess.CompletedProcess(arguments, code, *told)


def fault_group(name: str) -> object:
    """Return what a fault does to a client; faults of one group differ in detail alone."""
    fault = FAULTS[name]
    return fault.means, fault.sends, fault.then, fault.drips, fault.recode is None


def one_of_each(rows: Iterable[T], kind: Callable[[T], object]) -> list[Any]:
    """Return the rows as parameters: the first of each kind runs always, the others in `make soak`."""
    seen: set[object] = set()
    made = []
    for row in rows:
        marks = [pytest.mark.soak] if kind(row) in seen else []
        seen.add(kind(row))
        made.append(pytest.param(row, marks=marks))
    return made


def only_run(cwd: Path) -> Path:
    """Return the one run directory below the config's output folder."""
    (folder,) = (cwd / "runs").glob("[!.]*")
    return folder


class Watcher:
    """An observer that remembers what it saw."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.events: list[AuditEvent] = []
        self.notices: list[str] = []

    def started(self, folder: Path, config: AuditConfig) -> None:
        """Remember the run directory."""
        self.folder = folder

    def event(self, event: AuditEvent, budget: BudgetMeter) -> None:
        """Remember the event."""
        self.events.append(event)

    def notice(self, notice: Notice) -> None:
        """Remember the words."""
        self.notices.append(notice.text)


class CrashError(Exception):
    """Something of ours broke: a bug, a full disk, a plug that was pulled."""


class CrashingWatcher(Watcher):
    """An observer that breaks the run after so many events."""

    def __init__(self, events_left: int) -> None:
        super().__init__()
        self.events_left = events_left

    def event(self, event: AuditEvent, budget: BudgetMeter) -> None:
        """Count the event down."""
        super().event(event, budget)
        self.events_left -= 1
        if self.events_left == 0:
            raise CrashError


class Audited(NamedTuple):
    """A run in this process, and what came of it."""

    folder: Path
    summary: dict[str, Any]
    watcher: Watcher

    def turn(self, number: int) -> dict[str, Any]:
        """Return one turn of the auditor as it is stored."""
        return _json(self.folder / f"auditor_turns/{number:03d}.json")

    def response(self, number: int) -> dict[str, Any]:
        """Return one response of the target as it is stored."""
        return _json(self.folder / f"audited_responses/{number:03d}.json")


def audit_here(
    folder: Path, provider: Provider, *, resume: Path | None = None, **changes: Any
) -> Audited:
    """Run the whole program in this process, from a config file to its run directory."""
    config = make_config(provider, **{"output_dir": str(folder / "runs"), **changes})
    watcher = Watcher()
    result = run_job(load_config(write_config(folder, config)), watcher, resume=resume)
    return Audited(result.folder, result.summary, watcher)


def _json(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_bytes())
    return value


def rewrite(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Forge a journal: change its records and hash them all anew."""
    path, last, forged = run / "journal.jsonl", START, b""
    for line in path.read_bytes().splitlines():
        record = {key: value for key, value in json.loads(line).items() if key not in LINKS}
        change(record)
        new = sealed(record, last)
        last, forged = line_hash(new), forged + new + b"\n"
    path.write_bytes(forged)


def fitting(run: Path, topic: str) -> dict[str, Any]:
    """Return how a judgement of a run by patterns begins; by its own facts file, if it has one."""
    header = json.loads((run / "journal.jsonl").read_bytes().partition(b"\n")[0])
    summary, facts = run / "summary.json", str(header.get("facts", f"topic: {topic}"))
    digest = hashlib.sha256(summary.read_bytes()).hexdigest() if summary.exists() else ""
    told = {"run": run.name, "summary_sha256": digest, "judge": "patterns", "topic": topic}
    return told | {"facts_sha256": hashlib.sha256(facts.encode()).hexdigest(), "facts": facts}
