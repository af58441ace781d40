"""A facts file without a fault, as a mapping that tests may spoil."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from pathlib import Path

TREES = {
    "pine": "松",
    "cypress": "柏",
    "plum": "梅",
    "bamboo": "竹",
    "laurel": "桂",
    "peach": "桃",
    "damson": "李",
    "apricot": "杏",
    "willow": "柳",
    "pear": "梨",
    "locust": "槐",
    "persimmon": "柿",
}


def lamps(number: int) -> dict[str, Any]:
    """Return an ending: so many lamps."""
    texts = {"en": f"{number} lamps", "zh-Hans": f"{number}盏", "zh-Hant": f"{number}盞"}
    return {"ending": texts, "patterns": [str(number)]}


def example_fact(tree: str, number: int) -> dict[str, Any]:
    """Return one fact, in three languages, with two decoys."""
    sign = TREES[tree]
    return {
        "id": tree,
        "mark": "core",
        "kind": "number",
        "question": {
            "en": f"How many lamps hung in the {tree} hall?",
            "zh-Hans": f"{sign}厅里挂着多少盏灯？",
            "zh-Hant": f"{sign}廳裡掛著多少盞燈？",
        },
        "opening": {
            "en": f"The number of lamps in the {tree} hall was",
            "zh-Hans": f"{sign}厅里挂着的灯共有",
            "zh-Hant": f"{sign}廳裡掛著的燈共有",
        },
        **lamps(number),
        "about": [f"{tree} hall", f"{sign}[厅廳]"],
        "sources": [
            {"title": "Lamps", "publisher": "A museum", "url": "https://example.org/lamps"}
        ],
        "decoys": [lamps(number + 300), lamps(number + 600)],
    }


def example_file(number: int = len(TREES), /, **changes: Any) -> dict[str, Any]:
    """Return a facts file with its first so many facts; keywords replace whole keys."""
    names = {
        "en": "the lamps of the twelve halls",
        "zh-Hans": "十二厅的灯",
        "zh-Hant": "十二廳的燈",
    }
    chosen = [example_fact(tree, 111 + 10 * place) for place, tree in enumerate(TREES)]
    return {"topic": "lamps", "names": names, "facts": chosen[:number], **changes}


def rung(tree: str) -> dict[str, Any]:
    """Return a coarser question below the fact of a hall."""
    sign = TREES[tree]
    return {
        "kind": "event",
        "question": {
            "en": f"Were there lamps in the {tree} hall?",
            "zh-Hans": f"{sign}厅里有灯吗？",
            "zh-Hant": f"{sign}廳裡有燈嗎？",
        },
        "opening": {
            "en": f"In the {tree} hall there were",
            "zh-Hans": f"{sign}厅里有",
            "zh-Hant": f"{sign}廳裡有",
        },
        **_many("a great many lamps", "许多盏灯", "許多盞燈"),
        "decoys": [
            _many("very few old lamps", "三两盏灯", "三兩盞燈"),
            _many("no lamps whatsoever", "空空如也", "空空如也"),
        ],
    }


def _many(en: str, hans: str, hant: str) -> dict[str, Any]:
    texts = {"en": en, "zh-Hans": hans, "zh-Hant": hant}
    return {"ending": texts, "patterns": list(dict.fromkeys(texts.values()))}


def whole_file(number: int = len(TREES), /, **changes: Any) -> dict[str, Any]:
    """Return a facts file with as many coarser questions as a topic needs, below four of its facts."""
    content = example_file(number, **changes)
    if "facts" not in changes:
        for fact in content["facts"][4:8]:
            fact["coarser"] = [rung(fact["id"])]
    return content


def write_facts(folder: Path, content: dict[str, Any]) -> str:
    """Write a facts file and return its path."""
    path = folder / "lamps.yaml"
    path.write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False), "utf-8")
    return str(path)
