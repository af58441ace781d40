"""Start the server of an organism or a GGUF file in a child process, and stop it."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.config import (
    child_environment,
    redact_message,
    remember_secret,
    require_extra,
)
from uncensoring_chinese_models.errors import LocalModelError
from uncensoring_chinese_models.models.local import server
from uncensoring_chinese_models.models.local.catalogue import PREFIX, find_organism
from uncensoring_chinese_models.models.local.gguf import PREFIX as GGUF
from uncensoring_chinese_models.models.local.gguf import find_gguf
from uncensoring_chinese_models.models.local.weights import find_weights
from uncensoring_chinese_models.models.protocols import Notice

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from uncensoring_chinese_models.models.local.catalogue import Organism
    from uncensoring_chinese_models.models.protocols import Notify

MAX_START_S = 120.0
"""Max seconds for loading a small model."""
_READ_BYTES_PER_S = 30e6
"""A slow disk; a large model has more time to load."""
PROMPT_TOKENS = 1024
"""Room for a prompt beside the completion of a GGUF file."""
_MAX_END_S = 2.0
_WATCH_S = 0.5
_THREADS_SLEEP = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "1000"}
"""Waiting threads sleep, so that others can use the cores; they spin briefly first, because sleeping
between any two operations makes two threads slower than one."""
_LOG_LINES = 2


@dataclass(frozen=True, slots=True)
class Served:
    """A running server of a model."""

    model: str
    base_url: str
    key: str = field(repr=False)
    process: subprocess.Popen[bytes] = field(repr=False)
    log: IO[bytes] = field(repr=False)

    def end(self) -> str | None:
        """Return how the server ended, if it has ended."""
        code = self.process.poll()
        if code is None:
            return None
        if code == -signal.SIGKILL:
            return "it was killed, perhaps because memory ran short"
        return f"code {code}: {_reason(self.log)}"


@asynccontextmanager
async def serve(
    name: str,
    notify: Notify,
    *,
    port: int = 0,
    threads: int | None = None,
    max_tokens: int = 0,
    cache: Path | None = None,
) -> AsyncIterator[Served]:
    """Serve a model of this machine for as long as the context is open.

    Args:
        name: ``gguf/NAME_OR_PATH``, or an organism's name, with or without ``organism/``.
        notify: called when the weights have to be fetched first.
        port: port on 127.0.0.1; by default a free one.
        threads: number of threads; by default one for each free core.
        max_tokens: max tokens of a completion of a GGUF file.
        cache: folder of the weights; by default the user's cache folder.

    Raises:
        ConfigError: there is no such organism or file.
        LocalModelError: it cannot be served; the message says why and what to do.
    """
    refuse_without_runtime()
    tokens = server.TOKENS_PER_SLOT
    if name.startswith(GGUF):
        found = await asyncio.to_thread(find_gguf, name)
        model, weights, adapter = name, found.path.absolute(), None
        tokens = max(tokens, max_tokens + PROMPT_TOKENS)
    else:
        organism = find_organism(name)
        _check_adapter(organism)
        weights = await asyncio.to_thread(
            find_weights, cache, say=lambda words: notify(Notice(words))
        )
        model, adapter = PREFIX + organism.name, organism.adapter
    order = server.Order(
        model=model,
        weights=str(weights),
        adapter=None if adapter is None else str(adapter),
        key=secrets.token_hex(24),
        port=port,
        threads=threads or free_cores(),
        tokens_per_slot=tokens,
    )
    remember_secret(order.key)  # the server may repeat it, in an answer or in its log
    with tempfile.TemporaryFile() as log:
        process = _start(log)
        try:
            max_start_s = MAX_START_S + weights.stat().st_size / _READ_BYTES_PER_S
            address = await asyncio.to_thread(_address, process, order, log, max_start_s)
            yield Served(order.model, f"{address}/v1", order.key, process, log)
        finally:
            _end(process)


async def serve_until_stopped(
    name: str, notify: Notify, announce: Callable[[Served], None], *, port: int = 0
) -> None:
    """Serve an organism until Ctrl-C or SIGTERM."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with serve(name, notify, port=port) as served:
        announce(served)
        while not stopped.is_set():
            end = served.end()
            if end is not None:
                raise LocalModelError(
                    f"The server of {served.model} ended ({end}); start it again."
                )
            with suppress(TimeoutError):
                async with asyncio.timeout(_WATCH_S):
                    await stopped.wait()


def refuse_without_runtime() -> None:
    """Raise MissingExtraError if the library that serves models is not installed."""
    with require_extra("local", "Serving a model on this machine"):
        if importlib.util.find_spec("xllamacpp") is None:
            raise ImportError(name="xllamacpp")


def free_cores() -> int:
    """Return the number of cores that this process may use and that are idle; at least one."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        cores = os.cpu_count() or 1
    return max(1, min(cores, round(cores - os.getloadavg()[0])))


def _check_adapter(organism: Organism) -> None:
    if organism.adapter is None or organism.sha256 is None:
        return
    found = hashlib.sha256(organism.adapter.read_bytes()).hexdigest()
    if found != organism.sha256:
        raise LocalModelError(
            f"{organism.adapter} is not the file that the manifest names (sha256 {found}, "
            f"expected {organism.sha256}); install the package again."
        )


# --- the child ----------------------------------------------------------------------------------


def _start(log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start the child in its own session, so that Ctrl-C does not reach it."""
    package_root = str(Path(__file__).resolve().parents[3])
    return subprocess.Popen(  # noqa: S603 -- our own module
        [sys.executable, "-P", "-m", server.__name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        env=child_environment(added={"PYTHONPATH": package_root, **_THREADS_SLEEP}),
        start_new_session=True,
    )


def _address(
    process: subprocess.Popen[bytes], order: server.Order, log: IO[bytes], max_start_s: float
) -> str:
    """Send the order and wait for the address; raise LocalModelError if there is none."""
    if process.stdin is None or process.stdout is None:
        raise AssertionError("unreachable")
    with suppress(BrokenPipeError):  # it has ended already: the log says why
        process.stdin.write(order.to_line().encode("ascii"))
        process.stdin.flush()
    with process.stdout as answer:
        ready, _, _ = select.select([answer], [], [], max_start_s)
        line = answer.readline() if ready else b""
    if line:
        return str(strict_json.loads(line)["address"])
    if not ready:
        problem = f"was not ready within {max_start_s:.0f} s"
    else:
        problem = f"ended with code {process.wait(_MAX_END_S)} while it started"
    raise LocalModelError(f"The server of {order.model} {problem}: {_reason(log)}")


def _reason(log: IO[bytes]) -> str:
    """Return the errors that llama.cpp logged, or else its last lines; without the key."""
    text = redact_message(os.pread(log.fileno(), 100_000, 0).decode("utf-8", "replace"))
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    errors = [line.partition(" E ")[2] for line in lines if " E " in line]
    said = errors[:_LOG_LINES] or lines[-_LOG_LINES:]
    return "; ".join(said)[:600] or "it said nothing"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the child and reap it."""
    with suppress(BrokenPipeError):
        if process.stdin is not None:
            process.stdin.close()  # it ends by itself when this does
    try:
        process.wait(_MAX_END_S)
    except subprocess.TimeoutExpired:  # still loading, perhaps
        process.kill()
        process.wait()
