"""No key leaves: a server repeats it in every encoding and every place, and it is found nowhere."""

from __future__ import annotations

import json
import re
import zipfile
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.facts_example import example_file, write_facts
from tests.judged_runs import endpoint, judging_provider, probed
from tests.provider import FAULTS, Provider
from tests.provider.echo import everywhere, traces
from tests.provider.judge import ScriptedJudge
from tests.running import HANGING, PRICE
from tests.support import (
    audited_provider,
    fault_group,
    make_config,
    one_of_each,
    only_run,
    run_here,
    write_config,
)
from tests.viewing import viewing

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

pytestmark = pytest.mark.wire

KEYS = {
    "AUDITOR_KEY": "sk-or-v1-0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d",
    "TARGET_KEY": "tgt-9fQz_4TgXb7LmW2pR8sYc-aV3nHdKu6JtEo1",
    "JUDGE_KEY": "Zx81mQ0bTt5vRk2WnE7cPq40",
}
CHARSETS = ("utf-8", "utf-16", "utf-8-sig")


def settings(provider: Provider, **changes: Any) -> dict[str, Any]:
    """Return a config whose endpoints have a key each."""
    side = {"preset": "openrouter", "base_url": provider.base_url, "timeout_s": 0.5}
    return make_config(
        provider,
        auditing_endpoint={**side, "api_key_env": "AUDITOR_KEY"},
        audited_endpoint={**side, "api_key_env": "TARGET_KEY"},
        sampling={"arms": ["user_persona", "assistant"]},
        retries={"first_wait_s": 0, "max_attempts": 3, "max_wait_s": 2},
        max_iterations=2,
        **changes,
    )


def of_an_audit() -> list[str]:
    """Return the keys of both endpoints: each server repeats that of the other one too."""
    return [KEYS["AUDITOR_KEY"], KEYS["TARGET_KEY"]]


def found_in(folder: Path) -> list[str]:
    """Name every file in which a key stands, and how it is written there."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            contents = [path.read_bytes()]
            if path.suffix == ".zip":
                with zipfile.ZipFile(path) as opened:
                    contents += map(opened.read, opened.namelist())
            found += [f"{path.name}: {each}" for each in traces_of(*contents)]
    return found


def found_on(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Name how a key is written on the screen."""
    return [f"screen: {each}" for each in traces_of((done.stdout + done.stderr).encode())]


def traces_of(*contents: bytes) -> list[str]:
    """Name how any of the keys is written in these bytes."""
    return [
        f"{name} {how}" for name, key in KEYS.items() for c in contents for how in traces(c, key)
    ]


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Put all keys into the environment."""
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)


def kind_of(row: tuple[str, str]) -> object:
    """Return what decides whether a row runs always."""
    return fault_group(row[0]) if row[1] == "utf-8" else row[1]


ROWS = [(name, charset) for charset in CHARSETS for name in FAULTS if name not in HANGING]


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
@pytest.mark.parametrize("row", one_of_each(ROWS, kind_of), ids=" ".join)
def test_key_that_is_repeated_in_a_failure_is_found_nowhere(tmp_path, row):
    """Each shape of failure, with every form of the keys in every text: files and screen have none."""
    shape, charset = row
    with audited_provider(stop_after=2) as provider:
        provider.echo = everywhere(*of_an_audit(), charset=charset)
        for api in FAULTS[shape].apis & {"chat", "completions"}:
            provider.fail(shape, api=api, times=2, retry_after=0 if "retry" in shape else None)
        write_config(tmp_path, settings(provider))
        done = run_here(tmp_path, "audit", "config.yaml")
        sent = [request.raw for request in provider.requests]

    assert sent
    assert found_on(done) == []
    assert found_in(tmp_path) == []
    assert traces_of(*sent) == []
    assert "[key]" in (only_run(tmp_path) / "journal.jsonl").read_text("utf-8")


@pytest.mark.parametrize("shape", one_of_each(HANGING, lambda _: None))
def test_key_that_is_repeated_before_silence_is_found_nowhere(tmp_path, shape):
    """A server that says the key and then nothing more."""
    with audited_provider() as provider:
        provider.echo = everywhere(*of_an_audit())
        provider.fail(shape, times=None)
        write_config(tmp_path, settings(provider))
        done = run_here(tmp_path, "audit", "config.yaml")

    assert found_on(done) + found_in(tmp_path) == []


def test_key_of_a_judge_is_not_stored_by_an_audit(tmp_path):
    """A host that also serves a judge of the config may repeat the judge's key in an audit."""
    with audited_provider(stop_after=1) as provider:
        provider.echo = everywhere(KEYS["JUDGE_KEY"])
        judge = {"base_url": provider.base_url, "api_key_env": "JUDGE_KEY"}
        judges = [{"model": "a/judge", "endpoint": judge}]
        write_config(tmp_path, settings(provider, judge_model=judges))
        done = run_here(tmp_path, "audit", "config.yaml")

    assert done.returncode == 0
    assert found_on(done) + found_in(tmp_path) == []


