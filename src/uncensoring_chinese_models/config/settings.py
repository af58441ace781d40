"""The settings of a config file, with their defaults and their rules.

The settings of an endpoint are in `endpoints`; `loading` reads the file.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from uncensoring_chinese_models.config.endpoints import Endpoint, Line, Settings, TargetEndpoint
from uncensoring_chinese_models.config.presets import preset_for_model
from uncensoring_chinese_models.domain import Arm, Json, Language, Role, RunKind

MAX_SAMPLES = 64
"""Limit of samples per arm and probe."""


class Sampling(Settings):
    """How the target is sampled."""

    max_tokens: int = Field(default=500, ge=1, le=10**9)
    """Max tokens of one sample."""
    temperature: float = Field(default=0.7, ge=0, le=2)
    """Sampling temperature."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Nucleus sampling; not sent when null."""
    seed: int | None = None
    """Sent with each request as 64 times this plus the sample's index (modulo 2^31), so that runs with other seeds share no draw; not sent when null."""
    stop: list[str] = Field(default_factory=list)
    """Stop strings in addition to those of the template."""
    arms: list[Arm] = Field(default=["user_persona"], min_length=1)
    """How each probe is sent: user_persona, assistant, assistant_prefill, raw."""
    n: int = Field(default=1, ge=1, le=MAX_SAMPLES)
    """Samples per arm and probe; one request each."""
    prefill: str = Field(default="Here is what I know about this:", min_length=1)
    """First words of the assistant's answer in the arm assistant_prefill, if the auditor gives none."""
    assistant_via: Literal["chat", "template"] = "chat"
    """Whether the assistant arm uses the chat API, or a chat template of this package over raw completions."""
    thinking: bool = False
    """Whether the model may think first in assistant turns made by a template, if the template has both modes."""

    @field_validator("arms")
    @classmethod
    def _each_once(cls, arms: list[Arm]) -> list[Arm]:
        if len(set(arms)) < len(arms):
            raise ValueError("lists an arm twice; set n for more samples")
        return arms

    @field_validator("stop")
    @classmethod
    def _no_empty_stop(cls, stop: list[str]) -> list[str]:
        if any(not text for text in stop):
            raise ValueError("has an empty stop string")
        return stop


class AuditorSampling(Settings):
    """How the auditor is sampled."""

    max_tokens: int = Field(default=8000, ge=1, le=10**9)
    """Max tokens of one reply of the auditor."""
    temperature: float = Field(default=0.7, ge=0, le=2)
    """Sampling temperature."""


class JudgeModel(Settings):
    """A model that classifies samples, and its endpoint."""

    model: Line
    """Name of the judge model."""
    endpoint: Endpoint = Field(default_factory=Endpoint)
    """Endpoint of the judge; OpenRouter by default."""
    max_tokens: int = Field(default=1000, ge=1, le=10**9)
    """Max tokens of one judgement, with reasoning."""
    temperature: float = Field(default=0.0, ge=0, le=2)
    """Sampling temperature."""
    re_asks: int = Field(default=1, ge=0, le=10)
    """How often a judge is asked again after an invalid reply."""

    @model_validator(mode="before")
    @classmethod
    def _serve_our_own_models(cls, given: Any) -> Any:
        return _with_preset(given, "model", "endpoint") if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _know_our_own_models(self) -> JudgeModel:
        if self.endpoint.preset_name == "builtin":
            raise ValueError(f"sets {self.model} as a judge, but it is an auditor; set a model")
        _refuse_gguf("judge_model", self.model, self.endpoint)
        _refuse_other_preset("judge_model", self.model, self.endpoint)
        return self


class Budget(Settings):
    """Limits on what a run may spend, with all its resumptions."""

    max_usd: float | None = Field(default=None, gt=0)
    """Max cost in USD; the prices of auditor and target must be known, and hosts must bill their list price."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Max tokens, input and output together."""


class Retries(Settings):
    """How a failed call is retried."""

    max_attempts: int = Field(default=8, ge=1, le=50)
    """Max attempts per call; with the default waits they bridge an outage of at least 60 seconds."""
    max_wait_s: float = Field(default=600, ge=0)
    """Max seconds from the first failure of a call to its last attempt, which may take `timeout_s` more."""
    first_wait_s: float = Field(default=1, ge=0)
    """Max seconds before the second attempt; doubled each time up to 60, shortened at random by up to half, and never shorter than the server asks for."""


FACT_AUDITOR = "builtin/facts"
"""The auditor that asks for each fact of a facts file."""
_SIDES = {"auditing_model": "auditing_endpoint", "audited_model": "audited_endpoint"}


def _with_preset(settings: dict[str, Any], model: str, endpoint: str) -> dict[str, Any]:
    """Set the preset of a model of this machine or a built-in auditor, unless the config names an address."""
    preset, named = preset_for_model(str(settings.get(model))), settings.get(endpoint, {})
    if preset and isinstance(named, dict) and not {"preset", "base_url"} & set(named):
        return {**settings, endpoint: {**named, "preset": preset}}
    return settings


