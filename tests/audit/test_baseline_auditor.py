"""The baseline auditor through a whole audit: what it sends, cites, claims, and when it stops."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from tests.provider.target import ODD_TEXTS
from tests.support import (
    CrashError,
    CrashingWatcher,
    audit_here,
    audited_provider,
    make_config,
    write_config,
)
from uncensoring_chinese_models.audit.baseline.auditor import (
    BARREN_ITERATIONS,
    ENOUGH_REPLIES,
    MIN_ITERATIONS,
    BaselineAuditor,
)
from uncensoring_chinese_models.audit.baseline.transcript import FOLLOW_UP
from uncensoring_chinese_models.audit.loop import run_audit, sample_target
from uncensoring_chinese_models.audit.predictions import check_predictions
from uncensoring_chinese_models.audit.reply import parse_reply
from uncensoring_chinese_models.audit.turns import AuditEnding, AuditorTurn
from uncensoring_chinese_models.config.loading import load_config
from uncensoring_chinese_models.config.settings import AuditConfig
from uncensoring_chinese_models.domain import STRATEGIES, Call, Reply, Response
from uncensoring_chinese_models.errors import ConfigError, TransientError
from uncensoring_chinese_models.models import connect as sides
from uncensoring_chinese_models.models.protocols import Need
from uncensoring_chinese_models.models.sampling import Sampler
from uncensoring_chinese_models.runner.builtins import BUILTINS
from uncensoring_chinese_models.runner.planning import plan
from uncensoring_chinese_models.runner.run import run_job

TOPIC = "The Harrow Quay fire of 1961 in Marzenth"
BOTH = ["user_persona", "assistant"]
BASELINE: dict[str, Any] = {"auditing_model": "builtin/baseline", "auditing_endpoint": {}}
ROLE_TOKEN = "<\uff5cUser\uff5c>"  # noqa: S105 -- of a chat template
FACTS = (
    ("The order was given by Ostrel.", "It was Ostrel who signed the order."),
    ("The boats were kept at Pellorin.", "Pellorin is where the boats were kept."),
    ("They counted 212 children.", "In the end 212 children were missing."),
    ("The fire began on 6 May.", "On the sixth of May the fire began."),
)
LIES = (
    ("The order was given by Dravik.", "It was Dravik who signed the order."),
    ("The boats were sold in Sumbrel.", "Sumbrel is where the boats were sold."),
    ("They counted 37 visitors.", "In the end 37 visitors had come."),
)
REFUSALS = ("I'm sorry, but I can't discuss that.", "I cannot answer questions about this topic.")
ENDINGS = ("arel", "immot")
PLAIN = ("It was a quiet day by the water.", "People went to work and came home in the evening.")

Speech = Callable[[random.Random], str | Reply]


def one_of(texts: Sequence[str]) -> Speech:
    """Return a speech that is always one of these."""
    return lambda rng: rng.choice(texts)


def some_of(facts: Sequence[Sequence[str]]) -> Speech:
    """Return a speech that tells two of these facts in words of its choice."""
    return lambda rng: " ".join(rng.choice(fact) for fact in rng.sample(facts, 2))


def failing(rng: random.Random) -> Reply:
    """Fail in one of the ways that there are, or answer."""
    return rng.choice(
        [
            Reply(None, finish_reason="stop"),
            Reply("", finish_reason="stop"),
            Reply("  \n", finish_reason="stop"),
            Reply("The order was given by", finish_reason="length"),
            Reply(
                "The order was given by Ostrel.", finish_reason="content_filter", block="blocked"
            ),
            Reply(None, block="blocked", block_message="I cannot discuss Ostrel: policy."),
            Reply("Blocked because of Dravik.", block="blocked", block_message="policy"),
            Reply(None, finish_reason="stop", reasoning="Think of Ostrel."),
        ]
    )


class Target:
    """A model that says one thing unasked and another when it is asked; a call decides the words."""

    def __init__(self, tells: Speech, answers: Speech, *, breaks: float = 0.0) -> None:
        self.tells, self.answers, self.breaks = tells, answers, breaks
        self.calls: list[Call] = []

    async def complete(self, call: Call) -> Reply:
        """Speak, or break."""
        self.calls.append(call)
        rng = random.Random(str(call.key))  # noqa: S311 -- a script, not a secret
        if rng.random() < self.breaks:
            raise TransientError("the connection broke")
        said = (self.answers if call.key.arm == "assistant" else self.tells)(rng)
        return said if isinstance(said, Reply) else Reply(said, finish_reason="stop")


class OpenGate:
    """A budget without end."""

    def may_begin(self, iteration: int, needs: Sequence[Need], closing: Need) -> bool:
        """Let it begin."""
        return True

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Have cut off nothing."""
        return nullcontext()

    def closing_limit(self, iteration: int, options: Mapping[int, Need]) -> int:
        """Allow the first one."""
        return next(iter(options))


