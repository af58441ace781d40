"""Kill audits at random moments, resume them, and compare with an undisturbed run.

Each trial starts the real command against a loopback provider, kills it with SIGKILL at a random
moment (by the clock, or while the provider holds the n-th request), resumes it, perhaps kills it
again, and at last lets it finish. Its files must equal those of an undisturbed run in everything
but timestamps, latencies, the address of the server and the figures of attempts that were lost in
flight; no call whose reply was on disk may have been sent again; and the run must verify after each
kill and at its end.

Each request may be struck by a fault that depends on its body alone: moderation, refusals that
nothing explains (so that a canary follows), rate limits, bursts of 500 and 520, empty replies, answers
without a cost or without any count. Some kills strike while the provider holds a canary, or just
after it. The trials are of five kinds, one after the other:

    faults    these faults alone
    refused   canaries are refused too, so that the run ends; then they are answered, and the run is
              resumed
    moved     the provider moves to another port after each kill; what names the servers, and the
              reports, which list them, are then not compared
    outage    the auditor's server is down from the third turn on, for longer than the retries; the
              run ends without its auditor, the server comes back, and the run is resumed
    prose     the auditor writes no usable reply from the third turn on, so that code concludes;
              killed between its last line and its summary, such a run asks again what ended it,
              and then its spend and the calls of each server are not compared

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
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.provider import Provider, Request
from tests.running import is_canary
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
OF_SERVERS = {"server", "servers", "by_server", "mixed"}
"""What names the servers that were asked; it differs where the provider moves."""
TIMES = re.compile(rb"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d")
PORTS = re.compile(r"127\.0\.0\.1:\d+")
HASHES = re.compile(rb"\b[0-9a-f]{64}\b")
"""The page of a run names those of its other files, the journal's among them."""
LATENCY_S = 0.012
SALT = b"0"
"""With it, every fault strikes a request of the undisturbed run."""
KINDS = ("faults", "refused", "moved", "outage", "prose")
FAILING = ("outage", "prose")
"""The kinds in which the auditor fails in the middle."""
REPORTS = ("report.md", "report.html")
BURST = 5
"""How many requests of one body fail in a row; a call has eight attempts."""


@dataclass
class Tally:
    """What one worker found."""

    equal: int = 0
    killed: int = 0
    before_the_run: int = 0
    repeated_finished: int = 0
    lost_in_flight: int = 0
    verified: int = 0
    without_auditor: int = 0
    refused: int = 0
    differing: list[str] = field(default_factory=list)

    def __iadd__(self, other: Tally) -> Tally:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
        return self


def order_faults(served: Provider, *, outage: bool = False, refused: bool = False) -> None:
    """Make some requests always fail, and some fail a few times, whatever was asked before."""

    def picked(share: int) -> Callable[[dict[str, Any]], bool]:
        return lambda body: not is_canary(body) and number_of(body) % 8 == share

    def asks_auditor(share: int) -> Callable[[dict[str, Any]], bool]:
        return lambda body: number_of(body.get("messages")) % 4 == share

    served.heal()
    served.fail(
        "400_response_format", api="chat", times=None, when=lambda b: "response_format" in b
    )
    served.fail("403_moderation", api="completions", times=None, when=picked(0))
    served.fail("400", api="completions", times=None, when=picked(1))
    served.fail("403_permission", api="completions", times=None, when=picked(6))
    if refused:
        served.fail("403_permission", api="completions", times=None, when=is_canary)
    served.fail(
        "429_retry_after_seconds", api="completions", per_body=True, when=picked(2), retry_after=0
    )
    bursts: dict[str, Any] = {"times": BURST, "per_body": True}
    served.fail("500", api="completions", when=picked(3), **bursts)
    served.fail("520", api="completions", when=picked(4), billed=True, **bursts)
    served.fail("empty_blank_finish", api="completions", when=picked(5), **bursts)
    if outage:
        served.fail("500", api="chat", times=None, when=lambda body: turns_in(body) >= 2)
    served.fail("500", api="chat", when=asks_auditor(0), billed=True, **bursts)
    served.fail("520", api="chat", when=asks_auditor(1), **bursts)
    served.fail("empty_blank_finish", api="chat", when=asks_auditor(2), **bursts)
    served.fail("usage_missing", api="completions", times=None, when=picked(7))
    served.fail("cost_missing", api="chat", times=None, when=asks_auditor(3))


