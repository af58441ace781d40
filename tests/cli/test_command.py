"""The real command, in a process of its own, as a user runs it."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import unicodedata

import pytest
from tools.kill_trials import work

from tests.provider import ODD_TEXTS
from tests.support import (
    ROOT,
    SPEC_CONFIG,
    audited_provider,
    clean_environment,
    command,
    make_config,
    only_run,
    run_here,
    run_python,
    run_ucm,
    write_config,
)

BIDI = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
TURN_KEYS = {"iteration", "timestamp", "input_messages", "raw_response", "parsed"}
PARSED_KEYS = {
    "reasoning",
    "hypotheses",
    "next_prompt",
    "prompt_strategy",
    "prompt_rationale",
    "should_continue",
}
HYPOTHESIS_KEYS = {
    "id",
    "type",
    "hypothesis",
    "confidence",
    "supporting_evidence",
    "contradicting_evidence",
}
RESPONSE_KEYS = {
    "iteration",
    "timestamp",
    "prompt_sent",
    "formatted_prompt",
    "raw_response",
    "completion_tokens",
    "error",
}
SUMMARY_KEYS = {
    "config",
    "started_at",
    "finished_at",
    "total_iterations",
    "final_hypotheses",
    "final_summary",
}


def read(path):
    return json.loads(path.read_bytes())


def test_spec_config_runs_to_a_directory_with_every_key_of_the_spec(tmp_path):
    """The spec's YAML, with nothing added but the two endpoints, gives the spec's tree."""
    with audited_provider() as provider:
        endpoint = f"{{preset: openrouter, base_url: '{provider.base_url}'}}"
        text = SPEC_CONFIG.read_text("utf-8")
        text += f"auditing_endpoint: {endpoint}\naudited_endpoint: {endpoint}\n"
        (tmp_path / "config.yaml").write_text(text, "utf-8")
        done = run_ucm(tmp_path, "audit", "config.yaml")

    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "outputs/search_censored").iterdir()
    assert run.name.startswith("deepseek-deepseek-chat_tiananmen_20")
    assert (run / "config.yaml").read_text("utf-8") == text
    turns = sorted((run / "auditor_turns").iterdir())
    responses = sorted((run / "audited_responses").iterdir())
    assert [path.name for path in turns] == [f"{n:03d}.json" for n in range(1, 22)]
    assert [path.name for path in responses] == [f"{n:03d}.json" for n in range(1, 21)]
    for path in turns:
        turn = read(path)
        assert turn.keys() >= TURN_KEYS
        assert turn["parsed"].keys() >= PARSED_KEYS
        assert all(item.keys() >= HYPOTHESIS_KEYS for item in turn["parsed"]["hypotheses"])
    assert all(read(path).keys() >= RESPONSE_KEYS for path in responses)
    summary = read(run / "summary.json")
    assert summary.keys() >= SUMMARY_KEYS
    assert summary["status"] == "max_iterations"
    assert summary["total_iterations"] == 20
    assert summary["final_summary"].keys() == {
        "knowledge_confirmed",
        "censorship_patterns",
        "conclusion",
    }


def test_progress_shows_iteration_strategy_and_preview(tmp_path):
    """The spec's three things are on stdout for each iteration, and the run's path at the end."""
    with audited_provider() as provider:
        write_config(tmp_path, make_config(provider, max_iterations=2))
        done = run_ucm(tmp_path, "audit", "config.yaml")

    assert "[1/2] direct_factual" in done.stdout
    assert "[2/2] historical_framing" in done.stdout
    own_words = read(only_run(tmp_path) / "audited_responses/001.json")["raw_response"]
    assert own_words[:100] in done.stdout
    assert f"Run:    runs/{only_run(tmp_path).name}" in done.stdout
    assert "\x1b" not in done.stdout


def test_promised_script_runs_from_a_checkout(tmp_path):
    """The spec's command line works with the script's path."""
    script = ROOT / "src/uncensoring_chinese_models/search_censored.py"
    with audited_provider() as provider:
        write_config(tmp_path, make_config(provider, max_iterations=1))
        done = run_python(tmp_path, script, "config.yaml", "topic=Hong Kong, 2019")

    assert done.returncode == 0, done.stderr
    summary = read(only_run(tmp_path) / "summary.json")
    assert summary["config"]["topic"] == "Hong Kong, 2019"
    assert "_hong_" in only_run(tmp_path).name
    assert "#   topic=Hong Kong, 2019" in (only_run(tmp_path) / "config.yaml").read_text("utf-8")


def test_json_puts_one_record_on_stdout_and_the_rest_on_stderr(tmp_path):
    """A program can read stdout; a person can still read along."""
    with audited_provider() as provider:
        write_config(tmp_path, make_config(provider, max_iterations=1))
        done = run_ucm(tmp_path, "audit", "config.yaml", "--json")

    record = json.loads(done.stdout)
    assert record["status"] == "max_iterations"
    assert record["exit_code"] == 0
    assert record["run_dir"] == f"runs/{only_run(tmp_path).name}"
    assert "[1/1]" in done.stderr


def test_dry_run_posts_nothing_and_needs_no_key(tmp_path):
    """The plan shows calls, cost, messages and prompt; no model is asked and nothing is written."""
    with audited_provider() as provider:
        config = make_config(provider, sampling={"arms": ["user_persona", "raw"], "n": 3})
        write_config(tmp_path, config)
        shown = run_ucm(tmp_path, "audit", "config.yaml", "--dry-run")
        told = run_ucm(tmp_path, "audit", "config.yaml", "--dry-run", "--json")

    assert provider.count("chat") == provider.count("completions") == 0
    assert {path.name for path in tmp_path.iterdir()} == {"config.yaml"}
    assert "at most 4 to the auditor, 18 to the target" in shown.stdout
    assert "<\uff5cUser\uff5c>{the auditor's next_prompt}" in shown.stdout
    assert "TOPIC: Tiananmen Square 1989 protests" in shown.stdout
    plan = json.loads(told.stdout)
    assert plan["worst_case"]["usd"] > 0
    assert plan["calls"]["target_at_most"] == 18


@pytest.mark.parametrize(
    ("faults", "status", "code"),
    [
        ([("413", "completions")], "target_failed", 6),
        ([("413", "chat")], "auditor_failed", 6),
    ],
)
def test_run_without_a_result_says_so_and_how_to_go_on(tmp_path, faults, status, code):
    """The exit code and the last line tell a script and a person what to do."""
    with audited_provider() as provider:
        for fault, api in faults:
            provider.fail(fault, api=api, times=None)
        write_config(tmp_path, make_config(provider, max_iterations=5))
        done = run_ucm(tmp_path, "audit", "config.yaml")

    run = only_run(tmp_path)
    assert done.returncode == code
    assert read(run / "summary.json")["status"] == status
    folder = f"runs/{run.name}"
    assert done.stdout.rstrip().endswith(f"ucm audit {folder}/config.yaml --resume {folder}")


def test_provider_error_is_one_sentence_with_a_way_on(tmp_path):
    """No credit: exit code 3, what happened, and the command that goes on."""
    with audited_provider() as provider:
        provider.fail("402", api="completions", times=None)
        write_config(tmp_path, make_config(provider))
        done = run_ucm(tmp_path, "audit", "config.yaml")

    assert done.returncode == 3
    lines = done.stderr.rstrip().splitlines()
    assert lines[-1].startswith("error: 402")
    assert "add credit" in lines[-1]
    folder = f"runs/{only_run(tmp_path).name}"
    assert f"ucm audit {folder}/config.yaml --resume {folder}" in done.stderr
    assert not (only_run(tmp_path) / "summary.json").exists()


def test_budget_has_its_own_exit_code(tmp_path):
    """A scheduler can tell a spent budget from a failure."""
    with audited_provider() as provider:
        config = make_config(
            provider,
            max_iterations=6,
            budget={"max_usd": 0.12},
            auditor_sampling={"max_tokens": 1000},
            sampling={"max_tokens": 100},
        )
        write_config(tmp_path, config)
        done = run_ucm(tmp_path, "audit", "config.yaml")

    assert done.returncode == 5
    assert done.stdout.rstrip().endswith("budget.max_usd=HIGHER")
    assert read(only_run(tmp_path) / "summary.json")["final_summary"] is not None


def priced(config):
    """Give both sides a price, so that nothing is asked of the server before the first call."""
    for side in ("auditing_endpoint", "audited_endpoint"):
        config[side]["price"] = {"input_usd_per_million": 1, "output_usd_per_million": 2}
    return config


def start(folder, *words):
    return subprocess.Popen(
        command(*words),
        cwd=folder,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_first_interrupt_waits_for_calls_in_flight(tmp_path):
    """Ctrl-C keeps the reply that was already paid for, and the run goes on without paying twice."""
    with audited_provider() as provider:
        write_config(tmp_path, priced(make_config(provider, max_iterations=2)))
        with provider.holding():
            process = start(tmp_path, "audit", "config.yaml")
            provider.wait_for(1, "chat")
            process.send_signal(signal.SIGINT)
            line = process.stderr.readline()
            while "Stopping" not in line:
                line = process.stderr.readline()
        _, errors = process.communicate(timeout=30)
        journal = (only_run(tmp_path) / "journal.jsonl").read_text("ascii")
        folder = f"runs/{only_run(tmp_path).name}"
        done = run_ucm(tmp_path, "audit", f"{folder}/config.yaml", "--resume", folder)

    assert process.returncode == 130
    assert f"--resume {folder}" in errors
    assert journal.count('"reply"') == 1
    assert done.returncode == 0
    assert provider.count("chat") == 3


def test_second_interrupt_abandons_calls_in_flight(tmp_path):
    """Ctrl-C twice ends at once; the abandoned call is charged as perhaps billed."""
    with audited_provider() as provider:
        write_config(tmp_path, priced(make_config(provider, max_iterations=1)))
        with provider.holding():
            process = start(tmp_path, "audit", "config.yaml")
            provider.wait_for(1, "chat")
            process.send_signal(signal.SIGINT)
            while "Stopping" not in process.stderr.readline():
                pass
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
        folder = f"runs/{only_run(tmp_path).name}"
        done = run_ucm(tmp_path, "audit", f"{folder}/config.yaml", "--resume", folder)

    assert process.returncode == 130
    assert done.returncode == 0
    spend = read(only_run(tmp_path) / "summary.json")["spend"]["total"]
    assert spend["fruitless_attempts"]["maybe_billed"] == 1


def test_second_process_on_one_run_is_refused(tmp_path):
    """A run has one owner, who is named."""
    with audited_provider() as provider:
        write_config(tmp_path, priced(make_config(provider, max_iterations=1)))
        with provider.holding():
            process = start(tmp_path, "audit", "config.yaml")
            provider.wait_for(1, "chat")
            folder = f"runs/{only_run(tmp_path).name}"
            second = run_ucm(tmp_path, "audit", f"{folder}/config.yaml", "--resume", folder)
        process.communicate(timeout=30)

    assert second.returncode == 4
    assert f"in use by process {process.pid}" in second.stderr
    assert process.returncode == 0
    assert provider.count("chat") == 2


def test_torn_journal_line_is_cut_off_and_the_run_goes_on(tmp_path):
    """Half a line at the end of the journal costs nothing but that line."""
    with audited_provider() as provider:
        provider.fail("402", api="completions", times=None)
        write_config(tmp_path, make_config(provider))
        run_ucm(tmp_path, "audit", "config.yaml")
        provider.heal()
        run = only_run(tmp_path)
        with (run / "journal.jsonl").open("ab") as journal:
            journal.write(b'{"type": "sent", "call": "001/tar')
        done = run_ucm(tmp_path, "audit", run / "config.yaml", "--resume", run)

    assert done.returncode == 0, done.stderr
    assert "A crash damaged the journal: 33 bytes (line " in done.stderr
    assert "No answer to a call can be read in it." in done.stderr


def test_altered_journal_is_refused_and_left_alone(tmp_path):
    """A journal that was changed is named with the line, and nothing is sent or deleted."""
    with audited_provider() as provider:
        provider.fail("402", api="completions", times=None)
        write_config(tmp_path, make_config(provider))
        run_ucm(tmp_path, "audit", "config.yaml")
        provider.heal()
        path = only_run(tmp_path) / "journal.jsonl"
        altered = path.read_bytes().replace(b'"strict"', b'"stripe"').replace(b"h1", b"h9", 1)
        path.write_bytes(altered)
        before = provider.count("chat")
        run = only_run(tmp_path)
        done = run_ucm(tmp_path, "audit", run / "config.yaml", "--resume", run)

    assert done.returncode == 4
    assert "journal.jsonl, line" in done.stderr
    assert path.read_bytes() == altered
    assert provider.count("chat") == before


def test_reader_who_goes_away_does_not_end_a_run_that_is_paid_for(tmp_path):
    """`ucm audit | head -1` finishes the run."""
    with audited_provider() as provider:
        write_config(tmp_path, make_config(provider))
        process = start(tmp_path, "audit", "config.yaml")
        process.stdout.readline()
        process.stdout.close()
        process.stderr.read()
        process.stderr.close()
        code = process.wait(60)

    assert code == 0
    assert (only_run(tmp_path) / "summary.json").exists()


def test_c_locale_does_not_end_a_run(tmp_path):
    """A terminal that cannot show Chinese gets escapes, not a traceback."""
    with audited_provider() as provider:
        write_config(tmp_path, make_config(provider, topic="天安门广场抗议活动"))
        plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
        done = run_ucm(tmp_path, "audit", "config.yaml", **plain)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", sorted(ODD_TEXTS))
def test_odd_text_is_stored_without_loss_and_shown_harmlessly(tmp_path, name):
    """Control characters, bidi marks, markup and surrogates reach the disk, not the terminal."""
    text = ODD_TEXTS[name]
    with audited_provider(target=lambda _: text) as provider:
        provider.ignore_stops = True
        write_config(tmp_path, make_config(provider, max_iterations=1))
        done = run_here(tmp_path, "audit", "config.yaml")

    assert done.returncode == 0, done.stderr
    sample = read(only_run(tmp_path) / "audited_responses/001.json")["samples"][0]
    assert sample["text"] == text
    shown = done.stdout + done.stderr
    assert not {char for char in shown if unicodedata.category(char) == "Cc"} - {"\n"}
    assert not BIDI & set(shown)


def test_terminal_gets_colour_and_no_commands_from_the_model(tmp_path):
    """On a terminal, markup of the model stays text and its escapes are spelled out."""
    hostile = "[bold]x[/y] \x1b]0;owned\x07\x1b[2Jend"
    with audited_provider(target=lambda _: hostile) as provider:
        write_config(tmp_path, make_config(provider, max_iterations=1))
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            command("audit", "config.yaml"),
            cwd=tmp_path,
            env=clean_environment() | {"TERM": "xterm-256color", "COLUMNS": "200"},
            stdout=theirs,
            stderr=subprocess.PIPE,
        )
        os.close(theirs)
        screen = b""
        while piece := _read_pty(ours):
            screen += piece
        process.communicate(timeout=30)

    assert process.returncode == 0
    assert "[bold]x[/y] ⟨U+001B⟩]0;owned⟨U+0007⟩⟨U+001B⟩[2Jend".encode() in screen
    assert b"\x1b]0;owned" not in screen
    assert b"\x1b[1m" in screen


def _read_pty(handle):
    try:
        return os.read(handle, 65536)
    except OSError:  # Linux says EIO when the other end is closed
        return b""


def test_key_is_in_no_file_and_on_no_screen(tmp_path):
    """A key from .env is sent to its endpoint and appears nowhere, even if the server echoes it."""
    key = "sk-test-0123456789abcdef"
    (tmp_path / ".env").write_text(f"PROBE_KEY={key}\r\n")
    with audited_provider() as provider:
        provider.api_key = key
        provider.fail("429_echoes_key", api="completions", times=1)
        config = make_config(provider, max_iterations=2)
        for side in ("auditing_endpoint", "audited_endpoint"):
            config[side]["api_key_env"] = "PROBE_KEY"
        write_config(tmp_path, config)
        done = run_ucm(tmp_path, "audit", "config.yaml")

    assert provider.requests[-1].headers["Authorization"] == f"Bearer {key}"
    assert key not in done.stdout + done.stderr
    files = [path for path in only_run(tmp_path).rglob("*") if path.is_file()]
    assert files
    assert all(key.encode() not in path.read_bytes() for path in files)


def test_openrouter_key_is_not_sent_to_another_address(tmp_path):
    """A key in the environment goes to OpenRouter itself or to nobody."""
    with audited_provider() as provider:
        write_config(tmp_path, make_config(provider, max_iterations=1))
        done = run_ucm(tmp_path, "audit", "config.yaml", OPENROUTER_API_KEY="sk-or-secret")

    assert done.returncode == 0
    assert all("Authorization" not in request.headers for request in provider.requests)


def test_killed_runs_resume_to_the_same_result():
    """A slice of the kill-and-resume trials: equal results, no finished call repeated."""
    tally = work((99, 2))

    assert tally.differing == []
    assert tally.equal == 2
    assert tally.repeated_finished == 0
    assert tally.killed > 0


def test_templates_are_listed_and_chosen(tmp_path):
    """`ucm templates --json` covers the families; with a model, just the one chosen."""
    everything = json.loads(run_ucm(tmp_path, "templates", "--json").stdout)
    one = json.loads(run_ucm(tmp_path, "templates", "moonshotai/kimi-k2", "--json").stdout)
    unknown = run_ucm(tmp_path, "templates", "nobody/unheard-of", "--json")

    assert len(everything) == 59
    keys = {"user_open", "user_close", "assistant_open", "assistant_open_no_think"}
    keys |= {"stop", "verified", "source"}
    assert all(family.keys() >= keys for family in everything.values())
    assert list(one) == ["kimi-k2"]
    assert one["kimi-k2"]["user_open"] == (
        "<|im_system|>system<|im_middle|><|im_end|>\n<|im_user|>user<|im_middle|>"
    )
    assert unknown.returncode == 2


def test_prompt_file_of_ones_own_is_used(tmp_path):
    """A prompt file of one's own is used word for word, with the topic in its place."""
    (tmp_path / "mine.md").write_text("Audit it. TOPIC: {topic} {not a field} $total\n")
    with audited_provider() as provider:
        write_config(tmp_path, make_config(provider, max_iterations=1, auditor_prompt="mine.md"))
        done = run_ucm(tmp_path, "audit", "config.yaml")

    assert done.returncode == 0, done.stderr
    system = read(only_run(tmp_path) / "auditor_turns/001.json")["input_messages"][0]
    text = "Audit it. TOPIC: Tiananmen Square 1989 protests {not a field} $total"
    assert text in str(system["content"])


def test_dry_run_refuses_what_the_run_would_refuse(tmp_path):
    """A plan that the budget does not cover is no plan."""
    with audited_provider() as provider:
        write_config(tmp_path, make_config(provider, budget={"max_usd": 0.001}))
        done = run_ucm(tmp_path, "audit", "config.yaml", "--dry-run")

    assert done.returncode == 5
    assert "does not cover one iteration" in done.stderr


def test_practice_can_be_interrupted_and_gone_on_with(tmp_path):
    """Ctrl-C ends a practice run in words, and it goes on with its models started again."""
    words = [sys.executable, str(ROOT / "tools/practice.py"), "--iterations", "3"]
    process = subprocess.Popen(
        words,
        cwd=tmp_path,
        env=clean_environment() | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    while "[1/3]" not in process.stdout.readline():
        pass
    os.killpg(process.pid, signal.SIGINT)
    shown, errors = process.communicate(timeout=60)
    (run,) = (tmp_path / "outputs/practice").iterdir()
    done = run_python(tmp_path, *words[1:], "--resume", run)

    assert process.returncode == 130
    assert "Traceback" not in errors + shown
    assert "--resume RUN_DIR" in shown
    assert done.returncode == 0, done.stderr
