"""Read the environment: keys, the cache folder, and what child processes inherit."""

from __future__ import annotations

import io
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dotenv.parser import parse_stream

from uncensoring_chinese_models.config.redaction import remember_secret
from uncensoring_chinese_models.errors import ConfigError, MissingCredentialError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uncensoring_chinese_models.config.endpoints import Endpoint

MAX_DOTENV_BYTES = 1_000_000
_PROJECT = 'name = "uncensoring-chinese-models"'
_PASSED_ON = re.compile(
    "PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|TEMP|TMP|LD_LIBRARY_PATH"
    "|XDG_CACHE_HOME|UCM_CACHE_DIR|VIRTUAL_ENV|PYTHONUTF8|PYTHONDONTWRITEBYTECODE"
)
"""What every child process inherits: where programs, libraries and caches are, and the language."""
FOR_DOWNLOADS = re.compile(
    "PIP_[A-Z_]+|XDG_CONFIG_[A-Z]+|NETRC|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE"
    "|(HTTP|HTTPS|ALL|NO|http|https|all|no)_(PROXY|proxy)"
)
"""What a child process also inherits if it fetches something: package index, certificates, proxies."""


def read_key(endpoint: Endpoint, *, required: bool = True, of: str = "") -> str | None:
    """Return the endpoint's key from the environment or .env, or None if it needs none.

    `of` names the owner of the key in messages. A message never contains the key itself.
    """
    name = endpoint.key_variable
    if name is None:
        return None
    looked = ["in the environment"]
    if not os.environ.get(name, "").strip():
        os.environ.pop(name, None)  # set but empty: it must not hide the one in .env
        looked += _load_from_dotenv(name)
    key = os.environ.get(name, "").strip()
    if not key:
        if not required:
            return None
        raise MissingCredentialError(
            f"No API key{of and ' for ' + of}: {name} is not set; looked {' and '.join(looked)}. "
            f"Put a line {name}=... into .env, then run the same command again."
        )
    _refuse_impossible_key(name, key)
    remember_secret(key)
    return key


def _refuse_impossible_key(name: str, key: str) -> None:
    if not key.isascii() or not key.isprintable() or not set(key).isdisjoint(" '\""):
        raise ConfigError(
            f"The value of {name} contains spaces, line breaks, quotes or non-ASCII characters; "
            "copy the key again, without quotes or other characters around it."
        )


# --- .env ---------------------------------------------------------------------------------------


def _load_from_dotenv(name: str) -> list[str]:
    """Load one variable from the first .env that sets it; return which files were looked into.

    Only this one is loaded: other variables of the file, such as HTTP_PROXY or LD_PRELOAD, would
    change where the key is sent, or what runs.
    """
    looked = []
    for path in _dotenv_places():
        text = _read_dotenv(path)
        if text is None:
            looked.append(f"in {path} (there is no such file)")
            continue
        # Only parsed, so that ${OTHER} does not put another variable into a request.
        lines = list(parse_stream(io.StringIO(text)))
        value = ({line.key: line.value for line in lines}.get(name) or "").strip()
        if value:
            if "${" in value:
                raise ConfigError(
                    f"{path} sets {name} to the value of another variable; write the key itself."
                )
            _refuse_impossible_key(name, value)
            os.environ[name] = value
            return [*looked, f"in {path}"]
        wrong = next(
            (f"; line {each.original.line} is not NAME=VALUE" for each in lines if each.error), ""
        )
        looked.append(f"in {path} (it does not set {name}{wrong})")
    return looked


def _dotenv_places() -> list[Path]:
    """Return where a .env may be: in the working directory and in the checkout; in no other folder."""
    folders = []
    with suppress(FileNotFoundError):  # it was removed
        folders.append(Path.cwd())
    checkout = checkout_folder()
    if checkout is not None and checkout not in folders:
        folders.append(checkout)
    return [folder / ".env" for folder in folders]


def checkout_folder() -> Path | None:
    """Return the root of the repository that this package runs from; None if it is installed."""
    package = Path(__file__).resolve().parents[1]
    root = package.parents[1]
    try:
        is_ours = package.parent.name == "src" and _PROJECT in (root / "pyproject.toml").read_text()
    except (OSError, UnicodeDecodeError):
        return None
    return root if is_ours else None


def _read_dotenv(path: Path) -> str | None:
    """Return the text of a .env; None if there is no such file, or a folder of this name.

    Raises:
        ConfigError: it cannot be read; the message does not quote it.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe must not wait
        with os.fdopen(handle, "rb") as file:
            mode = os.fstat(handle).st_mode
            content = file.read(MAX_DOTENV_BYTES + 1) if stat.S_ISREG(mode) else b""
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as err:
        raise ConfigError(f"{path} cannot be read: {err.strerror}.") from None
    if not stat.S_ISREG(mode):
        raise ConfigError(f"{path} is not a regular file; make it one, or set the key's variable.")
    if len(content) > MAX_DOTENV_BYTES:
        raise ConfigError(f"{path} is larger than {MAX_DOTENV_BYTES} bytes; put only keys into it.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:  # the error would quote the file
        raise ConfigError(f"{path} cannot be read as UTF-8 text.") from None


# --- folders and child processes ----------------------------------------------------------------


def path_from(text: str) -> Path:
    """Return a path that a person wrote, where ~ is the home folder; a ~ that names nobody stays."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 -- Path.expanduser raises RuntimeError


def cache_folder() -> Path:
    """Return the cache folder: $UCM_CACHE_DIR, else the user's cache."""
    own = os.environ.get("UCM_CACHE_DIR", "").strip()
    if own:
        return path_from(own).absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "").strip()
    # The XDG standard says to ignore relative paths.
    base = Path(shared) if shared.startswith("/") else path_from("~/.cache")
    return base / "uncensoring_chinese_models"


def child_environment(
    *names: str, also: re.Pattern[str] | None = None, added: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the environment for a child process: a few harmless variables and those added.

    Args:
        names: further variables to pass on, such as those of the keys that the child needs.
        also: pattern of further variables to pass on, such as `FOR_DOWNLOADS`.
        added: variables to set.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if _PASSED_ON.fullmatch(name) or name in names or (also and also.fullmatch(name))
    }
    return {**kept, **(added or {})}
