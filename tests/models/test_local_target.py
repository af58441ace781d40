"""What a config leaves to the GGUF file of its target is settled before anything starts."""

from __future__ import annotations

import hashlib
import os
import sys
from typing import Any

import pytest
import yaml

from tests.gguf_files import CHATML, write_gguf
from tests.support import ROOT, run_python, run_ucm
from uncensoring_chinese_models.config.loading import load_config, with_values
from uncensoring_chinese_models.errors import ConfigError, UnknownTemplateError
from uncensoring_chinese_models.models.local.gguf import (
    find_gguf,
    name_in_cache,
    name_of_target,
    path_of,
)
from uncensoring_chinese_models.models.local.gguf_header import Header
from uncensoring_chinese_models.models.local.known import known_models
from uncensoring_chinese_models.models.local.rendering import Rendered, render_template
from uncensoring_chinese_models.models.local_target import settle_target
from uncensoring_chinese_models.models.sampling import Sampler
from uncensoring_chinese_models.models.templates import (
    choose_template,
    load_families,
    template_written_as,
)
from uncensoring_chinese_models.runs.store import run_name

QWEN = "qwen2.5-coder-1.5b-instruct"
LLAMA = """\
{%- if strftime_now is defined %}{%- set today = strftime_now('%d %b %Y') %}{%- endif %}
{{- bos_token }}
{{- '<|start_header_id|>system<|end_header_id|>\n\n' }}
{{- 'Cutting Knowledge Date: December 2023\nToday Date: ' + today + '\n\n<|eot_id|>' }}
{%- for message in messages %}
{{- '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' }}
{{- message.content | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}"""
QWEN3 = (
    CHATML
    + "{% if enable_thinking is defined and enable_thinking is false %}"
    + "{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}"
)
UNKNOWN = "{% for m in messages %}{{ '[[' + m.role + ']] ' + m.content }}{% endfor %}"


def config_of(tmp_path, **changes):
    config = {
        "topic": "Lamps",
        "auditing_model": "builtin/baseline",
        "audited_model": f"gguf/{tmp_path}/tiny.gguf",
        "output_dir": str(tmp_path / "outputs"),
    }
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config | changes))
    return path


def settled(tmp_path, metadata=None, **changes):
    """Write the file of a target, and return the target's settings as the run has them."""
    write_gguf(tmp_path / "tiny.gguf", metadata)
    return settle_target(load_config(config_of(tmp_path, **changes))).settings


def header_with(template, **changes):
    fields: dict[str, Any] = {"architecture": "llama", "name": "", "bos": "<s>", "eos": "</s>"}
    fields |= {"adds_bos": None, "context_length": None, "chat_template": template}
    return Header(**(fields | changes))


def rendered(template, **changes):
    """Return what a template writes, which must be something."""
    found = render_template(header_with(template, **changes))
    assert found is not None
    return found


# --- the template of the file -------------------------------------------------------------------


@pytest.mark.parametrize(
    "family", [name for name, each in load_families().items() if each.verified]
)
def test_every_family_is_found_again_by_its_strings(family):
    """Whatever a file is called: what its template writes decides, with thinking on and off."""
    known = load_families()[family]
    after = known.user_close + known.assistant_open
    off = known.assistant_open_no_think
    found = template_written_as(
        Rendered(
            known.user_open,
            after,
            known.user_open if off is None else known.user_open_no_think or known.user_open,
            after if off is None else (known.user_close_no_think or known.user_close) + off,
        )
    )
    assert found is not None
    assert (found.user_open, found.user_close + found.assistant_open) == (known.user_open, after)
    assert (found.assistant_open_no_think or found.assistant_open) == (off or known.assistant_open)


@pytest.mark.parametrize(
    ("template", "names", "family"),
    [
        (CHATML, (), "chatml"),
        (CHATML, ("Yi-1.5-9B-Chat",), "yi-1.5"),
        (CHATML, ("", "Qwen3-4B-Instruct-2507-Q4_K_M.gguf"), "qwen3-instruct-2507"),
        (QWEN3, (), "qwen3"),
        (CHATML, ("Qwen2.5-7B-Instruct",), "chatml"),  # the name is one thing, the file another
    ],
)
def test_strings_decide_and_names_choose_among_equals(template, names, family):
    """A name never gives a template that the file does not have."""
    found = template_written_as(rendered(template), *names)
    assert found is not None
    assert found.family == family


