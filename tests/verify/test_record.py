"""A journal that was changed and hashed anew is called inconsistent where its lines cannot all be true."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.support import audit_here, audited_provider, rewrite
from uncensoring_chinese_models.cli.verify import verify
from uncensoring_chinese_models.errors import FatalError
from uncensoring_chinese_models.verify.record import TOLERANCE
from uncensoring_chinese_models.verify.verification import verify_run

CHEAP: dict[str, Any] = {"sampling": {"max_tokens": 100}, "auditor_sampling": {"max_tokens": 1000}}
TIME = "%Y-%m-%dT%H:%M:%SZ"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One run with a cap, which was interrupted and resumed with a higher one."""
    folder = tmp_path_factory.mktemp("made")
    with audited_provider() as provider:
        provider.fail("402", api="completions", times=None, after=1)
        with pytest.raises(FatalError):
            audit_here(folder, provider, budget={"max_usd": 1}, **CHEAP)
        provider.heal()
        (run,) = (folder / "runs").glob("[!.]*")
        return audit_here(folder, provider, budget={"max_usd": 2}, resume=run, **CHEAP).folder


@pytest.fixture
def run(made, tmp_path):
    """A copy of the run, to be forged."""
    return shutil.copytree(made, tmp_path / "run")


def record_of(folder):
    """Return the check `record` of a run."""
    (check,) = [each for each in verify_run(folder).checks if each.name == "record"]
    return check


def problems(folder):
    """Return what the check `record` says, line by line."""
    return [str(each) for each in record_of(folder).failures]


def shift(text, **by):
    """Return a time that is later by so much."""
    moved = datetime.strptime(text, TIME).replace(tzinfo=UTC) + timedelta(**by)
    return moved.strftime(TIME)


def forge(run, kind, change, *, only=None):
    """Change every record of one type, or the one of this number among them; hash all anew."""
    seen = []

    def apply(record):
        if record["type"] == kind:
            seen.append(record)
            if only is None or len(seen) - 1 == only:
                change(record)

    rewrite(run, apply)
    assert seen


def test_honest_run_holds_and_says_what_was_compared(run, capsys):
    """The check has its own line, for a resumed run, too."""
    assert verify(str(run)) == 0

    (line,) = [each for each in capsys.readouterr().out.splitlines() if each.startswith("  record")]
    assert line.split()[:2] == ["record", "holds"]
    assert "reservations computed again" in line


# --- dates --------------------------------------------------------------------------------------


def attempt_before(record):
    side = record.get("reply") or record["error"]
    side["finished_at"] = shift(side["finished_at"], days=-400)


DATES = {
    "a sent line": ("sent", lambda r: r.update(at=shift(r["at"], days=-400))),
    "an attempt": ("attempt", attempt_before),
    "a resumed line": ("resumed", lambda r: r.update(at=shift(r["at"], hours=-1))),
    "the footer": ("footer", lambda r: r.update(finished_at="1999-01-01T00:00:00Z")),
    "the start": ("header", lambda r: r.update(started_at=shift(r["started_at"], days=3))),
}


@pytest.mark.parametrize(("kind", "change"), DATES.values(), ids=DATES)
def test_date_before_the_start_of_the_run_is_named(run, kind, change):
    """Nothing of a run was sent, answered, resumed or ended before it began."""
    forge(run, kind, change, only=0)

    found = problems(run)
    assert found
    assert all(line.startswith("journal.jsonl: line ") for line in found)
    assert "before the run began" in found[0]


def test_times_do_not_go_back(run):
    """A line that is dated long before an earlier one is named with both lines."""
    forge(run, "header", lambda r: r.update(started_at=shift(r["started_at"], days=-9)))
    assert problems(run) == []
    forge(run, "footer", lambda r: r.update(finished_at=shift(r["finished_at"], hours=-2)))

    (found,) = problems(run)
    assert ", before line " in found


def test_small_corrections_of_a_clock_accuse_nobody(run):
    """A clock that was put back by less than the tolerance is what machines have."""
    seconds = TOLERANCE.total_seconds() - 30
    forge(run, "footer", lambda r: r.update(finished_at=shift(r["finished_at"], seconds=-seconds)))

    assert problems(run) == []


def test_date_in_the_future_is_a_note(run):
    """The clock of the reader may be wrong; it is said, and nothing is called wrong."""

    def change(record):
        for side in (record, record.get("reply"), record.get("error")):
            for key in ("at", "started_at", "finished_at"):
                if side and side.get(key):
                    side[key] = shift(side[key], days=40_000)

    rewrite(run, change)
    result = verify_run(run)

    assert problems(run) == []
    assert any("in the future by the clock of this machine" in note for note in result.notes)


@pytest.mark.parametrize("text", [None, 7, "", "yesterday", "2026-13-01T00:00:00Z"])
def test_date_that_is_none_is_named(run, text):
    """What is no date cannot be compared, and is not passed over."""
    forge(run, "footer", lambda r: r.update(finished_at=text))

    assert "has a missing or damaged field" in problems(run)[0]


