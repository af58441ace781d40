"""The provider as a process of its own: ``python -m tests.provider --port 0``.

Its first line on stdout is the base URL; SIGTERM or SIGINT ends it.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from tests.provider.auditor import SHAPES, ScriptedAuditor
from tests.provider.faults import FAULTS
from tests.provider.server import Provider
from tests.provider.target import ScriptedTarget
from tests.provider.wire import Api


def options() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.provider", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--latency-ms", type=float, default=0.0, help="before each answer")
    parser.add_argument("--log", type=Path, help="gets one line of JSON per request")
    parser.add_argument("--api-key", help="refuse every other key")
    parser.add_argument("--seed", type=int, default=0, help="varies what the target says")
    parser.add_argument("--stop-after", type=int, help="probes after which the auditor ends")
    parser.add_argument("--shape", choices=sorted(SHAPES), default="plain", help="of its turns")
    parser.add_argument("--ignore-stops", action="store_true", help="run on past stop strings")
    parser.add_argument(
        "--fail",
        action="append",
        default=[],
        metavar="FAULT[:TIMES[:API]]",
        help="a name from tests/provider/faults.py; without TIMES it fails for ever",
    )
    return parser


def order(provider: Provider, text: str) -> None:
    """Understand one --fail."""
    name, times, api = [*text.split(":"), "", ""][:3]
    if name not in FAULTS:
        raise SystemExit(f"no fault is called {name}")
    provider.fail(name, times=int(times) if times else None, api=cast("Api", api or None))


def main(words: Sequence[str] | None = None) -> int:
    """Serve until told to end."""
    given = options().parse_args(words)
    signals = (signal.SIGTERM, signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    provider = Provider(
        auditor=ScriptedAuditor(stop_after=given.stop_after, shape=given.shape),
        target=ScriptedTarget(seed=given.seed),
        api_key=given.api_key,
        ignore_stops=given.ignore_stops,
        latency=given.latency_ms / 1000,
        log=given.log,
        port=given.port,
    )
    for text in given.fail:
        order(provider, text)
    with provider:
        sys.stdout.write(provider.base_url + "\n")
        sys.stdout.flush()
        signal.sigwait(signals)
    return 0


if __name__ == "__main__":
    sys.exit(main())
