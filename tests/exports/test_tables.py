"""Runs as tables: every column as documented, whatever the run is like."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, fields
from typing import Any

import pytest

import uncensoring_chinese_models
from tests.exported_runs import ALL_ODD, audited, broken_off, judged
from tests.support import ROOT, run_python
from uncensoring_chinese_models import load_run, load_runs
from uncensoring_chinese_models.domain import IN_RATES
from uncensoring_chinese_models.errors import CorruptRunError, RunStoreError, UsageError
from uncensoring_chinese_models.exports.document import column_lines
from uncensoring_chinese_models.exports.loading import Run
from uncensoring_chinese_models.exports.rows import TABLES, columns_of, fit
from uncensoring_chinese_models.runs.chain import SCHEMA, START, sealed
from uncensoring_chinese_models.runs.reading import parse_run

pytestmark = pytest.mark.wire


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Make one run of each sort in one folder, side by side and below."""
    top = tmp_path_factory.mktemp("study")
    return {
        "top": top,
        "audited": audited(top / "a", ALL_ODD),
        "judged": judged(top / "b"),
        "broken": broken_off(top / "c" / "deep"),
    }


def stored(folder, pattern):
    return [json.loads(path.read_bytes()) for path in sorted(folder.glob(pattern))]


def test_every_column_is_documented():
    """docs/export-tables.md has the table of columns that the classes have, line by line."""
    page = (ROOT / "docs/export-tables.md").read_text("utf-8")
    for table in TABLES:
        assert f"### `{table}`" in page
        assert "\n".join(column_lines(table)) in page


def test_rows_have_the_columns_in_order():
    """A row's fields are its columns, and every one of them says what it holds."""
    for kind in TABLES.values():
        columns = columns_of(kind)
        assert [column.name for column in columns] == [field.name for field in fields(kind)]
        assert columns[0].name == "run"
        assert all(column.says.endswith(".") or "..." in column.says for column in columns)


def test_samples_are_those_that_are_stored(runs):
    """Every stored sample is one row, its text unaltered but for lone surrogates."""
    run = load_run(runs["audited"])
    responses = stored(runs["audited"], "audited_responses/*.json")
    texts = [each["text"] for response in responses for each in response["samples"]]

    spelled = [re.sub("[\ud800-\udfff]", lambda m: f"⟨U+{ord(m[0]):04X}⟩", each) for each in texts]
    assert [row.text for row in run.samples] == spelled
    assert any("⟨U+D83D⟩" in each for each in spelled)
    assert any("\x00" in each for each in spelled)
    assert {row.run for row in run.samples} == {runs["audited"].name}


def test_offsets_of_evidence_lead_to_its_words(runs):
    """`text[start:end]` of the sample in the table is the excerpt, behind a lone surrogate too."""
    run = load_run(runs["audited"])
    texts: dict[Any, str] = {(r.iteration, r.arm, r.sample): r.text or "" for r in run.samples}
    exact = [row for row in run.evidence if row.verdict == "exact"]

    assert exact
    for row in exact:
        place = texts[row.found_iteration, row.arm, row.sample]
        assert place[row.start : row.end] == row.excerpt
    assert any("⟨U+" in texts[r.found_iteration, r.arm, r.sample][: r.start] for r in exact)


def test_evidence_that_is_repeated_is_one_row(runs):
    """A quote that several turns cite is told once, with the turns that cite it."""
    run = load_run(runs["audited"])
    turns = stored(runs["audited"], "auditor_turns/*.json")
    cited = [
        (each["hypothesis"], each["side"], each["iteration"], each["excerpt"])
        for turn in turns
        for each in turn["evidence_check"]
    ]

    assert len(run.evidence) == len(set(cited)) < len(cited)
    assert any(row.first_turn < row.last_turn for row in run.evidence)


