"""What a person does with a page and sees of it, for tests to do and see."""

from __future__ import annotations

import asyncio
import ipaddress
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page, Request

Scheme = Literal["light", "dark"]


@dataclass(frozen=True)
class Look:
    """How a page is looked at."""

    width: int = 1280
    scheme: Scheme = "light"
    scripts: bool = True

    def __str__(self) -> str:
        return f"{self.width}-{self.scheme}" + ("" if self.scripts else "-noscript")

    def context(self) -> dict[str, Any]:
        """Return the settings of a browser context that looks so."""
        return {
            "viewport": {"width": self.width, "height": 800},
            "color_scheme": self.scheme,
            "java_script_enabled": self.scripts,
            "reduced_motion": "reduce",
        }


_SCHEMES: tuple[Scheme, ...] = ("light", "dark")
LOOKS = [
    Look(width, scheme, scripts=scripts)
    for width, scheme, scripts in product((360, 1280), _SCHEMES, (True, False))
]
"""On a phone and on a desk, by day and by night, with and without scripts."""


# --- what goes wrong ------------------------------------------------------------------------------


def watch(page: Page, problems: list[str]) -> None:
    """Note every error, dialog, popup, download and request to elsewhere.

    The first request says what is under test: a file is alone in the world, and a server on this
    machine is asked for whatever is its own.
    """
    home: list[str] = []

    def asked(request: Request) -> None:
        home[:] = home or [request.url]
        if not is_home(home[0], request.url):
            problems.append(f"a request to {request.url}")

    def said(message: Any) -> None:
        if message.type == "error":
            problems.append(f"console: {message.text}")

    page.on("request", asked)
    page.on("console", said)
    page.on("pageerror", lambda error: problems.append(f"an exception: {error}"))
    page.on("crash", lambda _: problems.append("the page crashed"))
    page.on("popup", lambda _: problems.append("a popup"))
    page.on("download", lambda load: problems.append(f"a download of {load.url}"))
    page.on("websocket", lambda socket: problems.append(f"a web socket to {socket.url}"))

    def spoke(dialog: Any) -> None:
        problems.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    page.on("dialog", spoke)


def is_home(first: str, url: str) -> bool:
    """Tell whether a request stays with the file, or the loopback origin, that was opened first."""
    home, asked = urlsplit(first), urlsplit(url)
    if home.scheme == "file":
        return asked._replace(fragment="") == home._replace(fragment="")
    same = (home.scheme, home.netloc) == (asked.scheme, asked.netloc)
    return same and ipaddress.ip_address(home.hostname or "").is_loopback


# --- what is seen ---------------------------------------------------------------------------------


_LAID_OUT = """() => document.querySelectorAll('*').forEach(one => {
  if (getComputedStyle(one).contentVisibility === 'auto') one.style.contentVisibility = 'visible';
})"""


def axe(page: Page) -> list[str]:
    """Return what axe finds wrong with the page, one line for each element.

    What is laid out only when it comes into sight is laid out first: axe would take its
    placeholder for where it stands, and find it under something else.
    """
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415 - it may be missing

    page.evaluate(_LAID_OUT)
    found = Axe().run(page).response["violations"]
    return [
        f"{rule['id']}: {node['target']} {node['html'][:120]}: {node['failureSummary']}"
        for rule in found
        for node in rule["nodes"]
    ]


_OVERFLOW = """() => {
  const room = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= room) return [];
  const wide = [...document.body.querySelectorAll('*')].filter(
    one => one.getBoundingClientRect().right > room + 1);
  return wide.slice(0, 5).map(one => one.outerHTML.slice(0, 120)).concat('the page scrolls sideways');
}"""


def overflow(page: Page) -> list[str]:
    """Return what is wider than the window, if that makes the page scroll sideways."""
    found: list[str] = page.evaluate(_OVERFLOW)
    return found


_BITMAPS = """([selector, characters]) => {
  const place = document.querySelector(selector) ?? document.body;
  const style = getComputedStyle(place);
  return characters.map(character => {
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 48;
    const brush = canvas.getContext('2d');
    brush.font = `32px ${style.fontFamily}`;
    brush.fillText(character, 4, 38);
    return [...brush.getImageData(0, 0, 48, 48).data].filter((_, at) => at % 4 == 3).join();
  });
}"""


def boxes(page: Page, text: str, selector: str = "body") -> list[str]:
    """Return the characters that the fonts of an element draw as a box, or not at all.

    A character without a glyph looks like every other one that has none, such as a noncharacter.
    """
    characters = sorted(set(text))
    drawn = page.evaluate(_BITMAPS, [selector, [*characters, "\uffff", "\U0010fffd", " "]])
    *pictures, box, other_box, blank = drawn
    known = [one for one in pictures if one not in {box, other_box, blank}]
    return [
        character
        for character, picture in zip(characters, pictures, strict=True)
        if picture not in known or known.count(picture) > 1
    ]


def focused(page: Page) -> str:
    """Return the opening tag of the element that has the keyboard."""
    html: str = page.evaluate("() => document.activeElement.outerHTML")
    return html.partition(">")[0] + ">"


def tab_stops(page: Page, most: int = 400) -> int:
    """Press Tab until it comes round, mark every element it reached, and say how many there are.

    The elements bear the attribute ``data-tabbed`` afterwards.
    """
    for count in range(most):
        page.keyboard.press("Tab")
        is_new = page.evaluate(
            """() => {
              const one = document.activeElement;
              if (!one || one === document.body || one.dataset.tabbed) return false;
              one.dataset.tabbed = 'yes';
              return true;
            }"""
        )
        if not is_new:
            return count
    raise AssertionError(f"Tab was pressed {most} times and did not come round")


# --- beside the browser ---------------------------------------------------------------------------


@contextmanager
def outside_its_loop() -> Iterator[None]:
    """Let this thread run another event loop while Playwright's stands still."""
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)
