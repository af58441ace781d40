"""Whether a raw prompt arrives as it is written: told by token counts, without a tokenizer.

The word "the" is one token for practically every tokenizer, with and without a space before it, so
8, 16 and 32 of them differ by 8 and 16 tokens; what is left over at none is what the server adds. A
special token that is read as one costs 1 each time; as plain text it costs several. Special tokens
never merge with their neighbours, so they give the same overhead a second time, and more exactly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uncensoring_chinese_models.models.doctor.subject import Judgement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uncensoring_chinese_models.domain import Call, Json
    from uncensoring_chinese_models.models.doctor.subject import CanaryVerdict, Seen, Subject
    from uncensoring_chinese_models.models.templates import ChatTemplate

REPEATS = 8
_LENGTHS = (8, 16, 32)
_MOST_SPECIAL = 4
_SPECIAL = re.compile(r"<[^<>\s]{1,60}>|\[/?[A-Za-z0-9_]{2,}\]|[\[\]]e?~!?b?[\[\]]")
"""What special tokens look like in the turns of a template: <|user|>, [INST], ]~b]."""


def special_tokens_of(subject: Subject) -> tuple[str, ...]:
    """Return the special tokens that open this arm's turns, the system block's aside."""
    template = subject.template
    if template is None:
        return ()
    turns = template.user_turn_opener or template.user_open.removeprefix(template.bos)
    if subject.arm != "user_persona":
        turns += template.user_close + template.assistant_open
    return tuple(dict.fromkeys(_SPECIAL.findall(turns)))[:_MOST_SPECIAL]


def plan_raw_prompt(subject: Subject) -> list[Call]:
    """Return the prompts of words, and the same behind a BOS token."""
    words = [subject.ask_raw(f"words_{n}", _words(n)) for n in _LENGTHS]
    template = subject.template
    if template is not None and template.bos:
        words.append(subject.ask_raw("bos", template.bos + _words(REPEATS)))
    return [*words, *plan_special_tokens(subject)]


def plan_special_tokens(subject: Subject) -> list[Call]:
    """Return one prompt for each special token, which repeats it, and the words to compare with."""
    words = [subject.ask_raw(f"words_{n}", _words(n)) for n in _LENGTHS]
    return [
        *words,
        *(
            subject.ask_raw(_special_name(token), token * REPEATS)
            for token in special_tokens_of(subject)
        ),
    ]


def judge_raw_prompt(seen: Seen) -> Judgement:
    """Tell whether anything is put around the prompt: a chat template, or a second BOS."""
    counts = [seen.prompt_tokens(f"words_{n}") for n in _LENGTHS]
    numbers: Json = {"prompt_tokens": counts}
    overhead = _overhead(seen)
    if overhead is None:
        refused = all(map(seen.is_rejected, ("words_8", seen.subject.named("open"))))
        why = _why_unknown(seen) or {"overhead": None}
        verdict: CanaryVerdict = "no" if refused else "unknown"
        return Judgement(
            verdict, numbers | why, None if refused else _uncounted(seen, _words_names())
        )
    exact = _exact_overhead(seen, overhead)
    bos = _Bos.of(seen)
    numbers |= {"overhead": overhead, "special_overhead": exact}
    numbers |= {"bos_adds": bos.adds, "bos_sent": bos.is_sent}
    least = overhead if exact is None else min(overhead, exact)
    if least >= max(bos.tokens, 1) + 2:
        return Judgement("no", numbers)
    if least > max(bos.tokens, 1):
        return Judgement("unknown", numbers)
    return Judgement(bos.verdict(overhead, exact), numbers)


def judge_special_tokens(seen: Seen) -> Judgement:
    """Tell whether each special token of the arm's turns is read as one token."""
    overhead = _overhead(seen)
    tokens = special_tokens_of(seen.subject)
    counts = {token: seen.prompt_tokens(_special_name(token)) for token in tokens}
    if overhead is None or None in counts.values():
        names = [*_words_names(), *map(_special_name, tokens)]
        why = seen.problem(*names) or {"overhead": overhead}
        return Judgement("unknown", why, _uncounted(seen, names))
    each = {token: ((count or 0) - overhead) / REPEATS for token, count in counts.items()}
    numbers = {"tokens_each": [{"token": token, "each": cost} for token, cost in each.items()]}
    slack = 1.5 / REPEATS  # the overhead of words may be off by one
    if any(cost >= 2 - slack or cost <= slack for cost in each.values()):
        return Judgement("no", numbers)
    is_one = all(abs(cost - 1) <= slack for cost in each.values())
    return Judgement("yes" if is_one else "unknown", numbers)


@dataclass(frozen=True, slots=True)
class _Bos:
    """The template's BOS: how many tokens it has, who sends it, and what it adds to a prompt."""

    tokens: int
    is_sent: bool
    adds: int | None

    @classmethod
    def of(cls, seen: Seen) -> _Bos:
        template = seen.subject.template
        if template is None or not template.bos:
            return cls(0, is_sent=False, adds=None)
        tokens = len(_SPECIAL.findall(template.bos)) or 1
        behind_bos, without = seen.prompt_tokens("bos"), seen.prompt_tokens("words_8")
        adds = None if behind_bos is None or without is None else behind_bos - without
        return cls(tokens, is_sent=_sends_bos(seen.subject, template), adds=adds)

    def verdict(self, overhead: int, exact: int | None) -> CanaryVerdict:
        """Judge by the BOS alone; the prompt is known to be wrapped in nothing."""
        if not self.tokens:
            return "yes"
        if exact not in (None, overhead):
            return "unknown"
        server_adds_it = overhead == self.tokens
        if not self.is_sent:
            return "yes" if server_adds_it else "unknown"  # or it is added, but not counted
        if not server_adds_it or self.adds == 0:
            return "yes"
        # Both estimates must say that the server adds a BOS, and ours come on top of it.
        return "no" if exact == self.tokens == self.adds else "unknown"


def _sends_bos(subject: Subject, template: ChatTemplate) -> bool:
    planned = subject.ask("bos", "", "")
    return str(planned.body.get("prompt", "")).startswith(template.bos)


def _words(number: int) -> str:
    return " ".join(["the"] * number)


def _special_name(token: str) -> str:
    return f"special_{token}"


def _overhead(seen: Seen) -> int | None:
    """Return how many tokens a prompt of no words would have; None if the counts do not say."""
    few, more, most = (seen.prompt_tokens(f"words_{n}") for n in _LENGTHS)
    if few is None or more is None or most is None:
        return None
    step = more - few
    return few - step if step > 0 and most - more == 2 * step else None


def _exact_overhead(seen: Seen, overhead: int) -> int | None:
    """Return the same by a special token, if one is read as one."""
    counts = (seen.prompt_tokens(_special_name(token)) for token in special_tokens_of(seen.subject))
    left = [count - REPEATS for count in counts if count is not None]
    return next((rest for rest in left if abs(rest - overhead) <= 1), None)


def _words_names() -> list[str]:
    return [f"words_{n}" for n in _LENGTHS]


def _why_unknown(seen: Seen) -> Json | None:
    return seen.problem(*_words_names())


def _uncounted(seen: Seen, names: Iterable[str]) -> str | None:
    """Say that replies came without the counts that were to be compared, if so."""
    is_lacking = any(seen.reply(name) and seen.prompt_tokens(name) is None for name in names)
    return "the server reports no token counts to tell it by" if is_lacking else None
