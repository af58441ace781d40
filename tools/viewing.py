"""The viewer over a folder of runs, for pictures and measurements: started, asked and ended."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def viewer(folder: Path) -> Iterator[str]:
    """Serve the runs below a folder on a free port, and yield the address.

    Raises:
        RuntimeError: the viewer said no.
    """
    words = [sys.executable, "-m", "uncensoring_chinese_models", "view", str(folder)]
    process = subprocess.Popen([*words, "--port", "0", "--json"], stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline() if process.stdout else ""
        address = json.loads(line or "{}").get("address")
        if not address:
            raise RuntimeError(f"the viewer did not start: {line.strip() or 'it said nothing'}")
        yield str(address)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=30)
        finally:
            process.kill()
