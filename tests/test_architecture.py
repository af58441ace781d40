"""The shape of the code: what style guides ask for, checked."""

from __future__ import annotations

import sys
from importlib.metadata import packages_distributions

import pytest

from tests.support import ROOT, run_python

PACKAGE = ROOT / "src" / "uncensoring_chinese_models"
MODULES = sorted(PACKAGE.rglob("*.py"))
LONGEST_MODULE = 350


def name_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_are_short_enough_to_read(path):
    """A module is one idea; past the limit it is two."""
    assert len(path.read_text("utf-8").splitlines()) <= LONGEST_MODULE


def test_no_module_hides_a_library():
    """The promised script puts the package folder on the path, where a name could hide another."""
    ours = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    others = set(sys.stdlib_module_names) | set(packages_distributions())
    assert ours & others - {"__main__", "__init__", "__pycache__"} == set()


def test_help_says_what_the_tool_is_for(tmp_path):
    """Whoever asks for help reads what the tool is not for."""
    done = run_python(tmp_path, "-m", "uncensoring_chinese_models", "--help")

    assert "not for producing harmful content" in " ".join(done.stdout.split())
