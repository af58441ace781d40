import re
import tomllib
from pathlib import Path

import pytest
import yaml
from hatchling.builders.wheel import WheelBuilder

from uncensoring_chinese_models import __version__

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def canonical_name(requirement):
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name.group()).lower()


@pytest.mark.parametrize(
    "address", ["http://", "https://", "file:", "--index-url", "--extra-index-url", "--find-links"]
)
def test_lock_names_no_place_to_install_from(address):
    """Whoever installs chooses the package index; the lock pins content only."""
    assert address not in LOCK


@pytest.mark.parametrize("requirement", PROJECT["dependencies"])
def test_runtime_dependency_is_pinned_with_a_hash(requirement):
    """Each dependency has one exact version, and pip can verify what it downloads."""
    pin = rf"^{re.escape(canonical_name(requirement))}==\S+ \\\n    --hash=sha256:[0-9a-f]{{64}}"

    assert re.search(pin, LOCK, flags=re.MULTILINE)


def test_every_pin_has_a_hash():
    """A single pin without a hash would make pip refuse the whole lock."""
    pins = re.findall(r"^[a-z0-9][^\n]*", LOCK, flags=re.MULTILINE)

    assert pins
    assert [pin for pin in pins if not re.fullmatch(r"[a-z0-9-]+==\S+ \\", pin)] == []


def test_promised_config_has_the_six_keys():
    """The config that the documented command names holds exactly the documented settings."""
    config = yaml.safe_load((ROOT / "configs/search_censored.yaml").read_text(encoding="utf-8"))

    assert list(config) == [
        "topic",
        "auditing_model",
        "audited_model",
        "sampling",
        "max_iterations",
        "output_dir",
    ]


@pytest.mark.parametrize("folder", ["data", "facts_files", "organisms", "prompts"])
def test_wheel_holds_the_data_of_the_package(folder):
    """What lies beside the modules is installed with them."""
    package = ROOT / "src/uncensoring_chinese_models"
    built = WheelBuilder(str(ROOT)).recurse_included_files()
    packed = {each.distribution_path for each in built}

    files = [path for path in (package / folder).iterdir() if path.is_file()]
    assert files
    assert {path.relative_to(package.parent).as_posix() for path in files} <= packed


def test_ci_runs_the_test_target():
    """CI and a contributor run the same command, and it exists."""
    ci = (ROOT / ".ci/run").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert ci.splitlines()[-1] == "make test"
    assert re.search(r"^test:.*\bcheck\b", makefile, flags=re.MULTILINE)


def test_citation_has_the_version_of_the_package():
    """A citation names the version that was released."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))

    assert citation["version"] == __version__
