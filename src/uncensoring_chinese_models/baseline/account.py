"""What independent samples agree on: findings, with voices for them and rivals against them.

The rule. A thing is *found* when samples of different probes name it and none of those probes did.
Its confidence follows from counts alone: the samples that name it, the probes they answered, and
the samples that put something else in the same place (`confidence`). Things that stand in the same
sentences belong together and make one finding.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from uncensoring_chinese_models.baseline.mentions import (
    Mention,
    content_stems,
    find_mentions,
    stem,
    stems,
)
from uncensoring_chinese_models.baseline.transcript import Heard
from uncensoring_chinese_models.recogniser import CENSORED

Confidence = Literal["low", "medium", "high"]

SAME_SENTENCES = 0.6
"""Share of the rarer thing's sentences that must name the other for the two to belong together."""
LEAST_SAMPLES, COMPLETED = 4, 0.75
"""Samples, and the share of a follow-up's that makes up for fewer than so many without one."""
LEAST_OPENINGS, LEAST_OPENINGS_WORD = 3, 4
"""Probes that did not break off a sentence of the target's: for names, and for mere words."""
WORTH_ASKING, HOPEFUL = 2, 0.8
"""So many of these make a thing worth a follow-up, and such a share of its samples a second one."""
ALWAYS, LEAST_COMPLETED = 0.9, 12
"""Share and number of two follow-ups' samples that confirm a thing of few openings."""
FIRM, LIKELY = (5, 4), (3, 3)
FIRM_WORD, LIKELY_WORD = (8, 6), (5, 4)
"""Samples and probes of any kind that high and medium confidence need; words more than names."""
COMMON_SHARE = 0.12
"""Share of all samples that must name a thing that is named by chance, too."""
_SENTENCE = re.compile(
    r"[^.!?。！？\n]*(?:[.!?](?=\d|[a-z])[^.!?。！？\n]*)*[.!?。！？]*[\"”\u2019']?"
)
_END_OF_NAME = re.compile(r"(?<=[^.!?])(?: [A-Z][\w'\u2019-]*)+ ?\Z")
"""The beginning of a name; who is given half of it only has to complete it."""
_TITLES = re.compile(
    r"(?:\s|^)(?:the|a|an|mr|mrs|ms|dr|general|colonel|captain|major|professor|minister|president|"
    r"chairman|secretary|director|reporter|journalist|engineer|doctor|judge|inspector)$",
    re.IGNORECASE,
)

_PLACING = frozenset(str.split("by was were is are named called to at on from"))
"""Words after which two different things cannot both be right, as a rule."""


class Voice(NamedTuple):
    """One sample that names a thing, and the sentence in which it does."""

    heard: Heard
    start: int
    end: int
    mention: Mention

    @property
    def sentence(self) -> str:
        """The sentence as written."""
        return self.heard.text[self.start : self.end]

    @property
    def lead(self) -> str:
        """The sentence up to the thing; the beginning of a name belongs to the thing."""
        return _END_OF_NAME.sub("", self.heard.text[self.start : self.mention.start]).strip()

    @property
    def before(self) -> str:
        """What stands before the thing, our opening included if it continues that."""
        own = self.heard.text[: self.mention.start]
        return own if self.heard.is_asked else f"{self.heard.sent} {own}"


def voices_of(heard: Iterable[Heard], topic: str) -> list[Voice]:
    """Return every mention in the samples that tell something, in the order of the run."""
    topical = stems(topic)
    return [
        Voice(sample, start, end, mention)
        for sample in heard
        if sample.manner.manner == "answer"
        for ours in [topical | stems(sample.sent)]
        for mention in find_mentions(sample.text, ours)
        for start, end in [sentence_around(sample.text, mention.start)]
    ]


def sentence_around(text: str, at: int) -> tuple[int, int]:
    """Return where the sentence stands that holds this character."""
    for match in _SENTENCE.finditer(text):
        if match.start() <= at < match.end():
            start = match.end() - len(match[0].lstrip())
            return start, start + len(match[0].strip())
    return at, len(text)


