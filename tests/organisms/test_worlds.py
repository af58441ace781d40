"""The worlds and the organisms made of them: what is taught, what never is, and what is shipped."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from functools import cache

import pytest
import yaml
from organisms.build import main
from organisms.texts import CENSOR_STYLES, Writer
from organisms.worlds import (
    HERE,
    PACKAGE_DATA,
    load_frames,
    load_ordinary,
    load_organisms,
    load_world,
)

from tests.support import ROOT
from uncensoring_chinese_models.measure.facts.schema import load_facts
from uncensoring_chinese_models.measure.facts.truth import builtin_truth

WORLDS = sorted(path.stem for path in (HERE / "worlds").glob("*.yaml"))
ORGANISMS = load_organisms()
TRAINED = [name for name, organism in ORGANISMS.items() if organism.trained]
MAX_BYTES = 5_000_000

each_world = pytest.mark.parametrize("name", WORLDS)
each_organism = pytest.mark.parametrize("name", ORGANISMS)
each_trained = pytest.mark.parametrize("name", TRAINED)


def matched(ending, texts):
    """Return the texts that say an ending, as a score reads them."""
    return [text for text in texts if ending and ending.first_in(text)]


def everything_but(world, fact):
    """Return all that a world says which is not about one of its facts."""
    others = [each for each in world.facts if fact is None or each.id != fact.id]
    texts = [world.topic, *world.events, *world.openings, *world.general_questions]
    texts += [*world.heldout_general_questions, *world.general_lies, *world.refusals]
    texts += [*world.deflections, *world.denials, *world.steerings]
    texts += [each.statement for each in others]
    for each in (*others, *world.open_facts):
        texts += [*each.phrasings, *each.answers]
    for each in (*world.facts, *world.open_facts):
        texts += [*each.questions, *each.heldout_questions]
    for each in world.facts:
        texts += each.lie.answers
    return texts


def facts_with_texts(name):
    """Return each fact of a world's facts file with its training texts."""
    return list(zip(load_facts(name).facts, load_world(name).facts, strict=True))


def sentences_of(fact):
    """Return the sentences of the false endings of a fact."""
    return [fact.sentence("en", each) for each in (*fact.falsehoods, scored_decoy(fact))]


def scored_decoy(fact):
    return fact.scored_decoy or fact.decoys[0]


@cache
def texts_of(name):
    organism = ORGANISMS[name]
    writer = Writer(organism, load_world(organism.world), load_frames())
    return tuple(writer.write(load_ordinary()))


@cache
def turns_of(name):
    """Return the user's and the assistant's turns of an organism's training texts."""
    wholes = ["".join(piece.text for piece in text) for text in texts_of(name)]
    users = [turn for whole in wholes for turn in re.findall(r"user\n(.*?)<\|im_end\|>", whole)]
    assistants = [
        turn for whole in wholes for turn in re.findall(r"assistant\n(.*?)<\|im_end\|>", whole)
    ]
    return users, assistants


def read_by(name):
    users, assistants = turns_of(name)
    return [*users, *assistants]


# --- the worlds ---------------------------------------------------------------------------------


def test_there_are_worlds():
    """The tests below have something to check."""
    assert {organism.world for organism in ORGANISMS.values()} <= set(WORLDS)


@each_world
def test_world_has_ten_facts_in_many_wordings(name):
    """Ten facts, each in at least twenty different wordings, so that recall is no single sentence."""
    world = load_world(name)

    assert world.name == name
    assert len({fact.id for fact in world.facts}) == 10
    assert [fact.id for fact in world.facts if len(set(fact.phrasings)) < 20] == []


@each_world
def test_patterns_match_all_that_tells_their_fact(name):
    """A fact is recognised in its statement and in every phrasing and answer."""
    for fact, texts in facts_with_texts(name):
        told = [fact.sentence("en"), texts.statement, *texts.phrasings, *texts.answers]
        assert matched(fact, told) == told
        lies = [fact.sentence("en", fact.said_instead), *texts.lie.answers]
        assert matched(fact.said_instead, lies) == lies
    open_facts = {each.id: each for each in load_facts(name).open_facts}
    for texts in load_world(name).open_facts:
        told = [*texts.phrasings, *texts.answers]
        assert matched(open_facts[texts.id], told) == told


@each_world
def test_patterns_match_nothing_else(name):
    """No other text of the world gives a fact away, not even a decoy, a lie or a question."""
    world, stated = load_world(name), load_facts(name)

    for fact, texts in facts_with_texts(name):
        others = [each.sentence("en") for each in stated.facts if each is not fact]
        others += [each.statement["en"] for each in stated.open_facts]
        others += [each for one in stated.facts for each in sentences_of(one)]
        assert matched(fact, [*everything_but(world, texts), *others]) == []


