"""Pack a run for publication, unless it holds what should not be published.

The bytes of a bundle are the same for the same files, so that a reader can pack it again and
compare: members are stored without compression, in sorted order, with fixed times and modes.
"""

from __future__ import annotations

import hashlib
import io
import re
import socket
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.config import Endpoint, JudgeModel, load_config, read_key
from uncensoring_chinese_models.errors import (
    AuditToolError,
    CorruptRunError,
    RunStoreError,
    UnfitToPublishError,
)
from uncensoring_chinese_models.runs import (
    BUNDLED,
    BUNDLED_JUDGED,
    JUDGED,
    MANIFEST,
    README,
    RunStore,
    is_judged_file,
    judged_folder,
    parse_run,
    read_run_tree,
    whole_lines,
)
from uncensoring_chinese_models.verify.leaks import Leak, find_leaks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from io import BufferedWriter

    from uncensoring_chinese_models.runs import RunTree

MAX_SHOWN = 20
_OF_A_RUN = re.compile(
    r"config\.yaml|journal\.jsonl|report\.md|doctor\.json"
    r"|(?:auditor_turns|audited_responses)/[0-9]{3,9}\.json"
    r"|auditor_turns/[0-9]{3,9}\.failed-[0-9]{1,9}\.json"
)
"""The files that a run has before its summary lists them."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_VERSION = re.compile(r"[0-9A-Za-z.+!_-]{1,40}")
_PROCESS = (b'{"type": "header"', b'{"type": "resumed"')
"""How the lines of the journal begin that name a version."""
_ABOUT = """\
An audit of a language model, as uncensoring_chinese_models recorded it.

run/             the run: start with report.html; docs/run-format.md of the project describes the rest
{judged}{manifest}  the sha256 of every file

To check that the files are those that were packed:

    sha256sum -c {manifest}

To check that the run follows from its journal, offline and without a key, install the Python
package uncensoring-chinese-models{version}, and then:

    ucm verify run

This proves that the run is consistent with its journal, not that the journal is true. Where a
provider was asked, the journal keeps its generation ids, so that it can be asked about them.
"""
_JUDGED = """\
run.judged/      what its samples do with known facts, as judged by patterns, models or people
"""
_WHICH = """\
, version {version}, which the run names as its maker
(another version may write other files)"""


@dataclass(frozen=True, slots=True)
class Packed:
    """A bundle that was written."""

    path: Path
    files: int
    sha256: str
    kept: list[str]
    """What should perhaps not be published, and was packed with --keep-found."""
    left_out: list[str]
    """Hidden files and folders that are not part of the run and were not packed."""
    has_summary: bool
    """False for a run that has not ended, or that lost its summary.json."""
    was_there: bool
    """True when the very same archive was there already."""


def pack_run(folder: Path, out: Path | None = None, *, keep_found: bool = False) -> Packed:
    """Pack a run directory.

    Raises:
        RunStoreError: it is not a run directory, or the archive cannot be written.
        CorruptRunError: its files are not those that its summary lists.
        UnfitToPublishError: it holds what should not be published; nothing was packed.
    """
    store = RunStore.existing(folder)
    tree = read_run_tree(folder)
    _refuse_strangers(store, tree)
    judged, foreign = _judged(tree)
    everything = tree.files | {f"{folder.name}{JUDGED}/{name}": judged[name] for name in judged}
    leaks = find_leaks(everything, _secrets(folder, judged), _names())
    if leaks and not (keep_found and not any(leak.is_secret for leak in leaks)):
        raise UnfitToPublishError(_refusal(folder, leaks))
    path = out or Path(f"{folder.resolve().name}.zip")
    content = archive(tree.files, judged)
    was_there = _write(path, content, folder)
    return Packed(
        path,
        len(everything),
        hashlib.sha256(content).hexdigest(),
        [str(leak) for leak in leaks],
        [*tree.leftovers, *foreign],
        has_summary=store.is_finished,
        was_there=was_there,
    )


def _refuse_strangers(store: RunStore, tree: RunTree) -> None:
    """Refuse a folder that holds a file which the run did not write."""
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
                f"{store.folder / name} is not a file of the run; nothing was packed. Move it "
                "elsewhere."
            )


def _judged(tree: RunTree) -> tuple[dict[str, bytes], list[str]]:
    """Return the files of judgements, and the names of what lies beside them and is not packed."""
    beside = tree.judged
    if beside is None:
        return {}, []
    for name, why in beside.problems.items():
        raise CorruptRunError(f"{beside.name}{name} {why}; nothing was packed.")
    for why in parse_run("run", tree.files, beside).unfit:
        raise CorruptRunError(
            f"{beside.name}{why} Nothing was packed: judge the run again, or move that file elsewhere."
        )
    own = {name: content for name, content in beside.files.items() if is_judged_file(name)}
    foreign = [*beside.leftovers, *(name for name in beside.files if name not in own)]
    return own, [beside.name + name for name in foreign]


def _write(path: Path, content: bytes, folder: Path) -> bool:
    """Write the archive, but not over another file or into the run; tell whether it existed."""
    own = (folder.resolve(), judged_folder(folder).resolve())
    if any(path.resolve().is_relative_to(each) for each in own):
        raise RunStoreError(f"{path} is inside the run; give a file elsewhere with --out.")
    try:
        with path.open("xb") as file:
            _fill(file, content)
    except FileExistsError:
        if not path.is_file() or not _is_same(path, content):
            raise RunStoreError(
                f"{path} exists and is not this archive; it was not changed. Remove "
                "it, or give another --out."
            ) from None
        return True
    except OSError as err:
        raise RunStoreError(f"{path} cannot be written: {err.strerror}.") from err
    return False


def _fill(file: BufferedWriter, content: bytes) -> None:
    """Write all of it, or leave no file."""
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


def _secrets(folder: Path, judged: Mapping[str, bytes]) -> dict[str, str]:
    """Return OpenRouter's key and those of the run and its judges, as far as this machine has them."""
    endpoints = [judge.endpoint for judge in _judges(judged.get("journal.jsonl", b""))]
    endpoints.append(Endpoint())
    try:
        config = load_config(folder / "config.yaml").settings
        endpoints += [config.auditing_endpoint, config.audited_endpoint]
        endpoints += [judge.endpoint for judge in config.judge_model]
    except AuditToolError:
        pass
    found = {}
    for endpoint in endpoints:
        key = read_key(endpoint, required=False)
        if key and endpoint.key_variable:
            found[endpoint.key_variable] = key
    return found


