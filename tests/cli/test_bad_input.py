"""Whatever is wrong with the input, the real command says so in one line and does nothing."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import ROOT, clean_environment, run_here, run_python, run_ucm

pytestmark = pytest.mark.e2e

MODELS = "auditing_model: a/b\naudited_model: deepseek/deepseek-chat\n"
VALID = f"topic: t\n{MODELS}"
# Nothing listens at this port, so that no row could send anything even if it tried.
HERE = "{base_url: 'http://127.0.0.1:PORT/v1'}"
OFFLINE = f"{VALID}auditing_endpoint: {HERE}\naudited_endpoint: {HERE}\n"
SECRET = "hunter2"  # noqa: S105 -- it stands for one, and must never be shown
HINTS = re.compile(
    r"(\."  # a full sentence, or one of the hints that a command line gives:
    r"|\?"
    r"|usage: ucm \S.*"
    r"|--help lists the flags"
    r"|the commands are [a-z, ]+"
    r"|--[a-z-]+ (is given twice|takes .+, not '.*')"
    r"|a dash as --[a-z-]+=-…"
    r"|stop: \[.*\])$"
)


class Bad(NamedTuple):
    """One bad input: the config file, the words after it, and what the message must hold."""

    complaint: str
    config: str | bytes = OFFLINE
    words: tuple[str, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()
    """Other files in the folder."""


def setting(line: str) -> str:
    return f"{OFFLINE}{line}\n"


def target(setting: str) -> str:
    return f"{VALID}audited_endpoint: {{{setting}}}\n"


FILES = {
    "not UTF-8": Bad("config.yaml is not UTF-8 text.", b"topic: \xff\n"),
    "UTF-16": Bad("config.yaml is not UTF-8 text.", VALID.encode("utf-16")),
    "NUL": Bad("config.yaml is not valid YAML", b"topic: \0\n"),
    "not YAML": Bad("config.yaml is not valid YAML", "topic: [t\n"),
    "tab": Bad("is not valid YAML: found character '\\t'", "sampling:\n\tn: 1\n"),
    "a Python object": Bad("could not determine a constructor", "a: !!python/name:os.system ''\n"),
    "a list": Bad("must be a mapping of keys to values, but it is a list.", "- topic\n"),
    "empty": Bad("must be a mapping of keys to values, but it is empty.", b""),
    "only a comment": Bad("but it is empty.", "# topic: t\n"),
    "a scalar": Bad("but it is a str.", "Tiananmen\n"),
    "a number": Bad("but it is a int.", "1989\n"),
    "numbers as keys": Bad("every key must be text.", "1989: t\n"),
    "complex key": Bad("found unhashable key", "? [a, b]\n: c\n"),
    "key given twice": Bad("the key 'topic' is given twice (line 2).", "topic: a\ntopic: b\n"),
    "an alias bomb": Bad(
        "nested too deep or has too many values",
        VALID
        + "x0: &x0 [x]\n"
        + "".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]\n" for n in range(1, 12)),
    ),
}

SETTINGS = {
    "unknown key": Bad("unknown key topik (did you mean topic?).", setting("topik: t")),
    "unknown nested key": Bad(
        "unknown key sampling.temprature (did you mean temperature?).",
        setting("sampling: {temprature: 1}"),
    ),
    "unknown key near nothing": Bad("unknown key zzz (known keys: ", setting("zzz: 1")),
    "missing topic": Bad("config.yaml: topic is missing.", MODELS),
    "missing models": Bad("auditing_model is missing; audited_model is missing.", "topic: t\n"),
    "empty topic": Bad("topic must not be empty.", f"topic: ''\n{MODELS}"),
    "blank topic": Bad("topic must not be empty.", f"topic: '  '\n{MODELS}"),
    "null topic": Bad("topic must be a valid string, not None.", f"topic:\n{MODELS}"),
    "number as topic": Bad("not 1989 (put it in quotes).", f"topic: 1989\n{MODELS}"),
    "date as topic": Bad("(put it in quotes).", f"topic: 1989-06-04\n{MODELS}"),
    "two lines as topic": Bad("topic must not contain control", f'topic: "a\\nb"\n{MODELS}'),
    "escape in topic": Bad("topic must not contain control", f'topic: "a\\e[2J"\n{MODELS}'),
    "wrong type": Bad("max_iterations must be a valid integer", setting("max_iterations: many")),
    "text for a group": Bad("sampling must be a valid dictionary", setting("sampling: hot")),
    "out of range": Bad(
        "sampling.temperature must be less than", setting("sampling: {temperature: 3}")
    ),
    "not a number": Bad("a number is not finite", setting("sampling: {temperature: .nan}")),
    "max_iterations: 0": Bad("max_iterations must be greater than", setting("max_iterations: 0")),
    "unknown arm": Bad(
        "sampling.arms.0 must be 'user_persona'", setting("sampling: {arms: [user]}")
    ),
    "budget of nothing": Bad(
        "budget.max_usd must be greater than 0", setting("budget: {max_usd: 0}")
    ),
    "malformed URL": Bad("base_url must be an address", target("base_url: localhost")),
    "URL with a space": Bad("base_url must be an address", target("base_url: 'http://a b/v1'")),
    "URL with a bad port": Bad("audited_endpoint.base_url port", target("base_url: 'http://h:x'")),
    "URL of a file": Bad("base_url must be an address", target("base_url: 'file:///etc/passwd'")),
    "URL with credentials": Bad(
        "base_url must not contain a user name or password",
        target(f"base_url: 'https://me:{SECRET}@host/v1'"),
    ),
    "URL with a key": Bad(
        "base_url must not contain a query", target(f"base_url: 'https://host/v1?key={SECRET}'")
    ),
    "unknown preset": Bad("audited_endpoint.preset must be 'openrouter'", target("preset: gpt")),
    "preset without an address": Bad("needs a base_url.", target("preset: openai_compatible")),
    "secret in headers": Bad(
        "audited_endpoint.headers must not contain a secret such as Authorization; use api_key_env.",
        target(f"headers: {{Authorization: Bearer {SECRET}}}"),
    ),
    "secret in the value of a header": Bad(
        "audited_endpoint.headers must not contain a secret such as X-Lab; use api_key_env.",
        target(f"headers: {{X-Lab: Bearer {SECRET}}}"),
    ),
    "secret deep in the body": Bad(
        "extra_body must not contain a secret; use api_key_env.",
        target(f"extra_body: {{options: [{{apiKey: {SECRET}}}]}}"),
    ),
    "key over plain http": Bad(
        "audited_endpoint would send the key MY_KEY over plain http, which others on the way can "
        "read; use an https address, or set allow_insecure: true for this endpoint.",
        target("base_url: 'http://10.0.0.7/v1', api_key_env: MY_KEY"),
    ),
    "line break in headers": Bad("must be HTTP headers", target('headers: {X-Title: "a\\r\\nb"}')),
    "key in place of its variable": Bad(
        "api_key_env must be the name of an environment variable",
        target(f"api_key_env: sk-or-v1-{SECRET}"),
    ),
    "key as a setting": Bad("unknown key audited_endpoint.api_key", target(f"api_key: {SECRET}")),
    "body that is ours": Bad("extra_body must not set model", target("extra_body: {model: x}")),
    "secret in the body": Bad(
        "extra_body must not contain a secret; use api_key_env.",
        target(f"extra_body: {{api_key: {SECRET}}}"),
    ),
    "body that is no JSON": Bad("valid JSON", target("extra_body: {since: 2024-01-01}")),
    "unknown model": Bad(
        "no chat template is known for the model 'some/model'",
        OFFLINE.replace("deepseek/deepseek-chat", "some/model"),
    ),
    "unknown template": Bad(
        "there is no chat template family 'chat-ml'; the nearest families are chatml",
        words=("audited_endpoint.template=chat-ml",),
    ),
    "bad inline template": Bad(
        "did you mean user_open?", words=("audited_endpoint.template={user_opn: x}",)
    ),
}

WORLD = {
    "missing key": Bad("OPENROUTER_API_KEY is not set; looked in the environment and", VALID),
    "missing key, without .env": Bad(".env (there is no such file). Put a line", VALID),
    "missing key of a variable": Bad(
        "No API key for the target deepseek/deepseek-chat: MY_KEY is not set",
        words=("audited_endpoint.api_key_env=MY_KEY",),
    ),
    "missing key, with .env": Bad(
        ".env (it does not set OPENROUTER_API_KEY). Put a line OPENROUTER_API_KEY=... into .env",
        VALID,
        files=((".env", b"OTHER=1\n"),),
    ),
    "key with a space": Bad(
        "The value of OPENROUTER_API_KEY contains spaces",
        VALID,
        files=((".env", f"OPENROUTER_API_KEY='sk {SECRET}'\n".encode()),),
    ),
    "key with a line break": Bad(
        "The value of OPENROUTER_API_KEY contains spaces",
        VALID,
        files=((".env", f'OPENROUTER_API_KEY="sk\\r\\n{SECRET}"\n'.encode()),),
    ),
    ".env in another encoding": Bad(
        ".env cannot be read as UTF-8 text.",
        VALID,
        files=((".env", f"OPENROUTER_API_KEY={SECRET}\n".encode("utf-16")),),
    ),
    "output folder is a file": Bad(
        "The output folder taken cannot be written: Not a directory; nothing was sent.",
        words=("output_dir=taken",),
        files=(("taken", b""),),
    ),
    "output folder below a file": Bad(
        "The output folder taken/a/b cannot be written: Not a directory; nothing was sent.",
        words=("output_dir=taken/a/b",),
        files=(("taken", b""),),
    ),
    "output folder that nobody may make": Bad(
        "The output folder /proc/runs cannot be written", words=("output_dir=/proc/runs",)
    ),
    "price unknown": Bad(
        "budget.max_usd is set, but the price of the auditor a/b is unknown",
        words=("budget.max_usd=1",),
    ),
    "price of the target unknown": Bad(
        "the price of the target deepseek/deepseek-chat is unknown",
        words=(
            "budget.max_usd=1",
            "auditing_endpoint.price.input_usd_per_million=1",
            "auditing_endpoint.price.output_usd_per_million=1",
        ),
    ),
    "prompt file missing": Bad(
        "auditor_prompt: 'mine.md' is neither one of spec, continuation nor a readable text file",
        words=("auditor_prompt=mine.md",),
    ),
    "prompt file is a folder": Bad("auditor_prompt: '.' is neither", words=("auditor_prompt=.",)),
    "prompt file not UTF-8": Bad(
        "(not UTF-8).", words=("auditor_prompt=mine.md",), files=(("mine.md", b"\xff{topic}"),)
    ),
    "prompt file without topic": Bad(
        "auditor_prompt: mine.md must hold {topic} where the topic goes.",
        words=("auditor_prompt=mine.md",),
        files=(("mine.md", b"Investigate {tpoic}.\n"),),
    ),
}

WORDS = {
    "unknown flag": Bad("unknown flag '--dryrun'; did you mean --dry-run?", words=("--dryrun",)),
    "unknown flag near nothing": Bad("ucm audit --help lists the flags", words=("--zzz",)),
    "value of an unknown flag": Bad("unknown flag '--api-key'", words=(f"--api-key={SECRET}",)),
    "flag without value": Bad("--resume needs a value after it", words=("--resume",)),
    "flag with an empty value": Bad("--resume takes a value, not ''", words=("--resume=",)),
    "flag given twice": Bad("--json is given twice", words=("--json", "--json")),
    "flag that is no boolean": Bad("--json takes true or false", words=("--json=maybe",)),
    "long dash": Bad("did you mean --dry-run?", words=("\u2014dry-run",)),
    "empty word": Bad("an argument is empty; was a shell variable not set?", words=("",)),
    "extra word": Bad("'fast' is not an override; write key=value", words=("fast",)),
    "second config": Bad("'more.yaml' is not an override", words=("more.yaml",)),
    "bad override key": Bad("unknown key topik (did you mean topic?).", words=("topik=x",)),
    "bad nested override key": Bad(
        "unknown key sampling.temprature (did you mean temperature?).",
        words=("sampling.temprature=1",),
    ),
    "override without a key": Bad("unknown key", words=("=x",)),
    "override of a group": Bad("sampling is a group of settings", words=("sampling=3",)),
    "override below a text": Bad("topic is not a group of settings", words=("topic.a=3",)),
    "override that is no YAML": Bad("'[raw' is not a valid value.", words=("sampling.arms=[raw",)),
    "override of the wrong type": Bad(
        "must be a valid integer, not 'two'", words=("sampling.n=two",)
    ),
    "override out of range": Bad("must be greater than or equal to 1", words=("sampling.n=0",)),
    "override that empties": Bad("topic must not be empty.", words=("topic=",)),
    "override with an escape": Bad("topic must not contain control", words=("topic=a\x1b[2J",)),
    "impossible date": Bad("is not a valid value.", words=("sampling.seed=2024-13-45",)),
}

ROWS = [
    pytest.param(bad, id=name)
    for table in (FILES, SETTINGS, WORLD, WORDS)
    for name, bad in table.items()
]


@pytest.fixture
def dead_port():
    """Keep a port for which every connection is refused."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def everything_in(folder: Path) -> dict[str, bytes | None]:
    paths = sorted(folder.rglob("*"))
    return {str(path): path.read_bytes() if path.is_file() else None for path in paths}


