"""Compare the tokens that a server billed with the text that came back.

*Experimental*: no live provider has been caught this way. A text of a given length takes a limited
number of tokens. If the billed number lies outside generous bounds, it looks as if the model wrote
another text than the one that came back. Tokens that a server bills but does not show, such as
thoughts, look the same. So a bill counts against a host only if other bills (`TokenBills`) of the same
server, or of the same model elsewhere, fit their texts.
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
"""Maximum tokens without text: the end of a turn, a role name, an empty pair of thought tags."""
LETTERS_PER_TOKEN = (2, 16)
"""Minimum and maximum of unaccented Latin letters in a token of prose."""
MAX_TOKENS_PER_IDEOGRAPH = 2
MAX_IDEOGRAPHS_PER_TOKEN = 6
MIN_TEXTS = 3
"""Minimum number of different texts for a conclusion about a server's bills."""
MOSTLY = 0.9
"""Minimum share of those texts that must fit their bills."""

_LETTER = re.compile("[A-Za-z]")
_HAN = re.compile(f"[{IDEOGRAPH}]")
_WHOLE = re.compile(r"[.!?…。！？][\"'”’)\]）】」』*_`]*\s*\Z")  # noqa: RUF001 -- Chinese marks


def max_tokens_in(text: str) -> float:
    """Return the maximum number of tokens of a text (experimental bound).

    Each figure, space and punctuation mark counts as a token, other letters as their bytes.
    """
    letters, han = len(_LETTER.findall(text)), len(_HAN.findall(text))
    rest = len(text.encode("utf-8", "surrogatepass")) - letters - 3 * han
    return letters / LETTERS_PER_TOKEN[0] + MAX_TOKENS_PER_IDEOGRAPH * han + max(0, rest)


def min_tokens_in(text: str) -> float:
    """Return the minimum number of tokens of a text (experimental bound)."""
    letters, han = len(_LETTER.findall(text)), len(_HAN.findall(text))
    return letters / LETTERS_PER_TOKEN[1] + han / MAX_IDEOGRAPHS_PER_TOKEN


def has_words(text: str) -> bool:
    """Return whether a text has a letter or a figure."""
    return any(char.isalnum() for char in text)


def is_whole(text: str) -> bool:
    """Return whether a text ends with the end of a sentence."""
    return _WHOLE.search(text) is not None


def tokens_of(sample: RecordedSample) -> int | None:
    """Return how many tokens were billed for the text; None if that is unknown.

    Reasoning tokens are subtracted. The number is unknown if the server shows thoughts without
    counting them, or counts more reasoning tokens than tokens.
    """
    billed, thought = sample.usage.completion_tokens, sample.usage.reasoning_tokens
    if billed is None or billed < 0 or (sample.reasoning and not thought):
        return None
    left = billed - (thought or 0)
    return left if left >= 0 else None


def fit_of(sample: RecordedSample) -> Fit:
    """Return whether the billed tokens fit the text that came back (experimental)."""
    tokens, text = tokens_of(sample), sample.text or ""
    if tokens is None:
        return "unknown"
    if tokens > max_tokens_in(text) + SPARE_TOKENS:
        return "too many"
    return "too few" if tokens < min_tokens_in(text) else "fits"


@dataclass(slots=True)
class TokenBills:
    """The different texts of one kind of request, and whether each fits its bill (experimental)."""

    texts: dict[str, bool] = field(default_factory=dict)

    def add(self, sample: RecordedSample) -> None:
        """Add a sample if its text looks as if it came back whole."""
        text, fit = sample.text or "", fit_of(sample)
        ended = sample.delivery == "truncated" or (sample.delivery == "complete" and is_whole(text))
        if ended and has_words(text) and fit != "unknown":
            self.texts[text] = fit == "fits"

    @property
    def fit_texts(self) -> bool | None:
        """Whether the bills fit the texts in general; None if there are too few texts."""
        if len(self.texts) < MIN_TEXTS:
            return None
        return sum(self.texts.values()) >= MOSTLY * len(self.texts)
