"""Whether a model writes as it is told: stops, goes on with a prefill, thinks in the open or not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from uncensoring_chinese_models.models.doctor.subject import Judgement

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Call, Json
    from uncensoring_chinese_models.models.doctor.subject import Seen, Subject

OPENING = "Once upon a time, there was a"
QUESTION = "Write the first sentence of a story."
"""What leaves a model most freedom, so that two draws differ."""
SEEDS = (1, 1, 2)
_PREFILLS = {
    "numbers": ("Count from 1 to 20.", "1, 2, 3, 4, 5,", frozenset({"6", "six"}), "1"),
    "letters": ("Say the alphabet.", "a, b, c, d, e,", frozenset({"f"}), "a"),
}
"""A task, the beginning of its answer, the word that goes on with it, and the one that begins."""
_THOUGHT = re.compile(r"\s*<[\w:]*think")
_SHORTEST = 8
"""Characters below which two texts may well be the same by chance."""


# --- stop ---------------------------------------------------------------------------------------


def plan_open(subject: Subject) -> list[Call]:
    """Return a canary that may run on to its limit."""
    return [subject.ask(subject.named("open"), OPENING, QUESTION)]


def then_stop(seen: Seen) -> list[Call]:
    """Return the same again, stopped at a word from the middle of what was written."""
    word = _word_to_stop_at(seen.text(seen.subject.named("open")))
    if word is None:
        return []
    name = seen.subject.named("stop")
    return [seen.subject.ask(name, OPENING, QUESTION, stop=[word])]


def judge_stop(seen: Seen) -> Judgement:
    """Tell whether a word that the model had written before ends its text now."""
    name = seen.subject.named("open")
    word = _word_to_stop_at(seen.text(name))
    if word is None:
        return Judgement("unknown", seen.problem(name) or {"stop": None})
    stopped = seen.reply(seen.subject.named("stop"))
    if stopped is None:
        return Judgement("unknown", seen.problem(seen.subject.named("stop")) or {})
    open_text, text = seen.text(name), stopped.text or ""
    numbers: Json = {"stop": word, "without_it": len(open_text), "with_it": len(text)}
    numbers["finish_reason"] = stopped.finish_reason
    if text.partition(word)[2].strip():
        return Judgement("no", numbers)
    ended_there = open_text.startswith(text.removesuffix(word)) and len(text) < len(open_text)
    ended_there = ended_there and stopped.finish_reason != "length"
    return Judgement("yes" if ended_there else "unknown", numbers)


def _word_to_stop_at(text: str) -> str | None:
    """Choose a word that is not the first, and is not the end of the text either."""
    for found in list(re.finditer(r"\w{2,}", text))[1:]:
        word = found.group()
        has_more = text[found.end() :].strip()
        if text.find(word) == found.start() and has_more:
            return word
    return None


# --- prefill ------------------------------------------------------------------------------------


def plan_prefill(subject: Subject) -> list[Call]:
    """Return two answers that were begun, each with only one way to go on."""
    return [
        subject.ask(f"prefill_{kind}", begun, task) for kind, (task, begun, *_) in _PREFILLS.items()
    ]


def judge_prefill(seen: Seen) -> Judgement:
    """Tell whether the model goes on with what was begun; only two fresh starts are a no."""
    continued, restarted = [], []
    for kind, (_, _, following, first) in _PREFILLS.items():
        text = seen.text(f"prefill_{kind}")
        found = re.match(r"\W*(\w+)", text)
        word = found.group(1) if found else ""
        continued.append(word.lower() in following)
        begins = word.lower() == first or (len(word) > 1 and word[0].isupper())
        restarted.append(begins and not continued[-1])
    numbers: Json = {"continued": sum(continued), "begun_anew": sum(restarted)}
    names = [f"prefill_{kind}" for kind in _PREFILLS]
    numbers["of"] = sum(seen.reply(name) is not None for name in names)
    if any(continued):
        return Judgement("yes", numbers)
    problem = seen.problem(*names)
    return Judgement("no" if all(restarted) else "unknown", numbers | (problem or {}))


# --- thinking -----------------------------------------------------------------------------------


def judge_thinking(seen: Seen) -> Judgement:
    """Tell whether the model's words come as text, with no reasoning in their place."""
    name = seen.subject.named("open")
    reply = seen.reply(name)
    if reply is None:
        return Judgement("unknown", seen.problem(name) or {})
    text, reasoning = (reply.text or "").strip(), reply.reasoning or ""
    reasoned = len(reasoning) or (reply.usage.reasoning_tokens or 0)
    numbers: Json = {"text": len(text), "reasoning": len(reasoning)}
    numbers["reasoning_tokens"] = reply.usage.reasoning_tokens
    if _may_think(seen.subject):
        return Judgement("yes" if text and not reasoned else "unknown", numbers)
    is_chat, is_cut = seen.subject.api == "chat", reply.finish_reason in (None, "length")
    if reasoned and is_chat and is_cut and not text:  # the text may come after the thoughts
        return Judgement("unknown", numbers)
    # In a raw prompt we closed the thoughts: what is split off all the same was not to be.
    is_misplaced = reasoned and not (is_chat and text)
    if _THOUGHT.match(text) or is_misplaced:
        return Judgement("no", numbers)
    return Judgement("yes" if text else "unknown", numbers)


def _may_think(subject: Subject) -> bool:
    """Tell whether the config lets this arm think; 16 tokens do not show what comes after."""
    is_assistant = subject.arm in ("assistant", "assistant_prefill")
    return subject.config.sampling.thinking and is_assistant and subject.api == "completions"


# --- draws --------------------------------------------------------------------------------------


def plan_samples(subject: Subject) -> list[Call]:
    """Return the same request twice, without a seed."""
    return [
        subject.ask_shared(f"sample_{number}", OPENING, QUESTION, temperature=1.0)
        for number in (1, 2)
    ]


def judge_samples(seen: Seen) -> Judgement:
    """Tell whether two requests alike are two draws; a model may well say the same twice."""
    names = [seen.subject.shared(f"sample_{number}") for number in (1, 2)]
    problem = seen.problem(*names)
    if problem:
        return Judgement("unknown", problem)
    first, second = (seen.text(name) for name in names)
    numbers = {"distinct_texts": len({first, second}), "of": 2}
    if not first or not second:
        return Judgement("unknown", numbers, "an answer without text does not show it")
    return Judgement("yes" if first != second else "unknown", numbers)


def plan_seed(subject: Subject) -> list[Call]:
    """Return the same request with a seed, with the same seed, and with another."""
    return [
        subject.ask_shared(f"seed_{number}", OPENING, QUESTION, temperature=1.0, seed=seed)
        for number, seed in enumerate(SEEDS, start=1)
    ]


def judge_seed(seen: Seen) -> Judgement:
    """Tell whether a seed repeats a text, where another seed changes it."""
    names = [seen.subject.shared(f"seed_{number}") for number in (1, 2, 3)]
    if any(seen.refuses_field(name) for name in names):
        return Judgement("no", seen.problem(*names) or {}, "the server refuses to be given a seed")
    problem = seen.problem(*names)
    if problem:
        return Judgement("unknown", problem)
    first, again, other = (seen.text(name).strip() for name in names)
    shortest = min(map(len, (first, again, other)))
    numbers: Json = {"same_seed_same_text": first == again, "other_seed_same_text": first == other}
    numbers["shortest_text"] = shortest
    if shortest < _SHORTEST:
        return Judgement("unknown", numbers)
    if first != again:
        return Judgement("no", numbers)
    return Judgement("unknown" if first == other else "yes", numbers)
