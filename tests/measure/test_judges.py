"""Judges over the wire: what is asked, what becomes of bad answers, and what is paid for once."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections import Counter
from decimal import Decimal

import pytest

from tests.judged_runs import TEXTS, judge_words, judging_provider, probed
from tests.provider import Model
from tests.provider.fault import Fault
from tests.provider.judge import JUDGE_SHAPES, read_case
from tests.running import canaries, is_canary
from tests.support import clean_environment, command, run_ucm
from uncensoring_chinese_models.config.settings import Budget
from uncensoring_chinese_models.errors import (
    AuditToolError,
    BudgetExceededError,
    ConfigError,
    FatalError,
    MissingCredentialError,
)
from uncensoring_chinese_models.measure.judging import judge_settings_for
from uncensoring_chinese_models.models.budget import BudgetMeter
from uncensoring_chinese_models.runner.judging import judge_and_report
from uncensoring_chinese_models.runs.journal import Journal
from uncensoring_chinese_models.verify.verification import verify_run

pytestmark = pytest.mark.wire

OPEN = 6
"""Samples that patterns leave open: three texts of the six, in two arms."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make one run for all."""
    with judging_provider() as provider:
        return probed(tmp_path_factory.mktemp("made"), provider)


@pytest.fixture
def run(made, tmp_path):
    """Return a copy of the run, to be judged."""
    return shutil.copytree(made, tmp_path / "runs" / made.name)


def judged(folder, *words, every=False):
    """Judge a run; return what came out, and what a person at the screen was told."""
    told: list[str] = []
    judge_settings = judge_settings_for(
        folder, words, lambda notice: told.append(notice.text), every=every
    )
    return judge_and_report(folder, None, judge_settings), told


def stored(folder):
    """Return what was written of the judges."""
    beside = folder.with_name(f"{folder.name}.judged")
    return json.loads((beside / "lamps.judges.json").read_text("utf-8"))


def judging_bodies(provider):
    """Return the requests that judges were sent."""
    return [each for each in provider.bodies("chat") if each["messages"][0]["role"] == "system"]


def test_judges_see_what_patterns_leave_open_and_nothing_else(run):
    """A text that names just one ending is not sent, nor is an empty one; the others are, once."""
    with judging_provider() as provider:
        before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
        result, told = judged(run, judge_words(provider, "a/b"))
        texts = [read_case(body["messages"]).text for body in judging_bodies(provider)]

    assert Counter(texts) == dict.fromkeys(TEXTS[2:5], 2)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    assert "Judging 6 samples: 6 calls (6 to a/b); at most $" in told[0]
    assert result.panel is not None
    states = Counter(each.final.label for each in result.panel.samples)
    assert states == {"states": 4, "contradicts": 2, "refuses": 2, "omits": 4}
    file = stored(run)
    assert file["asked"] == OPEN
    assert file["judges"][0]["states"] == {"judged": OPEN, "invalid": 0, "refused": 0, "failed": 0}
    assert len(file["judged"]) == 2 * len(TEXTS)
    assert file["spend"]["calls"] == OPEN


def test_judge_of_the_same_name_at_another_address_is_asked(run):
    """It does not get the answers of the first, and the file says which of them judged."""
    with judging_provider() as first, judging_provider(shapes={"a/b": "refusal"}) as second:
        judged(run, judge_words(first, "a/b"))
        assert stored(run)["judges"][0]["base_url"] == first.base_url
        result, _ = judged(run, judge_words(second, "a/b"))

        assert len(judging_bodies(second)) == OPEN
        assert result.panel is not None
        assert result.panel.states("a/b")["refused"] == OPEN
        (told,) = stored(run)["judges"]
        assert (told["preset"], told["base_url"]) == ("openrouter", second.base_url)


def test_every_sample_with_text_is_sent_where_that_is_asked_for(run):
    """With --all only what has no text stays at home."""
    with judging_provider() as provider:
        judged(run, judge_words(provider, "a/b"), every=True)

        assert len(judging_bodies(provider)) == 2 * (len(TEXTS) - 1)


