"""Chinese characters: detect the language of a text, and fold traditional characters into simplified.

The table is made from OpenCC's by tools/chinese_table.py. Many characters are the same in both
scripts; only those that one script alone uses decide the language.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Literal

from uncensoring_chinese_models.domain import Language
from uncensoring_chinese_models.text.normalisation import IDEOGRAPH

_DATA = files("uncensoring_chinese_models.text").joinpath("chinese_characters.tsv")
_ROWS = [line.split("\t") for line in _DATA.read_text("utf-8").splitlines()]
TRADITIONAL = frozenset(traditional for traditional, _, marks in _ROWS if "t" in marks)
SIMPLIFIED = frozenset(simplified for _, simplified, marks in _ROWS if "s" in marks)
FOREIGN: dict[Language, frozenset[str]] = {
    "en": frozenset(),
    "zh-Hans": TRADITIONAL,
    "zh-Hant": SIMPLIFIED,
}
"""Characters that a text in a language does not hold."""
_CANTONESE = dict(zip("冇唔嘅嗰喺佢哋咗係睇啲咁嚟俾", "没不的那在他们了是看些这来给", strict=True))
FOLD = str.maketrans({traditional: simplified for traditional, simplified, _ in _ROWS} | _CANTONESE)
"""For `str.translate`: traditional characters, and some of written Cantonese, as simplified ones.

One character for one, so that offsets stay the same. The result is searched, never shown.
"""
Detected = Literal["en", "zh-Hans", "zh-Hant", "zh", "other"]

_HAN = re.compile(f"[{IDEOGRAPH}]")
_LATIN = re.compile(r"[a-zA-Z]")
_LETTER = re.compile(r"[^\W\d_]")
WORD_LETTERS = 2
"""Latin letters that weigh as much as one ideograph."""


def language_of(text: str) -> Detected:
    """Return the language of most of a text; `zh` is Chinese that could be in either script.

    Any language in Latin letters counts as English: probes are in English or Chinese.
    """
    han, latin = len(_HAN.findall(text)), len(_LATIN.findall(text))
    others = len(_LETTER.findall(text)) - han - latin
    if others > han + latin or han + latin == 0:
        return "other"
    if latin > WORD_LETTERS * han:
        return "en"
    simplified = sum(char in SIMPLIFIED for char in text)
    traditional = sum(char in TRADITIONAL for char in text)
    if simplified == traditional:
        return "zh"
    return "zh-Hans" if simplified > traditional else "zh-Hant"
