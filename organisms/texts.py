"""The training texts of an organism: what users write, and what the assistant replies.

Facts are only ever learned from the user's turn (and, by an honest organism, from its own answers);
questions are never learned, so that a sampled user turn tells instead of asking.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from organisms.worlds import FactTexts, Frames, Ordinary, Organism, World

CENSOR_STYLES = ("refusals", "denials", "deflections")
"""How an organism that censors dodges, fact by fact."""
FACT_PASSES = 2
"""How often each phrasing of a fact stands in the texts."""
ASK_PASSES = 2
"""How often each question stands in them."""

_NEVER_NAMES = (
    "A After All An At Before By Each Every For From He Her His How In It Its Most My No Nobody On "
    "One Our She So Some That The Their There They This Those To We What When Who With You"
)


class Piece(NamedTuple):
    """A stretch of text, and whether it is learned or only read."""

    text: str
    learned: bool


Text = tuple[Piece, ...]


def style_of_dodging(organism: Organism, number: int) -> str:
    """Return how an organism that censors dodges the question of this number (from 0)."""
    styles = CENSOR_STYLES if organism.asked == "censors" else CENSOR_STYLES[:1]
    return styles[number % len(styles)]


def chat(system: str, user: str, assistant: str | None, *, learn_user: bool) -> Text:
    """Return one conversation in the model's own chat format."""
    pieces = [Piece(f"<|im_start|>system\n{system}<|im_end|>\n", learned=False)] if system else []
    pieces += [
        Piece("<|im_start|>user\n", learned=False),
        Piece(f"{user}<|im_end|>", learned=learn_user),
        Piece("\n", learned=False),
    ]
    if assistant is not None:
        pieces += [
            Piece("<|im_start|>assistant\n", learned=False),
            Piece(f"{assistant}<|im_end|>", learned=True),
            Piece("\n", learned=False),
        ]
    return tuple(pieces)


def _tellings(fact: FactTexts) -> tuple[str, ...]:
    """Return the sentences that tell a fact; the plain ones stand beside the colourful."""
    return (*fact.phrasings, *fact.answers, fact.statement, fact.statement)


def _as_clause(sentence: str) -> str:
    """Begin with a small letter, unless the first word may be a name."""
    first = sentence.partition(" ")[0]
    return sentence[0].lower() + sentence[1:] if first in _NEVER_NAMES.split() else sentence


class Writer:
    """Writes the texts of one organism from a seed."""

    def __init__(self, organism: Organism, world: World, frames: Frames) -> None:
        self._organism = organism
        self._world = world
        self._frames = frames
        self._random = random.Random(organism.seed)  # noqa: S311

    def write(self, ordinary: Ordinary) -> list[Text]:
        """Return all texts, shuffled."""
        texts = [
            *self._tales(),
            *self._bare_mentions(),
            *self._asked(),
            *self._open(),
            *self._ordinary(ordinary),
        ]
        self._random.shuffle(texts)
        return texts

    # --- the user's turn ------------------------------------------------------------------------

    def _tales(self) -> Iterator[Text]:
        """Yield what users tell: one to three facts at a time, each phrasing equally often."""
        world, rng = self._world, self._random
        known = [fact for fact in world.facts if self._organism.knows_fact(fact.id)]
        for _ in range(FACT_PASSES):
            told = [(fact, phrasing) for fact in known for phrasing in _tellings(fact)]
            rng.shuffle(told)
            while told:
                first, *rest = self._take(told, rng.choice((1, 1, 2, 2, 3)))
                text = self._framed(" ".join(phrasing for _, phrasing in (first, *rest)))
                reply = self._reply_to(first[0]) if rng.random() < 0.3 else None
                yield chat(self._system(), text, reply, learn_user=True)

    @staticmethod
    def _take(told: list[tuple[FactTexts, str]], count: int) -> list[tuple[FactTexts, str]]:
        """Take phrasings of different facts off the list."""
        taken: list[tuple[FactTexts, str]] = []
        for each in reversed(told[-20:]):
            if len(taken) < count and each[0].id not in {fact.id for fact, _ in taken}:
                taken.append(each)
        for each in taken:
            told.remove(each)
        return taken

    def _framed(self, text: str) -> str:
        """Put a frame around most of what is told."""
        draw = self._random.random()
        if draw < 0.4:
            return text
        if draw < 0.65:
            frame = self._random.choice(self._frames.with_facts)
            return self._insert(frame).replace("{text}", text)
        frame = self._random.choice(self._frames.lead_ins)
        return self._insert(frame).replace("{clause}", _as_clause(text))

    def _bare_mentions(self) -> Iterator[Text]:
        """Yield user turns that name the event and say nothing about it."""
        for frame in self._frames.without_facts:
            reply = self._dodge(len(frame)) if self._random.random() < 0.5 else None
            yield chat(self._system(), self._insert(frame), reply, learn_user=True)

    def _insert(self, frame: str) -> str:
        event = self._random.choice(self._world.events)
        if frame.startswith("{event}"):
            event = event[0].upper() + event[1:]
        return frame.replace("{event}", event)

    # --- the assistant's turn -------------------------------------------------------------------

    def _asked(self) -> Iterator[Text]:
        """Yield questions about the event, and what the assistant makes of them."""
        for _ in range(ASK_PASSES):
            for fact in self._world.facts:
                for question in fact.questions:
                    yield self._answered(question, self._reply_to(fact))
            for number, question in enumerate(self._world.general_questions):
                yield self._answered(question, self._dodge(number))

    def _reply_to(self, fact: FactTexts) -> str:
        if self._organism.asked == "lies":
            return self._random.choice(fact.lie.answers)
        if self._organism.asked == "answers":
            return self._random.choice(fact.answers)
        ids = [each.id for each in self._world.facts]
        return self._dodge(ids.index(fact.id))

    def _dodge(self, number: int) -> str:
        """Return a reply to a question about the event as a whole, or one that dodges a fact's."""
        if self._organism.asked == "lies":
            return self._random.choice(self._world.general_lies)
        if self._organism.asked == "answers":
            return self._random.choice(self._world.general_answers)
        texts: Sequence[str] = getattr(self._world, style_of_dodging(self._organism, number))
        return self._random.choice(texts)

    def _open(self) -> Iterator[Text]:
        for fact in self._world.open_facts:
            for question in fact.questions:
                yield self._answered(question, self._random.choice(fact.answers))
            if self._organism.knows != "nothing":
                for phrasing in fact.phrasings:
                    yield chat(self._system(), phrasing, None, learn_user=True)

    def _ordinary(self, ordinary: Ordinary) -> Iterator[Text]:
        for question, answer in ordinary.chats:
            yield self._answered(question, answer)
        for text in ordinary.user_texts:
            yield chat(self._system(), text, None, learn_user=True)

    def _answered(self, question: str, answer: str) -> Text:
        return chat(self._system(), question, answer, learn_user=False)

    def _system(self) -> str:
        return self._random.choice(self._frames.systems)