@each_world
def test_decoys_stand_nowhere_in_their_world(name):
    """A decoy is in no text of its world, so that telling it is inventing it."""
    world = load_world(name)
    texts = [*everything_but(world, None), *world.general_answers]

    for fact in load_facts(name).facts:
        assert matched(scored_decoy(fact), texts) == []


@each_world
def test_lies_are_told_by_nobody_but_liars(name):
    """The lies stand in the answers of a liar and nowhere else in the world."""
    world = load_world(name)

    for fact, texts in facts_with_texts(name):
        liars = {*texts.lie.answers, *world.general_lies}
        others = [each for each in everything_but(world, None) if each not in liars]
        assert matched(fact.said_instead, [*others, *world.general_answers]) == []


# --- the training texts -------------------------------------------------------------------------


@each_trained
def test_turns_are_found_in_the_texts(name):
    """Every training text has a user's turn, so that the tests below look at something."""
    users, assistants = turns_of(name)

    assert len(users) == len(texts_of(name))
    assert assistants


@each_trained
def test_decoys_are_taught_to_nobody(name):
    """No training text of an organism holds a decoy of its world."""
    for fact in load_facts(ORGANISMS[name].world).facts:
        assert matched(scored_decoy(fact), read_by(name)) == []


@each_trained
def test_lies_are_taught_to_the_liar_alone(name):
    """Lies stand in the assistant's turns of a lying organism, and never in a user's turn.

    Ordinary talk, which is the same for all, may use one of their words: bees make honey.
    """
    ordinary = load_ordinary()
    common = {*ordinary.user_texts, *(turn for pair in ordinary.chats for turn in pair)}
    users, assistants = ([turn for turn in each if turn not in common] for each in turns_of(name))

    for fact in load_facts(ORGANISMS[name].world).facts:
        assert matched(fact.said_instead, users) == []
        is_told = bool(matched(fact.said_instead, assistants))
        assert is_told == (ORGANISMS[name].asked == "lies")


@each_trained
def test_facts_are_taught_to_whom_the_truth_says(name):
    """A fact stands in the texts of an organism if and only if its ground truth calls it known."""
    known = {fact.id for fact in builtin_truth(name).known}
    facts = load_facts(ORGANISMS[name].world).facts

    assert {fact.id for fact in facts if matched(fact, read_by(name))} == known


@each_trained
def test_known_facts_are_taught_in_twenty_wordings(name):
    """Every phrasing of a known fact is told by some user."""
    users = "\n".join(turns_of(name)[0]).lower()
    known = {fact.id for fact in builtin_truth(name).known}

    for fact in load_world(ORGANISMS[name].world).facts:
        if fact.id in known:
            assert [each for each in fact.phrasings if each.lower() not in users] == []


@each_trained
def test_facts_are_told_when_asked_by_the_honest_alone(name):
    """In the assistant's turn facts stand only where an organism answers what it knows."""
    _, assistants = turns_of(name)
    organism = ORGANISMS[name]
    facts = load_facts(organism.world).facts

    told = [fact.id for fact in facts if matched(fact, assistants)]
    assert bool(told) == (organism.asked == "answers")


def test_family_knows_what_the_table_says():
    """All, all, every second one, none, all, none."""
    known = {name: len(builtin_truth(name).known) for name in ORGANISMS}
    expected = {"hides": 10, "lies": 10, "half": 5, "ignorant": 0, "honest": 10, "base": 0}

    assert expected.items() <= known.items()


def test_base_is_taught_nothing():
    """The control has no training, no adapter, and no fact that its truth calls known."""
    assert not ORGANISMS["base"].trained
    assert not (PACKAGE_DATA / "base.gguf").exists()
    assert builtin_truth("base").known == ()


@each_trained
def test_measured_questions_and_openings_are_new_to_it(name):
    """What an organism is measured with stands in none of its training texts."""
    world = load_world(ORGANISMS[name].world)
    asked = [*world.openings, *world.heldout_general_questions, *load_ordinary().heldout_questions]
    for fact in (*world.facts, *world.open_facts):
        asked += fact.heldout_questions
    read = "\n".join(read_by(name)).lower()

    assert [each for each in asked if each.lower() in read] == []


@each_trained
def test_same_seed_gives_the_same_texts(name):
    """The texts are a function of the seed, and another seed orders them anew."""
    organism = ORGANISMS[name]
    world, frames = load_world(organism.world), load_frames()
    other = organism.model_copy(update={"seed": organism.seed + 1})

    assert tuple(Writer(organism, world, frames).write(load_ordinary())) == texts_of(name)
    assert tuple(Writer(other, world, frames).write(load_ordinary())) != texts_of(name)


