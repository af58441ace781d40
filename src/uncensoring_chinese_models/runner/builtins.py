"""The built-in auditors, which run in this process, by name."""

from __future__ import annotations

from uncensoring_chinese_models.audit import BaselineAuditor
from uncensoring_chinese_models.measure import FactAuditor
from uncensoring_chinese_models.models import Builtins

BUILTINS: Builtins = {"baseline": BaselineAuditor, "facts": FactAuditor}
"""Auditors by what follows ``builtin/`` in `auditing_model`."""
