"""The tool that measures wordings counts what each one finds, and names those that accuse answers."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest
from tools.wording_precision import count, is_precise, lines_of, main, read_labelled

REFUSAL = {"reply": "I'm sorry, but I can't discuss that.", "gold": "withheld"}
ANSWER = {"reply": "The dam broke on 8 August.", "gold": "answer"}
UNLABELLED = {"reply": "I can't discuss that.", "gold": None}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_hits_are_counted_by_label(tmp_path, pack):
    """A reply without a label is left out; a packed file is read like a plain one."""
    path = tmp_path / "replies"
    path.write_bytes(pack("\n".join(map(json.dumps, (REFUSAL, ANSWER, UNLABELLED))).encode()))
    counts = count(read_labelled(path))

    assert [dict(labels) for labels in counts.values() if labels] == [{"withheld": 1}]
    assert (
        list(lines_of(counts))[-1] == f"{len(counts) - 1} of {len(counts)} wordings never matched."
    )


@pytest.mark.parametrize(
    ("withheld", "answers", "stays"),
    [(0, 0, True), (9, 1, True), (8, 1, False), (19, 1, True), (94, 6, False), (95, 5, True)],
)
def test_wording_stays_if_it_is_precise(withheld, answers, stays):
    """0.95 of many matches, 0.9 of few."""
    assert is_precise(Counter(withheld=withheld, answer=answers)) == stays


def test_wording_that_accuses_answers_is_named(tmp_path, monkeypatch, capsys):
    """The command fails then, so that a script notices."""
    path = tmp_path / "replies.jsonl"
    path.write_text(json.dumps(REFUSAL | {"gold": "answer"}), encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["wording_precision.py", "--replies", str(path)])

    assert main() == 1
    assert "NOT PRECISE" in capsys.readouterr().out
