"""A run is packed into the same bytes each time, and never with what should not be published."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.provider.echo import ENCODINGS
from tests.support import audit_here, audited_provider
from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.cli.verify import bundle, verify
from uncensoring_chinese_models.errors import CorruptRunError, RunStoreError, UnfitToPublishError
from uncensoring_chinese_models.runs.chain import SCHEMA, START, sealed
from uncensoring_chinese_models.runs.untrusted import read_run_tree
from uncensoring_chinese_models.verify.bundle import manifest, pack_run, packed
from uncensoring_chinese_models.verify.checks import check_bundle
from uncensoring_chinese_models.verify.leaks import find_leaks
from uncensoring_chinese_models.verify.verification import verify_run

PINNED = "73881b36307e6b713c02debae2e06920bf59d1d93f0f3c68f75791270e1c5f1b"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One finished run that holds nothing private, which nobody changes."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch, audited_provider() as provider:
        patch.chdir(folder)
        made = audit_here(folder, provider, output_dir="runs")
        yield folder / made.folder


@pytest.fixture
def run(made, tmp_path, monkeypatch):
    """A copy of the run, in the folder where the test runs."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(made, tmp_path / "run-1")


def test_bundle_verifies_and_its_sums_can_be_checked_by_hand(run, tmp_path, capsys):
    """The archive holds, its manifest is what sha256sum reads, and the run is in it whole."""
    assert bundle(str(run)) == 0

    archive = tmp_path / "run-1.zip"
    assert verify_run(archive).holds
    assert hashlib.sha256(archive.read_bytes()).hexdigest() in capsys.readouterr().out
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(tmp_path / "out")
    checked = subprocess.run(
        ["sha256sum", "--strict", "-c", "MANIFEST.sha256"], cwd=tmp_path / "out", check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    packed = {path.relative_to(run) for path in run.rglob("*") if path.is_file()}
    assert len(checked.stdout.splitlines()) == len(packed) + 1
    for path in packed:
        assert (tmp_path / "out/run" / path).read_bytes() == (run / path).read_bytes()
    assert verify_run(tmp_path / "out/run").holds


def test_same_run_gives_the_same_bytes(run, tmp_path):
    """Neither the folder's name nor times, modes, leftovers or the clock have a say in it."""
    first = pack_run(run, tmp_path / "a.zip")
    (run / ".lock").write_text("1 myhost.example")
    (run / "auditor_turns/.001.json.tmp").write_text("half")
    for path in run.rglob("*.json"):
        os.utime(path, (1, 1))
        path.chmod(0o600)
    moved = run.rename(tmp_path / "another name")

    second = pack_run(moved, tmp_path / "b.zip")

    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    assert first.sha256 == second.sha256


def test_changed_byte_in_a_bundle_is_caught(run, tmp_path):
    """Whatever member is changed, and in the manifest itself, the archive does not hold."""
    path = pack_run(run, tmp_path / "a.zip").path
    members = {}
    with zipfile.ZipFile(path) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    for changed in members:
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                spoilt = content[:40] + bytes([content[40] ^ 1]) + content[41:]
                archive.writestr(name, spoilt if name == changed else content)

        named = {failure.file for failure in verify_run(path).failures}
        assert changed.removeprefix("run/") in named or changed == "MANIFEST.sha256"
        assert named


def test_every_byte_of_the_archive_counts(run, tmp_path):
    """Times, modes, comments and what the directory repeats are compared, not content alone."""
    path = pack_run(run, tmp_path / "a.zip").path
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as opened:
        directory = opened.start_dir
        heads = [
            at
            for one in opened.infolist()
            for at in range(one.header_offset, one.header_offset + 30)
        ]
    for at in (*heads, *range(directory, len(whole))):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            tree = read_run_tree(path)
        except RunStoreError:
            continue
        assert any(check.failures for check in check_bundle(tree)) or tree.problems, at
    path.write_bytes(whole + b"x")

    assert not verify_run(path).holds


def test_changed_time_in_the_directory_does_not_accuse_the_run(run, tmp_path, capsys):
    """The place is named, and it is the archive that is not as it was packed."""
    path = pack_run(run, tmp_path / "a.zip").path
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as opened:
        at = opened.start_dir + 12
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 2]) + whole[at + 1 :])

    assert verify(str(path)) == 4

    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:3] == ["bundle", "1", "wrong"]
    assert f"  a.zip: byte {at}: is not the byte that ucm bundle" in "\n".join(lines)
    assert lines[-1].startswith("So the bundle is not, or not any more, what ucm bundle wrote")


