"""The header of a GGUF file is read, and what is not a whole text model is refused in a sentence."""

from __future__ import annotations

import os
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.gguf_files import CHATML, gguf_bytes, text, value_of, write_gguf
from uncensoring_chinese_models.errors import ConfigError
from uncensoring_chinese_models.models.local.catalogue import organism_folder
from uncensoring_chinese_models.models.local.gguf_header import read_header
from uncensoring_chinese_models.models.local.known import SMOLLM2, find_known
from uncensoring_chinese_models.models.local.weights import stored_file

MANY = 1 << 60


def refused(path):
    """Return the sentence with which a file is refused; it says that nothing was started."""
    with pytest.raises(ConfigError) as caught:
        read_header(path)
    told = str(caught.value)
    assert told.startswith(str(path))
    assert "nothing was started" in told
    return told


def test_what_a_run_needs_is_read(tmp_path):
    """The template, its tokens by their numbers, and whether a server adds one."""
    found = read_header(write_gguf(tmp_path / "tiny.gguf", {"tokenizer.ggml.scores": [1, 2, 3]}))

    assert (found.architecture, found.name, found.context_length) == ("llama", "Tiny", 512)
    assert (found.bos, found.eos, found.adds_bos) == ("<s>", "</s>", False)
    assert found.chat_template == CHATML


@pytest.mark.parametrize("version", [2, 3])
def test_what_a_file_does_not_say_stays_open(tmp_path, version):
    """No template, no tokens and no rule on BOS are invented."""
    bare = {"tokenizer.chat_template": None, "tokenizer.ggml.bos_token_id": 99}
    bare |= {"tokenizer.ggml.eos_token_id": None, "tokenizer.ggml.add_bos_token": None}
    found = read_header(write_gguf(tmp_path / "tiny.gguf", bare, version=version))

    assert (found.chat_template, found.bos, found.eos, found.adds_bos) == (None, "", "", None)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"general.type": "adapter"}, "its type is 'adapter'"),
        ({"general.type": "mmproj"}, "its type is 'mmproj'"),
        ({"split.count": 3}, "it is one of several parts: join them"),
        ({"general.architecture": None}, "it names no architecture"),
        ({"general.architecture": "bert"}, "its architecture is bert, which writes no text"),
        ({"llama.pooling_type": 1}, "its architecture is llama, which writes no text"),
        ({"tokenizer.ggml.tokens": None}, "it has no vocabulary"),
    ],
)
def test_other_kinds_of_files_are_refused(tmp_path, changes, expected):
    """The reason is named."""
    told = refused(write_gguf(tmp_path / "other.gguf", changes))
    assert f"is not a text model ({expected}" in told


def test_sentence_stays_short_whatever_a_file_says(tmp_path):
    """A name of a million characters is shown by its beginning; a header that ends is told in words."""
    long = "a" * 900_000
    path = tmp_path / "long.gguf"
    for changes in (
        {"general.type": long},
        {"general.architecture": long, f"{long}.pooling_type": 1},
    ):
        assert len(refused(write_gguf(path, changes))) < 300 + len(str(path))
    path.write_bytes(b"GGUF")
    assert "(it ends within its header)" in refused(path)


def test_pooling_of_nothing_is_no_sign_of_an_encoder(tmp_path):
    """The type 0 means that nothing is pooled."""
    assert read_header(write_gguf(tmp_path / "tiny.gguf", {"llama.pooling_type": 0})).name == "Tiny"


def test_file_without_weights_is_refused(tmp_path):
    """A vocabulary alone, or an image model, has no embedding of tokens."""
    for tensors in ({}, {"v.patch_embd.weight": (0, (8,))}):
        told = refused(write_gguf(tmp_path / "empty.gguf", tensors=tensors))
        assert "it has no weights of a text model" in told


def test_organism_of_the_package_is_an_adapter_and_no_model():
    """A real file of another kind."""
    assert "its type is 'adapter'" in refused(organism_folder() / "hides.gguf")


