"""Derive the judgements of a run again, in memory: nothing is sent, and no other file is read.

The patterns judge again by the facts file whose text each judgement holds. The judges' replies come
from their journal, which records each judging with its settings, so that their requests and
judgements follow from it, as those of a run do. What a person wrote into a sheet follows from nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models import __version__, strict_json
from uncensoring_chinese_models.config import JudgeModel, server_of
from uncensoring_chinese_models.domain import Reply
from uncensoring_chinese_models.errors import (
    AuditToolError,
    CorruptRunError,
    FatalError,
    MissingExtraError,
    SlowPatternError,
    TransientError,
)
from uncensoring_chinese_models.measure import (
    JudgedRun,
    JudgeTask,
    LabelTask,
    accuracy_to_json,
    draw_rows,
    judged_run,
    label_task,
    parse_sheet,
    rater_accuracies,
    replay_judges,
)
from uncensoring_chinese_models.models import canary_of, needs_canary
from uncensoring_chinese_models.reports import report_html
from uncensoring_chinese_models.runner.replaying import MemoryStore, Recording
from uncensoring_chinese_models.runs import (
    JUDGEMENT,
    LABELS,
    RunTree,
    is_judged_file,
    judged_sha256,
    parse_run,
    prices_from_json,
    survey,
)

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Call, Json
    from uncensoring_chinese_models.runs import RunFiles

JOURNAL = "journal.jsonl"
PAGE = "report.html"
_TASK = ("run", "summary_sha256", "topic", "facts_sha256", "facts")
_BEGINS = ("header", "resumed")
"""The types of the records with which a judging begins."""


class JudgedFinding(NamedTuple):
    """What is wrong with a file of judgements, or why it could not be derived."""

    file: str
    where: str
    problem: str


@dataclass(slots=True)
class Rejudged:
    """What follows from a run, the facts files, the journal of its judges, and its labels."""

    files: dict[str, bytes] = field(default_factory=dict)
    """The files as they should be, those that are missing included."""
    wrong: list[JudgedFinding] = field(default_factory=list)
    not_done: list[JudgedFinding] = field(default_factory=list)
    calls: int = 0
    """Answers of judges that judgements rest on."""
    unused_calls: int = 0
    """Calls for an earlier state of the run; no judgement rests on them."""
    sheets: list[str] = field(default_factory=list)
    """Sheets of labels that were compared with their hash, and followed as they are."""
    notes: list[str] = field(default_factory=list)


class _Judging(NamedTuple):
    """One judging, as the journal of the judges records it."""

    record: Json
    """The record with which it begins."""
    line: int
    sent: dict[int, Json]
    """The records of the requests that it sent, by line."""
    has_ended: bool
    journal: bytes
    """The journal to the end of this judging."""


def rejudge(
    run: Mapping[str, bytes], judged: Mapping[str, bytes], *, has_journal: bool
) -> Rejudged:
    """Derive the files of a folder of judgements again; it never raises, whatever they hold.

    Args:
        run: the files of the run.
        judged: the files of the folder beside it.
        has_journal: False if the journal of the judges is there, but broken.
    """
    found = Rejudged()
    try:
        files = parse_run("run", run)
        _rejudge(files, run, judged, found, has_journal=has_journal)
    except Exception as err:  # noqa: BLE001 -- a stranger's run may hold anything
        found.files.clear()
        why = f"cannot be derived again, as the run cannot be read ({type(err).__name__}: {err})"
        found.not_done = [JudgedFinding(name, "", why) for name in sorted(judged)]
    return found


def _rejudge(
    files: RunFiles,
    run: Mapping[str, bytes],
    judged: Mapping[str, bytes],
    found: Rejudged,
    *,
    has_journal: bool,
) -> None:
    digest = files.summary_sha256
    if digest is None:
        why = "cannot be derived again: it judges a finished run, and there is no summary.json"
        found.not_done += [JudgedFinding(name, "", why) for name in judged if is_judged_file(name)]
        return
    patterns = [name for name in sorted(judged) if _is_of_patterns(name)]
    for name in patterns:
        _try(found, name, partial(_by_patterns, files, judged[name], name, found))
    if JOURNAL in judged and has_journal:
        _replay_journal(files, judged, found)
    for name in sorted(judged):
        if name.endswith(".judges.json") and not _is_dealt_with(found, name):
            _explain_judges(judged, name, found, has_journal=has_journal)
    for name in sorted(judged):
        if name.endswith(LABELS):
            _labels(files, judged, name.partition(".")[0], found)
    _page(run, judged, found)


def _is_of_patterns(name: str) -> bool:
    match = JUDGEMENT.fullmatch(name)
    return match is not None and match["judges"] is None


def _is_dealt_with(found: Rejudged, name: str) -> bool:
    return name in found.files or any(each.file == name for each in (*found.wrong, *found.not_done))


def _try(found: Rejudged, name: str, derive: Callable[[], None], where: str = "") -> None:
    """Derive a file; whatever a stranger's file makes of it is a finding."""
    try:
        derive()
    except (MissingExtraError, SlowPatternError) as err:  # not a fault of the file
        found.not_done.append(JudgedFinding(name, where, f"cannot be derived again: {err}"))
    except Exception as err:  # noqa: BLE001 -- as the docstring says
        told = str(err) if isinstance(err, AuditToolError) else f"{type(err).__name__}: {err}"
        found.wrong.append(JudgedFinding(name, where, f"cannot be derived again: {told}"))


