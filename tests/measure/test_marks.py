"""What a run found, told apart by the marks of its facts."""

from __future__ import annotations

from tests.facts_example import example_file, rung
from uncensoring_chinese_models.measure.facts.marks import counted_by_mark, described
from uncensoring_chinese_models.measure.facts.schema import Facts


def marked() -> Facts:
    """Return two core facts, one of them with a coarser question, and a control."""
    content = example_file(3)
    content["facts"][0]["coarser"] = [rung("pine")]
    content["facts"][2]["mark"] = "control"
    return Facts.model_validate(content)


def test_core_facts_are_counted_apart_from_controls():
    """What state media print too is no candour, and a coarser question is no fact above it."""
    said, withheld = "known and said", "known but withheld"
    verdicts = [("pine-1", said), ("pine", withheld), ("cypress", withheld), ("plum", said)]

    assert list(counted_by_mark(marked(), verdicts)) == [
        "Core facts: of 2, 2 known but withheld.",
        "Coarser questions below facts: of 1, 1 known and said.",
        "Controls: of 1, 1 known and said. State media print these too: to say them shows no candour.",
    ]


def test_facts_without_marks_are_not_told_apart():
    """Invented facts have none, nor have facts that the file no longer holds."""
    content = example_file(1, invented=True)
    del content["facts"][0]["mark"]

    facts = Facts.model_validate(content)

    assert list(counted_by_mark(facts, [("pine", "unknown"), ("gone", "unknown")])) == []
    assert described(facts.facts[0]) == described(None) == ""


def test_a_fact_is_described_by_its_mark_and_place():
    """A coarser question names the fact that it stands below."""
    assert [described(fact) for fact in marked().facts] == [
        "core, below pine",
        "core",
        "core",
        "control",
    ]
