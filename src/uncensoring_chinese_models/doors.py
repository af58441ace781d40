"""Open a room's door lazily, so that importing a room loads only what is used."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def lazy_door(package: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a room: it imports a name of the door when it is first used.

    The names and their modules are read from the imports below ``if TYPE_CHECKING:`` in the
    room's own ``__init__.py``, so that type checkers, import-linter and readers see one list.
    """
    homes: dict[str, str] = {}

    def load(name: str) -> Any:
        module = import_module(package)
        if not homes:
            homes.update(_listed(Path(str(module.__file__))))
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(module, name, value)  # the next use finds it at once
        return value

    return load


def _listed(path: Path) -> dict[str, str]:
    """Return each imported name of a file, with the module that it comes from."""
    tree = ast.parse(path.read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module for node in imports if node.module for alias in node.names}
