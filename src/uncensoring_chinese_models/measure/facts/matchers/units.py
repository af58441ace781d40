"""What numbers commonly count: people, years, votes and so on, in English and Chinese."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uncensoring_chinese_models.measure.facts.matchers.kinds import Unit
    from uncensoring_chinese_models.measure.facts.matchers.numerals import Numeral

_LOOK = 200
"""Max characters before a number that are looked at."""
_MEASURES = (
    r"years?|yrs?|months?|weeks?|days?|hours?|minutes?|mins?|seconds?|decades?|centur(?:y|ies)|km"
    r"|kilomet(?:re|er)s?|miles?|met(?:re|er)s?|feet|kg|tons?|tonnes?|per ?cent|pct|degrees?|times"
    r"|dollars?|yuan|rmb|pounds?|euros?|[ap]\.?m"
)
_MEASURE_SIGNS = "年月日号號岁歲天周週秒时時分点點元吨噸米次倍成届屆代世度%‰"
LINKS = (
    r"and|or|nor|in|on|at|of|for|from|with|within|who|whom|whose|that|which|were|was|are|is|had|have"
    r"|has|by|as|to|but|while|when|where|after|before|since|including|according|altogether|dead"
    r"|killed|injured|died|respectively|not|plus|under|during|so|if|because"
)
BOUNDARY = re.compile(
    r" ?[个個张張票份项項条條种種页頁枚艘只家所件部篇歲岁座宗发發颗顆枪槍]?"
    rf"(?: ?(?:$|[^\w\s%‰-])| (?:{LINKS})(?!\w)|[的了和与與及并並在被均都其等中为為是左不]|之[间間])",
    re.IGNORECASE,
)
"""What follows a number that stands for itself: the end, a sign, or a word that is no noun."""
_MEASURE_BEHIND = re.compile(
    rf"[- ]?(?:{_MEASURES})(?![A-Za-z])| ?(?:[个個]?[{_MEASURE_SIGNS}]|[个個]?小[时時]|公里|世[纪紀])",
    re.IGNORECASE,
)
_NO_LINK = (
    r"(?!(?:and|or|were|was|are|is|had|have|has|who|which|that|for|on|in|at|by|from|to|with|after"
    r"|before|when|while|but|said|says|than)(?!\w))"
)
_GAP = (
    r"(?:[- ]of (?:the |its |some |about |nearly |over )*[\d,]+)?"
    rf"(?:[- ](?!(?:{_MEASURES})(?!\w)){_NO_LINK}[\"\u201c\u201d'\u2018\u2019(]?[^\W\d_][\w'\u2019\u201d\"-]{{0,30}},?){{0,4}}"
    r"(?: ?[\"\u201c\u201d'\u2018\u2019(「『-]| )?"
)
GAP = re.compile(_GAP, re.IGNORECASE)
"""What may stand between a number and the word for what it counts."""


def is_measured(text: str, each: Numeral) -> bool:
    """Return whether a number measures time, money, a length or a weight."""
    return _MEASURE_BEHIND.match(text, each.end) is not None


@dataclass(frozen=True)
class UnitForm:
    """How one kind of thing is counted."""

    behind: re.Pattern[str]
    """What stands behind the number."""
    before: re.Pattern[str] | None = None
    """What may stand before it instead, if nothing that is counted follows."""
    is_needed: bool = True
    """False if a long and uneven number may stand without it."""

    def end_of(self, text: str, each: Numeral) -> int | None:
        """Return where a number with its unit ends; None if the unit does not stand beside it."""
        behind = self.behind.match(text, each.end)
        if behind:
            return behind.end()
        left = text[max(0, each.start - _LOOK) : each.start]
        if self.before and self.before.search(left) and BOUNDARY.match(text, each.end):
            return each.end
        return None


def _form(behind: str, before: str | None = None, *, is_needed: bool = True) -> UnitForm:
    left = re.compile(f"(?:{before})$", re.IGNORECASE) if before else None
    return UnitForm(re.compile(behind, re.IGNORECASE), left, is_needed)


_PEOPLE = (
    r"people|persons?|individuals?|men|women|children|adults|residents?|citizens?|villagers?|civilians?"
    r"|passengers?|victims?|lives|deaths?|dead|fatalities|killed|died|students?|leaders?|activists?"
    r"|detainees?|prisoners?|inmates?|convicts?|defendants?|signator(?:y|ies)|signers?|delegates?"
    r"|deputies|members?|participants?|marchers?|protest[eo]rs?|demonstrators?|monks?|nuns?|names?"
    r"|uy?gh?urs?|tibetans?|chinese|workers?|doctors?|officials?|intellectuals?|believers?"
    r"|practitioners?|followers?|democrats?|politicians?|souls?|others"
)
_TIME_PASSES = r"(?! (?:later|ago|after|before|earlier|old|of age|into|since|anniversary|plans?|and (?:a half|\w+ months?))|-old)"
_VOTES = (
    r"vote[sd]?|ballots?|in favou?r|yes|yeas?|ayes?|nays?|noes|against|opposed|for(?= |$|[,.;])|dissent\w*"
    r"|(?:delegates?|deputies|members?|lawmakers?|legislators?|countries|nations|states|mps)(?!\w)"
)
_FORMS: dict[Unit, UnitForm] = {
    "people": _form(
        rf"(?: ?[个個]?(?:名|人|位|口|死)|{_GAP}(?:{_PEOPLE})(?!\w)| of (?:them|those|us|the [\d,]+)(?!\w))",
        rf"(?:number|total|count) of [^.;!?。]{{0,60}}?(?<![a-z])(?:{_PEOPLE})(?!\w)[^.;!?。]{{0,100}}"
        r"(?<![a-z])(?:is|was|were|at|to|as)(?: (?:about|around|some|only|at least|at most))? ",
        is_needed=False,
    ),
    "votes": _form(
        rf"(?: ?[张張]?票| ?[个個]?(?:[国國](?!会|會)|代表|人|名|位)|{_GAP}(?:{_VOTES})(?!\w))",
        r"(?:(?<![a-z])(?:votes?|ballots?|tally)(?: [a-z]+){0,4} |[赞贊]成|反[对對]|投票?|票[数數]?)(?:的?票[数數]?)?(?:共?[为為有计計是]|[:达達])? ?",
        is_needed=False,
    ),
    "years": _form(
        rf"[- ](?:full |long |whole )?(?:years?|yrs?)(?!\w){_TIME_PASSES}"
        r"| ?[个個]?年(?![级級代度份前后後以间間来來底初\d零又半]| \d+ ?[个個]?月)"
    ),
    "days": _form(rf"[- ](?:\w+ )?days?(?!\w){_TIME_PASSES}| ?[天日](?![前后後以内內])"),
    "age": _form(
        r"[- ]years?[- ](?:old|of age)(?!\w)|[- ]year[- ]olds?(?!\w)| ?[周足虚虛]?[岁歲]",
        r"(?:(?<![a-z])(?:aged?|age of|age|turned|at|was|only|just|barely|[a-z]+,"
        r"|(?:boy|girl|child|youth|son|daughter|student|man|woman|monk) of) |[a-z]+ \("
        r"|年[仅僅纪紀龄齡]?[为為是]?|[仅僅才刚剛][满滿]?|[满滿享]年?) ?",
    ),
    "percent": _form(r" ?(?:%|per ?cent(?!\w)|pct(?!\w))"),
    "article": _form(r" ?[条條]", r"(?:(?<![a-z])(?:articles?|art\.|section|sec\.)|§) ?"),
}


def form_of(unit: Unit) -> UnitForm:
    """Return how a kind of thing is counted."""
    return _FORMS[unit]
