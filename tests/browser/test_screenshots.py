"""The pictures of the README: taken by a script, so that they never go stale."""

import re
import struct

import pytest
from tools.screenshots import LARGEST_BYTES, LOOKS, report_pictures

from tests.support import ROOT


def size_of(path):
    """Return width and height of a PNG, as its header has them."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", content[16:24])


def test_a_report_is_pictured_by_day_and_by_night(browser, plain, tmp_path):
    """The first screen and a hypothesis, on a desk and on a phone, each of a size to publish."""
    taken = list(report_pictures(browser, plain.parent, tmp_path / "pictures"))

    names = [f"{what}{ending}.png" for ending in LOOKS for what in ("report", "hypothesis")]
    assert [path.name for path in taken] == names
    assert size_of(taken[0]) == (1280, 800)
    assert size_of(taken[2]) == (540, 1080)
    for path in taken:
        assert 5000 < path.stat().st_size <= LARGEST_BYTES


PICTURED = re.findall(r"docs/pictures/[\w-]+\.png", (ROOT / "README.md").read_text("utf-8"))


@pytest.mark.parametrize("name", PICTURED)
def test_the_pictures_of_the_readme_are_there(name):
    """Each is a PNG, and not too large."""
    assert size_of(ROOT / name)[0] >= 360
    assert (ROOT / name).stat().st_size <= LARGEST_BYTES
