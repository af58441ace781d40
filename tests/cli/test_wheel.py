"""The wheel alone, outside the checkout, in environments that hold what its metadata asks for."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import distribution, distributions
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement

from tests.support import ROOT, audited_provider, clean_environment, make_config, write_config

pytestmark = pytest.mark.e2e
PACKAGE = "uncensoring_chinese_models"
OPTIONAL = ("pandas", "pytest", "scipy", "starlette", "xllamacpp")


class Environment(NamedTuple):
    """A virtual environment with the wheel in it."""

    python: Path
    packages: Path

    def run(self, cwd, *words, timeout_s=60):
        """Run a command of the environment without keys, proxies and a borrowed import path."""
        variables = clean_environment()
        variables.pop("PYTHONPATH", None)
        return subprocess.run(
            list(map(str, words)),
            cwd=cwd,
            env=variables,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel as a release does."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def required(found, extra):
    """Yield the names of the distributions that a distribution needs with one extra."""
    for line in found.requires or ():
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate({"extra": extra}):
            yield needed.name
            for each in ("", *needed.extras):
                yield from required(distribution(needed.name), each)


def lend(names, packages):
    """Link installed distributions into an environment, so that nothing is downloaded."""
    for name in names:
        found = distribution(name)
        for entry in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            link = packages / entry
            if not link.exists():
                link.symlink_to(str(found.locate_file(entry)))


def environment(folder, wheel, extra):
    """Make an environment with the wheel and the packages that it names, and no others."""
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install", "-q"]
    options = ["--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, *options, str(wheel)], check=True, capture_output=True, cwd=folder)
    (installed,) = distributions(path=[str(packages)])
    lend(set(required(installed, extra)), packages)
    return Environment(folder / "bin/python", packages)


@pytest.fixture(scope="module")
def core(tmp_path_factory, wheel):
    """The wheel with its core dependencies."""
    return environment(tmp_path_factory.mktemp("core") / "venv", wheel, "")


def test_wheel_holds_the_package_alone(wheel):
    """No test, tool or document is installed beside the package."""
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}

    assert {top for top in tops if not top.endswith(".dist-info")} == {PACKAGE}


def test_environment_holds_the_wheel_and_no_optional_package(tmp_path, core):
    """The tests of this file show what the installed files do, with no package too many."""
    said = core.run(tmp_path, core.python, "-c", f"import {PACKAGE} as p; print(p.__file__)")
    tried = {name: core.run(tmp_path, core.python, "-c", f"import {name}") for name in OPTIONAL}

    assert said.stdout.startswith(str(core.packages))
    assert [name for name in OPTIONAL if "ModuleNotFoundError" not in tried[name].stderr] == []


def test_seeds_script_runs_an_audit_with_the_core_packages(tmp_path, core):
    """The promised command audits a provider, and the installed `ucm` verifies its run."""
    script = core.packages / PACKAGE / "search_censored.py"
    ucm = core.python.with_name("ucm")
    with audited_provider() as provider:
        config = write_config(tmp_path, make_config(provider, max_iterations=2))
        planned = core.run(tmp_path, core.python, script, config, "--dry-run")
        audited = core.run(tmp_path, core.python, script, config)
    (run,) = (tmp_path / "runs").glob("[!.]*")
    verified = core.run(tmp_path, ucm, "verify", run)

    assert (planned.returncode, audited.returncode) == (0, 0), planned.stderr + audited.stderr
    assert json.loads((run / "summary.json").read_bytes())
    assert (run / "report.html").is_file()
    assert verified.returncode == 0, verified.stdout + verified.stderr


@pytest.mark.soak
@pytest.mark.model
@pytest.mark.timeout(600)
def test_demo_runs_with_the_extra_for_local_models(tmp_path, wheel):
    """`ucm demo` finds its organism in the wheel; the weights are those that `make install` got."""
    local = environment(tmp_path / "venv", wheel, "local")
    done = local.run(
        tmp_path, local.python.with_name("ucm"), "demo", "ignorant", "--json", timeout_s=580
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["censorship"]["right"]
