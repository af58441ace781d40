"""What a pattern of a facts file may hold: the parts of a regular expression with one meaning.

Python and the engine with a time limit read these parts alike. Everything else, such as named groups,
flags, references to groups and sets of sets, is refused. So is what is too large to compile: an
engine writes ``(?:a{1000}){1000}`` out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from uncensoring_chinese_models.text import escape, preview

MAX_CHARACTERS = 500
"""Max characters of a pattern; the longest of the package has 496."""
MAX_SIZE = 2000
"""Max parts of a pattern with its bounded repeats written out."""
MAX_GROUPS = 20
"""How many groups may lie inside each other."""
_PART = re.compile(
    r"(?P<group>\((?:\?(?:[:=!>]|<[=!])|(?!\?)))"
    r"|(?P<repeat>(?:[*+?]|\{\d{1,9}(?:,\d{0,9})?\}|\{,\d{1,9}\})[?+]?)"
    r"|(?P<end>\))"
    r"|(?P<either>\|)"
    r"|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<character>\\(?:[dDwWsSbBAZnt]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[^0-9A-Za-z])|[^\\(\[{])",
    re.DOTALL,
)
_OTHER = re.compile(r"\(\?P?.?|\\.|\{[^{}]{0,20}\}|.", re.DOTALL)
_OTHER_IN_SET = re.compile(r"\[|--|&&|\|\||~~|\\(?![dDwWsSntux]|[^0-9A-Za-z]).", re.DOTALL)
_IN_WORDS = {"[": "lacks a ]", "\\": "ends in a \\"}
_NUMBER = re.compile(r"\d+")


def shown(pattern: str) -> str:
    """Return a pattern as a message quotes it."""
    return f"'{preview(escape(pattern), 80)}'"


def refuse_unusable(pattern: str) -> None:
    """Refuse a pattern that holds anything else, or that is too large.

    Raises:
        ValueError: it does; the sentence says what.
    """
    problem = _problem(pattern)
    if problem:
        raise ValueError(
            f"{shown(pattern)} is not a regular expression that can be used: {problem}"
        )


def _problem(pattern: str) -> str:
    if len(pattern) > MAX_CHARACTERS:
        return f"it is longer than {MAX_CHARACTERS} characters"
    around: list[int] = []
    size = last = 0
    before = ""
    for kind, part in _parts(pattern):
        problem = _misplaced(kind, part, before, len(around))
        if problem:
            return problem
        if kind == "group":
            around.append(size)
            size = 0
        elif kind == "end":
            last = max(size, 1)
            size = around.pop() + last
        else:
            times = max([1, *map(int, _NUMBER.findall(part))]) if kind == "repeat" else 1
            last = last * times if kind == "repeat" else 1
            size += last
        if size > MAX_SIZE:
            return "it repeats too much"
        before = kind
    return "it lacks a )" if around else ""


def is_anchored(pattern: str) -> bool:
    """Return whether a pattern says where a text begins."""
    return any(kind == "character" and part == "^" for kind, part in _parts(pattern))


def _misplaced(kind: str, part: str, before: str, depth: int) -> str:
    """Return why a part may not stand here; empty if it may."""
    if kind == "":
        return f"it {_IN_WORDS.get(part, f'holds {escape(part)}')}"
    if kind == "repeat" and before == "repeat":
        return "it repeats a repeat"
    if kind == "end" and not depth:
        return "it has a stray )"
    if kind == "group" and depth >= MAX_GROUPS:
        return "it has too many groups inside each other"
    other = _OTHER_IN_SET.search(part, 1) if kind == "set" else None
    return f"it holds {escape(other.group())} in a set" if other else ""


def _parts(pattern: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a pattern with their kinds; one that is not allowed has no kind."""
    at = 0
    while at < len(pattern):
        part = _PART.match(pattern, at)
        if part is None:
            other = _OTHER.match(pattern, at)
            yield "", other.group() if other else ""
            return
        yield str(part.lastgroup), part.group()
        at = part.end()
