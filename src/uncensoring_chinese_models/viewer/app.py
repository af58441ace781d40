"""The viewer as a web application; the home of Starlette.

An address never becomes a path: a run is looked up by its id among the runs that were found, and a
file by its name in a list of the files that are served.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models.config import require_extra
from uncensoring_chinese_models.errors import CorruptRunError
from uncensoring_chinese_models.viewer.guard import App, Guard, Receive, Scope, Send
from uncensoring_chinese_models.viewer.live import Streams, offset_of
from uncensoring_chinese_models.viewer.screens import (
    TOO_DEEP,
    Query,
    Screen,
    compare_screen,
    landing,
    problem,
    run_part,
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

    def __init__(self, index: Index, streams: Streams) -> None:
        self.index = index
        self.streams = streams
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
        """Return the folder of a run; an unknown run is searched for once."""
        folder = self.index.folder_of(run_id)
        if folder is None:
            self.look()
            folder = self.index.folder_of(run_id)
        return folder

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
    routes.append(Route("/run/{id}/events", partial(_events, viewer)))
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


async def _events(viewer: Viewer, request: Request) -> Response | App:
    """Stream the changes on the page of a run."""
    from starlette.concurrency import run_in_threadpool  # noqa: PLC0415
    from starlette.responses import Response, StreamingResponse  # noqa: PLC0415

    run_id, query = request.path_params["id"], request.query_params
    folder = await run_in_threadpool(viewer.folder_of, run_id)
    if folder is None:
        return _answer(problem(404, _NO_RUN), as_json=False)
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    if (
        not viewer.streams.enter()
    ):  # no await between this line and `_leaving`, which gives the place back
        return Response(
            "Too many pages are following runs; close one.\n", 503, {"retry-after": "30"}
        )
    offset = offset_of(request.headers.get("last-event-id"), query.get("from"))
    draw = partial(run_part, run_id, folder, query)
    events = viewer.streams.follow(folder, offset, draw)
    return _leaving(viewer.streams, StreamingResponse(events, media_type="text/event-stream"))


def _leaving(streams: Streams, answer: App) -> App:
    """Return an answer that gives its place back, even if the browser has gone."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await answer(scope, receive, send)
        finally:
            streams.leave()

    return answered


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
    "hx-sse.min.js": _OURS,
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
