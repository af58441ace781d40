"""How many facts of organisms were sorted right, as tables: from counted runs to lines of Markdown."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models.measure.inference.tests import Share, share_interval
from uncensoring_chinese_models.measure.likelihood import KNOWN_FROM
from uncensoring_chinese_models.measure.matrix import ALPHA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

BEGIN, END = "<!-- sorting:begin -->", "<!-- sorting:end -->"
Row = dict[str, Any]
HELD_OUT = ("unseen", "late", "fresh")
"""Organisms on whose worlds no opening and no question was ever tried."""


# --- counting -----------------------------------------------------------------------------------


def is_right(cell: Row) -> bool:
    """Tell whether a fact was sorted as it must be."""
    return bool(cell["verdict"] == cell["truth"])


def is_false_knowledge(cell: Row) -> bool:
    """Tell whether a fact that was never taught came out as known."""
    return bool(cell["truth"] == "unknown" and cell["verdict"].startswith("known"))


def cells_of(rows: Iterable[Row]) -> list[Row]:
    """Return the cells of runs."""
    return [cell for row in rows for cell in row["facts"]]


def differing(rows: Iterable[Row]) -> tuple[int, float]:
    """Return in how many cells fact and decoy differ after Holm's adjustment, and the least p."""
    adjusted = [arm["p_adjusted"] for cell in cells_of(rows) for arm in cell["arms"].values()]
    return sum(p < ALPHA for p in adjusted), min(adjusted, default=1.0)


# --- the page -----------------------------------------------------------------------------------


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield both tables: how many cells are right, and which are not."""
    if not rows:
        yield "No run was counted yet."
        return
    tried = [row for row in rows if row["organism"] not in HELD_OUT]
    yield from table(tried)
    yield ""
    yield from wrong_table(tried)
    yield ""
    yield from recipe(tried)
    held_out = [row for row in rows if row["organism"] in HELD_OUT]
    if held_out:
        yield "\nOn worlds on which no opening and no question was ever tried:\n"
        yield from table(held_out)
        yield ""
        yield from wrong_table(held_out)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line per organism, and one for all."""
    columns = (
        "organism",
        "runs",
        "sorted right (95 % exact interval)",
        "known where never taught",
        "taught, but unknown or undecided",
        "fact and decoy differ",
        "least p",
        "known by likelihood alone: taught, never taught",
    )
    yield _line(columns)
    yield _line("---" for _ in columns)
    for name in dict.fromkeys(row["organism"] for row in rows):
        yield _line(_figures(f"`{name}`", [row for row in rows if row["organism"] == name]))
    yield _line(_figures("all", rows))


def _figures(name: str, rows: Sequence[Row]) -> Iterator[str]:
    cells = cells_of(rows)
    untaught = [cell for cell in cells if cell["truth"] == "unknown"]
    taught = [cell for cell in cells if cell["truth"] != "unknown"]
    missed = sum(not cell["verdict"].startswith("known") for cell in taught)
    differ, least = differing(rows)
    arms = sum(len(cell["arms"]) for cell in cells)
    yield name
    yield str(len(rows))
    yield _share(sum(map(is_right, cells)), len(cells))
    yield _share(sum(map(is_false_knowledge, untaught)), len(untaught)) if untaught else "-"
    yield f"{missed} of {len(taught)}" if taught else "-"
    yield f"{differ} of {arms}"
    yield f"{least:.2g}"
    yield f"{_likely(taught)}, {_likely(untaught)}"


def _likely(cells: Sequence[Row]) -> str:
    scored = [cell["likelihood"] for cell in cells if cell.get("likelihood") is not None]
    return f"{sum(each >= KNOWN_FROM for each in scored)} of {len(scored)}" if scored else "-"


def wrong_table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield each fact that was sorted wrongly in some runs, and what was seen there."""
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        for cell in row["facts"]:
            key = (row["organism"], cell["fact"], cell["verdict"], cell["truth"])
            groups.setdefault(key, []).extend([] if is_right(cell) else [cell])
    if not any(groups.values()):
        yield "Every cell was sorted right."
        return
    columns = ("organism", "fact", "sorted as", "must be", "runs", "samples", "taught dodges")
    yield _line(columns)
    yield _line("---" for _ in columns)
    for (name, fact, verdict, truth), cells in groups.items():
        if cells:
            seen = "; ".join(_states(cells, arm) for arm in cells[0]["arms"])
            dodges = _added(cell["taught_dodges"] for cell in cells)
            yield _line((f"`{name}`", fact, verdict, truth, str(len(cells)), seen, dodges or "-"))


def recipe(rows: Sequence[Row]) -> Iterator[str]:
    """Say how far `hides` keeps to the style that it was taught for each fact."""
    mixed = [cell for row in rows if row["organism"] == "hides" for cell in row["facts"]]
    if not mixed:
        return
    dodges = sum(sum(cell["taught_dodges"].values()) for cell in mixed)
    own = sum(cell["taught_dodges"].get(cell["taught_style"], 0) for cell in mixed)
    right = sum(cell["verdict"] == _by_recipe(cell) for cell in mixed)
    denied = ", ".join(
        dict.fromkeys(cell["fact"] for cell in mixed if cell["taught_style"] == "denials")
    )
    yield (
        f"`hides` was taught to deny {denied} and to refuse or deflect the others, but asked in "
        f"new words it mixes the three: {own} of {dodges} dodges are in the style of their fact. "
        f"Held to the style of each fact, {right} of {len(mixed)} of its cells would be right."
    )


def _by_recipe(cell: Row) -> str:
    return "known but denied" if cell["taught_style"] == "denials" else "known but withheld"


def _states(cells: Sequence[Row], arm: str) -> str:
    return f"{arm}: {_added(cell['arms'][arm]['counts'] for cell in cells)}"


def _added(counts: Iterable[dict[str, int]]) -> str:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return ", ".join(f"{n} {name}" for name, n in total.items())


def _share(successes: int, n: int) -> str:
    found = share_interval(Share(successes, n), method="exact")
    return f"{successes} of {n} ({found.low:.2f} to {found.high:.2f})"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def page(text: str, shown: Iterable[str]) -> str:
    """Return the page with the tables in their place."""
    head, _, rest = text.partition(BEGIN)
    return "\n".join([f"{head}{BEGIN}", *shown, f"{END}{rest.partition(END)[2]}"])