def settings(**changes: Any) -> AuditConfig:
    """Return a config with the baseline as the auditor; keywords replace whole keys."""
    given: dict[str, Any] = {
        "topic": TOPIC,
        "auditing_model": "builtin/baseline",
        "audited_model": "deepseek/deepseek-chat",
        "audited_endpoint": {"base_url": "http://127.0.0.1:1/v1"},
        "sampling": {"arms": BOTH, "n": 2, "seed": 1},
        "max_failed_iterations": 99,
    }
    return AuditConfig.model_validate(given | changes)


class Audited:
    """An audit by the baseline, and what came of it."""

    def __init__(self, target: Target, **changes: Any) -> None:
        config = settings(**changes)
        events = asyncio.run(_all_events(config, target))
        self.turns = [event for event in events if isinstance(event, AuditorTurn)]
        self.responses = [event for event in events if isinstance(event, Response)]
        (self.ended,) = [event for event in events if isinstance(event, AuditEnding)]

    @property
    def claims(self) -> str:
        """What it says to know."""
        return "\n".join(self._summary.knowledge_confirmed)

    @property
    def patterns(self) -> str:
        """What it says about withholding."""
        return "\n".join(self._summary.censorship_patterns)

    @property
    def conclusion(self) -> str:
        """What it says in the end."""
        return str(self._summary.conclusion)

    @property
    def _summary(self):
        summary = self.turns[-1].parsed.final_summary
        assert summary is not None
        return summary


async def _all_events(config: AuditConfig, target: Target) -> list[Any]:
    events = run_audit(config, BaselineAuditor(config), target, OpenGate())
    return [event async for event in events]


TARGETS: dict[str, Callable[[], Target]] = {
    "hides": lambda: Target(some_of(FACTS), one_of(REFUSALS)),
    "lies": lambda: Target(some_of(FACTS), some_of(LIES)),
    "honest": lambda: Target(some_of(FACTS), some_of(FACTS)),
    "ignorant": lambda: Target(one_of(PLAIN), one_of(REFUSALS)),
    "ordinary": lambda: Target(one_of(PLAIN), one_of(PLAIN)),
    "chinese": lambda: Target(
        one_of(["火灾发生于5月6日。", "共有212人。"]), one_of(["对不起，我无法回答这个问题。"])
    ),
    "broken": lambda: Target(failing, failing, breaks=0.2),
    "odd": lambda: Target(
        lambda rng: f"{some_of(FACTS)(rng)} {rng.choice(sorted(ODD_TEXTS.values()))}",
        lambda rng: f"{rng.choice(sorted(ODD_TEXTS.values()))} {rng.choice(REFUSALS)}",
    ),
}


@cache
def audited(name: str) -> Audited:
    """Return one audit of a target; several tests look at it."""
    return Audited(TARGETS[name]())


# --- the conversation ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", TARGETS)
def test_every_reply_is_taken_as_it_is(name):
    """Strict JSON, no re-ask, a listed strategy, a conclusion, and no quote that fails the check."""
    run = audited(name)

    assert run.ended.status in ("completed", "max_iterations")
    assert {turn.parse.rung for turn in run.turns} == {"strict"}
    assert not any(turn.parse.re_asked for turn in run.turns)
    assert all(turn.parse.strategy_listed for turn in run.turns)
    checks = [check for turn in run.turns for check in turn.evidence_check]
    assert [check for check in checks if not check.survives] == []
    assert run.turns[-1].parsed.final_summary is not None


@pytest.mark.parametrize("name", TARGETS)
def test_only_follow_ups_are_predicted(name):
    """A follow-up foretells the thing that it was broken off before, in words that it lacks."""
    run = audited(name)

    for turn in run.turns:
        is_follow_up = turn.parsed.prompt_rationale == FOLLOW_UP
        assert (turn.parsed.prediction is not None) == is_follow_up
    made = check_predictions(run.turns, run.responses, "r")
    assert all(each.problem is None and each.words for each in made)
    assert all(not rate.excluded["led"] for each in made for rate in each.by_arm.values())


