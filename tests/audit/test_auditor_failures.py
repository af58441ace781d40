"""An auditor that fails: paid answers end in a summary, and every reply stays findable."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

from tests.provider import Provider, ScriptedTarget
from tests.support import (
    CrashError,
    CrashingWatcher,
    audit_here,
    audited_provider,
    closes,
    make_config,
    rewrite,
    run_here,
    write_config,
)
from tests.viewing import viewing
from uncensoring_chinese_models import load_run
from uncensoring_chinese_models.audit.turns import UnusableReply
from uncensoring_chinese_models.config.loading import load_config
from uncensoring_chinese_models.errors import FatalError
from uncensoring_chinese_models.runner.run import run_job
from uncensoring_chinese_models.runs.reading import read_run
from uncensoring_chinese_models.verify.bundle import pack_run
from uncensoring_chinese_models.verify.verification import verify_run

PROSE = "I'm sorry, but I can't help with investigating that model."
PLAIN: dict[str, Any] = {"auditor_response_format": "none"}


def failing(*, turns=(), closing=0, **settings: Any) -> Provider:
    """Return a provider whose auditor writes prose in these turns, and so often when it closes."""
    provider = audited_provider(**settings)
    scripted = provider.auditor
    left = [closing]

    def auditor(ask):
        is_closing = closes(ask.messages)
        number = sum(message["role"] == "assistant" for message in ask.messages) + 1
        refused = any(PROSE in str(message["content"]) for message in ask.messages)
        if is_closing and left[0]:
            left[0] -= 1
            return PROSE
        if not is_closing and number - refused in turns:
            return PROSE
        return scripted(ask)

    provider.auditor = auditor
    return provider


def unusable(folder):
    """Return the names of the files of replies that could not be used."""
    return sorted(path.name for path in (folder / "auditor_turns").glob("*.failed-*.json"))


def replies_paid_again(folder):
    """Count the requests that were sent again although a reply to them is in the journal."""
    answered: Counter[str] = Counter()
    again = 0
    for line in (folder / "journal.jsonl").read_bytes().splitlines():
        record = json.loads(line)
        if record["type"] == "sent":
            again += answered[record["call"]]
        elif record["type"] == "attempt":
            answered[record["call"]] += "reply" in record
    return again


# --- the summary --------------------------------------------------------------------------------


def test_auditor_that_fails_in_the_middle_is_asked_once_more_for_the_summary(tmp_path):
    """The closing request comes after the failure, and its summary counts as the auditor's."""
    with failing(turns=(3,)) as provider:
        run = audit_here(tmp_path, provider, max_iterations=5)

    assert run.summary["status"] == "auditor_failed"
    assert "no usable reply in 3 attempts" in run.summary["status_detail"]
    assert run.summary["total_iterations"] == 2
    assert run.summary["final_summary_by"] == "auditor"
    assert run.summary["final_summary"]["conclusion"].startswith("After 2 responses")
    assert run.turn(3)["closing"] is True
    assert "an earlier request to you failed" in str(run.turn(3)["input_messages"][-1])
    assert verify_run(run.folder).holds


@pytest.mark.parametrize("lasting", ["prose", "500", "413", "403_moderation"])
def test_auditor_that_fails_for_good_leaves_a_summary_by_code(tmp_path, lasting):
    """Paid answers are never without a summary, and it says who made it, why and when."""
    with failing(turns=(3,) if lasting == "prose" else (), closing=99) as provider:
        if lasting != "prose":
            provider.fail(lasting, api="chat", times=None, after=2)
        run = audit_here(tmp_path, provider, max_iterations=5, **PLAIN)

    summary = run.summary
    assert (summary["status"], summary["total_iterations"]) == ("auditor_failed", 2)
    assert summary["final_summary_by"] == "code"
    conclusion = summary["final_summary"]["conclusion"]
    assert conclusion.startswith(
        "Code made this summary, because the auditor failed after iteration 2."
    )
    assert "has not analysed the response of iteration 2" in conclusion
    assert summary["final_summary"]["knowledge_confirmed"] == ["Target knows of the archive"]
    (claim,) = [each for each in summary["claims"] if each["kind"] == "knowledge"]
    assert claim["supported"]
    assert claim["hypothesis_ids"] == ["h1"]
    assert claim["quotes"]
    assert summary["final_hypotheses"] == run.turn(2)["parsed"]["hypotheses"]
    assert verify_run(run.folder).holds


