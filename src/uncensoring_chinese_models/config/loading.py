"""Read a config file and its overrides; each mistake gets one clear sentence."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from datetime import date
from itertools import takewhile
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from yaml.composer import Composer

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.config.settings import AuditConfig
from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.text import escape, preview

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yaml import SafeLoader as _Checking

    from uncensoring_chinese_models.domain import Json
else:
    _Checking = object

MAX_BYTES = 1 << 18
"""Max size of a YAML file that is parsed: a config, a facts file or an organism."""
_MAX_VALUES = 10_000
_MAX_DEPTH = 50
_MAX_DIGITS = 300
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_TOO_LARGE = "it is nested too deep or has too many values, with its aliases expanded"


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A validated config, and the bytes for config.yaml in the run directory."""

    settings: AuditConfig
    file_bytes: bytes
    """The file as given; with overrides, the merged mapping and a comment that lists them."""


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> LoadedConfig:
    """Read the file, apply overrides (`key=value`), validate."""
    raw = _read(Path(path))
    if not raw.strip(b"\0\r\n ") and (Path(path).parent / "journal.jsonl").exists():
        raise ConfigError(
            f"{path} holds nothing, as a power failure may leave it; nothing was sent. Restore it: it is "
            "a copy of the config file that the run was started with."
        )
    mapping = parse_mapping(raw, path)
    names = [word.partition("=")[0] for word in overrides]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{name} is given twice on the command line.")
    for word in overrides:
        _override(mapping, word)
    try:
        settings = AuditConfig.model_validate(mapping)
    except ValidationError as err:
        raise ConfigError(f"{path}: {describe(err, AuditConfig)}") from err
    return LoadedConfig(settings, _merged(mapping, _OVERRIDDEN, overrides) if overrides else raw)


def with_values(loaded: LoadedConfig, words: Sequence[str], whence: str) -> LoadedConfig:
    """Return a config with further values (`key=value`), and a comment that says whence they are."""
    mapping = parse_mapping(loaded.file_bytes, "the config")
    for word in words:
        _override(mapping, word)
    body = _merged(mapping, f"# From {whence}:", words)
    lines = loaded.file_bytes.decode("utf-8-sig").splitlines(keepends=True)
    if lines[:1] == [f"{_OVERRIDDEN}\n"]:
        told = takewhile(lambda line: line.startswith("#"), lines)
        again = tuple(f"#   {word.partition('=')[0]}=" for word in words)
        body = "".join(line for line in told if not line.startswith(again)).encode() + body
    return LoadedConfig(AuditConfig.model_validate(mapping), body)


def describe(err: ValidationError, model: type[BaseModel], whole: str = "config") -> str:
    """Return one sentence on the first few wrong fields."""
    sentences = [_sentence(dict(item), model, whole) for item in err.errors(include_url=False)]
    shown = "; ".join(sentences[:3])
    return shown + (f"; and {len(sentences) - 3} more" if len(sentences) > 3 else "") + "."


# --- the file -----------------------------------------------------------------------------------


class _UniqueKeys(_Checking):
    """What is added to YAML's safe loader: it refuses duplicate keys, huge merges and huge files."""

    _composed = _merged = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._composed += 1
        if self._composed > 2 * _MAX_VALUES:  # keys count, too; the rest would take seconds to read
            raise ConfigError(_TOO_LARGE)
        node = super().compose_node(parent, index)
        if (
            isinstance(node, yaml.ScalarNode)
            and len(node.value) > _MAX_DIGITS
            and node.tag in _NUMBERS
        ):
            line = node.start_mark.line + 1
            raise ConfigError(f"a number has more than {_MAX_DIGITS} digits (line {line})")
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 -- the signature is PyYAML's
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue  # refused below: the key is not text
            if key.value in seen:
                line = key.start_mark.line + 1
                raise ConfigError(f"the key {key.value!r} is given twice (line {line})")
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        super().flatten_mapping(node)
        self._merged += len(node.value)
        if self._merged > 2 * _MAX_VALUES:
            raise ConfigError(_TOO_LARGE)