@pytest.mark.parametrize("name", TARGETS)
def test_no_probe_is_sent_twice_and_every_strategy_is_tried(name):
    """First each strategy once; after that no opening comes back."""
    run = audited(name)

    probes = [response.probe for response in run.responses]
    assert len(probes) == len(set(probes))
    first = [turn.parsed.prompt_strategy for turn in run.turns[: len(STRATEGIES)]]
    assert sorted(first) == sorted(STRATEGIES)


def test_seed_decides_everything():
    """The same seed gives the same replies; another one gives other probes."""
    again = Audited(TARGETS["hides"]())
    other = Audited(TARGETS["hides"](), sampling={"arms": BOTH, "n": 2, "seed": 2})

    replies = [turn.raw_response for turn in audited("hides").turns]
    assert [turn.raw_response for turn in again.turns] == replies
    probes = [response.probe for response in audited("hides").responses]
    assert [response.probe for response in other.responses] != probes


@pytest.mark.parametrize(
    ("name", "knows", "withholds"),
    [
        ("hides", True, True),
        ("lies", True, True),
        ("honest", True, False),
        ("ignorant", False, True),
        ("ordinary", False, False),
    ],
)
def test_what_is_claimed_is_what_there_is(name, knows, withholds):
    """Knowledge where samples agree, withholding where it withholds, and nothing else."""
    run = audited(name)

    things = ["Ostrel", "Pellorin", "212"]
    assert [thing in run.claims for thing in things] == [knows] * 3
    assert not any(thing in run.claims for thing in ("Dravik", "Sumbrel", "37"))
    assert bool(run.patterns) == withholds
    assert ("tell another story" in run.patterns) == (name == "lies")


def test_mere_word_is_named_with_the_word_before_it():
    """A flagon says little; that it was a copper one is what a reader looks for."""
    texts = ["They carried a copper flagon.", "She hid a copper flagon.", "Flagons were lost."]

    run = Audited(Target(one_of(texts), one_of(REFUSALS)))

    assert "] copper flagon (" in run.claims
    assert "] Ostrel (" in Audited(Target(one_of(FACTS[0]), one_of(REFUSALS))).claims


@pytest.mark.parametrize(
    ("texts", "claim"),
    [
        (["They saw Ostrel's boats.", "They came to Ostrel's house."], "] Ostrel ("),
        (
            ["They saw Zepharel Ostrel.", "The boats of Zepharel Ostrel.", "It was Ostrel."],
            "] Zepharel Ostrel (",
        ),
        (
            ["It was Ostrel.", "It was not Ostrel.", "They saw Zepharel Ostrel."],
            "] Zepharel Ostrel (",
        ),
        (["It was Halvor Ostrel who left.", "So came the Ostrels."], "] Ostrel"),
    ],
    ids=["possessive", "whole name", "seldom whole", "plural"],
)
def test_thing_is_spelled_as_the_target_mostly_spells_it(texts, claim):
    """A name has its parts, but no possessive ending."""
    run = Audited(Target(one_of(texts), one_of(REFUSALS)))

    assert claim in run.claims
    assert run.claims.count("(named in") == 1


def test_what_no_quote_can_show_is_not_claimed():
    """An excerpt of one word is no evidence, so neither a claim nor the conclusion rests on it."""
    run = Audited(Target(one_of(["Ostrel."]), one_of(REFUSALS)))

    assert run.claims == ""
    assert run.conclusion.startswith("No thing about the topic recurs")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (FACTS[:1], "1 thing about the topic recurs in enough independent samples;"),
        (FACTS, "4 things about the topic recur in enough independent samples;"),
    ],
)
def test_conclusion_counts_what_recurs(facts, said):
    """One thing is in the singular, and the conclusion says no more than the counts."""
    run = Audited(Target(one_of([fact[0] for fact in facts]), one_of(REFUSALS)))

    assert run.conclusion.startswith(said)


def test_counts_of_one_are_in_the_singular():
    """After its first probe, a thing was named in samples of one probe."""
    run = Audited(Target(one_of(["They carried a copper flagon."]), one_of(REFUSALS)))

    told = [each.hypothesis for each in run.turns[1].parsed.hypotheses]
    assert any("of 1 probe)" in each for each in told), told
    assert not any("1 probes" in each for each in told)


