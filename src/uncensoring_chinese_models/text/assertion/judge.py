"""What the writer of a text does with a stretch of it: states it, denies it, or leaves it open.

Cues around the stretch are operators on a state: is it said to be so, and does the writer stand by it.
They are applied from the inside to the outside: negations and attributions that reach the stretch, the
predicate behind it, what the sentence stands under, a sentence that takes it back. So the lie that
nobody died states that somebody did.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from uncensoring_chinese_models.text.assertion.cues import CueKind
from uncensoring_chinese_models.text.assertion.operators import operators_on
from uncensoring_chinese_models.text.assertion.sentence import Operator
from uncensoring_chinese_models.text.assertion.view import surroundings

Verdict = Literal["stated", "denied", "not_asserted"]

_OPEN = frozenset(
    {
        "said",
        "denied",
        "question",
        "condition",
        "wish",
        "ignorance",
        "refusal",
        "request",
        "fiction",
    }
)
_LASTING = frozenset({"condition", "wish", "ignorance", "refusal", "request", "fiction"})
"""What leaves open is not settled by a sentence that takes it back."""
_JUDGEMENTS = frozenset({"untrue", "no_evidence"})


@dataclass(frozen=True, slots=True)
class Assertion:
    """What the writer does with a stretch of a text, and the words that decide it."""

    verdict: Verdict
    reason: str
    """The kind of the words: `negated`, `question` ...; `stated` where none take the force from it."""
    words: str
    """As written; the stretch itself if it is stated."""
    start: int
    end: int
    """Where the words stand."""


def assertion_of(text: str, start: int, end: int) -> Assertion:
    """Return whether the writer of a text states what a stretch of it says.

    ``killed`` in ``There is no evidence that anyone was killed.`` is denied, by ``no evidence that``.
    """
    start = min(max(start, 0), len(text))
    end = min(max(end, start), len(text))
    state = _State()
    decided: Operator | None = None
    for operator in operators_on(surroundings(text, start, end)):
        before = state.is_so, state.stands_by
        state.apply(operator.kind)
        if (state.is_so, state.stands_by) != before:
            decided = operator
    if state.verdict == "stated" or decided is None:
        return Assertion("stated", "stated", text[start:end], start, end)
    words = _trimmed(text, *decided.place)
    return Assertion(state.verdict, decided.kind, text[slice(*words)], *words)


@dataclass(slots=True)
class _State:
    """What the writer says of a stretch so far."""

    is_so: bool = True
    """Whether it is said to be so."""
    stands_by: bool = True
    """Whether the writer stands by that."""
    opened: str = ""
    """What left it open."""
    is_judged: bool = False
    """Whether the writer called it false: to say so twice is no double negation."""
    is_taken_back: bool = False

    @property
    def verdict(self) -> Verdict:
        """What the writer does with the stretch."""
        if not self.stands_by:
            return "not_asserted"
        return "stated" if self.is_so else "denied"

    def apply(self, kind: CueKind) -> None:
        """Apply what a cue does."""
        if kind in _JUDGEMENTS:
            self._judge(kind)
        elif kind == "so_called":
            self.is_so, self.is_judged = False, True
        elif kind == "retracted":
            self._take_back()
        elif kind == "refuted" and self.opened not in _LASTING:
            self.is_so, self.stands_by = False, True
        elif kind in ("negated", "denied"):
            self.is_so = not self.is_so
            self.is_judged = self.is_judged or kind == "denied"
        if kind in _OPEN or (kind == "party" and not self.is_so):
            self.stands_by, self.opened = False, kind
        elif kind == "true" and self.opened not in _LASTING:
            self.stands_by = True

    def _judge(self, kind: CueKind) -> None:
        if self.is_judged and self.opened == "denied":
            return  # `dismissed it as a lie`: the lie is theirs
        if not (self.is_judged and self.stands_by):
            self.is_so = not self.is_so
        self.stands_by = kind != "no_evidence" or not self.is_so
        self.is_judged = True

    def _take_back(self) -> None:
        if self.opened not in _LASTING and not self.is_taken_back:
            self.is_so = not (self.is_so or self.stands_by)
            self.stands_by = self.is_taken_back = True


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without the marks and spaces at its ends."""
    found = re.search(r"\w(?:.*\w)?", text[start:end], re.DOTALL)
    return (start + found.start(), start + found.end()) if found else (start, end)
