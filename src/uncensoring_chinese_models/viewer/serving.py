"""The viewer on a port of this machine; the home of uvicorn."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

from uncensoring_chinese_models.config import cache_folder, require_extra
from uncensoring_chinese_models.errors import UsageError
from uncensoring_chinese_models.viewer.app import Viewer, build_app
from uncensoring_chinese_models.viewer.index import Index

LOOPBACK = "127.0.0.1"
PORT = 8484
MAX_PORTS_TRIED = 20
"""How many ports are tried before the system chooses one."""


def listen(port: int | None) -> socket.socket:
    """Return a socket that only this machine can reach: on the given port, else on one near 8484.

    Raises:
        UsageError: the given port is taken.
    """
    if port is not None and not 0 <= port < 1 << 16:
        raise UsageError(f"--port takes a number from 0 to 65535, not {port}.")
    wanted = [port] if port is not None else [*range(PORT, PORT + MAX_PORTS_TRIED), 0]
    for each in wanted:
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((LOOPBACK, each))
            found.listen()
        except OSError:
            found.close()
        else:
            return found
    raise UsageError(
        f"Port {port} is taken or not allowed; nothing was started. Choose another --port, or leave "
        "it out to get a free one."
    )


def serve(folder: Path, port: int | None, announce: Callable[[str], None]) -> None:
    """Serve the runs of a folder until Ctrl-C.

    Args:
        folder: holds runs, or is one.
        port: None for a free one near 8484.
        announce: called with the address.

    Raises:
        MissingExtraError: the extra `view` is not installed.
        UsageError: the port is taken.
    """
    with require_extra("view", "The viewer"):
        import uvicorn  # noqa: PLC0415 -- an optional dependency
    with listen(port) as sock:
        number = int(sock.getsockname()[1])
        viewer = Viewer(Index(folder, cache_folder()))
        try:
            config = uvicorn.Config(
                build_app(viewer, number),
                http="h11",
                ws="none",
                lifespan="off",
                log_level="error",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=2,
            )
            server = uvicorn.Server(config)
            announce(f"http://{LOOPBACK}:{number}/")
            server.run(sockets=[sock])
        except KeyboardInterrupt:
            pass  # Ctrl-C is the normal way to stop
        finally:
            viewer.close()
