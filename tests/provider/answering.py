"""From a request to the bytes of its response; knows of no socket and no thread."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from email.utils import formatdate

from tests.provider.fault import Fault, Scene, problem
from tests.provider.faults import FAULTS
from tests.provider.ledger import Request
from tests.provider.wire import (
    Ask,
    Brain,
    Generation,
    Json,
    Model,
    Said,
    count_tokens,
    encode,
    finish,
    first_tokens,
    prompt_tokens,
    render,
)

WRITTEN = ("chat", "completions", "ollama")
"""The APIs behind which a model writes."""
PARAMETERS = (
    "frequency_penalty",
    "logit_bias",
    "max_tokens",
    "min_p",
    "presence_penalty",
    "reasoning",
    "repetition_penalty",
    "seed",
    "stop",
    "temperature",
    "tools",
    "top_k",
    "top_p",
)
"""The fields of a request that an endpoint may or may not support."""


@dataclass(frozen=True)
class Plan:
    """A response that is ready to leave."""

    fault: Fault | None
    status: int
    headers: Mapping[str, str]
    payload: bytes
    usd: Decimal = Decimal(0)
    tokens: int = 0
    reason: str = "-"
    """The words beside the status."""


@dataclass(frozen=True, kw_only=True)
class Answering:
    """How requests are judged and answered; the fields are those of `Provider`."""

    auditor: Brain
    target: Brain
    is_auditor: Callable[[Ask], bool]
    models: Sequence[Model]
    strict_models: bool
    api_key: str | None
    report_cost: bool
    ignore_stops: bool
    default_max_tokens: int | None
    extra_prompt_tokens: int
    provider_name: str
    amend: Callable[[Ask, Json], Json]
    echo: Callable[[Plan], Plan]

    def plan(self, request: Request, elsewhere: str) -> Plan:
        """Decide what a request is answered with, and what that costs."""
        return self.echo(self._plan(request, elsewhere))

    def _plan(self, request: Request, elsewhere: str) -> Plan:
        objection = next(self._objections(request), None)
        fault = objection or request.fault
        generation = None
        if objection is None and request.api in WRITTEN:
            generation = self._generate(Ask(request.api, request.body), request.key)
            if fault is not None and fault.generation is not None:
                generation = fault.generation(generation)
        reply = self._reply(request, fault, generation)
        headers = {"Content-Type": "application/json", **_generation_id(fault, generation)}
        payload = encode(reply)
        if _streams(request) and generation is not None:
            headers["Content-Type"] = "application/x-ndjson"
            payload = encode({**reply, "done": False}) + b"\n" + encode({**reply, "response": ""})
        if fault is not None:
            payload = _spoil(request, fault, reply, payload)
            headers |= _headers(fault, elsewhere)
        plan = Plan(fault, fault.status if fault else 200, headers, payload)
        if generation is None or not _is_billed(fault):
            return plan
        tokens = generation.prompt_tokens + generation.completion_tokens
        return replace(plan, usd=generation.cost, tokens=tokens)

    # --- what is wrong with a request -----------------------------------------------------------

    def _objections(self, request: Request) -> Iterator[Fault]:
        if request.api == "other":
            yield FAULTS["404"]
        if request.api not in WRITTEN:
            return
        if request.api != "ollama" and self.api_key is not None:
            yield from _unauthorized(request, self.api_key)
        for complaint in _malformed(request):
            yield replace(FAULTS["400"], body=problem(400, complaint))
        yield from self._unfit(request)

    def _unfit(self, request: Request) -> Iterator[Fault]:
        body, model = request.body, self._model(str(request.body["model"]))
        if self.strict_models and model not in self.models:
            complaint = f"{model.id} is not a valid model ID"
            yield replace(FAULTS["400_unknown_model"], body=problem(400, complaint))
        wanted = body.keys() & PARAMETERS
        if isinstance(body.get("response_format"), dict):
            strict = body["response_format"].get("type") == "json_schema"
            wanted.add("structured_outputs" if strict else "response_format")
        if _preferences(body).get("require_parameters") and not wanted <= set(model.parameters):
            yield FAULTS["404_no_endpoints"]
        needed = prompt_tokens(body) + (Ask(request.api, body).max_tokens or 0)
        if needed > model.context_length:
            complaint = (
                f"This endpoint's maximum context length is {model.context_length} tokens. "
                f"However, you requested about {needed} tokens."
            )
            kind = "context_length_exceeded"
            yield replace(FAULTS[f"400_{kind}"], body=problem(400, complaint, error_type=kind))

    # --- what a model says to it ----------------------------------------------------------------

    def _generate(self, ask: Ask, key: str) -> Generation:
        auditing = ask.api == "chat" and self.is_auditor(ask)
        said = self.auditor(ask) if auditing else self.target(ask)
        said = Said(said) if isinstance(said, str) else said
        limit = self.default_max_tokens if ask.max_tokens is None else ask.max_tokens
        reasoning = said.reasoning
        if reasoning is not None and limit is not None:
            reasoning = first_tokens(reasoning, limit)
        thought = count_tokens(reasoning or "")
        text, reason = finish(
            said.text,
            stops=[] if self.ignore_stops else ask.stops,
            max_tokens=None if limit is None else limit - thought,
        )
        return Generation(
            api=ask.api,
            id=f"gen-{key[:24]}",
            model=self._model(str(ask.body["model"]), free=ask.api == "ollama"),
            provider=_served_by(ask.body) or self.provider_name,
            prompt_tokens=prompt_tokens(ask.body) + self.extra_prompt_tokens,
            completion_tokens=thought + count_tokens(text),
            text=text,
            finish_reason=reason,
            reasoning=reasoning,
            reasoning_tokens=thought,
        )

    def _model(self, name: str, *, free: bool = False) -> Model:
        known = (model for model in self.models if model.id == name)
        return Model(name, "0", "0") if free else next(known, Model(name))

    def _reply(self, request: Request, fault: Fault | None, generation: Generation | None) -> Json:
        """Return the ordinary body, for a fault to spoil."""
        if generation is None:
            if request.api == "models":
                return {"data": [model.listing() for model in self.models]}
            return {"message": "You should not have come here"}
        reply = render(generation, cost=self.report_cost)
        if "cost" in reply.get("usage", {}) and not _is_billed(fault):
            reply["usage"]["cost"] = 0
        return self.amend(Ask(request.api, request.body), reply)


def _is_billed(fault: Fault | None) -> bool:
    return fault is None or fault.billed


def _streams(request: Request) -> bool:
    """Tell whether the reply is a stream of lines, which is what Ollama sends unless told not to."""
    return request.api == "ollama" and bool(request.body.get("stream", True))


def _generation_id(fault: Fault | None, generation: Generation | None) -> dict[str, str]:
    failed = fault is not None and fault.status != 200
    if generation is None or generation.api == "ollama" or failed:
        return {}
    return {"X-Generation-Id": generation.id}


def _unauthorized(request: Request, key: str) -> Iterator[Fault]:
    if request.headers.get("Authorization") != f"Bearer {key}":
        yield FAULTS["401"]


def _malformed(request: Request) -> Iterator[str]:
    body = request.body
    if not body:
        yield "The body must be a JSON object"
    if not isinstance(body.get("model"), str):
        yield "A model is required"
    if request.api == "chat" and not _are_messages(body.get("messages")):
        yield "Messages are required"
    if request.api != "chat" and not isinstance(body.get("prompt"), str | list):
        yield "A prompt is required"
    if request.api != "ollama" and body.get("stream"):
        yield "This test provider does not stream"
    limit = body.get("max_tokens", 1)
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        yield "max_tokens must be a positive integer"


def _are_messages(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and isinstance(one.get("role"), str) for one in value)
    )


def _preferences(body: Json) -> Json:
    preferences = body.get("provider")
    return preferences if isinstance(preferences, dict) else {}


def _served_by(body: Json) -> str | None:
    """Name the provider that the request chose, without the quantization: ``parasail/fp8``."""
    preferences = _preferences(body)
    choice = [*(preferences.get("only") or []), *(preferences.get("order") or [])]
    return str(choice[0]).partition("/")[0].title() if choice else None


def _spoil(request: Request, fault: Fault, reply: Json, payload: bytes) -> bytes:
    if fault.body is not None:
        seconds = fault.retry_after if isinstance(fault.retry_after, int | float) else None
        scene = Scene(request.api, request.headers, reply, seconds)
        payload = encode(fault.body(scene))
    return payload if fault.recode is None else fault.recode(payload)


def _headers(fault: Fault, elsewhere: str) -> dict[str, str]:
    now, wait = time.time(), fault.retry_after
    until = now + wait if isinstance(wait, int | float) else now
    known = {"{elsewhere}": elsewhere, "{reset}": str(round(until * 1000))}
    headers = {name: known.get(value, value) for name, value in fault.headers.items()}
    if fault.retry_after_as_date and not isinstance(wait, str):
        headers["Retry-After"] = formatdate(math.ceil(until), usegmt=True)
    elif wait is not None:
        headers["Retry-After"] = str(wait)
    return headers
