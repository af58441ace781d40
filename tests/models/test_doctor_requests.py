"""The doctor over real sockets: each planted fault is found by its own check, and nothing else is."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from tests.provider.patient import patient
from tests.running import FOUR_ATTEMPTS, KEY, KEY_VARIABLE, PINNED, asked, endpoint, is_target
from tests.support import make_config, only_run, write_config
from uncensoring_chinese_models.config.loading import load_config
from uncensoring_chinese_models.errors import BudgetExceededError, FatalError, TransientError
from uncensoring_chinese_models.models.doctor.canaries import MAX_TOKENS
from uncensoring_chinese_models.models.doctor.examine import checked_endpoints, examine
from uncensoring_chinese_models.models.doctor.screen import WIDTH, conclusion, doctor_lines
from uncensoring_chinese_models.models.layers import InFlight, Journaled
from uncensoring_chinese_models.models.sampling import Sampler
from uncensoring_chinese_models.runner.checkup import run_checkup
from uncensoring_chinese_models.runner.replaying import EndOfRecord, Recording

pytestmark = pytest.mark.wire

ALL_ARMS = ["user_persona", "assistant", "assistant_prefill", "raw"]
RAW_ARMS = ["user_persona", "assistant_prefill", "raw"]
TEMPLATED = ["user_persona", "assistant_prefill"]


def every(check, arms):
    return {f"target/{arm}/{check}" for arm in arms}


FAULTS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "wrapped in a chat template": (
        {"wraps_prompts": True},
        every("raw_prompt", RAW_ARMS) | {"target/assistant_prefill/prefill"},  # which follows
    ),
    "special tokens as plain text": (
        {"reads_specials_as_text": True},
        every("special_tokens", TEMPLATED),
    ),
    "special tokens dropped": ({"drops_specials": True}, every("special_tokens", TEMPLATED)),
    "double BOS": ({"adds_bos": True}, every("raw_prompt", TEMPLATED)),
    "stop ignored": ({"ignores_stop": True}, every("stop", ALL_ARMS)),
    "prefill answered": ({"answers_prefills": True}, {"target/assistant_prefill/prefill"}),
    "another model served": ({"serves": "x-ai/another-model"}, {"target/model"}),
    "another of the family served": ({"serves": "deepseek/deepseek-v3"}, set()),
    "provider not pinned": ({"ignores_provider": True}, {"target/provider"}),
    "JSON mode refused": ({"refuses_json": True}, {"auditor/json_mode"}),
    "JSON mode ignored": ({"ignores_json": True}, {"auditor/json_mode"}),
    "reasoning eats the text": ({"thinks": True}, every("thinking", ALL_ARMS)),
    "seed ignored": ({"ignores_seed": True}, every("seed", ALL_ARMS)),
    "usage hidden": ({"hides_usage": True}, set()),
    "the same text each time": ({"repeats_itself": True}, set()),
}


def checkup(folder, provider, notices=None, /, **changes):
    """Let the doctor see a provider in this process; keywords replace keys of the config."""
    settings = {
        "sampling": {"arms": ALL_ARMS},
        "output_dir": str(folder / "runs"),
        "retries": FOUR_ATTEMPTS,
        "auditing_endpoint": endpoint(provider),
        "audited_endpoint": endpoint(provider, provider=PINNED),
    }
    config = make_config(provider, **settings | changes)
    heard = [] if notices is None else notices
    loaded = load_config(write_config(folder, config))
    return run_checkup(loaded, lambda notice: heard.append(notice.text))


def said(done, verdict):
    return {each.where for each in done.diagnoses if each.verdict == verdict}


def test_nothing_is_wrong_with_an_honest_server(tmp_path):
    """Every check of every arm says yes."""
    with patient() as provider:
        done = checkup(tmp_path, provider)

    assert said(done, "no") == said(done, "unknown") == set()
    assert len(done.diagnoses) == 4 + 6 + 4 + 7 + 5
    assert done.exit_code == 0


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found_by_its_own_check(tmp_path, fault):
    """The check that ought to find it says no, and no other does."""
    ills, expected = FAULTS[fault]
    with patient(**ills) as provider:
        done = checkup(tmp_path, provider)

    assert said(done, "no") == expected
    assert done.exit_code == (3 if expected else 0)


@pytest.mark.parametrize(
    ("ills", "checks"),
    [
        ({"hides_usage": True}, every("raw_prompt", RAW_ARMS) | every("special_tokens", TEMPLATED)),
        ({"repeats_itself": True}, every("seed", ALL_ARMS) | every("samples", ALL_ARMS)),
        ({"serves": "deepseek/deepseek-v3"}, {"target/model"}),
    ],
)
def test_what_the_numbers_do_not_decide_is_unknown(tmp_path, ills, checks):
    """Without token counts, or with one text for everything, the doctor does not guess."""
    with patient(**ills) as provider:
        done = checkup(tmp_path, provider)

    assert said(done, "unknown") == checks


def test_server_that_adds_the_bos_is_right_where_we_leave_it_out(tmp_path):
    """The same server is at fault or not, depending on what we send."""
    with patient(adds_bos=True) as provider:
        reached = endpoint(provider, provider=PINNED, send_bos=False)
        done = checkup(tmp_path, provider, audited_endpoint=reached)

    assert said(done, "no") == said(done, "unknown") == set()


def test_unpinned_provider_is_no_fault_until_two_hosts_answer(tmp_path):
    """A config that pins nothing gets no yes; samples that mix hosts get a no."""
    with patient() as provider:
        one = checkup(tmp_path, provider, audited_endpoint=endpoint(provider))
    with patient(ignores_provider=True) as provider:
        two = checkup(tmp_path, provider, audited_endpoint=endpoint(provider))

    assert said(one, "unknown") == said(two, "no") == {"target/provider"}
    assert said(one, "no") == set()


def test_model_that_does_not_exist_ends_the_doctor(tmp_path):
    """Where the server knows no such model by either API, no check is claimed to have failed."""
    with patient(strict_models=True) as provider:
        reached = endpoint(provider, template="deepseek-v3")
        with pytest.raises(FatalError) as caught:
            checkup(tmp_path, provider, audited_model="x/none", audited_endpoint=reached)

        assert len(asked(provider, "target")) == 2  # the first of each API
        assert len(asked(provider, "auditor")) == 1
    told = str(caught.value)
    assert told.startswith(f"The target x/none at {provider.base_url} does not find the model or")
    assert "x/none is not a valid model ID" in told
    assert "check the model's name and audited_endpoint.base_url" in told


@pytest.mark.parametrize("side", ["auditor", "target"])
def test_server_that_cannot_be_reached_is_told_in_one_sentence(tmp_path, side):
    """The first canary goes alone, with its retries; nothing else is sent to a dead server."""
    key = {"auditor": "auditing_endpoint", "target": "audited_endpoint"}[side]
    notices: list[str] = []
    with patient() as provider:
        dead = endpoint(provider, base_url="http://127.0.0.1:9/v1")
        with pytest.raises(FatalError) as caught:
            checkup(tmp_path, provider, notices, **{key: dead})

        assert len(provider.requests) <= 1
    told, folder = str(caught.value), only_run(tmp_path)
    assert caught.value.exit_code == 3
    assert sum(": attempt " in text or "gave up" in text for text in notices) == 4
    assert told.startswith(f"The {side} ")
    assert " at http://127.0.0.1:9/v1 cannot be reached (no connection to 127.0.0.1:9: " in told
    assert f"kept in {folder}" in told
    assert f"start the server or correct {key}.base_url" in told
    assert told.count(". ") == 0
    assert told.endswith(".")
    assert not (folder / "doctor.json").exists()


def test_server_that_speaks_no_tls_cannot_be_reached(tmp_path):
    """What no wait cures is no connection either, and is told alike."""
    with patient() as provider:
        dead = endpoint(provider, base_url=provider.base_url.replace("http:", "https:"))
        with pytest.raises(
            FatalError, match=r"^The auditor .* cannot be reached .*start the server"
        ):
            checkup(tmp_path, provider, auditing_endpoint=dead)


@pytest.mark.parametrize("fault", ["401", "402", "403_permission", "404"])
def test_what_every_call_would_meet_is_met_once(tmp_path, fault):
    """A refused key is told after one canary, whoever else would have been asked."""
    notices: list[str] = []
    with patient() as provider:
        provider.fail(fault, times=None)
        with pytest.raises(FatalError, match=f"^The auditor .*{fault[:3]}"):
            checkup(tmp_path, provider, notices)

        assert provider.count() == len(notices) == 1


def test_refused_call_says_whether_a_key_was_sent(tmp_path, monkeypatch):
    """Who sent no key is told to name one; who did is told where it came from."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    told = []
    with patient(api_key="another") as provider:
        for given in ({}, {"api_key_env": KEY_VARIABLE}):
            with pytest.raises(FatalError) as caught:
                checkup(tmp_path, provider, auditing_endpoint=endpoint(provider, **given))
            told.append(str(caught.value))

    assert "(no key was sent: set api_key_env)" in told[0]
    assert "set auditing_endpoint.api_key_env to the variable that holds the key" in told[0]
    assert f"(the key came from {KEY_VARIABLE})" in told[1]
    assert f"check the key in {KEY_VARIABLE}, then run the doctor again" in told[1]


