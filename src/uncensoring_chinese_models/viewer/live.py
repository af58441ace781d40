"""Server-sent events of a run that is going: a page's parts, rendered again when the journal grows.

The id of an event is how much of the journal it shows, so that a browser that lost the connection
says where it was and misses nothing.
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
"""The event that tells a page that nothing will follow."""


@dataclass(slots=True)
class Streams:
    """How many streams are open, and whether all shall end."""

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
            offset: how much of the journal the page has seen.
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
    """Return one event; whatever ends a line for a browser begins another line of data."""
    lines = [f"event: {name}"] if name else []
    lines.append(f"id: {number}")
    lines += [
        f"data: {line}" for line in data.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    ]
    return ("\n".join(lines) + "\n\n").encode("utf-8", "backslashreplace")


def offset_of(last_event_id: str | None, asked: str | None) -> int:
    """Return how much of a journal a page has seen: what it says itself, or what it was sent with."""
    for told in (last_event_id, asked):
        if told and told.isascii() and told.isdigit() and len(told) <= 15:
            return int(told)
    return 0
