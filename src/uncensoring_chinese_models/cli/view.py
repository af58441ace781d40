"""The command `view`: serve runs as pages on this machine."""

from __future__ import annotations

import sys
from pathlib import Path

from uncensoring_chinese_models.cli.output import Output
from uncensoring_chinese_models.errors import UsageError
from uncensoring_chinese_models.text import escape


def view(
    folder: str = "outputs",
    *,
    port: int | None = None,
    open: bool = False,  # noqa: A002 -- what people type
    json: bool = False,
) -> int:
    """Show runs in a browser: a matrix of topics and models, search, live runs, comparisons.

    Serves pages to this machine only, and changes nothing in the folder. Press Ctrl-C to stop.
    Needs the extra `view`, which make install includes.

    Args:
        folder (DIR): folder with runs, at most 8 levels below it, or one run directory.
        port: port to serve on; by default 8484, or a free one near it.
        open: open the address in a browser.
        json: print one JSON record with the address on stdout.
    """

    def announce(address: str) -> None:
        if json:
            output.record({"address": address, "folder": folder}, None)
            sys.stdout.flush()
        else:
            print(f"{escape(folder)} is at {address}  (press Ctrl-C to stop)", flush=True)
        if open:
            import webbrowser  # noqa: PLC0415

            webbrowser.open(address)

    with Output(as_json=json, address=None) as output:
        path = Path(folder)
        if not path.is_dir():
            raise UsageError(
                f"The folder {folder} does not exist; nothing was started. Name a folder with runs, "
                "or make a run with: ucm demo"
            )
        from uncensoring_chinese_models.viewer import serve  # noqa: PLC0415

        serve(path, port, announce)
    return 0
