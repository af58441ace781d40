"""Logs for Inspect are read by Inspect's own reader, and say what the run says."""

from __future__ import annotations

import json
import shutil
import zipfile

import pytest

from tests.exported_runs import ALL_ODD, audited, broken_off, judged
from tests.support import audit_here, audited_provider
from uncensoring_chinese_models import load_run, load_runs
from uncensoring_chinese_models.audit.stances import ENDED_EARLY
from uncensoring_chinese_models.errors import CorruptRunError, MissingExtraError
from uncensoring_chinese_models.exports import inspect_sample
from uncensoring_chinese_models.exports.inspect_log import write_inspect_log
from uncensoring_chinese_models.exports.writing import export_runs
from uncensoring_chinese_models.strict_json import MAX_INT

pytestmark = [
    pytest.mark.wire,
    pytest.mark.soak,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of Inspect's own imports
]
log = pytest.importorskip("inspect_ai.log")
analysis = pytest.importorskip("inspect_ai.analysis")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Make one run of each sort."""
    top = tmp_path_factory.mktemp("study")
    return {
        "top": top,
        "audited": audited(top / "a", ALL_ODD),
        "judged": judged(top / "b"),
        "broken": broken_off(top / "c"),
    }


def written(run, tmp_path):
    path = tmp_path / "run.eval"
    write_inspect_log(load_run(run), path)
    return log.read_eval_log(str(path), resolve_attachments=True)


def test_log_says_what_the_run_says(runs, tmp_path):
    """Roles, calls, prompts, texts, hypotheses, scores and usage are those of the run."""
    run = load_run(runs["audited"])
    read = written(runs["audited"], tmp_path)
    (sample,) = read.samples

    assert read.status == "success"
    assert read.eval.viewer.trust_content is False
    assert {role: of.model for role, of in read.eval.model_roles.items()} == {
        "auditor": run.overview.auditor,
        "target": run.overview.target,
    }
    calls = [event for event in sample.events if event.event == "model"]
    asked = [event for event in calls if event.role == "target"]
    assert len(calls) - len(asked) == len(run.files.turns)
    assert [event.output.completion for event in asked] == [row.text for row in run.samples]
    raw = [(e, r) for e, r in zip(asked, run.samples, strict=True) if r.formatted_prompt]
    assert raw
    for event, row in raw:
        assert event.input[0].text == event.call.request["prompt"] == row.formatted_prompt
    lanes = [e for e in sample.events if e.event == "span_begin" and e.type == "agent"]
    assert len(lanes) == len(run.files.responses) * 2
    info = [e for e in sample.events if e.event == "info" and e.source == "hypotheses"]
    assert info[-1].data[0]["id"] == run.files.turns[-1]["parsed"]["hypotheses"][0]["id"]
    assert sample.scores["supported_claims"].value == run.overview.supported_claims
    assert sample.scores["withheld"].value == pytest.approx(run.overview.withheld_rate)
    assert run.summary is not None
    spend = run.summary["spend"]["by_role"]
    for role, usage in sample.role_usage.items():
        assert usage.input_tokens == spend[role]["prompt_tokens"]
        assert usage.total_cost == pytest.approx(spend[role]["cost_usd"])
    assert sample.messages[-1].text == run.files.turns[-1]["raw_response"]


def test_same_run_gives_the_same_bytes(runs, tmp_path):
    """No id is drawn, and no time of writing is kept."""
    one, other = tmp_path / "one.eval", tmp_path / "other.eval"
    write_inspect_log(load_run(runs["audited"]), one)
    write_inspect_log(load_run(runs["audited"]), other)

    assert one.read_bytes() == other.read_bytes()
    with zipfile.ZipFile(one) as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_data_frames_of_inspect_open_the_logs(runs, tmp_path):
    """A folder of logs gives Inspect's own tables of samples, messages and events."""
    pytest.importorskip("pandas")
    found = load_runs(runs["top"])
    folder = str(export_runs(found, "inspect", tmp_path / "logs").folder)

    assert len(analysis.evals_df(folder, quiet=True)) == len(found)
    samples = analysis.samples_df(folder, quiet=True)
    assert set(samples["id"]) == {run.name for run in found}
    assert set(analysis.messages_df(folder, quiet=True)["role"]) == {"system", "user", "assistant"}
    events = analysis.events_df(folder, quiet=True)
    count = sum(len(run.samples) + len(run.files.turns) for run in found)
    assert (events["event"] == "model").sum() == count


