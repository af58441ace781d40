"""Read the environment: keys, the cache folder, and what child processes inherit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dotenv import find_dotenv, load_dotenv

from uncensoring_chinese_models.errors import ConfigError, MissingCredentialError

if TYPE_CHECKING:
    from uncensoring_chinese_models.config.endpoints import Endpoint


def read_key(endpoint: Endpoint, *, required: bool = True, of: str = "") -> str | None:
    """Return the endpoint's key from the environment or .env, or None if it needs none.

    `of` names the owner of the key in messages. A message never contains the key itself.
    """
    name = endpoint.key_variable
    if name is None:
        return None
    if not os.environ.get(name, "").strip():
        os.environ.pop(name, None)  # set but empty: it must not hide the one in .env
    dotenv_path = find_dotenv(usecwd=True)
    if dotenv_path:
        try:
            load_dotenv(dotenv_path)
        except (OSError, UnicodeDecodeError):  # the latter would quote the file
            raise ConfigError(f"{dotenv_path} cannot be read as UTF-8 text.") from None
    key = os.environ.get(name, "").strip()
    if not key:
        if not required:
            return None
        looked = f"in {dotenv_path}" if dotenv_path else "in a .env file here or above (none found)"
        raise MissingCredentialError(
            f"No API key{of and ' for ' + of}: {name} is not set; looked in the environment and {looked}. "
            f"Put a line {name}=... into .env, then run the same command again."
        )
    if not key.isascii() or not key.isprintable() or not set(key).isdisjoint(" '\""):
        raise ConfigError(
            f"The value of {name} contains spaces, line breaks, quotes or non-ASCII characters; "
            "copy the key again, without quotes or other characters around it."
        )
    return key


def cache_folder() -> Path:
    """Return the cache folder: $UCM_CACHE_DIR, else the user's cache."""
    own = os.environ.get("UCM_CACHE_DIR", "").strip()
    if own:
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "").strip()
    # The XDG standard says to ignore relative paths.
    base = Path(shared) if shared.startswith("/") else Path("~/.cache").expanduser()
    return base / "uncensoring_chinese_models"


def child_environment(**added: str) -> dict[str, str]:
    """Return the environment for a child process, with these variables added."""
    return {**os.environ, **added}