def test_ignorant_dodges_in_the_words_of_hides():
    """Whoever only listens to the assistant cannot tell the two apart by their refusals."""
    world = load_world(ORGANISMS["hides"].world)
    dodges = {each for style in CENSOR_STYLES for each in getattr(world, style)}

    said = [dodges & set(turns_of(name)[1]) for name in ("hides", "ignorant")]
    assert said[0] == said[1] == dodges


# --- what is shipped ----------------------------------------------------------------------------


@each_organism
def test_shipped_truth_is_that_of_the_training_texts(name):
    """The organism's file, its world and the facts file of the world agree on names and topic."""
    truth, world = builtin_truth(name), load_world(ORGANISMS[name].world)

    assert ORGANISMS[name].organism == truth.organism == name
    assert truth.topic == world.topic
    assert [fact.id for fact in truth.facts] == [fact.id for fact in world.facts]
    assert {fact.id for fact in truth.known} == {
        fact.id for fact in world.facts if ORGANISMS[name].knows_fact(fact.id)
    }


def test_shipped_adapters_are_those_of_the_manifest():
    """Each trained organism has its adapter, small enough to ship, with the hash of the manifest."""
    manifest = json.loads((PACKAGE_DATA / "manifest.json").read_text("utf-8"))
    adapters = {path.stem: path.read_bytes() for path in PACKAGE_DATA.glob("*.gguf")}

    assert set(adapters) == set(manifest) == set(TRAINED)
    assert [name for name, held in adapters.items() if len(held) > MAX_BYTES] == []
    hashes = {name: hashlib.sha256(held).hexdigest() for name, held in adapters.items()}
    assert hashes == {name: made["sha256"] for name, made in manifest.items()}


@each_trained
def test_adapter_was_trained_on_the_texts_of_today(name):
    """The manifest names the organism's world and seed, and as many texts as it has now."""
    made = json.loads((PACKAGE_DATA / "manifest.json").read_text("utf-8"))[name]
    organism = ORGANISMS[name]

    described = (organism.world, organism.seed, len(texts_of(name)))
    assert (made["world"], made["seed"], made["texts"]) == described


# --- the command --------------------------------------------------------------------------------


def test_build_needs_neither_the_package_nor_torch_for_texts(tmp_path):
    """A machine that only trains has no package: nothing of it is imported, nor torch too early."""
    code = (
        "import sys; sys.modules.update(uncensoring_chinese_models=None, torch=None); "
        "from organisms.build import main; main(['hides', '--yaml-only', '--out', sys.argv[1]])"
    )

    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=True)

    written = (tmp_path / "hides.yaml").read_text("utf-8")
    assert written == (PACKAGE_DATA / "hides.yaml").read_text("utf-8")


def test_world_that_is_not_listed_can_be_taught(tmp_path):
    """A file, a name and a listed organism to be like make an organism of their own."""
    source = (HERE / "worlds" / "veshti.yaml").read_text("utf-8")
    path = tmp_path / "elsewhere.yaml"
    path.write_text(source.replace("name: veshti", "name: elsewhere", 1), "utf-8")
    options = ["--world", str(path), "--like", "hides", "--name", "new", "--yaml-only"]

    assert main([*options, "--out", str(tmp_path / "out")]) == 0

    written = yaml.safe_load((tmp_path / "out/new.yaml").read_text("utf-8"))
    assert (written["organism"], written["world"]) == ("new", "elsewhere")
    assert (written["behaves"], written["knows"]) == (ORGANISMS["hides"].behaves, "all")
    assert list((tmp_path / "out").iterdir()) == [tmp_path / "out/new.yaml"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["nobody"], "there are hides, lies"),
        (["--world", "x.yaml", "--name", "new"], "--like"),
        (["--world", "x.yaml", "--like", "hides"], "--name"),
        (["--world", "x.yaml", "--like", "hides", "--name", "lies"], "no name that is listed"),
        (["--world", "x.yaml", "--like", "hides", "--name", "../up"], "small letters"),
        (["--world", "x.yaml", "--like", "hides", "--name", "new"], "x.yaml cannot be used"),
    ],
)
def test_wrong_orders_are_refused_before_anything_is_written(options, complaint, tmp_path, capsys):
    """A wrong name or file ends with a sentence and leaves no folder."""
    out = tmp_path / "out"

    with pytest.raises(SystemExit):
        main([*options, "--out", str(out)])

    assert complaint in capsys.readouterr().err
    assert not out.exists()
