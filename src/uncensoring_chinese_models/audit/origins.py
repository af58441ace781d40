"""Who answered: the servers of a run, the hosts and models that they name, and what hosts refused."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from uncensoring_chinese_models.domain import ARMS, DELIVERIES, Reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from uncensoring_chinese_models.domain import Attempt, Json

ORIGINS = {"server": "server", "provider": "provider", "served_model": "served model"}
"""What may differ between the replies of one role, and its name for readers."""
UNKNOWN = "unknown"
"""Where a server did not say."""
OWN_GUARDRAIL = "own_guardrail"
UNEXPLAINED = "unexplained"
"""A call that was refused for a reason that nothing explains; it may be a block."""
_MAX_WORDS = 3
_MAX_ASKED = 300
_MAX_SAID = 500


def servers_of(attempts: Iterable[Attempt]) -> Json:
    """Return every server that was asked, by role, with the number of calls that it answered."""
    found: dict[str, Counter[str]] = {"auditor": Counter(), "target": Counter()}
    for attempt in attempts:
        counts = found.setdefault(attempt.role, Counter())
        counts[attempt.server or UNKNOWN] += isinstance(attempt.result, Reply)
    return {
        role: [{"server": server, "calls": calls} for server, calls in counts.items()]
        for role, counts in found.items()
    }


def count_origins(replies: Iterable[Mapping[str, object]]) -> Json:
    """Count replies by each of `ORIGINS`, in the order in which they came.

    `mixed` lists the origins of which there is more than one.
    """
    rows = list(replies)
    counts: dict[str, Counter[str]] = {
        name: Counter(str(row.get(name) or UNKNOWN) for row in rows) for name in ORIGINS
    }
    mixed = [name for name, each in counts.items() if len(set(each) - {UNKNOWN}) > 1]
    return {**{f"by_{name}": dict(each) for name, each in counts.items()}, "mixed": mixed}


def origins_of(samples: Sequence[object]) -> Json:
    """Count samples or turns by each of `ORIGINS`."""
    return count_origins({name: getattr(each, name) for name in ORIGINS} for each in samples)


def host_blocks(responses: Iterable[Json]) -> list[Json]:
    """Return what hosts refused: one entry for each question and arm of which they kept back a sample.

    The responses are as stored. `kept_back` counts samples by delivery; `own_guardrail` and
    `unexplained` are counted apart, since they say nothing of the host, or not for sure.
    """
    found = []
    for response in responses:
        by_arm: dict[str, list[Json]] = {}
        for sample in response["samples"]:
            by_arm.setdefault(str(sample["arm"]), []).append(sample)
        for arm, samples in by_arm.items():
            refused = [sample for sample in samples if _refusal(sample)]
            if refused:
                asks = arm in ARMS and ARMS[arm].asks
                asked = (response.get("question") if asks else None) or response["prompt_sent"]
                place = {
                    "iteration": response["iteration"],
                    "arm": arm,
                    "asked": asked[:_MAX_ASKED],
                }
                found.append({**place, "sent": len(samples), **_told(refused)})
    return found


def _refusal(sample: Json) -> str | None:
    """Return in what way a host refused a sample; None if it did not."""
    if sample.get("blocked_by") == OWN_GUARDRAIL and sample["delivery"] == "blocked":
        return OWN_GUARDRAIL
    if sample["delivery"] in DELIVERIES and DELIVERIES[sample["delivery"]].by_host:
        return str(sample["delivery"])
    return UNEXPLAINED if sample.get("failure") == "unknown" else None


def _told(refused: Sequence[Json]) -> Json:
    kinds = Counter(str(_refusal(sample)) for sample in refused)
    words = (str(each.get("error") or "")[:_MAX_SAID] for each in refused)
    return {
        "kept_back": {name: n for name, n in kinds.items() if name in DELIVERIES},
        OWN_GUARDRAIL: kinds[OWN_GUARDRAIL],
        UNEXPLAINED: kinds[UNEXPLAINED],
        "shapes": _each_once(sample.get("block_shape") for sample in refused),
        "stages": _each_once(sample.get("block_stage") for sample in refused),
        "words": _each_once(words)[:_MAX_WORDS],
    }


def _each_once(values: Iterable[object]) -> list[str]:
    return list(dict.fromkeys(str(each) for each in values if each))
