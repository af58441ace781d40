"""Read every excerpt again at its recorded position, in the stored files alone.

No replay is needed: turns and summary give the offsets of each excerpt. The files may be a
stranger's, so nothing is assumed about their shape.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from uncensoring_chinese_models.text import normalise, read_quote
from uncensoring_chinese_models.verify.diff import parse_json

LITERAL = ("exact", "normalised", "other_iteration")
"""Verdicts that mean: these very words are there, except for typography."""
_RESPONSE = re.compile(r"audited_responses/([0-9]{1,9})\.json")
_TURN = re.compile(r"auditor_turns/[0-9]{1,9}\.json")


@dataclass(slots=True)
class ExcerptsRead:
    """The excerpts of a run, by the result of reading them again."""

    confirmed: int = 0
    """Excerpts whose words are at their recorded position."""
    placed: int = 0
    """Excerpts that only resemble the words there (`near`): their position exists."""
    unplaced: int = 0
    """Excerpts that are recorded as missing from the target's words."""
    wrong: list[tuple[str, str, str, str]] = field(default_factory=list)
    """File, path inside it, problem, and the file that is quoted (empty if there is none)."""
    unread: list[tuple[str, str, str]] = field(default_factory=list)
    """File, path inside it, and the file that is quoted and could not be read."""
    unread_files: list[str] = field(default_factory=list)
    """Files with excerpts that could not be read; how many excerpts they hold is not known."""

    @property
    def total(self) -> int:
        """How many excerpts there are in the files that could be read."""
        counted = self.confirmed + self.placed + self.unplaced
        return counted + len(self.wrong) + len(self.unread)


@dataclass(frozen=True, slots=True)
class _Quote:
    """An excerpt and its recorded position."""

    path: str
    excerpt: Any
    verdict: Any
    place: tuple[Any, Any, Any]
    start: Any
    end: Any
    in_spill: Any = None
    in_thoughts: Any = None


def read_excerpts(files: Mapping[str, bytes], gone: Collection[str] = ()) -> ExcerptsRead:
    """Read every excerpt of a run again.

    Args:
        files: the content of each file of the run.
        gone: files that the run should have, and that are missing or unreadable.
    """
    values = {name: _value(files[name]) for name in files if _is_read(name)}
    lost = {name for name in (*values, *gone) if values.get(name) is None}
    samples = _samples(values)
    found, listed = ExcerptsRead(), []
    for name in sorted({*values, *filter(_is_read, gone)}):
        if _RESPONSE.fullmatch(name):
            continue
        if name in lost:
            found.unread_files.append(name)
            continue
        quotes = _of_summary if name == "summary.json" else _of_turn
        listed += [(name, quote) for quote in quotes(values[name])]
    problems = _problems([quote for _, quote in listed], samples)
    for (name, quote), problem in zip(listed, problems, strict=True):
        _count(quote, name, problem, found, lost)
    return found


def _is_read(name: str) -> bool:
    """Tell whether it is a file with excerpts, or one that they quote."""
    return any((name == "summary.json", _TURN.fullmatch(name), _RESPONSE.fullmatch(name)))


def _value(content: bytes) -> Any:
    try:
        return parse_json(content)
    except ValueError:
        return None  # another check names the file


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _samples(values: Mapping[str, Any]) -> dict[tuple[Any, Any, Any], Any]:
    """Return the samples of a run by iteration, arm and index."""
    samples = {}
    for name, value in values.items():
        if match := _RESPONSE.fullmatch(name):
            for sample in _items(_get(value, "samples")):
                place = int(match[1]), _get(sample, "arm"), _get(sample, "index")
                samples[_hashable(place)] = sample
    return samples