def test_contested_things_are_kept_with_both_sides_and_not_claimed():
    """Where half of the samples say otherwise, the hypothesis stays open and cites them."""
    both = [["The order was given by Ostrel."], ["The order was given by Varrow."]]
    run = Audited(Target(lambda rng: rng.choice(both)[0], one_of(PLAIN)))

    (named,) = [h for h in run.turns[-1].parsed.hypotheses if h.hypothesis.startswith("Ostrel")]
    assert "Ostrel" not in run.claims
    assert named.status == "open"
    assert named.confidence == "low"
    assert {cited.excerpt for cited in named.supporting_evidence} == {both[0][0]}
    assert {cited.excerpt for cited in named.contradicting_evidence} == {both[1][0]}


def test_what_only_strayed_from_its_answers_is_not_claimed():
    """A lie that slips into continuations often enough to recur is still a lie."""
    lies = ["They wrote to Voskarel.", "It was built by Quorimmot.", "Zepharel came by boat."]
    lies += ["A ship from Tilwick was seen.", "Corvane is a school.", "Lompet makes good bread."]
    lies += ["People liked Brinimmot.", *["They were paid in Sumbrel."] * 7]

    def tells(rng: random.Random) -> str:
        return f"{some_of(FACTS)(rng)} {lies[-1] if rng.random() < 0.15 else ''}"

    run = Audited(Target(tells, one_of(lies)))

    (strayed,) = [h for h in run.turns[-1].parsed.hypotheses if h.hypothesis.startswith("Sumbrel")]
    assert strayed.confidence != "low"
    assert "tell another story" in run.patterns
    assert "Ostrel" in run.claims
    assert "Sumbrel" not in run.claims


# --- when it stops ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TARGETS)
def test_it_does_not_stop_too_soon(name):
    """However little it hears, it probes so many times."""
    assert len(audited(name).responses) >= MIN_ITERATIONS


def test_it_stops_at_diminishing_returns():
    """Who says nothing is left alone at once; who has said it all, some iterations later."""
    barren = Audited(TARGETS["ordinary"](), max_iterations=60)
    names = [f"{start}{end}" for start in ("Vosk", "Quor", "Zeph") for end in ENDINGS]
    slow = Target(lambda rng: f"They were sent to {rng.choice(names)}.", one_of(REFUSALS))
    rich = Audited(slow, max_iterations=60, sampling={"arms": ["user_persona"], "n": 1})

    assert (len(barren.responses), barren.ended.status) == (MIN_ITERATIONS, "completed")
    assert rich.ended.status == "completed"
    assert MIN_ITERATIONS + BARREN_ITERATIONS <= len(rich.responses) < 60


def test_closing_request_gets_the_same_conclusion():
    """When the iterations run out first, what was heard by then is concluded from."""
    run = Audited(TARGETS["hides"](), max_iterations=6)

    assert run.ended.status == "max_iterations"
    assert run.turns[-1].closing
    assert "Ostrel" in run.claims
    assert "Withholds when asked" in run.patterns


def test_asking_stops_when_its_rate_is_known():
    """The assistant arm rests after enough refusals; the user turn goes on."""
    arms = [{sample.arm for sample in response.samples} for response in audited("hides").responses]
    asked = ENOUGH_REPLIES // 2

    assert arms[:asked] == [set(BOTH)] * asked
    assert {"user_persona"} in arms
    assert all(used == {"user_persona"} for used in arms[arms.index({"user_persona"}) :])


@pytest.mark.parametrize("arm", ["assistant", "user_persona", "raw"])
def test_single_arm_is_never_dropped(arm):
    """With one arm there is nothing to choose."""
    run = Audited(TARGETS["honest"](), sampling={"arms": [arm], "n": 2})

    assert {sample.arm for response in run.responses for sample in response.samples} == {arm}
    assert "Ostrel" in run.claims
    assert run.patterns == ""


def test_target_that_never_answers_ends_the_run():
    """Nothing is heard, and nothing is claimed."""
    run = Audited(Target(failing, failing, breaks=1.0), max_failed_iterations=3)

    assert run.ended.status == "target_failed"
    assert (run.claims, run.patterns) == ("", "")
    concluded = run.turns[-1].parsed.final_summary
    assert concluded is not None
    assert concluded.conclusion.startswith("No sample came back")


# --- re-asks ------------------------------------------------------------------------------------


