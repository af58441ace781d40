"""No test reaches the network, and none finds a key or a proxy in the environment."""

from __future__ import annotations

import ipaddress
import os
import socket

import hypothesis
import pytest

from uncensoring_chinese_models.config import environment, redaction

# How long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("quick", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.register_profile("soak", deadline=None, max_examples=500)
hypothesis.settings.load_profile(os.environ.get("UCM_HYPOTHESIS", "quick"))

NO_BROWSER = "NO BROWSER: "
"""How the reason begins for which a test of a page is skipped."""
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_UNWANTED = ("OPENROUTER_API_KEY", *_PROXIES, *(name.upper() for name in _PROXIES))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """Say loudly and last that tests of pages were skipped: an `s` is easily overlooked."""
    told = yield
    reports = terminalreporter.stats.get("skipped", [])
    reasons = [str(report.longrepr[2]) for report in reports if isinstance(report.longrepr, tuple)]
    missed = [reason.partition(NO_BROWSER)[2] for reason in reasons if NO_BROWSER in reason]
    if missed:
        terminalreporter.section("BROWSER TESTS WERE SKIPPED", red=True, bold=True)
        terminalreporter.line(f"{len(missed)} tests of pages did not run: {missed[0]}.", red=True)
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "figure":
                terminalreporter.line(value)
    return told


@pytest.fixture(scope="session")
def anyio_backend():
    """Run asynchronous tests on asyncio, which the program uses."""
    return "asyncio"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch):
    """Begin each test without a key and without proxies; a .env of this checkout is not read."""
    for name in _UNWANTED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(environment, "checkout_folder", lambda: None)
    monkeypatch.setattr(redaction, "_known", {})


@pytest.fixture(scope="session", autouse=True)
def loopback_only():
    """Let sockets connect to this machine alone."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
        yield


def _guarded(connect):
    def guarded(self, address):
        if self.family != socket.AF_UNIX and not _is_loopback(str(address[0])):
            raise RuntimeError(f"a test tried to connect to {address[0]}")
        return connect(self, address)

    return guarded


def _is_loopback(host):
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
