"""Runs of the battery through the whole client stack, compared: hosts, models, failures, bad input."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import get_args

import pytest
import yaml

from tests.facts_example import example_file, write_facts
from tests.measure.planted import PLANTED
from tests.provider import Provider
from tests.support import ROOT, Watcher, audit_here, audited_provider
from tests.test_docs import keys_of
from uncensoring_chinese_models.cli.commands import main
from uncensoring_chinese_models.cli.compare import lines_of
from uncensoring_chinese_models.errors import ConfigError, RunStoreError, UsageError
from uncensoring_chinese_models.measure.compare.pairs import PairVerdict, pair_sides
from uncensoring_chinese_models.measure.compare.runs import (
    Setting,
    as_json,
    compare_runs,
    is_own_server,
)
from uncensoring_chinese_models.measure.probe_settings import probe_config
from uncensoring_chinese_models.runner.run import run_job

LAMPS = {"pine": 111, "松": 111, "cypress": 121, "柏": 121, "plum": 131, "梅": 131}
CANNED = "I'm sorry, but I can't discuss that here. Let us talk about something more pleasant."
CANNED_ZH = "抱歉，我无法回答这个问题。"
POLE = "The keeper lit each of them at dusk with a long brass pole, as the house required."


def asked(ask):
    return ask.prompt or str(ask.messages[-1]["content"])


def tells(ask):
    """Answer with the number of lamps."""
    number = next(number for name, number in LAMPS.items() if name in asked(ask))
    return f" {number} lamps. {POLE}"


def refuses(ask):
    return CANNED


def says(text):
    """Return a host that puts its own words in the place of the model's."""

    def amend(ask, reply):
        choice = reply["choices"][0]
        if "message" in choice:
            choice["message"]["content"] = text
        else:
            choice["text"] = text
        return reply

    return amend


def filters(ask, reply):
    """Take away the text, and say so."""
    reply = says("")(ask, reply)
    reply["choices"][0]["finish_reason"] = "content_filter"
    return reply


def unbilled(amend):
    """Return a host that also keeps its books to itself."""

    def without(ask, reply):
        return {key: value for key, value in amend(ask, reply).items() if key != "usage"}

    return without


def probe(folder, brain, *, number=3, model="deepseek/deepseek-chat", faults=(), **changes):
    """Ask a model behind a host for the first so many facts, and return the run."""
    folder.mkdir(exist_ok=True)
    content = example_file(number)
    content["invented"] = True
    amend = changes.pop("amend", lambda ask, reply: reply)
    with Provider(target=brain, amend=amend) as provider:
        for fault in faults:
            provider.fail(fault, api="chat", times=None)
        config = {
            "audited_model": model,
            "audited_endpoint": {"preset": "openrouter", "base_url": provider.base_url},
            "facts": write_facts(folder, content),
            "sampling": {"n": 8, "max_tokens": 60, "arms": ["user_persona", "assistant"]},
            "retries": {"max_attempts": 1, "first_wait_s": 0},
            "output_dir": str(folder / "runs"),
            **changes,
        }
        path = folder / "probe.yaml"
        path.write_text(yaml.safe_dump(config, allow_unicode=True), "utf-8")
        return run_job(probe_config(str(path)), Watcher()).folder


@pytest.fixture(scope="module")
def teller(tmp_path_factory):
    """A run of a model that tells everything."""
    return probe(tmp_path_factory.mktemp("teller"), tells)


@pytest.fixture(scope="module")
def refuser(tmp_path_factory):
    """A run of a model that says the same words to everything."""
    return probe(tmp_path_factory.mktemp("refuser"), refuses)


def pair_of(*folders, **options):
    """Return the only pair, and everything, as JSON."""
    told = json.loads(json.dumps(as_json(compare_runs(folders, **options))))
    (pair,) = told["pairs"]
    return pair, told


def deliveries(side):
    """Return the deliveries that a side has at all."""
    return {delivery: number for delivery, number in side["by_delivery"].items() if number}


