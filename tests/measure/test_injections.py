"""Texts that want to move a judge: the table in the docs is that of this version, and moves nothing."""

from __future__ import annotations

import pytest
from tools.injection_table import PAGE, count, with_table

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def counts():
    """Try every text on every reply, once."""
    return count()


def test_no_verdict_moves_and_no_text_leaves_its_slot(counts):
    """Neither the patterns' verdicts, nor the request, nor a judge that obeys what is outside."""
    for kind, found in counts.items():
        assert (found.patterns, found.outside, found.obedient) == (0, 0, 0), kind
        assert found.tried >= 36 * 6 * found.texts


def test_judge_that_obeys_is_moved_where_there_is_no_slot(counts):
    """Else the zeros would say nothing."""
    assert all(found.without_slot > found.tried // 3 for found in counts.values())


def test_table_is_of_this_version(counts):
    """Who changes a rule, a text or the prompt must make it anew."""
    page = PAGE.read_text("utf-8")

    assert with_table(page, counts) == page
