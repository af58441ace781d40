"""Judgements beside a run follow from it, its facts file and its judges; a forgery is named."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
import time
import zipfile
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.judged_runs import judge_words, judging_provider, probed
from tests.support import rewrite, run_python
from uncensoring_chinese_models.cli.export import export
from uncensoring_chinese_models.cli.verify import bundle, verify
from uncensoring_chinese_models.errors import (
    BudgetExceededError,
    CorruptRunError,
    RunStoreError,
    UnfitToPublishError,
)
from uncensoring_chinese_models.measure.judging import judge_settings_for
from uncensoring_chinese_models.measure.labels import open_label_task, read_sheet, write_sheet
from uncensoring_chinese_models.measure.rater_accuracy import (
    accuracy_to_json,
    measure_raters,
    write_accuracy,
)
from uncensoring_chinese_models.reports import report_html, run_view
from uncensoring_chinese_models.reports.study.gather import gather
from uncensoring_chinese_models.runner.judging import judge_and_report
from uncensoring_chinese_models.runs.journal import Journal
from uncensoring_chinese_models.runs.reading import read_run
from uncensoring_chinese_models.runs.store import RunStore
from uncensoring_chinese_models.verify.bundle import manifest, pack_run, packed
from uncensoring_chinese_models.verify.verification import verify_run

pytestmark = pytest.mark.wire

OFFLINE = """\
import socket, sys
sys.modules["aiohttp"] = None  # not installed
def refuse(*_, **__):
    raise AssertionError("a connection was asked for")
