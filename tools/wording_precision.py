"""Say how precise each wording of a stance is on labelled replies.

    python tools/wording_precision.py --replies FILE

A line of the file, which may be packed with gzip, is a JSON object with `reply` and `gold`
(`withheld` or `answer`; replies without it are left out). For each wording that matches, in the
writer's own words: replies that withhold, answers, and the share that withhold. A wording stays if at
least 0.95 of its matches withhold, or 0.9 of fewer than 20.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from uncensoring_chinese_models.text.stance.rules import CHINESE, ENGLISH, matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from uncensoring_chinese_models.domain import Stance
    from uncensoring_chinese_models.text.stance.patterns import Wording

PRECISE, PRECISE_OF_FEW, FEW = 0.95, 0.9, 20
Counts = dict["Wording", Counter[str]]


def read_labelled(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each reply that has a label, with the label."""
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    for line in data.splitlines():
        row = json.loads(line)
        if row.get("gold"):
            yield row["reply"], row["gold"]


def count(replies: Iterable[tuple[str, str]]) -> Counts:
    """Count the labels of the replies that each wording matches."""
    counts: Counts = {wording: Counter() for *_, wording in wordings()}
    for text, label in replies:
        for wording in {found.wording for _, found in matches(text)}:
            counts[wording][label] += 1
    return counts


def wordings() -> Iterator[tuple[str, Stance, Wording]]:
    """Yield the language, the stance and the pattern of each wording."""
    for language, by_stance in (("en", ENGLISH), ("zh", CHINESE)):
        for stance, patterns in by_stance.items():
            for wording in patterns:
                yield language, stance, wording


def is_precise(labels: Counter[str]) -> bool:
    """Tell whether a wording stays; one that never matched does."""
    hits = labels["withheld"] + labels["answer"]
    return labels["withheld"] >= hits * (PRECISE if hits >= FEW else PRECISE_OF_FEW)


def lines_of(counts: Counts) -> Iterator[str]:
    """Yield the table: wordings that matched, and how many did not."""
    yield "language  stance         withheld  answers  precision  wording"
    for language, stance, wording in wordings():
        labels = counts[wording]
        hits = labels["withheld"] + labels["answer"]
        if hits:
            verdict = "" if is_precise(labels) else "  NOT PRECISE"
            yield (
                f"{language:8}  {stance:13}  {labels['withheld']:8}  {labels['answer']:7}  "
                f"{labels['withheld'] / hits:9.2f}  {wording.pattern[:60]}{verdict}"
            )
    never = sum(not labels for labels in counts.values())
    yield f"{never} of {len(counts)} wordings never matched."


def main() -> int:
    """Print the table; return 1 if a wording is not precise."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--replies", type=Path, required=True, help="a JSONL file, or its gzip")
    counts = count(read_labelled(parser.parse_args().replies))
    print("\n".join(lines_of(counts)))
    return 0 if all(map(is_precise, counts.values())) else 1


if __name__ == "__main__":
    sys.exit(main())