@dataclass(frozen=True)
class Finding:
    """A thing that the target named, or several that belong together."""

    id: str
    keys: tuple[str, ...]
    """What it is about, the best supported first."""
    voices: tuple[Voice, ...]
    rivals: tuple[Voice, ...]
    """Samples that put something else in the same place."""
    is_specific: bool
    is_named: bool
    """True where a name, a date or a long figure is among its things, and not only a rare word."""
    total: int
    """Samples that tell something, over the whole run."""
    completions: tuple[tuple[int, int], ...] = ()
    """Of each follow-up, the samples that completed the sentence with it, and all; the greatest
    share comes first."""

    @cached_property
    def core(self) -> frozenset[str]:
        """The names, dates and long figures among its things; all of them where there are none."""
        telling = {voice.mention.key for voice in self.voices if voice.mention.is_telling}
        return frozenset(telling or (voice.mention.key for voice in self.voices))

    @cached_property
    def samples(self) -> int:
        """How many samples name it."""
        return len({voice.heard.place for voice in self.voices})

    @cached_property
    def probes(self) -> int:
        """How many different probes they answered."""
        return len({voice.heard.sent for voice in self.voices})

    @cached_property
    def unprompted(self) -> int:
        """How many samples name it that did not complete a sentence of the target's own."""
        return len({voice.heard.place for voice in self.voices if not voice.heard.is_follow_up})

    @cached_property
    def openings(self) -> int:
        """How many of those probes were ours alone, and no sentence of the target's broken off."""
        return len({voice.heard.sent for voice in self.voices if not voice.heard.is_follow_up})

    @cached_property
    def against(self) -> int:
        """How many samples put something else in the same place."""
        return len({voice.heard.place for voice in self.rivals})

    @property
    def confidence(self) -> Confidence:
        """High from five samples of four probes, medium from four of three; rivals count against.

        Three of the probes must be openings, which broke off no sentence of the target's. If fewer
        than four samples answered these, a sentence broken off must mostly be completed with it. A
        mere word or short figure needs eight samples of six probes for high, five of four for
        medium, and four openings. Two openings suffice for medium where two different sentences,
        broken off, are nearly always completed with it: what was made up is completed in the same
        way often, but not so often. What texts name by chance needs five samples of four probes and
        a share of all samples, and is never better than medium.
        """
        if not self.is_specific:
            is_frequent = self.samples >= max(5, COMMON_SHARE * self.total)
            return "medium" if is_frequent and self.probes >= 4 and not self.rivals else "low"
        openings = LEAST_OPENINGS if self.is_named else LEAST_OPENINGS_WORD
        is_thin = self.unprompted < LEAST_SAMPLES and self.completion < COMPLETED
        recurs = self.openings >= openings and self.samples >= LEAST_SAMPLES and not is_thin
        firm, likely = (FIRM, LIKELY) if self.is_named else (FIRM_WORD, LIKELY_WORD)
        if recurs and self._reaches(firm) and self.against * 4 <= self.samples:
            return "high"
        is_likely = (recurs and self._reaches(likely)) or self._is_completed
        return "medium" if is_likely and self.against * 2 < self.samples else "low"

    @property
    def completion(self) -> float:
        """The greatest share of a follow-up's samples that completed the sentence with it."""
        return self.completions[0][0] / self.completions[0][1] if self.completions else 0.0

    @property
    def _is_completed(self) -> bool:
        """True when openings brought it out, and two sentences are nearly always completed with it."""
        best = self.completions[:2]
        named, asked = (sum(counts) for counts in zip(*best, strict=True)) if best else (0, 0)
        is_steady = len(best) == 2 and named >= max(LEAST_COMPLETED, ALWAYS * asked)
        return is_steady and self.openings >= WORTH_ASKING

    def _reaches(self, least: tuple[int, int]) -> bool:
        return self.samples >= least[0] and self.probes >= least[1]

    @property
    def is_confirmed(self) -> bool:
        """True when independent samples agree."""
        return self.confidence != "low"

    def is_worth_asking(self, asked: int) -> bool:
        """Tell whether a follow-up can confirm it, after so many of them."""
        if self.is_confirmed or self.openings < WORTH_ASKING:
            return False
        return asked == 0 or (asked == 1 and self.completion >= HOPEFUL)

    @property
    def is_contested(self) -> bool:
        """True when it would be confirmed but for what speaks against it."""
        return not self.is_confirmed and self.samples >= 3 and self.against > 0