def assert_refused(done: subprocess.CompletedProcess[str], complaint: str) -> None:
    """Check that there is one helpful line on stderr, nothing else, and exit code 2."""
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert SECRET not in done.stderr
    line, *sample = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert complaint in line
    assert not sample or "audited_endpoint:" in sample  # YAML to copy, where a template is missing
    assert HINTS.search(done.stderr)
    assert done.returncode == 2


@pytest.mark.parametrize("bad", ROWS)
def test_bad_input_is_refused_before_anything_happens(bad, tmp_path, dead_port):
    """Exit code 2, one line that says what to do, nothing on stdout, and no run directory."""
    content = bad.config.encode("utf-8") if isinstance(bad.config, str) else bad.config
    (tmp_path / "config.yaml").write_bytes(content.replace(b"PORT", str(dead_port).encode()))
    for name, data in bad.files:
        (tmp_path / name).write_bytes(data)
    before = everything_in(tmp_path)

    done = run_here(tmp_path, "audit", "config.yaml", *bad.words)

    assert_refused(done, bad.complaint)
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["audit", "nowhere.yaml"], "The config file nowhere.yaml does not exist."),
        (["audit", "nowhere.yaml", "--dry-run"], "The config file nowhere.yaml does not exist."),
        (["audit", "."], ". is a folder; give the path of a YAML file."),
        (["audit", "/dev/null"], "/dev/null must be a mapping of keys to values"),
        (["audit", "x" * 300], "cannot be read: File name too long."),
        (["audit"], "CONFIG is missing; usage: ucm audit CONFIG [OVERRIDES ...] [OPTIONS]"),
        (["audit", "--resume", "run"], "CONFIG is missing"),
        (["adit", "config.yaml"], "unknown command 'adit'; did you mean audit?"),
        (["config.yaml"], "unknown command 'config.yaml'; the commands are demo, audit"),
        (["templates", "some/model"], "no chat template is known for the model 'some/model'"),
        (["templates", "a", "b"], "one argument too many: 'b'"),
    ],
)
def test_wrong_words_are_refused_before_anything_happens(words, complaint, tmp_path):
    """A file that is not there or a command that does not exist is one line, and exit code 2."""
    done = run_here(tmp_path, *words)

    assert_refused(done, complaint)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["audit", "config.yaml"], ["audit", "nowhere.yaml"], ["--help"]])
