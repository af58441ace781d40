"""The harmless canary: it tells a question that a host refuses from a route that refuses everything.

A 400, 403 or 422 that nothing explains may be a block, or mean that the key, the account or the model is
refused. So one harmless prompt follows on the same route: the same server, key, model, API and settings.
If it is answered, the refusal is about the request, and the run goes on. If it is refused too, every further
call would be, and the run ends.

All unexplained refusals of one iteration on one route share one canary; those of judges have one each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from uncensoring_chinese_models.domain import Call, CallKey
from uncensoring_chinese_models.errors import RejectedError

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.errors import ClientError

QUESTION = "What is the capital of France?"
OPENING = "The capital of France is"
MAX_TOKENS = 16
_CHECKED = frozenset(
    {"turn", "re_ask", "schema_fallback", "closing", "sample", "likelihood", "judge"}
)
"""What the calls are for whose refusal the canary checks. The doctor's calls are canaries themselves."""
_OWN = frozenset(
    {
        *("prompt", "messages", "max_tokens", "seed", "stop", "response_format"),
        *("echo", "logprobs", "top_logprobs", "grammar"),
    }
)
"""The parts of a body that belong to one request; the rest belongs to the route."""


def canary_of(call: Call) -> Call:
    """Return the canary for the route of a call: the same for each call of an iteration."""
    body: Json = {name: value for name, value in call.body.items() if name not in _OWN}
    if call.api == "chat":
        body["messages"] = [{"role": "user", "content": QUESTION}]
    else:
        body["prompt"] = OPENING
    return Call(_key_of(call), call.api, {**body, "max_tokens": MAX_TOKENS})


def _key_of(call: Call) -> CallKey:
    """Return the key of a canary: that of a judge's call holds which judge it is, and where."""
    key = call.key
    if key.purpose == "judge":
        return replace(key, purpose="canary")
    route = "likelihood" if key.purpose == "likelihood" else call.api
    ordinal = int(key.purpose == "closing")
    return CallKey(key.iteration, key.role, "canary", ordinal, route)


def needs_canary(call: Call, err: ClientError) -> bool:
    """Return whether a harmless prompt must tell what an error is about.

    A request with a `response_format` is asked again without it; that shows whether this was the cause.
    """
    if not is_unexplained(err) or call.key.purpose not in _CHECKED:
        return False
    return err.status == 403 or "response_format" not in call.body


def is_unexplained(err: ClientError) -> bool:
    """Return whether a server refused a request and nothing says why."""
    return isinstance(err, RejectedError) and err.reason != "technical"