def test_bytes_of_an_archive_are_the_same_in_every_version(tmp_path):
    """A bundle that was published must not become wrong by an update of Python or of ours."""
    content = packed({"run/a": b"x", "MANIFEST.sha256": b"y"})

    assert hashlib.sha256(content).hexdigest() == PINNED


@pytest.mark.parametrize("how", ["content", "line", "order"])
def test_damaged_manifest_is_the_bundles_fault(run, tmp_path, how):
    """The row of the bundle stays, and the run is not accused."""
    path = pack_run(run, tmp_path / "a.zip").path
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    text = members["MANIFEST.sha256"]
    if how == "content":
        at = whole.index(text) + 3
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    else:
        lines = text.splitlines(keepends=True)
        new = b"".join(reversed(lines)) if how == "order" else b"zz" + text[2:]
        path.write_bytes(packed(members | {"MANIFEST.sha256": new}))

    result = verify_run(path)

    assert [(one.name, one.verdict) for one in result.checks[:2]] == [
        ("bundle", "wrong"),
        ("files", "holds"),
    ]
    assert "MANIFEST.sha256" in {one.file for one in result.failures}
    assert "in the run inside it, nothing wrong was found" in result.concludes


def test_sums_that_people_publish_are_printed(run, tmp_path, capsys):
    """That of the archive and that of the summary in it."""
    path = pack_run(run, tmp_path / "a.zip").path

    assert verify(str(path)) == 0

    out = capsys.readouterr().out
    for what, file in (("the archive", path), ("summary.json", run / "summary.json")):
        assert f"sha256 of {what}: {hashlib.sha256(file.read_bytes()).hexdigest()}" in out


def test_unpacked_bundle_verifies_where_it_lies(run, tmp_path, monkeypatch, capsys):
    """`ucm verify .` reads the manifest as well, and passes by what else lies there."""
    path = pack_run(run, tmp_path / "a.zip").path
    with zipfile.ZipFile(path) as opened:
        opened.extractall(tmp_path / "out")
    monkeypatch.chdir(tmp_path / "out")
    Path("mine.txt").write_text("x")

    assert verify(".") == 0
    out = capsys.readouterr().out
    assert "not part of it, and not read: mine.txt." in out
    assert "there are no bytes of an archive" in out

    Path("README.txt").write_text("Send money.")
    assert [str(one) for one in verify_run(Path()).failures] == [
        "README.txt: has another sha256 than the manifest lists"
    ]
    Path("MANIFEST.sha256").unlink()
    with pytest.raises(RunStoreError, match=r"Did you mean run\?"):
        verify_run(Path())


def test_readme_names_the_package_and_the_version(run, tmp_path):
    """A stranger learns what to install; another text is pointed out, though the sums fit."""
    path = pack_run(run, tmp_path / "a.zip").path
    with zipfile.ZipFile(path) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    text = members["README.txt"].decode()
    assert (
        f"uncensoring-chinese-models, version {__version__}, which the run names as its maker"
        in text
    )

    members["README.txt"] = b"Trust me."
    members["MANIFEST.sha256"] = manifest(members)
    path.write_bytes(packed(members))
    result = verify_run(path)

    assert result.holds
    assert "README.txt is not what ucm bundle of this version writes" in result.notes[0]


def test_changed_run_is_not_packed(run):
    """A run whose files are not those of its summary is no evidence."""
    (run / "report.md").write_text("All is well.")

    with pytest.raises(CorruptRunError, match=r"report\.md"):
        pack_run(run)
    assert not list(run.parent.glob("*.zip"))


def test_link_is_not_packed(run):
    """What is outside the run stays outside the archive."""
    (run / "more").symlink_to(run.parent)

    with pytest.raises(CorruptRunError, match="symbolic link"):
        pack_run(run)


