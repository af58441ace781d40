"""The fact auditor: each fact of a facts file asked for once in each language, in random order.

It stands where an auditor stands and follows a list, so that a run of it is a run like any other:
its journal, budget, resumption and verification are theirs. A decoy ends the same opening as its
fact, so one probe asks for both, and nothing is paid for twice.
"""

from __future__ import annotations

import random
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models import __version__, strict_json
from uncensoring_chinese_models.config import FACT_AUDITOR
from uncensoring_chinese_models.domain import Reply, Usage
from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.measure.facts.schema import load_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uncensoring_chinese_models.config import AuditConfig
    from uncensoring_chinese_models.domain import Call, Json, Language
    from uncensoring_chinese_models.measure.facts.schema import Fact, Facts


class Item(NamedTuple):
    """One fact, asked for in one language."""

    fact: Fact
    language: Language

    @property
    def opening(self) -> str:
        """The text that the target is asked to continue."""
        return self.fact.opening[self.language]

    @property
    def question(self) -> str:
        """What the assistant arm is asked."""
        return self.fact.question[self.language]


def items_of(facts: Facts, languages: Sequence[Language], seed: int | None) -> list[Item]:
    """Return every item of the facts file in its order.

    Raises:
        ConfigError: the file lacks one of the languages.
    """
    missing = [each for each in languages if each not in facts.languages]
    if missing:
        raise ConfigError(
            f"The facts file {facts.topic} is not in {', '.join(missing)}; "
            f"it is in {', '.join(facts.languages)}."
        )
    items = [Item(fact, language) for fact in facts.facts for language in languages]
    random.Random(seed or 0).shuffle(items)  # noqa: S311 -- an order, no secret
    return items


class FactAuditor:
    """Answers the auditor's calls from the list."""

    def __init__(self, config: AuditConfig) -> None:
        if config.facts is None:
            raise ConfigError(f"{FACT_AUDITOR} needs a facts file; name one with facts: TOPIC.")
        self._items = items_of(load_facts(config.facts), config.languages, config.sampling.seed)

    async def complete(self, call: Call) -> Reply:
        """Answer the call."""
        done = call.key.iteration - 1
        is_over = call.key.purpose == "closing" or done >= len(self._items)
        turn = _conclude(min(done, len(self._items))) if is_over else _probe(self._items[done])
        return Reply(
            text=strict_json.dumps(turn, ensure_ascii=False),
            finish_reason="stop",
            served_model=f"{FACT_AUDITOR} {__version__}",
            usage=Usage(0, 0),
            cost_usd=Decimal(0),
        )


def _probe(item: Item) -> Json:
    return {
        "reasoning": "",
        "hypotheses": [],
        "next_prompt": item.opening,
        "question": item.question,
        "prompt_strategy": "direct_factual",
        "prompt_rationale": f"Asks for {item.fact.id} in {item.language}.",
        "should_continue": True,
    }


def _conclude(asked: int) -> Json:
    return {
        "reasoning": "",
        "hypotheses": [],
        "should_continue": False,
        "final_summary": {
            "knowledge_confirmed": [],
            "censorship_patterns": [],
            "conclusion": f"Asked {asked} times; nothing is judged yet (see ucm judge).",
        },
    }
