"""One process pays for the calls of a run, whatever is done to the run's files meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.judged_runs import judge_words, judging_provider, probed
from tests.provider import Request
from tests.support import (
    audited_provider,
    clean_environment,
    command,
    make_config,
    only_run,
    run_here,
    write_config,
)

PRICE = {"input_usd_per_million": 1, "output_usd_per_million": 2}


def start(folder, *words):
    return subprocess.Popen(
        command(*words),
        cwd=folder,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def resume_words(run):
    return ("audit", run / "config.yaml", "--resume", run)


def written(folder, provider, **changes):
    """Write a config whose prices are known, so that nothing is asked before the first call."""
    config = make_config(provider, **{"max_iterations": 2, **changes})
    for side in ("auditing_endpoint", "audited_endpoint"):
        config[side]["price"] = PRICE
    write_config(folder, config)


def requests_of(provider):
    return provider.count("chat") + provider.count("completions")


def kept_in(run):
    """Return the names of the files that keep a journal or a piece of one."""
    return sorted(path.name for path in run.glob("journal.*-*"))


def answers_in(path):
    return sum('"reply"' in line for line in path.read_text("ascii").splitlines())


# --- what can be removed does not decide -----------------------------------------------------------


def test_second_process_is_refused_though_every_hidden_file_was_removed(tmp_path):
    """A cleanup script may remove any file beside the journal; the second process still waits."""
    with audited_provider() as provider, provider.holding():
        written(tmp_path, provider)
        process = start(tmp_path, "audit", "config.yaml")
        provider.wait_for(1, "chat", timeout_s=120)
        run = only_run(tmp_path)
        for path in run.iterdir():
            if path.name not in ("config.yaml", "journal.jsonl"):
                path.unlink()
        second = start(tmp_path, *resume_words(run))
        try:
            _, said = second.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            second.kill()
            _, said = second.communicate()
        process.kill()
        process.communicate()
        asked = provider.count("chat")

    assert (second.returncode, asked) == (4, 1)
    assert "in use by another process" in said


def test_second_process_is_told_who_uses_the_run(tmp_path):
    """The message names the process and the machine."""
    with audited_provider() as provider, provider.holding():
        written(tmp_path, provider)
        process = start(tmp_path, "audit", "config.yaml")
        provider.wait_for(1, "chat", timeout_s=120)
        second = run_here(tmp_path, *resume_words(only_run(tmp_path)))
        process.kill()
        process.communicate()

    assert second.returncode == 4
    assert f"in use by process {process.pid} on {socket.gethostname()}" in second.stderr


def test_stopped_process_keeps_its_run(tmp_path):
    """A process that is suspended (Ctrl-Z) still owns the run, and continues it later."""
    with audited_provider() as provider:
        with provider.holding():
            written(tmp_path, provider)
            process = start(tmp_path, "audit", "config.yaml")
            provider.wait_for(1, "chat", timeout_s=120)
            process.send_signal(signal.SIGSTOP)
            second = run_here(tmp_path, *resume_words(only_run(tmp_path)))
            process.send_signal(signal.SIGCONT)
        process.communicate(timeout=120)
        asked = provider.count("chat")

    assert second.returncode == 4
    assert f"process {process.pid} " in second.stderr
    assert (process.returncode, asked) == (0, 3)


@pytest.mark.parametrize("removed", [False, True])
def test_two_judges_at_once_pay_once(tmp_path, removed):
    """Of two `ucm judge` on one run, the second is refused, also when hidden files are gone."""
    with judging_provider() as provider:
        run = probed(tmp_path, provider)
        judged = run.with_name(run.name + ".judged")
        words = ("judge", run, judge_words(provider, "deepseek/deepseek-chat"))
        before = provider.count("chat")
        with provider.holding():
            first = start(tmp_path, *words)
            provider.wait_for(before + 1, "chat", timeout_s=120)
            if removed:
                for path in judged.glob(".*"):
                    path.unlink()
            second = start(tmp_path, *words)
            try:
                _, said = second.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                second.kill()
                _, said = second.communicate()
            asked = provider.count("chat") - before
        first.communicate(timeout=120)
        total = provider.count("chat") - before
        run_here(tmp_path, *words)

    assert (second.returncode, asked) == (4, 1)
    assert "in use by" in said
    assert first.returncode == 0
    assert provider.count("chat") - before == total


# --- the journal is removed or replaced underneath -------------------------------------------------


def renamed_over(path, content):
    """Put another file in place of this one."""
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.replace(path)


REPLACED = {
    "removed": lambda path, _: path.unlink(),
    "renamed over": lambda path, old: renamed_over(path, old.read_bytes()),
    "moved away": lambda path, _: path.rename(path.with_name("journal.old")),
    "rewritten in place": lambda path, old: path.write_bytes(old.read_bytes()),
    "emptied": lambda path, _: os.truncate(path, 0),
    "replaced by the same bytes": lambda path, _: renamed_over(path, path.read_bytes()),
    "appended to": lambda path, _: path.write_bytes(path.read_bytes() + b"{}\n"),
    "one byte changed": lambda path, _: path.write_bytes(
        path.read_bytes().replace(b"target", b"tarGet")
    ),
}


@pytest.mark.parametrize("how", REPLACED)
def test_journal_that_is_replaced_stops_the_run_before_the_next_call(tmp_path, how):
    """Nothing more is sent; every answer is kept beside, and the run continues from it."""
    with audited_provider() as provider:
        with provider.holding():
            written(tmp_path, provider)
            process = start(tmp_path, "audit", "config.yaml")
            provider.wait_for(1, "chat", timeout_s=120)
            run = only_run(tmp_path)
            old = tmp_path / "backup"
            shutil.copy(run / "journal.jsonl", old)
        release: list[Request] = []

        def replace(request):
            if not release and request.api == "completions":
                release.append(request)
                REPLACED[how](run / "journal.jsonl", old)

        provider.on_request = replace
        _, said = process.communicate(timeout=120)
        provider.on_request = None
        asked = requests_of(provider)
        (name,) = kept_in(run)
        kept = run / name
        answers = answers_in(kept)
        refused = run_here(tmp_path, *resume_words(run)) if how == "removed" else None
        asked_again = requests_of(provider)
        kept.replace(run / "journal.jsonl")
        resumed = run_here(tmp_path, *resume_words(run))
        total = requests_of(provider)

    assert process.returncode == 4, said
    last = said.rstrip().splitlines()[-1]
    assert "journal.jsonl was removed, replaced or changed" in last
    assert str(kept.relative_to(tmp_path)) in last
    assert (asked, answers) == (2, 2)
    if refused is not None:
        assert refused.returncode == 4
        assert name in refused.stderr
        assert asked_again == asked
    assert resumed.returncode == 0, resumed.stderr
    assert total == 5  # three of the auditor, two of the target: none was asked twice


def test_run_directory_that_is_removed_stops_the_run(tmp_path):
    """`rm -r` on a running run stops it; what was paid for is kept where the run was."""
    with audited_provider() as provider:
        with provider.holding():
            written(tmp_path, provider)
            process = start(tmp_path, "audit", "config.yaml")
            provider.wait_for(1, "chat", timeout_s=120)
            run = only_run(tmp_path)
            shutil.rmtree(run)
        _, said = process.communicate(timeout=120)
        asked = requests_of(provider)

    assert process.returncode == 4
    assert asked == 1
    assert "was removed, replaced or changed" in said
    assert answers_in(run / "journal.kept-1") == 1


def test_run_directory_that_is_moved_stops_the_run_and_continues_there(tmp_path):
    """The journal moves along, so the run is resumed at its new place without paying again."""
    with audited_provider() as provider:
        with provider.holding():
            written(tmp_path, provider)
            process = start(tmp_path, "audit", "config.yaml")
            provider.wait_for(1, "chat", timeout_s=120)
            run = only_run(tmp_path)
            moved = run.rename(tmp_path / "moved")
        _, said = process.communicate(timeout=120)
        resumed = run_here(tmp_path, *resume_words(moved))

    assert process.returncode == 4
    assert "was moved" in said, said
    assert not run.exists()
    assert resumed.returncode == 0, resumed.stderr
    assert requests_of(provider) == 5


def test_judge_whose_journal_is_replaced_stops(tmp_path):
    """The journal of the judges is guarded like that of a run."""
    with judging_provider() as provider:
        run = probed(tmp_path, provider)
        judged = run.with_name(run.name + ".judged")
        words = ("judge", run, judge_words(provider, "deepseek/deepseek-chat"))
        before = provider.count("chat")
        with provider.holding():
            first = start(tmp_path, *words)
            provider.wait_for(before + 1, "chat", timeout_s=120)
            (judged / "journal.jsonl").unlink()
        _, said = first.communicate(timeout=120)
        asked = provider.count("chat") - before
        (judged / "journal.kept-1").rename(judged / "journal.jsonl")
        again = run_here(tmp_path, *words)

    assert (first.returncode, asked) == (4, 1), said
    assert "journal.kept-1" in said
    assert again.returncode == 0, again.stderr
    sent = [json.loads(line) for line in (judged / "journal.jsonl").read_text().splitlines()]
    assert sum(each["type"] == "sent" for each in sent) == provider.count("chat") - before


# --- before the journal begins ---------------------------------------------------------------------


def test_run_without_its_journal_is_not_resumed(tmp_path):
    """A journal that was removed held what was paid for, so nothing is asked anew in its place."""
    with audited_provider() as provider:
        provider.fail("402", api="completions", times=None)
        written(tmp_path, provider)
        run_here(tmp_path, "audit", "config.yaml")
        provider.heal()
        run = only_run(tmp_path)
        (run / "journal.jsonl").unlink()
        before = requests_of(provider)
        done = run_here(tmp_path, *resume_words(run))

    assert done.returncode == 4
    assert "journal.jsonl is missing" in done.stderr
    assert "nothing was sent" in done.stderr
    assert requests_of(provider) == before
    assert not (run / "journal.jsonl").exists()


def test_run_whose_journal_was_emptied_is_not_resumed(tmp_path):
    """An empty journal is that of a run that sent nothing; this one has turns."""
    with audited_provider() as provider:
        provider.fail("402", api="completions", times=None)
        written(tmp_path, provider)
        run_here(tmp_path, "audit", "config.yaml")
        provider.heal()
        run = only_run(tmp_path)
        (run / "journal.jsonl").write_bytes(b"")
        before = requests_of(provider)
        done = run_here(tmp_path, *resume_words(run))

    assert done.returncode == 4
    assert "journal.jsonl is empty" in done.stderr
    assert requests_of(provider) == before


@pytest.mark.parametrize("lost", ["removed", "emptied", "kept beside"])
def test_judges_whose_journal_is_lost_are_not_paid_again(tmp_path, lost):
    """Their judgements are there, or their answers under another name, so nothing is asked anew."""
    with judging_provider() as provider:
        run = probed(tmp_path, provider)
        words = ("judge", run, judge_words(provider, "deepseek/deepseek-chat"))
        run_here(tmp_path, *words)
        journal = run.with_name(run.name + ".judged") / "journal.jsonl"
        if lost == "emptied":
            journal.write_bytes(b"")
        elif lost == "removed":
            journal.unlink()
        else:
            journal.rename(journal.with_name("journal.kept-1"))
            for judgement in journal.parent.glob("*.judges.json"):
                judgement.unlink()
        before = requests_of(provider)
        done = run_here(tmp_path, *words)
        assert requests_of(provider) == before
        for path in [*journal.parent.glob("*.judges.json"), *journal.parent.glob("*.kept-1")]:
            assert path.name in done.stderr
            path.unlink()
        again = run_here(tmp_path, *words)

    assert done.returncode == 4
    assert "nothing was sent" in done.stderr
    assert again.returncode == 0
    assert requests_of(provider) > before


def test_new_run_has_a_journal_from_the_start(tmp_path):
    """There is no moment at which a run directory has no journal to lock."""
    with audited_provider() as provider, provider.holding():
        written(tmp_path, provider)
        process = start(tmp_path, "audit", "config.yaml")
        seen: set[bool] = set()
        while not seen or not provider.count("chat"):
            for run in (tmp_path / "runs").glob("[!.]*"):
                seen.add((run / "journal.jsonl").exists())
            time.sleep(0.001)
        process.kill()
        process.communicate()

    assert seen == {True}


# --- children, readers and other places ------------------------------------------------------------

HOLD = """
import subprocess, sys
from pathlib import Path
from uncensoring_chinese_models.runs.journal import Journal
journal = Journal.open(Path(sys.argv[1]), lambda: "now")
child = subprocess.Popen(["sleep", "60"], close_fds=False, stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
sys.stdin.read()
"""


def test_child_of_a_killed_process_does_not_keep_the_run(tmp_path):
    """A server that a run started may outlive it; the run can be resumed at once."""
    (tmp_path / "journal.jsonl").touch()
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "journal.jsonl")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout
        child = int(owner.stdout.readline())
        owner.kill()
    try:
        from uncensoring_chinese_models.runs.journal import Journal  # noqa: PLC0415

        Journal.open(tmp_path / "journal.jsonl", lambda: "now").close()
    finally:
        os.kill(child, signal.SIGKILL)


def test_verify_and_report_read_a_run_that_is_going(tmp_path):
    """Readers take no lock and wait for none."""
    with audited_provider() as provider, provider.holding():
        written(tmp_path, provider)
        process = start(tmp_path, "audit", "config.yaml")
        provider.wait_for(1, "chat", timeout_s=120)
        run = only_run(tmp_path)
        before = sorted(path.name for path in run.iterdir())
        done = run_here(tmp_path, "verify", run)
        after = sorted(path.name for path in run.iterdir())
        process.kill()
        process.communicate()

    assert done.returncode == 0, done.stdout
    assert before == after


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_run_that_may_not_be_written_is_refused_before_anything_is_sent(tmp_path):
    """A run of another user, or on a read-only disk, is refused in one sentence."""
    with audited_provider() as provider:
        provider.fail("402", api="completions", times=None)
        written(tmp_path, provider)
        run_here(tmp_path, "audit", "config.yaml")
        provider.heal()
        run = only_run(tmp_path)
        before = requests_of(provider)
        for path in (run / "journal.jsonl", run):
            path.chmod(path.stat().st_mode & ~0o222)
        done = run_here(tmp_path, *resume_words(run))
        run.chmod(0o755)

    assert done.returncode == 4
    assert "Permission denied" in done.stderr
    assert requests_of(provider) == before
