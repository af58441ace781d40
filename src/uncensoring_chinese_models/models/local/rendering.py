"""Render the chat template of a GGUF file, in a child process with little time and memory.

A template is a program in Jinja that comes with the file, perhaps from a stranger. The child reads
one JSON line from stdin and answers with one: the texts before and after a user's message, with
thinking switched on and off.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.config import child_environment

if TYPE_CHECKING:
    from uncensoring_chinese_models.models.local.gguf_header import Header

_MAX_S = 20
_MAX_MEMORY = 1 << 30
_MAX_CHARACTERS = 1 << 16
_MESSAGE = "A message that no template holds."
_DATE = "26 Jul 2024"


class Rendered(NamedTuple):
    """What a chat template writes around one message of a user."""

    before: str
    after: str
    """The end of the user's turn and the opener of the answer."""
    before_no_think: str
    after_no_think: str


def render_template(header: Header) -> Rendered | None:
    """Return what the template of a file writes; None if it has none, or it cannot be rendered."""
    if header.chat_template is None:
        return None
    order = {"template": header.chat_template, "bos": header.bos, "eos": header.eos}
    try:
        done = subprocess.run(  # noqa: S603 -- our own module
            [sys.executable, "-P", "-m", __name__],
            input=strict_json.dumps(order) + "\n",
            env=child_environment(added={"PYTHONPATH": str(Path(__file__).resolve().parents[3])}),
            capture_output=True,
            text=True,
            timeout=_MAX_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        return None
    return Rendered(*strict_json.loads(done.stdout))


# --- the child ----------------------------------------------------------------------------------


def main() -> int:
    """Render the template that stdin gives; end with 1 if that is not possible."""
    with suppress(ValueError, OSError):  # not on every system
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    order = strict_json.loads(sys.stdin.readline())
    try:
        halves = [*_render(order, thinking=True), *_render(order, thinking=False)]
    except Exception as err:  # noqa: BLE001 -- a stranger's program may fail in any way
        sys.stderr.write(f"{type(err).__name__}: {err}\n")
        return 1
    sys.stdout.write(strict_json.dumps(halves) + "\n")
    return 0


def _render(order: dict[str, str], *, thinking: bool) -> tuple[str, str]:
    """Return what stands before and after the message, as llama.cpp and transformers render it."""
    from jinja2.ext import loopcontrols  # noqa: PLC0415 -- the child alone needs it
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
    )
    environment.filters["tojson"] = strict_json.dumps
    text = environment.from_string(order["template"]).render(
        messages=[{"role": "user", "content": _MESSAGE}],
        add_generation_prompt=True,
        bos_token=order["bos"],
        eos_token=order["eos"],
        enable_thinking=thinking,
        thinking=thinking,
        raise_exception=_refuse,
        strftime_now=lambda _: _DATE,
    )
    before, found, after = text.partition(_MESSAGE)
    if not found or _MESSAGE in after or len(text) > _MAX_CHARACTERS:
        raise ValueError("it does not write the message once")
    return before, after


def _refuse(message: str) -> None:
    raise ValueError(message)


if __name__ == "__main__":
    raise SystemExit(main())
