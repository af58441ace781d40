"""The viewer as a web application; the home of Starlette.

An address never becomes a path: a run is looked up by its id among the runs that were found, and a
file by its name in a list of the files that are served.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models.config import require_extra
from uncensoring_chinese_models.errors import CorruptRunError
from uncensoring_chinese_models.runs import looks_like_run
from uncensoring_chinese_models.viewer.guard import App, Guard
from uncensoring_chinese_models.viewer.screens import (
    TOO_DEEP,
    UNCHANGED,
    Query,
    Screen,
    compare_screen,
    landing,
    problem,
    run_screen,
    search_screen,
)

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

    from uncensoring_chinese_models.viewer.index import Index

PATIENCE_S = 0.7
"""Max time that a page waits for the index; then it shows the runs read so far and says so."""
_NO_RUN = "There is no such run in this folder; it may have been moved or deleted."


class Viewer:
    """The pages over one index."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._starting = threading.Lock()
        self._reading: Future[None] | None = None

    def close(self) -> None:
        """Stop reading."""
        self.index.close()

    def look(self) -> None:
        """Start a refresh of the index, and wait a little for it."""
        with self._starting:
            if self._reading is None or self._reading.done():
                self._reading = _begin(self.index.refresh)
            reading = self._reading
        wait([reading], PATIENCE_S)
        if reading.done():
            reading.result()

    def folder_of(self, run_id: str) -> Path | None:
        """Return the folder of a run; one that is unknown or gone is searched for once."""
        folder = self.index.folder_of(run_id)
        if folder is None or not looks_like_run(folder):
            self.look()
            folder = self.index.folder_of(run_id)
        return folder if folder is not None and looks_like_run(folder) else None

    # --- pages ----------------------------------------------------------------------------------

    def landing(self, _: str, query: Query) -> Screen:
        """Return the landing page."""
        self.look()
        return landing(self.index, query)

    def search(self, _: str, query: Query) -> Screen:
        """Return the search over all responses."""
        self.look()
        return search_screen(self.index, query)

    def run(self, run_id: str, query: Query) -> Screen:
        """Return the page of a run."""
        folder = self.folder_of(run_id)
        return problem(404, _NO_RUN) if folder is None else run_screen(run_id, folder, query)

    def compare(self, _: str, query: Query) -> Screen:
        """Return two runs side by side."""
        ids = query.get("a", ""), query.get("b", "")
        if not all(ids) or ids[0] == ids[1]:
            return problem(400, "Choose two different runs: one as A, another as B.")
        folders = {each: folder for each in ids if (folder := self.folder_of(each)) is not None}
        return problem(404, _NO_RUN) if len(folders) < 2 else compare_screen(folders, ids)


def _begin(work: Callable[[], None]) -> Future[None]:
    """Start work in a daemon thread."""
    future: Future[None] = Future()

    def do() -> None:
        try:
            work()
        except BaseException as err:  # noqa: BLE001 -- raised where the result is read
            future.set_exception(err)
        else:
            future.set_result(None)

    threading.Thread(target=do, name="index", daemon=True).start()
    return future


def build_app(viewer: Viewer, port: int) -> App:
    """Return the application, guarded.

    Raises:
        MissingExtraError: the extra `view` is not installed.
    """
    with require_extra("view", "The viewer"):
        from starlette.applications import Starlette  # noqa: PLC0415 -- an optional dependency
        from starlette.routing import Route  # noqa: PLC0415
    pages = {
        "/": ("/index.json", viewer.landing),
        "/search": ("/search.json", viewer.search),
        "/compare": ("/compare.json", viewer.compare),
        "/run/{id}": ("/run/{id}.json", viewer.run),
    }
    routes = [Route("/static/{name}", _static)]
    for path, (for_programs, make) in pages.items():
        routes.append(Route(for_programs, _page(make, as_json=True)))
        routes.append(Route(path, _page(make, as_json=False)))
    app = Starlette(routes=routes, exception_handlers={404: _missing, 500: _broken})
    return Guard(app, port)


def _page(make: Callable[[str, Query], Screen], *, as_json: bool) -> Callable[[Request], Response]:
    """Return the endpoint of a page, for people or for programs; it runs in a thread."""

    def endpoint(request: Request) -> Response:
        try:
            screen = make(request.path_params.get("id", ""), request.query_params)
        except RecursionError:
            screen = problem(422, TOO_DEEP)
        return _answer(screen, as_json=as_json)

    return endpoint


def _answer(screen: Screen, *, as_json: bool) -> Response:
    from starlette.responses import Response  # noqa: PLC0415

    if screen is UNCHANGED:
        return Response(status_code=screen.status)
    try:
        body = screen.json() if as_json else screen.html()
    except (CorruptRunError, RecursionError) as err:
        screen = problem(422, str(err) if isinstance(err, CorruptRunError) else TOO_DEEP)
        body = screen.json() if as_json else screen.html()
    kind = "application/json" if as_json else "text/html; charset=utf-8"
    return Response(body.encode("utf-8", "backslashreplace"), screen.status, media_type=kind)


def _static(request: Request) -> Response:
    from starlette.responses import Response  # noqa: PLC0415

    asset = assets().get(request.path_params["name"])
    if asset is None:
        return _answer(problem(404, "There is no such file."), as_json=False)
    return Response(asset.content, media_type=asset.media_type)


def _missing(request: Request, _: Exception) -> Response:
    return _answer(problem(404, "There is no such page."), as_json=_wants_json(request))


def _broken(request: Request, _: Exception) -> Response:
    sentence = (
        "The viewer failed to make this page. This is a bug of the viewer; the runs are unchanged."
    )
    return _answer(problem(500, sentence), as_json=_wants_json(request))


def _wants_json(request: Request) -> bool:
    return request.url.path.endswith(".json")


# --- files that pages load -------------------------------------------------------------------------


_OURS = "uncensoring_chinese_models.viewer"
_PAGES = "uncensoring_chinese_models.reports.pages"
_TEXT = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
NAMES = {
    "style.css": _PAGES,
    "report.js": _PAGES,
    "view.css": _OURS,
    "view.js": _OURS,
    "htmx.min.js": _OURS,
}
"""Each file that is served, and its package."""


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
