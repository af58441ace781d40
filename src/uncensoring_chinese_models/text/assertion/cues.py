"""Cues: words that take the force from a statement, or give it back, and how they are found.

A rule has heads, the words by which it is looked up, and a tail, a pattern that must follow the head.
So a sentence is read once, and patterns are tried only where a head stands. The first rule that fits
takes its words: what is found as "not only" is not looked at again as "not".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, cast

CueKind = Literal[
    "nothing",
    "negated",
    "untrue",
    "so_called",
    "retracted",
    "refuted",
    "weak",
    "no_evidence",
    "said",
    "denied",
    "party",
    "question",
    "condition",
    "wish",
    "ignorance",
    "refusal",
    "request",
    "fiction",
    "true",
]
"""What a cue does; `nothing` only keeps its words from other rules."""
Scope = Literal["phrase", "verb", "exists", "clause", "complement", "open"]
"""How far it reaches: a few words, to the end of the clause, over commas, or to the end of the sentence."""


class Rule(NamedTuple):
    """Words that are a cue."""

    kind: CueKind
    scope: Scope
    tail: re.Pattern[str]
    """What must follow the head."""
    behind: re.Pattern[str] | None
    """What must stand before the head."""


class Cue(NamedTuple):
    """A cue in a sentence."""

    kind: CueKind
    scope: Scope
    start: int
    end: int


Lexicon = dict[str, list[tuple[str, Rule]]]
"""Rules by what begins them: a word, or a Chinese character; each with its head."""

LOOK_BEHIND = 70
"""Characters before a head that are looked at."""
_ENGLISH_WORD = re.compile(r"[a-z]+(?:[-'][a-z]+)*")
_FAMILY = re.compile(r"<([A-Z_]+)>")


def english(rows: str, families: Mapping[str, str]) -> Lexicon:
    """Return the rules by the word that begins them."""
    return _lexicon(rows, families, whole=True)


def chinese(rows: str, families: Mapping[str, str]) -> Lexicon:
    """Return the rules by the character that begins them."""
    return _lexicon(rows, families, whole=False)


def _lexicon(rows: str, families: Mapping[str, str], *, whole: bool) -> Lexicon:
    """Read rules, one a line: `kind scope ~ heads ~ tail ~ what stands before`; the last may be missing.

    `<NAME>` in a pattern is a family of words; the tail `-` is none; `deny*` is a verb in its forms.
    """
    lexicon: Lexicon = {}
    for row in rows.splitlines():
        if not row or row.startswith("#"):
            continue
        kind_and_scope, heads, tail, *behind = row.split(" ~ ")
        kind, scope = kind_and_scope.split(" ")
        rule = Rule(
            cast("CueKind", kind),
            cast("Scope", scope),
            re.compile("" if tail == "-" else _filled(tail, families)),
            re.compile(f"(?:{_filled(behind[0], families)})$") if behind else None,
        )
        for head in sorted(_spelt(heads.split()), key=len, reverse=True):
            lexicon.setdefault(head if whole else head[0], []).append((head, rule))
    return lexicon


def _spelt(heads: Iterable[str]) -> Iterator[str]:
    """Yield the heads, and for `deny*` the forms of the verb: deny, denies, denied, denying."""
    for head in heads:
        verb = head.removesuffix("*")
        yield verb
        if verb != head:
            stem = verb.removesuffix("e")
            past = f"{verb[:-1]}ied" if verb.endswith("y") else f"{stem}ed"
            third = f"{verb[:-1]}ies" if verb.endswith("y") else f"{verb}s"
            yield from (past, third, f"{stem}ing", f"{verb}es")


def _filled(pattern: str, families: Mapping[str, str]) -> str:
    return _FAMILY.sub(lambda name: families[name.group(1)], pattern)


def find_english(text: str, lexicon: Lexicon, start: int, stop: int) -> list[Cue]:
    """Return the cues of a sentence whose heads stand from `start` to `stop`."""
    found: list[Cue] = []
    done = start
    for word in _ENGLISH_WORD.finditer(text, start, stop):
        if word.start() < done:
            continue
        head = word.group().removesuffix("'s")
        rules = lexicon.get(head, ())
        if head.endswith("n't") or head == "cannot":
            rules = [*rules, *lexicon["not"]]
        for _, rule in rules:
            cue = _cue(text, rule, word.start(), word.end())
            if cue:
                found.append(cue)
                done = cue.end
                break
    return found


def find_chinese(text: str, lexicon: Lexicon, start: int, stop: int) -> list[Cue]:
    """Return the cues of a sentence whose heads stand from `start` to `stop`."""
    found: list[Cue] = []
    at = start
    while at < stop:
        for head, rule in lexicon.get(text[at], ()):
            if text.startswith(head, at):
                cue = _cue(text, rule, at, at + len(head))
                if cue:
                    found.append(cue)
                    at = cue.end - 1
                    break
        at += 1
    return found


def _cue(text: str, rule: Rule, start: int, end: int) -> Cue | None:
    tail = rule.tail.match(text, end)
    if tail is None:
        return None
    if rule.behind and not rule.behind.search(text[max(0, start - LOOK_BEHIND) : start]):
        return None
    return Cue(rule.kind, rule.scope, start, max(tail.end(), end))
