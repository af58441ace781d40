"""What commands share in their output: the name of the program, and the record of --json."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from tests.judged_runs import judging_provider, probed
from tests.support import ROOT, audited_provider, make_config, run_ucm, write_config
from uncensoring_chinese_models.cli import output
from uncensoring_chinese_models.cli.audit import _plan_lines
from uncensoring_chinese_models.cli.output import Output, our_name
from uncensoring_chinese_models.cli.progress import ProgressPrinter
from uncensoring_chinese_models.config.settings import AuditConfig
from uncensoring_chinese_models.errors import RunStoreError
from uncensoring_chinese_models.runner.planning import plan


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


# --- the record of --json -----------------------------------------------------------------------


def test_result_is_a_record_or_lines(capsys):
    """With --json there is one record with the exit code, and without it there are lines."""
    assert Output(as_json=True, run_dir="r").finish(["for people"], {"found": 2}, 4) == 4
    assert json.loads(capsys.readouterr().out) == {"run_dir": "r", "exit_code": 4, "found": 2}
    assert Output(as_json=False, run_dir="r").finish(["for", "people"], {"found": 2}) == 0
    assert capsys.readouterr().out == "for\npeople\n"


@pytest.mark.parametrize("as_json", [True, False])
def test_error_is_a_record_too_and_is_raised(capsys, as_json):
    """A program reads the error from stdout; `main` prints it for people."""
    with pytest.raises(RunStoreError), Output(as_json=as_json, run_dir="r"):
        raise RunStoreError("It is gone.")

    printed = capsys.readouterr().out
    expected = {"run_dir": "r", "exit_code": 4, "error": "It is gone."}
    assert (json.loads(printed) if as_json else printed) == (expected if as_json else "")


def test_commands_print_json_in_one_way_only():
    """No command but `output` turns a record into JSON for the screen."""
    folder = Path(output.__file__).parent
    printing = [
        path.name
        for path in folder.glob("*.py")
        if re.search(r"print\((\w+\()?strict_json", path.read_text("utf-8"))
    ]
    assert printing == ["output.py"]


@pytest.mark.parametrize(
    ("target", "doctor", "said"),
    [
        ("a/b", "report", "checking the endpoints"),
        ("a/b", "off", "asking the auditor"),
        ("organism/base", "report", "starting the model and testing it"),
        ("organism/base", "off", "starting the model"),
    ],
)
def test_terminal_says_what_is_waited_for_first(tmp_path, target, doctor, said):
    """The doctor goes before the auditor, and on a small machine it takes half a minute."""
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    models = {"auditing_model": "builtin/baseline", "audited_model": target}
    config = AuditConfig.model_validate({"topic": "Lamps", "doctor": doctor, **models})
    printer = ProgressPrinter(terminal)
    printer.started(tmp_path, config)
    printer.close()

    assert said in terminal.getvalue()


@pytest.mark.parametrize(
    ("max_usd", "said"),
    [(None, "no limit in USD: budget.max_usd is not set"), (2, "limits all of it to $2.00")],
)
def test_plan_names_the_limit_that_there_is(max_usd, said):
    """A limit that is not set limits nothing."""
    models = {"auditing_model": "builtin/baseline", "audited_model": "organism/base"}
    config = AuditConfig.model_validate({"topic": "Lamps", **models})

    assert said in "\n".join(_plan_lines(plan(config, print), max_usd))


def test_screen_of_a_probe_names_the_fact_and_no_hypotheses(tmp_path, monkeypatch):
    """A probe of facts has no auditor: each step says which fact it asks for, and how."""
    screen = io.StringIO()
    monkeypatch.setattr("tests.judged_runs.Watcher", lambda: ProgressPrinter(screen))
    with judging_provider() as provider:
        probed(tmp_path, provider, n=1, facts=2)

    shown = screen.getvalue()
    assert "Probe of facts: deepseek/deepseek-chat" in shown
    assert re.search(r"\[1/2\] Asks for \w+ in en\.\n  opening:  .+\n  question: .+\?\n", shown)
    assert "[2/2]" in shown
    assert "[3/" not in shown
    assert "hypotheses" not in shown


def test_plan_of_a_probe_shows_where_the_facts_stand(tmp_path):
    """What a facts file fills in is not called the auditor's; what runs here is not 'embedded'."""
    done = run_ucm(tmp_path, "probe", ROOT / "configs/probe_organism.yaml", "--dry-run")

    assert "{the opening of a fact}" in done.stdout
    assert "{the question of a fact}" in done.stdout
    assert "next_prompt" not in done.stdout
    assert "target: organism/hides on this machine, key: none needed" in done.stdout


def test_plan_says_once_that_there_are_no_prices(tmp_path):
    """Both models are often behind one server."""
    side = {"base_url": "http://127.0.0.1:9/v1", "api_key_env": None}
    with audited_provider() as provider:
        config = make_config(provider, auditing_endpoint=side, audited_endpoint=side)
    write_config(tmp_path, config)
    done = run_ucm(tmp_path, "audit", "config.yaml", "--dry-run")

    assert done.returncode == 0, done.stderr
    assert done.stderr.count("No price list") == 1