def test_latency_longer_than_the_time_that_passed_is_named(run):
    """A reply cannot take an hour of one second."""

    def change(record):
        if "reply" in record:
            record["reply"]["latency_s"] = 3600.0

    forge(run, "attempt", change)

    assert "took 3600.0 s" in problems(run)[0]


# --- the cap ------------------------------------------------------------------------------------


def test_cap_below_what_was_spent_is_named(run):
    """A call is only sent where the cap of that process covers it."""

    def change(record):
        record["config"]["budget"]["max_usd"] = 0.001

    forge(run, "header", change)

    found = "\n".join(problems(run))
    assert "sends a call that the budget in force does not cover" in found
    assert "budget.max_usd 0.001" in found
    assert "says that the budget covers iteration 1, which by the lines before it does not" in found


def test_cap_in_tokens_below_what_was_spent_is_named(run):
    """The cap on tokens is a cap, too."""
    forge(run, "resumed", lambda r: r["config"]["budget"].update(max_tokens=10))

    assert "budget.max_tokens 10" in problems(run)[0]


def test_each_process_is_held_to_its_own_cap(run):
    """The run was resumed with a higher cap: what it allows is not asked of the first process."""
    forge(run, "header", lambda r: r["config"]["budget"].update(max_usd=0.5))

    assert problems(run) == []


def test_host_that_bills_more_than_reserved_is_said(tmp_path):
    """Then the cap can be passed by an honest run; a note says so, and nothing is called wrong."""
    with audited_provider() as provider:
        provider.fail("usage_overcharged", api="completions", times=None)
        run = audit_here(tmp_path, provider, budget={"max_usd": 5}, **CHEAP).folder

    result = verify_run(run)
    assert result.holds
    assert any(
        "More was spent than the budget allows" in note and "the server billed more" in note
        for note in result.notes
    )


def test_free_prices_beside_bills_are_said(tmp_path):
    """Where the recorded price is zero and the server billed all the same, the reader learns it."""
    with audited_provider() as provider:
        price = {"input_usd_per_million": 0.0, "output_usd_per_million": 0.0}
        endpoint = {"preset": "openrouter", "base_url": provider.base_url, "price": price}
        run = audit_here(tmp_path, provider, max_iterations=1, audited_endpoint=endpoint).folder

    result = verify_run(run)
    assert result.holds
    assert any("may not be the server's: the server billed more" in note for note in result.notes)


def test_cap_that_was_lowered_on_resume_is_said(tmp_path):
    """A run that may spend no more ends; it did not break its cap."""
    with audited_provider() as provider:
        provider.fail("402", api="completions", times=None, after=2)
        with pytest.raises(FatalError):
            audit_here(tmp_path, provider, budget={"max_usd": 2}, **CHEAP)
        provider.heal()
        (folder,) = (tmp_path / "runs").glob("[!.]*")
        run = audit_here(tmp_path, provider, budget={"max_usd": 0.0001}, resume=folder, **CHEAP)

    result = verify_run(run.folder)
    assert (run.summary["status"], result.holds) == ("budget", True)
    assert any("the cap was lowered when the run was resumed" in note for note in result.notes)


# --- reservations and prices --------------------------------------------------------------------

RESERVED = {
    "nothing": {"usd": "0", "tokens": 0},
    "nothing in usd": {"usd": "0"},
    "unknown": {"usd": None},
    "less": {"usd": "0.000001"},
    "more": {"tokens": 999_999},
    "negative": {"usd": "-5", "tokens": -5},
}


@pytest.mark.parametrize("reserved", RESERVED.values(), ids=RESERVED)
def test_reservation_that_the_budget_does_not_compute_is_named(run, reserved):
    """Each line reserves what its request takes at most, at the recorded price."""
    forge(run, "sent", lambda r: r["reserved"].update(reserved), only=2)

    found = problems(run)
    assert len(found) == 1
    assert "reserve" in found[0]


def test_reservation_that_fits_its_price_but_not_its_request_is_named(run):
    """What is reserved is computed from the request again, not only from what the line says."""
    header = json.loads((run / "journal.jsonl").read_bytes().partition(b"\n")[0])

    def shrink(record):
        rates = [Decimal(each) for each in header["prices"][record["role"]]]
        usd = rates[2] + 10 * rates[0] + 5 * rates[1]
        record["reserved"] = {"usd": str(usd), "tokens": 15, "output_tokens": 5}

    forge(run, "sent", shrink, only=2)

    assert any("reserves another amount than its request takes" in each for each in problems(run))


