"""Where keys are read from, what else of a .env is loaded (nothing), and what children inherit."""

from __future__ import annotations

import json
import os
import sys

import pytest

from tests.support import ROOT, audited_provider, make_config, run_python, run_ucm, write_config
from uncensoring_chinese_models.config import environment
from uncensoring_chinese_models.config.endpoints import Endpoint
from uncensoring_chinese_models.config.environment import (
    FOR_DOWNLOADS,
    MAX_DOTENV_BYTES,
    child_environment,
    read_key,
)
from uncensoring_chinese_models.errors import ConfigError, MissingCredentialError

NAME = "OPENROUTER_API_KEY"
KEY = "sk-or-v1-5ec4e75ec4e75ec4e75ec4e7"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Work in a folder of its own, and put the environment back afterwards."""
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    return folder


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return a folder that stands for the checkout."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    monkeypatch.setattr(environment, "checkout_folder", lambda: folder)
    return folder


# --- the places ---------------------------------------------------------------------------------


def test_key_is_found_in_the_working_directory(here):
    """A .env beside the config is read."""
    (here / ".env").write_text(f"{NAME}={KEY}\n")

    assert read_key(Endpoint()) == KEY


def test_key_is_found_in_the_checkout(here, checkout):
    """A .env in the root of the checkout is read, wherever the command runs."""
    (checkout / ".env").write_text(f"{NAME}={KEY}\n")

    assert read_key(Endpoint()) == KEY


@pytest.mark.parametrize("first", [None, "OTHER=1\n", f"{NAME}=\n"])
def test_working_directory_goes_before_the_checkout(here, checkout, first):
    """The checkout's .env is only used if the one here does not set the key."""
    (checkout / ".env").write_text(f"{NAME}={KEY}\n")
    (here / ".env").write_text(f"{NAME}=sk-here\n" if first is None else first)

    assert read_key(Endpoint()) == ("sk-here" if first is None else KEY)


def test_message_names_the_line_that_is_no_assignment(here, checkout, caplog):
    """A key without = is the likely mistake; it is said once, with its line, and not quoted."""
    (here / ".env").write_text(f"OTHER=1\n{NAME} {KEY}\n")

    with pytest.raises(MissingCredentialError) as told:
        read_key(Endpoint())

    assert f"(it does not set {NAME}; line 2 is not NAME=VALUE)" in str(told.value)
    assert KEY not in str(told.value)
    assert caplog.records == []


@pytest.mark.parametrize("parent", ["..", "../.."])
def test_dotenv_of_a_parent_folder_is_not_read(here, parent):
    """A .env that someone left further up gives no key."""
    (here / parent / ".env").write_text(f"{NAME}={KEY}\n")

    with pytest.raises(MissingCredentialError):
        read_key(Endpoint())


def test_message_names_the_places_that_were_looked_in(here, checkout):
    """Both files are named, with what is wrong with each."""
    (checkout / ".env").write_text("OTHER=1\n")

    with pytest.raises(MissingCredentialError) as caught:
        read_key(Endpoint())

    message = str(caught.value)
    assert f"in the environment and in {here}/.env (there is no such file)" in message
    assert f"in {checkout}/.env (it does not set {NAME})" in message


def test_checkout_is_found_from_its_source(tmp_path):
    """The real function names the repository whose src folder is used."""
    code = "from uncensoring_chinese_models.config.environment import *; print(checkout_folder())"
    done = run_python(tmp_path, "-c", code, PYTHONPATH=str(ROOT / "src"))

    assert done.stdout.strip() == str(ROOT)


@pytest.mark.parametrize("project", [None, 'name = "another"\n', "caf\xe9"])
def test_installed_package_has_no_checkout(tmp_path, project):
    """Neither site-packages nor the src folder of another project counts as the checkout."""
    inside = tmp_path / ("src" if project else "site-packages")
    inside.mkdir()
    (inside / "uncensoring_chinese_models").symlink_to(ROOT / "src/uncensoring_chinese_models")
    if project:
        (tmp_path / "pyproject.toml").write_bytes(project.encode("latin-1"))
    code = (
        "import pathlib; pathlib.Path.resolve = pathlib.Path.absolute\n"
        "from uncensoring_chinese_models.config.environment import *; print(checkout_folder())"
    )
    done = run_python(tmp_path, "-c", code, PYTHONPATH=str(inside))

    assert done.stdout.strip() == "None", done.stderr


