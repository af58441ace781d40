"""Chat templates: the exact strings around a user turn, by model family.

The families are data (``data/chat_templates.json``). One is chosen by the model's *bare name*: the
last part of its slug or path in lower case, without OpenRouter's or Ollama's ``:variant``, without
words that only say how the weights are packed (``-fp8``, ``-AWQ``, ``-Q4_K_M.gguf``), and with
Fireworks' ``4p6`` written ``4.6``::

    "Qwen/Qwen2.5-72B-Instruct-AWQ"  →  "qwen2.5-72b-instruct"

A pattern of the data file must match the whole bare name, and exactly one family may match: none
or several is an error, never a silent default. A match through ``models`` is known; a match
through ``assumed_models`` is an assumption, and the template says so. File order does not matter.

This module knows nothing about endpoints, such as whether a server adds the BOS token.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.errors import ConfigError, UnknownTemplateError
from uncensoring_chinese_models.models.local.catalogue import PREFIX as ORGANISM
from uncensoring_chinese_models.models.local.gguf import PREFIX as GGUF

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from uncensoring_chinese_models.domain import Json
    from uncensoring_chinese_models.models.local.rendering import Rendered

_HOW_TO = r"""Name the family that agrees with the model's card in the config:

audited_endpoint: {template: %s}

or give the strings themselves:

audited_endpoint:
  template:
    user_open: "<|im_start|>user\n"
    user_close: "<|im_end|>\n"
    assistant_open: "<|im_start|>assistant\n"
    stop: ["<|im_end|>", "<|im_start|>"]"""
_INLINE_TEXTS = ("user_open", "user_close", "assistant_open", "assistant_open_no_think", "bos")
_INLINE_KEYS = (*_INLINE_TEXTS, "stop")
_VARIANT = re.compile(r":(?!.*\b(base|text)\b).*")  # Ollama's base models keep theirs: no chat
_GGUF_OWNER = re.compile(  # bartowski's files: Qwen_Qwen3-8B-Q4_K_M.gguf
    r"^(01-ai|baidu|bytedance-seed|deepseek-ai|google|inclusionai|internlm|meituan-longcat|qwen"
    r"|meta-llama|minimaxai|mistralai|moonshotai|openai|stepfun-ai|tencent|thudm|xiaomimimo|zai-org)_"
)
_PACKING = re.compile(
    r"([-_.](gguf|mlx|mlc|awq|gptq|exl[23]|bnb|unsloth|hf|tput|qat|dwq|ud|imatrix|i1|dynamic|block"
    r"|channel|quantized|(mx|nv)?fp[468]|bf16|fp?(16|32)|int[48]|w\d+a\d+|[2-8]-?bit|128k"
    r"|i?q\d(_[0-9a-z]+)*|tq\d_\d|q\df16_\d|\d{5}-of-\d{5}))+$"
)


_FAMILY_OF_ORGANISMS = "smollm2"
_DATES = re.compile(r"\d{1,2} [A-Z][a-z]{2} \d{4}|\d{4}-\d{2}-\d{2}")
_SPECIAL = re.compile(r"<[|\uff5c][^<>\s]{1,60}[|\uff5c]>|\[/?[A-Z_]{3,}\]")
"""The form of special tokens inside a template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTemplate:
    """The strings that open and close the turns of one model family."""

    family: str
    user_open: str
    """Everything before the user's first word: BOS, default system block, user opener."""
    user_close: str = ""
    """The end of a user turn; empty if the assistant opener ends it."""
    assistant_open: str = ""
    """The opener of an answer, in the model's default (for many models: thinking) mode."""
    assistant_open_no_think: str | None = None
    """The opener without thinking; None if the model has no such mode."""
    user_open_no_think: str | None = None
    """Replaces `user_open` without thinking; None if it is the same."""
    user_close_no_think: str | None = None
    """Replaces `user_close` without thinking; None if it is the same."""
    bos: str = ""
    """The token that `user_open` begins with; some servers add it themselves."""
    user_turn_opener: str = ""
    """The end of `user_open` that opens the user turn itself; empty if unknown or none."""
    stop: tuple[str, ...] = ()
    """Strings that end the user turn; chosen by hand from the template's tokens."""
    eos: str = ""
    """The end-of-sequence token, if known."""
    verified: bool = False
    """True when the strings were rendered from a published template or encoder."""
    verified_note: str = ""
    """Why `verified` is false."""
    source: str = ""
    note: str = ""
    assumed: bool = False
    """True if the model was matched by its likeness to a family."""
    models: tuple[str, ...] = ()
    """Patterns over bare names of the models that have this template."""
    assumed_models: tuple[str, ...] = ()
    """Patterns over bare names of the models that are assumed to have it."""

    def role_tokens(self) -> tuple[str, ...]:
        """Return the strings that would start or end a turn inside a probe."""
        openers = (self.user_turn_opener, self.assistant_open, self.assistant_open_no_think or "")
        outer = (opener.strip() for opener in (*openers, self.user_close))
        inner = _SPECIAL.findall(self.user_open)  # those of a default system block
        found = (*self.stop, self.bos, self.eos, *outer, *inner)
        return tuple(dict.fromkeys(token for token in found if len(token.strip()) >= 3))

    def as_json(self) -> Json:
        """Return the JSON form, without the model patterns."""
        record = asdict(self) | {"stop": list(self.stop)}
        return {key: value for key, value in record.items() if not key.endswith("models")}


