"""The trials that show that no run spends past its budget."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.wire, pytest.mark.soak]

ROOT = Path(__file__).resolve().parent.parent.parent


def test_cap_is_never_passed_with_64_calls_at_once():
    """Whatever fails, races or is cut off, the provider bills no more than the cap."""
    words = ["tools/budget_trials.py", "--trials", "5"]

    ran = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    felt, _, counted = ran.stdout.splitlines()
    assert re.match(r"the cap kept calls back in [3-5] of 5 trials", felt)
    assert counted.startswith("5 of 5 trials: the cap was never passed (")