def by(side):
    """Return how many samples of a side tell the fact, and how many each withheld."""
    told = {"told": side["told"]["successes"], **side["withheld_by"]}
    return {who: number for who, number in told.items() if number}


def test_model_that_says_the_same_to_everything_is_not_blamed_on_its_host(teller, refuser):
    """48 times the same words, to the letter, with fair bills: the model itself declines."""
    pair, told = pair_of(teller, refuser)

    assert pair["verdict"] == "model"
    assert [by(side) for side in told["sides"]] == [{"told": 48}, {"model": 48}]
    assert [(each["text"], each["withheld_by"]) for each in told["canned"]] == [
        (CANNED, {"host": 0, "model": 48, "unclear": 0})
    ]
    assert pair["knowledge"]["only_first"] == 3


@pytest.mark.parametrize(
    ("text", "delivery"),
    [("", "suspected_block"), (" 1", "suspected_block"), ("Sorry.", "replaced")],
)
def test_host_is_told_from_the_model_by_its_bills(tmp_path, teller, text, delivery):
    """What it left of the answers, or put in their place, cannot have cost so much."""
    altered = probe(tmp_path / "b", tells, amend=says(text))
    pair, told = pair_of(teller, altered)

    assert deliveries(told["sides"][1]) == {delivery: 48}
    assert by(told["sides"][1]) == {"host": 48}
    assert pair["verdict"] == "host"
    assert [each.endswith(altered.name) for each in pair["withholds"]["host"]] == [True]


def test_host_that_keeps_its_books_to_itself_is_not_accused(tmp_path, teller):
    """Without usage nobody can say who left nothing."""
    altered = probe(tmp_path / "b", tells, amend=unbilled(says("")))
    pair, told = pair_of(teller, altered)

    assert (pair["verdict"], by(told["sides"][1])) == ("unknown", {"unclear": 48})


def test_one_sentence_of_two_makers_models_with_fair_bills_accuses_no_host(tmp_path, refuser):
    """Both decline, and a server on one's own machine is nobody else's."""
    other = probe(tmp_path / "b", refuses, model="qwen/qwen-2.5-72b-instruct")
    pair, told = pair_of(refuser, other)

    assert [by(side) for side in told["sides"]] == [{"model": 48}, {"model": 48}]
    assert (told["canned"][0]["across_makers"], pair["verdict"]) == (False, "same")


@pytest.mark.parametrize(
    ("preset", "base_url", "is_own"),
    [
        ("vllm", "https://api.example.com/v1", True),
        ("organism", None, True),
        ("openrouter", "http://127.0.0.1:8000/v1", True),
        ("openai_compatible", "http://10.0.0.7:8000/v1", True),
        ("openai_compatible", "http://localhost:8000/v1", True),
        ("openai_compatible", "http://gpu.internal/v1", True),
        ("openai_compatible", "http://[::1]:8000/v1", True),
        ("openai_compatible", "http://[broken", True),
        ("openai_compatible", "https://api.example.com/v1", False),
        ("openrouter", None, False),
        (None, None, False),
    ],
)
def test_servers_of_ones_own_are_known(preset, base_url, is_own):
    """By the preset, or by an address that strangers cannot reach."""
    assert is_own_server(preset, base_url) is is_own


def test_settings_that_differ_are_told(tmp_path, teller, capsys):
    """Who is cut short by max_tokens cannot tell as much; what is alike is not listed."""
    sampling = {"n": 4, "max_tokens": 30, "temperature": 0.2}
    arms = {"arms": ["user_persona", "assistant"]}
    other = probe(tmp_path / "b", tells, sampling=sampling | arms)
    _, told = pair_of(teller, other)

    assert told["settings"] == [
        {"setting": "max_tokens", "values": [60, 30]},
        {"setting": "temperature", "values": [0.7, 0.2]},
        {"setting": "n", "values": [8, 4]},
    ]
    assert main(["compare", str(teller), str(other)]) == 0
    assert "  differs: max_tokens (A 60, B 30)\n" in capsys.readouterr().out
    _, alike = pair_of(teller, by="arm")
    assert alike["settings"] == []


