"""A run directory has a safe name, one owner, and files that are whole or not there."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from uncensoring_chinese_models.errors import ConfigError, RunStoreError
from uncensoring_chinese_models.runs.store import RunStore, model_slug, run_name, topic_slug

STARTED = "2024-01-15T10:30:00Z"
CONFIG = b"topic: t\n"
ODD_TEXT = (
    "<\uff5cUser\uff5c>\u2581 NUL:\0 BEL:\a 👩\u200d👧 \u202e\u2028\u2029\x85\ufeff\uffff 六四\r\n"
)

any_text = st.text(st.characters(exclude_categories=()))


@pytest.fixture
def store(tmp_path) -> RunStore:
    return RunStore.create(tmp_path / "runs", "model_topic_2024", CONFIG)


def files_below(folder: Path) -> list[str]:
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(found)


# --- names --------------------------------------------------------------------------------------


def test_run_is_named_as_the_spec_shows_it():
    """The spec's example comes out to the letter."""
    name = run_name("deepseek/deepseek-chat", "Tiananmen Square 1989 protests", STARTED)

    assert name == "deepseek-deepseek-chat_tiananmen_2024-01-15T10-30-00"


@pytest.mark.parametrize(
    ("topic", "slug"),
    [
        ("Tiananmen Square 1989 protests", "tiananmen"),
        ("The Great Leap Forward", "great"),
        ("an open letter", "open"),
        ("A", "topic"),
        ("the the The THE a An", "topic"),
        ("Anne Frank", "anne"),
        ("Hong Kong, 2019", "hong"),
        ("1989", "1989"),
        ("  «Falun Gong»", "falun"),
        ("天安门广场抗议活动始末", "天安门广场抗议活"),
        ("六四", "六四"),
        ("六四 事件", "六四"),
        ("1989年天安门广场", "1989年天安门"),
        ("Événement de 1989", "événemen"),
        ("x" * 300, "x" * 40),
        ("", "topic"),
        ("...", "topic"),
        ("___", "topic"),
        ("👩‍👧", "topic"),
    ],
)
def test_topic_is_named_by_its_first_word(topic, slug):
    """The first word in lower case that is no article, or the first eight characters."""
    assert topic_slug(topic) == slug


@pytest.mark.parametrize(
    ("model", "slug"),
    [
        ("deepseek/deepseek-chat", "deepseek-deepseek-chat"),
        ("deepseek/deepseek-r1:free", "deepseek-deepseek-r1-free"),
        ("Qwen/Qwen2.5-72B-Instruct", "Qwen-Qwen2.5-72B-Instruct"),
        ("qwen2.5:7b", "qwen2.5-7b"),
        ("/models/Qwen3-8B-Q4_K_M.gguf", "models-Qwen3-8B-Q4_K_M.gguf"),
        ("模型/一", "模型-一"),
        ("/", "model"),
        ("", "model"),
    ],
)
def test_model_is_named_with_hyphens_for_slashes(model, slug):
    """The slug can still be read as the model's name."""
    assert model_slug(model) == slug


HOSTILE = [
    "../",
    "../../etc/passwd",
    "..",
    ".",
    "./..",
    "/etc/passwd",
    "//host/share",
    "C:\\Windows\\System32",
    "C:",
    "\\\\host\\share",
    "..\\..\\x",
    "CON",
    "nul",
    "aux.txt",
    "trailing dot.",
    "trailing space ",
    "...   ...",
    "%2e%2e%2f",
    "%2e%2e",
    "a\0b",
    "\0",
    "x" * 300,
    "模" * 300,
    "😀" * 300,
    "é" * 300,
    "./" * 200,
    "\u202egnp.exe",
    "a\u2066b\u2069",
    "\u2024\u2024/",  # one-dot leaders, which look like dots
    "\uff0e\uff0e\uff0f",  # full-width dots and slash
    "\u2215\u2044",  # division and fraction slashes
    "a\nb",
    "a\x1b[2Jb",
    "\ud800",
    "-rf",
    "--help",
    "~",
    "~root/x",
    "$HOME",
    "`id`",
    "$(id)",
    "*?[a]",
    "a'b\"c",
    "a;b|c&d<e>f",
    ".hidden",
    "_",
    "\ufeff",
    "ﷺ" * 100,
    "",
    " ",
]


