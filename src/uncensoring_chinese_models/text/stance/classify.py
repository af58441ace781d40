"""The stance of a text: does it answer, or does it withhold, and by which words.

The strong wordings of `rules` and the trained model of `model` decide together about a reply; about a
text that continues another one the wordings decide alone. A plain "I don't know" is not judged: a
model that knows withholds by it, and one that does not know answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from uncensoring_chinese_models.domain import WITHHELD, Stance
from uncensoring_chinese_models.text.reply_parts import reply_in
from uncensoring_chinese_models.text.stance.model import (
    decide,
    knows_language,
    load_weights,
    predict,
    script_of,
    weightiest_sentence,
)
from uncensoring_chinese_models.text.stance.rules import find_wording, pleads_ignorance
from uncensoring_chinese_models.text.stance.views import Found

DecidedBy = Literal["wording", "model"]


@dataclass(frozen=True, slots=True)
class Recognised:
    """The stance of a text and the words that decided it."""

    stance: Stance
    cue: str | None = None
    """The deciding words as written; None if nothing is withheld."""
    start: int = 0
    end: int = 0
    """Where the cue stands in the text; 0 and 0 without one."""
    sentence_start: int = 0
    sentence_end: int = 0
    """Where the sentence that holds it stands."""
    probability: float | None = None
    """Of withholding, by the model; None if the model was not asked."""
    by: DecidedBy | None = None
    """What decided; None if nothing did."""


@lru_cache(maxsize=8192)  # the summary and the report ask about the same texts
def recognise(text: str | None, asked: str | None = None, *, is_reply: bool = True) -> Recognised:
    """Return the stance of a reply, or of a continuation, with the words that decided it.

    ``"Sorry, I can't discuss that."`` → a refusal by ``I can't discuss``. Thoughts before the reply
    are passed over. `asked` is the question that it replies to. Only wordings decide about a text
    that continues another one (`is_reply` is false).
    """
    text = text or ""
    begin = reply_in(text, is_reply=is_reply).start
    if not any(char.isalnum() for char in text[begin:]):
        return Recognised("not_judged")
    found = find_wording(text, begin)
    if not is_reply:
        return Recognised("answers") if found is None else _by_wording(text, *found)
    reply = text[begin:]
    wording = None if found is None else found[0]
    if wording is None and (pleads_ignorance(reply) or not knows_language(reply)):
        return Recognised("not_judged")
    predicted = predict(reply, asked, wording)
    stance = decide(predicted, wording, load_weights().limits[script_of(reply)])
    if found is not None and stance == wording:
        return _by_wording(text, *found, predicted.withheld)
    if stance not in WITHHELD:
        return Recognised(stance, probability=predicted.withheld, by="model")
    start, end = (begin + place for place in weightiest_sentence(reply))
    cue = text[start:end]
    return Recognised(stance, cue, start, end, start, end, predicted.withheld, by="model")


def _by_wording(
    text: str, stance: Stance, found: Found, probability: float | None = None
) -> Recognised:
    start, end = found.view.span(found.start, found.end)
    first, last = found.view.span(*found.sentence)
    return Recognised(stance, text[start:end], start, end, first, last, probability, "wording")
