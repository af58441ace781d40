"""What a model wrote is shown on a terminal without acting on it and without loss."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uncensoring_chinese_models.text.escaping import escape, preview

any_text = st.text(st.characters(exclude_categories=()))

SHOWN = {
    "CSI colour": ("\x1b[31mred\x1b[0m", "⟨U+001B⟩[31mred⟨U+001B⟩[0m"),
    "CSI clear screen": ("\x1b[2J\x1b[H", "⟨U+001B⟩[2J⟨U+001B⟩[H"),
    "CSI as one C1 character": ("\x9b31m", "⟨U+009B⟩31m"),
    "OSC 0 title": ("\x1b]0;owned\x07", "⟨U+001B⟩]0;owned⟨U+0007⟩"),
    "OSC 8 link": ("\x1b]8;;http://x\x1b\\here", "⟨U+001B⟩]8;;http://x⟨U+001B⟩\\here"),
    "OSC 52 clipboard": ("\x1b]52;c;cm0=\x07", "⟨U+001B⟩]52;c;cm0=⟨U+0007⟩"),
    "OSC as one C1 character": ("\x9d0;t\x9c", "⟨U+009D⟩0;t⟨U+009C⟩"),
    "DCS": ("\x1bP+q\x1b\\", "⟨U+001B⟩P+q⟨U+001B⟩\\"),
    "DCS as one C1 character": ("\x90q", "⟨U+0090⟩q"),
    "APC": ("\x1b_Ga\x1b\\", "⟨U+001B⟩_Ga⟨U+001B⟩\\"),
    "full reset": ("\x1bc", "⟨U+001B⟩c"),
    "NUL": ("a\0b", "a⟨U+0000⟩b"),
    "BEL": ("\a", "⟨U+0007⟩"),
    "BS overwrites": ("no\b\byes", "no⟨U+0008⟩⟨U+0008⟩yes"),
    "CR overwrites": ("bad\rgood", "bad⟨U+000D⟩good"),
    "CR LF": ("a\r\nb", "a⟨U+000D⟩⏎ b"),
    "vertical tab and form feed": ("\v\f", "⟨U+000B⟩⟨U+000C⟩"),
    "shift out": ("\x0e", "⟨U+000E⟩"),
    "DEL": ("\x7f", "⟨U+007F⟩"),
    "NEL": ("\x85", "⟨U+0085⟩"),
    "tab": ("a\tb", "a b"),
    "line feed": ("a\nb", "a⏎ b"),
    "line and paragraph separators": ("\u2028\u2029", "⟨U+2028⟩⟨U+2029⟩"),
    "bidi embeddings": ("\u202a\u202b\u202c", "⟨U+202A⟩⟨U+202B⟩⟨U+202C⟩"),
    "bidi overrides": ("\u202d\u202egpj", "⟨U+202D⟩⟨U+202E⟩gpj"),
    "bidi isolates": ("\u2066\u2067\u2068\u2069", "⟨U+2066⟩⟨U+2067⟩⟨U+2068⟩⟨U+2069⟩"),
    "bidi marks": ("\u200e\u200f\u061c", "⟨U+200E⟩⟨U+200F⟩⟨U+061C⟩"),
    "zero-width": ("六\u200b四\u2060\ufeff", "六⟨U+200B⟩四⟨U+2060⟩⟨U+FEFF⟩"),
    "soft hyphen": ("a\u00adb", "a⟨U+00AD⟩b"),
    "invisible operators": ("\u2062", "⟨U+2062⟩"),
    "tags": ("a\U000e0001\U000e0041\U000e007f", "a⟨U+E0001⟩⟨U+E0041⟩⟨U+E007F⟩"),
    "all of the tag block": ("\U000e0000\U000e001f", "⟨U+E0000⟩⟨U+E001F⟩"),
    "lone high surrogate": ("\ud83d!", "⟨U+D83D⟩!"),
    "lone low surrogate": ("\udc80", "⟨U+DC80⟩"),
    "private use": ("\ue000\U0010fffd", "⟨U+E000⟩⟨U+10FFFD⟩"),
    "unassigned": ("\u0378\ufffe", "⟨U+0378⟩⟨U+FFFE⟩"),
}

KEPT = {
    "nothing": "",
    "ASCII": "".join(map(chr, range(0x20, 0x7F))),
    "Chinese": "六四事件，天安门广场：１９８９年。",
    "ideographic and no-break space": "中\u3000文\u00a0",
    "beyond the basic plane": "𠮷𪚥",
    "Uyghur": "ئۇيغۇر",
    "Tibetan": "བོད་ཡིག",
    "combining marks": "e\u0301 \u0928\u0940",
    "emoji joined by ZWJ": "👩\u200d👩\u200d👧",
    "emoji variation and skin tone": "❤\ufe0f 👍🏽",
    "ZWNJ": "می\u200cخواهم",  # noqa: RUF001
    "Arabic number sign": "\u0600١",  # noqa: RUF001
    "rich markup": "[/x] [bold]hi[/bold] [link=http://x]",
    "what an escape looks like when shown": "⟨U+001B⟩",
    "replacement character": "\ufffd",
}


@pytest.mark.parametrize(("text", "shown"), SHOWN.values(), ids=SHOWN)
def test_what_a_terminal_would_obey_or_hide_is_spelled_out(text, shown):
    """Every control, invisible and unencodable character appears as its code point."""
    assert escape(text) == shown


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_text_meant_to_be_read_is_unchanged(text):
    """Scripts, emoji, spaces, combining marks and markup stay as they are."""
    assert escape(text) == text


@pytest.mark.parametrize("start", [0x00, 0x80])
def test_every_control_character_is_spelled_out(start):
    """No C0 or C1 control gets through, whatever the setting of newlines."""
    controls = [chr(code) for code in range(start, start + 0x20) if chr(code) not in "\t\n"]

    assert [escape(char, newlines=True) for char in controls] == [
        f"⟨U+{ord(char):04X}⟩" for char in controls
    ]


def test_line_feeds_stay_if_asked_for():
    """With newlines, a line feed stays one; a carriage return is still spelled out."""
    assert escape("a\nb\r\n\tc", newlines=True) == "a\nb⟨U+000D⟩\n c"


@given(any_text)
def test_nothing_acts_on_a_terminal(text):
    """The result is one line of UTF-8 without control, bidi or other hidden characters."""
    shown = escape(text)

    assert {unicodedata.category(char) for char in shown}.isdisjoint({"Cc", "Cs", "Co", "Cn"})
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert len(shown.splitlines()) <= 1
    assert escape(shown) == shown


@given(any_text)
def test_only_line_feeds_are_kept_by_newlines(text):
    """With newlines, every line is shown just as it would be alone."""
    assert escape(text, newlines=True).split("\n") == [escape(line) for line in text.split("\n")]


@given(st.text(st.characters(categories=["L", "M", "N", "P", "S", "Zs"])))
def test_printable_text_is_unchanged(text):
    """Letters, marks, numbers, punctuation, symbols and spaces of any script stay."""
    assert escape(text) == text


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("", 1, ""),
        ("六四", 2, "六四"),
        ("六四事件", 3, "六四…"),
        ("ab", 1, "…"),
        ("a\nb", 4, "a⏎ b"),
        ("a\nbc", 4, "a⏎ …"),
        ("a\nbc", 3, "a…"),
        ("\x1b[31m", 12, "⟨U+001B⟩[31m"),
        ("\x1b[31m", 11, "⟨U+001B⟩[3…"),
        ("\x1b[31m", 8, "…"),
        ("x\ud800", 9, "x⟨U+D800⟩"),
        pytest.param("x" * 10_000_000, 5, "xxxx…", id="ten million characters"),
    ],
)
def test_preview_is_cut_between_whole_characters(text, limit, shown):
    """A preview fits, ends in an ellipsis if cut, and spells no character out by half."""
    assert preview(text, limit) == shown


@given(any_text, st.integers(min_value=1, max_value=60))
def test_preview_fits_and_begins_like_the_text(text, limit):
    """A preview never exceeds its limit and is the beginning of the visible text."""
    shown = preview(text, limit)

    assert len(shown) <= limit
    assert (escape(text) + "…").startswith(shown.removesuffix("…"))
    assert (shown == escape(text)) == (len(escape(text)) <= limit)


@pytest.mark.parametrize("limit", [0, -1])
def test_preview_without_room_is_refused(limit):
    """A limit below one is a mistake of the caller, not an empty line."""
    with pytest.raises(ValueError, match="at least one character"):
        preview("text", limit)