@cache
def load_families() -> dict[str, ChatTemplate]:
    """Return all known families by name, in the order of the data file."""
    text = files(__package__).joinpath("chat_templates.json")
    entries: dict[str, Json] = strict_json.loads(text.read_text(encoding="utf-8"))
    return {family: _family(family, entry) for family, entry in entries.items()}


def choose_template(model: str) -> ChatTemplate:
    """Return the template of the one family that the model's name matches.

    Raises:
        UnknownTemplateError: no family matches, or more than one does.
    """
    if model.startswith(ORGANISM):
        return template_named(_FAMILY_OF_ORGANISMS)
    if model.startswith(GGUF):
        raise UnknownTemplateError(f"the chat template of {model} is in its file, not in its name.")
    name = _bare_name(model)
    matches = _matching(name)
    if len(matches) == 1:
        return matches[0]
    families = [match.family for match in matches] or _nearest(name, load_families())
    problem = "several chat templates match" if matches else "no chat template is known for"
    raise _unknown(f"{problem} the model {model!r}", families)


def template_named(family: str) -> ChatTemplate:
    """Return the template of the family, or raise UnknownTemplateError naming the nearest ones."""
    families = load_families()
    if family not in families:
        problem = f"there is no chat template family {family!r}"
        raise _unknown(problem, _nearest(family.lower(), families))
    return families[family]


def template_written_as(rendered: Rendered, *names: str) -> ChatTemplate | None:
    """Return the family whose strings are those that a file's own template writes; None without one.

    Families with the same strings are one for every prompt. The one that a name of the model matches
    is preferred, then the one that is for no model in particular.
    """
    same = [each for each in load_families().values() if _strings(each) == _undated(rendered)]
    of_name = {each.family for name in names for each in _matching(_bare_name(name))}
    same.sort(
        key=lambda each: (each.family not in of_name, bool(each.models or each.assumed_models))
    )
    return same[0] if same else None


def _strings(template: ChatTemplate) -> tuple[str, ...]:
    """Return what a template writes around a message, with thinking on and off."""
    after = template.user_close + template.assistant_open
    on = (template.user_open, after)
    if template.assistant_open_no_think is None:
        return _undated((*on, *on))
    close = template.user_close_no_think or template.user_close
    off = (
        template.user_open_no_think or template.user_open,
        close + template.assistant_open_no_think,
    )
    return _undated((*on, *off))


def _undated(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts without the day on which a template was rendered."""
    return tuple(_DATES.sub("DATE", text) for text in texts)


def inline_template(mapping: Mapping[str, object]) -> ChatTemplate:
    """Return the template that is written out in a config.

    Raises:
        ConfigError: a key is unknown, ``user_open`` is missing, or a value has the wrong type.
    """
    given: Json = {key: _checked(key, value) for key, value in mapping.items()}
    if "user_open" not in given:
        raise ConfigError("template: user_open is missing; it is the text before a probe")
    if not given["user_open"].startswith(given.get("bos", "")):
        raise ConfigError("template: user_open must begin with bos, or bos must be left out")
    return ChatTemplate(
        family="inline", source="the config", verified_note="given in the config", **given
    )


def without_packing(name: str) -> str:
    """Return a name in lower case, without the words on how and by whom its weights are packed."""
    return _PACKING.sub("", _GGUF_OWNER.sub("", name))


def _bare_name(model: str) -> str:
    name = _VARIANT.sub("", model.strip().lower().rstrip("/").rpartition("/")[2])
    name = without_packing(name)
    return re.sub(r"(?<=\d)p(?=\d)", ".", name)


def _matching(name: str) -> list[ChatTemplate]:
    matches = []
    for template in load_families().values():
        if any(re.fullmatch(pattern, name) for pattern in template.models):
            matches.append(template)
        elif any(re.fullmatch(pattern, name) for pattern in template.assumed_models):
            matches.append(replace(template, assumed=True))
    return matches


def _family(family: str, entry: Json) -> ChatTemplate:
    listed = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
    return ChatTemplate(family=family, **(entry | listed))


def _nearest(word: str, known: Iterable[str]) -> list[str]:
    return difflib.get_close_matches(word, list(known), n=3, cutoff=0.4)


def _unknown(problem: str, families: list[str]) -> UnknownTemplateError:
    near = f"the nearest families are {', '.join(families)}" if families else "no family is near"
    return UnknownTemplateError(f"{problem}; {near}.\n{_HOW_TO % (families or ['chatml'])[0]}")


def _checked(key: str, value: object) -> str | tuple[str, ...] | None:
    if key not in _INLINE_KEYS:
        near = _nearest(str(key), _INLINE_KEYS)[:1] or _INLINE_KEYS
        raise ConfigError(f"template: unknown key {key!r}; did you mean {' or '.join(near)}?")
    if key == "stop":
        if not isinstance(value, list) or not all(isinstance(x, str) and x for x in value):
            raise ConfigError(f"template: stop must be a list of non-empty texts, not {value!r}")
        return tuple(value)
    if isinstance(value, str) or (value is None and key == "assistant_open_no_think"):
        return value
    raise ConfigError(f"template: {key} must be text, not {value!r}")
