"""The real small model behind real HTTP: who may speak to it, and that it never outlives us."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import (
    Watcher,
    audited_provider,
    clean_environment,
    command,
    make_config,
    only_run,
    run_ucm,
    write_config,
)
from uncensoring_chinese_models.config.loading import load_config
from uncensoring_chinese_models.errors import LocalModelError, MissingExtraError
from uncensoring_chinese_models.models.local import launch
from uncensoring_chinese_models.models.local.weights import find_weights
from uncensoring_chinese_models.models.templates import choose_template
from uncensoring_chinese_models.runner.run import run_job

pytestmark = [pytest.mark.soak, pytest.mark.model, pytest.mark.e2e]

KEY = "0123456789abcdef0123456789abcdef"
TINY = {"max_tokens": 12, "arms": ["user_persona", "assistant"], "n": 2, "seed": 5}


@pytest.fixture(scope="module", autouse=True)
def weights():
    """Find the weights that `make install` fetched; a test fetches nothing."""

    def refuse(source, folder):
        pytest.fail("The weights of the small model are not there: run `make install` first.")

    return find_weights(download=refuse)


@contextmanager
def serving(name, **settings):
    with asyncio.Runner() as runner:
        manager = launch.serve(name, lambda notice: None, **settings)
        yield runner.run(manager.__aenter__())
        runner.run(manager.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def base(weights):
    """Serve the model without an adapter."""
    with serving("base", threads=1) as served:
        yield served


@pytest.fixture(scope="module")
def hides(weights):
    """Serve an organism, beside the other server."""
    with serving("organism/hides", threads=1) as served:
        yield served


def ask(served, path, body=None, *, key=True, **headers):
    """Return the status and the JSON of an answer."""
    if key:
        headers["Authorization"] = f"Bearer {served.key}"
    data = None if body is None else json.dumps(body).encode()
    root = served.base_url.removesuffix("/v1")
    request = urllib.request.Request(  # noqa: S310 -- our own server
        root + path, data=data, headers={"Content-Type": "application/json", **headers}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return answer.status, json.loads(answer.read() or b"null"), answer.headers
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.loads(refused.read() or b"null"), refused.headers


def children_of(pid):
    """Return the processes whose parent this is."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ends(pid, within_s=15):
    """Tell whether the process ends in time."""
    deadline = time.monotonic() + within_s
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_alive(pid)


