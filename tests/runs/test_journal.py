"""Every model call of a run is on disk before anyone acts on it, and reads back the same."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from decimal import Decimal
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.journals import next_process, read_back
from uncensoring_chinese_models.domain import Call, CallKey, Reply, Reservation, Usage
from uncensoring_chinese_models.errors import (
    ClientError,
    CorruptRunError,
    FatalError,
    RejectedError,
    ResumeMismatchError,
    RunLockedError,
    RunStoreError,
    TransientError,
)
from uncensoring_chinese_models.models.budget import spend
from uncensoring_chinese_models.runs.chain import LINKS, sealed, survey
from uncensoring_chinese_models.runs.journal import Journal, request_hash

NOW = "2026-01-02T03:04:05Z"
RESERVED = Reservation(Decimal("0.25"), 100)
REPLY = Reply("六四", finish_reason="stop", usage=Usage(3, 4), cost_usd=Decimal("0.001"))
FAILURE = TransientError("500: broken", status=500)


def opened(path):
    return next_process(path, NOW)


def auditor_call(iteration=1, purpose="turn", ordinal=0, says="go on"):
    key = CallKey(iteration, "auditor", purpose, ordinal)
    return Call(key, "chat", {"model": "a", "messages": [{"role": "user", "content": says}]})


def target_call(iteration=1, sample=0, prompt="I remember"):
    key = CallKey(iteration, "target", "sample", arm="user_persona", sample=sample)
    return Call(key, "completions", {"model": "t", "prompt": prompt, "max_tokens": 9})


def settle(journal, call, *results):
    """Record a call with one attempt per result; the last one settles it."""
    for result in results:
        journal.attempted(call, journal.sent(call, RESERVED), result)
    journal.done(call, results[-1] if isinstance(results[-1], ClientError) else None)


def plain(result):
    return (type(result), vars(result)) if isinstance(result, ClientError) else result


def state(journal):
    """Return everything that a journal knows, as values that compare."""
    return {
        "header": {key: value for key, value in journal.header.items() if key != "type"},
        "footer": journal.footer,
        "held": [
            (name, held.request, held.role, plain(held.result), held.attempts, held.may_differ)
            for name, held in journal._held.items()
        ],
        "attempts": [(one.role, one.reserved, plain(one.result)) for one in journal.attempts],
        "decisions": dict(journal._decisions),
    }


def steps(journal):
    """Go through a small run in which each kind of line occurs, one line after the other."""
    turn, first, second = auditor_call(), target_call(), target_call(sample=1)
    yield journal.begin({"package_version": "1", "settings": {"topic": "x"}, "seed": None})
    yield journal.decide("go/1", lambda: True)
    yield journal.sent(turn, RESERVED)
    yield journal.attempted(turn, 1, REPLY)
    yield journal.done(turn, None)
    yield journal.sent(first, RESERVED)
    yield journal.sent(second, Reservation(None, 7))
    yield journal.attempted(second, 1, FAILURE)
    yield journal.sent(second, RESERVED)
    yield journal.attempted(second, 2, RejectedError("400: no", status=400, tokens=5))
    yield journal.done(second, RejectedError("400: no", status=400, tokens=5))
    yield journal.finish("target_failed", [str(second.key)])
    yield journal.resume("2", reopen=True)


def written(path, lines=None):
    """Write so many lines of the run; return the state after each, by the size of the file."""
    journal = opened(path)
    states = {0: state(journal)}
    for _ in islice(steps(journal), lines):
        states[path.stat().st_size] = state(journal)
    journal.close()
    return states


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


@pytest.fixture
def journal(path):
    fresh = opened(path)
    fresh.begin({"package_version": "1", "settings": {}, "seed": None})
    yield fresh
    fresh.close()


# --- the chain ----------------------------------------------------------------------------------


def test_each_line_carries_the_hash_of_the_line_before(path):
    """Every line names the sha256 of the one above it; the first names 64 zeros."""
    written(path)
    lines = path.read_bytes().splitlines()

    hashes = ["0" * 64, *(hashlib.sha256(line).hexdigest() for line in lines)]

    assert len(lines) == 13
    assert [json.loads(line)["prev"] for line in lines] == hashes[:-1]


@pytest.mark.parametrize("change", ["flip low bit", "flip high bit", "line feed"])
def test_changed_byte_shows_in_every_line_but_the_last(path, change):
    """One changed byte anywhere above the last line is refused, named, and left as it is."""
    written(path, 5)
    whole = path.read_bytes()
    last_line = whole.rindex(b"\n", 0, -1) + 1
    changes = {
        "flip low bit": lambda byte: byte ^ 1,
        "flip high bit": lambda byte: byte ^ 0x80,
        "line feed": lambda _: 0x0A,
    }

    for position in range(last_line):
        byte = changes[change](whole[position])
        damaged = whole[:position] + bytes([byte]) + whole[position + 1 :]
        if damaged == whole:
            continue
        path.write_bytes(damaged)
        number = whole.count(b"\n", 0, position) + 1
        with pytest.raises(CorruptRunError, match=rf"line ({number}|{number + 1})\b"):
            opened(path)
        assert path.read_bytes() == damaged


def test_nul_byte_anywhere_is_damage_that_no_altered_line_hides_in(path):
    """In place of a line feed it costs nothing; elsewhere its line and those after it are cut, as they no
    longer follow from what is left."""
    written(path, 5)
    whole = path.read_bytes()
    lines = whole.splitlines()

    for position in range(len(whole)):
        damaged = whole[:position] + b"\0" + whole[position + 1 :]
        found = survey(damaged)
        number = whole.count(b"\n", 0, position)
        is_between = whole[position : position + 1] == b"\n"
        assert found.lines == (lines if is_between else lines[:number])
        assert len(found.cut) == (1 if is_between else len(damaged) - len(joined(lines[:number])))
        assert len(found.lost) == (0 if is_between else len(lines) - number - 1)


def joined(lines):
    return b"".join(line + b"\n" for line in lines)


def test_changed_last_line_is_refused(path):
    """The last line has no later one to contradict it, but a hash of its own."""
    written(path)
    whole = path.read_bytes()

    for position in range(whole.rindex(b"\n", 0, -1) + 1, len(whole) - 1):
        damaged = bytearray(whole)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(CorruptRunError, match="line 13 "):
            opened(path)
        assert path.read_bytes() == damaged


def test_journal_knows_the_process_that_worked_on_it_last(path):
    """What the header says of a process is replaced by what a resumption says of its own."""
    journal = opened(path)
    journal.begin({"package_version": "1", "python_version": "3.11.0", "config": {"topic": "a"}})
    journal.resume("2", reopen=False, python_version="3.12.0", config={"topic": "b"})

    expected = {"package_version": "2", "python_version": "3.12.0", "config": {"topic": "b"}}
    assert [reader.process for reader in both(path, journal)] == [expected, expected]


def test_last_line_that_was_changed_before_the_next_was_written_is_refused(path, journal):
    """Nothing is written after it; the lines as they were written are kept beside."""
    settle(journal, target_call(), REPLY)
    path.write_bytes(path.read_bytes().replace(b'"error": null', b'"error": NULL'))

    with pytest.raises(RunStoreError, match="removed, replaced or changed"):
        settle(journal, target_call(2), REPLY)
    journal.close()

    with pytest.raises(CorruptRunError, match="line 4"):
        opened(path)
    path.with_name("journal.kept-1").replace(path)
    assert opened(path).answer(target_call()) == REPLY


GARBAGE = {
    "words": b"not a record\n",
    "empty line": b"\n",
    "half a record": b'{"type": "sent", "call": "001/aud\n',
    "not UTF-8": b"\xff\xfe\xfd\n",
    "a number": b"7\n",
    "a list": b"[]\n",
    "a string": b'"prev type"\n',
    "no prev": b'{"type": "footer"}\n',
    "no type": b'{"prev": "0"}\n',
    "another prev": b'{"type": "footer", "prev": "0"}\n',
    "deep brackets": b"[" * 100_000 + b"]" * 100_000 + b"\n",
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_line_that_is_no_record_is_refused(path, garbage):
    """A whole line that is no record is named, and the file is not touched."""
    written(path)
    damaged = path.read_bytes() + garbage
    path.write_bytes(damaged)

    with pytest.raises(CorruptRunError, match="line 14"):
        opened(path)

    assert path.read_bytes() == damaged


FIELDS = {
    "attempt of no call": {"type": "attempt", "call": "x", "attempt": 1, "error": None},
    "attempt without result": {"type": "attempt", "call": "001/auditor/turn/0", "attempt": 1},
    "done of no call": {"type": "done", "call": "x", "error": {"kind": "transient"}},
    "error of no kind": {
        "type": "done",
        "call": "001/auditor/turn/0",
        "error": {"kind": "odd", "message": "", "cost_usd": None},
    },
    "cost that is no number": {
        "type": "sent",
        "call": "x",
        "role": "target",
        "attempt": 1,
        "request": "",
        "reserved": {"usd": "much", "tokens": 1},
    },
    "reply that is a list": {
        "type": "attempt",
        "call": "001/auditor/turn/0",
        "attempt": 1,
        "reply": [],
    },
    "prices that are a list": {"type": "resumed", "goes_on": False, "prices": [1], "cut": None},
    "price below zero": {
        "type": "resumed",
        "goes_on": False,
        "prices": {"target": ["-1", "0", "0"]},
        "cut": None,
    },
    "price without output": {
        "type": "resumed",
        "goes_on": False,
        "prices": {"target": ["1"]},
        "cut": None,
    },
    "price that is no number": {
        "type": "resumed",
        "goes_on": False,
        "prices": {"target": ["NaN"] * 3},
        "cut": None,
    },
    "servers that are a text": {
        "type": "resumed",
        "goes_on": False,
        "servers": "here",
        "cut": None,
    },
    "footer without status": {"type": "footer", "finished_at": NOW, "ask_again": []},
    "footer without calls": {"type": "footer", "finished_at": NOW, "status": "budget"},
    "decision without value": {"type": "decision", "name": "go/2"},
    "call that is a list": {"type": "done", "call": [], "error": {"kind": "fatal"}},
}


@pytest.mark.parametrize("record", FIELDS.values(), ids=FIELDS)
def test_record_that_lacks_a_field_is_refused(path, record):
    """A line that continues the chain but cannot be understood is named, not passed over."""
    written(path)
    lines = path.read_bytes()
    prev = hashlib.sha256(lines.splitlines()[-1]).hexdigest()
    damaged = lines + sealed(record, prev) + b"\n"
    path.write_bytes(damaged)

    with pytest.raises(CorruptRunError, match="line 14"):
        opened(path)

    assert path.read_bytes() == damaged


def resealed(line, **changes):
    """Return a line with other content and a hash that fits it."""
    record = json.loads(line)
    content = {key: value for key, value in record.items() if key not in LINKS}
    return sealed(content | changes, record["prev"])


DAMAGE = {
    "repeated line": lambda lines: [*lines[:4], *lines[3:]],
    "missing line": lambda lines: [*lines[:4], *lines[5:]],
    "swapped lines": lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]],
    "fused lines": lambda lines: [*lines[:4], lines[4] + lines[5], *lines[6:]],
    "no header": lambda lines: lines[1:],
    "byte order mark": lambda lines: [b"\xef\xbb\xbf" + lines[0], *lines[1:]],
    "CRLF": lambda lines: [line + b"\r" for line in lines],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_journal_is_refused_and_left_alone(path, damage):
    """Lines that are missing, repeated, fused, or recoded are never guessed at."""
    written(path)
    damaged = b"".join(line + b"\n" for line in damage(path.read_bytes().splitlines()))
    path.write_bytes(damaged)

    with pytest.raises(CorruptRunError, match=r"journal\.jsonl, line \d"):
        opened(path)

    assert path.read_bytes() == damaged


# --- the torn last line -------------------------------------------------------------------------


def test_torn_last_line_is_cut_off_wherever_it_was_torn(path):
    """Every prefix of a journal opens, reports what it cut, and knows just what its whole
    lines said when they were written."""
    states = written(path, 5)
    whole = path.read_bytes()

    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        kept = whole.rfind(b"\n", 0, size) + 1
        journal = opened(path)
        journal.close()
        assert (journal.cut_bytes, path.read_bytes()) == (size - kept, whole[:size])
        assert state(journal) == states[kept]


def test_state_read_back_is_the_state_that_was_written(path):
    """After each line of a run, of whatever kind, another process knows what the first one knew."""
    states = written(path)
    whole = path.read_bytes()

    for size, known in states.items():
        path.write_bytes(whole[:size])
        assert state(opened(path)) == known


def test_journal_goes_on_after_a_torn_line(path):
    """What is written after a cut follows from the last whole line, and the cut is on record."""
    written(path)
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 512)
    path.chmod(0o600)
    journal = opened(path)
    assert path.read_bytes() == whole + b"\0" * 512

    journal.resume("3", reopen=False)
    assert path.read_bytes().startswith(whole)
    assert path.read_bytes().count(b"\n") == 14
    settle(journal, target_call(7), REPLY)
    journal.close()

    assert opened(path).answer(target_call(7)) == REPLY
    cut = json.loads(path.read_bytes().splitlines()[13])["cut"]
    expected = {"bytes": 512, "lines": [14, 14], "file": "journal.cut-1", "answers": [], "sent": []}
    assert cut == expected
    assert (path.parent / "journal.cut-1").read_bytes() == b"\0" * 512
    assert path.stat().st_mode & 0o777 == 0o600


def test_damage_that_was_kept_before_a_kill_is_kept_once(path):
    """A process that was killed between keeping the damage and recording it leaves one file."""
    written(path)
    damaged = path.read_bytes() + b"\0" * 512
    for _ in range(2):
        path.write_bytes(damaged)
        opened(path).resume("3", reopen=False)
    path.write_bytes(damaged + b"\0")
    opened(path).resume("3", reopen=False)

    assert sorted(each.name for each in path.parent.glob("journal.cut-*")) == [
        "journal.cut-1",
        "journal.cut-2",
    ]


def test_damage_that_cannot_be_kept_stops_the_run(path, monkeypatch):
    """On a full disk nothing is cut and nothing is sent."""
    written(path)
    damaged = path.read_bytes() + b"\0" * 512
    path.write_bytes(damaged)
    journal = opened(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing(errno.ENOSPC))
        with pytest.raises(RunStoreError, match="cannot be kept beside it"):
            journal.resume("3", reopen=False)

    assert path.read_bytes() == damaged
    assert list(path.parent.glob("journal.cut-*")) == []


def test_new_journal_is_empty_until_it_begins(path):
    """A file that is not there yet, or is empty, is a new journal."""
    journal = opened(path)

    assert (journal.header, journal.footer, journal.attempts) == ({}, None, [])
    assert path.read_bytes() == b""


def test_journal_that_cannot_be_opened_is_a_store_error(tmp_path):
    """A path that is no file ends in one sentence that names it."""
    with pytest.raises(RunStoreError, match="cannot be opened"):
        opened(tmp_path)


# --- answers ------------------------------------------------------------------------------------

# As JSON holds it: a high and a low surrogate side by side are one character.
any_text = st.text(st.characters(exclude_categories=())).map(
    lambda text: json.loads(json.dumps(text))
)
maybe_text = st.none() | any_text
costs = st.none() | st.decimals(min_value=0, allow_nan=False, allow_infinity=False)
counts = st.none() | st.integers(0, 10**9)
seconds = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
replies = st.builds(
    Reply,
    text=maybe_text,
    finish_reason=maybe_text,
    native_finish_reason=maybe_text,
    block_message=maybe_text,
    block=st.sampled_from([None, "blocked", "suspected_block"]),
    host_answer=maybe_text,
    reasoning=maybe_text,
    provider=maybe_text,
    served_model=maybe_text,
    generation_id=maybe_text,
    usage=st.builds(Usage, counts, counts, counts, counts),
    cost_usd=costs,
    finished_at=any_text,
    latency_s=seconds,
)
errors = st.builds(
    lambda kind, message, fields: kind(message, **fields),
    st.sampled_from([TransientError, RejectedError, FatalError]),
    any_text,
    st.fixed_dictionaries(
        {},
        optional={
            "status": st.none() | st.integers(300, 599),
            "error_type": maybe_text,
            "retry_after_s": st.none() | seconds,
            "maybe_billed": st.booleans(),
            "partial_text": maybe_text,
            "tokens": counts,
            "cost_usd": costs,
            "finished_at": any_text,
        },
    ),
)


@given(replies)
def test_reply_is_given_back_exactly(reply):
    """Lone surrogates, NUL, every digit of a cost: what was recorded is what is answered."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        journal = opened(path)
        journal.begin({})
        settle(journal, target_call(), reply)
        journal.close()
        again = opened(path)

        for reader in (journal, again):
            assert repr(reader.answer(target_call())) == repr(reply)
        again.close()


