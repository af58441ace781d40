"""Chinese characters: detect the language of a text, and fold traditional characters into simplified.

The table is made from OpenCC's by tools/chinese_table.py. Many characters are the same in both
scripts; only those that one script alone uses decide the language.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from uncensoring_chinese_models.domain import Language
from uncensoring_chinese_models.text.normalisation import IDEOGRAPH

Detected = Literal["en", "zh-Hans", "zh-Hant", "zh", "other"]

_HAN = re.compile(f"[{IDEOGRAPH}]")
_LATIN = re.compile(r"[a-zA-Z]")
_LETTER = re.compile(r"[^\W\d_]")
WORD_LETTERS = 2
"""Latin letters that weigh as much as one ideograph."""
_CANTONESE = dict(zip("冇唔嘅嗰喺佢哋咗係睇啲咁嚟俾", "没不的那在他们了是看些这来给", strict=True))


class _Table(NamedTuple):
    """The characters that one script alone uses, and how to fold traditional into simplified."""

    traditional: frozenset[str]
    simplified: frozenset[str]
    fold: dict[int, str]


@cache
def character_table() -> _Table:
    """Read the table when it is first used: importing a module opens no file."""
    data = files("uncensoring_chinese_models.text").joinpath("chinese_characters.tsv")
    rows = [line.split("\t") for line in data.read_text("utf-8").splitlines()]
    return _Table(
        frozenset(traditional for traditional, _, marks in rows if "t" in marks),
        frozenset(simplified for _, simplified, marks in rows if "s" in marks),
        str.maketrans(
            {traditional: simplified for traditional, simplified, _ in rows} | _CANTONESE
        ),
    )


def fold_script(text: str) -> str:
    """Return a text with traditional characters, and some of written Cantonese, as simplified ones.

    One character for one, so that offsets stay the same. The result is searched, never shown.
    """
    return text.translate(character_table().fold)


def foreign_characters(language: Language) -> frozenset[str]:
    """Return the characters that a text in a language does not hold."""
    table = character_table()
    return {"en": frozenset(), "zh-Hans": table.traditional, "zh-Hant": table.simplified}[language]


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
    table = character_table()
    simplified = sum(char in table.simplified for char in text)
    traditional = sum(char in table.traditional for char in text)
    if simplified == traditional:
        return "zh"
    return "zh-Hans" if simplified > traditional else "zh-Hant"
