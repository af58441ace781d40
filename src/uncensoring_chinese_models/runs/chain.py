"""Lines that vouch for themselves and for the line before: what a journal is made of.

Each line is one JSON object in ASCII. `prev` is the sha256 of the line before it, and `sha256` is
that of the line itself as it stood before this key was added, so that a change anywhere shows, in
the last line too. A signature it is not: whoever writes a chain can write another.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json

SCHEMA = 3
"""The format of a run; raised when older runs cannot be read any more."""
START = "0" * 64
"""What the first line names as the hash of the line before it."""
LINKS = ("prev", "sha256")
"""The keys that a line has for the chain's sake."""


def sealed(record: Json, prev: str) -> bytes:
    """Return the line of a record, without its line feed."""
    line = json.dumps({**record, "prev": prev}).encode("ascii")
    return line[:-1] + f', "sha256": "{line_hash(line)}"}}'.encode("ascii")


def line_hash(line: bytes) -> str:
    """Return what the next line names as `prev`."""
    return hashlib.sha256(line).hexdigest()


def read_line(line: bytes, schema: int | None) -> Json:
    """Return the record of a line, with its links, if the line is what was written.

    Args:
        line: the bytes before the line feed.
        schema: what the header says; None for the header itself.

    Raises:
        ValueError: what is wrong with it, as the end of a sentence.
    """
    try:
        record = json.loads(line)
        links = record["prev"], record["type"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("is not a journal record") from None
    if schema is None:
        schema = record.get("schema")
        if links[1] != "header":
            raise ValueError(f"is not a header of schema {SCHEMA}")
        if schema != SCHEMA:
            raise ValueError(
                f"is the header of a run of format {schema}; this version reads format {SCHEMA}"
            )
    if not _is_sealed(line, record):
        raise ValueError("was altered: its own sha256 does not fit")
    return dict(record)


def _is_sealed(line: bytes, record: Json) -> bool:
    """Tell whether a line is, byte for byte, what was written for its record."""
    content = {key: value for key, value in record.items() if key not in LINKS}
    return line == sealed(content, record["prev"])


def whole_lines(content: bytes) -> tuple[list[bytes], int]:
    """Return the lines that end in a line feed, and how many bytes of a torn one follow."""
    *lines, torn = content.split(b"\n")
    return lines, len(torn)
