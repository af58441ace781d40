"""The command that lets the doctor see a config; everything heavy is imported late."""

from __future__ import annotations

import json as codec
import sys

from uncensoring_chinese_models.errors import AuditToolError
from uncensoring_chinese_models.text import visible


def doctor(config: str, *overrides: str, json: bool = False) -> int:
    """Check by canaries whether both endpoints do what an audit takes for granted.

    A canary is a request for at most 16 tokens. They go through the same journal and budget as an
    audit, and are kept in a folder of their own in output_dir. Exits with 3 if a verdict is no, or
    if a side cannot be asked at all.

    Args:
        config: YAML file, such as configs/search_censored.yaml.
        overrides: words that replace settings, such as audited_model=organism/hides.
        json: put the verdicts on stdout as one list, and everything for people on stderr.
    """
    from uncensoring_chinese_models.measure import any_config  # noqa: PLC0415
    from uncensoring_chinese_models.models import conclusion, doctor_lines  # noqa: PLC0415
    from uncensoring_chinese_models.runner import run_checkup  # noqa: PLC0415

    try:
        loaded = any_config(config, overrides)
        done = run_checkup(loaded, lambda notice: print(visible(notice.text), file=sys.stderr))
    except AuditToolError as err:
        if json:
            print(codec.dumps({"exit_code": err.exit_code, "error": str(err)}))
        raise
    if json:
        print(codec.dumps([each.as_json() for each in done.diagnoses]))
    else:
        print("\n".join(doctor_lines(done.diagnoses, done.rules)))
    screen = sys.stderr if json else sys.stdout
    print(f"Kept in {done.folder}", *conclusion(done.diagnoses), sep="\n", file=screen)
    return done.exit_code
