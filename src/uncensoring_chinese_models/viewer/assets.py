"""The files that pages load: named in a list, so that no address is ever looked for on the disk."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import NamedTuple

_OURS = "uncensoring_chinese_models.viewer"
_PAGES = "uncensoring_chinese_models.reports.pages"
_TEXT = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
NAMES = {
    "style.css": _PAGES,
    "report.js": _PAGES,
    "view.css": _OURS,
    "view.js": _OURS,
    "htmx.min.js": _OURS,
    "hx-sse.min.js": _OURS,
}
"""Each file that is served, and the package that it lies in."""


class Asset(NamedTuple):
    """A file that is served."""

    content: bytes
    media_type: str


@cache
def assets() -> dict[str, Asset]:
    """Return every file that is served, by its name."""
    return {
        name: Asset(
            resources.files(package).joinpath("static", name).read_bytes(),
            _TEXT[name.rpartition(".")[2]],
        )
        for name, package in NAMES.items()
    }
