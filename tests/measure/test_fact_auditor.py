"""The battery: its order, and runs of it against a scripted target."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.facts_example import example_file, write_facts
from tests.support import (
    CrashError,
    CrashingWatcher,
    audit_here,
    audited_provider,
    make_config,
    write_config,
)
from uncensoring_chinese_models.config.loading import load_config
from uncensoring_chinese_models.config.settings import AuditConfig
from uncensoring_chinese_models.errors import ConfigError, ResumeMismatchError
from uncensoring_chinese_models.measure.fact_auditor import items_of
from uncensoring_chinese_models.measure.facts.schema import Facts
from uncensoring_chinese_models.runner.planning import plan
from uncensoring_chinese_models.runner.run import run_job
from uncensoring_chinese_models.verify.verification import verify_run

FACTS = Facts.model_validate(example_file())
SMALL = example_file(3)
LANGUAGES: list[Any] = ["en", "zh-Hans"]
SAMPLES = 2


def names(items):
    """Return what each item asks for, and in which language."""
    return [(item.fact.id, item.language) for item in items]


# --- the order ----------------------------------------------------------------------------------


@pytest.mark.parametrize("languages", [["en"], ["zh-Hant", "en"], ["en", "zh-Hans", "zh-Hant"]])
def test_each_fact_is_asked_for_once_in_each_language(languages):
    """The order is a permutation of all facts in all languages."""
    asked = names(items_of(FACTS, languages, 5))

    assert len(asked) == len(set(asked)) == 12 * len(languages)
    assert set(asked) == {(fact.id, each) for fact in FACTS.facts for each in languages}


def test_seed_decides_the_order():
    """The same seed gives the same order, another one another, and none is a seed too."""
    first = names(items_of(FACTS, LANGUAGES, 1))

    assert names(items_of(FACTS, LANGUAGES, 1)) == first
    assert names(items_of(FACTS, LANGUAGES, 2)) != first
    assert names(items_of(FACTS, LANGUAGES, None)) == names(items_of(FACTS, LANGUAGES, 0))


def test_order_is_mixed():
    """Neither the facts of a file nor its languages come one after the other."""
    asked = names(items_of(FACTS, LANGUAGES, 1))
    in_file = [(fact.id, each) for fact in FACTS.facts for each in LANGUAGES]

    assert asked != in_file
    assert asked != sorted(asked, key=lambda item: LANGUAGES.index(item[1]))


def test_item_has_the_texts_of_its_language():
    """The opening is continued, the question is asked."""
    (item,) = (each for each in items_of(FACTS, ["zh-Hant"], 0) if each.fact.id == "pine")

    assert item.opening == "松廳裡掛著的燈共有"
    assert item.question == "松廳裡掛著多少盞燈？"


def test_language_that_the_file_lacks_is_refused():
    """The sentence says in which languages it is."""
    content = example_file()
    del content["facts"][4]["question"]["zh-Hans"]

    with pytest.raises(ConfigError, match="lamps is not in zh-Hans; it is in en, zh-Hant"):
        items_of(Facts.model_validate(content), LANGUAGES, 0)


# --- runs of it ---------------------------------------------------------------------------------


def battery(facts: str | None, **changes: Any) -> dict[str, Any]:
    """Return what makes a config ask through a facts file; keywords replace whole keys."""
    sampling = {"arms": ["user_persona", "assistant"], "n": SAMPLES, "seed": 3, "max_tokens": 60}
    settings: dict[str, Any] = {
        "auditing_model": "builtin/facts",
        "auditing_endpoint": {},
        "facts": facts,
        "languages": LANGUAGES,
        "sampling": sampling,
        "max_iterations": 50,
    }
    return settings | changes


def asked_of(provider) -> Counter[str]:
    """Count what the target was sent: the ends of raw prompts, and the messages of chats."""
    openings = [text for fact in SMALL["facts"] for text in fact["opening"].values()]
    sent: Counter[str] = Counter()
    for request in provider.requests:
        if request.api == "completions":
            (opening,) = (each for each in openings if request.body["prompt"].endswith(each))
            sent[opening] += 1
        elif request.api == "chat":
            (message,) = request.body["messages"]
            sent[message["content"]] += 1
    return sent


def all_texts() -> set[str]:
    """Return every opening and question of the small file in the languages asked for."""
    texts = [fact[key] for fact in SMALL["facts"] for key in ("opening", "question")]
    return {each[language] for each in texts for language in LANGUAGES}


@pytest.mark.wire
def test_run_sends_each_opening_and_question_once_per_sample(tmp_path):
    """Nothing else is sent; the run ends by itself, judges nothing and verifies."""
    with audited_provider() as provider:
        run = audit_here(tmp_path, provider, **battery(write_facts(tmp_path, SMALL)))
        sent = asked_of(provider)

    assert sent == Counter(dict.fromkeys(all_texts(), SAMPLES))
    assert run.summary["status"] == "completed"
    assert run.summary["total_iterations"] == 3 * len(LANGUAGES)
    assert run.summary["claims"] == []
    assert "Asked 6 times" in run.summary["final_summary"]["conclusion"]
    assert run.summary["spend"]["by_role"]["auditor"]["cost_usd"] == 0
    order = items_of(Facts.model_validate(SMALL), LANGUAGES, 3)
    for number, item in enumerate(order, 1):
        turn = run.turn(number)["parsed"]
        assert (turn["next_prompt"], turn["question"]) == (item.opening, item.question)
        assert f"Asks for {item.fact.id} in {item.language}" in turn["prompt_rationale"]
        assert len(run.response(number)["samples"]) == 2 * SAMPLES
    assert verify_run(run.folder).holds


@pytest.mark.wire
def test_run_verifies_without_its_facts_file(tmp_path):
    """The journal holds the text, so that a stranger needs nothing else."""
    path = write_facts(tmp_path, SMALL)
    with audited_provider() as provider:
        run = audit_here(tmp_path, provider, **battery(path))
    text = Path(path).read_text("utf-8")
    Path(path).unlink()

    header = json.loads((run.folder / "journal.jsonl").read_text("ascii").splitlines()[0])
    assert header["facts"] == text
    assert verify_run(run.folder).holds


@pytest.mark.wire
def test_run_that_was_killed_goes_on_and_asks_nothing_twice(tmp_path):
    """Together the two parts send what one run sends, and the whole verifies."""
    changes = battery(write_facts(tmp_path, SMALL))
    with audited_provider() as provider:
        config = make_config(provider, output_dir=str(tmp_path / "runs"), **changes)
        broken = CrashingWatcher(5)
        with pytest.raises(CrashError):
            run_job(load_config(write_config(tmp_path, config)), broken)
        before = asked_of(provider).total()
        resumed = audit_here(tmp_path, provider, resume=broken.folder, **changes)
        sent = asked_of(provider)

    assert 0 < before < sent.total()
    assert sent == Counter(dict.fromkeys(all_texts(), SAMPLES))
    assert resumed.summary["status"] == "completed"
    assert verify_run(resumed.folder).holds


@pytest.mark.wire
def test_file_that_changed_since_is_refused(tmp_path):
    """A run that was broken off does not go on with other facts; put back, it does."""
    path = write_facts(tmp_path, SMALL)
    changes = battery(path)
    with audited_provider() as provider:
        config = make_config(provider, output_dir=str(tmp_path / "runs"), **changes)
        broken = CrashingWatcher(3)
        with pytest.raises(CrashError):
            run_job(load_config(write_config(tmp_path, config)), broken)
        before = asked_of(provider)
        whole = Path(path).read_bytes()
        Path(path).write_bytes(whole.replace(b"111", b"112"))
        with pytest.raises(ResumeMismatchError, match=r"lamps\.yaml has changed since"):
            audit_here(tmp_path, provider, resume=broken.folder, **changes)
        assert asked_of(provider) == before
        Path(path).write_bytes(whole)
        resumed = audit_here(tmp_path, provider, resume=broken.folder, **changes)

    assert resumed.summary["status"] == "completed"


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no facts": (battery(None), "builtin/facts needs a facts file; name one with facts: TOPIC."),
    "unknown topic": (battery("lamps"), "There is no facts file lamps; the package has"),
    "no such file": (battery("nowhere.yaml"), "The facts file nowhere.yaml cannot be read"),
    "language that it lacks": (
        battery("lamps.yaml", languages=["en", "zh-Hant"]),
        "The facts file lamps is not in zh-Hant; it is in en, zh-Hans.",
    ),
    "file that is wrong": (battery("wrong.yaml"), "wrong.yaml: names is missing; facts is missing"),
    "unknown topic and an auditor that is asked": (
        {"facts": "lamps"},
        "There is no facts file lamps; the package has",
    ),
    "file that is wrong and an auditor that is asked": (
        {"facts": "wrong.yaml"},
        "wrong.yaml: names is missing; facts is missing",
    ),
}


@pytest.mark.wire
@pytest.mark.parametrize(("changes", "said"), REFUSED.values(), ids=REFUSED)
def test_config_is_refused_before_anything_is_sent(changes, said, tmp_path, monkeypatch):
    """The run and its plan say the same, nothing was sent, and there is no run directory."""
    content = example_file(3, names={"en": "the lamps", "zh-Hans": "灯"})
    write_facts(tmp_path, content)
    (tmp_path / "wrong.yaml").write_text("topic: x\n")
    monkeypatch.chdir(tmp_path)
    with audited_provider() as provider:
        with pytest.raises(ConfigError) as refused:
            audit_here(tmp_path, provider, **changes)
        config = AuditConfig.model_validate(make_config(provider, **changes))
        with pytest.raises(ConfigError) as unplanned:
            plan(config, lambda notice: None)

        assert provider.count("completions") == provider.count("chat") == 0
    assert said in str(refused.value)
    assert str(unplanned.value) == str(refused.value)
    assert not (tmp_path / "runs").exists()


@pytest.mark.wire
def test_battery_needs_no_history(tmp_path):
    """Its list does not depend on what the target said, so that compact messages are enough."""
    with audited_provider() as provider:
        changes = battery(write_facts(tmp_path, SMALL), auditor_context="compact")
        run = audit_here(tmp_path, provider, **changes)
        sent = asked_of(provider)

    assert run.summary["status"] == "completed"
    assert sent == Counter(dict.fromkeys(all_texts(), SAMPLES))
