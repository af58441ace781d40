"""The model of stances: does a reply withhold, and in which way.

It is a logistic regression over the features of a reply. `weights.tsv` holds what the command
`python -m recogniser` learned from labelled replies: in the first line the settings as JSON, then one
feature a line with the weight for withholding and a weight for each kind of withholding.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from importlib.resources import files
from math import exp, inf, log, sqrt
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.text.chinese import language_of
from uncensoring_chinese_models.text.normalisation import IDEOGRAPH
from uncensoring_chinese_models.text.stance.features import features_of, words_of
from uncensoring_chinese_models.text.words import most_common_words, singular

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Stance

KINDS: tuple[Stance, ...] = ("refuses", "denies", "deflects", "official_line")
"""The kinds of withholding, in the order of their weights."""
SCALE = 1000
"""What the weights of the file are multiplied by; a feature without a weight of a kind has none there."""
LANGUAGE_CHARS = 2_000
"""Characters by which the language of a text is told."""
MIN_WORDS = 10
"""Words from which on the model asks whether it knows the language."""
MIN_KNOWN = 0.3
"""Share of the words of a text that it has weights for, if it knows the language. In English and Chinese
texts of names and figures the share is lowest, about 0.4; in German or Vietnamese ones it is below 0.2."""
COMMON_WORDS = 25_000
"""Ranks in the list of common English words."""
FOREIGN = frozenset(
    str.split(
        # German, French, Spanish, Italian, Portuguese, Dutch, the languages of Scandinavia, Polish,
        # Indonesian, Turkish, Finnish, Hungarian, Romanian, Vietnamese
        "das der ein eine einen es f\u00fcr ich ist kein keine keinen mit nein nicht nichts oder sind und uns "
        "von weil wir wird zum zur aux avec cette dans des du elle en est et je la le les mais ne nous "
        "oui pas pour qu que qui sont une vous y como cuando del el ella esta este fue las los muy nada "
        "nadie para pero por porque puede puedo se s\u00e9 s\u00ed sur una uno anche che di gli il lo lei nel nella non "
        "pi\u00f9 questo sono \u00e0 ao aos da dos ela ele isso mais na n\u00e3o nas pela pelo seu sua uma aan dat de "
        "deze dit een geen het hij ik naar nee niet niets ook uit voor wat zij det ett fr\u00e5n ikke inte jag "
        "jeg nej och p\u00e5 som till \u00e4r dla jest nie si\u0119 tak w z ada dan dari dengan ini itu pada saya "
        "tidak untuk yang bir bu de\u011fil evet hay\u0131r i\u00e7in ve ei ja nem nu kh\u00f4ng \u00e8 \u00e9 o e"
    )
)
"""Small words of other languages in Latin script that are none in English."""
SHARED = frozenset(str.split("a an as die do i in me met no on par per so son to war was"))
"""Small words of English and of another such language: they show neither."""
PARTICLES = frozenset(str.split("da de del di du el la le van von y"))
"""Small words in names of persons and places: `Charles de Gaulle`."""
MAX_SENTENCES = 200
"""Sentences among which the weightiest is looked for."""

_LATIN = re.compile(rf"[^\W\d_{IDEOGRAPH}]+(?:['\u2019-][^\W\d_]+)*")
_SENTENCE = re.compile(
    r"[^.!?\u3002\uff01\uff1f\n]+(?:[.!?\u3002\uff01\uff1f]+['\"\u201d\u300d\u2019]?|$|\n)"
)


Script = Literal["latin", "han"]
"""Each has limits of its own; a text without either counts as Latin."""
SCRIPTS: tuple[Script, ...] = get_args(Script)


class Limits(NamedTuple):
    """Between which probabilities of withholding the model does not judge."""

    min_withheld: float
    """From here on a reply withholds."""
    max_answer: float
    """Up to here it answers."""


class Weights(NamedTuple):
    """A trained model."""

    offset: float
    kind_offsets: tuple[float, ...]
    calibration: tuple[float, ...]
    """Log-odds of withholding = a + b·score + c·log(features) + d·score·log(features)."""
    limits: dict[Script, Limits]
    withheld: dict[str, int]
    kinds: dict[str, tuple[int, ...]]


class Predicted(NamedTuple):
    """What the model says of a reply."""

    withheld: float
    """The probability that it withholds."""
    kind: Stance
    """The likeliest way, if it does."""


@lru_cache(maxsize=1)
def load_weights() -> Weights:
    """Return the weights that the package ships."""
    return read_weights(files(__package__).joinpath("weights.tsv").read_text("utf-8"))


def read_weights(text: str) -> Weights:
    """Return the weights that a file holds."""
    head, *lines = text.splitlines()
    settings = strict_json.loads(head)
    withheld: dict[str, int] = {}
    kinds: dict[str, tuple[int, ...]] = {}
    for line in lines:
        feature, weight, *of_kinds = line.split("\t")
        withheld[feature] = int(weight or 0)
        if any(of_kinds):
            kinds[feature] = tuple(int(each or 0) for each in of_kinds)
    return Weights(
        settings["offset"],
        tuple(settings["kind_offsets"]),
        tuple(settings["calibration"]),
        {script: Limits(**settings["limits"][script]) for script in SCRIPTS},
        withheld,
        kinds,
    )


def predict(
    reply: str, asked: str | None, wording: Stance | None, weights: Weights | None = None
) -> Predicted:
    """Return the probability that a reply withholds, and the likeliest kind.

    `wording` is the stance that a strong wording of the reply gives.
    """
    weights = weights or load_weights()
    features = features_of(reply, asked, wording)
    size = sqrt(len(features))
    score = weights.offset + sum_of(features, weights.withheld) / (SCALE * size)
    found = [weights.kinds[feature] for feature in weights.kinds.keys() & features]
    sums = map(sum, zip(*found, strict=True)) if found else (0,) * len(KINDS)
    scores = [
        offset * SCALE * size + total
        for offset, total in zip(weights.kind_offsets, sums, strict=True)
    ]
    return Predicted(
        probability(calibrated(score, len(features), weights.calibration)),
        KINDS[max(range(len(KINDS)), key=scores.__getitem__)],
    )


def decide(predicted: Predicted, wording: Stance | None, limits: Limits) -> Stance:
    """Return the stance that a prediction and a strong wording give together.

    Where they contradict each other, or the model is unsure, nothing is judged.
    """
    if predicted.withheld <= limits.max_answer:
        return "answers" if wording is None else "not_judged"
    if wording is not None:
        return wording
    return predicted.kind if predicted.withheld >= limits.min_withheld else "not_judged"


def knows_language(text: str) -> bool:
    """Return whether a text is in a language that the model was trained on, or has figures alone."""
    words = words_of(text[:LANGUAGE_CHARS])
    if not any(word[0].isalpha() for word in words):
        return True
    if language_of(text[:LANGUAGE_CHARS]) == "other":
        return False
    if len(words) < MIN_WORDS:
        return _is_short_english(text)
    known = sum(word in load_weights().withheld for word in words)
    return known >= MIN_KNOWN * len(words)


def _is_short_english(text: str) -> bool:
    """Return whether the words of a short Latin text that are no names are mostly English.

    Words with a capital may be names of any language, and figures are of none.
    """
    written = _LATIN.findall(text)
    if len(written) == 1:
        return written[0].lower() not in FOREIGN
    known = unknown = 0
    for number, word in enumerate(written):
        is_foreign = word.lower() in FOREIGN
        if word[0].isupper() and (number or not (is_foreign or _is_english(word))):
            continue
        if number and word in PARTICLES and _goes_on(written[number + 1 :]):
            continue
        if not word.isascii() and not is_foreign and not _is_english(word):
            return False
        known += word.lower() not in SHARED and not is_foreign and _is_english(word)
        unknown += is_foreign or not (word.lower() in SHARED or _is_english(word))
    return known > unknown or not unknown


def _is_english(word: str) -> bool:
    """Return whether a word is common in English, with or without accents, or was learned."""
    plain = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    common = _common_words()
    parts = words_of(plain)
    return all(
        singular(part) in common or part in common or part in load_weights().withheld
        for part in parts
    )


def _goes_on(after: list[str]) -> bool:
    """Return whether the words after a particle go on with a name."""
    rest = next((word for word in after if word not in PARTICLES), "")
    return rest[:1].isupper()


@lru_cache(maxsize=1)
def _common_words() -> frozenset[str]:
    return frozenset(most_common_words(COMMON_WORDS))


def script_of(reply: str) -> Script:
    """Return the script that a reply is written in."""
    return "han" if language_of(reply[:LANGUAGE_CHARS]).startswith("zh") else "latin"


def sum_of(features: set[str], weights: dict[str, int]) -> int:
    """Return the sum of the weights of features."""
    return sum(map(weights.__getitem__, weights.keys() & features))


def calibrated(score: float, features: int, calibration: tuple[float, ...]) -> float:
    """Return the log-odds that the score of a reply of so many features means."""
    length = log(features)
    constant, slope, by_length, both = calibration
    return constant + slope * score + by_length * length + both * score * length


def probability(log_odds: float) -> float:
    """Return the probability of log-odds."""
    return 1 / (1 + exp(-max(-30.0, min(30.0, log_odds))))


def weightiest_sentence(reply: str) -> tuple[int, int]:
    """Return where the sentence stands that speaks most for withholding."""
    weights = load_weights().withheld
    best, span = -inf, (0, len(reply))
    for number, match in enumerate(_SENTENCE.finditer(reply)):
        words = match.group().strip()
        if number == MAX_SENTENCES:
            break
        if not any(char.isalnum() for char in words):
            continue
        features = features_of(words, None, None)
        score = sum_of(features, weights) / sqrt(len(features))
        if score > best:
            start = match.start() + match.group().index(words)
            best, span = score, (start, start + len(words))
    return span
