"""The table of commands, and what an error becomes: a message on stderr and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING

from uncensoring_chinese_models import __version__
from uncensoring_chinese_models.cli.audit import audit, probe
from uncensoring_chinese_models.cli.compare import compare
from uncensoring_chinese_models.cli.doctor import doctor, templates
from uncensoring_chinese_models.cli.export import export
from uncensoring_chinese_models.cli.facts import check_facts, list_facts, match_facts, show_facts
from uncensoring_chinese_models.cli.judge import judge, label, stance
from uncensoring_chinese_models.cli.local import (
    get_model,
    list_models,
    list_organisms,
    model_path,
    serve_organism,
)
from uncensoring_chinese_models.cli.parser import Group, run_commands
from uncensoring_chinese_models.cli.report import report
from uncensoring_chinese_models.cli.score import demo, score
from uncensoring_chinese_models.cli.verify import bundle, verify
from uncensoring_chinese_models.cli.view import view
from uncensoring_chinese_models.config import redact_message
from uncensoring_chinese_models.errors import AuditToolError, InterruptedRunError
from uncensoring_chinese_models.text import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

COMMANDS: Mapping[str, Callable[..., int] | Group] = {
    "demo": demo,
    "audit": audit,
    "probe": probe,
    "judge": judge,
    "label": label,
    "stance": stance,
    "compare": compare,
    "doctor": doctor,
    "score": score,
    "report": report,
    "verify": verify,
    "bundle": bundle,
    "export": export,
    "view": view,
    "facts": Group(
        "List, check, show and match facts files: true statements on a topic, each with matched falsehoods.",
        {"list": list_facts, "check": check_facts, "show": show_facts, "match": match_facts},
    ),
    "organism": Group(
        "List and serve the organisms: small local models with planted facts.",
        {"list": list_organisms, "serve": serve_organism},
    ),
    "model": Group(
        "List and fetch real models that run on this machine.",
        {"list": list_models, "get": get_model, "path": model_path},
    ),
    "templates": templates,
}
ABOUT = """\
Finds out what a language model knows about a topic of public record, and how it withholds it.
It is a tool for research on censorship and transparency, not for producing harmful content.

Exit codes: 0 finished, 2 wrong usage or config, 3 provider error, 4 problem with the run
directory, 5 budget reached, 6 no result (auditor or target failed), 7 not everything could be
checked (ucm verify), 130 interrupted."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `ucm`."""
    return _run(COMMANDS, sys.argv[1:] if argv is None else argv, "ucm")


def main_script(argv: Sequence[str]) -> int:
    """Run search_censored.py, which is the audit command alone."""
    return _run({"audit": audit}, argv, "search_censored.py", default="audit")


def _run(
    commands: Mapping[str, Callable[..., int] | Group],
    argv: Sequence[str],
    program: str,
    default: str | None = None,
) -> int:
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None where the caller closed them
        # A C locale must not end a run that is paid for.
        stream.reconfigure(errors="backslashreplace")
    try:
        return run_commands(
            commands, argv, program=program, about=ABOUT, version=__version__, default=default
        )
    except InterruptedRunError as err:
        print(escape(redact_message(str(err))), file=sys.stderr)
        return err.exit_code
    except AuditToolError as err:
        print(f"error: {escape(redact_message(str(err)), newlines=True)}", file=sys.stderr)
        return err.exit_code
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as err:  # noqa: BLE001 -- a bug shows its traceback, but no key
        return _failed(err)


def _failed(err: Exception) -> int:
    """Say that a library is missing, or show the traceback of a bug; return the exit code."""
    name = err.name if isinstance(err, ModuleNotFoundError) else None
    if name is None or name.startswith(__package__.partition(".")[0]):
        print(redact_message("".join(traceback.format_exception(err))), file=sys.stderr)
        return 1
    told = f"error: the library {name} is not installed for {sys.executable}; run make install, "
    print(f"{told}then use .venv/bin/python instead.", file=sys.stderr)
    return 2