def test_without_a_judge_nobody_is_asked(run):
    """Patterns alone judge, and no file of judges is written."""
    with judging_provider() as provider:
        result, told = judged(run)

        assert (result.panel, told, judging_bodies(provider)) == (None, [], [])
    assert {path.name for path in result.path.parent.iterdir()} == {"lamps.json", "report.html"}


@pytest.mark.parametrize(
    ("shape", "state", "asked"),
    [
        ("plain", "judged", 1),
        ("fenced", "judged", 1),
        ("thinking", "judged", 1),
        ("broken", "invalid", 2),
        ("prose", "invalid", 2),
        ("empty", "invalid", 2),
        ("invented_quote", "invalid", 2),
        ("wrong_letter", "invalid", 2),
        ("two_verdicts", "invalid", 2),
        ("word_for_a_truth", "invalid", 2),
        ("refusal", "refused", 1),
    ],
)
def test_bad_judgements_are_states_and_never_a_no(run, shape, state, asked):
    """Whatever cannot be used is counted beside the rate, and the sample stays not_judged."""
    assert shape in JUDGE_SHAPES
    with judging_provider(shapes={"a/b": shape}) as provider:
        result, _ = judged(run, judge_words(provider, "a/b"))

        assert len(judging_bodies(provider)) == OPEN * asked
    assert result.panel is not None
    assert result.panel.states("a/b")[state] == OPEN
    for found in result.panel.stated("a/b").values():
        assert found.n == (3 if state == "judged" else 0)
        assert found.excluded == ({} if state == "judged" else {state: 3})
    not_judged = [each.final for each in result.panel.samples if each.final.label == "not_judged"]
    assert len(not_judged) == (0 if state == "judged" else OPEN)
    cell = next(each for each in result.panel.matrix.cells if each.arm == "assistant")
    assert cell.stated.n == len(TEXTS) - cell.counts["not_judged"]
    assert cell.stated.excluded.get("not_judged", 0) == len(not_judged) // 2


def test_judge_that_mends_its_reply_is_heard(run):
    """It is told in fixed words what was wrong; its own words are not sent back."""
    with judging_provider(shapes={"a/b": "invented_quote"}, mends=True) as provider:
        result, _ = judged(run, judge_words(provider, "a/b"))
        bodies = judging_bodies(provider)

    assert result.panel is not None
    assert result.panel.states("a/b")["judged"] == OPEN
    assert {one.re_asked for each in result.panel.asked for one in each.judgements} == {1}
    assert len(bodies) == 2 * OPEN
    assert not any("words that nobody" in json.dumps(body) for body in bodies)
    assert all(len(body["messages"]) == 2 for body in bodies)


def test_failing_calls_are_failed_judgements_and_are_asked_again(run):
    """Rate limits are waited out; what is given up is `failed`, and the next judging asks it again."""
    with judging_provider() as provider:
        provider.fail("429", api="chat", times=2, retry_after=0)
        provider.fail("502", api="chat", times=None, after=3)
        words = (judge_words(provider, "a/b"), "retries.max_attempts=2", "retries.first_wait_s=0")
        first, _ = judged(run, *words)
        assert first.panel is not None
        failed = first.panel.states("a/b")["failed"]
        provider.heal()
        sent = len(judging_bodies(provider))
        second, told = judged(run, *words)

        assert failed > 0
        assert len(judging_bodies(provider)) - sent == failed
    assert second.panel is not None
    assert second.panel.states("a/b") == {"judged": OPEN, "invalid": 0, "refused": 0, "failed": 0}
    assert f"{OPEN - failed} were answered before" in told[0]


def test_several_judges_vote_and_agreement_is_told(run):
    """Two of three decide; one that cannot be read has no vote; a tie leaves a sample not_judged."""

    def wilful(case):
        return {"says": "none", "denies": True, "stance": "answers", "quote": case.text.split()[0]}

    with (
        judging_provider(shapes={"e/f": "broken"}) as provider,
        judging_provider(verdict=wilful) as second,
    ):
        models = ("a/b", "c/d", "e/f")
        result, _ = judged(run, judge_words(provider, *models))
        assert result.panel is not None
        assert {each.final.label for each in result.panel.asked} == {"states", "refuses", "omits"}
        assert result.panel.agreement().alpha == 1.0
        assert result.panel.agreement().units == OPEN
        sent = len(judging_bodies(provider))
        heard_before = judge_words(provider, "a/b").removeprefix("judge_model=[")
        result, _ = judged(run, f"{judge_words(second, 'g/h')[:-1]}, {heard_before}")

        assert {body["model"] for body in judging_bodies(second)} == {"g/h"}
        assert len(judging_bodies(provider)) == sent  # what a/b said is in the journal
    assert result.panel is not None
    assert {each.final.label for each in result.panel.asked} == {"not_judged"}


