"""What is examined (a side, or one arm of the target), what it is asked, and what is found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from uncensoring_chinese_models.domain import Call, CallKey, Reply
from uncensoring_chinese_models.errors import ClientError, RejectedError

if TYPE_CHECKING:
    from uncensoring_chinese_models.config import AuditConfig, Endpoint
    from uncensoring_chinese_models.domain import Api, Arm, Json, Price, Role
    from uncensoring_chinese_models.models.sampling import Sampler
    from uncensoring_chinese_models.models.templates import ChatTemplate

CanaryVerdict = Literal["yes", "no", "unknown"]
MOST_TOKENS = 16
"""The most that one canary may make a model write."""
_NOT_TAKEN = frozenset({400, 404, 415, 422})
"""Statuses with which servers turn down a field that they do not know."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One side, or one arm of the target, and all that is needed to ask it something."""

    side: Role
    model: str
    endpoint: Endpoint
    config: AuditConfig
    price: Price | None
    sampler: Sampler
    arm: Arm | None = None

    @property
    def can_be_asked(self) -> bool:
        """False for rules in this process, which answer nothing but an audit."""
        return self.endpoint.preset_name != "builtin"

    @property
    def api(self) -> Api:
        """Which API the subject is reached through."""
        return "chat" if self.arm is None else self._api_of(self.arm)

    @property
    def template(self) -> ChatTemplate | None:
        """The template that this arm's prompts are written with."""
        return None if self.api == "chat" or self.arm == "raw" else self.sampler.template

    def named(self, name: str) -> str:
        """Name a canary that is this arm's own."""
        return f"{self.arm}_{name}"

    def shared(self, name: str) -> str:
        """Name a canary that stands for all arms behind the same API."""
        return f"{self.api}_{name}"

    def ask_auditor(self, name: str, messages: list[Json], **changes: object) -> Call:
        """Return a canary for the auditor."""
        body: Json = {"model": self.model, "messages": messages}
        body["temperature"] = self.config.auditor_sampling.temperature
        body |= self.endpoint.traits.chat_body | self.endpoint.extra_body
        body["max_tokens"] = MOST_TOKENS
        return Call(CallKey(0, "auditor", "doctor", arm=name), "chat", body | changes)

    def ask_raw(self, name: str, prompt: str) -> Call:
        """Return a canary whose prompt is sent as it stands, to be counted rather than answered."""
        return self._ask("raw", name, prompt, None, max_tokens=1)

    def ask(self, name: str, probe: str, question: str, **changes: object) -> Call:
        """Return a canary that goes the way of this arm's samples."""
        return self._ask(self.arm or "raw", name, probe, question, **changes)

    def ask_shared(self, name: str, probe: str, question: str, **changes: object) -> Call:
        """Return a canary for the API, which goes the way of its first arm."""
        first = next(arm for arm in self.config.sampling.arms if self._api_of(arm) == self.api)
        return self._ask(first, self.shared(name), probe, question, **changes)

    def _ask(
        self, arm: Arm, name: str, probe: str, question: str | None, **changes: object
    ) -> Call:
        """Write the request as the audit would, but for what the canary is about."""
        planned = self.sampler.plan_one(
            CallKey(0, "target", "sample", 0, arm), probe, question
        ).call
        body = {key: planned.body[key] for key in planned.body if key not in ("stop", "seed")}
        body |= {"max_tokens": MOST_TOKENS, "temperature": 0.0}
        return Call(CallKey(0, "target", "doctor", arm=name), planned.api, body | changes)

    def _api_of(self, arm: Arm) -> Api:
        by_chat = arm == "assistant" and self.config.sampling.assistant_via == "chat"
        return "chat" if by_chat else "completions"


Results = Mapping[str, Reply | ClientError]
"""What became of the canaries of one side, by their names."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A subject, and what the canaries of its side brought."""

    subject: Subject
    results: Results

    def reply(self, name: str) -> Reply | None:
        """Return the reply to a canary, if one came that is the model's."""
        result = self.results.get(name)
        is_models = isinstance(result, Reply) and result.host_refusal is None
        return result if is_models and isinstance(result, Reply) else None

    def text(self, name: str) -> str:
        """Return what the model wrote; nothing where it did not."""
        reply = self.reply(name)
        return "" if reply is None else reply.text or ""

    def prompt_tokens(self, name: str) -> int | None:
        """Return how long the server says that the prompt was."""
        reply = self.reply(name)
        return None if reply is None else reply.usage.prompt_tokens

    def problem(self, *names: str) -> Json | None:
        """Return why one of these canaries has no reply of the model's, if so."""
        for name in names:
            if self.reply(name) is None:
                result = self.results.get(name)
                if isinstance(result, ClientError):
                    return {"status": result.status, "error": result.message}
                told = None if result is None else f"the host blocked it: {result.host_refusal}"
                return {"status": None, "error": told or "nothing was sent"}
        return None

    def unanswered(self, names: Collection[str]) -> str | None:
        """Say to how many of these canaries no answer of the model's came, and why, if so."""
        lacking = [name for name in names if self.reply(name) is None]
        if not lacking:
            return None
        which = f" to {len(lacking)} of {len(names)} canaries"
        error = (self.problem(*lacking) or {})["error"]
        return f"no answer came{which if len(lacking) < len(names) else ''} ({error})"

    def is_rejected(self, name: str) -> bool:
        """Tell whether the server would refuse the same request again."""
        return isinstance(self.results.get(name), RejectedError)

    def refuses_field(self, name: str) -> bool:
        """Tell whether a canary was turned down, and one without its field was not."""
        result = self.results.get(name)
        without = "plain" if self.subject.arm is None else self.subject.named("open")
        is_refused = isinstance(result, RejectedError) and result.status in _NOT_TAKEN
        return is_refused and self.reply(without) is not None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one check says, and the numbers behind it."""

    verdict: CanaryVerdict
    numbers: Json
    meaning: str | None = None
    """What it means, where the check's own words for this verdict do not fit."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that an audit takes for granted, and how it is found out."""

    name: str
    applies: Callable[[Subject], bool]
    judge: Callable[[Seen], Judgement]
    meanings: Mapping[CanaryVerdict, str]
    """What each verdict means for the audit."""
    plan: Callable[[Subject], list[Call]] = lambda subject: []  # noqa: ARG005
    """The canaries; checks may share some."""
    then: Callable[[Seen], list[Call]] | None = None
    """Canaries that follow from what the first ones brought: no more, and hardly larger."""
    alone: bool = False
    """Whether its canaries are sent one at a time, with nothing else under way."""
    needed: bool = False
    """Whether an arm cannot be trusted without it."""
    reads_all: bool = False
    """Whether it looks at every reply of its side, so that one that is lacking decides nothing."""

    def following(self, seen: Seen) -> list[Call]:
        """Return the canaries that follow from what the first ones brought."""
        return [] if self.then is None else self.then(seen)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One check of one subject, as it is stored."""

    side: Role
    arm: str | None
    check: str
    verdict: CanaryVerdict
    numbers: Json
    meaning: str
    needed: bool
    canaries: tuple[str, ...]
    """The calls in the journal that it rests on; empty where it rests on all of its side."""

    def as_json(self) -> Json:
        """Return it as files and programs get it."""
        return {**asdict(self), "canaries": list(self.canaries)}

    @property
    def where(self) -> str:
        """Name the subject and the check: ``target/user_persona/stop``."""
        return "/".join(filter(None, (self.side, self.arm, self.check)))
