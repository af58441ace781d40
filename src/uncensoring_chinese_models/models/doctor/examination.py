"""The examination: which subjects a config has, what they are sent, and the verdicts.

Deterministic given the replies, like the audit: run again over the same journal, it sends nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.errors import FailedCheckError, FatalError
from uncensoring_chinese_models.models.budget import worst_case
from uncensoring_chinese_models.models.doctor.opening import Aftermath, explained, knock
from uncensoring_chinese_models.models.doctor.subject import Diagnosis, Seen, Subject
from uncensoring_chinese_models.models.doctor.table import CHECKS
from uncensoring_chinese_models.models.doctor.wording import in_words
from uncensoring_chinese_models.models.layers import settled, together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.domain import Call, Price, Reply, Reservation, Role
    from uncensoring_chinese_models.errors import ClientError
    from uncensoring_chinese_models.models.doctor.subject import Check, Judgement
    from uncensoring_chinese_models.models.protocols import ModelClient
    from uncensoring_chinese_models.models.sampling import Sampler

OF_A_RUN = Aftermath("the run is kept", "resume it", ", or start a new run if the name was wrong")
_Results = dict[str, "Reply | ClientError"]
_Examined = list[tuple["Subject", "Check"]]


def subjects_of(
    config: AuditConfig, sampler: Sampler, prices: Mapping[str, Price | None]
) -> list[Subject]:
    """Return both sides, and each arm of the target."""
    auditor = Subject(
        side="auditor",
        model=config.auditing_model,
        endpoint=config.auditing_endpoint,
        config=config,
        price=prices["auditor"],
        sampler=sampler,
    )

    def target(arm: str | None) -> Subject:
        return Subject(
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
    subjects: Sequence[Subject],
    answer: Callable[[Call], Reply | ClientError | None] = lambda call: None,  # noqa: ARG005
) -> list[Reservation]:
    """Return the most that each canary without an answer can cost.

    What follows from one that is still to be sent is counted as large.
    """
    bounds: dict[str, Reservation] = {}
    for subject, check in _examined(subjects):
        for call in check.plan(subject):
            held = answer(call)
            if held is None:
                bounds[str(call.key)] = worst_case(call, subject.price)
                if check.then is not None:
                    bounds[f"after {call.key}"] = bounds[str(call.key)]
                continue
            for later in check.following(Seen(subject, {call.key.arm: held})):
                if answer(later) is None:
                    bounds[str(later.key)] = worst_case(later, subject.price)
    return list(bounds.values())


async def examine(
    subjects: Sequence[Subject],
    clients: Mapping[Role, ModelClient],
    after: Aftermath = OF_A_RUN,
) -> list[Diagnosis]:
    """Send the canaries and judge what they bring.

    Raises:
        FatalError: a side takes no call; the other canaries are left unsent.
    """
    results: dict[Role, _Results] = {"auditor": {}, "target": {}}
    sides = {role: next(each for each in subjects if each.side == role) for role in clients}
    for send in (_open, _send):
        for role, client in clients.items():
            own = [pair for pair in _examined(subjects) if pair[0].side == role]
            try:
                await send(client, own, results[role])
            except FatalError as err:
                raise explained(err, sides[role], after) from None
    return [
        diagnose(check, Seen(subject, results[subject.side]))
        for subject, check in _examined(subjects)
    ]


async def _open(client: ModelClient, own: _Examined, side: _Results) -> None:  # noqa: ARG001
    """Send the first canary of a side alone; its reply is asked of the journal once more."""
    await knock(client, _planned(pair for pair in own if not pair[1].alone).values())


async def _send(client: ModelClient, own: _Examined, side: _Results) -> None:
    """Send all canaries of a side."""
    at_once = _planned(pair for pair in own if not pair[1].alone)
    replies = await together(client, at_once.values())
    side |= zip(at_once, replies, strict=True)
    one_by_one = _planned(pair for pair in own if pair[1].alone)
    for subject, check in own:
        following = check.following(Seen(subject, side))
        one_by_one |= {call.key.arm: call for call in following}
    for name, call in one_by_one.items():
        side[name] = await settled(client, call)


def refuse_failed(diagnoses: Iterable[Diagnosis]) -> None:
    """Refuse an audit of which an arm cannot be trusted.

    Raises:
        FailedCheckError: a check that the audit depends on said no.
    """
    failed = [each for each in diagnoses if each.needed and each.verdict == "no"]
    if not failed:
        return
    first, more = failed[0], len(failed) - 1
    numbers = in_words(first)
    others = f" (and {more} more, in doctor.json)" * bool(more)
    raise FailedCheckError(
        f"The check {first.where} says no ({numbers}): {first.meaning}{others}; no probe "
        "was sent, and only the canaries were paid for. Mend the endpoint or leave the arm out "
        "and start a new run, or resume this one with doctor=report or doctor=off; if it had ended "
        "before, that brings its summary and report back."
    )


def _examined(subjects: Iterable[Subject]) -> Iterator[tuple[Subject, Check]]:
    for subject in subjects:
        for check in CHECKS:
            if check.applies(subject):
                yield subject, check


def _planned(examined: Iterable[tuple[Subject, Check]]) -> dict[str, Call]:
    """Return the canaries by name, each once however many checks read it."""
    calls = (call for subject, check in examined for call in check.plan(subject))
    return {call.key.arm: call for call in calls}


def _meaning(check: Check, judged: Judgement, seen: Seen, calls: Sequence[Call]) -> str:
    """Say what a verdict means; where a canary brought nothing, no word of what it showed."""
    told = judged.meaning or check.meanings[judged.verdict]
    if judged.verdict != "unknown":
        return told
    if not check.reads_all:
        return seen.unanswered([call.key.arm for call in calls]) or told
    is_silent = not any(map(seen.reply, seen.results))
    return (is_silent and seen.unanswered(seen.results)) or told


def diagnose(check: Check, seen: Seen) -> Diagnosis:
    """Judge one check of one subject."""
    judged, subject = check.judge(seen), seen.subject
    planned = [*check.plan(subject), *check.following(seen)]
    calls = list({call.key: call for call in planned}.values())
    return Diagnosis(
        side=subject.side,
        arm=subject.arm,
        check=check.name,
        verdict=judged.verdict,
        numbers=judged.numbers,
        meaning=_meaning(check, judged, seen, calls),
        needed=check.needed,
        canaries=tuple(str(call.key) for call in calls),
    )