@given(errors)
def test_error_is_given_back_exactly(error):
    """An error that settled a call comes back with its kind, its words and all that is known."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        journal = opened(path)
        journal.begin({})
        settle(journal, target_call(), error)
        journal.close()
        again = opened(path)

        for reader in (journal, again):
            assert repr(plain(reader.answer(target_call()))) == repr(plain(error))
        again.close()


@pytest.mark.parametrize(
    "text", ["\ud83d", "\ude00 alone", "a\0b", "\u2028", "<｜User｜>", "🧑🏽‍🚀"]
)
def test_odd_text_stays_one_line_of_ascii(path, journal, text):
    """No text of a model can end a line early or make the file unreadable to another tool."""
    settle(journal, target_call(), Reply(text))

    lines = path.read_bytes().decode("ascii").splitlines()

    assert len(lines) == 4
    assert json.loads(lines[2])["reply"]["text"] == text


def test_call_that_was_never_made_has_no_answer(journal):
    """The journal answers only what it holds."""
    assert journal.answer(target_call()) is None


def test_reply_is_an_answer_even_if_the_call_was_not_settled(path, journal):
    """A process that dies between a reply and its `done` does not pay for it again."""
    journal.attempted(target_call(), journal.sent(target_call(), RESERVED), REPLY)

    assert opened(path).answer(target_call()) == REPLY


def test_failed_attempt_is_no_answer_until_the_call_is_settled(path, journal):
    """A process that dies between two attempts tries again, and counts on."""
    journal.attempted(target_call(), journal.sent(target_call(), RESERVED), FAILURE)
    again = opened(path)

    assert again.answer(target_call()) is None
    assert again.sent(target_call(), RESERVED) == 2


def unexplained():
    return RejectedError("403: no", status=403, reason="unknown")


def canary_call():
    return Call(CallKey(1, "target", "canary", 0, "completions"), "completions", {"prompt": "Hi"})


def test_refusal_is_held_until_its_canary_decides(path, journal):
    """A call that was refused goes on with its canary, in a later process as well."""
    call = target_call()
    journal.attempted(call, journal.sent(call, RESERVED), unexplained())

    later = opened(path)

    assert str(later.refusal(call)) == "403: no"
    assert later.answer(call) is None
    later.sent(call, RESERVED)
    assert later.refusal(call) is None


def test_refused_canary_voids_refusals_before_and_after_it(path, journal):
    """Where the route refuses everything, what is refused meanwhile is asked again later, too."""
    before, after, canary = target_call(), target_call(sample=1), canary_call()
    journal.attempted(before, journal.sent(before, RESERVED), unexplained())
    journal.attempted(canary, journal.sent(canary, RESERVED), unexplained())
    journal.attempted(after, journal.sent(after, RESERVED), unexplained())

    later = opened(path)

    assert [later.refusal(call) for call in (before, after)] == [None, None]
    later.resume("2", reopen=False)
    later.attempted(after, later.sent(after, RESERVED), unexplained())
    assert later.refusal(after) is not None


def test_attempt_lost_in_flight_is_no_answer_but_is_counted(path, journal):
    """A request that left and never came back is asked again, and stays in the books."""
    journal.sent(target_call(), RESERVED)
    again = opened(path)

    assert again.answer(target_call()) is None
    assert [(one.reserved, one.result) for one in again.attempts] == [(RESERVED, None)]
    assert again.sent(target_call(), RESERVED) == 2


@pytest.mark.parametrize(
    "other",
    [
        target_call(prompt="another prompt"),
        Call(target_call().key, "chat", target_call().body),
        Call(target_call().key, "completions", {**target_call().body, "model": "u"}),
        Call(target_call().key, "completions", {**target_call().body, "temperature": 0.5}),
    ],
    ids=["prompt", "API", "model", "parameter"],
)
def test_answer_to_another_request_is_refused(path, journal, other):
    """An answer is never given to a request that it was not an answer to."""
    settle(journal, target_call(), REPLY)

    with pytest.raises(ResumeMismatchError, match="001/target/sample/user_persona/0"):
        opened(path).answer(other)


def test_order_of_keys_is_no_other_request():
    """Only what is asked counts, not how the body happens to be written down."""
    call = target_call()
    turned = Call(call.key, call.api, dict(reversed(call.body.items())))

    assert request_hash(turned) == request_hash(call)


# --- going on with a run that ended -------------------------------------------------------------


def ended(path, status, calls, ask_again=()):
    """Write a run that settled these calls and ended because of some; return it as it goes on."""
    journal = opened(path)
    journal.begin({})
    for call, result in calls:
        settle(journal, call, result)
    journal.finish(status, ask_again)
    journal.close()
    return opened(path)


def both(path, journal):
    """Return the journal as it is and as another process reads it."""
    return journal, read_back(path)


def test_budget_reopens_nothing_but_its_closing_may_differ(path):
    """With more money all answers stand; only the closing request may come out otherwise."""
    closing = auditor_call(2, "closing")
    calls = [(auditor_call(), REPLY), (target_call(), REPLY), (closing, REPLY)]
    journal = ended(path, "budget", calls)

    reopened = journal.resume("2", reopen=True)

    assert reopened == []
    for reader in both(path, journal):
        assert [reader.answer(call) for call, _ in calls] == [REPLY, REPLY, REPLY]
        assert reader.answer(auditor_call(2, "closing", says="all of it")) is None
        with pytest.raises(ResumeMismatchError):
            reader.answer(target_call(prompt="another"))
        with pytest.raises(ResumeMismatchError):
            reader.answer(auditor_call(says="another"))


def test_failed_calls_that_ended_the_run_are_reopened(path):
    """Failures that the run went on past stay as they are; those that ended it are asked again."""
    calls = [
        (auditor_call(1), REPLY),
        (target_call(1), FAILURE),
        (auditor_call(2), Reply("no JSON")),
        (target_call(2, 0), FAILURE),
        (target_call(2, 1), RejectedError("400: no", status=400)),
        (auditor_call(3, "closing"), REPLY),
    ]
    names = ["002/target/sample/user_persona/0", "002/target/sample/user_persona/1"]
    journal = ended(path, "target_failed", calls, names)

    assert journal.resume("2", reopen=True) == names
    for reader in both(path, journal):
        answers = [plain(reader.answer(call)) for call, _ in calls]
        assert answers == [REPLY, plain(FAILURE), Reply("no JSON"), None, None, REPLY]


def test_what_follows_a_reopened_call_may_differ(path):
    """Another answer leads to other questions; what was asked before it must stay the same."""
    calls = [
        (auditor_call(1), REPLY),
        (target_call(1), FAILURE),
        (auditor_call(2, "closing"), REPLY),
    ]
    journal = ended(path, "target_failed", calls, [str(target_call(1).key)])
    journal.resume("2", reopen=True)

    for reader in both(path, journal):
        assert reader.answer(target_call(1, prompt="another")) is None
        assert reader.answer(auditor_call(2, "closing", says="another")) is None
        with pytest.raises(ResumeMismatchError):
            reader.answer(auditor_call(1, says="another"))


def test_call_asked_anew_leaves_the_first_one_in_the_books(path):
    """What the first request cost stays spent when a resumed run asks something else instead."""
    journal = ended(path, "budget", [(auditor_call(2, "closing"), REPLY)])
    journal.resume("2", reopen=True)
    other = auditor_call(2, "closing", says="all of it")
    journal.answer(other)

    settle(journal, other, Reply("new", cost_usd=Decimal("0.5")))

    for reader in both(path, journal):
        assert reader.answer(other) == Reply("new", cost_usd=Decimal("0.5"))
        assert spend(reader.attempts)["total"]["cost_usd"] == 0.501
        with pytest.raises(ResumeMismatchError):
            reader.answer(auditor_call(2, "closing"))


def test_fatal_error_is_asked_again(path, journal):
    """A call that ended in a refused key was not settled, so a resumed run sends it again."""
    number = journal.sent(target_call(), RESERVED)
    journal.attempted(target_call(), number, FatalError("401: no key", status=401))

    assert opened(path).answer(target_call()) is None


def test_reopened_call_answers_once_it_is_settled_again(path):
    """The new answer replaces the old failure, and both attempts are in the books."""
    journal = ended(path, "target_failed", [(target_call(), FAILURE)], [str(target_call().key)])
    journal.resume("2", reopen=True)

    settle(journal, target_call(), REPLY)

    for reader in both(path, journal):
        assert reader.answer(target_call()) == REPLY
        assert [plain(one.result) for one in reader.attempts] == [plain(FAILURE), REPLY]


def test_footer_is_voided_only_when_the_run_goes_on(path):
    """A run that is only finished again keeps its time of finishing; one that goes on has none."""
    journal = ended(path, "budget", [(target_call(), REPLY)])
    footer = {"finished_at": NOW, "status": "budget", "ask_again": []}

    journal.resume("2", reopen=False)

    assert [reader.footer for reader in both(path, journal)] == [footer, footer]
    journal.resume("2", reopen=True)
    assert [reader.footer for reader in both(path, journal)] == [None, None]


def test_run_that_sends_again_has_not_finished(path):
    """A run that goes on past its footer finishes anew, when and how it really did."""
    journal = ended(path, "budget", [(target_call(1), REPLY)])
    journal.resume("2", reopen=False)

    settle(journal, target_call(2), REPLY)

    assert [reader.footer for reader in both(path, journal)] == [None, None]
    journal.finish("completed")
    footer = {"finished_at": NOW, "status": "completed", "ask_again": []}
    assert [reader.footer for reader in both(path, journal)] == [footer, footer]


def test_run_that_is_interrupted_reopens_nothing(path, journal):
    """Without a footer there is nothing that ended the run."""
    settle(journal, target_call(), FAILURE)
    again = opened(path)

    assert again.resume("2", reopen=True) == []
    assert plain(again.answer(target_call())) == plain(FAILURE)


def test_footer_is_written_once(path):
    """Finishing again gives back when the run finished first."""
    times = iter(["begun", "finished", "later"])
    journal = Journal.open(path, lambda: next(times))
    journal.begin({})

    moments = [journal.finish("completed"), journal.finish("budget", ["1/a"])]
    journal.close()

    assert moments == ["finished", "finished"]
    footer = {"finished_at": "finished", "status": "completed", "ask_again": []}
    assert journal.footer == opened(path).footer == footer


# --- decisions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [True, False, 400, None])
def test_decision_stands(path, journal, value):
    """What was decided once is not decided again, not by a resumed run either."""
    journal.decide("closing/3", lambda: value)

    for reader in both(path, journal):
        assert reader.decide("closing/3", lambda: "otherwise") == value


def test_decision_that_ends_the_run_is_decided_again(path, journal):
    """A resumed run with a higher budget decides again whether it may go on."""
    assert journal.decide("go/2", lambda: False, lasting=False) is False

    again = opened(path)

    assert again.decide("go/2", lambda: True, lasting=False) is True


def test_same_decision_to_end_the_run_is_recorded_once(path, journal):
    """That the budget forbade it is on record; saying so again adds nothing."""
    for _ in range(3):
        assert opened(path).decide("go/2", lambda: False, lasting=False) is False

    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [one["value"] for one in records if one["type"] == "decision"] == [False]


def test_decision_to_go_on_stands_even_if_it_is_not_lasting(path, journal):
    """An iteration that was begun is gone through, whatever the budget says later."""
    journal.decide("go/2", lambda: True, lasting=False)

    assert opened(path).decide("go/2", lambda: False, lasting=False) is True


def test_run_that_goes_on_decides_again_what_the_budget_forbade(path):
    """Iterations that were begun stay begun; refusals and cuts that the budget forced do not."""
    journal = opened(path)
    journal.begin({})
    for name, value in {"go/1": True, "go/2": False, "closing/2": 400}.items():
        journal.decide(name, lambda value=value: value)
    journal.finish("budget")

    journal.resume("2", reopen=True)

    for reader in both(path, journal):
        decided = [reader.has_decided(name) for name in ("go/1", "go/2", "closing/2")]
        assert decided == [True, False, False]


# --- durability ---------------------------------------------------------------------------------


@pytest.fixture
def synced(path, monkeypatch):
    """Collect what the file held each time it was made durable."""
    contents = []
    fsync = os.fsync

    def noting(handle):
        fsync(handle)
        contents.append(path.read_bytes())

    monkeypatch.setattr(os, "fsync", noting)
    return contents


def test_attempt_is_durable_before_anyone_can_act_on_it(path, journal, synced):
    """When `attempted` returns, its line has been synced: for a reply and for an error."""
    for sample, result in enumerate([REPLY, FAILURE]):
        journal.attempted(
            target_call(sample=sample), journal.sent(target_call(sample=sample), RESERVED), result
        )

        assert synced[-1] == path.read_bytes()

    assert len(synced) == 2


def test_what_the_run_depends_on_is_durable(path, synced):
    """Header, decisions, settled failures, takeovers and the footer are synced when written."""
    journal = opened(path)
    writes = [
        lambda: journal.begin({}),
        lambda: journal.decide("go/1", lambda: True),
        lambda: journal.done(target_call(), FAILURE),
        lambda: journal.finish("completed"),
        lambda: journal.resume("2", reopen=False),
    ]
    for write in writes:
        if path.stat().st_size:
            journal.sent(target_call(), RESERVED)
        write()

        assert synced[-1] == path.read_bytes()


FULL_DISK = """
import resource, sys
from decimal import Decimal
from pathlib import Path
from uncensoring_chinese_models.domain import Call, CallKey, Reply, Reservation
from uncensoring_chinese_models.errors import RunStoreError
from uncensoring_chinese_models.runs.chain import survey
from uncensoring_chinese_models.runs.journal import Journal

