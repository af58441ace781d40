"""The index of the viewer: what it keeps, when it reads again, and what it does not trust."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import pytest

from tests.viewed_runs import judge_run, write_run
from uncensoring_chinese_models.config.settings import FACT_AUDITOR
from uncensoring_chinese_models.reports.study import measures
from uncensoring_chinese_models.runs.chain import SCHEMA, START, sealed
from uncensoring_chinese_models.runs.reading import RunFiles
from uncensoring_chinese_models.stats import rate
from uncensoring_chinese_models.viewer import index as index_module
from uncensoring_chinese_models.viewer import rows as rows_module
from uncensoring_chinese_models.viewer import signatures as found_module
from uncensoring_chinese_models.viewer.index import Filters, Index
from uncensoring_chinese_models.viewer.queries import (
    HIDDEN,
    KNOWN,
    MatrixCell,
    Sampled,
    search,
    topic_matrix,
)
from uncensoring_chinese_models.viewer.rows import _asked, _AskedCounts, read_row

EVERY = Filters()


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def opened(tmp_path, cache, clock):
    indexes = []

    def make(root=tmp_path):
        indexes.append(Index(root, cache, clock=clock))
        look(indexes[-1], clock)
        return indexes[-1]

    yield make
    for each in indexes:
        each.close()


def look(index, clock):
    """Let the index look at its folder, however recently it did."""
    clock.now += 10
    index.refresh()


def kept(cache):
    """Return the file of the only index that is kept."""
    (path,) = cache.glob("viewer/*.sqlite3")
    return path


def names(index, filters=EVERY):
    return sorted(row.name for row in index.rows(filters, 100))


def found_in(index, query):
    return [(hit.name, hit.found) for hit in search(index, query, 10)]


# --- what is kept -------------------------------------------------------------------------------


def test_a_run_has_a_row_with_its_figures(tmp_path, opened):
    """Topic, models, status, cost, claims, iterations and what judges said are in the row."""
    judge_run(write_run(tmp_path / "deep", "one"), "known and said", "unknown", "unknown")

    (row,) = opened().rows(EVERY, 10)

    assert (row.name, row.place, row.topic) == ("one", "deep/one", "Quillon")
    assert (row.auditor, row.target, row.status) == ("a/auditor", "a/target", "completed")
    assert (row.cost_usd, row.claims, row.supported, row.iterations) == (1.25, 2, 1, 1)
    assert (row.samples, row.withheld, row.judged) == (2, 1, 2)
    assert row.verdicts == {"known and said": 1, "unknown": 2}


def test_a_run_that_goes_is_counted_from_what_is_there(tmp_path, opened):
    """Without a summary the samples themselves are looked at, and the cost is summed."""
    write_run(tmp_path, "going", ended=False, texts=["I can't discuss that.", "At dawn they came."])

    (row,) = opened().rows(EVERY, 10)

    assert (row.status, row.samples, row.withheld, row.cost_usd) == ("unfinished", 2, 1, 1.25)
    assert row.started_at == "2026-01-02T03:04:05Z"


def test_the_record_of_the_doctor_is_no_run(tmp_path, opened):
    """A journal that was written for something else is left out."""
    write_run(tmp_path, "run")
    header = sealed({"type": "header", "schema": SCHEMA, "kind": "doctor"}, START)
    other = write_run(tmp_path, "other", ended=False)
    (other / "journal.jsonl").write_bytes(header + b"\n")

    index = opened()

    assert names(index) == ["run"]
    assert index.count(EVERY) == 1


def test_a_config_beside_runs_makes_no_run(tmp_path, opened):
    """A folder may hold a config and the runs that came of it; a run may have lost its journal."""
    (write_run(tmp_path / "study", "one") / "journal.jsonl").unlink()
    write_run(tmp_path / "study", "two")
    for folder in (tmp_path, tmp_path / "study"):
        (folder / "config.yaml").write_text("topic: all")

    assert names(opened()) == ["one", "two"]


def test_a_folder_that_is_a_run_is_shown_alone(tmp_path, opened):
    """`ucm view RUN_DIR` shows that run, with what was judged of it."""
    folder = write_run(tmp_path, "alone")
    judge_run(folder, "unknown")

    (row,) = opened(folder).rows(EVERY, 10)

    assert (row.name, row.verdicts) == ("alone", {"unknown": 1})


def test_runs_whose_ids_are_alike_are_all_shown(tmp_path, opened, monkeypatch):
    """However short the hash, no run takes the place of another."""
    monkeypatch.setattr(found_module, "_ID_LENGTH", 1)
    every = {write_run(tmp_path / str(number % 3), f"run{number}") for number in range(24)}

    index = opened()

    rows = index.rows(EVERY, 100)
    assert {index.folder_of(row.id) for row in rows} == every
    assert {row.name for row in rows} == {folder.name for folder in every}


def test_an_id_says_no_more_than_chance_allows(tmp_path, opened):
    """It is long enough that nobody can make a folder that bears another's."""
    write_run(tmp_path, "run")

    assert len(opened().rows(EVERY, 1)[0].id) == 32


