"""The matcher of an order of two events: `before`, `preceded`, `first ..., then`, 早于, 先…后….

Each way to tell an order names one of the events at a fixed place beside its own words; which of the
two comes first follows from that alone. An event may be named by *it*: what was spoken of, that is
the second event.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models.measure.facts.matchers.finding import (
    CACHED_TEXTS,
    Finder,
    TextSpan,
    sentence_at,
)

if TYPE_CHECKING:
    from uncensoring_chinese_models.measure.facts.matchers.dates import DateMatcher
    from uncensoring_chinese_models.measure.facts.matchers.kinds import Relation
    from uncensoring_chinese_models.measure.facts.patterns import Searcher

_OPPOSITE: dict[Relation, Relation] = {"before": "after", "after": "before", "same": "same"}
_MAX_APART, _MAX_DATES = 240, 20
"""Max characters between two dates that tell an order, and how many of each are compared."""
_MAX_LEAD = 40
"""Words for an order that stand further from the beginning of a reply need both events."""
_MAX_NAME = 100
"""A name that begins so far before the words is not looked at."""


@dataclass(frozen=True)
class _Wording:
    """Words for an order, and where they name an event."""

    words: re.Pattern[str]
    relation: Relation
    """How the event that is named stands to the other."""
    reach: int
    """Max characters between the words and the event."""
    gap: re.Pattern[str]
    """What may stand between them."""
    on_right: bool
    """True if the event is named behind the words, False if before them."""


_ANYTHING = r"[^.!?;。！？,]*"
_AFTER_NAME = r"[\"\u201d\u2019')）]*(?: +(?!(?:and|but|then|by) )[^\s.!?;]+){0,6} ?,? ?"
_VERBS = (
    "came|come|went|was|were|is|had been|appeared|happened|took place|occurred|published|imposed|declared"
    "|released|held|did|only|followed|issued|set up"
)


def _right(words: str, relation: Relation, reach: int = 60, gap: str = _ANYTHING) -> _Wording:
    pattern = re.compile(rf"(?<![a-z])(?:{words})", re.IGNORECASE)
    return _Wording(pattern, relation, reach, re.compile(gap, re.IGNORECASE), on_right=True)


def _left(words: str, relation: Relation, reach: int = 60, gap: str = _AFTER_NAME) -> _Wording:
    pattern = re.compile(rf"(?<![a-z])(?:{words})", re.IGNORECASE)
    return _Wording(pattern, relation, reach, re.compile(gap, re.IGNORECASE), on_right=False)


_END = r"(?= ?(?:[,.;:)]|$)| (?:and|then|in|on|with|while|but)(?!\w))"
_SOME = r"[约約近第]?[几幾两兩数數半一二三四五六七八九十\d]{1,6} ?多?[个個]?多?(?:天|日|周|週|月|年|星期|小[时時])"
_HELD = "(?:[进進]行|[开開][始幕]|[举舉]行|宣[布佈]|公[布佈]|[发發][布佈表]|召[开開])?"
_ENGLISH = (
    _right(
        r"before(?!hand)|prior to|ahead of|in advance of|in the run-?up to|on the eve of|earlier than"
        r"|sooner than|leading up to|led up to",
        "after",
    ),
    _right(r"preced(?:ed(?! by)|es|ing)|predat(?:ed|es|ing)|antedat(?:ed|es)", "after", 40),
    _right(
        r"after(?!wards?|noon)|later than|following(?! year)|in the wake of|subsequent to", "before"
    ),
    _right("preceded(?: [a-z]+){0,6} by", "before", 40),
    _right("followed(?: [a-z]+){0,6} by", "after", 40),
    _right(
        r"(?<!was )(?<!were )(?<!been )(?:followed|follows|succeeded)(?! by)",
        "before",
        8,
        ' the |[ "“]*',
    ),
    _right(
        r"(?:(?<=^)|(?<=[.,;:(\"] )|(?<=came ))first",
        "before",
        30,
        r"(?: |:|,|came|it was|was|the|to be|with|appeared)*[\"“(]?",
    ),
    _right(
        "then|and (?:later|afterwards|subsequently|next)|only (?:later|then|afterwards)|second(?:ly)?",
        "after",
        30,
        r"(?: |:|,|came|it was|was|were|did|the|that of|by|in)*[\"“(]?",
    ),
    _left(rf"(?:(?:{_VERBS})(?: [a-z]+){{0,4}} )?(?:earlier|beforehand)(?! than){_END}", "before"),
    _left(rf"(?:{_VERBS})(?: [a-z]+){{0,1}} first{_END}", "before"),
    _left(rf"first{_END}", "before", 6, r"[\"\u201d\u2019')]* "),
    _left(
        r"(?:followed|came second|came next)(?! by)(?! (?:the|a|an|its|their|[\"“])(?!\w))"
        rf"|(?:(?:{_VERBS})(?: [a-z]+){{0,6}} )?(?:later|afterwards|second|next|thereafter|subsequently)"
        rf"(?! than){_END}",
        "after",
    ),
    _right(
        r"on (?:the )?(?:very |same )*day(?: of| as| that| when)?|(?:the )?same day(?: as)?"
        r"|simultaneously with|at the same time(?: as)?|at the moment|during|amid(?:st)?|in the (?:middle|midst|course) of|while",
        "same",
        40,
    ),
)
_CHINESE = (
    _right("早[于於過过]|[先早]在|先[于於]|赶在|趕在|[抢搶]在", "after", 16),
    _right("[晚后後][于於过過]|[迟遲][于於]", "before", 16),
    _left(
        rf"{_HELD}(?:之|以)前(?!所)|前夕|前一[天日周週夜晚]|前(?={_SOME})",
        "after",
        16,
        _ANYTHING,
    ),
    _left(
        "(?<![目从從提以之空先天门門])前(?![往任所线線途景来來后後总總者台臺臂锋鋒提面方身])",
        "after",
        8,
        _ANYTHING,
    ),
    _left(
        rf"{_HELD}(?:之|以)[后後](?!所)|[后後]一[天日周週]|[后後](?={_SOME})|次日|翌日|隔天",
        "before",
        16,
        _ANYTHING,
    ),
    _left(
        "(?<![先随隨其稍此之以然天日周週月年多期时時])[后後](?![面方来來果续續者代期台臺勤悔盾门門裔于於])",
        "before",
        8,
        _ANYTHING,
    ),
    _right(
        "先是|首先(?:是)?|(?<![早领領优優率首事预預])先(?![后後于於在前生行进進例锋鋒是])",
        "before",
        10,
    ),
    _right(
        "[随隨其然][后後](?:是|才)?|[后後][来來](?:是|才)?|接[着著]|稍[后後]|之[后後]是|再(?=[是到])|才是",
        "after",
        10,
    ),
    _left(
        "在[先前]|更早|[较較]早|最先|首先|率先|(?<!首)先(?=[公宣发發爆曝出登实實开開举舉成])",
        "before",
        16,
        _ANYTHING,
    ),
    _left(
        "在[后後]|[更较較][晚迟遲]|[稍随隨其][后後]|才(?=[公宣发發爆曝出登实實开開举舉成表是在])"
        rf"|{_SOME}之?[后後](?=才|[公宣曝登])",
        "after",
        16,
        _ANYTHING,
    ),
    _right(rf"{_SOME}之?[后後](?!才)", "after", 12),
    _left(
        "同一?[天日时時](?![代期])|[当當][天日]|期[间間]|[当當]中|之?中(?=[,、。;]|$)|[过過]程中",
        "same",
        8,
        _ANYTHING,
    ),
    _right(r"[与與和跟同](?=[^。；;！？,，]{1,16}同一?[天日时時])", "same", 14),
)
_THAN = re.compile("(?:比|[较較])[^。；;！？,，]{1,24}?(?P<how>更?[早先晚迟遲])(?![期年])")
_PRONOUN = re.compile(
    r" ?(?:it|that|this|them)(?= (?:was|were|had|has|began|begun|started|opened|took|came|is|happened"
    r"|convened|became|closed)(?!\w)|[,.;]|$)",
    re.IGNORECASE,
)
_EARLY = ("before", "beforehand", "earlier", "prior", "first")
_BARE = re.compile(
    r"[^.!?;,。]{0,24}(?:days?|weeks?|months?|years?|hours?) (?P<how>before(?:hand)?|earlier|prior|after(?:wards)?"
    r"|later)(?= ?(?:[,.;]|$))|(?:it came )?(?P<word>earlier|beforehand|first|later|afterwards|second)"
    r"(?= ?(?:[,.;]|$))",
    re.IGNORECASE,
)


class _Name(NamedTuple):
    """A place where an event is named."""

    start: int
    end: int
    is_one: bool


@dataclass(frozen=True)
class OrderMatcher(Finder):
    """Finds that one event came before, after or together with another."""

    relation: Relation
    one: Searcher
    """Names of the event that the opening is about."""
    other: Searcher
    """Names of the event that it is compared with."""
    dates: Sequence[DateMatcher] = ()
    """When they took place: a text that tells both dates tells their order."""

    def all(self, text: str, start: int = 0) -> list[tuple[int, int]]:
        """Return every place in a text that tells this order."""
        return sorted(
            {TextSpan(max(each.start, start), each.end) for each in self._told(text, start)}
        )

    def _told(self, text: str, start: int) -> Iterator[TextSpan]:
        names = sorted(
            _Name(*span, is_one=searcher is self.one)
            for searcher in (self.one, self.other)
            for span in searcher.all(text)
        )
        for wording, match in _words_in(text, start):
            named = _named(wording, text, match, names)
            if named and self._is(wording.relation, is_one=named.is_one):
                place = TextSpan(min(named.start, match.start()), max(named.end, match.end()))
                if match.start() - start <= _MAX_LEAD or _has_both(text, names, named):
                    yield place
        yield from self._compared(text, names, start)
        yield from self._bare(text, start)
        yield from self._by_dates(text, start)

    def _is(self, relation: Relation, *, is_one: bool) -> bool:
        """Return whether the order is ours if one of the events stands so to the other."""
        return (relation if is_one else _OPPOSITE[relation]) == self.relation

    def _compared(self, text: str, names: Sequence[_Name], start: int) -> Iterator[TextSpan]:
        """Find 比…早 and 比…晚."""
        for match in _THAN.finditer(text, start):
            inside = [each for each in names if match.start() < each.start < match.end()]
            relation: Relation = "after" if match["how"][-1] in "早先" else "before"
            if inside and self._is(relation, is_one=inside[0].is_one):
                yield TextSpan(*match.span())

    def _bare(self, text: str, start: int) -> Iterator[TextSpan]:
        """Find `two weeks before.` at the beginning of a text that continues a prompt."""
        match = _BARE.match(text, start) if start else None
        if match:
            word = (match["how"] or match["word"]).lower()
            relation: Relation = "before" if word in _EARLY else "after"
            if self._is(relation, is_one=True):
                yield TextSpan(*match.span())

    def _by_dates(self, text: str, start: int) -> Iterator[TextSpan]:
        if not self.dates:
            return
        first, second = (each.all(text, start)[:_MAX_DATES] for each in self.dates)
        for one in first:
            for other in second:
                begin, end = min(one[0], other[0]), max(one[1], other[1])
                if one != other and end - begin <= _MAX_APART:
                    yield TextSpan(begin, end)


@lru_cache(maxsize=CACHED_TEXTS)
def _words_in(text: str, start: int) -> tuple[tuple[_Wording, re.Match[str]], ...]:
    """Return the words for an order in a text: every order of a file looks at the same ones."""
    return tuple(
        (wording, match)
        for wording in (*_ENGLISH, *_CHINESE)
        for match in wording.words.finditer(text, start)
    )


def _has_both(text: str, names: Sequence[_Name], named: _Name) -> bool:
    """Return whether the sentence names the other event, too."""
    sentence = sentence_at(text, named.start)
    rest = islice(names, bisect_left(names, (sentence.start,)), None)
    inside = takewhile(lambda each: each.start < sentence.end, rest)
    return any(each.is_one != named.is_one for each in inside)


def _named(
    wording: _Wording, text: str, match: re.Match[str], names: Sequence[_Name]
) -> _Name | None:
    """Return the event that the words go with."""
    if not wording.on_right:
        place = bisect_left(names, (match.start() - _MAX_NAME - wording.reach,))
        before = [
            each
            for each in takewhile(lambda it: it.start < match.start(), islice(names, place, None))
            if 0 <= match.start() - each.end <= wording.reach
            and wording.gap.fullmatch(text, each.end, match.start())
        ]
        return max(before, default=None, key=lambda each: (each.end, -each.start))
    pronoun = _PRONOUN.match(text, match.end())
    if pronoun:
        return _Name(*pronoun.span(), is_one=False)
    for each in islice(names, bisect_left(names, (match.end(),)), None):
        if each.start > match.end() + wording.reach:
            break
        if wording.gap.fullmatch(text, match.end(), each.start):
            return each
    return None
