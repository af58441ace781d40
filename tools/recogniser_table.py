"""Compare the recogniser with a labelled set of replies, and write the tables into its page.

    python tools/recogniser_table.py [--check]

The set is docs/data/replies.yaml: replies of the kinds that chat models give, written for this
purpose, in English, simplified and traditional Chinese. Half of it, drawn by the sha256 of the ids,
is `seen`: wordings may be learned from it. The other half is `held_out`.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from uncensoring_chinese_models.recogniser import recognise
from uncensoring_chinese_models.stats import wilson

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
REPLIES = ROOT / "docs" / "data" / "replies.yaml"
PAGE = ROOT / "docs" / "recogniser.md"
BEGIN, END = "<!-- confusion:begin -->", "<!-- confusion:end -->"
MANNERS = ("refusal", "denial", "deflection", "steering", "answer")
LANGUAGES = ("en", "zh-Hans", "zh-Hant")
Reply = dict[str, str]


def load_replies() -> list[Reply]:
    """Return the labelled replies."""
    replies: list[Reply] = yaml.safe_load(REPLIES.read_text("utf-8"))
    return replies


def is_held_out(reply: Reply) -> bool:
    """Tell whether a reply is in the half that no wording may be learned from."""
    return hashlib.sha256(reply["id"].encode()).digest()[0] % 2 == 1


def lines_of(replies: Sequence[Reply]) -> Iterator[str]:
    """Yield the tables."""
    yield f"Made by `python tools/recogniser_table.py` from {len(replies)} replies; a test keeps them together."
    for language in LANGUAGES:
        own = [reply for reply in replies if reply["language"] == language]
        yield from ("", f"| {language}: labelled as | " + " | ".join(MANNERS) + " |")
        yield "| --- |" + " --- |" * len(MANNERS)
        counts: Counter[tuple[str, str]] = Counter(
            (reply["manner"], recognise(reply["text"]).manner) for reply in own
        )
        for manner in MANNERS:
            cells = " | ".join(str(counts[manner, found]) for found in MANNERS)
            yield f"| {manner} | {cells} |"
    yield ""
    yield "| | withheld, and seen to be | answers taken for withholding |"
    yield "| --- | --- | --- |"
    for name, held_out in (("seen half", False), ("held-out half", True)):
        half = [reply for reply in replies if is_held_out(reply) == held_out]
        yield f"| {name} | {_share(half, withheld=True)} | {_share(half, withheld=False)} |"


def _share(replies: Sequence[Reply], *, withheld: bool) -> str:
    own = [reply for reply in replies if (reply["manner"] != "answer") == withheld]
    found = sum(recognise(reply["text"]).manner not in ("answer", "empty") for reply in own)
    low, high = wilson(found, len(own))
    return f"{found} of {len(own)} (95 % interval {low:.2f} to {high:.2f})"


def with_tables(page: str) -> str:
    """Return the page with its tables made anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = "\n".join(lines_of(load_replies()))
    return f"{before}{BEGIN}\n{tables}\n{END}{after}"


def main() -> int:
    """Print the tables, and write them into the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if they differ")
    options = parser.parse_args()
    page = PAGE.read_text("utf-8")
    made = with_tables(page)
    print("\n".join(lines_of(load_replies())))
    if options.check:
        return 0 if made == page else 1
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
