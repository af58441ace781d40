"""Keys are found in every common encoding, wherever they stand, and nothing else is."""

from __future__ import annotations

import base64
import json
import random
import re
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.provider.echo import APART, ENCODINGS
from uncensoring_chinese_models.text import find_keys, looks_like_key, replace_spans

KEYS = {
    "OpenRouter": "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",
    "OpenAI": "sk-proj-9fQz_4TgXb7LmW2pR8sYc-aV3nHdKu6JtEo1",
    "letters and digits": "Zx81mQ0bTt5vRk2WnE7c",
    "sixteen": "a8Kd-03jf_Lw92Qx",
    "base64 itself": "q+Z/7uR1x0PvW4b+MSd8Yk2n/0aLtg==",
}


def marked(text, *keys):
    return replace_spans([text], find_keys(text, keys), "[key]")[0]


@pytest.mark.parametrize(
    "around", [("", ""), ("Bearer ", ", again"), ("密钥：", "。"), ("x\n", "\ny")]
)
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_key_is_found_in_every_encoding(key, encoding, around):
    """It is cut out, with nearly nothing left of it, and what stands around it stays."""
    if encoding == "percent-encoded where needed":
        key = key.replace("+", "")
    form = ENCODINGS[encoding](key)

    left = marked(around[0] + form + around[1], key)

    assert "[key]" in left, form
    assert left.startswith(around[0])
    assert left.endswith(around[1]) or encoding == "cut short"  # what follows may fit by chance
    rest = left[len(around[0]) : len(left) - len(around[1])].replace("[key]", "")
    assert len(rest) <= len(form) / 2 + 40
    assert find_keys(left, [key]) == []


@pytest.mark.parametrize(
    "around", [("ab12", "cd34"), ("f00", "stop"), ("gen-", "/0123456789abcdef" * 9)]
)
@pytest.mark.parametrize(
    "encoding", [each for each in ENCODINGS if " of " in each or " times" in each]
)
def test_key_that_is_encoded_twice_is_found_without_a_gap_around_it(encoding, around):
    """What stands before and after it may be letters and digits, too."""
    form = ENCODINGS[encoding](KEYS["OpenAI"])

    left = marked(around[0] + form + around[1], KEYS["OpenAI"])

    assert "[key]" in left
    assert len(left) <= len(around[0] + around[1]) + 5 + len(form) / 2


@given(
    st.text(string.ascii_letters + string.digits + "-_", min_size=24, max_size=60),
    st.text(max_size=40),
    st.text(max_size=40),
    st.sampled_from(sorted(ENCODINGS)),
)
def test_any_key_is_found_amid_any_text(key, before, after, encoding):
    """Whatever stands before and after, even escapes that are cut off."""
    if len(set(key)) < 6 or len(key.replace("-", "").replace("_", "")) < 20:
        return
    text = before + "\n" + ENCODINGS[encoding](key) + "\n" + after

    assert find_keys(text, [key])


def test_several_keys_are_cut_out_in_their_order():
    """Each occurrence of each key gets its mark; what is between stays."""
    one, two = KEYS["OpenAI"], KEYS["sixteen"]

    assert marked(f"a {one} b {two} c {one}", one, two) == "a [key] b [key] c [key]"


def test_key_that_is_split_over_texts_is_cut_out_of_all():
    """The mark stands in the first; the texts after it lose their part."""
    key = KEYS["OpenAI"]
    texts = ["one " + key[:9], key[9:20], "", key[20:] + " two", "three"]

    spans = find_keys("".join(texts), [key])

    assert replace_spans(texts, spans, "[key]") == ["one [key]", "", "", " two", "three"]


@pytest.mark.parametrize("key", ["EMPTY", "none", "x", "", "lm-studio", "sk-0123456789ab"])
def test_short_key_is_a_placeholder_and_destroys_no_text(key):
    """A word that a model may write itself is left alone."""
    assert find_keys(f"The {key} of the matter {key}", [key]) == []


@pytest.mark.parametrize("key", ["----------------", "................", "__--__--__--__--ab"])
def test_key_without_letters_destroys_no_text(key):
    """Too little of it is left to compare."""
    assert find_keys("A text -- of course -- ab. " * 10, [key]) == []


@pytest.mark.parametrize(
    "encoding",
    ["some JSON escapes", "some percent-encoded", "some HTML entities", "Python escapes"],
)
@pytest.mark.parametrize("nul", ["\0", "%00"])
def test_escapes_in_a_page_of_utf_16_are_read(encoding, nul):
    """A page that is read as another charset has NUL characters between, also within escapes."""
    key = KEYS["OpenRouter"]
    page = f"<p>The key is {ENCODINGS[encoding](key)}.</p>"
    wide = nul.join(page) + nul

    left = marked(wide, key)

    assert left == nul.join("<p>The key is ") + nul + "[key]" + nul.join(".</p>") + nul


def test_beginning_of_a_key_is_not_the_key():
    """Servers show the first characters of a key, and models write its prefix."""
    text = (
        f"sk-proj-9fQz... and {KEYS['OpenAI'][:15]}, {KEYS['OpenAI'][-15:]}, {KEYS['sixteen'][:11]}"
    )

    assert marked(text, *KEYS.values()) == text


