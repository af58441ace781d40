"""The documentation says what the program does; what can be checked in it is checked."""

from __future__ import annotations

import json
import re
import subprocess
from importlib import import_module
from typing import get_args

import yaml
from tools.write_docs import CONFIGURATION, EXPORT_TABLES, TOPICS, generated

from tests.support import ROOT, audit_here, audited_provider
from uncensoring_chinese_models.config.settings import AuditConfig
from uncensoring_chinese_models.domain import (
    ARMS,
    DELIVERIES,
    MENTIONS,
    STANCES,
    WITHHELD,
    RunKind,
)
from uncensoring_chinese_models.measure.facts.lint import problems_of
from uncensoring_chinese_models.measure.facts.schema import (
    Ending,
    Fact,
    Facts,
    FactSource,
    builtin_topics,
)
from uncensoring_chinese_models.runs.journal import Journal

DOCS = ROOT / "docs"
PACKAGE = ROOT / "src/uncensoring_chinese_models"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
GENERATED = {CONFIGURATION, EXPORT_TABLES, TOPICS}
MAX_README_WORDS = 1000
MAX_DOCS_WORDS = 20_000
"""Without the generated pages and docs/measurements."""
MAX_GLOSSARY_ENTRIES = 30
KEYED_BY_DATA = {"by_server", "by_provider", "by_served_model"}
KEYED_BY_DATA |= {"sha256", "config", "template", "by_arm"}


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
    described = set(re.findall(r"`(\w+)`", (DOCS / "run-format.md").read_text("utf-8")))
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


def test_generated_pages_are_current(subtests):
    """Each is what `make docs` would write now."""
    for path, text in generated().items():
        with subtests.test(page=path.name):
            assert path.read_text("utf-8") == text
    assert all(f"| `{name}` |" in TOPICS.read_text("utf-8") for name in builtin_topics())


def test_every_key_of_a_facts_file_is_described():
    """docs/facts.md names each of them."""
    described = set(re.findall(r"`(\w+)`", (DOCS / "facts.md").read_text("utf-8")))
    keys = {key for model in (Facts, Fact, Ending, FactSource) for key in model.model_fields}
    assert keys - described == set()


def test_every_setting_has_a_description():
    """A setting without a line of documentation is not finished."""
    assert all(field.description for field in AuditConfig.model_fields.values())


def words_in(path):
    """Count words as `wc -w` does."""
    return len(path.read_text("utf-8").split())


def test_readme_is_short():
    """A newcomer reads it in a few minutes."""
    assert words_in(ROOT / "README.md") <= MAX_README_WORDS


def test_docs_are_short():
    """All pages that are written by hand, apart from the measurements, stay within their budget."""
    written = [
        path
        for path in DOCS.rglob("*.md")
        if path not in GENERATED and path.parent.name != "measurements"
    ]
    assert sum(map(words_in, written)) <= MAX_DOCS_WORDS


def test_glossary_is_short_and_defines_each_word_once():
    """At most thirty entries: its list, and the two properties that have a table of values."""
    text = (DOCS / "glossary.md").read_text("utf-8")
    words = re.findall(r"^- \*\*(.+?)\*\*: [A-Z].*\.$", text, flags=re.MULTILINE)
    words += re.findall(r"^## (.+)$", text, flags=re.MULTILINE)

    assert {"sample", "Delivery", "Stance"} <= set(words)
    assert len(words) == len(set(words)) <= MAX_GLOSSARY_ENTRIES


def test_glossary_has_the_words_of_the_code(subtests):
    """Its tables and lists name every value that the code defines, in the same order."""
    text = (DOCS / "glossary.md").read_text("utf-8")
    _, delivery, stance = re.split(r"^## .+$", text, flags=re.MULTILINE)
    for page, values in ((delivery, DELIVERIES), (stance, STANCES)):
        rows = re.findall(r"^\| `(\w+)` \| ([A-Z].*\.) \|$", page, flags=re.MULTILINE)
        assert [name for name, _ in rows] == list(values)
    listed = {
        "together are called *withheld*": WITHHELD,
        "- **mention**": tuple(MENTIONS),
        "- **arm**": tuple(ARMS),
        "its *kind* is": get_args(RunKind),
    }
    for words, names in listed.items():
        with subtests.test(words=words):
            (line,) = [line for line in text.splitlines() if words in line]
            told = re.findall(r"`(\w+)`", line)
            assert told == list(names)