def test_command_of_its_own_process_does_the_same(words, tmp_path):
    """What the tests above see in this process is what the shell sees."""
    (tmp_path / "config.yaml").write_text("topik: t\n", "utf-8")

    there, here = run_ucm(tmp_path, *words), run_here(tmp_path, *words)

    assert (there.returncode, there.stdout, there.stderr) == (
        here.returncode,
        here.stdout,
        here.stderr,
    )


def test_plan_refuses_alike(tmp_path):
    """A dry run is no way around the checks."""
    (tmp_path / "config.yaml").write_text(setting("topik: t"), "utf-8")

    done = run_here(tmp_path, "audit", "config.yaml", "--dry-run")

    assert_refused(done, "unknown key topik (did you mean topic?).")


@pytest.mark.parametrize("word", ["topik=t", "auditor_prompt=mine.md", "budget.max_usd=1"])
def test_programs_get_a_record_of_the_refusal(word, tmp_path, dead_port):
    """With --json, stdout holds one record with the same words and the exit code."""
    (tmp_path / "config.yaml").write_text(OFFLINE.replace("PORT", str(dead_port)), "utf-8")

    done = run_here(tmp_path, "audit", "config.yaml", word, "--json")

    record = json.loads(done.stdout)
    assert done.stderr == f"error: {record['error']}\n"
    assert record == {"run_dir": None, "exit_code": 2, "error": record["error"]}
    assert done.returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