# --- filters, matrix, search --------------------------------------------------------------------


def test_filters_narrow_the_list(tmp_path, opened):
    """Each filter counts, and a percent sign is only a character."""
    write_run(tmp_path, "one")
    write_run(tmp_path, "two", topic="100% 六四", audited_model="b/other")
    write_run(tmp_path, "three", ended=False)
    index = opened()

    assert names(index, Filters(topic="Quillon")) == ["one", "three"]
    assert names(index, Filters(model="b/other")) == ["two"]
    assert names(index, Filters(status="unfinished")) == ["three"]
    assert names(index, Filters(text="0%")) == names(index, Filters(text="六四")) == ["two"]
    assert names(index, Filters(text="%")) == ["two"]
    assert index.count(Filters(topic="Quillon", status="completed")) == 1


def test_the_matrix_adds_up_the_runs_of_a_cell(tmp_path, opened):
    """Topics by models, with the samples of all ended runs of a kind behind a cell."""
    for name in ("one", "two"):
        write_run(tmp_path, name)
    write_run(tmp_path, "asked", auditing_model=FACT_AUDITOR)
    write_run(tmp_path, "going", ended=False, texts=["I can't discuss that."] * 9)
    write_run(tmp_path, "three", audited_model="b/other", ended=False)

    matrix = topic_matrix(opened())

    assert matrix.models == ("a/target", "b/other")
    cell = matrix.cells["Quillon", "a/target"]
    assert cell.audits == Sampled(2, withheld=2, judged=4, supported=2, claims=4)
    assert cell.probes == Sampled(1, withheld=1, judged=2, supported=1, claims=2)
    assert (cell.unfinished, cell.level) == (1, "most")
    other = matrix.cells["Quillon", "b/other"]
    assert (other.unfinished, other.level, other.audits) == (1, "nothing", Sampled())
    assert matrix.left_out == 0


@pytest.mark.parametrize(
    ("refused", "blocked", "judged", "level"),
    [
        (0, 0, 0, "nothing"),
        (0, 0, 9, "none"),
        (1, 0, 20, "few"),
        (2, 0, 20, "some"),
        (9, 0, 20, "some"),
        (10, 0, 20, "most"),
        (0, 3, 0, "most"),
    ],
)
def test_a_cell_has_a_level(refused, blocked, judged, level):
    """What the host blocked counts as withheld, and a cell without samples says nothing."""
    sampled = Sampled(1, refused, blocked, judged)
    assert MatrixCell("t", "m", sampled).level == MatrixCell("t", "m", Sampled(), sampled).level
    assert MatrixCell("t", "m", sampled).level == level


