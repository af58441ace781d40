"""What is written as JSON can be read by every program, and what is read holds no odd number."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import uncensoring_chinese_models
from uncensoring_chinese_models import strict_json

PACKAGE = Path(uncensoring_chinese_models.__file__).parent
ODD = ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", str(2**63), str(-(2**63)), "9" * 990]
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def test_no_other_module_reads_or_writes_json():
    """Each reader and writer goes through the strict ones, also those of pydantic and pandas."""
    other = re.compile(
        r"^\s*(import (json|orjson|simplejson)\b|from (json|orjson) import)"
        r"|model_dump_json|model_validate_json|\.to_json\(|JSONDecoder|JSONEncoder",
        re.MULTILINE,
    )
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if other.search(path.read_text("utf-8"))
    ]

    assert found == ["strict_json.py"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_json_is_never_written(value):
    """A number that is not finite is an error of the writer, wherever it stands."""
    with pytest.raises(ValueError, match="JSON"):
        strict_json.dumps({"a": [value]})


@pytest.mark.parametrize("number", ODD)
def test_odd_numbers_are_refused_or_unknown(number):
    """In a file they make it unreadable; in a paid answer each is unknown, and the rest is kept."""
    written = f'{{"kept": 1, "list": [{number}], "text": "NaN 1e999"}}'

    with pytest.raises(ValueError, match="is not finite or does not fit into 64 bits") as refused:
        strict_json.loads(written)

    assert len(str(refused.value)) < 120
    assert strict_json.loads_leniently(written.encode()) == {
        "kept": 1,
        "list": [None],
        "text": "NaN 1e999",
    }


@pytest.mark.parametrize("number", [str(2**63 - 1), str(1 - 2**63), "1e308", "-0.0", "5e-324"])
def test_numbers_that_every_program_can_hold_are_read_as_they_are(number):
    """The largest and smallest are no exception."""
    assert strict_json.loads(number) == strict_json.loads_leniently(number) == json.loads(number)


@pytest.mark.parametrize("number", ODD)
def test_odd_numbers_of_a_value_from_elsewhere_are_refused(number):
    """Whatever made the value, such as a library that repairs JSON."""
    value = {"a": [1, {"b": json.loads(number)}]}

    with pytest.raises(ValueError, match="is not finite or does not fit into 64 bits") as refused:
        strict_json.refuse_odd_numbers(value)
    assert len(str(refused.value)) < 120


@given(JSON)
def test_a_value_is_read_exactly_if_nothing_of_it_is_odd(value):
    """Reading agrees with the check of values that came from elsewhere, and with Python's JSON."""
    written = json.dumps(value)
    try:
        strict_json.refuse_odd_numbers(value)
    except ValueError:
        with pytest.raises(ValueError, match="64 bits"):
            strict_json.loads(written)
    else:
        assert strict_json.loads(written) == value
        assert strict_json.loads(strict_json.dumps(value)) == value
