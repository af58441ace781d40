"""The documentation says what the program does; what can be checked in it is checked."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
import yaml
from tools.write_docs import FACTS_PAGE, PAGE, TOPICS, facts_page, page

from tests.support import ROOT, audit_here, audited_provider
from uncensoring_chinese_models.config.settings import AuditConfig
from uncensoring_chinese_models.measure.facts.lint import problems_of
from uncensoring_chinese_models.measure.facts.schema import (
    Ending,
    Fact,
    Facts,
    Source,
    builtin_topics,
)
from uncensoring_chinese_models.runs.journal import Journal

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
KEYED_BY_DATA = {"by_provider", "by_served_model", "sha256", "config", "template", "by_arm"}


def keys_of(value):
    """Yield every key of a JSON value, but not below mappings whose keys are data."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            if key not in KEYED_BY_DATA:
                yield from keys_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from keys_of(item)


def test_every_key_of_a_real_run_is_described(tmp_path):
    """docs/run-format.md names each key that a run writes."""
    described = set(re.findall(r"`(\w+)`", (ROOT / "docs/run-format.md").read_text("utf-8")))
    extra = {"question": "Why?", "prediction": {"hypothesis": "h1", "words": ["maps", "bell"]}}
    with audited_provider(extra=extra, extra_hypothesis={"status": "open"}) as p:
        arms = {"arms": ["user_persona", "assistant", "assistant_prefill"]}
        run = audit_here(tmp_path, p, sampling=arms, doctor="report")

    written = set()
    for path in run.folder.rglob("*.json"):
        value = json.loads(path.read_bytes())
        value.pop("input_messages", None)
        for sample in value.get("samples", []):
            sample.pop("messages")
        written |= set(keys_of(value))
    assert written - described - {"package", "python"} == set()


def test_configuration_page_is_current():
    """docs/configuration.md is what `make docs` would write now."""
    assert PAGE.read_text("utf-8") == page()


def test_table_of_topics_is_current():
    """docs/facts.md has the table that `make docs` would write now."""
    text = FACTS_PAGE.read_text("utf-8")
    table = TOPICS.search(text)

    assert table is not None
    assert text == facts_page(text)
    assert all(f"| `{name}` |" in table.group() for name in builtin_topics())


def test_every_key_of_a_facts_file_is_described():
    """docs/facts.md names each of them."""
    described = set(re.findall(r"`(\w+)`", FACTS_PAGE.read_text("utf-8")))
    keys = {key for model in (Facts, Fact, Ending, Source) for key in model.model_fields}
    assert keys - described == set()


def test_every_setting_has_a_description():
    """A setting without a line of documentation is not finished."""
    assert all(field.description for field in AuditConfig.model_fields.values())


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    """Each relative link and picture of the docs exists."""
    targets = re.findall(r"\]\(([^)#\s]+)", path.read_text("utf-8"))
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (path.parent / target).exists()] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_yaml_examples_are_valid_configs(path):
    """A whole config or facts file shown in the docs loads; a part of one is at least YAML."""
    blocks = re.findall(r"```yaml\n(.*?)```", path.read_text("utf-8"), flags=re.DOTALL)
    for block in blocks:
        example = yaml.safe_load(block)
        if isinstance(example.get("facts"), list):
            (problem,) = problems_of(Facts.model_validate(example))
            assert problem == "there are 1 facts; a topic needs 12"
        elif "topic" in example:
            AuditConfig.model_validate(example)


def test_spec_config_is_a_valid_config():
    """The shipped config loads as it stands."""
    AuditConfig.model_validate(yaml.safe_load((ROOT / "configs/search_censored.yaml").read_text()))


def test_make_targets_named_in_the_docs_exist():
    """A command that the docs tell to type is there."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    text = "\n".join(path.read_text("utf-8") for path in PAGES)
    assert set(re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)`", text, flags=re.MULTILINE))
    named = {
        one or two
        for one, two in re.findall(
            r"(?:^make ([a-z-]+)|`make ([a-z-]+)`)", text, flags=re.MULTILINE
        )
    }
    assert named - targets == set()


def test_journal_records_are_described(tmp_path):
    """docs/crash-and-resume.md names each kind of record."""
    text = (ROOT / "docs/crash-and-resume.md").read_text("utf-8")
    with audited_provider() as provider:
        run = audit_here(tmp_path, provider, max_iterations=1)

    lines = (run.folder / "journal.jsonl").read_text("ascii").splitlines()
    kinds = {json.loads(line)["type"] for line in lines}
    assert kinds >= {"header", "sent", "attempt", "done", "decision", "footer"}
    assert all(f"`{kind}`" in text for kind in kinds)
    assert Journal.__doc__


def test_tracked_files_name_no_place_on_a_machine():
    """Nothing that is committed names a home folder or a package index."""
    found = subprocess.run(
        ["git", "grep", "-nIE", r"(/home/[a-z]|/[r]oot/|/[U]sers/|--[i]ndex-url)", "--", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in found.stdout.splitlines() if "tests/test_" not in line]
    assert ours == []


def test_architecture_page_names_every_module():
    """A module that the layers do not show is not in its place."""
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    package = ROOT / "src/uncensoring_chinese_models"
    modules = {path.stem for path in package.glob("*.py")} | {"clients"}
    assert {name for name in modules if name not in text} == {"__init__"}
