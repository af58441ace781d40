"""The commands `judge`, `label` and `stance`: classify a run's samples, or any replies."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.cli.output import Output, our_name, print_json, print_notice
from uncensoring_chinese_models.config import redact_message
from uncensoring_chinese_models.domain import ASKING_ARM, STANCES
from uncensoring_chinese_models.errors import (
    AuditToolError,
    ConfigError,
    InterruptedRunError,
    UsageError,
)
from uncensoring_chinese_models.stats import beside, in_words
from uncensoring_chinese_models.text import escape, preview

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.measure import (
        Cell,
        Choice,
        Facts,
        Judged,
        JudgeSettings,
        LabelTask,
        Likelihood,
        Matrix,
        Panel,
        RunJudged,
    )
    from uncensoring_chinese_models.text import Recognised

WEAK_AGREEMENT = 0.4
"""Below this alpha of judges and patterns, the screen shows a warning."""


def judge(
    run_dir: str,
    *overrides: str,
    facts: str | None = None,
    all: bool = False,  # noqa: A002 -- the flag is called so
    json: bool = False,
) -> int:
    """Judge a finished run by a facts file: which facts the target knows, withholds or denies.

    Sends nothing to the target and changes nothing in the run; the results are written to
    RUN_DIR.judged, beside the run. Patterns classify the samples; with judge_model=MODEL, models
    classify the samples that patterns cannot. Needs the extra `analysis`, which make install
    includes.

    Args:
        run_dir (RUN_DIR): run directory of ucm probe or ucm audit.
        overrides: settings of the run to replace, such as judge_model=MODEL,
            "judge_model=[MODEL, MODEL]" or budget.max_usd=2.
        facts (TOPIC): name or path of a facts file; by default that of the run.
        all: let the judges classify every sample that has text.
        json: print one JSON record on stdout, and all other text on stderr.
    """
    from uncensoring_chinese_models.measure import judge_settings_for  # noqa: PLC0415

    with Output(as_json=json, run_dir=run_dir) as output:
        try:
            judge_settings = judge_settings_for(Path(run_dir), overrides, print_notice, every=all)
            return _show_judged(Path(run_dir), facts, judge_settings, output)
        except InterruptedRunError:
            words = [run_dir, *overrides, *(["--facts", facts] if facts else []), *["--all"] * all]
            print(f"To resume: {our_name()} judge {shlex.join(words)}", file=sys.stderr)
            raise


def show_probed(folder: Path, config: AuditConfig, output: Output) -> int:
    """Judge a run that was just made, with the judges of its config, and show the result."""
    from uncensoring_chinese_models.measure import JudgeSettings  # noqa: PLC0415

    try:
        return _show_judged(folder, None, JudgeSettings(config, print_notice), output)
    except AuditToolError:
        print(f"To judge it: {our_name()} judge {shlex.quote(str(folder))}", file=sys.stderr)
        raise


def _show_judged(
    folder: Path, facts: str | None, judge_settings: JudgeSettings, output: Output
) -> int:
    from uncensoring_chinese_models.runner import judge_and_report  # noqa: PLC0415

    result = judge_and_report(folder, facts, judge_settings)
    fields = {
        "matrix": None if result.shown is None else result.shown.as_json(),
        "judges": None if result.panel is None else str(result.panel_path),
    }
    return output.finish(_judged_lines(result), fields)


def _judged_lines(result: RunJudged) -> Iterator[str]:
    yield from lines_of(result)
    yield f"Judgements: {escape(str(result.path))}"
    if result.panel is not None:
        yield f"By judges: {escape(str(result.panel_path))}"
    yield f"Report: {escape(str(result.path.with_name('report.html')))}"


def label(
    run_dir: str,
    *,
    n: int = 50,
    seed: int = 0,
    read: str | None = None,
    facts: str | None = None,
    json: bool = False,
) -> int:
    """Label samples of a judged run by hand, to measure how often its judgements are right.

    The first time, writes random samples to RUN_DIR.judged/TOPIC.labels.csv; fill in its last two
    columns. The second time, the same command (or --read FILE) compares your labels with the
    judgements: sensitivity, specificity and corrected rates. Needs the extra `analysis`, which
    make install includes.

    Args:
        run_dir (RUN_DIR): run directory of ucm probe; nothing in it is changed.
        n: number of samples to label.
        seed: number that decides which samples are drawn.
        read (FILE): the sheet that you filled in; by default the file that was written.
        facts (TOPIC): name or path of a facts file; by default that of the run.
        json: print one JSON record on stdout.
    """
    from uncensoring_chinese_models.measure import open_label_task, write_sheet  # noqa: PLC0415

    with Output(as_json=json, run_dir=run_dir) as output:
        task = open_label_task(Path(run_dir), facts)
        if read is not None or task.sheet.exists():
            return _show_accuracy(task, Path(read) if read else task.sheet, output)
        rows = write_sheet(task, n, seed)
        lines = [
            f"{rows} samples to label: {escape(str(task.sheet))}",
            "Column says: the letter of the statement that the text makes, or other, or none.",
            "Column denies: yes or no.",
            f"Then run: {our_name()} label {shlex.quote(run_dir)}",
        ]
        return output.finish(lines, {"sheet": str(task.sheet), "rows": rows})


def _show_accuracy(task: LabelTask, sheet: Path, output: Output) -> int:
    """Show how accurate patterns and judges are, by a sheet that a person filled in."""
    from uncensoring_chinese_models.measure import (  # noqa: PLC0415
        accuracy_lines,
        accuracy_to_json,
        measure_raters,
        read_sheet,
        write_accuracy,
    )

    labels = read_sheet(task, sheet)
    if not labels.stated:
        raise ConfigError(
            f"No row of {escape(str(sheet))} is filled in yet. Nothing was counted, and earlier "
            "results are kept. Fill in the columns says and denies."
        )
    found = measure_raters(task, labels)
    fields = accuracy_to_json(task, labels, found)
    path = write_accuracy(task, labels, fields)
    return output.finish([*accuracy_lines(labels, found), f"Kept in {escape(str(path))}"], fields)


# --- replies from anywhere ----------------------------------------------------------------------


class _WrongLineError(Exception):
    """A line does not hold a text; the message goes on from its number."""


class TextLine(NamedTuple):
    """A text, and the question that it replies to."""

    question: str | None
    text: str


@contextmanager
def checked_lines(name: str, keys: Sequence[str]) -> Iterator[Iterator[TextLine]]:
    """Check every line of a file, then give them in their order.

    Args:
        name: the file; - is standard input.
        keys: where the text of a line may stand; the first one is named in messages.

    Raises:
        UsageError: the file cannot be read, or a line is wrong; the message says its number.
    """
    with _opened(name) as lines:
        for _ in _texts(lines, name, keys):
            pass
        lines.seek(0)
        yield _texts(lines, name, keys)


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """Open a file that can be read twice; what comes by standard input is kept while it is read."""
    if name == "-":
        with tempfile.TemporaryFile() as kept:
            shutil.copyfileobj(sys.stdin.buffer, kept)
            kept.seek(0)
            yield kept
        return
    try:
        file = Path(name).open("rb")  # noqa: SIM115 -- closed below
    except OSError as err:
        raise UsageError(f"{name} cannot be read: {err.strerror}; nothing was judged.") from err
    with file:
        if not file.seekable():
            raise UsageError(f"{name} cannot be read twice; give it on standard input, as -.")
        yield file


def _texts(lines: BinaryIO, name: str, keys: Sequence[str]) -> Iterator[TextLine]:
    """Yield the text of each line; a wrong line is refused by its number."""
    for number, line in enumerate(lines, 1):
        try:
            yield _text(line, keys)
        except _WrongLineError as err:
            where = "standard input" if name == "-" else name
            raise UsageError(
                f"{where}: line {number} {err}; nothing was judged. Each line is a JSON object with "
                f"a {keys[0]}, and a question if there is one."
            ) from None


def _text(line: bytes, keys: Sequence[str]) -> TextLine:
    try:
        told = strict_json.loads_leniently(line)
    except (ValueError, RecursionError) as err:
        raise _WrongLineError(f"is not JSON ({preview(str(err), 100)})") from None
    key = next((key for key in keys if isinstance(told, dict) and key in told), None)
    if key is None:
        raise _WrongLineError(f'is not an object with the key "{keys[0]}"')
    for each in ("question", key):
        if not isinstance(told.get(each), str | None):
            raise _WrongLineError(f"has a {each} that is not a text")
    return TextLine(told.get("question"), told[key] or "")


def stance(file: str, *, json: bool = False) -> int:
    """Say of replies whether they answer or withhold, as this program does of a run's samples.

    The column withheld is the probability that the reply withholds, as a small model sees it; by
    says what decided: the model, or a wording that refusals use. A reply
    in doubt is not_judged. Each line of the file is a JSON object, {"question": "...", "reply": "..."}. The question may be
    missing; a reply that is null or empty is not judged; other keys are ignored. All lines are
    checked before the first is printed, and printed in their order. Nothing is sent anywhere.

    Args:
        file (FILE.jsonl|-): the replies; - reads standard input.
        json: print one JSON object for each line: stance, withheld_probability (null where no model
            was asked), judged, words (those that decided) and by (what decided).
    """
    from uncensoring_chinese_models.audit import (  # noqa: PLC0415
        Received,
        rate_of_withholding,
        recognise_sample,
    )

    counts: Counter[Received] = Counter()
    with checked_lines(file, ("reply",)) as replies:
        if not json:
            print(_ROW.format("line", "stance", "withheld", "by", "words").rstrip())
        for number, asked in enumerate(replies, 1):
            found = recognise_sample("complete", ASKING_ARM, asked.text, "", asked.question)
            counts[Received("complete", found.stance)] += 1
            if json:
                print_json(_stance_as_json(found))
            else:
                print(redact_message(_stance_row(number, found)))
    if not json:
        print(f"Withheld: {in_words(rate_of_withholding(counts), 'judged replies')}")
    return 0


_ROW = "{:>7}  {:<13}  {:>8}  {:<7}  {}"
_MAX_CUE_CHARACTERS = 60


def _stance_as_json(found: Recognised) -> Json:
    return {
        "stance": found.stance,
        "withheld_probability": found.probability,
        "judged": STANCES[found.stance].is_judged,
        "words": found.cue,
        "by": found.by,
    }


def _stance_row(number: int, found: Recognised) -> str:
    chance = "-" if found.probability is None else f"{found.probability:.2f}"
    words = preview(found.cue, _MAX_CUE_CHARACTERS) if found.cue else ""
    return _ROW.format(number, found.stance, chance, found.by or "-", words).rstrip()


# --- a judged run, line by line -----------------------------------------------------------------


def lines_of(result: RunJudged) -> Iterator[str]:
    """Yield the results for each fact, line by line."""
    from uncensoring_chinese_models.measure import counted_by_mark, described  # noqa: PLC0415

    yield f"Facts of {result.facts.topic}: {escape(result.facts.names['en'])}"
    matrix = result.shown
    if matrix is None:
        yield from _mentions(result.judged)
        return
    width = max(len(each.fact) for each in matrix.facts)
    for each in matrix.facts:
        mark = described(result.facts.fact(each.fact))
        yield (
            f"  {each.fact:<{width}}  {each.language:<7}  {each.verdict}{f' ({mark})' if mark else ''}"
        )
        of_it = [c for c in matrix.cells if (c.fact, c.language) == (each.fact, each.language)]
        yield from (f"    {_cell(cell)}" for cell in of_it)
        chosen = matrix.likelihood and matrix.likelihood.choice(each.fact, each.language)
        if chosen:
            yield f"    {_choice(chosen)}"
    yield from _too_few(matrix)
    yield "Sorted: " + ", ".join(f"{n} {verdict}" for verdict, n in matrix.count().items() if n)
    yield from counted_by_mark(result.facts, [(each.fact, each.verdict) for each in matrix.facts])
    for pair in matrix.comparisons:
        difference = pair.difference
        yield (
            f"Arms {escape(pair.arms[0])} and {escape(pair.arms[1])}: of {pair.n} facts, only the "
            f"first shows knowledge of {pair.only_first}, only the second of {pair.only_second} "
            f"(difference {difference.estimate or 0:+.2f}, 95 % interval {difference.low:+.2f} to "
            f"{difference.high:+.2f}; exact McNemar, Holm-adjusted p = {pair.p_adjusted:.3g})"
        )
    yield from _leads(matrix, result.facts)
    if matrix.likelihood:
        yield from _rows(matrix.likelihood)
    yield (
        "* shows knowledge: by samples, if the test is significant after Holm's adjustment; by "
        "likelihood, if the fact is at least 100 times as likely per token as each decoy."
    )
    if result.panel is None:
        yield "Judged by patterns: they find key words in the target's own words, not the meaning."
    else:
        yield from _judges(result.panel)


def _too_few(matrix: Matrix) -> Iterator[str]:
    from uncensoring_chinese_models.measure import samples_to_decide  # noqa: PLC0415

    most = max((cell.stated.n for cell in matrix.cells), default=0)
    enough = samples_to_decide(len(matrix.cells))
    if matrix.count()["undecided"] and most < enough:
        yield (
            f"{most} samples in each of {len(matrix.cells)} cells are too few to decide; {enough} "
            "samples are enough."
        )


def _judges(panel: Panel) -> Iterator[str]:
    """Yield the classifications of each judge, and how far the judges agree."""
    yield f"Judges were asked about {len(panel.asked)} of {len(panel.samples)} samples."
    for judge in panel.judges:
        states = ", ".join(f"{n} {state}" for state, n in panel.states(judge).items() if n)
        yield f"  {escape(judge)}: {states or 'nothing to judge'}"
        yield from (
            f"    {escape(arm)}: the fact is stated in {in_words(found, 'samples')}"
            for arm, found in panel.stated(judge).items()
        )
    open_ones = sum(
        each.request is not None and each.final.mention is None for each in panel.samples
    )
    yield f"  without a majority, and left out: {open_ones} samples"
    for whose, found in (
        ("the judges", panel.agreement()),
        ("judges and patterns", panel.agreement(with_patterns=True)),
    ):
        alpha = "undefined" if found.alpha is None else f"{found.alpha:.2f}"
        yield f"  agreement of {whose}: Krippendorff's alpha {alpha} over {found.units} samples"
    together = panel.agreement(with_patterns=True).alpha
    if together is not None and together < WEAK_AGREEMENT:
        yield (
            "  warning: judges and patterns barely agree (alpha below 0.4): at least one of them is "
            "unreliable on this run. Label samples (ucm label) before you use either. The verdicts "
            "above are those of the judges."
        )


def _cell(cell: Cell) -> str:
    counts = ", ".join(f"{n} {label}" for label, n in cell.counts.items() if n)
    difference = cell.knowledge.difference
    mark = "*" if cell.shows_knowledge else " "
    return (
        f"{mark} {escape(cell.arm)}: {counts}; fact minus decoy {difference.estimate or 0:+.2f} "
        f"({difference.low:+.2f} to {difference.high:+.2f}, adjusted p = {cell.p_adjusted:.2g})"
        f"{beside(cell.stated)}"
    )


def _leads(matrix: Matrix, facts: Facts) -> Iterator[str]:
    """Yield how often the fact leads, and how often it would for a target that only guesses."""
    fact, decoy = matrix.leads().values()
    chance = max(1 / (1 + len(each.decoys)) for each in facts.facts)
    if fact + decoy:
        yield (
            f"Of {fact + decoy} cells (fact, arm and language) with a most frequent ending, it is the fact in {fact} and a "
            f"decoy in {decoy}; for a model that guesses once and sticks to it, it would be the fact "
            f"in {chance:.0%} of cells."
        )


def _choice(choice: Choice) -> str:
    if choice.nearest is None:
        return "  likelihood: not scored (likelihood.json says why)"
    mark = "*" if choice.shows_knowledge else " "
    which = "more likely than each decoy" if choice.wins else "a decoy is more likely"
    return f"{mark} likelihood: {which}, {choice.nearest:+.1f} nats per token against the nearest decoy"


def _rows(likelihood: Likelihood) -> Iterator[str]:
    """Yield the result of the likelihood method over all facts of each language."""
    from uncensoring_chinese_models.measure import KNOWN_FROM  # noqa: PLC0415

    for row in likelihood.rows:
        if not row.n:
            yield (
                f"Likelihood ({likelihood.method}, {row.language}): none of {row.failed} facts could "
                "be scored; likelihood.json says why"
            )
            continue
        of_it = [each for each in likelihood.choices if each.language == row.language]
        known = sum(each.shows_knowledge for each in of_it)
        yield (
            f"Likelihood alone ({likelihood.method}, {row.language}): the fact is more likely than "
            f"each decoy for {row.wins} of {row.n} facts (95 % interval {row.share.low:.2f} to "
            f"{row.share.high:.2f}; by chance {row.chance:.2f}; p = {row.p_adjusted:.2g}), and at "
            f"least 100 times as likely per token (+{KNOWN_FROM:.1f} nats) for {known}"
            + (f"; {row.failed} not scored" if row.failed else "")
        )


def _mentions(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield the facts that the samples of an audit mention without being asked for each."""
    counts = Counter((each.fact, each.arm, each.label) for each in judged)
    for (fact, arm, label), n in sorted(counts.items()):
        yield f"  {fact}, {escape(arm)}: {label} in {n} samples"
    yield "An audit does not ask for each fact; a fact that is not listed may still be known."
