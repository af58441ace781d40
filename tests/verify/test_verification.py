"""A run is checked against its journal, and whatever does not hold is named with its place."""

from __future__ import annotations

import json
import os
import shutil
import time
import unicodedata
import zipfile
from typing import Any

import pytest

from tests.support import audit_here, audited_provider, rewrite, run_here
from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.cli.verify import verify
from uncensoring_chinese_models.errors import FatalError, RunStoreError
from uncensoring_chinese_models.runner.replaying import replay
from uncensoring_chinese_models.runs import untrusted as run_tree
from uncensoring_chinese_models.runs.chain import LINKS, SCHEMA, START, line_hash
from uncensoring_chinese_models.runs.untrusted import RunTree
from uncensoring_chinese_models.text import normalisation
from uncensoring_chinese_models.verify.diff import json_differences
from uncensoring_chinese_models.verify.excerpts import is_quoted_at, read_excerpts
from uncensoring_chinese_models.verify.verification import verify_run, verify_tree


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One finished run, which nobody changes."""
    with audited_provider(false_quote_every=2) as provider:
        sampling = {"arms": ["user_persona", "assistant"], "n": 2}
        yield audit_here(tmp_path_factory.mktemp("made"), provider, sampling=sampling).folder


@pytest.fixture(scope="module")
def resumed(tmp_path_factory):
    """A run that was interrupted and resumed."""
    folder = tmp_path_factory.mktemp("resumed")
    with audited_provider() as provider:
        provider.fail("402", api="completions", times=None, after=1)
        with pytest.raises(FatalError):
            audit_here(folder, provider)
        provider.heal()
        (broken,) = (folder / "runs").glob("[!.]*")
        return audit_here(folder, provider, resume=broken).folder


@pytest.fixture
def run(made, tmp_path):
    """A copy of the run, to be spoilt."""
    return shutil.copytree(made, tmp_path / "run")


def said(folder):
    """Return every failure as it is printed."""
    return [str(failure) for failure in verify_run(folder).failures]


def edit(path, change):
    """Change a JSON file as a run would have written it."""
    value = json.loads(path.read_bytes())
    change(value)
    path.write_bytes(json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n")


# --- what holds ---------------------------------------------------------------------------------


def test_untouched_run_says_what_was_checked(run, capsys):
    """Each check has a line with its counts, and the last line says what it proves."""
    assert verify(str(run)) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["files", "holds"],
        ["journal", "holds"],
        ["replay", "holds"],
        ["excerpts", "holds"],
    ]
    assert "12 files, 11 sha256 sums" in lines[1]
    assert "16 calls answered from the journal, 10 files derived again" in lines[3]
    assert "not that the journal is true" in lines[-1]
    assert "16 generation ids" in lines[-1]
    digest = line_hash((run / "summary.json").read_bytes())
    assert f"sha256 of summary.json: {digest}" in lines
    assert " quotes in all turns and claims: " in lines[4]


def test_run_that_was_moved_verifies_from_anywhere(run, tmp_path, monkeypatch):
    """Nothing of the place where a run was made is needed."""
    monkeypatch.chdir(tmp_path)
    moved = run.rename(tmp_path / "elsewhere")

    assert said(moved) == []


def test_prompt_file_is_in_the_run(tmp_path, monkeypatch):
    """An auditor's prompt of one's own is kept, so that the file it came from is not needed."""
    monkeypatch.chdir(tmp_path)
    prompt = tmp_path / "mine.md"
    prompt.write_text("Find out about {topic}.")
    with audited_provider() as provider:
        made = audit_here(tmp_path, provider, auditor_prompt="mine.md")
    prompt.unlink()

    assert said(made.folder) == []
    assert "Find out about Tiananmen" in made.turn(1)["input_messages"][0]["content"][0]["text"]


@pytest.mark.parametrize("journal", [None, b"", b'{"type": "hea'])
def test_run_that_was_killed_at_once_is_not_said_to_hold(tmp_path, journal, capsys):
    """A folder with a config and no line of a journal is a run that has not begun: nothing is wrong,
    and nothing could be checked."""
    (tmp_path / "config.yaml").write_text("topic: T\nauditing_model: a/b\naudited_model: c/d\n")
    if journal is not None:
        (tmp_path / "journal.jsonl").write_bytes(journal)

    result = verify_run(tmp_path)

    assert (result.verdict, result.holds, result.ended) == ("not done", False, False)
    assert [check.verdict for check in result.checks[:3]] == ["not done"] * 3
    assert verify(str(tmp_path)) == 7
    assert "could be checked" in capsys.readouterr().out.splitlines()[-1]


def test_torn_last_line_is_an_interruption(run):
    """Half a line at the end is what a killed process leaves; it is said, and nothing is wrong."""
    for name in ("summary.json", "report.html", "report.md"):
        (run / name).unlink()
    (run / ".lock").write_text("1 somewhere")
    path = run / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:-20])

    result = verify_run(run)

    assert (result.holds, result.ended) == (True, False)
    assert "its record stops before the end of the run" in result.notes[0]
    assert "torn" in result.notes[1]
    assert ".lock" in result.notes[2]


@pytest.mark.parametrize("names", [["summary.json"], ["report.md", "report.html", "summary.json"]])
def test_ended_run_without_its_summary_is_said_to_have_ended(tmp_path, names, capsys):
    """The journal knows of the end; what is not there is named, and resuming writes it again."""
    with audited_provider() as provider:
        run = audit_here(tmp_path, provider).folder
        lost = {name: (run / name).read_bytes() for name in names}
        for name in names:
            (run / name).unlink()

        assert verify(str(run)) == 0
        out, result = capsys.readouterr().out, verify_run(run)
        asked = provider.count("chat"), provider.count("completions")
        audit_here(tmp_path, provider, resume=run)

        assert (provider.count("chat"), provider.count("completions")) == asked
    assert all((run / name).exists() for name in names)
    assert (run / "summary.json").read_bytes() != lost["summary.json"]
    digest = line_hash(lost["summary.json"])
    assert f"sha256 of summary.json as derived from the journal: {digest}" in out
    assert (result.ended, result.missing) == (True, tuple(names))
    assert f"The journal says that the run ended, but {' and '.join(names)} " in result.notes[0]
    assert "is the one to compare with a published hash" in result.notes[0]
    assert "has not ended" not in out
    assert "All of it holds" not in out


def test_newest_file_that_is_missing_is_named(run):
    """A killed process may not have written it; whether that is so, nobody can tell."""
    for name in ("summary.json", "report.html", "report.md", "auditor_turns/003.json"):
        (run / name).unlink(missing_ok=True)
    path = run / "journal.jsonl"
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    end = next(i for i, one in enumerate(records) if one.get("call") == "003/auditor/turn/0")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:end]))
    for name in ("audited_responses/003.json", "audited_responses/002.json"):
        (run / name).unlink()
    for path in run.glob("auditor_turns/00[3-9].json"):
        path.unlink()

    result = verify_run(run)

    assert (said(run), result.missing) == ([], ("audited_responses/002.json",))
    assert "audited_responses/002.json is not there: either" in result.notes[0]


# --- what does not hold, and where --------------------------------------------------------------


def test_check_that_was_not_made_does_not_hold(run, capsys):
    """Neither on the screen nor for programs; and no broken chain is said to be whole."""
    path = run / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"attempt": 1', b'"attempt": 2', 1))

    assert verify(str(run)) == 4
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[:3] == ["journal", "1", "wrong"]
    assert "each hashed and following" not in lines[2]
    assert lines[3].split()[:3] == ["replay", "not", "done"]
    assert lines[-1].startswith("So the run does not hold, and it could not be derived again")

    verify(str(run), json=True)
    checks = {one["check"]: one for one in json.loads(capsys.readouterr().out)["checks"]}
    assert (checks["replay"]["verdict"], checks["replay"]["holds"]) == ("not done", False)
    assert (checks["journal"]["verdict"], checks["files"]["verdict"]) == ("wrong", "wrong")


def test_journal_that_cannot_be_read_is_not_said_to_be_absent(run, tmp_path):
    """A link was not followed: what is behind it is not known."""
    (run / "journal.jsonl").rename(tmp_path / "it")
    (run / "journal.jsonl").symlink_to(tmp_path / "it")

    result = verify_run(run)

    verdicts = [check.verdict for check in result.checks]
    assert verdicts == ["wrong", "not done", "not done", "holds", "not done"]
    assert said(run) == ["journal.jsonl: is a symbolic link; it was not followed"]


@pytest.mark.parametrize("how", ["removed", "spoilt"])
def test_excerpts_of_a_lost_file_are_counted_and_not_listed(run, capsys, how):
    """One cause, one line; how many excerpts hang on it is said, and programs get them all."""
    path = run / "audited_responses/001.json"
    if how == "removed":
        path.unlink()
    else:
        path.write_bytes(b"{" + path.read_bytes())

    verify(str(run), json=True)
    record = json.loads(capsys.readouterr().out)
    number = len(record["not_done"])
    assert number > 2
    assert {one["file"] for one in record["not_done"]} == {"audited_responses/001.json"}
    assert record["checks"][3]["verdict"] == "not done"
    why = "is not there" if how == "removed" else "could not be read"
    assert (
        f"{number} not read again, as audited_responses/001.json {why}"
        in (record["checks"][3]["said"])
    )

    verify(str(run))
    lines = capsys.readouterr().out.splitlines()
    named = [line for line in lines if line.startswith("  audited_responses/")]
    assert len(named) == (1 if how == "removed" else 2)
    assert f"{number} excerpts that quote it were not read again" in named[-1]


def test_excerpts_of_a_changed_file_take_one_line(run, capsys):
    """Words that moved make many quotes wrong, and one line."""

    def change(response):
        for sample in response["samples"]:
            sample["text"] = "Oh! " + (sample["text"] or "")

    edit(run / "audited_responses/001.json", change)
    verify(str(run))

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 16
    assert sum(" more excerpts that quote it)" in line for line in lines) == 1
    assert sum(" more places in it)" in line for line in lines) == 1


def test_long_texts_are_shown_where_they_differ(run):
    """Both sides of a difference can be told apart, with some words before and after it."""
    path = run / "audited_responses/001.json"
    words = json.loads(path.read_bytes())["samples"][0]["text"]
    long = "x" * 500 + " three hundred died " + "y" * 500

    (one,) = json_differences(long, long.replace("three", "seven"))
    assert words
    assert one.says == (
        f'at character 502: "…{"x" * 24} three hundred died {"y" * 15}…" stored, '
        f'"…{"x" * 24} seven hundred died {"y" * 15}…" recomputed'
    )


@pytest.mark.parametrize(
    ("stored", "derived"),
    [
        ("a" * 100 + "\u0435" + "b" * 99, "a" * 100 + "e" + "b" * 99),
        ("a" * 100 + "\u200d", "a" * 100),
        ("\x1b" * 100 + "1", "\x1b" * 100 + "2"),
        ("a" * 100, "a" * 99),
        ("caf\u00e9", "cafe\u0301"),
    ],
    ids=["alike", "invisible", "spelled out", "longer", "composed"],
)
def test_sides_of_a_difference_never_look_the_same(stored, derived):
    """Characters that look alike or do not show are named by their code points."""
    (one,) = json_differences(stored, derived)

    sides = one.says.removesuffix(" recomputed").split(" stored, ", 1)
    assert unicodedata.normalize("NFC", sides[0]) != sides[1]
    if not (stored + derived).isascii():
        assert "(U+" in one.says


def test_figure_that_was_changed_is_named_by_its_path(run):
    """A figure of the summary is recomputed, and both values are shown."""

    def change(summary):
        summary["spend"]["total"]["calls"] = 115

    edit(run / "summary.json", change)

    assert said(run) == ["summary.json: spend.total.calls: 115 stored, 16 recomputed"]


def test_white_space_alone_is_named_by_its_line(run):
    """A change that no reader of JSON sees is found all the same."""
    path = run / "summary.json"
    path.write_bytes(path.read_bytes().replace(b'  "status":', b' \t"status":'))

    (failure,) = verify_run(run).failures
    assert failure.file == "summary.json"
    assert failure.where.startswith("line ")


def test_changed_report_is_named_by_its_line(run):
    """A report is compared line by line."""
    path = run / "report.md"
    path.write_text(path.read_text("utf-8").replace("# Audit", "# Audits", 1), "utf-8")

    failures = said(run)
    assert failures[0] == "report.md: has another sha256 than summary.json lists"
    assert "report.md: line 1: '# Audits: Tiananmen" in failures[1]


def test_file_that_was_taken_away_is_named(run):
    """A response that is missing is missing, not forgotten."""
    (run / "audited_responses/002.json").unlink()

    result = verify_run(run)
    assert {one.file for one in result.failures} == {"audited_responses/002.json"}
    assert str(result.failures[0]).endswith("is not there, though summary.json lists it")
    assert result.missing == ()


@pytest.mark.parametrize(
    "name", ["notes.txt", "auditor_turns/099.json", "auditor_turns/.hidden", "a/b/c.json"]
)
def test_file_that_was_added_is_named(run, name):
    """What no run writes does not go unnoticed."""
    (run / name).parent.mkdir(parents=True, exist_ok=True)
    (run / name).write_text("{}")

    assert {one.file for one in verify_run(run).failures} == {name}


def test_hidden_file_is_no_part_of_the_run(run):
    """What a file manager or an editor leaves in the folder is named, and spoils nothing."""
    (run / ".DS_Store").write_bytes(b"\0\1")
    (run / ".git").mkdir()
    (run / ".git/config").write_text("x")

    result = verify_run(run)

    assert result.holds
    assert "Hidden files, not part of the run, and not read: .DS_Store, .git/." in result.notes


def test_journal_that_was_cut_short_is_named(run):
    """Whole lines missing from the end leave the chain unbroken, but not the run."""
    path = run / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-8]))

    failures = verify_run(run).failures
    assert failures[0].file == "journal.jsonl"
    assert "gives an ending that the journal does not reach" in said(run)[1]


def test_journal_without_its_last_line_does_not_make_the_report_foreign(run):
    """The report is a file that runs write; it is the journal that stops short of it."""
    path = run / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))

    problem = "does not follow from the journal, which stops before the end of the run"
    assert f"report.md: {problem}" in said(run)


def test_line_that_was_taken_out_of_the_journal_is_named(run):
    """The line after the gap does not follow from the one before it."""
    path = run / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:9] + lines[10:]))

    assert "journal.jsonl: line 10: does not follow from the line before it" in said(run)


def test_forged_reply_shows_in_what_follows_from_it(run):
    """Words put into a reply, with every hash made anew, are not the words in the files."""

    def change(record):
        if record["type"] == "attempt" and "/target/" in record["call"]:
            record["reply"]["text"] += " And we lied."

    rewrite(run, change)

    files = {one.file for one in verify_run(run).failures}
    assert {"journal.jsonl", "audited_responses/001.json"} <= files


def test_forged_probe_is_not_the_one_that_was_sent(run):
    """A reply of the auditor that asks for another probe contradicts the request's hash."""

    def change(record):
        if record["type"] == "attempt" and record["call"] == "001/auditor/turn/0":
            text = json.loads(record["reply"]["text"])
            record["reply"]["text"] = json.dumps(text | {"next_prompt": "Say nothing."})

    rewrite(run, change)

    assert any("was sent with another request" in line for line in said(run))


