"""Settings: the config file, endpoints, presets, and the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.doors import lazy_door

if TYPE_CHECKING:
    from uncensoring_chinese_models.config.addresses import (
        host_of,
        is_near,
        is_private,
        is_this_machine,
    )
    from uncensoring_chinese_models.config.endpoints import (
        Endpoint,
        Line,
        Settings,
        file_told,
        server_of,
    )
    from uncensoring_chinese_models.config.environment import (
        FOR_DOWNLOADS,
        cache_folder,
        child_environment,
        path_from,
        read_key,
    )
    from uncensoring_chinese_models.config.extras import require_extra
    from uncensoring_chinese_models.config.loading import (
        LoadedConfig,
        describe,
        load_config,
        parse_mapping,
        read_yaml,
        with_values,
    )
    from uncensoring_chinese_models.config.presets import PRESETS
    from uncensoring_chinese_models.config.redaction import (
        redact,
        redact_json,
        redact_message,
        redact_parts,
        refuse_keys_in,
        remember_secret,
    )
    from uncensoring_chinese_models.config.settings import (
        FACT_AUDITOR,
        MAX_SAMPLES,
        AuditConfig,
        Budget,
        JudgeModel,
        Retries,
    )

__all__ = [
    "FACT_AUDITOR",
    "FOR_DOWNLOADS",
    "MAX_SAMPLES",
    "PRESETS",
    "AuditConfig",
    "Budget",
    "Endpoint",
    "JudgeModel",
    "Line",
    "LoadedConfig",
    "Retries",
    "Settings",
    "cache_folder",
    "child_environment",
    "describe",
    "file_told",
    "host_of",
    "is_near",
    "is_private",
    "is_this_machine",
    "load_config",
    "parse_mapping",
    "path_from",
    "read_key",
    "read_yaml",
    "redact",
    "redact_json",
    "redact_message",
    "redact_parts",
    "refuse_keys_in",
    "remember_secret",
    "require_extra",
    "server_of",
    "with_values",
]

__getattr__ = lazy_door(__name__)
