"""Exports open in the programs that they are for, and do nothing there."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.exported_runs import ALL_ODD, audited, broken_off, judged
from tests.support import run_ucm
from uncensoring_chinese_models import load_runs
from uncensoring_chinese_models.cli.export import _open_command
from uncensoring_chinese_models.errors import (
    ConfigError,
    MissingExtraError,
    RunStoreError,
    UsageError,
)
from uncensoring_chinese_models.exports import frames
from uncensoring_chinese_models.exports.rows import TABLES, CallRow, columns_of, row
from uncensoring_chinese_models.exports.writing import FORMATS, csv_lines, export_runs, file_names
from uncensoring_chinese_models.text.spreadsheets import harmless

pytestmark = pytest.mark.wire

FORMULA = "=+-@＝＋－＠﹦﹢﹣﹫"  # noqa: RUF001 -- the very characters
HOSTILE = (
    '=HYPERLINK("http://127.0.0.1/","x")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1:A9)",
    "  =1+1",
    "\t=1+1",
    "\r=1+1",
    '"=1+1',
    "'=1+1",
    "\u3000＝1+1",  # noqa: RUF001
    "\u200d=1+1",
    "fine;=1+1",
    'fine,"=1+1"',
    "- a list\n- of things\n=1+1",
    "\ufeff=1+1",
    "a|=1",
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Make one run of each sort."""
    top = tmp_path_factory.mktemp("study")
    audited(top / "a", ALL_ODD)
    judged(top / "b")
    broken_off(top / "c")
    return load_runs(top)


