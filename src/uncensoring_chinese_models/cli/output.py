"""What all commands share in their output: the record of `--json`, and the name of this program."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Self

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.config import redact_message
from uncensoring_chinese_models.errors import AuditToolError
from uncensoring_chinese_models.text import escape

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import TextIO

    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.models import Notice


class Output:
    """The output of one command: lines for people or, with `--json`, one record on stdout.

    Used as a context manager: an error raised inside is also printed as a record, then raised
    again, so that `main` prints it for people and chooses the exit code.
    """

    def __init__(self, *, as_json: bool, **head: object) -> None:
        self.as_json = as_json
        self.head: Json = head
        """The first keys of every record, of a result and of an error alike."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.as_json and isinstance(error, AuditToolError):
            self.record({"error": str(error)}, error.exit_code)

    @property
    def stream(self) -> TextIO:
        """Where lines for people go; stdout belongs to the record if there is one."""
        return sys.stderr if self.as_json else sys.stdout

    def finish(self, lines: Iterable[str], fields: Json, code: int = 0) -> int:
        """Print the result, as lines or as a record with its exit code; return the exit code."""
        if self.as_json:
            self.record(fields, code)
        else:
            print(*map(redact_message, lines), sep="\n")
        return code

    def listing(self, lines: Iterable[str], content: Json) -> int:
        """Print a list of things, as lines or as JSON without an exit code; return 0."""
        if self.as_json:
            print_json(content)
        else:
            print(*map(redact_message, lines), sep="\n")
        return 0

    def record(self, fields: Json, code: int | None) -> None:
        """Print the record: the head, the exit code and what the command found."""
        print_json({**self.head, "exit_code": code, **fields})


def print_json(content: Json | list[Json]) -> None:
    """Print JSON on one line, in ASCII, so that no terminal acts on what it holds."""
    print(redact_message(strict_json.dumps(content, ensure_ascii=True)))


def table_lines(rows: Iterable[tuple[str, ...]]) -> Iterable[str]:
    """Yield rows as lines whose columns are aligned."""
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()


def print_notice(notice: Notice) -> None:
    """Print a notice of a running job to stderr."""
    print(escape(redact_message(notice.text)), file=sys.stderr)


def our_name() -> str:
    """Return the command that calls this program: ``ucm``, or its path if the shell cannot find it."""
    ours = Path(sys.executable).parent / "ucm"
    known = shutil.which("ucm")
    if known is not None and Path(known).absolute() == ours:
        return "ucm"
    if not ours.exists():
        return f"{shlex.quote(sys.executable)} -m uncensoring_chinese_models"
    near = os.path.relpath(ours)
    return shlex.quote(str(ours) if near.startswith(os.pardir) else near)