def test_facts_that_never_came_back_are_left_out_of_knowledge(tmp_path, teller, capsys):
    """A host that blocks everything says nothing of what its model knows."""
    blocked = probe(tmp_path / "b", tells, amend=filters)
    pair, _ = pair_of(teller, blocked)

    assert (pair["knowledge"]["n"], pair["knowledge"]["left_out"]) == (0, 3)
    assert main(["compare", str(teller), str(blocked)]) == 0
    assert "excluded: 3 facts without any text on one side" in capsys.readouterr().out


def test_names_in_a_stored_run_cannot_act_on_the_screen(tmp_path, teller):
    """A run may come from anybody; its arms and settings are data too."""
    compared = compare_runs([teller])
    odd = "evil\x1b]52;c;ZXZpbA==\x07\u202e"
    shown = "\n".join(lines_of(_with_arm(compared, odd)))

    assert "evil⟨U+001B⟩" in shown
    assert all(char == "\n" or char.isprintable() for char in shown)


def _with_arm(compared, name):
    """Return the comparison as if one arm bore that name, wherever names are shown."""
    samples = [each for tally in compared.paired.sides.values() for each in tally.samples]
    odd = [
        replace(each, judged=replace(each.judged, arm=name))
        if each.judged.arm == "assistant"
        else each
        for each in samples
    ]
    lone = [replace(each, judged=replace(each.judged, fact=name)) for each in odd[:1]]
    erased = [PLANTED["erased"]] * len([*odd, *lone])
    paired = pair_sides("arm", [*odd, *lone], erased)
    settings = (Setting("template", (name,)),)
    return replace(
        compared,
        topic=name,
        paired=paired,
        settings=settings,
        examples=((name, "suspected_block", odd[-1]),),
    )


def test_failed_calls_are_left_out_and_counted(tmp_path, teller):
    """A run whose chat arm failed is compared by what came back."""
    broken = probe(tmp_path / "b", tells, faults=["413"])
    pair, told = pair_of(teller, broken)

    assert deliveries(told["sides"][1]) == {"complete": 24, "failed": 24}
    assert by(told["sides"][1]) == {"told": 24}
    assert told["sides"][1]["told"]["excluded"] == {"failed": 24}
    assert pair["verdict"] == "same"


def test_languages_are_sides_too(tmp_path):
    """A model that tells in English and declines in Chinese: only the way of asking differs."""

    def brain(ask):
        return tells(ask) if "hall" in asked(ask) else CANNED_ZH

    run = probe(tmp_path / "b", brain, languages=["en", "zh-Hans"])
    pair, told = pair_of(run, by="language")

    assert (sorted(pair["sides"]), pair["verdict"]) == (["en", "zh-Hans"], "asking")
    assert pair["withholds"] == {"host": [], "model": ["zh-Hans"]}
    assert {(cell["arm"], cell["language"]) for cell in pair["cells"]} == {
        ("user_persona", ""),
        ("assistant", ""),
    }
    assert told["runs"] == [{"run": run.name, "model": "deepseek/deepseek-chat"}]


def test_arms_of_several_runs_are_paired_within_each_run(teller, refuser):
    """An arm of one run is never held against another run's."""
    pair, _ = pair_of(teller, refuser, by="arm")

    named = {cell["run"] for cell in pair["cells"]}  # by their paths, if made in the same second
    assert named in ({teller.name, refuser.name}, {str(teller), str(refuser)})
    assert (pair["verdict"], len(pair["cells"]), pair["knowledge"]["n"]) == ("same", 6, 6)


