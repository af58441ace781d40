"""Write small GGUF files: what the tests of readers and templates need, and no weights of worth."""

from __future__ import annotations

import struct
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CHATML = """\
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{% endif %}"""
TOKENS = ["<s>", "</s>", "a", "b", "<|im_start|>", "<|im_end|>"]
TEXT_MODEL: dict[str, Any] = {
    "general.architecture": "llama",
    "general.name": "Tiny",
    "llama.context_length": 512,
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.bos_token_id": 0,
    "tokenizer.ggml.eos_token_id": 1,
    "tokenizer.ggml.add_bos_token": False,
    "tokenizer.chat_template": CHATML,
}
WEIGHTS: dict[str, tuple[int, tuple[int, ...]]] = {
    "token_embd.weight": (0, (8, 6)),
    "output.weight": (2, (64, 2)),
}
"""Names of tensors, with their type (F32, Q4_0) and shape."""
_BYTES = {0: lambda n: 4 * n, 2: lambda n: n // 32 * 18}


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def value_of(value: Any) -> bytes:
    """Return a value with its type before it."""
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    if isinstance(value, bytes):  # as it stands
        return value
    kind = 8 if isinstance(value[0], str) else 4
    items = b"".join(text(each) if kind == 8 else struct.pack("<I", each) for each in value)
    return struct.pack("<IIQ", 9, kind, len(value)) + items


def gguf_bytes(
    metadata: dict[str, Any] | None = None,
    tensors: Mapping[str, tuple[int, tuple[int, ...]]] = WEIGHTS,
    *,
    version: int = 3,
) -> bytes:
    """Return a whole file; a None among the changed metadata leaves the key out."""
    changed = {**TEXT_MODEL, **(metadata or {})}
    held = {key: value for key, value in changed.items() if value is not None}
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(held))
    head += b"".join(text(key) + value_of(value) for key, value in held.items())
    offset = 0
    for name, (kind, shape) in tensors.items():
        count = prod(shape)
        head += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        head += struct.pack("<IQ", kind, offset)
        offset += -(-_BYTES[kind](count) // 32) * 32
    padding = b"\0" * (-len(head) % 32)
    return head + padding + b"\1" * offset


def write_gguf(path: Path, metadata: dict[str, Any] | None = None, **settings: Any) -> Path:
    """Write a whole file."""
    path.write_bytes(gguf_bytes(metadata, **settings))
    return path