socket.socket.connect = socket.socket.connect_ex = socket.socket.sendto = refuse
socket.getaddrinfo = refuse
from uncensoring_chinese_models.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""The command where there is no network and no HTTP client."""


def judged_by(run, *words, facts=None, every=False):
    """Judge a run, with the judges that the words name."""
    return judge_and_report(run, facts, judge_settings_for(run, words, lambda _: None, every=every))


def labelled(run, label="none"):
    """Draw a sheet for a run, fill in each row alike, and count it."""
    task = open_label_task(run)
    write_sheet(task, 50, 0)
    fill(task.sheet, label)
    labels = read_sheet(task, task.sheet)
    found = measure_raters(task, labels)
    write_accuracy(task, labels, accuracy_to_json(task, labels, found))


def fill(sheet, label, rows=None):
    """Fill in rows of a sheet."""
    text = sheet.read_bytes().decode("utf-8-sig")
    told = list(csv.DictReader(io.StringIO(text, newline="")))
    for row in told[:rows]:
        row["says"] = label
    page = io.StringIO(newline="")
    writer = csv.DictWriter(page, list(told[0]))
    writer.writeheader()
    writer.writerows(told)
    sheet.write_bytes(page.getvalue().encode("utf-8-sig"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One run that patterns, two judges and a person have judged, which nobody changes."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch, judging_provider() as provider:
        patch.chdir(folder)
        run = probed(Path(), provider)
        judged_by(run, judge_words(provider, "a/b", "c/d"))
        labelled(run)
    return folder / run


@pytest.fixture
def run(made, tmp_path):
    """A copy of the run and of what lies beside it."""
    shutil.copytree(made.with_name(f"{made.name}.judged"), tmp_path / f"{made.name}.judged")
    return shutil.copytree(made, tmp_path / made.name)


def beside(run):
    """Return the folder of judgements."""
    return run.with_name(f"{run.name}.judged")


def judgements(path):
    """Return the check of the judgements, with its failures as they are printed."""
    result = verify_run(path)
    (check,) = (each for each in result.checks if each.name == "judgements")
    others = [str(one) for each in result.checks if each is not check for one in each.failures]
    assert others == []
    return check.verdict, [str(one) for one in check.failures]


def edit(path, change):
    """Change a JSON file as it would have been written."""
    value = json.loads(path.read_bytes())
    change(value)
    path.write_bytes(json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n")


# --- what holds ---------------------------------------------------------------------------------


def test_untouched_judgements_hold(run, capsys):
    """Patterns, judges, the page and the key are derived again; labels are said to be only hashed."""
    before = {path: path.read_bytes() for path in run.parent.rglob("*") if path.is_file()}

    assert verify(str(run)) == 0

    line = next(each for each in capsys.readouterr().out.splitlines() if "  judgements" in each)
    assert line.split()[1] == "holds"
    assert "5 files derived again and compared byte for byte" in line
    assert "12 calls of judges answered from their journal" in line
    assert "labels of a person compared with their sha256 only: lamps.labels.csv" in line
    assert {path: path.read_bytes() for path in run.parent.rglob("*") if path.is_file()} == before


def test_run_without_judgements_has_no_such_check(run):
    """Nothing is said of judgements that nobody made."""
    shutil.rmtree(beside(run))

    result = verify_run(run)

    assert result.holds
    assert "judgements" not in {check.name for check in result.checks}


def test_judgements_of_a_renamed_run_hold(run):
    """The judgements name the run by its summary, not by its folder."""
    moved = run.rename(run.with_name("another name"))
    beside(run).rename(beside(moved))

    assert judgements(moved) == ("holds", [])


@pytest.mark.parametrize("shape", ["plain", "broken", "refusal", "invented_quote"])
def test_judges_of_every_sort_are_derived_again(run, shape):
    """Refusals, unusable replies and re-asks follow from the journal like everything else."""
    shutil.rmtree(beside(run))
    with judging_provider(shapes={"a/b": shape}) as provider:
        judged_by(run, judge_words(provider, "a/b", "c/d"), every=True)

    assert judgements(run) == ("holds", [])


def test_failed_calls_and_refused_formats_are_derived_again(run):
    """What was given up, asked again, or asked without JSON mode gives the same files."""
    shutil.rmtree(beside(run))
    few = ("retries.max_attempts=2", "retries.first_wait_s=0")
    with judging_provider() as provider:
        words = (judge_words(provider, "a/b"), *few)
        provider.fail("502", api="chat", times=None, after=3)
        judged_by(run, *words)
        assert judgements(run) == ("holds", [])
        provider.heal()
        judged_by(run, *words)
        assert judgements(run) == ("holds", [])
    for fault in ("400", "404"):
        with judging_provider() as provider:
            provider.fail(
                fault, api="chat", times=None, when=lambda body: "response_format" in body
            )
            judged_by(run, judge_words(provider, "e/f"), *few)
            judged_by(run, judge_words(provider, "e/f"), *few)
        assert judgements(run) == ("holds", [])


def test_judging_that_broke_off_holds_as_far_as_it_goes(run):
    """What was answered before the budget ended is kept; the judgements before it stay true."""
    before = (beside(run) / "lamps.judges.json").read_bytes()
    with judging_provider() as provider:
        words = judge_words(provider, "g/h", max_concurrency=1)
        with pytest.raises(BudgetExceededError, match="does not cover the next judgement"):
            judged_by(run, words, "budget.max_tokens=12000", every=True)

    assert any("/g/h/" in each["call"] for each in sent_records(run))
    assert (beside(run) / "lamps.judges.json").read_bytes() == before
    assert judgements(run) == ("holds", [])


def test_facts_file_of_the_user_is_kept_with_the_judgement(run, tmp_path):
    """A stranger derives it without the file, which may have changed or gone since."""
    text = json.loads((beside(run) / "lamps.json").read_bytes())["facts"]
    mine = tmp_path / "mine.yaml"
    mine.write_text(text.replace("411", "412").replace("topic: lamps", "topic: mine"), "utf-8")
    judged_by(run, facts=str(mine))
    mine.unlink()

    assert (beside(run) / "mine.json").is_file()
    assert judgements(run) == ("holds", [])


# --- what is forged -----------------------------------------------------------------------------


def first_sample(judgement):
    """Turn the first sample of a judgement into its opposite."""
    sample = judgement["judged"][0]
    sample["mention"] = "omits" if sample["mention"] == "states" else "states"


def first_verdict(judgement):
    """Turn the verdict on the first fact into another."""
    judgement["matrix"]["facts"][0]["verdict"] = "known but denied"


@pytest.mark.parametrize("name", ["lamps.json", "lamps.judges.json"])
@pytest.mark.parametrize(
    ("change", "place"), [(first_sample, "judged.0.mention"), (first_verdict, "matrix.facts.0")]
)
def test_forged_verdict_is_named_by_its_place(run, capsys, name, change, place):
    """Neither a verdict of the patterns nor one of the judges can be changed."""
    edit(beside(run) / name, change)

    assert verify(str(run)) == 4

    out = capsys.readouterr().out
    assert f"{beside(run).name}/{name}: {place}" in out
    assert "In the run itself nothing wrong was found" in out


def sent_records(run):
    """Return the lines of the judges' journal that record that something was sent."""
    lines = (beside(run) / "journal.jsonl").read_bytes().splitlines()
    return [json.loads(line) for line in lines if b'{"type": "sent"' in line]


