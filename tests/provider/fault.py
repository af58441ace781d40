"""What a fault is, how faults are made, and when they strike."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tests.provider.wire import Api, Generation, Json

Means = Literal["answer", "refusal", "transient", "rejected", "fatal", "open"]
"""What a careful client should make of it; advice, the client's own rules decide.

answer: a whole answer, to be used. refusal: the host's policy spoke, which is data.
transient: a later attempt may succeed. rejected: this request never will.
fatal: no request will. open: more than one reading is defensible.
"""

MODEL_APIS: frozenset[Api] = frozenset(("chat", "completions"))
ALL_APIS: frozenset[Api] = frozenset(("chat", "completions", "ollama", "models"))


@dataclass(frozen=True)
class Scene:
    """What a fault may look at when it makes up its body."""

    api: Api
    headers: Mapping[str, str]
    """The headers of the request."""
    reply: Json
    """The body that would have been sent, for the fault to spoil."""
    retry_after: float | None
    """The seconds asked for, where the fault asks for any."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One way to fail.

    The reply is the ordinary one, changed step by step: first the generation, then the JSON, then
    its bytes; `status` and `headers` go on top. `sends` and `then` say how much of it leaves, and
    what happens to the connection.
    """

    name: str
    about: str
    means: Means = "open"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    """`{elsewhere}` in a value becomes an address that nobody should go to."""
    retry_after: float | str | None = None
    """The Retry-After header: seconds, or any text."""
    retry_after_as_date: bool = False
    """The seconds are given as an HTTP date, counted from now."""
    generation: Callable[[Generation], Generation] | None = None
    body: Callable[[Scene], object] | None = None
    """Makes the JSON value that is sent, or the bytes."""
    recode: Callable[[bytes], bytes] | None = None
    """Changes the bytes of the body."""
    sends: Literal["nothing", "headers", "half", "all"] = "all"
    then: Literal["keep", "close", "reset", "hang"] = "keep"
    drips: Literal["", "body", "spaces"] = ""
    """The body comes in small pieces, or spaces come for ever and the body never."""
    unheard: bytes | None = None
    """Sent instead of a response; it is not HTTP."""
    billed: bool = False
    """Whether the provider charges for the generation behind it."""
    apis: frozenset[Api] = MODEL_APIS
    """Where it can occur."""


# --- makers -------------------------------------------------------------------------------------


def problem(code: int | str | None, message: str, **metadata: object) -> Callable[[Scene], Json]:
    """Make an error body: OpenRouter's, or Ollama's for Ollama."""

    def body(scene: Scene) -> Json:
        if scene.api == "ollama":
            return {"error": message}
        error: Json = {"code": code, "message": message}
        if metadata:
            error["metadata"] = metadata
        return {"error": error, "user_id": "user_test"}

    return body


def http_error(
    name: str, about: str, means: Means, message: str, *, metadata: Json | None = None, **more: Any
) -> Fault:
    """Make an error whose HTTP status is the number that its name begins with."""
    code = int(name[:3])
    return Fault(
        name=name,
        about=about,
        means=means,
        status=code,
        body=problem(code, message, **(metadata or {})),
        apis=ALL_APIS,
        **more,
    )


def inside_200(fault: Fault, error_type: str) -> Fault:
    """Hide an error under a 200, as OpenRouter does once it has begun to answer."""

    def body(scene: Scene) -> object:
        assert fault.body is not None
        value = fault.body(scene)
        assert isinstance(value, dict)
        if isinstance(value["error"], dict):
            value["error"].setdefault("metadata", {}).setdefault("error_type", error_type)
        return value

    return replace(
        fault,
        name=f"200_error_{fault.name}",
        about=f"HTTP 200 whose body is this error: {fault.about}",
        status=200,
        headers={},
        body=body,
    )


def spoiled(name: str, about: str, means: Means, change: Callable[[Json], object]) -> Fault:
    """Make a fault that changes the JSON of a whole, billed answer in place."""

    def body(scene: Scene) -> Json:
        reply = copy.deepcopy(scene.reply)
        change(reply)
        return reply

    return Fault(name=name, about=about, means=means, body=body, billed=True)


def other(name: str, about: str, means: Means, **changes: Any) -> Fault:
    """Make a fault that changes what was generated; its usage and price change with it."""

    def generation(before: Generation) -> Generation:
        after = {key: value(before) if callable(value) else value for key, value in changes.items()}
        return replace(before, **after)

    return Fault(name=name, about=about, means=means, generation=generation, billed=True)


def recoded(
    name: str,
    about: str,
    means: Means,
    change: Callable[[bytes], bytes],
    *,
    billed: bool = True,
    **more: Any,
) -> Fault:
    """Make a fault that changes the bytes of a whole, billed answer."""
    return Fault(
        name=name, about=about, means=means, recode=change, billed=billed, apis=ALL_APIS, **more
    )


def connection(name: str, about: str, *, billed: bool, **how: Any) -> Fault:
    """Make a fault of the connection."""
    return Fault(name=name, about=about, means="transient", billed=billed, apis=ALL_APIS, **how)


def first(reply: Json) -> Json:
    """Return the first choice of a reply."""
    choice: Json = reply["choices"][0]
    return choice


def say(reply: Json, content: object) -> None:
    """Put something in the place of the text of a reply."""
    choice = first(reply)
    if "message" in choice:
        choice["message"]["content"] = content
    else:
        choice["text"] = content


def text_of_reply(reply: Json) -> str:
    """Return the text of a reply."""
    choice = first(reply)
    return str(choice["message"]["content"] if "message" in choice else choice["text"])


# --- when ---------------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class Rule:
    """One order to fail: which requests, how often, and how.

    Rules are asked in the order in which they were given, when a request has been read; the first
    that takes it is applied, and only that one is used up.
    """

    fault: Fault
    api: Api | None
    times: int | None
    """How many requests it strikes; None strikes for ever."""
    after: int
    """How many matching requests it lets through first."""
    when: Callable[[Json], bool] | None
    per_body: bool
    """`times` and `after` count the requests of each distinct body by themselves."""
    hits: int = 0
    """How many requests it struck."""
    _met: Counter[str] = field(default_factory=Counter)

    def takes(self, api: Api, body: Json, key: str) -> bool:
        """Tell whether this request is to fail, and count it; the caller holds the lock."""
        if api not in self.fault.apis or self.api not in (None, api):
            return False
        if self.when is not None and not self.when(body):
            return False
        name = key if self.per_body else ""
        self._met[name] += 1
        number = self._met[name] - self.after
        struck = number > 0 and (self.times is None or number <= self.times)
        self.hits += struck
        return struck
