"""Servers that repeat the keys they know: in every encoding, in every place of a response."""

from __future__ import annotations

import base64
import codecs
import html
import itertools
import json
import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.provider.answering import Plan
from tests.provider.wire import encode


def _each(pattern: str) -> Callable[[str], str]:
    """Return an encoding that writes each character by a pattern, as its number or as itself."""
    return lambda key: "".join(pattern.format(ord(char), char) for char in key)


def _second(pattern: str) -> Callable[[str], str]:
    """Return an encoding that writes every other character by a pattern."""
    return lambda key: "".join(
        pattern.format(ord(char), char) if at % 2 else char for at, char in enumerate(key)
    )


def _between(separator: str) -> Callable[[str], str]:
    return separator.join


def _b64(before: str, *, url: bool = False, charset: str = "utf-8") -> Callable[[str], str]:
    encode = base64.urlsafe_b64encode if url else base64.b64encode
    return lambda key: encode(f"{before}{key} and more".encode(charset)).decode()


ENCODINGS: Mapping[str, Callable[[str], str]] = {
    "as it is": lambda key: key,
    "in a header": lambda key: f"{{'authorization': 'Bearer {key}'}}",
    "upper case": str.upper,
    "lower case": str.lower,
    "reversed": lambda key: key[::-1],
    "JSON escapes": _each("\\u{0:04x}"),
    "some JSON escapes": _second("\\u{0:04X}"),
    "JSON in JSON": lambda key: json.dumps(json.dumps(_second("\\u{0:04x}")(key))),
    "Python escapes": _second("\\x{0:02x}"),
    "octal escapes": _second("\\{0:03o}"),
    "percent-encoded": _each("%{0:02X}"),
    "percent-encoded where needed": lambda key: urllib.parse.quote(key.replace("-", "/"), safe=""),
    "some percent-encoded": _second("%{0:02x}"),
    "percent-encoded twice": _second("%25{0:02X}"),
    "quoted-printable": _second("={0:02X}"),
    "HTML entities": _each("&#{0};"),
    "some HTML entities": _second("&#x{0:X};"),
    "JSON in HTML in percent": lambda key: urllib.parse.quote(
        _second("&#92;u{0:04x}")(key), safe=""
    ),
    "HTML entities twice": lambda key: html.escape(_second("&#{0};")(key)),
    "hex": lambda key: key.encode().hex(),
    "hex of reversed": lambda key: key[::-1].encode().hex(),
    "reversed hex": lambda key: key.encode().hex()[::-1],
    "hex of base64": lambda key: _b64("Bearer ")(key).encode().hex(),
    "base64 of hex": lambda key: _b64("0x")(key.encode().hex()),
    "base64 of HEX": lambda key: _b64("0x")(key.encode().hex().upper()),
    "hex of hex": lambda key: key.encode().hex().encode().hex(),
    "hex of upper case": lambda key: key.upper().encode().hex(),
    "hex of UTF-32": lambda key: key.encode("utf-32-le").hex(),
    "hex dump": lambda key: key.encode().hex(" ").upper(),
    "hex numbers": lambda key: ", ".join(map(hex, key.encode())),
    "numbers": lambda key: str(list(key.encode())),
    "bits": _each("{0:08b} "),
    "octal numbers": lambda key: ", ".join(map(oct, key.encode())),
    "bit numbers": lambda key: ", ".join(map(bin, key.encode())),
    "code points": _each("U+{0:04X} "),
    **{f"base64 after {n}": _b64("B" * n) for n in range(3)},
    **{f"base64url after {n}": _b64("B" * n, url=True) for n in range(3)},
    "base64 of a header": _b64("Authorization: Bearer "),
    "base64 reversed": lambda key: _b64("")(key)[::-1],
    "base64 of UTF-16": _b64("Bearer ", charset="utf-16-le"),
    "base64 twice": lambda key: base64.b64encode(_b64("Bearer ")(key).encode()).decode(),
    "base64 in lines": lambda key: base64.encodebytes(
        f"Authorization: Bearer {key}".encode()
    ).decode(),
    "base64 three times": lambda key: _b64("")(_b64("")(_b64("Bearer ")(key))),
    "base64 of JSON escapes": lambda key: _b64("Bearer ")(_each("\\u{0:04x}")(key)),
    "base64 of percent-encoded": lambda key: _b64("Bearer ")(_each("%{0:02X}")(key)),
    "base64 of hex bytes": lambda key: _b64("x")(key.encode().hex(" ")),
    "base64 of upper case": lambda key: _b64("Bearer ")(key.upper()),
    "base64 of UTF-32": _b64("Bearer ", charset="utf-32-be"),
    "rot13": lambda key: codecs.encode(key, "rot13"),
    "base32hex": lambda key: base64.b32hexencode(f"Bearer {key}".encode()).decode(),
    "base85": lambda key: base64.b85encode(f"Bearer {key}".encode()).decode(),
    "Ascii85": lambda key: base64.a85encode(f"Bearer {key}".encode()).decode(),
    "base32": lambda key: base64.b32encode(f"Bearer {key}".encode()).decode(),
    "UTF-16": lambda key: key.encode("utf-16-le").decode("latin-1"),
    "spaces between": _between(" "),
    "lines between": _between("\n"),
    "zero width between": _between("\u200b"),
    "word joiners between": _between("\u2060"),
    "soft hyphens between": _between("\u00ad"),
    "commas between": _between("','"),
    "escaped breaks between": _between("\\n"),
    "escaped zero width between": _between("&#8203;"),
    "tags between": _between("<wbr>"),
    "tags around": lambda key: "".join(f'<i class="x1">{char}</i>' for char in key),
    "comments between": _between("<!-- x -->"),
    "colours between": _between("\x1b[31m"),
    "escaped colours between": _between("\\u001b[0;1m"),
    "full width": lambda key: key.translate({n: n + 0xFEE0 for n in range(33, 127)}),
    "invisible tags": lambda key: key.translate({n: n + 0xE0000 for n in range(33, 127)}),
    "cut short": lambda key: key[: -(len(key) // 6)],
}
"""How a key may be written."""


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _parts(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _thirds(text: str) -> list[str]:
    return _parts(text, -(-len(text) // 3))


APART: Mapping[str, Callable[[str], str]] = {
    "thirds": lambda key: "it begins {}, goes on {} and ends {}".format(*_thirds(key)),
    "thirds in another order": lambda key: "{2} after {0} after {1}".format(*_thirds(key)),
    "thirds of reversed": lambda key: "{} + {} + {}".format(*_thirds(key[::-1])),
    "masked in the middle": lambda key: f"{key[: len(key) // 2 - 2]}****{key[len(key) // 2 + 2 :]}",
    "fields with numbers": lambda key: json.dumps(
        {f"part_{number}": part for number, part in enumerate(_parts(key, 5))}
    ),
    "numbered characters": lambda key: json.dumps(
        {str(number): char for number, char in enumerate(key)}
    ),
    "numbered lines": lambda key: "".join(
        f"{number}: {part}\n" for number, part in enumerate(_parts(key, 3))
    ),
    "dump of characters": lambda key: "\n".join(
        f"{8 * number:07o}   " + "   ".join(part) for number, part in enumerate(_parts(key, 8))
    ),
    "plain events": lambda key: "".join(f"data: {part}\n\n" for part in _parts(key, 5)),
    "named events": lambda key: "".join(
        f"event: delta\nid: {number}\ndata: {part}\n\n"
        for number, part in enumerate(_parts(key, 4))
    ),
    "events of escapes": lambda key: "".join(
        f'data: {{"content": "{ENCODINGS["JSON escapes"](part)}"}}\n\n' for part in _parts(key, 4)
    ),
    "events of base64": lambda key: "".join(
        f'data: {{"content": "{part}"}}\n\n' for part in _parts(_b64("")(key), 4)
    ),
    "events of numbers": lambda key: "".join(
        f'data: {{"byte": {number}}}\n\n' for number in key.encode()
    ),
    "events in Python": lambda key: "".join(
        f"data: {{'text': '{part}'}}\n" for part in _parts(key, 4)
    ),
    "halves": lambda key: "one {} two {}".format(*_halves(key)),
    "second half first": lambda key: "{1} ends it, {0} begins it".format(*_halves(key)),
    "reversed halves": lambda key: "{} and {}".format(*(each[::-1] for each in _halves(key))),
    "halves in upper case": lambda key: "{} AND {}".format(*_halves(key.upper())),
    "half with spaces": lambda key: " ".join(key[: -len(key) // 3]),
    "halves of reversed hex": lambda key: "{} or {}".format(*_halves(key.encode().hex()[::-1])),
    "halves of reversed base64": lambda key: "{} or {}".format(*_halves(_b64("")(key)[::-1])),
    "halves of hex": lambda key: "{} or {}".format(*_halves(key.encode().hex())),
    "halves of base64": lambda key: "{} or {}".format(*_halves(_b64("")(key))),
    "events of a stream": lambda key: "".join(
        f'data: {{"object": "chunk", "choices": [{{"delta": {{"content": "{part}"}}}}]}}\n\n'
        for part in (key[at : at + 5] for at in range(0, len(key), 5))
    ),
    "lines": lambda key: "\n".join(f"{at:04} {key[at : at + 16]}" for at in range(0, len(key), 16)),
    "hex dump with text": lambda key: "\n".join(
        f"{at:08x}  {key[at : at + 16].encode().hex(' ')}  |{key[at : at + 16]}|"
        for at in range(0, len(key), 16)
    ),
}
"""How the parts of a key may be written apart from each other."""


_PIECE = 16
"""So much of a key is more than a server shows of it."""


def traces(content: bytes, key: str) -> list[str]:
    """Name the encodings in which a key stands in some bytes, by other means than the program's."""
    raw = content.decode("utf-8", "replace")
    text = "\n".join([raw, *_strings_of(raw)])
    squeezed, found = _squeeze(text), []
    for name, written in ENCODINGS.items():
        form = written(key)
        short = _squeeze(form)
        if form in text or (len(short) > 9 and short in squeezed):
            found.append(name)
    for each in (key, key[::-1]):
        blocks = (each[at : at + _PIECE // 2] for at in range(0, len(key), _PIECE // 2))
        if any(block in text for block in blocks):  # each piece holds one, and it is seldom there
            pieces = (each[at : at + _PIECE] for at in range(len(key) - _PIECE + 1))
            found += ["a piece"] * any(piece in text for piece in pieces)
    events = "".join(re.findall(r'content\\*": \\*"([^"\\]*)', text))
    found += ["events of a stream"] * (key in events)
    runs = set(re.findall(r"[A-Za-z0-9+/_-]{20,}", text))
    decoded = [_decoded(run[at:]) for run in runs for at in range(4)]
    found += ["base64"] * any(key.encode() in each for each in decoded)
    return found


def _squeeze(text: str) -> str:
    return re.sub("[^0-9a-z]+", "", text.lower())


def _decoded(run: str) -> bytes:
    whole = run[: len(run) // 4 * 4].translate(str.maketrans("-_", "+/"))
    return base64.b64decode(whole)


def _strings_of(text: str) -> Iterator[str]:
    """Yield the strings of JSON or of lines of JSON."""
    for part in (text, *text.splitlines()):
        try:
            pending = [json.loads(part)]
        except ValueError:
            continue
        while pending:
            value = pending.pop()
            if isinstance(value, str):
                yield value
            elif isinstance(value, list):
                if value and all(isinstance(each, str) for each in value):
                    yield "".join(value)
                pending += value
            elif isinstance(value, dict):
                pending += [*value.values(), *value]


# --- responses ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Echo:
    """Puts forms of keys, in turn, into every text of a response and around it."""

    forms: Sequence[str]
    charset: str
    at_once: int
    starts: Iterator[int] = field(default_factory=itertools.count)

    def some(self) -> str:
        """Return the next forms, each time another one first, so that a cut shows each of them."""
        at = next(self.starts) % len(self.forms)
        return " ".join([*self.forms[at:], *self.forms][: self.at_once])

    def changed(self, value: Any) -> Any:
        """Return a JSON value with forms in all of its texts."""
        if isinstance(value, dict):
            held = {name: self.changed(each) for name, each in value.items()}
            return held | {"x_echo": self.some()}
        if isinstance(value, list):
            return [self.changed(each) for each in value]
        if isinstance(value, str):
            return _in_turn(value, self.some) or f"{value} {self.some()}"
        return value

    def __call__(self, plan: Plan) -> Plan:
        plain = [form for form in self.forms if form.isascii() and form.isprintable()]
        said = " ".join(plain)[:4000]
        headers = {**plan.headers, "X-Generation-Id": f"gen-{said}", "X-Echo": said}
        if "Location" in headers:
            headers["Location"] += f" {said}"
        payload, fault = plan.payload, plan.fault
        try:
            payload = encode(self.changed(json.loads(payload))).decode().encode(self.charset)
        except (ValueError, RecursionError):
            if "Content-Encoding" not in headers:
                payload = f"{self.some()} ".encode(self.charset) + payload
        if fault is not None and fault.unheard is not None:
            fault = replace(fault, unheard=f"{self.some()} ".encode() + fault.unheard)
        return replace(plan, fault=fault, headers=headers, payload=payload, reason=f"No {said}")


def everywhere(*keys: str, charset: str = "utf-8", at_once: int = 9) -> Callable[[Plan], Plan]:
    """Return what puts forms of these keys, in turn, into every text of a response and around it."""
    ways = [*ENCODINGS.values(), *APART.values()]
    return _Echo([written(key) for key in keys for written in ways], charset, at_once)


def _in_turn(text: str, some: Callable[[], str]) -> str | None:
    """Return a turn of the auditor with the forms in its prose; None for any other text."""
    try:
        turn = json.loads(text)
    except ValueError:
        return None
    if not isinstance(turn, dict):
        return None

    def spoil(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: spoil(each) for name, each in value.items()}
        if isinstance(value, list):
            return [spoil(each) for each in value]
        return f"{value} {some()[:500]}" if isinstance(value, str) and " " in value else value

    return json.dumps(spoil(turn), ensure_ascii=False)
