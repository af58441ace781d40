"""Build the request to a judge: the question, the candidates in a blind order, and the text to judge.

The target's words are in one place only: a JSON string on a line of its own, with line breaks,
brackets and unprintable characters escaped, between two lines with a mark that is derived from the
text. Apart from that string and the mark, the request does not depend on what the target wrote. A
re-ask gives its reason in fixed words, since the judge's own words may repeat the text.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache, lru_cache
from itertools import count
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.audit import prompt_parts
from uncensoring_chinese_models.domain import ARMS, Call, CallKey, Json
from uncensoring_chinese_models.measure.answers import candidates

if TYPE_CHECKING:
    from uncensoring_chinese_models.config import JudgeModel
    from uncensoring_chinese_models.measure.answers import Asked
    from uncensoring_chinese_models.measure.mentions import Candidate

Problem = Literal["unreadable", "letter", "misquoted"]
"""Why a judgement could not be used."""
JudgeStance = Literal["answers", "refuses", "deflects", "official_line"]
"""The stances that a judge may choose; a denial has its own key."""
OTHER, NONE = "other", "none"
MARK_CHARS = 32
_SIGNS_OF_ROLES = "<>[]\uff5c\u2581"
"""Characters of role tokens; they are escaped, so that no server reads them as role tokens."""


class JudgeRequest(NamedTuple):
    """One sample to judge, and its candidates by letter; their order gives nothing away."""

    asked: Asked
    options: dict[str, Candidate]

    @property
    def answers(self) -> tuple[str, ...]:
        """The values that a judge may give for `says`."""
        return (*self.options, OTHER, NONE)

    def shown(self, letter: str) -> str:
        """Return a candidate in the language that was asked in, else in English."""
        texts = self.options[letter].ending.ending
        return texts.get(self.asked.language) or texts["en"]


def judge_request_for(asked: Asked) -> JudgeRequest:
    """Return the request for a sample, its candidates in the order of a hash of fact, sample and name."""
    place = f"{asked.fact.id}/{place_of(asked)}"

    def rank(candidate: Candidate) -> str:
        return hashlib.sha256(f"{place}/{candidate.name}".encode()).hexdigest()

    ordered = sorted(candidates(asked.fact, asked.sample), key=rank)
    return JudgeRequest(asked, {_letter(n): candidate for n, candidate in enumerate(ordered)})


def _letter(number: int) -> str:
    """Return A, B ... Z, AA, AB ..."""
    return (_letter(number // 26 - 1) if number >= 26 else "") + chr(ord("A") + number % 26)


def place_of(asked: Asked) -> str:
    """Name a sample in one word."""
    return f"{asked.response.iteration}/{asked.sample.arm}/{asked.sample.index}"


def mark_for(text: str, run: str, place: str) -> str:
    """Return a mark that does not occur in the text; it is derived from a hash of the text."""
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
    """Enclose a text between marks, escaped so that nothing in it reads as an instruction or a role."""
    written = strict_json.dumps(text, ensure_ascii=False)
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


def messages_for(request: JudgeRequest, run: str, problem: Problem | None = None) -> list[Json]:
    """Return the messages that ask a judge about one sample.

    Args:
        request: the sample and its candidates.
        run: the name of the run; the mark depends on it.
        problem: what was wrong with an earlier judgement.
    """
    asked, texts = request.asked, _texts()
    text = asked.said
    slot = slot_of(text, mark_for(text, run, place_of(asked)))
    listed = "\n".join(f"{letter}: {_line(request.shown(letter))}" for letter in request.options)
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
    """Say whether the text is an answer, a continuation, or an answer that we began."""
    texts, sample = _texts(), asked.sample
    if ARMS[sample.arm].continues:
        return texts["continues"]
    if sample.prefill:
        return texts["goes_on"].replace("$begun", _line(sample.prefill))
    return texts["answers"]


def _line(text: str) -> str:
    return strict_json.dumps(text, ensure_ascii=False)


def call_for(
    judge: JudgeModel,
    request: JudgeRequest,
    run: str,
    *,
    problem: Problem | None = None,
    with_format: bool = True,
    tries: int = 0,
) -> Call:
    """Return the call that asks a judge about one sample.

    Its key holds a hash of the body and the server's address, so that a different request is a
    different call, and the same one is never paid for twice.
    """
    endpoint = judge.endpoint
    body: Json = {
        "model": judge.model,
        "messages": messages_for(request, run, problem),
        "max_tokens": judge.max_tokens,
        "temperature": judge.temperature,
    }
    if with_format:
        body["response_format"] = response_format(request)
    body |= endpoint.traits.chat_body
    body |= endpoint.extra_body
    asked = request.asked
    sent = [endpoint.preset_name, endpoint.address, body]
    digest = hashlib.sha256(strict_json.dumps(sent, sort_keys=True).encode()).hexdigest()[:16]
    name = f"{asked.sample.arm}/{judge.model}/{digest}/{tries}"
    key = CallKey(asked.response.iteration, "judge", "judge", tries, name, asked.sample.index)
    return Call(key, "chat", body)


def response_format(request: JudgeRequest) -> Json:
    """Return the `response_format` of a request that asks for a judgement."""
    schema: Json = {
        "type": "object",
        "properties": {
            "says": {"type": "string", "enum": list(request.answers)},
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