def test_text_of_models_cannot_act_on_the_screen(tmp_path, capsys):
    """Controls are spelled out on the screen and kept in the JSON."""
    odd = "\x1b[2J\x1b]0;owned\x07 I'm sorry, I can't discuss that. [/x] {0} \u202e"
    run = probe(tmp_path / "b", lambda ask: odd)

    assert main(["compare", str(run)]) == 0
    shown = capsys.readouterr().out
    assert main(["compare", str(run), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)

    assert "\x1b" not in shown
    assert "⟨U+001B⟩[2J" in shown
    assert told["canned"][0]["text"] == odd.strip()


def test_every_key_is_described(tmp_path, teller):
    """docs/methods/compare.md names each key of the JSON, and each verdict."""
    altered = probe(tmp_path / "b", tells, amend=says(""))
    _, told = pair_of(teller, altered)
    refusing = probe(tmp_path / "c", refuses, sampling={"n": 2, "max_tokens": 60})
    _, canned = pair_of(teller, refusing)
    described = set(re.findall(r"`(\w+)`", (ROOT / "docs/methods/compare.md").read_text("utf-8")))
    in_rates = {"successes", "value", "low", "high", "doubtful", "excluded", "total", "worst_low"}

    keys = {*keys_of(told), *keys_of(canned), *get_args(PairVerdict)}
    assert keys - described - in_rates - {"n", "worst_high"} == set()


# --- refused


def test_runs_of_different_facts_are_refused(tmp_path, teller):
    """Other facts are other probes, unless a file is named that has them all."""
    fewer = probe(tmp_path / "b", tells, number=2)

    with pytest.raises(ConfigError, match="different facts files"):
        compare_runs([teller, fewer])
    pair, _ = pair_of(teller, fewer, facts_name=str(tmp_path / "b" / "lamps.yaml"))
    assert len(pair["cells"]) == 4


def test_audit_without_a_battery_is_refused(tmp_path, teller):
    """Nobody asked for each fact there."""
    facts = write_facts(tmp_path, example_file(3) | {"invented": True})
    with audited_provider() as provider:
        audited = audit_here(tmp_path, provider, facts=facts).folder

    with pytest.raises(ConfigError, match="ucm probe"):
        compare_runs([teller, audited], facts_name=facts)
    with pytest.raises(ConfigError, match="ucm probe"):
        compare_runs([audited])


def test_sides_without_a_cell_in_common_are_refused(tmp_path, teller):
    """One arm here and the other there leave nothing to pair."""
    sampling = {"n": 2, "max_tokens": 40}
    one = probe(tmp_path / "a", tells, sampling=sampling | {"arms": ["user_persona"]})
    other = probe(tmp_path / "b", tells, sampling=sampling | {"arms": ["assistant"]})

    with pytest.raises(ConfigError, match="in the same way on two sides"):
        compare_runs([one, other])
    with pytest.raises(ConfigError, match="only one arm"):
        compare_runs([one])
    with pytest.raises(ConfigError, match="only one language"):
        compare_runs([one], by="language")


@pytest.mark.parametrize(
    ("by", "twice", "problem"),
    [
        ("host", False, "--by takes run, arm or language"),
        ("run", False, "needs two runs"),
        (None, True, "given twice"),
    ],
)
def test_wrong_words_are_refused(teller, by, twice, problem):
    """Each in one sentence that says what to type."""
    with pytest.raises(UsageError, match=problem):
        compare_runs([teller] * (1 + twice), by=by)


def test_nothing_is_overwritten_and_errors_are_records_too(tmp_path, teller, refuser, capsys):
    """A file that exists stays, a folder that is no run is named, and --json tells programs."""
    out = tmp_path / "compared.json"
    words = ["compare", str(teller), str(refuser), "--out", str(out)]
    assert main(words) == 0
    before = out.read_bytes()
    assert json.loads(before)["pairs"][0]["verdict"] == "model"
    assert f"Comparison: {out}" in capsys.readouterr().out

    assert main([*words, "--json"]) == 2
    assert "is not replaced" in json.loads(capsys.readouterr().out)["error"]
    assert out.read_bytes() == before
    assert main([*words[:-1], str(tmp_path / "no" / "where.json")]) == 4
    assert "cannot be written" in capsys.readouterr().err
    with pytest.raises(RunStoreError):
        compare_runs([tmp_path, teller])