def ask(query, *paths):
    """Put a question to DuckDB."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as opened:
        return opened.execute(query, list(map(str, paths))).fetchall()


def exported(runs, to, tmp_path):
    return export_runs(runs, to, tmp_path / to).folder


# --- tables -------------------------------------------------------------------------------------


def test_pandas_and_duckdb_read_parquet(runs, tmp_path):
    """Both give every row and column of every table, with the right types, texts unaltered."""
    pandas, parquet = pytest.importorskip("pandas"), pytest.importorskip("pyarrow.parquet")
    folder = exported(runs, "parquet", tmp_path)

    for table, kind in TABLES.items():
        path = folder / f"{table}.parquet"
        rows = list(runs.rows(table))
        frame = pandas.read_parquet(path)
        assert list(frame.columns) == [column.name for column in columns_of(kind)]
        found = ask("SELECT * FROM read_parquet(?)", path)
        assert found == [tuple(getattr(r, c.name) for c in columns_of(kind)) for r in rows]
        schema = parquet.read_schema(path)
        said = {f.name: f.metadata[b"description"].decode() for f in schema}
        assert said == {column.name: column.says for column in columns_of(kind)}
        assert not schema.field("run").nullable
    ((joined,),) = ask(
        "SELECT count(*) FROM read_parquet(?) e JOIN read_parquet(?) s "
        "ON e.run = s.run AND e.found_iteration = s.iteration AND e.arm = s.arm "
        "AND e.sample = s.sample "
        "WHERE e.verdict = 'exact' AND s.text[e.start + 1 : e.end] = e.excerpt",
        folder / "evidence.parquet",
        folder / "samples.parquet",
    )
    assert joined == sum(r.verdict == "exact" for r in runs.rows("evidence")) > 0


def test_dataset_card_says_what_is_there(runs, tmp_path):
    """Its head is YAML with each table; it has counts, hashes, and a licence to be chosen."""
    pytest.importorskip("pyarrow")
    card = (exported(runs, "parquet", tmp_path) / "README.md").read_text("utf-8")
    head = yaml.safe_load(card.split("---\n")[1])

    assert [each["config_name"] for each in head["configs"]] == list(TABLES)
    assert head["license"] == "unknown"
    assert "Choose a licence" in card
    assert f"{len(list(runs.rows('samples')))} rows" in card
    finished = [run for run in runs if run.summary is not None]
    assert all(run.overview.summary_sha256 in card for run in finished)


def test_duckdb_and_pandas_read_jsonl(runs, tmp_path):
    """Every line is an object with all columns, in ASCII."""
    folder = exported(runs, "jsonl", tmp_path)
    content = (folder / "samples.jsonl").read_bytes()

    assert content.isascii()
    told = [json.loads(line) for line in content.splitlines()]
    assert [each["text"] for each in told] == [each.text for each in runs.rows("samples")]
    count = ask("SELECT count(text), count(*) FROM read_json(?)", folder / "samples.jsonl")
    assert count == [(sum(each["text"] is not None for each in told), len(told))]
    pandas = pytest.importorskip("pandas")
    assert len(pandas.read_json(folder / "calls.jsonl", lines=True)) == len(
        list(runs.rows("calls"))
    )


def test_csv_reads_back(runs, tmp_path):
    """Programs get the cells, Chinese and line feeds among them; null is no empty text."""
    folder = exported(runs, "csv", tmp_path)
    content = (folder / "samples.csv").read_bytes()

    assert content.startswith(b"\xef\xbb\xbfrun,")
    read = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    rows = list(runs.rows("samples"))
    assert [each["text"] for each in read] == [harmless(each.text or "") for each in rows]
    assert [each["completion_tokens"] for each in read] == [str(r.completion_tokens) for r in rows]
    assert any("\n" in each["text"] for each in read)
    for table in TABLES:
        text = (folder / f"{table}.csv").read_text("utf-8-sig")
        assert re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text) is None
    assert ask("SELECT count(*) FROM read_csv(?)", folder / "samples.csv") == [(len(rows),)]
    pandas = pytest.importorskip("pandas")
    assert len(pandas.read_csv(folder / "evidence.csv")) == len(list(runs.rows("evidence")))


def cells_of(text):
    """Yield every cell that a spreadsheet may see, whatever it takes for a separator or a quote."""
    for delimiter in ",;|\t":
        yield from (c for row in csv.reader(io.StringIO(text), delimiter=delimiter) for c in row)
        for line in re.split("[\r\n]", text):
            yield from line.split(delimiter)


def is_obeyed(cell):
    bare = cell.lstrip(' \t\r\n\u3000\u200c\u200d\ufeff"')
    return bare[:1] in FORMULA and bare != ""


def lines_with(text, number=-1.5):
    values = {"run": "r", "call": "c", "attempt": 1, "role": "target", "outcome": text}
    made = row(CallRow, {**values, "error": text, "cost_usd": number})
    return "".join(csv_lines(CallRow, [made]))


@pytest.mark.parametrize("text", HOSTILE)
def test_spreadsheets_obey_no_cell(text):
    """No text begins a formula, under any separator; a number of ours stays a number."""
    found = lines_with(text)

    assert [cell for cell in cells_of(found) if is_obeyed(cell)] == ["-1.5", "-1.5"]
    assert ",-1.5," in found


@given(st.text(st.sampled_from("=+-@＝;,|\"' \t\r\n\u3000\u200da六")))  # noqa: RUF001
def test_no_text_becomes_a_formula(text):
    """The same holds for any text of dangerous characters."""
    assert not any(is_obeyed(cell) for cell in cells_of(lines_with(text, None)))


# --- documents ----------------------------------------------------------------------------------


def test_markdown_has_every_run_and_its_facts(runs, tmp_path):
    """The overview links to each document; a judged run has its matrix; nothing acts as markup."""
    folder = exported(runs, "markdown", tmp_path)
    overview = (folder / "README.md").read_text("utf-8")
    documents = [(folder / name).read_text("utf-8") for name in file_names(runs, ".md")]

    assert all(f"]({name})" in overview for name in file_names(runs, ".md"))
    assert "## What it knows" in documents[0]
    assert "## Facts, by patterns" in documents[1]
    assert "not finished; what follows may change" in documents[2]
    for text in (overview, *documents):
        assert "<script" not in text
        assert re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e]", text) is None


# --- where it is written ------------------------------------------------------------------------


def test_folder_with_content_is_refused(runs, tmp_path):
    """What is there is left as it is, and nothing is left beside it."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")

    with pytest.raises(RunStoreError, match="left as it is"):
        export_runs(runs, "csv", out)

    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert [path.name for path in out.iterdir()] == ["mine.txt"]


def test_empty_folder_is_used(runs, tmp_path):
    """A folder that was made for it is filled."""
    out = tmp_path / "out"
    out.mkdir()

    assert set(export_runs(runs, "csv", out).files) == {path.name for path in out.iterdir()}


