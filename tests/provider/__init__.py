"""A provider to test against: a real HTTP server that speaks OpenRouter's dialect.

::

    with Provider(auditor=ScriptedAuditor(stop_after=2)) as provider:
        provider.fail("429_retry_after_seconds", api="completions", times=2, retry_after=0)
        ...  # talk to provider.base_url
        assert provider.count("completions") == 5
        assert provider.billed_usd == spent
"""

from tests.provider.auditor import (
    DEBATABLE_SHAPES,
    HOPELESS_SHAPES,
    LEGIBLE_SHAPES,
    SHAPES,
    STRATEGIES,
    ScriptedAuditor,
    between,
)
from tests.provider.error_faults import ERROR_TYPES
from tests.provider.fault import Fault, Rule, problem
from tests.provider.faults import FAULTS
from tests.provider.ledger import Request
from tests.provider.server import Provider
from tests.provider.target import ASSISTANT_OPENERS, ODD_TEXTS, ScriptedTarget
from tests.provider.wire import MODELS, Ask, Brain, Model, Said, count_tokens

__all__ = [
    "ASSISTANT_OPENERS",
    "DEBATABLE_SHAPES",
    "ERROR_TYPES",
    "FAULTS",
    "HOPELESS_SHAPES",
    "LEGIBLE_SHAPES",
    "MODELS",
    "ODD_TEXTS",
    "SHAPES",
    "STRATEGIES",
    "Ask",
    "Brain",
    "Fault",
    "Model",
    "Provider",
    "Request",
    "Rule",
    "Said",
    "ScriptedAuditor",
    "ScriptedTarget",
    "between",
    "count_tokens",
    "problem",
]
