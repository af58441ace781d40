"""A provider for the doctor to examine: honest, unless it is told in which way not to be.

Its model is a toy: it counts on, says the alphabet, and else tells stories that the prompt and the
seed decide. Its tokenizer is a toy, too: a special token is one token, and so is a word.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field, fields
from typing import Any

from tests.provider.server import Provider
from tests.provider.wire import Ask, Json, Said, digest, text_of

_SPECIAL = r"<[^<>\s]{1,60}>|\[[A-Z]{3,}\]"
_PIECES = r" ?\w+|\s|[^\w\s]"
_BOS = "<｜begin▁of▁sentence｜>"
_STORY = (
    "river",
    "lantern",
    "miller",
    "orchard",
    "ferry",
    "winter",
    "bell",
    "fox",
    "garden",
    "king",
)
_BEGUN = {
    "1, 2, 3, 4, 5,": " 6, 7, 8, 9, 10, 11, 12",
    "a, b, c, d, e,": " f, g, h, i, j, k, l",
}
NAMES = ("DeepInfra", "Parasail")


@dataclass(frozen=True, kw_only=True)
class Ills:
    """What may be wrong with a patient; each is wrong by itself."""

    wraps_prompts: bool = False
    """Puts raw prompts into a chat."""
    reads_specials_as_text: bool = False
    drops_specials: bool = False
    adds_bos: bool = False
    """Puts a BOS before raw prompts, whether they have one or not."""
    ignores_stop: bool = False
    answers_prefills: bool = False
    serves: str | None = None
    """Another model than the one asked for."""
    ignores_provider: bool = False
    refuses_json: bool = False
    ignores_json: bool = False
    thinks: bool = False
    """Its reasoning eats the text."""
    hides_usage: bool = False
    ignores_seed: bool = False
    repeats_itself: bool = False
    """Every text to the same prompt is the same; nothing is wrong with that, and little to learn."""


@dataclass(frozen=True)
class ToyModel:
    """What answers; a request without a seed is another draw each time."""

    ills: Ills
    draws: Any = field(default_factory=itertools.count)

    def __call__(self, ask: Ask) -> str | Said:
        """Write on from where the prompt ends, or answer the last message."""
        before = ask.prompt if ask.api != "chat" else text_of(ask.messages[-1])
        if self.ills.thinks and not _is_auditors(ask):
            return Said("", reasoning="Let me think about how to begin this story well.")
        if '{"ok": true}' in before:
            is_json = "response_format" in ask.body and not self.ills.ignores_json
            return '{"ok": true}' if is_json else "Sure! Here it is, as you wish."
        for begun, rest in _BEGUN.items():
            if before.endswith(begun) and ask.api == "completions":
                anew = self.ills.answers_prefills or self.ills.wraps_prompts
                return f"Sure! {begun}{rest}" if anew else rest
        return self._story(ask, before)

    def _story(self, ask: Ask, before: str) -> str:
        decides: list[object] = [before]
        if ask.body.get("temperature") and not self.ills.repeats_itself:
            is_seeded = "seed" in ask.body and not self.ills.ignores_seed
            decides.append(ask.body["seed"] if is_seeded else f"draw {next(self.draws)}")
        words = [_STORY[int(digest(*decides, at), 16) % len(_STORY)] for at in range(24)]
        return " " + " and the ".join(words) + "."


def patient(**ills: Any) -> Provider:
    """Return a provider with these ills; other keywords are settings of the provider."""
    of_ills = {each.name for each in fields(Ills)}
    sick = Ills(**{name: value for name, value in ills.items() if name in of_ills})
    model = ToyModel(sick)
    settings = {name: value for name, value in ills.items() if name not in of_ills}
    provider = Provider(
        **{"auditor": model, "target": model, **settings},
        ignore_stops=sick.ignores_stop,
        amend=lambda ask, reply: _amend(sick, ask, reply),
    )
    if sick.refuses_json:
        provider.fail("400", api="chat", times=None, when=lambda body: "response_format" in body)
    return provider


def count(ills: Ills, prompt: str) -> int:
    """Count the tokens of a raw prompt as the model gets it."""
    if ills.drops_specials:
        prompt = re.sub(_SPECIAL, "", prompt)
    if ills.adds_bos:
        prompt = _BOS + prompt
    if ills.wraps_prompts:
        prompt = f"{_BOS}<｜User｜>{prompt}<｜Assistant｜>"
    pieces = _PIECES if ills.reads_specials_as_text else f"{_SPECIAL}|{_PIECES}"
    return len(re.findall(pieces, prompt))


def _amend(ills: Ills, ask: Ask, reply: Json) -> Json:
    if "choices" not in reply:
        return reply
    if ask.api == "completions":
        reply["usage"]["prompt_tokens"] = count(ills, ask.prompt)
    first = reply["choices"][0]
    if ask.body.get("logprobs"):
        first["logprobs"] = {"content": [{"token": "a", "logprob": -0.1}]}
    if ills.serves and not _is_auditors(ask):
        reply["model"] = ills.serves
    if ills.ignores_provider:
        reply["provider"] = NAMES[int(digest(ask.body), 16) % len(NAMES)]
    if ills.hides_usage:
        reply.pop("usage")
    return reply


def _is_auditors(ask: Ask) -> bool:
    return bool(ask.messages) and ask.messages[0].get("role") == "system"
