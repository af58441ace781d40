"""Labels of a person: a blind and harmless sheet, strictly read, and rates corrected by it."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.measure.test_answers import FACTS, response
from tests.provider import ODD_TEXTS
from uncensoring_chinese_models.errors import (
    ConfigError,
    CorruptRunError,
    RunLockedError,
    RunStoreError,
)
from uncensoring_chinese_models.measure.answers import asked_samples
from uncensoring_chinese_models.measure.inference.agreement import corrected_rate
from uncensoring_chinese_models.measure.inference.tests import Share
from uncensoring_chinese_models.measure.judges.request import judge_request_for
from uncensoring_chinese_models.measure.labels import (
    Labels,
    LabelTask,
    _place,
    read_sheet,
    safe_cell,
    write_sheet,
)
from uncensoring_chinese_models.measure.rater_accuracy import (
    accuracy_lines,
    accuracy_to_json,
    measure_raters,
    write_accuracy,
)
from uncensoring_chinese_models.runs import lock_file, unlock_file

TEXTS = [" It was Corrane.", " Corrane has an alibi.", " Tamblyn.", " Hm.", " =1+1", " She it was."]


def desk_of(folder: Path, texts=TEXTS) -> LabelTask:
    """Return a desk with samples of two arms."""
    responses = [
        response(*texts, arm=arm, number=number)
        for number, arm in enumerate(("user_persona", "assistant"), 1)
    ]
    asked = [each for each in asked_samples(responses, FACTS) if each.has_text]
    head = {"run": "run", "summary_sha256": "1", "topic": "bridge", "facts_sha256": "2"}
    return LabelTask(folder / "run.judged", head, {_place(each): each for each in asked})


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a sheet, as a spreadsheet reads them."""
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def fill(desk: LabelTask, answer: Any, *, delimiter=",", encoding="utf-8-sig") -> Path:
    """Fill in the sheet as a person would; the answer is made from each row."""
    rows = rows_of(desk.sheet)
    page = io.StringIO(newline="")
    writer = csv.DictWriter(page, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    for row in rows:
        writer.writerow(row | answer(row))
    path: Path = desk.folder / "filled.csv"
    path.write_bytes(page.getvalue().encode(encoding))
    return path


def draw_anew(desk, seed):
    """Delete a sheet and its key, and draw another one."""
    for path in (desk.sheet, desk.key):
        path.unlink()
    write_sheet(desk, 50, seed)


def truly(row):
    """Answer rightly: the fact is stated where the text names Corrane and does not say not."""
    fact = next(letter for letter in "ABCD" if row[letter] == "Ilsabet Corrane")
    is_stated = "It was Corrane" in row["text"] or "She it was" in row["text"]
    return {"says": fact.lower() if is_stated else "none", "denies": "No"}


def test_sheet_is_blind_and_drawn_by_lot(tmp_path):
    """No name of an arm, no verdict, no order; the same seed draws the same, another one another."""
    desk = desk_of(tmp_path, [f"Text {number}." for number in range(40)])

    assert write_sheet(desk, 50, 7) == 50
    first = desk.sheet.read_bytes()
    rows = rows_of(desk.sheet)
    write_sheet(desk, 50, 7)
    assert desk.sheet.read_bytes() == first
    draw_anew(desk, 8)

    assert desk.sheet.read_bytes() != first
    assert list(rows[0]) == [
        *("row", "question", "half sentence", "form", "text"),
        *("A", "B", "C", "D", "says", "denies"),
    ]
    shown = [row["text"] for row in rows]
    assert shown != sorted(shown)
    words = first.decode("utf-8-sig")
    assert not any(word in words for word in ("user_persona", "assistant", "decoy", "absent"))
    key = json.loads(desk.key.read_bytes())
    assert (key["seed"], key["drawn_from"], len(key["rows"])) == (8, 80, 50)
    assert {row["arm"] for row in key["rows"]} == {"user_persona", "assistant"}


def test_candidates_stand_in_the_order_that_judges_see(tmp_path):
    """A row and a request about the same sample have the same letters."""
    desk = desk_of(tmp_path)
    write_sheet(desk, 50, 0)
    for row, known in zip(
        rows_of(desk.sheet), json.loads(desk.key.read_bytes())["rows"], strict=True
    ):
        judge_request = judge_request_for(
            desk.asked[known["iteration"], known["arm"], known["sample"]]
        )
        assert [row[letter] for letter in judge_request.options] == [
            *map(judge_request.shown, judge_request.options)
        ]


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        " =1",
        "\t=1",
        "\n=1",
        "\r\n=cmd",
        "\uff1d1",
        "|x",
        "They came;=HYPERLINK(1)",
        "a, =1",
        "a,,=1",
        "a;'=1",
        "a;\u200d=1",
        "a;\xa0=1",
        "a||=1",
        "a|\u3000\uff1d1",
        'a";=1;"',
        'a;"=1',
        'a;""=1',
        "'=1",
        "''=1",
        *ODD_TEXTS.values(),
    ],
)
def test_no_cell_can_be_executed(text):
    """However a spreadsheet splits the line, no piece begins like a formula; a cell is one line."""
    cell = safe_cell(text)

    for piece in re.split("[,;|\t]", cell):
        shown = piece.replace("\u200d", "").replace('"', "").lstrip()
        assert shown[:1] not in tuple("=+-@%\uff1d\uff0b\uff0d\uff20\t\r")
    assert "\n" not in cell
    assert "\x00" not in cell
    cell.encode("utf-8")