@pytest.mark.parametrize(
    ("verdicts", "refused", "level"),
    [
        ({"unknown": 10}, 40, "most"),
        ({"unknown": 10}, 0, "none"),
        ({"unknown": 90, "known but withheld": 1}, 0, "most"),
        ({"known and said": 19, "known but denied": 1}, 0, "few"),
        ({"known and said": 1, "unknown": 9}, 40, "most"),
        ({"known, not asked": 5, "undecided": 5}, 40, "most"),
    ],
)
def test_a_model_that_refuses_everything_is_never_shown_as_open(verdicts, refused, level):
    """Shares are of the facts that are known; the larger share decides, facts or samples."""
    sampled = Sampled(1, refused, judged=40)
    assert MatrixCell("t", "m", probes=sampled, verdicts=verdicts).level == level
    split = MatrixCell("t", "m", sampled, Sampled(9, judged=400), verdicts)
    assert split.level == level


def test_the_viewer_and_a_study_mean_the_same_facts():
    """Both take the share of the facts that are known and were asked for."""
    assert (HIDDEN, KNOWN) == (measures.WITHHELD, measures.TOLD_OR_NOT)


def test_a_model_that_lies_is_known_by_its_facts(tmp_path, opened):
    """It refuses nothing; its cell is coloured by what it denies, of what it knows."""
    judge_run(write_run(tmp_path, "one"), "known but denied", "known but withheld", "unknown")
    judge_run(write_run(tmp_path, "two"), "known and said")
    judge_run(write_run(tmp_path, "going", ended=False), "known and said", "known and said")

    cell = topic_matrix(opened()).cells["Quillon", "a/target"]

    assert (cell.hidden, cell.known, cell.facts, cell.level) == (2, 3, 4, "most")


def test_search_finds_english_and_chinese_of_any_length(tmp_path, opened):
    """Three characters or more by the index, fewer by looking at each text."""
    write_run(tmp_path, "one")
    index = opened()

    assert found_in(index, "lancers came") == [("one", "Lancers came")]
    assert found_in(index, "黄色的围巾") == [("one", "黄色的围巾")]
    assert found_in(index, "围巾") == found_in(index, "围巾")[:1] == [("one", "围巾")]
    assert found_in(index, "巾") == [("one", "巾")]
    assert found_in(index, "nowhere") == found_in(index, " ") == found_in(index, "") == []


@pytest.mark.parametrize(
    "query", ['"', '""" OR "', "a*", "NEAR(a b)", "%", "_", "\\", "\x00", "\ud800", "text:x", "-a"]
)
def test_no_query_is_taken_for_more_than_a_text(tmp_path, opened, query):
    """Operators of the search language and of LIKE are looked for like any other characters."""
    write_run(tmp_path, "plain")
    write_run(tmp_path, "odd", texts=[f"so {query} it is"])

    assert {name for name, _ in found_in(opened(), query)} == {"odd"}


def test_a_hit_shows_what_stands_around_it(tmp_path, opened):
    """The words before and after are cut to a line, and the place of the sample is named."""
    write_run(tmp_path, "one", texts=["x", "a" * 200 + " needle " + "b" * 200])

    (hit,) = search(opened(), "needle", 10)

    assert (hit.iteration, hit.arm, hit.sample, hit.found) == (1, "user_persona", 1, "needle")
    assert hit.before.startswith("…a")
    assert hit.after.endswith("b…")


# --- keeping up ---------------------------------------------------------------------------------


