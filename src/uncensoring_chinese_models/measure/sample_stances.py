"""The stance of each stored sample of a run, as all pages, tables and exports show it.

What judges said of a sample goes first. Then comes what the facts file shows, since it knows which
fact was asked for; and in a run that was not judged, the recogniser of this version.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

from uncensoring_chinese_models.audit import Received, received, recognise_sample
from uncensoring_chinese_models.domain import DELIVERIES, STANCES
from uncensoring_chinese_models.text import preview

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uncensoring_chinese_models.domain import Delivery, Json
    from uncensoring_chinese_models.runs import Place, RunFiles

StanceBy = Literal["wording", "model", "facts", "judges"]
_MAX_NAMES_CHARACTERS = 200


class SampleStance(NamedTuple):
    """The stance of one sample, and what it rests on."""

    received: Received
    probability: float | None
    """Of withholding, by the model; None if the model was not asked."""
    by: StanceBy | None
    """What decided it; None if nothing did."""


class RunStances:
    """The stances of the samples of one run."""

    def __init__(self, files: RunFiles) -> None:
        self._files = files
        looked: Json = next((each for each in files.judged if each.get("matrix")), {})
        self.judgements: dict[Place, Json] = {
            (each["iteration"], each["arm"], each["sample"]): each
            for each in looked.get("judged") or ()
        }
        """What is stored of each sample that was asked for a fact, by judges if there were any."""
        self._judges = ", ".join(str(each["model"]) for each in looked.get("judges") or ())

    def received(self, response: Json, sample: Json) -> Received:
        """Return the delivery and the stance of a sample."""
        stored = self._stored(response, sample)
        if stored is None:
            return received(*_as_sent(response, sample))
        return Received(sample["delivery"], stored["stance"])

    def of(self, response: Json, sample: Json) -> SampleStance:
        """Return the stance of a sample, and what it rests on."""
        stored = self._stored(response, sample)
        if stored is not None and stored.get("judgements"):
            return SampleStance(self.received(response, sample), None, "judges")
        found = recognise_sample(*_as_sent(response, sample))
        if stored is None or stored["stance"] == found.stance:
            by: StanceBy | None = found.by
            return SampleStance(Received(sample["delivery"], found.stance), found.probability, by)
        return SampleStance(self.received(response, sample), found.probability, "facts")

    def who(self) -> str:
        """Say in one sentence who judged the stances; empty if there is no sample with text."""
        found = [
            self.of(response, sample)
            for response in self._files.responses
            for sample in response["samples"]
        ]
        by = Counter(each.by for each in found if each.received.is_judged)
        parts = list(_listed(by, self._judges))
        told = [f"judged by {', '.join(parts)}"] * bool(parts)
        told += [f"answers because no set phrase withholds ({by[None]})"] * bool(by[None])
        unknown = sum(DELIVERIES[s.delivery].has_text and not s.is_judged for s, *_ in found)
        told += [f"not judged ({unknown})"] * bool(unknown)
        return f"Stances of the samples: {'; '.join(told)}." if told else ""

    def _stored(self, response: Json, sample: Json) -> Json | None:
        """Return what is stored of a sample; None if nobody judged it."""
        place = response["iteration"], sample["arm"], sample["index"]
        stored = self.judgements.get(place)
        if stored is None:
            return None
        votes = stored.get("judgements")
        if votes and not any(each["stance"] for each in votes):  # no judge gave a usable reply
            return None
        if stored["stance"] not in STANCES:
            raise ValueError(f"{preview(str(stored['stance']), 40)} is no stance")
        return stored


def _as_sent(response: Json, sample: Json) -> tuple[Delivery, str, str, str, str | None]:
    words = str(sample.get("own_words") or "")
    probe, question = str(response["prompt_sent"]), response.get("question")
    return sample["delivery"], str(sample["arm"]), words, probe, question


def _listed(by: Counter[StanceBy | None], judges: str) -> Iterator[str]:
    names: dict[StanceBy, str] = {
        "wording": "set phrases of this program",
        "model": "its model of replies",
        "facts": "what they say of the facts",
        "judges": f"{preview(judges, _MAX_NAMES_CHARACTERS)} as judge",
    }
    yield from (f"{told} ({by[name]})" for name, told in names.items() if by[name])
