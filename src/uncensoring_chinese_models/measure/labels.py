"""Human labels for randomly drawn samples: write the sheet, and read it when it is filled in.

The sheet names no arm, model or verdict. Rows are in random order, candidates in the order in which
judges see them. The column `form` says how a text came about, which nearly gives the arm away. A key
file beside the sheet says which row is which sample, with a hash to check it. The key follows from the
run, the facts file and the seed; what a person filled in follows from nothing.
"""

from __future__ import annotations

import csv
import hashlib
import io
import random
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.domain import Json
from uncensoring_chinese_models.errors import ConfigError, CorruptRunError, RunStoreError
from uncensoring_chinese_models.measure.answers import Asked
from uncensoring_chinese_models.measure.judges.request import (
    NONE,
    OTHER,
    form_of,
    judge_request_for,
)
from uncensoring_chinese_models.measure.judging import (
    JudgedRun,
    facts_text_for,
    folder_beside,
    judged_run,
)
from uncensoring_chinese_models.runs import (
    Place,
    RunStore,
    lock_file,
    read_finished_run,
    unlock_file,
)
from uncensoring_chinese_models.text import harmless, preview

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from uncensoring_chinese_models.measure.judges.request import JudgeRequest

MAX_CELL = 30_000
"""Max characters that a spreadsheet takes in one cell."""
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_FIGURES = r"\d[\d\W年月日号號时時分]*"
_NUMBER = re.compile(
    rf"\W*(?:{_MONTH}\W*)?{_FIGURES}(?:{_MONTH}\W*(?:{_FIGURES})?|e\W*{_FIGURES}|[ap]m)?",
    re.IGNORECASE,
)
"""Text that a spreadsheet reads as a number or a date, and saves in another form."""
_OVERLOOKED = re.compile(r"[\s']+")
_SAME = ("run", "summary_sha256", "facts_sha256")
"""What a key and its run must agree on."""
_DENIES = {"yes": True, "no": False, "": False}


class LabelTask(NamedTuple):
    """The samples of a run that can be labelled, and the files for their labels."""

    folder: Path
    head: Json
    """The run, its summary, and the facts file; each file but the sheet begins with them."""
    asked: dict[Place, Asked]

    @property
    def topic(self) -> str:
        """The name of the facts file."""
        return str(self.head["topic"])

    @property
    def sheet(self) -> Path:
        """The sheet that a person fills in."""
        return self.folder / f"{self.topic}.labels.csv"

    @property
    def key(self) -> Path:
        """The file that says which row is which sample."""
        return self.folder / f"{self.topic}.labels.key.json"


def open_label_task(folder: Path, facts_name: str | None = None) -> LabelTask:
    """Read the samples of a probe run that have text.

    Raises:
        ConfigError: the run did not ask for facts, or there are no facts for it.
        RunStoreError: the folder is not a run, or the run has not finished.
    """
    files = read_finished_run(folder)
    subject = judged_run(files, facts_text_for(files, folder, facts_name))
    task = label_task(folder_beside(folder), subject)
    if not task.asked:
        raise ConfigError(
            f"{folder} holds no sample with text that was asked for a fact of {task.topic}, so "
            "there is nothing to label; label a run of ucm probe."
        )
    return task


def label_task(folder: Path, subject: JudgedRun) -> LabelTask:
    """Return the samples of a judged run that can be labelled; the files lie in the folder."""
    asked = {_place(each): each for each in subject.asked if each.has_text}
    return LabelTask(folder, subject.head, asked)


def _place(asked: Asked) -> Place:
    return asked.response.iteration, asked.sample.arm, asked.sample.index


# --- the sheet ----------------------------------------------------------------------------------


def write_sheet(task: LabelTask, n: int, seed: int) -> int:
    """Draw samples at random, and write the sheet and its key; return the number of rows.

    Raises:
        ConfigError: `n` is below 1, or an earlier sheet may be in use.
    """
    if n < 1:
        raise ConfigError(f"--n must be 1 or more, not {n}.")
    told, requests = draw_rows(task, n, seed)
    task.folder.mkdir(exist_ok=True)
    with _locked(task.key):
        _refuse_to_replace(task, told)
        store = RunStore(task.folder)
        store.write_labels(task.key.name, told)
        store.write_bytes(task.sheet.name, _sheet(requests))
    return len(requests)


