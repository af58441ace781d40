"""The commands `facts list`, `check`, `show` and `match`: true statements on a topic, with decoys."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models.cli.judge import checked_lines
from uncensoring_chinese_models.cli.output import Output, print_json, table_lines
from uncensoring_chinese_models.config import redact_message
from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.text import escape, preview

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.measure import Ending, Fact, FactMatch, Facts


class CheckedFile(NamedTuple):
    """What is wrong with one facts file."""

    error: str | None
    """Why it cannot be read as a facts file; the sentence names the file."""
    problems: list[str]
    """Problems in its content; each names its fact."""


_GROUPS = {
    "topics": "",
    "controls": " (elsewhere, for comparison)",
    "worlds": " (invented)",
}
"""The groups of facts files in the package, and what the list says behind the name of each file."""


def list_facts(*, json: bool = False) -> int:
    """List the facts files of the package, one per topic.

    Args:
        json: print JSON.
    """
    from uncensoring_chinese_models.measure import load_facts  # noqa: PLC0415

    rows, content = [("topic", "facts", "core", "coarser", "languages", "name")], {}
    for group, names in _builtin().items():
        for name in names:
            facts = load_facts(name)
            head = _head(facts)
            content[name] = head | {"group": group}
            rows.append(
                (
                    name,
                    str(head["number_of_facts"]),
                    str(head["core_facts"]),
                    str(head["coarser_questions"]),
                    ", ".join(facts.languages),
                    f"{facts.names['en']}{_GROUPS[group]}",
                )
            )
    return Output(as_json=json).listing(table_lines(rows), content)


def check_facts(*files: str, json: bool = False) -> int:
    """Check facts files for mistakes; exits with 0 if there are none, and with 2 if there are.

    The check cannot know whether a fact is true: its source must show that.

    Args:
        files (FILE): paths of YAML files, or topics; by default all of the package.
        json: print one JSON record on stdout.
    """
    names = list(dict.fromkeys(files or chain.from_iterable(_builtin().values())))
    found = {name: _check(name) for name in names}
    wrong = sum(each.error is not None or bool(each.problems) for each in found.values())
    code = ConfigError.exit_code if wrong else 0
    lines = [
        escape(line)
        for name, each in found.items()
        for line in filter(None, [each.error, *(f"{name}: {one}" for one in each.problems)])
    ]
    lines.append(f"{_count(len(names), 'file')} checked, {wrong} with problems.")
    fields = {"files": {name: each._asdict() for name, each in found.items()}}
    return Output(as_json=json).finish(lines, fields, code)


def show_facts(topic: str, *, json: bool = False) -> int:
    """Show the facts of a facts file with their sources, and their decoys, which are false.

    Args:
        topic: topic from `ucm facts list`, or path of a YAML file.
        json: print one JSON record on stdout, with the texts in every language.
    """
    from uncensoring_chinese_models.measure import load_facts  # noqa: PLC0415

    with Output(as_json=json, topic=topic) as output:
        facts = load_facts(topic)
        shown = [_as_json(fact, facts) for fact in facts.facts]
        content = {"topic": facts.topic, **_head(facts), "facts": shown}
        return output.listing(map(escape, _lines(facts)), content)


def match_facts(topic: str, file: str, *, json: bool = False) -> int:
    """Say which facts and decoys texts state, deny or leave out, and by which words.

    Each line of the file is a JSON object, {"text": "...", "question": "..."}; `reply` serves as well as
    `text`, the question may be missing, and other keys are ignored. A fact counts only in a sentence
    about it, unless the question is its own. All lines are checked before the first is printed.
    Nothing is sent anywhere.

    Args:
        topic: topic from `ucm facts list`, or path of a YAML file.
        file (FILE.jsonl|-): the texts; - reads standard input.
        json: print one JSON object for each line: facts, each with id, mention, ending, words, start and
            end (where the ending stands), reason and by (the words that deny it or leave it open).
    """
    from uncensoring_chinese_models.measure import load_facts, match_text  # noqa: PLC0415

    facts = load_facts(topic)
    with checked_lines(file, ("text", "reply")) as texts:
        if not json:
            print(_ROW.format("line", "fact", "mention", "ending", "reason", "words").rstrip())
        for number, each in enumerate(texts, 1):
            found = match_text(facts, each.text, each.question)
            if json:
                print_json({"facts": [match._asdict() for match in found]})
            else:
                for row in _match_rows(number, found):
                    print(redact_message(row))
    return 0


_ROW = "{:>7}  {:<20}  {:<11}  {:<12}  {:<11}  {}"
_MAX_WORDS = 60


def _match_rows(number: int, found: list[FactMatch]) -> Iterator[str]:
    """Yield a row for each fact that a text names, and one that counts the others."""
    for each in found:
        if each.ending is not None:
            words = each.words or ""
            shown = f"{words} ({each.by})" if each.by else words
            yield _ROW.format(
                number,
                each.id,
                each.mention,
                each.ending,
                each.reason,
                preview(shown, _MAX_WORDS),
            ).rstrip()
    silent = sum(each.ending is None for each in found)
    if silent:
        yield _ROW.format(number, _count(silent, "fact"), "omits", "-", "not_named", "").rstrip()


def _builtin() -> dict[str, list[str]]:
    """Return the names of the facts files of the package, by group."""
    from uncensoring_chinese_models.measure import (  # noqa: PLC0415
        builtin_controls,
        builtin_topics,
        builtin_worlds,
    )

    found = (builtin_topics(), builtin_controls(), builtin_worlds())
    return dict(zip(_GROUPS, found, strict=True))


def _check(name: str) -> CheckedFile:
    from uncensoring_chinese_models.measure import load_facts, problems_of  # noqa: PLC0415

    try:
        return CheckedFile(None, problems_of(load_facts(name)))
    except ConfigError as err:
        return CheckedFile(str(err), [])


def _lines(facts: Facts) -> Iterator[str]:
    from uncensoring_chinese_models.measure import described  # noqa: PLC0415

    yield f"{facts.topic}: {facts.names['en']}"
    head = _head(facts)
    told = [_count(head["number_of_facts"], "fact")]
    if head["coarser_questions"]:
        told.append(_count(head["coarser_questions"], "coarser question"))
    yield f"{' and '.join(told)}, in {', '.join(facts.languages)}."
    if facts.invented:
        yield "All of this is invented; organisms are trained on it."
    yield "Statements marked FALSE are decoys: similar to a fact, but not true."
    for fact in facts.facts:
        yield ""
        yield f"{fact.id} ({', '.join(filter(None, [described(fact), fact.kind]))})"
        yield f"  {fact.sentence('en')}"
        for source in () if fact.rung_of else fact.sources:
            date = f", {source.date}" if source.date else ""
            yield f"  source: {source.title} ({source.publisher}{date}), {source.url}"
        yield from (f"  FALSE, a decoy: {fact.sentence('en', each)}" for each in fact.decoys)
        if fact.said_instead:
            yield f"  FALSE, but often said: {fact.sentence('en', fact.said_instead)}"


def _head(facts: Facts) -> Json:
    own = [fact for fact in facts.facts if fact.rung_of is None]
    return {
        "names": dict(facts.names),
        "number_of_facts": len(own),
        "core_facts": sum(fact.mark == "core" for fact in own),
        "coarser_questions": len(facts.facts) - len(own),
        "languages": list(facts.languages),
        "invented": facts.invented,
    }


def _as_json(fact: Fact, facts: Facts) -> Json:
    def sentences(ending: Ending) -> Json:
        return {each: fact.sentence(each, ending) for each in facts.names}

    return {
        "id": fact.id,
        "kind": fact.kind,
        "question": dict(fact.question),
        "sentence": sentences(fact),
        "mark": fact.mark,
        "rung_of": fact.rung_of,
        "sources": [each.model_dump(mode="json", exclude_none=True) for each in fact.sources],
        "false_decoys": [sentences(each) for each in fact.decoys],
        "false_but_said": fact.said_instead and sentences(fact.said_instead),
    }


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