def test_request_of_judges_that_does_not_follow_is_named(run):
    """A chained journal in which another request was answered is no evidence of this run."""
    call = sent_records(run)[-1]["call"]

    def change(record):
        if record["type"] == "sent" and record["call"] == call:
            record["request"] = hashlib.sha256(b"another").hexdigest()

    rewrite(beside(run), change)

    verdict, failures = judgements(run)
    assert verdict == "wrong"
    assert "journal.jsonl: line 1: cannot be derived again: line " in failures[0]
    assert f"call {call} was sent with another request" in failures[0]


def test_call_of_judges_about_something_else_is_named(run):
    """A call for a sample that was not sent to judges does not follow, though the chain is whole."""
    call = sent_records(run)[-1]["call"]

    def change(record):
        if record.get("call") == call:
            record["call"] = f"{call}x"

    rewrite(beside(run), change)

    verdict, failures = judgements(run)
    assert verdict == "wrong"
    assert any(f"call {call}x does not follow from the run" in each for each in failures)


def test_another_server_of_judges_is_named(run):
    """The journal cannot name a server that none of its judges has."""
    first = sent_records(run)[0]["call"]

    def change(record):
        if record["type"] == "sent" and record["call"] == first:
            record["server"] = "https://elsewhere.example/v1"

    rewrite(beside(run), change)

    verdict, failures = judgements(run)
    assert verdict == "wrong"
    assert any(
        "asks https://elsewhere.example/v1, which is the server of none" in f for f in failures
    )


JUDGES_LINES = {
    "no cost": (
        "sent",
        lambda r: r["reserved"].update(usd="0"),
        "reserves another amount than its request takes at most ($",
    ),
    "fewer tokens": (
        "sent",
        lambda r: r["reserved"].update(tokens=1),
        "reserves another amount than its request takes at most ($",
    ),
    "another judge": ("sent", lambda r: r.update(model="c/d"), "goes to a/b as a judge"),
    "another role": ("sent", lambda r: r.update(role="target"), "goes to a/b as a judge"),
    "another price": (
        "header",
        lambda r: r["prices"].update({"a/b": ["0", "0", "0"]}),
        "gives another price for the judge a/b than its settings",
    ),
    "another server": (
        "header",
        lambda r: r["servers"].update({"a/b": "https://elsewhere.example/v1"}),
        "gives another server for the judge a/b than its settings",
    ),
    "a date before the start": (
        "sent",
        lambda r: r.update(at="2001-01-01T00:00:00Z"),
        "is dated 2001-01-01T00:00:00Z, before the run began",
    ),
    "an answer before the start": (
        "attempt",
        lambda r: r["reply"].update(finished_at="2001-01-01T00:00:00Z"),
        "is dated 2001-01-01T00:00:00Z, before the run began",
    ),
    "an end before the start": (
        "footer",
        lambda r: r.update(finished_at="2001-01-01T00:00:00Z"),
        "is dated 2001-01-01T00:00:00Z, before the run began",
    ),
    "no date": ("sent", lambda r: r.update(at="yesterday"), "has a date that is none"),
}


