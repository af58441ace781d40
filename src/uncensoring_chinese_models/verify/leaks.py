"""Find what should not be published with a run: keys, paths, and names of machines and people.

Texts of models are searched only for keys, home folders and this machine's name. Texts of ours and
of servers, the settings with their comments, and the user's prompt file are also searched for
absolute paths and private addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from uncensoring_chinese_models import strict_json
from uncensoring_chinese_models.config import host_of, is_private, parse_mapping
from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.text import find_keys, looks_like_key, preview

MIN_NAME_LENGTH = 4
"""A shorter host name would be found in any text."""
COMMON_NAMES = frozenset({"localhost", "host", "server", "ubuntu", "debian", "linux", "runner"})
_HOME = re.compile(r"(?:/(?:home|Users)/|/root(?=/)|[A-Za-z]:\\+Users\\+)[\w.-]*")
_WHOLE_PATH = re.compile(r"(?:/|~\w|[A-Za-z]:[\\/]|\\\\\w).*")
_PATH = re.compile(
    r"(?<![\w/:.>~-])/(?:[\w.@+-]+/)+[\w.@+-]+"
    r"|(?<!\w)[A-Za-z]:\\[^\s\"'<>|]+|(?<![\w\\])\\\\[\w.-]+\\[^\s\"'<>|]+"
)
_WEB = re.compile(r"(?:https?://|\bwww\.)[\w%/?#@!$&*+=:.~-]+", re.ASCII)
"""The address of a web page, in which /home/ is not a home folder."""
_ADDRESS = re.compile(r"https?://[^\s\"'<>\\]+")
_COMMENT = re.compile(rb"(?:^|\s)#(.*)", re.MULTILINE)
_OUR_WORDS = frozenset(
    {"error", "message", "status_detail", "problems", "comment", "auditor_prompt"}
)
"""Keys whose texts we, a server's error or the user wrote."""
_SETTLED = frozenset({"config", "settings", "served_model", "server", "servers"})
"""Keys whose texts are settings, or addresses and names of ours."""
_MACHINE = re.compile(
    r"(?<![\w.-])(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[\w-]+(?:\.[\w-]+)+)(?![\w-])"
    r"|(?<=\[)[0-9a-fA-F:]+:[0-9a-fA-F:.]*(?=\])|(?<=\bhost )[\w.-]+(?=:[0-9])"
)
"""Names of machines without a scheme: ``10.0.0.7``, ``m.lab.internal``."""


@dataclass(frozen=True, slots=True)
class Leak:
    """One finding and its file; a key is not shown."""

    file: str
    what: str
    is_secret: bool = False

    def __str__(self) -> str:
        """Return it as one line."""
        return f"{self.file}: {self.what}"


def find_leaks(
    files: Mapping[str, bytes], secrets: Mapping[str, str] | None = None, names: Iterable[str] = ()
) -> list[Leak]:
    """Return what should not be published, each finding once per file.

    Args:
        files: the content of each file of a run.
        secrets: keys that must not be there, by the names of their variables.
        names: names of this machine and folders of this user.
    """
    found: dict[Leak, None] = {}
    for file, content in files.items():
        text = content.decode("utf-8", "replace")
        for leak in (*_secrets(file, text, secrets or {}), *_known(file, text, names)):
            found[leak] = None
        for key, value in _strings(file, content):
            found.update(dict.fromkeys(_in_value(file, key, value)))
    return list(found)


def _secrets(file: str, text: str, secrets: Mapping[str, str]) -> Iterator[Leak]:
    for variable, value in secrets.items():
        if (len(value) >= 8 and value in text) or find_keys(text, [value]):
            yield Leak(file, f"the value of {variable}", is_secret=True)
    if looks_like_key(text):
        yield Leak(file, "something that looks like a key", is_secret=False)


def _known(file: str, text: str, names: Iterable[str]) -> Iterator[Leak]:
    for match in _HOME.finditer(_WEB.sub(" ", text)):
        yield Leak(file, f"a home folder: {preview(match[0], 60)}")
    for name in names:
        is_specific = len(name) >= MIN_NAME_LENGTH and name.lower() not in COMMON_NAMES
        if is_specific and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
            yield Leak(file, f"a name of this machine or its user: {preview(name, 60)}")


def _in_value(file: str, key: str, value: str) -> Iterator[Leak]:
    """Search one text of a JSON or YAML file."""
    if key != "config" and key not in _OUR_WORDS:
        return
    paths, hosts = [], []
    if key in _OUR_WORDS:
        without = _ADDRESS.sub("", value)
        paths = _PATH.findall(without)
        hosts = [name for name in _MACHINE.findall(without) if is_private(name)]
    elif _WHOLE_PATH.fullmatch(value):
        paths = [value]
    hosts += [address for address in _ADDRESS.findall(value) if is_private(host_of(address))]
    yield from (Leak(file, f"an absolute path: {preview(path, 60)}") for path in paths)
    yield from (Leak(file, f"a private address: {preview(host, 60)}") for host in hosts)


def _strings(file: str, content: bytes) -> Iterator[tuple[str, str]]:
    """Yield the texts of a file with their keys; ``config`` for settings."""
    if file == "config.yaml":
        for comment in _COMMENT.findall(content):
            yield "comment", comment.decode("utf-8", "replace")
        try:
            yield from _walk(parse_mapping(content, file), "config")
        except ConfigError:
            return
    elif file.endswith((".json", ".jsonl")):
        for part in content.splitlines() if file.endswith(".jsonl") else [content]:
            try:
                yield from _walk(strict_json.loads(part), "")
            except (ValueError, RecursionError):
                continue


def _walk(value: Any, key: str) -> Iterator[tuple[str, str]]:
    pending = [(value, key)]
    while pending:
        item, name = pending.pop()
        if isinstance(item, str):
            yield name, item
        elif isinstance(item, list):
            pending += [(child, name) for child in item]
        elif isinstance(item, dict):
            for child_key, child in item.items():
                settled = name == "config" or child_key in _SETTLED
                pending.append((child, "config" if settled else str(child_key)))
                if name in ("by_served_model", "by_server"):
                    pending.append((str(child_key), "config"))