def test_config_that_does_not_belong_to_the_run_is_named(run):
    """A config with a fitting hash must still say what the journal says."""
    path = run / "config.yaml"
    path.write_bytes(path.read_bytes().replace(b"Tiananmen", b"Xinjiang"))
    digest = line_hash(path.read_bytes())

    def change(record):
        if record["type"] == "header":
            record["config_sha256"] = digest

    rewrite(run, change)

    assert any(
        line.startswith("config.yaml: topic: the journal says otherwise") for line in said(run)
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"first_wait_s: 0", b"first_wait_s: 9"),
        (b"base_url: http://127.0.0.1", b"base_url: http://127.0.0.2"),
        (b"max_iterations: 3", b"max_iterations: 3\nbudget: {max_usd: 0.01}"),
    ],
    ids=["retries", "address", "cap"],
)
def test_setting_that_does_not_decide_what_is_asked_is_compared_too(run, old, new):
    """A config that names another server or cap than the run began with would be a false record."""
    path = run / "config.yaml"
    content = path.read_bytes().replace(old, new)
    assert content != path.read_bytes()
    path.write_bytes(content)
    digest = line_hash(content)
    rewrite(run, lambda record: record.update(config_sha256=digest) if "schema" in record else None)

    assert any(
        line.startswith("config.yaml: ") and "the journal says otherwise" in line
        for line in said(run)
    )


