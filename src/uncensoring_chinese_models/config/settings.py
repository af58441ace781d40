"""Settings: what a config file may say, what it means by default, and what the environment adds.

Where a model is reached is in `endpoints`. Reading the file is `config_file`'s job.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from uncensoring_chinese_models.config.endpoints import Endpoint, Line, Settings, TargetEndpoint
from uncensoring_chinese_models.config.presets import preset_for_model
from uncensoring_chinese_models.domain import Arm, Json, Language, RunKind

MAX_SAMPLES = 64
"""Of one arm of one probe."""


class Sampling(Settings):
    """How the target is sampled."""

    max_tokens: int = Field(default=500, ge=1)
    """Most tokens in one completion."""
    temperature: float = Field(default=0.7, ge=0, le=2)
    """Sampling temperature."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Nucleus sampling; not sent when null."""
    seed: int | None = None
    """Sent with each request as 64 times this plus the sample's index (modulo 2^31), so that runs with other seeds share no draw; not sent when null."""
    stop: list[str] = Field(default_factory=list)
    """Stop strings beside the template's own."""
    arms: list[Arm] = Field(default=["user_persona"], min_length=1)
    """How each probe is sent: user_persona, assistant, assistant_prefill, raw."""
    n: int = Field(default=1, ge=1, le=MAX_SAMPLES)
    """Samples per arm and probe; one request each."""
    prefill: str = Field(default="Here is what I know about this:", min_length=1)
    """Opening put into the assistant's mouth when the auditor gives none (assistant_prefill)."""
    assistant_via: Literal["chat", "template"] = "chat"
    """Whether the assistant arm uses the chat API or our own template over raw completions."""
    thinking: bool = False
    """Whether templated assistant turns let the model think first, where its template has both."""

    @field_validator("arms")
    @classmethod
    def _each_once(cls, arms: list[Arm]) -> list[Arm]:
        if len(set(arms)) < len(arms):
            raise ValueError("names an arm twice; use n for more samples")
        return arms

    @field_validator("stop")
    @classmethod
    def _no_empty_stop(cls, stop: list[str]) -> list[str]:
        if any(not text for text in stop):
            raise ValueError("holds an empty stop string")
        return stop


class AuditorSampling(Settings):
    """How the auditor is sampled."""

    max_tokens: int = Field(default=8000, ge=1)
    """Most tokens in one reply of the auditor."""
    temperature: float = Field(default=0.7, ge=0, le=2)
    """Sampling temperature."""


class JudgeModel(Settings):
    """A model that judges what samples say, and where it is reached."""

    model: Line
    """Its name."""
    endpoint: Endpoint = Field(default_factory=Endpoint)
    """Where it is reached; OpenRouter by default."""
    max_tokens: int = Field(default=1000, ge=1)
    """Most tokens in one judgement, thoughts included."""
    temperature: float = Field(default=0, ge=0, le=2)
    """Sampling temperature."""
    re_asks: int = Field(default=1, ge=0, le=10)
    """How often a judgement that cannot be used is asked for again."""

    @model_validator(mode="before")
    @classmethod
    def _serve_our_own_models(cls, given: Any) -> Any:
        return _with_preset(given, "model", "endpoint") if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _know_our_own_models(self) -> JudgeModel:
        if self.endpoint.preset_name == "builtin":
            raise ValueError(f"names {self.model} as a judge, which is an auditor; name a model")
        _refuse_other_preset("judge_model", self.model, self.endpoint)
        return self


class Budget(Settings):
    """The most a run may spend, over all its resumptions."""

    max_usd: float | None = Field(default=None, gt=0)
    """Cap in USD; needs a known price for both sides, and servers that bill what they list."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Cap in tokens, input and output together."""


class Retries(Settings):
    """How long a failing call is tried again."""

    max_attempts: int = Field(default=6, ge=1, le=50)
    """Most attempts for one call."""
    max_wait_s: float = Field(default=600, ge=0)
    """Longest time for one call, over all its attempts and waits."""
    first_wait_s: float = Field(default=1, ge=0)
    """Wait before the second attempt; doubled each time, with jitter."""


FACT_AUDITOR = "builtin/facts"
"""The auditor that asks for each fact of a facts file."""
_SIDES = {"auditing_model": "auditing_endpoint", "audited_model": "audited_endpoint"}


def _with_preset(settings: dict[str, Any], model: str, endpoint: str) -> dict[str, Any]:
    """Give a model of ours the preset that reaches it, unless the config names an address."""
    preset, named = preset_for_model(str(settings.get(model))), settings.get(endpoint, {})
    if preset and isinstance(named, dict) and not {"preset", "base_url"} & set(named):
        return {**settings, endpoint: {**named, "preset": preset}}
    return settings


def _refuse_other_preset(name: str, model: str, endpoint: Endpoint) -> None:
    preset = endpoint.preset_name
    if preset in ("organism", "builtin") and preset != preset_for_model(model):
        raise ValueError(f"gives {name} {model} the preset {preset}; name {preset}/NAME")