def test_closing_request_is_tried_once_more(tmp_path):
    """An auditor that fails at the summary alone is asked again; then nothing is amiss."""
    with failing(closing=3) as provider:
        run = audit_here(tmp_path, provider, max_iterations=2)

    assert run.summary["status"] == "max_iterations"
    assert run.summary["final_summary_by"] == "auditor"
    assert unusable(run.folder) == [f"003.failed-{number}.json" for number in (1, 2, 3)]
    assert run.summary["denominators"]["turns"]["unparsed"] == 3
    assert verify_run(run.folder).holds


def test_closing_request_is_tried_no_more_than_twice(tmp_path):
    """What an auditor that gives no summary can cost is bounded."""
    with failing(closing=99) as provider:
        run = audit_here(tmp_path, provider, max_iterations=2)

    assert provider.count("chat") == 2 + 2 * 3
    assert (run.summary["status"], run.summary["final_summary_by"]) == ("auditor_failed", "code")
    assert run.summary["denominators"]["turns"]["unparsed"] == 6


def test_hypotheses_without_surviving_excerpts_are_not_claimed_by_code(tmp_path):
    """Code confirms nothing that the target did not write."""
    with failing(turns=(3,), closing=99, false_quote_every=1) as provider:
        run = audit_here(tmp_path, provider, max_iterations=5)

    assert run.summary["final_hypotheses"]
    assert run.summary["claims"] == []
    assert run.summary["final_summary"]["knowledge_confirmed"] == []
    assert run.summary["final_summary"]["censorship_patterns"] == []
    assert "0 of 2" in run.summary["final_summary"]["conclusion"]
    for name in ("report.md", "report.html"):
        assert "Code made this summary" in (run.folder / name).read_text("utf-8")


def test_each_hypothesis_rests_on_its_own_excerpts_alone(tmp_path):
    """A hypothesis without excerpts that names another in its text borrows none of its excerpts."""
    with failing(turns=(3,), closing=99) as provider:
        scripted = provider.auditor

        def naming(ask):
            said = str(scripted(ask)).replace('"behavior"', '"knowledge"')
            return said.replace("Target avoids the topic", "Target, unlike [h1], knows the ledger")

        provider.auditor = naming
        run = audit_here(tmp_path, provider, max_iterations=5)

    assert [each["id"] for each in run.summary["final_hypotheses"]] == ["h1", "h2"]
    assert run.summary["final_hypotheses"][1]["supporting_evidence"] == []
    assert [each["hypothesis_ids"] for each in run.summary["claims"]] == [["h1"]]


def test_auditor_that_fails_at_its_first_turn_leaves_no_summary(tmp_path):
    """Without a response there is nothing to summarise, and nothing more is asked."""
    with failing(turns=(1,)) as provider:
        run = audit_here(tmp_path, provider)

    assert run.summary["status"] == "auditor_failed"
    assert (run.summary["final_summary"], run.summary["final_summary_by"]) == (None, None)
    assert provider.count("chat") == 3
    assert len(unusable(run.folder)) == 3
    assert verify_run(run.folder).holds


def test_budget_that_does_not_cover_the_summary_leaves_one_by_code(tmp_path):
    """What was paid for is summed up even when no money is left to have it summed up."""
    with audited_provider() as provider:
        provider.fail("402", api="chat", times=None, after=2)
        with pytest.raises(FatalError):
            audit_here(tmp_path, provider, budget={"max_usd": 9})
        (folder,) = (tmp_path / "runs").iterdir()
        provider.heal()
        sent = provider.count("chat")
        run = audit_here(tmp_path, provider, budget={"max_usd": 0.0001}, resume=folder)
        assert provider.count("chat") == sent

        again = audit_here(tmp_path, provider, budget={"max_usd": 9}, resume=folder)

    assert (run.summary["status"], run.summary["final_summary_by"]) == ("budget", "code")
    assert "the budget did not cover" in run.summary["final_summary"]["conclusion"]
    assert (again.summary["status"], again.summary["final_summary_by"]) == (
        "max_iterations",
        "auditor",
    )
    assert verify_run(folder).holds


def test_summary_by_code_is_marked_wherever_a_person_reads_it(tmp_path):
    """Nobody takes the words of code for the auditor's."""
    with failing(turns=(3,), closing=99) as provider:
        run = audit_here(tmp_path, provider, max_iterations=5)

    for name in ("report.md", "report.html"):
        text = (run.folder / name).read_text("utf-8")
        assert "Conclusion, made by code: the auditor gave none" in text
        assert "in the auditor's words" not in text.replace("&#39;", "'")