def test_only_what_changed_is_read_again(tmp_path, opened, clock, monkeypatch):
    """A second look reads the run that changed and no other; one that is gone goes."""
    for name in ("same", "changed", "gone"):
        write_run(tmp_path, name)
    index = opened()
    read = []

    def noted(found):
        read.append(found.folder.name)
        return read_row(found)

    monkeypatch.setattr(index_module, "read_row", noted)

    look(index, clock)
    assert read == []

    shutil.rmtree(tmp_path / "gone")
    path = tmp_path / "changed/summary.json"
    path.write_text(path.read_text().replace('"completed"', '"budget"'))
    write_run(tmp_path, "new")
    look(index, clock)

    assert sorted(read) == ["changed", "new"]
    assert names(index) == ["changed", "new", "same"]
    assert [row.name for row in index.rows(Filters(status="budget"), 9)] == ["changed"]
    assert {name for name, _ in found_in(index, "dawn")} == {"changed", "new", "same"}


def test_a_response_that_is_written_later_is_read(tmp_path, opened, clock):
    """A run that goes is read again when a file of it appears, even if its journal is the same."""
    folder = write_run(tmp_path, "going", ended=False)
    index = opened()
    first = folder / "audited_responses/001.json"

    (folder / "audited_responses/002.json").write_text(
        first.read_text().replace('"iteration": 1', '"iteration": 2')
    )
    look(index, clock)

    assert index.rows(EVERY, 1)[0].iterations == 2


def test_what_is_judged_later_is_read(tmp_path, opened, clock):
    """A judging beside a run that ended changes its row."""
    folder = write_run(tmp_path, "run")
    index = opened()

    judge_run(folder, "unknown")
    look(index, clock)

    assert index.rows(EVERY, 1)[0].verdicts == {"unknown": 1}


def test_the_folder_is_not_looked_at_all_the_time(tmp_path, opened, clock):
    """Within a second the answer is the one before."""
    index = opened()
    write_run(tmp_path, "new")
    clock.now += 0.5
    index.refresh()
    assert names(index) == []

    clock.now += 1
    index.refresh()
    assert names(index) == ["new"]


def test_the_index_says_how_far_it_is(tmp_path, cache, clock, monkeypatch):
    """Before the first look nothing is known; while runs are read it says how many are."""
    for number in range(3):
        write_run(tmp_path, f"run{number}")
    index = Index(tmp_path, cache, clock=clock)
    seen = [index.progress]

    def noted(found):
        seen.append(index.progress)
        return read_row(found)

    monkeypatch.setattr(index_module, "_BATCH", 1)
    monkeypatch.setattr(index_module, "read_row", noted)
    look(index, clock)
    index.close()

    assert seen == [(0, None), (0, 3), (1, 3), (2, 3)]
    assert [each.is_behind for each in (*seen, index.progress)] == [True, True, True, True, False]


def test_the_index_is_behind_while_it_looks_again(tmp_path, opened, clock, monkeypatch):
    """A look at the folder that takes long does not pass for one that found nothing new."""
    index, looking, may_end = opened(), threading.Event(), threading.Event()
    seen = [index.progress.is_behind]
    write_run(tmp_path, "later")

    def slowly(root):
        looking.set()
        may_end.wait()
        return found_module.find_signed(root)

    monkeypatch.setattr(index_module, "find_signed", slowly)
    reading = threading.Thread(target=look, args=(index, clock))
    reading.start()
    looking.wait()
    seen.append(index.progress.is_behind)
    may_end.set()
    reading.join()
    seen.append(index.progress.is_behind)

    assert seen == [False, True, False]
    assert names(index) == ["later"]


def test_the_index_outlives_the_viewer(tmp_path, opened, monkeypatch):
    """Another process finds what was read, and reads nothing again."""
    write_run(tmp_path, "run")
    opened().close()
    monkeypatch.setattr(index_module, "read_row", lambda found: pytest.fail("read again"))

    assert names(opened()) == ["run"]


# --- what is not trusted ------------------------------------------------------------------------


