"""Read the header of a GGUF file: what it says of itself, and whether it is whole.

The format is llama.cpp's: magic, version, counts, then metadata, then the list of tensors, then their
data. Only the header is read. A file may come from a stranger, so every count and length in it is
checked against the size of the file before it is used.
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uncensoring_chinese_models.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

MAGIC = b"GGUF"
VERSIONS = (2, 3)
_MAX_KEYS = 10_000
_MAX_TENSORS = 100_000
_MAX_TEXT = 1 << 20
"""Longer texts are no names and no templates; they are passed over."""
_MAX_LISTED = 10_000_000
"""The largest vocabularies have some hundred thousand texts; each is looked at."""
_MAX_SHOWN = 60
_NUMBERS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_TEXT, _ARRAY = 8, 9
_BYTES_OF_BLOCKS = {  # values in a block: bytes of a block by type of tensor; ggml.h
    1: {0: 4, 1: 2, 24: 1, 25: 2, 26: 4, 27: 8, 28: 8, 30: 2},
    32: {2: 18, 3: 20, 6: 22, 7: 24, 8: 34, 9: 36, 20: 18, 39: 17},
    256: {10: 84, 11: 110, 12: 144, 13: 176, 14: 210, 15: 292, 16: 66, 17: 74, 18: 98, 19: 50}
    | {21: 110, 22: 82, 23: 136, 29: 56, 34: 54, 35: 66},
}
_TENSOR_SIZES = {
    kind: (block, size) for block, of in _BYTES_OF_BLOCKS.items() for kind, size in of.items()
}
_ENCODERS = frozenset(
    {
        "bert",
        "modern-bert",
        "neo-bert",
        "nomic-bert",
        "nomic-bert-moe",
        "jina-bert-v2",
        "jina-bert-v3",
    }
    | {"t5encoder", "clip", "gemma-embedding", "wavtokenizer-dec", "flux", "sdxl", "whisper"}
)
"""Architectures that write no text."""


@dataclass(frozen=True, slots=True)
class Header:
    """What the header of a GGUF file says, as far as this program needs it."""

    architecture: str
    name: str
    chat_template: str | None
    bos: str
    eos: str
    adds_bos: bool | None
    """Whether a server puts the BOS token before a prompt; None where the file does not say."""
    context_length: int | None


def read_header(path: Path) -> Header:
    """Return the header of a file that holds a whole text model.

    Raises:
        ConfigError: it is not a file, or not such a model; the message says why.
    """
    if not path.is_file():
        raise ConfigError(f"{path} is not a file; nothing was started.")
    try:
        file = path.open("rb")
    except OSError as err:
        raise ConfigError(f"{path} cannot be read ({err.strerror}); nothing was started.") from err
    with file:
        size = os.fstat(file.fileno()).st_size
        if file.read(len(MAGIC)) != MAGIC:
            raise ConfigError(f"{path} is not a GGUF file; nothing was started.")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            try:
                reader = _Reader(content, size)
                metadata = reader.metadata()
                names, ends_at = reader.tensors(metadata.get("general.alignment", 32))
            except (struct.error, ValueError, OverflowError) as err:
                why = "it ends within its header" if isinstance(err, struct.error) else err
                raise ConfigError(
                    f"{path} is a damaged GGUF file, or was cut ({why}); nothing was started. "
                    "Fetch it again."
                ) from err
            _refuse_other(path, metadata, names)
            if size < ends_at:
                raise ConfigError(
                    f"{path} was cut: it has {size:,} bytes of at least {ends_at:,}; nothing was "
                    "started. Fetch it again."
                )
            return _header(reader, metadata)


def _refuse_other(path: Path, metadata: dict[str, object], names: set[str]) -> None:
    """Refuse a GGUF file that is not a text model by itself."""
    kind, architecture = metadata.get("general.type", "model"), metadata.get("general.architecture")
    told = None
    if kind != "model":
        told = f"its type is {str(kind)[:_MAX_SHOWN]!r}"
    elif metadata.get("split.count", 0) not in (0, 1):
        told = "it is one of several parts: join them with llama-gguf-split --merge first"
    elif not isinstance(architecture, str):
        told = "it names no architecture"
    elif architecture in _ENCODERS or metadata.get(f"{architecture}.pooling_type"):
        told = f"its architecture is {architecture[:_MAX_SHOWN]}, which writes no text"
    elif not isinstance(metadata.get("tokenizer.ggml.tokens"), _List):
        told = "it has no vocabulary"
    elif "token_embd.weight" not in names:
        told = "it has no weights of a text model"
    if told is not None:
        raise ConfigError(f"{path} is not a text model ({told}); nothing was started.")


def _header(reader: _Reader, metadata: dict[str, object]) -> Header:
    architecture = str(metadata["general.architecture"])

    tokens = metadata["tokenizer.ggml.tokens"]

    def token(key: str) -> str:
        number = metadata.get(f"tokenizer.ggml.{key}_token_id")
        if not isinstance(number, int) or not isinstance(tokens, _List):
            return ""
        return reader.text_in(tokens, number)

    template = metadata.get("tokenizer.chat_template")
    adds_bos = metadata.get("tokenizer.ggml.add_bos_token")
    length = metadata.get(f"{architecture}.context_length")
    return Header(
        architecture=architecture,
        name=str(metadata.get("general.name", "")),
        chat_template=template if isinstance(template, str) else None,
        bos=token("bos"),
        eos=token("eos"),
        adds_bos=adds_bos if isinstance(adds_bos, bool) else None,
        context_length=length if isinstance(length, int) else None,
    )


@dataclass(frozen=True, slots=True)
class _List:
    """A list in the metadata, which is read only where it is needed."""

    kind: int
    count: int
    begins_at: int


class _Reader:
    """Reads the header from its beginning to its end."""

    def __init__(self, content: mmap.mmap, size: int) -> None:
        self._content, self._size, self._at = content, size, len(MAGIC)
        self._listed = 0
        version = self._number("I")
        if version not in VERSIONS:
            raise ValueError(f"its version is {version}, known are 2 and 3")
        self._tensors, self._keys = self._number("Q"), self._number("Q")
        if self._keys > _MAX_KEYS or self._tensors > _MAX_TENSORS:
            raise ValueError("it has too many entries")

    def metadata(self) -> dict[str, object]:
        """Return the metadata by key."""
        return {self._text(): self._value(self._number("I")) for _ in range(self._keys)}

    def tensors(self, alignment: object) -> tuple[set[str], int]:
        """Return the names of the tensors, and the size that the file must have for all of them."""
        if not isinstance(alignment, int) or not 0 < alignment < 1 << 20:
            raise ValueError("its alignment is impossible")
        names, last = set(), 0
        for _ in range(self._tensors):
            names.add(self._text())
            values = 1
            for _ in range(self._count(8)):
                values *= self._number("Q")
            kind, offset = self._number("I"), self._number("Q")
            block, size = _TENSOR_SIZES.get(kind, (1, 0))  # of a new type at least the beginning
            last = max(last, offset + values // block * size)
        begins_at = -(-self._at // alignment) * alignment
        return names, begins_at + last if names else 0

    def text_in(self, held: _List, number: int) -> str:
        """Return one text of a list of texts; empty if it has no such text."""
        if held.kind != _TEXT or not 0 <= number < held.count:
            return ""
        self._at = held.begins_at
        for _ in range(number):
            self._skip(self._number("Q"))
        return self._text()

    def _value(self, kind: int) -> object:
        if kind == _TEXT:
            return self._text()
        if kind != _ARRAY:
            return self._number(_NUMBERS.get(kind) or self._refuse(kind))
        inner, count = self._number("I"), self._number("Q")
        held = _List(inner, count, self._at)
        if inner == _TEXT:
            self._listed += self._fitting(count, 8)
            if self._listed > _MAX_LISTED:
                raise ValueError("its lists have too many texts")
            for _ in range(count):
                self._skip(self._number("Q"))
        elif inner == _ARRAY:
            raise ValueError("it has a list of lists")
        else:
            self._skip(count * struct.calcsize("<" + (_NUMBERS.get(inner) or self._refuse(inner))))
        return held

    def _text(self) -> str:
        length = self._number("Q")
        begins_at = self._at
        self._skip(length)
        if length > _MAX_TEXT:
            return ""
        return self._content[begins_at : self._at].decode("utf-8", "replace")

    def _count(self, most: int) -> int:
        count: int = self._number("I")
        if count > most:
            raise ValueError(f"a tensor has {count} dimensions")
        return count

    def _fitting(self, count: int, least: int) -> int:
        if count * least > self._size - self._at:
            raise ValueError("a list is longer than the file")
        return count

    def _skip(self, length: int) -> None:
        if length > self._size - self._at:
            raise ValueError("a text or list is longer than the file")
        self._at += length

    def _number(self, form: str) -> Any:
        (value,) = struct.unpack_from(f"<{form}", self._content, self._at)
        self._at += struct.calcsize(f"<{form}")
        return value

    def _refuse(self, kind: int) -> str:
        raise ValueError(f"it has a value of the unknown type {kind}")
