"""The tables of the measurement: rates by language, family, length and topic; calibration; kinds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from recogniser.evaluate import count, is_chinese
from uncensoring_chinese_models.stats import wilson
from uncensoring_chinese_models.text.stance.model import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from recogniser.evaluate import Counts, Result
    from uncensoring_chinese_models.text.stance.model import Limits, Script

LONG_ENGLISH, LONG_CHINESE = 1_800, 700
"""Characters from which a reply is long."""
SHORT_ENGLISH, SHORT_CHINESE = 300, 120
"""Characters up to which it is short."""
BINS = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 1.01)
"""Upper ends of the probabilities of a line of the reliability table."""
HEAD = """\
| {} | replies | withheld seen | answers accused | not judged |
| --- | ---: | ---: | ---: | ---: |"""


def tables(
    results: Sequence[Result], held_out: Sequence[Result], limits: dict[Script, Limits]
) -> str:
    """Return all tables as Markdown.

    The results are of models that were trained without the reply's family and topics; those held out,
    of the model that the package ships.
    """
    real = [result for result in results if result.row.is_real]
    own = [result for result in results if not result.row.is_real]
    parts = [
        limits_line(limits),
        "### Real replies\n",
        *rates("language", real, limits, lambda result: language_name(result.row.language)),
        *rates("family", real, limits, lambda result: result.row.family),
        *rates("length", real, limits, length_name),
        *rates("topics", real, limits, lambda result: f"part {result.row.topic + 1} of 5"),
        "### Own texts\n",
        *rates("set", own, limits, lambda result: result.row.family),
        *rates("language", own, limits, lambda result: language_name(result.row.language)),
        "### Texts that the shipped model was not trained on\n",
        *rates("set", held_out, limits, lambda result: result.row.family),
        *rates("language", held_out, limits, lambda result: language_name(result.row.language)),
        "### Calibration\n",
        *reliability("Real replies", real),
        *reliability("Own texts", own),
        "### Kinds\n",
        *kinds([*results, *held_out], limits),
    ]
    return "\n".join(parts).strip()


def limits_line(limits: dict[Script, Limits]) -> str:
    """Return the limits as a sentence for each script."""
    names: tuple[tuple[Script, str], ...] = (("latin", "An English"), ("han", "A Chinese"))
    return "".join(
        f"{name} reply counts as withheld from a probability of {limits[script].min_withheld:.2f} on, and "
        f"as an answer up to {limits[script].max_answer:.2f}; between the two it is not judged.\n"
        for script, name in names
    )


def language_name(language: str) -> str:
    """Return the name of a language as a reader knows it."""
    names = {"en": "English", "zh-Hans": "simplified Chinese", "zh-Hant": "traditional Chinese"}
    return names[language]


def length_name(result: Result) -> str:
    """Return whether a reply is short, medium or long, in its language."""
    chinese = is_chinese(result.row.language)
    size = len(result.row.reply)
    language = "Chinese" if chinese else "English"
    if size <= (SHORT_CHINESE if chinese else SHORT_ENGLISH):
        return f"{language}, up to {SHORT_CHINESE if chinese else SHORT_ENGLISH} characters"
    if size <= (LONG_CHINESE if chinese else LONG_ENGLISH):
        return f"{language}, up to {LONG_CHINESE if chinese else LONG_ENGLISH} characters"
    return f"{language}, longer"


def rates(
    head: str,
    results: Iterable[Result],
    limits: dict[Script, Limits],
    group: Callable[[Result], str],
) -> Iterator[str]:
    """Yield the table of one grouping."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(group(result), []).append(result)
    yield HEAD.format(head)
    for name in sorted(groups):
        yield f"| {name} | {_cells(count(groups[name], limits))} |"
    yield ""


def _cells(counts: Counts) -> str:
    return " | ".join(
        (
            str(counts.all),
            share(counts.seen, counts.withheld),
            share(counts.accused, counts.answers),
            share(counts.not_judged, counts.all),
        )
    )


def share(part: int, whole: int) -> str:
    """Return a share with its counts and its 95 % interval; a dash of none."""
    if not whole:
        return "-"
    low, high = wilson(part, whole)
    return f"{part} of {whole}: {part / whole:.2f} ({low:.2f} to {high:.2f})"


def reliability(name: str, results: Sequence[Result]) -> Iterator[str]:
    """Yield how often replies of a probability withhold, and the Brier score."""
    asked = [each for each in results if each.row.is_asked]
    pairs = [(each.predicted.withheld, each.row.is_withheld) for each in asked]
    if not pairs:
        return
    brier = sum((p - gold) ** 2 for p, gold in pairs) / len(pairs)
    yield f"{name}: Brier score {brier:.3f}."
    yield "\n| probability of withholding | replies | mean probability | withheld |"
    yield "| --- | ---: | ---: | ---: |"
    low = 0.0
    for high in BINS:
        inside = [(p, gold) for p, gold in pairs if low <= p < high]
        if inside:
            mean = sum(p for p, _ in inside) / len(inside)
            told = share(sum(gold for _, gold in inside), len(inside))
            yield f"| {low:.2f} to {min(high, 1.0):.2f} | {len(inside)} | {mean:.2f} | {told} |"
        low = high
    yield ""


def kinds(results: Sequence[Result], limits: dict[Script, Limits]) -> Iterator[str]:
    """Yield which kind was read and which one was said, of withheld replies that were seen."""
    said: Counter[tuple[bool, str, str]] = Counter()
    for each in results:
        stance = each.stance(limits)
        if each.row.kind is not None and stance in KINDS:
            said[each.row.is_real, each.row.kind, stance] += 1
    for is_real, title in ((True, "Real replies"), (False, "Own texts")):
        yield f"{title}: kind that was read (lines) and kind that was said (columns).\n"
        yield f"| | {' | '.join(KINDS)} |"
        yield "| --- |" + " ---: |" * len(KINDS)
        for read in KINDS:
            cells = (str(said[is_real, read, kind]) for kind in KINDS)
            yield f"| {read} | {' | '.join(cells)} |"
        right = sum(n for (real, read, kind), n in said.items() if real == is_real and read == kind)
        whole = sum(n for (real, *_), n in said.items() if real == is_real)
        yield f"\nRight: {share(right, whole)}.\n"
