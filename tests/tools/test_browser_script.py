"""`make browser` on machines that we make up: what is on the PATH decides."""

import shutil
import subprocess

import pytest
from tools.chromium import NAMES

from tests.support import ROOT

SCRIPT = ROOT / "tools" / "browser.sh"
APT = """#!/bin/sh
echo "$@" >> "$LOG"
case $1 in install) for name in chromium fc-list; do
  printf '#!/bin/sh\\necho Noto\\n' > "$BIN/$name"; chmod +x "$BIN/$name"; done ;;
esac
"""
STALE_APT = APT.replace(
    "case $1", 'case $1 in install) grep -q update "$LOG" || exit 100 ;; esac\ncase $1'
)


@pytest.fixture
def machine(tmp_path):
    """A machine with a shell and grep, and what a test adds."""
    machine = Machine(tmp_path)
    for name in ("sh", "grep", "chmod"):
        found = shutil.which(name)
        assert found
        (machine.bin / name).symlink_to(found)
    return machine


class Machine:
    """A PATH of our own."""

    def __init__(self, folder):
        self.bin, self.log = folder / "bin", folder / "log"
        self.bin.mkdir()

    def has(self, name, script="#!/bin/sh\necho Noto\n"):
        """Put a command on the PATH."""
        (self.bin / name).write_text(script, "utf-8")
        (self.bin / name).chmod(0o755)

    def root(self, *, is_root=True):
        """Say who we are."""
        self.has("id", f"#!/bin/sh\necho {0 if is_root else 1000}\n")

    def run(self):
        """Run the script there."""
        environment = {"PATH": str(self.bin), "LOG": str(self.log), "BIN": str(self.bin)}
        return subprocess.run(
            [shutil.which("sh") or "sh", str(SCRIPT)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def asked(self):
        """Return what apt-get was asked, line by line."""
        return self.log.read_text("utf-8").splitlines() if self.log.exists() else []


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_installed_where_nothing_is_missing(machine, name):
    """Each name under which the tests find a Chromium is found here, too."""
    machine.root()
    machine.has("apt-get", APT)
    machine.has(name)
    machine.has("fc-list")

    assert machine.run().returncode == 0
    assert machine.asked() == []


def test_only_what_is_missing_is_installed(machine):
    """A Chromium that is there stays as it is."""
    machine.root()
    machine.has("apt-get", APT)
    machine.has("chromium")

    assert machine.run().returncode == 0
    (line,) = machine.asked()
    assert line.endswith("--no-install-recommends -y fonts-noto-cjk")


def test_the_lists_are_fetched_only_where_they_are_stale(machine):
    """The first try goes without; the second comes after an update."""
    machine.root()
    machine.has("apt-get", STALE_APT)

    assert machine.run().returncode == 0
    assert [line.split()[0] for line in machine.asked()] == ["install", "update", "install"]


def test_an_installation_that_brings_nothing_is_a_failure(machine):
    """What apt-get says is not believed: the browser must be there."""
    machine.root()
    machine.has("apt-get", "#!/bin/sh\nexit 0\n")

    assert machine.run().returncode == 1


@pytest.mark.parametrize(("is_root", "has_apt"), [(False, True), (True, False)])
def test_without_root_or_apt_one_sentence_says_what_to_install(machine, is_root, has_apt):
    """And nothing is tried."""
    machine.root(is_root=is_root)
    if has_apt:
        machine.has("apt-get", APT)

    ended = machine.run()
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "install (as Debian calls them): chromium fonts-noto-cjk." in ended.stderr
    assert machine.asked() == []