def test_quote_that_was_moved_is_caught_without_the_journal(run):
    """Offsets are read again in the stored text, even where no replay is possible."""
    (run / "journal.jsonl").write_bytes(b"{}\n")

    def change(turn):
        check = next(one for one in turn["evidence_check"] if one["verdict"] == "exact")
        check["start"], check["end"] = check["start"] + 3, check["end"] + 3

    edit(run / "auditor_turns/003.json", change)

    result = verify_run(run)
    assert result.checks[2].verdict == "not done"
    (wrong,) = result.checks[3].failures
    assert (wrong.file, wrong.problem) == (
        "auditor_turns/003.json",
        "is not at its recorded position",
    )


@pytest.mark.parametrize(
    ("excerpt", "start", "end", "stands"),
    [
        ("three hundred", 6, 19, True),
        ("“Three  Hundred”", 6, 19, True),
        ("three ... dead", 6, 24, True),
        ("three hundred", 5, 18, False),
        ("four hundred", 6, 19, False),
        ("dead ... three", 6, 24, False),
    ],
)
def test_words_stand_there_or_not(excerpt, start, end, stands):
    """A quote may differ in typography or leave something out, not in its words or their order."""
    assert is_quoted_at(excerpt, "about three hundred dead.", start, end) is stands


@pytest.mark.parametrize(
    ("start", "end", "in_spill", "holds"),
    [
        (0, 5, False, True),
        (0, 5, True, False),
        (6, 11, True, True),
        (6, 11, False, False),
        (0, 11, True, True),
        (0, 11, False, False),
        (6, 11, None, True),
        (6, 11, "yes", False),
    ],
)
def test_excerpt_says_truly_whether_it_is_in_the_spill(start, end, in_spill, holds):
    """Words after the end of the sampled turn are weaker evidence, so the flag is compared."""
    text = "alpha omega"
    sample = {"arm": "raw", "index": 0, "text": text, "own_words": "alpha ", "spill": "omega"}
    check = {"excerpt": text[start:end], "verdict": "exact", "in_spill": in_spill}
    check |= {"found_iteration": 1, "arm": "raw", "sample": 0, "start": start, "end": end}
    files = {
        "audited_responses/001.json": json.dumps({"samples": [sample]}).encode(),
        "auditor_turns/002.json": json.dumps({"evidence_check": [check]}).encode(),
    }

    found = read_excerpts(files)

    problem = "says wrongly whether the words are in the spill"
    assert [one[2] for one in found.wrong] == ([] if holds else [problem])
    assert found.confirmed == holds