@pytest.mark.parametrize(("kind", "change", "says"), JUDGES_LINES.values(), ids=JUDGES_LINES)
def test_line_of_judges_that_cannot_be_true_is_named(run, kind, change, says):
    """Prices, servers, reservations, names and dates are compared as in the journal of a run."""
    seen: list[dict[str, Any]] = []

    def forge(record):
        is_first = record["type"] == kind and not seen
        if is_first and "a/b" in record.get("call", "a/b"):
            seen.append(record)
            change(record)

    rewrite(beside(run), forge)

    assert seen
    verdict, failures = judgements(run)
    assert verdict == "wrong"
    assert any("journal.jsonl: line " in each and says in each for each in failures)


def test_forged_reply_of_a_judge_shows_in_its_judgement(run):
    """A reply that was changed and chained anew gives another file."""
    first = sent_records(run)[0]["call"]

    def change(record):
        if record["type"] == "attempt" and record["call"] == first:
            record["reply"]["text"] = "I'm sorry, but I can't help with that topic."

    rewrite(beside(run), change)

    _, failures = judgements(run)
    assert any("lamps.judges.json: judges.0.states.judged: 6 stored, 5" in one for one in failures)


def test_verdicts_that_no_judging_gave_are_named(run):
    """Verdicts of judges beside a journal in which no judging ended follow from nothing."""
    path = beside(run) / "journal.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))

    verdict, failures = judgements(run)

    assert verdict == "wrong"
    assert any("lamps.judges.json: does not follow from the journal" in one for one in failures)


def test_broken_chain_of_the_judges_is_named(run):
    """A changed line is named, and what follows from the journal is not said to hold."""
    path = beside(run) / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"generation_id"', b'"generation_ix"', 1))

    result = verify_run(run)

    assert [one.file for one in result.failures] == [f"{beside(run).name}/journal.jsonl"]
    assert f"{beside(run).name}/lamps.judges.json" in {one.file for one in result.not_done}


def test_judgements_of_another_run_are_named(run, tmp_path):
    """Swapped between two runs of the same facts and model, both folders fail."""
    with judging_provider() as provider:
        (tmp_path / "other").mkdir()
        other = probed(tmp_path / "other", provider, n=5)
        judged_by(other, judge_words(provider, "a/b"))
    beside(run).rename(tmp_path / "kept")
    beside(other).rename(beside(run))
    (tmp_path / "kept").rename(beside(other))

    for each in (run, other):
        verdict, failures = judgements(each)
        assert verdict == "wrong"
        assert any("lamps.json: judges another run" in one for one in failures)
        assert any("journal.jsonl: line 1: " in one for one in failures)


@pytest.mark.parametrize("with_hash", [False, True])
def test_replaced_facts_file_is_named(run, with_hash):
    """Another text does not give these judgements, also where its hash was replaced, too."""

    def change(judgement):
        judgement["facts"] = judgement["facts"].replace("411", "511")
        digest = hashlib.sha256(judgement["facts"].encode()).hexdigest()
        judgement["facts_sha256"] = digest if with_hash else judgement["facts_sha256"]

    edit(beside(run) / "lamps.json", change)

    _, failures = judgements(run)
    wanted = "judged" if with_hash else "holds another facts file than the sha256 that it names"
    assert any(f"lamps.json: {wanted}" in one for one in failures)


def test_edited_label_is_named(run):
    """A label that was changed after it was counted has another hash."""
    fill(beside(run) / "lamps.labels.csv", "A", rows=1)

    assert judgements(run) == (
        "wrong",
        [f"{beside(run).name}/lamps.labels.csv: has another sha256 than lamps.labels.json lists"],
    )


def test_edited_accuracy_and_key_are_named(run):
    """What the labels say of patterns and judges follows from them; the draw follows from its seed."""
    edit(
        beside(run) / "lamps.labels.json",
        lambda told: told["raters"][0]["specificity"].update(successes=0),
    )
    edit(beside(run) / "lamps.labels.key.json", lambda told: told["rows"][0].update(fact="f2"))

    _, failures = judgements(run)
    assert any("lamps.labels.json: raters.0.specificity.successes: 0 stored" in f for f in failures)
    assert any("lamps.labels.key.json: rows.0.fact: " in f for f in failures)


