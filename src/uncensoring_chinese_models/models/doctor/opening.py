"""The first canary of a side, which goes alone: what ends an examination before it begins.

A server that is not there, a refused key or a model that is not found would fail every canary
alike, and no check could say anything of the endpoint. So the others wait for the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uncensoring_chinese_models.errors import UNCONNECTABLE, UNREACHABLE, FatalError
from uncensoring_chinese_models.models.layers import settled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uncensoring_chinese_models.domain import Call
    from uncensoring_chinese_models.models.doctor.subject import Subject
    from uncensoring_chinese_models.models.protocols import ModelClient

_KEYS = {"auditor": "auditing_endpoint", "target": "audited_endpoint"}
_REFUSED = {
    401: "refuses the call for want of a valid key",
    402: "takes no call without credit",
    403: "forbids the call",
}
_CURES = {
    402: "add credit or raise the limit of the key",
    403: "check what the key permits",
}


@dataclass(frozen=True, slots=True)
class Aftermath:
    """How the sentence about a side that takes no call ends."""

    kept: str
    then: str
    if_misnamed: str
    """What to do where another name than the config's is right."""


async def knock(client: ModelClient, calls: Iterable[Call]) -> None:
    """Send the first call alone; where its API may be all that is missing, that of the other API.

    Raises:
        FatalError: every further call would fail alike; the journal takes none of it for an answer.
    """
    first: dict[str, Call] = {}
    for call in calls:
        first.setdefault(call.api, call)
    doors = list(first.values())
    for left, call in enumerate(doors, start=1 - len(doors)):
        try:
            await settled(client, replace(call, opens=True))
        except FatalError as err:
            if not left or _is_unreached(err) or err.status in _REFUSED:
                raise
        else:
            return


def explained(err: FatalError, subject: Subject, after: Aftermath) -> FatalError:
    """Return the same error in a sentence: what happened, to whom, what is kept, what to do."""
    address = subject.endpoint.address
    where = f" at {address}" if address else ", which this program serves,"
    message = (
        f"The {subject.side} {subject.model}{where} {_what(err)} ({err.message}), so nothing more "
        f"was sent to it; {after.kept}; {_advice(err, subject, after)}."
    )
    return FatalError(message, status=err.status, error_type=err.error_type)


def _is_unreached(err: FatalError) -> bool:
    return err.error_type in (UNREACHABLE, UNCONNECTABLE)


def _what(err: FatalError) -> str:
    if _is_unreached(err):
        return "cannot be reached"
    if 300 <= (err.status or 0) < 400:
        return "sends us elsewhere"
    return _REFUSED.get(err.status or 0, "does not find the model or the page")


def _advice(err: FatalError, subject: Subject, after: Aftermath) -> str:
    endpoint, key, then = subject.endpoint, _KEYS[subject.side], after.then
    if endpoint.traits.is_ours:
        return then
    if _is_unreached(err):
        return f"start the server or mend {key}.base_url, then {then}"
    if err.status == 401:
        given = f"check the key in {endpoint.key_variable}"
        named = f"name the variable of a key in {key}.api_key_env"
        return f"{given if endpoint.key_variable else named}, then {then}"
    if err.status in _CURES:
        return f"{_CURES[err.status]}, then {then}"
    raw = ", and that the server offers raw completions" if _needs_raw(subject) else ""
    return f"check the model's name and {key}.base_url{raw}, then {then}{after.if_misnamed}"


def _needs_raw(subject: Subject) -> bool:
    sampling = subject.config.sampling
    only_chat = sampling.assistant_via == "chat" and set(sampling.arms) == {"assistant"}
    return subject.side == "target" and not only_chat
