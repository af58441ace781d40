"""What `make test` says where there is no browser: the tests are run with a PATH that has none."""

import pytest

from tests.support import ROOT, run_python

pytestmark = pytest.mark.browser  # with the tests that it is about

WORDS = ("-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", "tests/browser/test_report.py")
ONE = "test_a_page_that_obeys_is_caught and link"


def test_skipping_is_said_loudly_at_the_very_end(tmp_path):
    """The last lines say how many tests of pages did not run, and what to do."""
    ended = run_python(ROOT, *WORDS, "-k", ONE, PATH=str(tmp_path), UCM_BROWSER="")
    assert ended.returncode == 0, ended.stdout
    last = ended.stdout.splitlines()[-3:]
    assert "BROWSER TESTS WERE SKIPPED" in last[0]
    assert last[1] == "1 tests of pages did not run: no Chromium is found (make browser)."


def test_where_a_browser_is_required_its_absence_is_a_failure(tmp_path):
    """CI passes with all of its tests, or not at all."""
    ended = run_python(ROOT, *WORDS, "-k", ONE, PATH=str(tmp_path), UCM_BROWSER="required")
    assert ended.returncode == 1
    assert "UCM_BROWSER=required" in ended.stdout
    assert "1 error" in ended.stdout
