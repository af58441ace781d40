"""How to call this program again from where the user stands."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path


def our_name() -> str:
    """Return the word that calls us: ``ucm``, or the path of it where the shell does not know it."""
    ours = Path(sys.executable).parent / "ucm"
    known = shutil.which("ucm")
    if known is not None and Path(known).absolute() == ours:
        return "ucm"
    if not ours.exists():
        return f"{shlex.quote(sys.executable)} -m uncensoring_chinese_models"
    near = os.path.relpath(ours)
    return shlex.quote(str(ours) if near.startswith(os.pardir) else near)
