"""Make text from models safe for a terminal: control and hidden characters are spelled out.

Markup of rich such as ``[/x]`` stays as it is; the printer escapes it.
"""

from __future__ import annotations

import unicodedata
from itertools import accumulate

# General categories: controls, format characters, surrogates, private use, unassigned, and the
# line and paragraph separators. Spaces such as U+3000 and combining marks are in none of these.
_SPELLED_OUT = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

# Format characters that stay: the two joiners shape emoji and several scripts, and the others
# (number signs and marks of Arabic, Syriac and Kaithi) are drawn like any letter.
_KEPT = frozenset(
    "\u200c\u200d"
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)


def escape(text: str, *, newlines: bool = False) -> str:
    r"""Spell out every character that a terminal would obey or not show.

    The result can always be encoded as UTF-8 and holds no control character, except the line
    feed if asked for. ``"\x1b[2J六四"`` → ``"⟨U+001B⟩[2J六四"``.

    Args:
        text: anything a model wrote, lone surrogates included.
        newlines: keep line feeds; otherwise each is shown as ``⏎`` and a space.
    """
    if text.isprintable():
        return text
    line_feed = "\n" if newlines else "⏎ "
    return "".join(char if char.isprintable() else _show(char, line_feed) for char in text)


def preview(text: str, limit: int) -> str:
    """Show the beginning of a text on one line of at most ``limit`` characters.

    Characters are code points, not terminal columns. A text that does not fit ends in ``…``,
    and no character is spelled out by half.

    Raises:
        ValueError: if there is no room for even one character.
    """
    if limit < 1:
        raise ValueError(f"a preview needs room for at least one character, not {limit}")
    # Nothing gets shorter by being shown, so what lies past the limit need not be looked at.
    start = escape(text[: limit + 1])
    if len(start) <= limit:
        return start
    pieces = [escape(char) for char in text[:limit]]
    ends = accumulate(len(piece) for piece in pieces)
    return "".join(piece for piece, end in zip(pieces, ends, strict=True) if end < limit) + "…"


def _show(char: str, line_feed: str) -> str:
    """Show one character that is not printable in Python's sense of the word."""
    if char == "\n":
        return line_feed
    if char == "\t":
        return " "
    if char in _KEPT or unicodedata.category(char) not in _SPELLED_OUT:
        return char
    return f"⟨U+{ord(char):04X}⟩"
