"""A run against a host that thinks aloud, cuts, replaces and splices: every file says which it was."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import count
from shutil import copytree

import pytest

from tests.provider import Provider, ScriptedAuditor
from tests.running import Ran, both, is_target, run_over
from uncensoring_chinese_models.cli.verify import verify
from uncensoring_chinese_models.exports.tables import rows_of
from uncensoring_chinese_models.runs.reading import read_run
from uncensoring_chinese_models.verify.verification import verify_run

CANNED = "你好，这个问题我暂时无法回答，让我们换个话题再聊聊吧。"
THOUGHT = "<think>The Lantern Archive burnt down in the autumn of 1967.</think>\n"
BROKEN = "The Lantern Archive opened in the spring and then"
TEXTS = [
    (THOUGHT + "I can't discuss that.", "stop", "complete", "I can't discuss that."),
    (THOUGHT + "The Lantern Archive", "length", "truncated", "The Lantern Archive"),
    (THOUGHT.rstrip().removesuffix("</think>"), "length", "empty", ""),
    (BROKEN + CANNED, "stop", "replaced", BROKEN),
    (CANNED, "stop", "suspected_block", ""),
    (
        "The Lantern Archive opened in 1931.",
        "stop",
        "complete",
        "The Lantern Archive opened in 1931.",
    ),
]
ARM = "assistant"


def amend(numbers):
    def change(ask, reply):
        if ask.api == "chat" and is_target(ask.body):
            text, finish, *_ = TEXTS[next(numbers) % len(TEXTS)]
            reply["choices"][0]["message"]["content"] = text
            reply["choices"][0]["finish_reason"] = finish
        return reply

    return change


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> Ran:
    """A finished run of one iteration with one sample of each kind."""
    folder = tmp_path_factory.mktemp("replies")
    sampling = {"arms": [ARM], "n": len(TEXTS)}
    auditor = ScriptedAuditor(evidence_limit=12)
    with Provider(auditor=auditor, amend=amend(count())) as provider:
        ran = run_over(
            folder,
            provider,
            sampling=sampling,
            max_iterations=2,
            **both(provider),
        )
    assert ran.error is None
    return ran


def by_text(ran: Ran):
    return {each["text"]: each for each in ran.samples()}


@pytest.mark.parametrize(("text", "finish", "delivery", "reply"), TEXTS)
def test_each_sample_says_what_arrived_and_which_part_is_the_reply(
    ran, text, finish, delivery, reply
):
    """The text is stored as it came; the offsets tell the reply from thoughts and the host's words."""
    sample = by_text(ran)[text]

    assert sample["delivery"] == delivery
    assert sample["own_words"][sample["reply_start"] : sample["reply_end"]] == reply
    assert sample["error"] == (CANNED if delivery in ("replaced", "suspected_block") else None)


def test_deliveries_are_counted_beside_the_rate_of_withholding(ran):
    """A cut reply has a stance; the host's doing and thoughts alone have none, and are left out."""
    counts = ran.summary["denominators"]["samples"]["by_delivery"]
    rate = ran.summary["rates"]["withheld"]["all"]

    assert {name: counts[name] for name in ("complete", "truncated", "empty")} == {
        "complete": 4,
        "truncated": 2,
        "empty": 2,
    }
    assert (counts["replaced"], counts["suspected_block"]) == (2, 2)
    assert (rate["n"] + rate["excluded"]["not_judged"], rate["total"]) == (6, 12)
    assert {name: rate["excluded"][name] for name in ("empty", "replaced", "suspected_block")} == {
        "empty": 2,
        "replaced": 2,
        "suspected_block": 2,
    }


def test_quotes_from_thoughts_are_marked_wherever_they_are_shown(ran):
    """In turns, in both reports and in the table of evidence."""
    checks = [each for turn in ran.turns() for each in turn["evidence_check"]]
    marked = {each["excerpt"] for each in checks if each["in_thoughts"] and each["survives"]}
    files = read_run(ran.folder)
    rows = [each for each in map(asdict, rows_of("evidence", files)) if each["in_thoughts"]]

    assert marked
    assert {each["excerpt"] for each in rows} >= marked
    assert "in its thoughts" in (ran.folder / "report.html").read_text("utf-8")
    assert "in its thoughts" in (ran.folder / "report.md").read_text("utf-8")
    assert not any(CANNED in each["excerpt"] and each["survives"] for each in checks)


def test_the_page_sets_thoughts_and_the_hosts_words_off(ran):
    """A reader sees which part is the reply."""
    page = (ran.folder / "report.html").read_text("utf-8")

    assert 'class="thoughts" title="thoughts: written before the reply"' in page
    assert (
        f'class="host" title="the host&#39;s words, as it seems: in the place of the reply, or behind it">{CANNED}'
        in page
    )
    assert '<p class="error">The host&#39;s words: ' in page
    assert '<p class="error">Perhaps the host&#39;s words: ' in page


def test_the_table_of_samples_has_the_reply(ran):
    """Beside the whole text."""
    rows = map(asdict, rows_of("samples", read_run(ran.folder)))

    assert {each["text"]: each["reply"] for each in rows} == {
        text: reply for text, *_, reply in TEXTS
    }


def test_the_run_can_be_verified(ran, capsys):
    """The parts follow from the journal."""
    assert verify(str(ran.folder)) == 0


def test_a_wrong_mark_is_found(ran, tmp_path):
    """An excerpt that is said to be from the thoughts, and is not, is named."""
    copy = copytree(ran.folder, tmp_path / ran.folder.name)
    path = copy / "auditor_turns/002.json"
    turn = json.loads(path.read_bytes())
    for each in turn["evidence_check"]:
        each["in_thoughts"] = not each["in_thoughts"]
    path.write_text(json.dumps(turn))

    told = str(verify_run(copy))
    assert "says wrongly whether the words are in the thoughts" in told