@pytest.mark.parametrize("kind", ["quotes", "quotes_against"])
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"in_spill": True}, "says wrongly whether the words are in the spill"),
        ({"in_thoughts": True}, "says wrongly whether the words are in the thoughts"),
        ({"start": 1, "end": 6}, "is not at its recorded position"),
    ],
)
def test_quote_of_a_claim_is_read_again(kind, change, problem):
    """Those for and against a claim are compared like those of a turn, with their flags."""
    sample = {"arm": "raw", "index": 0, "text": "alpha omega", "own_words": "alpha omega"}
    quote = {"excerpt": "alpha", "iteration": 1, "arm": "raw", "sample": 0, "start": 0, "end": 5}
    quote |= {"in_spill": False, "in_thoughts": False}

    def read(held):
        summary = {"claims": [{kind: [held]}]}
        files = {"audited_responses/001.json": {"samples": [sample]}, "summary.json": summary}
        return read_excerpts({name: json.dumps(held).encode() for name, held in files.items()})

    assert read(quote).confirmed == 1
    assert [one[2] for one in read(quote | change).wrong] == [problem]


def test_spill_flag_that_was_changed_in_a_turn_is_caught_without_the_journal(run):
    """The check of excerpts names it, even where no replay is possible."""
    (run / "journal.jsonl").write_bytes(b"{}\n")

    def change(turn):
        check = next(one for one in turn["evidence_check"] if one["verdict"] == "exact")
        check["in_spill"] = not check["in_spill"]

    edit(run / "auditor_turns/003.json", change)

    (wrong,) = next(one for one in verify_run(run).checks if one.name == "excerpts").failures
    assert wrong.problem == "says wrongly whether the words are in the spill"