@pytest.mark.parametrize("finished", [True, False])
def test_hidden_file_is_left_out(run, tmp_path, capsys, finished):
    """Keys and traces of an editor that lie in the folder are not published with the run."""
    for name in () if finished else ("summary.json", "report.html", "report.md"):
        (run / name).unlink()
    (run / ".env").write_text("MY_KEY=tgp_v1_0123456789abcdef0123456789")
    (run / ".DS_Store").write_bytes(b"\0jdoe")
    (run / ".git").mkdir()

    assert bundle(str(run)) == 0

    assert "left out: .DS_Store, .env, .git/" in capsys.readouterr().err
    with zipfile.ZipFile(tmp_path / "run-1.zip") as archive:
        assert not [name for name in archive.namelist() if "/." in name]
    assert verify_run(tmp_path / "run-1.zip").holds


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("name", ["auditor_turns/.env", "notes.txt", "a/.b/c", "001.json"])
def test_file_that_is_not_the_runs_is_refused(run, name, finished):
    """What the run did not write is named instead of packed."""
    for gone in () if finished else ("summary.json", "report.html", "report.md"):
        (run / gone).unlink()
    (run / name).parent.mkdir(parents=True, exist_ok=True)
    (run / name).write_text("x")

    with pytest.raises(CorruptRunError, match=re.escape(name)):
        pack_run(run)
    assert not list(run.parent.glob("*.zip"))


def test_folder_of_the_doctor_is_not_packed(run):
    """It has a journal and no run in it, as verify says of it, too."""
    header = sealed({"type": "header", "schema": SCHEMA, "kind": "doctor"}, START)
    (run / "journal.jsonl").write_bytes(header + b"\n")

    for check in (pack_run, verify_run):
        with pytest.raises(RunStoreError, match="is the record of ucm doctor, not a run"):
            check(run)


def test_interrupted_run_can_be_packed(run, tmp_path, capsys):
    """Runs that broke off belong into an appendix, too, but nobody packs one unawares."""
    for name in ("summary.json", "report.html", "report.md"):
        (run / name).unlink()

    assert bundle(str(run)) == 0
    assert "warning: summary.json is missing: the run has not ended" in capsys.readouterr().err
    assert verify_run(tmp_path / "run-1.zip").holds


def test_run_with_an_absolute_path_is_refused_with_a_list(tmp_path, monkeypatch):
    """Where a run was kept is nobody's business; the user decides, and hears it again."""
    monkeypatch.chdir(tmp_path)
    with audited_provider() as provider:
        run = audit_here(tmp_path, provider, max_iterations=1).folder

    with pytest.raises(UnfitToPublishError, match="nothing was packed") as refused:
        pack_run(run)

    listed = [line for line in str(refused.value).splitlines() if "an absolute path" in line]
    assert {line.split(":")[0].strip() for line in listed} == {
        "config.yaml",
        "journal.jsonl",
        "summary.json",
    }
    packed = pack_run(run, keep_found=True)
    assert len(packed.kept) == len(listed)
    assert verify_run(packed.path).holds


def test_key_is_never_packed(run, monkeypatch):
    """Not even where the user says that all is to be kept."""
    (key, *_) = re.findall(r'"generation_id": "([^"]+)"', (run / "journal.jsonl").read_text())
    (run / "config.yaml").write_text(
        (run / "config.yaml").read_text().replace("preset:", "api_key_env: MY_KEY\n  preset:")
    )
    for name in ("summary.json", "report.html", "report.md"):
        (run / name).unlink()
    monkeypatch.setenv("MY_KEY", key)

    with pytest.raises(UnfitToPublishError, match="the value of MY_KEY") as refused:
        pack_run(run, keep_found=True)
    assert key not in str(refused.value)


