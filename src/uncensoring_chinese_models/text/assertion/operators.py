"""What acts on a stretch, in the order in which it acts: the inner cues first."""

from __future__ import annotations

from collections.abc import Iterator

from uncensoring_chinese_models.text.assertion.behind import behind
from uncensoring_chinese_models.text.assertion.cues import Cue
from uncensoring_chinese_models.text.assertion.neighbours import (
    asides,
    judged_later,
    lists,
    openings,
)
from uncensoring_chinese_models.text.assertion.reach import reaching
from uncensoring_chinese_models.text.assertion.refusals import refusals
from uncensoring_chinese_models.text.assertion.sentence import Operator, Sentence, sentence_of
from uncensoring_chinese_models.text.assertion.view import Surroundings

_OUTER = frozenset(
    {"condition", "question", "ignorance", "refusal", "request", "wish", "fiction", "party"}
)
"""They act on the whole clause, its predicate included."""


def operators_on(around: Surroundings) -> Iterator[Operator]:
    """Yield what acts on a stretch, from the inside to the outside."""
    sentence = sentence_of(around)
    before = reaching(sentence)
    yield from _inner(sentence, [cue for cue in before if cue.kind not in _OUTER])
    yield from behind(sentence)
    yield from (
        sentence.operator(cue.kind, cue.start, cue.end) for cue in before if cue.kind in _OUTER
    )
    yield from asides(sentence)
    yield from openings(sentence)
    yield from refusals(sentence)
    yield from judged_later(sentence)
    yield from lists(sentence)


def _inner(sentence: Sentence, cues: list[Cue]) -> Iterator[Operator]:
    """Yield the cues within the clause; of several plain negations the first, `so-called` last."""
    negated = False
    for cue in sorted(cues, key=lambda cue: cue.kind == "so_called"):
        if cue.kind == "negated" and cue.scope in ("clause", "exists"):
            if negated:
                continue
            negated = True
        yield sentence.operator(cue.kind, cue.start, cue.end)