def test_edited_page_of_judgements_is_named(run):
    """The page is made from the judgements, and nothing else."""
    page = beside(run) / "report.html"
    page.write_bytes(page.read_bytes().replace(b"judged by a/b", b"judged by e/f"))

    verdict, failures = judgements(run)

    assert verdict == "wrong"
    assert all(one.startswith(f"{beside(run).name}/report.html: line ") for one in failures)


def test_forgery_in_a_bundle_with_a_new_manifest_is_named(run, tmp_path, monkeypatch):
    """Whoever forges the manifest, too, still has to forge what the judgements follow from."""
    monkeypatch.chdir(tmp_path)
    assert bundle(str(run)) == 0
    archive = tmp_path / f"{run.name}.zip"
    assert judgements(archive) == ("holds", [])
    members = members_of(archive)
    name = next(each for each in members if each.endswith("/lamps.judges.json"))
    told = json.loads(members[name])
    first_verdict(told)
    members[name] = json.dumps(told, ensure_ascii=False, indent=2).encode() + b"\n"
    members["MANIFEST.sha256"] = manifest(members)
    archive.write_bytes(packed(members))

    verdict, failures = judgements(archive)

    assert verdict == "wrong"
    assert any(one.startswith("run.judged/lamps.judges.json: matrix.facts.0") for one in failures)
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(tmp_path / "out")
    for unpacked in (tmp_path / "out", tmp_path / "out/run"):
        assert judgements(unpacked)[0] == "wrong"


# --- what cannot be derived ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoil", "file", "why"),
    [
        (
            lambda folder: (folder / "journal.jsonl").unlink(),
            "lamps.judges.json",
            "the journal of the judges is not there",
        ),
        (
            lambda folder: edit(folder / "lamps.json", lambda told: told.pop("facts")),
            "lamps.json",
            "it does not hold the text of its facts file",
        ),
        (
            lambda folder: (folder / "lamps.labels.csv").unlink(),
            "lamps.labels.json",
            "the sheet with the labels is not there",
        ),
        (
            lambda folder: (folder / "lamps.labels.key.json").unlink(),
            "lamps.labels.json",
            "the key of the sheet is not there",
        ),
    ],
)
def test_judgement_that_cannot_be_derived_is_not_said_to_hold(run, spoil, file, why):
    """Nothing is known to be wrong with it, and nothing is known to be right."""
    spoil(beside(run))

    result = verify_run(run)

    check = next(each for each in result.checks if each.name == "judgements")
    assert check.verdict == "not done"
    assert any(one.file.endswith(f"/{file}") and why in one.problem for one in check.not_done)


def test_facts_that_take_too_long_here_are_not_said_to_be_forged(run):
    """A pattern that no machine searches for in time is named, after seconds; nothing is said to be wrong."""

    def slow_down(judgement):
        judgement["facts"] = judgement["facts"].replace("'111'", "(?:.|[^!])+(?<=!)")
        judgement["facts_sha256"] = hashlib.sha256(judgement["facts"].encode()).hexdigest()

    edit(beside(run) / "lamps.json", slow_down)
    began = time.process_time()

    result = verify_run(run)

    assert time.process_time() - began < 15
    check = next(each for each in result.checks if each.name == "judgements")
    (told,) = (one for one in check.not_done if one.file.endswith("/lamps.json"))
    assert "its pattern '(?:.|[^!])+(?<=!)' of the fact pine takes too long" in told.problem
    assert not any(one.file.endswith("/lamps.json") for one in check.failures)
    assert not result.holds


def test_without_scipy_nothing_is_said_to_be_forged(run, tmp_path):
    """Whoever lacks an optional library is told which; the run itself is checked all the same."""
    code = (
        "import sys; sys.modules['scipy'] = None; from uncensoring_chinese_models.cli import main; "
    )
    done = run_python(
        tmp_path, "-c", f"{code}sys.exit(main(sys.argv[1:]))", "verify", run, "--json"
    )

    record = json.loads(done.stdout)
    assert record["failures"] == []
    assert {each["check"]: each["verdict"] for each in record["checks"]}["judgements"] == "not done"
    assert any("analysis" in each["problem"] for each in record["not_done"])


