"""Checks by token counts, without a tokenizer: does a raw prompt arrive as it is written?

The word "the" is one token for practically every tokenizer, with and without a space before it, so
prompts of 8, 16 and 32 words differ by 8 and 16 tokens. Extrapolated to 0 words, the rest is the
overhead: what the server adds. A special token that is read as such costs 1 token each time; as
plain text it costs several. Special tokens never merge with their neighbours, so they give a
second, more exact estimate of the overhead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uncensoring_chinese_models.domain import ARMS
from uncensoring_chinese_models.models.doctor.canaries import CheckFinding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uncensoring_chinese_models.domain import Call, Json
    from uncensoring_chinese_models.models.doctor.canaries import (
        CanaryReplies,
        CanaryVerdict,
        CheckedEndpoint,
    )
    from uncensoring_chinese_models.models.templates import ChatTemplate

REPEATS = 8
_LENGTHS = (8, 16, 32)
_MAX_SPECIAL = 4
_SPECIAL = re.compile(r"<[^<>\s]{1,60}>|\[/?[A-Za-z0-9_]{2,}\]|[\[\]]e?~!?b?[\[\]]")
"""What special tokens look like in the turns of a template: <|user|>, [INST], ]~b]."""


def special_tokens_of(checked: CheckedEndpoint) -> tuple[str, ...]:
    """Return the special tokens that open this arm's turns, without those of a system block."""
    template = checked.template
    if template is None:
        return ()
    turns = template.user_turn_opener or template.user_open.removeprefix(template.bos)
    if checked.arm is not None and ARMS[checked.arm].turn == "assistant":
        turns += template.user_close + template.assistant_open
    return tuple(dict.fromkeys(_SPECIAL.findall(turns)))[:_MAX_SPECIAL]


def plan_raw_prompt(checked: CheckedEndpoint) -> list[Call]:
    """Return the prompts of words, and one that begins with a BOS token."""
    words = [checked.ask_raw(f"words_{n}", _words(n)) for n in _LENGTHS]
    template = checked.template
    if template is not None and template.bos:
        words.append(checked.ask_raw("bos", template.bos + _words(REPEATS)))
    return [*words, *plan_special_tokens(checked)]


def plan_special_tokens(checked: CheckedEndpoint) -> list[Call]:
    """Return a prompt that repeats each special token, and the prompts of words to compare with."""
    words = [checked.ask_raw(f"words_{n}", _words(n)) for n in _LENGTHS]
    return [
        *words,
        *(
            checked.ask_raw(_special_name(token), token * REPEATS)
            for token in special_tokens_of(checked)
        ),
    ]


def judge_raw_prompt(canaries: CanaryReplies) -> CheckFinding:
    """Check that the server adds nothing to the prompt: no chat template, no second BOS."""
    counts = [canaries.prompt_tokens(f"words_{n}") for n in _LENGTHS]
    numbers: Json = {"prompt_tokens": counts}
    overhead = _overhead(canaries)
    if overhead is None:
        refused = all(map(canaries.is_rejected, ("words_8", canaries.checked.named("open"))))
        why = _why_unknown(canaries) or {"overhead": None}
        verdict: CanaryVerdict = "no" if refused else "unknown"
        return CheckFinding(
            verdict, numbers | why, None if refused else _uncounted(canaries, _words_names())
        )
    exact = _exact_overhead(canaries, overhead)
    bos = _Bos.of(canaries)
    numbers |= {"overhead": overhead, "special_overhead": exact}
    numbers |= {"bos_adds": bos.adds, "bos_sent": bos.is_sent}
    least = overhead if exact is None else min(overhead, exact)
    if least >= max(bos.tokens, 1) + 2:
        return CheckFinding("no", numbers)
    if least > max(bos.tokens, 1):
        return CheckFinding("unknown", numbers)
    return CheckFinding(bos.verdict(overhead, exact), numbers)