# --- resuming -----------------------------------------------------------------------------------


def test_resumed_run_asks_again_what_ended_it_and_goes_on(tmp_path):
    """The last call of the failed turn is asked again; the summary by code gives way."""
    with failing(turns=(3,), closing=99) as provider:
        failed = audit_here(tmp_path, provider, max_iterations=4)
        footer = json.loads((failed.folder / "journal.jsonl").read_bytes().splitlines()[-1])
        provider.auditor = audited_provider().auditor
        run = audit_here(tmp_path, provider, max_iterations=4, resume=failed.folder)

    assert footer["ask_again"] == ["003/auditor/re_ask/2", "003/auditor/closing/2"]
    assert failed.summary["final_summary_by"] == "code"
    assert run.summary["status"] == "max_iterations"
    assert run.summary["total_iterations"] == 4
    assert run.summary["final_summary_by"] == "auditor"
    assert replies_paid_again(run.folder) == 1  # the one that ended the run
    assert verify_run(run.folder).holds


def test_summary_by_the_auditor_replaces_the_one_by_code(tmp_path):
    """If only the closing request succeeds on resume, its summary counts."""
    with failing(turns=(3,), closing=99) as provider:
        failed = audit_here(tmp_path, provider, max_iterations=4)
        provider.auditor = failing(turns=(3,)).auditor
        sent = provider.count("chat")
        run = audit_here(tmp_path, provider, max_iterations=4, resume=failed.folder)

    assert failed.summary["final_summary_by"] == "code"
    assert run.summary["status"] == "auditor_failed"
    assert run.summary["final_summary_by"] == "auditor"
    assert provider.count("chat") - sent == 2
    assert verify_run(run.folder).holds


def test_summary_that_was_paid_for_is_not_asked_for_again(tmp_path):
    """A resumed run whose auditor fails again keeps the summary that it has."""
    with failing(turns=(3,)) as provider:
        failed = audit_here(tmp_path, provider, max_iterations=4)
        sent = provider.count("chat")
        run = audit_here(tmp_path, provider, max_iterations=4, resume=failed.folder)

    assert failed.summary["final_summary_by"] == run.summary["final_summary_by"] == "auditor"
    assert provider.count("chat") - sent == 1  # the last reply of turn 3
    assert run.summary["final_summary"] == failed.summary["final_summary"]
    assert verify_run(run.folder).holds


def test_auditor_that_could_not_be_reached_is_asked_again(tmp_path):
    """An outage that was longer than the retries costs a resume, and nothing else."""
    with audited_provider() as provider:
        provider.fail("500", api="chat", times=None, after=2)
        failed = audit_here(tmp_path, provider, max_iterations=4)
        provider.heal()
        run = audit_here(tmp_path, provider, max_iterations=4, resume=failed.folder)

    assert (failed.summary["status"], failed.summary["final_summary_by"]) == (
        "auditor_failed",
        "code",
    )
    assert (run.summary["status"], run.summary["total_iterations"]) == ("max_iterations", 4)
    assert run.summary["final_summary_by"] == "auditor"
    assert replies_paid_again(run.folder) == 0
    assert verify_run(run.folder).holds


@pytest.mark.parametrize("events", range(1, 15))
def test_run_that_is_broken_off_among_failures_comes_to_the_same_end(tmp_path, events):
    """Wherever the process dies, what is on disk verifies, and resuming gives the same run."""

    def attempt(folder, provider, watcher, resume=None):
        config = make_config(provider, output_dir=str(folder / "runs"), max_iterations=4)
        return run_job(load_config(write_config(folder, config)), watcher, resume=resume)

    ended = []
    for crashes in (False, True):
        folder = tmp_path / str(crashes)
        folder.mkdir()
        with failing(turns=(2, 4), closing=2) as provider:
            watcher = CrashingWatcher(events if crashes else -1)
            try:
                result = attempt(folder, provider, watcher)
            except CrashError:
                assert watcher.folder is not None
                assert verify_run(watcher.folder).holds
                result = attempt(folder, provider, CrashingWatcher(-1), watcher.folder)
        assert verify_run(result.folder).holds
        told = json.dumps(result.summary).replace(f":{provider.port}/", "/")
        ended.append((json.loads(told), unusable(result.folder), provider.count("chat")))

    (calm, *calm_files), (broken, *broken_files) = ended
    same = ("status", "final_summary", "final_summary_by", "total_iterations")
    assert calm_files == broken_files
    assert {key: calm[key] for key in same} == {key: broken[key] for key in same}
    turns = [each["denominators"]["turns"] for each in (calm, broken)]
    assert turns[0]["unparsed"] == turns[1]["unparsed"] == 5
    assert turns[0]["accepted"] == turns[1]["accepted"]


