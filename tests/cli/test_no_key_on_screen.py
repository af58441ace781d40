"""What is printed is searched for keys once more, whatever part of the program wrote it."""

from __future__ import annotations

import importlib
import io

import pytest

from tests.provider.echo import ENCODINGS, traces
from uncensoring_chinese_models.cli.commands import _run
from uncensoring_chinese_models.cli.output import Output, print_notice
from uncensoring_chinese_models.cli.progress import ProgressPrinter
from uncensoring_chinese_models.config import remember_secret
from uncensoring_chinese_models.errors import ConfigError, InterruptedRunError
from uncensoring_chinese_models.models import Notice

KEY = "sk-or-v1-9fQz_4TgXb7LmW2pR8sYc-aV3nHd"
SAID = " and ".join(written(KEY) for written in ENCODINGS.values())


@pytest.fixture(autouse=True)
def known():
    """Let the process know the key."""
    remember_secret(KEY)


def failing(kind):
    def boom() -> int:
        """Fail."""
        raise kind(SAID)

    return boom


def as_record() -> int:
    """Print a record."""
    with Output(as_json=True) as output:
        return output.finish([], {"said": SAID})


def as_error_record() -> int:
    """Print the record of an error."""
    with Output(as_json=True):
        raise ConfigError(SAID)


def as_lines() -> int:
    """Print lines."""
    return Output(as_json=False).finish([SAID], {})


def as_listing() -> int:
    """Print a list."""
    return Output(as_json=False).listing([SAID], {})


def as_notice() -> int:
    """Print a notice."""
    print_notice(Notice(SAID))
    return 0


def as_progress() -> int:
    """Print the notice of a run."""
    ProgressPrinter(io.StringIO()).notice(Notice(SAID))
    return 0


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (failing(ConfigError), 2),
        (failing(InterruptedRunError), 130),
        (failing(ValueError), 1),
        (as_record, 0),
        (as_error_record, 2),
        (as_lines, 0),
        (as_listing, 0),
        (as_notice, 0),
        (as_progress, 0),
    ],
)
def test_no_way_of_printing_shows_a_key(command, code, capsys):
    """Errors, bugs, records, lines and notices show the mark in its place."""
    assert _run({"show": command}, ["show"], "ucm") == code

    told = "".join(capsys.readouterr())
    assert "[key]" in told
    assert traces(told.encode(), KEY) == []


def test_lines_of_a_run_show_no_key():
    """The lines on the progress of a run, too."""
    stream = io.StringIO()
    ProgressPrinter(stream)._line(SAID)

    assert "[key]" in stream.getvalue()
    assert traces(stream.getvalue().encode(), KEY) == []


def test_bug_shows_its_traceback(capsys):
    """Without the key, but with all that a report of the bug needs."""
    assert _run({"show": failing(ValueError)}, ["show"], "ucm") == 1

    told = capsys.readouterr().err
    assert "Traceback (most recent call last)" in told
    assert "raise kind(SAID)" in told


def test_missing_library_is_said_without_a_traceback(capsys):
    """A Python without the libraries gets a sentence that says what to run."""

    def command() -> int:
        """Need a library."""
        importlib.import_module("no_such_library")
        return 0

    assert _run({"show": command}, ["show"], "ucm") == 2

    told = capsys.readouterr().err
    assert told.startswith("error: the library no_such_library is not installed for ")
    assert "make install" in told
    assert "Traceback" not in told