def test_config_that_holds_a_key_is_refused_by_the_doctor(tmp_path):
    """A comment is copied with the config into the record."""
    with audited_provider() as provider:
        path = write_config(tmp_path, settings(provider))
        path.write_text(path.read_text("utf-8") + f"# mine: {KEYS['TARGET_KEY']}\n", "utf-8")
        done = run_here(tmp_path, "doctor", "config.yaml")

    assert done.returncode == 2
    assert "The config holds an API key" in done.stderr
    assert provider.count("chat") == 0
    assert not (tmp_path / "runs").exists()


def test_judge_whose_address_holds_the_key_is_refused(tmp_path):
    """The judgements name the address."""
    with judging_provider() as provider:
        run = probed(tmp_path, provider)
        before = len(provider.requests)
        judge = endpoint(provider, api_key_env="JUDGE_KEY")
        judge["base_url"] += f"/{KEYS['JUDGE_KEY']}"
        named = f"judge_model={json.dumps([{'model': 'a/judge', 'endpoint': judge}])}"
        done = run_here(tmp_path, "judge", run, named, "--all")

    assert done.returncode == 2, done.stderr
    assert "The config holds an API key" in done.stderr
    assert len(provider.requests) == before
    assert found_in(tmp_path) == []


@pytest.mark.parametrize("charset", one_of_each(CHARSETS, lambda _: None))
def test_key_that_every_answer_repeats_leaves_by_no_command(tmp_path, charset, monkeypatch):
    """Audit, probe, doctor, judges, report, bundle and viewer: no file, page, log or screen has it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    facts = write_facts(tmp_path, example_file(1))
    with ExitStack() as opened:
        provider = opened.enter_context(audited_provider(stop_after=2))
        judges = opened.enter_context(Provider(auditor=ScriptedJudge(), target=ScriptedJudge()))
        provider.echo = everywhere(*of_an_audit(), charset=charset)
        judges.echo = everywhere(KEYS["JUDGE_KEY"], charset=charset)
        config = settings(provider, facts=str(facts))
        asked = {name: config[name] for name in ("audited_model", "audited_endpoint", "facts")}
        (tmp_path / "probe.yaml").write_text(yaml.safe_dump(asked), "utf-8")
        write_config(tmp_path, config)
        judge = {"preset": "openrouter", "base_url": judges.base_url, "api_key_env": "JUDGE_KEY"}
        named = f"judge_model=[{{model: a/judge, endpoint: {dict(judge, price=PRICE)}}}]"
        screens = [
            run_here(tmp_path, "audit", "config.yaml", "--dry-run"),
            run_here(tmp_path, "audit", "config.yaml", "doctor=report"),
            run_here(tmp_path, "doctor", "config.yaml"),
            run_here(tmp_path, "audit", "config.yaml", "--json", "output_dir=others"),
        ]
        provider.echo = everywhere(KEYS["TARGET_KEY"], charset=charset)
        screens += [run_here(tmp_path, "probe", "probe.yaml", "output_dir=probes")]
        (run,) = [each for each in (tmp_path / "runs").iterdir() if "doctor" not in each.name]
        (probe,) = (each for each in (tmp_path / "probes").iterdir() if each.suffix != ".judged")
        screens += [run_here(tmp_path, "judge", probe, named, "--all")]
        screens += [run_here(tmp_path, word, run) for word in ("report", "verify", "bundle")]
        screens += [run_here(tmp_path, "bundle", run, "--keep-found")]
        sent = [request.raw for request in (*provider.requests, *judges.requests)]

    assert [each.returncode for each in screens] == [0, 0, 3, 0, 0, 0, 0, 0, 4, 0]
    assert judges.requests
    assert list(tmp_path.glob("*.zip"))
    with viewing(tmp_path, tmp_path / "index") as viewer:
        first = viewer.ask("/")
        paths = set(re.findall(r'href="(/[^"]*)"', first.body))
        pages = [first, *(viewer.ask(path) for path in sorted(paths))]
    assert len(pages) > 2
    assert traces_of(*(page.body.encode() for page in pages)) == []
    assert [found for each in screens for found in found_on(each)] == []
    assert found_in(tmp_path) == []
    assert traces_of(*sent) == []
