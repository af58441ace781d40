"""The workflow, the hooks and the issue forms call and name what exists."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
TARGETS = set(
    re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
)
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def commands(job):
    """Return the lines that a job of the workflow runs."""
    steps = WORKFLOW["jobs"][job]["steps"]
    return [line for step in steps for line in step.get("run", "").splitlines()]


def is_make(line):
    """Tell whether a line calls one make target that exists, and nothing else."""
    found = re.fullmatch(r"(?:sudo )?make ([a-z-]+)", line)
    return found is not None and found[1] in TARGETS


def test_workflow_runs_make_targets_alone():
    """What GitHub runs can be run by a contributor."""
    lines = [line for job in WORKFLOW["jobs"] for line in commands(job)]

    assert lines
    assert [line for line in lines if not is_make(line)] == []


def test_workflow_tests_each_supported_python():
    """The oldest is the one that the package needs at least."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = WORKFLOW["jobs"]["test"]["strategy"]["matrix"]["python"]

    assert versions == ["3.11", "3.12", "3.13"]
    assert project["requires-python"] == f">={versions[0]}"
    assert commands("test") == ["make dev", "make check", "make test"]


def test_workflow_lets_no_browser_test_be_skipped():
    """The job with a browser fails where there is none."""
    assert WORKFLOW["jobs"]["test-all"]["env"]["UCM_BROWSER"] == "required"
    assert commands("test-all") == ["sudo make browser", "make test-all"]


def test_only_the_untested_system_may_fail():
    """A failure on Linux is a failure."""
    lenient = [name for name, job in WORKFLOW["jobs"].items() if job.get("continue-on-error")]

    assert lenient == ["macos"]


def test_hooks_run_make_check():
    """The hooks need no other repository, and check what `make check` does."""
    assert [repo["repo"] for repo in HOOKS["repos"]] == ["local"]
    assert [hook["entry"] for hook in HOOKS["repos"][0]["hooks"]] == ["make check"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_form_has_what_github_asks_for(path):
    """GitHub hides a form that lacks one of these, without a word."""
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.name == "config.yml":
        assert form == {"blank_issues_enabled": True}
        return
    fields = [part for part in form["body"] if part["type"] != "markdown"]

    assert form["name"]
    assert form["description"]
    assert all(part["attributes"]["label"] for part in fields)
    assert len({part["id"] for part in fields}) == len(fields)
