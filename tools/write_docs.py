"""Write docs/configuration.md from the settings themselves; the tests check that it is current.

python tools/write_docs.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from uncensoring_chinese_models import config, endpoints
from uncensoring_chinese_models.presets import PRESETS

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

PAGE = Path(__file__).resolve().parent.parent / "docs" / "configuration.md"
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
    ("`audited_endpoint`", endpoints.TargetEndpoint),
    ("`auditing_endpoint`", endpoints.Endpoint),
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


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