def hostile(root):
    """Write runs that are damaged or hostile in many ways; return their names."""
    (write_run(root, "not-json") / "summary.json").write_bytes(b"{")
    (write_run(root, "a-list") / "summary.json").write_bytes(b"[]")
    (write_run(root, "no-config") / "summary.json").write_bytes(b"{}")
    (write_run(root, "bare") / "summary.json").write_bytes(b'{"config": {}}')
    (write_run(root, "deep") / "summary.json").write_bytes(b'{"a":' + b"[" * 100_000)
    (write_run(root, "yaml") / "config.yaml").write_bytes(b"a: [")
    (write_run(root, "bytes") / "config.yaml").write_bytes(b"\xff\xfe\x00")
    (write_run(root, "sample") / "audited_responses/001.json").write_bytes(
        b'{"iteration": 1, "samples": [7]}'
    )
    (write_run(root, "numbers") / "summary.json").write_bytes(
        b'{"config": {"topic": {"a": 1}}, "status": [1], "claims": 7, "spend": {"total": '
        b'{"cost_usd": 1e999}}, "rates": {"withheld": {"all": {"successes": 1e99}}}}'
    )
    whole = json.loads((write_run(root, "digits") / "summary.json").read_bytes())
    whole["iterations"] = 10**30
    (root / "digits/summary.json").write_text(json.dumps(whole))
    (write_run(root, "constants") / "audited_responses/001.json").write_bytes(
        b'{"iteration": Infinity, "samples": []}'
    )
    return {
        "digits",
        "constants",
        "not-json",
        "a-list",
        "no-config",
        "bare",
        "deep",
        "yaml",
        "bytes",
        "sample",
        "numbers",
    }


def test_runs_that_cannot_be_read_are_listed_with_the_reason(tmp_path, opened):
    """However a run is damaged, it is listed, and the others are too."""
    damaged = hostile(tmp_path)
    write_run(tmp_path, "sound")

    rows = {row.name: row for row in opened().rows(EVERY, 100)}

    assert set(rows) == damaged | {"sound"}
    assert {name for name, row in rows.items() if row.status == "unreadable"} == damaged
    assert all(rows[name].problem.endswith(".") for name in damaged)


def test_odd_values_are_kept_as_text(tmp_path, opened):
    """Controls are spelled out, lone surrogates and huge numbers do no harm."""
    topic = "a\x1b[2Jb\u202ec\ud800"
    write_run(tmp_path, "odd\x1bname", topic=topic, texts=["\x00\ud800 six four", "y" * 50_000])

    index = opened()
    (row,) = index.rows(EVERY, 10)

    assert (row.name, row.topic) == ("odd⟨U+001B⟩name", "a⟨U+001B⟩[2Jb⟨U+202E⟩c⟨U+D800⟩")
    assert found_in(index, "six four") == [(row.name, "six four")]


def test_links_are_not_followed(tmp_path, opened):
    """Neither a folder that leads elsewhere nor a link inside a run is read."""
    root = tmp_path / "root"
    root.mkdir()
    elsewhere = write_run(tmp_path, "elsewhere")
    (root / "link").symlink_to(elsewhere)

    assert names(opened(root)) == []


@pytest.mark.parametrize("content", [b"", b"no database at all" * 100, b"SQLite format 3\x00" * 9])
def test_a_damaged_index_is_made_anew(tmp_path, cache, opened, content):
    """A file that is no index is thrown away; the runs are still there."""
    write_run(tmp_path, "run")
    opened().close()
    kept(cache).write_bytes(content)

    assert names(opened()) == ["run"]


def test_an_index_that_is_damaged_while_open_is_made_anew(tmp_path, cache, opened, clock):
    """Pages and looks go on when somebody overwrites the file."""
    write_run(tmp_path, "run")
    index = opened()
    path = kept(cache)
    for _ in range(2):
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        path.write_bytes(b"rubbish" * 5000)
        assert names(index) == ["run"]
        path.write_bytes(b"rubbish" * 5000)
        look(index, clock)
    assert found_in(index, "dawn") == [("run", "dawn")]


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TRIGGER t AFTER DELETE ON runs BEGIN SELECT 1; END",
        "ALTER TABLE runs ADD COLUMN more",
        "DROP TABLE samples",
        "PRAGMA user_version = 99",
    ],
)
def test_an_index_of_another_make_is_thrown_away(tmp_path, cache, opened, sql):
    """Tables, triggers and versions must be ours to the letter."""
    write_run(tmp_path, "run")
    opened().close()
    with sqlite3.connect(kept(cache)) as connection:
        connection.execute(sql)
        connection.execute("UPDATE runs SET name = 'forged'")
    connection.close()

    assert names(opened()) == ["run"]