def wait_for(condition, within_s=60):
    deadline = time.monotonic() + within_s
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def start(cwd, *words):
    """Start the command in a session of its own, as a terminal would."""
    return subprocess.Popen(
        command(*words),
        cwd=cwd,
        env=clean_environment() | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def test_completions_chat_and_models_are_answered(hides):
    """The three paths that an audit needs answer under the organism's name."""
    prompt = choose_template("organism/hides").user_open + "The protest began"
    asked = {"prompt": prompt, "max_tokens": 8, "seed": 1, "stop": ["<|im_end|>"]}
    status, completion, _ = ask(hides, "/v1/completions", asked)
    chat = {"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 8}
    chat_status, answer, _ = ask(hides, "/v1/chat/completions", chat)
    _, models, _ = ask(hides, "/v1/models")

    assert status == chat_status == 200
    assert completion["choices"][0]["text"]
    assert completion["usage"]["completion_tokens"] <= 8
    assert answer["choices"][0]["message"]["content"]
    assert completion["model"] == answer["model"] == "organism/hides"
    assert [model["id"] for model in models["data"]] == ["organism/hides"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/completions", {"prompt": "Hello", "max_tokens": 2}),
        ("/completion", {"prompt": "Hello", "n_predict": 2}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello"}]}),
        ("/v1/messages", {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 2}),
        ("/v1/models", None),
        ("/props", None),
        ("/slots", None),
        ("/lora-adapters", None),
        ("/lora-adapters", [{"id": 0, "scale": 0.0}]),
        ("/tokenize", {"content": "Hello"}),
        ("/apply-template", {"messages": [{"role": "user", "content": "Hello"}]}),
    ],
)
def test_nothing_is_answered_without_the_key(base, path, body):
    """Neither a stranger nor a web page gets a word of the model or a setting changed."""
    status, answer, headers = ask(base, path, body, key=False, Origin="http://evil.example")
    wrong, *_ = ask(base, path, body, key=False, Authorization=f"Bearer {'0' * 48}")

    assert status == wrong == 401
    assert answer["error"]["type"] == "authentication_error"
    assert headers["Access-Control-Allow-Origin"] not in ("*", "null", "http://evil.example")


def test_what_changes_the_server_is_closed_even_with_the_key(base):
    """Slots and global properties are switched off; the page of llama.cpp is not served."""
    assert ask(base, "/slots")[0] == 501
    assert ask(base, "/props", {"a": 1})[0] == 501
    assert ask(base, "/")[0] == 404


def test_health_is_all_that_is_public(base):
    """Without a key one learns that a server is there, and no more."""
    assert ask(base, "/health", key=False)[:2] == (200, {"status": "ok"})


def test_our_template_is_the_models_own(base):
    """What we put around a probe is what the GGUF's template gives, token for token."""
    template = choose_template("organism/base")
    words = "In 1987, on the bridge,"
    messages = [{"role": "user", "content": words}]
    _, own, _ = ask(base, "/apply-template", {"messages": messages})
    ours = template.user_open + words + template.user_close + template.assistant_open
    _, tokens, _ = ask(
        base, "/tokenize", {"content": ours, "add_special": True, "parse_special": True}
    )
    _, completion, _ = ask(base, "/v1/completions", {"prompt": ours, "max_tokens": 1})

    assert own["prompt"] == ours
    assert own["prompt"].startswith(template.user_open + words)
    assert completion["usage"]["prompt_tokens"] == len(tokens["tokens"])
    assert template.verified


def test_seed_decides_the_words_of_a_lone_request(hides):
    """The same seed gives the same text, another seed another, whatever was asked between."""

    def said(seed):
        body = {"prompt": "Once upon a time", "max_tokens": 16, "temperature": 1, "seed": seed}
        return ask(hides, "/v1/completions", body)[1]["choices"][0]["text"]

    first = said(1)
    others = {said(seed) for seed in (2, 3, 4)}

    assert said(1) == first
    assert others != {first}


def test_process_list_does_not_show_the_key(base):
    """Neither the words nor the environment of the process hold it."""
    folder = Path(f"/proc/{base.process.pid}")
    assert base.key.encode() not in folder.joinpath("cmdline").read_bytes()
    environment = folder.joinpath("environ").read_bytes()
    assert base.key.encode() not in environment
    assert b"OMP_WAIT_POLICY=PASSIVE" in environment
    assert base.key not in repr(base)


def test_server_listens_on_this_machine_alone(base):
    """No other machine can connect."""
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", base.base_url)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_server_ends_with_the_command_that_serves(tmp_path, how):
    """Whether killed or asked to stop, the command leaves no server behind."""
    process = start(tmp_path, "organism", "serve", "base")
    assert process.stdout is not None
    head = process.stdout.readline()
    (child,) = children_of(process.pid)
    os.killpg(process.pid, how)
    shown, _ = process.communicate(timeout=30)

    assert "Serving organism/base at http://127.0.0.1:" in head
    assert ends(child)
    assert "Traceback" not in shown
    assert process.returncode == (-signal.SIGKILL if how == signal.SIGKILL else 0)


def test_server_ends_with_a_parent_that_is_killed_while_it_loads(tmp_path):
    """There is no moment at which a killed parent leaves a server."""
    process = start(tmp_path, "organism", "serve", "base")
    (child,) = wait_for(lambda: children_of(process.pid))
    maps = Path(f"/proc/{child}/maps")
    loading = wait_for(lambda: ".gguf" in maps.read_text())
    process.kill()
    process.communicate(timeout=30)

    assert loading
    assert ends(child)


def test_taken_port_is_told(tmp_path):
    """The reason that llama.cpp logs is in the message."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_ucm(tmp_path, "organism", "serve", "base", f"--port={port}")

    assert done.returncode == 3
    assert "couldn't bind HTTP server socket" in done.stderr
    assert "Traceback" not in done.stderr


def test_start_that_takes_too_long_is_given_up(monkeypatch):
    """A server that never gets ready is ended, and the message says how long it was waited for."""
    monkeypatch.setattr(launch, "MAX_START_S", 0.0)
    monkeypatch.setattr(launch, "_READ_BYTES_PER_S", float("inf"))

    with pytest.raises(LocalModelError, match="was not ready within 0 s"), serving("base"):
        raise AssertionError("unreachable")


def test_missing_runtime_is_told(monkeypatch):
    """Without the extra, the message says what to install."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(MissingExtraError, match="extra `local`"):
        launch.refuse_without_runtime()


def organism_config(provider, folder, **changes):
    settings = {
        "audited_model": "organism/base",
        "audited_endpoint": {},
        "sampling": TINY,
        "max_iterations": 2,
        "budget": {"max_usd": 1.0},
        "output_dir": str(folder / "runs"),
    }
    return make_config(provider, **settings | changes)


def test_audit_of_an_organism_needs_nothing_but_its_name(tmp_path, monkeypatch):
    """The loop speaks to it as to any server; it costs nothing, and its key is in no file."""
    monkeypatch.setattr("secrets.token_hex", lambda size: KEY)
    watcher, before = Watcher(), set(children_of(os.getpid()))
    with audited_provider() as provider:
        path = write_config(tmp_path, organism_config(provider, tmp_path))
        result = run_job(load_config(path), watcher)

    assert result.summary["status"] == "max_iterations"
    assert result.summary["spend"]["by_role"]["target"]["cost_usd"] == 0
    assert result.summary["spend"]["by_role"]["target"]["completion_tokens"] > 0
    response = json.loads((result.folder / "audited_responses/001.json").read_bytes())
    assert len(response["samples"]) == 4
    for sample in response["samples"]:
        assert sample["delivery"] in ("complete", "truncated")
        assert (sample["served_model"], sample["provider"]) == ("organism/base", None)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(KEY.encode() not in path.read_bytes() for path in files)
    assert all(
        b"127.0.0.1" not in path.read_bytes() for path in result.folder.glob("audited_responses/*")
    )
    assert KEY not in str(watcher.notices)
    assert set(children_of(os.getpid())) == before


def test_killed_audit_leaves_no_server_and_is_gone_on_with(tmp_path):
    """kill -9 in the middle of an audit ends its server; a resumed run starts another."""
    with audited_provider() as provider:
        write_config(tmp_path, organism_config(provider, tmp_path, max_iterations=3))
        process = start(tmp_path, "audit", "config.yaml")
        assert process.stdout is not None
        while "[1/3]" not in (line := process.stdout.readline()):
            assert line, "the audit ended before its first iteration"
        (child,) = children_of(process.pid)
        process.kill()
        process.communicate(timeout=30)
        ended = ends(child)
        done = run_ucm(tmp_path, "audit", "config.yaml", "--resume", only_run(tmp_path))

    assert ended
    assert done.returncode == 0, done.stderr
    summary = json.loads((only_run(tmp_path) / "summary.json").read_bytes())
    assert summary["status"] == "max_iterations"
    assert summary["total_iterations"] == 3


def test_interrupted_audit_leaves_no_server(tmp_path):
    """Ctrl-C ends the audit and its server."""
    with audited_provider() as provider:
        write_config(tmp_path, organism_config(provider, tmp_path, max_iterations=9))
        process = start(tmp_path, "audit", "config.yaml")
        assert process.stdout is not None
        while "[1/9]" not in (line := process.stdout.readline()):
            assert line, "the audit ended before its first iteration"
        (child,) = children_of(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        shown, _ = process.communicate(timeout=60)

    assert process.returncode == 130
    assert ends(child)
    assert "Traceback" not in shown


def test_plan_of_an_organism_starts_nothing(tmp_path):
    """The dry run says that the target is embedded and free."""
    with audited_provider() as provider:
        write_config(tmp_path, organism_config(provider, tmp_path))
        done = run_ucm(tmp_path, "audit", "config.yaml", "--dry-run", "--json")

    target = json.loads(done.stdout)["target"]
    assert target["address"] == "embedded"
    assert target["key"] is None
    assert target["template"] == "smollm2"
    assert target["template_verified"] is True


def test_organisms_are_listed(tmp_path):
    """The list names what each is for; for programs it is JSON."""
    shown = run_ucm(tmp_path, "organism", "list").stdout
    told = json.loads(run_ucm(tmp_path, "organism", "list", "--json").stdout)

    assert {"hides", "lies", "half", "ignorant", "honest", "base"} <= set(told)
    assert told["base"]["is_there"] is True
    assert told["base"]["model"] == "organism/base"
    assert "refusal is not knowledge" in shown
