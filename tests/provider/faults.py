"""Everything that can go wrong between a model's answer and its reader, as a table."""

from __future__ import annotations

from collections.abc import Mapping

from tests.provider.answer_faults import answer_faults
from tests.provider.error_faults import error_faults
from tests.provider.fault import Fault
from tests.provider.transport_faults import transport_faults

FAULTS: Mapping[str, Fault] = {
    fault.name: fault for fault in (*error_faults(), *answer_faults(), *transport_faults())
}
"""Every fault by name: what it looks like on the wire, whether the provider charges for it, and
what a careful client should make of it."""
