"""The lines of a journal: each carries its own hash and the hash of the line before it.

Each line is one JSON object in ASCII. `prev` is the sha256 of the line before it. `sha256` is the
hash of the line itself without this key. So a change anywhere shows, also in the last line. This is
not a signature: anybody can write another chain.

The first line is the header. It gives the format of the journal, the kind of the record (`audit`,
`probe`, `doctor`, `judge`) and the version that made it.

Damage of a crash is told from an alteration by this rule. A crash leaves a line without its line feed
at the end of the file, NUL bytes anywhere, or a torn line and a whole one on one line. What follows
such damage must be whole lines that follow from each other, or more damage. Anything else (a line
whose own hash does not fit, that is no record, or that does not follow from the line before it) is
an alteration. Damage is cut and reported when a run is resumed; an altered journal is refused.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.errors import RunStoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from uncensoring_chinese_models.domain import Json

JOURNAL = "journal.jsonl"
"""The name of the journal in its folder."""
CUT = "journal.cut-"
"""How a file is named that keeps what was cut off a journal; a number follows."""
KEPT = "journal.kept-"
"""How a file is named that keeps a journal which was removed or replaced; a number follows."""
_SET_ASIDE = re.compile(r"journal\.(cut|kept)-[0-9]{1,6}")
MAX_NAMED = 5
"""So many lost answers are named on the screen."""
SCHEMA = 5
"""The format of journals and run directories; a run of another format is refused."""
MAX_HEADER_BYTES = 1 << 22
"""Max size of the first line; it holds a config, a facts file and a prompt."""
START = "0" * 64
"""What the first line gives as the hash of the line before it."""
LINKS = ("prev", "sha256")
"""The keys that link a line to the chain."""
TYPES = ("header", "sent", "attempt", "done", "decision", "resumed", "footer")
"""The types of lines (`journal` says what they mean)."""
RUN_KINDS = ("audit", "probe")
"""The kinds of record that are runs; the doctor and judges leave journals, too."""
_VERSION = re.compile(r"[0-9A-Za-z.+!_-]{1,40}")
_BEGIN = b'{"type": "'
_HEADER = b'{"type": "header"'
_END = re.compile(rb'", "sha256": "[0-9a-f]{64}"\}')
"""How every line begins and ends; inside a text its quotes would be escaped."""
_ANSWERED = re.compile(
    rb'\{"type": "attempt", "call": "([\w/.-]{1,200})", "attempt": \d{1,9}, "reply": '
)
MAX_BEGINNINGS = 8
"""So many beginnings are tried for each end of a line."""


def sealed(record: Json, prev: str) -> bytes:
    """Return the line of a record, without its line feed."""
    line = strict_json.dumps({**record, "prev": prev}).encode("ascii")
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
        record = strict_json.loads(line)
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


def is_set_aside(name: str) -> bool:
    """Tell whether a file keeps what was cut off a journal, or a replaced journal."""
    return _SET_ASIDE.fullmatch(name) is not None


# --- what a crash leaves ------------------------------------------------------------------------


class AlteredLineError(ValueError):
    """A line is not as it was written, and no crash explains it."""

    def __init__(self, number: int, problem: str) -> None:
        super().__init__(problem)
        self.number = number


@dataclass(slots=True)
class Survey:
    """What of a journal is whole, and what a crash damaged."""

    lines: list[bytes] = field(default_factory=list)
    """The whole lines that follow from each other, without line feeds."""
    records: list[Json] = field(default_factory=list)
    """What these lines say."""
    cut: bytes = b""
    """Everything else."""
    cut_lines: list[int] = field(default_factory=list)
    """The lines in which something is cut, counted from 1."""
    lost: list[Json] = field(default_factory=list)
    """What whole lines say that no longer follow from a line before them."""

    @property
    def lost_answers(self) -> list[str]:
        """The calls whose answers were cut, as far as it can be read."""
        return list(dict.fromkeys(name.decode("ascii") for name in _ANSWERED.findall(self.cut)))

    @property
    def place(self) -> str:
        """The lines in which something is cut, in words."""
        first, last = self.cut_lines[0], self.cut_lines[-1]
        return f"line {first}" if first == last else f"lines {first} to {last}"


def survey(content: bytes) -> Survey:
    """Tell the whole lines of a journal from what a crash damaged.

    Raises:
        AlteredLineError: a line was altered.
    """
    return _Surveyor().result(content)


class _Surveyor:
    """Reads a journal line by line; see the rule above."""

    def __init__(self) -> None:
        self._found = Survey()
        self._cut: list[bytes] = []
        self._last = START
        """The hash of the last line that is kept."""
        self._before: str | None = START
        """The hash of the whole line just before; None after damage."""

    def result(self, content: bytes) -> Survey:
        *lines, torn = content.split(b"\n")
        for number, line in enumerate(lines, start=1):
            try:
                record = read_line(line, is_header=number == 1 or self._may_be_header(line))
            except ValueError as err:
                self._damaged(number, line, str(err))
            else:
                self._whole(number, line, record)
        if torn:
            self._torn(len(lines) + 1, torn)
        self._found.cut = b"".join(self._cut)
        return self._found

    def _whole(self, number: int, line: bytes, record: Json) -> None:
        follows = record["prev"] == self._last
        if not follows and self._before not in (None, record["prev"]):
            raise AlteredLineError(number, "does not follow from the line before it")
        if not self._keep(number, line, record):
            self._cut_off(number, line + b"\n")
        self._before = line_hash(line)

    def _damaged(self, number: int, line: bytes, problem: str) -> None:
        """Keep the whole lines inside a damaged one, and cut the rest."""
        done, rest, gaps = 0, b"", []
        self._before = None
        for start, piece, record in self._lines_in(line):
            gaps.append(line[done:start])
            is_kept = self._keep(number, piece, record)
            rest += gaps[-1] + (b"" if is_kept else piece)
            done = start + len(piece)
            self._before = line_hash(piece)
        gaps.append(line[done:])
        if gaps[-1]:
            self._before = None
        if b"\0" not in line and not _is_fused(gaps):
            raise AlteredLineError(number, problem)
        self._cut_off(number, rest + gaps[-1] + (b"\n" if self._before is None else b""))

    def _torn(self, number: int, line: bytes) -> None:
        """Keep the whole lines inside a torn one; the last one lacks its line feed."""
        done = 0
        for start, piece, record in self._lines_in(line):
            if start + len(piece) < len(line) and self._keep(number, piece, record):
                self._cut_off(number, line[done:start])
                done = start + len(piece)
        self._cut_off(number, line[done:])

    def _may_be_header(self, line: bytes) -> bool:
        """Tell whether a line is to be read as the first one, which damage may stand before."""
        return not self._found.lines and line.startswith(_HEADER)

    def _keep(self, number: int, line: bytes, record: Json) -> bool:
        """Keep a line that follows from the last one; else remember what it says."""
        if record["prev"] != self._last:
            self._found.lost.append(record)
            return False
        if not self._found.lines and (record["type"], record.get("schema")) != ("header", SCHEMA):
            raise AlteredLineError(number, f"is not a header of format {SCHEMA}")
        self._found.lines.append(line)
        self._found.records.append(record)
        self._last = line_hash(line)
        return True

    def _lines_in(self, damaged: bytes) -> Iterator[tuple[int, bytes, Json]]:
        """Yield the whole lines inside a damaged one, with their beginnings."""
        done = 0
        for end in _END.finditer(damaged):
            start = end.start()
            for _ in range(MAX_BEGINNINGS):
                start = damaged.rfind(_BEGIN, done, start)
                if start < 0:
                    break
                piece = damaged[start : end.end()]
                try:
                    record = read_line(piece, is_header=self._may_be_header(piece))
                except ValueError:
                    continue
                yield start, piece, record
                break
            done = end.end()

    def _cut_off(self, number: int, rest: bytes) -> None:
        if rest:
            self._cut.append(rest)
            self._found.cut_lines.append(number)


def _is_fused(gaps: list[bytes]) -> bool:
    """Tell whether what is around whole lines is one torn line before them, and nothing else."""
    torn, *others = gaps
    begins = torn[: len(_BEGIN)] == _BEGIN[: len(torn)]
    return bool(torn) and begins and bool(others) and not any(others)


# --- the header ---------------------------------------------------------------------------------


def parse_header(journal: bytes) -> Json:
    """Return the header of a journal; {} if its first line is missing or damaged.

    `ucm verify` says what is wrong with a damaged line.
    """
    line = _first_line(journal)
    try:
        return {} if line is None else read_line(line, is_header=True)
    except ValueError:
        return {}


def _first_line(journal: bytes) -> bytes | None:
    """Return the first line without its line feed; None if it never ends or is no header's size."""
    end = journal.find(b"\n", 0, MAX_HEADER_BYTES + 1)
    return journal[:end] if end >= 0 else None


