"""Scoring by likelihood over the wire: what is sent, what is read, what is kept when it fails."""

from __future__ import annotations

import json
import re

import pytest

from tests.facts_example import example_file, write_facts
from tests.provider import Model, Provider
from tests.provider.fault import Fault
from tests.running import PRICE, run_over
from uncensoring_chinese_models.config.settings import Budget
from uncensoring_chinese_models.errors import FatalError
from uncensoring_chinese_models.measure.probe_settings import probe_config
from uncensoring_chinese_models.models.budget import BudgetMeter
from uncensoring_chinese_models.runs.journal import Journal
from uncensoring_chinese_models.verify.verification import verify_run

FACTS = 3
ENDINGS = 3 * FACTS
TOKEN = re.compile(r"<\|\w+\|>|\s?\w+|\s|.", re.DOTALL)


def echoing(likely: int = 0):
    """Return what turns an answer into an echo in which the fact's number is likely."""

    def amend(ask, reply):
        if not ask.body.get("echo"):
            return reply
        words = TOKEN.findall(ask.prompt)
        numbers = [None, *(-0.1 * len(word) for word in words[1:])]
        at = next(n for n, word in enumerate(words) if re.fullmatch(r"\s?\d{3}", word))
        numbers[at] = -0.2 if int(words[at]) < 300 + likely else -9.0
        choice = reply["choices"][0]
        choice["text"] = ask.prompt + " and"
        choice["logprobs"] = {"tokens": [*words, " and"], "token_logprobs": [*numbers, -1.0]}
        reply["usage"] |= {"prompt_tokens": len(words), "completion_tokens": 1}
        return reply

    return amend


def settings(tmp_path, provider, **changes):
    """Return what a battery of three facts over this provider is told."""
    endpoint = {"preset": "vllm", "base_url": provider.base_url, "template": "chatml"}
    given = {
        "auditing_model": "builtin/facts",
        "auditing_endpoint": {"preset": "builtin"},
        "audited_endpoint": endpoint,
        "facts": write_facts(tmp_path, example_file(FACTS)),
        "likelihood": "auto",
        "auditor_context": "compact",
        "max_iterations": FACTS + 1,
        "sampling": {"n": 1, "max_tokens": 8},
    }
    return {**given, **changes}


def scores(ran):
    """Return what the run stored of its scores."""
    return json.loads((ran.folder / "likelihood.json").read_bytes())


def test_each_ending_is_scored_once_after_the_same_words_of_a_user(tmp_path):
    """The sentence stands in an open user turn, is echoed, and one token is let out."""
    with Provider(amend=echoing()) as provider:
        ran = run_over(tmp_path, provider, **settings(tmp_path, provider))
        sent = [each.body for each in provider.requests if each.body and each.body.get("echo")]

    assert ran.status == "completed"
    assert len(sent) == len({body["prompt"] for body in sent}) == ENDINGS
    assert {body["max_tokens"] for body in sent} == {1}
    assert all(body["add_special_tokens"] is False for body in sent)
    prompt = min(body["prompt"] for body in sent)
    assert prompt.endswith("user\nThe number of lamps in the cypress hall was 121 lamps")
    stored = scores(ran)
    assert stored["method"] == "echo"
    assert [len(fact["endings"]) for fact in stored["facts"]] == [3, 3, 3]
    assert stored["facts"][0]["endings"][0]["tokens"] == [
        [" 111", -0.2],
        [" lamps", pytest.approx(-0.6)],
    ]
    assert verify_run(ran.folder).holds


def test_a_server_that_does_not_echo_scores_nothing(tmp_path):
    """What it writes instead is never taken for a probability; the run is whole without."""
    with Provider() as provider:
        ran = run_over(tmp_path, provider, **settings(tmp_path, provider))

    assert ran.status == "completed"
    errors = {each["error"] for fact in scores(ran)["facts"] for each in fact["endings"]}
    assert errors == {"the server did not echo the prompt with its probabilities"}


def test_an_echo_that_lacks_tokens_scores_nothing(tmp_path):
    """Where the server's own count is another one, words are missing or were added."""

    def shortened(ask, reply):
        reply = echoing()(ask, reply)
        if ask.body.get("echo"):
            reply["usage"]["prompt_tokens"] += 1
        return reply

    with Provider(amend=shortened) as provider:
        ran = run_over(tmp_path, provider, **settings(tmp_path, provider))

    assert all(each["error"] for fact in scores(ran)["facts"] for each in fact["endings"])


def test_parts_of_characters_are_not_told_apart_by_an_echo(tmp_path):
    """Two different parts read alike, so that they would count as shared."""

    def broken(ask, reply):
        reply = echoing()(ask, reply)
        if ask.body.get("echo"):
            tokens = reply["choices"][0]["logprobs"]["tokens"]
            tokens[-3] = "\ufffd"
        return reply

    with Provider(amend=broken) as provider:
        ran = run_over(tmp_path, provider, **settings(tmp_path, provider))

    assert all(
        "part of a character" in e["error"] for f in scores(ran)["facts"] for e in f["endings"]
    )