def test_day_of_rendering_does_not_matter():
    """A default system block may hold a date; the one of the family is sent."""
    found = template_written_as(rendered(LLAMA, bos="<|begin_of_text|>"))
    assert found is not None
    assert found.family == "llama-3.1/3.3"


@pytest.mark.parametrize(
    "template",
    [
        "{% for x in range(99999) %}{% for y in range(99999) %}{% endfor %}{% endfor %}",
        "{{ raise_exception('only with tools') }}",
        "{% for broken",
        "no message at all",
        "{{ messages[0].content }}{{ messages[0].content }}",
    ],
)
def test_template_that_harms_or_fails_gives_nothing(template, monkeypatch):
    """It has its own process with little time and memory, and no way to the interpreter."""
    monkeypatch.setattr("uncensoring_chinese_models.models.local.rendering._MAX_S", 3)

    assert render_template(header_with(template)) is None


def test_template_has_no_way_to_the_machine(tmp_path):
    """What would start a program elsewhere starts none here."""
    order = f"cycler.__init__.__globals__.os.system('touch {tmp_path}/harm')"

    render_template(header_with("{{ " + order + " }}{{ messages[0].content }}"))
    assert not (tmp_path / "harm").exists()


def test_template_that_wants_much_memory_does_not_get_it():
    """Its process is refused more than a gigabyte."""
    code = """
import resource
from uncensoring_chinese_models.models.local.gguf_header import Header
from uncensoring_chinese_models.models.local.rendering import render_template

greedy = "{% set x = 'x' * 2 * 10**9 %}{{ messages[0].content }}"
fields = {"architecture": "", "name": "", "adds_bos": None, "context_length": None}
assert render_template(Header(chat_template=greedy, bos="", eos="", **fields)) is None
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
    done = run_python(ROOT, "-c", code)

    assert done.returncode == 0, done.stderr
    kilobytes = int(done.stdout) // (1024 if sys.platform == "darwin" else 1)
    assert kilobytes < 1 << 20


def test_file_without_a_template_gives_nothing():
    """Nothing is rendered."""
    assert render_template(header_with(None)) is None


# --- the settings of a run ----------------------------------------------------------------------


def test_file_decides_hash_template_and_bos(tmp_path):
    """They are in the settings that a run must keep, and prompts are written with them."""
    config = settled(tmp_path)
    target = config.audited_endpoint

    content = (tmp_path / "tiny.gguf").read_bytes()
    assert target.file_sha256 == hashlib.sha256(content).hexdigest()
    assert (target.template, target.send_bos) == ("chatml", True)
    assert config.identity()["audited_endpoint"]["file_sha256"] == target.file_sha256
    assert Sampler(config).user_turn("Hello") == "<|im_start|>user\nHello"


def test_stored_config_says_the_same_and_why(tmp_path):
    """The run's config.yaml holds what the file said, so it can be resumed and checked without it."""
    write_gguf(tmp_path / "tiny.gguf")
    loaded = settle_target(load_config(config_of(tmp_path), ["max_iterations=2"]))

    (tmp_path / "stored.yaml").write_bytes(loaded.file_bytes)
    assert load_config(tmp_path / "stored.yaml").settings == loaded.settings
    comments = [line for line in loaded.file_bytes.decode().splitlines() if line.startswith("#")]
    assert comments[:3] == [
        "# Merged from the given config and these overrides:",
        "#   max_iterations=2",
        "# From the file of the target:",
    ]
    assert settle_target(loaded) == loaded


@pytest.mark.parametrize(("adds", "sends"), [(True, False), (False, True), (None, None)])
def test_bos_is_sent_once(tmp_path, adds, sends):
    """By the server, or by us, or as the preset says where the file says nothing."""
    found = settled(tmp_path, {"tokenizer.ggml.add_bos_token": adds})
    assert found.audited_endpoint.send_bos is sends


def test_what_the_config_says_stays(tmp_path):
    """A given template and rule on BOS are used as they are."""
    given = {"template": "qwen2.5", "send_bos": False}
    target = settled(tmp_path, audited_endpoint=given).audited_endpoint

    assert (target.template, target.send_bos) == ("qwen2.5", False)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (
            UNKNOWN,
            r"has a chat template that is not known \(its user turn opens with '\[\[user\]\] '\)",
        ),
        (None, "has no chat template; nothing was started"),
        ("{% for", "has a chat template that cannot be rendered"),
    ],
)
def test_unknown_template_is_refused_and_can_be_given(tmp_path, template, expected):
    """One sentence, before anything starts; with a template in the config the same file is taken."""
    metadata = {"tokenizer.chat_template": template}

    with pytest.raises(UnknownTemplateError, match=expected) as caught:
        settled(tmp_path, metadata)
    assert "\n" not in str(caught.value)
    assert "nothing was started: set audited_endpoint.template" in str(caught.value)
    given = {"template": {"user_open": "[[user]] ", "stop": ["[["]}}
    assert (
        settled(tmp_path, metadata, audited_endpoint=given).audited_endpoint.template
        == (given["template"])
    )


