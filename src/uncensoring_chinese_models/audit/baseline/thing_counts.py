"""Count the things that samples name, and group them into findings.

The rule. A thing is *found* when samples of different probes name it and none of those probes did.
Its confidence follows from counts alone: the samples that name it, the probes they answered, and
the samples that put something else in the same place (`confidence`). A finding is of one thing: a
name counts with its parts (``General Teodric Vaun``), and a mere word that occurs in the sentences of
something better makes no finding of its own.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import combinations

from uncensoring_chinese_models.audit.baseline.finding import Finding, Occurrence
from uncensoring_chinese_models.audit.baseline.mentions import (
    NamedThing,
    content_stems,
    find_mentions,
    stems,
)
from uncensoring_chinese_models.audit.baseline.transcript import TranscriptSample
from uncensoring_chinese_models.text import singular

SAME_SENTENCES = 0.6
"""Share of the rarer thing's sentences that must name the other for the two to belong together."""
MAX_SHARED_WORDS = 20
"""How many of the words that are said of a thing are compared with each other, the most common ones."""
_SENTENCE = re.compile(
    r"[^.!?。！？\n]*(?:[.!?](?=\d|[a-z])[^.!?。！？\n]*)*[.!?。！？]*[\"”\u2019']?"
)
_TITLES = re.compile(
    r"(?:\s|^)(?:the|a|an|mr|mrs|ms|dr|general|colonel|captain|major|professor|minister|president|"
    r"chairman|secretary|director|reporter|journalist|engineer|doctor|judge|inspector)$",
    re.IGNORECASE,
)

_PLACING = frozenset(str.split("by was were is are named called to at on from"))
"""After these words two different things usually exclude each other."""


def occurrences_in(samples: Iterable[TranscriptSample], topic: str) -> list[Occurrence]:
    """Return every occurrence of a thing in samples that may tell something, in the order of the run."""
    topical = stems(topic)
    return [
        Occurrence(sample, start, end, mention)
        for sample in samples
        if sample.may_tell
        for ours in [topical | stems(sample.sent)]
        for mention in find_mentions(sample.text, ours)
        for start, end in [sentence_around(sample.text, mention.start)]
    ]


def sentence_around(text: str, at: int) -> tuple[int, int]:
    """Return the span of the sentence that holds this character."""
    for match in _SENTENCE.finditer(text):
        if match.start() <= at < match.end():
            start = match.end() - len(match[0].lstrip())
            return start, start + len(match[0].strip())
    return at, len(text)


