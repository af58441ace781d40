"""Whether two names are of one model: the one asked for, and the one that a server says it served."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from uncensoring_chinese_models.models.templates import without_packing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uncensoring_chinese_models.models.doctor.subject import CanaryVerdict

_ROUTE = re.compile(r"beta|exacto|extended|floor|free|latest|nitro|online")
"""A variant that says how a model is reached, not which one it is."""
_KIND = re.compile(r"air|base|coder|distill(ed)?|flash|guard|lite|math|mini|nano|thinking|vl")
"""A word that makes the name of a model that of another one."""
_FAMILY = re.compile(
    r"(abab|baichuan|chatglm|claude|codellama|codestral|deepseek|doubao|ernie|exaone|falcon|gemini"
    r"|gemma|glm|gpt|granite|grok|hunyuan|internlm|jamba|kimi|llama|longcat|magistral|mimo|minimax"
    r"|ministral|mistral|mixtral|moonshot|nemotron|olmo|pangu|phi|pythia|qvq|qwen|qwq|skywork"
    r"|smollm|telechat|tinyllama|yi)([\d.]*)"
)
"""A word without which a name may be that of an endpoint or deployment."""
_DATE = re.compile(r"\d{8}|\d{6}|\d{4}|0\d{1,2}|[12]\d|3[01]")
"""A date or a part of one: 20250522, 0324, 04, 28; or a revision: 001."""
_SIZE = re.compile(r"(?:\d+x)?\d+(?:\.\d+)?[bm]")
_VERSION = re.compile(r"[kmr]?\d(?:\.\d+)*")
"""Words of a name of which a model has one: 72b, 8x7b; 3.1, r1, k2."""


def likeness(asked: str, served: str) -> CanaryVerdict:
    """Compare names: a dated or packed version of what was asked for is right, a sibling is not."""
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
    """Return a name without its owner, and without a variant that only says how it is reached."""
    name, _, variant = name.strip().lower().rstrip("/").rpartition("/")[2].partition(":")
    return name if not variant or _ROUTE.fullmatch(variant) else f"{name}-{variant}"


def _words(name: str) -> set[str]:
    """Return the words of a name, its numbers written in one way: 3p1, v3.1 and 3-1 are 3.1."""
    name = re.sub(r"(?<=\d)p(?=\d)", ".", name)
    name = re.sub(r"(?<=[a-z]{3})(?=\d)", "-", name)  # qwen2.5 and qwen-2.5 are one
    name = re.sub(r"(?<![^\W_])v(?=\d)", "", name)
    name = re.sub(r"(?<![\w.])(\d)[-_](\d)(?![\w.])", r"\1.\2", name)
    name = re.sub(r"(?<=\d)\.0(?![\w.])", "", name)
    return set(re.findall(r"[^\W_]+(?:\.\d+[^\W_]*)*", name))


def _differ(wanted: Iterable[str], got: Iterable[str], kind: re.Pattern[str]) -> bool:
    """Tell whether both names have words of this kind, and none in common."""
    asked_for, found = set(filter(kind.fullmatch, wanted)), set(filter(kind.fullmatch, got))
    return bool(asked_for and found and not asked_for & found)