def test_address_without_the_api_is_told_by_both_apis(tmp_path):
    """A target whose every page is missing is a matter of base_url or of the model's name."""
    with patient() as provider:
        provider.fail("404", times=None, when=is_target)
        with pytest.raises(FatalError, match="does not find the model or the page"):
            checkup(tmp_path, provider)

        assert len(asked(provider, "target")) == 2


def test_key_that_is_refused_halfway_is_told_alike(tmp_path):
    """Credit that ends among the canaries says whose it was, and where."""
    with patient() as provider:
        provider.fail("402", times=None, when=lambda body: "seed" in body)
        with pytest.raises(FatalError, match=r"^The target deepseek/deepseek-chat at .* credit"):
            checkup(tmp_path, provider)


class AllButOne:
    """A client that answers from a journal, but for one canary, to which no answer comes."""

    def __init__(self, journal, lost):
        self._record = Journaled(EndOfRecord(), journal, InFlight())
        self._lost = lost

    async def complete(self, call):
        """Answer the call as it was answered, or lose it."""
        if str(call.key) == self._lost:
            raise TransientError("lost")
        return await self._record.complete(call)


def test_whatever_canary_is_lost_no_check_makes_up_a_reason(tmp_path):
    """With each canary lost in turn, its checks say no answer came, or yes without it; never no."""
    with patient() as provider:
        done = checkup(tmp_path, provider)
    config = load_config(tmp_path / "config.yaml").settings
    subjects = checked_endpoints(config, Sampler(config), {"auditor": None, "target": None})
    journal = Recording()
    journal.load((done.folder / "journal.jsonl").read_bytes())
    canaries = {call for each in done.diagnoses for call in each.canaries}
    unsure = set()
    for lost in canaries:
        client = AllButOne(journal, lost)
        for each in asyncio.run(examine(subjects, {"auditor": client, "target": client})):
            if each.verdict != "yes":
                unsure.add(lost)
                assert each.verdict == "unknown"
                assert lost in each.canaries
                assert re.match(r"no answer( to 1 of \d canaries)? \(lost\)$", each.meaning)
    spared = {call.split("/")[3] for call in canaries - unsure}
    assert len(canaries) > 20
    assert spared == {"plain", "bos", "prefill_numbers", "prefill_letters"}