def test_judged_bundle_verifies_without_network_and_http_library(run, tmp_path, monkeypatch):
    """A stranger derives everything from the archive alone."""
    monkeypatch.chdir(tmp_path)
    assert bundle(str(run)) == 0

    done = run_python(tmp_path, "-c", OFFLINE, "verify", f"{run.name}.zip", "--json")

    assert done.stderr == ""
    record = json.loads(done.stdout)
    assert {each["verdict"] for each in record["checks"]} == {"holds"}
    assert "judgements" in {each["check"] for each in record["checks"]}


@pytest.mark.parametrize(
    "content", [b"", b"null", b"[]", b"{", b"\xff\xfe", b"{}", b"[" * 100_000 + b"]" * 100_000]
)
@pytest.mark.parametrize(
    "name",
    [
        *("lamps.json", "lamps.judges.json", "journal.jsonl", "other.json"),
        *("lamps.labels.json", "lamps.labels.key.json", "lamps.labels.csv", "report.html"),
    ],
)
def test_file_of_any_content_is_named_and_no_more(run, name, content):
    """Whatever a stranger puts there, verify ends with a sentence about that file."""
    (beside(run) / name).write_bytes(content)

    check = next(each for each in verify_run(run).checks if each.name == "judgements")

    assert check.verdict != "holds"
    named = {one.file.rpartition("/")[2] for one in (*check.failures, *check.not_done)}
    assert name in named or (name == "journal.jsonl" and content == b"" and named)


@pytest.mark.parametrize("value", [None, 7, "x", [], {}, [1], "9" * 5000])
@pytest.mark.parametrize(
    "key", ["run", "summary_sha256", "topic", "facts_sha256", "facts", "settings"]
)
def test_journal_of_judges_with_any_values_does_not_crash(run, key, value):
    """A chained journal with damaged settings is named, and the judgements are not said to hold."""

    def change(record):
        if record["type"] == "header":
            record[key] = value

    rewrite(beside(run), change)

    check = next(each for each in verify_run(run).checks if each.name == "judgements")
    assert check.verdict != "holds"


def test_link_and_foreign_file_are_not_read(run, tmp_path):
    """A link beside a run is a failure; another file of the user's is none, and is named."""
    (beside(run) / "notes.txt").write_text("mine")
    (beside(run) / ".~lock.lamps.labels.csv#").write_text("open")
    result = verify_run(run)
    assert result.holds
    assert any("notes.txt" in note and "not read" in note for note in result.notes)

    (beside(run) / "report.html").unlink()
    (beside(run) / "report.html").symlink_to(tmp_path / "elsewhere")
    _, failures = judgements(run)
    assert failures == [f"{beside(run).name}/report.html: is a symbolic link; it was not followed"]


# --- kills --------------------------------------------------------------------------------------


def stages(run, *words, **how):
    """Judge a run; return what lay beside it after each step in which a file was written or removed."""
    seen = []
    write, remove = RunStore._write, RunStore._remove
    finish = Journal.finish

    def kept():
        seen.append({path.name: path.read_bytes() for path in beside(run).iterdir()})

    def written(store, name, content):
        write(store, name, content)
        kept()

    def removed(store, name):
        remove(store, name)
        kept()

    def finished(journal, status):
        told = finish(journal, status)
        kept()
        return told

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunStore, "_write", written)
        patch.setattr(RunStore, "_remove", removed)
        patch.setattr(Journal, "finish", finished)
        judged_by(run, *words, **how)
    return seen


def restore(run, files):
    """Put back what lay beside a run."""
    shutil.rmtree(beside(run))
    beside(run).mkdir()
    for name, content in files.items():
        (beside(run) / name).write_bytes(content)


