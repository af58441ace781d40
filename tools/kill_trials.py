"""Kill audits at random moments, resume them, and compare with an undisturbed run.

Each trial starts the real command against a loopback provider, kills it with SIGKILL at a random
moment (by the clock, or while the provider holds the n-th request), resumes it, perhaps kills it
again, and at last lets it finish. Its files must equal those of an undisturbed run in everything
but timestamps, latencies and the figures of attempts that were lost in flight; no call whose reply
was on disk may have been sent again; and the run must verify after each kill and at its end.

    python tools/kill_trials.py --trials 200
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.provider import Provider, Request
from tests.support import (
    audited_provider,
    clean_environment,
    command,
    make_config,
    only_run,
    write_config,
)

from uncensoring_chinese_models.verify.verification import verify_run

if TYPE_CHECKING:
    from collections.abc import Callable

VOLATILE = {
    "timestamp",
    "latency_s",
    "run",
    "started_at",
    "finished_at",
    "fruitless_attempts",
    "sha256",
}
TIMES = re.compile(rb"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d")
HASHES = re.compile(rb"\b[0-9a-f]{64}\b")
"""The page of a run names those of its other files, the journal's among them."""
LATENCY_S = 0.012


@dataclass
class Tally:
    """What one worker found."""

    equal: int = 0
    killed: int = 0
    before_the_run: int = 0
    repeated_finished: int = 0
    lost_in_flight: int = 0
    verified: int = 0
    differing: list[str] = field(default_factory=list)

    def __iadd__(self, other: Tally) -> Tally:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
        return self


def order_faults(served: Provider) -> None:
    """Make some requests always fail, and some fail once, whatever was asked before."""

    def picked(share: int) -> Callable[[dict[str, Any]], bool]:
        return lambda body: sum(str(body.get("prompt")).encode()) % 7 == share

    served.heal()
    served.fail(
        "400_response_format", api="chat", times=None, when=lambda b: "response_format" in b
    )
    served.fail("403_moderation", api="completions", times=None, when=picked(0))
    served.fail("400", api="completions", times=None, when=picked(1))
    served.fail(
        "429_retry_after_seconds", api="completions", per_body=True, when=picked(2), retry_after=0
    )


def shape(turn: int, attempt: int) -> str:
    """Make the auditor refuse at first in its third turn, and write a fence in its second."""
    return {(3, 0): "refusal", (2, 0): "fenced"}.get((turn, attempt), "plain")


def config_for(served: Provider) -> dict[str, Any]:
    """Return an audit with two arms of two samples over four probes."""
    sampling = {"arms": ["user_persona", "assistant_prefill"], "n": 2, "seed": 7}
    return make_config(served, max_iterations=4, sampling=sampling)


def comparable(value: Any) -> Any:
    """Return the value without what may differ between two runs."""
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items() if key not in VOLATILE}
    return [comparable(item) for item in value] if isinstance(value, list) else value


def result_of(run: Path) -> dict[str, Any]:
    """Return everything a run holds that must be equal: every file but the journal."""
    files = sorted(path for path in run.rglob("*") if path.is_file())
    result: dict[str, Any] = {}
    for path in files:
        name = path.relative_to(run).as_posix()
        if path.suffix == ".json":
            result[name] = comparable(json.loads(path.read_bytes()))
        elif path.name != "journal.jsonl":
            result[name] = HASHES.sub(b"", TIMES.sub(b"", path.read_bytes()))
    return result


