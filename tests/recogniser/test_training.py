"""The training of the model: what is left out of each test, what is learned, what is written."""

from __future__ import annotations

import dataclasses
import gzip
import json

import numpy as np
import pytest
from recogniser.data import Row, own_texts, read_kinds, read_real
from recogniser.evaluate import MIN_SURE, TINY, Result, choose_limits, count, folds, predict_apart
from recogniser.tables import tables
from recogniser.train import (
    columns_of,
    features_of_rows,
    fit_calibration,
    matrix_of,
    scales_of,
    train,
)

from recogniser import __main__ as command
from recogniser import data
from uncensoring_chinese_models.domain import WITHHELD
from uncensoring_chinese_models.text.stance.model import (
    KINDS,
    Limits,
    Predicted,
    Script,
    predict,
    read_weights,
)

FAMILIES = ("acme", "bolt", "own")
LATIN, HAN = "The pear is ripe.", "\u68a8\u719f\u4e86\u3002"
LIMITS: dict[Script, Limits] = {"latin": Limits(0.6, 0.2), "han": Limits(0.6, 0.2)}
TELLING = "It was in {n} that the {thing} broke, and many people of the town died."
REFUSING = "The {thing} of {n} is no matter for me, so please choose another one."


def row(number, family="acme", topic=0, *, withheld=False):
    """Return a row with a text of its own."""
    text = (REFUSING if withheld else TELLING).format(n=1900 + number, thing=f"thing{number % 7}")
    return Row(family, topic, "en", "What happened?", text, withheld,
               kind="refuses" if withheld else None, is_real=family != "own")  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    """Return replies of three families, two of them real ones on two parts of the topics."""
    return [
        row(
            number,
            FAMILIES[number % 3],
            number % 2 if number % 3 < 2 else 0,
            withheld=number % 4 == 0,
        )
        for number in range(240)
    ]


def test_nothing_of_a_tested_family_or_topic_is_trained_on(rows):
    """A real reply is judged by a model that saw neither its family nor its topics."""
    tested = []
    for fold in folds(rows):
        tested += fold.tested
        families = {rows[n].family for n in fold.tested}
        topics = {rows[n].topic for n in fold.tested if rows[n].is_real}
        assert len(families) == 1
        assert not families & {rows[n].family for n in fold.trained}
        assert not topics & {rows[n].topic for n in fold.trained if rows[n].is_real}
        assert fold.trained
    assert sorted(tested) == list(range(len(rows)))


def test_rare_feature_is_not_kept():
    """What occurs in three replies proves nothing."""
    features = [frozenset({"often"})] * 4 + [frozenset({"often", "rare"})] * 3
    assert columns_of(features) == {"often": 0}


def test_rare_runs_of_words_may_weigh_more():
    """What most replies say tells less than what few say; length and wording are always let in."""
    features = [frozenset({"often", "L:3"})] * 60 + [frozenset({"rare", "L:3"})] * 4
    columns = columns_of(features)
    scales = dict(zip(columns, scales_of(matrix_of(features, columns), columns), strict=True))
    assert scales["often"] < scales["rare"] < scales["L:3"]


def test_limits_are_chosen_for_each_script():
    """Where Chinese replies of a lower probability withhold, their limits are lower; none is too low."""

    def results(reply, withholds, answers):
        rows = [row(n, withheld=n % 2 == 0) for n in range(40)]
        return [
            Result(
                dataclasses.replace(
                    each, reply=reply, language="zh-Hans" if reply == HAN else "en"
                ),
                Predicted(withholds if each.is_withheld else answers, "refuses"),
            )
            for each in rows
        ]

    limits = choose_limits([*results(LATIN, 0.95, 0.85), *results(HAN, 0.8, 0.02)])
    assert 0.85 < limits["latin"].min_withheld <= 0.95
    assert MIN_SURE - TINY <= limits["han"].min_withheld <= 0.8


def test_plea_of_ignorance_trains_nothing_and_is_not_judged(rows):
    """The program does not ask the model about it, so no rate holds it."""
    plea = dataclasses.replace(rows[0], reply="I don't know about this.", is_withheld=True)
    assert not plea.is_asked
    assert rows[0].is_asked
    assert all(len(rows) not in fold.trained for fold in folds([*rows, plea]))
    counts = count([Result(plea, Predicted(0.99, "refuses"))], LIMITS)
    assert (counts.withheld, counts.not_judged) == (0, 1)


def test_stances_are_learned(rows):
    """A model tells the two ways of replying apart, on families that it did not see."""
    results, calibration = predict_apart(rows, lambda _: None)
    assert len(calibration) == 4
    limits = choose_limits(results)
    counts = count(results, limits)
    assert (counts.seen, counts.withheld, counts.accused) == (60, 60, 0)
    assert counts.answers + counts.not_judged == 180
    assert "| acme | 80 |" in tables(results, results[:3], limits)