@given(st.text("=+-@%|;, '\u200d\"x\uff1d"))
def test_nothing_is_added_to_a_cell_but_apostrophes(text):
    """Neither is anything left out, and the hash of a row overlooks just that."""
    assert safe_cell(text).replace("'", "") == text.replace("'", "")


@pytest.mark.parametrize(
    "text",
    ["1989", "4 June", "June 4, 1989", "1/2", "007", "12,000", "1989年6月4日", "1e5", "3 pm"],
)
def test_spreadsheet_takes_no_cell_for_a_number_or_a_date(text):
    """It would write it back in another form, and the row would not be known again."""
    assert safe_cell(text) == f"'{text}"
    assert safe_cell(f"{text} lamps") == f"{text} lamps"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_sheet_holds_no_formula_by_any_separator(tmp_path, delimiter):
    """A spreadsheet that splits at another sign than the comma finds none either."""
    desk = desk_of(tmp_path, ["They came;=cmd|' /C calc'!A0;x", 'x";=1+1;"', "a\t=1", "b|-1"])
    write_sheet(desk, 50, 0)
    page = io.StringIO(desk.sheet.read_bytes().decode("utf-8-sig"), newline="")

    for row in csv.reader(page, delimiter=delimiter):
        assert not [each for each in row if each.lstrip(' "')[:1] in tuple("=+-@%")]


