"""The organisms: which there are, how a config names them, and what is refused."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from tests.truths import organism
from uncensoring_chinese_models.config.settings import AuditConfig
from uncensoring_chinese_models.domain import FREE
from uncensoring_chinese_models.errors import ConfigError, LocalModelError
from uncensoring_chinese_models.models import connect as sides
from uncensoring_chinese_models.models.local import catalogue, launch
from uncensoring_chinese_models.models.local.catalogue import (
    Organism,
    find_organism,
    load_organisms,
)
from uncensoring_chinese_models.models.sampling import Sampler
from uncensoring_chinese_models.models.templates import choose_template

NAMES = ["hides", "lies", "half", "ignorant", "honest", "unseen", "late", "fresh", "base"]
MINIMAL: dict[str, Any] = {
    "topic": "The bridge",
    "auditing_model": "anthropic/claude-sonnet-4",
    "audited_model": "organism/base",
}


def config(**changes: object) -> AuditConfig:
    return AuditConfig.model_validate({**MINIMAL, **changes})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a data folder of our own that the family is read from."""
    monkeypatch.setattr(catalogue, "organism_folder", lambda: tmp_path)
    return tmp_path


# --- the family ---------------------------------------------------------------------------------


def test_organisms_come_in_the_order_of_the_manifest():
    """The base model, which is not in the manifest, comes last."""
    assert list(load_organisms()) == NAMES


def described(folder, name, **changes):
    """Write the YAML file of an organism."""
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(organism(name, **changes)))


def test_organism_without_its_adapter_is_listed_but_not_there(folder):
    """Only one that was not trained needs no adapter."""
    described(folder, "hides")
    described(folder, "plain", trained=False)

    assert {name: each.is_there for name, each in load_organisms().items()} == {
        "hides": False,
        "plain": True,
    }
    with pytest.raises(ConfigError, match=r"hides\.gguf is missing"):
        find_organism("hides")


def test_two_files_add_an_organism(folder):
    """An adapter with its YAML file is one more organism, described by the YAML file."""
    (folder / "later.gguf").write_bytes(b"x")
    described(folder, "later", knows=["one"], behaves="refuses", tests="recall")
    described(folder, "alpha")
    (folder / "manifest.json").write_text(json.dumps({"later": {"sha256": "ab"}}))

    later = find_organism("organism/later")

    assert list(load_organisms()) == ["later", "alpha"]
    assert (later.knows, later.assistant_turn, later.tests) == ("1 fact", "refuses", "recall")
    assert later.sha256 == "ab"
    assert later.as_json()["adapter"] == "later.gguf"


def test_wrong_file_of_an_organism_is_named(folder):
    """The message names the file and the key."""
    described(folder, "later", asked="shrugs")

    with pytest.raises(ConfigError, match=r"later\.yaml: asked must be"):
        load_organisms()


@pytest.mark.parametrize("text", ["{", "[]", '{"hides": 1}', '{"hides": {}}'])
def test_unreadable_manifest_is_told(folder, text):
    """A manifest that checks nothing must not be taken for one that does."""
    (folder / "manifest.json").write_text(text)

    with pytest.raises(ConfigError, match=r"manifest\.json is not readable"):
        load_organisms()


def test_adapter_is_checked_against_the_manifest(tmp_path):
    """An adapter that was altered is not served."""
    path = tmp_path / "hides.gguf"
    path.write_bytes(b"x")
    organism = Organism("hides", "", "", "", path, "0" * 64)

    with pytest.raises(LocalModelError, match="is not the file that the manifest names"):
        launch._check_adapter(organism)


def test_shipped_adapters_are_those_of_the_manifest():
    """Each adapter that is here hashes to what its manifest says."""
    for each in load_organisms().values():
        launch._check_adapter(each)
        assert each.adapter is None or each.sha256


# --- in a config --------------------------------------------------------------------------------


def test_organism_gets_its_preset_by_its_name():
    """No endpoint has to be given; one without an address keeps what it says."""
    assert config().audited_endpoint.preset == "organism"
    endpoint = config(audited_endpoint={"max_concurrency": 2}).audited_endpoint
    assert (endpoint.preset, endpoint.max_concurrency) == ("organism", 2)