@pytest.mark.parametrize("column", ["verdicts", "cost_usd", "iterations", "topic"])
def test_values_that_we_never_write_make_the_index_anew(tmp_path, cache, opened, column):
    """An index with rubbish in its rows is not shown."""
    write_run(tmp_path, "run")
    opened().close()
    with sqlite3.connect(kept(cache)) as connection:
        connection.execute(f"UPDATE runs SET {column} = x'00ff'")  # noqa: S608
    connection.close()

    (row,) = opened().rows(EVERY, 10)

    assert (row.verdicts, row.cost_usd, row.iterations, row.topic) == ({}, 1.25, 1, "Quillon")


def test_a_folder_is_never_taken_from_the_index(tmp_path, cache, opened):
    """A row of an index leads nowhere: only what is found by looking does."""
    write_run(tmp_path, "run")
    opened().close()
    with sqlite3.connect(kept(cache)) as connection:
        connection.execute("UPDATE runs SET id = 'forged', place = '../../secret'")
    connection.close()

    index = opened()

    assert index.folder_of("forged") is None
    assert names(index) == ["run"]
    assert index.folder_of(index.rows(EVERY, 1)[0].id) == tmp_path / "run"


# --- where it is kept -----------------------------------------------------------------------------


def test_an_index_that_came_with_the_runs_is_not_believed(tmp_path, cache, opened):
    """Neither beside the runs, nor under any name that ours has."""
    root = tmp_path / "runs"
    write_run(root, "run")
    opened(root).close()
    forged = kept(cache)
    with sqlite3.connect(forged) as connection:
        connection.execute("UPDATE runs SET withheld = 0, supported = 9")
        connection.execute("UPDATE texts SET text = 'The authors forged this.'")
    connection.close()
    for name in (".ucm-index.sqlite3", forged.name, f"viewer/{forged.name}"):
        (root / name).parent.mkdir(exist_ok=True)
        shutil.copy(forged, root / name)
    forged.unlink()

    index = opened(root)

    (row,) = index.rows(EVERY, 10)
    assert (row.withheld, row.supported) == (1, 1)
    assert found_in(index, "forged") == []


def test_a_folder_that_is_replaced_is_read_again(tmp_path, opened):
    """Other files with the same names, sizes and times at the same place are other files."""
    folder = write_run(tmp_path, "run")
    opened().close()
    path = folder / "summary.json"
    told = path.stat()
    content = path.read_text().replace('"successes": 1', '"successes": 0')
    path.unlink()
    path.write_text(content)
    os.utime(path, ns=(told.st_atime_ns, told.st_mtime_ns))
    assert path.stat().st_size == told.st_size

    assert opened().rows(EVERY, 10)[0].withheld == 0


def test_folders_have_an_index_each(tmp_path, cache, opened):
    """Whatever a folder is called, its index is its own; another path to it leads to the same."""
    for name in ("one", "two"):
        write_run(tmp_path / name, name)
        assert names(opened(tmp_path / name)) == [name]
    (tmp_path / "link").symlink_to(tmp_path / "one")
    opened(tmp_path / "one").close()

    assert names(opened(tmp_path / "link")) == ["one"]
    assert len([*cache.glob("viewer/*.sqlite3")]) == 2