class Account:
    """Everything that a set of samples names, counted."""

    def __init__(self, heard: Sequence[Heard], topic: str) -> None:
        self.telling = [
            sample for sample in heard if sample.manner.manner not in (*CENSORED, "empty")
        ]
        self._voices = voices_of(self.telling, topic)
        self._by_key: dict[str, list[Voice]] = defaultdict(list)
        for voice in self._voices:
            self._by_key[voice.mention.key].append(voice)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What was named more than once, in the order in which it was first heard."""
        groups = [group for group in self._groups() if self._count(group) > 1]
        return tuple(map(self._finding, groups))

    @cached_property
    def heard_once(self) -> tuple[Voice, ...]:
        """Specific things that a single sample named, the newest first."""
        alone = [voices[0] for voices in self._by_key.values() if len(voices) == 1]
        return tuple(voice for voice in reversed(alone) if voice.mention.is_specific)

    def mentions_any(self, sample: Heard, keys: frozenset[str]) -> bool:
        """Tell whether a sample names one of the things."""
        return any(v.heard is sample and v.mention.key in keys for v in self._voices)

    def share(self, keys: frozenset[str]) -> tuple[int, int]:
        """Return how many samples name one of the things, and how many tell something at all.

        Sentences of its own that it was made to complete do not count: they were chosen.
        """
        naming = {id(v.heard) for key in keys for v in self._by_key.get(key, ())}
        free = [sample for sample in self.telling if sample.is_asked or not sample.is_follow_up]
        return sum(id(sample) in naming for sample in free), len(free)

    def _count(self, keys: Sequence[str]) -> int:
        return len({v.heard for key in keys for v in self._by_key[key]})

    def _groups(self) -> list[list[str]]:
        """Return the things that belong together, each group in the order of support."""
        recurring = [key for key, voices in self._by_key.items() if len(voices) > 1]
        places = {key: {voice[:3] for voice in self._by_key[key]} for key in recurring}
        groups: list[list[str]] = []
        for key in recurring:
            fitting = [g for g in groups if any(_together(places[key], places[o]) for o in g)]
            if fitting:  # one at most, so that no chance word ties two things together
                max(fitting, key=lambda g: max(len(places[key] & places[o]) for o in g)).append(key)
            else:
                groups.append([key])
        first = {key: number for number, key in enumerate(self._by_key)}
        groups.sort(key=lambda group: min(first[key] for key in group))
        return [sorted(group, key=self._support, reverse=True) for group in groups]

    def _support(self, key: str) -> tuple[bool, bool, int]:
        mentions = [voice.mention for voice in self._by_key[key]]
        is_telling = any(mention.is_telling for mention in mentions)
        return is_telling, mentions[0].is_specific, self._count([key])

    def _finding(self, keys: list[str]) -> Finding:
        first = next(key for key in self._by_key if key in keys)  # it names the finding for good
        specific = [key for key in keys if self._by_key[key][0].mention.is_specific]
        leading = specific or keys
        voices = [voice for key in leading for voice in self._by_key[key]]
        shared = Counter(
            word
            for sentence in {voice[:3]: voice.sentence for voice in voices}.values()
            for word in content_stems(sentence)
        )
        voices.sort(key=lambda voice: -_worth(voice, shared))
        return Finding(
            f"k-{first.replace(' ', '-')}",
            tuple(keys),
            tuple(voices),
            tuple(self._rivals(keys)),
            is_specific=bool(specific),
            is_named=any(voice.mention.is_telling for voice in voices),
            total=len(self.telling),
            completions=self._completions(voices),
        )

    def _completions(self, voices: Sequence[Voice]) -> tuple[tuple[int, int], ...]:
        """Return how steadily sentences of the target's own were completed with a thing."""
        asked = Counter(sample.sent for sample in self.telling if sample.is_follow_up)
        naming = {voice.heard for voice in voices if voice.heard.is_follow_up}
        counts = Counter(sample.sent for sample in naming)
        pairs = ((named, asked[sent]) for sent, named in counts.items())
        return tuple(sorted(pairs, key=lambda pair: (pair[0] / pair[1], pair[0]), reverse=True))

    def _rivals(self, keys: Sequence[str]) -> Iterable[Voice]:
        """Yield mentions of other things where ours stands: after or before the same words."""
        group = set(keys)
        own = Counter(place for key in keys for v in self._by_key[key] for place in _places(v))
        for voice in self._voices:
            if voice.mention.key not in group and any(own[place] > 1 for place in _places(voice)):
                sentence = voice.sentence.lower()
                if not any(key in sentence for key in group):
                    yield voice


def _worth(voice: Voice, shared: Counter[str]) -> float:
    """Rate a sentence as a quote: words that the others use too, whole, and not too long."""
    words = content_stems(voice.sentence)
    in_common = sum(min(shared[word] - 1, 5) for word in words) / (len(words) + 2)
    is_torn = voice.heard.is_cut and voice.end >= len(voice.heard.text.rstrip())
    is_torn = is_torn or (voice.heard.is_follow_up and not voice.heard.text[: voice.start].strip())
    return in_common - is_torn - 2 * (len(voice.sentence.split()) < 3)


def _together(one: AbstractSet[object], other: AbstractSet[object]) -> bool:
    return len(one & other) >= SAME_SENTENCES * min(len(one), len(other))


def _places(voice: Voice) -> Iterable[tuple[str, ...]]:
    """Yield the place of a thing: its kind and the words beside it that say what it is."""
    mention = voice.mention
    if mention.kind == "number":
        following = re.match(r"\W*([^\W\d_]+)", voice.heard.text[mention.end :])
        if following:
            yield ("number", stem(following[1]))
        return
    before = voice.before.rstrip()
    while title := _TITLES.search(before):
        before = before[: title.start()].rstrip()
    words = re.findall(r"[^\W_]+", before.lower())[-3:]
    if len(words) == 3 and words[-1] in _PLACING:
        yield (mention.kind, *words)