def test_resume_of_what_is_no_run_is_refused(tmp_path, dead_port):
    """A folder that is no run is named, exit code 4, and stays as it is."""
    (tmp_path / "config.yaml").write_text(OFFLINE.replace("PORT", str(dead_port)), "utf-8")
    (tmp_path / "folder").mkdir()
    before = everything_in(tmp_path)

    for name in ("folder", "nowhere", "config.yaml"):
        done = run_here(tmp_path, "audit", "config.yaml", "--resume", name)
        assert done.stderr == f"error: {name} is not a run directory: it holds no config.yaml.\n"
        assert (done.stdout, done.returncode) == ("", 4)

    assert everything_in(tmp_path) == before


# --- what every command line answers ------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--help"], "Usage: ucm COMMAND"),
        (["-h"], "Usage: ucm COMMAND"),
        (["audit", "--help"], "Usage: ucm audit CONFIG"),
        (["audit", "nowhere.yaml", "--help"], "Usage: ucm audit CONFIG"),
        (["templates", "--help"], "Usage: ucm templates [MODEL]"),
        (["--version"], "ucm "),
    ],
)
def test_help_and_version_are_a_success(words, shown, tmp_path):
    """Who asks for help gets it on stdout, whatever else is on the line."""
    done = run_here(tmp_path, *words)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(shown)
    assert list(tmp_path.iterdir()) == []


