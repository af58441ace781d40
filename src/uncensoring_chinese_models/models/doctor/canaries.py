"""What the doctor tests (an endpoint, or one arm of the target), what it sends, what it finds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from uncensoring_chinese_models.domain import ARMS, RAW_ARM, Call, CallKey, Reply
from uncensoring_chinese_models.errors import ClientError, RejectedError
from uncensoring_chinese_models.models.wire import FORMAT_REFUSED

if TYPE_CHECKING:
    from uncensoring_chinese_models.config import AuditConfig, Endpoint
    from uncensoring_chinese_models.domain import Api, Arm, Json, Price, Role
    from uncensoring_chinese_models.models.sampling import Sampler
    from uncensoring_chinese_models.models.templates import ChatTemplate

CanaryVerdict = Literal["yes", "no", "unknown"]
MAX_TOKENS = 16
"""The most tokens that one canary may ask for."""


@dataclass(frozen=True, slots=True)
class CheckedEndpoint:
    """The endpoint of the auditor or the target, or one arm of the target, and how to send it a canary."""

    side: Role
    model: str
    endpoint: Endpoint
    config: AuditConfig
    price: Price | None
    sampler: Sampler
    arm: Arm | None = None

    @property
    def can_be_asked(self) -> bool:
        """False for a built-in auditor, which is not a model and answers no canary."""
        return self.endpoint.preset_name != "builtin"

    @property
    def api(self) -> Api:
        """The API that the canaries are sent through."""
        return "chat" if self.arm is None else self._api_of(self.arm)

    @property
    def template(self) -> ChatTemplate | None:
        """The chat template of this arm's prompts, or None if it uses none."""
        if self.arm is None or self.api == "chat" or ARMS[self.arm].template == "never":
            return None
        return self.sampler.template

    def named(self, name: str) -> str:
        """Return the name of a canary that only this arm uses."""
        return f"{self.arm}_{name}"

    def shared(self, name: str) -> str:
        """Return the name of a canary that all arms behind the same API share."""
        return f"{self.api}_{name}"

    def ask_auditor(self, name: str, messages: list[Json], **changes: object) -> Call:
        """Return a canary for the auditor."""
        body: Json = {"model": self.model, "messages": messages}
        body["temperature"] = self.config.auditor_sampling.temperature
        body |= self.endpoint.traits.chat_body | self.endpoint.extra_body
        body["max_tokens"] = MAX_TOKENS
        return Call(CallKey(0, "auditor", "doctor", arm=name), "chat", body | changes)

    def ask_raw(self, name: str, prompt: str) -> Call:
        """Return a canary with a raw prompt, of which only the token count matters."""
        return self._ask(RAW_ARM, name, prompt, None, max_tokens=1)

    def ask(self, name: str, probe: str, question: str, **changes: object) -> Call:
        """Return a canary that is sent as this arm's samples are."""
        return self._ask(self.arm or RAW_ARM, name, probe, question, **changes)

    def ask_shared(self, name: str, probe: str, question: str, **changes: object) -> Call:
        """Return a canary for the API, sent as the samples of its first arm are."""
        first = next(arm for arm in self.config.sampling.arms if self._api_of(arm) == self.api)
        return self._ask(first, self.shared(name), probe, question, **changes)

    def _ask(
        self, arm: Arm, name: str, probe: str, question: str | None, **changes: object
    ) -> Call:
        """Return the request that the audit would send, with the changes of the canary."""
        planned = self.sampler.plan_one(
            CallKey(0, "target", "sample", 0, arm), probe, question
        ).call
        body = {key: planned.body[key] for key in planned.body if key not in ("stop", "seed")}
        body |= {"max_tokens": MAX_TOKENS, "temperature": 0.0}
        return Call(CallKey(0, "target", "doctor", arm=name), planned.api, body | changes)

    def _api_of(self, arm: Arm) -> Api:
        by_setting = ARMS[arm].template == "by_setting"
        by_chat = by_setting and self.config.sampling.assistant_via == "chat"
        return "chat" if by_chat else "completions"


