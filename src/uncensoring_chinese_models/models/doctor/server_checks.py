"""Whether the right server answers, and which fields of a request it honours."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from uncensoring_chinese_models.domain import Reply
from uncensoring_chinese_models.models.doctor.names import likeness
from uncensoring_chinese_models.models.doctor.subject import Judgement
from uncensoring_chinese_models.models.doctor.text_checks import OPENING, QUESTION

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Call, Json
    from uncensoring_chinese_models.models.doctor.subject import CanaryVerdict, Seen, Subject

_CANARY_SCHEMA: Json = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
_FORMATS: dict[str, Json] = {
    "json_object": {"type": "json_object"},
    "json_schema": {
        "type": "json_schema",
        "json_schema": {"name": "canary", "strict": True, "schema": _CANARY_SCHEMA},
    },
}


# --- model --------------------------------------------------------------------------------------


def plan_model(subject: Subject) -> list[Call]:
    """Return a greeting for the auditor; the target's other canaries suffice."""
    if subject.side == "target":
        return []
    return [subject.ask_auditor("plain", _messages("Say hello."))]


def judge_model(seen: Seen) -> Judgement:
    """Tell whether the model that was asked for answers."""
    subject = seen.subject
    numbers: Json = {"asked": subject.model, "served": [], **_price(subject)}
    replies = [result for result in seen.results.values() if isinstance(result, Reply)]
    if not replies:
        name = next(iter(seen.results), "")
        problem = seen.problem(name) or {}
        rejected = bool(seen.results) and all(map(seen.is_rejected, seen.results))
        verdict: CanaryVerdict = "no" if rejected else "unknown"
        return Judgement(verdict, numbers | problem)
    served = sorted({reply.served_model for reply in replies if reply.served_model})
    numbers["served"] = served
    verdicts = {likeness(subject.model, name) for name in served}
    return Judgement(_together(verdicts), numbers)


def _together(verdicts: set[CanaryVerdict]) -> CanaryVerdict:
    """Return what verdicts on several names say of them all."""
    if "no" in verdicts:
        return "no"
    return "yes" if verdicts == {"yes"} else "unknown"


def _price(subject: Subject) -> Json:
    price, million = subject.price, 1_000_000
    return {
        "input_usd_per_million": None if price is None else float(price.input_usd * million),
        "output_usd_per_million": None if price is None else float(price.output_usd * million),
    }


# --- provider -----------------------------------------------------------------------------------


def judge_provider(seen: Seen) -> Judgement:
    """Tell whether only hosts answered that the config allows."""
    named = {
        result.provider
        for result in seen.results.values()
        if isinstance(result, Reply) and result.provider
    }
    allowed = _allowed_hosts(seen.subject)
    numbers: Json = {"allowed": allowed, "answered": sorted(named)}
    if not named:
        return Judgement("unknown", numbers)
    if allowed is None:
        return Judgement("no" if len(named) > 1 else "unknown", numbers)
    known = {_host(name) for name in allowed}
    return Judgement(_together({_is_known(_host(name), known) for name in named}), numbers)


def _is_known(host: str, known: set[str]) -> CanaryVerdict:
    """Tell whether a host is one of these; a name that begins another may well be its title."""
    if host in known:
        return "yes"
    is_near = any(host.startswith(name) or name.startswith(host) for name in known)
    return "unknown" if is_near else "no"


def _allowed_hosts(subject: Subject) -> list[str] | None:
    """Return the hosts that the config leaves open, or None if it leaves all."""
    routing = subject.config.audited_endpoint.provider or {}
    only, order = routing.get("only"), routing.get("order")
    if isinstance(only, list) and only:
        return [str(name) for name in only]
    closed = routing.get("allow_fallbacks") is False
    return [str(name) for name in order] if closed and isinstance(order, list) and order else None


def _host(name: str) -> str:
    """Name a host as slugs and titles both do: ``atlas-cloud/fp8`` and ``AtlasCloud`` are one."""
    return re.sub(r"\W|_", "", name.partition("/")[0].lower())


# --- fields -------------------------------------------------------------------------------------


def plan_n(subject: Subject) -> list[Call]:
    """Return a request for two choices."""
    return [subject.ask_shared("n", OPENING, QUESTION, temperature=1.0, max_tokens=8, n=2)]


def judge_n(seen: Seen) -> Judgement:
    """Count the choices that came back for two."""
    name = seen.subject.shared("n")
    reply = seen.reply(name)
    if reply is None:
        return _refused_or_unknown(seen, name)
    numbers: Json = {"asked": 2, "choices": reply.choices}
    return Judgement("yes" if reply.choices == 2 else "no", numbers)


def plan_logprobs(subject: Subject) -> list[Call]:
    """Return a request for the probabilities of what is written."""
    wanted: Json = {"logprobs": 1}
    if subject.api == "chat":
        wanted = {"logprobs": True, "top_logprobs": 1}
    return [subject.ask_shared("logprobs", OPENING, QUESTION, **wanted)]


def judge_logprobs(seen: Seen) -> Judgement:
    """Tell whether the probabilities came."""
    name = seen.subject.shared("logprobs")
    reply = seen.reply(name)
    if reply is None:
        return _refused_or_unknown(seen, name)
    if reply.has_logprobs:
        return Judgement("yes", {"given": True})
    return Judgement("no" if reply.text else "unknown", {"given": False})


def plan_json_mode(subject: Subject) -> list[Call]:
    """Return a request for a small object, in the format that the audit asks for."""
    wanted = _FORMATS[subject.config.auditor_response_format]
    ask = 'Reply with the JSON object {"ok": true} and nothing else.'
    return [subject.ask_auditor("json", _messages(ask), response_format=wanted)]


def judge_json_mode(seen: Seen) -> Judgement:
    """Tell whether the auditor's endpoint takes the format and keeps to it."""
    reply = seen.reply("json")
    numbers: Json = {"format": seen.subject.config.auditor_response_format}
    if reply is None:
        judged = _refused_or_unknown(seen, "json")
        return Judgement(judged.verdict, numbers | judged.numbers)
    text = (reply.text or "").strip()
    numbers |= {"is_object": _is_object(text), "finish_reason": reply.finish_reason}
    if numbers["is_object"]:
        return Judgement("yes", numbers)
    may_be_cut = not text or (text.startswith("{") and reply.finish_reason == "length")
    return Judgement("unknown" if may_be_cut else "no", numbers)


def _refused_or_unknown(seen: Seen, name: str) -> Judgement:
    problem = seen.problem(name) or {}
    return Judgement("no" if seen.refuses_field(name) else "unknown", problem)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _messages(text: str) -> list[Json]:
    return [
        {"role": "system", "content": "You follow instructions to the letter."},
        {"role": "user", "content": text},
    ]
