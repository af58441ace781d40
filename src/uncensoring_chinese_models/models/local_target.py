"""Settle what a config leaves to the GGUF file of its target: hash, chat template, BOS token.

It is settled once, before anything starts, and stays in the config of the run: so the journal has it,
a replay needs no file, and a run does not go on with another file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.config import with_values
from uncensoring_chinese_models.domain import ARMS
from uncensoring_chinese_models.errors import ConfigError, UnknownTemplateError
from uncensoring_chinese_models.models.local.gguf import find_gguf, name_in_cache
from uncensoring_chinese_models.models.sampling import needs_template
from uncensoring_chinese_models.models.templates import template_written_as

if TYPE_CHECKING:
    from uncensoring_chinese_models.config import AuditConfig, LoadedConfig
    from uncensoring_chinese_models.models.local.gguf import GgufFile

_MAX_SHOWN = 60


def settle_target(loaded: LoadedConfig) -> LoadedConfig:
    """Return the config with what the file of its target says; other targets leave it as it is.

    Raises:
        ConfigError: the file is missing, damaged, no text model, or another one than the config says.
        UnknownTemplateError: no family has its chat template, and the config gives none.
    """
    config, target = loaded.settings, loaded.settings.audited_endpoint
    if target.preset_name != "gguf":
        return loaded
    name = name_in_cache(config.audited_model)
    if name is not None:  # a path of this machine is private, and another name of the same model
        return settle_target(with_values(loaded, [f"audited_model={name}"], "the cache of models"))
    found = find_gguf(config.audited_model)
    settled = {}
    if target.file_sha256 is None:
        settled["file_sha256"] = found.sha256
    elif target.file_sha256 != found.sha256:
        raise ConfigError(
            f"{config.audited_model} has the sha256 {found.sha256}, but audited_endpoint.file_sha256 is "
            f"{target.file_sha256}; nothing was started."
        )
    family = None if target.template is not None else _family_of(found, config)
    if family is not None:
        settled["template"] = family
    if found.header.chat_template is None:
        _refuse_chat(config)
    if target.send_bos is None and found.header.adds_bos is not None:
        settled["send_bos"] = "false" if found.header.adds_bos else "true"
    words = [f"audited_endpoint.{name}={value}" for name, value in settled.items()]
    return with_values(loaded, words, "the file of the target") if words else loaded


def _family_of(found: GgufFile, config: AuditConfig) -> str | None:
    """Return the family whose strings the file's own template writes."""
    if found.rendered is not None:
        template = template_written_as(found.rendered, found.header.name, found.path.name)
        if template is not None:
            return template.family
    if not needs_template(config):
        return None
    if found.header.chat_template is None:
        why = "has no chat template"
    elif found.rendered is None:
        why = "has a chat template that cannot be rendered"
    else:
        opening = repr(found.rendered.before[-_MAX_SHOWN:])
        why = f"has a chat template that is not known (its user turn opens with {opening})"
    raise UnknownTemplateError(
        f"{config.audited_model} {why}; nothing was started: set audited_endpoint.template to the "
        "family that fits ('ucm templates' lists them) or to its strings (docs/adding-a-model.md)."
    )


def _refuse_chat(config: AuditConfig) -> None:
    """Refuse the chat API for a file without a template: the server would use one of its own choice."""
    sampling = config.sampling
    by_chat = [arm for arm in sampling.arms if ARMS[arm].template == "by_setting"]
    if by_chat and sampling.assistant_via == "chat":
        raise ConfigError(
            f"{config.audited_model} has no chat template, so the arm {by_chat[0]} cannot use the chat "
            "API; nothing was started. Set sampling.assistant_via: template, or leave the arm out."
        )
