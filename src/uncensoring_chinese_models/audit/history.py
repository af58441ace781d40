"""How each hypothesis came to be what it is: when it was held, how firmly, and on what.

An id that comes to stand for another claim is told from one that is merely reworded. Turns are counted as the auditor's files are; a pure function of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rapidfuzz import fuzz

from uncensoring_chinese_models.audit.swaps import figures_of, replaces_ideograph, replaces_name
from uncensoring_chinese_models.audit.turns import AuditorTurn, EvidenceCheck, Hypothesis
from uncensoring_chinese_models.text import all_words, negations, normalise, rare_words

SAME_CLAIM = 60.0
"""Likeness of their words in percent from which two sentences may be the same claim."""
QUOTED_WORDS = 5
"""So many words or more in quotes are evidence, and no part of the claim."""
LONGEST_CLAIM = 4_000
"""Characters of a claim that are compared."""
_ASIDE = re.compile(r"\([^()]*+\)|\[[^\[\]]*+\]")
"""What stands in brackets is no part of the claim, save its figures."""
_TALLY = re.compile(
    r"\b(?:samples?|probes?|iterations?|turns?|repl(?:y|ies)|responses?|excerpts?|quotes?)\b"
    r"|\bin \d{1,3}\W*\Z|\A\W*\d+ ?(?:/|of) ?\d+|样本|回答|轮",
    re.IGNORECASE,
)
"""Such brackets count the evidence, anew in each turn."""
_QUOTE = re.compile('[“"][^“”"]*+[”"]')

Change = Literal["type", "negation", "facts", "words"]
Piece = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class Cited:
    """One excerpt as it was cited, and where it stands."""

    run: str
    side: str
    iteration: int
    excerpt: str
    arm: str | None
    sample: int | None
    start: int | None
    end: int | None
    survives: bool


@dataclass(frozen=True, slots=True)
class Point:
    """Where a hypothesis stood in one turn."""

    turn: int
    confidence: str
    status: str | None
    supporting: int
    """Supporting excerpts that survive."""
    contradicting: int
    """Contradicting excerpts that survive."""
    gained: tuple[Cited, ...]
    """Excerpts that were not cited in the turn before."""
    lost: tuple[Cited, ...]
    """Excerpts of the turn before that are cited no more."""


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """One turn in which an id began to stand for something else."""

    turn: int
    before: str
    after: str
    by: Change
    """What differs: its type, a negation, a name or figure, or the words as a whole."""
    likeness: float
    """How alike their words are, in percent."""
    silent: bool
    """True where the auditor did not give it another status."""


@dataclass(frozen=True, slots=True)
class HypothesisHistory:
    """One id over all turns."""

    id: str
    type: str
    hypothesis: str
    """The claim as it stood last."""
    first_seen: int
    last_seen: int
    dropped: bool
    """True when the last turn does not hold it."""
    left_out_of: tuple[int, ...]
    """Turns after the first that do not hold it."""
    points: tuple[Point, ...]
    """One for each turn in which something changed."""
    contradictions: tuple[Cited, ...]
    """Contradicting excerpts that survive, of all turns."""
    claim_changes: tuple[ClaimChange, ...]

    @property
    def changed_silently(self) -> bool:
        """True when the id stands for another claim, and the auditor did not say so."""
        return any(change.silent for change in self.claim_changes)


@dataclass(slots=True)
class _Track:
    """One id while the turns are read."""

    first: int
    latest: Hypothesis
    last: int = 0
    pieces: dict[Piece, Cited] = field(default_factory=dict)
    absent: list[int] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    contradictions: dict[Piece, Cited] = field(default_factory=dict)
    changes: list[ClaimChange] = field(default_factory=list)


def histories(turns: Sequence[AuditorTurn], run: str) -> tuple[HypothesisHistory, ...]:
    """Return the history of every hypothesis that was ever held, in the order of appearance."""
    tracks: dict[str, _Track] = {}
    for turn in turns:
        held = {each.id: each for each in turn.parsed.hypotheses}
        for name, track in tracks.items():
            if name not in held:
                track.absent.append(turn.iteration)
        for name, hypothesis in held.items():
            track = tracks.setdefault(name, _Track(turn.iteration, hypothesis))
            checks = (check for check in turn.evidence_check if check.hypothesis == name)
            _follow(track, turn.iteration, hypothesis, _pieces(checks, run))
    last = turns[-1].iteration if turns else 0
    return tuple(
        HypothesisHistory(
            name,
            track.latest.type,
            track.latest.hypothesis,
            track.first,
            track.last,
            track.last < last,
            tuple(track.absent),
            tuple(track.points),
            tuple(track.contradictions.values()),
            tuple(track.changes),
        )
        for name, track in tracks.items()
    )


def _follow(track: _Track, turn: int, now: Hypothesis, pieces: dict[Piece, Cited]) -> None:
    """Add one turn to the track of a hypothesis."""
    alive = [piece.side for piece in pieces.values() if piece.survives]
    point = Point(
        turn,
        now.confidence,
        now.status,
        supporting=alive.count("supporting"),
        contradicting=alive.count("contradicting"),
        gained=tuple(piece for key, piece in pieces.items() if key not in track.pieces),
        lost=tuple(piece for key, piece in track.pieces.items() if key not in pieces),
    )
    if not track.points or _stands_otherwise(track.points[-1], point):
        track.points.append(point)
    if change := claim_change(turn, track.latest, now):
        track.changes.append(change)
    against = {key: piece for key, piece in pieces.items() if piece.side == "contradicting"}
    track.contradictions |= {key: piece for key, piece in against.items() if piece.survives}
    track.latest, track.last, track.pieces = now, turn, pieces


def _stands_otherwise(before: Point, now: Point) -> bool:
    same = (before.confidence, before.status, before.supporting, before.contradicting) == (
        now.confidence,
        now.status,
        now.supporting,
        now.contradicting,
    )
    return not same or bool(now.gained or now.lost)


def _pieces(checks: Iterable[EvidenceCheck], run: str) -> dict[Piece, Cited]:
    """Return what is cited, by side, place and words; a verdict may change from turn to turn."""
    return {
        (check.side, check.iteration, check.excerpt): Cited(
            run,
            check.side,
            check.iteration,
            check.excerpt,
            check.arm,
            check.sample,
            check.start,
            check.end,
            check.survives,
        )
        for check in checks
    }


def claim_change(turn: int, before: Hypothesis, now: Hypothesis) -> ClaimChange | None:
    """Return how a claim differs from what its id stood for; None for a mere rewording.

    What is added is no change, and in a behaviour nor is a figure: rates are counted on.
    """
    one, other = _claim_of(before.hypothesis), _claim_of(now.hypothesis)
    words = " ".join(sorted(all_words(one, ""))), " ".join(sorted(all_words(other, "")))
    likeness = round(fuzz.token_set_ratio(*words), 1) if all(words) else 100.0 * (one == other)
    by: Change | None = None
    if before.type != now.type:
        by = "type"
    elif bool(_negations(one)) != bool(_negations(other)):
        by = "negation"
    elif now.type == "knowledge" and _swaps(before.hypothesis, now.hypothesis):
        by = "facts"
    elif likeness < SAME_CLAIM:
        by = "words"
    elif now.type == "knowledge" and replaces_ideograph(one, other):
        by = "facts"
    if by is None:
        return None
    silent = before.status == now.status
    return ClaimChange(turn, before.hypothesis, now.hypothesis, by, likeness, silent)


def _claim_of(text: str) -> str:
    text = text[:LONGEST_CLAIM]
    bare = _QUOTE.sub(_without_evidence, _ASIDE.sub(" ", text)).strip()
    return bare if all_words(bare, "") else text


def _without_evidence(quoted: re.Match[str]) -> str:
    return " " if len(quoted[0].split()) >= QUOTED_WORDS else quoted[0]


def _negations(text: str) -> bool:
    return bool(negations(normalise(text).text))


def _swaps(before: str, now: str) -> bool:
    """Tell whether a name, a figure or a rare word was taken out and another put in."""
    one, other = _claim_of(before), _claim_of(now)
    lost = set(rare_words(one, "")) - set(all_words(other, ""))
    if lost and set(rare_words(other, "")) - set(all_words(one, "")):
        return True
    counted, recounted = figures_of(_with_asides(before)), figures_of(_with_asides(now))
    return bool(counted - recounted and recounted - counted) or replaces_name(one, other)


def _with_asides(text: str) -> str:
    """Return a claim with its brackets, save those that count the evidence."""
    bare = _ASIDE.sub(
        lambda aside: " " if _TALLY.search(aside[0]) else aside[0], text[:LONGEST_CLAIM]
    )
    return _QUOTE.sub(_without_evidence, bare)