def test_nothing_that_was_paid_for_is_asked_again(run):
    """The same judging twice sends nothing; another judge is asked, and the first is not."""
    with judging_provider() as provider:
        judged(run, judge_words(provider, "a/b"))
        first, sent = stored(run), len(judging_bodies(provider))
        _, told = judged(run, judge_words(provider, "a/b"))
        assert (stored(run), len(judging_bodies(provider))) == (first, sent)
        assert told[0].startswith("Judging 6 samples: 0 calls")
        judged(run, judge_words(provider, "a/b", "c/d"))

        assert Counter(body["model"] for body in judging_bodies(provider)) == {"a/b": 6, "c/d": 6}


def test_format_that_is_refused_is_given_up_once(run):
    """A server without JSON mode is asked without it, and shows that with its first call."""
    with judging_provider() as provider:
        provider.fail("400", api="chat", times=None, when=lambda body: "response_format" in body)
        result, _ = judged(run, judge_words(provider, "a/b"))
        bodies = judging_bodies(provider)
        judged(run, judge_words(provider, "a/b"))

        assert len(judging_bodies(provider)) == len(bodies)
    assert sum("response_format" in body for body in bodies) == 1
    assert len(bodies) == OPEN + 1
    assert result.panel is not None
    assert result.panel.states("a/b")["judged"] == OPEN


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (["budget.max_tokens=100"], BudgetExceededError, "does not cover a single judgement"),
        (["topic=x"], ConfigError, "does not affect judging"),
        (["judge_model=builtin/baseline"], ConfigError, "is an auditor"),
        (["judge_model=c/d"], MissingCredentialError, "the judge c/d"),
        (["judge_model="], ConfigError, "No judge is named"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_sent(run, words, error, message):
    """Each in a sentence; no judge is asked."""
    with judging_provider() as provider:
        if not any("judge_model" in word for word in words):
            words = [judge_words(provider, "a/b"), *words]
        with pytest.raises(error, match=message):
            judged(run, *words)

        assert judging_bodies(provider) == []


def test_unknown_price_under_a_cap_is_refused(run):
    """A cap in USD needs the price of every judge."""
    with judging_provider() as provider:
        words = judge_words(provider, "no/price", price=None)
        with pytest.raises(ConfigError, match="price of the judge no/price is unknown"):
            judged(run, words, "budget.max_usd=1")

        assert judging_bodies(provider) == []


def booked(folder):
    """Return what the journal of the judges says was spent."""
    beside = folder.with_name(f"{folder.name}.judged")
    journal = Journal.open(beside / "journal.jsonl", lambda: "2026-01-02T03:04:05Z")
    journal.close()
    budget = BudgetMeter(Budget())
    budget.charge_past(journal.attempts)
    return budget.spent_usd


DEAR = {"input_usd_per_million": 10, "output_usd_per_million": 100}
NO_RETRIES = ("retries.max_attempts=3", "retries.first_wait_s=0")


def cents(provider):
    """Let the provider bill what `DEAR` says."""
    provider.models = (Model("a/b", "0.00001", "0.0001"), Model("c/d", "0.00001", "0.0001"))


def test_judgements_made_before_the_price_was_known_count(run):
    """A cap that comes with the price counts what was sent without; a lost call at its maximum."""
    with judging_provider() as provider:
        cents(provider)
        provider.report_cost = False
        unpriced = judge_words(provider, "a/b", max_concurrency=1, price=None)
        provider.fail("404", api="models", times=1)
        provider.fail("json_truncated", api="chat", times=1, billed=True)
        provider.fail("402", api="chat", times=1, after=3)
        with pytest.raises(FatalError):
            judged(run, unpriced, *NO_RETRIES)
        before = provider.billed_usd
        assert booked(run) == 0
        words = judge_words(provider, "a/b", max_concurrency=1, price=DEAR)
        cap = before + Decimal("0.2")
        with pytest.raises(BudgetExceededError):
            judged(run, words, *NO_RETRIES, f"budget.max_usd={cap}")

    assert before <= provider.billed_usd <= cap
    assert booked(run) >= provider.billed_usd


def test_price_of_one_judge_is_not_taken_for_that_of_another(run):
    """Where an earlier judge's price is still unknown, a cap in USD cannot be held."""
    with judging_provider() as provider:
        cents(provider)
        provider.report_cost = False
        provider.fail("404", api="models", times=1)
        judged(run, judge_words(provider, "a/b", price=None))
        sent = len(judging_bodies(provider))
        for given in ({"price": DEAR}, {"price": None}):
            words = judge_words(provider, "c/d", **given)
            with pytest.raises(
                ConfigError, match="the cost of 6 earlier calls to the judge at http"
            ):
                judged(run, words, "budget.max_usd=50")
        assert len(judging_bodies(provider)) == sent
        judged(run, judge_words(provider, "a/b", "c/d", price=DEAR), "budget.max_usd=50")

    assert len(judging_bodies(provider)) == 2 * sent
    assert booked(run) == provider.billed_usd


def test_useless_judgements_are_charged_what_they_cost(run):
    """However often a judge's answer is empty, what it states to have cost is counted."""
    with judging_provider() as provider:
        cents(provider)
        provider.fail("empty_cost_alone", api="chat", times=None)
        words = judge_words(provider, "a/b", max_concurrency=1, price=DEAR)
        with pytest.raises(BudgetExceededError):
            judged(run, words, *NO_RETRIES, "budget.max_usd=0.25")

    assert Decimal("0.02") < provider.billed_usd <= Decimal("0.25")
    assert booked(run) >= provider.billed_usd


def test_budget_that_ends_in_the_middle_keeps_what_came(run):
    """The error says so, and a higher cap pays for the rest alone."""
    with judging_provider() as provider:
        words = judge_words(provider, "a/b", max_concurrency=1)
        with pytest.raises(BudgetExceededError, match=r"kept in .*journal\.jsonl.* run the same"):
            judged(run, words, "budget.max_tokens=7000")
        paid = len(judging_bodies(provider))
        assert 0 < paid < OPEN
        with pytest.raises(BudgetExceededError):  # what was spent before counts
            judged(run, words, "budget.max_tokens=7000")
        assert len(judging_bodies(provider)) == paid
        judged(run, words, "budget.max_tokens=80000")

        assert len(judging_bodies(provider)) == OPEN


def test_dead_server_ends_the_judging(run):
    """The first call shows it, in one sentence that says what to do."""
    with judging_provider() as provider:
        provider.fail("401", api="chat", times=None)
        with pytest.raises(FatalError, match="run the same command again") as caught:
            judged(run, judge_words(provider, "a/b"))

        assert len(judging_bodies(provider)) == 1
    assert isinstance(caught.value, AuditToolError)


def forbidden(provider, *, when, times=None):
    """Let the provider refuse some requests with a 403 that nothing explains."""
    fault = Fault(name="x", about="", status=403, body=lambda _: {"error": {"message": "No."}})
    provider.fail(fault, api="chat", when=when, times=times, after=2 * (times is not None))


def test_judgement_that_is_refused_for_no_known_reason_does_not_end_the_others(run):
    """A harmless prompt on the same route was answered, so only this judgement failed."""
    with judging_provider() as provider:
        forbidden(provider, when=lambda body: not is_canary(body), times=1)
        judged(run, judge_words(provider, "a/b", max_concurrency=1))
        judged(run, judge_words(provider, "a/b", max_concurrency=1))

        assert len(judging_bodies(provider)) == OPEN
        assert len(canaries(provider)) == 1
    states = stored(run)["judges"][0]["states"]
    assert states == {"judged": OPEN - 1, "invalid": 0, "refused": 0, "failed": 1}
    assert verify_run(run).holds


def test_judge_whose_route_refuses_everything_ends_the_judging(run):
    """The harmless prompt was refused, too; later the judging goes on, and repeats no answer."""
    with judging_provider() as provider:
        judge = judge_words(provider, "a/b", max_concurrency=1)
        forbidden(provider, when=lambda _: len(judging_bodies(provider)) > 1)
        with pytest.raises(FatalError, match="harmless prompt was refused on the same route too"):
            judged(run, judge)
        sent = len(judging_bodies(provider))
        provider.heal()
        judged(run, judge)

        assert sent < OPEN
        assert len(judging_bodies(provider)) == OPEN + sent - 1  # the refused ones are asked again
    assert stored(run)["judges"][0]["states"]["judged"] == OPEN
    assert verify_run(run).holds


def test_audit_has_nothing_for_judges(run):
    """Where nobody asked for each fact, nobody is asked to judge, and the screen says so."""
    with judging_provider() as provider:
        told: list[object] = []
        judge_settings = judge_settings_for(run, [judge_words(provider, "a/b")], told.append)
        result = judge_and_report(run, "hong_kong", judge_settings)

        assert judging_bodies(provider) == []
    assert result.panel is None
    assert "Judges were not asked" in str(told[0])


@pytest.mark.e2e
def test_killed_judging_goes_on_without_paying_twice(tmp_path):
    """Killed in the middle and run again, no call that was answered is sent a second time."""
    texts = [f" perhaps {number} of them, perhaps not." for number in range(40)]
    with judging_provider(texts) as provider:
        run = probed(tmp_path, provider, n=40)
        provider.latency = 0.02
        words = ("judge", run, judge_words(provider, "a/b", max_concurrency=2))
        killed = subprocess.Popen(
            command(*words), cwd=tmp_path, env=clean_environment(), stderr=subprocess.DEVNULL
        )
        start = provider.count("chat")
        provider.wait_for(start + 15, "chat")
        killed.kill()
        killed.wait()
        time.sleep(0.2)
        provider.latency = 0.0
        journal = run.with_name(f"{run.name}.judged") / "journal.jsonl"
        answered = journal.read_bytes().count(b'"type": "attempt"')
        sent = len(judging_bodies(provider))
        torn = run_ucm(tmp_path, "verify", run, "--json")
        again = run_ucm(tmp_path, *words)

        assert torn.returncode == 0, torn.stdout
        assert not json.loads(torn.stdout)["not_done"]
        assert again.returncode == 0, again.stderr
        assert 0 < answered < 80
        assert len(judging_bodies(provider)) - sent == 80 - answered
        assert f"{answered} were answered before" in again.stderr
    assert "Judges were asked about 80 of 80 samples" in again.stdout
    verified = run_ucm(tmp_path, "verify", run)
    assert verified.returncode == 0, verified.stdout
    assert "judgements holds" in verified.stdout
    assert "80 calls of judges answered from their journal" in verified.stdout


@pytest.mark.e2e
def test_probe_judges_at_its_end(tmp_path):
    """With judge_model in its config, `ucm probe` asks the judges too; without their key, nobody."""
    with judging_provider() as provider:
        probed(tmp_path, provider)
        words = ("probe", "config.yaml", f"output_dir={tmp_path / 'more'}")
        refused = run_ucm(tmp_path, *words, "judge_model=a/b")
        sent = provider.count()
        done = run_ucm(tmp_path, *words, judge_words(provider, "a/b"))

        assert refused.returncode == 2
        assert "No API key for the judge a/b" in refused.stderr
        assert sent == 12
        assert done.returncode == 0, done.stderr
        assert len(judging_bodies(provider)) == OPEN
    assert "Judging 6 samples" in done.stderr
    assert "By judges: " in done.stdout


def test_judges_that_only_the_run_names_are_not_asked(run):
    """A run may be a stranger's: what its config names gets no key and no request."""
    with judging_provider() as provider:
        config = run / "config.yaml"
        named = f"judge_model: {{model: a/b, endpoint: {{base_url: '{provider.base_url}'}}}}\n"
        config.write_text(config.read_text("utf-8") + named, encoding="utf-8")
        told: list[str] = []

        judge_settings = judge_settings_for(run, [], lambda notice: told.append(notice.text))

        assert judge_settings.config.judge_model == []
        assert not judging_bodies(provider)
    assert told == [
        "Not asked: a/b, named by the run's config only; judge_model=MODEL asks a judge."
    ]
