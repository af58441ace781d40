"""What kind of answer a sample is: six recorded outcomes that are never mixed up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uncensoring_chinese_models.domain import Outcome, Reply


def classify(reply: Reply) -> Outcome:
    """Return the outcome of a call that was answered; a call that raised is `failed`.

    The host's policy comes first, since it decides whether the words are the model's at all; an
    empty text comes before `length`, since a reasoning parser may have eaten all tokens.
    """
    if reply.host_refusal is not None:
        return "host_refusal"
    if reply.finish_reason == "content_filter":
        return "content_filter"
    if not (reply.text or "").strip():
        return "empty"
    return "length" if reply.finish_reason == "length" else "answered"