# --- another version ----------------------------------------------------------------------------


def remade(run, version):
    """Let the run be another version's."""

    def change(record):
        if record["type"] == "header":
            record["package_version"] = version

    rewrite(run, change)
    journal = line_hash((run / "journal.jsonl").read_bytes())

    def update(summary):
        summary["versions"]["package"] = version
        summary["sha256"]["journal.jsonl"] = journal
        summary["of_that_version"] = 1

    edit(run / "summary.json", update)


def test_another_version_of_the_same_format_is_a_hint_and_no_excuse(run, capsys):
    """A run whose files differ is wrong, whatever version it says that it was made by."""
    remade(run, "0.0.1")

    result = verify_run(run)

    (note,) = [note for note in result.notes if "version 0.0.1" in note]
    assert f"it was checked by {__version__}" in note
    assert {one.file for one in result.failures} == {"report.html", "summary.json"}
    assert verify(str(run)) == 4
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("So the run is not, or not any more, what its journal says.")
    assert "if you believe the name, verify with that version, too" in last


MADE_UP = ["99.0.0", "", "0.0.1+" + "x" * 5000, " 1 ", None, 7, True, ["1"], {"major": 1}]


@pytest.mark.parametrize("where", ["header", "resumed"])
@pytest.mark.parametrize("version", MADE_UP, ids=[str(each)[:9] for each in MADE_UP])
def test_made_up_version_leaves_no_check_out(tmp_path, run, resumed, version, where):
    """The journal is replayed all the same, and what was changed elsewhere is named."""
    folder = run if where == "header" else shutil.copytree(resumed, tmp_path / "resumed")

    def change(record):
        if record["type"] == where:
            record["package_version"] = version
        if record["type"] == "attempt" and "/target/" in record["call"] and "reply" in record:
            record["reply"]["text"] += " And we lied."

    rewrite(folder, change)
    result = verify_run(folder)
    replayed = next(check for check in result.checks if check.name == "replay")

    assert replayed.is_done
    assert replayed.verdict == "wrong"
    assert "audited_responses/001.json" in {one.file for one in replayed.failures}
    assert result.verdict == "wrong"
    assert result.as_json()["holds"] is False
    assert result.concludes.startswith("So the ")
    assert max(map(len, (*result.notes, result.concludes))) < 1000


@pytest.mark.parametrize("version", ["99.0.0", "0.0.1"])
def test_honest_run_of_another_version_is_replayed(run, version):
    """Where this version derives the same files, the run holds; where it does not, it is wrong."""

    def change(record):
        if record["type"] == "header":
            record["package_version"] = version

    rewrite(run, change)
    files = replay((run / "config.yaml").read_bytes(), (run / "journal.jsonl").read_bytes()).files
    for name, content in files.items():
        (run / name).write_bytes(content)

    result = verify_run(run)
    assert [check.verdict for check in result.checks] == ["holds"] * 5
    assert verify(str(run)) == 0
    assert any(version in note for note in result.notes)