def test_archive_is_written_over_nothing_and_not_into_the_run(run, tmp_path, monkeypatch):
    """A file of the user's stays as it is, and the run as well; the same archive may be there."""
    assert not pack_run(run, tmp_path / "a.zip").was_there
    assert pack_run(run, tmp_path / "a.zip").was_there
    (tmp_path / "mine.txt").write_text("mine")
    monkeypatch.chdir(run)

    with pytest.raises(RunStoreError, match="exists and is not this archive"):
        pack_run(run, tmp_path / "mine.txt")
    with pytest.raises(RunStoreError, match="is inside the run"):
        pack_run(run)
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert verify_run(run).holds


def test_same_archive_is_said_to_be_there_already(run, tmp_path, capsys):
    """Nothing is written, and it is said so."""
    bundle(str(run))
    before = (tmp_path / "run-1.zip").stat().st_mtime_ns

    assert bundle(str(run)) == 0

    assert "run-1.zip exists already, with the same bytes" in capsys.readouterr().out
    assert (tmp_path / "run-1.zip").stat().st_mtime_ns == before


def test_archive_that_cannot_be_written_is_an_error(run, tmp_path):
    """The message names the file."""
    with pytest.raises(RunStoreError, match="cannot be written"):
        pack_run(run, tmp_path / "nowhere" / "a.zip")


HOME = b"/%s/jdoe" % b"home"  # in pieces, as no tracked file names such a place
FOUND = {
    "key": ("report.md", b"sk-or-v1-0123456789abcdef0123456789", "looks like a key"),
    "home": ("audited_responses/001.json", b'{"text": "see %s/x"}' % HOME, HOME.decode()),
    "windows": ("report.md", b"C:\\Users\\jdoe\\x", "jdoe"),
    "host": ("report.md", b"made on lab-gpu-7.", "lab-gpu-7"),
    "output_dir": ("config.yaml", b"output_dir: /scratch/x", "/scratch/x"),
    "private address": ("config.yaml", b"base_url: http://10.0.0.7/v1", "10.0.0.7"),
    "bare name": ("config.yaml", b"base_url: http://gpubox:8000/v1", "gpubox"),
    "internal": ("summary.json", b'{"config": {"a": "https://m.lab.internal/v1"}}', "internal"),
    "served model": ("summary.json", b'{"by_served_model": {"/data/m.gguf": 1}}', "/data/m.gguf"),
    "served path": ("journal.jsonl", b'{"served_model": "/data/m.gguf"}\n', "/data/m.gguf"),
    "server": ("journal.jsonl", b'{"server": "http://10.0.0.7:8000/v1"}\n', "10.0.0.7"),
    "counted server": ("a.json", b'{"by_server": {"http://gpubox:8000/v1": 3}}', "gpubox"),
    "checked server": ("a.json", b'{"servers": {"target": ["http://gpubox/v1"]}}', "gpubox"),
    "key of Groq": ("report.md", b"gsk_0123456789abcdef0123456789", "looks like a key"),
    "key of xAI": ("report.md", b"xai-0123456789abcdef0123456789", "looks like a key"),
    "key of NVIDIA": ("report.md", b"nvapi-0123456789abcdef0123456789", "looks like a key"),
    "key of Together": ("report.md", b"tgp_v1_0123456789abcdef0123456789", "looks like a key"),
    "home below": ("report.md", b"see https://a.example or /mnt%s" % HOME, HOME.decode()),
    "path with spaces": ("config.yaml", b"output_dir: /data/jane doe/x", "/data/jane doe/x"),
    "share": ("config.yaml", b"output_dir: \\\\files\\jdoe\\x", "\\\\files\\jdoe\\x"),
    "shared net": ("config.yaml", b"base_url: http://100.64.1.2:8000/v1", "100.64.1.2"),
    "path in a comment": ("config.yaml", b"topic: x  # see /srv/jdoe/plan.txt", "/srv/jdoe/plan"),
    "host in a comment": ("config.yaml", b"# made on http://10.3.2.1:8000\ntopic: x", "10.3.2.1"),
    "path in a prompt": ("journal.jsonl", b'{"auditor_prompt": "see /srv/jdoe/x"}\n', "/srv/jdoe"),
    "no connection": (
        "audited_responses/001.json",
        b'{"error": "Cannot connect to host 10.1.2.3:8000 ssl:default [Connect call failed]"}',
        "10.1.2.3",
    ),
    "no such name": (
        "a.json",
        b'{"error": "connect to host gpu07.internal:8000 ssl"}',
        "gpu07.int",
    ),
    "no such bare name": ("a.json", b'{"error": "connect to host gpubox:8000 ssl"}', "gpubox"),
    "no IPv6": ("a.json", b'{"error": "connect to host [fd00::7]:8000 ssl"}', "fd00::7"),
    "windows error": ("a.json", b'{"error": "no D:\\\\jdoe\\\\q.gguf"}', "D:\\jdoe\\q.gguf"),
    "share in an error": (
        "a.json",
        b'{"error": "no \\\\\\\\files\\\\q.gguf"}',
        "\\\\files\\q.gguf",
    ),
    "error": ("journal.jsonl", b'{"error": {"message": "no /opt/x/y here"}}\n', "/opt/x/y"),
}


