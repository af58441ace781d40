"""The GGUF files of targets: ``gguf/NAME`` of a known model that was fetched, or ``gguf/PATH``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from uncensoring_chinese_models.config import path_from
from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.models.local.gguf_header import Header, read_header
from uncensoring_chinese_models.models.local.known import known_models, nearest_known
from uncensoring_chinese_models.models.local.rendering import Rendered, render_template
from uncensoring_chinese_models.models.local.weights import stored_file

PREFIX = "gguf/"
"""How the model name of a GGUF file begins."""


@dataclass(frozen=True, slots=True)
class GgufFile:
    """A whole text model in one file."""

    path: Path
    sha256: str
    header: Header
    rendered: Rendered | None
    """What its chat template writes; None if it has none, or it cannot be rendered."""


def path_of(model: str) -> Path:
    """Return the path of the file that ``gguf/NAME_OR_PATH`` names."""
    named = model.removeprefix(PREFIX)
    known = known_models().get(named)
    return path_from(named) if known is None else stored_file(known)


def name_in_cache(model: str) -> str | None:
    """Return ``gguf/NAME`` for a path to the file of a known model in the cache; else None."""
    named = model.removeprefix(PREFIX)
    if named in known_models():
        return None
    stored = {stored_file(known).absolute(): name for name, known in known_models().items()}
    name = stored.get(path_from(named).absolute())
    return PREFIX + name if name else None


def name_of_target(settings: Mapping[str, Any]) -> str:
    """Return the target of a stored config: ``gguf/NAME`` if its file is that of a known model."""
    target = settings.get("audited_endpoint")
    sha256 = target.get("file_sha256") if isinstance(target, Mapping) else None
    known = (each.name for each in known_models().values() if each.sha256 == sha256)
    return next((PREFIX + name for name in known), str(settings["audited_model"]))


def find_gguf(model: str) -> GgufFile:
    """Return the file of a target, read and checked.

    Raises:
        ConfigError: there is no such file, or it is not a whole text model, or not the known one.
    """
    path, known = path_of(model), known_models().get(model.removeprefix(PREFIX))
    if not _is_there(path):
        if known is not None:
            raise ConfigError(
                f"{model} is not here; 'ucm model get {known.name}' fetches it ({known.megabytes}). "
                "Nothing was started."
            )
        near = nearest_known(model.removeprefix(PREFIX))
        hint = f" (did you mean {PREFIX}{near}?)" if near else ""
        raise ConfigError(
            f"{model}: there is no file {path}, and 'ucm model list' has no model of this name{hint}; "
            "nothing was started."
        )
    shown = str(path).encode("utf-8", "backslashreplace").decode()
    if shown != str(path):
        raise ConfigError(
            f"{shown} has a name that is not UTF-8, which llama.cpp cannot open; nothing was started. "
            "Rename the file or its folder."
        )
    header = read_header(path)
    stat = path.stat()
    sha256 = _sha256(path, (stat.st_size, stat.st_mtime_ns, stat.st_ino))
    if known is not None and sha256 != known.sha256:
        raise ConfigError(
            f"{path} is not {known.name}: its sha256 is {sha256}, expected {known.sha256}; nothing was "
            f"started. 'ucm model get {known.name}' fetches it anew."
        )
    return GgufFile(path, sha256, header, render_template(header))


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as err:  # a name that is too long, a folder that may not be read
        raise ConfigError(f"{path} cannot be read ({err.strerror}); nothing was started.") from err


@cache
def _sha256(path: Path, _state: tuple[int, ...]) -> str:
    """Return the hash of a file, computed once as long as the file stays as it is."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
