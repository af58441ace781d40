"""Files that a power failure damaged: the run continues, and what was cut is said and kept."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from tools.kill_trials import result_of

from tests.support import (
    audited_provider,
    make_config,
    only_run,
    run_here,
    run_ucm,
    write_config,
)
from uncensoring_chinese_models.runs.untrusted import read_run_tree
from uncensoring_chinese_models.verify.verification import verify_run

PRICE = {"input_usd_per_million": 1, "output_usd_per_million": 2}
PAGE = b"\0" * 4096


def config_for(provider):
    config = make_config(provider, max_iterations=3, sampling={"n": 2, "seed": 5})
    for side in ("auditing_endpoint", "audited_endpoint"):
        config[side]["price"] = PRICE
    config["audited_endpoint"]["provider"] = {"only": ["deepinfra"], "allow_fallbacks": False}
    return config


@pytest.fixture(scope="module")
def provider():
    """One provider for all: its address stands in every run."""
    with audited_provider() as served:
        yield served


@pytest.fixture(scope="module")
def calm(provider, tmp_path_factory):
    """The result of a run that nothing disturbed, and the number of its calls."""
    folder = tmp_path_factory.mktemp("calm")
    write_config(folder, config_for(provider))
    before = asked(provider)
    assert run_here(folder, "audit", "config.yaml").returncode == 0
    return result_of(only_run(folder)), asked(provider) - before


def asked(provider):
    return provider.count("chat") + provider.count("completions")


def interrupted(folder, provider):
    """Make a run that the provider ended after two iterations; return its directory."""
    write_config(folder, config_for(provider))
    provider.fail("402", api="chat", times=None, after=2)
    assert run_here(folder, "audit", "config.yaml").returncode == 3
    provider.heal()
    return only_run(folder)


def comparable(run):
    """Return what must be equal to an undisturbed run; what was set aside is not part of it."""
    return {name: each for name, each in result_of(run).items() if not name.startswith("journal.")}


def answers(content):
    """Return the calls that whole lines answer, by line."""
    records = [json.loads(line) for line in content.splitlines()]
    return {
        number: each["call"]
        for number, each in enumerate(records)
        if each["type"] == "attempt" and "reply" in each
    }


def torn_before(lines, number):
    """Leave half a line before this one, on the same line."""
    return [
        *lines[:number],
        lines[number][: len(lines[number]) // 2] + lines[number],
        *lines[number + 1 :],
    ]


def joined(lines):
    return b"".join(line + b"\n" for line in lines)


def page_at(content, at, size=4096):
    """Put a page of NUL bytes over the content."""
    return content[:at] + b"\0" * len(content[at : at + size]) + content[at + size :]


def middle(lines):
    """Return the number of a line in the middle that holds an answer."""
    return sorted(answers(joined(lines)))[len(answers(joined(lines))) // 2]


DAMAGES = {
    "NUL block at the end": lambda lines: joined(lines) + PAGE,
    "NUL block for the last line": lambda lines: joined(lines[:-1]) + PAGE,
    "NUL block and a line feed at the end": lambda lines: joined(lines) + PAGE + b"\n",
    "torn last line": lambda lines: joined(lines)[:-9],
    "last line without its line feed": lambda lines: joined(lines)[:-1],
    "torn last line and NUL block": lambda lines: joined(lines)[:-9] + PAGE,
    "NUL block before a whole line": lambda lines: (
        joined(lines[: middle(lines)]) + PAGE + joined(lines[middle(lines) :])
    ),
    "NUL block in place of a line": lambda lines: (
        joined(lines[: middle(lines)]) + PAGE + joined(lines[middle(lines) + 1 :])
    ),
    "NUL page in the middle of a line": lambda lines: page_at(
        joined(lines), len(joined(lines[: middle(lines)])) + 30
    ),
    "NUL page over many lines": lambda lines: page_at(
        joined(lines), len(joined(lines[:3])) + 30, 16384
    ),
    "two NUL pages": lambda lines: page_at(
        page_at(joined(lines), len(joined(lines[: middle(lines)])) + 30, 64),
        len(joined(lines[:-3])) + 30,
        64,
    ),
    "NUL in place of a line feed": lambda lines: page_at(
        joined(lines), len(joined(lines[: middle(lines)])) - 1, 1
    ),
    "torn line before a whole one": lambda lines: joined(torn_before(lines, middle(lines))),
    "fused with the line after it": lambda lines: (
        joined(lines[: middle(lines)])
        + lines[middle(lines)][:80]
        + joined(lines[middle(lines) + 1 :])
    ),
    "NUL block before the header": lambda lines: PAGE + joined(lines),
    "NUL line before the header": lambda lines: PAGE + b"\n" + joined(lines),
    "torn header before the header": lambda lines: lines[0][:99] + joined(lines),
    "torn header": lambda lines: lines[0][:300],
    "NUL page over the header": lambda lines: page_at(joined(lines), 10, 512),
    "only NUL": lambda _: PAGE * 3,
    "only one NUL": lambda _: b"\0",
}
LOSSLESS = {
    "NUL block before the header",
    "NUL line before the header",
    "torn header before the header",
    "NUL block at the end",
    "NUL block and a line feed at the end",
    "NUL block before a whole line",
    "NUL in place of a line feed",
    "torn line before a whole one",
}
"""Nothing that was written is lost: the bytes are only added."""


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_of_a_crash_is_cut_and_the_run_continues(tmp_path, provider, calm, damage):
    """The result is that of an undisturbed run; a call is repeated only if its answer was cut,
    and the screen and the journal say which. The damaged bytes are kept."""
    expected, calls = calm
    run = interrupted(tmp_path, provider)
    path = run / "journal.jsonl"
    whole = path.read_bytes()
    made = Counter(answers(whole).values())
    damaged = DAMAGES[damage](whole.splitlines())
    path.write_bytes(damaged)
    told_before = verify_run(run)
    sent_before = asked(provider)
    done = run_here(tmp_path, "audit", run / "config.yaml", "--resume", run)
    sent = asked(provider)
    first, *later = [json.loads(line) for line in path.read_bytes().splitlines()]
    (cut,) = [each["cut"] for each in (first, *later) if each.get("cut")]

    assert done.returncode == 0, done.stderr
    assert comparable(run) == expected
    assert "A crash damaged the journal: " in done.stderr
    assert str(run / "journal.cut-1") in done.stderr
    assert path.read_bytes().count(b"\0") == 0
    assert verify_run(run).holds
    assert any("had damaged it" in note for note in verify_run(run).notes)
    if "holds no whole line" not in str(told_before.failures):
        assert any("A crash damaged the journal" in note for note in told_before.notes)
    kept = (run / "journal.cut-1").read_bytes()
    assert len(kept) == cut["bytes"]
    lost = Counter(call for number, call in answers(whole).items()
                   if whole.splitlines()[number] not in path.read_bytes().splitlines())  # fmt: skip
    assert set(cut["answers"]) <= set(lost)
    assert sent - sent_before == calls - sum(made.values()) + sum(lost.values())
    for call in cut["answers"][:5]:
        assert call in done.stderr
    if damage in LOSSLESS:
        assert not lost
    elif damage == "NUL block in place of a line":
        assert len(lost) > 1


def test_calls_that_were_cut_stay_charged(tmp_path, provider):
    """What was sent in lines that were cut counts against the budget, as calls lost in flight do."""
    run = interrupted(tmp_path, provider)
    path = run / "journal.jsonl"
    lines = path.read_bytes().splitlines()
    before = [json.loads(line) for line in lines]
    sent = [each for each in before if each["type"] == "sent"]
    at = before.index(sent[0]) - 1
    path.write_bytes(joined(lines[:at]) + PAGE + b"\n" + joined(lines[at + 1 :]))

    run_here(tmp_path, "audit", run / "config.yaml", "--resume", run)

    spend = json.loads((run / "summary.json").read_bytes())["spend"]["total"]
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    (cut,) = [each["cut"] for each in records if each.get("cut")]
    assert [each["call"] for each in cut["sent"]] == [each["call"] for each in sent]
    assert spend["fruitless_attempts"]["maybe_billed"] == len(sent)
    attempts = [(each["call"], each["attempt"]) for each in [*records, *cut["sent"]]
                if each["type"] == "sent"]  # fmt: skip
    assert len(attempts) == len(set(attempts))
    assert verify_run(run).holds


def test_what_was_set_aside_is_no_part_of_the_run(tmp_path, provider):
    """Neither the hashes, nor verify, nor a bundle take it for a file of the run."""
    run = interrupted(tmp_path, provider)
    path = run / "journal.jsonl"
    path.write_bytes(path.read_bytes() + PAGE)
    run_here(tmp_path, "audit", run / "config.yaml", "--resume", run)
    packed = run_ucm(tmp_path, "bundle", run, "--keep-found")

    assert "journal.cut-1" not in read_run_tree(run).files
    assert any("journal.cut-1" in note for note in verify_run(run).notes)
    assert packed.returncode == 0, packed.stderr
    assert verify_run(next(tmp_path.glob("*.zip"))).holds


ALTERED = {
    "another answer": lambda lines, n: [*lines[:n], lines[n].replace(b"e", b"3"), *lines[n + 1 :]],
    "a line removed": lambda lines, n: [*lines[:n], *lines[n + 1 :]],
    "a line twice": lambda lines, n: [*lines[:n], lines[n], *lines[n:]],
    "a line cut short": lambda lines, n: [*lines[:n], lines[n][:50], *lines[n + 1 :]],
    "an empty line": lambda lines, n: [*lines[:n], b"", *lines[n:]],
    "a foreign line": lambda lines, n: [*lines[:n], b'{"type": "sent"}', *lines[n:]],
    "words before a line": lambda lines, n: [*lines[:n], b"so " + lines[n], *lines[n + 1 :]],
    "words after a line": lambda lines, n: [*lines[:n], lines[n] + b" so", *lines[n + 1 :]],
    "altered after damage": lambda lines, n: [
        *lines[: n - 2],
        b"\0" * 99,
        *lines[n - 1 : n],
        lines[n].replace(b"e", b"3"),
        *lines[n + 1 :],
    ],
    "a line removed after damage": lambda lines, n: [
        *lines[: n - 3],
        b"\0" * 99,
        *lines[n - 2 : n],
        *lines[n + 1 :],
    ],
}


@pytest.mark.parametrize("how", ALTERED)
def test_altered_journal_is_refused_though_a_crash_may_damage_one(tmp_path, provider, how):
    """What no crash explains is named with its line; nothing is sent, changed or kept beside."""
    run = interrupted(tmp_path, provider)
    path = run / "journal.jsonl"
    lines = path.read_bytes().splitlines()
    altered = joined(ALTERED[how](lines, middle(lines)))
    path.write_bytes(altered)
    before = asked(provider)
    done = run_here(tmp_path, "audit", run / "config.yaml", "--resume", run)
    after = asked(provider)

    assert done.returncode == 4
    assert "journal.jsonl, line " in done.stderr
    assert (path.read_bytes(), after) == (altered, before)
    assert not list(run.glob("journal.cut-*"))
    assert not verify_run(run).holds


def test_damage_that_cannot_be_recorded_is_left_alone(tmp_path, provider):
    """A run that is refused for another reason keeps its damaged journal, byte for byte."""
    run = interrupted(tmp_path, provider)
    path = run / "journal.jsonl"
    damaged = path.read_bytes() + PAGE
    path.write_bytes(damaged)
    done = run_here(tmp_path, "audit", run / "config.yaml", "topic=Xinjiang", "--resume", run)

    assert done.returncode == 4
    assert path.read_bytes() == damaged


def test_finished_run_with_a_damaged_journal_does_not_verify(tmp_path, provider):
    """A run with a summary had a whole journal, so damage to it is named."""
    write_config(tmp_path, config_for(provider))
    run_here(tmp_path, "audit", "config.yaml")
    run = only_run(tmp_path)
    path = run / "journal.jsonl"
    lines = path.read_bytes().splitlines()
    path.write_bytes(joined(lines[:-4]) + PAGE + joined(lines[-4:]))
    result = verify_run(run)

    assert not result.holds
    assert "is damaged (4096 bytes), though the run has a summary" in str(result.failures)


# --- other files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"\0" * 900, b'{"status": "comp'])
def test_damaged_summary_is_named_with_what_to_do(tmp_path, provider, content):
    """One sentence says to remove it; then resuming writes it again and sends nothing."""
    write_config(tmp_path, config_for(provider))
    run_here(tmp_path, "audit", "config.yaml")
    run = only_run(tmp_path)
    (run / "summary.json").write_bytes(content)
    before = asked(provider)
    refused = run_here(tmp_path, "audit", run / "config.yaml", "--resume", run)
    (run / "summary.json").unlink()
    done = run_here(tmp_path, "audit", run / "config.yaml", "--resume", run)
    after = asked(provider)

    assert refused.returncode == 4
    assert "summary.json cannot be read" in refused.stderr
    assert "remove it" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) <= 2
    assert (done.returncode, after) == (0, before)
    assert verify_run(run).holds


@pytest.mark.parametrize("content", [b"", b"\0" * 900])
@pytest.mark.parametrize("given", ["its own config", "the first config"])
def test_damaged_config_is_named_with_what_to_do(tmp_path, provider, content, given):
    """One sentence says how to restore it, before anything is sent; then the run continues."""
    run = interrupted(tmp_path, provider)
    (run / "config.yaml").write_bytes(content)
    config = run / "config.yaml" if given == "its own config" else "config.yaml"
    before = asked(provider)
    refused = run_here(tmp_path, "audit", config, "--resume", run)
    after = asked(provider)
    (run / "config.yaml").write_bytes((tmp_path / "config.yaml").read_bytes())
    done = run_here(tmp_path, "audit", run / "config.yaml", "--resume", run)

    assert refused.returncode == 2
    assert "copy of the config file that the run was started with" in refused.stderr
    assert after == before
    assert done.returncode == 0
    assert verify_run(run).holds


def test_half_written_file_that_was_left_behind_is_no_hindrance(tmp_path, provider, calm):
    """A temporary file of a killed process is replaced or ignored, and no part of the run."""
    expected, _ = calm
    run = interrupted(tmp_path, provider)
    for name in (".summary.json.tmp", ".journal.jsonl.tmp", "auditor_turns/.002.json.tmp"):
        (run / name).write_bytes(b'{"half": ')
    done = run_here(tmp_path, "audit", run / "config.yaml", "--resume", run)

    left = {name for name in result_of(run) if name.endswith(".tmp")}
    assert done.returncode == 0
    assert {name: each for name, each in comparable(run).items() if name not in left} == expected
    assert verify_run(run).holds


@pytest.mark.parametrize("name", ["auditor_turns/001.json", "audited_responses/001.json"])
@pytest.mark.parametrize("content", [b"", b"\0" * 900])
def test_damaged_file_of_an_unfinished_run_is_written_again(
    tmp_path, provider, calm, name, content
):
    """Everything but the config and the journal follows from the journal."""
    expected, _ = calm
    run = interrupted(tmp_path, provider)
    (run / name).write_bytes(content)
    done = run_here(tmp_path, "audit", run / "config.yaml", "--resume", run)

    assert done.returncode == 0
    assert comparable(run) == expected