def answers_in(files):
    """Return how many replies the journal of the judges holds."""
    return files.get("journal.jsonl", b"").count(b'"type": "attempt"')


@pytest.mark.parametrize("again", [False, True])
def test_kill_between_any_two_files_is_described_and_repaired_for_free(run, again):
    """At each step nothing is called forged; the same command writes what an undisturbed one did."""
    if not again:
        shutil.rmtree(beside(run))
    else:
        for path in beside(run).glob("lamps.labels*"):
            path.unlink()
    with judging_provider(shapes={"a/b": "refusal"} if again else {}) as provider:
        words = judge_words(provider, "e/f", "a/b")
        killed_at = stages(run, words, every=True)
        whole = killed_at[-1]
        assert len(killed_at) >= 5
        for files in killed_at:
            restore(run, files)

            result = verify_run(run)
            assert [str(one) for one in (*result.failures, *result.not_done)] == []
            before, answered = provider.count("chat"), answers_in(files)
            judged_by(run, words, every=True)
            assert provider.count("chat") - before == answers_in(whole) - answered
            assert judgements(run) == ("holds", [])
            for name in ("lamps.json", "lamps.judges.json", "report.html"):
                assert (beside(run) / name).read_bytes() == whole[name]


def test_kill_while_judging_by_another_facts_file_is_described(run, tmp_path):
    """The old page is gone before the new judgement is there; judges of other facts are left out."""
    for path in beside(run).glob("lamps.labels*"):
        path.unlink()
    text = json.loads((beside(run) / "lamps.json").read_bytes())["facts"]
    mine = tmp_path / "mine.yaml"
    mine.write_text(text.replace("411", "412"), "utf-8")

    for files in stages(run, facts=str(mine)):
        restore(run, files)
        result = verify_run(run)
        assert [str(one) for one in (*result.failures, *result.not_done)] == []

    notes = verify_run(run).notes
    assert any("lamps.judges.json does not fit this run" in note for note in notes)
    assert [each.get("judges") for each in read_run(run).judged] == [None]


# --- bundles ------------------------------------------------------------------------------------


def test_bundle_with_judgements_is_the_same_bytes_wherever_it_was_made(run, tmp_path, monkeypatch):
    """Neither the folder's name nor leftovers have a say; README and manifest tell of judgements."""
    monkeypatch.chdir(tmp_path)
    first = pack_run(run, tmp_path / "a.zip")
    (beside(run) / ".lock").write_text("1 myhost.example")
    (beside(run) / "notes.txt").write_text("mine")
    moved = run.rename(tmp_path / "another name")
    beside(run).rename(beside(moved))
    second = pack_run(moved, tmp_path / "b.zip")

    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    assert (first.left_out, second.left_out) == (
        [],
        ["another name.judged/.lock", "another name.judged/notes.txt"],
    )
    members = members_of(tmp_path / "a.zip")
    judged = {name for name in members if name.startswith("run.judged/")}
    assert {f"run.judged/{path.name}" for path in beside(moved).glob("[!.n]*")} == judged
    assert b"run.judged/" in members["README.txt"]
    assert all(name.encode() in members["MANIFEST.sha256"] for name in judged)
    assert verify_run(tmp_path / "b.zip").holds


def test_bundle_without_judgements_is_as_it_was(run, tmp_path, monkeypatch):
    """A run that nobody judged gives an archive without a word of judgements."""
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(beside(run))
    pack_run(run, tmp_path / "a.zip")

    members = members_of(tmp_path / "a.zip")

    assert not any(name.startswith("run.judged/") for name in members)
    assert b"judge" not in members["README.txt"]


def test_foreign_file_in_the_judgements_of_a_bundle_is_named(run, tmp_path, monkeypatch):
    """`ucm bundle` packs no such file, so somebody else did."""
    monkeypatch.chdir(tmp_path)
    archive = pack_run(run, tmp_path / "a.zip").path
    members = members_of(archive) | {"run.judged/more.txt": b"Trust me."}
    members["MANIFEST.sha256"] = manifest(members)
    archive.write_bytes(packed(members))

    assert judgements(archive) == (
        "wrong",
        ["run.judged/more.txt: is not a file that ucm judge or ucm label writes"],
    )