Results = Mapping[str, Reply | ClientError]
"""The replies and errors of one side's canaries, by the canary's name."""


@dataclass(frozen=True, slots=True)
class CanaryReplies:
    """The replies to one side's canaries, as the checks of one endpoint or arm read them."""

    checked: CheckedEndpoint
    results: Results

    def reply(self, name: str) -> Reply | None:
        """Return the model's reply to a canary; None if there is none, or the host blocked it."""
        result = self.results.get(name)
        is_models = isinstance(result, Reply) and result.block is None
        return result if is_models and isinstance(result, Reply) else None

    def text(self, name: str) -> str:
        """Return the text of the reply; empty if there is none."""
        reply = self.reply(name)
        return "" if reply is None else reply.text or ""

    def prompt_tokens(self, name: str) -> int | None:
        """Return the number of prompt tokens that the server reports."""
        reply = self.reply(name)
        return None if reply is None else reply.usage.prompt_tokens

    def problem(self, *names: str) -> Json | None:
        """Return why one of these canaries has no reply from the model, if one has none."""
        for name in names:
            if self.reply(name) is None:
                result = self.results.get(name)
                if isinstance(result, ClientError):
                    return {"status": result.status, "error": result.message}
                told = None if result is None else f"the host blocked it: {result.block_message}"
                return {"status": None, "error": told or "nothing was sent"}
        return None

    def unanswered(self, names: Collection[str]) -> str | None:
        """Return how many of these canaries have no answer from the model, and why; None if all have."""
        lacking = [name for name in names if self.reply(name) is None]
        if not lacking:
            return None
        which = f" to {len(lacking)} of {len(names)} canaries"
        error = (self.problem(*lacking) or {})["error"]
        return f"no answer{which if len(lacking) < len(names) else ''} ({error})"

    def is_rejected(self, name: str) -> bool:
        """Return whether the server refused the canary for good."""
        return isinstance(self.results.get(name), RejectedError)

    def refuses_field(self, name: str) -> bool:
        """Return whether the server refused a canary, but answered one without its extra field."""
        result = self.results.get(name)
        without = "plain" if self.checked.arm is None else self.checked.named("open")
        is_refused = isinstance(result, RejectedError) and result.status in FORMAT_REFUSED
        return is_refused and self.reply(without) is not None


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """The verdict of one check, and the numbers behind it."""

    verdict: CanaryVerdict
    numbers: Json
    meaning: str | None = None
    """What it means, if the check's usual words for this verdict do not fit."""


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One thing that an audit relies on, and how it is tested."""

    name: str
    applies: Callable[[CheckedEndpoint], bool]
    judge: Callable[[CanaryReplies], CheckFinding]
    meanings: Mapping[CanaryVerdict, str]
    """What each verdict means for the audit."""
    plan: Callable[[CheckedEndpoint], list[Call]] = lambda checked: []  # noqa: ARG005
    """The canaries; checks may share some."""
    then: Callable[[CanaryReplies], list[Call]] | None = None
    """Follow-up canaries that depend on the first replies: at most as many, and hardly larger."""
    alone: bool = False
    """Whether its canaries are sent one at a time, while no other call is under way."""
    needed: bool = False
    """Whether the audit needs a yes."""
    reads_all: bool = False
    """Whether it reads every reply of its side, so that one missing reply does not decide it."""

    def following(self, canaries: CanaryReplies) -> list[Call]:
        """Return the follow-up canaries that depend on the first replies."""
        return [] if self.then is None else self.then(canaries)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check of one endpoint or arm, as it is stored."""

    side: Role
    arm: str | None
    check: str
    verdict: CanaryVerdict
    numbers: Json
    meaning: str
    needed: bool
    canaries: tuple[str, ...]
    """The calls in the journal that it uses; empty if it uses all of its side."""

    def as_json(self) -> Json:
        """Return the JSON form."""
        return {**asdict(self), "canaries": list(self.canaries)}

    @property
    def where(self) -> str:
        """The endpoint, arm and check: ``target/user_persona/stop``."""
        return "/".join(filter(None, (self.side, self.arm, self.check)))
