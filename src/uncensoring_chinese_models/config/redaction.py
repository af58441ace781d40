"""The keys of this process, and their removal from everything that comes from outside.

Answers are redacted right after they are parsed (`models/http_api.py`), before anything is journaled.
The files of a run follow from its journal, so they hold no key either; they are not redacted again,
because `ucm verify`, which has no keys, must derive the same bytes. What does not come from answers
(the config, the prompt file, the facts file) is refused if it holds a key, before anything is sent.
What is printed is redacted once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.text import find_keys, looks_like_key, replace_spans

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY_MARK = "[key]"
_MIN_EXACT_LENGTH = 8
"""A shorter key is a word such as EMPTY; it is not looked for even in errors."""
_MAX_INTEGER = 2**63
"""A larger number in an answer can hold a key as well as a text can."""
_known: dict[str, None] = {}


def remember_secret(secret: str) -> None:
    """Remember a key or password, so that it is removed from what is stored and printed."""
    _known[secret] = None


def redact(text: str) -> str:
    """Return the text with a mark in place of every key of this process, in any encoding."""
    return redact_parts([text])[0]


def redact_message(text: str) -> str:
    """Return an error or a notice without keys; a short key is also removed where it stands as it is."""
    for secret in _known:
        if len(secret) >= _MIN_EXACT_LENGTH:
            text = text.replace(secret, KEY_MARK)
    return redact(text)


def redact_parts(texts: list[str], *, in_pieces: bool = True) -> list[str]:
    """Return the texts without keys, even if a key begins in one text and ends in a later one."""
    if not _known:
        return texts
    spans = find_keys("".join(texts), _known, in_pieces=in_pieces)
    return replace_spans(texts, spans, KEY_MARK) if spans else texts


def redact_json(value: Any) -> Any:
    """Return parsed JSON without keys in its texts, names and long numbers; it is changed in place.

    Pieces of keys stay: the texts may be joined, and are searched again as they are stored.
    """
    if not _known:
        return value
    held = [value]
    places, mappings = _texts_and_mappings(held)
    before = [str(container[at]) for container, at in places]
    after = redact_parts(before, in_pieces=False)
    for (container, at), old, new in zip(places, before, after, strict=True):
        if new != old:
            container[at] = new
    names = [name for mapping in mappings for name in mapping]
    clean = redact_parts(names, in_pieces=False)
    if clean is not names:
        renamed = iter(clean)
        for mapping in mappings:
            changed = {next(renamed): each for each in mapping.values()}
            mapping.clear()
            mapping.update(changed)
    return held[0]


def refuse_keys_in(sources: Mapping[str, str]) -> None:
    """Refuse texts of the user that hold a key, because they are copied into the run directory.

    Raises:
        ConfigError: the message names the source, not the key.
    """
    for source, text in sources.items():
        if find_keys(text, _known) or looks_like_key(text):
            raise ConfigError(
                f"{source} holds an API key, or something that looks like one, and would be copied "
                "into the run directory; nothing was spent. Remove it there, put the key into "
                ".env, and name its variable with api_key_env."
            )


def _texts_and_mappings(
    held: list[Any],
) -> tuple[list[tuple[Any, Any]], list[dict[str, Any]]]:
    """Return where the texts and long numbers of parsed JSON are, in their order, and its mappings."""
    places: list[tuple[Any, Any]] = []
    mappings: list[dict[str, Any]] = []
    pending: list[tuple[Any, Any]] = [(held, 0)]
    while pending:
        container, at = pending.pop()
        value = container[at]
        if isinstance(value, dict):
            mappings.append(value)
            pending += [(value, name) for name in reversed(value)]
        elif isinstance(value, list):
            pending += [(value, number) for number in reversed(range(len(value)))]
        elif isinstance(value, str) or (isinstance(value, int) and abs(value) > _MAX_INTEGER):
            places.append((container, at))
    return places, mappings
