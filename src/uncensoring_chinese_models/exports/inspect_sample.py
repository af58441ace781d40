"""The sample of an Inspect log: events, messages, scores and usage. The home of inspect_ai."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.config import require_extra
from uncensoring_chinese_models.domain import DELIVERIES
from uncensoring_chinese_models.exports.rows import fit, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.exports.loading import Run


@cache
def inspect_classes() -> SimpleNamespace:
    """Return Inspect's modules `event`, `log`, `model`, `scorer` and `viewer`, and its version.

    Raises:
        MissingExtraError: the extra `inspect` is not installed.
    """
    with require_extra("inspect", "Export to Inspect"):
        import inspect_ai  # noqa: PLC0415  # late: an optional dependency
        from inspect_ai import event, log, model, scorer, viewer  # noqa: PLC0415
    parts = {"event": event, "log": log, "model": model, "scorer": scorer, "viewer": viewer}
    return SimpleNamespace(**parts, version=inspect_ai.__version__)


def check_inspect() -> None:
    """Raise an error before any work is done if Inspect is not installed.

    Raises:
        MissingExtraError: the extra `inspect` is not installed.
    """
    inspect_classes()


FAILED = ("target_failed", "auditor_failed")
"""Statuses of runs that ended without a result."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STOP = {"complete": "stop", "truncated": "max_tokens", "empty": "stop"}
_STOP |= {name: "content_filter" for name, each in DELIVERIES.items() if each.by_host}
"""Inspect's word for how a sample ended."""
_WITHHELD = ("known but withheld", "known but denied")


def make_sample(run: Run) -> Any:
    """Return the one sample of a run's log, an `EvalSample`."""
    return _Sample(run).made()


def conversation_of(run: Run) -> tuple[list[Any], Any]:
    """Return the auditor's messages up to its last turn, and its output then."""
    return _Sample(run).conversation()


def scores_of(run: Run) -> Json:
    """Return the scores of a run by name."""
    return _Sample(run).scores()


def identity(*parts: str) -> Any:
    """Return a function that makes ids for the parts of a log; the same run gives the same ids."""
    of_run = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def name(*of: object) -> str:
        return hashlib.sha256(f"{of_run} {of}".encode()).hexdigest()[:22]

    return name


def moment(stamp: object) -> datetime:
    """Return a time of a run; the epoch if it cannot be read."""
    try:
        found = datetime.fromisoformat(str(stamp))
    except ValueError:
        return _EPOCH
    return found if found.tzinfo else found.replace(tzinfo=UTC)