class _Loader(_UniqueKeys, yaml.SafeLoader):
    """The loader in Python: it reads everything, and its errors are the ones that are shown."""


if hasattr(yaml, "CSafeLoader"):

    class _FastLoader(_UniqueKeys, Composer, yaml.CSafeLoader):
        """The loader over the scanner in C, which is several times as fast.

        Nodes are composed in Python: the composer in C overflows the stack on deep nesting.
        """

        def __init__(self, stream: str) -> None:
            yaml.CSafeLoader.__init__(self, stream)
            Composer.__init__(self)


def _parse_yaml(text: str) -> object:
    """Read YAML by the fast loader; if it refuses the text, the one in Python decides."""
    if hasattr(yaml, "CSafeLoader"):
        try:
            return yaml.load(text, _FastLoader)  # noqa: S506 -- it is a SafeLoader
        except yaml.YAMLError:  # such as a lone surrogate, which only the other one reads
            pass
    return yaml.load(text, _Loader)  # noqa: S506 -- it is a SafeLoader


def _load_yaml(text: str) -> object:
    """Read YAML; refuse a few lines of aliases that would expand without limit."""
    value = _parse_yaml(text)
    pending, count = [(value, 0)], 0
    while pending:
        item, depth = pending.pop()
        held = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        count += len(held)
        if count > _MAX_VALUES or depth > _MAX_DEPTH:
            raise ConfigError(_TOO_LARGE)
        is_odd = isinstance(item, float) and not isfinite(item)
        if is_odd or (isinstance(item, int) and abs(item) > strict_json.MAX_INT):
            raise ConfigError("a number is not finite or does not fit into 64 bits")
        pending += [(child, depth + 1) for child in held]
    return value


def _read(path: Path) -> bytes:
    try:
        return read_yaml(path)
    except FileNotFoundError:
        raise ConfigError(f"The config file {path} does not exist.") from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a folder; give the path of a YAML file.") from None
    except OSError as err:
        raise ConfigError(f"The config file {path} cannot be read: {err.strerror}.") from err


