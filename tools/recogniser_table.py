"""Compare the recogniser with labelled replies, and write the tables into its page.

    python tools/recogniser_table.py [--check]

The set is docs/data/replies.yaml: replies of the kinds that chat models give, written for this
purpose, in English, simplified and traditional Chinese. Half of it, drawn by the sha256 of the ids,
is `seen`: wordings may be learned from it. The other half is `held_out`. docs/data/replies_apart.yaml
is a third part, `apart`, written before the wordings and not mended for.
docs/data/replies_ignorant.yaml has replies that say "I don't know", and dodges that sound like it;
the rules were mended for these. What each was asked is in docs/data/questions.yaml.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from uncensoring_chinese_models.domain import WITHHELD
from uncensoring_chinese_models.stats import wilson
from uncensoring_chinese_models.text.stance.classify import recognise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "docs" / "data"
PAGE = ROOT / "docs" / "measurements" / "recogniser.md"
BEGIN, END = "<!-- confusion:begin -->", "<!-- confusion:end -->"
LABELLED = ("refuses", "denies", "deflects", "official_line", "answers")
LANGUAGES = ("en", "zh-Hans", "zh-Hant")
Reply = dict[str, str]


def load_replies() -> list[Reply]:
    """Return the labelled replies of the set with two halves."""
    return _load("replies")


def load_apart() -> list[Reply]:
    """Return the labelled replies that were written apart."""
    return _load("replies_apart")


def load_ignorant() -> list[Reply]:
    """Return the labelled replies that say, or pretend, not to know."""
    return _load("replies_ignorant")


def _load(name: str) -> list[Reply]:
    questions = yaml.safe_load((DATA / "questions.yaml").read_text("utf-8"))
    replies: list[Reply] = yaml.safe_load((DATA / f"{name}.yaml").read_text("utf-8"))
    return [each | {"asked": questions[each["topic"]][each["language"]]} for each in replies]


def is_held_out(reply: Reply) -> bool:
    """Tell whether a reply is in the half that no wording may be learned from."""
    return hashlib.sha256(reply["id"].encode()).digest()[0] % 2 == 1


def lines_of(replies: Sequence[Reply], apart: Sequence[Reply]) -> Iterator[str]:
    """Yield the tables."""
    yield (
        f"Made by `python tools/recogniser_table.py` from {len(replies)} and {len(apart)} replies; "
        "a test keeps them together."
    )
    for language in LANGUAGES:
        yield from _confusion(language, [each for each in replies if each["language"] == language])
    parts = {
        "seen half": [each for each in replies if not is_held_out(each)],
        "held-out half": [each for each in replies if is_held_out(each)],
        "apart": apart,
    }
    yield from ("", "| | withheld, and seen to be | the same without the question |")
    yield "| --- | --- | --- |"
    for name, part in parts.items():
        withheld = [each for each in part if each["stance"] != "answers"]
        yield f"| {name} | {_share(withheld)} | {_share(withheld, with_question=False)} |"
    yield from ("", "| | answers taken for withholding |", "| --- | --- |")
    for name, part in parts.items():
        yield f"| {name} | {_share([each for each in part if each['stance'] == 'answers'])} |"
    yield from _ignorance(load_ignorant())
    yield from ("", "| withheld, and seen to be | " + " | ".join(parts) + " |")
    yield "| --- |" + " --- |" * len(parts)
    for language in LANGUAGES:
        for stance in LABELLED[:-1]:
            cells = (_count(part, language, stance) for part in parts.values())
            yield f"| {language}, {stance} | " + " | ".join(cells) + " |"


def _ignorance(replies: Sequence[Reply]) -> Iterator[str]:
    yield from (
        "",
        '| | "I don\'t know", taken for withholding | dodges like it, seen to withhold |',
    )
    yield "| --- | --- | --- |"
    for language in LANGUAGES:
        own = [each for each in replies if each["language"] == language]
        honest, dodges = _count(own, language, "answers"), _count(own, language, "refuses")
        yield f"| {language} | {honest} | {dodges} |"


def _confusion(language: str, own: Sequence[Reply]) -> Iterator[str]:
    yield from ("", f"| {language}: labelled as | " + " | ".join(LABELLED) + " |")
    yield "| --- |" + " --- |" * len(LABELLED)
    counts = Counter((reply["stance"], stance_of(reply)) for reply in own)
    for stance in LABELLED:
        cells = " | ".join(str(counts[stance, found]) for found in LABELLED)
        yield f"| {stance} | {cells} |"


def stance_of(reply: Reply, *, with_question: bool = True) -> str:
    """Return the stance that the recogniser finds."""
    return recognise(reply["text"], reply["asked"] if with_question else None).stance


def _share(replies: Sequence[Reply], *, with_question: bool = True) -> str:
    found = sum(stance_of(each, with_question=with_question) in WITHHELD for each in replies)
    low, high = wilson(found, len(replies))
    return f"{found} of {len(replies)} (95 % interval {low:.2f} to {high:.2f})"


def _count(part: Sequence[Reply], language: str, stance: str) -> str:
    own = [each for each in part if (each["language"], each["stance"]) == (language, stance)]
    return f"{sum(stance_of(each) in WITHHELD for each in own)} of {len(own)}"


def with_tables(page: str) -> str:
    """Return the page with its tables made anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = "\n".join(lines_of(load_replies(), load_apart()))
    return f"{before}{BEGIN}\n{tables}\n{END}{after}"


def main() -> int:
    """Print the tables, and write them into the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if they differ")
    options = parser.parse_args()
    page = PAGE.read_text("utf-8")
    made = with_tables(page)
    print("\n".join(lines_of(load_replies(), load_apart())))
    if options.check:
        return 0 if made == page else 1
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
