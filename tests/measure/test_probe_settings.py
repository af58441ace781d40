"""The config that `ucm probe` makes: the battery in the auditor's place, and room for each item."""

from __future__ import annotations

import pytest

from tests.facts_example import example_file, write_facts
from tests.support import ROOT
from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.measure.facts.schema import load_facts
from uncensoring_chinese_models.measure.inference.tests import exclusive_contrast
from uncensoring_chinese_models.measure.matrix import MIN_FOR_UNKNOWN, UNKNOWN_BELOW
from uncensoring_chinese_models.measure.probe_settings import (
    SAMPLES,
    any_config,
    probe_config,
    too_few_samples,
)


def written(tmp_path, text: str) -> str:
    """Write a config, and return its path."""
    path = tmp_path / "probe.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_two_keys_suffice(tmp_path):
    """A target and a facts file are enough; the rest follows from them."""
    path = written(tmp_path, "audited_model: organism/hides\nfacts: quillon\n")

    config = probe_config(path).settings

    assert config.auditing_model == "builtin/facts"
    assert config.topic == "The Quillon Bridge protest of 1987 in Marenth"
    assert config.max_iterations == len(load_facts("quillon").facts) + 1
    assert config.sampling.n == SAMPLES
    assert config.sampling.arms == ["user_persona", "assistant"]


def test_what_the_config_says_is_kept(tmp_path):
    """Samples, arms and topic of one's own are not replaced; each language has its probes."""
    path = written(
        tmp_path,
        "audited_model: deepseek/deepseek-chat\ntopic: Mine\nlanguages: [en, zh-Hant]\n"
        "sampling: {n: 3, arms: [raw]}\n",
    )

    config = probe_config(path, ["facts=tiananmen"]).settings

    assert (config.topic, config.sampling.n, config.sampling.arms) == ("Mine", 3, ["raw"])
    assert config.max_iterations == 2 * len(load_facts("tiananmen").facts) + 1


@pytest.mark.parametrize(
    ("text", "words", "problem"),
    [
        ("audited_model: organism/hides\n", (), "names no facts file"),
        ("audited_model: organism/hides\nfacts: nowhere\n", (), "There is no facts file nowhere"),
        ("audited_model: organism/hides\nfacts: quillon\nlanguages: [zh-Hans]\n", (), "is not in"),
        ("facts: quillon\n", (), "audited_model"),
        ("facts: quillon\nfact: x\naudited_model: a/b\n", (), "did you mean"),
        ("audited_model: organism/hides\n", ("facts=none.yaml",), "cannot be read"),
        (
            "audited_model: organism/hides\nfacts: quillon\nsampling: {temperature: 0}\n",
            (),
            "would be the same",
        ),
    ],
)
def test_bad_config_is_refused_before_anything_is_sent(tmp_path, text, words, problem):
    """Each in a sentence that says what to do."""
    with pytest.raises(ConfigError, match=problem):
        probe_config(written(tmp_path, text), words)


def test_missing_config_is_named(tmp_path):
    """As with any other command."""
    with pytest.raises(ConfigError, match="The config file"):
        probe_config(str(tmp_path / "none.yaml"))


def test_facts_file_with_a_fault_is_refused(tmp_path):
    """By a pattern that does not tell its own ending every answer would be misjudged."""
    content = example_file(3)
    content["facts"][1]["patterns"] = ["nowhere"]
    path = written(tmp_path, "audited_model: organism/hides\n")

    with pytest.raises(ConfigError, match="no pattern of the fact matches its own ending"):
        probe_config(path, [f"facts={write_facts(tmp_path, content)}"])


def test_short_facts_file_can_be_asked_through(tmp_path):
    """A topic of the package needs twelve; one's own may be as short as one likes."""
    path = written(tmp_path, "audited_model: organism/hides\n")
    facts = write_facts(tmp_path, example_file(3))

    assert probe_config(path, [f"facts={facts}"]).settings.max_iterations == 4


@pytest.mark.parametrize(
    ("n", "facts", "enough"), [(16, "quillon", None), (8, "quillon", 12), (12, "quillon", None)]
)
def test_too_few_samples_are_told_of_before_they_are_bought(tmp_path, n, facts, enough):
    """With eight, a fact that every sample states stays undecided among twenty cells."""
    path = written(
        tmp_path, f"audited_model: organism/hides\nfacts: {facts}\nsampling: {{n: {n}}}\n"
    )

    warning = too_few_samples(probe_config(path).settings)

    assert (f"sampling.n={enough} or more" in (warning or "")) == bool(enough)
    assert bool(warning) == bool(enough)


def test_enough_samples_do_decide():
    """The number that is named passes the test, and gives the verdict unknown."""
    cells = 20

    passing = exclusive_contrast(MIN_FOR_UNKNOWN, 0, MIN_FOR_UNKNOWN)
    silent = exclusive_contrast(0, 0, MIN_FOR_UNKNOWN)

    assert passing.p_value * cells < 0.05
    assert silent.difference.high < UNKNOWN_BELOW


def test_doctor_takes_the_config_of_a_battery(tmp_path):
    """One that names facts and no auditor is completed as ucm probe completes it."""
    battery = written(tmp_path, "audited_model: organism/hides\nfacts: quillon\n")

    assert any_config(battery).settings.auditing_model == "builtin/facts"
    assert any_config(str(ROOT / "configs/search_censored.yaml")).settings.facts is None