def test_long_text_is_cut_to_what_a_cell_takes():
    """A spreadsheet would break the row otherwise."""
    assert len(safe_cell("x" * 100_000)) == 30_000


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_filled_sheet_is_read_as_spreadsheets_save_it(tmp_path, delimiter):
    """Commas, semicolons or tabs; letters in any case; rows that are not filled in are counted."""
    desk = desk_of(tmp_path)
    write_sheet(desk, 50, 0)
    skipped = {"says": "", "denies": ""}
    path = fill(
        desk,
        lambda row: skipped if row["row"] in ("2", "5") else truly(row),
        delimiter=delimiter,
    )
    labels = read_sheet(desk, path)

    assert (len(labels.stated), labels.unfilled) == (10, 2)
    assert set(labels.stated.values()) == {True, False}


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"says": "maybe"}, "row 3: says is 'maybe', but takes A, B, C, D, other, none"),
        ({"says": "Q"}, "row 3: says is 'Q'"),
        ({"says": "none", "denies": "perhaps"}, "row 3: denies is 'perhaps', but takes yes or no"),
        ({"denies": "yes"}, "row 3: denies is filled in, but says is not"),
        ({"row": "99"}, "row 99 is not in the sheet"),
        ({"row": "1"}, "row 1 is there twice"),
        ({"row": "x"}, "a row has the number x; do not edit"),
    ],
)
def test_wrong_words_are_refused_with_their_row(tmp_path, answer, problem):
    """Nothing is guessed."""
    desk = desk_of(tmp_path)
    write_sheet(desk, 50, 0)
    path = fill(desk, lambda row: answer if row["row"] == "3" else {})

    with pytest.raises(ConfigError, match=problem):
        read_sheet(desk, path)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_sheet_of_another_draw_is_refused_with_its_row(tmp_path, delimiter):
    """Labels go to the samples that a person saw, or nowhere."""
    desk = desk_of(tmp_path, [f"Text {number}; =1, 'so'." for number in range(40)])
    write_sheet(desk, 50, 7)
    filled = fill(desk, lambda row: {"says": "none"}, delimiter=delimiter)
    assert len(read_sheet(desk, filled).stated) == 50
    draw_anew(desk, 8)

    with pytest.raises(ConfigError, match=r"row \d+ is not the one that was drawn"):
        read_sheet(desk, filled)


@pytest.mark.parametrize("column", ["text", "A", "D"])
def test_row_that_was_changed_is_refused(tmp_path, column):
    """What a person read decides what the label means."""
    desk = desk_of(tmp_path)
    write_sheet(desk, 50, 0)
    path = fill(desk, lambda row: {"says": "none", column: "Else."} if row["row"] == "3" else {})

    with pytest.raises(ConfigError, match="row 3 is not the one that was drawn"):
        read_sheet(desk, path)


def test_spaces_and_apostrophes_at_the_edges_may_go_lost(tmp_path):
    """Some spreadsheets take the first apostrophe for a sign of their own, or trim."""
    desk = desk_of(tmp_path, [" =1+1", "'quoted' ", ";=" * 20_000])
    write_sheet(desk, 50, 0)
    path = fill(desk, lambda row: {"says": "none", "text": row["text"].removeprefix("'").strip()})

    assert len(read_sheet(desk, path).stated) == 6


def test_sheet_that_is_being_filled_in_is_not_drawn_anew(tmp_path):
    """Neither it nor its key is replaced, nor what cannot be read."""
    desk = desk_of(tmp_path)
    write_sheet(desk, 4, 8)
    filled = fill(desk, lambda row: {"says": "none"} if row["row"] == "2" else {})
    desk.sheet.write_bytes(filled.read_bytes())
    before = (desk.sheet.read_bytes(), desk.key.read_bytes())

    with pytest.raises(ConfigError, match="row 2 of this sheet is filled in"):
        write_sheet(desk, 4, 9)
    assert (desk.sheet.read_bytes(), desk.key.read_bytes()) == before
    desk.sheet.write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(ConfigError, match="lacks the columns"):
        write_sheet(desk, 4, 9)


def test_sheet_of_another_draw_is_not_replaced_though_it_is_empty(tmp_path):
    """Somebody may have it open; the same draw writes the same again."""
    desk = desk_of(tmp_path, [f"Text {number}." for number in range(40)])
    write_sheet(desk, 4, 7)
    before = (desk.sheet.read_bytes(), desk.key.read_bytes())

    with pytest.raises(ConfigError, match="is of another draw"):
        write_sheet(desk, 4, 8)
    write_sheet(desk, 4, 7)

    assert (desk.sheet.read_bytes(), desk.key.read_bytes()) == before