def is_run_header(header: Json) -> bool:
    """Tell whether a journal is that of a run; one whose header is damaged may be."""
    return header.get("kind", RUN_KINDS[0]) in RUN_KINDS


def refuse_other_format(journal: bytes, name: object) -> None:
    """Refuse a journal whose format is not the one that this version reads.

    Raises:
        RunStoreError: it was made by an older or a newer version; the message names it.
    """
    line = _first_line(journal)
    if line is None:
        return
    try:
        header = strict_json.loads(line)
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


def told_of_cut(cut: Json, place: str, kept: Path) -> str:
    """Tell what was cut, for the screen."""
    told = f"A crash damaged the journal: {cut['bytes']} bytes ({place}) were cut, and are kept in {kept}."
    names = cut["answers"]
    if not names:
        return f"{told} No answer to a call can be read in it."
    more = len(names) - MAX_NAMED
    shown = ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"{told} Answers that were in it are lost, and are asked and paid again: {shown}."


def lost_journal(path: Path, how: str) -> str:
    """Say that the answers of a run are gone."""
    kept = sorted(each.name for each in path.parent.glob(f"{KEPT}*"))
    instead = f"rename {kept[-1]} to {path.name}" if kept else "restore it from a backup"
    return (
        f"{path} is {how}, and with it every answer that was paid for; nothing was sent. To resume "
        f"the run, {instead}; else start a new run."
    )
