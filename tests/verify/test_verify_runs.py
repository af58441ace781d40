"""What is untouched verifies, whatever became of the run; what is changed by one byte does not."""

from __future__ import annotations

import json
import random
import re
import shutil
from typing import Any

import pytest

from tests.journals import records_of, write_records
from tests.running import FOUR_ATTEMPTS
from tests.support import audit_here, audited_provider
from tests.varied_runs import KINDS, make_run
from uncensoring_chinese_models import load_runs
from uncensoring_chinese_models.errors import FatalError, ResumeMismatchError
from uncensoring_chinese_models.exports.writing import export_runs
from uncensoring_chinese_models.verify.verification import verify_run

RUNS = 200
CHANGES = 200
SHARES = 10


def contents(folder):
    """Return every file below a folder with its content."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.soak
@pytest.mark.timeout(300)  # a busy machine needs several times as long
@pytest.mark.parametrize("share", range(SHARES))
def test_untouched_runs_verify(tmp_path, share):
    """200 of 200 runs hold: finished, resumed, interrupted, killed, ended by any failure."""
    kinds = set()
    for seed in range(share * RUNS // SHARES, (share + 1) * RUNS // SHARES):
        folder = tmp_path / str(seed)
        folder.mkdir()
        made = make_run(folder, seed)
        before = contents(made.folder)

        result = verify_run(made.folder)

        assert [str(failure) for failure in result.failures] == [], (made.kind, seed)
        assert (result.ended and not result.missing) == (made.folder / "summary.json").exists()
        assert result.not_done == []
        assert contents(made.folder) == before
        kinds.add(made.kind)
    assert kinds == set(KINDS)


def changed_bytes(run, count, rng):
    """Yield a file of the run that has one byte changed, each file in turn, and put it back."""
    files = [path for path in sorted(run.rglob("*")) if path.is_file()]
    assert len(files) <= count
    for number in range(count):
        path = files[number % len(files)]
        whole = path.read_bytes()
        position = rng.randrange(len(whole))
        other = rng.choice([byte for byte in range(256) if byte != whole[position]])
        path.write_bytes(whole[:position] + bytes([other]) + whole[position + 1 :])
        yield path.relative_to(run).as_posix(), position, other
        path.write_bytes(whole)


@pytest.mark.soak
@pytest.mark.timeout(300)  # a busy machine needs several times as long
@pytest.mark.parametrize("kind", ["finished", "crashed and resumed", "budget", "crashed"])
def test_changed_byte_is_caught_and_located(tmp_path, kind):
    """200 of 200 random one-byte changes are found, and no file is named but the changed one."""
    seed = KINDS.index(kind) + 40
    made = make_run(tmp_path, seed)
    assert made.kind == kind
    assert verify_run(made.folder).holds
    rng = random.Random(seed)  # noqa: S311 -- a trial, not a secret

    for file, position, byte in changed_bytes(made.folder, CHANGES // 4, rng):
        result = verify_run(made.folder)
        named = {failure.file for failure in result.failures}
        assert named == {file}, (position, byte, [str(one) for one in result.failures])

    assert verify_run(made.folder).holds


@pytest.mark.parametrize("kind", ["finished", "crashed"])
def test_change_where_little_vouches_is_caught_and_located(tmp_path, kind):
    """The last line of a journal and the hashes in a summary are covered like the rest."""
    run = make_run(tmp_path, KINDS.index(kind)).folder
    journal, summary = run / "journal.jsonl", run / "summary.json"
    whole = journal.read_bytes()
    places = [(journal, at) for at in range(whole.rindex(b"\n", 0, -1) + 1, len(whole) - 1, 11)]
    if summary.exists():
        whole = summary.read_bytes()
        places += [(summary, at) for at in range(whole.index(b'"sha256"'), len(whole), 23)]

    for path, at in places:
        whole = path.read_bytes()
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        failures = verify_run(run).failures
        assert {one.file for one in failures} == {path.name}, (at, failures)
        path.write_bytes(whole)


CHEAP: dict[str, Any] = {"sampling": {"max_tokens": 100}, "auditor_sampling": {"max_tokens": 1000}}


def test_closing_request_that_the_budget_forbade_is_on_record(tmp_path):
    """A host that bills far more than it lists leaves nothing for the end; that replays, too."""
    with audited_provider() as provider:
        provider.fail("usage_overcharged", api="completions", times=None)
        run = audit_here(tmp_path, provider, budget={"max_usd": 5}, **CHEAP)
        assert run.summary["status_detail"] == "the budget did not cover the closing request"
        assert verify_run(run.folder).holds

        provider.heal()
        again = audit_here(tmp_path, provider, budget={}, resume=run.folder, **CHEAP)

    assert again.summary["status"] == "max_iterations"
    assert verify_run(run.folder).holds


def only_json(folder):
    """Read every JSON file and line of a folder, as a strict program would; return how many."""

    def refuse(told):
        raise AssertionError(f"{told} is not JSON")

    parts = [path.read_text("utf-8") for path in folder.rglob("*.json")]
    for path in folder.rglob("*.jsonl"):
        parts += path.read_text("utf-8").splitlines()
    for part in parts:
        json.loads(part, parse_constant=refuse)
    return len(parts)


@pytest.mark.parametrize("fault", ["usage_huge", "usage_nan"])
def test_absurd_numbers_of_a_server_reach_no_file(tmp_path, fault):
    """Tokens and costs beyond belief are unknown: the reservation is charged, and all files are JSON."""
    with audited_provider() as provider:
        provider.fail(fault, times=None)
        run = audit_here(tmp_path, provider, **CHEAP)

    out = tmp_path / "out"
    for form in ("jsonl", "csv"):
        export_runs(load_runs(run.folder), form, out / form)
    spend = run.summary["spend"]["total"]
    assert run.summary["status"] == "max_iterations"
    assert spend["cost_usd"] is None or spend["cost_usd"] < 100
    assert spend["prompt_tokens"] < 10**9
    assert only_json(run.folder) > 10
    assert only_json(out) > 0
    assert not re.search(
        r"(?<![\w\"])(NaN|Infinity|inf|nan)\b", (run.folder / "report.md").read_text()
    )
    assert verify_run(run.folder).holds


def test_closing_turn_of_an_ending_that_did_not_last_is_known(tmp_path):
    """A run that is taken up again and breaks off at once still holds the turn that closed it."""
    with audited_provider() as provider:
        stopped = audit_here(
            tmp_path, provider, max_iterations=6, budget={"max_usd": 0.12}, **CHEAP
        )
        assert stopped.summary["status"] == "budget"
        turns = sorted((stopped.folder / "auditor_turns").iterdir())
        provider.fail("402", api="chat", times=None)
        with pytest.raises(FatalError):
            audit_here(
                tmp_path,
                provider,
                max_iterations=6,
                budget={"max_usd": 9},
                resume=stopped.folder,
                **CHEAP,
            )

    assert turns == sorted((stopped.folder / "auditor_turns").iterdir())
    result = verify_run(stopped.folder)
    assert (result.holds, result.ended) == (True, False)
    turns[-1].write_bytes(turns[-1].read_bytes().replace(b"true", b"false"))
    assert {one.file for one in verify_run(stopped.folder).failures} == {
        f"auditor_turns/{turns[-1].name}"
    }


STRICT: dict[str, Any] = {**CHEAP, "max_iterations": 5, "retries": FOUR_ATTEMPTS}


@pytest.mark.parametrize(("tokens", "stage"), [(48_000, "turn"), (36_000, "closing")])
def test_reply_that_was_paid_before_the_budget_ended_its_stage_is_kept(tmp_path, tokens, stage):
    """An unusable reply, and then no money to ask again: its file follows from the journal."""
    with audited_provider() as provider:
        provider.fail("empty_text", api="chat", times=1, after=2)
        provider.fail("json_truncated", api="chat", times=3, after=2)
        run = audit_here(tmp_path, provider, budget={"max_tokens": tokens}, **STRICT)

    decided = [each["name"] for each in records_of(run.folder) if each["type"] == "decision"]
    assert f"cut/3/{stage}" in decided
    assert (run.folder / "auditor_turns/003.failed-1.json").exists()
    assert [str(one) for one in verify_run(run.folder).failures] == []


def test_run_killed_after_the_budget_ended_a_stage_comes_to_the_same_end(tmp_path):
    """Whatever was answered in the stage is read again: also that the schema was refused."""
    with audited_provider() as provider:
        provider.fail("400", api="chat", times=1, after=2)
        provider.fail("json_truncated", api="chat", times=3, after=2)
        run = audit_here(tmp_path, provider, budget={"max_tokens": 48_000}, **STRICT)
        records = records_of(run.folder)
        cut = next(at for at, each in enumerate(records) if each.get("name") == "cut/3/turn")
        ends = []
        for length in range(cut + 1, len(records)):
            killed = shutil.copytree(run.folder, tmp_path / f"{length}" / run.folder.name)
            write_records(killed, records[:length])
            (killed / "summary.json").unlink()
            budget = {"max_tokens": 48_000}
            audit_here(tmp_path / f"{length}", provider, resume=killed, budget=budget, **STRICT)
            ends.append(records_of(killed)[-1]["status"])
            assert [str(one) for one in verify_run(killed).failures] == []

    assert len(ends) > 1
    assert set(ends) == {"budget"}


def test_run_that_was_ending_and_got_more_money_holds(tmp_path):
    """It was killed after its closing turn: with more money it goes on, and that turn is not asked."""
    with audited_provider() as provider:
        settings = {**CHEAP, "max_iterations": 6}
        run = audit_here(tmp_path, provider, budget={"max_usd": 0.12}, **settings)
        write_records(run.folder, records_of(run.folder)[:-1])
        (run.folder / "summary.json").unlink()
        again = audit_here(tmp_path, provider, budget={"max_usd": 9}, resume=run.folder, **settings)

    assert (run.summary["status"], again.summary["status"]) == ("budget", "max_iterations")
    assert [str(one) for one in verify_run(run.folder).failures] == []


def test_prompt_file_that_was_changed_is_refused_on_resume(tmp_path):
    """Answers to one prompt do not go on under another; the message says where the old one is."""
    prompt = tmp_path / "mine.md"
    prompt.write_text("Audit {topic}.")
    with audited_provider() as provider:
        provider.fail("402", api="completions", times=None)
        with pytest.raises(FatalError):
            audit_here(tmp_path, provider, auditor_prompt=str(prompt))
        (folder,) = (tmp_path / "runs").iterdir()
        prompt.write_text("Audit {topic}!")
        with pytest.raises(ResumeMismatchError, match="the journal's first line holds it"):
            audit_here(tmp_path, provider, auditor_prompt=str(prompt), resume=folder)


def test_run_that_has_not_begun_goes_on_only_with_its_own_config(tmp_path):
    """A config in the run directory that is not the run's would be a false record."""
    with audited_provider() as provider:
        run = audit_here(tmp_path, provider, max_iterations=1).folder
        for path in run.rglob("*.*"):
            if path.name != "config.yaml":
                path.unlink()
        (run / "journal.jsonl").touch()
        with pytest.raises(ResumeMismatchError, match="topic"):
            audit_here(tmp_path, provider, max_iterations=1, topic="Other", resume=run)
        again = audit_here(tmp_path, provider, max_iterations=1, budget={"max_usd": 7}, resume=run)

    assert "max_usd: 7" in (run / "config.yaml").read_text()
    assert again.summary["status"] == "max_iterations"
    assert verify_run(run).holds


def test_settings_that_may_change_are_those_of_the_last_resumption(tmp_path):
    """The summary tells the budget under which the run ended, and the journal vouches for it."""
    with audited_provider() as provider:
        provider.fail("402", api="completions", times=None)
        with pytest.raises(FatalError):
            audit_here(tmp_path, provider, budget={"max_usd": 5})
        provider.heal()
        (folder,) = (tmp_path / "runs").iterdir()
        run = audit_here(tmp_path, provider, budget={"max_usd": 7}, resume=folder)

    assert run.summary["config"]["budget"]["max_usd"] == 7
    assert verify_run(folder).holds
    path = folder / "summary.json"
    path.write_bytes(path.read_bytes().replace(b'"max_usd": 7.0', b'"max_usd": 9.0'))
    failures = [str(failure) for failure in verify_run(folder).failures]
    assert failures == ["summary.json: config.budget.max_usd: 9.0 stored, 7.0 recomputed"]