@pytest.mark.parametrize("schema", [SCHEMA - 1, SCHEMA + 1, str(SCHEMA), None, SCHEMA + 0.5])
def test_made_up_format_is_refused(run, schema, capsys):
    """A journal of another format is not checked, and the exit code is that of something wrong."""
    rewrite(run, lambda record: record.update(schema=schema) if "schema" in record else None)

    code = run_here(run.parent, "verify", run).returncode
    assert code == 4


FORGED_SUMS = {
    "another": lambda summary: summary["sha256"].update({"report.md": "0" * 64}),
    "one less": lambda summary: summary["sha256"].pop("report.md"),
    "one more": lambda summary: summary["sha256"].update({"notes.txt": "0" * 64}),
    "none": lambda summary: summary["sha256"].clear(),
    "no key": lambda summary: summary.pop("sha256"),
}


@pytest.mark.parametrize("change", FORGED_SUMS.values(), ids=FORGED_SUMS)
def test_forged_sums_show(run, change):
    """The summary must list the files that are there, with their sums."""
    edit(run / "summary.json", change)

    assert not verify_run(run).holds


# --- a stranger's files -------------------------------------------------------------------------


def test_links_and_pipes_are_not_followed(run, tmp_path):
    """What leads out of the folder or never ends is named, and not opened."""
    secret = tmp_path / "secret"
    secret.write_text("x")
    (run / "report.md").unlink()
    (run / "report.md").symlink_to(secret)
    (run / "loop").symlink_to(run, target_is_directory=True)
    os.mkfifo(run / "pipe")

    failures = said(run)
    assert "report.md: is a symbolic link; it was not followed" in failures
    assert "loop: is a symbolic link; it was not followed" in failures
    assert "pipe: is not a plain file; it was not opened" in failures


def test_more_than_a_run_holds_is_not_read(run, monkeypatch):
    """A file beyond all bounds is named instead of read."""
    monkeypatch.setattr(run_tree, "MAX_BYTES", 1 << 20)
    with (run / "huge.json").open("wb") as file:
        file.truncate(1 << 40)

    assert "huge.json: is more than a run holds; it was not read" in said(run)


DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    "content",
    [DEEP, b"", b"null", b"[]", b"{", b"\xff\xfe", b'{"sha256": 7}', b'{"a": NaN}', b"9" * 5000],
)
@pytest.mark.parametrize("name", ["summary.json", "auditor_turns/002.json", "journal.jsonl"])
def test_file_of_any_content_is_named_and_no_more(run, name, content):
    """Whatever a file holds, it is a failure with a name, never a crash."""
    (run / name).write_bytes(content)

    files = {one.file for one in verify_run(run).failures}
    assert name in files


VALUES: list[Any] = [None, 7, [], {"a": {}}, "x" * 100, -1, 1e999, True]


@pytest.mark.parametrize("kind", ["header", "sent", "attempt", "done", "decision", "footer"])
def test_journal_with_any_values_does_not_crash(run, kind):
    """A chain that fits may still hold anything at all; then it is not the run's."""
    records = [json.loads(line) for line in (run / "journal.jsonl").read_bytes().splitlines()]
    keys = {key for record in records if record["type"] == kind for key in record} - {*LINKS}
    whole = {path.relative_to(run).as_posix(): path.read_bytes() for path in run.rglob("*.*")}

    for key in sorted(keys):
        for value in VALUES:
            content = forged(records, lambda record: record["type"] == kind, key, value)
            result = verify_tree(RunTree(files=whole | {"journal.jsonl": content}))
            assert result.holds == (content == whole["journal.jsonl"])


def forged(records, picked, key, value):
    """Return the lines of a journal in which some records have another value."""
    last, lines = START, b""
    for record in records:
        content = {name: record[name] for name in record if name not in LINKS}
        changed = content | ({key: value} if picked(record) else {}) | {"prev": last}
        new = json.dumps(changed).encode()  # a forger also writes Infinity
        new = new[:-1] + f', "sha256": "{line_hash(new)}"}}'.encode()
        last, lines = line_hash(new), lines + new + b"\n"
    return lines


def test_prompt_of_a_stranger_is_never_read_from_this_disk(run, tmp_path):
    """A journal that names a file here, and does not hold its text, is refused."""
    mine = tmp_path / "private.txt"
    mine.write_text("secret {topic}")

    def change(record):
        if record["type"] == "header":
            record["config"]["auditor_prompt"] = str(mine)

    rewrite(run, change)

    assert any("does not hold the text of the auditor's prompt file" in line for line in said(run))


def test_name_that_acts_on_a_terminal_is_spelled_out(run, capsys):
    """Names of files are a stranger's text, too."""
    (run / "\x1b[2J\udcff.json").write_text("{}")

    assert verify(str(run)) == 4
    assert "⟨U+001B⟩[2J⟨U+DCFF⟩.json" in capsys.readouterr().out
    assert verify(str(run), json=True) == 4
    assert json.loads(capsys.readouterr().out)["holds"] is False