def test_calls_are_all_attempts_without_secrets(runs):
    """Each line `sent` of the journal is a row, and what it cost is the summary's total."""
    run = load_run(runs["audited"])
    journal = (runs["audited"] / "journal.jsonl").read_bytes()

    assert len(run.calls) == journal.count(b'{"type": "sent"')
    assert {row.outcome for row in run.calls} == {"reply"}
    assert run.summary is not None
    spend = run.summary["spend"]["total"]
    assert sum(row.prompt_tokens or 0 for row in run.calls) == spend["prompt_tokens"]
    assert sum(row.cost_usd or 0.0 for row in run.calls) == pytest.approx(spend["cost_usd"])
    assert not re.search("sk-|Authorization|Bearer", str(run.calls))


def test_failed_attempts_are_rows(tmp_path):
    """An attempt that failed has its error; one that was cut off is lost."""
    lines = [
        {"type": "header", "schema": SCHEMA, "started_at": "2026-01-02T03:04:05Z", "config": {}},
        sent("001/target/sample/raw/0", 1),
        {
            "type": "attempt",
            "call": "001/target/sample/raw/0",
            "attempt": 1,
            "error": {"kind": "transient", "message": "429", "status": 429, "cost_usd": "0.5"},
        },
        sent("001/target/sample/raw/0", 2),
        sent("001/auditor/turn/0", 1),
    ]
    journal = b"".join(sealed(line, START) + b"\n" for line in lines) + b'{"type": "att'
    calls = Run(parse_run("x", {"journal.jsonl": journal})).calls

    assert [row.outcome for row in calls] == ["error", "lost", "lost"]
    assert (calls[0].status, calls[0].error, calls[0].cost_usd) == (429, "429", 0.5)
    assert (calls[0].arm, calls[0].sample, calls[2].arm) == ("raw", 0, None)
    assert calls[1].reserved_usd == 0.25


def sent(call, attempt):
    reserved = {"usd": "0.25", "tokens": 7}
    told = {"type": "sent", "call": call, "attempt": attempt, "role": call.split("/")[1]}
    told["server"] = "https://example.com/v1"
    return {**told, "at": "2026-01-02T03:04:05Z", "request": "0" * 64, "reserved": reserved}


def test_facts_are_those_of_the_matrix(runs):
    """A judged probe run has a row for each cell, and its samples bear their fact and mention."""
    run = load_run(runs["judged"])
    (file,) = stored(runs["judged"].with_name(runs["judged"].name + ".judged"), "*.json")

    assert len(run.facts) == len(file["matrix"]["cells"]) == 4
    assert {row.judge for row in run.facts} == {"patterns"}
    assert {row.verdict for row in run.facts} == {f["verdict"] for f in file["matrix"]["facts"]}
    came = IN_RATES
    assert all(row.n == sum(getattr(row, name) for name in came) for row in run.facts)
    assert {row.fact for row in run.samples} == {row.fact for row in run.facts}
    mentions = {each["mention"] for each in file["judged"]}
    assert {row.mention for row in run.samples} == mentions


def test_likelihood_is_told_without_judging():
    """Scores of a run that nobody judged are rows of their own."""
    endings = [
        {"ending": "fact", "text": "a", "tokens": [[1, -0.5], [2, -0.5]], "error": None},
        {"ending": "decoy 1", "text": "b", "tokens": [[1, -0.5], [3, -8.5]], "error": None},
    ]
    scored = {"method": "echo", "facts": [{"fact": "f", "language": "en", "endings": endings}]}
    files = {"config.yaml": b"topic: x", "likelihood.json": json.dumps(scored).encode()}

    (row,) = Run(parse_run("x", files)).facts

    assert (row.judge, row.arm, row.fact, row.margin) == ("likelihood", "likelihood", "f", 8.0)
    assert row.shows_knowledge is True


def test_unfinished_run_has_what_there_is(runs):
    """A run without a summary has its turns, samples and calls, and says that it is unfinished."""
    run = load_run(runs["broken"])

    assert run.status == "unfinished"
    assert run.summary is None
    assert run.samples
    assert run.calls
    assert (run.overview.summary_sha256, run.overview.cost_usd) == (None, None)
    assert run.overview.started_at
    assert run.overview.target == "deepseek/deepseek-chat"


