"""From a judged run to corrected rates: the sheet is written, filled in and read by the command."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.judged_runs import judge_words, judging_provider, probed
from tests.support import ROOT, run_ucm

pytestmark = pytest.mark.e2e

KEYED_BY_DATA = {"options", "states", "counts", "excluded", "doubtful"}


def keys_of(value: Any, key: str = "") -> Iterator[str]:
    """Yield every key of a JSON value, but not below mappings whose keys are data."""
    for name, item in value.items() if isinstance(value, dict) else ():
        is_by_arm = key == "judges" and name == "stated"
        yield name
        for inner in item.values() if is_by_arm else [item]:
            yield from keys_of(inner, name) if name not in KEYED_BY_DATA else ()
    for item in value if isinstance(value, list) else ():
        yield from keys_of(item, key)


def described_keys() -> set[str]:
    """Return the names in code of the page on judging, and of the page that it refers to."""
    pages = ("docs/methods/judging.md", "docs/run-format.md")
    texts = [(ROOT / page).read_text("utf-8") for page in pages]
    return set(re.findall(r"`(\w+)`", "".join(texts)))


def test_sheet_is_written_filled_in_and_read(tmp_path):
    """The same command writes it, and reads it when it is filled in; the run stays as it is."""
    with judging_provider() as provider:
        run = probed(tmp_path, provider)
        judged = run_ucm(tmp_path, "judge", run, judge_words(provider, "a/b"), "--all")
        assert judged.returncode == 0, judged.stderr
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}

    written = run_ucm(tmp_path, "label", run, "--n", "50")

    assert written.stdout.startswith("10 samples to label: "), written.stderr
    beside = run.with_name(f"{run.name}.judged")
    sheet = beside / "lamps.labels.csv"
    rows = list(csv.DictReader(io.StringIO(sheet.read_bytes().decode("utf-8-sig"), newline="")))
    unfilled = run_ucm(tmp_path, "label", run)
    assert (len(rows), "is filled in yet" in unfilled.stderr) == (10, True)
    for row in rows:
        fact = next(each for each in "ABC" if row[each] == "111 lamps")
        row["says"] = fact if row["text"].startswith(" 111") else "none"
    page = io.StringIO(newline="")
    writer = csv.DictWriter(page, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    sheet.write_bytes(page.getvalue().encode("utf-8-sig"))

    read = run_ucm(tmp_path, "label", run)

    assert read.returncode == 0, read.stderr
    assert "Labelled: 10 of 10 rows (2 state the fact); not filled in: 0" in read.stdout
    told = json.loads((beside / "lamps.labels.json").read_text("utf-8"))
    raters = {each["rater"]: each for each in told["raters"]}
    assert set(raters) == {"patterns", "a/b", "patterns and judges"}
    assert raters["patterns"]["sensitivity"] == {"successes": 2, "n": 2}
    assert raters["patterns"]["specificity"] == {"successes": 8, "n": 8}
    as_json = run_ucm(tmp_path, "label", run, "--read", sheet, "--json")
    assert json.loads(as_json.stdout) == {"run_dir": str(run), "exit_code": 0, **told}
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    sheet.rename(tmp_path / "mine.csv")
    assert "is not beside it" in run_ucm(tmp_path, "label", run, "--seed", "3").stderr

    described = described_keys()
    for name in ("judges", "labels", "labels.key"):
        keys = set(keys_of(json.loads((beside / f"lamps.{name}.json").read_bytes())))
        assert keys - described == set(), name

    sheet.write_bytes(page.getvalue().replace("none", "perhaps").encode("utf-8"))
    wrong = run_ucm(tmp_path, "label", run)
    assert wrong.returncode == 2
    assert ": says is 'perhaps'" in wrong.stderr