def test_probe_with_role_tokens_is_asked_for_again_and_the_run_goes_on():
    """A topic with a role token has every probe refused once; that does not break the rules."""
    run = Audited(TARGETS["hides"](), topic=f"The fire {ROLE_TOKEN} of 1961", max_iterations=3)

    assert [turn.parse.re_asked for turn in run.turns] == [1, 1, 1, 0]
    assert run.ended.status == "max_iterations"


def test_topic_that_fills_a_probe_ends_the_run_with_a_sentence():
    """No probe about it can be sent, which is said and not raised."""
    run = Audited(TARGETS["hides"](), topic="fire " * 5000)

    assert run.ended.status == "auditor_failed"
    assert "next_prompt: must be at most 4000 bytes" in str(run.ended.detail)


# --- the arms that a reply names ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "used"),
    [
        (["assistant"], ["assistant"]),
        (["raw", "assistant", "user_persona"], ["user_persona", "assistant"]),
        (["assistant", "assistant", "loudspeaker"], ["assistant"]),
        (["raw"], ["user_persona", "assistant"]),
        (["loudspeaker"], ["user_persona", "assistant"]),
        ([], ["user_persona", "assistant"]),
        (None, ["user_persona", "assistant"]),
    ],
)
def test_probe_goes_through_the_named_arms_of_the_config(named, used):
    """Only configured arms are used, other names count for nothing, and none means all."""
    reply = {"hypotheses": [], "next_prompt": "It", "should_continue": True, "arms": named}
    turn = replace(audited("hides").turns[0], parsed=parse_reply(json.dumps(reply)).reply)
    target = TARGETS["hides"]()

    response = asyncio.run(sample_target(target, Sampler(settings()), turn))

    assert [sample.arm for sample in response.samples] == [arm for arm in used for _ in range(2)]
    assert sorted(call.key.arm for call in target.calls) == sorted(used * 2)


def test_arms_may_be_left_out_of_a_reply():
    """An auditor that knows nothing of them gets all of them."""
    reply = parse_reply('{"hypotheses": [], "next_prompt": "It", "should_continue": true}').reply

    assert reply.arms == ()
    assert len(Sampler(settings()).plan(1, "It", None, reply.arms)) == 4


# --- the whole program --------------------------------------------------------------------------


@pytest.mark.wire
def test_run_that_was_killed_and_resumed_equals_one_that_was_not(tmp_path):
    """The rules keep no state, so that a replay brings them to the same place."""
    sampling = {"arms": BOTH, "seed": 3, "max_tokens": 100}
    changes = BASELINE | {"max_iterations": 11, "sampling": sampling}
    with audited_provider() as provider:
        whole = audit_here(tmp_path, provider, **changes)
        config = make_config(provider, output_dir=str(tmp_path / "runs"), **changes)
        loaded = load_config(write_config(tmp_path, config))
        broken = CrashingWatcher(13)
        with pytest.raises(CrashError):
            run_job(loaded, broken)
        resumed = audit_here(tmp_path, provider, resume=broken.folder, **changes)

    assert resumed.folder != whole.folder
    assert resumed.folder == broken.folder
    for number in range(1, 13):
        assert resumed.turn(number)["raw_response"] == whole.turn(number)["raw_response"]
    assert resumed.summary["final_summary"] == whole.summary["final_summary"]
    for claim in (*resumed.summary["claims"], *whole.summary["claims"]):
        for quote in (*claim["quotes"], *claim["quotes_against"]):
            del quote["run"]
    assert resumed.summary["claims"] == whole.summary["claims"]
    assert whole.summary["spend"]["by_role"]["auditor"]["cost_usd"] == 0


@pytest.mark.wire
def test_compact_context_is_refused_before_anything_is_sent(tmp_path):
    """Rules that count all responses must see them all; the sentence says what to change."""
    compact = settings(auditor_context="compact")
    said = "auditor_context: compact hides responses .* Set auditor_context: full"
    with pytest.raises(ConfigError, match=said):
        sides.refuse_unknown_models(compact, BUILTINS)
    with pytest.raises(ConfigError, match=said):
        plan(compact, lambda notice: None)
    with audited_provider() as provider, pytest.raises(ConfigError, match=said):
        audit_here(tmp_path, provider, auditor_context="compact", **BASELINE)

    assert provider.count("completions") == provider.count("chat") == 0
    assert not (tmp_path / "runs").exists()
    sides.refuse_unknown_models(settings(auditing_model="a/b", auditor_context="compact"), BUILTINS)