def is_safe(name: str) -> bool:
    """Tell whether a name is one plain path component on every system."""
    return (
        PurePosixPath(name).parts == (name,)
        and PureWindowsPath(name).parts == (name,)
        and name[0] not in ".-~ "
        and name[-1] not in ". "
        and name.isprintable()
        and len(name.encode()) <= 200
        and re.fullmatch(r"[\w.-]+", name) is not None
        and name.split("_", maxsplit=1)[0].upper() not in ("", ".", "..")
    )


@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
def test_hostile_name_stays_in_the_output_folder(hostile, tmp_path):
    """Whatever a model or a topic is called, its run is one folder below output_dir."""
    output = tmp_path / "runs"
    for model, topic in ((hostile, "t"), ("m", hostile), (hostile, hostile)):
        name = run_name(model, topic, STARTED)
        store = RunStore.create(output, name, CONFIG)

        assert is_safe(name)
        assert store.folder.parent == output
        assert store.folder.resolve().parent == output.resolve()
        assert store.folder.is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


@given(model=any_text, topic=any_text)
@example(model="模" * 80, topic="😀" * 80)
def test_any_name_is_one_safe_path_component(model, topic):
    """No text whatsoever makes a name that a file system could misread."""
    assert is_safe(run_name(model, topic, STARTED))


# --- making a run -------------------------------------------------------------------------------


def test_new_run_holds_its_config(tmp_path):
    """A run directory is made with its parents, and the config in it is the bytes given."""
    store = RunStore.create(tmp_path / "a" / "b", "name", b"\xef\xbb\xbftopic: t\r\n# \xff")

    assert store.folder == tmp_path / "a" / "b" / "name"
    assert files_below(tmp_path) == ["a/b/name/config.yaml", "a/b/name/journal.jsonl"]
    assert (store.folder / "config.yaml").read_bytes() == b"\xef\xbb\xbftopic: t\r\n# \xff"


def test_clash_of_names_gets_a_suffix(tmp_path):
    """Two runs that begin in the same second have two folders, and a file is no folder."""
    (tmp_path / "name-3").touch()

    names = [RunStore.create(tmp_path, "name", CONFIG).folder.name for _ in range(4)]

    assert names == ["name", "name-2", "name-4", "name-5"]


def test_too_many_clashes_are_refused(tmp_path):
    """When every suffix is taken, the run is refused, and nothing is left behind."""
    taken = ["name", *(f"name-{number}" for number in range(2, 1000))]
    for name in taken:
        (tmp_path / name).touch()

    with pytest.raises(RunStoreError, match="holds too many runs named name"):
        RunStore.create(tmp_path, "name", CONFIG)

    assert files_below(tmp_path) == sorted(taken)


MAKE_RUNS = """
import sys
from pathlib import Path
from uncensoring_chinese_models.runs.store import RunStore
sys.stdin.read()
for _ in range(25):
    print(RunStore.create(Path(sys.argv[1]), "name", b"topic: t").folder.name)
"""


