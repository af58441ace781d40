"""One process at a time writes a file, and nothing beside the file decides which."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from uncensoring_chinese_models.errors import RunLockedError, RunStoreError
from uncensoring_chinese_models.runs.lock import (
    is_locked,
    lock_file,
    unlock_file,
    write_locked,
)

HOLD_LOCK = """
import sys
from pathlib import Path
from uncensoring_chinese_models.runs.lock import lock_file
lock_file(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


@contextmanager
def held_elsewhere(path: Path):
    """Let another process lock the file, until it is ended or killed."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_LOCK, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


@contextmanager
def held(path: Path):
    handle = lock_file(path)
    try:
        yield handle
    finally:
        unlock_file(handle, path)


def test_second_process_is_refused_by_name(path):
    """The message names the process, the machine and the folder."""
    with held_elsewhere(path) as owner, pytest.raises(RunLockedError) as caught:
        lock_file(path)

    assert f"process {owner.pid} on {socket.gethostname()}" in str(caught.value)
    assert str(path.parent) in str(caught.value)
    assert caught.value.exit_code == 4


def test_refused_process_leaves_the_lock_alone(path):
    """Being refused does not take the lock from its owner, and asking does not either."""
    with held_elsewhere(path):
        for _ in range(2):
            with pytest.raises(RunLockedError):
                lock_file(path)
            assert is_locked(path)

    assert not is_locked(path)


def test_lock_of_a_killed_process_is_taken_over(path):
    """A lock ends with its owner, also when that was killed."""
    with held_elsewhere(path) as owner:
        owner.kill()
        owner.wait()

        with held(path):
            assert is_locked(path)


@pytest.mark.parametrize(
    "content", [None, b"", b"999999 elsewhere", b"\xff\0", b"a b c d " * 100, b"1 \x1b[2J"]
)
def test_file_beside_decides_nothing(content, path):
    """Whatever the hidden file says, or if it is gone, the lock alone decides."""
    owner = path.with_name(".journal.jsonl.owner")
    with held_elsewhere(path):
        owner.unlink()
        if content is not None:
            owner.write_bytes(content)
        with pytest.raises(RunLockedError) as caught:
            lock_file(path)
    with held(path):
        pass

    assert "\x1b" not in str(caught.value)
    assert "in use by " in str(caught.value)


def test_nothing_is_left_beside_afterwards(path):
    """A file that was locked and unlocked can be locked again; no other file is left."""
    for _ in range(2):
        with held(path):
            pass

    assert list(path.parent.iterdir()) == [path]


def test_lock_in_this_process_is_held_too(path):
    """The same process cannot lock a file twice, and reading the file does not end its lock."""
    with held(path):
        path.read_bytes()
        with pytest.raises(RunLockedError, match=str(os.getpid())):
            lock_file(path)


def test_file_that_was_replaced_while_waiting_is_opened_anew(path, monkeypatch):
    """A lock on a file that no longer has the name is worth nothing, so the new file is locked."""
    path.write_bytes(b"old")
    flock = fcntl.flock
    seen: list[int] = []

    def replace_first(handle, how):
        if not seen:
            seen.append(handle)
            path.unlink()
            path.write_bytes(b"new")
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", replace_first)
    handle = lock_file(path)

    assert os.pread(handle, 9, 0) == b"new"
    unlock_file(handle, path)


def test_new_file_is_locked_before_it_has_its_name(path):
    """Whoever opens the new file finds it locked."""
    with held(path) as old:
        handle = write_locked(path, b"new")
        try:
            assert is_locked(path)
            assert path.read_bytes() == b"new"
            os.fstat(old)
        finally:
            unlock_file(handle, path)


@pytest.mark.parametrize("code", [errno.ENOTSUP, errno.ENOLCK, errno.ENOSYS, errno.EINVAL])
def test_file_system_without_locks_is_refused(path, monkeypatch, code):
    """Two processes could pay for the same calls there, so nothing is sent."""

    def fail(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(RunStoreError, match="no locks") as caught:
        lock_file(path)

    assert "Nothing was sent" in str(caught.value)
    assert "local disk" in str(caught.value)


@pytest.mark.parametrize("make", ["folder", "pipe", "link", "link to nothing"])
def test_what_is_no_plain_file_is_not_locked(path, make):
    """Nothing is opened that may block or that somebody else chose."""
    match make:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case _:
            path.symlink_to(path.with_name("elsewhere"))
    if make == "link":
        path.with_name("elsewhere").touch()

    with pytest.raises((OSError, RunStoreError)):
        lock_file(path)


def test_child_without_a_new_program_does_not_keep_the_lock(path):
    """A process that was forked while the file was locked does not hold it once it is unlocked."""
    handle = lock_file(path)
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:  # wait until the parent is done, then leave at once
        os.close(theirs)
        os.read(ours, 1)
        os._exit(0)
    try:
        unlock_file(handle, path)
        assert not is_locked(path)
    finally:
        os.close(theirs)
        os.waitpid(child, 0)
        os.close(ours)