def _subject(files: RunFiles, told: Json, name: str, found: Rejudged) -> JudgedRun | None:
    """Return the run judged by the facts that a file names; None, with a finding, if it does not fit."""
    problem = ""
    if told.get("summary_sha256") != files.summary_sha256:
        problem = (
            "judges another run, or another state of this one: summary.json has another sha256 "
            "than it names"
        )
    elif judged_sha256(told) is None:
        why = "cannot be derived again: it does not hold the text of its facts file"
        found.not_done.append(JudgedFinding(name, "", why))
        return None
    elif judged_sha256(told) != told.get("facts_sha256"):
        problem = "holds another facts file than the sha256 that it names"
    if problem:
        found.wrong.append(JudgedFinding(name, "", problem))
        return None
    return judged_run(files, told["facts"])


def _parsed(content: bytes) -> Json:
    told = strict_json.loads(content)
    if not isinstance(told, dict):
        raise CorruptRunError("it does not hold a JSON object")
    return told


def _encoded(name: str, told: Json) -> bytes:
    store = MemoryStore({})
    store.write_judged(name, told)
    return store.files[name]


def _version(told: Json) -> str:
    version = told.get("package")
    return version if isinstance(version, str) else __version__


# --- patterns -----------------------------------------------------------------------------------


def _by_patterns(files: RunFiles, content: bytes, name: str, found: Rejudged) -> None:
    told = _parsed(content)
    subject = _subject(files, told, name, found)
    if subject is None:
        return
    if name != f"{subject.facts.topic}.json":
        raise CorruptRunError(f"its facts file is that of {subject.facts.topic}")
    found.files[name] = _encoded(name, subject.by_patterns(_version(told)))


# --- judges -------------------------------------------------------------------------------------


class _FromJournal:
    """Answers the calls of judges from their journal, and keeps which were made."""

    def __init__(self, journal: Recording) -> None:
        self.asked: dict[str, str] = {}
        """The calls that were made, with the models that they go to."""
        self.missing: list[str] = []
        self._journal = journal

    async def complete(self, call: Call) -> Reply:
        """Return the recorded answer; a missing one is a failed call, so that the others are made."""
        name = str(call.key)
        self.asked[name] = call.body["model"]
        held = self._journal.answer(call)
        if isinstance(held, Reply):
            return held
        rejected = held or self._journal.rejected.get(name)
        if rejected is not None and needs_canary(call, rejected):
            self.asked[str(canary_of(call).key)] = call.body["model"]
        if held is not None:
            raise held
        if rejected is not None and call.opens and "response_format" in call.body:
            raise FatalError(rejected.message, status=rejected.status)  # the format is given up
        self.missing.append(name)
        raise TransientError("no answer is recorded")


def _replay_journal(files: RunFiles, judged: Mapping[str, bytes], found: Rejudged) -> None:
    """Replay each judging; the last one that ended gives the file of its topic."""
    topics: set[str] = set()
    for judging in _judgings(judged[JOURNAL]):
        where = f"line {judging.line}"
        if judging.record.get("run") != files.ended.get("run"):
            found.wrong.append(JudgedFinding(JOURNAL, where, "records a judging of another run"))
        elif judging.record.get("summary_sha256") != files.summary_sha256:
            found.unused_calls += len(judging.sent)
        else:
            _try(found, JOURNAL, partial(_replay_judging, files, judging, topics, found), where)
    for topic in sorted(topics):
        if f"{topic}.json" not in judged:
            problem = "is not there, though ucm judge writes it before it asks judges"
            found.wrong.append(JudgedFinding(f"{topic}.json", "", problem))