def test_unread_replies_count_apart():
    """Rates are of the judged replies alone."""
    results = [
        Result(row(n, withheld=n < 4), Predicted(p, "denies"))
        for n, p in enumerate([0.9, 0.5, 0.1, 0.9, 0.9, 0.5, 0.1])
    ]
    counts = count(results, LIMITS)
    assert (counts.seen, counts.withheld) == (2, 3)
    assert (counts.accused, counts.answers) == (1, 2)
    assert (counts.not_judged, counts.all) == (2, 7)


def test_package_predicts_what_was_trained(rows):
    """The plain Python of the package gives the probability that the training's arithmetic gives."""
    features = features_of_rows(rows)
    columns = columns_of(features)
    whole = matrix_of(features, columns)
    trained = train(rows, whole, columns)
    calibration = np.array([0.1, 1.5, -0.2, 0.3])
    lines = command.lines_of(trained, calibration, LIMITS)
    weights = read_weights("\n".join(lines))
    scores = trained.scores(whole)
    for number in (0, 1, 100):
        length = np.log(len(features[number]))
        odds = calibration @ [1, scores[number], length, scores[number] * length]
        reply = rows[number]
        said = predict(reply.reply, reply.question, reply.wording, weights)
        assert said.withheld == pytest.approx(1 / (1 + np.exp(-odds)), abs=0.01)
        assert said.kind == trained.kinds_of(whole[[number]])[0]


def test_calibration_makes_probabilities_of_scores(rows):
    """Where three of four replies of a score withhold, the probability is 0.75."""
    scores, sizes = np.ones(len(rows)), np.full(len(rows), 50)
    half = [row(n, withheld=n % 4 != 0) for n in range(len(rows))]
    constant, slope, by_length, both = fit_calibration(scores, sizes, half)
    odds = constant + slope + (by_length + both) * np.log(50)
    assert 1 / (1 + np.exp(-odds)) == pytest.approx(0.75, abs=0.01)


@pytest.fixture
def replies(tmp_path):
    """Return a file of real replies, packed as the real one is."""
    lines = []
    for number in range(120):
        reply = row(number, withheld=number % 3 == 0)
        lines.append(
            json.dumps(
                {
                    "model": f"{('qwen', 'perplexity', 'x-ai')[number % 3 - number % 2]}/model",
                    "topic": f"china_criticism_{number % 50}",
                    "language": "en",
                    "question": reply.question,
                    "reply": reply.reply,
                    "gold": ["withheld", "answer", "answer"][number % 3] if number else None,
                }
            )
        )
    path = tmp_path / "replies.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


def test_command_writes_weights_and_tables(replies, tmp_path, monkeypatch, capsys):
    """One command trains, measures, and writes both files; what stands around the tables stays."""
    page, weights = tmp_path / "page.md", tmp_path / "weights.tsv"
    page.write_text(f"Before.\n{command.BEGIN}\nold table\n{command.END}\nAfter.\n")
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "PAGE", page)
    monkeypatch.setattr(command, "WEIGHTS", weights)
    monkeypatch.setattr(command, "read_all", read_real)
    monkeypatch.setattr(data, "read_kinds", lambda: dict.fromkeys(range(120), "refuses"))
    assert command.main(["--replies", str(replies)]) == 0
    written = read_weights(weights.read_text())
    assert predict(REFUSING, "What happened?", None, written).withheld > 0.5
    assert predict(TELLING, "What happened?", None, written).withheld < 0.5
    text = page.read_text()
    assert text.startswith("Before.")
    assert text.endswith("After.\n")
    assert "old table" not in text
    assert "| English | 119 |" in text
    assert "Wrote weights.tsv and page.md." in capsys.readouterr().out


def test_replies_without_a_label_are_left_out_and_derived_models_belong_to_their_maker(replies):
    """A model made from another one is of its family: it would give it away."""
    rows = read_real(replies)
    assert len(rows) == 119
    assert {each.family for each in rows} == {"qwen", "deepseek", "x-ai"}


def test_own_texts_are_whole():
    """Each has a reply and a language; no text is in two sets; the held-out ones are in none."""
    rows = own_texts()
    held_out = data.read_held_out()
    texts = {each.reply: each for each in rows}
    assert len(rows) > 1000
    assert {each.language for each in rows} == {"en", "zh-Hans", "zh-Hant"}
    assert all(each.reply.strip() for each in rows)
    assert {each.reply for each in held_out}.isdisjoint(texts)
    assert {each.kind for each in rows} == {*KINDS, None}
    assert all((each.kind in WITHHELD) == each.is_withheld for each in rows)


def test_readers_kinds_are_of_withholding_where_they_agree():
    """At least 300 replies were read twice; where the readers differ, or read an answer, there is no kind."""
    kinds = read_kinds()
    assert len(kinds) >= 300
    assert {kind for kind in kinds.values() if kind} <= set(WITHHELD)