def test_only_the_reader_may_read_the_index(tmp_path, cache, opened):
    """Its folder and its files are closed to everybody else, whatever the mask."""
    write_run(tmp_path, "run")
    before = os.umask(0)
    try:
        index = opened()
        with index.store.open() as connection:
            connection.execute("UPDATE runs SET name = name")
            modes = {path.stat().st_mode & 0o777 for path in (cache / "viewer").iterdir()}
    finally:
        os.umask(before)

    assert modes == {0o600}
    assert (cache / "viewer").stat().st_mode & 0o777 == 0o700


def unusable(case, cache):
    """Make a cache one that cannot be used, or not be trusted."""
    folder = cache / "viewer"
    if case == "a file":
        folder.write_text("mine")
    elif case == "a link":
        (cache / "other").mkdir()
        folder.symlink_to(cache / "other")
    elif case == "open to all":
        folder.mkdir()
        folder.chmod(0o777)


@pytest.mark.parametrize("case", ["a file", "a link", "open to all"])
def test_without_a_cache_the_index_is_in_memory(tmp_path, cache, opened, clock, case):
    """Everything works, threads may ask, and nothing is left behind."""
    unusable(case, cache)
    write_run(tmp_path, "run")

    index = opened()

    assert index.store.path is None
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(lambda _: names(index), range(20))] == [["run"]] * 20
    write_run(tmp_path, "later")
    look(index, clock)
    assert names(index) == ["later", "run"]
    assert found_in(index, "围巾") == [("later", "围巾"), ("run", "围巾")]
    assert not [*cache.rglob("*.sqlite3")]


def test_a_cache_among_the_runs_is_not_used(tmp_path, clock):
    """Whoever sent the folder might have sent the cache."""
    write_run(tmp_path, "run")
    index = Index(tmp_path, tmp_path / "cache", clock=clock)
    look(index, clock)

    assert (names(index), index.store.path) == (["run"], None)
    index.close()
    assert not (tmp_path / "cache").exists()


def test_a_disk_that_is_full_ends_nothing(tmp_path, cache, opened, clock, monkeypatch):
    """When no more can be kept, the index goes on in memory."""
    index = opened()
    write_run(tmp_path, "run")
    real = index_module._keep

    def full(connection, found, read):
        if connection.execute("PRAGMA database_list").fetchone()[2]:
            raise sqlite3.OperationalError("database or disk is full")
        real(connection, found, read)

    monkeypatch.setattr(index_module, "_keep", full)
    look(index, clock)

    assert (names(index), index.store.path) == (["run"], None)


def test_two_indexes_of_one_folder_at_once(tmp_path, cache, opened, clock):
    """The second is in memory; each follows the folder, and the first is what is kept."""
    write_run(tmp_path, "run")
    one, other = opened(), opened()
    write_run(tmp_path, "later")
    for index in (one, other):
        look(index, clock)

    assert names(one) == names(other) == ["later", "run"]
    assert (one.store.path, other.store.path) == (kept(cache), None)
    one.close()
    assert opened().store.path == kept(cache)


# --- what never ends ------------------------------------------------------------------------------


def test_closing_does_not_wait_for_what_never_ends(tmp_path, cache, clock, monkeypatch):
    """A run that is being read for ever keeps nobody."""
    write_run(tmp_path, "run")
    reading, enough = threading.Event(), threading.Event()

    def stuck(_):
        reading.set()
        enough.wait(60)

    monkeypatch.setattr(index_module, "read_row", stuck)
    monkeypatch.setattr(index_module, "CLOSING_S", 0.1)
    index = Index(tmp_path, cache, clock=clock)
    looking = threading.Thread(target=look, args=(index, clock))
    looking.start()
    assert reading.wait(30)
    begun = time.monotonic()
    index.close()

    assert time.monotonic() - begun < 10
    enough.set()
    looking.join(30)
    index.close()


