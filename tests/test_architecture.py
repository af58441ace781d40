"""The shape of the code: what style guides ask for, checked."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from importlib.metadata import packages_distributions

import pytest

from tests.support import ROOT, run_python

PACKAGE = ROOT / "src" / "uncensoring_chinese_models"
MODULES = sorted(PACKAGE.rglob("*.py"))
MAX_MODULE_LINES = 500
MAX_ROOT_MODULES = 8
MAX_ROOM_MODULES = 16
ROOMS = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))


def name_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def test_modules_are_short_enough_to_read():
    """A module is one idea; past the limit it is two."""
    lines = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert {name: n for name, n in lines.items() if n > MAX_MODULE_LINES} == {}


def test_root_and_rooms_have_few_modules():
    """A listing fits on a screen."""
    assert len(list(PACKAGE.glob("*.py"))) <= MAX_ROOT_MODULES
    folders = {path.parent for path in MODULES} - {PACKAGE}
    sizes = {folder.name: len(list(folder.glob("*.py"))) for folder in folders}
    assert {name: n for name, n in sizes.items() if n > MAX_ROOM_MODULES} == {}


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_door_lists_what_others_may_use(room):
    """`__all__` is sorted and holds the imported names; none of them hides behind a module."""
    door = import_module(f"uncensoring_chinese_models.{room.name}")
    tree = ast.parse((room / "__init__.py").read_text("utf-8"))
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and f".{room.name}." in node.module
        for alias in node.names
    }

    assert set(door.__all__) == imported
    assert imported.isdisjoint(path.stem for path in room.iterdir())
    assert all(getattr(door, name) is not None for name in imported)


def test_every_name_on_a_door_is_used_by_another_room():
    """A name that no other room imports does not belong on the door."""
    used = {
        (node.module, alias.name)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for room in ROOMS:
        name = f"uncensoring_chinese_models.{room.name}"
        names = import_module(name).__all__
        assert [each for each in names if (name, each) not in used] == [], name


def test_class_names_are_defined_once():
    """A name that is grepped for leads to one class, private ones included."""
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(name_of(path))
    assert places
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_module_hides_a_library():
    """The promised script puts the package folder on the path, where a name could hide another."""
    ours = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    others = set(sys.stdlib_module_names) | set(packages_distributions())
    assert ours & others - {"__main__", "__init__", "__pycache__"} == set()


def test_help_says_what_the_tool_is_for(tmp_path):
    """Whoever asks for help reads what the tool is not for."""
    done = run_python(tmp_path, "-m", "uncensoring_chinese_models", "--help")

    assert "not for producing harmful content" in " ".join(done.stdout.split())


def test_importing_the_runner_loads_no_page_code(tmp_path):
    """A command that is refused, and every worker, starts without templates."""
    code = (
        "import sys, uncensoring_chinese_models.runner.run; "
        "print([name for name in sys.modules if name.startswith('jinja2') or '.reports.' in name])"
    )
    assert run_python(tmp_path, "-c", code).stdout.strip() == "[]"
