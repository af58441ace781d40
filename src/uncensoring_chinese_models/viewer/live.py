"""Server-sent events of an unfinished run: the page is rendered again when the journal grows.

The id of an event is the offset in the journal that it shows. A browser that reconnects sends this
id, so it misses nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from uncensoring_chinese_models.viewer.tail import whole_until

if TYPE_CHECKING:
    from pathlib import Path

HEARTBEAT_S = 15.0
POLL_S = 0.5
MAX_STREAMS = 32
"""How many pages may follow runs at once."""
ENDED = "ended"
"""The name of the last event."""


@dataclass(slots=True)
class Streams:
    """The open streams: how many there are, and whether they must stop."""

    is_stopping: Callable[[], bool] = lambda: False
    poll_s: float = POLL_S
    heartbeat_s: float = HEARTBEAT_S
    most: int = MAX_STREAMS
    open: int = field(default=0)

    def enter(self) -> bool:
        """Take a place for a page that follows a run; False if there is none."""
        if self.open >= self.most:
            return False
        self.open += 1
        return True

    def leave(self) -> None:
        """Give a place back."""
        self.open -= 1

    async def follow(
        self, folder: Path, offset: int, draw: Callable[[], str]
    ) -> AsyncIterator[bytes]:
        """Yield an event for each time that the journal has grown, until the run has ended.

        Args:
            folder: the run's.
            offset: how many bytes of the journal the page has shown.
            draw: returns the page's parts as they are now; called in a thread.
        """
        yield b": open\n\n"
        spoke = time.monotonic()
        while not self.is_stopping():
            is_over = await asyncio.to_thread((folder / "summary.json").exists)
            ended = await asyncio.to_thread(whole_until, folder / "journal.jsonl", offset)
            if ended != offset or is_over:
                offset, spoke = ended, time.monotonic()
                yield event(await asyncio.to_thread(draw), ended)
            if is_over:
                yield event("", ended, ENDED)
                return
            if time.monotonic() - spoke >= self.heartbeat_s:
                spoke = time.monotonic()
                yield b": still here\n\n"
            await asyncio.sleep(self.poll_s)


def event(data: str, number: int, name: str = "") -> bytes:
    """Return one event; each line of the data becomes a `data:` line."""
    lines = [f"event: {name}"] if name else []
    lines.append(f"id: {number}")
    lines += [
        f"data: {line}" for line in data.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    ]
    return ("\n".join(lines) + "\n\n").encode("utf-8", "backslashreplace")


def offset_of(last_event_id: str | None, asked: str | None) -> int:
    """Return how much of a journal a page has shown: by its last event, else by its address."""
    for told in (last_event_id, asked):
        if told and told.isascii() and told.isdigit() and len(told) <= 15:
            return int(told)
    return 0