def _hashable(place: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    iteration, arm, index = (part if isinstance(part, str | int) else None for part in place)
    return iteration, arm, index


def _of_turn(turn: Any) -> Iterator[_Quote]:
    for number, check in enumerate(_items(_get(turn, "evidence_check"))):
        place = tuple(_get(check, key) for key in ("found_iteration", "arm", "sample"))
        yield _Quote(
            f"evidence_check.{number}",
            _get(check, "excerpt"),
            _get(check, "verdict"),
            (place[0], place[1], place[2]),
            _get(check, "start"),
            _get(check, "end"),
            _get(check, "in_spill"),
            _get(check, "in_thoughts"),
        )


def _of_summary(summary: Any) -> Iterator[_Quote]:
    for number, claim in enumerate(_items(_get(summary, "claims"))):
        for kind in ("quotes", "quotes_against"):
            for index, quote in enumerate(_items(_get(claim, kind))):
                place = tuple(_get(quote, key) for key in ("iteration", "arm", "sample"))
                yield _Quote(
                    f"claims.{number}.{kind}.{index}",
                    _get(quote, "excerpt"),
                    "exact",
                    (place[0], place[1], place[2]),
                    _get(quote, "start"),
                    _get(quote, "end"),
                    _get(quote, "in_spill"),
                    _get(quote, "in_thoughts"),
                )


def _count(
    quote: _Quote, name: str, problem: str, found: ExcerptsRead, lost: Collection[str]
) -> None:
    """Count a quote by the result of reading it again."""
    if quote.start is None and quote.end is None and quote.verdict in ("missing", "prompt_echo"):
        found.unplaced += 1
        return
    source = f"audited_responses/{quote.place[0]:03d}.json" if _is_int(quote.place[0]) else ""
    if source in lost:
        found.unread.append((name, quote.path, source))
    elif problem:
        found.wrong.append((name, quote.path, problem, source))
    elif quote.verdict in LITERAL:
        found.confirmed += 1
    else:
        found.placed += 1


def _problems(quotes: list[_Quote], samples: Mapping[tuple[Any, Any, Any], Any]) -> list[str]:
    """Return what is wrong with each quote; those of one sample are read in a row.

    So a sample is normalised once, however many long ones are quoted in turn.
    """
    places = [_hashable(quote.place) for quote in quotes]
    found = [""] * len(quotes)
    for number in sorted(range(len(quotes)), key=lambda number: str(places[number])):
        found[number] = _problem(quotes[number], samples.get(places[number]))
    return found


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _problem(quote: _Quote, sample: Any) -> str:
    """Return what is wrong with the position of a quote; empty if nothing is."""
    text = _get(sample, "text")
    if not isinstance(text, str):
        return "names a sample that is not there, or that has no text"
    start, end = quote.start, quote.end
    if not (_is_int(start) and _is_int(end) and 0 <= start < end <= len(text)):
        return "has offsets outside the text of its sample"
    if wrong := _wrong_part(quote, sample, len(text)):
        return f"says wrongly whether the words are in the {wrong}"
    if not isinstance(quote.excerpt, str):
        return "has no excerpt"
    if quote.verdict in LITERAL and not is_quoted_at(quote.excerpt, text, start, end):
        return "is not at its recorded position"
    return ""


def _wrong_part(quote: _Quote, sample: Any, length: int) -> str:
    """Return the part of the text about which a quote is wrong; empty if there is none."""
    own_words, begin = _get(sample, "own_words"), _get(sample, "reply_start")
    own_end = len(own_words) if isinstance(own_words, str) else length
    if quote.in_spill not in (None, quote.end > own_end):
        return "spill"
    is_thought = _is_int(begin) and quote.start < begin
    return "thoughts" if quote.in_thoughts not in (None, is_thought) else ""


def is_quoted_at(excerpt: str, text: str, start: int, end: int) -> bool:
    """Tell whether these words, or the parts between their ellipses, are in this span.

    Typography may differ: ``“Three hundred”`` is in ``about three  hundred`` from 6 on.
    """
    words = text[start:end]
    if words == excerpt:
        return True
    whole = normalise(text)
    folded = whole.text[whole.index(start) : whole.index(end)]
    for reading in read_quote(excerpt):
        if reading.tier == "exact" and _in_order(reading.parts, words):
            return words.startswith(reading.parts[0]) and words.endswith(reading.parts[-1])
        if reading.tier == "normalised" and _in_order(reading.parts, folded):
            return True
    return False


def _in_order(parts: tuple[str, ...], text: str) -> bool:
    at = 0
    for part in parts:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True
