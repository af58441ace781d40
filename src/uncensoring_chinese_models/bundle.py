"""A run packed for a paper's appendix: one archive, the same bytes for the same run.

Members are stored, not compressed, under sorted names with fixed times and modes, so that no
version of zlib and no clock has a say in the bytes.
"""

from __future__ import annotations

import hashlib
import io
import re
import socket
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models.config import read_key
from uncensoring_chinese_models.config_file import load_config
from uncensoring_chinese_models.errors import (
    AuditToolError,
    CorruptRunError,
    RunStoreError,
    UnfitToPublishError,
)
from uncensoring_chinese_models.leaks import Leak, find_leaks
from uncensoring_chinese_models.run_store import RunStore
from uncensoring_chinese_models.run_tree import BUNDLED, MANIFEST, README, read_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uncensoring_chinese_models.run_tree import RunTree

MOST_SHOWN = 20
_OF_A_RUN = re.compile(
    r"config\.yaml|journal\.jsonl|report\.md|doctor\.json"
    r"|(?:auditor_turns|audited_responses)/[0-9]{3,9}\.json"
)
"""The files that a run has before its summary lists them."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_ABOUT = """\
An audit of a language model, as uncensoring_chinese_models recorded it.

run/             the run: start with report.md; docs/run-format.md of the project describes the rest
{manifest}  the sha256 of every file

To check that the files are those that were packed:

    sha256sum -c {manifest}

To check that the run follows from its journal, offline and without a key, with the version of
uncensoring_chinese_models that run/summary.json names under "versions":

    ucm verify run

This proves that the run is consistent with its journal, not that the journal is true. The
journal keeps the providers' generation ids, so that they can be asked.
"""


@dataclass(frozen=True, slots=True)
class Packed:
    """What was packed, and where it is."""

    path: Path
    files: int
    sha256: str
    kept: list[str]
    """What was found and packed all the same."""
    left_out: list[str]
    """Hidden files and folders, no part of the run, that were not packed."""


def pack_run(folder: Path, out: Path | None = None, *, keep_found: bool = False) -> Packed:
    """Pack a run directory.

    Raises:
        RunStoreError: it is no directory of an audit, or the archive cannot be written.
        CorruptRunError: its files are not those that its summary lists.
        UnfitToPublishError: it holds what should not be published; nothing was packed.
    """
    store = RunStore.existing(folder)
    tree = read_run(folder)
    _refuse_strangers(store, tree)
    leaks = find_leaks(tree.files, _secrets(folder), _names())
    if leaks and not (keep_found and not any(leak.is_secret for leak in leaks)):
        raise UnfitToPublishError(_refusal(folder, leaks))
    path = out or Path(f"{folder.resolve().name}.zip")
    content = archive(tree.files)
    _write(path, content, folder)
    kept = [str(leak) for leak in leaks]
    digest = hashlib.sha256(content).hexdigest()
    return Packed(path, len(tree.files), digest, kept, tree.leftovers)


def _refuse_strangers(store: RunStore, tree: RunTree) -> None:
    """Refuse a folder with anything in it that its run did not write."""
    if tree.problems:
        name, why = next(iter(tree.problems.items()))
        raise CorruptRunError(f"{store.folder / name} {why}; nothing was packed.")
    listed = None
    if store.is_finished:
        summary = store.read_summary()
        store.check_hashes(summary)
        listed = {*summary["sha256"], "summary.json"}
    for name in tree.files:
        if name not in listed if listed is not None else not _OF_A_RUN.fullmatch(name):
            raise CorruptRunError(
                f"{store.folder / name} is no file of the run; nothing was packed. Move it "
                "elsewhere."
            )


def _write(path: Path, content: bytes, folder: Path) -> None:
    """Write the archive, but over nothing else, and not into the run."""
    if path.resolve().is_relative_to(folder.resolve()):
        raise RunStoreError(f"{path} is inside the run; give a file elsewhere with --out.")
    try:
        if path.exists() and path.read_bytes() != content:
            raise RunStoreError(f"{path} is there already; remove it, or give another --out.")
        path.write_bytes(content)
    except OSError as err:
        raise RunStoreError(f"{path} cannot be written: {err.strerror}.") from err


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return the bytes of the archive of a run."""
    members = {BUNDLED + name: content for name, content in files.items()}
    members[README] = _ABOUT.format(manifest=MANIFEST).encode("utf-8")
    sums = "".join(
        f"{hashlib.sha256(members[name]).hexdigest()}  {name}\n" for name in sorted(members)
    )
    members[MANIFEST] = sums.encode("utf-8")
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as packed:
        for name in sorted(members):
            member = zipfile.ZipInfo(name, _EPOCH)
            member.create_system = 3  # Unix: otherwise the mode below is not read
            member.external_attr = 0o100644 << 16
            packed.writestr(member, members[name])
    return held.getvalue()


def _secrets(folder: Path) -> dict[str, str]:
    """Return the keys that the run's endpoints take, where this machine has them."""
    try:
        config = load_config(folder / "config.yaml").settings
    except AuditToolError:
        return {}
    found = {}
    for endpoint in (config.auditing_endpoint, config.audited_endpoint):
        key = read_key(endpoint, required=False)
        if key and endpoint.key_variable:
            found[endpoint.key_variable] = key
    return found


def _names() -> list[str]:
    """Return what names this machine and its user."""
    host = socket.gethostname()
    return [host, host.split(".")[0], str(Path.home())]


def _refusal(folder: Path, leaks: list[Leak]) -> str:
    shown = "\n".join(f"  {leak}" for leak in leaks[:MOST_SHOWN])
    more = f"\n  and {len(leaks) - MOST_SHOWN} more" if len(leaks) > MOST_SHOWN else ""
    if any(leak.is_secret for leak in leaks):
        following = "Withdraw that key: it is in the run."
    else:
        following = (
            "Nothing can be cut out of a run that still verifies, so decide: --keep-found packs it "
            "with these; a new run with a relative output_dir and a public address has none."
        )
    return (
        f"{folder} holds what should not be published; nothing was packed.\n{shown}{more}\n"
        f"{following}"
    )