def _judgings(journal: bytes) -> Iterator[_Judging]:
    """Yield each judging that a journal records."""
    whole = survey(journal)
    lines, records = whole.lines, whole.records
    begins = [n for n, record in enumerate(records) if record["type"] in _BEGINS]
    for begin, end in zip(begins, [*begins[1:], len(records)], strict=True):
        own = list(enumerate(records[begin:end], begin + 1))
        yield _Judging(
            records[begin],
            begin + 1,
            {number: each for number, each in own if each["type"] == "sent"},
            any(each["type"] == "footer" for _, each in own),
            b"".join(line + b"\n" for line in lines[:end]),
        )


def _replay_judging(files: RunFiles, judging: _Judging, topics: set[str], found: Rejudged) -> None:
    """Derive the file that a judging gives, and add its topic, if it has ended."""
    record = judging.record
    findings = Rejudged()
    subject = _subject(files, record, JOURNAL, findings)
    where = f"line {judging.line}"
    found.wrong += [each._replace(where=where) for each in findings.wrong]
    found.not_done += [each._replace(where=where) for each in findings.not_done]
    if subject is None:
        return
    settings = record["settings"]
    judges = [JudgeModel.model_validate(each) for each in settings["judge_model"]]
    every = settings["every"] is True
    task = JudgeTask({name: record[name] for name in _TASK}, judges, every)
    if task.head != subject.head:
        raise CorruptRunError("it names another topic than its facts file")
    requests = subject.requests(every=every)
    sent = [request for request in requests if request is not None]
    journal = Recording()
    journal.load(judging.journal)
    client = _FromJournal(journal)
    results = asyncio.run(replay_judges(task, sent, client, journal.attempts))
    _check_process(judging, judges, found)
    _check_sent(judging, judges, journal, client.asked, found)
    if not judging.has_ended:
        return
    if client.missing:
        raise CorruptRunError(f"it ended without the answer to call {client.missing[0]}")
    found.calls += len(client.asked)
    panel = subject.panel(judges, requests, results)
    file = f"{subject.facts.topic}.judges.json"
    version = str(journal.process.get("package_version"))
    found.files[file] = _encoded(file, subject.by_judges(panel, version))
    topics.add(subject.facts.topic)


def _check_process(judging: _Judging, judges: Sequence[JudgeModel], found: Rejudged) -> None:
    """Compare the prices and servers of a judging with those that its settings give."""
    prices, servers = prices_from_json(judging.record["prices"]), judging.record["servers"]
    for judge in judges:
        differing = []
        if judge.endpoint.known_price not in (None, prices[judge.model]):
            differing.append("price")
        if servers[judge.model] != server_of(judge.model, judge.endpoint):
            differing.append("server")
        for what in differing:
            problem = f"gives another {what} for the judge {judge.model} than its settings"
            found.wrong.append(JudgedFinding(JOURNAL, f"line {judging.line}", problem))


def _check_sent(
    judging: _Judging,
    judges: Sequence[JudgeModel],
    journal: Recording,
    asked: Mapping[str, str],
    found: Rejudged,
) -> None:
    """Compare each request that a judging sent with those that follow from the run."""
    servers = {server_of(judge.model, judge.endpoint) for judge in judges}
    for line, each in judging.sent.items():
        call, problem = each["call"], ""
        if call not in asked or each["request"] != journal.last_request(call):
            problem = f"call {call} does not follow from the run and from what is judged"
        elif (each["role"], each["model"]) != ("judge", asked[call]):
            problem = f"call {call} goes to {asked[call]} as a judge, which the line does not say"
        elif each["server"] not in servers:
            problem = f"asks {each['server']}, which is the server of none of these judges"
        elif line in journal.reservations.wrong:
            expected = journal.reservations.wrong[line]
            problem = f"reserves another amount than its request takes at most ({expected})"
        if problem:
            found.wrong.append(JudgedFinding(JOURNAL, f"line {line}", problem))