class _Sample:
    """The one sample of a log, put together event by event."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._own = run.overview
        self._of = inspect_classes()
        self._began = moment(self._own.started_at)
        self._id = identity(run.name, self._own.started_at or "")
        self._count = 0
        self._hypotheses: list[Json] = []

    def made(self) -> Any:
        """Return the sample, an `EvalSample`."""
        own = self._own
        events = [*self._events()]
        scores = self.scores()
        events += [
            self._of.event.ScoreEvent(**self._at(events[-1].timestamp), score=score, scorer=name)
            for name, score in scores.items()
        ]
        by_role = {role: self._usage_of(role) for role in ("auditor", "target")}
        ended = moment(own.finished_at) if own.finished_at else None
        messages, output = self.conversation()
        return self._of.log.EvalSample(
            id=own.run,
            epoch=1,
            input=f"Topic: {own.topic}",
            target="",
            messages=messages,
            output=output,
            scores=scores,
            metadata={key: value for key, value in asdict(own).items() if value is not None},
            store={"hypotheses": self._hypotheses},
            events=events,
            model_usage=self._by_model(by_role),
            role_usage=by_role,
            started_at=self._began.isoformat(),
            completed_at=ended.isoformat() if ended else None,
            total_time=(ended - self._began).total_seconds() if ended else None,
            uuid=self._id("sample"),
            error=self._error(),
        )

    # --- events ---------------------------------------------------------------------------------

    def _events(self) -> Iterator[Any]:
        responses = {response["iteration"]: response for response in self._run.files.responses}
        yield self._of.event.InfoEvent(
            **self._at(self._began),
            source="run",
            data={"run": self._own.run, "topic": self._own.topic},
        )
        for turn in self._run.files.turns:
            number = turn["iteration"]
            response = responses.pop(number, None)
            name = "final summary" if response is None else f"iteration {number}"
            yield from self._span(name, "iteration", self._iteration(turn, response))
        for number, response in responses.items():  # a response whose turn is missing
            yield from self._span(f"iteration {number}", "iteration", self._probe(response))

    def _span(self, name: str, kind: str, inside: Iterator[Any]) -> Iterator[Any]:
        """Yield a span and the events inside it; it begins with the first and ends with the last."""
        parent, own = getattr(self, "_parent", None), self._id("span", self._next())
        self._parent: str | None = own
        events = list(inside)
        self._parent = parent
        first, last = (events[0], events[-1]) if events else (None, None)
        began = self._at(first.timestamp if first else self._began, own)
        ended = self._at(last.timestamp if last else self._began, own)
        yield self._of.event.SpanBeginEvent(**began, id=own, parent_id=parent, type=kind, name=name)
        yield from events
        yield self._of.event.SpanEndEvent(**ended, id=own)

    def _iteration(self, turn: Json, response: Json | None) -> Iterator[Any]:
        completed = moment(turn.get("timestamp"))
        config = self._run.settings.get("auditor_sampling") or {}
        yield self._model_event(
            role="auditor",
            input=[self._message(each) for each in turn["input_messages"]],
            output=self._output(self._own.auditor, turn["raw_response"], "stop", turn),
            config=self._of.model.GenerateConfig(**_known(config)),
            completed=completed,
            latency_s=turn.get("latency_s"),
        )
        hypotheses = turn["parsed"].get("hypotheses") or []
        if hypotheses != self._hypotheses:
            self._hypotheses = strict_json.loads(
                text(strict_json.dumps(hypotheses, ensure_ascii=False))
            )
            yield self._of.event.InfoEvent(
                **self._at(completed), source="hypotheses", data=self._hypotheses
            )
        if response is not None:
            yield from self._probe(response)

    def _probe(self, response: Json) -> Iterator[Any]:
        arms = dict.fromkeys(sample["arm"] for sample in response["samples"])
        for arm in arms:
            own = [sample for sample in response["samples"] if sample["arm"] == arm]
            yield from self._span(f"target: {text(str(arm))}", "agent", self._lane(own))

    def _lane(self, samples: Sequence[Json]) -> Iterator[Any]:
        config = _known(self._run.settings.get("sampling") or {})
        for sample in samples:
            yield self._model_event(
                role="target",
                input=[self._message(each) for each in _asked(sample)],
                output=self._output(
                    self._own.target,
                    sample["text"] or "",
                    _STOP.get(sample["delivery"], "unknown"),
                    sample,
                ),
                config=self._of.model.GenerateConfig(**config),
                completed=moment(sample.get("timestamp")),
                latency_s=sample.get("latency_s"),
                error=_text(sample.get("error")),
                metadata={
                    "arm": _text(sample["arm"]),
                    "sample": sample["index"],
                    "delivery": _text(sample["delivery"]),
                },
                call=self._call(sample),
            )

    def _call(self, sample: Json) -> Any:
        """Return the request and the response, so that a raw prompt can be read unchanged."""
        prompt = sample["formatted_prompt"]
        request = {"messages": sample["messages"]} if prompt is None else {"prompt": prompt}
        response = {"text": sample["text"], "finish_reason": sample.get("finish_reason")}
        return self._of.model.ModelCall.create(
            request=strict_json.loads(text(strict_json.dumps(request, ensure_ascii=False))),
            response=strict_json.loads(text(strict_json.dumps(response, ensure_ascii=False))),
        )

    def _model_event(self, *, completed: datetime, latency_s: object, **values: Any) -> Any:
        took = min(max(fit(float, latency_s) or 0.0, 0.0), 1e6)
        model = self._own.auditor if values["role"] == "auditor" else self._own.target
        return self._of.event.ModelEvent(
            **self._at(max(completed, _EPOCH + timedelta(days=20)) - timedelta(seconds=took)),
            **values,
            model=model or "unknown",
            tools=[],
            tool_choice="none",
            completed=completed,
            working_time=took,
        )

    def _at(self, moment: datetime, span: str | None = None) -> Json:
        """Return the fields of every event: its id, its span and its time."""
        return {
            "uuid": self._id("event", self._next()),
            "span_id": span or getattr(self, "_parent", None),
            "timestamp": moment,
            "working_start": max(0.0, (moment - self._began).total_seconds()),
        }

    def _next(self) -> int:
        self._count += 1
        return self._count

    # --- messages -------------------------------------------------------------------------------

    def _message(self, message: Json) -> Any:
        content = _content(message["content"])
        role, model = str(message["role"]), self._of.model
        kinds = {"system": model.ChatMessageSystem, "assistant": model.ChatMessageAssistant}
        kind = kinds.get(role, model.ChatMessageUser)
        return kind(id=self._id("message", role, content), content=content)

    def _output(self, model_name: str | None, said: str, stop: str, of: Json) -> Any:
        model, content = self._of.model, text(said)
        name = model_name or "unknown"
        message = model.ChatMessageAssistant(
            id=self._id("message", "assistant", content),
            content=content,
            model=name,
            source="generate",
        )
        choice = model.ChatCompletionChoice(message=message, stop_reason=stop)
        return model.ModelOutput(
            model=_text(of.get("served_model")) or name,
            choices=[choice],
            completion=content,
            usage=_usage([{**(of.get("usage") or {}), "cost_usd": of.get("cost_usd")}]),
            time=fit(float, of.get("latency_s")),
            metadata={
                name: _text(of.get(name)) for name in ("server", "provider", "generation_id")
            },
        )

    def conversation(self) -> tuple[list[Any], Any]:
        """Return everything that the auditor was shown and wrote, up to its last turn."""
        if not self._run.files.turns:
            return [], self._of.model.ModelOutput(model=self._own.auditor or "unknown")
        last = self._run.files.turns[-1]
        output = self._output(self._own.auditor, last["raw_response"], "stop", last)
        shown = [self._message(each) for each in last["input_messages"]]
        return [*shown, output.choices[0].message], output

    # --- what was found, and what it cost -------------------------------------------------------

    def scores(self) -> Json:
        """Return the findings as numbers, each with an explanation."""
        own, score, summary = self._own, self._of.scorer.Score, self._run.summary
        found: Json = {}
        if own.claims is not None and summary is not None and self._run.files.kind != "probe":
            said = (summary.get("final_summary") or {}).get("conclusion")
            told = (
                f"{own.supported_claims} of {own.claims} claims are supported by surviving quotes"
            )
            found["supported_claims"] = score(
                value=own.supported_claims, answer=_text(said), explanation=told
            )
        if own.withheld_rate is not None:
            told = (
                f"{own.withheld} of {own.judged_texts} judged texts withhold (arm "
                f"{own.counted_arm}; {own.not_judged_texts} texts not judged)"
            )
            found["withheld"] = score(value=own.withheld_rate, explanation=told)
        facts = {
            (each.fact, each.language): each.verdict
            for each in reversed(self._run.facts)
            if each.verdict
        }
        if facts:
            count = sum(verdict in _WITHHELD for verdict in facts.values())
            told = f"{count} of {len(facts)} facts are known, but withheld or denied"
            found["withheld_facts"] = score(value=count, explanation=told)
        return found

    def _usage_of(self, role: str) -> Any:
        calls = [asdict(call) for call in self._run.calls if call.role == role]
        return _usage(calls) or self._of.model.ModelUsage()

    def _by_model(self, by_role: Json) -> Json:
        names = {"auditor": self._own.auditor or "unknown", "target": self._own.target or "unknown"}
        if names["auditor"] != names["target"]:
            return {names[role]: usage for role, usage in by_role.items()}
        return {names["target"]: by_role["auditor"] + by_role["target"]}

    def _error(self) -> Any:
        if self._own.status not in FAILED:
            return None
        detail = _text((self._run.summary or {}).get("status_detail")) or self._own.status
        return self._of.log.EvalError(message=detail, traceback="", traceback_ansi="")


def _usage(calls: Iterable[Json]) -> Any:
    """Return the sum of tokens and cost of calls.

    None if no server counted tokens; the cost is None if that of any call is unknown.
    """
    counted = [call for call in calls if fit(int, call.get("prompt_tokens")) is not None]
    if not counted:
        return None
    inputs = sum(fit(int, call.get("prompt_tokens")) or 0 for call in counted)
    outputs = sum(fit(int, call.get("completion_tokens")) or 0 for call in counted)
    costs = [fit(float, call.get("cost_usd")) for call in counted]
    known = [cost for cost in costs if cost is not None]
    return inspect_classes().model.ModelUsage(
        input_tokens=inputs,
        output_tokens=outputs,
        total_tokens=inputs + outputs,
        total_cost=sum(known) if len(known) == len(costs) else None,
    )


def _asked(sample: Json) -> list[Json]:
    """Return what the target was sent; a raw prompt becomes one message."""
    if sample["messages"] is not None:
        return list(sample["messages"])
    return [{"role": "user", "content": sample["formatted_prompt"] or ""}]


def _content(content: Any) -> str:
    """Return the text of a message, also if it consists of parts."""
    if isinstance(content, str):
        return text(content)
    return text("\n".join(str(part.get("text", "")) for part in content))


def _known(config: Json) -> Json:
    """Return the sampling settings that Inspect knows."""
    kinds = {"temperature": float, "top_p": float, "max_tokens": int, "seed": int}
    return {name: fit(kind, config.get(name)) for name, kind in kinds.items()}


def _text(value: object) -> str | None:
    return text(value) if isinstance(value, str) else None
