"""The delivery of a sample, read from the server's reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Delivery, Reply


def delivery_of(reply: Reply) -> Delivery:
    """Return the delivery of a reply; a call that raised an error is `failed`.

    The host's policy comes first, since it decides whether the words are the model's at all; an
    empty text comes before `truncated`, since a reasoning parser may have taken all tokens.
    """
    if reply.block is not None:
        return reply.block
    if not (reply.text or "").strip():
        return "empty"
    return "truncated" if reply.finish_reason == "length" else "complete"
