"""The history of each hypothesis: when it was held, how confidently, and on which excerpts.

The first and the last wording are kept side by side. A change is flagged only where the type of a
hypothesis changes, or where a negation comes or goes. Turns are counted as the auditor's files are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from uncensoring_chinese_models.audit.turns import AuditorTurn, EvidenceCheck, Hypothesis
from uncensoring_chinese_models.text import all_words, negations, normalise

MIN_QUOTED_WORDS = 5
"""Quotations of at least this many words are evidence, not part of the claim."""
MAX_CLAIM_CHARACTERS = 4_000
"""Characters of a claim that are searched for negations."""
_BRACKETED = re.compile(r"\([^()]*+\)|\[[^\[\]]*+\]")
"""Text in brackets is not part of the claim; it often counts the evidence, anew in each turn."""
_QUOTED = re.compile('[“"][^“”"]*+[”"]')

Change = Literal["type", "negation"]
Piece = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class Cited:
    """One excerpt as it was cited, and where it was found."""

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
class HistoryPoint:
    """The state of a hypothesis in one turn."""

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
    """Excerpts of the turn before that are no longer cited."""


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """One turn in which the type of a hypothesis changed, or a negation came or went."""

    turn: int
    before: str
    after: str
    by: Change
    silent: bool
    """True if the auditor did not change its status too."""


@dataclass(frozen=True, slots=True)
class HypothesisHistory:
    """One id over all turns."""

    id: str
    type: str
    hypothesis: str
    """The last wording."""
    first_wording: str
    first_seen: int
    last_seen: int
    dropped: bool
    """True if the last turn does not hold it."""
    left_out_of: tuple[int, ...]
    """Turns after the first that do not hold it."""
    points: tuple[HistoryPoint, ...]
    """One for each turn in which something changed."""
    contradictions: tuple[Cited, ...]
    """Contradicting excerpts that survive, of all turns."""
    claim_changes: tuple[ClaimChange, ...]

    @property
    def changed_silently(self) -> bool:
        """True if a change was flagged that the auditor did not mark with a new status."""
        return any(change.silent for change in self.claim_changes)


@dataclass(slots=True)
class _Track:
    """One id while the turns are read."""

    first: int
    first_wording: str
    latest: Hypothesis
    last: int = 0
    pieces: dict[Piece, Cited] = field(default_factory=dict)
    absent: list[int] = field(default_factory=list)
    points: list[HistoryPoint] = field(default_factory=list)
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
            track = tracks.setdefault(
                name, _Track(turn.iteration, hypothesis.hypothesis, hypothesis)
            )
            checks = (check for check in turn.evidence_check if check.hypothesis == name)
            _follow(track, turn.iteration, hypothesis, _pieces(checks, run))
    last = turns[-1].iteration if turns else 0
    return tuple(
        HypothesisHistory(
            name,
            track.latest.type,
            track.latest.hypothesis,
            track.first_wording,
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
    point = HistoryPoint(
        turn,
        now.confidence,
        now.status,
        supporting=alive.count("supporting"),
        contradicting=alive.count("contradicting"),
        gained=tuple(piece for key, piece in pieces.items() if key not in track.pieces),
        lost=tuple(piece for key, piece in track.pieces.items() if key not in pieces),
    )
    if not track.points or _differs(track.points[-1], point):
        track.points.append(point)
    if change := claim_change(turn, track.latest, now):
        track.changes.append(change)
    against = {key: piece for key, piece in pieces.items() if piece.side == "contradicting"}
    track.contradictions |= {key: piece for key, piece in against.items() if piece.survives}
    track.latest, track.last, track.pieces = now, turn, pieces


def _differs(before: HistoryPoint, now: HistoryPoint) -> bool:
    same = (before.confidence, before.status, before.supporting, before.contradicting) == (
        now.confidence,
        now.status,
        now.supporting,
        now.contradicting,
    )
    return not same or bool(now.gained or now.lost)


def _pieces(checks: Iterable[EvidenceCheck], run: str) -> dict[Piece, Cited]:
    """Return the cited excerpts by side, iteration and words; a verdict may differ between turns."""
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
    """Return the change if the type changed, or a negation came or went; None for other rewordings."""
    by: Change | None = None
    if before.type != now.type:
        by = "type"
    elif _is_negated(before.hypothesis) != _is_negated(now.hypothesis):
        by = "negation"
    if by is None:
        return None
    silent = before.status == now.status
    return ClaimChange(turn, before.hypothesis, now.hypothesis, by, silent)


def _is_negated(claim: str) -> bool:
    return bool(negations(normalise(_without_evidence(claim)).text))


def _without_evidence(claim: str) -> str:
    """Return a claim without text in brackets and long quotations; all of it if no word is left."""
    text = claim[:MAX_CLAIM_CHARACTERS]
    bare = _QUOTED.sub(_short_quotation, _BRACKETED.sub(" ", text)).strip()
    return bare if all_words(bare, "") else text


def _short_quotation(quoted: re.Match[str]) -> str:
    return " " if len(quoted[0].split()) >= MIN_QUOTED_WORDS else quoted[0]