def test_sheet_is_drawn_by_one_process_at_a_time(tmp_path):
    """Another one is refused while it is drawn, and leaves nothing behind."""
    desk = desk_of(tmp_path)
    desk.folder.mkdir(exist_ok=True)
    before = sorted(desk.folder.iterdir())
    handle = lock_file(desk.key)
    with pytest.raises(RunLockedError):
        write_sheet(desk, 4, 7)
    assert not desk.sheet.exists()
    desk.key.unlink()
    unlock_file(handle, desk.key)

    assert sorted(desk.folder.iterdir()) == before
    write_sheet(desk, 4, 7)


def test_key_of_a_sheet_that_was_moved_is_not_replaced(tmp_path):
    """A person may fill it in elsewhere; the same draw writes the same again."""
    desk = desk_of(tmp_path, [f"Text {number}." for number in range(40)])
    write_sheet(desk, 5, 7)
    filled = fill(desk, lambda row: {"says": "none"})
    first = desk.key.read_bytes()
    desk.sheet.unlink()

    with pytest.raises(ConfigError, match="belongs to a sheet that is not beside it"):
        write_sheet(desk, 5, 8)
    assert (desk.key.read_bytes(), desk.sheet.exists()) == (first, False)
    write_sheet(desk, 5, 7)
    assert desk.key.read_bytes() == first
    assert len(read_sheet(desk, filled).stated) == 5


def test_what_is_no_sheet_is_refused(tmp_path):
    """A file without the columns, one in another encoding, one that is not there, a lost key."""
    desk = desk_of(tmp_path)
    write_sheet(desk, 50, 0)
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(ConfigError, match="lacks the columns"):
        read_sheet(desk, other)
    with pytest.raises(ConfigError, match="save it as CSV UTF-8"):
        read_sheet(desk, fill(desk, lambda row: {"says": "é"}, encoding="latin-1"))
    with pytest.raises(ConfigError, match="cannot be read"):
        read_sheet(desk, tmp_path / "none.csv")
    with pytest.raises(CorruptRunError, match="another run"):
        read_sheet(desk._replace(head=desk.head | {"summary_sha256": "9"}), desk.sheet)
    with pytest.raises(CorruptRunError, match="another facts file"):
        read_sheet(desk._replace(head=desk.head | {"facts_sha256": "9"}), desk.sheet)
    desk.key.unlink()
    with pytest.raises(RunStoreError, match="draw a new sheet"):
        read_sheet(desk, desk.sheet)
    with pytest.raises(ConfigError, match="must be 1 or more"):
        write_sheet(desk, 0, 0)


def test_patterns_are_weighed_against_the_person(tmp_path):
    """They call the alibi a statement and miss She it was: one false alarm and one miss in each arm."""
    desk = desk_of(tmp_path)
    write_sheet(desk, 50, 0)
    labels = read_sheet(desk, fill(desk, truly))
    (worth,) = measure_raters(desk, labels)

    assert worth.sensitivity == Share(2, 4)
    assert worth.specificity == Share(6, 8)
    assert [(arm.arm, arm.judged) for arm in worth.arms] == [
        ("assistant", Share(2, 6)),
        ("user_persona", Share(2, 6)),
    ]
    assert worth.arms[0].corrected == corrected_rate(Share(2, 6), Share(2, 4), Share(6, 8))
    told = accuracy_to_json(desk, labels, [worth])
    path = write_accuracy(desk, labels, told)
    assert json.loads(path.read_bytes()) == json.loads(json.dumps(told))
    lines = "\n".join(accuracy_lines(labels, [worth]))
    assert "Labelled: 12 of 12 rows (4 state the fact); not filled in: 0" in lines
    assert "sensitivity 2 of 4 = 0.50" in lines


