"""Draw the picture of docs/running-an-audit.md: the screen of a real practice run.

Date and elapsed time are replaced by fixed ones, so that the same screen gives the same picture.

python tools/picture.py docs/practice-run.svg
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 100


def screen_of(words: list[str]) -> str:
    """Run a command on a terminal and return what it printed."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(WIDTH)}
    process = subprocess.Popen(words, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    printed = b""
    try:
        while piece := os.read(ours, 65536):
            printed += piece
    except OSError:  # Linux says EIO when the other end is closed
        pass
    process.wait()
    return printed.decode("utf-8")


def settled(screen: str) -> str:
    """Drop the lines that were drawn over: the spinner's."""
    lines = []
    for line in screen.replace("\r\n", "\n").split("\n"):
        last = line.split("\r")[-1]
        last = re.sub(r"\x1b\[(?:\?25[lh]|\d*[AK]|2K)", "", last)
        if not re.match(r"(?:\x1b\[[\d;]*m)*[\u2800-\u28ff]", last):
            lines.append(last)
    return "\n".join(lines).strip()


def undated(screen: str) -> str:
    """Replace the date in the run's name, and the elapsed time of each iteration."""
    screen = re.sub(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d", "2026-01-15T10-30-00", screen)
    return re.sub(r"(tokens, )\d+:\d\d", r"\g<1>0:01", screen)


def main() -> int:
    """Write the picture to the path given."""
    root = Path(__file__).resolve().parent.parent
    words = [sys.executable, str(root / "tools/practice.py"), "--iterations", "3"]
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere)
        console.print(Text.from_ansi("$ make practice\n" + undated(settled(screen_of(words)))))
    drawn = console.export_svg(title="ucm audit")
    local = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)  # no fonts from the network
    Path(sys.argv[1]).write_text(local, "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
