"""The log of an organism's server may hold its key; what is told of the log never does."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from tests.provider.echo import ENCODINGS, traces
from tests.support import one_of_each
from uncensoring_chinese_models.errors import LocalModelError
from uncensoring_chinese_models.models.local import launch

SERVER = """\
#!{python}
import json, sys
sys.path[:0] = {path!r}
from tests.provider.echo import ENCODINGS
key = json.loads(sys.stdin.readline())["key"]
said = ENCODINGS[{form!r}](key).encode("utf-8", "surrogatepass")
sys.stderr.buffer.write(b"0.1 E bad key: " + said.replace(b"\\n", b"\\r") + b" was given\\n")
with open({seen!r}, "w") as file:
    json.dump(key, file)
"""


@pytest.mark.parametrize("form", one_of_each(ENCODINGS, lambda form: "base64" in form))
def test_key_in_the_log_of_a_server_is_not_told(tmp_path, monkeypatch, form):
    """A server that logs its order and ends: the message quotes the log without the key."""
    seen, program = tmp_path / "seen.json", tmp_path / "python"
    path = [folder for folder in sys.path if folder]
    text = SERVER.format(python=sys.executable, path=path, form=form, seen=str(seen))
    program.write_text(text, "utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    (tmp_path / "weights").write_bytes(b"")
    monkeypatch.setattr(launch, "find_weights", lambda cache, say: tmp_path / "weights")

    async def serve() -> None:
        async with launch.serve("base", lambda notice: None):
            raise AssertionError("unreachable")

    with pytest.raises(LocalModelError, match="bad key: ") as caught:
        asyncio.run(serve())

    key = json.loads(seen.read_text())
    assert len(key) == 48
    assert traces(str(caught.value).encode(), key) == []
    assert "[key]" in str(caught.value)