def start(folder: Path, *words: object) -> subprocess.Popen[bytes]:
    """Start the real command."""
    return subprocess.Popen(
        command("audit", *words),
        cwd=folder,
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def words_to_go_on(folder: Path) -> list[object]:
    """Return the words that resume the run, or start it if there is none yet."""
    runs = list((folder / "runs").glob("*")) if (folder / "runs").is_dir() else []
    if runs and (runs[0] / "config.yaml").is_file():
        return [runs[0] / "config.yaml", "--resume", runs[0]]
    return [folder / "config.yaml"]


def kill_somewhere(served: Provider, folder: Path, rng: random.Random, typical_s: float) -> bool:
    """Start or resume the run and kill it; return whether it was still going."""
    process: subprocess.Popen[bytes]
    if rng.random() < 0.5:
        process = start(folder, *words_to_go_on(folder))
        delay = rng.uniform(0.0, typical_s)
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.kill()
    else:  # while a request is held, or just after it was answered
        ready = threading.Event()
        countdown = [rng.randint(1, 22)]

        def kill(_: Request) -> None:
            countdown[0] -= 1
            if countdown[0] == 0:
                ready.wait(5)
                if rng.random() < 0.5:
                    process.kill()
                else:
                    threading.Timer(rng.uniform(0, 3 * LATENCY_S), process.kill).start()

        served.on_request = kill
        process = start(folder, *words_to_go_on(folder))
        ready.set()
        process.wait()
        served.on_request = None
    return process.wait() == -signal.SIGKILL


def finish(folder: Path) -> None:
    """Let the run come to its end."""
    for _ in range(3):
        if start(folder, *words_to_go_on(folder)).wait(100) == 0:
            return
    raise RuntimeError(f"{folder}: the run does not finish")


def check_calls(run: Path) -> tuple[int, int]:
    """Count calls that were sent again after their reply was on disk, and attempts lost."""
    answered: Counter[str] = Counter()
    repeated, open_attempts = 0, set()
    for line in (run / "journal.jsonl").read_bytes().splitlines():
        record = json.loads(line)
        if record["type"] == "sent":
            repeated += answered[record["call"]]
            open_attempts.add((record["call"], record["attempt"]))
        elif record["type"] == "attempt":
            open_attempts.discard((record["call"], record["attempt"]))
            answered[record["call"]] += "reply" in record
    return repeated, len(open_attempts)


def check_state(folder: Path, trial: str, tally: Tally) -> None:
    """Verify what is on disk now, if there is a run."""
    for run in (folder / "runs").glob("[!.]*"):
        failures = verify_run(run).failures
        tally.verified += not failures
        tally.differing += [f"{trial}: does not verify: {failure}" for failure in failures]


def work(job: tuple[int, int]) -> Tally:
    """Run a share of the trials against a provider of one's own."""
    seed, trials = job
    rng, tally = random.Random(seed), Tally()  # noqa: S311 -- trials, not secrets
    with (
        audited_provider(false_quote_every=3, shape=shape) as served,
        tempfile.TemporaryDirectory() as name,
    ):
        served.latency = LATENCY_S
        order_faults(served)
        config = config_for(served)
        calm = Path(name) / "calm"
        calm.mkdir()
        write_config(calm, config)
        began = time.monotonic()
        finish(calm)
        typical_s = time.monotonic() - began
        expected = result_of(only_run(calm))
        for number in range(trials):
            order_faults(served)
            folder = Path(name) / f"trial-{number}"
            folder.mkdir()
            write_config(folder, config)
            for _ in range(rng.choice([1, 1, 2, 3])):
                tally.killed += kill_somewhere(served, folder, rng, typical_s)
                check_state(folder, f"seed {seed}, trial {number}", tally)
            tally.before_the_run += not (folder / "runs").is_dir()
            finish(folder)
            check_state(folder, f"seed {seed}, trial {number}", tally)
            run = only_run(folder)
            result = result_of(run)
            repeated, lost = check_calls(run)
            tally.repeated_finished += repeated
            tally.lost_in_flight += lost
            if result == expected:
                tally.equal += 1
            else:
                files = [key for key in expected if result.get(key) != expected[key]]
                tally.differing.append(f"seed {seed}, trial {number}: {files or 'extra files'}")
    return tally


def main() -> int:
    """Run the trials and print the count."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    share, rest = divmod(options.trials, options.workers)
    jobs = [(options.seed * 1000 + i, share + (i < rest)) for i in range(options.workers)]
    tally = Tally()
    with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
        for part in pool.imap_unordered(work, [job for job in jobs if job[1]]):
            tally += part
    for line in tally.differing:
        print(line)
    print(
        f"{tally.equal} of {options.trials} resumed runs equal the undisturbed one "
        f"({tally.killed} kills, {tally.before_the_run} before a run directory was there, "
        f"{tally.lost_in_flight} attempts lost in flight, "
        f"{tally.repeated_finished} finished calls repeated); {tally.verified} states verified"
    )
    all_equal = tally.equal == options.trials and not tally.differing
    return 0 if all_equal and not tally.repeated_finished else 1


if __name__ == "__main__":
    raise SystemExit(main())