def test_run_of_an_older_version_is_read(runs, tmp_path):
    """Keys that came later may be missing: what they would say is null or derived."""
    old = tmp_path / "old"
    shutil.copytree(runs["audited"], old)
    summary = json.loads((old / "summary.json").read_bytes())
    for name in ("rates", "history", "predictions", "doctor", "run"):
        summary.pop(name)
    summary["denominators"]["samples"].pop("by_stance")
    (old / "summary.json").write_text(json.dumps(summary))
    for path in (old / "auditor_turns").glob("*.json"):
        turn = json.loads(path.read_bytes())
        turn.pop("dropped_hypotheses")
        for each in turn["evidence_check"]:
            for name in ("run", "led", "led_by", "led_not_judged"):
                each.pop(name)
        path.write_text(json.dumps(turn))

    run = load_run(old)

    assert len(run.evidence) == len(load_run(runs["audited"]).evidence)
    assert {row.led for row in run.evidence} == {None}
    assert run.overview.withheld_rate == load_run(runs["audited"]).overview.withheld_rate


@pytest.mark.parametrize(
    ("kind", "value", "held"),
    [
        (int, 2**63 - 1, 2**63 - 1),
        (int, 2**63, None),
        (int, True, None),
        (int, "7", None),
        (float, float("inf"), None),
        (float, float("nan"), None),
        (float, 10**400, None),
        (float, "0.1", 0.1),
        (float, True, None),
        (bool, 1, None),
        (str, 1989, None),
        (str, "\ud800\U0001f600", "⟨U+D800⟩\U0001f600"),
    ],
)
def test_what_does_not_fit_a_column_is_null(kind, value, held):
    """No stranger's number breaks a file, and none is bent."""
    assert fit(kind, value) == held


# --- many runs ----------------------------------------------------------------------------------


def test_runs_are_found_at_any_depth(runs):
    """A folder gives all runs in it, and what was made of them is none."""
    found = load_runs(runs["top"])

    names = [runs[name].name for name in ("audited", "judged", "broken")]
    assert sorted(run.name.rpartition("/")[2] for run in found) == sorted(names)
    assert found.unreadable == {}
    assert len(list(found.rows("runs"))) == len(found[0:2]) + 1 == 3
    assert len(load_runs(runs["audited"])) == 1


def test_what_cannot_be_read_is_named(runs, tmp_path):
    """One broken run does not take the others with it; links are not followed."""
    good = tmp_path / "good"
    shutil.copytree(runs["audited"], good)
    bad = tmp_path / "bad"
    shutil.copytree(runs["judged"], bad)
    (bad / "audited_responses/001.json").write_text('{"iteration": 1, "samples": 7}')
    worse = tmp_path / "worse"
    shutil.copytree(runs["judged"], worse)
    (worse / "audited_responses/001.json").write_text("[")
    odd = tmp_path / "odd"
    shutil.copytree(runs["judged"], odd)
    (tmp_path / "odd.judged/x.json").mkdir(parents=True)
    (tmp_path / "link").symlink_to(runs["judged"])
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "notes.zip").write_bytes(b"PK")

    found = load_runs(tmp_path)

    assert [run.name for run in found] == ["good", "odd"]  # what is no file is not judged by
    assert sorted(found.unreadable) == ["bad", "worse"]
    assert "is malformed" in found.unreadable["bad"]


def test_stranger_cannot_lead_out_of_a_run(runs, tmp_path):
    """A file of a run that is a link is not read."""
    secret = tmp_path / "secret.json"
    secret.write_text('{"iteration": 1, "samples": []}')
    run = tmp_path / "runs" / "strange"
    shutil.copytree(runs["audited"], run)
    first = run / "audited_responses/001.json"
    first.unlink()
    first.symlink_to(secret)

    assert 1 not in {row.iteration for row in load_runs(tmp_path / "runs")[0].samples}


