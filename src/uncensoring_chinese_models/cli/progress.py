"""Progress of a run on the screen: events as lines, with colour on a terminal.

Text from models is escaped first and is never read as markup.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TextIO

from uncensoring_chinese_models.audit import (
    IN_WORDS,
    AuditEnding,
    AuditorTurn,
    UnusableReply,
    check_prediction,
    received,
)
from uncensoring_chinese_models.config import file_told, redact_message
from uncensoring_chinese_models.domain import DELIVERIES, Response
from uncensoring_chinese_models.reports import (
    conclusion_title,
    counted,
    figures,
    may_be_invented,
    place_of,
    why_unsupported,
)
from uncensoring_chinese_models.stats import beside
from uncensoring_chinese_models.text import escape, preview

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.status import Status

    from uncensoring_chinese_models.audit import AuditEvent, Prediction, Received
    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.domain import Json, Sample
    from uncensoring_chinese_models.models import BudgetMeter, Notice

_STATUS_WORDS = {
    "completed": "completed: the auditor decided to stop",
    "max_iterations": "all probes sent (max_iterations)",
    "budget": "budget: the rest does not cover the worst case of another iteration",
    "target_failed": "target_failed: calls to the target failed repeatedly",
    "auditor_failed": "auditor_failed: the auditor gave no usable reply",
}


class ProgressPrinter:
    """Prints the progress of a run."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._started = time.monotonic()
        self._console = _console(stream)
        self._status: Status | None = None
        self._total = 0
        self._asks_facts = False
        self._prediction: Prediction | None = None
        self.folder: Path | None = None
        """The run directory, once it exists."""

    def started(self, folder: Path, config: AuditConfig) -> None:
        """Print the models, the topic and the run directory."""
        self.folder, self._total = folder, config.max_iterations
        self._asks_facts = config.kind == "probe"
        if self._asks_facts:
            self._total -= 1  # the last iteration only says that all facts were asked for
            self._line(f"Probe of facts: {config.audited_model}", "bold")
        else:
            self._line(f"Audit of {config.audited_model} by {config.auditing_model}", "bold")
        self._line(f"Topic: {escape(config.topic)}")
        file = file_told(config.model_dump())
        if file is not None:
            self._line(escape(file.capitalize()), wrap=False)
        self._line(f"Run:   {folder}", wrap=False)
        is_examined = config.doctor != "off"
        waits = (
            "checking the endpoints" if is_examined else "asking the auditor for its first probe"
        )
        starts = "starting the model and testing it" if is_examined else "starting the model"
        self._wait(starts if config.audited_endpoint.traits.is_ours else waits)

    def event(self, event: AuditEvent, budget: BudgetMeter) -> None:
        """Print one turn, unusable reply, response or ending."""
        if isinstance(event, AuditorTurn) and self._asks_facts:
            self._fact(event)
        elif isinstance(event, AuditorTurn):
            self._turn(event)
        elif isinstance(event, UnusableReply):
            problem = preview(event.error, 240)
            self._line(f"  a reply of the auditor could not be used: {problem}", "yellow")
        elif isinstance(event, Response):
            self._response(event, budget)
        elif isinstance(event, AuditEnding):
            self._stop_waiting()

    def notice(self, notice: Notice) -> None:
        """Print a failed attempt, a wait or a warning to stderr."""
        text = escape(redact_message(notice.text))
        if notice.wait_s is not None:
            until = datetime.now(UTC) + timedelta(seconds=notice.wait_s)
            text += f"; trying again in {notice.wait_s:.0f} s (at {until:%H:%M:%S} UTC)"
            self._wait(f"waiting {notice.wait_s:.0f} s before trying again")
        self._write(sys.stderr, text)

    def finished(self, folder: Path, summary: Json, next_command: str) -> None:
        """Print the claims, their evidence and the cost."""
        self._stop_waiting()
        self._line("")
        status = str(summary["status"])
        words = _STATUS_WORDS.get(status, status)
        if status == "completed" and summary["kind"] == "probe":
            words = "completed: every fact was asked for"
        self._line(words, "bold")
        if summary.get("status_detail"):
            self._line(f"  {escape(str(summary['status_detail']))}", "red")
        if summary["kind"] != "probe":
            self._concluded(summary)
        for line in figures(summary):
            self._line(line)
        self._line(f"Run:    {folder}", wrap=False)
        if summary["kind"] != "probe":  # the page of a probe run is that of its judging
            self._line(f"Report: {folder / 'report.html'}", wrap=False)
        self._line(f"Next:   {next_command}", wrap=False)

    def _concluded(self, summary: Json) -> None:
        self._claims(summary, "knowledge", "Knowledge supported by surviving excerpts")
        for line in may_be_invented(summary):
            self._line(f"  {line}", "yellow")
        self._claims(summary, "behavior", "Censorship patterns supported by surviving excerpts")
        if summary.get("final_summary"):
            self._line(conclusion_title(summary), "bold")
            self._line(f"  {escape(summary['final_summary']['conclusion'])}")

    def close(self) -> None:
        """Remove the status line."""
        self._stop_waiting()

    # --- parts ----------------------------------------------------------------------------------

    def _fact(self, turn: AuditorTurn) -> None:
        """Print what is asked next; the end is told when the run has finished."""
        self._stop_waiting()
        parsed = turn.parsed
        if turn.closing or not parsed.should_continue:
            return
        self._line("")
        self._line(
            f"[{turn.iteration}/{self._total}] {preview(parsed.prompt_rationale, 100)}", "bold"
        )
        self._line(f"  opening:  {preview(parsed.next_prompt, 300)}", "cyan")
        self._line(f"  question: {preview(parsed.question or '', 300)}", "cyan")
        self._wait("sampling the target")

    def _turn(self, turn: AuditorTurn) -> None:
        self._stop_waiting()
        parsed, checks = turn.parsed, turn.evidence_check
        usable = sum(check.survives for check in checks)
        strategy = "final summary" if turn.closing else parsed.prompt_strategy or "no strategy"
        if not turn.parse.strategy_listed:
            strategy += " (unlisted)"
        if not turn.closing and not parsed.should_continue:
            strategy = "stops"
        number = "end" if turn.closing else f"{turn.iteration}/{self._total}"
        quotes = f", {usable} of {len(checks)} excerpts survive" if checks else ""
        led = sum(check.led for check in checks)
        quotes += f" ({led} led)" if led else ""
        self._prediction = parsed.prediction
        self._line("")
        self._line(
            f"[{number}] {preview(strategy, 60)}: {_hypotheses(len(parsed.hypotheses))}{quotes}",
            "bold" if usable == len(checks) else "bold yellow",
        )
        if turn.parse.re_asked:
            self._line(
                f"  the auditor was re-asked ({counted(turn.parse.re_asked, 'time')})", "yellow"
            )
        if parsed.should_continue and not turn.closing:
            self._line(f"  probe: {preview(parsed.next_prompt, 300)}", "cyan")
            self._wait("sampling the target")

    def _response(self, response: Response, budget: BudgetMeter) -> None:
        self._stop_waiting()
        asked = response.probe, response.question
        for sample in response.samples:
            read = received(sample.delivery, sample.arm, sample.own_words, *asked)
            self._line(f"  {_describe(sample, read)}", _style(read))
        if self._prediction is not None:
            self._line(f"  {_prediction_line(self._prediction, response)}", "dim")
        minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
        spent = f"${budget.spent_usd:.4f}, " if budget.spent_usd else ""
        self._line(f"  spent {spent}{budget.spent_tokens:,} tokens, {minutes}:{seconds:02d}", "dim")
        self._wait("asking the auditor")

    def _claims(self, summary: Json, kind: str, title: str) -> None:
        claims = [claim for claim in summary["claims"] if claim["kind"] == kind]
        supported = [claim for claim in claims if claim["supported"]]
        self._line(f"{title}: {len(supported)} of {len(claims)} claimed", "bold")
        for claim in supported:
            counts = f"{counted(claim['surviving_excerpts'], 'excerpt')} for"
            if claim["contradicted_by"]:
                counts += f", {claim['contradicted_by']} against"
            self._line(f"  + {escape(claim['text'])} ({counts})", "green")
            for quote in claim["quotes"][:1]:
                self._line(f'    "{preview(quote["excerpt"], 160)}" ({place_of(quote)})', "dim")
        for claim in claims:
            if not claim["supported"]:
                self._line(f"  ? {why_unsupported(claim)}: {escape(claim['text'])}", "yellow")

    # --- printing -------------------------------------------------------------------------------

    def _line(self, text: str, style: str = "", *, wrap: bool = True) -> None:
        text = redact_message(text)
        if self._console is None:
            self._write(self._stream, text)
            return
        from rich.padding import Padding  # noqa: PLC0415 -- loaded on a terminal only
        from rich.text import Text  # noqa: PLC0415

        words = text.lstrip(" ")
        if not words or not wrap:  # a wrapped command cannot be copied
            self._console.print(Text(text, style=style), soft_wrap=True)
            return
        indent = (0, 0, 0, len(text) - len(words))
        self._console.print(Padding(Text(words, style=style), indent, expand=False))

    def _write(self, stream: TextIO, text: str) -> None:
        """Print a line; a closed pipe or a full disk must not end a run that is paid for."""
        try:
            print(text, file=stream, flush=True)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

    def _wait(self, text: str) -> None:
        if self._console is None:
            return
        if self._status is None:
            self._status = self._console.status(text)
            self._status.start()
        else:
            self._status.update(text)

    def _stop_waiting(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def _hypotheses(number: int) -> str:
    return "1 hypothesis" if number == 1 else f"{number} hypotheses"


def _prediction_line(prediction: Prediction, response: Response) -> str:
    """Return the prediction for a probe, and whether it came true."""
    checked = check_prediction(prediction, response)
    if checked.problem:
        return f"prediction not checked: {checked.problem}"
    counts = [
        f"{arm} {each.successes} of {each.n}{beside(each)}" for arm, each in checked.by_arm.items()
    ]
    words = preview(", ".join(checked.words), 80)
    return f"predicted {words}: {IN_WORDS[checked.outcome]} ({', '.join(counts)})"


def _style(read: Received) -> str:
    if DELIVERIES[read.delivery].has_text:
        return "yellow" if read.withholds else "green"
    return "red" if read.delivery == "failed" else "yellow"


def _describe(sample: Sample, read: Received) -> str:
    parts: list[str] = [read.label]
    if sample.delivery not in ("complete", read.label):
        parts.append(sample.delivery)
    if sample.usage.completion_tokens is not None:
        parts.append(f"{sample.usage.completion_tokens} tokens")
    if sample.spill:
        parts.append("continued into another turn")
    if sample.role_tokens_in_prompt:
        parts.append("role tokens in the probe")
    words = sample.said.strip() or sample.error or sample.own_words
    shown = f": {preview(words.strip(), 240)}" if words.strip() else ""
    return f"{sample.arm} {sample.index + 1}: {', '.join(parts)}{shown}"


def _console(stream: TextIO) -> Console | None:
    if not stream.isatty():
        return None
    from rich.console import Console  # noqa: PLC0415 -- loaded on a terminal only

    return Console(file=stream, markup=False, highlight=False, emoji=False)