def test_probe_run_has_its_verdicts(runs, tmp_path):
    """A judged probe run is scored by what the target withholds, and claims nothing."""
    (sample,) = written(runs["judged"], tmp_path).samples

    assert set(sample.scores) == {"withheld", "withheld_facts"}
    assert "of 2 facts" in sample.scores["withheld_facts"].explanation


def test_unfinished_run_is_no_success(runs, tmp_path):
    """Whoever filters by status does not take it for a result."""
    read = written(runs["broken"], tmp_path)

    assert (read.status, read.results) == ("cancelled", None)
    assert read.eval.metadata["status"] == "unfinished"
    assert any(event.event == "model" for event in read.samples[0].events)


def test_failed_run_is_an_error(tmp_path):
    """A run whose target failed says so, with the run's own words."""
    with audited_provider() as provider:
        provider.fail("500", times=None, when=lambda body: "deepseek" in body.get("model", ""))
        run = audit_here(tmp_path, provider)

    read = written(run.folder, tmp_path)

    assert run.summary["status"] == "target_failed"
    assert read.status == "error"
    assert read.error.message == run.summary["status_detail"]


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ("completed", "success"),
        ("max_iterations", "success"),
        ("budget", "cancelled"),
        ("target_failed", "error"),
        ("auditor_failed", "error"),
        ("something new", "cancelled"),
    ],
)
def test_only_a_run_that_went_to_its_end_is_a_success(runs, tmp_path, status, shown):
    """Whoever filters by status gets no run that was cut short; the status is there in words."""
    run = tmp_path / "run"
    shutil.copytree(runs["audited"], run)
    summary = json.loads((run / "summary.json").read_text("utf-8"))
    told = {"status": status, "status_detail": "Why it ended."}
    (run / "summary.json").write_text(json.dumps(summary | told), "utf-8")

    read = written(run, tmp_path)

    assert read.status == shown
    assert read.eval.metadata["status"] == status
    assert read.eval.metadata["status_detail"] == "Why it ended."
    assert (read.error is not None) == (shown == "error")

    (run / "summary.json").write_text(json.dumps(summary | told | {"status_detail": None}), "utf-8")
    assert written(run, tmp_path).eval.metadata["status_detail"] == ENDED_EARLY.get(status)


def test_garbled_times_and_counts_do_no_harm(runs, tmp_path):
    """A stranger's times, costs and counts are passed over where they make no sense."""
    strange = tmp_path / "strange"
    shutil.copytree(runs["audited"], strange)
    for path in strange.glob("audited_responses/*.json"):
        response = json.loads(path.read_bytes())
        for number, sample in enumerate(response["samples"]):
            sample["timestamp"] = ("yesterday", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59")[
                number % 3
            ]
            sample["latency_s"] = (1e300, -5, None)[number % 3]
            sample["usage"]["prompt_tokens"] = MAX_INT
        path.write_text(json.dumps(response))

    (sample,) = written(strange, tmp_path).samples

    assert sum(e.event == "model" and e.role == "target" for e in sample.events) > 0


def test_run_that_is_none_is_refused(runs, tmp_path):
    """What no run writes gives a sentence, and no file."""
    strange = tmp_path / "strange"
    shutil.copytree(runs["audited"], strange)
    path = strange / "auditor_turns/001.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "input_messages": 5}))

    with pytest.raises(CorruptRunError, match="no log can be made of it"):
        write_inspect_log(load_run(strange), tmp_path / "x.eval")
    assert not (tmp_path / "x.eval").exists()


def test_missing_library_is_named(runs, tmp_path, monkeypatch):
    """Without Inspect the message says how to get it, and nothing is written."""
    inspect_sample.inspect_classes.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai", None)
    with pytest.raises(MissingExtraError, match="extra `inspect`"):
        export_runs(load_runs(runs["audited"]), "inspect", tmp_path / "out")
    inspect_sample.inspect_classes.cache_clear()
    assert list(tmp_path.iterdir()) == []