def read_yaml(path: Path) -> bytes:
    """Return the bytes of a file for `parse_mapping`, no more than it needs to refuse a larger one.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def parse_mapping(raw: bytes, path: str | Path) -> Json:
    """Return the mapping in the bytes of a YAML file; the path is for messages only."""
    if len(raw) > MAX_BYTES:
        raise ConfigError(
            f"{path} is larger than {MAX_BYTES // 1024} KB, so it was not read. Give a smaller file."
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text.") from None
    try:
        mapping = _load_yaml(text)
    except ConfigError as err:
        raise ConfigError(f"{path}: {err}.") from None
    except (yaml.YAMLError, RecursionError, ValueError) as err:
        raise ConfigError(f"{path} is not valid YAML: {_yaml_problem(err, text)}.") from err
    if not isinstance(mapping, dict):
        kind = "empty" if mapping is None else f"a {type(mapping).__name__}"
        raise ConfigError(f"{path} must be a mapping of keys to values, but it is {kind}.")
    if any(not isinstance(key, str) for key in mapping):
        raise ConfigError(f"{path}: every key must be text.")
    return mapping


def _yaml_problem(err: Exception, text: str) -> str:
    mark = getattr(err, "problem_mark", None)
    problem = getattr(err, "problem", None) or " ".join(str(err).split())[:200] or "nested too deep"
    if mark is None:
        return problem
    found = "".join(text.split("\n")[mark.line : mark.line + 1])[mark.column : mark.column + 1]
    # The scanner in C does not name the character: most often it is a tab.
    problem = problem.replace("found character that", f"found character {found!r} that")
    return f"{problem} (line {mark.line + 1}, column {mark.column + 1})"


_OVERRIDDEN = "# Merged from the given config and these overrides:"


def _merged(mapping: Json, head: str, overrides: Sequence[str]) -> bytes:
    names = "".join(f"#   {escape(word)}\n" for word in overrides)
    body = yaml.safe_dump(mapping, allow_unicode=True, sort_keys=False)
    if "\x85" in body:  # unescaped, it would be read back as a line feed
        body = yaml.safe_dump(mapping, sort_keys=False)
    return (f"{head}\n{names}{body}").encode("utf-8", "backslashreplace")


# --- overrides ----------------------------------------------------------------------------------


def _override(mapping: Json, word: str) -> None:
    """Apply one override: ``sampling.temperature=1.0``, ``"topic=Hong Kong, 2019"``."""
    name, equals, text = word.partition("=")
    if not equals:
        raise ConfigError(
            f'{word!r} is not an override; write key=value, such as "topic=Hong Kong, 2019".'
        )
    *parents, last = path = name.split(".")
    value = _value_for(path, text)
    for parent in parents:
        child = mapping.setdefault(parent, {})
        if not isinstance(child, dict):
            raise ConfigError(f"{name}: {parent} is not a group of settings in this config.")
        child = dict(child)  # an alias may share it with another group
        mapping[parent] = child
        mapping = child
    mapping[last] = value


def _value_for(path: list[str], text: str) -> object:
    """Return the value in the type of its field; a text field takes it literally."""
    annotation: Any = AuditConfig
    for depth, name in enumerate(path):
        model = _settings_in(annotation)
        if model is None:  # below a free-form mapping, such as provider
            return _as_yaml(path, text)
        if name not in model.model_fields:
            raise ConfigError(f"{_unknown_key('.'.join(path[: depth + 1]), name, model)}.")
        annotation = model.model_fields[name].annotation
    held = _settings_in(annotation)
    if held is not None:
        group, first = ".".join(path), next(iter(held.model_fields))
        raise ConfigError(
            f"{group} is a group of settings; name one of its keys, such as {group}.{first}=VALUE."
        )
    members = _members(annotation)
    takes_text = str in members and dict not in [get_origin(member) for member in members]
    if takes_text and not (text in ("null", "~", "") and type(None) in members):
        return text
    return _as_yaml(path, text)


_UNIONS = (Union, type(int | str))


def _members(annotation: object) -> list[object]:
    """Return the types that an annotation allows."""
    parts = get_args(annotation) if get_origin(annotation) in _UNIONS else (annotation,)
    return [get_args(part)[0] if get_origin(part) is Annotated else part for part in parts]


def _as_yaml(path: list[str], text: str) -> object:
    try:
        return _load_yaml(text)
    except (ConfigError, yaml.YAMLError, RecursionError, ValueError) as err:
        raise ConfigError(f"{'.'.join(path)}: '{preview(text, 80)}' is not a valid value.") from err


def _settings_in(annotation: object) -> type[BaseModel] | None:
    for member in _members(annotation):
        if isinstance(member, type) and issubclass(member, BaseModel):
            return member
    return None


# --- sentences ----------------------------------------------------------------------------------


def _sentence(error: dict[str, Any], model: type[BaseModel], whole: str) -> str:
    where = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return _unknown_key(where, str(error["loc"][-1]), _model_at(model, error["loc"][:-1]))
    if error["type"] == "missing":
        return f"{where} is missing"
    message = error["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    message = message.replace("input should be", "must be")
    given = error.get("input")
    # Our own messages say enough, and the value may be a password or a key.
    hidden = error["type"] == "value_error" or isinstance(given, dict | list | BaseModel)
    shown = "" if hidden else f", not {given!r}"
    hint = ""
    if error["type"] == "string_type" and isinstance(given, int | float | date):
        hint = " (put it in quotes)"
    return f"{where or whole} {message}{shown[:80]}{hint}"


def _unknown_key(where: str, name: str, model: type[BaseModel] | None) -> str:
    known = sorted(model.model_fields) if model else []
    near = difflib.get_close_matches(name, known, 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(known)}"
    return f"unknown key {where} ({hint})"


def _model_at(model: type[BaseModel], path: Sequence[object]) -> type[BaseModel] | None:
    current: type[BaseModel] | None = model
    for part in path:
        if isinstance(part, int):
            continue  # an index into the list before it
        if current is None or part not in current.model_fields:
            return None
        kinds = (current.model_fields[str(part)].annotation,)
        kinds += get_args(kinds[0]) if get_origin(kinds[0]) is list else ()
        current = next(filter(None, map(_settings_in, kinds)), None)
    return current
