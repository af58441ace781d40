"""The pipeline of a run, from its first request to its last file.

A run that asks models and a replay of its journal both use it; only the clients and the store
differ. It reads no clock, no key and no address, and prices come from the journal, so that a replay
gives the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uncensoring_chinese_models.audit import (
    AuditEnding,
    AuditorTurn,
    RunRecord,
    UnusableReply,
    run_audit,
    summarise,
    turn_to_json,
    unusable_to_json,
)
from uncensoring_chinese_models.domain import Response
from uncensoring_chinese_models.errors import BudgetExceededError
from uncensoring_chinese_models.measure import likelihood_to_json, parse_facts, score_facts
from uncensoring_chinese_models.models import (
    Notice,
    Sampler,
    checked_endpoints,
    doctor_to_json,
    examine,
    in_short,
    refuse_failed,
    warnings_of,
)
from uncensoring_chinese_models.runs import (
    parse_run,
    prices_from_json,
    response_to_json,
    run_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from uncensoring_chinese_models.audit import AuditEvent
    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.domain import Json, Role
    from uncensoring_chinese_models.models import CheckResult, Gate, ModelClient, Notify
    from uncensoring_chinese_models.runs import Journal, RunStore


_COMPLETED = ("completed", "max_iterations")
_SCORING = "likelihood"
NOT_SCORED = (
    "Likelihood was not measured: this kind of server is not known to give the probabilities of a "
    "given text. ucm doctor says whether yours does; then set likelihood: echo or forced."
)
NO_PAGE = (
    "<!doctype html>\n<title>No page</title>\n<p>The page of this run could not be made "
    "({problem}). Everything is in its other files; ucm report tries again.\n"
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the pipeline needs; the journal has its header."""

    config: AuditConfig
    auditor: ModelClient
    target: ModelClient
    gate: Gate
    journal: Journal
    store: RunStore

    @property
    def clients(self) -> dict[Role, ModelClient]:
        """Both clients by role."""
        return {"auditor": self.auditor, "target": self.target}


async def run_pipeline(parts: Parts, watch: Callable[[AuditEvent], None], notify: Notify) -> Json:
    """Run an audit or probe to its end, write its files, and return the summary.

    1. The doctor checks both endpoints (`doctor.json`), unless it is off.
    2. The loop asks the auditor and samples the target; each turn, unusable reply and response is
       written at once.
    3. The facts are scored by likelihood (`likelihood.json`), where the config asks for it.
    4. The journal gets its footer.
    5. The report is written as text and as a page (`report.md`, `report.html`).
    6. The summary is written last, with the sha256 of every other file (`summary.json`).

    Raises:
        FailedCheckError: the config requires a check of the doctor that failed.
    """
    from uncensoring_chinese_models.reports import prepare  # noqa: PLC0415 -- loads page code

    config, started_at = parts.config, parts.journal.header["started_at"]
    run = run_name(config.audited_model, config.topic, started_at)
    record = RunRecord(run, config.topic)
    prepare()
    if parts.config.doctor != "off":
        record.doctor = await _check_up(parts, notify)
    prompt_file = parts.journal.header.get("auditor_prompt")
    events = run_audit(parts.config, parts.auditor, parts.target, parts.gate, prompt_file)
    async for event in events:
        record.add(event)
        parts.journal.check_file()  # first, so that a run that was moved is not half written anew
        _store(parts.store, event, run)
        watch(event)
    if config.likelihood != "off":
        await _score(parts, record, notify)
    return _finish(parts, record)


async def _score(parts: Parts, record: RunRecord, notify: Notify) -> None:
    """Score the facts by likelihood, if the run was completed and the budget covers it."""
    method = parts.config.scoring
    if method is None:
        notify(Notice(NOT_SCORED))
        return
    if record.ended is None or record.ended.status not in _COMPLETED:
        return
    facts = parse_facts(parts.journal.header["facts"].encode("utf-8"), "the run's facts file")
    notify(Notice(f"Scoring {len(facts.facts)} facts by likelihood."))
    scored = None
    try:
        with parts.gate.stage(_SCORING):
            scored = await score_facts(parts.config, facts, parts.target, Sampler(parts.config))
    except BudgetExceededError:
        pass  # it is recorded
    if scored is None:
        detail = "the budget did not cover scoring by likelihood"
        record.ended = AuditEnding("budget", detail)
    else:
        parts.store.write_likelihood(likelihood_to_json(method, scored))


async def _check_up(parts: Parts, notify: Notify) -> Json:
    """Let the doctor check both endpoints before the first probe; return its verdicts in short."""
    prices = prices_from_json(parts.journal.process["prices"])
    subjects = checked_endpoints(parts.config, Sampler(parts.config), prices)
    diagnoses = await examine(subjects, parts.clients)
    parts.store.write_doctor(doctor_to_json(diagnoses))
    for line in warnings_of(diagnoses):
        notify(Notice(line))
    if parts.config.doctor == "require":
        refuse_failed(diagnoses)
    return {**in_short(diagnoses), "servers": _servers_checked(diagnoses, parts.journal)}


def _servers_checked(diagnoses: Sequence[CheckResult], journal: Journal) -> dict[str, list[str]]:
    """Return the servers that canaries were sent to, by role: a run may continue at others."""
    canaries = [name for each in diagnoses for name in each.canaries]
    found: dict[str, list[str]] = {}
    for role in ("auditor", "target"):
        servers = journal.servers_of(name for name in canaries if f"/{role}/" in name)
        if servers:
            found[role] = servers
    return found


def _store(store: RunStore, event: AuditEvent, run: str) -> None:
    if isinstance(event, AuditorTurn):
        store.write_turn(event.iteration, turn_to_json(event, run))
    elif isinstance(event, UnusableReply):
        store.write_unusable(event.iteration, event.number, unusable_to_json(event))
    elif isinstance(event, Response):
        store.write_response(event.iteration, response_to_json(event))


def _finish(parts: Parts, record: RunRecord) -> Json:
    """Write the footer of the journal, then the report, and the summary last."""
    from uncensoring_chinese_models.reports import report_markdown  # noqa: PLC0415 -- page code

    ended = record.ended or AuditEnding("auditor_failed")
    journal, store = parts.journal, parts.store
    store.prune()
    finished_at = journal.finish(ended.status, ended.ask_again)
    template = Sampler(parts.config).template
    process = {"package": "package_version", "python": "python_version"}
    summary: Json = {
        "kind": journal.header["kind"],
        "config": parts.config.model_dump(mode="json"),
        "started_at": journal.header["started_at"],
        "finished_at": finished_at,
        **summarise(record, journal.attempts),
        "template": None if template is None else template.as_json(),
        "versions": {
            name: journal.process[key] for name, key in process.items() if key in journal.process
        },
    }
    store.write_report(report_markdown(summary))
    store.write_page(_page(store, record.run, summary))
    store.write_summary(summary)
    return store.read_summary()


def _page(store: RunStore, run: str, summary: Json) -> str:
    """Return the report as a page, made from the files just written, as `ucm report` makes it.

    The settings are those of the summary. If the page cannot be made, the run still ends.
    """
    from uncensoring_chinese_models.reports import report_html  # noqa: PLC0415 -- loads page code

    contents = {name: each for name, each in store.contents().items() if name != "config.yaml"}
    whole = {**summary, "sha256": store.hashes()}
    try:
        return report_html(replace(parse_run(run, contents), summary=whole))
    except Exception as err:  # noqa: BLE001 -- the summary must be written in any case
        return NO_PAGE.format(problem=type(err).__name__)