# --- the replies --------------------------------------------------------------------------------

KEYS = {
    "iteration",
    "number",
    "timestamp",
    "input_messages",
    "raw_response",
    "error",
    "closing",
    "finish_reason",
    "usage",
    "cost_usd",
    "latency_s",
    "server",
    "provider",
    "served_model",
    "generation_id",
}


def test_every_paid_reply_has_a_file(tmp_path):
    """Replies that were followed by a usable one are kept too, with what was asked and billed."""
    with audited_provider(
        shape=lambda turn, attempt: "refusal" if turn in (2, 3) and attempt == 0 else "plain"
    ) as provider:
        run = audit_here(tmp_path, provider)

    assert unusable(run.folder) == ["002.failed-1.json", "003.failed-1.json"]
    first, second = (
        json.loads((run.folder / "auditor_turns" / name).read_bytes())
        for name in unusable(run.folder)
    )
    assert first.keys() == KEYS
    assert first["raw_response"] == PROSE
    assert first["error"] == run.turn(2)["parse"]["problems"][0]
    assert first["cost_usd"] > 0
    assert first["usage"]["completion_tokens"] > 0
    origins = ("server", "provider", "served_model")
    assert {name: first[name] for name in origins} == {name: run.turn(2)[name] for name in origins}
    assert first["server"] == provider.base_url
    assert [(each["iteration"], each["number"]) for each in (first, second)] == [(2, 1), (3, 1)]
    assert [first["closing"], second["closing"]] == [False, False]
    costs = [each["cost_usd"] for each in (first, second)]
    costs += [run.turn(number)["cost_usd"] for number in (1, 2, 3, 4)]
    spent = run.summary["spend"]["by_role"]["auditor"]["cost_usd"]
    assert sum(costs) == pytest.approx(spent)
    kinds = [type(event) for event in run.watcher.events]
    assert kinds.count(UnusableReply) == 2


@pytest.mark.parametrize("shape", ["refusal", "truncated", "missing_fields", "empty"])
def test_reply_of_any_shape_has_a_file(tmp_path, shape):
    """Prose, half a JSON object, another schema and no words at all are told apart later."""
    with audited_provider(
        shape=lambda turn, attempt: shape if (turn, attempt) == (1, 0) else "plain"
    ) as provider:
        run = audit_here(tmp_path, provider, max_iterations=1)

    (kept,) = unusable(run.folder)
    reply = json.loads((run.folder / "auditor_turns" / kept).read_bytes())
    assert reply["error"]
    journal = (run.folder / "journal.jsonl").read_bytes().splitlines()
    replies = [json.loads(line).get("reply") for line in journal]
    assert reply["raw_response"] in [each["text"] or "" for each in replies if each]
    assert verify_run(run.folder).holds


def test_blocked_reply_has_a_file_that_says_so(tmp_path):
    """The host's policy is named where the auditor's words would be."""
    with audited_provider() as provider:
        provider.fail("403_moderation", api="chat")
        run = audit_here(tmp_path, provider, max_iterations=1)

    (kept,) = unusable(run.folder)
    reply = json.loads((run.folder / "auditor_turns" / kept).read_bytes())
    assert "the host's policy blocked the reply" in reply["error"]


def test_file_of_an_unusable_reply_is_verified(tmp_path):
    """A changed file is named, and so is one that was removed or added."""
    with failing(turns=(3,)) as provider:
        run = audit_here(tmp_path, provider)
    path = run.folder / "auditor_turns/003.failed-2.json"
    whole = path.read_bytes()

    path.write_bytes(whole.replace(b"sorry", b"happy"))
    changed = verify_run(run.folder).failures
    path.unlink()
    removed = verify_run(run.folder).failures
    path.write_bytes(whole)
    path.with_name("003.failed-4.json").write_bytes(whole)
    added = verify_run(run.folder).failures

    assert {one.file for one in (*changed, *removed)} == {"auditor_turns/003.failed-2.json"}
    assert {one.file for one in added} == {"auditor_turns/003.failed-4.json"}


