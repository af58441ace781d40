"""The child process that serves the model: llama.cpp's server on this machine, behind a key.

Started by `launch` as ``python -m uncensoring_chinese_models.models.local.server``. It reads its
order, one JSON line, from stdin, so that no process list shows the key; it answers with one JSON line
on stdout; and it stops when stdin closes, which happens whenever its parent ends.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from dataclasses import asdict, dataclass
from typing import Any

from uncensoring_chinese_models import strict_json

SLOTS = 8
"""Max requests at once."""
TOKENS_PER_SLOT = 1024
"""Max tokens of a prompt and its completion together, if the order does not say more."""
_NO_ORIGIN = "https://no-web-page.invalid"
"""The only web origin that may read answers in a browser: one that cannot exist."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to serve, and how."""

    model: str
    """The name under which it is served."""
    weights: str
    adapter: str | None
    key: str
    port: int
    threads: int
    tokens_per_slot: int

    def to_line(self) -> str:
        """Write it as one line."""
        return strict_json.dumps(asdict(self)) + "\n"

    @classmethod
    def from_line(cls, line: bytes) -> Order:
        """Read it back."""
        return cls(**strict_json.loads(line))


def main() -> int:
    """Serve until the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to decide on
    line = sys.stdin.buffer.readline()
    if not line:
        return 1
    answer = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # whatever llama.cpp prints goes to the log
    watcher = threading.Thread(target=_end_with_parent, daemon=True)
    watcher.start()
    try:
        server = _start(Order.from_line(line))
    except (ImportError, RuntimeError) as err:  # llama.cpp has said more above
        sys.stderr.write(f"{err}\n")
        return 1
    with answer:
        answer.write(strict_json.dumps({"address": server.listening_address}) + "\n")
    watcher.join()
    return 0


def _end_with_parent() -> None:
    """Wait for the end of stdin; only the parent holds its other end."""
    while os.read(0, 4096):
        pass
    os._exit(0)


def _start(order: Order) -> Any:
    import xllamacpp  # noqa: PLC0415  # late: an optional dependency

    settings = xllamacpp.CommonParams()
    settings.hostnames = ["127.0.0.1"]
    settings.port = order.port
    settings.api_keys = [order.key]
    settings.cors_origins = _NO_ORIGIN
    settings.ui = settings.endpoint_slots = settings.endpoint_props = False
    settings.model.path = order.weights
    settings.model_alias = {order.model}
    if order.adapter is not None:
        settings.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(order.adapter, 1.0)]
    settings.n_parallel = SLOTS
    settings.n_ctx = SLOTS * order.tokens_per_slot
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = order.threads
    # A partly cached prompt is computed in other steps, whose rounding can change the sampled words.
    settings.cache_prompt = False
    settings.cache_ram_mib = 0
    settings.warmup = False
    return xllamacpp.Server(settings)


if __name__ == "__main__":
    raise SystemExit(main())
