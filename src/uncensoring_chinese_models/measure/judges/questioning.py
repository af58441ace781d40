"""Put requests to judges through any client: one that sends them, or one that answers from a journal.

The judgements follow from the task, the run and the replies alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models.domain import Json
from uncensoring_chinese_models.errors import ClientError, FatalError, RejectedError
from uncensoring_chinese_models.measure.judges.reply import (
    Judgement,
    UnusableError,
    is_refusal,
    read_judgement,
)
from uncensoring_chinese_models.measure.judges.request import call_for
from uncensoring_chinese_models.models import FORMAT_REFUSED, all_of, spend_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uncensoring_chinese_models.config import JudgeModel
    from uncensoring_chinese_models.domain import Attempt, Call, Reply
    from uncensoring_chinese_models.measure.judges.request import JudgeRequest, Problem
    from uncensoring_chinese_models.models import ModelClient


@dataclass(frozen=True, slots=True)
class JudgeResults:
    """The judgements of every judge for each request, and their cost."""

    judgements: tuple[tuple[Judgement, ...], ...]
    spend: Json


class JudgeTask(NamedTuple):
    """What is judged, and by whom; from it and the replies follow the judgements."""

    head: Json
    """The run, its summary, and the facts file."""
    judges: Sequence[JudgeModel]
    every: bool
    """True if every sample with text is sent."""

    @property
    def run(self) -> str:
        """The name of the run."""
        return str(self.head["run"])

    def as_json(self) -> Json:
        """Return it as the journal holds it; it holds no key."""
        judges = [judge.model_dump(mode="json") for judge in self.judges]
        return {**self.head, "settings": {"judge_model": judges, "every": self.every}}


async def replay_judges(
    task: JudgeTask,
    requests: Sequence[JudgeRequest],
    client: ModelClient,
    attempts: Sequence[Attempt],
) -> JudgeResults:
    """Return the judgements again, with a client that answers from the journal.

    Args:
        task: what was judged, as the journal says.
        requests: one for each sample that was sent.
        client: answers the calls of all judges.
        attempts: those in the journal, which make up the cost.
    """
    clients = [JudgeClient(judge, client, task.run) for judge in task.judges]
    return JudgeResults(await judge_all_samples(clients, requests), spend_of(attempts))


async def judge_all_samples(
    clients: Sequence[JudgeClient], requests: Sequence[JudgeRequest]
) -> tuple[tuple[Judgement, ...], ...]:
    """Return the judgements of every judge for each request."""
    judgements = await all_of(client.judge_all(requests) for client in clients)
    return tuple(zip(*judgements, strict=True))


class JudgeClient:
    """One judge, and whether its requests have a `response_format`."""

    def __init__(self, judge: JudgeModel, client: ModelClient, run: str) -> None:
        self.judge = judge
        self.with_format = True
        self._client = client
        self._run = run

    def call(self, request: JudgeRequest, problem: Problem | None = None, tries: int = 0) -> Call:
        """Return the call that asks about a sample; after an unusable reply, once more."""
        return call_for(
            self.judge,
            request,
            self._run,
            problem=problem,
            with_format=self.with_format,
            tries=tries,
        )

    async def judge_all(self, requests: Sequence[JudgeRequest]) -> list[Judgement]:
        """Send one request first, to learn whether `response_format` works, then all others at once."""
        first = [await self._judge(request, opens=True) for request in requests[:1]]
        judgements = first + await all_of(self._judge(request) for request in requests[1:])
        asked = self.judge.endpoint
        return [
            replace(each, preset=asked.preset_name, base_url=asked.address or None)
            for each in judgements
        ]

    async def _judge(self, request: JudgeRequest, *, opens: bool = False) -> Judgement:
        name, problem, why = self.judge.model, None, ""
        for tries in range(self.judge.re_asks + 1):
            try:
                reply = await self._send(request, problem, tries, opens=opens)
            except FatalError:
                raise
            except ClientError as err:
                return Judgement(name, "failed", re_asked=tries, problem=err.message)
            if is_refusal(reply):
                words = reply.block_message or reply.text
                return Judgement(name, "refused", re_asked=tries, problem=words)
            try:
                return replace(read_judgement(reply, request, name), re_asked=tries)
            except UnusableError as err:
                problem, why = err.problem, str(err)
        return Judgement(name, "invalid", re_asked=self.judge.re_asks, problem=why)

    async def _send(
        self, request: JudgeRequest, problem: Problem | None, tries: int, *, opens: bool
    ) -> Reply:
        """Send the request; if the first one is rejected, send it again without `response_format`."""
        call = replace(self.call(request, problem, tries), opens=opens)
        try:
            return await self._client.complete(call)
        except (RejectedError, FatalError) as err:
            if not (opens and self.with_format and err.status in FORMAT_REFUSED):
                raise
        self.with_format = False
        call = replace(self.call(request, problem, tries), opens=True)
        return await self._client.complete(call)
