"""Recognise addresses of this machine or of a private network."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

_PRIVATE = (".local", ".localdomain", ".internal", ".intranet", ".lan", ".corp", ".home.arpa")


def host_of(address: str) -> str:
    """Return the host of an address; `localhost` if it has none or cannot be read."""
    try:
        return urlsplit(address).hostname or "localhost"
    except ValueError:
        return "localhost"


def is_near(address: str) -> bool:
    """Return whether an address is on this machine or in a private network."""
    host = host_of(address)
    return is_this_machine(host) or is_private(host)


def is_this_machine(host: str) -> bool:
    """Return whether a host is the loopback of this machine; any other spelling of it is not."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_private(host: str) -> bool:
    """Return whether a host is in a private network, but is not this machine."""
    if is_this_machine(host):
        return False
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.lower().endswith(_PRIVATE)
