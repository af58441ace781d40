"""Config files and overrides are read exactly, or refused with one clear sentence."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from yaml.composer import Composer

from uncensoring_chinese_models.config.loading import (
    MAX_BYTES,
    LoadedConfig,
    load_config,
    read_yaml,
)
from uncensoring_chinese_models.config.settings import AuditConfig
from uncensoring_chinese_models.errors import ConfigError

ROOT = Path(__file__).parent.parent.parent
MINIMAL = "topic: t\nauditing_model: a/b\naudited_model: deepseek/deepseek-chat\n"


@pytest.fixture
def load(tmp_path):
    def load(content: str | bytes = MINIMAL, *overrides: str) -> LoadedConfig:
        path = tmp_path / "audit.yaml"
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return load_config(path, overrides)

    return load


def setting(config: AuditConfig, path: str) -> Any:
    value: Any = config.model_dump()
    for name in path.split("."):
        value = value[name]
    return value


# --- files --------------------------------------------------------------------------------------


def test_promised_config_loads():
    """The config that the documented command names is valid."""
    assert load_config(ROOT / "configs/search_censored.yaml").settings.max_iterations == 20


@pytest.mark.parametrize(
    "content",
    [
        MINIMAL,
        "# 六四\n" + MINIMAL + "\n\n# the end, without a line break",
        MINIMAL.replace("\n", "\r\n"),
        "\ufeff" + MINIMAL,
        "---\n" + MINIMAL + "...\n",
        "{topic: t, auditing_model: a/b, 'audited_model': \"deepseek/deepseek-chat\"}",
    ],
)
def test_bytes_of_the_file_are_kept_without_overrides(content, load):
    """The run directory gets the file as it was given: comments, line ends, byte order mark."""
    loaded = load(content)

    assert loaded.file_bytes == content.encode("utf-8")
    assert loaded.settings.topic == "t"


def test_anchors_and_merge_keys_work(load):
    """Two endpoints may be written once."""
    content = MINIMAL + (
        "auditing_endpoint: &here {base_url: 'http://h/v1', timeout_s: 9}\n"
        "audited_endpoint:\n  <<: *here\n  template: chatml\n"
    )

    settings = load(content).settings

    assert settings.audited_endpoint.base_url == "http://h/v1"
    assert settings.audited_endpoint.timeout_s == 9
    assert settings.audited_endpoint.template == "chatml"


def bomb(key: str, first: str, step: str, depth: int = 9) -> str:
    """Return a mapping in which each entry holds the one before ten times."""
    lines = [f"    {key}0: &a0 {first}\n"]
    lines += [
        f"    {key}{level}: &a{level} {step % ', '.join([f'*a{level - 1}'] * 10)}\n"
        for level in range(1, depth)
    ]
    return MINIMAL + "audited_endpoint:\n  extra_body:\n" + "".join(lines)


def chain_of_merges(length: int) -> str:
    """Return mappings that each hold all keys of the one before: half a million for a thousand."""
    links = (f"m{n}: &m{n}\n  <<: *m{n - 1}\n  k{n}: 1\n" for n in range(1, length))
    return "m0: &m0 {k0: 1}\n" + "".join(links)


FILES = [
    (b"\xff\xfe\x00", "is not UTF-8 text."),
    (MINIMAL.encode("utf-16"), "is not UTF-8 text."),
    ("topic: 六四".encode("gb18030"), "is not UTF-8 text."),
    ("topic: [", "is not valid YAML"),
    ("topic: 'open", "is not valid YAML"),
    ("a: b: c", "mapping values are not allowed here (line 1, column 5)."),
    ("sampling:\n\tn: 1", "cannot start any token (line 2, column 1)."),
    ("topic: *nowhere", "undefined alias"),
    ("topic: \0", "special characters are not allowed"),
    ("topic: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
    ("topic: 2024-13-45", "is not valid YAML: month must be in 1..12."),
    ("topic: a\n---\ntopic: b", "is not valid YAML"),
    ("topic: t\ntopic: u", "the key 'topic' is given twice (line 2)."),
    ("sampling:\n  n: 1\n  n: 2", "the key 'n' is given twice (line 3)."),
    ("? [a, b]\n: c", "found unhashable key"),
    ("? {a: b}\n: c", "found unhashable key"),
    ("", "must be a mapping of keys to values, but it is empty."),
    ("# nothing\n", "but it is empty."),
    ("- topic", "but it is a list."),
    ("topic", "but it is a str."),
    ("1989", "but it is a int."),
    ("1: a", "every key must be text."),
    ("sampling: {1: 2}\n" + MINIMAL, "keys should be strings"),
    ("topic: t", "auditing_model is missing; audited_model is missing."),
    (MINIMAL + "topik: t", "unknown key topik (did you mean topic?)."),
    (MINIMAL + "sampling: {temprature: 1}", "unknown key sampling.temprature (did you mean temp"),
    (MINIMAL + "audited_endpoint: {providers: {}}", "(did you mean provider?)."),
    (MINIMAL + "auditing_endpoint: {provider: {}}", "unknown key auditing_endpoint.provider (did"),
    (MINIMAL + "zzzz: 1", "unknown key zzzz (known keys: audited_endpoint, "),
    (MINIMAL + "max_iterations: 0", "max_iterations must be greater than or equal to 1, not 0."),
    (MINIMAL + "max_iterations: '5'", "max_iterations must be a valid integer, not '5'."),
    (MINIMAL + "sampling: 3", "sampling must be a valid dictionary"),
    (MINIMAL.replace("topic: t", "topic: 1989"), "not 1989 (put it in quotes)."),
    (MINIMAL.replace("topic: t", "topic: No"), "not False (put it in quotes)."),
    (MINIMAL.replace("topic: t", "topic: 1989-06-04"), "(put it in quotes)."),
    (MINIMAL.replace("topic: t", "topic:"), "topic must be a valid string, not None."),
    (MINIMAL.replace("topic: t", "topic: ''"), "topic must not be empty."),
    (MINIMAL + "audited_endpoint: {preset: openai_compatible}", "needs a base_url."),
    ("a: 1\nb: 1\nc: 1\nd: 1\ne: 1\n" + MINIMAL, "; and 2 more."),
    # small files that would grow without end
    (bomb("x", "[1]", "[%s]"), "too deep or has too many values"),
    (bomb("x", "{y: 1}", "{<<: [%s], z: 1}"), "too deep or has too many values"),
    (bomb("x", "{y: [1]}", "{y: [%s]}"), "too deep or has too many values"),
    (MINIMAL + "audited_endpoint: {extra_body: {a: &a [*a]}}", "too deep or has too many values"),
    (MINIMAL + f"x: {'[' * 200}{']' * 200}", "too deep or has too many values"),
    (MINIMAL + f"x: {'[' * 1000}{']' * 1000}", "recursion"),
    (MINIMAL + f"x: {'{a: ' * 5000}{'}' * 5000}", "recursion"),
    (MINIMAL + f"sampling: {{seed: {'9' * 5000}}}", "a number has more than 300 digits (line 4)"),
    (MINIMAL + f"sampling: {{seed: 0x{'f' * 5000}}}", "a number has more than 300 digits"),
    (MINIMAL + f"sampling: {{temperature: {':'.join(['59'] * 80_000)}}}", "a number has more than"),
    (MINIMAL + f"# {'x' * 300_000}", "is larger than 256 KB"),
    (MINIMAL + f"x: [{'{a: 1},' * 36_000}]", "too deep or has too many values"),
    (MINIMAL + chain_of_merges(3000), "too deep or has too many values"),
]


def test_no_more_of_a_file_is_read_than_is_needed_to_refuse_it(tmp_path):
    """A file without an end, such as a hole of a terabyte, fills no memory."""
    path = tmp_path / "config.yaml"
    path.write_bytes(b"x" * (MAX_BYTES + 1000))

    assert len(read_yaml(path)) == MAX_BYTES + 1


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("content", "complaint"), FILES, ids=range(len(FILES)))
def test_bad_file_is_refused_in_one_sentence(content, complaint, load, tmp_path):
    """The message begins with the path, names the problem, is one line and comes at once."""
    began = time.process_time()

    with pytest.raises(ConfigError) as caught:
        load(content)

    assert time.process_time() - began < 1
    message = str(caught.value)
    assert message.startswith(str(tmp_path / "audit.yaml"))
    assert complaint in message
    assert message.endswith(".")
    assert len(message.splitlines()) == 1


def test_a_file_of_too_many_values_is_not_read_to_its_end(load, monkeypatch):
    """The reading stops at the limit of 10,000 values, each with a key, of 108,000."""
    composed, compose = [], Composer.compose_node

    def counting(self, parent, index):
        composed.append(index)
        return compose(self, parent, index)

    monkeypatch.setattr(Composer, "compose_node", counting)

    with pytest.raises(ConfigError, match="too many values"):
        load(MINIMAL + f"x: [{'{a: 1},' * 36_000}]")

    assert len(composed) <= 20_000


def test_missing_file_is_named(tmp_path):
    """A path that leads nowhere is repeated, so that a typo can be seen."""
    with pytest.raises(ConfigError, match=r"The config file .*nothing\.yaml does not exist\.$"):
        load_config(tmp_path / "nothing.yaml")


def test_folder_is_no_config(tmp_path):
    """Giving the run directory itself is a mistake that is easy to make."""
    with pytest.raises(ConfigError, match="is a folder; give the path of a YAML file"):
        load_config(tmp_path)


def test_path_through_a_file_cannot_be_read(tmp_path):
    """What the system says is passed on."""
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match="cannot be read: Not a directory"):
        load_config(tmp_path / "file" / "audit.yaml")


@pytest.mark.parametrize(
    "address", ["http://bob:hunter2@host/v1", "bob:hunter2@host/v1", "https://hunter2@host"]
)
def test_password_in_an_address_is_not_repeated(address, load):
    """A message about an address with credentials does not show them."""
    with pytest.raises(ConfigError) as caught:
        load(MINIMAL, f"audited_endpoint.base_url={address}")

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        "audited_endpoint: {api_key_env: sk-or-v1-hunter2}",
        "audited_endpoint: {api_key: sk-or-v1-hunter2}",
        "audited_endpoint: {headers: {Authorization: Bearer hunter2}}",
        "api_key: hunter2",
    ],
)
def test_key_in_a_config_is_refused_unseen(line, load):
    """A config is published with its run, so a key in it is refused, and not shown."""
    with pytest.raises(ConfigError) as caught:
        load(MINIMAL + line)

    assert "hunter2" not in str(caught.value)


# --- overrides ----------------------------------------------------------------------------------

OVERRIDES = [
    # text is taken literally
    ("topic=Hong Kong, 2019", "topic", "Hong Kong, 2019"),
    ("topic=1989", "topic", "1989"),
    ("topic=null", "topic", "null"),
    ("topic=yes", "topic", "yes"),
    ("topic=[a, b]", "topic", "[a, b]"),
    ("topic={topic}", "topic", "{topic}"),
    ("topic=a=b", "topic", "a=b"),
    ("topic='quoted'", "topic", "'quoted'"),
    ("topic=# 六四", "topic", "# 六四"),
    ("topic=a: b", "topic", "a: b"),
    ("topic= padded ", "topic", " padded "),
    ("output_dir=2024", "output_dir", "2024"),
    ("sampling.prefill=1989", "sampling.prefill", "1989"),
    ("sampling.prefill=Line one\nline two", "sampling.prefill", "Line one\nline two"),
    ("sampling.prefill=a\x85b\u2028\r\t", "sampling.prefill", "a\x85b\u2028\r\t"),
    ("audited_endpoint.api_key_env=NO", "audited_endpoint.api_key_env", "NO"),
    ("audited_endpoint.base_url=http://h:1/v1", "audited_endpoint.base_url", "http://h:1/v1"),
    # everything else is YAML of the field's type
    ("sampling.temperature=1.0", "sampling.temperature", 1.0),
    ("sampling.temperature=1", "sampling.temperature", 1.0),
    ("sampling.n=4", "sampling.n", 4),
    ("sampling.thinking=true", "sampling.thinking", True),
    ("sampling.arms=[raw, assistant]", "sampling.arms", ["raw", "assistant"]),
    ("sampling.stop=['\\n\\n', \"\\n\"]", "sampling.stop", ["\\n\\n", "\n"]),
    ("sampling.top_p=null", "sampling.top_p", None),
    ("budget.max_usd=null", "budget.max_usd", None),
    ("budget.max_usd=", "budget.max_usd", None),
    ("budget.max_usd=0.5", "budget.max_usd", 0.5),
    ("audited_endpoint.api_key_env=null", "audited_endpoint.api_key_env", None),
    ("audited_endpoint.base_url=", "audited_endpoint.base_url", None),
    ("auditor_context=compact", "auditor_context", "compact"),
    ("auditor_response_format=none", "auditor_response_format", "none"),
    ("audited_endpoint.template=chatml", "audited_endpoint.template", "chatml"),
    (
        "audited_endpoint.template={user_open: 'Q: '}",
        "audited_endpoint.template",
        {"user_open": "Q: "},
    ),
    # free-form mappings
    (
        "audited_endpoint.provider.only=[deepinfra]",
        "audited_endpoint.provider",
        {"only": ["deepinfra"]},
    ),
    (
        "audited_endpoint.provider={only: [a], allow_fallbacks: false}",
        "audited_endpoint.provider",
        {"only": ["a"], "allow_fallbacks": False},
    ),
    ("auditing_endpoint.extra_body.a.b=1", "auditing_endpoint.extra_body", {"a": {"b": 1}}),
    ("auditing_endpoint.headers.X-Title=t", "auditing_endpoint.headers", {"X-Title": "t"}),
]


@pytest.mark.parametrize(("word", "path", "value"), OVERRIDES)
def test_override_replaces_one_setting(word, path, value, load):
    """The word arrives with the type of its field, and changes nothing else."""
    before, after = load().settings, load(MINIMAL, word).settings

    assert setting(after, path) == value
    assert type(setting(after, path)) is type(value)
    assert set(leaves_that_differ(before.model_dump(), after.model_dump())) <= {path}


@pytest.mark.parametrize(("word", "path", "value"), OVERRIDES)
def test_merged_file_loads_to_the_same_settings(word, path, value, load):
    """What is kept of a run with overrides is a config that gives the same run."""
    loaded = load(MINIMAL, word)

    again = load(loaded.file_bytes)

    assert again.settings == loaded.settings
    assert again.file_bytes == loaded.file_bytes


def leaves_that_differ(before: dict[str, Any], after: dict[str, Any], prefix: str = ""):
    for name, one in before.items():
        other = after[name]
        if isinstance(one, dict) and isinstance(other, dict) and set(one) == set(other):
            yield from leaves_that_differ(one, other, f"{prefix}{name}.")
        elif one != other:
            yield prefix + name


def test_overrides_are_named_in_a_comment(load):
    """A reader of the run directory sees what was changed, in order, also for odd words."""
    words = ["topic=Hong Kong, 2019", "sampling.n=2", "sampling.prefill=a\nb\x1b[2J\ufeff"]

    text = load(MINIMAL, *words).file_bytes.decode()

    assert text.splitlines()[:4] == [
        "# Merged from the given config and these overrides:",
        "#   topic=Hong Kong, 2019",
        "#   sampling.n=2",
        "#   sampling.prefill=a⏎ b⟨U+001B⟩[2J⟨U+FEFF⟩",
    ]
    assert yaml.safe_load(text)["topic"] == "Hong Kong, 2019"


def test_merged_file_keeps_text_readable(load):
    """Chinese text is written as it is."""
    assert "topic: 天安门广场" in load(MINIMAL, "topic=天安门广场").file_bytes.decode()


def test_setting_given_twice_is_refused(load):
    """Of two values on one command line, one is a mistake."""
    with pytest.raises(ConfigError, match=r"^topic is given twice on the command line\.$"):
        load(MINIMAL, "topic=a", "sampling.n=2", "topic=b")


def test_override_keeps_the_rest_of_a_group(load):
    """Changing one key of a group leaves its other keys as the file has them."""
    content = MINIMAL + "sampling: {n: 3, temperature: 0.1}\n"

    sampling = load(content, "sampling.n=5").settings.sampling

    assert (sampling.n, sampling.temperature) == (5, 0.1)


def test_override_of_one_endpoint_leaves_the_other_that_shares_its_anchor(load):
    """An alias saves writing; it does not tie two settings together."""
    content = MINIMAL + (
        "auditing_endpoint: &here {base_url: 'http://h:1/v1', extra_body: {a: 1}}\n"
        "audited_endpoint: *here\n"
    )

    settings = load(
        content, "audited_endpoint.base_url=http://h:2/v1", "audited_endpoint.extra_body.a=2"
    ).settings

    assert settings.auditing_endpoint.base_url == "http://h:1/v1"
    assert settings.audited_endpoint.base_url == "http://h:2/v1"
    assert settings.auditing_endpoint.extra_body == {"a": 1}
    assert settings.audited_endpoint.extra_body == {"a": 2}


REFUSED = [
    ("fast", "'fast' is not an override; write key=value"),
    ("topic:Hong Kong", "is not an override; write key=value"),
    ("topik=x", "unknown key topik (did you mean topic?)"),
    ("sampling.temprature=1", "unknown key sampling.temprature (did you mean temperature?)"),
    ("temperature=1", "unknown key temperature"),
    ("=x", "unknown key"),
    ("sampling.=1", "unknown key sampling."),
    (".topic=x", "unknown key"),
    ("sampling=3", "name one of its keys, such as sampling.max_tokens=VALUE."),
    ("sampling={n: 2}", "name one of its keys, such as sampling.max_tokens=VALUE."),
    ("budget=null", "name one of its keys, such as budget.max_usd=VALUE."),
    ("audited_endpoint.price=3", "audited_endpoint.price is a group of settings"),
    ("topic.x=1", "topic is not a group of settings"),
    ("sampling.arms.0=raw", "arms"),
    ("sampling.arms=[raw", "sampling.arms: '[raw' is not a valid value."),
    ("sampling.arms=[raw, raw]", "lists an arm twice"),
    ("sampling.arms=raw", "sampling.arms must be a valid list"),
    ("sampling.n=four", "sampling.n must be a valid integer, not 'four'."),
    ("sampling.n=1.0", "sampling.n must be a valid integer"),
    ("sampling.seed=2024-13-45", "sampling.seed: '2024-13-45' is not a valid value."),
    ("sampling.seed=" + "9" * 5000, "is not a valid value."),
    ("audited_endpoint.provider=" + "[" * 1000, "is not a valid value."),
    ("audited_endpoint.provider=" + "[" * 100 + "]" * 100, "is not a valid value."),
    ("audited_endpoint.provider={only: [a], only: [b]}", "is not a valid value."),
    ("audited_endpoint.provider={[a]: b}", "is not a valid value."),
    ("audited_endpoint.extra_body.a=2024-01-01", "JSON"),
    ("max_iterations=0", "max_iterations must be greater than or equal to 1, not 0."),
    ("topic=", "topic must not be empty"),
]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("word", "complaint"), REFUSED, ids=range(len(REFUSED)))
def test_bad_override_is_refused_in_one_sentence(word, complaint, load):
    """A word that cannot be applied is named, with what would be right."""
    with pytest.raises(ConfigError) as caught:
        load(MINIMAL, word)

    message = str(caught.value)
    assert complaint in message
    assert message.endswith((".", "?)"))
    assert len(message.splitlines()) == 1
    assert len(message) < 700


def test_override_of_a_group_that_the_file_empties(load):
    """A group that the file sets to null is not silently filled again."""
    with pytest.raises(ConfigError, match="sampling is not a group of settings in this config"):
        load(MINIMAL + "sampling:\n", "sampling.n=2")


printable = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(text=printable)
def test_any_text_survives_an_override_and_the_merged_file(text, tmp_path_factory):
    """A text setting arrives literally, and again when the kept config is loaded."""
    folder = tmp_path_factory.getbasetemp()
    (folder / "given.yaml").write_text(MINIMAL, encoding="utf-8")

    loaded = load_config(folder / "given.yaml", [f"sampling.prefill={text}"])
    (folder / "kept.yaml").write_bytes(loaded.file_bytes)
    again = load_config(folder / "kept.yaml")

    assert loaded.settings.sampling.prefill == text
    assert again.settings == loaded.settings


@given(word=st.text(st.characters(exclude_categories=[])))
def test_any_word_is_applied_or_refused(word, tmp_path_factory):
    """No word on the command line ends in anything but a config or a ConfigError."""
    path = tmp_path_factory.getbasetemp() / "any_word.yaml"
    path.write_text(MINIMAL, encoding="utf-8")

    try:
        load_config(path, [word])
    except ConfigError as err:
        assert re.search(r"\S", str(err))  # noqa: PT017 -- both ends are right


keys = st.sampled_from(["topic", "sampling", "sampling.seed", "sampling.stop", "budget.max_usd"])
keys |= st.sampled_from(["audited_endpoint.provider", "audited_endpoint.extra_body.x"])


@given(key=keys, text=st.text(st.sampled_from("{}[]:,&*!|>'\"%@`#-?0123456789.eE+_ \nabx~<=")))
def test_any_value_is_applied_or_refused(key, text, tmp_path_factory):
    """No value, however close to YAML's odd corners, ends in anything but a ConfigError."""
    path = tmp_path_factory.getbasetemp() / "any_value.yaml"
    path.write_text(MINIMAL, encoding="utf-8")

    try:
        load_config(path, [f"{key}={text}"]).settings.identity()
    except ConfigError as err:
        assert re.search(r"\S", str(err))  # noqa: PT017 -- both ends are right
