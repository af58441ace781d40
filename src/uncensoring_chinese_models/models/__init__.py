"""Reach a model: clients, budget, templates, sampling; `doctor` checks endpoints, `local` serves models here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.doors import lazy_door

if TYPE_CHECKING:
    from uncensoring_chinese_models.models.budget import (
        BudgetGate,
        BudgetMeter,
        at_price,
        body_bytes,
        bound,
        bound_of,
        charge,
        describe,
        spend,
        spend_of,
        worst_case,
    )
    from uncensoring_chinese_models.models.canary import canary_of, needs_canary
    from uncensoring_chinese_models.models.connect import (
        Builtins,
        ConnectedModel,
        connect_judges,
        connect_models,
        find_price,
        refuse_keyless_judges,
        refuse_unknown_models,
        refuse_unknown_prices,
        refuse_unpriced_attempts,
        servers_to_json,
        utc_now,
        wrap_client,
    )
    from uncensoring_chinese_models.models.delivery import delivery_of
    from uncensoring_chinese_models.models.doctor.canaries import CheckResult
    from uncensoring_chinese_models.models.doctor.examine import (
        NextSteps,
        canary_bounds,
        checked_endpoints,
        examine,
        refuse_failed,
    )
    from uncensoring_chinese_models.models.doctor.screen import (
        conclusion,
        doctor_lines,
        doctor_to_json,
        in_short,
        warnings_of,
    )
    from uncensoring_chinese_models.models.http_api import HttpApi, open_session
    from uncensoring_chinese_models.models.layers import (
        InFlight,
        Journaled,
        all_of,
        interruptible,
        together,
    )
    from uncensoring_chinese_models.models.local.catalogue import (
        PREFIX,
        OrganismFile,
        find_organism,
        load_organisms,
        organism_folder,
        parse_organism,
    )
    from uncensoring_chinese_models.models.local.gguf import name_of_target
    from uncensoring_chinese_models.models.local.known import find_known, known_models
    from uncensoring_chinese_models.models.local.launch import Served, serve_until_stopped
    from uncensoring_chinese_models.models.local.weights import (
        find_weights,
        has_right_size,
        stored_file,
        take_weights,
    )
    from uncensoring_chinese_models.models.local_target import settle_target
    from uncensoring_chinese_models.models.protocols import Gate, ModelClient, Need, Notice, Notify
    from uncensoring_chinese_models.models.sampling import Sampler, read_sample
    from uncensoring_chinese_models.models.templates import (
        ChatTemplate,
        choose_template,
        load_families,
    )
    from uncensoring_chinese_models.models.token_scores import (
        Method,
        echoed_tokens,
        grammar_of,
        numbers_of,
        tokenize,
    )
    from uncensoring_chinese_models.models.wire import FORMAT_REFUSED

__all__ = [
    "FORMAT_REFUSED",
    "PREFIX",
    "BudgetGate",
    "BudgetMeter",
    "Builtins",
    "ChatTemplate",
    "CheckResult",
    "ConnectedModel",
    "Gate",
    "HttpApi",
    "InFlight",
    "Journaled",
    "Method",
    "ModelClient",
    "Need",
    "NextSteps",
    "Notice",
    "Notify",
    "OrganismFile",
    "Sampler",
    "Served",
    "all_of",
    "at_price",
    "body_bytes",
    "bound",
    "bound_of",
    "canary_bounds",
    "canary_of",
    "charge",
    "checked_endpoints",
    "choose_template",
    "conclusion",
    "connect_judges",
    "connect_models",
    "delivery_of",
    "describe",
    "doctor_lines",
    "doctor_to_json",
    "echoed_tokens",
    "examine",
    "find_known",
    "find_organism",
    "find_price",
    "find_weights",
    "grammar_of",
    "has_right_size",
    "in_short",
    "interruptible",
    "known_models",
    "load_families",
    "load_organisms",
    "name_of_target",
    "needs_canary",
    "numbers_of",
    "open_session",
    "organism_folder",
    "parse_organism",
    "read_sample",
    "refuse_failed",
    "refuse_keyless_judges",
    "refuse_unknown_models",
    "refuse_unknown_prices",
    "refuse_unpriced_attempts",
    "serve_until_stopped",
    "servers_to_json",
    "settle_target",
    "spend",
    "spend_of",
    "stored_file",
    "take_weights",
    "together",
    "tokenize",
    "utc_now",
    "warnings_of",
    "worst_case",
    "wrap_client",
]

__getattr__ = lazy_door(__name__)
