"""A run packed for a paper's appendix, unless it holds what should not be published."""

from __future__ import annotations

import hashlib
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models.config import load_config, read_key
from uncensoring_chinese_models.errors import (
    AuditToolError,
    CorruptRunError,
    RunStoreError,
    UnfitToPublishError,
)
from uncensoring_chinese_models.runs import RunStore, read_run
from uncensoring_chinese_models.verify.archive import archive
from uncensoring_chinese_models.verify.leaks import Leak, find_leaks

if TYPE_CHECKING:
    from io import BufferedWriter

    from uncensoring_chinese_models.runs import RunTree

MOST_SHOWN = 20
_OF_A_RUN = re.compile(
    r"config\.yaml|journal\.jsonl|report\.md|doctor\.json"
    r"|(?:auditor_turns|audited_responses)/[0-9]{3,9}\.json"
)
"""The files that a run has before its summary lists them."""


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
    has_summary: bool
    """False for a run that has not ended, or that lost its summary.json."""
    was_there: bool
    """True when the very same archive was there already."""


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
    was_there = _write(path, content, folder)
    return Packed(
        path,
        len(tree.files),
        hashlib.sha256(content).hexdigest(),
        [str(leak) for leak in leaks],
        tree.leftovers,
        has_summary=store.is_finished,
        was_there=was_there,
    )


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


def _write(path: Path, content: bytes, folder: Path) -> bool:
    """Write the archive, over nothing and not into the run; tell whether it was there already."""
    if path.resolve().is_relative_to(folder.resolve()):
        raise RunStoreError(f"{path} is inside the run; give a file elsewhere with --out.")
    try:
        with path.open("xb") as file:
            _fill(file, content)
    except FileExistsError:
        if not path.is_file() or not _is_same(path, content):
            raise RunStoreError(
                f"{path} is there already and is not this archive; it was left as it is. Remove "
                "it, or give another --out."
            ) from None
        return True
    except OSError as err:
        raise RunStoreError(f"{path} cannot be written: {err.strerror}.") from err
    return False


def _fill(file: BufferedWriter, content: bytes) -> None:
    """Write all of it, or leave no file behind."""
    try:
        file.write(content)
        file.flush()
    except OSError:
        Path(file.name).unlink(missing_ok=True)
        raise


def _is_same(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


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