def test_reservation_of_a_call_that_was_not_used_is_checked_by_its_limits(tmp_path):
    """What is not asked in a replay still reserves tokens, at a price between those recorded."""
    with audited_provider() as provider:
        run = audit_here(
            tmp_path, provider, max_iterations=6, budget={"max_usd": 0.12}, **CHEAP
        ).folder
        audit_here(tmp_path, provider, max_iterations=6, budget={"max_usd": 9}, resume=run, **CHEAP)
    assert problems(run) == []
    lines = [json.loads(each) for each in (run / "journal.jsonl").read_bytes().splitlines()]
    end = next(at for at, each in enumerate(lines) if each["type"] == "footer")
    unused = [each["call"] for each in lines[:end] if each["type"] == "sent"][-1]
    numbers = [at for at, each in enumerate(lines) if each["type"] == "sent"]

    def change(record):
        if record["call"] == unused:
            record["reserved"] = {"usd": "0", "tokens": 0, "output_tokens": 0}

    assert numbers
    forge(run, "sent", change)

    assert any("reserves" in each for each in problems(run))


def test_prices_are_recorded_without_the_doctor(run):
    """Each process says at which prices it reserved."""
    lines = [json.loads(each) for each in (run / "journal.jsonl").read_bytes().splitlines()]
    told = [each["prices"] for each in lines if each["type"] in ("header", "resumed")]

    assert len(told) == 2
    assert all(set(each) == {"auditor", "target"} for each in told)
    assert all(len(each["target"]) == 3 for each in told)


@pytest.mark.parametrize("prices", [None, {}, {"auditor": None, "target": None}])
def test_prices_that_were_changed_are_named(run, prices):
    """Other prices give other reservations."""
    forge(run, "header", lambda r: r.update(prices=prices))

    result = verify_run(run)
    assert not result.holds


def test_price_of_the_config_is_the_price(tmp_path):
    """A price that the config gives is the one that was reserved at."""
    price = {"input_usd_per_million": 1.0, "output_usd_per_million": 2.0}
    with audited_provider() as provider:
        endpoint = {"preset": "openrouter", "base_url": provider.base_url, "price": price}
        run = audit_here(tmp_path, provider, max_iterations=1, audited_endpoint=endpoint).folder
    assert problems(run) == []

    forge(run, "header", lambda r: r["prices"].update(target=["0", "0", "0"]))

    assert "gives another price for the target than its config" in problems(run)[0]


# --- processes, roles and order -----------------------------------------------------------------

IMPOSSIBLE = {
    "another model on resume": (
        "resumed",
        lambda r: r["config"].update(audited_model="a/other"),
        "the run began with other settings",
    ),
    "another kind": ("header", lambda r: r.update(kind="probe"), "of the kind 'probe'"),
    "no version": ("header", lambda r: r.pop("package_version"), "damaged field"),
    "a version that is none": ("resumed", lambda r: r.update(package_version=7), "the version"),
    "no hash of the config": ("header", lambda r: r.pop("config_sha256"), "damaged field"),
    "another role": ("sent", lambda r: r.update(role="judge"), "names the role 'judge'"),
}


@pytest.mark.parametrize(("kind", "change", "says"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_no_process_writes_is_named(run, kind, change, says):
    """Settings, kind and role follow from what the run began with."""
    forge(run, kind, change, only=0)

    assert any(says in line for line in problems(run))


def test_bill_of_less_than_nothing_is_named(run):
    """A negative cost would leave room under the cap for calls that it does not cover."""
    forge(run, "attempt", lambda r: r["reply"].update(cost_usd="-1"), only=0)

    assert any("was billed less than nothing" in line for line in problems(run))


def test_attempt_without_the_one_before_it_is_named(run):
    """Attempts are counted from 1, so a failed one that was taken out leaves a gap."""
    for kind in ("sent", "attempt"):
        forge(run, kind, lambda r: r.update(attempt=2), only=0)

    assert any("is attempt 2 at a call, though there is no" in line for line in problems(run))


def test_second_result_of_an_attempt_is_named(run):
    """An answer that was put in after the real one is not of an attempt that was under way."""
    path = run / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    (first, *_) = (line for line in lines if line.startswith(b'{"type": "attempt"'))
    lines.insert(lines.index(first), first)
    path.write_bytes(b"".join(lines))
    rewrite(run, lambda _: None)

    assert any("of an attempt that was not under way" in line for line in problems(run))


def test_answer_to_a_call_that_the_run_does_not_ask_is_named(run):
    """A decision that was taken out stops the replay early; what comes after is not passed over."""
    for path in [run / "summary.json", run / "report.md", run / "report.html"]:
        path.unlink()
    for name in ("auditor_turns", "audited_responses"):
        shutil.rmtree(run / name)
    forge(run, "decision", lambda r: r.update(name="go/elsewhere"), only=0)

    assert any("which the run, replayed, does not ask" in line for line in problems(run))
    assert not verify_run(run).holds


def test_conclusion_says_that_the_journal_contradicts_itself(run, capsys):
    """The reader learns what it means: the lines cannot all be true."""
    forge(run, "footer", lambda r: r.update(finished_at="1999-01-01T00:00:00Z"))

    assert verify(str(run)) == 4
    assert "cannot all be true" in capsys.readouterr().out.splitlines()[-1]