def judge_special_tokens(canaries: CanaryReplies) -> CheckFinding:
    """Check that each special token of the arm's turns is read as one token."""
    overhead = _overhead(canaries)
    tokens = special_tokens_of(canaries.checked)
    counts = {token: canaries.prompt_tokens(_special_name(token)) for token in tokens}
    if overhead is None or None in counts.values():
        names = [*_words_names(), *map(_special_name, tokens)]
        why = canaries.problem(*names) or {"overhead": overhead}
        return CheckFinding("unknown", why, _uncounted(canaries, names))
    each = {token: ((count or 0) - overhead) / REPEATS for token, count in counts.items()}
    numbers = {"tokens_each": [{"token": token, "each": cost} for token, cost in each.items()]}
    slack = 1.5 / REPEATS  # the overhead of words may be off by one
    if any(cost >= 2 - slack or cost <= slack for cost in each.values()):
        return CheckFinding("no", numbers)
    is_one = all(abs(cost - 1) <= slack for cost in each.values())
    return CheckFinding("yes" if is_one else "unknown", numbers)


@dataclass(frozen=True, slots=True)
class _Bos:
    """The BOS of the template: its number of tokens, whether we send it, what it adds to a prompt."""

    tokens: int
    is_sent: bool
    adds: int | None

    @classmethod
    def of(cls, canaries: CanaryReplies) -> _Bos:
        template = canaries.checked.template
        if template is None or not template.bos:
            return cls(0, is_sent=False, adds=None)
        tokens = len(_SPECIAL.findall(template.bos)) or 1
        behind_bos, without = canaries.prompt_tokens("bos"), canaries.prompt_tokens("words_8")
        adds = None if behind_bos is None or without is None else behind_bos - without
        return cls(tokens, is_sent=_sends_bos(canaries.checked, template), adds=adds)

    def verdict(self, overhead: int, exact: int | None) -> CanaryVerdict:
        """Return the verdict on the BOS alone, once nothing else is known to be added."""
        if not self.tokens:
            return "yes"
        if exact not in (None, overhead):
            return "unknown"
        server_adds_it = overhead == self.tokens
        if not self.is_sent:
            return "yes" if server_adds_it else "unknown"  # it may be added, but not counted
        if not server_adds_it or self.adds == 0:
            return "yes"
        # Both estimates must show that the server adds a BOS, and that ours is counted too.
        return "no" if exact == self.tokens == self.adds else "unknown"


def _sends_bos(checked: CheckedEndpoint, template: ChatTemplate) -> bool:
    planned = checked.ask("bos", "", "")
    return str(planned.body.get("prompt", "")).startswith(template.bos)


def _words(number: int) -> str:
    return " ".join(["the"] * number)


def _special_name(token: str) -> str:
    return f"special_{token}"


def _overhead(canaries: CanaryReplies) -> int | None:
    """Return the tokens of a prompt without words; None if the counts do not show it."""
    few, more, most = (canaries.prompt_tokens(f"words_{n}") for n in _LENGTHS)
    if few is None or more is None or most is None:
        return None
    step = more - few
    return few - step if step > 0 and most - more == 2 * step else None


def _exact_overhead(canaries: CanaryReplies, overhead: int) -> int | None:
    """Return the overhead by a special token, if one is read as one token."""
    counts = (
        canaries.prompt_tokens(_special_name(token))
        for token in special_tokens_of(canaries.checked)
    )
    left = [count - REPEATS for count in counts if count is not None]
    return next((rest for rest in left if abs(rest - overhead) <= 1), None)


def _words_names() -> list[str]:
    return [f"words_{n}" for n in _LENGTHS]


def _why_unknown(canaries: CanaryReplies) -> Json | None:
    return canaries.problem(*_words_names())


def _uncounted(canaries: CanaryReplies, names: Iterable[str]) -> str | None:
    """Return a sentence if replies came without token counts."""
    is_lacking = any(
        canaries.reply(name) and canaries.prompt_tokens(name) is None for name in names
    )
    return "the server reports no token counts" if is_lacking else None