def _explain_judges(
    judged: Mapping[str, bytes], name: str, found: Rejudged, *, has_journal: bool
) -> None:
    """Say why a file of judges could not be derived."""
    is_replayed = all(each.file != JOURNAL for each in (*found.wrong, *found.not_done))
    if JOURNAL in judged and has_journal and is_replayed:
        why = "does not follow from the journal of the judges, which has no such judging that ended"
        found.wrong.append(JudgedFinding(name, "", why))
        return
    state = "cannot be replayed" if JOURNAL in judged else "is not there"
    why = f"cannot be derived again: the journal of the judges {state}"
    found.not_done.append(JudgedFinding(name, "", why))


# --- labels -------------------------------------------------------------------------------------


def _labels(files: RunFiles, judged: Mapping[str, bytes], topic: str, found: Rejudged) -> None:
    """Derive the key of a sheet and what the sheet says of raters; a person wrote the sheet itself."""
    key, accuracy, sheet = (topic + ending for ending in LABELS)
    if any(_is_dealt_with(found, name) for name in (key, accuracy, sheet)):
        return
    if judged.get(key) == b"" and not {accuracy, sheet} & {*judged}:
        found.notes.append(
            f"{key} is empty: drawing a sheet was interrupted before it was written."
        )
        return
    if key not in judged:
        why = "cannot be read, as the key of the sheet is not there"
        found.not_done += [
            JudgedFinding(name, "", why) for name in (accuracy, sheet) if name in judged
        ]
        return

    _try(found, key, partial(_key, files, judged, topic, found))


def _key(files: RunFiles, judged: Mapping[str, bytes], topic: str, found: Rejudged) -> None:
    key, accuracy, sheet = (topic + ending for ending in LABELS)
    told = _parsed(judged[key])
    subject = _subject(files, told, key, found)
    if subject is None:
        return
    task = label_task(Path(), subject)
    rows, seed = told.get("rows"), told.get("seed")
    if not isinstance(rows, list) or not isinstance(seed, int):
        raise CorruptRunError("it names no seed, or has no rows")
    store = MemoryStore({})
    store.write_labels(key, draw_rows(task, len(rows), seed)[0])
    found.files[key] = store.files[key]
    if accuracy in judged:
        _try(found, accuracy, partial(_accuracy, task, judged, topic, found))
    elif sheet in judged:
        found.notes.append(f"{sheet} was not read by ucm label yet, so nothing rests on it.")


def _accuracy(task: LabelTask, judged: Mapping[str, bytes], topic: str, found: Rejudged) -> None:
    key, accuracy, sheet = (topic + ending for ending in LABELS)
    told = _parsed(judged[accuracy])
    if sheet not in judged:
        why = "cannot be derived again: the sheet with the labels is not there"
        found.not_done.append(JudgedFinding(accuracy, "", why))
        return
    if not isinstance(told.get("sheet_sha256"), str):
        raise CorruptRunError("it names no sha256 of the sheet")
    if hashlib.sha256(judged[sheet]).hexdigest() != told.get("sheet_sha256"):
        problem = f"has another sha256 than {accuracy} lists"
        found.wrong.append(JudgedFinding(sheet, "", problem))
        return
    labels = parse_sheet(task, judged[key], judged[sheet], Path(sheet))
    judges = f"{topic}.judges.json"
    told_by_judges = found.files.get(judges, judged[judges]) if judges in judged else None
    raters = rater_accuracies(task, labels, told_by_judges)
    store = MemoryStore({})
    stored = accuracy_to_json(task, labels, raters) | {"package": _version(told)}
    store.write_labels(accuracy, stored)
    found.files[accuracy] = store.files[accuracy]
    found.sheets.append(sheet)


# --- the page -----------------------------------------------------------------------------------


def _page(run: Mapping[str, bytes], judged: Mapping[str, bytes], found: Rejudged) -> None:
    """Derive the page that shows all judgements that fit the run."""
    own = [name for name in judged if JUDGEMENT.fullmatch(name)]
    if not own:
        return
    if any(name not in found.files for name in own):
        if PAGE in judged:
            why = "cannot be derived again, as not all judgements can"
            found.not_done.append(JudgedFinding(PAGE, "", why))
        return

    def derive() -> None:
        beside = RunTree({name: found.files[name] for name in own})
        files = parse_run("run", run, beside)
        found.notes += files.unfit
        store = MemoryStore({})
        store.write_page(report_html(files))
        found.files[PAGE] = store.files[PAGE]

    _try(found, PAGE, derive)
