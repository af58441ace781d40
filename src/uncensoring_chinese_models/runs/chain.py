"""The lines of a journal: each carries its own hash and the hash of the line before it.

Each line is one JSON object in ASCII. `prev` is the sha256 of the line before it. `sha256` is the
hash of the line itself without this key. So a change anywhere shows, also in the last line. This is
not a signature: anybody can write another chain.

The first line is the header. It gives the format of the journal, the kind of the record (`audit`,
`probe`, `doctor`, `judge`) and the version that made it.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

from uncensoring_chinese_models.errors import RunStoreError

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json

SCHEMA = 4
"""The format of journals and run directories; a run of another format is refused."""
START = "0" * 64
"""What the first line gives as the hash of the line before it."""
LINKS = ("prev", "sha256")
"""The keys that link a line to the chain."""
TYPES = ("header", "sent", "attempt", "done", "decision", "resumed", "footer")
"""The types of lines (`journal` says what they mean)."""
RUN_KINDS = ("audit", "probe")
"""The kinds of record that are runs; the doctor and judges leave journals, too."""
_VERSION = re.compile(r"[0-9A-Za-z.+!_-]{1,40}")


def sealed(record: Json, prev: str) -> bytes:
    """Return the line of a record, without its line feed."""
    line = json.dumps({**record, "prev": prev}).encode("ascii")
    return line[:-1] + f', "sha256": "{line_hash(line)}"}}'.encode("ascii")


def line_hash(line: bytes) -> str:
    """Return what the next line gives as `prev`."""
    return hashlib.sha256(line).hexdigest()


def read_line(line: bytes, *, is_header: bool) -> Json:
    """Return the record of a line, with its links, if the line is as it was written.

    Args:
        line: the bytes before the line feed.
        is_header: whether it is the first line of the journal.

    Raises:
        ValueError: what is wrong with it, as the end of a sentence.
    """
    try:
        record = json.loads(line)
        links = record["prev"], record["type"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("is not a journal record") from None
    if is_header and (record.get("schema") != SCHEMA or links[1] != "header"):
        raise ValueError(f"is not a header of format {SCHEMA}")
    if not is_header and links[1] == "header":
        raise ValueError("is a second header")
    if links[1] not in TYPES:
        raise ValueError(f"has the type {links[1]!r:.40}, which is none")
    if not _is_sealed(line, record):
        raise ValueError("was altered: its own sha256 does not fit")
    return dict(record)


def _is_sealed(line: bytes, record: Json) -> bool:
    """Tell whether a line is, byte for byte, what was written for its record."""
    content = {key: value for key, value in record.items() if key not in LINKS}
    return line == sealed(content, record.get("prev", START))


def whole_lines(content: bytes) -> tuple[list[bytes], int]:
    """Return the lines that end in a line feed, and the number of bytes in a torn last line."""
    *lines, torn = content.split(b"\n")
    return lines, len(torn)


# --- the header ---------------------------------------------------------------------------------


def parse_header(journal: bytes) -> Json:
    """Return the header of a journal; {} if its first line is missing or damaged.

    `ucm verify` says what is wrong with a damaged line.
    """
    line, line_feed, _ = journal.partition(b"\n")
    try:
        return read_line(line, is_header=True) if line_feed else {}
    except ValueError:
        return {}


def is_run_header(header: Json) -> bool:
    """Tell whether a journal is that of a run; one whose header is damaged may be."""
    return header.get("kind", RUN_KINDS[0]) in RUN_KINDS


def refuse_other_format(journal: bytes, name: object) -> None:
    """Refuse a journal whose format is not the one that this version reads.

    Raises:
        RunStoreError: it was made by an older or a newer version; the message names it.
    """
    line, line_feed, _ = journal.partition(b"\n")
    try:
        header = json.loads(line) if line_feed else {}
    except (ValueError, RecursionError):
        return
    if not isinstance(header, dict) or header.get("type") != "header":
        return
    found, version = header.get("schema"), header.get("package_version")
    is_altered = "sha256" in header and not _is_sealed(line, header)
    if found == SCHEMA or not isinstance(found, int) or is_altered:
        return
    age = "an older" if found < SCHEMA else "a newer"
    is_named = isinstance(version, str) and _VERSION.fullmatch(version)
    raise RunStoreError(
        f"{name} was made by {age} version (format {found}); this version reads format {SCHEMA}. "
        f"Use the version that made it{f': {version}' if is_named else ''}."
    )