def test_nothing_is_left_of_an_export_that_fails(runs, tmp_path, monkeypatch):
    """A full disk leaves no half of a folder."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("uncensoring_chinese_models.exports.writing._json_line", full)

    with pytest.raises(RunStoreError, match="No space left"):
        export_runs(runs, "jsonl", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_export_into_a_run_is_refused(runs):
    """A run is never written into."""
    folder = runs[0].files.folder
    before = sorted(folder.rglob("*"))

    with pytest.raises(ConfigError, match="lies in a run"):
        export_runs(runs, "csv", folder / "export")
    with pytest.raises(ConfigError, match="lies in a run"):
        export_runs(load_runs(runs[1].files.folder), "csv", folder / "export")
    assert sorted(folder.rglob("*")) == before


def test_unknown_format_is_refused(runs, tmp_path):
    """The formats are named."""
    with pytest.raises(UsageError, match=", ".join(FORMATS)):
        export_runs(runs, "xlsx", tmp_path / "out")


def test_missing_library_is_named(runs, tmp_path, monkeypatch):
    """Without pandas and pyarrow the message says how to get them, and nothing is written."""
    frames._libraries.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="extra `export`"):
        export_runs(runs, "parquet", tmp_path / "out")
    frames._libraries.cache_clear()
    assert list(tmp_path.iterdir()) == []


def test_file_names_stay_in_the_folder(runs):
    """Names with slashes or dots, and names that clash, become plain and distinct."""
    from dataclasses import replace  # noqa: PLC0415

    from uncensoring_chinese_models.exports.loading import Run, Runs  # noqa: PLC0415

    named = [Run(replace(runs[0].files, name=name)) for name in ("a/b", "a_b", "../x", "README")]

    assert file_names(Runs(tuple(named)), ".md") == ["a_b.md", "a_b-2.md", "_x.md", "README-2.md"]


# --- the command --------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["csv", "jsonl", "parquet"])
def test_next_command_is_one_that_is_there(tmp_path, monkeypatch, to):
    """DuckDB is named where it is installed; else a command that needs nothing more."""
    monkeypatch.setenv("PATH", str(tmp_path))
    plain = _open_command(to, tmp_path)
    (tmp_path / "duckdb").touch(mode=0o755)

    assert "duckdb" not in plain
    assert f"samples.{to}" in plain
    assert _open_command(to, tmp_path).startswith("duckdb -c")


@pytest.mark.e2e
def test_command_says_what_it_wrote_and_what_is_next(runs, tmp_path):
    """The command names files, rows, what was left out, and a command that opens it."""
    study = tmp_path / "study"
    shutil.copytree(runs[0].files.folder, study / "good")
    shutil.copytree(runs[1].files.folder, study / "bad\x1b[2J")
    (study / "bad\x1b[2J" / "summary.json").write_text("[")

    done = run_ucm(tmp_path, "export", "study", "--to", "csv")
    again = run_ucm(tmp_path, "export", "study", "--to", "csv", "--json")
    other = run_ucm(tmp_path, "export", "study/good", "--to", "jsonl", "--out", "x", "--json")

    assert done.returncode == 0, done.stderr
    assert "Exported 1 run to study-csv" in done.stdout
    assert f"samples.csv  {len(runs[0].samples)} rows" in done.stdout
    assert "study-csv/samples.csv" in done.stdout.splitlines()[-1]
    assert "left out: bad⟨U+001B⟩[2J" in done.stderr
    assert (again.returncode, json.loads(again.stdout)["exit_code"]) == (4, 4)
    assert "left as it is" in again.stderr
    record = json.loads(other.stdout)
    assert record["files"]["samples.jsonl"] == len(runs[0].samples)
    assert (tmp_path / "x" / "samples.jsonl").is_file()


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["nowhere", "--to", "csv"], 4, "nowhere"),
        (["empty", "--to", "csv"], 4, "No run in empty can be read"),
        (["empty", "--to", "excel"], 2, "There is no format 'excel'"),
        (["empty"], 2, "--to"),
    ],
)
def test_command_refuses_bad_input(tmp_path, words, code, said):
    """A wrong word is told before anything is written."""
    (tmp_path / "empty").mkdir()

    done = run_ucm(tmp_path, "export", *words)

    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]
