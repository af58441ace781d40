"""Who answered: every file, page and table names the server of each call, whatever the config says now."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import pytest
import yaml

from tests.judged_runs import probed
from tests.provider import Provider
from tests.support import (
    Audited,
    Watcher,
    audit_here,
    audited_provider,
    rewrite,
    write_config,
)
from uncensoring_chinese_models.cli.verify import verify
from uncensoring_chinese_models.config.endpoints import server_of
from uncensoring_chinese_models.config.settings import AuditConfig
from uncensoring_chinese_models.errors import FatalError
from uncensoring_chinese_models.exports.loading import load_run
from uncensoring_chinese_models.measure.compare.runs import compare_runs
from uncensoring_chinese_models.measure.probe_settings import probe_config
from uncensoring_chinese_models.reports.pages.model import run_view
from uncensoring_chinese_models.reports.pages.render import report_html
from uncensoring_chinese_models.runner.replaying import replay
from uncensoring_chinese_models.runner.run import run_job
from uncensoring_chinese_models.runs.reading import read_run
from uncensoring_chinese_models.verify.verification import verify_run
from uncensoring_chinese_models.viewer.index import Filters, Index


class Moved(NamedTuple):
    """A run that two servers answered."""

    run: Audited
    first: str
    second: str


@pytest.fixture(scope="module")
def moved(tmp_path_factory):
    """A run that began at one address and was continued at another."""
    folder = tmp_path_factory.mktemp("moved")
    sampling = {"arms": ["user_persona", "assistant"], "n": 2}
    with audited_provider() as one, audited_provider() as two:
        one.fail("402", api="completions", times=None, after=3)
        with pytest.raises(FatalError):
            audit_here(folder, one, sampling=sampling)
        (broken,) = (folder / "runs").glob("[!.]*")
        run = audit_here(folder, two, sampling=sampling, resume=broken)
        return Moved(run, one.base_url, two.base_url)


def samples_of(run):
    """Return every stored sample."""
    paths = sorted((run.folder / "audited_responses").iterdir())
    return [each for path in paths for each in json.loads(path.read_bytes())["samples"]]


def asked(run, role):
    """Return the servers that the journal names for a role, by call that was answered."""
    lines = (run.folder / "journal.jsonl").read_bytes().splitlines()
    records = [json.loads(line) for line in lines]
    sent = {
        (each["call"], each["attempt"]): each["server"]
        for each in records
        if each["type"] == "sent" and each["role"] == role
    }
    answered = [
        sent[each["call"], each["attempt"]]
        for each in records
        if each["type"] == "attempt" and "reply" in each and f"/{role}/" in each["call"]
    ]
    return sent, answered


# --- a run that changed its address -------------------------------------------------------------


def test_each_sample_and_turn_names_its_server(moved):
    """The files say for each text which server sent it, not which one the config names in the end."""
    run, first, second = moved
    found = [each["server"] for each in samples_of(run)]
    turns = [
        json.loads(path.read_bytes())["server"]
        for path in sorted((run.folder / "auditor_turns").iterdir())
    ]

    assert set(found) == {first, second}
    assert found.index(second) > 0
    assert turns == sorted(turns, key=[first, second].index)
    assert set(turns) == {first, second}


def test_summary_counts_the_calls_that_each_server_answered(moved):
    """Both are listed by role, in the order in which they were first asked."""
    run, first, second = moved
    _, target = asked(run, "target")
    _, auditor = asked(run, "auditor")

    assert run.summary["servers"] == {
        "auditor": [
            {"server": first, "calls": auditor.count(first)},
            {"server": second, "calls": auditor.count(second)},
        ],
        "target": [
            {"server": first, "calls": target.count(first)},
            {"server": second, "calls": target.count(second)},
        ],
    }
    counted = run.summary["denominators"]["samples"]
    every = [each["server"] for each in samples_of(run)]
    assert counted["by_server"] == {name: every.count(name) for name in (first, second)}
    assert counted["mixed"] == ["server"]


def test_rate_of_withholding_is_also_given_for_each_server(moved):
    """A rate over two servers stands beside the rates of each."""
    withheld = moved.run.summary["rates"]["withheld"]

    assert set(withheld["by_server"]) == {moved.first, moved.second}
    total = sum(each["total"] for each in withheld["by_server"].values())
    assert total == withheld["all"]["total"] == len(samples_of(moved.run))


@pytest.mark.parametrize("name", ["report.md", "report.html"])
def test_reports_name_every_server_and_say_that_they_differ(moved, name):
    """The mixture is said in words, with the number of samples from each."""
    run, first, second = moved
    text = (run.folder / name).read_text("utf-8").replace("\\", "")
    counts = run.summary["denominators"]["samples"]["by_server"]

    told = f"The samples are not all from one server: {counts[first]} from {first}, "
    assert told + f"{counts[second]} from {second}." in text
    assert "The rates mix these" in text
    assert re.search(rf"Withheld, {re.escape(first)}: [\d.]+ \(\d+ of \d+ judged texts", text)
    assert "answered by more than one server" in text


def test_page_of_a_run_that_goes_on_says_that_servers_differ(moved):
    """Also before there is a summary; each sample shows its server."""
    files = read_run(moved.run.folder)
    page = report_html(type(files)(files.name, files.config, None, files.turns, files.responses))

    assert "The samples are not all from one server" in page
    assert page.count(moved.first) > 2
    assert page.count(moved.second) > 2


def test_viewer_shows_the_server_of_each_sample_and_the_mixture(moved, tmp_path):
    """The page of the run and the comparison of two runs say it, as the report does."""
    run, first, second = moved
    index = Index(run.folder.parent, tmp_path / "cache")
    index.refresh()
    (row,) = index.rows(Filters(), 10)
    view = run_view(read_run(run.folder))
    index.close()

    about = [s.about for probe in view.probes for arm in probe.arms for s in arm.samples]
    assert [each["server"] for each in samples_of(run)] == [
        next(word for word in words if word.startswith("http")) for words in about
    ]
    assert row.samples == len(about)
    assert view.mixture[0].startswith("The samples are not all from one server: ")
    assert {first, second} <= {word for words in about for word in words}


def test_exports_name_the_server_of_each_sample_and_call(moved):
    """Tables carry the server, also that of an attempt that was never answered."""
    run, first, second = moved
    loaded = load_run(run.folder)
    sent, _ = asked(run, "target")

    assert [each.server for each in loaded.samples] == [each["server"] for each in samples_of(run)]
    by_call = {
        (each.call, each.attempt): each.server for each in loaded.calls if each.role == "target"
    }
    assert by_call == sent
    assert loaded.overview.servers == f"{first}, {second}"


def test_verify_names_every_server_of_a_run(moved, capsys):
    """The note names those that the last config does not, and all of it still holds."""
    run, first, second = moved
    counts = {each["server"]: each["calls"] for each in run.summary["servers"]["target"]}

    assert verify(str(run.folder)) == 0
    out = capsys.readouterr().out
    assert (
        f"note: The target was answered by {first} ({counts[first]} calls) and {second} "
        f"({counts[second]} calls); they are different servers." in out
    )
    assert f"The auditor was answered by {first}" in out

    verify(str(run.folder), json=True)
    assert json.loads(capsys.readouterr().out)["servers"] == run.summary["servers"]


@pytest.mark.parametrize("where", ["sample", "summary", "turn"])
def test_server_that_was_changed_in_a_file_is_caught(moved, tmp_path, where):
    """Which server answered follows from the journal, like everything else."""
    names = {
        "sample": "audited_responses/001.json",
        "summary": "summary.json",
        "turn": "auditor_turns/001.json",
    }
    content = (moved.run.folder / names[where]).read_bytes()
    forged = content.replace(moved.first.encode(), moved.second.encode(), 1)
    assert forged != content
    files = replay(
        (moved.run.folder / "config.yaml").read_bytes(),
        (moved.run.folder / "journal.jsonl").read_bytes(),
    ).files

    assert files[names[where]] == content


def test_journal_that_names_a_server_which_no_config_names_is_inconsistent(tmp_path):
    """Each call was sent where the config in force says."""
    with audited_provider() as provider:
        run = audit_here(tmp_path, provider, max_iterations=1)

    def change(record):
        if record["type"] == "sent" and "/target/" in record["call"]:
            record["server"] = "https://elsewhere.example/v1"

    rewrite(run.folder, change)
    record = verify_run(run.folder).checks[-1]

    assert (record.name, record.verdict) == ("record", "wrong")
    assert "https://elsewhere.example/v1" in str(record.failures[0])


def test_screen_says_when_a_resumed_run_continues_elsewhere(moved):
    """Before anything is sent, the person reads who answered so far and who will from now on."""
    told = [text for text in moved.run.watcher.notices if "continues with" in text]

    assert told == [
        f"warning: the {role} was answered by {moved.first} so far; the run continues with "
        f"{moved.second}. Its report names both."
        for role in ("auditor", "target")
    ]


def test_run_that_stays_at_its_address_says_nothing_of_it(tmp_path):
    """One server is named once; nothing is said to be mixed."""
    with audited_provider() as provider:
        provider.fail("402", api="completions", times=None)
        with pytest.raises(FatalError):
            audit_here(tmp_path, provider, max_iterations=1)
        provider.heal()
        (folder,) = (tmp_path / "runs").glob("[!.]*")
        run = audit_here(tmp_path, provider, max_iterations=1, resume=folder)

    assert not [text for text in run.watcher.notices if "continues with" in text]
    text = (run.folder / "report.md").read_text("utf-8").replace("\\", "")
    assert f"- servers: target {provider.base_url}; auditor {provider.base_url}" in text
    assert "not all from one" not in text
    assert run.summary["denominators"]["samples"]["mixed"] == []


def test_likelihood_and_checks_of_the_first_server_are_not_said_of_the_second(tmp_path):
    """The doctor asked the first server only, and the report says so."""
    with audited_provider() as one, audited_provider() as two:
        one.fail("402", api="completions", times=None, after=60)
        with pytest.raises(FatalError):
            audit_here(tmp_path, one, doctor="report", sampling={"n": 8}, max_iterations=20)
        (folder,) = (tmp_path / "runs").glob("[!.]*")
        run = audit_here(
            tmp_path, two, doctor="report", sampling={"n": 8}, max_iterations=20, resume=folder
        )

    assert run.summary["doctor"]["servers"] == {"auditor": [one.base_url], "target": [one.base_url]}
    for name in ("report.md", "report.html"):
        text = (run.folder / name).read_text("utf-8").replace("\\", "")
        assert f"The doctor did not check {two.base_url}." in text


def test_served_models_and_providers_that_differ_are_said(tmp_path):
    """One address may serve several models and hosts: the summary and the report say so."""
    with audited_provider() as provider:
        provider.fail("model_other", when=lambda body: body.get("seed") == 1)
        run = audit_here(tmp_path, provider, sampling={"n": 3, "seed": 0}, max_iterations=1)

    assert run.summary["denominators"]["samples"]["mixed"] == ["served_model"]
    text = (run.folder / "report.md").read_text("utf-8").replace("\\", "")
    assert "The samples are not all from one served model: " in text
    assert "1 from x-ai/another-model" in text


def test_comparison_of_a_run_with_two_servers_says_so(tmp_path):
    """What is withheld by arm is counted over both, and the comparison names them."""
    with Provider() as one, Provider() as two:
        one.fail("402", times=None, after=6)
        with pytest.raises(FatalError):
            probed(tmp_path, one, facts=2)
        (folder,) = (tmp_path / "runs").glob("[!.]*")
        config = yaml.safe_load((folder / "config.yaml").read_bytes())
        config["audited_endpoint"]["base_url"] = two.base_url
        run_job(probe_config(str(write_config(tmp_path, config))), Watcher(), resume=folder)

    (setting,) = [each for each in compare_runs([folder]).settings if each.name == "servers"]
    assert setting.values == ([one.base_url, two.base_url],)
    assert verify_run(folder).holds


# --- the name of a server -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "endpoint", "name"),
    [
        ("a/b", {}, "https://openrouter.ai/api/v1"),
        ("m", {"base_url": "http://localhost:8000/v1/"}, "http://localhost:8000/v1"),
        ("m", {"base_url": "HTTPS://API.Example.com:443/v1"}, "https://api.example.com/v1"),
        ("m", {"base_url": "http://example.com:80/v1"}, "http://example.com/v1"),
        ("m", {"base_url": "http://[::1]:9/V1"}, "http://[::1]:9/V1"),
        ("m", {"preset": "vllm"}, "http://localhost:8000/v1"),
        ("organism/hides", {}, "organism/hides"),
    ],
)
def test_server_has_one_name(model, endpoint, name):
    """An address in one spelling; what runs inside this program has the name of its model."""
    config = AuditConfig.model_validate(
        {"topic": "T", "auditing_model": "a/b", "audited_model": model}
        | ({"audited_endpoint": endpoint} if endpoint else {})
    )

    assert server_of(model, config.audited_endpoint) == name