def test_index_links_every_page():
    """A page that the index does not name is not found."""
    linked = set(re.findall(r"\]\(([^)#\s]+)", (DOCS / "index.md").read_text("utf-8")))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert pages - linked == {"index.md"}


def test_pages_named_in_code_exist():
    """A page or data file that the program or a tool points to is there."""
    folders = ("src", "tools", "organisms", "tests")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    files += [ROOT / "Makefile", *(ROOT / "src").rglob("*.html"), *(ROOT / "src").rglob("*.md")]
    named = {
        (name, path.name)
        for path in files
        for name in re.findall(
            r"\bdocs/[\w/-]+\.(?:md|json|yaml|ipynb|svg)", path.read_text("utf-8")
        )
    }

    assert len(named) > 10
    assert {each for each in named if not (ROOT / each[0]).exists()} == set()


def test_links_lead_somewhere(subtests):
    """Each relative link and picture of the docs exists."""
    for path in PAGES:
        targets = re.findall(r"\]\(([^)#\s]+)", path.read_text("utf-8"))
        local = [target for target in targets if "://" not in target]
        with subtests.test(page=str(path.relative_to(ROOT))):
            assert [target for target in local if not (path.parent / target).exists()] == []


def test_yaml_examples_are_valid_configs(subtests):
    """A whole config or facts file shown in the docs loads; a part of one is at least YAML."""
    for path in PAGES:
        blocks = re.findall(r"```yaml\n(.*?)```", path.read_text("utf-8"), flags=re.DOTALL)
        for block in blocks:
            with subtests.test(page=str(path.relative_to(ROOT))):
                example = yaml.safe_load(block)
                assert isinstance(example, dict)
                if isinstance(example.get("facts"), list):
                    facts = Facts.model_validate(example)
                    assert problems_of(facts, of_the_file=False) == []
                    assert {each.mark for each in facts.facts} == {"core"}
                    assert [each.rung_of for each in facts.facts] == ["jiang_place", None]
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
    """docs/verify-and-resume.md names each kind of record."""
    text = (DOCS / "verify-and-resume.md").read_text("utf-8")
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


def test_architecture_page_names_every_room():
    """A room that the table does not show has no place."""
    text = (DOCS / "architecture.md").read_text("utf-8")
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert {room for room in rooms if f"| `{room}` |" not in text} == set()


def test_doors_on_the_architecture_page_are_as_in_the_code(subtests):
    """Each name in the column `door` is on the door of its room."""
    text = (DOCS / "architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (`.+`) \|$", text, flags=re.MULTILINE)
    assert rows
    for room, names in rows:
        door = import_module(f"uncensoring_chinese_models.{room}")
        with subtests.test(room=room):
            assert set(re.findall(r"`(\w+)`", names)) <= set(door.__all__)


def test_modules_named_for_contributors_exist(subtests):
    """A module, folder or function to which a contributor is sent is there."""
    table = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("| I want to change |")[2]
    table = table.partition("\n\n")[0]
    for text in (table, (DOCS / "architecture.md").read_text("utf-8")):
        paths = set(re.findall(r"`(\w[\w/]*/\w*(?:\.\w+)?|\w+\.py)`", text))
        with subtests.test(paths=len(paths)):
            assert len(paths) > 5
            inner = {path for path in paths if path.count("/") == 1 and path.endswith("/")}
            rooms = [PACKAGE, *(path.parent for path in PACKAGE.glob("*/__init__.py"))]
            gone = {path for path in paths - inner if not (PACKAGE / path).exists()}
            gone |= {path for path in inner if not any((room / path).is_dir() for room in rooms)}
            assert gone == set()


def test_names_beside_a_module_are_in_it(subtests):
    """`NAME` in `room/module.py`: that module defines the name."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = re.findall(r"`(\w+)` in `([\w/]+)\.py`", text)
    assert named
    for name, path in named:
        module = import_module(f"uncensoring_chinese_models.{path.replace('/', '.')}")
        with subtests.test(name=name, path=path):
            assert hasattr(module, name)