def _judges(journal: bytes) -> Iterator[JudgeModel]:
    """Yield the judges that a journal names."""
    for line in whole_lines(journal)[0]:
        if line.startswith(_PROCESS):
            with suppress(ValueError, KeyError, TypeError, RecursionError):
                for each in strict_json.loads(line)["settings"]["judge_model"]:
                    yield JudgeModel.model_validate(each)


def _names() -> list[str]:
    """Return names of this machine and its user."""
    host = socket.gethostname()
    return [host, host.split(".")[0], str(Path.home())]


def _refusal(folder: Path, leaks: list[Leak]) -> str:
    shown = "\n".join(f"  {leak}" for leak in leaks[:MAX_SHOWN])
    more = f"\n  and {len(leaks) - MAX_SHOWN} more" if len(leaks) > MAX_SHOWN else ""
    if any(leak.is_secret for leak in leaks):
        following = "Withdraw that key: it is in the run."
    else:
        following = (
            "Nothing can be cut out of a run that still verifies, so decide: --keep-found packs it "
            "with these; a new run has none if its paths are relative (output_dir, gguf/...), or "
            "gguf/NAME names a fetched model, and its addresses are public."
        )
    return (
        f"{folder} holds what should not be published; nothing was packed.\n{shown}{more}\n"
        f"{following}"
    )


# --- the bytes of a bundle ----------------------------------------------------------------------


def archive(files: Mapping[str, bytes], judged: Mapping[str, bytes]) -> bytes:
    """Return the bytes of the archive of a run and its judgements."""
    members = {BUNDLED + name: content for name, content in files.items()}
    members |= {BUNDLED_JUDGED + name: content for name, content in judged.items()}
    members[README] = readme(files, has_judgements=bool(judged))
    members[MANIFEST] = manifest(members)
    return packed(members)


def readme(files: Mapping[str, bytes], *, has_judgements: bool) -> bytes:
    """Return the text that says what is in the archive and how to check it."""
    version = _made_by(files.get("journal.jsonl", b""))
    which = _WHICH.format(version=version) if version else ""
    judged = _JUDGED if has_judgements else ""
    return _ABOUT.format(manifest=MANIFEST, version=which, judged=judged).encode("utf-8")


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
    """Return the version of the last process that worked on the run; empty if unknown."""
    lines, _ = whole_lines(journal)
    for line in reversed(lines):
        if line.startswith(_PROCESS):
            try:
                version = strict_json.loads(line).get("package_version")
            except (ValueError, RecursionError):
                return ""
            fits = isinstance(version, str) and _VERSION.fullmatch(version)
            return str(version) if fits else ""
    return ""
