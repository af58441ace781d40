"""The viewer on folders that a stranger made to act on whoever looks at them."""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import threading

import pytest

from tests.facts_example import example_file
from tests.judged_runs import judging_provider, probed
from tests.viewed_runs import write_run
from tests.viewing import viewing

pytestmark = pytest.mark.wire
PLANTED = ".ucm-index.sqlite3"
"""A name under which earlier versions kept an index beside the runs."""
_MAGIC = bytes.fromhex("d9d505f920a163d7")


def tree(root):
    """Return all that lies in a folder, with its size and time."""
    found = {}
    for path in root.rglob("*"):
        told = path.lstat()
        found[str(path)] = (told.st_size, told.st_mtime_ns)
    return found


def plant_hot_journal(database, victim):
    """Lay a rollback journal beside a database that makes SQLite delete another file."""
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE x (a)")
    connection.commit()
    connection.close()
    name, page = os.fsencode(victim), 4096
    pages = database.stat().st_size // page
    head = (_MAGIC + struct.pack(">IIIII", 0, 0, pages, 512, page)).ljust(512, b"\0")
    checksum = sum(byte if byte < 128 else byte - 256 for byte in name) & 0xFFFFFFFF
    tail = struct.pack(">I", 0x40000000 // page + 1) + name
    tail += struct.pack(">II", len(name), checksum) + _MAGIC
    database.with_name(f"{database.name}-journal").write_bytes(head + tail)


def test_a_database_among_the_runs_is_never_opened(tmp_path):
    """One whose journal would delete a file of the reader's does nothing, and lies there as before."""
    victim, root = tmp_path / "thesis.txt", tmp_path / "runs"
    victim.write_text("the only copy")
    write_run(root, "run")
    plant_hot_journal(root / PLANTED, victim)
    before = tree(root)

    with viewing(root) as viewer:
        assert viewer.listing()["total"] == 1

    assert victim.read_text() == "the only copy"
    assert tree(root) == before


def test_nothing_is_written_among_the_runs(tmp_path):
    """Whatever is looked at, the folder is to the byte as it was; a second viewer finds the index."""
    root, cache = tmp_path / "runs", tmp_path / "cache"
    write_run(root, "one")
    write_run(root, "going", ended=False)
    before = tree(root)

    for _ in range(2):
        with viewing(root, cache) as viewer:
            for run in viewer.listing()["runs"]:
                assert viewer.ask(f"/run/{run['id']}").status == 200
            assert len(viewer.ask("/search.json?q=dawn").json()["hits"]) == 2

    assert tree(root) == before
    (kept,) = cache.glob("viewer/*.sqlite3")
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700


def test_two_viewers_of_one_folder_do_not_disturb_each_other(tmp_path):
    """Both list what is there, also what comes while they are open, and neither reports a fault."""
    root, cache = tmp_path / "runs", tmp_path / "cache"
    for number in range(60):
        write_run(root, f"run{number}")

    with viewing(root, cache) as one, viewing(root, cache) as other:
        assert one.listing()["total"] == other.listing()["total"] == 60
        write_run(root, "later")
        for viewer in (one, other):
            viewer.listing(lambda told: told["total"] == 61)  # it looks once a second
        for viewer in (one, other, one, other):
            assert viewer.listing()["total"] == 61
            assert len(viewer.ask("/search.json?q=dawn").json()["hits"]) == 50
    with viewing(root, cache) as again:
        assert again.listing()["total"] == 61


def test_files_that_never_end_stop_nothing(tmp_path):
    """A pipe, a link to a device and a hole of a terabyte are passed over, and Ctrl-C ends it all."""
    journals = {name: write_run(tmp_path, name) / "journal.jsonl" for name in ("pipe", "link")}
    journals["hole"] = write_run(tmp_path, "hole", ended=False) / "journal.jsonl"
    for path in journals.values():
        path.unlink()
    os.mkfifo(journals["pipe"])
    journals["link"].symlink_to("/dev/zero")
    with journals["hole"].open("wb") as file:
        file.truncate(1 << 40)
    write_run(tmp_path, "sound")

    with viewing(tmp_path) as viewer:
        ids = {run["name"]: run["id"] for run in viewer.listing()["runs"]}
        assert set(ids) == {*journals, "sound"}
        for each in journals:
            assert viewer.ask(f"/run/{ids[each]}").status in (200, 422)


def test_a_run_that_is_read_for_ever_does_not_keep_the_viewer(tmp_path):
    """Whatever hangs among what was judged, pages answer and Ctrl-C ends the viewer."""
    write_run(tmp_path, "run")
    (tmp_path / "run.judged").mkdir()
    os.mkfifo(tmp_path / "run.judged/quillon.json")

    with viewing(tmp_path) as viewer:
        assert viewer.ask("/").status == 200


def test_a_pattern_that_never_ends_is_told_and_stops_no_other_page(tmp_path):
    """Runs with such a facts file are compared as far as they can be; the list answers meanwhile."""
    content = example_file(1)
    content["facts"][0]["patterns"].append("(?:a|aa)+c")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with judging_provider(["a" * 3000 + "!c"]) as provider:
            probed(tmp_path / name, provider, n=2, content=content)
    pages, answered = [], 0

    with viewing(tmp_path) as viewer:
        one, two = (run["id"] for run in viewer.listing()["runs"])
        asking = threading.Thread(
            target=lambda: pages.append(viewer.ask(f"/compare.json?a={one}&b={two}"))
        )
        asking.start()
        while asking.is_alive():
            assert viewer.ask("/index.json").status == 200
            answered += asking.is_alive()
            asking.join(0.01)
        again = viewer.ask(f"/compare?a={one}&b={two}")

    (page,) = pages
    problem = page.json()["tested"]["problem"]
    assert "its pattern '(?:a|aa)+c' of the fact pine takes too long" in problem
    assert json.dumps(str(tmp_path)) not in problem
    assert again.status == 200
    assert "takes too long" in again.body
    assert answered > 5