@pytest.mark.parametrize("written", APART.values(), ids=APART)
@pytest.mark.parametrize("name", ["OpenRouter", "OpenAI"])
def test_pieces_of_a_key_are_found_whatever_stands_between(name, written):
    """Halves in any order, and lines of a dump; what is left is less than a piece."""
    key = KEYS[name]
    text = written(key)

    left = marked(text, key)

    assert "[key]" in left
    together = re.sub("[^0-9a-z]+", "", left.lower().replace("[key]", ""))
    forms = (key, re.sub("[^0-9a-z]+", "", key.lower()), key.encode().hex())
    for form, long, where in zip(forms, (16, 24, 32), (left, together, together), strict=True):
        for each in (form, form[::-1]):
            pieces = {each[at : at + long] for at in range(len(each) - long + 1)}
            assert not any(piece in where for piece in pieces), left


@pytest.mark.parametrize(
    "written",
    [each for name, each in APART.items() if "thirds" in name or "middle" in name],
    ids=[name for name in APART if "thirds" in name or "middle" in name],
)
@pytest.mark.parametrize("name", ["OpenAI", "letters and digits", "base64 itself"])
def test_short_parts_that_add_up_to_a_key_are_all_cut_out(name, written):
    """None is long enough by itself, but together they are nearly the whole key."""
    key = "Zx81mQ0bTt5vRk2WnE7cPq40" if name == "letters and digits" else KEYS[name]

    left = marked(f"one {written(key)} two", key)

    assert left.startswith("one ")
    assert left.endswith(" two")
    for each in (key, key[::-1]):
        assert not any(each[at : at + 8] in left for at in range(len(key) - 7)), left


def test_parts_that_do_not_add_up_to_a_key_stay():
    """Both ends of a key, as servers show them, are less than three quarters of it."""
    key = KEYS["OpenRouter"]
    text = f"sk-or-v1-0a1...{key[-8:]}, again sk-or-v1-0a1...{key[-8:]}"

    assert find_keys(text * 20, [key]) == []
    assert find_keys("0" * 9 + " and " + "0" * 9, ["0" * 40]) == []


def test_words_that_are_also_in_a_key_are_no_piece_of_it():
    """A key that someone made of words takes none of them out of a text, however they are joined."""
    text = "A lantern-archive of Qinghe, lantern archive of 1931 -- lantern_archive"

    assert find_keys(text, ["lantern-archive-of-qinghe-1931-test-key"]) == []
    assert find_keys("-" * 200, ["a-----------------------------bcdefghijklm"]) == []


def test_ordinary_texts_hold_no_key():
    """Long texts of many kinds stay as they are."""
    rng = random.Random(4)  # noqa: S311 -- a text, not a secret
    words = ["the", "1989", "sk-or-v1", "天安门", "%41", "\\u0041", "&amp;", "Bearer", "0a1b2c3d"]
    text = " ".join(rng.choice(words) for _ in range(20_000))

    assert find_keys(text, KEYS.values()) == []
    assert find_keys(json.dumps(text) * 2, KEYS.values()) == []


LARGE = {
    "English": "The Lantern Archive in Qinghe opened its doors in the spring of 1931. ",
    "Chinese": "清河灯笼档案馆于1931年春天开馆。",
    "keys": "The key is " + KEYS["OpenAI"],
    "escapes": "\\u0073\\u006b",
    "percent": "%41%42",
    "backslashes": "\\",
    "ampersands": "&amp;",
    "tags": "<a",
    "look-alikes": chr(0xFF53) + chr(0xFF4B),
    "nearly keys": KEYS["OpenAI"][:28] + "!",
    "parts of keys": KEYS["OpenAI"][:9] + " ",
    "values": '{"a": "bc", "d": 12}\n',
    "lines": "data: abcdef\n",
    "base64": base64.b64encode(b"The Lantern Archive in Qinghe. ").decode(),
    "base64 apart": base64.b64encode(b"The Lantern Archive in Qinghe. ").decode() + " ",
    "hex": b"The Lantern Archive".hex(),
}


@pytest.mark.parametrize("piece", LARGE.values(), ids=LARGE)
def test_search_takes_linear_time(piece):
    """A text twice as long takes about twice as long, whatever it is made of."""
    spent = []
    for size in (500_000, 2_000_000):
        text = piece * (size // len(piece))
        began = time.process_time()
        find_keys(text, KEYS.values())
        spent.append(time.process_time() - began)

    assert spent[1] < 12 * spent[0] + 0.2, spent
    assert spent[1] < 2.5


@pytest.mark.parametrize(
    "text", ["sk-abcdefghijklmnopqrst123", "Bearer abcdefghijklmnop", "-----BEGIN PRIVATE KEY-----"]
)
def test_well_known_kinds_of_keys_are_recognised(text):
    """Without knowing the key itself."""
    assert looks_like_key(f"a {text} b")
    assert not looks_like_key("The key of the matter, sk-123.")
