"""The delivery of a sample, read from the server's reply, and which part of the text is the reply."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from uncensoring_chinese_models.domain import is_cut
from uncensoring_chinese_models.models.hosts.wording import says_block
from uncensoring_chinese_models.text import canned_at_end, fold_script, reply_in

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Delivery, Reply
    from uncensoring_chinese_models.text import CannedEnding


def delivery_of(reply: Reply) -> Delivery:
    """Return the delivery of a reply; a call that raised an error is `failed`.

    The host's policy comes first, since it decides whether the words are the model's at all; an
    empty text comes before `truncated`, since a reasoning parser may have taken all tokens.
    """
    if reply.block is not None:
        return reply.block
    if not (reply.text or "").strip():
        return "empty"
    return "truncated" if is_cut(reply.finish_reason, reply.native_finish_reason) else "complete"


_MAX_NOTICE = 200
"""A notice of a gateway is one or two sentences."""
_OF_YOUR_PROMPT = re.compile(
    r"[你您](?:当前)?的?(?:输入|提问|问题|请求|消息)|系统(?:已)?检测"
    r"|\byour (?:input|prompt|message|request|question|query)\b",
    re.IGNORECASE,
)
"""How a notice speaks of the prompt; a text on censorship does not."""


class Arrived(NamedTuple):
    """What arrived for a sample: the delivery, and where the reply stands in its own words."""

    delivery: Delivery
    start: int
    """Thoughts stand before it."""
    end: int
    """The host's words stand behind it."""
    hosts_words: str | None = None


def read_arrived(
    reply: Reply,
    own_words: str,
    *,
    is_reply: bool = True,
    in_thought: bool = False,
    has_host: bool = True,
    max_tokens: int | None = None,
) -> Arrived:
    """Return the delivery with the part of the text that is the reply.

    A text of thoughts alone is `empty`, as it is where the server splits thoughts off. A canned
    sentence counts in the order of the rules for hosts: after errors and finish reasons.

    Args:
        reply: what the server sent.
        own_words: what was written inside the sampled turn.
        is_reply: false for a continuation of our text.
        in_thought: whether the prompt had opened the thoughts.
        has_host: false where the user runs the server, so that nobody else writes the text.
        max_tokens: the limit that was asked for; it tells where a server gives no finish reason.
    """
    delivery = delivery_of(reply)
    if delivery == "complete" and _has_used_all(reply, max_tokens):
        delivery = "truncated"
    if reply.block_message is not None:
        return Arrived(delivery, 0, 0, reply.block_message)
    start, end = reply_in(own_words, is_reply=is_reply, in_thought=in_thought)
    is_filtered = reply.block is not None
    if own_words.strip() and not own_words[start:].strip() and not is_filtered:
        return Arrived("empty", start, end)
    canned = canned_at_end(own_words[start:], is_filtered=is_filtered) if has_host else None
    if canned is None and has_host and not is_filtered and _is_notice(own_words[start:], reply):
        return Arrived("suspected_block", start, start, own_words[start:].strip())
    if canned is None:
        return Arrived(delivery, start, end)
    end = start + canned.start
    if not is_filtered:
        delivery = _of_canned(canned, reply)
    return Arrived(delivery, start, end, own_words[end:].strip())


def _has_used_all(reply: Reply, max_tokens: int | None) -> bool:
    """Return whether a reply without a finish reason has as many tokens as it may have."""
    tokens = reply.usage.completion_tokens
    if reply.finish_reason or reply.native_finish_reason or tokens is None or max_tokens is None:
        return False
    return tokens >= max_tokens


def _is_notice(text: str, reply: Reply) -> bool:
    """Return whether a text that no token was billed for says that the prompt was stopped."""
    is_unbilled = reply.usage.completion_tokens == 0
    folded = fold_script(text)
    is_to_user = len(text) <= _MAX_NOTICE and _OF_YOUR_PROMPT.search(folded) is not None
    return is_unbilled and is_to_user and says_block(folded)


def _of_canned(canned: CannedEnding, reply: Reply) -> Delivery:
    """Return `replaced` where it is sure that the host wrote the sentence.

    That is so where no token of a model is counted, and where the text before it breaks off. A model
    can have learned the sentence too, so otherwise this is a `suspected_block`.
    """
    is_sure = canned.join == "spliced" or reply.usage.completion_tokens == 0
    return "replaced" if is_sure else "suspected_block"
