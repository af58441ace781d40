"""The notebook goes from runs to figures, on runs that are made for it."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from tests.exported_runs import ALL_ODD, audited, broken_off, judged
from tests.support import ROOT

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.wire,
    pytest.mark.soak,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]
NOTEBOOK = ROOT / "docs/figures.ipynb"


def executed(folder, monkeypatch):
    """Run the notebook in a folder; a cell that fails raises."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    for needed in ("ipykernel", "pandas", "pyarrow"):
        pytest.importorskip(needed)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("IPYTHONDIR", str(folder / ".ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    return nbclient.NotebookClient(notebook, timeout=100, resources=resources).execute()


def test_notebook_makes_figures_and_their_data(tmp_path, monkeypatch):
    """Every cell runs; each figure is valid SVG with one dot per row of the data beside it."""
    audited(tmp_path / "outputs" / "a", ALL_ODD)
    judged(tmp_path / "outputs" / "b")
    broken_off(tmp_path / "outputs" / "c")

    executed(tmp_path, monkeypatch)

    for name, count in (("withheld", 2), ("knowledge", 4)):
        drawn = ET.parse(tmp_path / f"figures/{name}.svg").getroot()  # noqa: S314 -- our own
        rows = (tmp_path / f"figures/{name}.jsonl").read_text("utf-8").splitlines()
        dots = [each for each in drawn.iter() if each.tag.endswith("circle")]
        assert len(dots) == len(rows) == count
        assert all(json.loads(row)["target"] for row in rows)


def test_notebook_of_one_audit_has_no_facts_and_runs(tmp_path, monkeypatch):
    """Where nothing was judged the tables are empty, and no cell fails."""
    audited(tmp_path / "outputs")

    executed(tmp_path, monkeypatch)

    assert (tmp_path / "figures/knowledge.jsonl").read_text("utf-8").strip() == ""


def test_notebook_is_stored_without_outputs():
    """No output in the file can go stale."""
    cells = json.loads(NOTEBOOK.read_bytes())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]

    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
