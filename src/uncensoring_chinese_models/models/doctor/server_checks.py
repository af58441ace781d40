"""Checks of the server: the right model, the right host, JSON mode."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.domain import Reply, is_cut
from uncensoring_chinese_models.models.doctor.canaries import CheckFinding
from uncensoring_chinese_models.models.templates import without_packing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uncensoring_chinese_models.domain import Call, Json
    from uncensoring_chinese_models.models.doctor.canaries import (
        CanaryReplies,
        CanaryVerdict,
        CheckedEndpoint,
    )

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

_ROUTE = re.compile(r"beta|exacto|extended|floor|free|latest|nitro|online")
"""Variants that name a route to the model, not another model."""
_KIND = re.compile(r"air|base|coder|distill(ed)?|flash|guard|lite|math|mini|nano|thinking|vl")
"""Words that make it another model."""
_FAMILY = re.compile(
    r"(abab|baichuan|chatglm|claude|codellama|codestral|deepseek|doubao|ernie|exaone|falcon|gemini"
    r"|gemma|glm|gpt|granite|grok|hunyuan|internlm|jamba|kimi|llama|longcat|magistral|mimo|minimax"
    r"|ministral|mistral|mixtral|moonshot|nemotron|olmo|pangu|phi|pythia|qvq|qwen|qwq|skywork"
    r"|smollm|telechat|tinyllama|yi)([\d.]*)"
)
"""Families of models; a name without one may be that of an endpoint or deployment."""
_DATE = re.compile(r"\d{8}|\d{6}|\d{4}|0\d{1,2}|[12]\d|3[01]")
"""A date or a part of one: 20250522, 0324, 04, 28; or a revision: 001."""
_SIZE = re.compile(r"(?:\d+x)?\d+(?:\.\d+)?[bm]")
_VERSION = re.compile(r"[kmr]?\d(?:\.\d+)*")
"""Parts of which a name has one: a size (72b, 8x7b), a version (3.1, r1, k2)."""


# --- model --------------------------------------------------------------------------------------


def plan_model(checked: CheckedEndpoint) -> list[Call]:
    """Return a greeting for the auditor; the target has enough other canaries."""
    if checked.side == "target":
        return []
    return [checked.ask_auditor("plain", _messages("Say hello."))]


def judge_model(canaries: CanaryReplies) -> CheckFinding:
    """Check that the model of the config answers."""
    checked = canaries.checked
    numbers: Json = {"asked": checked.model, "served": [], **_price(checked)}
    replies = [result for result in canaries.results.values() if isinstance(result, Reply)]
    if not replies:
        name = next(iter(canaries.results), "")
        problem = canaries.problem(name) or {}
        rejected = bool(canaries.results) and all(map(canaries.is_rejected, canaries.results))
        verdict: CanaryVerdict = "no" if rejected else "unknown"
        return CheckFinding(verdict, numbers | problem)
    served = sorted({reply.served_model for reply in replies if reply.served_model})
    numbers["served"] = served
    verdicts = {is_same_model(checked.model, name) for name in served}
    return CheckFinding(_together(verdicts), numbers)


def _together(verdicts: set[CanaryVerdict]) -> CanaryVerdict:
    """Return the verdict on several names together."""
    if "no" in verdicts:
        return "no"
    return "yes" if verdicts == {"yes"} else "unknown"


def _price(checked: CheckedEndpoint) -> Json:
    price, million = checked.price, 1_000_000
    return {
        "input_usd_per_million": None if price is None else float(price.input_usd * million),
        "output_usd_per_million": None if price is None else float(price.output_usd * million),
    }


def is_same_model(asked: str, served: str) -> CanaryVerdict:
    """Compare two names: a dated or packed version is the same model, a sibling is not."""
    asked, served = _whole(asked), _whole(served)
    wanted, got = _words(without_packing(asked)), _words(without_packing(served))
    more = {word for word in got - _words(asked) if not _DATE.fullmatch(word)}
    is_held = _words(asked) <= _words(served)
    if is_held and not more:
        return "yes"
    if not any(map(_FAMILY.fullmatch, wanted)):
        return "unknown"
    is_sibling = is_held and any(map(_KIND.fullmatch, more))
    if is_sibling or _differ(wanted, got, _SIZE) or _differ(wanted, got, _VERSION):
        return "no"
    return "unknown" if wanted & got else "no"


def _whole(name: str) -> str:
    """Return a name without its owner, and without a variant that only names a route."""
    name, _, variant = name.strip().lower().rstrip("/").rpartition("/")[2].partition(":")
    return name if not variant or _ROUTE.fullmatch(variant) else f"{name}-{variant}"


def _words(name: str) -> set[str]:
    """Return the words of a name, with numbers in one form: 3p1, v3.1 and 3-1 become 3.1."""
    name = re.sub(r"(?<=\d)p(?=\d)", ".", name)
    name = re.sub(r"(?<=[a-z]{3})(?=\d)", "-", name)  # qwen2.5 and qwen-2.5 are one
    name = re.sub(r"(?<![^\W_])v(?=\d)", "", name)
    name = re.sub(r"(?<![\w.])(\d)[-_](\d)(?![\w.])", r"\1.\2", name)
    name = re.sub(r"(?<=\d)\.0(?![\w.])", "", name)
    return set(re.findall(r"[^\W_]+(?:\.\d+[^\W_]*)*", name))


def _differ(wanted: Iterable[str], got: Iterable[str], kind: re.Pattern[str]) -> bool:
    """Return whether both names have words of this kind, and none in common."""
    asked_for, found = set(filter(kind.fullmatch, wanted)), set(filter(kind.fullmatch, got))
    return bool(asked_for and found and not asked_for & found)


# --- provider -----------------------------------------------------------------------------------


def judge_provider(canaries: CanaryReplies) -> CheckFinding:
    """Check that only hosts answered that the config allows."""
    named = {
        result.provider
        for result in canaries.results.values()
        if isinstance(result, Reply) and result.provider
    }
    allowed = _allowed_hosts(canaries.checked)
    numbers: Json = {"allowed": allowed, "answered": sorted(named)}
    if not named:
        return CheckFinding("unknown", numbers)
    if allowed is None:
        return CheckFinding("no" if len(named) > 1 else "unknown", numbers)
    known = {_host(name) for name in allowed}
    return CheckFinding(_together({_is_known(_host(name), known) for name in named}), numbers)


def _is_known(host: str, known: set[str]) -> CanaryVerdict:
    """Return whether a host is one of these; unknown if one name begins with the other."""
    if host in known:
        return "yes"
    is_near = any(host.startswith(name) or name.startswith(host) for name in known)
    return "unknown" if is_near else "no"


def _allowed_hosts(checked: CheckedEndpoint) -> list[str] | None:
    """Return the hosts that the config allows, or None if it allows all."""
    routing = checked.config.audited_endpoint.provider or {}
    only, order = routing.get("only"), routing.get("order")
    if isinstance(only, list) and only:
        return [str(name) for name in only]
    closed = routing.get("allow_fallbacks") is False
    return [str(name) for name in order] if closed and isinstance(order, list) and order else None


def _host(name: str) -> str:
    """Return the plain name of a host: ``atlas-cloud/fp8`` and ``AtlasCloud`` are the same."""
    return re.sub(r"\W|_", "", name.partition("/")[0].lower())


# --- JSON mode ----------------------------------------------------------------------------------


def plan_json_mode(checked: CheckedEndpoint) -> list[Call]:
    """Return a request for a small object, in the format that the audit asks for."""
    wanted = _FORMATS[checked.config.auditor_response_format]
    ask = 'Reply with the JSON object {"ok": true} and nothing else.'
    return [checked.ask_auditor("json", _messages(ask), response_format=wanted)]


def judge_json_mode(canaries: CanaryReplies) -> CheckFinding:
    """Check that the auditor's endpoint accepts the format and follows it."""
    reply = canaries.reply("json")
    numbers: Json = {"format": canaries.checked.config.auditor_response_format}
    if reply is None:
        judged = _refused_or_unknown(canaries, "json")
        return CheckFinding(judged.verdict, numbers | judged.numbers)
    text = (reply.text or "").strip()
    numbers |= {"is_object": _is_object(text), "finish_reason": reply.finish_reason}
    if numbers["is_object"]:
        return CheckFinding("yes", numbers)
    may_be_cut = not text or (text.startswith("{") and is_cut(reply.finish_reason))
    return CheckFinding("unknown" if may_be_cut else "no", numbers)


def _refused_or_unknown(canaries: CanaryReplies, name: str) -> CheckFinding:
    problem = canaries.problem(name) or {}
    return CheckFinding("no" if canaries.refuses_field(name) else "unknown", problem)


def _is_object(text: str) -> bool:
    try:
        return isinstance(strict_json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _messages(text: str) -> list[Json]:
    return [
        {"role": "system", "content": "You follow instructions to the letter."},
        {"role": "user", "content": text},
    ]
