"""What a judge is sent: the question, the candidates in a blind order, and the text in its slot.

The target's words stand in one place of the request: a JSON string on a line of its own, in which
line breaks, brackets and whatever is not printable are escaped, between two lines that bear a mark
derived from the text. All else is the same, byte for byte, whatever the target wrote, but for the
mark. A request for another try says why in fixed words: what the judge wrote may hold the text.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache, lru_cache
from itertools import count
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from uncensoring_chinese_models.audit import prompt_parts
from uncensoring_chinese_models.domain import ARMS, Call, CallKey, Json
from uncensoring_chinese_models.measure.answers import Candidate, candidates

if TYPE_CHECKING:
    from uncensoring_chinese_models.config import JudgeModel
    from uncensoring_chinese_models.measure.answers import Asked

Problem = Literal["unreadable", "letter", "misquoted"]
"""Why a judgement could not be used."""
JudgeStance = Literal["answers", "refuses", "deflects", "official_line"]
"""The stances that a judge may choose; a denial has its own key."""
OTHER, NONE = "other", "none"
MARK_CHARS = 32
_SIGNS_OF_ROLES = "<>[]\uff5c\u2581"
"""Signs that role tokens are spelled with; escaped, no server can take them for such."""


class Ballot(NamedTuple):
    """What one sample is judged by: its candidates under letters, in an order that tells nothing."""

    asked: Asked
    options: dict[str, Candidate]

    @property
    def answers(self) -> tuple[str, ...]:
        """What may be said of it."""
        return (*self.options, OTHER, NONE)

    def shown(self, letter: str) -> str:
        """Return a candidate in the language that was asked in, else in English."""
        texts = self.options[letter].ending.ending
        return texts.get(self.asked.language) or texts["en"]


def ballot_of(asked: Asked) -> Ballot:
    """Return the candidates of a sample, ordered by a hash of the fact, the sample and themselves."""
    place = f"{asked.fact.id}/{place_of(asked)}"

    def rank(candidate: Candidate) -> str:
        return hashlib.sha256(f"{place}/{candidate.name}".encode()).hexdigest()

    ordered = sorted(candidates(asked.fact, asked.sample), key=rank)
    return Ballot(asked, {_letter(n): candidate for n, candidate in enumerate(ordered)})


def _letter(number: int) -> str:
    """Return A, B ... Z, AA, AB ..."""
    return (_letter(number // 26 - 1) if number >= 26 else "") + chr(ord("A") + number % 26)


def place_of(asked: Asked) -> str:
    """Name a sample in one word."""
    return f"{asked.response.iteration}/{asked.sample.arm}/{asked.sample.index}"


def mark_for(text: str, run: str, place: str) -> str:
    """Return a mark that the text cannot hold: it would have to hold its own hash."""
    told = text.encode("utf-8", "surrogatepass")
    for number in count():
        seed = b"\0".join(
            [told, run.encode("utf-8", "replace"), place.encode(), str(number).encode()]
        )
        mark = hashlib.sha256(seed).hexdigest()[:MARK_CHARS]
        if mark not in text:
            return mark
    raise AssertionError("unreachable")


def slot_of(text: str, mark: str) -> str:
    """Enclose a text so that nothing in it can be taken for anything but it."""
    written = json.dumps(text, ensure_ascii=False)
    line = "".join(map(_shown, written))
    return f"<<<TEXT {mark}\n{line}\nTEXT {mark}>>>"


@lru_cache(maxsize=4096)
def _shown(char: str) -> str:
    if char.isprintable() and char not in _SIGNS_OF_ROLES:
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(
        f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True)
    )


def messages_for(ballot: Ballot, run: str, problem: Problem | None = None) -> list[Json]:
    """Return the messages by which one sample is judged.

    Args:
        ballot: the sample and its candidates.
        run: the name of the run, part of what the mark is derived from.
        problem: what was wrong with an earlier judgement.
    """
    asked, texts = ballot.asked, _texts()
    text = asked.said
    slot = slot_of(text, mark_for(text, run, place_of(asked)))
    listed = "\n".join(f"{letter}: {_line(ballot.shown(letter))}" for letter in ballot.options)
    values = {
        "question": _line(asked.fact.question[asked.language]),
        "opening": _line(asked.fact.opening[asked.language]),
        "form": form_of(asked),
        "candidates": listed,
        "slot": slot,
    }
    words = re.sub(r"\$(\w+)", lambda name: values[name[1]], texts["user"])
    if problem is not None:
        words += f"\n{texts[problem]}"
    return [{"role": "system", "content": texts["system"]}, {"role": "user", "content": words}]


def form_of(asked: Asked) -> str:
    """Say how a text came about: as an answer, or as the rest of something."""
    texts, sample = _texts(), asked.sample
    if ARMS[sample.arm].continues:
        return texts["continues"]
    if sample.prefill:
        return texts["goes_on"].replace("$begun", _line(sample.prefill))
    return texts["answers"]


def _line(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def call_for(
    judge: JudgeModel,
    ballot: Ballot,
    run: str,
    *,
    problem: Problem | None = None,
    with_format: bool = True,
    tries: int = 0,
) -> Call:
    """Return the request by which a judge is asked about one sample.

    Its key holds the hash of what it asks and where: another question is another call, and so is
    one to a server elsewhere; the same one is never paid for twice.
    """
    endpoint = judge.endpoint
    body: Json = {
        "model": judge.model,
        "messages": messages_for(ballot, run, problem),
        "max_tokens": judge.max_tokens,
        "temperature": judge.temperature,
    }
    if with_format:
        body["response_format"] = response_format(ballot)
    body |= endpoint.traits.chat_body
    body |= endpoint.extra_body
    asked = ballot.asked
    sent = [endpoint.preset_name, endpoint.address, body]
    digest = hashlib.sha256(json.dumps(sent, sort_keys=True).encode()).hexdigest()[:16]
    name = f"{asked.sample.arm}/{judge.model}/{digest}/{tries}"
    key = CallKey(asked.response.iteration, "judge", "judge", tries, name, asked.sample.index)
    return Call(key, "chat", body)


def response_format(ballot: Ballot) -> Json:
    """Return the `response_format` of a request that asks for a judgement."""
    schema: Json = {
        "type": "object",
        "properties": {
            "says": {"type": "string", "enum": list(ballot.answers)},
            "denies": {"type": "boolean"},
            "stance": {"type": "string", "enum": list(get_args(JudgeStance))},
            "quote": {"type": "string"},
        },
        "required": ["says", "denies", "stance", "quote"],
        "additionalProperties": False,
    }
    named = {"name": "judgement", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": named}


@cache
def _texts() -> dict[str, str]:
    return prompt_parts(__package__, "judge")
