"""The viewer in a process of its own, and raw requests to it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.support import clean_environment, command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: str

    def json(self) -> Any:
        """Return what a program reads."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Viewing:
    """A viewer that is running."""

    address: str

    @property
    def port(self) -> int:
        """Where it listens."""
        return urlsplit(self.address).port or 0

    @property
    def host(self) -> str:
        """What it is called in a request."""
        return f"127.0.0.1:{self.port}"

    def raw(self, request: bytes) -> Answer:
        """Send bytes as they are, and return what comes back until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as sock:
            sock.sendall(request)
            whole = b""
            while part := sock.recv(1 << 16):
                whole += part
        head, _, body = whole.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (x.partition(": ") for x in lines)}
        return Answer(int(first.split()[1]), headers, body.decode("utf-8", "replace"))

    def ask(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Send one request; a header's underscores are dashes, and `host` may be replaced."""
        given = {"host": self.host, "connection": "close", **headers}
        lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items()]
        return self.raw(f"{method} {path} HTTP/1.1\r\n{''.join(lines)}\r\n".encode())

    def listing(self, wanted: Callable[[Any], bool] = bool) -> Any:
        """Return what programs see once every run was read, and the list is as wanted."""
        while True:
            told = self.ask("/index.json").json()
            if not told["indexing"] and wanted(told):
                return told
            threading.Event().wait(0.1)

    def ids(self) -> dict[str, str]:
        """Return the id of each run by its name, once every run was read."""
        return {run["name"]: run["id"] for run in self.listing()["runs"]}


@contextmanager
def viewing(root: Path, cache: Path | None = None, port: int = 0) -> Iterator[Viewing]:
    """View a folder; at the end Ctrl-C must end the viewer by itself, with code 0.

    Args:
        root: holds runs.
        cache: where the index is kept; by default in a folder that is removed.
        port: where it listens; by default where there is room.
    """
    if cache is None:
        with TemporaryDirectory() as passing, viewing(root, Path(passing), port) as running:
            yield running
        return
    started = subprocess.Popen(
        command("view", root, "--port", port, "--json"),
        env=clean_environment() | {"UCM_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert started.stdout is not None
        record = json.loads(started.stdout.readline())
        yield Viewing(record["address"])
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=30)
        assert (started.returncode, out, err) == (0, "", "")
    finally:
        started.kill()
        started.communicate()