@pytest.mark.parametrize("fault", ["500", "503"])
def test_canary_that_fails_for_other_reasons_ends_nothing(tmp_path, fault):
    """Trouble that may be the canary's own makes a check unknown, and says so."""
    with patient() as provider:
        provider.fail(fault, api="completions", times=4)
        done = checkup(tmp_path, provider, sampling={"arms": ["user_persona"]})

    unknown = [each for each in done.diagnoses if each.verdict == "unknown"]
    assert {each.check for each in unknown} == {"raw_prompt", "special_tokens"}
    assert all(re.match(rf"no answer to 1 of \d canaries \({fault}", x.meaning) for x in unknown)


def test_server_without_raw_completions_is_told(tmp_path):
    """Where only chats are answered, the raw arms say no and the assistant arm works."""
    with patient() as provider:
        provider.fail("404", api="completions", times=None)
        done = checkup(tmp_path, provider)

    assert said(done, "no") == every("raw_prompt", RAW_ARMS)
    assert every("stop", ["assistant"]) < said(done, "yes")


def test_canaries_are_small_and_go_through_journal_and_budget(tmp_path):
    """Each asks for at most 16 tokens, is in the journal once, and is named by its checks."""
    with patient() as provider:
        done = checkup(tmp_path, provider)
        bodies = [request.body for request in provider.requests if request.method == "POST"]

    records = [
        json.loads(line) for line in (done.folder / "journal.jsonl").read_bytes().splitlines()
    ]
    sent = [record["call"] for record in records if record["type"] == "sent"]
    named = {call for each in done.diagnoses for call in each.canaries}
    assert len(sent) == len(bodies) == len(set(sent))
    assert named == set(sent)
    assert max(body["max_tokens"] for body in bodies) <= MAX_TOKENS
    assert all("/doctor/" in call for call in sent)
    assert records[-1]["type"] == "footer"
    assert sorted(path.name for path in done.folder.iterdir()) == [
        "config.yaml",
        "doctor.json",
        "journal.jsonl",
    ]
    assert only_run(tmp_path).name.startswith("doctor_deepseek-deepseek-chat_20")


def test_budget_that_does_not_cover_the_canaries_is_refused_first(tmp_path):
    """Nothing is sent and no folder is made."""
    with patient() as provider:
        with pytest.raises(BudgetExceededError, match="does not cover the canaries"):
            checkup(tmp_path, provider, budget={"max_tokens": 5000})

        assert provider.count() == 0
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "ills", [{}, {"hides_usage": True}, {"thinks": True, "ignores_stop": True}]
)
def test_page_fits(tmp_path, ills):
    """Two sides and two arms fit 40 lines of 100 columns, whatever is found."""
    with patient(**ills) as provider:
        done = checkup(tmp_path, provider, sampling={"arms": ["user_persona", "assistant"]})

    lines = doctor_lines(done.diagnoses)
    assert len(lines) + 1 + len(conclusion(done.diagnoses)) <= 40
    assert max(map(len, lines)) <= WIDTH
    assert all(each.check in "\n".join(lines) for each in done.diagnoses)
    assert any(each.meaning in line for line in lines for each in done.diagnoses)