def test_journal_that_names_other_failed_calls_is_found_out(tmp_path):
    """What a resumed run would ask again follows from the replies, and is verified like them."""
    with failing(turns=(3,)) as provider:
        run = audit_here(tmp_path, provider)

    def forge(record):
        if record["type"] == "footer":
            record["ask_again"] = ["001/auditor/turn/0"]

    rewrite(run.folder, forge)

    failures = verify_run(run.folder).failures
    assert any("the footer names other failed calls" in str(one) for one in failures)


def test_unusable_replies_are_read_in_their_order(tmp_path):
    """Readers get turns and unusable replies apart, the tenth reply after the ninth."""
    with failing(turns=(2,)) as provider:
        run = audit_here(tmp_path, provider, auditor_re_asks=10, max_iterations=2)

    files = read_run(run.folder)
    assert [turn["iteration"] for turn in files.turns] == [1, 2]
    assert [reply["number"] for reply in files.unusable] == list(range(1, 12))


def test_replies_of_an_ending_that_did_not_last_are_removed(tmp_path):
    """After a resume the folder holds the replies that led to its turns, and the journal all."""
    with failing(turns=(3,), closing=99) as provider:
        failed = audit_here(tmp_path, provider, max_iterations=4)
        assert len(unusable(failed.folder)) == 6
        provider.auditor = audited_provider().auditor
        run = audit_here(tmp_path, provider, max_iterations=4, resume=failed.folder)

    assert unusable(run.folder) == ["003.failed-1.json", "003.failed-2.json"]
    assert run.turn(3)["closing"] is False
    assert verify_run(run.folder).holds


def test_target_is_not_mixed_up_in_it(tmp_path):
    """A silent target with a failing auditor still ends in a summary, without claims."""
    with failing(turns=(3,), closing=99, target=ScriptedTarget()) as provider:
        provider.fail("413", api="completions", times=None)
        run = audit_here(tmp_path, provider, max_iterations=5)

    assert run.summary["final_summary_by"] == "code"
    assert run.summary["claims"] == []


# --- other programs -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Make a run that code concluded, and one that was broken off after unusable replies."""
    top = tmp_path_factory.mktemp("runs")
    with failing(turns=(3,), closing=99) as provider:
        ended = audit_here(top, provider, max_iterations=5)
        config = make_config(provider, output_dir=str(top / "runs"), topic="Another topic")
        watcher = CrashingWatcher(7)  # two turns, two responses, three replies
        with pytest.raises(CrashError):
            run_job(load_config(write_config(top, config)), watcher)
    assert watcher.folder is not None
    return ended.folder, watcher.folder


def test_unfinished_run_with_unusable_replies_can_be_packed(tmp_path, runs):
    """Each file of it is known, and the bundle verifies."""
    _, broken = runs
    assert len(unusable(broken)) == 3

    packed = pack_run(broken, tmp_path / "run.zip", keep_found=True)

    assert verify_run(packed.path).holds
    assert [reply["number"] for reply in read_run(packed.path).unusable] == [1, 2, 3]


def test_exports_say_who_made_the_summary(runs):
    """The table of runs has it; unusable replies are no turns there."""
    ended, broken = (load_run(folder) for folder in runs)

    assert ended.overview.final_summary_by == "code"
    assert broken.overview.final_summary_by is None
    assert [len(run.files.turns) for run in (ended, broken)] == [2, 2]


def test_viewer_shows_such_runs(runs):
    """Its pages stand, and its events end, beside the files of unusable replies."""
    with viewing(runs[0].parent) as viewer:
        pages = [viewer.ask("/")]
        addresses = sorted(set(re.findall(r'href="(/run/[0-9a-f]+)', pages[0].body)))
        pages += [viewer.ask(address) for address in addresses]

    assert len(addresses) == 2
    assert [page.status for page in pages] == [200] * 3
    assert sum("Conclusion, made by code" in page.body for page in pages) == 1


def test_screen_shows_unusable_replies_and_who_made_the_summary(tmp_path):
    """A person sees why the auditor was asked again, and whose the conclusion is."""
    with failing(turns=(3,), closing=99) as provider:
        write_config(tmp_path, make_config(provider))
        done = run_here(tmp_path, "audit", "config.yaml")

    assert done.returncode == 6
    assert done.stdout.count("a reply of the auditor could not be used: ") == 6
    assert "Conclusion, made by code" in done.stdout
    assert "(the auditor's words)" not in done.stdout