# --- nothing else is loaded -----------------------------------------------------------------------

EVIL = "HTTP_PROXY=http://evil.invalid\nLD_PRELOAD=/tmp/evil.so\nPATH=/tmp/evil\nOTHER_KEY=abc\n"


def test_nothing_but_the_key_is_loaded(here):
    """Other variables of the file stay out of the process."""
    before = dict(os.environ)
    (here / ".env").write_text(f"{EVIL}{NAME}={KEY}\n{EVIL}")

    read_key(Endpoint())

    assert dict(os.environ) == {**before, NAME: KEY}


def test_dotenv_cannot_set_a_proxy_for_the_key(tmp_path):
    """The whole command, with a .env that names a proxy: the proxy is asked for nothing."""
    with audited_provider() as provider, audited_provider() as proxy:
        address = f"http://127.0.0.1:{proxy.port}"
        (tmp_path / ".env").write_text(
            f"MY_KEY={KEY}\nHTTP_PROXY={address}\nhttp_proxy={address}\n"
        )
        side = {
            "base_url": "http://unresolvable.invalid/v1",
            "api_key_env": "MY_KEY",
            "allow_insecure": True,
        }
        config = make_config(provider, auditing_endpoint=side, retries={"max_attempts": 1})
        write_config(tmp_path, config)
        done = run_ucm(tmp_path, "audit", "config.yaml")

    assert "no connection to unresolvable.invalid" in done.stderr
    assert proxy.requests == []


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (f"{NAME}={KEY}", KEY),
        (f"export {NAME}={KEY}", KEY),
        (f"{NAME}='{KEY}'", KEY),
        (f'{NAME} = "{KEY}"  # mine', KEY),
        (f"{NAME}={KEY}\r", KEY),
        (f"\ufeff{NAME}={KEY}", KEY),
        (f"{NAME}=old\n{NAME}={KEY}", KEY),
        (f"TEXT='first\n{NAME}=inside\nlast'\n{NAME}={KEY}", KEY),
        (f"# {NAME}=sk-comment\n{NAME}={KEY}", KEY),
        (f"this is no assignment\n{NAME}={KEY}", KEY),
        (f"{NAME}=a$b", "a$b"),
    ],
)
def test_dotenv_may_be_written_in_the_usual_ways(here, line, key):
    """Quotes, export, CRLF, comments, a byte order mark and values of several lines are understood."""
    (here / ".env").write_bytes((line + "\n").encode())

    assert read_key(Endpoint()) == key


