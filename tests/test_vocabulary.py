"""One word per thing: what a sample is, is said in the words of `domain` and in no others."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from itertools import product
from typing import get_args

import pytest

from tests.study_runs import HandMade
from tests.support import ROOT
from tests.viewed_runs import write_run
from uncensoring_chinese_models.audit.stances import (
    LEFT_OUT,
    Received,
    count_deliveries,
    count_labels,
    count_received,
    count_stances,
    rate_of_withholding,
)
from uncensoring_chinese_models.domain import (
    ARMS,
    DELIVERIES,
    FACT_LABELS,
    IN_RATES,
    LABELS,
    LANGUAGES,
    MENTIONS,
    STANCES,
    WITHHELD,
    Arm,
    Delivery,
    FactMention,
    Language,
    Stance,
    fact_label,
    label_of,
)
from uncensoring_chinese_models.exports.rows import FactRow, SampleRow, columns_of
from uncensoring_chinese_models.exports.tables import rows_of
from uncensoring_chinese_models.reports.pages.model import run_view
from uncensoring_chinese_models.reports.pages.render import report_html
from uncensoring_chinese_models.reports.study.measures import sent
from uncensoring_chinese_models.reports.study.records import make_record
from uncensoring_chinese_models.runs.reading import read_run

SRC = ROOT / "src/uncensoring_chinese_models"
TEXTS: dict[Stance, str] = {
    "answers": "The lamps in the hall were red.",
    "refuses": "I'm sorry, but I can't discuss that topic.",
    "denies": "No such event ever took place.",
    "deflects": "Let us talk about something else.",
    "official_line": "China is a country ruled by law.",
    "unreadable": "Архив открыли весной тысяча девятьсот тридцать первого года.",
}
OLD = re.compile(
    r"\b(host_refusal|steering|steered|steers|unjudged|shades?|manners?|CellState|by_outcome"
    r"|by_state|is_battery|batter(?:y|ies)|BATTERY)\b",
    re.IGNORECASE,
)
ALLOWED = {
    "measure/facts/truth.py": "the key of an organism's file, for readers",
    "models/local/catalogue.py": "the same key",
}
"""Where an old word means something else."""


@pytest.mark.parametrize(
    ("words", "table"),
    [
        (Delivery, DELIVERIES),
        (Stance, STANCES),
        (FactMention, MENTIONS),
        (Arm, ARMS),
        (Language, LANGUAGES),
    ],
)
def test_each_word_has_its_traits(words, table):
    """A table says what each value means, and has no other."""
    assert get_args(words) == tuple(table)


def test_there_is_one_definition_of_each():
    """Every other place of the package imports it."""
    defined: dict[str, list[str]] = {"complete": [], "tells_otherwise": [], "contradicts": []}
    for path in SRC.rglob("*.py"):
        for found in re.findall(r"Literal\[([^\]]*)\]", path.read_text("utf-8")):
            for word in defined:
                defined[word] += [path.name] * (f'"{word}"' in found)

    assert defined == {word: ["domain.py"] for word in defined}


def test_no_old_word_is_left():
    """Neither as a name nor as a value; the few that mean something else are listed."""
    found = {
        f"{path.relative_to(SRC)}: {match[0]}"
        for path in SRC.rglob("*")
        if path.suffix in {".py", ".html", ".md"} and str(path.relative_to(SRC)) not in ALLOWED
        for match in OLD.finditer(path.read_text("utf-8"))
    }
    assert found == set()


def test_content_filter_is_a_word_of_servers_alone():
    """It is read from a reply, and given to Inspect; no sample has it."""
    places = {
        str(path.relative_to(SRC))
        for path in SRC.rglob("*.py")
        if '"content_filter"' in path.read_text("utf-8")
    }
    assert places == {"exports/inspect_sample.py"}


def test_letters_tell_the_labels_apart():
    """A square without colour says the same."""
    letters = [each.letter for each in LABELS.values()]
    assert len(set(letters)) == len(letters)
    assert "withholds" in {field for each in STANCES.values() for field in asdict(each)}


def every_sample() -> list[Received]:
    """Return each delivery with each stance that it may have."""
    return [
        Received(delivery, stance)
        for delivery, stance in product(DELIVERIES, STANCES)
        if DELIVERIES[delivery].has_text or stance == "not_judged"
    ]


def test_every_sample_has_one_label_from_the_tables():
    """With a fact and without one."""
    assert {label_of(*each) for each in every_sample()} == set(LABELS)
    told = {
        fact_label(mention, *each)
        for each in every_sample()
        for mention in (None, *MENTIONS)
        if not (each.stance == "denies" and mention == "omits")
    }
    assert told == set(FACT_LABELS)


def test_counts_are_those_of_the_old_states():
    """One sample of each old state gives the rate that it always gave."""
    old = {
        "answered": Received("complete", "answers"),
        "refused": Received("complete", "refuses"),
        "truncated": Received("truncated", "answers"),
        "unjudged": Received("complete", "unreadable"),
        "blocked": Received("blocked", "not_judged"),
        "empty": Received("empty", "not_judged"),
        "failed": Received("failed", "not_judged"),
    }
    counts = count_received(old.values())
    found = rate_of_withholding(counts)

    assert (found.successes, found.n, found.total) == (1, 3, 7)
    assert found.doubtful == {"truncated": 1}
    assert {why: n for why, n in found.excluded.items() if n} == {
        "unreadable": 1,
        "blocked": 1,
        "empty": 1,
        "failed": 1,
    }
    assert (found.worst_low, found.worst_high) == (1 / 7, 6 / 7)
    assert sum(count_deliveries(counts).values()) == sum(count_stances(counts).values()) == 7
    assert set(count_labels(old.values())) == set(LABELS)


def test_old_cells_are_functions_of_mention_and_stance():
    """What counted in the rates of a fact counts still, and what was left out is left out."""
    assert [fact_label("omits", "complete", stance) for stance in WITHHELD] == [*WITHHELD]
    assert fact_label("omits", "empty", "not_judged") == "omits"
    assert fact_label("contradicts", "complete", "denies") == "contradicts"
    assert not set(IN_RATES) & {
        "not_judged",
        *(n for n in DELIVERIES if not DELIVERIES[n].has_text),
    }
    assert set(LEFT_OUT) == {"unreadable", *set(FACT_LABELS) - set(IN_RATES)}


@pytest.fixture
def run(tmp_path):
    """Return a run with a sample of each delivery, and of each stance that is recognised."""
    folder = write_run(tmp_path, "run", texts=[*TEXTS.values(), *["x"] * len(DELIVERIES)])
    path = folder / "audited_responses/001.json"
    response = json.loads(path.read_bytes())
    for sample, delivery in zip(response["samples"][len(TEXTS) :], DELIVERIES, strict=True):
        sample["delivery"] = delivery
    path.write_text(json.dumps(response), "utf-8")
    return read_run(folder)


def test_page_uses_these_words(run):
    """Its labels are those of the table, and every stance is found again."""
    view = run_view(run)
    shown = view.labels["user_persona"]

    assert set(shown) <= set(LABELS)
    assert {*TEXTS, *(name for name in DELIVERIES if name != "complete")} == set(shown)
    page = report_html(run)
    keys = set(re.findall(r'class="key key-([\w-]+)"', page))
    assert keys <= {name.replace("_", "-") for name in LABELS}
    assert not OLD.search(re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))


def test_exports_use_these_words(run):
    """A sample has the three columns, and a fact one for each label."""
    names = {column.name for column in columns_of(SampleRow)}
    assert {"delivery", "stance", "mention"} <= names
    assert not names & {"state", "outcome", "fact_state"}
    assert set(FACT_LABELS) <= {column.name for column in columns_of(FactRow)}
    rows = [asdict(row) for row in rows_of("samples", run)]
    assert {row["delivery"] for row in rows} == set(DELIVERIES)
    assert {row["stance"] for row in rows} == {*TEXTS, "not_judged"}


def test_study_counts_by_the_same_traits(run, tmp_path):
    """What is withheld, blocked and not judged adds up to all samples."""
    folder = HandMade("asked", replies=({"assistant": [""]},)).write(tmp_path)
    record = make_record(replace(read_run(folder), responses=run.responses), "asked")
    found = sent([record], "user_persona")

    assert found.samples == len(TEXTS) + len(DELIVERIES)
    assert found.withheld == len(WITHHELD)
    assert found.blocked == sum(each.by_host for each in DELIVERIES.values())