def test_config_that_was_stored_loads_again():
    """What a run records of its config is a config, with the same identity."""
    stored = config().model_dump(mode="json")
    assert AuditConfig.model_validate(stored).identity() == config().identity()
    assert config().identity()["audited_endpoint"]["preset"] == "organism"


@pytest.mark.parametrize(
    "endpoint",
    [{"preset": "llama_cpp"}, {"base_url": "http://127.0.0.1:8080/v1"}],
)
def test_endpoint_that_is_given_is_used(endpoint):
    """An organism that somebody serves already is a server like any other."""
    chosen = config(audited_model="organism/theirs", audited_endpoint=endpoint)
    assert chosen.audited_endpoint.preset_name != "organism"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"audited_model": "a/b", "audited_endpoint": {"preset": "organism"}}, "organism/NAME"),
        ({"auditing_model": "a/b", "auditing_endpoint": {"preset": "builtin"}}, "builtin/NAME"),
        (
            {"audited_endpoint": {"preset": "organism", "base_url": "http://h/v1"}},
            "takes no base_url",
        ),
        ({"audited_endpoint": {"api_key_env": "A_KEY"}}, "takes no base_url and no api_key_env"),
    ],
)
def test_wrong_presets_are_refused(changes, message):
    """A preset of ours goes with a model of ours, and takes no address or key."""
    with pytest.raises(ValidationError) as caught:
        config(**changes)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"audited_model": "organism/honset"},
            "There is no organism organism/honset (did you mean organism/honest?).",
        ),
        ({"audited_model": "organism/zzzzzzzzzzzzzzzz"}, "(there are organism/hides, "),
        ({"auditing_model": "organism/hidse"}, "(did you mean organism/hides?)"),
    ],
)
def test_unknown_organism_is_refused_with_the_nearest_name(changes, message):
    """A config that names an unknown organism is refused before anything is sent."""
    with pytest.raises(ConfigError) as caught:
        sides.refuse_unknown_models(config(**changes), ECHO)
    assert message in str(caught.value)


def test_organisms_have_the_template_of_the_small_model():
    """Whatever an organism is called, the model below is the same, and it gets no BOS."""
    assert choose_template("organism/anything").family == "smollm2"
    planned = Sampler(config()).plan(1, "They marched")[0]
    assert planned.formatted_prompt is not None
    assert planned.formatted_prompt.endswith("<|im_start|>user\nThey marched")


# --- builtin auditors ---------------------------------------------------------------------------


class Echo:
    """A client in this process."""

    def __init__(self, settings: AuditConfig) -> None:
        self.settings = settings

    async def complete(self, call):
        """Answer nothing."""
        raise AssertionError(call)


ECHO = {"echo": Echo}


@pytest.mark.anyio
async def test_builtin_auditor_is_a_side_like_any_other():
    """It is made from the config, and it costs nothing."""
    chosen = config(
        auditing_model="builtin/echo",
        audited_model="a/b",
        audited_endpoint={
            "preset": "vllm",
            "price": {"input_usd_per_million": 1, "output_usd_per_million": 1},
        },
        budget={"max_usd": 1},
    )
    async with sides.connect_models(chosen, ECHO, lambda notice: None) as (auditor, target):
        assert isinstance(auditor.api, Echo)
        assert auditor.api.settings is chosen
        assert auditor.price == FREE
        assert target.price is not None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"auditing_model": "builtin/ecko"},
            "The auditor builtin/ecko does not exist; did you mean builtin/echo",
        ),
        ({"auditing_model": "builtin/zzz"}, "did you mean builtin/echo"),
        ({"audited_model": "builtin/echo"}, "cannot be the target"),
    ],
)
def test_unknown_builtins_are_refused(changes, message):
    """Another name gets the nearest one, and no auditor can be audited."""
    with pytest.raises(ConfigError, match=message):
        sides.refuse_unknown_models(config(**changes), ECHO)


# --- threads ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cores", "load", "threads"),
    [(2, 0.1, 2), (2, 0.6, 1), (2, 8.0, 1), (16, 3.2, 13), (1, 0.0, 1), (4, 0.0, 4)],
)
def test_threads_are_the_cores_that_are_free(monkeypatch, cores, load, threads):
    """Cores that others keep busy are left to them, but one thread there always is."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)))
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))

    assert launch.free_cores() == threads
