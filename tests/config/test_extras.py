"""Optional libraries: what a user is told to install."""

from __future__ import annotations

import pytest

from uncensoring_chinese_models.config import extras
from uncensoring_chinese_models.config.extras import require_extra
from uncensoring_chinese_models.errors import MissingExtraError


def missing(extra):
    with pytest.raises(MissingExtraError) as caught, require_extra(extra, "The thing"):
        raise ImportError(name="scipy")
    return str(caught.value)


def test_checkout_is_advised_to_use_make():
    """In a checkout, the targets of the Makefile install the extras at their locked versions."""
    assert missing("analysis") == (
        "The thing needs the extra `analysis`: scipy is not installed. "
        "Install it with: make install"
    )
    assert missing("inspect").endswith(": make extras")


def test_installed_wheel_is_advised_to_use_pip(monkeypatch, tmp_path):
    """Elsewhere the libraries are named, so that the package itself need not be on an index."""
    monkeypatch.setattr(extras, "_CHECKOUT", tmp_path)
    monkeypatch.setattr(
        "importlib.metadata.requires",
        lambda name: ["rich>=15", 'scipy==1.17.1; extra == "analysis"', 'x; extra == "view"'],
    )
    assert missing("analysis").endswith(": pip install 'scipy==1.17.1'")


def test_other_errors_pass():
    """Only a failed import is about an extra."""
    with pytest.raises(ValueError, match="no"), require_extra("view", "The viewer"):
        raise ValueError("no")
