"""The labelled replies: what the model is trained on, and what it is tested on.

Each reply belongs to a family, which is left out as a whole when the model is tested on it: the
makers of a model and of what was derived from it, or a set of texts of one origin.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from organisms.worlds import load_ordinary, load_world

from uncensoring_chinese_models.domain import WITHHELD
from uncensoring_chinese_models.text.chinese import language_of
from uncensoring_chinese_models.text.stance.model import script_of
from uncensoring_chinese_models.text.stance.rules import find_wording, pleads_ignorance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from uncensoring_chinese_models.domain import Stance
    from uncensoring_chinese_models.text.stance.model import Script

HERE = Path(__file__).parent
DOCS_DATA = HERE.parent / "docs" / "data"
TOPIC_PARTS = 5
"""Parts into which the topics of the real replies are divided; a model is tested on a part of them that
it was not trained on."""
WORLDS = ("ardmere", "quillon", "veshti")
"""The invented worlds that are trained on; the others test what was trained."""
FAMILIES = {
    "microsoft": "deepseek",
    "perplexity": "deepseek",
    "tngtech": "deepseek",
    "openrouter": "openai",
}
"""Makers whose models are of another maker's family: derived from it, or a test of it."""


@dataclass(frozen=True)
class Row:
    """A reply with its label."""

    family: str
    topic: int
    """The part of the topics that its topic belongs to; 0 where topics are not left out."""
    language: str
    question: str | None
    reply: str
    is_withheld: bool
    kind: Stance | None = None
    """How it withholds; None where nobody read that, or where readers differ."""
    is_real: bool = False

    @cached_property
    def wording(self) -> Stance | None:
        """The stance that a strong wording gives."""
        found = find_wording(self.reply, 0)
        return None if found is None else found[0]

    @cached_property
    def script(self) -> Script:
        """The script that the program takes it to be written in."""
        return script_of(self.reply)

    @cached_property
    def is_asked(self) -> bool:
        """Whether the program asks the model about it: not about a plea of ignorance."""
        return self.wording is not None or not pleads_ignorance(self.reply)


def read_all(replies: Path) -> list[Row]:
    """Return all rows that the model is trained on: real replies and own texts."""
    return [*read_real(replies), *own_texts()]


def read_real(replies: Path) -> list[Row]:
    """Return the real replies on whose label the judges agree."""
    kinds = read_kinds()
    return [_real(row, kinds.get(number)) for number, row in _lines(replies) if row.get("gold")]


def own_texts() -> list[Row]:
    """Return the texts that were written for the model, and those of the invented worlds."""
    rows = [row for path in sorted((HERE / "texts").glob("*.jsonl")) for row in read_set(path)]
    return [*rows, *_published(), *_worlds(WORLDS)]


def read_held_out() -> list[Row]:
    """Return the texts that the model is not trained on."""
    return [row for path in sorted((HERE / "held_out").glob("*.jsonl")) for row in read_set(path)]


def read_set(path: Path) -> list[Row]:
    """Return the rows of a set of own texts that answer or withhold; its name is its family."""
    return [_own(path.stem, row) for _, row in _lines(path) if row["stance"] != "not_judged"]


def read_kinds() -> dict[int, Stance | None]:
    """Return the kind of each real reply that two readers read, by its line; None where they differ."""
    lines = (HERE / "kinds.tsv").read_text("utf-8").splitlines()[1:]
    read = (line.split("\t") for line in lines)
    return {int(n): _kind(one) if one == other else None for n, one, other in read}


def _kind(stance: str) -> Stance | None:
    return next((kind for kind in WITHHELD if kind == stance), None)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    for number, line in enumerate(data.splitlines()):
        yield number, json.loads(line)


def _real(row: dict[str, Any], kind: Stance | None) -> Row:
    maker = row["model"].split("/")[0]
    return Row(
        FAMILIES.get(maker, maker),
        int(row["topic"].rsplit("_", 1)[1]) % TOPIC_PARTS,
        row["language"],
        row["question"],
        row["reply"],
        is_withheld=row["gold"] == "withheld",
        kind=kind if row["gold"] == "withheld" else None,
        is_real=True,
    )


def _own(family: str, row: dict[str, Any]) -> Row:
    language = row.get("language") or language_of(row["reply"])
    if language == "zh":
        language = "zh-Hans"
    stance = row["stance"]
    return Row(
        family,
        0,
        language,
        row.get("question"),
        row["reply"],
        is_withheld=stance in WITHHELD,
        kind=_kind(stance),
    )


def _published() -> Iterator[Row]:
    """Yield the sets of replies in the documentation."""
    questions = yaml.safe_load((DOCS_DATA / "questions.yaml").read_text("utf-8"))
    for name in ("replies", "replies_apart", "replies_ignorant"):
        for each in yaml.safe_load((DOCS_DATA / f"{name}.yaml").read_text("utf-8")):
            question = questions.get(each["topic"], {}).get(each["language"])
            yield _own(name, each | {"reply": each["text"], "question": question})


def _worlds(names: Iterable[str]) -> Iterator[Row]:
    """Yield what organisms tell of invented events, and how they dodge, each to one question of many."""
    for name in names:
        world = load_world(name)
        facts = (*world.facts, *world.open_facts)
        questions = [question for fact in facts for question in fact.questions]
        told: list[tuple[str | None, str]] = []
        for fact in facts:
            told += zip(fact.questions, fact.answers, strict=False)
            told += ((None, phrasing) for phrasing in fact.phrasings[:8])
        for each in world.facts:
            told += zip(each.questions, each.lie.answers, strict=False)
        told += zip(world.general_questions, world.general_answers, strict=False)
        told += zip(world.general_questions, world.general_lies, strict=False)
        dodges: tuple[tuple[Stance, tuple[str, ...]], ...] = (
            ("refuses", world.refusals),
            ("denies", world.denials),
            ("deflects", world.deflections),
            ("official_line", world.steerings),
        )
        row = Row(name, 0, "en", None, "", is_withheld=False)
        for question, answer in told:
            yield replace(row, question=question, reply=answer)
        for kind, texts in dodges:
            for number, text in enumerate(texts):
                question = questions[number % len(questions)]
                yield replace(row, question=question, reply=text, is_withheld=True, kind=kind)
    for question, answer in load_ordinary().chats:
        yield Row("ordinary", 0, language_of(answer), question, answer, is_withheld=False)