def run_script(cwd: Path, path: Path | str, *words: str) -> subprocess.CompletedProcess[str]:
    return run_python(cwd, path, *words)


SCRIPT = Path("src/uncensoring_chinese_models/search_censored.py")


def test_promised_script_works_from_anywhere(tmp_path):
    """The path that the spec promises runs from the checkout and from any other folder."""
    for cwd, path in ((ROOT, SCRIPT), (tmp_path, ROOT / SCRIPT)):
        done = run_script(cwd, path, "--help")

        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("Usage: search_censored.py CONFIG")


def test_promised_script_refuses_bad_input_alike(tmp_path):
    """The script has the same exit code and the same one line."""
    assert_refused(
        run_script(tmp_path, ROOT / SCRIPT, "nowhere.yaml"),
        "The config file nowhere.yaml does not exist.",
    )


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_closed_stream_is_no_error(closed, tmp_path):
    """A caller that closed a stream gets the exit code, and no traceback on the other one."""
    redirect = {"stdout": ">&-", "stderr": "2>&-"}[closed]
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m uncensoring_chinese_models --help {redirect}', sys.executable],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


# --- what importing does ------------------------------------------------------------------------

IMPORT_ALL = """
import importlib, json, logging, os, pkgutil, signal, sys, threading

effects = []
environment, path = dict(os.environ), list(sys.path)
interrupt = signal.getsignal(signal.SIGINT)


def watch(event, args):
    if event == "open":
        name, _, flags = args
        is_module = str(name).endswith((".py", ".pyc", ".so")) and not flags & os.O_ACCMODE
        if not is_module:
            effects.append([event, str(name)])
    elif event.startswith(("socket.", "subprocess.", "shutil.", "urllib.", "os.")):
        if event not in ("os.listdir", "os.scandir"):  # looking for modules
            effects.append([event, repr(args)])


import aiohttp, dotenv, fire, json_repair, pydantic, rapidfuzz, rich.console, yaml

pydantic.create_model("First")  # looks for plugins among the installed packages

sys.addaudithook(watch)
import uncensoring_chinese_models as package

names = [each.name for each in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
names.remove("uncensoring_chinese_models.exports.inspect_task")  # Inspect loads it, and reads much
for name in names:
    importlib.import_module(name)
if environment != dict(os.environ):
    effects.append("the environment")
if path != sys.path:
    effects.append("the module path")
if threading.active_count() > 1:
    effects.append("a thread")
if logging.getLogger().handlers:
    effects.append("log set-up")
if interrupt is not signal.getsignal(signal.SIGINT):
    effects.append("a signal handler")
found, effects = effects, []
print(json.dumps([names, found]))
"""

IMPORTED_BY = """
import sys
from uncensoring_chinese_models.cli.commands import main
code = main(sys.argv[1:])
print(code, *(name for name in ("aiohttp", "rich", "pydantic", "yaml", "fire", "dotenv")
              if name in sys.modules), file=sys.stderr)
"""


def test_importing_any_module_has_no_effect(tmp_path):
    """No file, no network, no process, no thread, no setting: importing is free."""
    done = run_python(tmp_path, "-B", "-c", IMPORT_ALL)
    names, effects = json.loads(done.stdout)

    assert effects == []
    assert done.stderr == ""
    assert "uncensoring_chinese_models.models.http_api" in names
    assert "uncensoring_chinese_models.__main__" in names
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--help"], 0),
        (["audit", "--help"], 0),
        (["facts", "--help"], 0),
        (["facts", "check", "--help"], 0),
        (["--version"], 0),
    ],
)
def test_help_loads_no_heavy_library(words, code, tmp_path):
    """Help comes at once: nothing is loaded that only an audit needs."""
    done = run_python(tmp_path, "-B", "-c", IMPORTED_BY, *words)

    assert done.stderr == f"{code}\n"
