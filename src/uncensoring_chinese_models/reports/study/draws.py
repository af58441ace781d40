"""Which runs may be the same draw: those whose requests bore the same seeds.

A server that honours a seed gives the same text again, whatever the other settings are. Up to 0.5,
the sample of an index bore the seed of the run plus the index, so that runs whose seeds lie close
share draws; since then 64 times the seed, plus the index.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from uncensoring_chinese_models.config import MOST_SAMPLES

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Json

SEEDS = 2**31
"""Seeds are sent modulo this."""
APART_SINCE = (0, 6)
"""The version from which runs with neighbouring seeds share no draw."""


def request_seeds(sampling: Json, package: str) -> range | None:
    """Return the seeds that the requests of a run bore; None if it was given none."""
    if sampling.get("seed") is None:
        return None
    seed, n = int(sampling["seed"]), int(sampling.get("n") or 1)
    found = re.match(r"(\d+)\.(\d+)", package)
    is_apart = found is not None and tuple(map(int, found.groups())) >= APART_SINCE
    first = seed * MOST_SAMPLES % SEEDS if is_apart else seed
    return range(first, first + n)


def draws(runs: Sequence[tuple[Hashable, range | None]]) -> list[int]:
    """Return for each run one that it shares draws with, itself if there is none.

    It is the same one for all that share draws, be it through others.

    Args:
        runs: what each is about (others share nothing with it), and the seeds of its requests.
    """
    found = list(range(len(runs)))
    order = [(seeds.start, seeds.stop, at) for at, (_, seeds) in enumerate(runs) if seeds]
    latest: dict[Hashable, tuple[int, int]] = {}
    for start, stop, at in sorted(order):
        about = runs[at][0]
        end, first = latest.get(about, (start, at))
        found[at] = first if start < end else at
        latest[about] = max(end, stop), found[at]
    return found