def test_judgements_that_do_not_fit_or_leak_are_not_packed(run, tmp_path, monkeypatch):
    """A stale judgement, a home folder in a sheet, and the key of a judge stay at home."""
    monkeypatch.chdir(tmp_path)
    home = b"/%s/jdoe/x" % b"home"
    sheet = beside(run) / "lamps.labels.csv"
    whole = sheet.read_bytes()
    sheet.write_bytes(whole + home)
    with pytest.raises(UnfitToPublishError, match=r"\.judged/lamps\.labels\.csv: a home folder"):
        pack_run(run)
    sheet.write_bytes(whole)
    edit(beside(run) / "lamps.json", lambda told: told.update(summary_sha256="0" * 64))
    with pytest.raises(
        CorruptRunError, match=r"lamps\.json does not fit this run.*\. Nothing was packed"
    ):
        pack_run(run)
    assert not list(tmp_path.glob("*.zip"))


def test_key_of_a_judge_is_never_packed(run, tmp_path, monkeypatch):
    """The journal of the judges names their endpoints, and so the variables of their keys."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGE_KEY_OF_MINE", "a-very-secret-value")
    with judging_provider() as provider:
        words = judge_words(provider, "e/f", api_key_env="JUDGE_KEY_OF_MINE")
        judged_by(run, words)
    page = beside(run) / "lamps.labels.csv"
    page.write_bytes(page.read_bytes() + b"a-very-secret-value")

    with pytest.raises(UnfitToPublishError, match="the value of JUDGE_KEY_OF_MINE") as refused:
        pack_run(run, keep_found=True)
    assert "a-very-secret-value" not in str(refused.value)


# --- asking again -------------------------------------------------------------------------------


def test_journal_of_another_runs_judges_is_not_continued(run, tmp_path):
    """A folder that was copied to the wrong run is refused before anything is sent."""
    with judging_provider() as provider:
        (tmp_path / "other").mkdir()
        other = probed(tmp_path / "other", provider, n=5)
        shutil.copytree(beside(run), beside(other))
        sent = provider.count("chat")
        with pytest.raises(RunStoreError, match="is that of another run's judges; nothing was"):
            judged_by(other, judge_words(provider, "a/b"))

        assert provider.count("chat") == sent


# --- what reads judgements ----------------------------------------------------------------------


def test_judgements_of_another_run_are_not_shown_as_true(run, tmp_path, capsys):
    """Exports, study, page and viewer leave them out, and say which and why."""
    with judging_provider() as provider:
        (tmp_path / "other").mkdir()
        other = probed(tmp_path / "other", provider, n=5)
        judged_by(other)
    shutil.rmtree(beside(run))
    shutil.copytree(beside(other), beside(run))
    why = "lamps.json does not fit this run and is left out: it judges another run"

    assert export(str(run), to="jsonl", out=str(tmp_path / "tables")) == 0
    assert f"warning: {run.name}: {why}" in capsys.readouterr().err
    assert (tmp_path / "tables/facts.jsonl").read_text() == ""

    (found,) = gather(run, tmp_path).records
    assert found.sheet is None
    assert [each.reason.startswith(why) for each in gather(run, tmp_path).left_out] == [False, True]

    page = report_html(read_run(run))
    assert why in unescape(page)
    assert '<table class="facts-table">' not in page
    assert any(why in sentence for sentence in run_view(read_run(run)).verdict)


def test_bundle_shows_its_judgements(run, tmp_path, monkeypatch):
    """What was packed with a run is read with it, packed and unpacked."""
    monkeypatch.chdir(tmp_path)
    archive = pack_run(run, tmp_path / "a.zip").path
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(tmp_path / "out")

    for path in (archive, tmp_path / "out", tmp_path / "out/run"):
        judged = read_run(path).judged
        assert [len(each.get("judges", ())) for each in judged] == [2, 0]


def members_of(archive):
    """Return the members of an archive."""
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}
