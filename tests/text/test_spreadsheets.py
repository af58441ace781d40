"""Cells that no spreadsheet obeys, however long their texts are."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uncensoring_chinese_models.text.escaping import escape
from uncensoring_chinese_models.text.spreadsheets import FORMULA, harmless

SLOW_RULE = re.compile(rf"(^|[\n\t;,|\"'])([\s\"'\u200c\u200d]*)(?=[{FORMULA}])")
"""The rule in one expression, which takes time by the square of the text."""


@given(st.text(alphabet="=-|\uff0b;,\"'\t\n \u3000\u200cab", max_size=12))
def test_an_apostrophe_stands_where_the_rule_says(text):
    """At every place where somebody might see the beginning of a formula, and nowhere else."""
    assert harmless(text) == SLOW_RULE.sub(r"\1\2'", escape(text, newlines=True))


@pytest.mark.parametrize("filler", ["\n", '"', "'", " ", "\u200d", "\n\"'", ";", "|", "a "])
@pytest.mark.parametrize("end", ["a", "=1"])
def test_long_texts_take_no_longer_than_they_must(filler, end):
    """200,000 characters of what may stand before a formula are looked at once."""
    text = filler * (200_000 // len(filler)) + end

    start = time.process_time()
    found = harmless(text)

    assert time.process_time() - start < 5
    assert found.replace("'", "") == text.replace("'", "")
