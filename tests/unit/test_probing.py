"""The config that `ucm probe` makes: the battery in the auditor's place, and room for each item."""

from __future__ import annotations

import pytest

from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.facts import load_facts
from uncensoring_chinese_models.probing import SAMPLES, probe_config


def written(tmp_path, text: str) -> str:
    """Write a config, and return its path."""
    path = tmp_path / "probe.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_two_keys_suffice(tmp_path):
    """A target and a facts file are enough; the rest follows from them."""
    path = written(tmp_path, "audited_model: organism/hides\nfacts: quillon\n")

    config = probe_config(path).settings

    assert config.auditing_model == "builtin/battery"
    assert config.topic == load_facts("quillon").names["en"]
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
            "one and the same",
        ),
    ],
)
def test_bad_config_is_refused_before_anything_is_sent(tmp_path, text, words, problem):
    """Each in a sentence that says what to do."""
    with pytest.raises(ConfigError, match=problem):
        probe_config(written(tmp_path, text), words)


def test_missing_config_is_named(tmp_path):
    """As with any other command."""
    with pytest.raises(ConfigError, match="There is no config file"):
        probe_config(str(tmp_path / "none.yaml"))