@pytest.mark.parametrize(("file", "content", "shown"), FOUND.values(), ids=FOUND)
def test_what_should_not_be_published_is_found(file, content, shown):
    """Keys, home folders, this machine's name, absolute paths and private addresses."""
    leaks = find_leaks({file: content}, names=["lab-gpu-7"])

    assert [shown in str(leak) for leak in leaks] == [True]


HARMLESS = {
    "public address": ("config.yaml", b"base_url: https://api.deepseek.com/v1"),
    "this machine": ("config.yaml", b"base_url: http://localhost:8000/v1"),
    "loopback": ("config.yaml", b"base_url: http://127.0.0.1:8000/v1"),
    "relative": ("config.yaml", b"output_dir: outputs/x"),
    "model": ("config.yaml", b"audited_model: deepseek/deepseek-chat"),
    "prose": ("audited_responses/001.json", b'{"text": "and/or at /etc/hosts, 24/7, sk-8"}'),
    "address in an error": ("journal.jsonl", b'{"message": "see https://openrouter.ai/docs/x"}\n'),
    "page": ("audited_responses/001.json", b'{"text": "https://a.example%s"}' % HOME),
    "page without scheme": ("report.md", b"See www.a.example/%s/ for it." % b"Users"),
    "no connection here": (
        "a.json",
        b'{"error": "Cannot connect to host localhost:8000 or 127.0.0.1:8000 or [::1]:8000 [None]"}',
    ),
    "no connection there": (
        "a.json",
        b'{"error": "Cannot connect to host api.deepseek.com:443 ssl:default, version 1.2.3, e.g."}',
    ),
    "comment": ("config.yaml", b"# local: http://127.0.0.1:8000/v1, and/or outputs/x; e.g. #1\n"),
    "deep": ("summary.json", b"[" * 100_000),
    "not YAML": ("config.yaml", b"\xff: ["),
}


def test_our_own_configs_may_be_published():
    """The comments of the configs that come with the project name nobody."""
    for path in sorted(Path("configs").rglob("*.yaml")):
        assert find_leaks({"config.yaml": path.read_bytes()}) == [], path


@pytest.mark.parametrize(("file", "content"), HARMLESS.values(), ids=HARMLESS)
def test_what_may_be_published_is_let_through(file, content):
    """What names nobody is no reason to refuse."""
    assert find_leaks({file: content}, names=["host", "vm"]) == []


@pytest.mark.parametrize("form", ENCODINGS)
def test_key_in_any_encoding_is_not_packed(run, monkeypatch, form):
    """The search before packing knows the same encodings as that of the answers."""
    key = "sk-or-v1-9fQz_4TgXb7LmW2pR8sYc-aV3nHd"
    monkeypatch.setenv("OPENROUTER_API_KEY", key)
    for name in ("summary.json", "report.html", "report.md"):
        (run / name).unlink()
    turn = run / "auditor_turns/001.json"
    content = json.loads(turn.read_bytes()) | {"raw_response": ENCODINGS[form](key)}
    turn.write_text(json.dumps(content))

    with pytest.raises(UnfitToPublishError, match="the value of OPENROUTER_API_KEY") as refused:
        pack_run(run, keep_found=True)
    assert key not in str(refused.value)
