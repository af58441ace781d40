"""The shape of the code: what style guides ask for, checked."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import packages_distributions

import pytest

from tests.support import ROOT, clean_environment

PACKAGE = ROOT / "src" / "uncensoring_chinese_models"
MODULES = sorted(PACKAGE.rglob("*.py"))
LONGEST_MODULE = 350
HEAVY = ("aiohttp", "rich", "pydantic", "yaml", "fire", "asyncio")


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


def test_importing_has_no_effect(tmp_path):
    """Importing any module prints nothing, writes nothing and needs no key."""
    names = [name_of(path) for path in MODULES if path.stem != "__main__"]
    code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    done = subprocess.run(
        [sys.executable, "-c", code, *names],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_help_imports_nothing_heavy(tmp_path):
    """`ucm --help` answers at once because it loads no HTTP, screen or validation library."""
    code = (
        "import sys\n"
        "from uncensoring_chinese_models.cli import main\n"
        "code = main(['--help'])\n"
        f"heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "raise SystemExit(code or ' '.join(heavy) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "not\nfor producing harmful content" in done.stdout
