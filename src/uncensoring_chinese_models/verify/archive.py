"""The bytes of a bundle: the same for the same files, so that they can be made again and compared.

Members are stored, not compressed, under sorted names with fixed times and modes, so that no
version of zlib and no clock has a say in the bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from typing import TYPE_CHECKING

from uncensoring_chinese_models.runs import BUNDLED, MANIFEST, README, whole_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

_EPOCH = (1980, 1, 1, 0, 0, 0)
_VERSION = re.compile(r"[0-9A-Za-z.+!_-]{1,40}")
_PROCESS = (b'{"type": "header"', b'{"type": "resumed"')
"""How a line of the journal begins that tells of a process."""
_ABOUT = """\
An audit of a language model, as uncensoring_chinese_models recorded it.

run/             the run: start with report.html; docs/run-format.md of the project describes the rest
{manifest}  the sha256 of every file

To check that the files are those that were packed:

    sha256sum -c {manifest}

To check that the run follows from its journal, offline and without a key, install the Python
package uncensoring-chinese-models{version}, and then:

    ucm verify run

This proves that the run is consistent with its journal, not that the journal is true. Where a
provider was asked, the journal keeps its generation ids, so that it can be asked about them.
"""
_WHICH = """\
, version {version}, which made the run
(it compares bytes; another version compares values)"""


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return the bytes of the archive of a run."""
    members = {BUNDLED + name: content for name, content in files.items()}
    members[README] = readme(files)
    members[MANIFEST] = manifest(members)
    return packed(members)


def readme(files: Mapping[str, bytes]) -> bytes:
    """Return the text that tells a stranger what is in the archive and how to check it."""
    version = _made_by(files.get("journal.jsonl", b""))
    which = _WHICH.format(version=version) if version else ""
    return _ABOUT.format(manifest=MANIFEST, version=which).encode("utf-8")


def manifest(members: Mapping[str, bytes]) -> bytes:
    """Return the list of sums of all members but itself, as sha256sum reads it."""
    lines = (
        f"{hashlib.sha256(members[name]).hexdigest()}  {name}\n"
        for name in sorted(members)
        if name != MANIFEST
    )
    return "".join(lines).encode("utf-8", "surrogateescape")


def packed(members: Mapping[str, bytes]) -> bytes:
    """Return the bytes of an archive of these members."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as opened:
        for name in sorted(members):
            member = zipfile.ZipInfo(name, _EPOCH)
            member.create_system = 3  # Unix: otherwise the mode below is not read
            member.external_attr = 0o100644 << 16
            opened.writestr(member, members[name])
    return held.getvalue()


def first_difference(one: bytes, other: bytes) -> int | None:
    """Return the first byte, counted from 0, in which two contents differ; None if none does."""
    if one == other:
        return None
    low, high = 0, min(len(one), len(other))
    while low < high:  # the longest beginning that they share
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _made_by(journal: bytes) -> str:
    """Return the version of the last process that worked on the run; nothing if it says none."""
    lines, _ = whole_lines(journal)
    for line in reversed(lines):
        if line.startswith(_PROCESS):
            try:
                version = json.loads(line).get("package_version")
            except (ValueError, RecursionError):
                return ""
            fits = isinstance(version, str) and _VERSION.fullmatch(version)
            return str(version) if fits else ""
    return ""
