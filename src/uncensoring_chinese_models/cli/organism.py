"""The commands `organism list`, `serve` and `fetch`: small local models with planted facts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from uncensoring_chinese_models.cli.output import Output, print_notice, table_lines
from uncensoring_chinese_models.errors import UsageError

if TYPE_CHECKING:
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
    rows = [("organism", "knows", "assistant turn", "what it tests", "data")]
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


def fetch_weights() -> int:
    """Download the weights that all organisms share; afterwards they work offline."""
    from uncensoring_chinese_models.models import fetching_words, find_weights  # noqa: PLC0415

    path = find_weights(starting=lambda: print(fetching_words(), file=sys.stderr))
    print(f"The weights are here, and their hash is right: {path}")
    return 0


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