def test_a_broken_off_scoring_goes_on_without_paying_twice(tmp_path):
    """A budget that ends in the middle ends the run; with a larger one only the rest is sent."""
    with Provider(amend=echoing()) as provider:
        endpoint = {**settings(tmp_path, provider)["audited_endpoint"], "price": PRICE}
        told = settings(tmp_path, provider, audited_endpoint=endpoint)
        first = run_over(tmp_path, provider, **told, budget={"max_usd": 0.009})
        before = len(provider.requests)
        went = [each for each in provider.requests if each.body and each.body.get("echo")]
        second = run_over(tmp_path, provider, resume=first.folder, **told)
        after = [each for each in provider.requests[before:] if each.body and each.body.get("echo")]

    assert first.status == "budget"
    assert first.summary["status_detail"] == "the budget did not cover scoring by likelihood"
    assert 0 < len(went) < ENDINGS
    assert (second.status, len(went) + len(after)) == ("completed", ENDINGS)
    assert [str(each) for each in verify_run(second.folder).failures] == []


@pytest.mark.parametrize("is_whole_route", [False, True])
def test_refusal_for_no_known_reason_costs_one_ending_or_ends_the_run(tmp_path, is_whole_route):
    """A harmless prompt on the same route tells which; a run that was ended can be resumed."""
    refused = Fault(name="x", about="", status=403, body=lambda _: {"error": {"message": "No."}})
    with Provider(amend=echoing()) as provider:
        told = settings(tmp_path, provider)
        times = None if is_whole_route else 1
        provider.fail(refused, api="completions", times=times, after=FACTS + 4)
        first = run_over(tmp_path, provider, **told)
        provider.heal()
        ran = run_over(tmp_path, provider, resume=first.folder, **told) if is_whole_route else first
        echoed = [each for each in provider.requests if each.body and each.body.get("echo")]

    errors = [e["error"] for f in scores(ran)["facts"] for e in f["endings"] if e["error"]]
    assert isinstance(first.error, FatalError) is is_whole_route
    assert ran.status == "completed"
    assert len(errors) == (0 if is_whole_route else 1)
    assert is_whole_route or len(echoed) == ENDINGS
    assert [str(each) for each in verify_run(ran.folder).failures] == []


@pytest.mark.parametrize("shape", [None, "empty_cost_alone", "500", "close_before_headers"])
def test_scores_bought_before_the_price_was_known_count(tmp_path, shape):
    """Scoring charges what was sent without a price, and useless answers, as an audit does."""
    dear = Model("deepseek/deepseek-chat", "0.001", "0.001")
    with Provider(
        amend=echoing(), models=(dear,), report_cost=shape == "empty_cost_alone"
    ) as provider:
        provider.fail("404", api="models", times=1)
        told = settings(tmp_path, provider)
        if shape is not None:
            told |= {"max_failed_iterations": 9}
            provider.fail(shape, api="completions", times=5, after=FACTS, billed=True)
        provider.fail("402", api="completions", times=1, after=FACTS + 3)
        stopped = run_over(tmp_path, provider, **told)
        before = provider.billed_usd
        endpoint = {
            **told["audited_endpoint"],
            "price": {"input_usd_per_million": 1000, "output_usd_per_million": 1000},
        }
        told |= {"audited_endpoint": endpoint, "budget": {"max_usd": 6.0}}
        ran = run_over(tmp_path, provider, resume=stopped.folder, **told)

    journal = Journal.open(ran.folder / "journal.jsonl", lambda: "")
    journal.close()
    budget = BudgetMeter(Budget())
    budget.charge_past(journal.attempts)
    assert type(stopped.error) is FatalError
    assert ran.status in ("completed", "budget")
    assert before <= provider.billed_usd <= 6
    assert budget.spent_usd >= provider.billed_usd
    assert verify_run(ran.folder).holds


def test_a_kind_of_server_that_is_not_known_to_tell_is_not_asked(tmp_path):
    """No request is sent for it, and the screen says what to do."""
    with Provider(amend=echoing()) as provider:
        endpoint = {"base_url": provider.base_url, "template": "chatml"}
        ran = run_over(
            tmp_path, provider, **settings(tmp_path, provider, audited_endpoint=endpoint)
        )
        sent = [each for each in provider.requests if each.body and each.body.get("echo")]

    assert (ran.status, sent) == ("completed", [])
    assert not (ran.folder / "likelihood.json").exists()
    assert any("Likelihood was not measured" in notice for notice in ran.watcher.notices)


@pytest.mark.parametrize("extra", ["", "likelihood: echo\n"])
def test_probing_scores_unless_told_not_to(tmp_path, extra):
    """By default where the server is known to tell, by force where the config says so."""
    path = tmp_path / "probe.yaml"
    path.write_text(f"audited_model: a/b\nfacts: tiananmen\n{extra}", encoding="utf-8")

    assert probe_config(str(path)).settings.likelihood == ("echo" if extra else "auto")
    assert probe_config(str(path), ["likelihood=off"]).settings.scoring is None
