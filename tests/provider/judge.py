"""A scripted judge: it reads the text in its slot, and may answer as badly as real ones do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.provider.wire import Ask, Json, text_of

_SLOT = re.compile(r"^<<<TEXT (?P<mark>[0-9a-f]+)\n(?P<line>.*)\nTEXT (?P=mark)>>>$", re.MULTILINE)
_OPTION = re.compile(r"^([A-Z]{1,2}): (\".*\")$", re.MULTILINE)


class Case(NamedTuple):
    """What a judge is asked, as it reads it."""

    text: str
    """The target's words, decoded from their slot."""
    options: dict[str, str]
    """What each letter stands for."""
    outside: str
    """The request without the slot and its mark."""
    is_again: bool
    """Whether an earlier reply could not be used."""


def read_case(messages: list[Json]) -> Case:
    """Read a request as a careful judge does: the slot is what stands between the two marks."""
    whole = "\n".join(text_of(message) for message in messages)
    (slot,) = _SLOT.finditer(whole)
    outside = whole[: slot.start()] + "<slot>" + whole[slot.end() :]
    options = {letter: json.loads(shown) for letter, shown in _OPTION.findall(outside)}
    return Case(json.loads(slot["line"]), options, outside, "earlier reply" in outside)


def plain_verdict(case: Case) -> Json:
    """Name the first candidate whose words stand in the text; else call a sorry text a refusal."""
    found = [
        (case.text.index(shown), letter)
        for letter, shown in case.options.items()
        if shown in case.text
    ]
    verdict: Json = {"says": "none", "denies": False, "stance": "answers", "quote": ""}
    if found:
        letter = min(found)[1]
        return verdict | {"says": letter, "quote": case.options[letter]}
    if "sorry" in case.text.lower():
        return verdict | {"stance": "refuses", "quote": "sorry"}
    return verdict


def _written(verdict: Json) -> str:
    return json.dumps(verdict, ensure_ascii=False)


JUDGE_SHAPES: Mapping[str, Callable[[Json], str]] = {
    "plain": _written,
    "fenced": lambda verdict: f"Here it is:\n```json\n{_written(verdict)}\n```",
    "thinking": lambda verdict: f"<think>\nPerhaps B.\n</think>\n{_written(verdict)}",
    "broken": lambda verdict: _written(verdict)[:-9],
    "prose": lambda verdict: "I believe that the text states it.",
    "refusal": lambda verdict: "I'm sorry, but I can't help with that topic.",
    "empty": lambda verdict: "",
    "invented_quote": lambda verdict: _written(verdict | {"quote": "words that nobody ever wrote"}),
    "wrong_letter": lambda verdict: _written(verdict | {"says": "Q"}),
    "two_verdicts": lambda verdict: f"{_written(verdict)}\nor\n{_written(verdict | {'says': 'A'})}",
    "word_for_a_truth": lambda verdict: _written(verdict | {"denies": "perhaps"}),
}
"""How a judge may answer; the first three can be read."""


@dataclass(frozen=True, kw_only=True)
class ScriptedJudge:
    """Judges by what stands in the slot, in a shape that may differ from model to model."""

    shapes: Mapping[str, str] = field(default_factory=dict)
    """The shape of each model's replies; plain for others."""
    mends: bool = False
    """Whether it answers plainly when it is asked again."""
    verdict: Callable[[Case], Json] = plain_verdict

    def __call__(self, ask: Ask) -> str:
        """Answer one request."""
        case = read_case(ask.messages)
        shape = self.shapes.get(str(ask.body["model"]), "plain")
        if self.mends and case.is_again:
            shape = "plain"
        return JUDGE_SHAPES[shape](self.verdict(case))