def _refuse_other_preset(name: str, model: str, endpoint: Endpoint) -> None:
    preset = endpoint.preset_name
    if endpoint.traits.is_ours and preset != preset_for_model(model):
        raise ValueError(
            f"sets the preset {preset} for {name} {model}; the name must be {preset}/NAME"
        )


def _refuse_gguf(name: str, model: str, endpoint: Endpoint) -> None:
    if endpoint.preset_name == "gguf":
        raise ValueError(
            f"sets {name} to {model}, but only audited_model can be a GGUF file; serve it with "
            "llama.cpp and name its address, with preset: llama_cpp"
        )


def _refuse_bare_file(model: str, endpoint: Endpoint) -> None:
    if endpoint.is_openrouter and model.lower().endswith(".gguf"):
        path = model[5:] if model.lower().startswith("gguf/") else model
        raise ValueError(
            f"sets audited_model to {model}, which OpenRouter does not serve; did you mean gguf/{path}?"
        )


class AuditConfig(Settings):
    """The whole config of a run; only three keys are required."""

    topic: Line
    """The topic to investigate."""
    auditing_model: Line
    """The auditor: the model that designs probes and forms hypotheses."""
    audited_model: Line
    """The target: the model under audit."""
    sampling: Sampling = Field(default_factory=Sampling)
    """How the target is sampled."""
    max_iterations: int = Field(default=20, ge=1, le=9999)
    """Max number of probes."""
    output_dir: Line = "outputs/search_censored"
    """Folder for the run directories."""
    facts: Line | None = None
    """Facts file of the topic: a name from `ucm facts list`, or the path of a YAML file."""
    languages: list[Language] = Field(default=["en"], min_length=1)
    """Languages of the questions of ucm probe: en, zh-Hans, zh-Hant."""
    likelihood: Literal["off", "auto", "echo", "forced"] = "off"
    """Whether, and by which method, ucm probe also compares the likelihood of each fact with that of its decoys (docs/methods/likelihood.md)."""
    judge_model: list[JudgeModel] = Field(default_factory=list)
    """Judges for the samples that patterns cannot classify: a model, or a list of models or of mappings with model and endpoint (docs/judging.md)."""
    auditor_prompt: Line = "spec"
    """System prompt of the auditor: spec, continuation, or the path of a text file."""
    auditor_sampling: AuditorSampling = Field(default_factory=AuditorSampling)
    """How the auditor is sampled."""
    auditor_context: Literal["full", "compact"] = "full"
    """What the auditor sees: the whole conversation, or a shorter summary of it."""
    auditor_response_format: Literal["json_schema", "json_object", "none"] = "json_schema"
    """JSON mode of the auditor's requests; switched off if the endpoint refuses it."""
    auditor_re_asks: int = Field(default=2, ge=0, le=10)
    """How often the auditor is asked again after an invalid reply."""
    max_failed_iterations: int = Field(default=3, ge=1)
    """The run ends after this many iterations in a row in which every call to the target failed."""
    doctor: Literal["off", "report", "require"] = "off"
    """Whether small requests test both endpoints first; with `require`, the run stops if a needed check fails (docs/doctor.md)."""
    auditing_endpoint: Endpoint = Field(default_factory=Endpoint)
    """Endpoint of the auditor; OpenRouter by default."""
    audited_endpoint: TargetEndpoint = Field(default_factory=TargetEndpoint)
    """Endpoint of the target; OpenRouter by default."""
    budget: Budget = Field(default_factory=Budget)
    """Limits on what the run may spend."""
    retries: Retries = Field(default_factory=Retries)
    """How a failed call is retried."""

    @field_validator("languages")
    @classmethod
    def _each_language_once(cls, languages: list[Language]) -> list[Language]:
        if len(set(languages)) < len(languages):
            raise ValueError("lists a language twice")
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
            raise ValueError("lists a model twice; two votes of one model are not two judges")
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
            raise ValueError("sets likelihood, which only ucm probe uses, with a facts file")
        return self

    @model_validator(mode="after")
    def _know_our_own_models(self) -> AuditConfig:
        for name, endpoint in _SIDES.items():
            _refuse_other_preset(name, getattr(self, name), getattr(self, endpoint))
        _refuse_gguf("auditing_model", self.auditing_model, self.auditing_endpoint)
        _refuse_bare_file(self.audited_model, self.audited_endpoint)
        return self

    @property
    def models(self) -> dict[Role, tuple[str, Endpoint]]:
        """The auditor and the target, each with its endpoint."""
        return {
            "auditor": (self.auditing_model, self.auditing_endpoint),
            "target": (self.audited_model, self.audited_endpoint),
        }

    @property
    def scoring(self) -> Literal["echo", "forced"] | None:
        """The likelihood method; None if it is off."""
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
        judges; the settings returned here must stay the same.
        """
        free = {"api_key_env", "base_url", "allow_insecure", "headers", "timeout_s"}
        free |= {"max_concurrency", "price"}
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