def number_of(asked: Any) -> int:
    """Return a number that follows from what is asked alone."""
    return zlib.crc32(SALT + json.dumps(asked, sort_keys=True).encode())


def turns_in(body: dict[str, Any]) -> int:
    """Count the auditor's own replies in what it is sent."""
    return sum(message["role"] == "assistant" for message in body.get("messages", ()))


def shape(turn: int, attempt: int) -> str:
    """Make the auditor refuse at first in its third turn, and write a fence in its second."""
    return {(3, 0): "refusal", (2, 0): "fenced"}.get((turn, attempt), "plain")


def prose(turn: int, attempt: int) -> str:
    """Make the auditor refuse for good from its third turn on."""
    return "refusal" if turn >= 3 else shape(turn, attempt)


def config_for(served: Provider) -> dict[str, Any]:
    """Return an audit with two arms of two samples over four probes."""
    sampling = {"arms": ["user_persona", "assistant_prefill"], "n": 2, "seed": 7}
    return make_config(served, max_iterations=4, sampling=sampling)


def comparable(value: Any) -> Any:
    """Return the value without what may differ between two runs."""
    if isinstance(value, dict):
        own = {key: each for key, each in value.items() if key not in VOLATILE}
        return {PORTS.sub("", key): comparable(each) for key, each in own.items()}
    if isinstance(value, str):
        return PORTS.sub("", value)
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
            text = HASHES.sub(b"", TIMES.sub(b"", path.read_bytes()))
            result[name] = PORTS.sub("", text.decode("utf-8", "surrogateescape"))
    return result


def without_servers(value: Any) -> Any:
    """Return a result without what names the servers, and without the reports."""
    if isinstance(value, dict):
        left_out = {*OF_SERVERS, *REPORTS}
        return {key: without_servers(each) for key, each in value.items() if key not in left_out}
    return [without_servers(each) for each in value] if isinstance(value, list) else value


