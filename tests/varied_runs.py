"""Runs of every kind, by a seed: finished, resumed, interrupted, killed, and ended by a failure."""

from __future__ import annotations

import contextlib
import random
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.provider import ODD_TEXTS, ScriptedTarget
from tests.support import CrashError, CrashingWatcher, audited_provider, make_config, write_config
from uncensoring_chinese_models.config.loading import load_config
from uncensoring_chinese_models.errors import AuditToolError
from uncensoring_chinese_models.runner.run import run_job

if TYPE_CHECKING:
    from pathlib import Path

    from tests.provider import Provider

KINDS = (
    "finished",
    "odd texts",
    "crashed and resumed",
    "crashed",
    "no credit",
    "budget",
    "target failed",
    "auditor failed",
    "anything",
    "killed",
)
FAULTS = ("400", "402", "403_moderation", "429", "500", "close_mid_body", "choices_empty")
NEVER = 10_000


class Made(NamedTuple):
    """A run directory, and how it came about."""

    kind: str
    folder: Path


def make_run(folder: Path, seed: int) -> Made:
    """Make the run of this seed below a folder; the kinds take turns."""
    rng = random.Random(seed)  # noqa: S311 -- a trial, not a secret
    kind = KINDS[seed % len(KINDS)]
    with audited_provider(target=_target(rng, kind), **_auditor(rng, kind)) as provider:
        maker = _Maker(folder, provider, rng, kind)
        maker.make()
    if maker.run is None:
        raise AssertionError(f"seed {seed} made no run")
    return Made(kind, maker.run)


def _target(rng: random.Random, kind: str) -> ScriptedTarget:
    odd = rng.choice(sorted(ODD_TEXTS)) if kind == "odd texts" else None
    spill = ("<｜end▁of▁sentence｜>", "<｜Assistant｜>") if rng.random() < 0.3 else None
    return ScriptedTarget(seed=rng.randrange(1000), odd=odd, run_on=spill)


def _auditor(rng: random.Random, kind: str) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "stop_after": rng.choice([None, None, 1, 2]),
        "overclaim": rng.random() < 0.5,
        "false_quote_every": rng.choice([None, 1, 2]),
        "false_quote": rng.choice(["invented", "altered", "misattributed", "probe"]),
        "unchanged": rng.random() < 0.3,
        "shape": rng.choice(["plain", "fenced", "prose", "trailing_comma"]),
    }
    if kind == "auditor failed":
        worst = rng.randint(1, 3)
        return {"shape": lambda turn, _: "refusal" if turn >= worst else "plain"}
    return settings


def _is_for_target(body: dict[str, Any]) -> bool:
    return body.get("model") == "deepseek/deepseek-chat"


class _Maker:
    """One run under way."""

    def __init__(self, folder: Path, provider: Provider, rng: random.Random, kind: str) -> None:
        self._folder = folder
        self._provider = provider
        self._rng = rng
        self._kind = kind
        self._arms = rng.sample(["user_persona", "assistant", "assistant_prefill", "raw"], 2)
        self._n = rng.randint(1, 2)
        self._seed = rng.choice([None, rng.randrange(100)])
        self._iterations = 3 if kind == "budget" else rng.randint(1, 3)
        self._schema = rng.choice(["json_schema", "none"])
        self._doctor = rng.choice(["off", "off", "report", "require"])
        self.run: Path | None = None

    def make(self) -> None:
        """Bring the run into the state that its kind says."""
        ways = {
            "crashed": self._crashed,
            "crashed and resumed": self._resumed,
            "no credit": self._no_credit,
            "budget": self._short_of_money,
            "target failed": self._target_failed,
            "anything": self._anything,
            "killed": self._killed,
        }
        ways.get(self._kind, self._go_on)()

    def _crashed(self) -> None:
        self._go_on(crash_after=self._rng.randint(1, 4))

    def _resumed(self) -> None:
        self._crashed()
        self._go_on()

    def _no_credit(self) -> None:
        api: Any = self._rng.choice(["chat", "completions"])
        self._provider.fail("402", api=api, times=None, after=self._rng.randint(0, 6))
        self._go_on()

    def _short_of_money(self) -> None:
        for cap in sorted(self._rng.choice([0.03, 0.05, 0.07]) for _ in range(2)):
            self._go_on(cap=cap)

    def _target_failed(self) -> None:
        self._provider.fail("500", api="chat", times=1, after=1)
        after = self._rng.randint(0, 1)
        self._provider.fail("400", times=None, after=after, when=_is_for_target)
        self._go_on()

    def _anything(self) -> None:
        """Break it off again and again, in any way, and leave it as it is."""
        rng, provider = self._rng, self._provider
        for _ in range(rng.randint(2, 4)):
            provider.heal()
            for _ in range(rng.randint(0, 2)):
                provider.fail(
                    rng.choice(FAULTS),
                    api=rng.choice(["chat", "completions"]),
                    times=rng.choice([1, 3, None]),
                    after=rng.randint(0, 6),
                )
            self._go_on(
                crash_after=rng.choice([NEVER, rng.randint(1, 6)]),
                cap=rng.choice([0.05, 0.12, 5.0]),
            )

    def _killed(self) -> None:
        """Keep what is on disk while the provider holds a request; perhaps half a line more."""
        left = [self._rng.randint(3, 10)]  # the first two are for the prices
        snapshot = self._folder / "killed"

        def copy(_: object) -> None:
            left[0] -= 1
            if left[0] == 0:
                (run,) = (self._folder / "runs").glob("[!.]*")
                shutil.copytree(run, snapshot)

        self._provider.on_request = copy
        self._go_on()
        if snapshot.exists():
            self.run = snapshot
            if self._rng.random() < 0.5:
                with (snapshot / "journal.jsonl").open("ab") as file:
                    file.write(b'{"type": "attempt", "call": "00')

    def _go_on(self, *, crash_after: int = NEVER, cap: float = 5.0) -> None:
        """Start the run or go on with it, until it ends or something breaks it off."""
        config = make_config(
            self._provider,
            max_iterations=self._iterations,
            max_failed_iterations=1,
            output_dir=str(self._folder / "runs"),
            sampling={"max_tokens": 60, "arms": self._arms, "n": self._n, "seed": self._seed},
            auditor_sampling={"max_tokens": 1000},
            auditor_re_asks=1,
            auditor_response_format=self._schema,
            doctor=self._doctor,
            budget={"max_usd": cap},
            retries={"first_wait_s": 0, "max_attempts": 2},
        )
        watcher = CrashingWatcher(crash_after)
        with contextlib.suppress(CrashError, AuditToolError):
            run_job(load_config(write_config(self._folder, config)), watcher, resume=self.run)
        self.run = self.run or watcher.folder
        if self.run is None and cap < 1:  # a budget for not even one iteration makes no run
            self._go_on(crash_after=crash_after, cap=cap * 2)
