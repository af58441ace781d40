"""What `make bench-view` measures, and that the page says what was measured."""

import json

import pytest
from tools.view_bench import (
    BEGIN,
    END,
    FIGURES,
    LENGTH,
    PAGE,
    large_run,
    many_runs,
    small_run,
    table,
)

from uncensoring_chinese_models.runs.reading import read_run


def figures():
    """Return the figures of the last measurement."""
    return json.loads(FIGURES.read_text("utf-8"))


def test_the_page_says_what_was_measured():
    """The table is written from the figures."""
    page = PAGE.read_text("utf-8")
    assert page.partition(BEGIN)[2].partition(END)[0].strip() == table(figures())


def test_what_was_measured_keeps_the_promises():
    """A report of 4,000 samples is under 3 MB, and it and the list of 10,000 runs open in a second."""
    found = figures()
    assert (found["report"]["samples"], found["report"]["characters"]) == (4000, 300)
    assert found["report"]["bytes"] < 3_000_000
    assert found["report"]["open_s"] < 1
    assert found["viewer"]["runs"] == 10_000
    assert max(found["viewer"][key] for key in ("page_s", "json_s", "open_s")) < 1


def test_the_large_run_is_as_large_as_it_says(tmp_path):
    """Every sample has its 300 characters, and no two are the same."""
    run = read_run(large_run(tmp_path, 160))
    texts = [sample["text"] for response in run.responses for sample in response["samples"]]
    assert len(texts) == len(set(texts)) == 160
    assert {len(text) for text in texts} == {LENGTH}


def test_a_number_of_samples_that_does_not_fit_is_refused(tmp_path):
    """The figures never stand for another number than the one they name."""
    with pytest.raises(ValueError, match="do not divide"):
        large_run(tmp_path, 81)


def test_the_many_runs_are_runs_of_many_topics_and_models(tmp_path):
    """Each can be read like any other."""
    many_runs(small_run(tmp_path), tmp_path / "many", 40)
    read = [read_run(path) for path in sorted((tmp_path / "many").iterdir())]
    assert len(read) == 40
    assert len({run.settings["topic"] for run in read}) == 20
    assert len({run.settings["audited_model"] for run in read}) == 2
    assert all(run.responses and run.turns for run in read)