def test_where_the_assistant_was_asked_its_samples_alone_are_counted():
    """The user turn is sampled because refusals do not reach it; it would only thin them out."""
    arms = {"user_persona": rate(0, 160), "assistant": rate(22, 24, excluded={"blocked": 1})}
    withheld = {"by_arm": {arm: asdict(found) for arm, found in arms.items()}}
    files = RunFiles("run", {}, {"config": {}, "rates": {"withheld": withheld}}, (), ())
    assert _asked(files) == _AskedCounts(withheld=22, blocked=1, judged=24, not_judged=0)


# --- runs that take long to read ------------------------------------------------------------------


def large_json(path):
    """Write a JSON file of 40 MB."""
    path.write_bytes(b'{"a": [' + b"1," * 20_000_000 + b"1]}")


HEAVY_RUNS = {
    "summary": lambda run: large_json(run / "summary.json"),
    "response": lambda run: large_json(run / "audited_responses/002.json"),
    "header": lambda run: (run / "journal.jsonl").write_bytes(b'{"a": "' + b"x" * 50_000_000),
    "files": lambda run: [
        (run / f"auditor_turns/{number}.json").write_bytes(b"{}") for number in range(1000, 4000)
    ],
    "judgement": lambda run: [
        run.with_name("a-hostile.judged").mkdir(),
        large_json(run.with_name("a-hostile.judged") / "x.json"),
    ],
}
"""What a stranger's run may hold that takes long to read."""


@pytest.mark.parametrize("make", HEAVY_RUNS.values(), ids=HEAVY_RUNS)
def test_a_heavy_run_is_read_last_and_keeps_no_other_from_the_list(
    tmp_path, cache, clock, monkeypatch, make
):
    """When the reading of it begins, all others are shown; in the end it is listed as well."""
    make(write_run(tmp_path, "a-hostile"))
    for number in range(5):
        write_run(tmp_path, f"run{number}")
    index, shown = Index(tmp_path, cache, clock=clock), []

    def noted(found):
        if found.folder.name == "a-hostile":
            shown.append(index.count(EVERY))
        return read_row(found)

    monkeypatch.setattr(index_module, "read_row", noted)
    began = time.process_time()
    look(index, clock)

    assert shown == [5]
    assert index.count(EVERY) == 6
    assert time.process_time() - began < 5
    index.close()


def test_a_config_that_is_too_large_is_told_at_once(tmp_path, opened):
    """Six megabytes of YAML are not parsed; the run is listed with the reason."""
    run = write_run(tmp_path, "large")
    (run / "config.yaml").write_text(
        "topic: x\n" + "".join(f"k{n}: [1, 2]\n" for n in range(400_000))
    )
    began = time.process_time()

    (row,) = opened().rows(EVERY, 9)

    assert time.process_time() - began < 2
    assert "config.yaml is larger than 256 KB" in row.problem


def test_runs_are_shown_while_others_are_read(tmp_path, cache, clock, monkeypatch):
    """What was read is shown after a moment, and not only when fifty runs were."""
    for number in range(4):
        write_run(tmp_path, f"run{number}")
    index, shown = Index(tmp_path, cache, clock=clock), []

    def slow(found):
        shown.append(index.count(EVERY))
        time.sleep(0.2)
        return read_row(found)

    monkeypatch.setattr(index_module, "read_row", slow)
    look(index, clock)

    assert shown[0] == 0
    assert max(shown) >= 2
    index.close()


def test_the_texts_of_a_run_that_can_be_searched_are_limited(tmp_path, opened, monkeypatch):
    """The index of a huge run ends at a limit, and the run is listed with all its samples."""
    monkeypatch.setattr(rows_module, "MAX_SEARCHED_OF_RUN", 60)
    write_run(tmp_path, "run", texts=[f"text number {number} with words" for number in range(9)])

    index = opened()

    assert index.rows(EVERY, 1)[0].samples == 9
    assert 1 <= len(found_in(index, "words")) <= 4
