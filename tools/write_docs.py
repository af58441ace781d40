"""Write docs/configuration.md and the table in docs/facts.md; the tests check that both are current.

python tools/write_docs.py
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from uncensoring_chinese_models.config import endpoints
from uncensoring_chinese_models.config import settings as config
from uncensoring_chinese_models.config.presets import PRESETS
from uncensoring_chinese_models.measure.facts.schema import REAL_KINDS, builtin_topics, load_facts

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

PAGE = Path(__file__).resolve().parent.parent / "docs" / "configuration.md"
FACTS_PAGE = PAGE.with_name("facts.md")
TOPICS = re.compile(r"(?<=<!-- topics:begin -->\n).*?(?=<!-- topics:end -->)", re.DOTALL)
HEAD = """\
# Configuration

Made by `make docs` from the settings in `config.py`; a test keeps it current.

A config is a YAML file. Only `topic`, `auditing_model` and `audited_model` have no default.
Unknown keys, keys given twice and values of the wrong type are refused before anything is sent.
On the command line, words replace settings: `"topic=Hong Kong, 2019"`, `sampling.n=4`.

Keys are never part of a config: a config is copied into the run directory.
`OPENROUTER_API_KEY` is read from the environment or from a `.env` file here or above, and goes to
OpenRouter's own address alone. Another server gets a key only if `api_key_env` names its variable.
"""
GROUPS: list[tuple[str, type[BaseModel]]] = [
    ("Top level", config.AuditConfig),
    ("`sampling`", config.Sampling),
    ("`auditor_sampling`", config.AuditorSampling),
    ("an entry of `judge_model`", config.JudgeModel),
    ("`audited_endpoint`", endpoints.TargetEndpoint),
    ("`auditing_endpoint`, and `endpoint` of a judge", endpoints.Endpoint),
    ("`price` of an endpoint", endpoints.TokenPrice),
    ("`budget`", config.Budget),
    ("`retries`", config.Retries),
]


def default_of(field: FieldInfo) -> str:
    """Show a default as YAML would."""
    if field.is_required():
        return "required"
    if field.default is PydanticUndefined:
        made = field.default_factory() if field.default_factory else None  # type: ignore[call-arg]
        return f"`{json.dumps(made)}`" if isinstance(made, list | dict) else "see below"
    return f"`{json.dumps(field.default)}`"


def page() -> str:
    """Return the whole page."""
    parts = [HEAD]
    for title, model in GROUPS:
        parts.append(f"## {title}\n\n| key | default | meaning |\n| --- | --- | --- |")
        parts += [
            f"| `{name}` | {default_of(field)} | {field.description} |"
            for name, field in model.model_fields.items()
        ]
        parts.append("")
    parts.append("## Presets\n\n| preset | address | sends BOS | added to raw completions |")
    parts.append("| --- | --- | --- | --- |")
    for name, preset in PRESETS.items():
        address = preset.base_url or ("none: our own" if preset.is_ours else "give base_url")
        added = json.dumps(preset.completions_body) if preset.completions_body else "nothing"
        bos = "yes" if preset.send_bos else "no: the server adds it"
        parts.append(f"| `{name}` | {address} | {bos} | `{added}` |")
    return "\n".join(parts) + "\n"


def facts_page(text: str) -> str:
    """Return the page on facts files with the table of those in the package."""
    rows = [f"| topic | name | facts | {' | '.join(REAL_KINDS)} |"]
    rows.append("| --- " * (3 + len(REAL_KINDS)) + "|")
    for name in builtin_topics():
        facts = load_facts(name)
        kinds = Counter(fact.kind for fact in facts.facts)
        counts = [len(facts.facts), *(kinds[kind] for kind in REAL_KINDS)]
        rows.append(f"| `{name}` | {facts.names['en']} | {' | '.join(map(str, counts))} |")
    table = "\n".join(rows) + "\n"
    return TOPICS.sub(lambda _: table, text)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    FACTS_PAGE.write_text(facts_page(FACTS_PAGE.read_text("utf-8")), "utf-8")