def test_arms_without_a_template_need_none(tmp_path):
    """A base model can be continued from raw text."""
    config = settled(tmp_path, {"tokenizer.chat_template": None}, sampling={"arms": ["raw"]})

    assert config.audited_endpoint.template is None
    assert Sampler(config).template is None


def test_chat_api_is_refused_where_the_server_would_choose_the_template(tmp_path):
    """A file without a template is not chatted with in a format that nobody named."""
    metadata = {"tokenizer.chat_template": None}

    with pytest.raises(ConfigError, match=r"the arm assistant cannot use the chat API"):
        settled(tmp_path, metadata, sampling={"arms": ["assistant"]})
    by_template = {"arms": ["assistant"], "assistant_via": "template"}
    given = {"template": "chatml"}
    assert settled(tmp_path, metadata, sampling=by_template, audited_endpoint=given)


def test_another_file_than_the_config_says_is_refused(tmp_path):
    """A pinned file is that file or none."""
    with pytest.raises(ConfigError, match=r"but audited_endpoint.file_sha256 is 0000"):
        settled(tmp_path, audited_endpoint={"file_sha256": "0" * 64})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"audited_endpoint": {"file_sha256": "xyz"}}, "must be 64 hexadecimal digits"),
        (
            {"audited_model": "a/b", "audited_endpoint": {"file_sha256": "0" * 64}},
            "file_sha256 is for gguf/NAME_OR_PATH alone",
        ),
        ({"audited_endpoint": {"preset": "gguf"}, "audited_model": "a/b"}, "must be gguf/NAME"),
        ({"auditing_model": "gguf/x"}, "only audited_model can be a GGUF file"),
        ({"judge_model": "gguf/x"}, "only audited_model can be a GGUF file"),
        ({"audited_model": "../mine.gguf"}, r"did you mean gguf/\.\./mine\.gguf\?"),
        ({"audited_model": "GGUF/mine.gguf"}, r"did you mean gguf/mine\.gguf\?"),
    ],
)
def test_settings_that_do_not_fit_are_refused(tmp_path, changes, expected):
    """By the config alone, before any file is looked at."""
    with pytest.raises(ConfigError, match=expected):
        load_config(config_of(tmp_path, **changes))


def test_changed_file_is_hashed_again(tmp_path):
    """A hash is kept only as long as the file stays as it is."""
    first = settled(tmp_path).audited_endpoint.file_sha256
    second = settled(tmp_path, {"general.name": "Other"}).audited_endpoint.file_sha256

    assert first != second


# --- names and paths ----------------------------------------------------------------------------


def test_name_or_path(tmp_path, monkeypatch):
    """A known name is its file in the cache; all else is a path, which may begin at home."""
    monkeypatch.setenv("UCM_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("HOME", "/h")

    assert path_of(f"gguf/{QWEN}") == tmp_path / known_models()[QWEN].file
    assert str(path_of("gguf/models/x.gguf")) == "models/x.gguf"
    assert str(path_of("gguf//models/x.gguf")) == "/models/x.gguf"
    assert str(path_of("gguf/~/x.gguf")) == "/h/x.gguf"
    assert str(path_of("gguf/~nobody-here/x.gguf")) == "~nobody-here/x.gguf"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Qwen2.5-Coder-1.5B", rf"no model of this name \(did you mean gguf/{QWEN}\?\)"),
        (
            "models/mine.gguf",
            r"there is no file models/mine\.gguf, .* of this name; nothing was started",
        ),
        ("~nobody-here/x.gguf", "there is no file ~nobody-here/x"),
        ("x" * 300, "cannot be read .File name too long.; nothing was started"),
        (".", r"^\. is not a file; nothing was started"),
    ],
)
def test_name_of_nothing_is_refused_in_a_sentence(name, expected):
    """Whatever is wrong with it, and with the known name that is near."""
    with pytest.raises(ConfigError, match=expected):
        find_gguf(f"gguf/{name}")