def test_missing_files_folders_and_other_formats_are_refused(tmp_path):
    """Each in one sentence; an empty file is one of them."""
    (tmp_path / "empty.gguf").write_bytes(b"")
    (tmp_path / "text.gguf").write_text("GGML, once upon a time")

    os.mkfifo(tmp_path / "pipe.gguf")
    for path in (tmp_path / "no.gguf", tmp_path, tmp_path / "pipe.gguf"):
        assert "is not a file" in refused(path)
    assert "is not a GGUF file" in refused(tmp_path / "empty.gguf")
    assert "is not a GGUF file" in refused(tmp_path / "text.gguf")


def test_unreadable_file_is_refused(tmp_path, monkeypatch):
    """The reason of the system is in the sentence."""
    path = write_gguf(tmp_path / "tiny.gguf")

    def denied(*words):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", denied)
    assert "cannot be read (Permission denied)" in refused(path)


def test_cut_file_is_refused_at_every_length(tmp_path):
    """In its header or in its weights: a cut file is never taken for a whole one."""
    whole = gguf_bytes()
    path = tmp_path / "cut.gguf"
    for length in [*range(4, 200, 7), len(whole) // 2, len(whole) - 33, len(whole) - 29]:
        path.write_bytes(whole[:length])
        told = refused(path)
        assert "cut" in told
        assert "Fetch it again" in told
    path.write_bytes(whole)
    assert read_header(path).name == "Tiny"


def test_cut_weights_are_told_with_their_size(tmp_path):
    """Both numbers are in the sentence."""
    whole = gguf_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[:-100])

    told = refused(tmp_path / "cut.gguf")
    assert f"it has {len(whole) - 100:,} bytes of at least " in told


def headed(*parts, keys=1, tensors=0, version=3):
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys) + b"".join(parts)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (headed(version=1), "its version is 1"),
        (headed(version=0x03000000), "its version is"),
        (headed(keys=MANY), "too many entries"),
        (headed(tensors=MANY, keys=0), "too many entries"),
        (headed(struct.pack("<Q", MANY)), "longer than the file"),
        (headed(text("k"), struct.pack("<I", 77)), "unknown type 77"),
        (headed(text("k"), struct.pack("<IIQ", 9, 8, MANY)), "longer than the file"),
        (headed(text("k"), struct.pack("<IIQ", 9, 4, MANY)), "longer than the file"),
        (headed(text("k"), struct.pack("<IIQ", 9, 9, 1)), "a list of lists"),
        (
            headed(text("k"), struct.pack("<IIQ", 9, 8, 10**7 + 1), bytes(8 * 10**7 + 8)),
            "too many texts",
        ),
        (headed(text("general.alignment"), value_of(0)), "alignment is impossible"),
        (headed(text("general.alignment"), value_of("x")), "alignment is impossible"),
        (headed(text("t"), struct.pack("<I", 9999), keys=0, tensors=1), "9999 dimensions"),
    ],
    ids=range(13),
)
def test_impossible_numbers_are_refused_before_they_are_used(tmp_path, content, expected):
    """A stranger's file can neither take the memory nor the time that its numbers ask for."""
    (tmp_path / "odd.gguf").write_bytes(content)

    assert expected in refused(tmp_path / "odd.gguf")


@given(st.integers(0, len(gguf_bytes()) - 1), st.integers(0, 255))
def test_changed_byte_never_ends_in_another_error(tmp_path_factory, place, byte):
    """Whatever a file holds, it is read or refused."""
    content = bytearray(gguf_bytes())
    content[place] = byte
    path = tmp_path_factory.getbasetemp() / "changed.gguf"
    path.write_bytes(content)
    with suppress(ConfigError):
        assert read_header(path).architecture


@pytest.mark.model
def test_real_file_is_read_as_it_is():
    """The model of the organisms is a llama with ChatML."""
    found = read_header(stored_file(find_known(SMOLLM2)))

    assert (found.architecture, found.context_length) == ("llama", 8192)
    assert (found.bos, found.eos, found.adds_bos) == ("<|im_start|>", "<|im_end|>", False)
    assert "SmolLM" in (found.chat_template or "")