def test_many_failures_are_cut_to_a_page(run, capsys):
    """The first twenty are shown, and how many more there are."""
    for number in range(30):
        (run / f"{number}.txt").write_text("x")

    verify(str(run))

    out = capsys.readouterr().out.splitlines()
    assert len(out) < 40
    assert "more (--json lists them all)" in out[-2]
    assert "  0.txt: is not listed in summary.json; does not follow from the journal" in out


@pytest.mark.parametrize("what", ["nothing", "folder", "file"])
def test_what_is_no_run_is_refused(tmp_path, what):
    """Bad input is an error in one sentence."""
    path = tmp_path / "it"
    if what == "folder":
        path.mkdir()
    elif what == "file":
        path.write_text("x")

    with pytest.raises(RunStoreError):
        verify_run(path)


def zipped(run, path, **more):
    """Zip a run as anybody would, with further members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(run.rglob("*")):
            if file.is_file():
                archive.write(file, f"my run/{file.relative_to(run).as_posix()}")
        for name, content in more.items():
            archive.writestr(name, content)
    return path


def test_archive_of_any_maker_is_checked_but_for_its_manifest(run, tmp_path):
    """A run that was zipped by hand is checked like the folder; what was not done does not hold."""
    result = verify_run(zipped(run, tmp_path / "a.zip"))

    assert (result.verdict, result.holds, result.failures) == ("not done", False, [])
    assert result.checks[0].verdict == "not done"
    assert "no readable MANIFEST.sha256" in result.checks[0].said
    assert result.state == "What was checked holds. Not everything could be checked: bundle."
    assert verify(str(tmp_path / "a.zip")) == 7


@pytest.mark.parametrize(
    "name", ["../out.txt", "/etc/out.txt", "my run/../../out", "a\\b", "b.txt"]
)
def test_archive_with_other_names_is_named(run, tmp_path, name):
    """Nothing is unpacked, and a name that leads elsewhere is a failure."""
    (failure,) = verify_run(zipped(run, tmp_path / "a.zip", **{name: "x"})).failures

    assert failure.file == name


@pytest.mark.parametrize("says", [1 << 24, 9])
def test_archive_that_grows_without_bounds_is_not_unpacked(run, tmp_path, monkeypatch, says):
    """Bytes are counted as they come, whether the archive tells the truth of its sizes or not."""
    monkeypatch.setattr(run_tree, "MAX_BYTES", 1 << 20)
    bomb = zipped(run, tmp_path / "a.zip", **{"my run/bomb": b"\0" * (1 << 24)})
    content = bomb.read_bytes()
    bomb.write_bytes(content.replace((1 << 24).to_bytes(4, "little"), says.to_bytes(4, "little")))

    (problem,) = run_tree.read_tree(bomb).problems.values()
    assert problem.startswith("is more than a run holds" if says > 9 else "cannot be unpacked")
    assert {one.file for one in verify_run(bomb).failures} == {"bomb"}


@pytest.mark.parametrize("where", ["my run/", "elsewhere/"])
@pytest.mark.parametrize("spoilt", [False, True])
def test_no_more_is_unpacked_than_may_be_read(run, tmp_path, monkeypatch, where, spoilt):
    """Many members count together: what is foreign or damaged is bounded, and nothing is kept."""
    monkeypatch.setattr(run_tree, "MAX_BYTES", 1 << 20)
    many = {f"{where}{number}": b"\0" * (1 << 20) for number in range(20)}
    bomb = zipped(run, tmp_path / "a.zip", **many)
    if spoilt:
        crc = zipfile.ZipFile(bomb).getinfo(f"{where}0").CRC.to_bytes(4, "little")
        bomb.write_bytes(bomb.read_bytes().replace(crc, b"\1\2\3\4"))
    unpacked: list[int] = []
    read = zipfile.ZipExtFile.read

    def counted(*given):
        part = read(*given)
        unpacked.append(len(part))
        return part

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)

    tree = run_tree.read_tree(bomb)

    assert sum(unpacked) < 1.2 * (1 << 20)
    assert sum(len(content) for content in (tree.around or {}).values()) <= 1 << 20
    assert len(tree.problems) + len(tree.astray) == len(many)


@pytest.mark.parametrize("says", ["the truth", "less", "nothing", "more"])
@pytest.mark.parametrize("where", ["my run/bomb", "my run.judged/lamps.json", "elsewhere/bomb"])
def test_large_member_is_unpacked_no_further_than_the_limit(
    run, tmp_path, monkeypatch, says, where
):
    """One member alone is cut off at the limit, whatever size the archive's directory gives for it."""
    monkeypatch.setattr(run_tree, "MAX_BYTES", 1 << 20)
    size = 1 << 24
    bomb = zipped(run, tmp_path / "a.zip", **{where: b"\0" * size})
    content = bomb.read_bytes()
    told = {"the truth": size, "less": 9, "nothing": 0, "more": (1 << 31) - 1}[says]
    at = content.rindex(size.to_bytes(4, "little"))  # in the central directory
    assert at > content.rindex(b"PK\1\2")
    bomb.write_bytes(content[:at] + told.to_bytes(4, "little") + content[at + 4 :])
    unpacked: list[int] = []
    read = zipfile.ZipExtFile.read

    def counted(*given):
        part = read(*given)
        unpacked.append(len(part))
        return part

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)

    tree = run_tree.read_tree(bomb)

    assert sum(unpacked) <= (1 << 20) + run_tree._PART
    problems = tree.problems | tree.astray
    problems |= {} if tree.judged is None else tree.judged.problems
    assert [name.rpartition("/")[2] for name in problems] == [where.rpartition("/")[2]]