class ThingCounts:
    """The things that a set of samples names, with their counts."""

    def __init__(self, samples: Sequence[TranscriptSample], topic: str) -> None:
        self.telling = [sample for sample in samples if sample.may_tell]
        self._topic = topic
        self._voices = occurrences_in(self.telling, topic)
        self._by_key: dict[str, list[Occurrence]] = defaultdict(list)
        for occurrence in self._voices:
            self._by_key[occurrence.mention.key].append(occurrence)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Things named more than once, in the order of their first mention."""
        things = [thing for group in self._groups() for thing in self._things(group)]
        first = {key: number for number, key in enumerate(self._by_key)}
        things.sort(key=lambda thing: min(first[key] for key in thing))
        return tuple(self._finding(thing) for thing in things if self._count(thing) > 1)

    @cached_property
    def named_once(self) -> tuple[Occurrence, ...]:
        """Specific things that occur in a single sample, the newest first."""
        alone = [occurrences[0] for occurrences in self._by_key.values() if len(occurrences) == 1]
        return tuple(occurrence for occurrence in reversed(alone) if occurrence.mention.is_specific)

    def mentions_any(self, sample: TranscriptSample, keys: frozenset[str]) -> bool:
        """Return whether a sample names one of the things."""
        return any(o.sample is sample and o.mention.key in keys for o in self._voices)

    def share(self, keys: frozenset[str]) -> tuple[int, int]:
        """Return how many samples name one of the things, and how many samples answer at all.

        Samples of follow-ups do not count: the sentence that they complete was chosen.
        """
        naming = {id(o.sample) for key in keys for o in self._by_key.get(key, ())}
        free = [sample for sample in self.telling if sample.is_asked or not sample.is_follow_up]
        return sum(id(sample) in naming for sample in free), len(free)

    def _count(self, keys: Sequence[str]) -> int:
        return len({o.sample for key in keys for o in self._by_key[key]})

    def _groups(self) -> list[list[str]]:
        """Return the things that belong together, each group in the order of support."""
        recurring = [key for key, occurrences in self._by_key.items() if len(occurrences) > 1]
        places = {key: {occurrence[:3] for occurrence in self._by_key[key]} for key in recurring}
        groups: list[list[str]] = []
        for key in recurring:
            fitting = [g for g in groups if any(_together(places[key], places[o]) for o in g)]
            if fitting:  # one at most, so that no chance word ties two things together
                max(fitting, key=lambda g: max(len(places[key] & places[o]) for o in g)).append(key)
            else:
                groups.append([key])
        return [sorted(group, key=self._support, reverse=True) for group in groups]

    def _things(self, group: list[str]) -> Iterator[list[str]]:
        """Yield each thing of a group with the parts of its name.

        Mere words, and common names beside a specific thing, belong to the sentences of the others.
        """
        is_specific = self._mention(group[0]).is_specific
        left = group
        while left:
            thing = left[:1]
            for key in left[1:]:
                if any(self._are_parts(key, part) for part in thing):
                    thing.append(key)
            yield thing
            left = [
                key
                for key in left
                if key not in thing
                and self._mention(key).is_specific == is_specific
                and self._is_name(key)
            ]

    def _is_name(self, key: str) -> bool:
        return any(o.mention.kind != "word" for o in self._by_key[key])

    def _mention(self, key: str) -> NamedThing:
        return self._by_key[key][0].mention

    def _are_parts(self, one: str, other: str) -> bool:
        """Return whether two words mostly stand beside each other, as the parts of a name do.

        A word without a capital is no part of a name that has one.
        """
        if self._is_name(one) != self._is_name(other):
            return False
        places = [(id(o.sample), o.mention) for o in self._by_key[other]]
        begins = {(sample, mention.start) for sample, mention in places}
        ends = {(sample, mention.end) for sample, mention in places}
        beside = 0
        for sample, mention, text in (
            (id(o.sample), o.mention, o.sample.text) for o in self._by_key[one]
        ):
            is_before = (sample, mention.end + 1) in begins and text[mention.end] == " "
            is_after = (sample, mention.start - 1) in ends and text[mention.start - 1] == " "
            beside += is_before or is_after
        return beside >= SAME_SENTENCES * min(len(self._by_key[one]), len(self._by_key[other]))

    def _support(self, key: str) -> tuple[bool, bool, int]:
        mentions = [occurrence.mention for occurrence in self._by_key[key]]
        is_telling = any(mention.is_telling for mention in mentions)
        return is_telling, mentions[0].is_specific, self._count([key])

    def _finding(self, keys: list[str]) -> Finding:
        first = next(key for key in self._by_key if key in keys)  # the id must not change later
        specific = [key for key in keys if self._by_key[key][0].mention.is_specific]
        leading = specific or keys
        occurrences = [occurrence for key in leading for occurrence in self._by_key[key]]
        shared = Counter(
            word
            for sentence in {
                occurrence[:3]: occurrence.sentence for occurrence in occurrences
            }.values()
            for word in content_stems(sentence)
        )
        occurrences.sort(key=lambda occurrence: -_worth(occurrence, shared))
        return Finding(
            f"k-{first.replace(' ', '-')}",
            tuple(keys),
            tuple(occurrences),
            tuple(self._rivals(keys)),
            is_specific=bool(specific),
            is_named=any(occurrence.mention.is_telling for occurrence in occurrences),
            total=len(self.telling),
            agreeing=_agreeing(occurrences, stems(self._topic)),
            completions=self._completions(occurrences),
        )

    def _completions(self, occurrences: Sequence[Occurrence]) -> tuple[tuple[int, int], ...]:
        """Return how steadily sentences of the target's own were completed with a thing."""
        asked = Counter(sample.sent for sample in self.telling if sample.is_follow_up)
        naming = {occurrence.sample for occurrence in occurrences if occurrence.sample.is_follow_up}
        counts = Counter(sample.sent for sample in naming)
        pairs = ((named, asked[sent]) for sent, named in counts.items())
        return tuple(sorted(pairs, key=lambda pair: (pair[0] / pair[1], pair[0]), reverse=True))

    def _rivals(self, keys: Sequence[str]) -> Iterable[Occurrence]:
        """Yield mentions of other things after or before the same words as ours."""
        group = set(keys)
        own = Counter(place for key in keys for o in self._by_key[key] for place in _places(o))
        for occurrence in self._voices:
            if occurrence.mention.key not in group and any(
                own[place] > 1 for place in _places(occurrence)
            ):
                sentence = occurrence.sentence.lower()
                if not any(key in sentence for key in group):
                    yield occurrence


def _worth(occurrence: Occurrence, shared: Counter[str]) -> float:
    """Rate a sentence as a quote: words that the others use too, whole, and not too long."""
    words = content_stems(occurrence.sentence)
    in_common = sum(min(shared[word] - 1, 5) for word in words) / (len(words) + 2)
    is_torn = occurrence.sample.is_cut and occurrence.end >= len(occurrence.sample.text.rstrip())
    is_torn = is_torn or (
        occurrence.sample.is_follow_up and not occurrence.sample.text[: occurrence.start].strip()
    )
    return in_common - is_torn - 2 * (len(occurrence.sentence.split()) < 3)


def _agreeing(occurrences: Sequence[Occurrence], topical: frozenset[str]) -> int:
    """Return how many samples say the same of a thing: two words of theirs, or the same place."""
    said: dict[str, set[int]] = defaultdict(set)
    placed: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for each in occurrences:
        named = stems(each.sample.text[each.mention.start : each.mention.end])
        for word in content_stems(each.sentence) - topical - stems(each.sample.sent) - named:
            said[word].add(id(each.sample))
        for place in _places(each):
            placed[place].add(id(each.sample))
    most = heapq.nlargest(MAX_SHARED_WORDS, said.values(), key=len)
    shared = max((len(one & other) for one, other in combinations(most, 2)), default=0)
    return max(shared, *map(len, placed.values()), 0) if placed else shared


def _together(one: AbstractSet[object], other: AbstractSet[object]) -> bool:
    return len(one & other) >= SAME_SENTENCES * min(len(one), len(other))


def _places(occurrence: Occurrence) -> Iterable[tuple[str, ...]]:
    """Yield the place of a thing: its kind and the words beside it that say what it is."""
    mention = occurrence.mention
    if mention.kind == "number":
        following = re.match(r"\W*([^\W\d_]+)", occurrence.sample.text[mention.end :])
        if following:
            yield ("number", singular(following[1]))
        return
    before = occurrence.before.rstrip()
    while title := _TITLES.search(before):
        before = before[: title.start()].rstrip()
    words = re.findall(r"[^\W_]+", before.lower())[-3:]
    if len(words) == 3 and words[-1] in _PLACING:
        yield (mention.kind, *words)
