"""How a user can call us again: the word that is shown must be one that the shell knows."""

from __future__ import annotations

import sys

import pytest

from uncensoring_chinese_models.cli.output import our_name


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """Return a folder with a Python and a `ucm`, which is not on the path."""
    folder = tmp_path / "here" / ".venv" / "bin"
    folder.mkdir(parents=True)
    for name in ("python", "ucm"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(tmp_path / "here")
    return folder


def test_path_is_shown_where_the_shell_does_not_know_us(environment):
    """As after `make demo`, which needs no activated environment."""
    assert our_name() == ".venv/bin/ucm"


def test_word_is_enough_where_the_shell_knows_us(environment, monkeypatch):
    """As in an activated environment."""
    monkeypatch.setenv("PATH", str(environment))

    assert our_name() == "ucm"


def test_another_command_of_that_name_is_not_ours(environment, monkeypatch, tmp_path):
    """A `ucm` of another installation would do something else."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "ucm").write_text("#!/bin/sh\n")
    (other / "ucm").chmod(0o755)
    monkeypatch.setenv("PATH", str(other))

    assert our_name() == ".venv/bin/ucm"


def test_whole_path_is_shown_from_elsewhere(environment, monkeypatch, tmp_path):
    """A way up and down again would be hard to read."""
    monkeypatch.chdir(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    assert our_name() == str(environment / "ucm")


def test_module_is_called_where_there_is_no_command(environment):
    """As in a checkout that was not installed."""
    (environment / "ucm").unlink()

    assert our_name() == f"{environment / 'python'} -m uncensoring_chinese_models"