def test_processes_that_start_at_once_get_a_run_each(tmp_path):
    """No two processes share a folder, and none is refused because another was faster."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", MAKE_RUNS, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdin
        process.stdin.close()
        process.stdin = None  # all wait for this, and go on together
    results = [process.communicate(timeout=60) for process in processes]

    assert [stderr for _, stderr in results] == [""] * 4
    names = [name for stdout, _ in results for name in stdout.split()]
    assert len(names) == len(set(names)) == 100
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_output_folder_that_cannot_be_is_refused(tmp_path):
    """An output_dir below a file is the user's to mend, and nothing is left behind."""
    (tmp_path / "file").write_text("mine", encoding="utf-8")

    for output in (tmp_path / "file", tmp_path / "file" / "runs"):
        with pytest.raises(ConfigError, match=r"cannot be written: .*; nothing was sent"):
            RunStore.create(output, "name", CONFIG)

    assert files_below(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_full_disk_leaves_no_half_made_run(tmp_path, monkeypatch):
    """A run whose config cannot be kept is not begun, and the message speaks of the folder."""
    monkeypatch.setattr(os, "fsync", disk_full)

    with pytest.raises(ConfigError, match="No space left on device; nothing was sent"):
        RunStore.create(tmp_path, "name", CONFIG)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("make", ["nothing", "folder", "file", "config_folder"])
def test_only_a_run_directory_can_be_resumed(make, tmp_path):
    """A folder without a config.yaml is no run, and the message says which folder."""
    folder = tmp_path / "run"
    if make in ("folder", "config_folder"):
        folder.mkdir()
    if make == "config_folder":
        (folder / "config.yaml").mkdir()
    if make == "file":
        folder.touch()

    with pytest.raises(RunStoreError, match=rf"{re.escape(str(folder))} is not a run directory"):
        RunStore.existing(folder)


def test_existing_run_is_found(store):
    """The store of a run that is there is the same as the one that made it."""
    assert RunStore.existing(store.folder).folder == store.folder


# --- files --------------------------------------------------------------------------------------


def test_files_have_the_names_of_the_spec(store):
    """Turns and responses are numbered with three digits, and no temporary file is left."""
    store.write_turn(1, {})
    store.write_response(1, {})
    store.write_turn(1000, {})
    store.write_summary({"status": "completed"})

    assert files_below(store.folder) == [
        "audited_responses/001.json",
        "auditor_turns/001.json",
        "auditor_turns/1000.json",
        "config.yaml",
        "journal.jsonl",
        "summary.json",
    ]
    assert store.journal_path == store.folder / "journal.jsonl"


def test_json_is_for_people_too(store):
    """Chinese text is stored readably, indented, with a line break at the end."""
    store.write_turn(1, {"topic": "六四\uff5c"})

    text = (store.folder / "auditor_turns/001.json").read_text(encoding="utf-8")
    assert text == '{\n  "topic": "六四\uff5c"\n}\n'


@pytest.mark.parametrize(
    "text", [ODD_TEXT, "\ud800", "a\udfffb\ud83d", ODD_TEXT + "\udc80", "\0", "x" * 1_000_000, ""]
)
def test_text_of_models_survives_the_disk(text, store):
    """Role tokens, NUL, emoji and lone surrogates read back as they were."""
    store.write_turn(1, {"raw_response": text, text: [text]})
    store.write_response(1, {"raw_response": text})

    turn = json.loads((store.folder / "auditor_turns/001.json").read_bytes())
    response = json.loads((store.folder / "audited_responses/001.json").read_bytes())
    assert turn == {"raw_response": text, text: [text]}
    assert response == {"raw_response": text}


# A high surrogate before a low one is one character in JSON, and never comes from JSON.
json_text = any_text.filter(lambda text: not re.search("[\ud800-\udbff][\udc00-\udfff]", text))


@given(text=json_text)
def test_any_text_survives_the_disk(text, tmp_path_factory):
    """Whatever JSON could bring us, JSON brings back."""
    store = RunStore(tmp_path_factory.getbasetemp())

    store.write_response(1, {"text": text})

    stored = (store.folder / "audited_responses/001.json").read_bytes()
    assert json.loads(stored) == {"text": text}
    stored.decode("utf-8")


def test_file_is_replaced_whole(store):
    """Another content takes the place of the old one under the same name."""
    store.write_turn(1, {"long": "x" * 10_000})
    store.write_turn(1, {"short": 1})

    assert json.loads((store.folder / "auditor_turns/001.json").read_bytes()) == {"short": 1}
    assert files_below(store.folder) == ["auditor_turns/001.json", "config.yaml", "journal.jsonl"]


def test_same_content_is_not_written_again(store):
    """A replayed run leaves the files that it would write as they are."""
    store.write_turn(1, {"a": 1})
    before = (store.folder / "auditor_turns/001.json").stat()
    store.write_turn(1, {"a": 1})

    after = (store.folder / "auditor_turns/001.json").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_left_over_temporary_file_is_overwritten(store):
    """What a killed process left behind neither stops nor alters a later write."""
    (store.folder / "auditor_turns").mkdir()
    (store.folder / "auditor_turns/.001.json.tmp").write_bytes(b'{"torn": ')

    store.write_turn(1, {"a": 1})

    assert files_below(store.folder) == ["auditor_turns/001.json", "config.yaml", "journal.jsonl"]


def disk_full(handle: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_failed_write_leaves_the_old_file_and_no_other(store, monkeypatch):
    """On a full disk the file that was there stays, and the message says how to go on."""
    store.write_turn(1, {"a": 1})
    monkeypatch.setattr(os, "fsync", disk_full)

    for number in (1, 2):
        with pytest.raises(RunStoreError) as caught:
            store.write_turn(number, {"b": 2})
        assert "No space left on device" in str(caught.value)
        assert f"--resume {store.folder}" in str(caught.value)

    assert files_below(store.folder) == ["auditor_turns/001.json", "config.yaml", "journal.jsonl"]
    assert json.loads((store.folder / "auditor_turns/001.json").read_bytes()) == {"a": 1}


def test_file_in_place_of_a_folder_is_an_error_of_the_run(store):
    """A path that cannot be written is reported as such, not as a bug."""
    (store.folder / "auditor_turns").write_text("in the way", encoding="utf-8")

    with pytest.raises(RunStoreError, match=r"auditor_turns/001\.json cannot be written"):
        store.write_turn(1, {})

    assert (store.folder / "auditor_turns").read_text(encoding="utf-8") == "in the way"


def test_folder_in_place_of_a_file_is_an_error_of_the_run(store):
    """A folder where a file belongs is not removed, and no temporary file stays."""
    (store.folder / "auditor_turns/001.json").mkdir(parents=True)

    with pytest.raises(RunStoreError, match=r"auditor_turns/001\.json cannot be written"):
        store.write_turn(1, {})

    assert files_below(store.folder) == ["config.yaml", "journal.jsonl"]


def test_run_that_was_removed_is_an_error_of_the_run(tmp_path):
    """A run directory that is gone is not made again with half its files."""
    with pytest.raises(RunStoreError, match="cannot be written: No such file"):
        RunStore(tmp_path / "gone").write_turn(1, {})

    assert list(tmp_path.iterdir()) == []


# --- the end ------------------------------------------------------------------------------------


def test_summary_means_finished(store):
    """A run is finished when its summary is there, and not when it was taken back."""
    assert store.is_finished is False

    store.write_summary({"status": "budget"})
    assert store.is_finished is True
    assert store.read_summary()["status"] == "budget"

    store.begin_again()
    store.begin_again()
    assert store.is_finished is False


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff\xfe"])
def test_summary_that_cannot_be_read_is_an_error_of_the_run(content, store):
    """A damaged summary is named, and not taken for a result."""
    if content is not None:
        (store.folder / "summary.json").write_bytes(content)

    with pytest.raises(RunStoreError, match=r"summary\.json cannot be read"):
        store.read_summary()


def test_summary_holds_the_hash_of_every_other_file(store):
    """Anyone can check each file; the summary itself, locks and temporary files are left out."""
    store.write_turn(1, {"text": "六四"})
    store.write_response(1, {})
    (store.folder / "journal.jsonl").write_bytes(b"{}\n")
    (store.folder / "report.html").write_bytes(b"<html>")
    (store.folder / "auditor_turns/.002.json.tmp").write_bytes(b"torn")
    for name in (".journal.jsonl.owner", "journal.cut-1", "journal.kept-12"):
        (store.folder / name).write_bytes(b"beside")
    store.write_summary({"status": "completed"})
    store.write_summary({"status": "completed"})

    listed = store.read_summary()["sha256"]
    expected = [
        "audited_responses/001.json",
        "auditor_turns/001.json",
        "config.yaml",
        "journal.jsonl",
        "report.html",
    ]
    assert list(listed) == expected
    for name in expected:
        assert listed[name] == hashlib.sha256((store.folder / name).read_bytes()).hexdigest()


def test_hash_changes_with_a_file(store):
    """An edited file is noticed."""
    before = store.hashes()
    (store.folder / "config.yaml").write_bytes(CONFIG + b" ")

    assert store.hashes() != before


def test_prune_removes_what_this_process_did_not_write(store):
    """Files of an ending that did not last go; everything that no audit writes stays."""
    for number in (1, 2, 3, 10, 1000):
        store.write_turn(number, {})
        store.write_unusable(number, 12, {})
        store.write_response(number, {})
    (store.folder / "auditor_turns/notes.json").touch()
    (store.folder / "auditor_turns/004.txt").touch()
    resumed = RunStore(store.folder)
    resumed.write_turn(1, {})
    resumed.write_turn(2, {"another": "turn"})
    resumed.write_unusable(2, 1, {})
    resumed.write_response(1, {})

    resumed.prune()

    assert files_below(store.folder) == [
        "audited_responses/001.json",
        "auditor_turns/001.json",
        "auditor_turns/002.failed-1.json",
        "auditor_turns/002.json",
        "auditor_turns/004.txt",
        "auditor_turns/notes.json",
        "config.yaml",
        "journal.jsonl",
    ]


def test_prune_of_a_run_without_turns_does_nothing(store):
    """A run that ended before its first turn has nothing to remove."""
    store.prune()

    assert files_below(store.folder) == ["config.yaml", "journal.jsonl"]