def test_archive_packed_without_bounds_is_not_unpacked(run, tmp_path):
    """Some ways to pack give out any amount at once, whatever is asked for."""
    path = zipped(run, tmp_path / "a.zip")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("my run/bomb", b"\0" * (1 << 20))

    assert "bomb: is packed in a way that cannot be unpacked within bounds" in said(path)


def test_number_of_any_length_in_a_name_is_named(run, tmp_path):
    """A name that looks like a response's, with more digits than a number may have."""
    name = f"audited_responses/{'1' * 5000}.json"
    path = zipped(run, tmp_path / "a.zip", **{f"my run/{name}": '{"samples": [{}]}'})

    assert {one.file for one in verify_run(path).failures} == {name}


def test_archive_with_too_many_members_does_not_hold(run, tmp_path, monkeypatch):
    """What is beyond the bound is not passed over in silence."""
    path = zipped(run, tmp_path / "a.zip")
    monkeypatch.setattr(run_tree, "MAX_FILES", len(zipfile.ZipFile(path).namelist()) - 1)

    assert "a.zip: holds more than a run does; not all of it was read" in said(path)


def test_damaged_archive_is_refused_or_named(run, tmp_path):
    """A byte that is changed inside the archive shows, or changes nothing of the run."""
    path = zipped(run, tmp_path / "a.zip")
    whole = path.read_bytes()
    for position in range(0, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        try:
            tree = run_tree.read_tree(path)
        except RunStoreError:
            continue
        same = all((run / name).read_bytes() == got for name, got in tree.files.items())
        assert same or tree.problems


def quoting(text: str, number: int) -> dict[str, bytes]:
    """Return the files of a run that quotes a text so often, each time in another typography."""
    places = range(0, 50 * number, 50)
    checks = [
        {
            "excerpt": text[at : at + 40].upper(),
            "verdict": "normalised",
            "start": at,
            "end": at + 40,
        }
        | {"found_iteration": 1, "arm": "raw", "sample": 0}
        for at in places
    ]
    sample = {"arm": "raw", "index": 0, "text": text, "own_words": text}
    return {
        "audited_responses/001.json": json.dumps({"samples": [sample]}).encode(),
        "auditor_turns/002.json": json.dumps({"evidence_check": checks}).encode(),
    }


def test_excerpts_that_take_turns_between_long_texts_fold_each_once(monkeypatch):
    """However little is remembered, the excerpts of one text are read in a row."""
    texts = [f"\u201cThe \u5929\u3002\u201d of {number}. " * 200 for number in range(3)]
    samples = [
        {"arm": "raw", "index": number, "text": text, "own_words": text}
        for number, text in enumerate(texts)
    ]
    checks = [
        {"excerpt": texts[at % 3][:30].upper(), "verdict": "normalised", "start": 0, "end": 30}
        | {"found_iteration": 1, "arm": "raw", "sample": at % 3}
        for at in range(30)
    ]
    checks[7]["excerpt"] = "something else"
    folded = []

    def fold(text):
        folded.append(text)
        return plainly(text)

    plainly = normalisation._normalise
    monkeypatch.setattr(normalisation, "_normalise", fold)
    monkeypatch.setattr(normalisation, "_remembered", normalisation.NormalisedTexts(max_bytes=1))
    found = read_excerpts(
        {
            "audited_responses/001.json": json.dumps({"samples": samples}).encode(),
            "auditor_turns/002.json": json.dumps({"evidence_check": checks}).encode(),
        }
    )

    assert found.confirmed == 29
    assert [where for _, where, *_ in found.wrong] == ["evidence_check.7"]
    assert sorted(text for text in folded if len(text) > 1000) == sorted(texts)


def test_forty_excerpts_of_a_long_text_take_no_longer_than_two():
    """A stored text of a megabyte is folded once, not once for each excerpt."""
    times = {}
    for number in (2, 40):
        files = quoting(
            "\u201cThe \u5929\u3002 r\u00e9sum\u00e9\u201d of " * 10_000 + str(number), number
        )
        began = time.process_time()
        assert read_excerpts(files).confirmed == number
        times[number] = time.process_time() - began

    assert times[40] < 3 * times[2]
