"""The doctor over real sockets: each planted fault is found by its own check, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.provider.patient import patient
from tests.support import make_config, only_run, write_config
from tests.wire.running import FOUR_ATTEMPTS, PINNED, endpoint
from uncensoring_chinese_models.checkup import run_checkup
from uncensoring_chinese_models.config_file import load_config
from uncensoring_chinese_models.doctor.screen import WIDTH, lines_of
from uncensoring_chinese_models.doctor.subject import MOST_TOKENS
from uncensoring_chinese_models.errors import BudgetExceededError, FatalError

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
    "n ignored": ({"ignores_n": True}, every("n", ALL_ARMS)),
    "n refused": ({"refuses_n": True}, every("n", ALL_ARMS)),
    "another model served": ({"serves": "x-ai/another-model"}, {"target/model"}),
    "another of the family served": ({"serves": "deepseek/deepseek-v3"}, set()),
    "provider not pinned": ({"ignores_provider": True}, {"target/provider"}),
    "JSON mode refused": ({"refuses_json": True}, {"auditor/json_mode"}),
    "JSON mode ignored": ({"ignores_json": True}, {"auditor/json_mode"}),
    "reasoning eats the text": ({"thinks": True}, every("thinking", ALL_ARMS)),
    "seed ignored": ({"ignores_seed": True}, every("seed", ALL_ARMS)),
    "logprobs missing": ({"lacks_logprobs": True}, every("logprobs", ALL_ARMS)),
    "usage hidden": ({"hides_usage": True}, set()),
    "the same text each time": ({"repeats_itself": True}, set()),
}


def checkup(folder, provider, **changes):
    """Let the doctor see a provider in this process; keywords replace keys of the config."""
    settings = {
        "sampling": {"arms": ALL_ARMS},
        "output_dir": str(folder / "runs"),
        "retries": FOUR_ATTEMPTS,
        "auditing_endpoint": endpoint(provider),
        "audited_endpoint": endpoint(provider, provider=PINNED),
    }
    config = make_config(provider, **settings | changes)
    return run_checkup(load_config(write_config(folder, config)), lambda notice: None)


def said(done, verdict):
    return {each.where for each in done.diagnoses if each.verdict == verdict}


def test_nothing_is_wrong_with_an_honest_server(tmp_path):
    """Every check of every arm says yes."""
    with patient() as provider:
        done = checkup(tmp_path, provider)

    assert said(done, "no") == said(done, "unknown") == set()
    assert len(done.diagnoses) == 4 + 8 + 6 + 9 + 7
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


def test_model_that_does_not_exist_is_a_no_and_little_else_is_claimed(tmp_path):
    """Where the server knows no such model, no field is said to be ignored."""
    with patient(strict_models=True) as provider:
        reached = endpoint(provider, template="deepseek-v3")
        done = checkup(tmp_path, provider, audited_model="x/none", audited_endpoint=reached)

    assert said(done, "no") == {"target/model"} | every("raw_prompt", RAW_ARMS)


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
    assert max(body["max_tokens"] for body in bodies) <= MOST_TOKENS
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


def test_bad_key_stops_the_doctor(tmp_path):
    """What makes every call fail is no verdict on the model."""
    with patient() as provider:
        provider.fail("401", times=None)
        with pytest.raises(FatalError, match="401"):
            checkup(tmp_path, provider)


@pytest.mark.parametrize("ills", [{}, {"hides_usage": True}, {"thinks": True, "ignores_n": True}])
def test_page_fits(tmp_path, ills):
    """Two sides and two arms fit 40 lines of 100 columns, whatever is found."""
    with patient(**ills) as provider:
        done = checkup(tmp_path, provider, sampling={"arms": ["user_persona", "assistant"]})

    lines = lines_of(done.diagnoses)
    assert len(lines) <= 39
    assert max(map(len, lines)) <= WIDTH
    assert all(each.check in "\n".join(lines) for each in done.diagnoses)
    assert any(each.meaning in line for line in lines for each in done.diagnoses)