@pytest.mark.parametrize("value", ["${HOME}", "sk-${AWS_SECRET_ACCESS_KEY}", '"${X:-sk-abc}"'])
def test_value_of_another_variable_is_not_pulled_in(here, monkeypatch, value):
    """A reference to another variable is refused: its value must not be sent to a server."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "aws-secret")
    (here / ".env").write_text(f"{NAME}={value}\n")

    with pytest.raises(ConfigError, match="to the value of another variable; write the key") as err:
        read_key(Endpoint())
    assert "aws-secret" not in str(err.value)
    assert NAME not in os.environ


@pytest.mark.parametrize("quote", ["'", '"'])
def test_value_of_several_lines_sets_nothing_else(here, quote):
    """What follows the first line of a quoted value is no variable of its own."""
    before = dict(os.environ)
    (here / ".env").write_text(f"{NAME}={quote}{KEY}\n{EVIL}{quote}\n")

    with pytest.raises(ConfigError, match="contains spaces, line breaks"):
        read_key(Endpoint())
    assert dict(os.environ) == before


# --- odd files ----------------------------------------------------------------------------------


@pytest.mark.timeout(20)
def test_dotenv_that_is_a_pipe_is_refused_at_once(here):
    """A pipe that nobody writes to does not hang the command."""
    os.mkfifo(here / ".env")

    with pytest.raises(ConfigError, match="is not a regular file"):
        read_key(Endpoint())


def test_dotenv_that_is_a_device_is_refused(here):
    """A link to an endless device is not read."""
    (here / ".env").symlink_to("/dev/zero")

    with pytest.raises(ConfigError, match="is not a regular file"):
        read_key(Endpoint())


def test_huge_dotenv_is_refused(here):
    """A file far larger than any .env is not read into memory."""
    with (here / ".env").open("wb") as file:
        file.truncate(MAX_DOTENV_BYTES * 10_000)

    with pytest.raises(ConfigError, match="is larger than"):
        read_key(Endpoint())


def test_folder_named_dotenv_is_passed_over(here, checkout):
    """Some people call their virtual environment .env."""
    (here / ".env").mkdir()
    (checkout / ".env").write_text(f"{NAME}={KEY}\n")

    assert read_key(Endpoint()) == KEY


@pytest.mark.parametrize("lost", [False, True])
def test_dotenv_may_be_a_link(here, tmp_path, checkout, lost):
    """A link to a file is followed; one to nowhere is no file."""
    (here / ".env").symlink_to(tmp_path / "keys")
    place = checkout / ".env" if lost else tmp_path / "keys"
    place.write_text(f"{NAME}={KEY}\n")

    assert read_key(Endpoint()) == KEY


def test_working_directory_that_was_removed_holds_no_dotenv(here, checkout):
    """The checkout is still looked in."""
    here.rmdir()
    (checkout / ".env").write_text(f"{NAME}={KEY}\n")

    assert read_key(Endpoint()) == KEY


# --- children -------------------------------------------------------------------------------------


def test_children_inherit_no_keys(monkeypatch):
    """A child gets what it needs to run: no key, no proxy, no injected code."""
    kept = {"PATH": os.environ["PATH"], "HOME": "/h", "LC_ALL": "C", "TMPDIR": "/t", "LANG": "C"}
    for name, value in kept.items():
        monkeypatch.setenv(name, value)
    for name in (NAME, "HF_TOKEN", "LD_PRELOAD", "PYTHONSTARTUP", "HTTP_PROXY", "PIP_INDEX_URL"):
        monkeypatch.setenv(name, KEY)

    given = child_environment(added={"A": "1"})

    assert KEY not in given.values()
    assert given.items() >= {**kept, "A": "1"}.items()
    assert {name for name, value in child_environment(NAME).items() if value == KEY} == {NAME}
    downloads = child_environment(also=FOR_DOWNLOADS)
    assert {name for name, value in downloads.items() if value == KEY} == {
        "HTTP_PROXY",
        "PIP_INDEX_URL",
    }


SPY = """\
import json, os, sys
with open({path!r}, "w") as file:
    json.dump(dict(os.environ), file)
"""


@pytest.mark.parametrize(
    "words", [("organism", "serve", "base"), ("model", "get", "smollm2-135m-instruct")]
)
def test_no_child_process_gets_a_key(tmp_path, words):
    """The real commands that start a process hand it neither keys nor variables of a .env."""
    seen = tmp_path / "seen.json"
    spy = tmp_path / "python"
    spy.write_text(f"#!{sys.executable} -S\n" + SPY.format(path=str(seen)))
    spy.chmod(0o755)
    (tmp_path / ".env").write_text(f"LD_PRELOAD=/tmp/evil.so\n{NAME}={KEY}\n")
    code = (
        "import sys; from uncensoring_chinese_models.cli import main\n"
        f"sys.executable = {str(spy)!r}; sys.exit(main({list(words)!r}))"
    )
    cache = {"UCM_CACHE_DIR": str(tmp_path / "cache")} if "get" in words else {}
    done = run_python(tmp_path, "-c", code, **{NAME: KEY, "HF_TOKEN": KEY}, **cache)

    assert done.returncode == 3, done.stdout + done.stderr
    given = json.loads(seen.read_text())
    assert KEY not in given.values()
    assert "LD_PRELOAD" not in given
    assert given["PATH"] == os.environ["PATH"]


def test_nothing_else_starts_a_process():
    """Every place in the package that starts a process gives it an environment of ours."""
    starts = ("subprocess.Popen(", "subprocess.run(", "create_subprocess", "multiprocessing")
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text("utf-8")
        count = sum(text.count(start) for start in starts)
        assert text.count("env=") >= count, path
