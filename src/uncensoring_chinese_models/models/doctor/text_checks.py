"""Checks of the text: stop strings, prefill, reasoning, independent samples, seeds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from uncensoring_chinese_models.domain import ARMS, is_cut
from uncensoring_chinese_models.models.doctor.canaries import CheckFinding
from uncensoring_chinese_models.text import thought_spans

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Call, Json
    from uncensoring_chinese_models.models.doctor.canaries import CanaryReplies, CheckedEndpoint

OPENING = "Once upon a time, there was a"
QUESTION = "Write the first sentence of a story."
"""An open task, so that two samples differ."""
SEEDS = (1, 1, 2)
_PREFILLS = {
    "numbers": ("Count from 1 to 20.", "1, 2, 3, 4, 5,", frozenset({"6", "six"}), "1"),
    "letters": ("Say the alphabet.", "a, b, c, d, e,", frozenset({"f"}), "a"),
}
"""A task, the start of its answer, the words that continue it, and the word that restarts it."""
_MIN_TEXT = 8
"""Shorter texts, in characters, may be equal by chance."""


# --- stop ---------------------------------------------------------------------------------------


def plan_open(checked: CheckedEndpoint) -> list[Call]:
    """Return a canary without a stop string."""
    return [checked.ask(checked.named("open"), OPENING, QUESTION)]


def then_stop(canaries: CanaryReplies) -> list[Call]:
    """Return the same request with a stop string: a word from the middle of the first text."""
    word = _word_to_stop_at(canaries.text(canaries.checked.named("open")))
    if word is None:
        return []
    name = canaries.checked.named("stop")
    return [canaries.checked.ask(name, OPENING, QUESTION, stop=[word])]


def judge_stop(canaries: CanaryReplies) -> CheckFinding:
    """Check that the stop string ends the text where the first text had that word."""
    name = canaries.checked.named("open")
    word = _word_to_stop_at(canaries.text(name))
    if word is None:
        return CheckFinding("unknown", canaries.problem(name) or {"stop": None})
    stopped = canaries.reply(canaries.checked.named("stop"))
    if stopped is None:
        return CheckFinding("unknown", canaries.problem(canaries.checked.named("stop")) or {})
    open_text, text = canaries.text(name), stopped.text or ""
    numbers: Json = {"stop": word, "without_it": len(open_text), "with_it": len(text)}
    numbers["finish_reason"] = stopped.finish_reason
    if text.partition(word)[2].strip():
        return CheckFinding("no", numbers)
    ended_there = open_text.startswith(text.removesuffix(word)) and len(text) < len(open_text)
    ended_there = ended_there and not is_cut(stopped.finish_reason)
    return CheckFinding("yes" if ended_there else "unknown", numbers)


def _word_to_stop_at(text: str) -> str | None:
    """Return a word that is neither the first nor the last of the text; None without one."""
    for found in list(re.finditer(r"\w{2,}", text))[1:]:
        word = found.group()
        has_more = text[found.end() :].strip()
        if text.find(word) == found.start() and has_more:
            return word
    return None


# --- prefill ------------------------------------------------------------------------------------


def plan_prefill(checked: CheckedEndpoint) -> list[Call]:
    """Return two prefilled answers, each with only one sensible continuation."""
    return [
        checked.ask(f"prefill_{kind}", begun, task) for kind, (task, begun, *_) in _PREFILLS.items()
    ]


def judge_prefill(canaries: CanaryReplies) -> CheckFinding:
    """Check that the model continues a prefilled answer; only two restarts are a no."""
    continued, restarted = [], []
    for kind, (_, _, following, first) in _PREFILLS.items():
        text = canaries.text(f"prefill_{kind}")
        found = re.match(r"\W*(\w+)", text)
        word = found.group(1) if found else ""
        continued.append(word.lower() in following)
        begins = word.lower() == first or (len(word) > 1 and word[0].isupper())
        restarted.append(begins and not continued[-1])
    numbers: Json = {"continued": sum(continued), "begun_anew": sum(restarted)}
    names = [f"prefill_{kind}" for kind in _PREFILLS]
    numbers["of"] = sum(canaries.reply(name) is not None for name in names)
    if any(continued):
        return CheckFinding("yes", numbers)
    problem = canaries.problem(*names)
    return CheckFinding("no" if all(restarted) else "unknown", numbers | (problem or {}))


# --- thinking -----------------------------------------------------------------------------------


def judge_thinking(canaries: CanaryReplies) -> CheckFinding:
    """Check that the reply comes as text and not as reasoning."""
    name = canaries.checked.named("open")
    reply = canaries.reply(name)
    if reply is None:
        return CheckFinding("unknown", canaries.problem(name) or {})
    text, reasoning = (reply.text or "").strip(), reply.reasoning or ""
    reasoned = len(reasoning) or (reply.usage.reasoning_tokens or 0)
    numbers: Json = {"text": len(text), "reasoning": len(reasoning)}
    numbers["reasoning_tokens"] = reply.usage.reasoning_tokens
    if _may_think(canaries.checked):
        return CheckFinding("yes" if text and not reasoned else "unknown", numbers)
    is_chat, may_go_on = canaries.checked.api == "chat", is_cut(reply.finish_reason or "length")
    if reasoned and is_chat and may_go_on and not text:  # text may follow the reasoning
        return CheckFinding("unknown", numbers)
    # A raw prompt has closed the reasoning block already, so no reasoning should be split off.
    is_misplaced = reasoned and not (is_chat and text)
    if thought_spans(text) or is_misplaced:
        return CheckFinding("no", numbers)
    return CheckFinding("yes" if text else "unknown", numbers)


def _may_think(checked: CheckedEndpoint) -> bool:
    """Return whether the config lets this arm reason first; 16 tokens do not show what follows."""
    is_assistant = checked.arm is not None and ARMS[checked.arm].turn == "assistant"
    return checked.config.sampling.thinking and is_assistant and checked.api == "completions"


# --- samples ------------------------------------------------------------------------------------


def plan_samples(checked: CheckedEndpoint) -> list[Call]:
    """Return the same request twice, without a seed."""
    return [
        checked.ask_shared(f"sample_{number}", OPENING, QUESTION, temperature=1.0)
        for number in (1, 2)
    ]


def judge_samples(canaries: CanaryReplies) -> CheckFinding:
    """Check that two equal requests give two texts; equal texts prove nothing."""
    names = [canaries.checked.shared(f"sample_{number}") for number in (1, 2)]
    problem = canaries.problem(*names)
    if problem:
        return CheckFinding("unknown", problem)
    first, second = (canaries.text(name) for name in names)
    numbers = {"distinct_texts": len({first, second}), "of": 2}
    if not first or not second:
        return CheckFinding("unknown", numbers, "an answer had no text to compare")
    return CheckFinding("yes" if first != second else "unknown", numbers)


def plan_seed(checked: CheckedEndpoint) -> list[Call]:
    """Return the same request with a seed, with the same seed, and with another."""
    return [
        checked.ask_shared(f"seed_{number}", OPENING, QUESTION, temperature=1.0, seed=seed)
        for number, seed in enumerate(SEEDS, start=1)
    ]


def judge_seed(canaries: CanaryReplies) -> CheckFinding:
    """Check that a seed repeats a text, and that another seed changes it."""
    names = [canaries.checked.shared(f"seed_{number}") for number in (1, 2, 3)]
    if any(canaries.refuses_field(name) for name in names):
        return CheckFinding(
            "no", canaries.problem(*names) or {}, "the server refuses the field seed"
        )
    problem = canaries.problem(*names)
    if problem:
        return CheckFinding("unknown", problem)
    first, again, other = (canaries.text(name).strip() for name in names)
    shortest = min(map(len, (first, again, other)))
    numbers: Json = {"same_seed_same_text": first == again, "other_seed_same_text": first == other}
    numbers["shortest_text"] = shortest
    if shortest < _MIN_TEXT:
        return CheckFinding("unknown", numbers)
    if first != again:
        return CheckFinding("no", numbers)
    return CheckFinding("unknown" if first == other else "yes", numbers)