path = Path(sys.argv[1])
call = Call(CallKey(1, "target", "sample", arm="raw"), "completions", {"model": "t", "prompt": "p"})
journal = Journal.open(path, lambda: "now")
journal.begin({})
number = journal.sent(call, Reservation(Decimal(1), 1))
before = path.read_bytes()
for room in range(120):
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + room, resource.RLIM_INFINITY))
    try:
        journal.attempted(call, number, Reply("x" * 200))
    except RunStoreError as err:
        assert "File too large" in str(err) or "No space left" in str(err), err
        assert "--resume" in str(err), err
    else:
        raise SystemExit(f"a line of 200 fits into {room}")
    assert path.read_bytes() == before, room
    assert journal.answer(call) is None
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert survey(path.read_bytes()).cut == b""
journal.attempted(call, number, Reply("x" * 200))
journal.close()
again = Journal.open(path, lambda: "now")
assert again.cut_bytes == 0
assert again.answer(call) == Reply("x" * 200)
print("held")
"""


def test_full_disk_takes_back_what_did_not_fit(path):
    """A line that the file system takes only in part, wherever it stops, is taken back: the file
    holds whole lines, opens again, and goes on once there is room."""
    command = [sys.executable, "-c", FULL_DISK, str(path)]

    ran = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (ran.stdout, ran.stderr) == ("held\n", "")


def failing(code):
    def fail(*_):
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
@pytest.mark.parametrize("function", ["write", "fsync"])
def test_reply_that_is_not_durable_is_never_an_answer(path, journal, monkeypatch, function, code):
    """A failed write or sync is a store error, leaves whole lines, and gives nothing to act on."""
    number = journal.sent(target_call(), RESERVED)
    before = path.read_bytes()

    with monkeypatch.context() as patch:
        patch.setattr(os, function, failing(code))
        with pytest.raises(RunStoreError, match=os.strerror(code)):
            journal.attempted(target_call(), number, REPLY)

    assert path.read_bytes() == before
    for reader in both(path, journal):
        assert reader.answer(target_call()) is None


def test_nothing_is_written_after_a_torn_line_that_cannot_be_taken_back(path, journal, monkeypatch):
    """If not even cutting works, other calls in flight fail cleanly instead of fusing with it."""
    number = journal.sent(target_call(), RESERVED)
    before = path.read_bytes()
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, line: write(handle, line[:20]))
        patch.setattr(os, "ftruncate", failing(errno.EIO))
        with pytest.raises(RunStoreError, match="No space left"):
            journal.attempted(target_call(), number, REPLY)

    with pytest.raises(RunStoreError, match="cannot be written"):
        journal.sent(target_call(2), RESERVED)

    again = opened(path)
    assert again.cut_bytes == 20
    assert path.read_bytes()[:-20] == before


def test_closed_journal_takes_nothing_more(journal):
    """Closing is final, and closing twice is harmless."""
    journal.close()
    journal.close()

    with pytest.raises(RunStoreError):
        journal.sent(target_call(), RESERVED)


# --- a file that is removed, replaced or changed ------------------------------------------------


def put_over(path, content):
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.replace(path)


def swap_byte(path):
    content = bytearray(path.read_bytes())
    content[-200] ^= 1
    path.write_bytes(content)


REPLACED = {
    "removed": lambda path: path.unlink(),
    "folder in its place": lambda path: (path.unlink(), path.mkdir()),
    "same bytes, other file": lambda path: put_over(path, path.read_bytes()),
    "shorter": lambda path: os.truncate(path, path.stat().st_size - 300),
    "emptied": lambda path: os.truncate(path, 0),
    "longer": lambda path: os.truncate(path, path.stat().st_size + 1),
    "same size, other bytes": swap_byte,
    "link to it": lambda path: path.symlink_to(path.rename(path.with_suffix(".moved"))),
}


@pytest.mark.parametrize("how", REPLACED)
def test_replaced_journal_takes_no_further_call_and_loses_none(path, journal, how):
    """The next call is refused; the answer of one in flight joins the lines that are kept."""
    settle(journal, target_call(), REPLY)
    in_flight = journal.sent(target_call(2), RESERVED)
    REPLACED[how](path)
    found = path.read_bytes() if path.is_file() else None

    for write in (
        lambda: journal.sent(target_call(3), RESERVED),
        lambda: journal.attempted(target_call(2), in_flight, REPLY),
        lambda: journal.done(target_call(2), None),
        lambda: journal.sent(target_call(3), RESERVED),
        lambda: journal.decide("go/2", lambda: True),
        lambda: journal.finish("completed"),
    ):
        with pytest.raises(RunStoreError, match="nothing more was sent"):
            write()
    journal.close()

    kept = read_back(path.with_name("journal.kept-1"))
    assert kept.cut_bytes == 0
    assert [kept.answer(target_call(number)) for number in (1, 2, 3)] == [REPLY, REPLY, None]
    assert (path.read_bytes() if path.is_file() else None) == found
    assert len(list(path.parent.glob("journal.kept-*"))) == 1


@pytest.mark.parametrize("how", ["removed", "same bytes, other file", "longer"])
def test_journal_that_is_replaced_before_its_first_line_begins_nothing(path, how):
    """Also an empty journal is watched."""
    journal = opened(path)
    REPLACED[how](path)

    with pytest.raises(RunStoreError, match="nothing more was sent"):
        journal.begin({})


def test_journal_that_ended_is_watched_too(path, journal):
    """A run that is finished again does not take a replaced journal for its own."""
    journal.finish("completed")
    put_over(path, path.read_bytes())

    with pytest.raises(RunStoreError, match="removed, replaced or changed"):
        journal.finish("completed")


def test_damaged_journal_that_is_replaced_is_not_written_over(path):
    """What another process put there stays."""
    written(path)
    path.write_bytes(path.read_bytes() + b"\0" * 99)
    journal = opened(path)
    put_over(path, b"another")

    with pytest.raises(RunStoreError, match="removed, replaced or changed"):
        journal.resume("3", reopen=False)

    assert path.read_bytes() == b"another"


def test_two_journals_that_are_replaced_are_both_kept(path, journal):
    """Nothing that was kept is written over."""
    for number in (1, 2):
        settle(journal, target_call(number), REPLY)
        path.unlink()
        with pytest.raises(RunStoreError, match=f"journal.kept-{number}"):
            journal.sent(target_call(9), RESERVED)
        path.write_bytes(path.with_name(f"journal.kept-{number}").read_bytes())
        journal = opened(path)


def test_second_process_is_refused_while_damage_is_cut(path):
    """The lock passes from the damaged file to the new one without a gap."""
    written(path)
    path.write_bytes(path.read_bytes() + b"\0" * 99)
    journal = opened(path)
    for write in (lambda: None, lambda: journal.resume("3", reopen=False)):
        write()
        with pytest.raises(RunLockedError):
            Journal.open(path, lambda: NOW)


def test_calls_in_lines_that_were_cut_are_charged_and_numbered_on(path):
    """Each counts as lost in flight, another answer before it may change its request, and its next
    attempt has a new number."""
    written(path, 7)
    lines = path.read_bytes().splitlines()
    path.write_bytes(lines[0] + b"\n" + b"\0" * 99 + b"\n" + joined(lines[2:]))
    journal = opened(path)
    journal.resume("3", reopen=False)

    assert [(one.role, one.result) for one in journal.attempts] == [
        ("auditor", None),
        ("target", None),
        ("target", None),
    ]
    assert journal.answer(target_call(prompt="Another one")) is None
    assert journal.sent(target_call(prompt="Another one"), RESERVED) == 2
    assert len(journal.attempts) == 4
    assert state(read_back(path)) == state(journal)
    cut = journal.cuts[0]
    assert cut["answers"] == ["001/auditor/turn/0"]
    assert len(cut["sent"]) == 3