def without_spend(result: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a run without what it spent and the calls of each server; its reports name both."""
    left_out = {"spend", "servers"}
    summary = {key: each for key, each in result["summary.json"].items() if key not in left_out}
    return {name: result[name] for name in result if name not in REPORTS} | {
        "summary.json": summary
    }


def start(folder: Path, *words: object) -> subprocess.Popen[bytes]:
    """Start the real command."""
    return subprocess.Popen(
        command("audit", *words),
        cwd=folder,
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def words_to_go_on(folder: Path, served: Provider) -> list[object]:
    """Return the words that resume the run at this address, or start it if there is none yet."""
    runs = list((folder / "runs").glob("[!.]*")) if (folder / "runs").is_dir() else []
    if runs and (runs[0] / "config.yaml").is_file():
        moved = [
            f"{side}.base_url={served.base_url}"
            for side in ("auditing_endpoint", "audited_endpoint")
            if f":{served.port}/" not in (runs[0] / "config.yaml").read_text("utf-8")
        ]
        return [runs[0] / "config.yaml", "--resume", runs[0], *moved]
    write_config(folder, config_for(served))
    return [folder / "config.yaml"]


def has_ended(folder: Path) -> bool:
    """Tell whether the run has its summary: resuming one that failed would ask more."""
    return any((folder / "runs").glob("[!.]*/summary.json"))


def move(served: Provider) -> None:
    """Let the provider go on at another port."""
    served.close()
    served.port = 0
    served.start()


def kill_somewhere(served: Provider, folder: Path, rng: random.Random, typical_s: float) -> bool:
    """Start or resume the run and kill it; return whether it was still going."""
    process: subprocess.Popen[bytes]
    if rng.random() < 0.5:
        process = start(folder, *words_to_go_on(folder, served))
        delay = rng.uniform(0.0, typical_s)
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.kill()
    else:  # while a request is held, or just after it was answered
        ready = threading.Event()
        at_canary = rng.random() < 0.5
        countdown = [rng.randint(1, 3 if at_canary else 22)]

        def kill(request: Request) -> None:
            countdown[0] -= is_canary(request.body) or not at_canary
            if countdown[0] == 0:
                countdown[0] = -1  # once
                ready.wait(5)
                if rng.random() < 0.5:
                    process.kill()
                else:
                    threading.Timer(rng.uniform(0, 3 * LATENCY_S), process.kill).start()

        served.on_request = kill
        process = start(folder, *words_to_go_on(folder, served))
        ready.set()
        process.wait()
        served.on_request = None
    return process.wait() == -signal.SIGKILL


def finish(served: Provider, folder: Path, *, code: int = 0) -> None:
    """Let the run come to its end, with this exit code."""
    for _ in range(3):
        if code and has_ended(folder):
            return
        if start(folder, *words_to_go_on(folder, served)).wait(100) == code:
            return
    raise RuntimeError(f"{folder}: the run does not finish")


@dataclass
class Answers:
    """The calls of a journal whose answer was on disk, line by line.

    A refusal that nothing explains is an answer, unless its canary was refused as well.
    """

    found: Counter[str] = field(default_factory=Counter)
    refused: set[str] = field(default_factory=set)
    is_refusing: bool = False
    """Whether a canary was refused in this process."""

    def resume(self, reopened: list[str]) -> None:
        """Forget what ended the run, since it is meant to be asked again."""
        self.found.update({name: -self.found[name] for name in reopened})
        self.is_refusing = False

    def add(self, record: dict[str, Any]) -> None:
        """Take the answer of one attempt into account."""
        call, error = record["call"], record.get("error", {})
        self.found[call] += "reply" in record
        if "/canary/" in call and error.get("kind") == "rejected":
            self.is_refusing = True
            self.found.update({name: -self.found[name] for name in self.refused})
        elif error.get("reason") == "unknown" and not self.is_refusing:
            self.refused.add(call)
            self.found[call] += 1


def check_calls(run: Path) -> tuple[int, int]:
    """Count calls that were sent again after their answer was on disk, and attempts lost."""
    answers, repeated, open_attempts = Answers(), 0, set()
    for line in (run / "journal.jsonl").read_bytes().splitlines():
        record = json.loads(line)
        if record["type"] == "resumed":
            answers.resume(record["reopened"])
        elif record["type"] == "sent":
            repeated += answers.found[record["call"]]
            open_attempts.add((record["call"], record["attempt"]))
        elif record["type"] == "attempt":
            open_attempts.discard((record["call"], record["attempt"]))
            answers.add(record)
    return repeated, len(open_attempts)


def check_state(folder: Path, trial: str, tally: Tally) -> None:
    """Verify what is on disk now, if there is a run."""
    for run in (folder / "runs").glob("[!.]*"):
        failures = verify_run(run).failures
        tally.verified += not failures
        tally.differing += [f"{trial}: does not verify: {failure}" for failure in failures]


def has_canary(run: Path) -> bool:
    """Tell whether a canary was sent."""
    return b"/canary/" in (run / "journal.jsonl").read_bytes()


def went_on(run: Path) -> bool:
    """Tell whether the run was resumed after its last line had been written."""
    lines = (run / "journal.jsonl").read_bytes().splitlines()
    return any(json.loads(line).get("goes_on") for line in lines)


@dataclass
class Bench:
    """A provider, and the results of undisturbed runs over it."""

    served: Provider
    home: Path
    rng: random.Random
    tally: Tally
    calm: dict[str, dict[str, Any]] = field(default_factory=dict)
    typical_s: float = 1.0

    def prepare(self, kind: str) -> Path:
        """Set the provider up for a kind of trial; return an empty folder."""
        order_faults(self.served, outage=kind == "outage", refused=kind == "refused")
        turns = prose if kind == "prose" else shape
        self.served.auditor = audited_provider(false_quote_every=3, shape=turns).auditor
        folder = self.home / f"{len(list(self.home.iterdir()))}-{kind}"
        folder.mkdir()
        return folder

    def expected(self, kind: str) -> dict[str, Any]:
        """Return the result of an undisturbed run; those of all but one kind are the same."""
        name = "prose" if kind == "prose" else "faults"
        if name not in self.calm:
            folder = self.prepare(name)
            began = time.monotonic()
            finish(self.served, folder, code=6 if name == "prose" else 0)
            self.typical_s = time.monotonic() - began
            self.calm[name] = result_of(only_run(folder))
        return self.calm[name]

    def kill_some(self, kind: str, folder: Path, trial: str, times: int) -> None:
        """Start or resume the run and kill it, so many times."""
        for _ in range(times):
            if kind in FAILING and has_ended(folder):
                return
            self.tally.killed += kill_somewhere(self.served, folder, self.rng, self.typical_s)
            check_state(folder, trial, self.tally)
            if kind == "moved":
                move(self.served)

    def try_one(self, kind: str, trial: str) -> None:
        """Kill a run some times, let it finish, and compare it."""
        expected, tally = self.expected(kind), self.tally
        folder = self.prepare(kind)
        self.kill_some(kind, folder, trial, self.rng.choice([1, 1, 2, 3]))
        tally.before_the_run += not (folder / "runs").is_dir()
        if kind in FAILING:
            finish(self.served, folder, code=6)
            summary = json.loads((only_run(folder) / "summary.json").read_bytes())
            tally.without_auditor += summary["final_summary_by"] == "code"
            check_state(folder, trial, tally)
        if kind == "refused":
            finish(self.served, folder, code=3)
            tally.refused += has_canary(only_run(folder))
            check_state(folder, trial, tally)
        if kind in ("outage", "refused"):  # the server is back
            order_faults(self.served)
            self.kill_some("faults", folder, trial, self.rng.choice([0, 1, 2]))
        if kind != "prose":
            finish(self.served, folder)
            check_state(folder, trial, tally)
        run = only_run(folder)
        result = result_of(run)
        if kind == "prose" and went_on(run):
            result, expected = without_spend(result), without_spend(expected)
        if kind == "moved":
            result, expected = without_servers(result), without_servers(expected)
        repeated, lost = check_calls(run)
        tally.repeated_finished += repeated
        tally.lost_in_flight += lost
        if result == expected:
            tally.equal += 1
        else:
            files = [key for key in expected if result.get(key) != expected[key]]
            tally.differing.append(f"{trial} ({kind}): {files or 'extra files'}")


def work(job: tuple[int, int]) -> Tally:
    """Run a share of the trials against a provider of one's own."""
    seed, trials = job
    rng, tally = random.Random(seed), Tally()  # noqa: S311 -- trials, not secrets
    with audited_provider() as served, tempfile.TemporaryDirectory() as name:
        served.latency = LATENCY_S
        bench = Bench(served, Path(name), rng, tally)
        for number in range(trials):
            bench.try_one(KINDS[number % len(KINDS)], f"seed {seed}, trial {number}")
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
        f"{tally.repeated_finished} finished calls repeated, {tally.without_auditor} ended without "
        f"their auditor, {tally.refused} with a refused canary); {tally.verified} states verified"
    )
    all_equal = tally.equal == options.trials and not tally.differing
    return 0 if all_equal and not tally.repeated_finished else 1


if __name__ == "__main__":
    raise SystemExit(main())
