import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import cache_from_source
from pathlib import Path

import pytest
import yaml
from hatchling.builders.wheel import WheelBuilder

from uncensoring_chinese_models import __version__

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, GROUPS = PYPROJECT["project"], PYPROJECT["dependency-groups"]
EXTRAS = PROJECT["optional-dependencies"]
USER, DEV, FULL = "requirements.lock", "requirements-dev.lock", "requirements-full.lock"
LOCKS = {name: (ROOT / name).read_text(encoding="utf-8") for name in (USER, DEV, FULL)}
PARTS = {
    USER: ["analysis", "figures", "local", "view", "build"],
    DEV: ["lint", "test"],
    FULL: ["export", "inspect", "full"],
}
"""The extras and dependency groups that each lock adds to the one before it."""
UNPINNED = "train"
"""The one extra that no lock holds: which build of torch is right depends on the machine."""
ADDED = [
    (lock, requirement)
    for lock, parts in PARTS.items()
    for part in parts
    for requirement in (EXTRAS | GROUPS)[part]
]
MIB = 2**20
MAX_ENVIRONMENT_MIB = 420
"""What the environment of `make install` may take, as `du -sh .venv` counts it; the weights of the
small model are in the user's cache folder."""


def canonical_name(requirement):
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name.group()).lower()


def pins_of(lock):
    """Return the version of each package in a lock."""
    return dict(re.findall(r"^([a-z0-9-]+)(?:\[[a-z0-9,-]+\])?==(\S+)", lock, flags=re.MULTILINE))


def is_pinned(requirement, lock):
    """Tell whether a lock has one exact version of a package, with a hash."""
    name = re.escape(canonical_name(requirement))
    pin = rf"^{name}(\[[a-z0-9,-]+\])?==\S+ \\\n    --hash=sha256:[0-9a-f]{{64}}"
    return re.search(pin, lock, flags=re.MULTILINE) is not None


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
@pytest.mark.parametrize(
    "address", ["http://", "https://", "file:", "--index-url", "--extra-index-url", "--find-links"]
)
def test_lock_names_no_place_to_install_from(address, lock):
    """Whoever installs chooses the package index; the lock pins content only."""
    assert address not in lock


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
@pytest.mark.parametrize("requirement", PROJECT["dependencies"])
def test_runtime_dependency_is_pinned_with_a_hash(requirement, lock):
    """Each dependency has one exact version, and pip can verify what it downloads."""
    assert is_pinned(requirement, lock)


@pytest.mark.parametrize(("lock", "requirement"), ADDED)
def test_lock_has_the_extras_and_groups_of_its_environment(lock, requirement):
    """What an extra or a dependency group names is pinned with a hash as well."""
    assert is_pinned(requirement, LOCKS[lock])


def test_each_extra_is_in_a_lock():
    """A new extra is given its environment."""
    assert {part for parts in PARTS.values() for part in parts} >= EXTRAS.keys() - {UNPINNED}


@pytest.mark.parametrize("package", ["mypy", "pandas", "playwright", "pytest", "ruff"])
def test_user_lock_has_no_tool_of_a_developer(package):
    """`make install` is light: linters, test tools and data frames come with other targets."""
    assert is_pinned(package, LOCKS[FULL])
    assert not is_pinned(package, LOCKS[USER])


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
def test_every_pin_has_a_hash(lock):
    """A single pin without a hash would make pip refuse the whole lock."""
    pins = re.findall(r"^[a-z0-9][^\n]*", lock, flags=re.MULTILINE)

    assert pins
    assert [
        pin for pin in pins if not re.fullmatch(r"[a-z0-9-]+(\[[a-z0-9,-]+\])?==\S+ \\", pin)
    ] == []


def test_each_lock_holds_the_smaller_ones():
    """One environment grows: a larger lock changes no version that a smaller one installed."""
    user, dev, full = (pins_of(lock).items() for lock in LOCKS.values())

    assert user
    assert user < dev < full


def disk_use(names):
    """Return the bytes on disk of installed distributions, with the byte code that Python made."""
    files = {
        Path(str(found.locate_file(file)))
        for found in map(distribution, names)
        for file in found.files or ()
    }
    files |= {Path(cache_from_source(str(file))) for file in files if file.suffix == ".py"}
    folders = {file.parent for file in files}
    return sum(path.stat().st_blocks * 512 for path in files | folders if path.exists())


def is_installed(name):
    try:
        return bool(distribution(name))
    except PackageNotFoundError:
        return False


def test_environment_of_a_user_is_within_its_budget(record_property):
    """The packages of `make install`, and those that venv brings, take at most 420 MB."""
    with_venv = [name for name in ("pip", "setuptools") if is_installed(name)]
    used = disk_use([*pins_of(LOCKS[USER]), *with_venv]) / MIB
    record_property(
        "figure",
        f"make install takes {used:.0f} MB with byte code, {MAX_ENVIRONMENT_MIB} MB allowed",
    )

    assert 200 < used <= MAX_ENVIRONMENT_MIB


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


@pytest.mark.parametrize(
    "folder",
    [
        "audit/prompts",
        "measure/facts/files",
        "measure/judges/prompts",
        "models",
        "models/local/files",
        "text",
    ],
)
def test_wheel_holds_the_data_of_the_package(folder):
    """What lies beside the modules is installed with them."""
    package = ROOT / "src/uncensoring_chinese_models"
    built = WheelBuilder(str(ROOT)).recurse_included_files()
    packed = {each.distribution_path for each in built}

    files = [path for path in (package / folder).iterdir() if path.is_file()]
    assert files
    assert {path.relative_to(package.parent).as_posix() for path in files} <= packed


def test_ci_runs_what_a_contributor_runs():
    """CI and a contributor run the same commands, which exist and are in the README."""
    ci = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    made = [line for line in ci if line.startswith("make ")]

    assert made == ["make browser", "make test-all"]
    assert all(re.search(rf"^{line}\b", readme, flags=re.MULTILINE) for line in made)
    assert re.search(r"^browser:", makefile, flags=re.MULTILINE)
    assert re.search(r"^test-all:.*\bextras\b.*\bcheck\b", makefile, flags=re.MULTILINE)


def test_ci_lets_no_browser_test_be_skipped():
    """A machine without a browser fails there, and does not pass with less."""
    ci = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()

    assert ci.index("export UCM_BROWSER=required") < ci.index("make test-all")


@pytest.mark.parametrize("target", ["install", "demo", "practice"])
def test_what_a_newcomer_runs_installs_the_smaller_lock_alone(target):
    """Five minutes to a first result: exports, Inspect and browser tests come later."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (needs,) = re.findall(rf"^{target}:([^#\n]*)", makefile, flags=re.MULTILINE)

    assert "dev" not in needs
    assert "extras" not in needs
    assert "full" not in needs


def test_citation_has_the_version_of_the_package():
    """A citation names the version that was released."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))

    assert citation["version"] == __version__
