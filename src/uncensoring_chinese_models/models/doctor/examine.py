"""Send the canaries of a config's endpoints, judge the replies, and refuse what fails.

Deterministic given the replies, like the audit: run again over the same journal, it sends nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uncensoring_chinese_models.domain import ARMS
from uncensoring_chinese_models.errors import (
    UNCONNECTABLE,
    UNREACHABLE,
    FailedCheckError,
    FatalError,
)
from uncensoring_chinese_models.models.budget import worst_case
from uncensoring_chinese_models.models.doctor.canaries import (
    CanaryReplies,
    CheckedEndpoint,
    CheckResult,
)
from uncensoring_chinese_models.models.doctor.screen import in_words
from uncensoring_chinese_models.models.doctor.table import CHECKS
from uncensoring_chinese_models.models.layers import settled, together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.domain import Call, Price, Reply, Reservation, Role
    from uncensoring_chinese_models.errors import ClientError
    from uncensoring_chinese_models.models.doctor.canaries import CheckFinding, DoctorCheck
    from uncensoring_chinese_models.models.protocols import ModelClient
    from uncensoring_chinese_models.models.sampling import Sampler

_KEYS = {"auditor": "auditing_endpoint", "target": "audited_endpoint"}
_REFUSED = {
    401: "refuses the call because the key is missing or invalid",
    402: "refuses the call because the account has no credit",
    403: "forbids the call",
}
_CURES = {
    402: "add credit or raise the limit of the key",
    403: "check what the key permits",
}


@dataclass(frozen=True, slots=True)
class NextSteps:
    """The end of the error message about an endpoint that refuses every call."""

    kept: str
    then: str
    if_misnamed: str
    """What to do if the model name in the config was wrong."""


OF_A_RUN = NextSteps("the run is kept", "resume it", ", or start a new run if the name was wrong")
_Results = dict[str, "Reply | ClientError"]
_Pairs = list[tuple["CheckedEndpoint", "DoctorCheck"]]


def checked_endpoints(
    config: AuditConfig, sampler: Sampler, prices: Mapping[str, Price | None]
) -> list[CheckedEndpoint]:
    """Return the auditor, the target, and each arm of the target."""
    auditor = CheckedEndpoint(
        side="auditor",
        model=config.auditing_model,
        endpoint=config.auditing_endpoint,
        config=config,
        price=prices["auditor"],
        sampler=sampler,
    )

    def target(arm: str | None) -> CheckedEndpoint:
        return CheckedEndpoint(
            side="target",
            model=config.audited_model,
            endpoint=config.audited_endpoint,
            config=config,
            price=prices["target"],
            sampler=sampler,
            arm=arm,  # type: ignore[arg-type]  # from the config
        )

    return [auditor, target(None), *map(target, config.sampling.arms)]


def canary_bounds(
    endpoints: Sequence[CheckedEndpoint],
    answer: Callable[[Call], Reply | ClientError | None] = lambda call: None,  # noqa: ARG005
) -> list[Reservation]:
    """Return the maximum cost of each canary that has no answer yet.

    A follow-up to a canary that is still to be sent is counted at the cost of that canary.
    """
    bounds: dict[str, Reservation] = {}
    for checked, check in _checks_of(endpoints):
        for call in check.plan(checked):
            held = answer(call)
            if held is None:
                bounds[str(call.key)] = worst_case(call, checked.price)
                if check.then is not None:
                    bounds[f"after {call.key}"] = bounds[str(call.key)]
                continue
            for later in check.following(CanaryReplies(checked, {call.key.arm: held})):
                if answer(later) is None:
                    bounds[str(later.key)] = worst_case(later, checked.price)
    return list(bounds.values())


async def examine(
    endpoints: Sequence[CheckedEndpoint],
    clients: Mapping[Role, ModelClient],
    after: NextSteps = OF_A_RUN,
) -> list[CheckResult]:
    """Send the canaries and judge the replies.

    Raises:
        FatalError: an endpoint refuses every call; the other canaries are not sent.
    """
    results: dict[Role, _Results] = {"auditor": {}, "target": {}}
    sides = {role: next(each for each in endpoints if each.side == role) for role in clients}
    for send in (_open, _send):
        for role, client in clients.items():
            own = [pair for pair in _checks_of(endpoints) if pair[0].side == role]
            try:
                await send(client, own, results[role])
            except FatalError as err:
                raise explain(err, sides[role], after) from None
    return [
        judge_check(check, CanaryReplies(checked, results[checked.side]))
        for checked, check in _checks_of(endpoints)
    ]


async def _open(client: ModelClient, own: _Pairs, side: _Results) -> None:  # noqa: ARG001
    """Send the first canary of a side alone; `_send` then reads its reply from the journal."""
    await send_first(client, _planned(pair for pair in own if not pair[1].alone).values())


async def _send(client: ModelClient, own: _Pairs, side: _Results) -> None:
    """Send all canaries of a side."""
    at_once = _planned(pair for pair in own if not pair[1].alone)
    replies = await together(client, at_once.values())
    side |= zip(at_once, replies, strict=True)
    one_by_one = _planned(pair for pair in own if pair[1].alone)
    for checked, check in own:
        following = check.following(CanaryReplies(checked, side))
        one_by_one |= {call.key.arm: call for call in following}
    for name, call in one_by_one.items():
        side[name] = await settled(client, call)


def refuse_failed(results: Iterable[CheckResult]) -> None:
    """Refuse an audit if a check that it needs has failed.

    Raises:
        FailedCheckError: a check that the audit needs said no.
    """
    failed = [each for each in results if each.needed and each.verdict == "no"]
    if not failed:
        return
    first, more = failed[0], len(failed) - 1
    numbers = in_words(first)
    others = f" (and {more} more, in doctor.json)" * bool(more)
    raise FailedCheckError(
        f"The check {first.where} says no ({numbers}): {first.meaning}{others}. No probe was sent; "
        "only the canaries were paid for. Fix the endpoint or remove the arm and start a new run, "
        "or resume this run with doctor=report or doctor=off (if it had ended before, that restores "
        "its summary and report)."
    )


def _checks_of(
    endpoints: Iterable[CheckedEndpoint],
) -> Iterator[tuple[CheckedEndpoint, DoctorCheck]]:
    for checked in endpoints:
        for check in CHECKS:
            if check.applies(checked):
                yield checked, check


def _planned(pairs: Iterable[tuple[CheckedEndpoint, DoctorCheck]]) -> dict[str, Call]:
    """Return the canaries by name, each once even if several checks read it."""
    calls = (call for checked, check in pairs for call in check.plan(checked))
    return {call.key.arm: call for call in calls}


def _meaning(
    check: DoctorCheck, judged: CheckFinding, canaries: CanaryReplies, calls: Sequence[Call]
) -> str:
    """Return what a verdict means; if canaries got no answer, that is the meaning."""
    told = judged.meaning or check.meanings[judged.verdict]
    if judged.verdict != "unknown":
        return told
    if not check.reads_all:
        return canaries.unanswered([call.key.arm for call in calls]) or told
    is_silent = not any(map(canaries.reply, canaries.results))
    return (is_silent and canaries.unanswered(canaries.results)) or told


def judge_check(check: DoctorCheck, canaries: CanaryReplies) -> CheckResult:
    """Judge one check of one endpoint or arm."""
    judged, checked = check.judge(canaries), canaries.checked
    planned = [*check.plan(checked), *check.following(canaries)]
    calls = list({call.key: call for call in planned}.values())
    return CheckResult(
        side=checked.side,
        arm=checked.arm,
        check=check.name,
        verdict=judged.verdict,
        numbers=judged.numbers,
        meaning=_meaning(check, judged, canaries, calls),
        needed=check.needed,
        canaries=tuple(str(call.key) for call in calls),
    )


# --- the first canary of a side -----------------------------------------------------------------


async def send_first(client: ModelClient, calls: Iterable[Call]) -> None:
    """Send the first call alone, then, if its API may be missing, the first call of the other API.

    A server that is down, a refused key or an unknown model would fail every canary in the same
    way, and no check could say anything about the endpoint. So the other canaries wait.

    Raises:
        FatalError: every further call would fail too; the journal stores no answer.
    """
    first: dict[str, Call] = {}
    for call in calls:
        first.setdefault(call.api, call)
    by_api = list(first.values())
    for left, call in enumerate(by_api, start=1 - len(by_api)):
        try:
            await settled(client, replace(call, opens=True))
        except FatalError as err:
            if not left or _is_unreached(err) or err.status in _REFUSED:
                raise
        else:
            return


def explain(err: FatalError, checked: CheckedEndpoint, after: NextSteps) -> FatalError:
    """Return the error with a full message: what happened, where, what is kept, what to do."""
    address = checked.endpoint.address
    where = f" at {address}" if address else ", which this program serves,"
    message = (
        f"The {checked.side} {checked.model}{where} {_what(err)} ({err.message}), so nothing more "
        f"was sent to it; {after.kept}; to continue, {_advice(err, checked, after)}."
    )
    return FatalError(message, status=err.status, error_type=err.error_type)


def _is_unreached(err: FatalError) -> bool:
    return err.error_type in (UNREACHABLE, UNCONNECTABLE)


def _what(err: FatalError) -> str:
    if _is_unreached(err):
        return "cannot be reached"
    if 300 <= (err.status or 0) < 400:
        return "redirects to another address"
    return _REFUSED.get(err.status or 0, "does not find the model or the page")


def _advice(err: FatalError, checked: CheckedEndpoint, after: NextSteps) -> str:
    endpoint, key, then = checked.endpoint, _KEYS[checked.side], after.then
    if endpoint.traits.is_ours:
        return then
    if _is_unreached(err):
        return f"start the server or correct {key}.base_url, then {then}"
    if err.status == 401:
        given = f"check the key in {endpoint.key_variable}"
        named = f"set {key}.api_key_env to the variable that holds the key"
        return f"{given if endpoint.key_variable else named}, then {then}"
    if err.status in _CURES:
        return f"{_CURES[err.status]}, then {then}"
    raw = ", and that the server offers raw completions" if _needs_raw(checked) else ""
    return f"check the model's name and {key}.base_url{raw}, then {then}{after.if_misnamed}"


def _needs_raw(checked: CheckedEndpoint) -> bool:
    sampling = checked.config.sampling
    by_setting = all(ARMS[arm].template == "by_setting" for arm in sampling.arms)
    only_chat = sampling.assistant_via == "chat" and by_setting
    return checked.side == "target" and not only_chat