def test_runs_of_one_name_are_told_apart(runs, tmp_path):
    """Two runs of one name bear their paths; the same run twice is told once."""
    for name, kind in (("one", "audited"), ("two", "broken"), ("three", "audited")):
        shutil.copytree(runs[kind], tmp_path / name / "same")

    found = load_runs(tmp_path)

    assert [run.name for run in found] == ["one/same", "two/same"]
    assert "a copy of one/same" in found.unreadable["three/same"]


def test_bundle_is_a_run(runs, tmp_path):
    """A packed run is found among others, and its rows are the same."""
    from uncensoring_chinese_models.verify.bundle import pack_run  # noqa: PLC0415

    pack_run(runs["audited"], tmp_path / "packed.zip", keep_found=True)

    (run,) = load_runs(tmp_path)

    assert run.name == "packed"
    assert [row.text for row in run.samples] == [
        row.text for row in load_run(runs["audited"]).samples
    ]


def test_wrong_words_are_refused(runs, tmp_path):
    """A table or a folder that is not there is an error that names what there is."""
    with pytest.raises(UsageError, match="the tables are runs, hypotheses"):
        load_run(runs["audited"]).rows("sample")
    with pytest.raises(RunStoreError):
        load_runs(tmp_path / "nowhere")
    with pytest.raises(AttributeError):
        _ = uncensoring_chinese_models.load_ruin


def test_a_value_that_no_run_lacks_is_missed(runs):
    """A sample without its arm is no sample."""
    files = load_run(runs["audited"]).files
    response = {**files.responses[0], "iteration": None}
    broken = parse_run("x", {"config.yaml": b"{}"})
    object.__setattr__(broken, "responses", (response,))

    with pytest.raises(CorruptRunError, match="has no iteration"):
        _ = Run(broken).samples


def test_importing_the_package_is_cheap(tmp_path):
    """What reads runs is imported when it is asked for, and not before."""
    code = (
        "import sys, uncensoring_chinese_models as u; "
        "assert not [m for m in sys.modules if m.startswith('uncensoring_chinese_models.')]; "
        "u.load_run; assert 'pandas' not in sys.modules and 'inspect_ai' not in sys.modules"
    )
    done = run_python(tmp_path, "-c", code)

    assert done.returncode == 0, done.stderr


def test_frames_have_the_columns_and_types(runs):
    """A data frame has every column, with types that know what is missing, also without rows."""
    pytest.importorskip("pyarrow")
    found = load_runs(runs["top"])
    for table, kind in TABLES.items():
        frame = found.to_frame(table)
        assert list(frame.columns) == [column.name for column in columns_of(kind)]
        assert len(frame) == len(list(found.rows(table)))
    frame = found.to_frame("samples")
    assert str(frame["prompt_tokens"].dtype) == "Int64"
    assert frame["text"].tolist()[0] == asdict(found[0].samples[0])["text"]
    empty = load_run(runs["audited"]).to_frame("facts")
    assert (len(empty), str(empty["p_value"].dtype)) == (0, "Float64")


def test_public_names_are_typed(tmp_path):
    """A type checker knows what load_run gives."""
    script = tmp_path / "use.py"
    script.write_text(
        "from uncensoring_chinese_models import load_run, load_runs\n"
        "reveal_type(load_run('x').samples[0].text)\n"
        "reveal_type(load_runs('x')[0].facts)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 'type is "str | None"' in done.stdout, done.stdout
    assert 'FactRow, ...]"' in done.stdout


def test_a_run_in_a_notebook_is_one_line(runs):
    """Whoever types its name does not want all its files."""
    run = load_run(runs["audited"])
    assert repr(run) == f"<Run {run.name!r}, {run.status}>"
    assert repr(load_runs(runs["audited"])) == "<1 runs, 0 unreadable>"