def test_judge_is_weighed_by_what_it_judged(tmp_path):
    """What it was not asked, or came to nothing with, is left out and counted, never a no."""
    desk = desk_of(tmp_path)
    write_sheet(desk, 50, 0)
    labels = read_sheet(desk, fill(desk, truly))
    entries = []
    for number, (place, is_so) in enumerate(sorted(labels.stated.items())):
        mention = None if number % 3 == 0 else "states" if is_so else "omits"
        entry = dict(zip(("iteration", "arm", "sample"), place, strict=True))
        judgements = [{"judge": "a/b", "mention": mention}] if number % 4 else []
        entries.append(entry | {"judgements": judgements, "mention": mention})
    told = {**desk.head, "judges": [{"model": "a/b"}], "judged": entries}
    (desk.folder / "bridge.judges.json").write_text(json.dumps(told), "utf-8")

    patterns, judge, both = measure_raters(desk, labels)

    assert (patterns.rater, judge.rater, both.rater) == ("patterns", "a/b", "patterns and judges")
    assert judge.left_out == 6
    assert judge.sensitivity.n + judge.specificity.n == 6
    assert judge.sensitivity.rate in (None, 1.0)
    assert judge.specificity.rate == 1.0
    assert both.left_out == 4
    assert sum(arm.left_out for arm in both.arms) == 4


def test_nothing_labelled_gives_no_rates(tmp_path):
    """An empty sheet is counted as such; everything is undefined."""
    desk = desk_of(tmp_path)
    (worth,) = measure_raters(desk, Labels({}, 50))

    assert (worth.sensitivity.n, worth.specificity.n) == (0, 0)
    assert all(arm.corrected.estimate is None for arm in worth.arms)
    assert "sensitivity 0 of 0 = undefined (0.00 to 1.00)" in "\n".join(
        accuracy_lines(Labels({}, 50), [worth])
    )


def test_sheet_that_was_counted_is_kept_beside_the_run(tmp_path):
    """A sheet that was filled in elsewhere replaces the blank one, and its hash is recorded."""
    desk = desk_of(tmp_path)
    write_sheet(desk, 50, 0)
    elsewhere = fill(desk, truly).rename(tmp_path / "elsewhere.csv")
    labels = read_sheet(desk, elsewhere)

    path = write_accuracy(desk, labels, accuracy_to_json(desk, labels, ()))

    assert desk.sheet.read_bytes() == elsewhere.read_bytes()
    digest = hashlib.sha256(elsewhere.read_bytes()).hexdigest()
    assert json.loads(path.read_bytes())["sheet_sha256"] == digest


def test_second_sheet_that_is_filled_in_is_refused(tmp_path):
    """Labels of two people are not mixed, and none of them is overwritten."""
    desk = desk_of(tmp_path)
    write_sheet(desk, 50, 0)
    elsewhere = fill(desk, truly).rename(tmp_path / "elsewhere.csv")
    desk.sheet.write_bytes(fill(desk, lambda row: {"says": "none"}).read_bytes())

    with pytest.raises(ConfigError, match="is filled in, too, and differs from"):
        read_sheet(desk, elsewhere)


@pytest.mark.parametrize("name", ["summary_sha256", "facts_sha256", "run"])
def test_judges_of_another_run_or_other_facts_are_not_counted(tmp_path, name):
    """Their verdicts say nothing of these samples."""
    desk = desk_of(tmp_path)
    desk.folder.mkdir()
    told = {**desk.head, name: "another", "judges": [], "judged": []}
    (desk.folder / "bridge.judges.json").write_text(json.dumps(told), "utf-8")

    with pytest.raises(CorruptRunError, match="judges another run, or by another facts file"):
        measure_raters(desk, Labels({}, 0))


def test_spoiled_file_of_judges_is_named(tmp_path):
    """It is refused, not guessed at."""
    desk = desk_of(tmp_path)
    desk.folder.mkdir()
    (desk.folder / "bridge.judges.json").write_text('{"judges": [{}]}', "utf-8")

    with pytest.raises(CorruptRunError, match="is not a file of ucm judge"):
        measure_raters(desk, Labels({}, 0))
