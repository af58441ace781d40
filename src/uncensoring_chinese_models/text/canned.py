"""Sentences that hosts put in the place of a reply, or after its beginning.

They are compared without regard to the form of quotes, spaces, case and script. Each is listed with
where it was seen; a sentence that only a web page adds, and no server sends, is not listed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from uncensoring_chinese_models.text.chinese import fold_script
from uncensoring_chinese_models.text.normalisation import normalise

CANNED_SENTENCES = (
    "Sorry, that's beyond my current scope. Let's talk about something else.",  # DeepSeek
    "你好，这个问题我暂时无法回答，让我们换个话题再聊聊吧。",  # DeepSeek
    (
        "Sorry, I'm not sure how to approach this type of question yet. Let's chat about math, "
        "coding, and logic problems instead!"
    ),  # DeepSeek, thinking
    "抱歉，我还没有学会如何思考这类问题，我擅长数学、代码、逻辑类的题目，欢迎与我交流。",  # DeepSeek, thinking
    "尊敬的用户您好，让我们换个话题再聊聊吧。",  # Kimi
    "Sorry, I cannot provide this information. Please feel free to ask another question.",  # Kimi
    "抱歉，我无法回答你的问题",  # Doubao
    "很抱歉，我无法回答您的问题",  # the guard of Higress
    "抱歉，系统检测到您当前输入的信息存在敏感内容，我无法响应您的请求，请检查后重新输入。",  # CodeBuddy
)
"""Sentences that count wherever they end a reply."""
CANNED_AFTER_FILTER = ("I'm sorry, but I cannot assist with that request.",)
"""Sentences of relays that models write as well: they count where the finish reason names a filter."""

Join = Literal["whole", "spliced", "appended"]


class CannedEnding(NamedTuple):
    """A canned sentence at the end of a text."""

    start: int
    join: Join
    """It is the `whole` text; it is `spliced` onto a text that breaks off; or it is `appended` to a
    text that ends with a whole sentence."""


_END = ".!?'… "
_BREAKS_AFTER = re.compile(r"[\w,;\-]\Z")
_SPOKEN_OF = re.compile(r"(?:[:'(\[]|-{2,}|>)\s*\Z")
"""Before a sentence that is quoted or named: the text speaks of it."""
_OPENING_QUOTE = re.compile(r"['`\u00ab<]\s*\Z|\A\s*>\s*\Z")
_ANNOUNCED = re.compile(
    r"(?:\b(?:is|are|says?|said|answer(?:s|ed)?|repl(?:y|ies|ied)|responds?|responded|writes?|wrote"
    r"|shows?|reads?|displays?|follows)|[说道称答复写示是为])\Z",
    re.IGNORECASE,
)
"""Before a sentence that the text may announce, so that it did not break off for sure."""


@lru_cache(maxsize=256)
def canned_at_end(text: str, *, is_filtered: bool = False) -> CannedEnding | None:
    """Return the canned sentence with which a text ends, if there is one.

    ``"In 1989 the army 你好，这个问题我暂时无法回答，让我们换个话题再聊聊吧。"`` → spliced on at 17.
    """
    tail = normalise(text[-_TAIL_CHARS:])
    folded = fold_script(tail.text).rstrip(_END)
    for sentence in _folded(is_filtered=is_filtered):
        if not folded.endswith(sentence):
            continue
        at = len(folded) - len(sentence)
        start = max(len(text) - _TAIL_CHARS, 0) + tail.span(at, at + 1)[0]
        before = text[:start].rstrip()
        end = fold_script(normalise(before[-_TAIL_CHARS:]).text)
        if before.endswith("`") or _OPENING_QUOTE.search(end):
            return None
        if not any(map(str.isalnum, before)):
            return CannedEnding(start, "whole")
        if _SPOKEN_OF.search(end):
            return None
        breaks_off = _BREAKS_AFTER.search(end) and not _ANNOUNCED.search(end)
        return CannedEnding(start, "spliced" if breaks_off else "appended")
    return None


@lru_cache(maxsize=2)
def _folded(*, is_filtered: bool) -> tuple[str, ...]:
    sentences = CANNED_SENTENCES + (CANNED_AFTER_FILTER if is_filtered else ())
    folded = (fold_script(normalise(each).text).rstrip(_END) for each in sentences)
    return tuple(sorted(folded, key=len, reverse=True))


_TAIL_CHARS = 400