class AuditConfig(Settings):
    """Everything one audit needs; the spec's six keys suffice."""

    topic: Line
    """The topic to investigate."""
    auditing_model: Line
    """The auditor: designs probes, forms hypotheses."""
    audited_model: Line
    """The target: the model under audit."""
    sampling: Sampling = Field(default_factory=Sampling)
    """How the target is sampled."""
    max_iterations: int = Field(default=20, ge=1, le=9999)
    """Most probes sent."""
    output_dir: Line = "outputs/search_censored"
    """Folder that gets one directory per run."""
    facts: Line | None = None
    """Facts file of the topic: the name of one that comes with the package, or the path of a YAML file."""
    languages: list[Language] = Field(default=["en"], min_length=1)
    """Languages in which ucm probe asks: en, zh-Hans, zh-Hant."""
    likelihood: Literal["off", "auto", "echo", "forced"] = "off"
    """Whether ucm probe also scores each fact against its decoys by likelihood, and how (docs/methods/likelihood.md)."""
    judge_model: list[JudgeModel] = Field(default_factory=list)
    """Judges for what patterns leave open (docs/judging.md): a model, or a list of models or of mappings with model and endpoint."""
    auditor_prompt: Line = "spec"
    """System prompt: spec, continuation, or the path of a text file."""
    auditor_sampling: AuditorSampling = Field(default_factory=AuditorSampling)
    """How the auditor is sampled."""
    auditor_context: Literal["full", "compact"] = "full"
    """What the auditor is shown: the whole conversation, or a summary that grows linearly."""
    auditor_response_format: Literal["json_schema", "json_object", "none"] = "json_schema"
    """JSON mode asked of the auditor's endpoint; given up by itself where it is refused."""
    auditor_re_asks: int = Field(default=2, ge=0, le=10)
    """How often an invalid reply is asked for again."""
    max_failed_iterations: int = Field(default=3, ge=1)
    """Consecutive iterations without any answer that end the run."""
    doctor: Literal["off", "report", "require"] = "off"
    """Whether canaries check both endpoints first; `require` refuses an arm that fails (docs/doctor.md)."""
    auditing_endpoint: Endpoint = Field(default_factory=Endpoint)
    """Where the auditor is reached; OpenRouter by default."""
    audited_endpoint: TargetEndpoint = Field(default_factory=TargetEndpoint)
    """Where the target is reached; OpenRouter by default."""
    budget: Budget = Field(default_factory=Budget)
    """The most the run may spend."""
    retries: Retries = Field(default_factory=Retries)
    """How long a failing call is tried again."""

    @field_validator("languages")
    @classmethod
    def _each_language_once(cls, languages: list[Language]) -> list[Language]:
        if len(set(languages)) < len(languages):
            raise ValueError("names a language twice")
        return languages

    @field_validator("judge_model", mode="before")
    @classmethod
    def _one_or_many(cls, given: object) -> object:
        many = given if isinstance(given, list) else [] if given is None else [given]
        return [{"model": each} if isinstance(each, str) else each for each in many]

    @field_validator("judge_model")
    @classmethod
    def _each_judge_once(cls, judges: list[JudgeModel]) -> list[JudgeModel]:
        if len({judge.model for judge in judges}) < len(judges):
            raise ValueError("names a model twice; one that votes twice is no second judge")
        return judges

    @field_validator("doctor", "likelihood", mode="before")
    @classmethod
    def _off_is_a_word(cls, value: object) -> object:
        return "off" if value is False else value  # YAML reads a bare off as false

    @model_validator(mode="before")
    @classmethod
    def _serve_our_own_models(cls, given: Any) -> Any:
        for sides in _SIDES.items():
            given = _with_preset(given, *sides) if isinstance(given, dict) else given
        return given

    @model_validator(mode="after")
    def _score_facts_alone(self) -> AuditConfig:
        if self.likelihood != "off" and (self.facts is None or self.auditing_model != FACT_AUDITOR):
            raise ValueError("sets likelihood, which is part of ucm probe and needs a facts file")
        return self

    @model_validator(mode="after")
    def _know_our_own_models(self) -> AuditConfig:
        for name, endpoint in _SIDES.items():
            _refuse_other_preset(name, getattr(self, name), getattr(self, endpoint))
        return self

    @property
    def scoring(self) -> Literal["echo", "forced"] | None:
        """How facts are scored by likelihood; None if they are not."""
        if self.likelihood == "auto":
            return self.audited_endpoint.traits.scoring
        return None if self.likelihood == "off" else self.likelihood

    @property
    def kind(self) -> RunKind:
        """What kind of run it makes: a probe asks for the facts of a file, one by one."""
        return "probe" if self.auditing_model == FACT_AUDITOR else "audit"

    def identity(self) -> Json:
        """Return the settings that decide what the models are asked.

        A run can be resumed with other budgets, timeouts, prices, addresses, retries, checks and
        judges; what is returned here must stay the same.
        """
        free = {"api_key_env", "base_url", "headers", "timeout_s", "max_concurrency", "price"}
        settings = self.model_dump(
            mode="json",
            exclude={
                "budget": True,
                "retries": True,
                "output_dir": True,
                "doctor": True,
                "judge_model": True,
                "auditing_endpoint": free,
                "audited_endpoint": free,
            },
        )
        # An address may imply the preset, and the preset decides what a body holds.
        settings["auditing_endpoint"]["preset"] = self.auditing_endpoint.preset_name
        settings["audited_endpoint"]["preset"] = self.audited_endpoint.preset_name
        return settings