def test_name_that_is_not_utf8_is_refused_in_a_sentence(tmp_path):
    """llama.cpp cannot open it; a name in Chinese it can."""
    wrong = tmp_path / os.fsdecode(b"\xff.gguf")
    for path in (wrong, tmp_path / "模型\u3000一.gguf"):
        write_gguf(path)

    with pytest.raises(ConfigError, match=r"udcff\.gguf has a name that is not UTF-8"):
        find_gguf(f"gguf/{wrong}")
    assert find_gguf(f"gguf/{path}").header.name == "Tiny"


def test_known_model_that_is_not_here_is_refused_with_its_size(tmp_path, monkeypatch):
    """A run never fetches a gigabyte by surprise."""
    monkeypatch.setenv("UCM_CACHE_DIR", str(tmp_path))

    with pytest.raises(ConfigError, match=rf"'ucm model get {QWEN}' fetches it \(1,117 MB\)"):
        find_gguf(f"gguf/{QWEN}")


def test_file_under_a_known_name_must_be_that_file(tmp_path, monkeypatch):
    """The name stands for one sha256."""
    monkeypatch.setenv("UCM_CACHE_DIR", str(tmp_path))
    write_gguf(tmp_path / known_models()[QWEN].file)

    with pytest.raises(ConfigError, match=f"is not {QWEN}: its sha256 is"):
        find_gguf(f"gguf/{QWEN}")


def test_path_into_the_cache_is_told_by_its_name(tmp_path, monkeypatch):
    """`ucm model path` prints a path of this machine; a run that names the model can be published."""
    monkeypatch.setenv("UCM_CACHE_DIR", str(tmp_path))
    path = tmp_path / known_models()[QWEN].file
    write_gguf(path)

    assert name_in_cache(f"gguf/{path}") == f"gguf/{QWEN}"
    assert name_in_cache(f"gguf/{QWEN}") is None
    assert name_in_cache(f"gguf/{tmp_path}/other.gguf") is None
    with pytest.raises(ConfigError, match=f"is not {QWEN}: its sha256 is"):
        settle_target(load_config(config_of(tmp_path, audited_model=f"gguf/{path}")))


def test_value_that_replaces_an_override_leaves_no_trace_of_it(tmp_path):
    """The comment with the private path would be published with the run."""
    loaded = load_config(config_of(tmp_path), ["audited_model=gguf//secret/x.gguf"])
    named = with_values(loaded, [f"audited_model=gguf/{QWEN}"], "the cache of models")

    assert "secret" not in named.file_bytes.decode()
    assert named.settings.audited_model == f"gguf/{QWEN}"


def test_model_has_one_name_however_its_file_was_given():
    """Lists of runs show a known file by its name, and any other as the config names it."""
    known = {"audited_endpoint": {"file_sha256": known_models()[QWEN].sha256}}

    assert name_of_target({"audited_model": "gguf//a/x.gguf", **known}) == f"gguf/{QWEN}"
    assert name_of_target({"audited_model": "gguf/x.gguf", "audited_endpoint": {}}) == "gguf/x.gguf"
    assert name_of_target({"audited_model": "a/b"}) == "a/b"


def test_name_of_a_file_gives_no_template(tmp_path):
    """A file is read, never guessed at by what it is called."""
    with pytest.raises(UnknownTemplateError, match="is in its file, not in its name"):
        choose_template("gguf/qwen2.5-7b-instruct.gguf")


def test_run_is_named_without_the_folders_of_the_file():
    """They concern nobody else."""
    name = run_name("gguf//data/someone/tiny.gguf", "Lamps", "2026-01-01T00:00:00Z")
    assert name == "gguf-tiny_lamps_2026-01-01T00-00-00"


@pytest.mark.parametrize("words", [("audit",), ("audit", "--dry-run"), ("doctor",)])
def test_every_command_refuses_before_anything_starts(tmp_path, words):
    """One sentence, exit code 2, and no run directory."""
    (tmp_path / "tiny.gguf").write_text("no model")
    done = run_ucm(tmp_path, words[0], config_of(tmp_path), *words[1:])

    assert done.returncode == 2
    assert done.stderr == f"error: {tmp_path}/tiny.gguf is not a GGUF file; nothing was started.\n"
    assert not (tmp_path / "outputs").exists()


def test_plan_shows_the_template_of_the_file(tmp_path):
    """--dry-run writes the prompts that the run would send."""
    write_gguf(tmp_path / "tiny.gguf")
    done = run_ucm(tmp_path, "audit", config_of(tmp_path), "--dry-run")

    assert done.returncode == 0, done.stderr
    assert "template: chatml (" in done.stdout
    assert "<|im_start|>user" in done.stdout