def draw_rows(task: LabelTask, n: int, seed: int) -> tuple[Json, list[JudgeRequest]]:
    """Draw samples at random; return the content of the key, and the rows."""
    places = sorted(task.asked)
    drawn = random.Random(seed).sample(places, min(n, len(places)))  # noqa: S311 -- a lot, no secret
    requests = [judge_request_for(task.asked[place]) for place in drawn]
    rows = [
        {
            "row": number,
            "fact": request.asked.fact.id,
            "iteration": place[0],
            "arm": place[1],
            "sample": place[2],
            "options": {letter: option.name for letter, option in request.options.items()},
            "sha256": _hash(_cells(request)),
        }
        for number, (place, request) in enumerate(zip(drawn, requests, strict=True), 1)
    ]
    return {**task.head, "seed": seed, "drawn_from": len(places), "rows": rows}, requests


@contextmanager
def _locked(key: Path) -> Iterator[None]:
    """Lock the key while it is written, so that a key and a sheet of two draws do not mix."""
    try:
        handle = lock_file(key)
    except OSError as err:
        raise RunStoreError(f"{key} cannot be written: {err.strerror}.") from err
    try:
        yield
    finally:
        if key.exists() and not key.stat().st_size:  # nothing was drawn
            key.unlink()
        unlock_file(handle, key)


def _refuse_to_replace(task: LabelTask, told: Json) -> None:
    """Refuse to replace a sheet that is filled in or of another draw, or a key of one elsewhere."""
    if task.sheet.exists():
        row = _filled_in(task)
        if row is not None:
            raise ConfigError(
                f"{task.sheet}: row {_number(task.sheet, row)} of this sheet is filled in, so "
                "it was not replaced; move it and its key elsewhere first."
            )
        if _key_told(task) != told:
            raise ConfigError(
                f"{task.sheet} is of another draw and may be in use, so it was not replaced; delete "
                "it and its key first."
            )
    elif task.key.stat().st_size and _key_told(task) != told:
        raise ConfigError(
            f"{task.key} belongs to a sheet that is not beside it and may be in use, so no new "
            "sheet was drawn; read that sheet with --read FILE, or delete its key first."
        )


def _filled_in(task: LabelTask) -> Mapping[str, str] | None:
    """Return a row of the sheet that is filled in, if there is one."""
    rows = _rows(_content(task.sheet), task.sheet)
    return next((row for row in rows if row["says"].strip() or row["denies"].strip()), None)


def _cells(request: JudgeRequest) -> list[str]:
    """Return the text of a row and its endings, as written in the sheet."""
    shown = (request.asked.said, *map(request.shown, request.options))
    return [*map(safe_cell, shown)]


def _hash(cells: Sequence[str]) -> str:
    """Return the hash of the text of a row and its endings.

    Spaces and apostrophes are ignored: spreadsheets drop some.
    """
    told = [_OVERLOOKED.sub("", each) for each in cells]
    return hashlib.sha256(strict_json.dumps(told).encode()).hexdigest()


def _sheet(requests: Sequence[JudgeRequest]) -> bytes:
    letters = max((list(request.options) for request in requests), key=len)
    page = io.StringIO(newline="")
    writer = csv.writer(page, quoting=csv.QUOTE_ALL)
    writer.writerow(
        ["row", "question", "half sentence", "form", "text", *letters, "says", "denies"]
    )
    for number, request in enumerate(requests, 1):
        asked = request.asked
        told = [asked.fact.question[asked.language], asked.fact.opening[asked.language]]
        cells = [*map(safe_cell, (*told, form_of(asked))), *_cells(request)]
        cells += [""] * (len(letters) - len(request.options))
        writer.writerow([number, *cells, "", ""])
    return page.getvalue().encode("utf-8-sig")


def safe_cell(text: str) -> str:
    """Return a text on one line in which no spreadsheet finds a formula, however it splits the line."""
    shown = harmless(preview(text, MAX_CELL)) if text else ""
    if _NUMBER.fullmatch(shown) and not shown.startswith("'"):
        shown = f"'{shown}"
    return preview(shown, MAX_CELL) if shown else ""


# --- the filled-in sheet -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Labels:
    """The human labels: which samples state the fact."""

    stated: dict[Place, bool]
    unfilled: int
    sheet: bytes = b""
    """The file that they were read from."""


def read_sheet(task: LabelTask, path: Path) -> Labels:
    """Read a sheet that is filled in, in whole or in part.

    Raises:
        ConfigError: the file is not such a sheet, or a row is wrong; the message names the row. Or
            another sheet beside the run is filled in, too.
        RunStoreError: the key of the sheet is missing.
    """
    try:
        told = task.key.read_bytes()
    except OSError as err:
        raise RunStoreError(
            f"{task.key} cannot be read ({err.strerror}), so it is not known which row is "
            "which sample; draw a new sheet."
        ) from err
    labels = parse_sheet(task, told, _content(path), path)
    is_other = task.sheet.exists() and _content(task.sheet) != labels.sheet
    if is_other and _filled_in(task) is not None:
        raise ConfigError(
            f"{task.sheet} is filled in, too, and differs from {path}; nothing was counted. The "
            "sheet that counts is kept beside the run: move the other one elsewhere first."
        )
    return labels


