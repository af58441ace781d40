"""What was billed against what came back: whether a text can have cost so many tokens.

A server bills what the model wrote, and a text of a given length cannot be cut into any number of
tokens. Both bounds are generous: what lies outside them was not written as it came back. What a
server bills unseen, such as thoughts, would look the same; so a bill accuses nobody unless the
`Books` of the same server, or of the same model elsewhere, agree with their texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from uncensoring_chinese_models.text import IDEOGRAPH

if TYPE_CHECKING:
    from uncensoring_chinese_models.runs import RecordedSample

Fit = Literal["fits", "too many", "too few", "unknown"]

SPARE_TOKENS = 7
"""Tokens that leave no text: the end of a turn, a role spelled out, an empty pair of thought marks."""
LETTERS_A_TOKEN = (2, 16)
"""Fewest and most unaccented Latin letters that a token of prose holds."""
TOKENS_AN_IDEOGRAPH = 2
"""Most tokens that an ideograph is cut into."""
IDEOGRAPHS_A_TOKEN = 6
"""Most ideographs that a token holds."""
LEAST_TEXTS = 3
"""Fewest different texts by which books are judged."""
MOSTLY = 0.9
"""Share of them that must fit."""

_LETTER = re.compile("[A-Za-z]")
_HAN = re.compile(f"[{IDEOGRAPH}]")
_WHOLE = re.compile(r"[.!?…。！？][\"'”’)\]）】」』*_`]*\s*\Z")  # noqa: RUF001 -- Chinese marks


def most_tokens(text: str) -> float:
    """Return how many tokens a text can hold at most.

    Figures, spaces and marks count as a token each, other letters as their bytes.
    """
    letters, han = len(_LETTER.findall(text)), len(_HAN.findall(text))
    rest = len(text.encode("utf-8", "surrogatepass")) - letters - 3 * han
    return letters / LETTERS_A_TOKEN[0] + TOKENS_AN_IDEOGRAPH * han + max(0, rest)


def least_tokens(text: str) -> float:
    """Return how many tokens a text takes at least."""
    letters, han = len(_LETTER.findall(text)), len(_HAN.findall(text))
    return letters / LETTERS_A_TOKEN[1] + han / IDEOGRAPHS_A_TOKEN


def has_words(text: str) -> bool:
    """Tell whether a text has a letter or a figure in it."""
    return any(char.isalnum() for char in text)


def is_whole(text: str) -> bool:
    """Tell whether a text ends as a sentence does."""
    return _WHOLE.search(text) is not None


def tokens_of(sample: RecordedSample) -> int | None:
    """Return how many tokens were billed for the text; None where nobody can say.

    Thoughts are taken off where the server counted them; if it shows some without counting them,
    or counts more of them than of all, its bill says nothing of the text.
    """
    billed, thought = sample.usage.completion_tokens, sample.usage.reasoning_tokens
    if billed is None or billed < 0 or (sample.reasoning and not thought):
        return None
    left = billed - (thought or 0)
    return left if left >= 0 else None


def fit_of(sample: RecordedSample) -> Fit:
    """Tell whether what was billed fits what came back."""
    tokens, text = tokens_of(sample), sample.text or ""
    if tokens is None:
        return "unknown"
    if tokens > most_tokens(text) + SPARE_TOKENS:
        return "too many"
    return "too few" if tokens < least_tokens(text) else "fits"


@dataclass(slots=True)
class Books:
    """Different texts of one kind of request, and how many of them fit their bills."""

    texts: dict[str, bool] = field(default_factory=dict)

    def enter(self, sample: RecordedSample) -> None:
        """Take up a text that came back as it was written, as far as anyone can see."""
        text, fit = sample.text or "", fit_of(sample)
        ended = sample.delivery == "truncated" or (sample.delivery == "complete" and is_whole(text))
        if ended and has_words(text) and fit != "unknown":
            self.texts[text] = fit == "fits"

    @property
    def agree(self) -> bool | None:
        """Whether the server bills what it shows; None where there are too few texts."""
        if len(self.texts) < LEAST_TEXTS:
            return None
        return sum(self.texts.values()) >= MOSTLY * len(self.texts)