def parse_sheet(task: LabelTask, told: bytes, content: bytes, path: Path) -> Labels:
    """Return the labels in the bytes of a sheet, given those of its key; the path is for messages.

    Raises:
        ConfigError: it is not such a sheet, or a row is wrong; the message names the row.
        CorruptRunError: the key is not one, or that of another run's sheet.
    """
    key = _parse_key(task, told)
    stated: dict[Place, bool] = {}
    seen: set[int] = set()
    for row in _rows(content, path):
        number = _number(path, row)
        known = key.get(number)
        if known is None or number in seen:
            what = "is not in the sheet that was drawn" if known is None else "is there twice"
            raise ConfigError(f"{path}: row {number} {what}.")
        seen.add(number)
        if _hash_of(row, known["options"]) != known["sha256"]:
            raise ConfigError(
                f"{path}: row {number} is not the one that was drawn: its text or its endings "
                f"differ from those of {task.key}. Nothing was counted. Do not edit these columns; if "
                "the sheet is of another draw, draw it again with its own --n and --seed."
            )
        answer = _answer(f"{path}: row {number}", row, known["options"])
        if answer is not None:
            stated[known["iteration"], known["arm"], known["sample"]] = answer
    return Labels(stated, len(key) - len(stated), content)


def _hash_of(row: Mapping[str, str], options: Mapping[str, str]) -> str:
    """Return the hash of a row of a sheet."""
    return _hash([row.get(name, "") for name in ("text", *options)])


def _key_told(task: LabelTask) -> Json | None:
    """Return the content of the key; None if it is not a JSON object."""
    try:
        told = strict_json.loads(task.key.read_bytes())
    except ValueError:
        return None
    return told if isinstance(told, dict) else None


def _parse_key(task: LabelTask, content: bytes) -> dict[int, Json]:
    try:
        told = strict_json.loads(content)
        rows = {int(row["row"]): row for row in told["rows"]}
        places = [(row["iteration"], row["arm"], row["sample"]) for row in rows.values()]
        is_ours = all(told[name] == task.head[name] for name in _SAME)
        is_ours = is_ours and all(place in task.asked for place in places)
        is_ours = is_ours and all(row["sha256"] for row in rows.values())
    except (ValueError, KeyError, TypeError) as err:
        raise CorruptRunError(f"{task.key} is not the key of a sheet ({err}).") from err
    if not is_ours:
        raise CorruptRunError(
            f"{task.key} is the key of a sheet of another run, or was made by another facts file."
        )
    return rows


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as err:
        raise ConfigError(f"{path} cannot be read: {err.strerror}.") from err


def _rows(content: bytes, path: Path) -> Iterator[Mapping[str, str]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8; save it as CSV UTF-8.") from None
    for delimiter in ",;\t":
        found = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            if {"row", "says", "denies"} <= set(found.fieldnames or ()):
                yield from ({name: cell or "" for name, cell in row.items()} for row in found)
                return
        except csv.Error as err:
            raise ConfigError(f"{path} is not a CSV file ({err}).") from err
    raise ConfigError(
        f"{path} lacks the columns row, says and denies; fill in the sheet without changing its columns."
    )


def _number(path: Path, row: Mapping[str, str]) -> int:
    try:
        return int(row["row"])
    except ValueError:
        shown = f"the number {preview(row['row'], 20)}" if row["row"] else "no number"
        raise ConfigError(f"{path}: a row has {shown}; do not edit the `row` column.") from None


def _answer(where: str, row: Mapping[str, str], options: Mapping[str, str]) -> bool | None:
    """Return whether a row labels the fact as stated; None if it is not filled in."""
    says, denies = row["says"].strip(), row["denies"].strip().lower()
    if denies not in _DENIES:
        raise ConfigError(f"{where}: denies is '{preview(denies, 20)}', but takes yes or no.")
    if not says:
        if denies:
            raise ConfigError(f"{where}: denies is filled in, but says is not.")
        return None
    letters = {letter.lower(): letter for letter in (*options, OTHER, NONE)}
    if says.lower() not in letters:
        raise ConfigError(
            f"{where}: says is '{preview(says, 20)}', but takes {', '.join(letters.values())}."
        )
    return options.get(letters[says.lower()]) == "fact" and not _DENIES[denies]
